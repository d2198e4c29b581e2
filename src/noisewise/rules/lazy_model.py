"""The model on a list that need not fit into memory: the widest of millions of rows, seldom looking at all.

V only grows, so widths only fall: a width that was computed once is an upper bound for good. One number per
row stays in memory, its squared width when it was last looked at; the vectors do not. The widest rows are
at hand, in a `Model` of their own. While the widest of them exceeds the bounds of all others it is the
widest of all; when it does not, the rows with the largest bounds are looked at again, and only those. This
is lazy greedy (Minoux 1978), and it is exact.

Everything about values (advice, estimates, the regret bound) takes a pass over all rows when it is asked for.
What an earlier certificate ruled out is not remembered: candidates are those of the present one.
"""

import copy
import math
from typing import Any, Self

import numpy as np

from noisewise.actions.large_list import LargeList, Rows
from noisewise.core.blocks import Floats, Mask
from noisewise.core.model import new_dense, place, refresh_all, spread
from noisewise.core.selection import ROUNDING, TIE
from noisewise.rules.model import Model

#: Rows at hand: more of them make passes rarer and rounds longer.
AT_HAND = 5_000
#: Bounds and the widths at hand are computed in different ways: no more than this is between them.
SLACK = 1.0 + 1e-9
#: What models of different rows share.
SHARED = ("factor", "pivots", "reciprocals", "centre", "tally")


class LazyModel:
    """The model on a `LargeList`, for rules that choose by width alone; it answers what `Model` answers.

    Within is the model of the rows at hand, after a first place for any other row.
    """

    def __init__(self, actions: LargeList, ridge: float) -> None:
        self.actions, self._ridge = actions, ridge
        self._index: Rows = np.array([-1])  # the rows at hand, ascending, after the first place
        self._inner = Model(new_dense(np.zeros((actions.dim, 1)), ridge))
        self._bounds = actions.squared_norms / ridge  # (n,): squared widths when last looked at
        self._exact = True  # whether nothing was learnt since all were looked at
        self._cut = math.inf  # no row that is not at hand exceeds it
        #: Means and squared widths of all rows, while they hold.
        self._known: tuple[Floats, Floats] | None = None

    n_unknowns = property(lambda self: self.actions.dim)
    log_det = property(lambda self: self._inner.log_det)
    total_precision = property(lambda self: self._inner.total_precision)
    n_told = property(lambda self: self._inner.n_told)
    arrays = property(lambda self: self._inner.arrays)
    means = property(lambda self: self._all()[0])
    squared_widths = property(lambda self: self._all()[1])

    def fresh(self, ridge: float) -> Self:
        """A model of the same actions before any measurement."""
        return type(self)(self.actions, ridge)

    def row_of(self, row: int) -> int:
        """Where a row's numbers are; one that is not at hand is put into the first place."""
        at = int(np.searchsorted(self._index, row))
        if at < self._index.size and self._index[at] == row:
            return at
        place(self.arrays, self.actions.take(np.array([row]))[0])
        return 0

    def learn(self, row: int, reward: float, sigma: float) -> None:
        """One measurement."""
        self._inner.learn(self.row_of(row), reward, sigma)
        self._exact, self._known = False, None

    def imagine(self, row: int, sigma: float) -> None:
        """A measurement that comes out as expected: only widths change."""
        self._inner.imagine(self.row_of(row), sigma)
        self._exact, self._known = False, None

    def mean(self, row: int) -> float:
        """The estimated value of an action."""
        return self._inner.mean(self.row_of(row))

    def width(self, row: int) -> float:
        """Its standard error."""
        return self._inner.width(self.row_of(row))

    def widest(self, allowed: "Mask | Survivors") -> int:
        """The widest allowed row; of equally wide ones, the first."""
        mask = np.broadcast_to(True, self._bounds.shape) if isinstance(allowed, Survivors) else allowed
        for renewed in (False, True):
            cut = self._renew(mask) if renewed else self._cut
            at_hand = mask[self._index]
            at_hand[0] = False
            if at_hand.any():
                top = self._inner.widest(at_hand)
                if self._inner.squared_widths[top] * (1.0 - TIE) > cut * SLACK:
                    return int(self._index[top])
        return self._first_of_ties(mask)

    def _renew(self, mask: Mask) -> float:
        """Have the widest allowed rows at hand; return what no other allowed row exceeds."""
        looked = np.full(self._bounds.size, self._exact)
        self._bounds[self._index[1:]], looked[self._index[1:]] = self._inner.squared_widths[1:], True
        looked |= ~mask
        bounds = np.where(mask, self._bounds, -1.0)
        batch = 2 * AT_HAND
        while not looked[widest := _largest(bounds, AT_HAND)].all():
            # Twice as many each time: few in all if bounds are far apart, and soon all if they are not.
            batch *= 2
            some = _largest(bounds, batch)
            some = np.sort(some[~looked[some]])
            bounds[some] = self._look_at(some)
            looked[some] = True
        others = np.ones(bounds.size, np.bool_)
        others[widest] = False
        self._cut = float(self._bounds.max(where=others, initial=0.0))
        self._hold(np.sort(widest))
        return float(bounds.max(where=others, initial=0.0))

    def _look_at(self, rows: Rows) -> Floats:
        self._bounds[rows] = np.concatenate(self.actions.each(_squared, rows, more=(spread(self.arrays),)))
        return self._bounds[rows]

    def _hold(self, rows: Rows) -> None:
        """What is known, on other rows: exact widths and means."""
        columns = np.zeros((self.actions.dim, rows.size + 1))
        columns[:, 1:] = self.actions.take(rows).T
        known, self._inner = self.arrays, Model(new_dense(columns, self._ridge))
        for name in SHARED:
            getattr(self.arrays, name)[...] = getattr(known, name)
        refresh_all(self.arrays)
        self._inner.means[:] = self.theta() @ columns
        self._index = np.concatenate([[-1], rows])

    def _first_of_ties(self, mask: Mask) -> int:
        """Where more rows tie than are at hand: the first of all that reach the largest width."""
        if not self._exact:
            top = float(self._inner.squared_widths[1:].max(where=mask[self._index[1:]], initial=0.0))
            self._look_at(np.flatnonzero(mask & (self._bounds >= top * (1.0 - TIE))))
        return int(
            np.argmax(mask & (self._bounds >= self._bounds.max(where=mask, initial=0.0) * (1.0 - TIE)))
        )

    def everyone(self) -> "Survivors":
        """All rows; which of them may still be the best is found on demand."""
        return Survivors(self)

    def drop_ruled_out(self, candidates: "Survivors", radius: float) -> None:
        """Remember the radius of the present certificate."""
        candidates.radius = radius

    def not_ruled_out(self, radius: float) -> Mask:
        """The rows that a certificate of this radius does not rule out."""
        means, squared = self._all()
        reach = radius * np.sqrt(squared)
        return np.asarray(~(means + reach < (means - reach).max()))

    def best(self, among: Any = None) -> int:
        """The row with the largest mean, which no certificate rules out."""
        means, squared = self._all()
        top = int(means.argmax())
        tolerance = TIE * math.sqrt(squared[top]) + ROUNDING * abs(means[top])
        return int(np.argmax(means >= means[top] - tolerance))

    def regret_bound(self, candidates: Any, row: int, radius: float) -> float:
        """How far a row can be below the best, which is one of the candidates."""
        origin, root = self.actions.take(np.array([row]))[0], spread(self.arrays)
        ahead = np.concatenate(self.actions.each(_ahead, more=(origin, self.theta(), root, radius)))
        return max(0.0, float(ahead.max(where=np.asarray(candidates), initial=0.0)))

    def theta(self) -> Floats:
        """The estimate θ̂, (dim,)."""
        return self._inner.theta()

    def covariance(self) -> Floats:
        """``V⁻¹``, (dim, dim)."""
        return self._inner.covariance()

    def distance_to(self, parameter: Floats) -> float:
        """``‖θ̂ - parameter‖`` in the norm of V."""
        return self._inner.distance_to(parameter)

    def _all(self) -> tuple[Floats, Floats]:
        """Means and squared widths of all rows."""
        if self._known is None:
            found = np.hstack(self.actions.each(_values, more=(self.theta(), spread(self.arrays))))
            self._known = found[0], found[1]
            self._bounds[:], self._exact = found[1], True
        return self._known

    def __deepcopy__(self, memo: Any) -> Self:
        twin = memo[id(self)] = copy.copy(self)
        twin._inner, twin._bounds = copy.deepcopy(self._inner, memo), self._bounds.copy()
        return twin


class Survivors:
    """The rows that may still be the best: a mask that is computed when it is looked at."""

    def __init__(self, model: LazyModel) -> None:
        self._model, self.radius = model, math.inf

    def __array__(self, dtype: Any = None, copy: Any = None) -> Mask:
        return self._model.not_ruled_out(self.radius)

    def __getitem__(self, row: Any) -> Any:
        return np.asarray(self)[row]


def _largest(values: Floats, count: int) -> Rows:
    """Where the largest are, in any order."""
    if count >= values.size:
        return np.arange(values.size)
    return np.argpartition(-values, count)[:count].astype(np.int64, copy=False)


def _squared(vectors: Floats, root: Floats) -> Floats:
    """``‖a‖² = |rootᵀa|²``, where ``V⁻¹ = root·rootᵀ``."""
    turned = vectors @ root
    return np.asarray(np.einsum("ij,ij->i", turned, turned))


def _values(vectors: Floats, theta: Floats, root: Floats) -> Floats:
    """Means and squared widths, (2, n)."""
    return np.stack([vectors @ theta, _squared(vectors, root)])


def _ahead(vectors: Floats, origin: Floats, theta: Floats, root: Floats, radius: float) -> Floats:
    """How far each action may be above the one at ``origin``."""
    away = vectors - origin
    return away @ theta + radius * np.sqrt(_squared(away, root))
