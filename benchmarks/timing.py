"""Timing two things in turn, so that a busy machine slows both alike."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

BLOCKS = 9


@dataclass(frozen=True)
class Row:
    """One line of the report."""

    name: str
    figure: float
    unit: str
    target: float
    at_least: bool = False  # whether the target is a least value; by default it is a largest
    detail: str = ""

    @property
    def reached(self) -> bool:
        """Whether the figure meets its target."""
        return self.figure >= self.target if self.at_least else self.figure <= self.target


def seconds(function: Callable[[], object]) -> float:
    """The time one call takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def alternating(
    ours: Callable[[], object], theirs: Callable[[], object], blocks: int = BLOCKS
) -> tuple[float, float]:
    """Median seconds of each, measured in alternating blocks after one call to warm up."""
    ours()
    theirs()
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(blocks)]
    return statistics.median(p[0] for p in pairs), statistics.median(p[1] for p in pairs)
