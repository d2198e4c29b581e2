"""A forecast: how many measurements one way of going on takes, as numbers and in words."""

import math
from dataclasses import dataclass

from noisewise.core.support.words import about


@dataclass(frozen=True)
class Level:
    """One noise level: an instrument, a sample size."""

    sigma: float
    share: float  # of the measurements
    cost: float


@dataclass(frozen=True)
class Forecast:
    """How many measurements it takes in one way of going on; infinite counts mean: more than were tried."""

    name: str
    median: float
    low: float  # one study in ten needs fewer
    high: float  # one in ten needs more
    cost: float  # median
    cost_low: float
    cost_high: float
    levels: tuple[Level, ...]  # the shares are those that were used
    paths: int  # that were simulated; 0: the counts do not depend on what comes out
    unit: str | None = None  # what the coming blocks are called, "day" or "block"; None: there are none
    blocks: float | None = None  # how many more of them are begun, median; the present one is not counted
    blocks_low: float | None = None
    blocks_high: float | None = None

    def words(self) -> str:
        """The counts in words."""
        if math.isinf(self.median):
            return "more measurements than were simulated"
        band = f"({self._band(self.low, self.high)})" if self.paths else "whatever comes out"
        if self.unit is None or self.blocks is None or self.blocks_low is None or self.blocks_high is None:
            return f"about {about(self.median)} more measurement{_s(self.median)} {band}"
        blocks = "no further" if self.blocks == 0.0 else f"about {about(self.blocks)} more"
        whole = f"{blocks} {self.unit}{_s(self.blocks or 1.0)}"
        count = f"about {about(self.median)} measurement{_s(self.median)} {band}"
        around = f" ({self._band(self.blocks_low, self.blocks_high)})" if self.paths else ""
        return f"{whole}{around}, {count}"

    def cost_words(self) -> str:
        """The cost in words."""
        if math.isinf(self.cost):
            return "more than was simulated"
        band = f" ({self._band(self.cost_low, self.cost_high)})" if self.paths else ""
        return f"about {about(self.cost)}{band}"

    def _band(self, low: float, high: float) -> str:
        return (
            f"80 %: {about(low)} to {about(high)}" if math.isfinite(high) else f"80 %: {about(low)} or more"
        )


def _s(count: float) -> str:
    return "" if count == 1.0 else "s"
