"""Sets known through the questions they answer: what all of them have in common.

A policy asks three questions: the best action for a parameter, the widest for a model, the most
optimistic for a confidence ellipsoid. All are one: which action has the largest

    ``<direction, a> + reach·‖a‖`` in the norm of V⁻¹,

with reach 0, with direction 0 and reach 1, and with both. The fourth, how far the best can be
above a recommended action, asks the same about differences ``a - origin``. Every answer comes with an
upper bound on what any action of the set could reach.
"""

import functools
import hashlib
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from noisewise.actions.search import linear_ascent
from noisewise.core.blocks import Floats

#: How far outside a set, relative to its size, a vector may be by rounding and still belong to it.
ROUNDING = 1e-9
#: Ascents that look for a large contrast, from where its bound points to and from wide directions.
FEW_STARTS = 8
#: Singular values below this share of the largest are rounding, not directions.
RANK_TOLERANCE = 1e-9


def finite_vector(value: Any, dim: int) -> Floats | None:
    """A copy of ``value`` as ``dim`` finite numbers; None if it is anything else."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return array if array.shape == (dim,) and np.isfinite(array).all() else None


class Answer(NamedTuple):
    """An action, what it reaches, and what no action of the set exceeds."""

    vector: Floats  # (dim,)
    value: float
    upper: float

    @property
    def missed(self) -> float:
        """The most that may have been missed."""
        return max(0.0, self.upper - self.value)

    @property
    def ratio(self) -> float:
        """The share of the upper bound that was reached: 1 if the answer is exact."""
        return 1.0 if self.value >= self.upper else self.value / self.upper


class Oracle(NamedTuple):
    """The questions, as functions of a set's arrays.

    ``largest(shape, direction, covariance, reach, out) -> upper`` writes the action with the largest
    ``<direction, a> + reach·‖a‖``; ``contrast(shape, theta, covariance, radius, origin, out) -> upper``
    the one that leads ``<θ, a - origin> + radius·‖a - origin‖``, or comes near it.
    """

    largest: Callable[[Any, Floats, Floats, float, Floats], float]
    contrast: Callable[[Any, Floats, Floats, float, Floats, Floats], float]


class OracleSet(ABC):
    """A set of vectors, infinite or too large to list, that answers questions about its actions."""

    dim: int
    max_norm: float
    shape: Any
    """The arrays that the oracle works on."""
    oracle: Oracle
    exact: bool = True
    """Whether answers are exact but for rounding; otherwise they state what they may have missed."""

    kinds: ClassVar[dict[str, Callable[..., "OracleSet"]]] = {}

    def __init_subclass__(cls) -> None:
        OracleSet.kinds[cls.__name__] = cls

    def best(self, parameter: Any) -> Answer:
        """The action with the largest ``<parameter, a>``."""
        direction = self.check_vector("parameter", parameter)
        return self.largest_of(direction, np.zeros((self.dim, self.dim)), 0.0)

    def contrast_of(self, parameter: Floats, spread: Floats, radius: float, start: Floats) -> Answer:
        """The largest contrast for a parameter and a covariance."""
        found = np.empty(self.dim)
        upper = float(self.oracle.contrast(self.shape, parameter, spread, radius, start, found))
        value = reached(found - start, parameter, spread, radius)
        if value < upper * (1.0 - ROUNDING):
            found = linear_ascent(
                lambda at: self.best(at).vector, parameter, spread, radius, start, found, n_starts=FEW_STARTS
            )
            value = reached(found - start, parameter, spread, radius)
        return Answer(found, value, max(upper, value))

    def largest_of(self, direction: Floats, spread: Floats, reach: float) -> Answer:
        """The action with the largest ``<direction, a> + reach·‖a‖``, the norm that of ``spread``."""
        out = np.empty(self.dim)
        upper = float(self.oracle.largest(self.shape, direction, spread, reach, out))
        value = reached(out, direction, spread, reach)
        return Answer(out, value, max(upper, value))

    @abstractmethod
    def contains(self, vector: Any) -> bool:
        """Whether the vector is an action, up to rounding."""

    @abstractmethod
    def options(self) -> dict[str, Any]:
        """What the constructor was given, as plain numbers and lists."""

    def between(self, starts: Floats, ends: Floats, shares: Floats) -> Floats:
        """Actions on the way from starts to ends, (n, dim); the set is convex unless it says otherwise."""
        return starts + shares[:, None] * (ends - starts)

    @functools.cached_property
    def rank(self) -> int:
        """How many directions the actions span."""
        rng = np.random.default_rng(0)
        directions = np.vstack(
            [np.eye(self.dim), -np.eye(self.dim), rng.standard_normal((self.dim, self.dim))]
        )
        points = np.array([self.best(direction).vector for direction in directions])
        sizes = np.linalg.svd(points, compute_uv=False)
        return int((sizes > RANK_TOLERANCE * sizes[0]).sum())

    @property
    def columns(self) -> Floats:
        """One column, for the vector that is spoken of: see `noisewise.core.model`."""
        return np.zeros((self.dim, 1))

    def describe(self) -> dict[str, Any]:
        """The set as plain numbers and strings; `set_from` makes it again."""
        return {"kind": type(self).__name__, **self.options()}

    def fingerprint(self) -> str:
        """A hash: two sets with the same one are the same set."""
        return hashlib.sha256(json.dumps(self.describe(), sort_keys=True).encode()).hexdigest()

    def check_vector(self, name: str, vector: Any) -> Floats:
        """Return a copy of ``vector`` as ``dim`` finite numbers."""
        array = finite_vector(vector, self.dim)
        if array is None:
            raise ValueError(f"`{name}` must be a vector of {self.dim} finite numbers; got {vector!r}.")
        return array

    def check_action(self, vector: Any, *, strict: bool = True) -> Floats:
        """Return ``vector`` as an array, refusing one that is not in the set."""
        array = self.check_vector("action", vector)
        if strict and not self.contains(array):
            raise ValueError(
                f"`action` must be in {self!r}; got {array.tolist()!r}, which is outside. "
                "(strict=False accepts it: a measurement of any vector teaches something.)"
            )
        return array

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.options().items())
        return f"{type(self).__name__}({given})"


def set_from(description: dict[str, Any]) -> OracleSet:
    """The set that `OracleSet.describe` described."""
    if not isinstance(description, dict) or description.get("kind") not in OracleSet.kinds:
        kinds = ", ".join(sorted(OracleSet.kinds))
        raise ValueError(
            f"`description` must be what `describe` gave, its kind one of {kinds}; got {description!r}."
        )
    options = dict(description)
    return OracleSet.kinds[options.pop("kind")](**options)


def reached(vector: Floats, direction: Floats, spread: Floats, reach: float) -> float:
    """``<direction, a> + reach·‖a‖``."""
    width = math.sqrt(max(0.0, float(vector @ spread @ vector))) if reach else 0.0
    return float(direction @ vector) + reach * width
