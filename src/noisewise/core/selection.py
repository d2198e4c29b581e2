"""Choosing the largest with ties broken on purpose, and dropping what cannot be the best."""

import math

import numpy as np
from numpy.typing import NDArray

from noisewise.core.any_model import SAFEST, AnyModel
from noisewise.core.blocks import Floats, Mask
from noisewise.core.model import CANCELLED, contrast_widths, covariance_with, perturbed_means
from noisewise.core.native.verbs import verb

#: Values within this share of the winner's own scale count as equal; the lowest index wins. Without it
#: round-off decides (unit vectors all tie in round one), and differently on every machine. The winner's scale
#: and of no other value: one huge entry among the losers must not make all others tie.
TIE = 1e-9
#: Rounding of a sum, relative to its terms, where values are sums and their scale is another.
ROUNDING = 4e-15


@verb
def first_largest(values: Floats, allowed: Mask) -> int:
    """The lowest allowed index whose value ties with the largest allowed one; 0 if none is allowed.

    Within ``TIE·|largest|``: for values that are each exact but for rounding, such as ratios and squares.
    """
    top = _largest(values, allowed)
    return _first_from(values, allowed, top, TIE * abs(top))


@verb
def first_best(values: Floats, squared_widths: Floats, allowed: Mask) -> int:
    """The lowest allowed index that ties with the largest, for means, draws and upper bounds.

    They are sums, which may cancel, and a common offset makes all of them large: their scale is what is
    known of the winner, its width. Differences of 1e-9 standard errors count as none.
    """
    winner = masked_argmax(values, allowed)
    return first_near(values, allowed, winner, TIE * math.sqrt(squared_widths[winner]))


@verb
def first_near(values: Floats, allowed: Mask, winner: int, tolerance: float) -> int:
    """The lowest allowed index within the tolerance, and the rounding, of the winner's value."""
    top = float(values[winner])
    return _first_from(values, allowed, top, tolerance + ROUNDING * abs(top))


@verb
def masked_argmax(values: Floats, allowed: Mask) -> int:
    """The lowest allowed index of the largest value, without any tolerance; 0 if none is allowed."""
    return _first_from(values, allowed, _largest(values, allowed), 0.0)


def _largest(values: Floats, allowed: Mask) -> float:
    return float(values.max(where=allowed, initial=-np.inf))


def _first_from(values: Floats, allowed: Mask, top: float, tolerance: float) -> int:
    """The first allowed index within the tolerance of the largest, or NaN; 0 if there is none.

    Infinities tie with their equals alone.
    """
    low = top - tolerance if math.isfinite(top) else top
    return int((allowed & ~(values < low)).argmax())


@verb
def first_largest_candidate(values: Floats, allowed: Mask, candidates: Mask) -> int:
    """The first largest of the allowed candidates; of the allowed, if no candidate is."""
    both = allowed & candidates
    return first_largest(values, both if both.any() else allowed)


@verb
def best_of_draw(model: AnyModel, normals: Floats, scale: float, allowed: Mask) -> int:
    """The best allowed action under the draw ``θ̂ + scale·V^(-1/2)·normals`` from the posterior."""
    return first_best(perturbed_means(model, normals, scale), model.squared_widths, allowed)


@verb
def first_other(model: AnyModel, draws: Floats, allowed: Mask, leader: int) -> int:
    """The best under the first draw from ``N(θ̂, V⁻¹)``, (k, dim), that disagrees; -1 if all agree."""
    for normals in draws:
        best = best_of_draw(model, normals, 1.0, allowed)
        if best != leader:
            return best
    return -1


@verb
def most_optimistic(model: AnyModel, allowed: Mask, radius: float) -> int:
    """The allowed action with the largest upper bound ``<θ̂, a> + radius·‖a‖``."""
    upper = model.means + radius * np.sqrt(model.squared_widths)
    return first_best(upper, model.squared_widths, allowed)


@verb
def strongest_rival(model: AnyModel, leader: int, radius: float) -> int:
    """The other action that may be furthest above the leader: the largest ``<θ̂, a - b> + radius·‖a - b‖``."""
    others = np.ones(model.means.size, dtype=np.bool_)
    others[leader] = False
    slack = radius * contrast_widths(model, leader)
    upper = model.means - model.means[leader] + slack
    rival = masked_argmax(upper, others)
    rounding = ROUNDING * (abs(model.means[rival]) + abs(model.means[leader]))
    return first_near(upper, others, rival, TIE * float(slack[rival]) + rounding)


@verb
def most_telling(model: AnyModel, one: int, other: int, variance: float, allowed: Mask) -> int:
    """The allowed action whose measurement makes the difference between two actions known best.

    Measuring a takes ``(aᵀV⁻¹y)²/(variance + ‖a‖²)`` off the squared width of ``y = a_one - a_other``.
    """
    covariances = covariance_with(model, one) - covariance_with(model, other)
    return first_largest(covariances**2 / (variance + model.squared_widths), allowed)


@verb
def drop_ruled_out(model: AnyModel, candidates: Mask, radius: float) -> None:
    """Drop, in place, every candidate whose upper bound is below another's lower bound.

    ``<θ̂, a_k> + radius·‖a_k‖ < floor``, where the floor is the largest lower bound. Square roots of
    everything would cost more than all else, so most actions are passed over by comparing squares with
    a floor that is nearly right, and only the others are looked at exactly.
    """
    # Last time's safest action will do to pass over most of the others.
    hint = int(model.tally[SAFEST])
    if not candidates[hint]:
        hint = int(np.argmax(candidates))
    floor = float(model.means[hint]) - radius * math.sqrt(model.squared_widths[hint])
    far = _far_from(model, candidates, radius, floor)
    if far.size:
        lower = model.means[far] - radius * np.sqrt(model.squared_widths[far])
        if lower.max() > floor:
            hint, floor = int(far[np.argmax(lower)]), lower.max()
            far = _far_from(model, candidates, radius, floor)
    model.tally[SAFEST] = hint
    if not far.size:
        return
    upper = model.means[far] + radius * np.sqrt(model.squared_widths[far])
    candidates[far[upper < floor]] = False


def _far_from(model: AnyModel, candidates: Mask, radius: float, value: float) -> NDArray[np.intp]:
    """The candidates, and hardly any more, whose interval does not contain ``value``."""
    # A little less than the square of radius·width: rounding must not hide an action.
    reach = model.squared_widths * ((1.0 - TIE) * radius * radius)
    return np.flatnonzero(((model.means - value) ** 2 > reach) & candidates)


@verb
def keep_near_best(values: Floats, candidates: Mask, slack: float) -> None:
    """Drop, in place, every candidate whose value is more than ``slack`` below the best candidate's."""
    best = values.max(where=candidates, initial=-np.inf)
    candidates &= ~(values < best - slack)


@verb
def regret_bound(model: AnyModel, candidates: Mask, action: int, radius: float) -> float:
    """How far ``action`` can be below the best: the largest upper bound on a contrast to it.

    ``max over candidates k of  <θ̂, a_k - a> + radius·‖a_k - a‖``; the best action is among the
    candidates whenever the certificate holds, so nothing else needs to be compared.
    """
    upper = model.means - model.means[action] + radius * contrast_widths(model, action)
    bound = float(np.max(upper, where=candidates, initial=0.0))
    # NaN never counts as a bound; `max(0.0, nan)` would be 0, the best bound of all.
    return math.inf if math.isnan(bound) else bound


@verb
def smallest_bound(model: AnyModel, candidates: Mask, action: int, radius: float) -> int:
    """The candidate with the smallest regret bound; ``action`` unless another's is smaller.

    A bound is the largest of ``b(k, a) = <θ̂, a_k - a> + radius·‖a_k - a‖``. The pass over all actions that
    finds it also gives ``b(a, ·)``, which is at most the bound of each other action: one that cannot do
    better than the best found so far is never looked at. The worst rival is looked at next, because it is a
    hard one for most.
    """
    best, lowest, current = action, np.inf, action
    floors = np.where(candidates, 0.0, np.inf)
    while True:
        slack = radius * contrast_widths(model, current)
        lead = model.means - model.means[current]
        rivals = np.where(candidates, lead + slack, -np.inf)
        bound = float(np.maximum(0.0, rivals.max()))  # NaN if a rival's is, and then no bound
        if bound < lowest * (1.0 - TIE):
            best, lowest = current, bound
        least_bounds = slack - lead
        floors = np.maximum(floors, np.where(np.isnan(least_bounds), np.inf, least_bounds))
        floors[current] = np.inf
        least = floors.min()
        if least >= lowest * (1.0 - TIE):
            return best
        rival = int(rivals.argmax())
        easiest = int(np.flatnonzero(floors <= least + TIE * lowest)[0])
        current = rival if floors[rival] < np.inf else easiest


@verb
def likelihood_ratio(model: AnyModel, action: int, eps: float) -> float:
    """Z: how strongly the measurements say that no other action is better than ``action`` by eps.

    ``min over k of  max(0, eps + <θ̂, a - a_k>)²/(2‖a - a_k‖²)``; infinite without rivals.
    """
    squared = contrast_widths(model, action) ** 2
    # A copy of the action does not count: their difference is rounding.
    rounding = 2.0 * CANCELLED * (model.squared_widths + model.squared_widths[action])
    rivals = ~(squared <= rounding)
    leads = np.maximum(0.0, eps + model.means[action] - model.means[rivals])
    ratio = float(np.min(leads**2 / (2.0 * squared[rivals]), initial=np.inf))
    return 0.0 if math.isnan(ratio) else ratio
