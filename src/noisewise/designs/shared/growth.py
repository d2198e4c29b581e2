"""Which rows enter the working set: the worst ones, but not all copies of the same one."""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr

from noisewise.designs.shared.algebra import product, squared_norms, subtract_square, times
from noisewise.designs.shared.rows import Floats, Indices

WINDOW = 600


def choose_diverse(coordinates: Floats, n_wanted: int, *, level: float, mass: float) -> Indices:
    """Choose up to ``n_wanted`` rows of largest g, each counted as if the chosen ones had weight.

    Every chosen row gets the weight ``mass`` on top of the identity, which lowers the g of its
    neighbours; stops when no g is above ``level``. As g only falls, the best row is in a window
    of the largest ones until the window falls to the others: those are lowered in blocks.
    """
    g_values = squared_norms(coordinates)
    covariance = np.eye(coordinates.shape[1])
    chosen: list[int] = []
    while len(chosen) < n_wanted and np.max(g_values, initial=-np.inf) > level:
        order = np.argsort(-g_values, kind="stable")
        window, others = order[:WINDOW], order[WINDOW : WINDOW + 1]
        floor = float(np.max(g_values[others], initial=0.0))
        room = n_wanted - len(chosen)
        picks, shadows = choose_in_window(
            coordinates[window], g_values[window], covariance, room, max(floor, level), mass
        )
        if not picks:
            break
        chosen += window[picks].tolist()
        g_values -= squared_norms(product(coordinates, shadows))
        g_values[chosen] = -np.inf
    return np.array(chosen, dtype=np.int64)


def choose_in_window(
    coordinates: Floats,
    g_values: Floats,
    covariance: Floats,
    n_wanted: int,
    floor: float,
    mass: float,
) -> tuple[list[int], Floats]:
    """Choose one row after the other, updating ``covariance``; return what lowers the others.

    Stops at ``floor``, the largest g outside of the window.
    """
    chosen: list[int] = []
    shadows: list[Floats] = []
    while len(chosen) < min(n_wanted, len(g_values)):
        place = int(np.argmax(g_values))
        if g_values[place] < floor or (chosen and g_values[place] == floor):
            break
        chosen.append(place)
        direction = covariance @ coordinates[place]
        direction /= np.sqrt(1.0 / mass + float(direction @ coordinates[place]))
        subtract_square(covariance, direction)
        shadow = times(coordinates, direction)
        shadow *= shadow
        g_values -= shadow
        g_values[place] = -np.inf
        shadows.append(direction)
    return chosen, np.array(shadows).T


def choose_spanning(coordinates: Floats) -> Indices:
    """Choose ``rank`` rows that span the space, each the farthest from the span so far."""
    pivots = qr(coordinates.T, mode="r", pivoting=True, check_finite=False)[1]
    return np.asarray(pivots[: coordinates.shape[1]], dtype=np.int64)


def thin_out(g_values: Floats, n_kept: int, rng: np.random.Generator) -> Indices:
    """Keep the ``n_kept`` largest and as many of the others at random, as sorted places."""
    if len(g_values) <= 2 * n_kept:
        return np.arange(len(g_values), dtype=np.int64)
    order = np.argpartition(g_values, len(g_values) - n_kept)
    others = rng.choice(order[:-n_kept], n_kept, replace=False)
    return np.sort(np.concatenate([order[-n_kept:], others]).astype(np.int64))
