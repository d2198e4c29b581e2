"""Optimal designs: what they cost beside a pass over the rows, and beside Frank-Wolfe, in one run.

Every certificate is computed again from the returned weights alone. A *pass* is the time of ``vectors @ v``.
"""

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from tests.support.design_twins import KINDS, instance

import noisewise as nw
from benchmarks.timing import Row, seconds

#: Seconds after which a rival is stopped.
LIMIT = 60.0
#: Rows, features and the gap of designs beside Frank-Wolfe with away steps; and the same for directions.
AWAY = (20_000, 20, 1e-4)
TRANSDUCTIVE = ((1000, 10), (10_000, 20))


def true_gap(vectors: np.ndarray, weights: np.ndarray) -> float:
    """The largest g over the dimension, minus 1, from dense weights alone."""
    used = np.flatnonzero(weights)
    factor = np.linalg.qr(vectors[used] * np.sqrt(weights[used])[:, None], mode="r")
    largest = 0.0
    for block in np.array_split(vectors, -(-len(vectors) // 8192)):
        largest = max(largest, float(np.sum(np.linalg.solve(factor.T, block.T) ** 2, 0).max()))
    return largest / vectors.shape[1] - 1.0


def timed(call: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """Median seconds, and what came out."""
    found: list[Any] = []
    return statistics.median(seconds(lambda: found.append(call())) for _ in range(repeats)), found[-1]


def beside_passes(n_actions: int, dim: int, most: dict[str, float], **options: Any) -> Iterator[Row]:
    """The largest figures of all kinds of rows."""
    worst: dict[str, tuple[float, str]] = {}
    for kind in KINDS:
        vectors = instance(kind, n_actions, dim)
        direction = np.ones(dim)
        one_pass, _ = timed(lambda data=vectors, v=direction: data @ v, 9)
        taken, design = timed(lambda data=vectors: nw.optimal_design(data, **options))
        weights = np.bincount(design.indices, design.weights, minlength=n_actions)
        gap = true_gap(vectors, weights)
        assert abs(gap - design.gap) <= 1e-8 + 1e-3 * design.gap, kind
        figures = {"reads": design.reads, "passes": taken / one_pass}
        figures["actions per feature"] = len(design.indices) / dim
        print(f"{n_actions} x {dim}, {options}, {kind:12s} gap {gap:.0e}, {figures}")
        worst |= {name: max(worst.get(name, (0.0, "")), (figures[name], kind)) for name in most}
    for name, target in most.items():
        what = f"design of {n_actions:,} x {dim}, {options}: {name}"
        yield Row(what, worst[name][0], name, target, False, f"most for {worst[name][1]} rows")


def frank_wolfe_away(vectors: np.ndarray, gap: float) -> np.ndarray:
    """Maximise det V by Frank-Wolfe with away steps (Todd and Yildirim, 2007)."""
    n_actions, dim = vectors.shape
    weights, end = np.full(n_actions, 1.0 / n_actions), time.perf_counter() + LIMIT
    inverse = np.linalg.inv(vectors.T @ (weights[:, None] * vectors))
    values = np.einsum("ij,jk,ik->i", vectors, inverse, vectors)
    while values.max() > (1.0 + gap) * dim and time.perf_counter() < end:
        best, used = int(np.argmax(values)), np.flatnonzero(weights)
        worst = int(used[np.argmin(values[used])])
        drops = values[best] / dim - 1.0 < 1.0 - values[worst] / dim
        place = worst if drops else best
        value = float(values[place])
        step = (value / dim - 1.0) / (value - 1.0)
        if drops:  # with g <= 1 the objective grows all the way
            most = float(weights[worst] / (1.0 - weights[worst]))
            step = max(step, -most) if value > 1.0 else -most
        moved = inverse @ vectors[place]
        weights *= 1.0 - step
        weights[place] = max(0.0, weights[place] + step)
        factor = step / (1.0 - step + step * value)
        inverse = (inverse - factor * np.outer(moved, moved)) / (1.0 - step)
        values = (values - factor * (vectors @ moved) ** 2) / (1.0 - step)
    return weights


def frank_wolfe(vectors: np.ndarray, directions: np.ndarray, limit: float) -> float:
    """The value for given directions that Frank-Wolfe (steps 2/(k+2)) reaches in the given seconds."""
    inverse = np.linalg.inv(vectors.T @ vectors / len(vectors))
    values = np.einsum("ij,jk,ik->i", directions, inverse, directions)
    end, k = time.perf_counter() + limit, 1
    while time.perf_counter() < end:
        k += 1
        step = 2.0 / (k + 2.0)
        probe = vectors[np.argmax(np.abs(vectors @ (inverse @ directions[np.argmax(values)])))]
        moved = inverse @ probe
        gain = step / (1.0 - step + step * float(probe @ moved))
        values = (values - gain * (directions @ moved) ** 2) / (1.0 - step)
        inverse = (inverse - gain * np.outer(moved, moved)) / (1.0 - step)
    return float(values.max())


def transductive(n_actions: int, dim: int) -> Row:
    """The gap that Frank-Wolfe has in five times our time to a gap of 1e-2: the least of all kinds."""
    gaps = {}
    for kind in KINDS:
        vectors = instance(kind, n_actions, dim, 1)
        vectors = vectors / np.sqrt((vectors**2).mean(axis=0))
        best = int(np.argmax(vectors @ np.random.default_rng(3).standard_normal(dim)))
        directions = np.delete(vectors, best, 0) - vectors[best]
        taken, design = timed(lambda v=vectors, y=directions: nw.transductive_design(v, y, gap=1e-2), 1)
        gaps[kind] = frank_wolfe(vectors, directions, 5.0 * taken) / design.lower_bound - 1.0
    detail = ", ".join(f"{kind} {gap:.1%}" for kind, gap in gaps.items())
    name = f"{n_actions} x {dim}, directions: Frank-Wolfe's gap in five times the time"
    return Row(name, min(gaps.values()), "", 1e-2, True, detail)


def rows() -> list[Row]:
    """Beside passes over the rows, and beside Frank-Wolfe."""
    found = [*beside_passes(1_000_000, 50, {"reads": 12, "passes": 120}, gap=1e-6)]
    found += beside_passes(1_000_000, 50, {"reads": 3, "actions per feature": 2.2}, support="core")
    vectors = instance("gaussian", *AWAY[:2])
    ours, _ = timed(lambda: nw.optimal_design(vectors, gap=AWAY[2]))
    theirs, weights = timed(lambda: frank_wolfe_away(vectors, AWAY[2]), 1)
    detail = f"{theirs:.1f} s to a gap of {true_gap(vectors, weights):.0e}"
    found.append(Row("Frank-Wolfe with away steps over ours", theirs / ours, "x", 20.0, True, detail))
    return found + [transductive(*size) for size in TRANSDUCTIVE]
