"""What optimal designs are compared with: compiled, and as fast as we could make them."""

from __future__ import annotations

import importlib.util
import time

import numba
import numpy as np

MATH = {"reassoc", "contract"}


def spanning_start(vectors: np.ndarray, seed: int = 0) -> np.ndarray:
    """Choose one row per dimension, the farthest in a random direction off the span so far.

    The start of Kumar and Yildirim (J. Optim. Theory Appl. 2005): d passes over the rows.
    """
    rng = np.random.default_rng(seed)
    dim = vectors.shape[1]
    scales = np.abs(vectors[:: max(1, len(vectors) // 1000)]).max(axis=0)
    basis = np.zeros((dim, 0))
    chosen = []
    for _ in range(dim):
        direction = rng.standard_normal(dim)
        for _ in range(2):
            direction -= basis @ (basis.T @ direction)
        place = int(np.argmax(np.abs(vectors @ (direction / scales))))
        chosen.append(place)
        new = vectors[place] / scales
        for _ in range(2):
            new -= basis @ (basis.T @ new)
        basis = np.column_stack([basis, new / np.linalg.norm(new)])
    return np.array(chosen)


def all_g(vectors: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return g of all rows and the inverse moment, in blocked products."""
    used = np.flatnonzero(weights)
    scales = np.abs(vectors[used]).max(axis=0)
    scaled = vectors[used] / scales
    moment = scaled.T @ (weights[used, None] * scaled)
    root = np.linalg.inv(np.linalg.cholesky(moment)).T / scales[:, None]
    g_values = np.empty(len(vectors))
    for start in range(0, len(vectors), 4096):
        block = vectors[start : start + 4096] @ root
        g_values[start : start + 4096] = np.einsum("ij,ij->i", block, block)
    return g_values, root @ root.T


@numba.njit(fastmath=MATH, cache=True)
def rescale(g_values, images, factor, scale):
    """Update all g after a rank-one step and return the place of the largest: one fused loop."""
    place, largest = 0, -1.0
    for i in range(len(g_values)):
        value = (g_values[i] - factor * images[i] * images[i]) * scale
        g_values[i] = value
        if value > largest:
            place, largest = i, value
    return place


def frank_wolfe_away(vectors: np.ndarray, gap: float, limit: float) -> tuple[np.ndarray, bool]:
    """Maximise det V by Frank-Wolfe with away steps (Todd and Yildirim, 2007)."""
    n_actions, dim = vectors.shape
    begin = time.perf_counter()
    weights = np.zeros(n_actions)
    weights[spanning_start(vectors)] = 1 / dim
    g_values, inverse = all_g(vectors, weights)
    best, count = int(np.argmax(g_values)), 0
    while time.perf_counter() - begin < limit:
        count += 1
        if count % 2000 == 0 or g_values[best] <= (1 + gap) * dim:
            g_values, inverse = all_g(vectors, weights)
            best = int(np.argmax(g_values))
            if g_values[best] <= (1 + gap) * dim:
                return weights, True
        used = np.flatnonzero(weights)
        worst = int(used[np.argmin(g_values[used])])
        drops = False
        if g_values[best] / dim - 1 >= 1 - g_values[worst] / dim:
            place, value = best, g_values[best]
            step = (value / dim - 1) / (value - 1)
        else:
            place, value = worst, g_values[worst]
            most = weights[worst] / (1 - weights[worst])
            # With g <= 1 the objective grows all the way: the longest step drops the row.
            wanted = (1 - value / dim) / (value - 1) if value > 1 else np.inf
            drops, step = wanted >= most, -min(wanted, most)
        direction = inverse @ vectors[place]
        weights *= 1 - step
        weights[place] = 0.0 if drops else weights[place] + step
        factor = step / (1 - step + step * value)
        inverse = (inverse - factor * np.outer(direction, direction)) / (1 - step)
        best = rescale(g_values, vectors @ direction, factor, 1 / (1 - step))
    return weights, False


@numba.njit(fastmath=MATH, cache=True)
def exchange(tops, top_places, supports, support_places, weights, inverse, only_nullifying):
    """Move weight between every pair of a top row and a support row by the exact best amount."""
    dim = inverse.shape[0]
    top_image, support_image = np.empty(dim), np.empty(dim)
    for t in range(len(top_places)):
        for i in range(dim):
            total = 0.0
            for j in range(dim):
                total += inverse[i, j] * tops[t, j]
            top_image[i] = total
        for s in range(len(support_places)):
            top, support = top_places[t], support_places[s]
            if top == support or (weights[top] == 0.0 and weights[support] == 0.0):
                continue
            top_g, support_g, cross = 0.0, 0.0, 0.0
            for i in range(dim):
                total = 0.0
                for j in range(dim):
                    total += inverse[i, j] * supports[s, j]
                support_image[i] = total
                support_g += total * supports[s, i]
                top_g += top_image[i] * tops[t, i]
                cross += top_image[i] * supports[s, i]
            amount = 0.5 * (top_g - support_g) / (top_g * support_g - cross * cross + 1e-24)
            amount = min(weights[support], max(-weights[top], amount))
            nullifies = weights[support] - amount < 1e-14 or weights[top] + amount < 1e-14
            if amount == 0.0 or (only_nullifying and not nullifies):
                continue
            weights[support] = 0.0 if weights[support] - amount < 1e-14 else weights[support] - amount
            weights[top] = 0.0 if weights[top] + amount < 1e-14 else weights[top] + amount
            first = amount / (1 + amount * top_g)
            second = amount / (1 - amount * (support_g - first * cross * cross))
            overlap = 0.0
            for i in range(dim):
                support_image[i] -= first * cross * top_image[i]
                overlap += support_image[i] * tops[t, i]
            for i in range(dim):
                for j in range(dim):
                    inverse[i, j] += (
                        second * support_image[i] * support_image[j] - first * top_image[i] * top_image[j]
                    )
            for i in range(dim):
                top_image[i] += second * overlap * support_image[i] - first * top_g * top_image[i]


def rex(vectors: np.ndarray, gap: float, limit: float, seed: int = 0) -> tuple[np.ndarray, bool]:
    """Randomised exchange (Harman, Filova and Richtarik, JASA 2020), with rank-one updates.

    The published code solves a system per pair; these updates make the port the stronger peer.
    """
    n_actions, dim = vectors.shape
    begin = time.perf_counter()
    rng = np.random.default_rng(seed)
    weights = np.zeros(n_actions)
    weights[spanning_start(vectors, seed)] = 1 / dim
    n_tops = min(n_actions, 4 * dim)
    while True:
        g_values, inverse = all_g(vectors, weights)
        if g_values.max() <= (1 + gap) * dim:
            return weights, True
        if time.perf_counter() - begin > limit:
            return weights, False
        used = np.flatnonzero(weights)
        tops = np.argpartition(g_values, n_actions - n_tops)[-n_tops:]
        best, worst = tops[[np.argmax(g_values[tops])]], used[[np.argmin(g_values[used])]]
        exchange(vectors[best], best, vectors[worst], worst, weights, inverse, False)
        tops, used = rng.permutation(tops), rng.permutation(used)
        only_nullifying = bool(weights[worst[0]] == 0.0)
        exchange(vectors[tops], tops, vectors[used], used, weights, inverse, only_nullifying)
        weights /= weights.sum()


def compile_all() -> None:
    """Compile the loops, so that no rival pays for it in its time."""
    vectors = np.random.default_rng(0).standard_normal((200, 4))
    frank_wolfe_away(vectors, 1e-3, 5.0)
    rex(vectors, 1e-3, 5.0)


def has_clarabel() -> bool:
    """Tell whether cvxpy and Clarabel are installed."""
    return all(importlib.util.find_spec(name) is not None for name in ("cvxpy", "clarabel"))


def clarabel(vectors: np.ndarray) -> tuple[np.ndarray, bool]:
    """Maximise log det V as a conic programme, with tolerances as tight as it will take."""
    import cvxpy

    weights = cvxpy.Variable(len(vectors), nonneg=True)
    moment = vectors.T @ cvxpy.multiply(cvxpy.reshape(weights, (-1, 1), order="C"), vectors)
    problem = cvxpy.Problem(cvxpy.Maximize(cvxpy.log_det(moment)), [cvxpy.sum(weights) == 1])
    problem.solve(solver=cvxpy.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    found = np.maximum(np.asarray(weights.value), 0.0)
    return found / found.sum(), problem.status == "optimal"
