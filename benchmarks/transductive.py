"""Transductive designs: the time to a gap of 1e-2, and to the same value by Frank-Wolfe."""

import statistics
import time

import numpy as np
from tests.support.design_twins import instance

import noisewise as nw
from benchmarks.timing import Row

SIZES = ((1000, 10, 0.2, 9), (10_000, 20, 1.0, 3))
KINDS = ("gaussian", "sphere", "polynomial", "clustered")


def contrasts(kind: str, n_actions: int, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """A set of actions, and their differences to one of them."""
    vectors = instance(kind, n_actions, dim, 1)
    vectors = vectors / np.sqrt((vectors**2).mean(axis=0))
    best = int(np.argmax(vectors @ np.random.default_rng(3).standard_normal(dim)))
    return vectors, np.delete(vectors, best, 0) - vectors[best]


def frank_wolfe(vectors: np.ndarray, directions: np.ndarray, limit: float) -> float:
    """The value that textbook Frank-Wolfe (steps 2/(k+2), rank-one updates) reaches in the given seconds."""
    n_actions = len(vectors)
    inverse = np.linalg.inv(vectors.T @ vectors / n_actions)
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


def measure(n_actions: int, dim: int, target: float, repeats: int) -> Row:
    """The slowest kind, as the median of some calls."""
    slowest, details = 0.0, []
    for kind in KINDS:
        vectors, directions = contrasts(kind, n_actions, dim)
        seconds = []
        for _ in range(repeats):
            start = time.perf_counter()
            design = nw.transductive_design(vectors, directions, gap=1e-2)
            seconds.append(time.perf_counter() - start)
        taken = statistics.median(seconds)
        rival = frank_wolfe(vectors, directions, 5.0 * taken) / design.lower_bound - 1.0
        slowest = max(slowest, taken)
        details.append(f"{kind} {taken:.2f} s (Frank-Wolfe, five times as long: gap {rival:.0%})")
    return Row(
        name=f"transductive design, {n_actions} x {dim} to a gap of 1e-2",
        figure=slowest,
        unit="s",
        target=target,
        detail="; ".join(details),
    )


def rows() -> list[Row]:
    """Both sizes."""
    return [measure(*size) for size in SIZES]
