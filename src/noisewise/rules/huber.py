"""The adaptive pseudo-Huber estimate over a ball, exactly: Newton's method from the previous estimate.

With ``ℓ_τ(z) = τ(√(τ² + z²) - τ)``, quadratic for small z and linear for large, the estimate is

    ``θ̂ = argmin over ‖θ‖ <= R of  ridge/2·‖θ‖² + Σ ℓ_{τ_i}((r_i - <a_i, θ>)/s_i)``,
    ``τ_i = τ0·√(1 + u_i²)/u_i``,  ``u_i = ‖a_i‖/s_i`` in the norm of V_{i-1}⁻¹,

so that no measurement can move the estimate by more than about τ0 of its own error bars. All
measurements are kept. Those of one action share a slot, so a pass costs O(measurements + slots·dim).
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.core.blocks import Floats, routines
from noisewise.core.model import DenseModel, Factored, theta
from noisewise.core.native.verbs import verb

#: A Newton decrement, in standard errors, after which the next step is the last: it squares the error.
CLOSE = 1e-5
#: Newton steps at most; two are usual, and a dozen after a measurement that changes everything.
MOST_STEPS = 100
#: Tries to shorten one step.
MOST_CUTS = 40
#: A step is too long if the slope at its end exceeds this share of the slope at its start.
OVERSHOT = 0.1
#: The width of a measurement that teaches nothing, relative to its scale.
TINY = 1e-100
#: How far outside a point may lie, relative to the ball, before it is pulled back for good.
ON_THE_BALL = 1e-12
#: Newton steps for the multiplier of the ball; about five are needed.
MOST_SHIFTS = 100


class History(NamedTuple):
    """All measurements, and the distinct vectors among them; arrays of fixed capacity."""

    rewards: Floats  # (T,)
    scales: Floats  # (T,): the sigmas that enter
    taus: Floats  # (T,)
    slots: NDArray[np.int64]  # (T,): where the action's vector is
    vectors: Floats  # (m, dim), of each action that was measured
    slot_of: NDArray[np.int64]  # (n,): the action's slot, or -1
    filled: NDArray[np.int64]  # (2,): how many measurements and slots there are
    multiplier: Floats  # (1,): of the ball, at the last estimate
    curvature: Floats  # (m,): Σ ψ'/s² of each slot, at the last pass
    influence: Floats  # (m,): Σ ψ/s of each slot: scratch, like all that follow
    rows: Floats  # (m, dim): the vectors, whitened
    room: Floats  # for the compiled body alone


#: What a history keeps from one measurement to the next; the rest is scratch.
KEPT = ("rewards", "scales", "taus", "slots", "vectors", "slot_of", "filled", "multiplier", "curvature")


def new_history(n_actions: int, dim: int, capacity: int) -> History:
    """Room for this many measurements.

    A single action may be any vector (`core.model.place`), so each of its measurements has a slot.
    """
    slots = capacity if n_actions == 1 else min(n_actions, capacity)
    return History(
        rewards=np.zeros(capacity),
        scales=np.zeros(capacity),
        taus=np.zeros(capacity),
        slots=np.zeros(capacity, dtype=np.int64),
        vectors=np.zeros((slots, dim)),
        slot_of=np.full(n_actions if capacity else 0, -1),
        filled=np.zeros(2, dtype=np.int64),
        multiplier=np.zeros(1),
        curvature=np.zeros(slots),
        influence=np.zeros(slots),
        rows=np.zeros((slots, dim)),
        room=np.zeros(room_for_a_step(dim) + slots),
    )


def grown(history: History) -> History:
    """The history with room for twice as many measurements."""
    larger = new_history(history.slot_of.size, history.vectors.shape[1], 2 * history.rewards.size)
    for name in KEPT:
        old = getattr(history, name)
        getattr(larger, name)[: len(old)] = old
    return larger


def threshold(tau0: float, squared_width: float, scale: float) -> float:
    """``τ = τ0·√(1 + u²)/u`` with ``u = width/scale``."""
    u = max(math.sqrt(squared_width) / scale, TINY)
    return tau0 * math.sqrt(1.0 + u * u) / u


def clipped(residual: float, tau: float) -> float:
    """``ψ_τ(z) = τz/√(τ² + z²)``, the derivative of the loss."""
    return tau * residual / math.sqrt(tau * tau + residual * residual)


@verb
def remember(
    history: History, model: DenseModel, action: int, reward: float, scale: float, tau: float
) -> None:
    """Keep one measurement."""
    told = history.filled[0]
    slot = history.slot_of[action]
    if slot < 0 or history.slot_of.size == 1:
        slot = history.filled[1]
        history.slot_of[action] = slot
        history.filled[1] += 1
        history.vectors[slot] = model.columns[:, action]
    history.rewards[told] = reward
    history.scales[told] = scale
    history.taus[told] = tau
    history.slots[told] = slot
    history.filled[0] += 1


@verb
def fit_huber(history: History, model: DenseModel, ridge: float, bound: float) -> Floats:
    """The estimate, when one measurement was remembered and folded since the model's was the estimate.

    A step that overshoots is shortened by the secant rule on the slope along it. Values of the loss are
    never compared: with one huge outlier they would be rounded to the same number.
    """
    root = whitening(model)
    whiten(history, root)
    point = theta(model)
    # At the old estimate the old gradients add up to the pull of the ball, ``-μθ``, and the old curvatures
    # are known: the first step needs no pass.
    weigh_newest(history, point)
    gradient = gradient_at(history, root, point, -history.multiplier[0])
    point, _, _, _ = step_within_ball(hessian_at(history, root, ridge), gradient, root, point, bound)
    weigh(history, point)
    gradient, hessian = gradient_at(history, root, point, ridge), hessian_at(history, root, ridge)
    for _ in range(MOST_STEPS):
        goal, step, decrement, multiplier = step_within_ball(hessian, gradient, root, point, bound)
        history.multiplier[0] = multiplier
        if decrement <= CLOSE:
            return goal
        slope, share, trial = (gradient * step).sum(), 1.0, goal
        for _ in range(MOST_CUTS):
            trial = point + share * (goal - point)
            weigh(history, trial)
            gradient = gradient_at(history, root, trial, ridge)
            beyond = (gradient * step).sum()
            if beyond <= -OVERSHOT * slope:
                break
            share *= min(0.9, slope / (slope - beyond))
        point, hessian = trial, hessian_at(history, root, ridge)
    return point


def weigh(history: History, point: Floats) -> None:
    """One pass: the sums of ``ψ/s`` and ``ψ'/s²`` over each slot's measurements, at ``point``."""
    told, slots = history.filled
    where, scales, taus = history.slots[:told], history.scales[:told], history.taus[:told]
    values = history.vectors[:slots] @ point
    residuals = (history.rewards[:told] - values[where]) / scales
    bend = taus / np.sqrt(taus * taus + residuals * residuals)
    history.influence[:slots] = np.bincount(where, bend * residuals / scales, slots)
    history.curvature[:slots] = np.bincount(where, bend**3 / scales**2, slots)


def weigh_newest(history: History, point: Floats) -> None:
    """Add the newest measurement to its slot's curvature, and make its influence the only one."""
    newest = history.filled[0] - 1
    history.influence[: history.filled[1]] = 0.0
    slot, scale, tau = history.slots[newest], history.scales[newest], history.taus[newest]
    residual = (history.rewards[newest] - history.vectors[slot] @ point) / scale
    bend = tau / math.sqrt(tau * tau + residual * residual)
    history.influence[slot] = bend * residual / scale
    history.curvature[slot] += bend**3 / scale**2


def whiten(history: History, root: Floats) -> None:
    """Write the slots' vectors in the coordinates of ``root``."""
    slots = history.filled[1]
    history.rows[:slots] = history.vectors[:slots] @ root.T


def gradient_at(history: History, root: Floats, point: Floats, ridge: float) -> Floats:
    """The gradient at the point of the last pass, whitened."""
    slots = history.filled[1]
    return np.asarray(ridge * (root @ point) - history.influence[:slots] @ history.rows[:slots])


def hessian_at(history: History, root: Floats, ridge: float) -> Floats:
    """The second derivative at the point of the last pass, whitened; at most the identity."""
    slots = history.filled[1]
    rows = history.rows[:slots]
    return np.asarray(ridge * (root @ root.T) + (rows.T * history.curvature[:slots]) @ rows)


# The Newton step that stays in a ball, solved exactly in coordinates where V is the identity.


def room_for_a_step(dim: int) -> int:
    """How many numbers the matrices and vectors of a step take: five of the ones, eight of the others."""
    return 5 * dim * dim + 8 * dim


def whitening(model: Factored) -> Floats:
    """``W = D^(-1/2)·U⁻ᵀ``, (dim, dim): ``‖Wa‖`` is the width of a, and ``θ = Wᵀy`` has ``‖θ‖_V = ‖y‖``.

    Sums of weights over sixteen decades are hopeless to factor; in these coordinates they are near 1.
    """
    dim = model.pivots.size
    upper = np.asfortranarray(model.factor[:, :dim])
    root = routines().solve_many(1.0, upper, np.eye(dim), trans_a=1, diag=1)
    return np.ascontiguousarray(np.sqrt(model.reciprocals)[:, None] * root)


def step_within_ball(
    hessian: Floats, gradient: Floats, root: Floats, point: Floats, bound: float
) -> tuple[Floats, Floats, float, float]:
    """The step p of least ``<gradient, p> + ½pᵀ·hessian·p`` such that ``‖point + rootᵀp‖ <= bound``.

    Gradient, hessian and p are in the coordinates of ``root``, a lower triangle (see `whitening`). Outside
    the ball the multiplier μ of the constraint is found by Newton's method on ``1/‖θ(μ)‖``, which climbs
    from 0 to the solution without overshooting (Moré and Sorensen 1983).

    Returns:
        The new point, p, the decrement ``√(pᵀ·hessian·p)``, and μ, 0 inside the ball.
    """
    shift, matrix, target = 0.0, hessian, -gradient
    outward = root @ point
    metric = root @ root.T
    for _ in range(MOST_SHIFTS):
        step = _solved(matrix, target)
        moved = point + step @ root
        norm = math.sqrt(moved @ moved)
        # NaN stays NaN.
        if not norm > bound * (1.0 + ON_THE_BALL) or math.isinf(norm):
            break
        pull = root @ moved
        shift += float(norm * norm / np.float64(pull @ _solved(matrix, pull)) * (norm - bound) / bound)
        matrix, target = hessian + shift * metric, -(gradient + shift * outward)
    if not math.isfinite(norm):
        return point, np.zeros(point.size), 0.0, shift  # rounding left no inverse: stay
    if norm > bound:
        moved = moved * (bound / norm)
    return moved, step, math.sqrt(max(0.0, float(step @ hessian @ step))), shift


def _solved(matrix: Floats, target: Floats) -> Floats:
    """``matrix⁻¹·target``; NaN where rounding left no inverse."""
    try:
        return np.asarray(np.linalg.solve(matrix, target), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.full(target.size, np.nan)
