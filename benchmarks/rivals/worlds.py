"""The worlds that rivals are compared in: drawn from a seed, and the same for every rival.

What the k-th measurement of an option gives depends on the world, the seed, the option and k, and on nothing
that a rival does; so rivals that measure the same see the same. Error bars that differ from one measurement
to the next belong to the moment: the n-th measurement has the n-th of them, whatever is measured. Larger is
better. This module needs NumPy alone, because rivals live in an environment without noisewise.
"""

import math
import zlib
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
#: What is measured: values with known error bars, successes out of trials, answers to shared questions.
READINGS, COUNTS, ITEMS = "readings", "counts", "items"


@dataclass(frozen=True)
class World:
    """What is known about a world before it is drawn."""

    name: str
    kind: str
    options: int
    eps: float  # being this close to the best is good enough
    budgets: tuple[int, ...]  # numbers of measurements after which everyone is asked for the best option
    cap: int  # measurements after which nobody waits for a claim any more
    about: str
    se: tuple[float, float] = (1.0, 1.0)  # error bars lie between, evenly on the log scale
    shares: tuple[float, float] = (0.0, 1.0)  # true rates lie between
    batch: int = 1  # trials or questions of one measurement
    features: int = 0
    behind: float = 0.0  # all options but one are this far below it; 0: values are drawn


#: Set down before anything was played, and not changed afterwards; but "one just ahead" was added when the
#: first runs of A/B/n tests showed that in worlds drawn at random hardly any claim is wrong.
WORLDS = {
    world.name: world
    for world in (
        World(
            "equal error bars",
            READINGS,
            options=8,
            eps=0.5,
            budgets=(80, 240),
            cap=4000,
            about="8 options with normal values (standard deviation 1), every error bar 1",
        ),
        World(
            "one just ahead",
            READINGS,
            options=8,
            eps=0.5,
            budgets=(80, 240),
            cap=4000,
            behind=0.55,
            about="8 options, seven of them 0.55 below the best, every error bar 1: the hard case for claims",
        ),
        World(
            "error bars that differ",
            READINGS,
            options=8,
            eps=0.5,
            budgets=(80, 240),
            cap=4000,
            se=(0.3, 3.0),
            about="8 options with normal values, error bars from 0.3 to 3, known once a measurement is made",
        ),
        World(
            "many options",
            READINGS,
            options=100,
            eps=0.5,
            budgets=(300, 900),
            cap=6000,
            se=(0.5, 0.5),
            about="100 options with normal values (standard deviation 1), every error bar 0.5",
        ),
        World(
            "rates from counts",
            COUNTS,
            options=6,
            eps=0.01,
            budgets=(60, 240),
            cap=3000,
            shares=(0.02, 0.08),
            batch=100,
            about="6 options with rates between 2 % and 8 %, told as successes out of 100 trials",
        ),
        World(
            "paired items",
            ITEMS,
            options=6,
            eps=0.05,
            budgets=(30, 120),
            cap=1500,
            batch=20,
            about="6 options answer the same questions, of very different difficulty, 20 at a time",
        ),
        World(
            "options with features",
            READINGS,
            options=30,
            eps=0.25,
            budgets=(60, 180),
            cap=6000,
            se=(0.5, 0.5),
            features=4,
            about="30 options, whose values are linear in 4 known features, every error bar 0.5",
        ),
    )
}


class Result(NamedTuple):
    """What one measurement gives. For counts and answers the value is a share, its error bar an estimate."""

    value: float
    se: float
    answers: tuple[int, ...] = ()  # to the trials or questions, in their order; empty for readings


class Drawn:
    """A world as it came out for one seed, and a stock of measurements of it."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.seed = world, seed
        rng, n = self._stream(0), world.options
        self.x: Floats = _on_sphere(rng.standard_normal((n, max(1, world.features))))
        self.names = [f"o{k}" for k in range(n)]
        if world.kind == COUNTS:
            self.truth: Floats = rng.uniform(*world.shares, n)
        elif world.kind == ITEMS:
            self._skill = rng.normal(0.0, 0.7, n)
            self.truth = _share_answered(self._skill)
        elif world.features:
            self.truth = self.x @ _on_sphere(rng.standard_normal((1, world.features)))[0]
        elif world.behind:
            self.truth = np.full(n, -world.behind)
            self.truth[rng.integers(n)] = 0.0
        else:
            self.truth = rng.standard_normal(n)
        low, high = np.log(world.se)
        self._bars: Floats = np.exp(self._stream(1).uniform(low, high, world.cap))
        self._streams = [self._stream(2, option) for option in range(n)]
        self._seen = [0] * n
        self.number = 0  # of measurements made

    def _stream(self, *which: int) -> np.random.Generator:
        return np.random.default_rng([zlib.crc32(self.world.name.encode()), self.seed, *which])

    def measure(self, option: int) -> Result:
        """The next measurement of an option."""
        rng, world = self._streams[option], self.world
        k, self._seen[option] = self._seen[option], self._seen[option] + 1
        se = float(self._bars[min(self.number, world.cap - 1)])
        self.number += 1
        if world.kind == READINGS:
            return Result(float(self.truth[option] + se * rng.standard_normal()), se)
        if world.kind == COUNTS:
            chances: Floats = np.full(world.batch, self.truth[option])
        else:
            chances = _logistic(self._skill[option] - self._difficulty(k))
        answers = tuple(int(hit) for hit in rng.random(world.batch) < chances)
        variance = float(share_variance(sum(answers), world.batch)) / world.batch
        return Result(sum(answers) / world.batch, math.sqrt(variance), answers)

    def _difficulty(self, batch: int) -> Floats:
        """Of the questions of one batch; every option gets the same ones in the same order."""
        return self._stream(3, batch).normal(0.0, 2.0, self.world.batch)

    def loss(self, option: int) -> float:
        """How far an option is below the best."""
        return float(self.truth.max() - self.truth[option])


def share_variance(hits: Floats | float, trials: Floats | float) -> Floats:
    """Of one trial, as it is estimated: not 0 where nothing or everything was hit."""
    smooth = (hits + 1.0) / (trials + 2.0)
    return np.asarray(smooth * (1.0 - smooth))


def _on_sphere(points: Floats) -> Floats:
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))


def _logistic(x: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-x)))


def _share_answered(skill: Floats) -> Floats:
    """The mean of the logistic function of skill - difficulty, the difficulty being normal(0, 2)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    chances = _logistic(skill[:, None] - 2.0 * nodes[None, :])
    return np.asarray(chances @ (weights / weights.sum()))
