"""How often evidence against the truth ever exceeds what a certificate allows: thousands of studies at once.

A certificate can be wrong only if the evidence against the true means exceeds its threshold,
``E_j·(1 - w + w·E_i/(n - 1)) >= 1/α`` for the best option j and some other i. This is looked at directly
here, after every measurement, so that 2000 studies a line take seconds, and nothing is lost to how bounds are
computed from it. A player who knows the truth measures what misleads most; another nobody; a third one
option after the other, from rough to fine.

    python -m benchmarks.evidence_events 2000
    python -m benchmarks.evidence_events 2000 "paired items"
"""

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.certificate_samplers import answered_share
from benchmarks.timing import Row
from noisewise.study.evidence import heavy_tails as any_tails
from noisewise.study.evidence.bounded import STAKES
from noisewise.study.evidence.counts import Counts
from noisewise.study.evidence.items import stakes
from noisewise.study.evidence.kind import DOWN, UP
from noisewise.study.evidence.known import KnownErrorBars
from noisewise.study.evidence.levels import CHOSEN, chosen_of_suprema, of_suprema
from noisewise.study.evidence.own_scatter import OwnScatter
from noisewise.study.models.model import LITTLE, PAIRED, Shares

OPTIONS, STEPS, EPS = 4, 150, 0.1
PLAYERS = ("knows the truth", "at random", "in the worst order")
Floats = np.ndarray[Any, np.dtype[np.float64]]


class Known:
    """Error bars over two decades, which somebody may choose by looking."""

    truth = np.array([0.1, 0.0, 0.0, 0.0])
    own = False

    def __init__(self, studies: int, rng: np.random.Generator) -> None:
        self._rng, self._shape = rng, (studies, OPTIONS)
        self._weight, self._sum = np.zeros(self._shape), np.zeros(self._shape)

    def measure(self, rows: Any, option: Any) -> None:
        """One more measurement of an option in each study."""
        sigma = 10.0 ** self._rng.uniform(-1.5, 0.5, option.size)
        value = self.truth[option] + sigma * self._rng.standard_normal(option.size)
        self._weight[rows, option] += sigma**-2.0
        self._sum[rows, option] += value * sigma**-2.0

    def against_truth(self, side: float) -> Floats:
        """Log E against the true means, (studies, options)."""
        weight = self._weight.ravel()
        mean = np.divide(self._sum.ravel(), weight, out=np.tile(self.truth, self._shape[0]), where=weight > 0)
        kind = KnownErrorBars(weight, np.zeros(weight.size), EPS)
        return _at(kind, side * (np.tile(self.truth, self._shape[0]) - mean), weight > 0, side, self._shape)


class Trials:
    """Batches of twenty trials."""

    truth = np.array([0.35, 0.25, 0.25, 0.25])
    own = False

    def __init__(self, studies: int, rng: np.random.Generator) -> None:
        self._rng, self._shape = rng, (studies, OPTIONS)
        self._won, self._tried = np.zeros(self._shape), np.zeros(self._shape)

    def measure(self, rows: Any, option: Any) -> None:
        """One more batch of an option in each study."""
        self._won[rows, option] += self._rng.binomial(20, self.truth[option])
        self._tried[rows, option] += 20.0

    def against_truth(self, side: float) -> Floats:
        """Log E against the true means, (studies, options)."""
        tried, won = self._tried.ravel(), self._won.ravel()
        share = won / np.maximum(tried, 1.0)
        kind = Counts(won, tried, share, 1.0, EPS)
        return _at(kind, side * (np.tile(self.truth, self._shape[0]) - share), tried > 0, side, self._shape)


class Both:
    """Error bars and trials of the same options; which comes next depends on what was seen."""

    truth = Trials.truth
    own = False

    def __init__(self, studies: int, rng: np.random.Generator) -> None:
        self._bars, self._trials = Known(studies, rng), Trials(studies, rng)
        self._bars.truth = self.truth  # type: ignore[misc]

    def measure(self, rows: Any, option: Any) -> None:
        """A batch where trials look good so far, else a value with an error bar."""
        share = self._trials._won[rows, option] / np.maximum(self._trials._tried[rows, option], 1.0)
        counted = share > self.truth[option]
        self._trials.measure(rows[counted], option[counted])
        self._bars.measure(rows[~counted], option[~counted])

    def against_truth(self, side: float) -> Floats:
        """Log E against the true means, (studies, options)."""
        return self._bars.against_truth(side) + self._trials.against_truth(side)


class Bounded:
    """Skewed readings between 0 and 1."""

    truth = np.array([2 / 3, 2 / 5, 2 / 5, 2 / 5])
    own = False

    def __init__(self, studies: int, rng: np.random.Generator) -> None:
        self._rng = rng
        self._logs = {side: np.zeros((studies, OPTIONS, STAKES.size)) for side in (UP, DOWN)}

    def measure(self, rows: Any, option: Any) -> None:
        """One reading more of an option in each study."""
        x = self._rng.beta(2.0, np.where(option == 0, 1.0, 3.0))[:, None]
        m = self.truth[option][:, None]
        self._logs[UP][rows, option] += np.log1p(STAKES * (m - x) / (1.0 - m))
        self._logs[DOWN][rows, option] += np.log1p(STAKES * (x - m) / m)

    def against_truth(self, side: float) -> Floats:
        """Log E against the true means, (studies, options)."""
        return np.asarray(np.logaddexp.reduce(self._logs[side], axis=2) - math.log(STAKES.size))


class OwnReadings:
    """Readings of every option with a scatter of its own."""

    truth = np.array([0.1, 0.0, 0.0, 0.0])
    own = True
    _sd = np.array([1.0, 0.3, 2.0, 0.7])

    def __init__(self, studies: int, rng: np.random.Generator) -> None:
        self._rng, self._shape = rng, (studies, OPTIONS)
        self._sums = np.zeros((3, *self._shape))

    def measure(self, rows: Any, option: Any) -> None:
        """One reading more of an option in each study, counted from the truth."""
        x = self._sd[option] * self._rng.standard_normal(option.size)
        for power in range(3):
            self._sums[power][rows, option] += x**power

    def against_truth(self, side: float) -> Floats:
        """Log E against the true means, (studies, options)."""
        n, one, two = (part.ravel() for part in self._sums)
        mean = one / np.maximum(n, 1.0)
        squares = np.maximum(two - n * mean**2, 0.0)
        kind = OwnScatter(n, np.zeros(n.size), squares, np.zeros(n.size))
        return _at(kind, -side * mean, kind.holds(), side, self._shape)


class AnyErrors:
    """Error bars whose errors are mostly small and seldom large, always to the same side."""

    truth = np.array([0.1, 0.0, 0.0, 0.0])
    own = False
    _rare = 0.2

    def __init__(self, studies: int, rng: np.random.Generator) -> None:
        self._rng = rng
        self._logs = {side: np.zeros((studies, OPTIONS, any_tails.STAKES.size)) for side in (UP, DOWN)}

    def measure(self, rows: Any, option: Any) -> None:
        """One more measurement of an option in each study: of the best one errors are seldom large above."""
        sigma = 10.0 ** self._rng.uniform(-1.5, 0.5, option.size)
        seldom = self._rng.random(option.size) < self._rare
        error = sigma * (seldom - self._rare) / math.sqrt(self._rare * (1.0 - self._rare))
        error *= np.where(option == 0, 1.0, -1.0)
        stake = EPS * any_tails.STAKES
        cost = np.log1p(0.5 * (stake / sigma[:, None]) ** 2)
        for side in (UP, DOWN):
            y = np.clip(-side * error[:, None] * stake / sigma[:, None] ** 2, -1.0, any_tails.MOST)
            self._logs[side][rows, option] += np.log1p(y + 0.5 * y * y) - cost

    def against_truth(self, side: float) -> Floats:
        """Log E against the true means, (studies, options)."""
        return np.asarray(np.logaddexp.reduce(self._logs[side] + np.log(any_tails.grid_weights()), axis=2))


class SameItems:
    """Batches of items that all options answer in one order; pairs are judged on what both have answered.

    Every pair has a share of the error probability for itself.
    """

    truth = np.array([0.1, 0.0, 0.0, 0.0])  # about: the players look at evidence only
    own = False
    batch = 4

    def __init__(self, studies: int, rng: np.random.Generator) -> None:
        size, n = STEPS * self.batch, OPTIONS
        ease, skill = 2.0 * rng.standard_normal((studies, 1, size)), np.array([0.9, 0.2, 0.2, 0.2])[:, None]
        answers = rng.random((studies, n, size)) < 1.0 / (1.0 + np.exp(-(skill + ease)))
        share = answered_share(skill[:, 0], 2.0)
        x = 0.5 * (1.0 + answers[:, 1:].astype(float) - answers[:, :1])  # in favour of each other option
        mean = 0.5 * (1.0 + share[1:] - share[0])[:, None]
        bets = stakes(EPS)
        logs = [
            np.log1p(bet * (x - mean) / mean).cumsum(axis=2)[:, :, self.batch - 1 :: self.batch]
            for bet in bets
        ]
        whole = np.logaddexp.reduce(logs, axis=0) - math.log(bets.size)
        self._whole = np.concatenate([np.zeros((studies, n - 1, 1)), whole], axis=2)
        self._told = np.zeros((studies, n), dtype=np.int64)

    def measure(self, rows: Any, option: Any) -> None:
        """The next batch of an option in each study."""
        self._told[rows, option] = np.minimum(self._told[rows, option] + 1, STEPS)

    def pairs(self) -> Floats:
        """Log E against the true differences of the others and the best one, (studies, options - 1)."""
        common = np.minimum(self._told[:, 1:], self._told[:, :1])
        return np.asarray(np.take_along_axis(self._whole, common[:, :, None], axis=2)[:, :, 0])

    def against_truth(self, side: float) -> Floats:
        """What the players look at, (studies, options)."""
        found = self.pairs()
        return np.column_stack([found.max(axis=1), found])


WORLDS: dict[str, Callable[[int, np.random.Generator], Any]] = {
    "known error bars": Known,
    "counts": Trials,
    "error bars and counts": Both,
    "bounded readings": Bounded,
    "own scatter": OwnReadings,
    "error bars, any tails": AnyErrors,
    "paired items": SameItems,
}


def _at(kind: Any, z: Floats, measured: Any, side: float, shape: tuple[int, int]) -> Floats:
    found = np.zeros(z.size)
    some = np.flatnonzero(measured)
    found[some] = kind.log_e(some, z[some, None], side).value[:, 0]
    return found.reshape(shape)


def threshold(delta: float, own: bool) -> tuple[float, float]:
    """The logarithm of what evidence must stay below, and w."""
    whole = math.log(1.0 / (Shares(delta, OPTIONS, OPTIONS, False).comparing * delta))
    if not own:
        return whole, CHOSEN
    chosen = chosen_of_suprema(OPTIONS)
    return float(of_suprema(np.array(whole), chosen)), chosen


def crossed(name: str, player: str, studies: int, deltas: tuple[float, ...], seed: int) -> list[int]:
    """In how many studies evidence against the truth ever exceeded each threshold."""
    rng = np.random.default_rng([seed, list(WORLDS).index(name), PLAYERS.index(player)])
    world = WORLDS[name](studies, rng)
    ever = np.zeros((len(deltas), studies), dtype=bool)
    rows = np.arange(studies)
    for step in range(STEPS):
        best, others = world.against_truth(UP)[:, 0], world.against_truth(DOWN)[:, 1:]
        for at, delta in enumerate(deltas):
            if isinstance(world, SameItems):
                shares = Shares(PAIRED * delta, OPTIONS, OPTIONS, False, limits=LITTLE, connected=LITTLE)
                ever[at] |= (world.pairs() >= shares.doubt(0)[0]).any(axis=1)
                continue
            level, chosen = threshold(delta, world.own)
            bet = np.logaddexp(math.log(1.0 - chosen), others.max(axis=1) + math.log(chosen / (OPTIONS - 1)))
            ever[at] |= best + bet >= level
        if player == "at random":
            option = rng.integers(0, OPTIONS, studies)
        elif player == "in the worst order":
            option = np.full(studies, step * OPTIONS // STEPS)
        else:  # what misleads most is left alone once it does; the others get their chance
            worst = 1 + others.argmax(axis=1)
            option = np.where(best > others.max(axis=1), worst, 0)
            option = np.where(rng.random(studies) < 0.2, rng.integers(0, OPTIONS, studies), option)
        world.measure(rows, option)
    return ever.sum(axis=1).tolist()


#: Error probabilities.
DELTAS = (0.5, 0.2, 0.05)


def run(studies: int = 2000, only: str | None = None) -> list[Row]:
    """All kinds (or one) and players at confidence 0.5, 0.8 and 0.95."""
    found = []
    for name in WORLDS if only is None else [only]:
        for player in PLAYERS:
            for delta, count in zip(DELTAS, crossed(name, player, studies, DELTAS, 0), strict=True):
                what = f"{name}, {player}, confidence {1 - delta:g}"
                found.append(Row(what, count / studies / delta, "of the allowed error", 1.0))
    return found


if __name__ == "__main__":
    for row in run(int(sys.argv[1]) if len(sys.argv) > 1 else 2000, *sys.argv[2:3]):
        print(f"{row.name}: {row.figure:.3f}", flush=True)
