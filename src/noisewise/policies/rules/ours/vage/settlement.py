"""What would settle several races best, by one product with the vectors or two instead of one per race."""

from typing import NamedTuple

import numpy as np

from noisewise.core.choice.selection import TIE, Mask, first_largest
from noisewise.core.model.covariances import squared_covariances
from noisewise.core.model.dense import DenseModel, Floats, has_vectors, project, rows_of
from noisewise.core.model.factor import solve_lower, solve_upper
from noisewise.core.model.model import Model
from noisewise.core.support.blocks import map_rows, workspace
from noisewise.policies.rules.ours.vage.races import ONE_IN, WORTH_BOUNDING, Rows

#: Bounds are widened by this share: rounding must not rule anybody out.
MARGIN = 1e-6
EPS = float(np.finfo(np.float64).eps)


class Foreseen(NamedTuple):
    """The variance of a coming measurement: of an average action, and of each one relative to it."""

    variance: float
    relative: Floats  # (n,); empty if all are alike


def most_settling(
    model: Model,
    rivals: Rows,
    leader: int,
    weights: Floats,
    foreseen: Foreseen,
    allowed: Mask,
    max_norm: float,
) -> int:
    """The allowed action whose measurement takes most off the variances of the races; -1 if none does.

    ``Σ_j w_j·((a_j - b)ᵀV⁻¹a_k)²/(σ_k² + ‖a_k‖²)`` over the rivals j of the leader b. With orthogonal
    directions in place of the differences the sum is ``Σ_i s_i²·p_i²``, s falling, and ``Σ_i p_i² <= ‖a_k‖²``
    (Bessel). So the first projection bounds it, or the first two:
    ``s_1²·p_1² + s_2²·p_2² + s_3²·(‖a_k‖² - p_1² - p_2²)``.
    """
    if has_vectors(model) and model.means.size >= WORTH_BOUNDING:
        roots = np.sqrt(model.reciprocals)
        whitened = _half_solved(model, rivals, leader, weights) * roots
        _, strengths, directions = np.linalg.svd(whitened, full_matrices=False)
        steps = np.array([solve_upper(model, row * roots) for row in whitened])
        axes = [solve_upper(model, row * roots) for row in directions[:2]]
        squares = np.append(strengths, (0.0, 0.0)) ** 2
        along = np.empty(model.means.size)
        tallest = _square_projections(model, axes[0], allowed, along)
        probes = np.concatenate([tallest, rivals, [leader, allowed.argmax()]])
        gains = _gains(model, steps, probes[allowed[probes]], foreseen)
        # What rounding may do to p: (|p| + e)² <= (1 + MARGIN)·p² + (1 + 1/MARGIN)·e².
        error = strengths[0] * roots.size * EPS * max_norm * max(np.linalg.norm(axis) for axis in axes)
        least = _Least((1.0 - 2.0 * MARGIN) * float(gains.max()), float(4.0 / MARGIN * error * error))
        for axis, falling in ((None, squares[[0, 1, 1]]), (axes[-1], squares[:3])):
            hopeful = _able(model, along, axis, falling, foreseen, least)
            hopeful = hopeful[allowed[hopeful]]
            if hopeful.size * ONE_IN <= model.means.size:
                gains = _gains(model, steps, hopeful, foreseen)
                top = gains.max()
                return int(hopeful[int(np.argmax(gains >= top - TIE * top))]) if top > 0.0 else -1
    return _most_settling_of_all(model, rivals, leader, weights, foreseen, allowed)


class _Least(NamedTuple):
    """What somebody is sure to take off, and what to add to a bound for rounding."""

    gain: float
    reserve: float


def _half_solved(model: DenseModel, rivals: Rows, leader: int, weights: Floats) -> Floats:
    """``√w_j·U⁻ᵀ(a_j - b)``, a row for each rival."""
    differences = rows_of(model, rivals) - model.columns[:, leader].astype(np.float64)
    differences *= np.sqrt(weights)[:, None]
    return np.array([solve_lower(model, difference) for difference in differences])


def _square_projections(model: DenseModel, axis: Floats, allowed: Mask, out: Floats) -> Rows:
    """``<axis, a_k>²`` into ``out``, 0 for what is not allowed; the row of the largest in each block."""

    def square(rows: slice) -> int:
        squares = out[rows]
        project(model, axis, rows, squares)
        np.multiply(squares, squares, out=squares)
        if not allowed[rows].all():
            squares[np.flatnonzero(~allowed[rows])] = 0.0
        return int(rows.start + squares.argmax())

    return np.array(map_rows(square, model.means.size))


def _able(
    model: DenseModel, along: Floats, axis: Floats | None, falling: Floats, foreseen: Foreseen, least: _Least
) -> Rows:
    """Actions that may take off the least gain, by the squares along one axis and perhaps along a second.

    ``(s_1² - s_3²)·p_1² + (s_2² - s_3²)·p_2² + s_3²·‖a_k‖² + reserve >= gain·(σ_k² + ‖a_k‖²)``
    """
    first, second, rest = falling

    def able(rows: slice) -> Rows:
        bound, term = workspace(rows)
        np.multiply(model.squared_widths[rows], rest - least.gain, out=bound)
        np.multiply(along[rows], first - rest, out=term)
        bound += term
        if axis is not None:
            project(model, axis, rows, term)
            np.multiply(term, term, out=term)
            term *= second - rest
            bound += term
        if foreseen.relative.size:
            np.multiply(foreseen.relative[rows], least.gain * foreseen.variance, out=term)
            bound -= term
            enough = -least.reserve
        else:
            enough = least.gain * foreseen.variance - least.reserve
        return np.asarray(rows.start + np.flatnonzero(bound >= enough))

    return np.concatenate(map_rows(able, model.means.size))


def _gains(model: DenseModel, steps: Floats, rows: Rows, foreseen: Foreseen) -> Floats:
    """What measuring each of some actions would take off."""
    covariances = rows_of(model, rows) @ steps.T
    squares = np.einsum("kj,kj->k", covariances, covariances)
    relative = foreseen.relative[rows] if foreseen.relative.size else 1.0
    return np.asarray(squares / (foreseen.variance * relative + model.squared_widths[rows]))


def _most_settling_of_all(
    model: Model, rivals: Rows, leader: int, weights: Floats, foreseen: Foreseen, allowed: Mask
) -> int:
    """The same without bounds."""
    gains = squared_covariances(model, rivals, leader, weights)
    relative = foreseen.relative if foreseen.relative.size else 1.0
    gains /= foreseen.variance * relative + model.squared_widths
    action = first_largest(gains, allowed)
    return action if gains[action] > 0.0 else -1
