"""What a rule talks to: the linear model, on a list of actions or on an infinite set.

A measurement of action ``a`` is ``<θ, a> + noise`` with standard deviation sigma. The model is the weighted
ridge regression ``V = ridge·I + Σ a aᵀ/σ²``. Both kinds have the same methods, so the same rule runs on both:

* on a list, `Model` holds the mean and the squared width of every action, and an action is a row number;
* on an infinite set such as a ball, `SetModel` asks the set, and an action is a vector.

The methods of `Model` are the verbs of `core.model` and `core.selection`, in C where that was built.
"""

import copy
import math
from typing import Any, Self

import numpy as np

from noisewise.actions import ActionSet, OracleSet
from noisewise.actions.among import widest_among
from noisewise.core.any_model import LOG_DET, SAFEST, TOLD, TOTAL_PRECISION
from noisewise.core.blocks import Floats, Mask
from noisewise.core.model import (
    contrast_widths,
    covariance,
    distance_to,
    fold,
    new_dense,
    place,
    spread,
    theta,
)
from noisewise.core.model import new_model as new_arrays
from noisewise.core.selection import (
    TIE,
    best_of_draw,
    drop_ruled_out,
    first_best,
    first_largest,
    first_largest_candidate,
    likelihood_ratio,
    most_optimistic,
    regret_bound,
    smallest_bound,
)

#: Lists up to this many numbers are copied feature by feature, which makes rounds up to a third shorter.
WORTH_A_COPY = 20_000_000


class Model:
    """The model on a list of actions, which are row numbers."""

    def __init__(self, arrays: Any) -> None:
        self.arrays = arrays  # a `DenseModel` or an `IndependentModel`
        self.columns, self.means, self.squared_widths = arrays.columns, arrays.means, arrays.squared_widths
        self.n_unknowns = int(self.columns.shape[0])  # how many normal numbers a draw takes
        self._tally = arrays.tally

    @classmethod
    def of(cls, actions: ActionSet, ridge: float) -> Self:
        """Before any measurement."""
        columns = actions.columns
        if isinstance(columns, np.ndarray) and columns.dtype == np.float64 and columns.size <= WORTH_A_COPY:
            columns = np.ascontiguousarray(columns)
        return cls(new_arrays(columns, ridge))

    def fresh(self, ridge: float) -> Self:
        """A model of the same actions before any measurement."""
        return type(self)(new_arrays(self.columns, ridge))

    @property
    def log_det(self) -> float:
        """``log det V - dim·log ridge``: twice the information gathered, in nats."""
        return float(self._tally.item(LOG_DET))

    @property
    def total_precision(self) -> float:
        """``Σ 1/σ²`` over all measurements."""
        return float(self._tally.item(TOTAL_PRECISION))

    @property
    def n_told(self) -> float:
        """How many measurements there are."""
        return float(self._tally.item(TOLD))

    def learn(self, action: int, reward: float, sigma: float) -> None:
        """One measurement."""
        fold(self.arrays, action, reward, sigma)

    def imagine(self, action: int, sigma: float) -> None:
        """A measurement that comes out as expected: only widths change."""
        fold(self.arrays, action, self.means.item(action), sigma)

    def mean(self, action: int) -> float:
        """The estimated value of an action."""
        return float(self.means.item(action))

    def width(self, action: int) -> float:
        """Its standard error."""
        return math.sqrt(self.squared_widths.item(action))

    def everyone(self) -> Mask:
        """All actions."""
        return np.ones(self.means.size, np.bool_)

    def widest(self, allowed: Mask, among: Mask | None = None) -> int:
        """The allowed action that is known least, among some if any of those is allowed."""
        if among is None:
            return first_largest(self.squared_widths, allowed)
        return first_largest_candidate(self.squared_widths, allowed, among)

    def most_optimistic(self, allowed: Mask, radius: float) -> int:
        """The allowed action with the largest upper bound ``<θ̂, a> + radius·‖a‖``."""
        return most_optimistic(self.arrays, allowed, radius)

    def best_of_draw(self, allowed: Mask, normals: Floats, scale: float) -> int:
        """The best allowed action for a draw ``θ̂ + scale·V^(-1/2)·normals`` from the posterior."""
        return best_of_draw(self.arrays, normals, scale, allowed)

    def best(self, allowed: Mask) -> int:
        """The allowed action with the largest mean."""
        return first_best(self.means, self.squared_widths, allowed)

    def drop_ruled_out(self, candidates: Mask, radius: float) -> None:
        """Drop every candidate whose upper bound is below another's lower bound, in place."""
        drop_ruled_out(self.arrays, candidates, radius)

    def plausible(self, allowed: Mask, radius: float) -> Mask:
        """The allowed actions that a certificate of this radius does not rule out."""
        hint, left = self._tally.item(SAFEST), allowed.copy()
        drop_ruled_out(self.arrays, left, radius)
        # Looking leaves no trace: the hint belongs to rules that drop for good.
        self._tally[SAFEST] = hint
        return left

    def not_ruled_out(self, radius: float) -> Mask:
        """The actions that a certificate of this radius does not rule out."""
        return self.plausible(self.everyone(), radius)

    def regret_bound(self, candidates: Mask, action: int, radius: float) -> float:
        """How far the action can be below the best, which is one of the candidates."""
        return regret_bound(self.arrays, candidates, action, radius)

    def smallest_bound(self, candidates: Mask, action: int, radius: float) -> int:
        """The candidate with the smallest regret bound; ``action`` unless another's is smaller."""
        return smallest_bound(self.arrays, candidates, action, radius)

    def contrast_widths(self, action: int) -> Floats:
        """The widths ``‖a_k - a‖`` of all differences to one action, (n,)."""
        return contrast_widths(self.arrays, action)

    def likelihood_ratio(self, action: int, eps: float) -> float:
        """How strongly the measurements say that no other action is better than this one by eps."""
        return likelihood_ratio(self.arrays, action, eps)

    def theta(self) -> Floats:
        """The estimate θ̂, (dim,)."""
        return theta(self.arrays)

    def covariance(self) -> Floats:
        """``V⁻¹``, (dim, dim)."""
        return covariance(self.arrays)

    def distance_to(self, parameter: Floats) -> float:
        """``‖θ̂ - parameter‖`` in the norm of V: what a radius has to cover."""
        return distance_to(self.arrays, parameter)

    def row_of(self, action: int) -> int:
        """Where an action's numbers are in the arrays."""
        return action

    def __deepcopy__(self, memo: Any) -> Self:
        memo[id(self.columns)] = self.columns  # never written, so never copied
        return type(self)(copy.deepcopy(self.arrays, memo))


class SetModel:
    """The model on a set that answers questions; actions are vectors.

    Within is a `Model` on one action: the vector that was asked about last.
    """

    def __init__(self, actions: OracleSet, ridge: float, recommends_last: bool = False) -> None:
        self.actions = actions
        self.recommends_last = recommends_last
        self.last: Floats | None = None  # measured last
        self.inner = Model(new_dense(np.zeros((actions.dim, 1)), ridge))
        self.arrays = self.inner.arrays

    def fresh(self, ridge: float) -> Self:
        """A model of the same actions before any measurement."""
        return type(self)(self.actions, ridge, self.recommends_last)

    n_unknowns = property(lambda self: self.actions.dim)
    log_det = property(lambda self: self.inner.log_det)
    total_precision = property(lambda self: self.inner.total_precision)
    n_told = property(lambda self: self.inner.n_told)

    def row_of(self, vector: Floats) -> int:
        """Speak of this vector: it is row 0 from now on."""
        place(self.arrays, vector)
        return 0

    def learn(self, vector: Floats, reward: float, sigma: float) -> None:
        """One measurement."""
        self.inner.learn(self.row_of(vector), reward, sigma)
        self.last = vector

    def imagine(self, vector: Floats, sigma: float) -> None:
        """A measurement that comes out as expected: only widths change."""
        self.inner.imagine(self.row_of(vector), sigma)

    def mean(self, vector: Floats) -> float:
        """The estimated value of an action."""
        return float(self.theta() @ vector)

    def width(self, vector: Floats) -> float:
        """Its standard error."""
        return math.sqrt(max(0.0, float(vector @ self.covariance() @ vector)))

    def everyone(self) -> "Certificates":
        """All actions: no certificate has ruled out any."""
        return Certificates()

    def widest(self, allowed: None = None, among: "Certificates | None" = None) -> Floats:
        """The action that is known least; among those that may be the best, if that is asked for."""
        inverse = self.covariance()
        found = self._largest(np.zeros(self.actions.dim), inverse, 1.0)
        if among is None or among.radius is None:
            return found
        advice = self.best(among)
        if self.recommends_last and self.last is not None and among.allow(self.last[None, :])[0]:
            advice = self.last
        now = KeptCertificate(self.theta(), inverse, among.radius, advice)

        def passes(points: Floats) -> Mask:
            return now.allows(points) & among.allow(points)

        return found if passes(found[None, :])[0] else widest_among(self.actions, inverse, passes, now.advice)

    def most_optimistic(self, allowed: None, radius: float) -> Floats:
        """The action with the largest upper bound ``<θ̂, a> + radius·‖a‖``."""
        return self._largest(self.theta(), self.covariance(), radius)

    def best_of_draw(self, allowed: None, normals: Floats, scale: float) -> Floats:
        """The best action for a draw from the posterior."""
        return self.best_for(self.theta() + scale * np.dot(spread(self.arrays), normals))

    def best_for(self, direction: Floats) -> Floats:
        """The action with the largest ``<direction, a>``."""
        return self._largest(direction, np.zeros((self.actions.dim, self.actions.dim)), 0.0)

    def best(self, among: "Certificates | None") -> Floats:
        """The best action for the estimate; if that was ruled out, the best of those advised before."""
        estimate = self.theta()
        found = self.best_for(estimate)
        if among is None or among.allow(found[None, :])[0]:
            return found
        # The newest advice passed all certificates before it, so there is always one.
        left = [old.advice for old in among.kept if among.allow(old.advice[None, :])[0]]
        return max(left, key=lambda advice: float(advice @ estimate)).copy()

    def drop_ruled_out(self, candidates: "Certificates", radius: float) -> None:
        """Keep the present certificate whenever the total precision has doubled."""
        candidates.radius = radius
        if self.total_precision >= candidates.due:
            candidates.due = 2.0 * self.total_precision
            candidates.keep(KeptCertificate(self.theta(), self.covariance(), radius, self.best(candidates)))

    def not_ruled_out(self, radius: float) -> "Certificates":
        """What the present certificate allows."""
        return Certificates([KeptCertificate(self.theta(), self.covariance(), radius, self.best(None))])

    def regret_bound(self, candidates: Any, vector: Floats, radius: float) -> float:
        """How far the action can be below the best."""
        ask, room = self.actions.oracle.contrast, np.empty(self.actions.dim)
        found = float(ask(self.actions.shape, self.theta(), self.covariance(), radius, vector, room))
        return max(found, 0.0)  # in this order, NaN stays NaN

    def theta(self) -> Floats:
        """The estimate θ̂, (dim,)."""
        return theta(self.arrays)

    def covariance(self) -> Floats:
        """``V⁻¹``, (dim, dim)."""
        return covariance(self.arrays)

    def distance_to(self, parameter: Floats) -> float:
        """``‖θ̂ - parameter‖`` in the norm of V."""
        return self.inner.distance_to(parameter)

    def _largest(self, direction: Floats, inverse: Floats, reach: float) -> Floats:
        found = np.empty(self.actions.dim)
        self.actions.oracle.largest(self.actions.shape, direction, inverse, reach, found)
        return found

    def __deepcopy__(self, memo: Any) -> "SetModel":
        twin = copy.copy(self)
        # The column of the vector that is spoken of is written, unlike that of a list.
        arrays = copy.deepcopy(self.arrays, memo)
        twin.inner = Model(arrays)
        twin.arrays = arrays
        return twin


class KeptCertificate:
    """What was known at one moment: it rules out every action that it puts below the advice of then."""

    def __init__(self, theta: Floats, covariance: Floats, radius: float, advice: Floats) -> None:
        self.theta, self.covariance, self.radius, self.advice = theta, covariance, radius, advice

    def allows(self, points: Floats) -> Mask:
        """Which points may be as good as the advice: ``<θ̂, a - advice> + radius·‖a - advice‖ >= 0``."""
        away = points - self.advice
        leads = away @ self.theta
        reach = self.radius * np.sqrt(np.maximum(((away @ self.covariance) * away).sum(axis=1), 0.0))
        # Up to rounding, so that advice always may.
        return np.asarray(~(leads + reach < -TIE * (np.abs(leads) + reach)))


class Certificates:
    """Certificates of the past: what one of them ruled out stays ruled out."""

    def __init__(self, kept: list[KeptCertificate] | None = None, most: int = 64) -> None:
        self.kept, self.due, self._most = kept or [], 0.0, most
        self.radius: float | None = None  # after the last measurement

    def keep(self, certificate: KeptCertificate) -> None:
        """Remember one, and forget the oldest if there are too many."""
        self.kept = [*self.kept[1 - self._most :], certificate]

    def allow(self, points: Floats) -> Mask:
        """Which points no certificate ruled out, (n,)."""
        alive = np.ones(len(points), np.bool_)
        for certificate in self.kept:
            alive &= certificate.allows(points)
        return alive


def new_model(actions: Any, ridge: float, recommends_last: bool = False) -> Model | SetModel:
    """The model before any measurement."""
    if isinstance(actions, OracleSet):
        return SetModel(actions, ridge, recommends_last)
    return Model.of(actions, ridge)
