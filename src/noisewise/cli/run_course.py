"""While a run goes on: failures are told, and signals end it with all its commands."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from noisewise.cli.run_children import Children
from noisewise.core.text import printable

if TYPE_CHECKING:
    from noisewise.study.log.jobs import Job

#: Failures that are shown while it runs; all are in the log.
SHOWN = 5


class Failures:
    """Tells of measurements that failed, while a run goes on.

    Args:
        measure: The measuring function.
        children: Its processes: what fails because they are ended is no failure.
    """

    def __init__(self, measure: Callable[["Job"], Any], children: Children) -> None:
        self._measure, self._children = measure, children
        self.told: list[dict[str, str]] = []

    def measure(self, job: "Job") -> Any:
        """Measure, and say on standard error if it failed."""
        try:
            return self._measure(job)
        except Exception as failed:
            if not self._children.is_over:
                self._tell(job, printable(failed))
            raise

    def _tell(self, job: "Job", why: str) -> None:
        self.told.append({"job": job.id, "option": job.what, "reason": why})
        if len(self.told) > SHOWN:
            return
        more = " (further failures are only in the log)" if len(self.told) == SHOWN else ""
        clear = "\r\x1b[K" if sys.stderr.isatty() else ""
        sys.stderr.write(f"{clear}{printable(f'{job.id} ({job.what}) failed: {why}{more}')}\n")
        sys.stderr.flush()


@contextmanager
def ending(stop: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C, and whatever else asks a process to end, ends the commands at once and interrupts the run."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: Any) -> None:
        stop()
        raise KeyboardInterrupt

    # What is ignored on purpose, as by nohup, stays so.
    asked = [
        one
        for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(one) != signal.SIG_IGN
    ]
    before = {one: signal.signal(one, interrupt) for one in asked}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
