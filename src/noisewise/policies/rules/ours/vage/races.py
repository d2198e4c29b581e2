"""The races between a leader and its closest rivals: finding them without looking at all actions.

The widths of all differences to the leader take a product with all vectors. While it stays the leader, they
follow, up to rounding, from what learning a measurement computes anyway. These rule out nearly all,
and the others are looked at exactly: what comes out is what looking at all gives.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.core.choice.selection import ROUNDING, TIE, Mask, first_best
from noisewise.core.compiler.kernels import has_twins
from noisewise.core.model.covariances import CANCELLED, contrast_widths
from noisewise.core.model.dense import DenseModel, Floats, fold, fold_watched, has_vectors, rows_of
from noisewise.core.model.factor import solve_lower, solve_upper
from noisewise.core.model.model import Model
from noisewise.core.support.blocks import row_blocks, workspace

Rows = NDArray[np.int64]

#: Fewer actions are all looked at: finding out which ones matter would take longer.
WORTH_BOUNDING = 4096
#: If a larger share than one in this number may matter, all are looked at.
ONE_IN = 16
#: Measurements after which known widths are computed afresh, and what rounding may do to squares until then.
REFRESH_AFTER, HIDES = 32, 1e-12
#: Rows whose largest value is taken together; and how many of these are looked at to begin with.
CHUNK, FIRST_LOOKS = 1024, 16
LOWEST = float(np.finfo(np.float64).min)


class KnownWidths(NamedTuple):
    """Upper bounds on the squared widths of the differences to a leader, exact but for rounding."""

    squared: Floats  # (n,); empty if the actions are too few to be worth it
    about: Floats  # (3,): to which action, -1: none; measurements since then; what rounding may hide


LEADER, AGE, HIDDEN = range(3)


def nothing_known(model: Model) -> KnownWidths:
    """Before any leader."""
    many = has_vectors(model) and model.means.size >= WORTH_BOUNDING
    return KnownWidths(np.zeros(model.means.size if many else 0), np.array([-1.0, 0.0, 0.0]))


def fold_in_races(model: Model, known: KnownWidths, action: int, reward: float, sigma: float) -> None:
    """Learn one measurement, in place: ``‖a_k - b‖²`` falls by ``<s, a_k - b>²``, at no further product."""
    if known.about[LEADER] < 0.0 or not has_vectors(model):
        return fold(model, action, reward, sigma)
    leader = model.columns[:, int(known.about[LEADER])].astype(np.float64, copy=False)

    def watch(step: Floats, rows: slice, products: Floats, fall: Floats) -> None:
        np.subtract(products, float(step @ leader), out=fall)
        np.multiply(fall, fall, out=fall)
        known.squared[rows] -= fall

    known.about[AGE] += 1.0
    return fold_watched(model, action, reward, sigma, watch)


def follow(known: KnownWidths, model: Model, candidates: Mask) -> None:
    """Make what is known be about the leader, in place; nothing to do while it stays the same."""
    if not known.squared.size:
        return
    leader = first_best(model.means, model.squared_widths, candidates)
    if known.about[LEADER] != leader or known.about[AGE] >= REFRESH_AFTER:
        widths = contrast_widths(model, leader)
        np.multiply(widths, widths, out=known.squared)
        known.about[:] = leader, 0.0, HIDES * known.squared.max()


def closest_rivals(
    model: Model, known: KnownWidths, candidates: Mask, leader: int, reach: float, many: int
) -> tuple[Rows, Floats]:
    """The candidates that may be furthest above the leader, at most ``many``, and their slacks.

    By the largest ``slack_k - lead_k``, where the lead is ``<θ̂, b - a_k>`` and the slack ``reach·‖a_k - b‖``.
    If every rival is beaten by more than that, the reach grows until the closest is not: then the rival that
    is beaten least surely comes first. A copy of the leader is as good as the leader: their difference is
    rounding, and no race.
    """
    found = None
    if known.about[LEADER] == leader and has_vectors(model):
        bounds = known.squared + known.about[HIDDEN]
        np.sqrt(np.maximum(bounds, 0.0, out=bounds), out=bounds)
        distances = _Distances(bounds, _measure(model, candidates, leader))
        found = _closest(model, distances, leader, reach, many, model.means.size // ONE_IN)
    if found is None:
        widths = _rival_widths(model, candidates, leader)
        exact = _Distances(widths, lambda rows: widths[rows])
        found = _closest(model, exact, leader, reach, many, model.means.size)
    return (np.empty(0, np.int64), np.empty(0)) if found is None else found


class _Distances(NamedTuple):
    """The widths of the differences to the leader; -∞ for what is no rival."""

    bounds: Floats  # (n,): none is larger
    exact: Callable[[Rows], Floats]


def _closest(
    model: Model, far: _Distances, leader: int, reach: float, many: int, most: int
) -> tuple[Rows, Floats] | None:
    """`closest_rivals` by bounds on the widths; None if it would have to look at more than ``most``.

    Also None if it meets no rival at all: with exact widths there is none.
    """
    means, best = model.means, float(model.means[leader])
    spread, usual = best - float(means.min()), reach
    tops = np.sort(_largest_upper(model, far.bounds, reach))
    looked = _above(model, far.bounds, reach, tops[-FIRST_LOOKS:][0])
    if looked.size > most or not (widths := far.exact(looked)).max(initial=-np.inf) > 0.0:
        return None
    if (reach * widths + means[looked]).max() < best:
        # All of these are beaten. A rival that is closer, counted in widths, is also closer by its bound.
        reach = max(reach, _fewest_widths(best - means[looked], widths))
        looked = np.union1d(looked, _above(model, far.bounds, reach, best - TIE * spread))
        if looked.size > most:
            return None
        widths = far.exact(looked)
        reach = max(usual, _fewest_widths(best - means[looked], widths))
    upper = np.sort(reach * widths + means[looked])
    # Of what the strongest rival is given, and for rounding in the two means.
    slack = float(reach * widths.max(where=reach * widths + means[looked] >= upper[-1], initial=0.0))
    tolerance = TIE * slack + ROUNDING * (abs(upper[-1] - slack) + abs(best))
    near = _above(model, far.bounds, reach, upper[-many] - tolerance if upper.size >= many else -np.inf)
    if near.size > most:
        return None
    widths = far.exact(near)
    order = _few_largest(reach * widths + means[near], tolerance, many)
    return near[order], reach * widths[order]


def _fewest_widths(leads: Floats, widths: Floats) -> float:
    """How many widths the closest of some rivals is away."""
    rivals = widths > 0.0
    return float((leads[rivals] / widths[rivals]).min())


def _largest_upper(model: Model, widths: Floats, reach: float) -> Floats:
    """The largest ``<θ̂, a_k> + reach·width_k`` of each chunk of rows."""
    found = []
    for rows in row_blocks(widths.size):
        upper = _upper(model, widths, reach, rows)
        found.append(np.maximum.reduceat(upper, np.arange(0, upper.size, CHUNK)))
    return np.concatenate(found)


def _above(model: Model, widths: Floats, reach: float, low: float) -> Rows:
    """The rivals with ``<θ̂, a_k> + reach·width_k >= low``."""
    low = max(low, LOWEST)
    found = [
        rows.start + np.flatnonzero(_upper(model, widths, reach, rows) >= low)
        for rows in row_blocks(widths.size)
    ]
    return np.concatenate(found)


def _upper(model: Model, widths: Floats, reach: float, rows: slice) -> Floats:
    upper, _ = workspace(rows)
    np.multiply(widths[rows], (1.0 + TIE) * reach, out=upper)
    upper += model.means[rows]
    return upper


def _few_largest(values: Floats, tolerance: float, many: int) -> Rows:
    """Positions of the largest values in turn; of those within the tolerance, the first."""
    left = values.copy()
    found: list[int] = []
    while len(found) < many and left.max(initial=-np.inf) > -np.inf:
        found.append(int(np.argmax(left >= left.max() - tolerance)))
        left[found[-1]] = -np.inf
    return np.array(found, np.int64)


def _measure(model: DenseModel, candidates: Mask, leader: int) -> Callable[[Rows], Floats]:
    """A function from rows to ``‖a_k - b‖``, -∞ for what is no rival."""
    half = solve_lower(model, model.columns[:, leader].astype(np.float64))
    step = solve_upper(model, half * model.reciprocals)

    def widths(rows: Rows) -> Floats:
        terms = model.squared_widths[rows] + model.squared_widths[leader]
        squared = terms - 2.0 * (rows_of(model, rows) @ step)
        rivals = (squared > 2.0 * CANCELLED * terms) & candidates[rows] & (rows != leader)
        return np.where(rivals, np.sqrt(np.where(rivals, squared, 0.0)), -np.inf)

    return widths


def _rival_widths(model: Model, candidates: Mask, leader: int) -> Floats:
    """``‖a_k - b‖`` for every rival, -∞ for what is none, (n,)."""
    widths, own = contrast_widths(model, leader), float(model.squared_widths[leader])
    for rows in row_blocks(widths.size):
        squared, terms = workspace(rows)
        np.multiply(widths[rows], widths[rows], out=squared)
        np.add(model.squared_widths[rows], own, out=terms)
        terms *= 2.0 * CANCELLED
        widths[rows][np.flatnonzero(squared <= terms)] = -np.inf
        if not candidates[rows].all():
            widths[rows][np.flatnonzero(~candidates[rows])] = -np.inf
    widths[leader] = -np.inf
    return widths


has_twins(__name__, f"{__name__}_loops")
