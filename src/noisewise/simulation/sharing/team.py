"""Replications shared among threads or processes; who does which changes nothing in the results."""

import functools
import os
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import Any

from noisewise.core.native import verbs
from noisewise.simulation.sharing.helpers import Helpers, order_to_send
from noisewise.simulation.sharing.replications import Replications

#: Replications handed to a thread or a process at a time, at most, and how long they may take.
CHUNK, CHUNK_SECONDS = 8, 0.2
#: Numbers that a round reads, from which on the verbs let other threads run, and from which on that is all.
SOME_SHARED, ALL_SHARED = 1 << 15, 1 << 18
#: Seconds of plain rounds that show how long the others will take.
LOOK = 0.1
#: Seconds that must be left for helper processes to be worth their start.
WORTH_HELPERS = 1.2


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Team:
    """Those who do the replications of one simulation: this process, its threads, or helpers."""

    def __init__(self, replications: Replications, threads: int | None) -> None:
        self.replications = replications
        self.threads = processors() if threads is None else threads

    @functools.cached_property
    def _order(self) -> bytes | None:
        """What helpers would be sent; None if there cannot be any."""
        return order_to_send(self.replications.run) if self.threads > 1 else None

    def workers(self) -> int:
        """How many can share plain rounds."""
        return self.threads if self._on_threads_plain or self._order is not None else 1

    @functools.cached_property
    def _on_threads_plain(self) -> bool:
        """Whether threads share plain rounds: where most of their time is spent in long calls in C."""
        size = self.replications.run.size
        in_c = verbs.extension is not None and self.threads > 1
        return in_c and (size >= ALL_SHARED or (size >= SOME_SHARED and self._order is None))

    def run_compiled(self, loop: Any) -> None:
        """All replications in machine code, which lets threads run at the same time."""
        self._on_threads(loop, compiled=True)

    def run_plain(self) -> None:
        """All replications in Python: here, and in helper processes where that is worth their start."""
        todo, loop = self.replications, self.replications.run.loop(compiled=False)
        if self._on_threads_plain:
            self._on_threads(loop, compiled=False)
            return
        start, before, undecided = time.perf_counter(), todo.left, self.threads > 1
        with Helpers(todo) as helpers:
            while todo.left:
                if piece := todo.take(1):
                    todo.replicate(piece, loop, compiled=False)
                else:
                    todo.wait()
                todo.report()
                took = time.perf_counter() - start
                if undecided and took > LOOK:
                    undecided = False
                    each = took / (before - todo.left)
                    if each * todo.left > WORTH_HELPERS and self._order is not None:
                        helpers.start(self._helpers(each), self._order, self._chunk(each))

    def _helpers(self, each: float) -> int:
        """One fewer than there are threads, and none that would have nothing to do once it has started."""
        return min(self.threads - 1, int(each * self.replications.left / (WORTH_HELPERS / 2)))

    def _chunk(self, each: float = 0.0) -> int:
        """Some pieces for everybody, so that all are done at about the same time."""
        fair = self.replications.left // (4 * self.threads)
        return max(1, min(fair, CHUNK if each == 0.0 else int(CHUNK_SECONDS / each)))

    def _on_threads(self, loop: Any, compiled: bool) -> None:
        """What is left, on several threads; Ctrl-C and errors end it soon."""
        # The first one runs alone: it compiles, and finds what is wrong with the input.
        self.replications.replicate(self.replications.take(1), loop, compiled)
        self.replications.report()
        todo, at_a_time = self.replications, self._chunk()

        def work() -> None:
            while piece := todo.take(at_a_time):
                todo.replicate(piece, loop, compiled)

        with ThreadPoolExecutor(self.threads) as pool:
            try:
                running = {pool.submit(work) for _ in range(min(self.threads, todo.left))}
                while running:
                    # A time limit lets Ctrl-C through to this thread.
                    done, running = wait(running, timeout=0.1, return_when=FIRST_COMPLETED)
                    for future in done:
                        future.result()
                    todo.report()
            except BaseException:
                todo.halted.set()
                raise
