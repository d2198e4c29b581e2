"""What a run needs of a study, when it ends (what it has to reach, and may spend), and what it shows."""

import math
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol, cast

from noisewise.core.checks import AMOUNT, COUNT, check_count_within, check_within, nearest
from noisewise.core.text import counted, number
from noisewise.study.certificates.certificate import Certificate
from noisewise.study.log.jobs import Job

if TYPE_CHECKING:  # which a run on another machine does without
    from noisewise.study.telling.scale import ValueScale

CERTIFIED, SPENT = "certified", "spent"
Until = str | float | Callable[[Certificate], bool]
#: What a budget may limit.
KINDS = ("measurements", "cost", "seconds", "deadline")
#: Measurements after which a certificate that is withheld all the time is given up: so many, or so many for
#: each option. What withholds it, such as values that do not scatter at all, seldom goes away by itself.
PATIENCE, FOR_EACH = 30, 3
#: Measurements from one look at the whole certificate to the next, however large the bound is: at first, and
#: while it is withheld; and else.
SOON, SELDOM = 6, 60
_SECONDS = {"s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


class Runnable(Protocol):
    """A study, as far as a run uses it."""

    @property
    def eps(self) -> float | None:
        """How far from the best is close enough, as it is computed with."""

    @property
    def value_scale(self) -> "ValueScale":
        """How numbers of the study are read and shown."""

    @property
    def budget_left(self) -> int | None:
        """Measurements that are left of the study's own budget."""

    @property
    def pending(self) -> list[Job]:
        """Suggestions that are under way."""

    def certificate(self) -> Certificate:
        """Which option to take now, and how far it can be from the best."""

    def plan(self, *, paths: int, on: int) -> Any:
        """How many more measurements it takes."""

    def cost_of(self, option: str) -> float:
        """What one measurement of an option costs."""

    def _ask_at_once(self, n: int, *, by: str) -> list[Job]: ...

    def _bound_now(self) -> float: ...

    def tell(self, job: Job | str | None, **told: Any) -> Any:
        """Take the result of a measurement."""

    def tell_all(self, results: Sequence[Mapping[str, Any]]) -> Any:
        """Take several results, all of them or none."""

    def fail(self, job: Job | str | Sequence[Job | str], reason: str) -> None:
        """A suggestion could not be measured."""

    def release(self, job: Job | str | Sequence[Job | str], reason: str | None = None) -> None:
        """Give suggestions back unmeasured."""

    def exclude(self, option: str, reason: str) -> None:
        """Take an option out of the comparison."""


class Limits:
    """What ends a run.

    Args:
        study: The study.
        until: ``"certified"``, ``"spent"``, a bound, or a function of the certificate.
        budget: See `read_budget`.
    """

    def __init__(self, study: Runnable, until: Until, budget: Any) -> None:
        self._until, self._began = _check_until(study, until), time.monotonic()
        self._budget = read_budget(budget)
        self.told, self.cost = 0, 0.0
        self._too_dear = False  # whether what is left of the cost does not pay for what was asked for
        self._judged, self._withheld_from, self._pause = 0, cast(int | None, None), SOON
        left = study.budget_left
        if left is not None and "measurements" not in self._budget:
            self._budget["measurements"] = max(0, left)
        if until == SPENT and not self._budget:
            raise ValueError('`until="spent"` needs a budget: of measurements, cost or time.')

    @property
    def seconds(self) -> float:
        """Since it began."""
        return time.monotonic() - self._began

    def reached(self, certificate: Certificate) -> bool:
        """Whether the study is where it was to come."""
        if self._until == SPENT:
            return False
        if self._until == CERTIFIED:
            return certificate.reached
        if callable(self._until):
            return bool(self._until(certificate))
        return not certificate.withheld and certificate.bound <= float(self._until)

    def wants_certificate(self, study: Runnable) -> bool:
        """Whether it is worth to make the certificate: most of the time a glance at the bound says no."""
        if self._until == SPENT or callable(self._until):
            return callable(self._until)
        most = study.eps if self._until == CERTIFIED else float(self._until)
        return study._bound_now() <= (most or 0.0) or self.told - self._judged >= self._pause

    def hopeless(self, certificate: Certificate) -> str | None:
        """Why this will not be reached, in words: the certificate was withheld all the time."""
        self._judged, self._pause = self.told, SOON if certificate.withheld else SELDOM
        if self._until == SPENT or callable(self._until):
            return None
        if not certificate.withheld:
            self._withheld_from = None
        elif self._withheld_from is None:
            self._withheld_from = certificate.n_measurements
        else:
            many = certificate.n_measurements - self._withheld_from
            if many >= max(PATIENCE, FOR_EACH * certificate.n_options):
                return f"{counted(many, 'measurement')} have not changed that the certificate is withheld"
        return None

    def left(self, under_way: int, cost: float = 0.0) -> float:
        """How many more measurements may be begun, if all that are under way, at this cost, succeed."""
        if self._too_dear or any(
            self._spent(kind) >= self._budget[kind]
            for kind in ("seconds", "deadline")
            if kind in self._budget
        ):
            return 0.0
        left = max(0.0, self._budget.get("measurements", math.inf) - self.told - under_way)
        if "cost" in self._budget:
            spent, begun = self.cost + cost, self.told + under_way
            each = spent / begun if begun else math.inf  # the first one shows what a measurement costs
            more = max(0.0, self._budget["cost"] - spent)
            left = min(left, math.ceil(more / each) if 0.0 < each < math.inf else math.ceil(min(1.0, more)))
        return left

    def _spent(self, kind: str) -> float:
        """How much of one kind was spent; the deadline is a moment, and so is what was spent of it."""
        if kind == "deadline":
            return time.time()
        return {"measurements": self.told, "cost": self.cost, "seconds": self.seconds}[kind]

    def affords(self, under_way: float, cost: float) -> bool:
        """Whether a measurement may be begun beside those under way; once one may not, none may."""
        self._too_dear |= self.cost + under_way + cost > self._budget.get("cost", math.inf)
        return not self._too_dear

    def spent(self) -> str | None:
        """Which part of the budget is spent, in words; None if nothing is."""
        words = {
            "measurements": lambda most: counted(round(most), "measurement"),
            "cost": lambda most: f"a cost of {number(most)}",
            "seconds": lambda most: counted(round(most), "second"),
        }
        for kind, most in self._budget.items():
            if self._spent(kind) < most:
                continue
            if kind == "deadline":
                return f"the deadline, {datetime.fromtimestamp(most):%Y-%m-%d %H:%M}, has passed"
            return f"the budget of {words[kind](most)} is spent"
        if self._too_dear:
            most = self._budget["cost"]
            left = f"the {number(most - self.cost)} that are left do not pay for the next measurement"
            return f"the budget of a cost of {number(most)} is spent: {left}"
        return None


def _check_until(study: Runnable, until: Any) -> Until:
    if until == CERTIFIED:
        if study.eps is None:
            raise ValueError(
                '`until` must be a bound, "spent" with a budget, or a function: this study has no `eps` that '
                '"certified" could mean.'
            )
        return CERTIFIED
    if until == SPENT or callable(until):
        return SPENT if until == SPENT else until
    if isinstance(until, bool) or (isinstance(until, str) and not until.strip().endswith("%")):
        raise ValueError(f'`until` must be "certified", "spent", a bound, or a function; got {until!r}.')
    return study.value_scale.read_eps(until, "until")


def read_budget(budget: Any) -> dict[str, float]:
    """What may be spent, by kind.

    Args:
        budget: A number of measurements, a time such as ``"2h"``, both as ``"200, 2h"``, or a mapping such as
            ``{"measurements": 200, "cost": 5.0, "seconds": 3600, "deadline": "08:00"}``. None: no limit.
    """
    if budget is None:
        return {}
    if isinstance(budget, str):
        return _read_text(budget)
    if isinstance(budget, Mapping):
        for kind in budget:
            if kind not in KINDS:
                hint = nearest(str(kind), list(KINDS))
                raise ValueError(f"`budget` may limit {', '.join(KINDS)}; got {kind!r}.{hint}")
        found = {
            kind: float(check_count_within("budget", most, COUNT))
            if kind == "measurements"
            else read_deadline(most)
            if kind == "deadline"
            else check_within(f"budget {kind}", most, AMOUNT)
            for kind, most in budget.items()
        }
        if not found:
            raise ValueError(f"`budget` must limit something: {', '.join(KINDS)}; got {{}}.")
        return found
    return {"measurements": float(check_count_within("budget", budget, COUNT))}


def read_deadline(given: Any) -> float:
    """A moment, in seconds since 1970, from a time of day (the next one) or a date with a time.

    Without a time zone it is the time of this machine.
    """
    try:
        if not isinstance(given, datetime) and re.fullmatch(r"\d{1,2}:\d\d", str(given)):
            now = datetime.now()  # of the clock on the wall
            hour, minute = map(int, given.split(":"))
            given = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
            given += timedelta(days=int(given <= now))
        return (given if isinstance(given, datetime) else datetime.fromisoformat(given)).timestamp()
    except (ValueError, TypeError, OverflowError):
        raise ValueError(
            "`deadline` must be a time of day (08:00) or a date with a time (2026-11-20T08:00); got "
            f"{given!r}."
        ) from None


def _read_text(text: str) -> dict[str, float]:
    found: dict[str, Any] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        amount = re.fullmatch(r"(\d+(?:\.\d*)?)\s*([a-z]*)", part)
        size, unit = (float(amount[1]), amount[2]) if amount else (math.nan, "")
        if unit in _SECONDS:
            found["seconds"] = size * _SECONDS[unit]
        elif not unit and size.is_integer():
            found["measurements"] = int(size)
        else:
            raise _no_budget(text)
    if not found:
        raise _no_budget(text)
    return read_budget(found)


def _no_budget(text: str) -> ValueError:
    return ValueError(
        "`budget` must be a number of measurements (200), a time (90s, 30min, 2h), or both with a comma; "
        f"got {text!r}."
    )


#: Seconds from one line to the next, and until the first plan; a plan may take this part of the time.
EVERY, FIRST_PLAN, SHARE = 0.5, 20.0, 0.02
#: Studies that a plan simulates for this line.
PATHS = 20


class LiveLine:
    """A line on standard error that is written over; nothing where that is not a terminal.

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
