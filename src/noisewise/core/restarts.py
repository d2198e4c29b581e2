"""Restarts: likelihood ratios that begin anew with the fit of the moment, and limits on differences by them.

The mixture from the start pays ``log det V`` for all that was learned. One that begins at a later moment s,
with the fit of that moment as its prior, N(θ̂_s, V_s⁻¹), pays for what is learned from then on: by Bayes' rule
the logarithm of its likelihood ratio at θ is

    ½·‖θ - θ̂‖² in the norm of V  -  ½·‖θ - θ̂_s‖² in that of V_s  -  ½·log det(V·V_s⁻¹).

It is averaged with the one from the start, the k-th restart with ``1/(k(k + 1))`` of the share
of all. A restart happens where the information has doubled since the last one, in the geometric mean over
directions: that depends on actions and sigmas, not on rewards, though any rule that looks at the past alone
would do.

In ``u = R(θ - θ̂)`` with ``V = RᵀR`` and ``K = R_s·R⁻¹`` the curvature is ``I - KᵀK`` and the slope
``-Kᵀ·R_s(θ̂_s - θ̂)``. Such an ellipsoid is not centred on the estimate: there is not one radius, but a limit
for every difference of actions.

How the average of several says where theta can be:

**Coordinates.** The fit has a ridge λ, an estimate θ̂ and ``V = RᵀR``. Everything is in ``u = R(θ - θ̂)``: the
fit is u = 0, and a difference ``<c, θ>`` is off by ``<R⁻ᵀc, u>``. With ``J = √λ·R⁻¹`` and ``φ = √λ·θ̂`` theta
itself is ``√λ·θ = φ + Ju``.

**The region.** Each martingale, times its share, has a logarithm that is quadratic in u,
``½·uᵀGu - gᵀu + constant``. If shares add up to at most 1, ``Σ share·M(u) < 1/δ`` at all times with
probability 1 - δ (Ville). This region is convex, and lies in ellipsoids that are easy to compute: for any
weights τ that add up to 1, by Jensen,

    Σ τ·(log share + log M(u) - log τ)  <=  log Σ share·M(u)  <  log 1/δ,

a quadratic in u. Every τ gives one, and all hold at once, so τ may be chosen by looking at the data. What is
known beforehand, ``‖φ + Ju‖² <= most``, may be added η/2 times. τ = (1, 0, ...) with η = 1 is the ball around
the fit if the first martingale is that of all measurements.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.core.any_model import LOG_DET, TOLD
from noisewise.core.blocks import Floats, Mask
from noisewise.core.model import CANCELLED, DenseModel, contrast_widths, spread, theta
from noisewise.core.radius import RESTARTS, Radius, averaged_at_estimate

#: Ellipsoids that are longer than 1/√this in some direction, in standard errors, bound nothing there.
FLAT = 1e-3
#: How often τ is improved, how many of the last are kept, and how many martingales on their own.
IMPROVED, KEPT, ALONE = 6, 3, 3


class Region(NamedTuple):
    """Martingales with their shares, and what is known beforehand."""

    curvatures: Floats  # (m, dim, dim): G
    slopes: Floats  # (m, dim): g
    constants: Floats  # (m,)
    square: Floats  # (dim, dim): JᵀJ
    pull: Floats  # (dim,): Jᵀφ
    excess: float  # ‖φ‖² - most
    level: float  # log 1/δ


class OuterEllipsoid(NamedTuple):
    """``‖root⁻¹(u - centre)‖ <= radius``; root·rootᵀ is the inverse of its matrix."""

    centre: Floats  # (dim,)
    radius: float
    root: Floats  # (dim, dim)

    def width_along(self, directions: Floats) -> float:
        """How far it reaches along directions with these second moments, in the mean square."""
        return self.radius * math.sqrt(max(0.0, float((self.root * (directions @ self.root)).sum())))


def ellipsoid_of(region: Region, tau: Floats, eta: float) -> OuterEllipsoid | None:
    """The ellipsoid of these weights; None if it is too flat to be of use."""
    matrix, pull, constant = eta * region.square, -eta * region.pull, 0.5 * eta * region.excess
    for k in np.flatnonzero(tau > 0.0):
        matrix = matrix + tau[k] * region.curvatures[k]
        pull = pull + tau[k] * region.slopes[k]
        constant += tau[k] * (region.constants[k] - math.log(tau[k]))
    if not math.isfinite(float((matrix * matrix).sum() + pull @ pull + constant)):
        return None
    sizes, axes = np.linalg.eigh(matrix)
    if not sizes[0] >= FLAT:
        return None
    centre = axes @ (axes.T @ pull / sizes)
    # A region that nothing is left of is not smaller than what a single known number would have.
    squared = max(2.0 * (region.level - constant) + float(pull @ centre), 2.0 * region.level)
    return OuterEllipsoid(centre, math.sqrt(squared), axes / np.sqrt(sizes))


def balanced_weights(region: Region, found: OuterEllipsoid, directions: Floats) -> Floats:
    """τ in proportion to what the martingales are at an ellipsoid's ends: with these Jensen loses nothing."""
    inverse = found.root @ found.root.T
    along = inverse @ directions
    # The covariance of its points that are furthest out along the directions.
    spread, scale = along @ inverse, found.radius**2 / max(np.trace(along), 1e-300)
    points = scale * spread + np.outer(found.centre, found.centre)
    outer = np.einsum("kij,ij->k", region.curvatures, points)
    logs = region.constants + 0.5 * outer - region.slopes @ found.centre
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def around_the_fit(region: Region) -> list[tuple[OuterEllipsoid, Floats, float]]:
    """What the first martingale allows, without what is known beforehand and with it; and their τ and η."""
    first = np.eye(region.constants.size)[0]
    found = ((ellipsoid_of(region, first, eta), first, eta) for eta in (0.0, 1.0))
    return [(one, tau, eta) for one, tau, eta in found if one is not None]


def short_ellipsoids(region: Region, directions: Floats) -> list[OuterEllipsoid]:
    """Ellipsoids that are short along directions with these second moments, (dim, dim).

    Those around the fit; the shortest of single martingales; and from the shortest of all on, weights τ that
    are halfway to the balanced ones of the last.
    """

    def length(one: tuple[OuterEllipsoid, Floats, float]) -> float:
        return one[0].width_along(directions)

    around = around_the_fit(region)
    tried = ((ellipsoid_of(region, tau, 0.0), tau, 0.0) for tau in np.eye(region.constants.size)[1:])
    alone = sorted(((one, tau, eta) for one, tau, eta in tried if one is not None), key=length)
    found = [one for one, _, _ in around + alone[:ALONE]]
    if region.constants.size == 1 or not found:
        return found
    last, tau, eta = min(around + alone, key=length)
    improved: list[OuterEllipsoid] = []
    for _ in range(IMPROVED):
        tau = 0.5 * (tau + balanced_weights(region, last, directions))
        better = ellipsoid_of(region, tau, eta)
        if better is None:
            break
        improved.append(last := better)
    return found + improved[-KEPT:]


#: The restarts that are kept; those before may be forgotten, since no likelihood ratio is negative.
SLOTS = 6
#: The first comes after this many times as many measurements as directions, others after as many at least.
FIRST = 2.0
#: One that came so late that less than this part of the information is newer says nothing yet.
NEW = 0.02
#: Fits that floats carry: ‖R_s‖·‖R⁻¹‖ and ‖R_s‖·‖θ̂‖ up to this leave seven digits of K and of slopes.
MOST_LOST = 1e8
#: Differences whose weight is below this do not count among those that decide.
NEGLIGIBLE = 1e-9
#: Actions that are looked at together.
TOGETHER = 4096


class StartingFit(NamedTuple):
    """What was known when a likelihood ratio began."""

    number: int  # from 1
    factor: Floats  # (dim, dim): R_s
    estimate: Floats  # (dim,): θ̂_s
    log_det: float


class Reach(NamedTuple):
    """An ellipsoid of parameters, as what it says about values: ``<c, θ - θ̂> <= <c, shift> + ‖axes·c‖``."""

    shift: Floats  # (dim,)
    axes: Floats  # (dim, dim)


class Restarts:
    """The fits of the last moments at which a likelihood ratio began, and what they limit now."""

    def __init__(self, limits: Radius, model: DenseModel) -> None:
        self.limits = limits
        self.fits: list[StartingFit] = []
        self.begun = 0
        self._log_det, self._told = 0.0, 0.0  # when the last one began
        self._reaches: list[Reach] = []
        self._looked_at = -1.0  # after how many measurements the reaches were found

    def begin_if_due(self, model: DenseModel) -> None:
        """Begin a new likelihood ratio with what the model knows now, if that is much more than before."""
        rank, log_det, told = max(1, self.limits.rank), model.tally.item(LOG_DET), model.tally.item(TOLD)
        wanted = rank * (FIRST if self.begun == 0 else 1.0)
        if told - self._told >= wanted and log_det - self._log_det >= rank * math.log(2.0):
            self.begun += 1
            self._log_det, self._told = log_det, told
            begun = StartingFit(self.begun, root_of(model), theta(model), log_det)
            self.fits = [*self.fits[1 - SLOTS :], begun]

    def region(self, model: DenseModel, root: Floats) -> Region:
        """All likelihood ratios: from the start, averaged over scales, and from restarts that say something.

        Args:
            model: What is known now.
            root: R⁻¹.
        """
        limits, estimate, dim, log_det = self.limits, theta(model), root.shape[0], model.tally.item(LOG_DET)
        square, pull = limits.ridge * (root.T @ root), limits.ridge * (root.T @ estimate)
        start = averaged_at_estimate(limits, estimate, root @ root.T, log_det) + math.log(1.0 - RESTARTS)
        curvatures, slopes, constants = [np.eye(dim) - square], [pull], [start]
        squared_norm = float(estimate @ estimate)
        size = math.sqrt(max(float((root * root).sum()), squared_norm))
        for fit in self.fits:
            known, apart = fit.factor @ root, fit.factor @ (fit.estimate - estimate)
            newer = dim - float((known * known).sum())
            if math.sqrt((fit.factor * fit.factor).sum()) * size <= MOST_LOST and newer > NEW * limits.rank:
                curvatures.append(np.eye(dim) - known.T @ known)
                slopes.append(-known.T @ apart)
                share = RESTARTS / (fit.number * (fit.number + 1.0))
                constants.append(math.log(share) - 0.5 * (log_det - fit.log_det + float(apart @ apart)))
        return Region(
            curvatures=np.array(curvatures),
            slopes=np.array(slopes),
            constants=np.array(constants),
            square=square,
            pull=pull,
            excess=limits.ridge * squared_norm - limits.bias * limits.bias,
            level=0.5 * limits.doubt,
        )

    def look(self, model: DenseModel, leader: int) -> None:
        """Find ellipsoids that are short along the differences of the leader to likely rivals."""
        if self._looked_at == model.tally.item(TOLD):
            return
        self._looked_at, root = model.tally.item(TOLD), spread(model)
        region = self.region(model, root)
        found = [one for one, _, _ in around_the_fit(region)]
        if region.constants.size > 1 and found:
            directions = _deciding(model, leader, found[-1].radius)
            found = short_ellipsoids(region, root.T @ directions @ root)
        self._reaches = [Reach(root @ one.centre, one.radius * (root @ one.root).T) for one in found]

    def limits_above(self, model: DenseModel, action: int, among: Mask) -> Floats:
        """By how much actions can be above one, (n,): -inf for it, and for those left out."""
        upper, rows = np.full(model.means.size, -np.inf), np.flatnonzero(among)
        for start in range(0, rows.size, TOGETHER):
            some = rows[start : start + TOGETHER]
            apart = _differences(model, some, action)
            reach = np.full(some.size, np.inf)
            for shift, axes in self._reaches:
                seen = axes @ apart
                reach = np.minimum(reach, shift @ apart + np.sqrt(np.einsum("ij,ij->j", seen, seen)))
            # A region that the estimate lies outside of would put a limit below it: that is not used. Nor is
            # a width below rounding.
            least = np.sqrt(CANCELLED * (model.squared_widths[some] + model.squared_widths[action]))
            upper[some] = model.means[some] - model.means[action] + np.maximum(reach, least)
        upper[action] = -np.inf
        return upper

    def largest_above(self, model: DenseModel, action: int, among: Mask) -> float:
        """The largest of these, -inf if there are none; infinite where one is NaN."""
        most = float(self.limits_above(model, action, among).max())
        return math.inf if math.isnan(most) else most


def root_of(model: DenseModel) -> Floats:
    """R, a root of ``V = RᵀR``: ``D^(1/2)·U``."""
    upper = np.triu(model.factor[:, :-1], 1)
    np.fill_diagonal(upper, 1.0)
    return np.asarray(np.sqrt(model.pivots)[:, None] * upper)


def _deciding(model: DenseModel, leader: int, radius: float) -> Floats:
    """Second moments of the differences to the leader, (dim, dim), by how far rivals may be above it."""
    half = np.maximum(radius * contrast_widths(model, leader), 1e-300)
    weights = np.exp(-2.0 * np.minimum((model.means[leader] - model.means) / half, 20.0) ** 2)
    weights[leader] = 0.0
    total = np.zeros((model.pivots.size, model.pivots.size))
    rows = np.flatnonzero(weights > NEGLIGIBLE)
    for start in range(0, rows.size, TOGETHER):
        some = rows[start : start + TOGETHER]
        apart = _differences(model, some, leader)
        total += (apart * weights[some]) @ apart.T
    size = np.trace(total)
    return total / size if size > 0.0 else np.eye(total.shape[0])


def _differences(model: DenseModel, rows: NDArray[np.intp], action: int) -> Floats:
    """The vectors of some actions less that of one, (dim, rows)."""
    own = model.columns[:, [action]].astype(np.float64)
    return np.asarray(model.columns[:, rows].astype(np.float64) - own)
