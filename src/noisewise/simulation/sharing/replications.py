"""The replications of one simulation: which are left, and the results of those that are done."""

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from noisewise.simulation.results import PER_CHECKPOINT, Simulation, select
from noisewise.simulation.run import Pace, Run

#: Called with how many replications are finished, and how many there are.
Progress = Callable[[int, int], None]
#: Seconds between two reports of progress, at least.
BETWEEN_REPORTS = 0.05
#: What another process has to send back.
PARTS = (*PER_CHECKPOINT, "pulled", "stopped", "fired")


class Replications:
    """Handed out in order, in pieces, to whoever asks, in any thread."""

    def __init__(self, run: Run, count: int, progress: Progress | None) -> None:
        self.run, self.count, self.results = run, count, run.empty(count)
        self.finished = np.zeros(count, dtype=np.bool_)
        self.halted = threading.Event()
        self._left = deque([range(count)])
        self._changed = threading.Condition()
        self._progress, self._reported = progress, -float("inf")

    @property
    def left(self) -> int:
        """How many are not finished."""
        return self.count - int(np.count_nonzero(self.finished))

    def pace(self) -> Pace:
        """How fast plain rounds are, seen in the first replication."""
        return self.run.pace(self.results)

    def keep_timed(self) -> None:
        """A short replication was timed whole, and need not be run again."""
        if self.run.is_timed_whole:
            (first,) = self.take(1)
            self.finished[first] = True

    def run_by(self, engine: str) -> None:
        """Say what will run all of them."""
        self.results = replace(self.results, engine=engine)

    def computed_by(self, arithmetic: str) -> None:
        """Say how whoever ran them computes."""
        self.results = replace(self.results, arithmetic=arithmetic)

    def take(self, most: int) -> range:
        """The next ones that nobody works on; none if there are none, or if nothing is to be begun."""
        with self._changed:
            if not self._left or self.halted.is_set():
                return range(0)
            first = self._left.popleft()
            if first[most:]:
                self._left.appendleft(first[most:])
            return first[:most]

    def give_back(self, piece: range) -> None:
        """Let somebody else do them, before all others."""
        with self._changed:
            if piece:
                self._left.appendleft(piece)
                self._changed.notify_all()

    def replicate(self, piece: range, loop: Any, compiled: bool) -> None:
        """Do them here."""
        for r in piece:
            if self.halted.is_set():
                return
            self.run.replicate(r, loop, compiled, self.results)
            self.finished[r] = True

    def keep(self, piece: range, parts: dict[str, Any]) -> None:
        """Take over what another process found."""
        for name in PARTS:
            getattr(self.results, name)[piece.start : piece.stop] = parts[name]
        with self._changed:
            self.finished[piece.start : piece.stop] = True
            self._changed.notify_all()

    def wait(self) -> None:
        """Until others have finished or given back some, or for a moment: Ctrl-C gets through."""
        with self._changed:
            if self.left and not self._left:
                self._changed.wait(timeout=BETWEEN_REPORTS)

    def whole_ones(self) -> Simulation | None:
        """Those that are finished; None if there are none."""
        whole = np.flatnonzero(self.finished)
        return select(self.results, whole) if whole.size else None

    def report(self) -> None:
        """Tell how far it is, now and then and at the end; only the thread that began the simulation does."""
        if self._progress is None:
            return
        now, left = time.monotonic(), self.left
        if left == 0 or now - self._reported >= BETWEEN_REPORTS:
            self._reported = now
            self._progress(self.count - left, self.count)


def parts_of(run: Run, piece: range, loop: Any, compiled: bool = False) -> dict[str, Any]:
    """The same in another process: the results of these replications, to be kept by the one that asked."""
    results = run.empty(len(piece))
    for row, r in enumerate(piece):
        run.replicate(r, loop, compiled, results, row)
    return {name: getattr(results, name) for name in PARTS}
