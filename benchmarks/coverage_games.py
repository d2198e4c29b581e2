"""Studies of every kind of evidence, and players who decide what is measured in them.

A `Game` is a question, the true values, and a way to measure an option; all assumptions that certificates
list are kept. A player is given the errors of the estimates, and may use them: that is allowed to whoever
chooses what to measure, as long as a result is told once it is seen.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

import noisewise as nw
from benchmarks.certificate_samplers import answered_share

Floats = np.ndarray[Any, np.dtype[np.float64]]
Rng = np.random.Generator
EPS = 0.5
OPTIONS, STEPS = 4, 80
#: Different tables of features.
FEATURE_TABLES = 100
#: The most that one measurement weighs, in units of the first one.
HEAVIEST = 3000.0


#: Of the estimates now, each option's; NaN where there is none.
Errors = Callable[[], Floats]
Moves = Iterator[tuple[int, float]]
#: Gives options, and how much their measurements are to weigh, without end.
Player = Callable[["Game", Rng, Errors], Moves]


#: For known error bars, and for what may be skewed or has a scatter that is estimated.
NORMAL, ANY_LAW = {0.5: 2.2, 0.8: 2.4, 0.95: 3.2}, {0.5: 1.0, 0.8: 1.2, 0.95: 1.8}


class Result(NamedTuple):
    """A measurement as `tell` takes it, how far it is from the truth, and the variance of that."""

    told: dict[str, Any]
    option: int
    error: float
    variance: float


@dataclass
class Game:
    """One study: what it is asked, what is true, and what a measurement of an option gives."""

    question: dict[str, Any]
    values: Floats
    measure: Callable[[int, float], Result]  # the option, and how much it is to weigh
    contrasts: bool = False  # whether estimates have no level of their own
    #: Standard errors by which an option must flatter before a bound can be missed, by confidence. None where
    #: what is known about a difference is more than what is known about both options.
    safe: dict[float, float] | None = None
    weights: Floats = field(init=False)  # of all that was measured of each option
    precision: Floats = field(init=False)  # the same, in the unit of the values
    errors: Floats = field(init=False)  # of the weighted means

    def __post_init__(self) -> None:
        self.weights, self.precision, self.errors = (np.zeros(self.values.size) for _ in range(3))

    @property
    def best(self) -> int:
        """The option that is truly best."""
        return int(np.argmax(self.values))

    def tell(self, option: int, weight: float) -> dict[str, Any]:
        """A measurement, as `tell` takes it."""
        told, option, error, variance = self.measure(option, weight)
        self.weights[option] += weight
        self.precision[option] += 1.0 / variance
        self.errors[option] += (error - self.errors[option]) / variance / self.precision[option]
        return told

    def misleading(self) -> float:
        """By how many standard errors the best option looks too bad beside the one that flatters most."""
        if not self.precision.all():
            return math.inf
        variance = 1.0 / self.precision + 1.0 / self.precision[self.best]
        apart = (self.errors - self.errors[self.best]) / np.sqrt(variance)
        return float(np.max(np.delete(apart, self.best)))


def names(n: int = OPTIONS) -> list[str]:
    """Of the options."""
    return [f"o{k}" for k in range(n)]


def close(rng: Rng, eps: float = EPS, n: int = OPTIONS) -> Floats:
    """The hardest to certify: rivals just more than eps below the best."""
    values = -eps * rng.uniform(1.0, 1.5, n)
    values[rng.integers(n)] = 0.0
    return np.asarray(values)


def reading(rng: Rng, option: int, value: float, se: float) -> Result:
    """One reading with its standard error."""
    error = float(se * rng.standard_normal())
    return Result({"option": f"o{option}", "value": value + error, "se": float(se)}, option, error, se**2)


def known(rng: Rng) -> Game:
    """Readings with stated standard errors."""
    values = close(rng)

    def measure(option: int, weight: float) -> Result:
        return reading(rng, option, float(values[option]), 2.0 * EPS / np.sqrt(weight))

    return Game({"options": names(), "eps": EPS}, values, measure, safe=NORMAL)


def counts(rng: Rng, *, top: float = 0.8, eps: float = 0.15, first: int = 10) -> Game:
    """Successes out of trials."""
    values = top + close(rng, eps)

    def measure(option: int, weight: float) -> Result:
        trials, share = int(np.ceil(first * weight)), float(values[option])
        came = int(rng.binomial(trials, share))
        told = {"option": f"o{option}", "successes": came, "trials": trials}
        return Result(told, option, came / trials - share, share * (1.0 - share) / trials)

    return Game({"options": names(), "eps": eps}, values, measure, safe=ANY_LAW)


def mixed(rng: Rng) -> Game:
    """Shares that are counted, or measured with a known standard error."""
    game = counts(rng)
    count, values = game.measure, game.values

    def measure(option: int, weight: float) -> Result:
        if rng.random() < 0.5:
            return count(option, weight)
        return reading(rng, option, float(values[option]), 0.15 / np.sqrt(weight))

    return Game(game.question, values, measure, safe=ANY_LAW)


def readings(rng: Rng, *, scatter: str) -> Game:
    """Readings whose scatter nobody states: equal, or every option its own, within a factor of nine."""
    values = close(rng)
    sizes = np.exp(rng.uniform(-1.1, 1.1, OPTIONS)) if scatter == "own" else np.ones(OPTIONS)

    def measure(option: int, weight: float) -> Result:
        number = int(np.clip(np.ceil(2.0 * weight), 2, 500))
        errors = sizes[option] * rng.standard_normal(number)
        told = {"option": f"o{option}", "values": (values[option] + errors).tolist()}
        return Result(told, option, float(errors.mean()), float(sizes[option] ** 2) / number)

    return Game(
        {"options": names(), "eps": EPS, "errors": nw.Errors(scatter=scatter)}, values, measure, safe=ANY_LAW
    )


def bounded(rng: Rng) -> Game:
    """Readings between 0 and 1, of any distribution."""
    values = 0.7 + close(rng, 0.15)
    tightness = np.exp(rng.uniform(0.0, 4.0, OPTIONS))

    def measure(option: int, weight: float) -> Result:
        number = int(np.clip(np.ceil(2.0 * weight), 2, 300))
        mean, tight = float(values[option]), tightness[option]
        got = rng.beta(tight * mean, tight * (1.0 - mean), number)
        variance = mean * (1.0 - mean) / (tight + 1.0) / number
        told = {"option": f"o{option}", "values": got.tolist()}
        return Result(told, option, float(got.mean()) - mean, float(variance))

    return Game(
        {"options": names(), "eps": 0.15, "measure": nw.Ratings(0.0, 1.0)}, values, measure, safe=ANY_LAW
    )


@functools.cache
def pool_order(pool: int) -> list[str]:
    """The order that a study gives to this many items."""
    study = nw.create_study(
        options=names(), eps=EPS, seed=0, measure=nw.Items([f"q{k}" for k in range(pool)])
    )
    return list(study.next_items("o0", pool))


class ExhaustedError(Exception):
    """There is nothing left to measure."""


def items(rng: Rng, *, pool: int | None = None) -> Game:
    """Answers to the same questions in one order: of a population without end, or of a finite pool."""
    eps, number = 0.1, pool or 10_000
    skill = rng.uniform(0.3, 0.6) + 8.0 * close(rng, eps)
    chance = 1.0 / (1.0 + np.exp(-(skill[:, None] + 2.0 * rng.standard_normal(number)[None, :])))
    answers = (rng.random((OPTIONS, number)) < chance).astype(int)
    question: dict[str, Any] = {"options": names(), "eps": eps}
    order = [f"q{k}" for k in range(number)]
    if pool is not None:
        question |= {"measure": nw.Items(order), "seed": 0}
        order = pool_order(pool)
    values = answers.mean(axis=1) if pool is not None else answered_share(skill, 2.0)
    done = np.zeros(OPTIONS, dtype=int)

    def measure(option: int, weight: float) -> Result:
        left = number - done[option]
        if not left:
            option, left = int(np.argmin(done)), number - int(done.min())
        if not left:
            raise ExhaustedError
        first, more = int(done[option]), int(min(np.ceil(5.0 * weight), max(1, left // 2)))
        done[option] += more
        got = {order[k]: int(answers[option, k]) for k in range(first, first + more)}
        error = float(answers[option, first : first + more].mean() - values[option])
        return Result({"option": f"o{option}", "items": got}, option, error, 0.25 / more)

    return Game(question, np.asarray(values), measure)


def blocks(rng: Rng, *, size: int = 4) -> Game:
    """A new offset after every few measurements."""
    values, told = close(rng), [0]
    offsets = rng.normal(20.0, 20.0, STEPS)

    def measure(option: int, weight: float) -> Result:
        day = told[0] // size
        told[0] += 1
        measured = reading(rng, option, float(values[option] + offsets[day]), EPS / np.sqrt(weight))
        return measured._replace(told=measured.told | {"block": f"day {day}"})

    return Game({"options": names(), "eps": EPS}, values, measure, contrasts=True)


def differences(rng: Rng) -> Game:
    """Nothing but differences of two options."""
    values = close(rng)

    def measure(option: int, weight: float) -> Result:
        other = int(rng.choice([k for k in range(OPTIONS) if k != option]))
        measured = reading(rng, option, float(values[option] - values[other]), EPS / np.sqrt(weight))
        told = {"plus": measured.told.pop("option"), "minus": f"o{other}", **measured.told}
        return measured._replace(told=told)

    return Game({"options": names(), "eps": EPS}, values, measure, contrasts=True)


def linear(rng: Rng, *, deviation: float = 0.0) -> Game:
    """Options in two features, with or without deviations."""
    n = 8
    features = np.random.default_rng(int(rng.integers(FEATURE_TABLES))).normal(size=(n, 2))
    values = features @ rng.normal(size=2)
    values *= 3.0 * EPS / float(np.ptp(values))
    table = {"id": names(n), "a": features[:, 0].tolist(), "b": features[:, 1].tolist()}
    question: dict[str, Any] = {"options": table, "roles": {"option": "id"}, "eps": EPS, "model": "linear"}
    if deviation:
        question |= {"model": f"linear+deviation:{deviation}"}
        values = values + deviation * rng.standard_normal(n)

    def measure(option: int, weight: float) -> Result:
        return reading(rng, option, float(values[option]), 2.0 * EPS / np.sqrt(weight))

    return Game(question, np.asarray(values), measure)


def knows_the_truth(game: Game, rng: Rng, errors: Errors) -> Moves:
    """Measures what is not yet wrong in the direction that makes a miss: the best too low, a rival too high.

    Every option is left alone as long as it errs the right way, and measured again, with a weight like all
    before, as long as it does not: what luck has given is kept. Towards the end, if luck was with both, what
    is known least is measured, so that the study may stop.
    """
    best = game.best
    for option in rng.permutation(game.values.size):
        yield int(option), float(rng.uniform(0.5, 2.0))
    for step in itertools.count(game.values.size):
        off = errors()
        if game.contrasts:
            off = off - np.nanmean(off)
        lucky = off * np.sqrt(game.weights)
        lucky[best] *= -1.0
        rivals = np.delete(np.arange(lucky.size), best)
        target = int(rivals[np.nanargmax(lucky[rivals])]) if np.isfinite(lucky[rivals]).any() else best
        option = best if not lucky[best] >= lucky[target] else target
        if rng.random() < 0.2:
            option = int(rng.integers(lucky.size))
        if 3 * step > 2 * STEPS and min(lucky[best], lucky[target]) > 0.0:
            option = int(np.argmin(game.weights))
        yield option, heavier(game, option, rng)


def at_random(game: Game, rng: Rng, errors: Errors) -> Moves:
    """Nobody chooses: any option, with any weight."""
    while True:
        yield int(rng.integers(game.values.size)), float(np.exp(rng.uniform(0.0, 4.0)))


def in_order(game: Game, rng: Rng, errors: Errors) -> Moves:
    """One option after the other, the best last or first, each from rough to fine.

    What comes late finds all others settled; and what has no rival yet is measured without end.
    """
    others = [k for k in rng.permutation(game.values.size).tolist() if k != game.best]
    order = [*others, game.best] if rng.random() < 0.5 else [game.best, *others]
    each = max(1, STEPS // len(order))
    for option in order:
        for _ in range(each):
            yield option, heavier(game, option, rng)
    while True:
        yield game.best, heavier(game, game.best, rng)


def heavier(game: Game, option: int, rng: Rng) -> float:
    """A good part of all before: then some dozens of measurements pass through many sizes."""
    return float(np.clip(rng.uniform(0.1, 0.5) * max(1.0, game.weights[option]), 0.5, HEAVIEST))
