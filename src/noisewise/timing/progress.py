"""The line that a race shows while it runs: rounds, leader, and how far it may be from the fastest."""

import math
import shutil
import sys
import time

from noisewise.core.support.text import printable
from noisewise.core.support.words import counted
from noisewise.study.certificate.certificate import Certificate

#: Seconds from one line to the next.
EVERY = 0.1


class ProgressLine:
    """A line on standard error that is written over; nothing where that is no terminal.

    Args:
        wanted: Whether anything is shown.
    """

    def __init__(self, wanted: bool) -> None:
        self._shown = wanted and sys.stderr.isatty()
        self._last, self._width, self._began = -math.inf, 0, time.monotonic()

    def show(self, certificate: Certificate, rounds: int) -> None:
        """Write who leads, unless a line was written a moment ago."""
        far = "no bound yet"
        if math.isfinite(certificate.bound):
            far = f"at most {certificate.bound_text} slower than the fastest"
        left = counted(len(certificate.candidates), "candidate")
        self._now_and_then(rounds, f"{left}: {certificate.option}, {far}")

    def against(self, versus: tuple[str, str], rounds: int) -> None:
        """Write who is compared with whom, unless a line was written a moment ago."""
        self._now_and_then(rounds, f"{versus[1]} against {versus[0]}")

    def _now_and_then(self, rounds: int, text: str) -> None:
        now = time.monotonic()
        if self._shown and now - self._last >= EVERY:
            self._last = now
            self._write(f"{counted(rounds, 'round')}, {now - self._began:.1f} s, {text}")

    def close(self) -> None:
        """Take the line away."""
        if self._width:
            self._write("")

    def _write(self, line: str) -> None:
        line = printable(line)[: shutil.get_terminal_size().columns - 1]
        sys.stderr.write(f"\r{line.ljust(self._width)}" + ("" if line else "\r"))
        sys.stderr.flush()
        self._width = len(line)
