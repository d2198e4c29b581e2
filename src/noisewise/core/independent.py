"""The model with one unknown per option: its diagonal part, with a dense border.

Option k's value is an unknown of its own. What measurements share (a day's offset, an option that was
compared with another) is the **border**: q further unknowns u. Given u the options are independent, so
everything follows from three things,

    value_k = own part (variance ``own_k``) + ``<load_k, u>``,      u with covariance ``border`` (q, q),

and the covariance of options j and k is ``own_k·[j = k] + load_jᵀ·border·load_k``. An option that sits in the
border itself has ``own = 0`` and a unit vector as its load. Without a border every verb costs O(1) or O(n);
with one, O(rows·q), where ``rows`` are the options that the border touches.

The verbs have the names and meanings of those in `model.py`, which call these, so that rules do not
notice. Simulations use the other model.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.core.any_model import AGE, LOG_DET, TOLD, TOTAL_PRECISION
from noisewise.core.blocks import Floats

Rows = NDArray[np.int64]


NO_VECTORS = (
    "this rule looks at the options' feature vectors, and independent options have none: "
    'choose another policy, such as "vaee", or model="linear".'
)


@dataclass(frozen=True, eq=False)
class Separate:
    """A placeholder for the vectors of options that have none: how many, and which the border touches."""

    n: int
    touched: Rows  # (rows,): the options with a load
    border: int  # q

    @property
    def shape(self) -> tuple[int, int]:
        """Unknowns and options, like the shape of a matrix of columns."""
        return self.n + self.border, self.n

    def __array__(self, *_: Any, **__: Any) -> Floats:
        """Refused: a rule that computes with vectors has nothing to compute with."""
        raise ValueError(NO_VECTORS)

    def __getitem__(self, _: Any) -> Floats:
        """Refused, like the whole."""
        raise ValueError(NO_VECTORS)

    @property
    def T(self) -> Floats:  # noqa: N802 - the name that arrays have
        """Refused, like the whole."""
        raise ValueError(NO_VECTORS)

    def astype(self, *_: Any, **__: Any) -> Floats:
        """Refused, like the whole."""
        raise ValueError(NO_VECTORS)


def separate(n: int) -> Separate:
    """Options that share nothing at all."""
    return Separate(n, np.empty(0, dtype=np.int64), 0)


class IndependentModel(NamedTuple):
    """The state of knowledge about n options that share nothing but a border; changed in place."""

    columns: Separate
    own: Floats  # (n,): variance of the own part
    loads: Floats  # (rows, q)
    border: Floats  # (q, q): covariance of the border's unknowns
    squared_widths: Floats  # (n,)
    means: Floats  # (n,)
    tally: Floats  # (7,): as in the other model
    scratch: Floats  # (n,)

    @property
    def has_vectors(self) -> bool:
        """Options are themselves, and nothing is made of features."""
        return False

    def learn(self, action: int, reward: float, sigma: float) -> None:
        """One measurement of an option."""
        fold(self, action, reward, sigma)

    def estimate(self) -> Floats:
        """The unknowns that are options: their means, (n,)."""
        return self.means.copy()

    def write_covariances(self, out: Floats, action: int) -> None:
        """The covariances of one option with all options."""
        out[:] = covariance_with(self, action)

    def squared_covariances(self, rivals: Rows, action: int, weights: Floats) -> Floats:
        """Those of the differences of some rivals to one option, squared, weighed and summed, (n,)."""
        return squared_covariances(self, rivals, action, weights)

    def perturbed_means(self, normals: Floats, scale: float) -> Floats:
        """The options' values under a draw from the posterior, (n,); one normal per unknown."""
        return perturbed_means(self, normals, scale)


def new_independent(columns: Separate, ridge: float) -> IndependentModel:
    """Before any measurement: every unknown is 0 ± 1/√ridge, and the border touches no option."""
    n, q = columns.n, columns.border
    return IndependentModel(
        columns=columns,
        own=np.full(n, 1.0 / ridge),
        loads=np.zeros((columns.touched.size, q)),
        border=np.eye(q) / ridge,
        squared_widths=np.full(n, 1.0 / ridge),
        means=np.zeros(n),
        tally=np.zeros(7),
        scratch=np.empty(n),
    )


def fold(model: IndependentModel, action: int, reward: float, sigma: float) -> None:
    """Learn one measurement of an option, in place."""
    variance, own = sigma * sigma, float(model.own[action])
    squared_width = float(model.squared_widths[action])
    gain = (reward - float(model.means[action])) / (variance + squared_width)
    kept = variance / (variance + own)  # what remains of the own part: 1/(1/own + 1/σ²) = own·kept
    at = row_of(model.columns, action)
    if at < 0:
        model.means[action] += gain * squared_width
        model.squared_widths[action] = own * kept
    else:
        load = model.loads[at]
        reach = model.border @ load
        covariances = model.loads @ reach
        covariances[at] += own
        touched = model.columns.touched
        model.means[touched] += gain * covariances
        left = model.squared_widths[touched] - covariances**2 / (variance + squared_width)
        # Where next to nothing is left, rounding must not take more than there was.
        model.squared_widths[touched] = np.maximum(left, model.own[touched])
        model.border[...] -= np.outer(reach, reach / (variance + squared_width))
        # Given u, the own part is measured at value - <load, u>: u now explains less of the option.
        load *= kept
        model.squared_widths[action] = own * kept + max(0.0, float(load @ model.border @ load))
    model.own[action] = own * kept
    weight = 1.0 / variance
    model.tally[LOG_DET] += math.log1p(squared_width * weight)
    model.tally[TOTAL_PRECISION] += weight
    model.tally[TOLD] += 1.0
    model.tally[AGE] += 1.0


def row_of(columns: Separate, action: int) -> int:
    """The row of an option's load, -1 if the border does not touch it."""
    at = int(np.searchsorted(columns.touched, action))
    return at if at < columns.touched.size and columns.touched[at] == action else -1


def covariance_with(model: IndependentModel, action: int) -> Floats:
    """The covariances of one option with all options, (n,)."""
    covariances = np.zeros(model.columns.n)
    at = row_of(model.columns, action)
    if at >= 0:
        covariances[model.columns.touched] = model.loads @ (model.border @ model.loads[at])
    covariances[action] += model.own[action]
    return covariances


def difference_covariances(model: IndependentModel, action: int, other: int) -> Floats:
    """The covariances of the difference of two options with all options, (n,)."""
    return covariance_with(model, action) - covariance_with(model, other)


def squared_covariances(
    model: IndependentModel, rivals: NDArray[np.int64], action: int, weights: Floats
) -> Floats:
    """The squared covariances of the differences of some rivals to one option, weighed and summed, (n,)."""
    values = np.zeros(model.means.size)
    for rival, weight in zip(rivals, weights, strict=True):
        if model.columns.touched.size:
            values += weight * difference_covariances(model, int(rival), action) ** 2
        elif rival != action:  # nothing connects options: a difference covaries with its two alone
            values[rival] += weight * model.own[rival] ** 2
            values[action] += weight * model.own[action] ** 2
    return values


def perturbed_means(model: IndependentModel, normals: Floats, scale: float) -> Floats:
    """The options' values under a draw from the posterior, (n,); one normal per unknown."""
    n = model.columns.n
    values = model.means + scale * np.sqrt(model.own) * normals[:n]
    if model.columns.border:
        away = _root(model.border) @ normals[n:]
        values[model.columns.touched] += scale * (model.loads @ away)
    return values


def _root(covariance: Floats) -> Floats:
    """A square root, also where rounding leaves no positive definite matrix."""
    try:
        return np.asarray(np.linalg.cholesky(covariance))
    except np.linalg.LinAlgError:
        sizes, directions = np.linalg.eigh(covariance)
        return np.asarray(directions * np.sqrt(np.maximum(sizes, 0.0)))


def set_posterior(
    model: IndependentModel,
    own: Floats,
    loads: Floats,
    border: Floats,
    means: Floats,
    tally: dict[int, float],
) -> None:
    """Fill a fresh model with a posterior that was computed from all measurements at once."""
    model.own[...], model.loads[...], model.border[...], model.means[...] = own, loads, border, means
    model.squared_widths[...] = own
    model.squared_widths[model.columns.touched] += quadratic_forms(loads, border)
    for place, value in tally.items():
        model.tally[place] = value


def quadratic_forms(rows: Floats, matrix: Floats) -> Floats:
    """``xᵀ·matrix·x`` for every row x."""
    forms: Any = np.einsum("ij,ij->i", rows @ matrix, rows)
    return np.asarray(forms)
