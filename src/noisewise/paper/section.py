"""What a section of the report is made of: pieces to compute, and an account of what they show."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from noisewise.charts.lines import lines_with_bands
from noisewise.charts.rows import measured_and_claimed
from noisewise.core.blocks import Floats
from noisewise.paper.measurements import Runs, world_of

if TYPE_CHECKING:
    import altair as alt

#: What a piece returns: plain numbers, strings and lists, so that a file can hold them.
Outcome = dict[str, Any]
Outcomes = Mapping[str, Outcome]
#: What the certificates of the report may fail with.
DELTA = 0.05


@dataclass(frozen=True)
class Piece:
    """One piece of work: a function of this package and its plain arguments, computed once and kept."""

    function: Callable[..., Outcome]
    arguments: dict[str, Any]


def piece(function: Callable[..., Outcome], **arguments: Any) -> Piece:
    """A piece of work."""
    return Piece(function, arguments)


class Effort(NamedTuple):
    """How much to compute, and from which seed."""

    full: bool
    seed: int = 0

    def pick(self, quick: Any, full: Any) -> Any:
        """One of two sizes."""
        return full if self.full else quick

    def runs(self, horizon: int, quick: int, full: int) -> Runs:
        """Simulations of this length, with one of two numbers of replications."""
        return {"horizon": horizon, "replications": self.pick(quick, full), "seed": self.seed}


class Prose(NamedTuple):
    """A paragraph; words between backticks are code."""

    text: str


class Shown(NamedTuple):
    """A table: shown on the page, and kept as Parquet and JSON under its name."""

    name: str
    caption: str
    frame: pl.DataFrame


class Figure(NamedTuple):
    """A chart: shown on the page, and kept as SVG under its name."""

    name: str
    caption: str
    chart: "alt.LayerChart"


#: What a section says about a claim of the paper.
HOLDS, WITH_CARE, NOT_AS_PRINTED = "holds", "holds with care", "does not hold as printed"
#: What it says where something else came out than the report says.
NOT_CONFIRMED = "NOT CONFIRMED"
LABELS = (NOT_CONFIRMED, NOT_AS_PRINTED, WITH_CARE, HOLDS)


class Finding(NamedTuple):
    """Something that must come out, and by how much it did."""

    name: str
    passed: bool
    detail: str
    verdict: str = HOLDS
    """What it says about the paper's claim if it comes out."""

    @property
    def label(self) -> str:
        """The verdict, or that there is none because something else came out."""
        return self.verdict if self.passed else NOT_CONFIRMED


@dataclass
class Account:
    """What a section says about its outcomes, in order, and what it checked."""

    blocks: list[Prose | Shown | Figure] = field(default_factory=list)
    checks: list[Finding] = field(default_factory=list)

    def say(self, text: str) -> None:
        """Add a paragraph."""
        self.blocks.append(Prose(" ".join(text.split())))

    def show(self, name: str, caption: str, rows: Any, **renamed: str) -> None:
        """Add a table, some of its columns renamed."""
        self.blocks.append(Shown(name, caption, frame_of(rows).rename(renamed)))

    def draw(self, name: str, caption: str, lines: Any, title: str, subtitle: str = "", **how: Any) -> None:
        """Add a figure of lines, over the horizon where nothing else is said."""
        how = {"x": "horizon", "x_title": "Horizon T"} | how
        chart = lines_with_bands(frame_of(lines), title=title, subtitle=subtitle, **how)
        self.blocks.append(Figure(name, caption, chart))

    def draw_claims(self, name: str, caption: str, rows: Any, title: str, x_title: str, **how: Any) -> None:
        """Add a figure of what was measured beside what was claimed."""
        chart = measured_and_claimed(frame_of(rows), title=title, x_title=x_title, **how)
        self.blocks.append(Figure(name, caption, chart))

    def check(self, name: str, passed: Any, detail: str, verdict: str = HOLDS) -> None:
        """Add something that must come out, and what that says about the paper's claim."""
        self.checks.append(Finding(name, bool(passed), detail, verdict))

    def check_misses(
        self, name: str, missed: int, runs: int, how: str, looks: int = 1, verdict: str = HOLDS
    ) -> None:
        """Check that no more runs miss than chance explains where each may with probability `DELTA`."""
        allowed = most_misses(runs, DELTA, looks)
        detail = f"{missed} of {runs} runs {how}; up to {allowed} believable at δ = {DELTA}"
        self.check(name, missed <= allowed, detail, verdict)


def frame_of(rows: Any) -> pl.DataFrame:
    """Rows as a frame."""
    return rows if isinstance(rows, pl.DataFrame) else pl.DataFrame(rows, infer_schema_length=None)


def point(
    policy: str, mean: float, low: float | None = None, high: float | None = None, **x: float
) -> Outcome:
    """A point of a line, with its band; without one, the band is as thin as the line."""
    low, high = mean if low is None else low, mean if high is None else high
    return {"policy": policy, **x, "mean": float(mean), "low": float(low), "high": float(high)}


@dataclass(frozen=True)
class Section:
    """A part of the paper: what must be computed for it, and how the outcomes are described."""

    name: str
    title: str
    pieces: Callable[[Effort], dict[str, Piece]]
    describe: Callable[[Effort, Outcomes], Account]
    figures: tuple[str, ...]
    """The names of its figures; the notes on the paper refer to them."""


# ---- The trials of Theorems 1 and 2: random problems, the lower-bound family, and over the horizon. ----

SIGMAS: dict[str, dict[str, Any]] = {
    "flat": {},
    "fast-decaying": {},
    "front-loaded": {},
    "log-uniform": {"low": 1e-3, "high": 1.0},
    "rare-quiet": {},
}
#: An instance by name, and its options.
Problem = tuple[str, dict[str, Any]]
PROBLEMS: dict[str, Problem] = {
    "20 random actions, d = 3": ("sphere", {"n_actions": 20, "dim": 3}),
    "60 random actions, d = 8": ("sphere", {"n_actions": 60, "dim": 8}),
    "hard family, d = 5": ("hypercube", {"dim": 5}),
}
HORIZON = 1000
CURVE_HORIZONS = (100, 300, 1000, 3000, 10_000)


def at_one_horizon(
    function: Callable[..., Outcome],
    effort: Effort,
    schedules: Iterable[str],
    quick: int,
    full: int,
    **more: Any,
) -> dict[str, Piece]:
    """A piece per schedule and problem; replications of the quick and of the full report."""
    runs = effort.runs(HORIZON, quick, full)
    return {
        f"{schedule}/{label}": piece(
            function, world=world_of(*problem, schedule, **SIGMAS[schedule]), runs=runs, **more
        )
        for schedule in schedules
        for label, problem in PROBLEMS.items()
    }


def over_horizons(
    function: Callable[..., Outcome], effort: Effort, problem: Problem, quick: int, full: int, **more: Any
) -> dict[str, Piece]:
    """A piece per horizon, on one problem with sigmas log-uniform between 0.001 and 1."""
    world = world_of(*problem, "log-uniform", **SIGMAS["log-uniform"])
    return {
        f"curve/{horizon}": piece(function, world=world, runs=effort.runs(horizon, quick, full), **more)
        for horizon in CURVE_HORIZONS
    }


def curve(outcomes: Outcomes, label: str, name: str) -> list[Outcome]:
    """Median and range over replications, horizon by horizon; left out where no run has it."""
    lines = []
    for horizon in CURVE_HORIZONS:
        values = [value for value in outcomes[f"curve/{horizon}"][name] if value is not None]
        if values:
            lines.append(point(label, float(np.median(values)), min(values), max(values), horizon=horizon))
    return lines


# ---- Means, slopes and counts with their uncertainty. ----

#: Two-sided 95 %.
NORMAL = 1.959963984540054


class Interval(NamedTuple):
    """A measured number and the ends of its 95 % interval."""

    mean: float
    low: float
    high: float

    def within(self, claimed: float, tolerance: float) -> bool:
        """Whether even the far end of the interval is close enough to a claim."""
        return max(abs(self.low - claimed), abs(self.high - claimed)) <= tolerance


def interval(mean: float, error: float) -> Interval:
    """A normal interval."""
    return Interval(mean, mean - NORMAL * error, mean + NORMAL * error)


def slope(x: Floats, y: Floats) -> float:
    """The exponent of y in x, by least squares on logarithms."""
    return float(_slope_weights(x) @ np.log(y))


def slope_of_means(x: Floats, means: Floats, errors: Floats) -> Interval:
    """The exponent of means that are uncertain independently of each other (delta method)."""
    weights = _slope_weights(x)
    return interval(slope(x, means), float(np.sqrt(np.square(weights * errors / means).sum())))


def slope_of_runs(x: Floats, runs: Floats) -> Interval:
    """The exponent of ``(R, C)`` runs that each have one, with the interval of their mean."""
    weights = _slope_weights(x)
    exponents = np.log(runs) @ weights
    n = len(exponents)
    error = float(np.std(exponents, ddof=1) / math.sqrt(n)) if n > 1 else 0.0
    return interval(float(exponents.mean()), error)


def _slope_weights(x: Floats) -> Floats:
    logs = np.log(np.asarray(x, dtype=np.float64))
    centred = logs - logs.mean()
    return np.asarray(centred / (centred @ centred))


def most_misses(runs: int, probability: float, cells: int = 1) -> int:
    """How many misses are still believable at this probability: false alarm 1e-6 over all cells."""
    from scipy.stats import binom

    return int(binom.isf(1e-6 / cells, runs, probability))


def share(count: int, runs: int) -> Interval:
    """A share of runs with Wilson's interval."""
    mean = count / runs
    z = NORMAL**2
    centre = (mean + z / (2 * runs)) / (1 + z / runs)
    half = NORMAL / (1 + z / runs) * math.sqrt(mean * (1 - mean) / runs + z / (4 * runs**2))
    return Interval(mean, min(mean, max(0.0, centre - half)), max(mean, min(1.0, centre + half)))
