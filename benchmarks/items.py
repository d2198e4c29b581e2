"""Paired items against the same answers counted option by option, and how often paired bounds are wrong.

Worlds: K options of different strength, items of difficulty ``sd`` (on the logistic scale), right or wrong.
*Paired*: all options are told the same items along one random order (the study's own evidence and asking
rule: leader first, challenger follows, batches of 50). *Unpaired*: every option has items of its own, counts
at their true price, measured by the same rule, or by one that suits them better: the leader as often as the
root of the sum of squares of the others. All stop when the bound is at most eps; the number of answers is
compared.
"""

import math

import numpy as np

from benchmarks.timing import Row
from noisewise.core.blocks import Floats
from noisewise.study.evidence.counts import Counts
from noisewise.study.evidence.items import PairedItems
from noisewise.study.log.items import Items, ToldItems
from noisewise.study.models.independent import separate_options
from noisewise.study.models.model import LITTLE, PAIRED, Shares
from noisewise.study.telling.scale import AS_TOLD

BATCH = 50
DELTA = 0.05


class _Question:
    """What `Items` needs of a specification."""

    seed = 0
    range_of_items = (0.0, 1.0)
    value_scale = AS_TOLD

    def __init__(self, pool: int | None) -> None:
        self.items = pool


class Race:
    """Options that are told items batch by batch, and the paired bounds."""

    def __init__(self, answers: Floats, eps: float, delta: float, pool: int | None = None) -> None:
        self.answers, self.eps = answers, eps
        self.n = answers.shape[0]
        self.items = Items(_Question(pool))  # type: ignore[arg-type]
        self.told = np.zeros(self.n, dtype=np.int64)
        shares = Shares(PAIRED * delta, self.n, self.n, changed=False, limits=LITTLE, connected=LITTLE)
        self.level = shares.doubt(0)
        for option in range(self.n):
            self.tell(option)

    def tell(self, option: int, batch: int = BATCH) -> None:
        """Tell an option its next items."""
        places = np.arange(self.told[option], min(self.told[option] + batch, self.answers.shape[1]))
        self.items.of(option).put(ToldItems(places, self.answers[option, places].astype(float)))
        self.told[option] += places.size

    def means(self) -> Floats:
        """The share of right answers of every option."""
        return np.array([self.items.of(option).values.mean() for option in range(self.n)])

    def upper(self, leader: int) -> Floats:
        """By how much each option may be better than one."""
        zero = np.zeros(self.n)
        pairs = PairedItems(
            self.items, self.n, 1.0, differences=lambda option: zero, doubt=lambda option: self.level,
            resolution=self.eps,
        )  # fmt: skip
        upper = pairs.half_widths(leader)
        upper[leader] = -np.inf
        return upper

    def step(self) -> float:
        """The bound now; then whoever is behind in the closest race is told a batch."""
        leader = int(np.argmax(self.means()))
        upper = self.upper(leader)
        rival = int(np.argmax(upper))
        behind = leader if self.told[leader] <= self.told[rival] else rival
        if self.told[behind] >= self.answers.shape[1]:
            behind = rival if behind == leader else leader
        bound = float(upper[rival])
        if bound > self.eps:
            self.tell(behind)
        return bound


def answers_of(rng: np.random.Generator, n: int, sd: float, size: int) -> Floats:
    """Right and wrong answers of options of different strength to items of different difficulty."""
    strength = rng.uniform(0.5, 1.8, n) * max(1.0, sd / 1.5)
    chance = 1.0 / (1.0 + np.exp(-(strength[:, None] + sd * rng.standard_normal(size))))
    return np.asarray((rng.random((n, size)) < chance).astype(np.int8))


def paired(answers: Floats, eps: float) -> int:
    """Answers until the paired bound is at most eps."""
    race = Race(answers, eps, DELTA)
    while race.step() > eps and race.told.min() < answers.shape[1]:
        pass
    return int(race.told.sum())


def unpaired(rng: np.random.Generator, answers: Floats, eps: float, *, own_rule: bool) -> int:
    """Answers until the bound from counts is at most eps, with items of every option's own.

    Args:
        rng: Of the order of each option's items.
        answers: Of all options to all items.
        eps: Where to stop.
        own_rule: Whether the leader is measured as often as it is worth; else as with paired items, in turn
            with its closest rival.
    """
    n, size = answers.shape
    own = np.stack([row[rng.permutation(size)] for row in answers])
    sums = np.concatenate([np.zeros((n, 1)), np.cumsum(own, axis=1)], axis=1)
    told, tables = np.full(n, BATCH), None
    while True:
        right = sums[np.arange(n), told]
        counts = Counts(right, told.astype(float), right / told, 1.0, eps)
        found = separate_options([counts], Shares(DELTA, n, n, changed=False), tables)
        tables = found.tables
        leader = int(np.argmax(right / told))
        upper = right / told - right[leader] / told[leader] + found.half_widths(leader)
        upper[leader] = -np.inf
        rival = int(np.argmax(upper))
        if upper[rival] <= eps or told.max() + BATCH > size:
            return int(told.sum())
        others = math.sqrt(float((np.delete(told, leader).astype(float) ** 2).sum()))
        ahead = told[leader] >= others if own_rule else told[leader] > told[rival]
        told[rival if ahead else leader] += BATCH


def ratio(
    n: int, eps: float, sd: float, runs: int, *, own_rule: bool, first_seed: int = 0
) -> tuple[float, list[int], list[int]]:
    """The geometric mean of answers with pairs over answers without, and both numbers of every run."""
    with_pairs, without = [], []
    for seed in range(first_seed, first_seed + runs):
        rng = np.random.default_rng([seed, n])
        answers = answers_of(rng, n, sd, 200_000)
        with_pairs.append(paired(answers, eps))
        without.append(unpaired(rng, answers, eps, own_rule=own_rule))
    return float(np.exp(np.mean(np.log(with_pairs) - np.log(without)))), with_pairs, without


def rows(runs: int = 20) -> list[Row]:
    """What `python -m benchmarks items` prints."""
    found = []
    for n, own_rule, most in ((5, False, 0.7), (20, False, 0.7), (5, True, 0.7), (20, True, 1.0)):
        figure, with_pairs, without = ratio(n, 0.02, 2.0, runs, own_rule=own_rule)
        said = "a rule of its own" if own_rule else "the same rule"
        detail = f"{np.mean(with_pairs):.0f} answers against {np.mean(without):.0f}, {runs} runs"
        found.append(
            Row(f"paired over unpaired, K = {n}, unpaired by {said}", figure, "x", most, detail=detail)
        )
    return found
