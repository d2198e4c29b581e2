"""What a section of the report is made of: cells to compute, and what is told about them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

#: What a cell returns: plain numbers, strings and lists, so that a file can hold them.
Outcome = dict[str, Any]


class Plan(NamedTuple):
    """How much to compute, and from which seed."""

    full: bool
    seed: int = 0

    def pick(self, quick: Any, full: Any) -> Any:
        """One of two sizes."""
        return full if self.full else quick


@dataclass(frozen=True)
class Cell:
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
    frame: "pl.DataFrame"


class Figure(NamedTuple):
    """A chart: shown on the page, and kept as SVG under its name."""

    name: str
    caption: str
    chart: "alt.LayerChart"


class Check(NamedTuple):
    """Something that must hold, and by how much it did."""

    name: str
    passed: bool
    detail: str


@dataclass
class Told:
    """What a section says, in order, and what it checked."""

    blocks: list[Prose | Shown | Figure] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)

    def say(self, text: str) -> None:
        """Add a paragraph."""
        self.blocks.append(Prose(" ".join(text.split())))

    def show(self, name: str, caption: str, frame: "pl.DataFrame") -> None:
        """Add a table."""
        self.blocks.append(Shown(name, caption, frame))

    def draw(self, name: str, caption: str, chart: "alt.LayerChart") -> None:
        """Add a figure."""
        self.blocks.append(Figure(name, caption, chart))

    def check(self, name: str, passed: Any, detail: str) -> None:
        """Add something that must hold."""
        self.checks.append(Check(name, bool(passed), detail))


@dataclass(frozen=True)
class Section:
    """A part of the paper: what must be computed for it, and what is then told."""

    name: str
    title: str
    cells: Callable[[Plan], dict[str, Cell]]
    tell: Callable[[Plan, Mapping[str, Outcome]], Told]
    figures: tuple[str, ...]
    """The names of its figures; the notes on the paper refer to them."""
