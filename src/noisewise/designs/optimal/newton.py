"""The best weights on a working set that fits in memory, by Newton's method."""

from __future__ import annotations

import numpy as np

from noisewise.designs.optimal.quadratic import minimise_model
from noisewise.designs.shared.algebra import eigenvalues, product, squared_norms, weighted_moment
from noisewise.designs.shared.frame import whitener
from noisewise.designs.shared.rows import Floats

NEGLIGIBLE = 1e-13  # weights below this are rounding
MAX_STEPS = 60


def solve_weights(coordinates: Floats, weights: Floats, tolerance: float, *, stubborn: bool = True) -> Floats:
    """Return weights on the rows with max g <= (1 + tolerance) rank *among these rows*.

    Unless ``stubborn`` it gives up where steps stop paying: other rows may be what is missing.
    Else it falls short only where float64 does; the caller's certificate will tell.
    """
    weights = weights / weights.sum()
    best, best_gap, last_gap = weights, np.inf, np.inf
    effort, n_worse = 0, 0
    for _ in range(MAX_STEPS):
        white = product(coordinates, whitener(coordinates, weights))
        g_values = squared_norms(white)
        gap = float(g_values.max()) / white.shape[1] - 1.0
        effort = 0 if gap < 0.5 * last_gap else min(2, effort + 1)
        n_worse = 0 if gap < 0.9 * best_gap else n_worse + 1
        if gap < best_gap:
            best, best_gap = weights, gap
        if gap <= tolerance or n_worse > (8 if stubborn else 2):
            break
        weights, last_gap = newton_step(white, weights, g_values, effort=effort), gap
    return best


def newton_step(white: Floats, weights: Floats, g_values: Floats, *, effort: int) -> Floats:
    """Move to the minimum of the model, or as far towards it as log det grows."""
    rank = white.shape[1]
    gap = float(g_values.max()) / rank - 1.0
    # Far below the rank a row cannot enter in this step; the next one looks again.
    active = np.flatnonzero((weights > 0.0) | (g_values > rank * (1.0 - min(0.3, 3.0 * gap))))
    model = np.maximum(minimise_model(white[active], weights[active], effort=effort), 0.0)
    aim = np.zeros_like(weights)
    aim[active] = model / model.sum()
    step = step_length(eigenvalues(weighted_moment(white[active], aim[active])))
    moved = aim if step == 1.0 else weights + step * (aim - weights)
    moved[moved < NEGLIGIBLE] = 0.0
    return np.asarray(moved / moved.sum())


def step_length(spectrum: Floats) -> float:
    """Maximise sum log(1 + a (e - 1)) over a in [0, 1], e the eigenvalues of the aimed moment.

    The whole step is taken whenever it gains a tenth of what the slope promises: only then do
    the weights that the model sets to zero vanish.
    """
    excess = spectrum - 1.0
    slope = float(excess.sum())
    if spectrum[0] > 1e-3 and float(np.log(spectrum).sum()) >= 0.1 * slope:
        return 1.0
    end = min(1.0, -0.999999 / float(excess[0]))

    def derivative(step: float) -> float:
        return float(np.sum(excess / (1.0 + step * excess)))

    if slope <= 0.0 or derivative(end) >= 0.0:
        return end if slope > 0.0 else 0.0
    low, high = 0.0, end
    while high - low > 1e-6 * end:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if derivative(middle) > 0.0 else (low, middle)
    return low
