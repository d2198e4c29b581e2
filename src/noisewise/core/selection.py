"""Choosing the largest with ties broken on purpose, and dropping what cannot be the best."""

import math

import numpy as np
from numpy.typing import NDArray

from noisewise.core.kernels import kernel
from noisewise.core.model import NOBODY, SAFEST, Floats, Model, contrast_widths, covariance_with
from noisewise.core.rows import fits_one_block, row_blocks, workspace

Mask = NDArray[np.bool_]

#: Values within this share of the largest magnitude count as equal; the lowest index wins. Without it
#: round-off decides (unit vectors all tie in round one), and differently on every machine.
TIE = 1e-9


def first_largest(values: Floats, allowed: Mask) -> int:
    """The lowest allowed index whose value ties with the largest allowed one; 0 if none is allowed."""
    if fits_one_block(values.size):
        top, bottom = _extremes(values, allowed)
        low = top - TIE * max(top, -bottom)
        return _first_in_block(values, allowed, low) if low > -np.inf else 0
    found = [_extremes(values[rows], allowed[rows]) for rows in row_blocks(values.size)]
    tops = [top for top, _ in found]
    scale = max(max(tops), -min(bottom for _, bottom in found))
    return _first_within(values, allowed, tops, TIE * scale)


def _extremes(values: Floats, allowed: Mask) -> tuple[float, float]:
    if allowed.all():
        return float(values.max()), float(values.min())
    return float(np.where(allowed, values, -np.inf).max()), float(np.where(allowed, values, np.inf).min())


@kernel
def widest(model: Model, allowed: Mask) -> int:
    """The widest allowed action; ties go to the lowest index."""
    return first_widest(model.squared_widths, allowed)


def first_widest(squared_widths: Floats, allowed: Mask) -> int:
    """The same as `widest`, and as `first_largest` for what is never negative."""
    if fits_one_block(squared_widths.size):
        top = _largest(squared_widths, allowed)
        return _first_in_block(squared_widths, allowed, top - TIE * top) if top > -np.inf else 0
    tops = [_largest(squared_widths[rows], allowed[rows]) for rows in row_blocks(squared_widths.size)]
    return _first_within(squared_widths, allowed, tops, TIE * max(tops))


def _largest(values: Floats, allowed: Mask) -> float:
    return float((values if allowed.all() else np.where(allowed, values, -np.inf)).max())


def _first_within(values: Floats, allowed: Mask, tops: list[float], tolerance: float) -> int:
    """The first allowed index within the tolerance of the largest, given the largest of each block."""
    low = max(tops) - tolerance
    for top, rows in zip(tops, row_blocks(values.size), strict=True):
        if top >= low > -np.inf:
            return int(rows.start) + _first_in_block(values[rows], allowed[rows], low)
    return 0


def _first_in_block(values: Floats, allowed: Mask, low: float) -> int:
    """The first allowed index whose value is at least ``low``; 0 if there is none."""
    return int((allowed & (values >= low)).argmax())


def first_largest_candidate(values: Floats, allowed: Mask, candidates: Mask) -> int:
    """The first largest of the allowed candidates; of the allowed, if no candidate is."""
    both = allowed & candidates
    return first_largest(values, both if both.any() else allowed)


def most_optimistic(model: Model, allowed: Mask, radius: float) -> int:
    """The allowed action with the largest upper bound ``<θ̂, a> + radius·‖a‖``."""
    return first_largest(model.means + radius * np.sqrt(model.squared_widths), allowed)


def strongest_rival(model: Model, leader: int, radius: float) -> int:
    """The other action that may be furthest above the leader: the largest ``<θ̂, a - b> + radius·‖a - b‖``."""
    others = np.ones(model.means.size, dtype=np.bool_)
    others[leader] = False
    lead = model.means - model.means[leader]
    return first_largest(lead + radius * contrast_widths(model, leader), others)


def most_telling(model: Model, one: int, other: int, variance: float, allowed: Mask) -> int:
    """The allowed action whose measurement makes the difference between two actions known best.

    Measuring a takes ``(aᵀV⁻¹y)²/(variance + ‖a‖²)`` off the squared width of ``y = a_one - a_other``.
    """
    covariances = covariance_with(model, one) - covariance_with(model, other)
    return first_largest(covariances**2 / (variance + model.squared_widths), allowed)


def drop_ruled_out(model: Model, candidates: Mask, radius: float) -> None:
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


def _far_from(model: Model, candidates: Mask, radius: float, value: float) -> NDArray[np.intp]:
    """The candidates, and hardly any more, whose interval does not contain ``value``."""
    found = []
    for rows in row_blocks(candidates.size):
        distance, reach = workspace(rows)
        np.subtract(model.means[rows], value, out=distance)
        np.multiply(distance, distance, out=distance)
        # A little less than the square of radius·width: rounding must not pass over anybody.
        np.multiply(model.squared_widths[rows], (1.0 - TIE) * radius * radius, out=reach)
        far = distance > reach
        far &= candidates[rows]
        if far.any():
            found.append(rows.start + np.flatnonzero(far))
    return np.concatenate(found) if found else NOBODY


def keep_near_best(values: Floats, candidates: Mask, slack: float) -> None:
    """Drop, in place, every candidate whose value is more than ``slack`` below the best candidate's."""
    best = values.max(where=candidates, initial=-np.inf)
    candidates &= values >= best - slack


def regret_bound(model: Model, candidates: Mask, action: int, radius: float) -> float:
    """How far ``action`` can be below the best: the largest upper bound on a contrast to it.

    ``max over candidates k of  <θ̂, a_k - a> + radius·‖a_k - a‖``; the best action is among the
    candidates whenever the certificate holds, so nothing else needs to be compared.
    """
    upper = model.means - model.means[action] + radius * contrast_widths(model, action)
    return max(0.0, float(np.max(upper, where=candidates, initial=-np.inf)))


def smallest_bound(model: Model, candidates: Mask, action: int, radius: float) -> int:
    """The candidate with the smallest regret bound; ``action`` unless another's is smaller.

    A bound is the largest of ``b(k, a) = <θ̂, a_k - a> + radius·‖a_k - a‖``. The pass over all actions that
    finds it also gives ``b(a, ·)``, from below a bound of everybody else's: whoever cannot do better than the
    best one found is never looked at. Its worst rival is looked at next, because it is a hard one for most.
    """
    best, lowest, current = action, np.inf, action
    floors = np.where(candidates, 0.0, np.inf)
    while True:
        slack = radius * contrast_widths(model, current)
        lead = model.means - model.means[current]
        rivals = np.where(candidates, lead + slack, -np.inf)
        bound = max(0.0, rivals.max())
        if bound < lowest * (1.0 - TIE):
            best, lowest = current, bound
        floors = np.maximum(floors, slack - lead)
        floors[current] = np.inf
        least = floors.min()
        if least >= lowest * (1.0 - TIE):
            return best
        rival = int(rivals.argmax())
        easiest = int(np.flatnonzero(floors <= least + TIE * lowest)[0])
        current = rival if floors[rival] < np.inf else easiest
