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

    def show(self, certificate: Certificate, rounds: int, versus: tuple[str, str] | None) -> None:
        """Write the line anew, unless that was done a moment ago."""
        now = time.monotonic()
        if not self._shown or now - self._last < EVERY:
            return
        self._last = now
        self._write(line_of(certificate, rounds, now - self._began, versus))

    def close(self) -> None:
        """Take the line away."""
        if self._width:
            self._write("")

    def _write(self, line: str) -> None:
        line = printable(line)[: shutil.get_terminal_size().columns - 1]
        sys.stderr.write(f"\r{line.ljust(self._width)}" + ("" if line else "\r"))
        sys.stderr.flush()
        self._width = len(line)


def line_of(certificate: Certificate, rounds: int, seconds: float, versus: tuple[str, str] | None) -> str:
    """What is known after so many rounds, in one line."""
    if versus is not None:
        return f"{counted(rounds, 'round')}, {seconds:.1f} s: {versus[1]} against {versus[0]}"
    far = "no bound yet"
    if math.isfinite(certificate.bound):
        far = f"at most {certificate.bound_text} slower than the fastest"
    left = len(certificate.candidates)
    return f"{counted(rounds, 'round')}, {seconds:.1f} s, {left} left: {certificate.option}, {far}"
