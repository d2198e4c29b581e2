"""The line that a run shows: bound, leader, how fast it goes, and how much the plan says is left."""

import math
import sys
import time

from noisewise.core.text import counted
from noisewise.study.certificates.certificate import Certificate
from noisewise.study.running.limits import Limits
from noisewise.study.running.studied import Runnable

#: Seconds from one line to the next, and until the first plan; a plan may take this part of the time.
EVERY, FIRST_PLAN, SHARE = 0.5, 20.0, 0.02
#: Studies that a plan simulates for this line.
PATHS = 20


class LiveLine:
    """A line on standard error that is written over; nothing where that is no terminal.

    Args:
        study: The study.
        wanted: Whether anything is shown.
    """

    def __init__(self, study: Runnable, wanted: bool) -> None:
        self._study, self._shown = study, wanted and sys.stderr.isatty()
        self._last, self._next_plan, self._width = 0.0, FIRST_PLAN, 0
        self._left = ""
        self.certificate: Certificate | None = None

    def show(self, limits: Limits, under_way: int) -> None:
        """Write the line anew, not too often."""
        if not self._shown or time.monotonic() - self._last < EVERY:
            return
        self._last = time.monotonic()
        self.certificate = self._study.certificate()
        if limits.seconds > self._next_plan:
            self._plan(limits)
        import shutil  # which most of what is run without a terminal does without

        line = self.line(limits, under_way)[: max(20, shutil.get_terminal_size().columns - 1)]
        sys.stderr.write("\r" + line.ljust(self._width))
        sys.stderr.flush()
        self._width = len(line)

    def line(self, limits: Limits, under_way: int) -> str:
        """In words."""
        said, found = [], self.certificate
        if found is not None and found.option is not None and not found.withheld:
            scale = found.value_scale
            eps = "" if found.eps is None else f" of {scale.apart(found.eps)}"
            bound = scale.apart(found.bound) if math.isfinite(found.bound) else "not known yet"
            said += [f"bound {bound}{eps}", f"leader {found.option}"]
        elif found is not None:
            said.append("withheld" if found.withheld else "no bound yet")
        rate = limits.told / limits.seconds if limits.seconds > 0.0 else 0.0
        said += [f"{counted(limits.told, 'measurement')}, {under_way} under way", f"{rate:.3g}/s"]
        return " · ".join([*said, *([self._left] if self._left else [])])

    def close(self) -> None:
        """Leave an empty line."""
        if self._shown and self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()

    def _plan(self, limits: Limits) -> None:
        """What the plan says is left; it is asked so seldom that it takes little of the time."""
        began = time.monotonic()
        try:
            typical = self._study.plan(paths=PATHS, on=1).median
        except ValueError:
            typical = math.inf
        took = time.monotonic() - began
        self._left = "" if not math.isfinite(typical) else f"about {typical:.0f} more"
        self._next_plan = limits.seconds + max(FIRST_PLAN, took / SHARE)
