"""What a rival is: something that chooses measurements and names an option; and what it leaves behind."""

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from benchmarks.rivals.worlds import READINGS, Drawn, Floats, Result, World, share_variance

CONFIDENCE = 0.95


@dataclass
class Played:
    """One run of a rival in a world."""

    seed: int
    losses: list[float] = field(default_factory=list)  # of the option named after each budget
    claimed: int | None = None  # measurements until it claimed an option to be within eps; None: no claim
    claim_loss: float | None = None  # of the option that it claimed
    seconds: float = 0.0  # of processor time, for all decisions
    decisions: int = 0  # measurements chosen, or told

    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        kept = asdict(self)
        kept["losses"] = [None if math.isnan(loss) else round(loss, 6) for loss in self.losses]
        kept["claim_loss"] = None if self.claim_loss is None else round(self.claim_loss, 6)
        kept["seconds"] = round(self.seconds, 4)
        return kept


class Tally:
    """What was measured of each option: sums from which means and their error bars follow."""

    def __init__(self, world: World) -> None:
        self.known = world.kind == READINGS  # error bars are known, and means are weighted by them
        self._batch = world.batch
        self.weight: Floats = np.zeros(world.options)
        self.sum: Floats = np.zeros(world.options)
        self.count: Floats = np.zeros(world.options)

    def add(self, option: int, result: Result) -> None:
        """One more measurement."""
        weight = 1.0 / result.se**2 if self.known else 1.0
        self.weight[option] += weight
        self.sum[option] += weight * result.value
        self.count[option] += 1

    @property
    def means(self) -> Floats:
        """Weighted means; -inf where nothing was measured."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.count > 0, self.sum / self.weight, -math.inf)

    @property
    def errors(self) -> Floats:
        """Their standard errors: from the known error bars, else of a share of all trials."""
        with np.errstate(divide="ignore"):
            if self.known:
                return np.asarray(1.0 / np.sqrt(self.weight))
            trials = self.count * self._batch
            return np.asarray(np.sqrt(share_variance(self.sum * self._batch, trials) / trials))


class Clock:
    """Processor time of what lies between `with` and its end."""

    def __init__(self, played: Played) -> None:
        self._played = played

    def __enter__(self) -> None:
        self._began = time.process_time()

    def __exit__(self, *_: object) -> None:
        self._played.seconds += time.process_time() - self._began


def step_by_step(
    drawn: Drawn,
    played: Played,
    choose: Callable[[], int],
    tell: Callable[[int, Result], None],
    name: Callable[[], int],
) -> Played:
    """A rival that measures one by one and can name an option at any time."""
    clock = Clock(played)
    for number in range(1, drawn.world.budgets[-1] + 1):
        with clock:
            option = choose()
        result = drawn.measure(option)
        with clock:
            tell(option, result)
        played.decisions += 1
        if number in drawn.world.budgets:
            played.losses.append(drawn.loss(name()))
    return played
