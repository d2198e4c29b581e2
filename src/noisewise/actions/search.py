"""Sets with too many vertices to try them all: ascent from 64 starts, and a bound on what it may miss."""

import math
from collections.abc import Callable

import numpy as np

from noisewise.core.blocks import Floats

#: Ascents, each from a different start.
N_STARTS = 64
#: Sweeps of the relaxation; its bound holds after any number of them, and is tight after enough.
SWEEPS = 60
#: Steps of each ascent, and of the best of them at the end.
SHORT, LONG = 10, 300
#: Times the relaxation is solved to find the best multiplier.
MULTIPLIERS = 3


def flip_ascent(
    low: Floats, high: Floats, theta: Floats, covariance: Floats, radius: float, origin: Floats
) -> Floats:
    """A corner of the box with a large ``<θ, a - origin> + radius·‖a - origin‖``: no single flip helps."""
    spans = high - low
    middle = low + spans / 2.0
    at = np.where(_starts(theta, covariance, spans, middle - origin) > 0.0, high, low)
    own = np.diag(covariance)
    means, rows = (at - origin) @ theta, np.arange(len(at))
    pulls = (at - origin) @ covariance
    squares = np.einsum("ij,ij->i", pulls, at - origin)
    while True:
        steps = 2.0 * (middle - at)
        raised = squares[:, None] + steps * (2.0 * pulls + steps * own)
        values = means[:, None] + steps * theta + radius * np.sqrt(np.maximum(raised, 0.0))
        now = means + radius * np.sqrt(np.maximum(squares, 0.0))
        flips = np.argmax(values, axis=1)
        better = values[rows, flips] > now + 1e-12 * (np.abs(now) + 1e-300)
        if not better.any():
            return np.asarray(at[int(np.argmax(now))])
        chosen, column = rows[better], flips[better]
        step = steps[chosen, column]
        at[chosen, column] += step
        squares[chosen] = raised[chosen, column]
        means[chosen] += step * theta[column]
        pulls[chosen] += step[:, None] * covariance[column]


def _starts(theta: Floats, covariance: Floats, spans: Floats, away: Floats) -> Floats:
    """Signs to start from, (64, dim): those of what looks best, of the widest directions, and random ones."""
    _, vectors = np.linalg.eigh(covariance * np.outer(spans, spans))
    named = [theta, covariance @ away, *vectors.T[: -N_STARTS // 4 : -1]]
    named += [-direction for direction in named]
    some = np.random.default_rng(0).standard_normal((N_STARTS, theta.size))
    return np.vstack([named, some])[:N_STARTS]


def corner_bound(
    low: Floats, high: Floats, theta: Floats, covariance: Floats, radius: float, origin: Floats, width: float
) -> float:
    """What no corner exceeds of ``<θ, a - origin> + radius·‖a - origin‖``.

    With ``a = middle + half·s`` and ``‖x‖ <= μ/2 + ‖x‖²/(2μ)`` this is a quadratic form in signs s, bounded
    by its semidefinite relaxation. ``width`` is a guess of ``‖a - origin‖`` at the best corner.
    """
    half = (high - low) / 2.0
    away = low + half - origin
    inner = covariance * np.outer(half, half)
    linear = half * theta
    cross = half * (covariance @ away)
    own = float(away @ covariance @ away)
    best = math.inf
    mu = max(width, 1e-150)
    for _ in range(MULTIPLIERS if radius > 0.0 else 1):
        stiffness = radius / mu
        # A last sign, multiplying the linear part, makes the form purely quadratic.
        form = np.zeros((half.size + 1, half.size + 1))
        form[:-1, :-1] = stiffness / 2.0 * inner
        form[-1, :-1] = form[:-1, -1] = (linear + stiffness * cross) / 2.0
        bound, signs = sign_bound(form)
        bound += radius * mu / 2.0 + float(theta @ away) + stiffness / 2.0 * own
        best = min(best, bound)
        gram = signs @ signs.T
        relaxed = float((inner * gram[:-1, :-1]).sum()) + 2.0 * float(cross @ gram[:-1, -1]) + own
        mu = math.sqrt(max(relaxed, 1e-300))
    return best


def sign_bound(form: Floats) -> tuple[float, Floats]:
    """An upper bound on ``sᵀ·form·s`` over signs s, and unit vectors as relaxed signs.

    If ``diag(y) - form`` is positive semidefinite, ``sᵀ·form·s <= Σ y``. Such y come from the relaxation
    in which signs are unit vectors (each in turn moved to its best place); what is lacking to
    semidefiniteness is added at the end, so the bound holds however far the iteration came.
    """
    size = len(form)
    rank = min(size, math.ceil(math.sqrt(2.0 * size)) + 1)
    signs = np.random.default_rng(1).standard_normal((size, rank))
    signs /= np.linalg.norm(signs, axis=1, keepdims=True)
    off = form - np.diag(np.diag(form))
    for _ in range(SWEEPS):
        for i in range(size):
            pull = off[i] @ signs
            length = math.sqrt(float(pull @ pull))
            if length > 0.0:
                signs[i] = pull / length
    weights = np.diag(form) + np.linalg.norm(off @ signs, axis=1)
    lacking = max(0.0, float(np.linalg.eigvalsh(form - np.diag(weights))[-1]))
    return float(weights.sum()) + size * lacking * (1.0 + 1e-9), signs


def linear_ascent(
    best: Callable[[Floats], Floats],
    theta: Floats,
    covariance: Floats,
    radius: float,
    origin: Floats,
    *starts: Floats,
    n_starts: int = N_STARTS,
) -> Floats:
    """An action with a large ``<θ, a - origin> + radius·‖a - origin‖``, knowing only best actions.

    The function is convex, so the best action for its gradient is never worse than where it was taken.
    """
    rng = np.random.default_rng(0)
    _, vectors = np.linalg.eigh(covariance)
    named = [-origin, theta, *vectors.T[::-1], *(-vectors.T[::-1])]
    directions = np.vstack([named, rng.standard_normal((n_starts, theta.size))])[: n_starts - len(starts)]
    found = origin
    for at in [*starts, *map(best, directions)]:
        reached = _climb(best, theta, covariance, radius, origin, at, SHORT)
        found = max(found, reached, key=lambda a: _contrast(theta, covariance, radius, a - origin))
    return _climb(best, theta, covariance, radius, origin, found, LONG)


def _climb(
    best: Callable[[Floats], Floats],
    theta: Floats,
    covariance: Floats,
    radius: float,
    origin: Floats,
    at: Floats,
    steps: int,
) -> Floats:
    value = _contrast(theta, covariance, radius, at - origin)
    for _ in range(steps):
        pull = covariance @ (at - origin)
        width = math.sqrt(max(0.0, float(pull @ (at - origin))))
        if width == 0.0:
            break
        proposed = best(theta + radius / width * pull)
        raised = _contrast(theta, covariance, radius, proposed - origin)
        if raised <= value + 1e-10 * abs(value):
            break
        at, value = proposed, raised
    return at


def _contrast(theta: Floats, covariance: Floats, radius: float, away: Floats) -> float:
    return float(theta @ away) + radius * math.sqrt(max(0.0, float(away @ covariance @ away)))
