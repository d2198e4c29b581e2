"""Worlds in which a study asks what to measure: options, their true values, noise, days and costs.

Everything about a world is in its row of the table below. `draw` makes one of them: true values are such that
larger is better, and every stream of random numbers (values, noise, error bars, offsets of days) is one of
its own, by the number of the measurement, so that whoever asks meets the same noise.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class World:
    """What is known about a world before it is drawn."""

    name: str
    options: int
    eps: float
    values: str = "normal"  # how true values come about: a name of VALUES
    model: str = "independent"
    features: int = 0
    span: float | None = None
    deviation: float | str = 0.0  # what the study is told
    deviates: float = 0.0  # how far options really deviate
    noise: str = "same"  # a name of NOISE
    se: float = 0.5
    announced: bool = True  # whether the error bar is known before it is asked what to measure
    day: int = 0  # measurements a day, each day with an offset of its own; 0: no days
    offset: float = 1.0  # the standard deviation of those offsets
    goal: str = "max"
    costs: bool = False  # measuring an option costs 1 to 10
    differences: bool = False  # nothing but differences of two options can be measured
    cap: int = 1500  # measurements after which a study is given up
    cap_of_old: int = 0  # the same under 0.1.0; 0: the same cap

    @property
    def most(self) -> int:
        """The larger cap."""
        return max(self.cap, self.cap_of_old)


class Drawn:
    """One world as it came out for one seed."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self._seed = world, seed
        self.truth, self.table = VALUES[world.values](world, self._stream(0))
        self.truth = self.truth + world.deviates * self._stream(1).standard_normal(world.options)
        self.costs = 10.0 ** self._stream(2).random(world.options) if world.costs else np.ones(world.options)
        self._sigmas = NOISE[world.noise](world, self._stream(3))
        self._noise = self._stream(4).standard_normal(world.most)
        self._offsets = world.offset * self._stream(5).standard_normal(world.most)

    def _stream(self, which: int) -> np.random.Generator:
        return np.random.default_rng([zlib.crc32(self.world.name.encode()), self._seed, which])

    @cached_property
    def names(self) -> list[str]:
        """Of the options."""
        return [f"o{k}" for k in range(self.world.options)]

    def question(self) -> dict[str, Any]:
        """The arguments of `create_study`."""
        world = self.world
        asked: dict[str, Any] = {"options": self.names, "eps": world.eps, "goal": world.goal}
        if self.table or world.costs:
            costs = {"cost": self.costs.tolist()} if world.costs else {}
            asked |= {"options": {"id": self.names, **self.table, **costs}, "id": "id"}
        if world.model != "independent":
            asked |= {"model": world.model, "span": world.span}
        if world.model == "linear+deviation":
            asked["deviation"] = world.deviation
        return asked

    def sigma(self, number: int, option: int | None = None) -> float:
        """The error bar of a measurement; it may depend on its number or on its option."""
        row = self._sigmas[number % len(self._sigmas)]
        return float(row[0 if option is None else option % row.size])

    def block(self, number: int) -> str | None:
        """The day of a measurement."""
        return f"day {1 + number // self.world.day:03d}" if self.world.day else None

    def value(self, number: int, option: int, minus: int | None = None) -> float:
        """What comes out."""
        level = self._offsets[number // self.world.day] if self.world.day else 0.0
        true = self.truth[option] + level if minus is None else self.truth[option] - self.truth[minus]
        noise = self.sigma(number, option) * self._noise[number]
        return float((true if self.world.goal == "max" else -true) + noise)

    def content(self) -> bytes:
        """All that was drawn."""
        arrays = (self.truth, self.costs, self._sigmas, self._noise, self._offsets)
        given = {
            field.name: said
            for field in fields(self.world)
            if (said := getattr(self.world, field.name)) != field.default
        }
        return repr((given, self.table)).encode() + b"".join(array.tobytes() for array in arrays)


def _normal(world: World, rng: np.random.Generator) -> tuple[Floats, dict[str, Any]]:
    return rng.standard_normal(world.options), {}


def _evenly(world: World, rng: np.random.Generator) -> tuple[Floats, dict[str, Any]]:
    """Equal steps from 0 to -2, in a random order."""
    return np.linspace(0.0, -2.0, world.options)[rng.permutation(world.options)], {}


def _ties(world: World, rng: np.random.Generator) -> tuple[Floats, dict[str, Any]]:
    """Half of them within 0.4 of the best, half of them more than 1 away."""
    half = world.options // 2
    values = np.concatenate([-0.4 * rng.random(half), -1.0 - rng.random(world.options - half)])
    return values[rng.permutation(world.options)], {}


def _winner(world: World, rng: np.random.Generator) -> tuple[Floats, dict[str, Any]]:
    """One is 1.5 better than all others, which are equal."""
    values = np.zeros(world.options)
    values[rng.integers(world.options)] = 1.5
    return values, {}


def _doubling(world: World, rng: np.random.Generator) -> tuple[Floats, dict[str, Any]]:
    """Each gap to the best is 1.6 times the one before, beginning with 0.15."""
    gaps = np.concatenate([[0.0], 0.15 * 1.6 ** np.arange(world.options - 1)])
    return -gaps[rng.permutation(world.options)], {}


def _pair(world: World, rng: np.random.Generator) -> tuple[Floats, dict[str, Any]]:
    """Two at the top, 0.1 apart; the others from 1 to 3 below."""
    values = np.concatenate([[0.0, -0.1], -1.0 - 2.0 * rng.random(world.options - 2)])
    return values[rng.permutation(world.options)], {}


def _crowd(world: World, rng: np.random.Generator) -> tuple[Floats, dict[str, Any]]:
    """Exponentially distributed gaps to the best: many near it, few far away."""
    return -rng.exponential(size=world.options), {}


def _weighted(world: World, rng: np.random.Generator) -> tuple[Floats, dict[str, Any]]:
    """Weighted sums of normal features, of standard deviation 1 over the options."""
    features = rng.standard_normal((world.options, world.features))
    weights = rng.standard_normal(world.features) / np.sqrt(world.features)
    return features @ weights, {f"x{j}": column.tolist() for j, column in enumerate(features.T)}


def _prompts(world: World, _: np.random.Generator) -> tuple[Floats, dict[str, Any]]:
    """Accuracies of prompts: four models, five numbers of examples, two temperatures."""
    quality = {"small": 0.55, "fast": 0.62, "middle": 0.71, "large": 0.74}
    rows = [(m, shots, heat) for m in quality for shots in (0, 1, 2, 4, 8) for heat in (0.0, 0.7)]
    assert len(rows) == world.options
    truth = np.array(
        [quality[m] + 0.03 * np.log1p(shots) / np.log(9) - 0.02 * heat for m, shots, heat in rows]
    )
    model, shots, heat = (list(column) for column in zip(*rows, strict=True))
    return truth, {"model": model, "shots": shots, "temperature": heat}


VALUES: dict[str, Callable[[World, np.random.Generator], tuple[Floats, dict[str, Any]]]] = {
    "normal": _normal, "evenly": _evenly, "ties": _ties, "one winner": _winner, "doubling": _doubling,
    "close pair": _pair, "crowd": _crowd, "weighted": _weighted, "prompts": _prompts,
}  # fmt: skip


def _same(world: World, _: np.random.Generator) -> Floats:
    return np.full((1, 1), world.se)


def _instruments(world: World, rng: np.random.Generator) -> Floats:
    """One measurement in five by the good instrument."""
    return np.where(rng.random((world.most, 1)) < 0.2, 0.3, 1.0)


def _decade(world: World, rng: np.random.Generator) -> Floats:
    """Every measurement its own, from 0.2 to 2, evenly in the logarithm."""
    return 0.2 * 10.0 ** rng.random((world.most, 1))


def _loud(world: World, rng: np.random.Generator) -> Floats:
    """About half of the options are four times as noisy as the others."""
    return np.where(rng.random((1, world.options)) < 0.5, 1.0, 0.25)


def _of_options(world: World, rng: np.random.Generator) -> Floats:
    """Every option its own, from 0.2 to 1.2, evenly in the logarithm."""
    return 0.2 * 6.0 ** rng.random((1, world.options))


NOISE: dict[str, Callable[[World, np.random.Generator], Floats]] = {
    "same": _same, "two instruments": _instruments, "a decade": _decade, "loud options": _loud,
    "of options": _of_options,
}  # fmt: skip

_SUM: dict[str, Any] = {"model": "linear", "values": "weighted"}
_MIXED: dict[str, Any] = {"model": "linear+deviation", "values": "weighted"}
_PROMPTS: dict[str, Any] = {
    "model": "linear+deviation", "values": "prompts", "options": 40, "span": 0.5, "deviation": 0.01,
    "deviates": 0.01, "se": 0.025,
}  # fmt: skip


def _mixed(size: float) -> dict[str, Any]:
    return _MIXED | {"deviation": size, "deviates": size}


#: Those that targets are about.
NAMED = (
    World("prompts, eps 0.03", eps=0.03, cap=400, cap_of_old=900, **_PROMPTS),
    World("prompts, eps 0.06", eps=0.06, cap=900, **_PROMPTS),
    World("large deviations", 30, 0.5, features=4, span=8.0, **_mixed(0.4)),
    World("five options", 5, 0.5, "evenly"),
    World("five options, small eps", 5, 0.15, "evenly"),
    World("twenty options", 20, 0.5),
    World("twenty options, ten ties", 20, 0.5, "ties", cap=2000),
    World("twenty options, one winner", 20, 0.3, "one winner"),
    World("features", 30, 0.4, features=6, span=6.0, **_SUM),
    World("two instruments, announced", 20, 0.5, noise="two instruments", cap=3000),
    World("two instruments, not announced", 20, 0.5, noise="two instruments", announced=False, cap=3000),
    World("loud and quiet options", 20, 0.5, noise="loud options", announced=False, cap=3000),
    World("days, five options", 5, 0.5, "evenly", day=5, cap=300),
    World("days, eight options", 8, 0.6, day=5, cap=800),
    World("days, features", 20, 0.5, features=4, span=8.0, day=5, cap=800, **_SUM),
    World("days, deviations", 20, 0.5, features=4, span=8.0, day=5, cap=800, **_mixed(0.2)),
    World("days, twenty options", 20, 0.8, day=5, cap=1000),
    World("two hundred options", 200, 0.5, cap=4000),
)
#: Others of each kind, for what a rule may have been fitted to.
OTHERS = (
    World("eight options, growing gaps, smallest wanted", 8, 0.25, "doubling", se=0.4, goal="min"),
    World("twelve options, close pair", 12, 0.4, "close pair", se=0.8, cap=1000),
    World("fifty options, smallest wanted", 50, 0.6, se=0.7, goal="min", cap=2000),
    World("sixty options, a crowd near the best", 60, 0.5, "crowd", se=0.4, cap=2000),
    World("fifteen options with costs", 15, 0.4, costs=True),
    World("three features", 12, 0.25, features=3, span=6.0, **_SUM),
    World("ten features, smallest wanted", 60, 0.6, features=10, span=8.0, goal="min", **_SUM),
    World("four features with costs", 25, 0.3, features=4, span=8.0, costs=True, **_SUM),
    World("small deviations", 60, 0.4, features=3, span=8.0, cap=1000, **_mixed(0.1)),
    World(
        "deviations, smallest wanted", 25, 0.5, features=5, span=8.0, se=0.4, goal="min", cap=1000,
        **_mixed(0.25),
    ),
    World("deviations with costs", 20, 0.5, features=3, span=8.0, costs=True, cap=1000, **_mixed(0.2)),
    World(
        "deviations of unknown size", 24, 0.8, features=3, span=8.0, cap=600,
        **_MIXED, deviation="estimate", deviates=0.3,
    ),
    World("error bars over a decade, announced", 15, 0.4, noise="a decade", cap=2000),
    World("error bars over a decade, not announced", 15, 0.4, noise="a decade", announced=False, cap=2000),
    World(
        "features, noise of options", 25, 0.3, features=4, span=8.0, noise="of options", announced=False,
        **_SUM,
    ),
    World("days of four, six options", 6, 0.6, "crowd", day=4, offset=3.0, cap=500),
    World("days of eight, twelve options", 12, 0.6, day=8, se=0.4, offset=0.3, cap=600),
    World("days of three, features", 15, 0.5, features=3, span=8.0, day=3, offset=2.0, cap=500, **_SUM),
    World("days of six, deviations", 30, 0.6, features=3, span=8.0, day=6, cap=500, **_mixed(0.2)),
    World("differences, six options", 6, 0.5, "evenly", differences=True, cap=500),
    World("differences, fifteen options", 15, 0.5, differences=True),
    World("differences, features", 15, 0.4, features=4, span=8.0, differences=True, **_SUM),
    World("differences, deviations", 15, 0.6, features=3, span=8.0, differences=True, **_mixed(0.2)),
)  # fmt: skip
WORLDS = {world.name: world for world in (*NAMED, *OTHERS)}
