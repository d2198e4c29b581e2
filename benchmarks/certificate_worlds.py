"""Worlds in which certificates are compared: what is measured in them does not depend on any certificate.

A world draws true values, and one of the plain samplers decides what is measured; `Drawn.rows` gives that
sequence for a seed, and whoever certifies meets the same. True values are such that larger is better; with
the goal "min" their mirror images are told.
"""

import itertools
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from benchmarks.certificate_samplers import (
    Floats,
    Rng,
    Wanted,
    answered_share,
    count_rows,
    item_rows,
    known_rows,
    linear_rows,
    scatter_rows,
)

#: Kinds of worlds: readings, counts, features, questions.
READINGS, COUNTS, LINEAR, ITEMS = "readings", "counts", "linear", "items"
#: How results are told: as they are; readings with or without what is known about their scatter; answers to
#: the same questions by their names, or as counts of everybody's own questions.
AS_IS, KNOWN, OWN, POOLED = "as they are", "known scatter", "own scatter", "pooled scatter"
PAIRED, UNPAIRED = "paired", "unpaired"


@dataclass(frozen=True)
class World:
    """What is known about a world before it is drawn."""

    name: str
    kind: str
    options: int
    eps: float
    most: float  # the largest ratio of measurements that is good enough
    values: str = "uniform"  # how true values come about: a name of VALUES
    spread: float = 2.0  # of the values
    noise: str = "one"  # a name of NOISE
    se: float = 1.0
    shares: tuple[float, float] = (0.0, 1.0)  # the range of true shares
    batch: int = 1  # trials or items that are told at once
    features: int = 0
    difficulty: float = 0.0  # of items: a standard deviation, logistic
    first: int = 1  # measurements of each option before any choice
    evenly: bool = False  # all options in turn: nothing is chosen
    goal: str = "max"
    confidence: float = 0.95
    told_eps: bool = True  # without it the study knows its span alone
    span: float | None = None
    way: str = AS_IS  # how it is told
    against: str | None = None  # the way of telling that it is compared with; None: version 0.1.0
    cap: int = 60_000  # measurements after which a study is given up

    @property
    def names(self) -> list[str]:
        """Of the options."""
        return [f"o{k}" for k in range(self.options)]


class Measured(NamedTuple):
    """One row of what is told, and how many measurements it is."""

    told: dict[str, Any]
    number: int


class Drawn:
    """A world as it came out for one seed."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self._seed = world, seed
        self.sign = 1.0 if world.goal == "max" else -1.0
        rng, n = self._stream(0), world.options
        self._x = _on_sphere(rng, n, world.features)
        self._skill = max(1.0, world.difficulty / 1.5) * rng.uniform(0.5, 1.8, n)
        if world.kind == LINEAR:
            self.truth = self._x @ _on_sphere(rng, 1, world.features)[0]
        elif world.kind == ITEMS:
            self.truth = answered_share(self._skill, world.difficulty)
        elif world.kind == COUNTS:
            self.truth = self.sign * rng.uniform(*world.shares, n)
        else:
            self.truth = VALUES[world.values](world, rng)

    def _stream(self, which: int) -> Rng:
        return np.random.default_rng([zlib.crc32(self.world.name.encode()), self._seed, which])

    def question(self, way: str) -> dict[str, Any]:
        """The arguments of `create_study`."""
        world = self.world
        asked: dict[str, Any] = {"options": world.names, "goal": world.goal, "confidence": world.confidence}
        if world.told_eps:
            asked["eps"] = world.eps
        if world.span is not None:
            asked["span"] = world.span
        if world.kind == LINEAR:
            table = {f"x{j}": self._x[:, j].tolist() for j in range(world.features)}
            asked |= {"options": {"id": world.names, **table}, "id": "id", "model": "linear"}
        if way in (OWN, POOLED):
            asked["scatter"] = way.split()[0]
        return asked

    def rows(self, way: str) -> Iterator[Measured]:
        """What is measured."""
        world, rng, names = self.world, self._stream(2), self.world.names
        wanted = Wanted(world.eps, world.first, world.evenly)
        if way == PAIRED:
            for option, items in item_rows(self._skill, world.difficulty, world.batch, wanted, rng):
                yield Measured({"option": names[option], "items": items}, world.batch)
        elif world.kind in (COUNTS, ITEMS):
            for option, successes in count_rows(self.sign * self.truth, self.sign, world.batch, wanted, rng):
                told = {"option": names[option], "successes": successes, "trials": world.batch}
                yield Measured(told, world.batch)
        elif way == OWN:
            sizes = NOISE[world.noise](world, self._stream(1))[0]
            readings = scatter_rows(self.truth, sizes, wanted, rng)
            first = list(itertools.islice(readings, world.first * world.options))
            for k, name in enumerate(names):
                values = [self.sign * value for option, value in first if option == k]
                yield Measured({"option": name, "values": values}, world.first)
            for option, value in readings:
                yield Measured({"option": names[option], "value": self.sign * value}, 1)
        else:
            if world.kind == LINEAR:
                measured = linear_rows(self._x, self.truth, world.se, wanted, rng)
            else:
                noise = NOISE[world.noise](world, self._stream(1))
                measured = known_rows(self.truth, noise, wanted, rng)
            for option, value, se in measured:
                told = {"option": names[option], "value": self.sign * value}
                yield Measured(told if way == POOLED else {**told, "se": se}, 1)

    def content(self, way: str) -> bytes:
        """What tells this world from others, and from what it was before."""
        judged = ("most", "way", "against")  # these are about what is made of it
        given = {
            field.name: said
            for field in fields(self.world)
            if (said := getattr(self.world, field.name)) != field.default and field.name not in judged
        }
        first = [row.told for row in itertools.islice(self.rows(way), 3 * self.world.options)]
        return repr((given, way, first)).encode()


def _on_sphere(rng: Rng, n: int, dim: int) -> Floats:
    points = rng.standard_normal((n, dim))
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True)) if dim else points


def _uniform(world: World, rng: Rng) -> Floats:
    return rng.uniform(0.0, world.spread, world.options)


def _normal(world: World, rng: Rng) -> Floats:
    return np.asarray(world.spread * rng.standard_normal(world.options))


def _below(world: World, rng: Rng) -> Floats:
    """One is the best, all others are one spread below it."""
    values = np.full(world.options, -world.spread)
    values[rng.integers(world.options)] = 0.0
    return values


def _far(world: World, rng: Rng) -> Floats:
    """All others are 1.5 below the best, and up to a spread more."""
    values = -1.5 - rng.uniform(0.0, world.spread, world.options)
    values[rng.integers(world.options)] = 0.0
    return np.asarray(values)


def _ties(world: World, rng: Rng) -> Floats:
    """Half of them within eps of the best, half of them one to two spreads away."""
    near = -rng.uniform(0.0, world.eps, world.options // 2)
    far = -world.spread * rng.uniform(1.0, 2.0, world.options - near.size)
    return np.asarray(rng.permutation(np.concatenate([near, far])))


VALUES: dict[str, Callable[[World, Rng], Floats]] = {
    "uniform": _uniform,
    "normal": _normal,
    "below": _below,
    "far": _far,
    "ties": _ties,
}


def _one(world: World, rng: Rng) -> Floats:
    return np.full((1, world.options), world.se)


def _of_options(world: World, rng: Rng) -> Floats:
    """Every option has its own, within a factor of nine."""
    return np.asarray(world.se * np.exp(rng.uniform(-1.1, 1.1, (1, world.options))))


def _mixed(world: World, rng: Rng) -> Floats:
    """Every measurement has its own, within a factor of nine."""
    return np.asarray(world.se * np.exp(rng.uniform(-1.1, 1.1, (1009, 1))) * np.ones((1, world.options)))


def _control(world: World, rng: Rng) -> Floats:
    """The first option is measured ten times as well as all others."""
    noise = np.full((1, world.options), world.se)
    noise[0, 0] /= 10.0
    return noise


#: Standard errors by the number of the measurement (again from the first row after the last) and by option.
NOISE: dict[str, Callable[[World, Rng], Floats]] = {
    "one": _one,
    "of options": _of_options,
    "mixed": _mixed,
    "control": _control,
}
