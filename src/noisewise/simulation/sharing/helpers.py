"""Helper processes for plain simulations, which Python runs one at a time in each process.

They are started as ``python -c``, not by `multiprocessing`, whose new processes run the script that started
them once more: a script that simulates would have to be written for that. Nothing that a helper does can
change what comes out; one that cannot start, dies or fails is one helper fewer.
"""

import contextlib
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from noisewise.simulation.run import Run
from noisewise.simulation.sharing.parcel import packed
from noisewise.simulation.sharing.replications import Replications
from noisewise.simulation.sharing.worker import MARK, order_for

#: How a helper begins: with the paths of this process, before it imports anything of ours.
BEGIN = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from noisewise.simulation.sharing.worker import main; main()"
)
#: Of its own: Ctrl-C at the terminal is for this process, which then ends its helpers.
APART: dict[str, Any] = (
    {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}  # type: ignore[attr-defined]
    if sys.platform == "win32"
    else {"start_new_session": True}
)


def can_have_helpers() -> bool:
    """Whether this process may start others: one that was started to share work may not."""
    interpreter = Path(sys.executable or "").name.lower().startswith(("python", "pypy"))
    started = MARK in os.environ or multiprocessing.parent_process() is not None
    return interpreter and not started and not getattr(sys, "frozen", False)


def order_to_send(run: Run) -> bytes | None:
    """What helpers are sent first; None if there cannot be any for this simulation."""
    return packed(order_for(run)) if can_have_helpers() else None


class Helpers:
    """Processes that do replications; none at first. Leaving the ``with`` ends them all."""

    def __init__(self, replications: Replications) -> None:
        self._replications = replications
        self._processes: list[subprocess.Popen[bytes]] = []
        self._threads: list[threading.Thread] = []

    def start(self, count: int, order: bytes, at_a_time: int) -> None:
        """Let so many processes take replications, some at a time."""
        flags = ["-I"] if sys.flags.isolated else ["-P"]
        for _ in range(count):
            try:
                process = subprocess.Popen(
                    [sys.executable, *flags, "-c", BEGIN],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                    env={**os.environ, MARK: "1"}, **APART,
                )  # fmt: skip
            except OSError:
                return
            self._processes.append(process)
            thread = threading.Thread(target=self._talk, args=(process, order, at_a_time), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _talk(self, process: "subprocess.Popen[bytes]", order: bytes, at_a_time: int) -> None:
        """Ask one of them, until there is nothing left to ask for or it fails."""
        questions, answers = process.stdin, process.stdout
        assert questions is not None
        assert answers is not None
        piece = range(0)
        try:
            questions.write(pickle.dumps(sys.path) + order)
            questions.flush()
            pickle.load(answers)  # that it is ready: nothing is taken for one that is still on its way
            while piece := self._replications.take(at_a_time):
                questions.write(pickle.dumps(piece))
                questions.flush()
                parts = pickle.load(answers)
                if parts is None:
                    break
                self._replications.keep(piece, parts)
        except (OSError, EOFError, ValueError, pickle.UnpicklingError):
            pass
        # What it has not done is for somebody else.
        self._replications.give_back(piece)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """At once, in the middle of what they do: either nobody needs it any more, or they do nothing."""
        for process in self._processes:
            process.kill()
        for thread in self._threads:
            thread.join()
        for process in self._processes:
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):  # a question that nobody read
                    pipe.close()  # type: ignore[union-attr]
            process.wait()
