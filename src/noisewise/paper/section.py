"""What a section of the report is made of: pieces to compute, and an account of what they show."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from noisewise.charts.claims import measured_and_claimed
from noisewise.charts.lines import lines_with_bands
from noisewise.paper.measurements.runs import Runs

if TYPE_CHECKING:
    import altair as alt

#: What a piece returns: plain numbers, strings and lists, so that a file can hold them.
Outcome = dict[str, Any]


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


@dataclass(frozen=True)
class Piece:
    """One piece of work: a function of this package and its plain arguments, computed once and kept."""

    function: Callable[..., Outcome]
    arguments: dict[str, Any]
    rule: str | None = None
    """The rule that it simulates, where the arguments do not say it."""


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

    def show(self, name: str, caption: str, frame: pl.DataFrame) -> None:
        """Add a table."""
        self.blocks.append(Shown(name, caption, frame))

    def draw(self, name: str, caption: str, chart: "alt.LayerChart") -> None:
        """Add a figure."""
        self.blocks.append(Figure(name, caption, chart))

    def draw_curves(
        self,
        name: str,
        caption: str,
        lines: pl.DataFrame | list[dict[str, Any]],
        y_title: str,
        title: str,
        subtitle: str,
        **how: Any,
    ) -> None:
        """Add a figure of lines over the horizon."""
        words: dict[str, Any] = {
            "x_title": "Horizon T",
            "y_title": y_title,
            "title": title,
            "subtitle": subtitle,
        }
        chart = lines_with_bands(_frame(lines), x="horizon", **words | how)
        self.draw(name, caption, chart)

    def draw_claims(
        self,
        name: str,
        caption: str,
        rows: pl.DataFrame | list[dict[str, Any]],
        title: str,
        x_title: str,
        **how: Any,
    ) -> None:
        """Add a figure of what was measured beside what was claimed."""
        self.draw(name, caption, measured_and_claimed(_frame(rows), title=title, x_title=x_title, **how))

    def check(self, name: str, passed: Any, detail: str, verdict: str = HOLDS) -> None:
        """Add something that must come out, and what that says about the paper's claim."""
        self.checks.append(Finding(name, bool(passed), detail, verdict))


def _frame(rows: pl.DataFrame | list[dict[str, Any]]) -> pl.DataFrame:
    return rows if isinstance(rows, pl.DataFrame) else pl.DataFrame(rows, infer_schema_length=None)


@dataclass(frozen=True)
class Section:
    """A part of the paper: what must be computed for it, and how the outcomes are described."""

    name: str
    title: str
    pieces: Callable[[Effort], dict[str, Piece]]
    describe: Callable[[Effort, Mapping[str, Outcome]], Account]
    figures: tuple[str, ...]
    """The names of its figures; the notes on the paper refer to them."""
