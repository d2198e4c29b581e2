"""Rivals beside noisewise, seed by seed: differences with their intervals, and which of them are clear."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from benchmarks.rivals.worlds import WORLDS, Floats, World

#: Fewer common runs than this say nothing.
FEWEST = 10
#: Of intervals; a difference is clear if chance alone makes one so large less often than the rest.
LEVEL = 0.95
#: All signs of so few differences are tried; of more differences, so many random ones.
ALL_SIGNS, RANDOM_SIGNS = 12, 20_000
NO_BREAK = "\N{NO-BREAK SPACE}"
BETTER, EVEN, WORSE, TOO_FEW = "better", "even", "worse", "too few"


@dataclass(frozen=True)
class Beside:
    """A mean of paired differences, rival minus noisewise: below 0 is better for the rival."""

    world: World
    budget: int | None  # None: until a claim, and differences are of logarithms
    runs: int
    mean: float
    low: float
    high: float
    verdict: str

    @property
    def where(self) -> str:
        """In words."""
        return self.world.name if self.budget is None else f"{self.world.name} ({self.budget})"

    @property
    def figure(self) -> str:
        """With its interval: a difference of losses in per cent of eps, or a ratio of measurements."""
        if self.verdict == TOO_FEW:
            return f"{self.runs} runs" if self.runs else "-"
        if self.low == self.high == 0.0:  # no interval follows from that
            return f"same in all {self.runs}".replace(" ", NO_BREAK)
        numbers = (self.mean, self.low, self.high)
        if self.budget is None:
            middle, low, high = (f"{math.exp(number):.2g}" for number in numbers)
        else:
            middle, low, high = (str(round(100.0 * number / self.world.eps)) for number in numbers)
        text = f"{middle} ({low} to {high})".replace(" ", NO_BREAK)
        return f"**{text}**" if self.verdict == BETTER else text


def by_chance(differences: Sequence[float]) -> float:
    """How often random signs give a mean as far from 0: seldom where one side is better.

    This holds for few runs too, and where most differences are 0 and the others far from normal.
    """
    sizes: Floats = np.array([d for d in differences if d != 0.0])
    if sizes.size <= ALL_SIGNS:
        signs: Floats = np.array(list(itertools.product((-1.0, 1.0), repeat=sizes.size)))
    else:
        signs = np.random.default_rng(0).choice((-1.0, 1.0), (RANDOM_SIGNS, sizes.size))
    reached = abs(float(sizes.sum())) * (1.0 - 1e-9)
    return float(np.mean(np.abs(signs @ sizes) >= reached))


def _beside(world: World, budget: int | None, differences: Sequence[float]) -> Beside:
    """Student's interval; clear is what it and random signs both show."""
    many = len(differences)
    if many < FEWEST:
        return Beside(world, budget, many, math.nan, math.nan, math.nan, TOO_FEW)
    mean = float(np.mean(differences))
    half = float(stats.t.ppf(0.5 + LEVEL / 2.0, many - 1) * np.std(differences, ddof=1)) / math.sqrt(many)
    clear = abs(mean) > half and by_chance(differences) < 1.0 - LEVEL
    verdict = EVEN if not clear else WORSE if mean > 0.0 else BETTER
    return Beside(world, budget, many, mean, mean - half, mean + half, verdict)


def _common(kept: dict[str, Any], rival: str, world: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The runs of noisewise and of a rival on the seeds that both have."""
    ours, theirs = (
        kept["cells"].get(name, {}).get(world, {}).get("runs", []) for name in ("noisewise", rival)
    )
    return list(zip(ours, theirs, strict=False))


def at_budgets(kept: dict[str, Any], rival: str) -> Iterator[Beside]:
    """The loss of the option named, for each world and budget that the rival can play with."""
    for world in WORLDS.values():
        pairs = _common(kept, rival, world.name)
        for place, budget in enumerate(world.budgets):
            losses = [(a["losses"][place], b["losses"][place]) for a, b in pairs]
            if losses and losses[0][1] is None:
                continue
            yield _beside(world, budget, [b - a for a, b in losses])


def at_claims(kept: dict[str, Any], rival: str) -> Iterator[Beside]:
    """Measurements until a claim, on the log scale; who made none before the cap is counted with the cap."""
    for world in WORLDS.values():
        counts = [
            (a["claimed"] or world.cap, b["claimed"] or world.cap)
            for a, b in _common(kept, rival, world.name)
        ]
        yield _beside(world, None, [math.log(b / a) for a, b in counts])
