"""Confidence sets made of tests, on nets of directions and parameters: what VOFUL and VOFUL2 share.

In units in which actions are no longer than 1 and parameters have a norm of at most 1, a direction ``u`` of
length 1 and a level ``τ`` test a parameter: with ``c_s = clip(<x_s, u>, ±τ)`` and the residuals
``ε_s = y_s - <x_s, θ>`` of all measurements so far, it fails if

    |Σ c_s·ε_s|  >  8·√(q·Σ c_s²·ε_s²) + 16·R·τ·q,      q = log(1/δ'),

which the truth does with probability at most 6·δ'·log₂T for each test (a Bernstein inequality in terms of
the squares themselves). δ' spreads delta over rounds, directions and levels.

Scaling a test vector and its clip level together changes nothing, and ``u`` and ``-u`` test the same: half
a sphere of directions with the levels 1, 1/2, … 1/T is the whole family of the papers. The sums need only
the count, mean and squared deviations of every action, so a test costs the same however much was measured.

Parameters are cubes. A cube is dropped only if all of it fails the same test: both sides are followed over
the whole cube, the left one exactly (it is linear), the right one by the triangle inequality. So the cubes
that are left contain the confidence set, whatever the resolution; they are halved as long as there is room
for them.
"""

import itertools
import math
from typing import NamedTuple

import numpy as np

from noisewise.core.choice.selection import Mask
from noisewise.core.model.dense import Floats

#: Numbers in one product of cubes with tests.
BLOCK = 1_000_000
#: Cubes are not halved beyond this: a millionth of the ball.
SMALLEST = 2.0**-20


class Tests(NamedTuple):
    """All tests on the vectors of a fixed set."""

    vectors: Floats  # (n, dim), none longer than 1
    clipped: Floats  # (n, M): clip(<x, u>, ±τ)
    levels: Floats  # (M,): τ


class ActionSums(NamedTuple):
    """What was measured, action by action."""

    counts: Floats  # (n,)
    means: Floats  # (n,)
    deviations: Floats  # (n,): Σ (y - mean)²


class Cubes(NamedTuple):
    """Equal cubes."""

    centres: Floats  # (N, dim)
    side: float


def half_sphere(dim: int, size: int) -> Floats:
    """Directions of length 1, none the opposite of another: even in the plane, else scattered."""
    if dim == 1:
        return np.ones((1, 1))
    if dim == 2:
        angles = (np.arange(size) + 0.5) * (math.pi / size)
        return np.column_stack([np.cos(angles), np.sin(angles)])
    scattered = np.random.default_rng(dim).standard_normal((size, dim))
    scattered *= np.where(scattered[:, :1] < 0.0, -1.0, 1.0)
    return np.asarray(scattered / np.linalg.norm(scattered, axis=1, keepdims=True))


def n_levels(horizon: int) -> int:
    """Levels 1, 1/2, … down to at most 1/horizon."""
    return math.ceil(math.log2(horizon)) + 1


def make_tests(vectors: Floats, directions: Floats, horizon: int) -> Tests:
    """The tests of all directions and levels; of those that are multiples of one another, one."""
    clipped, levels = [], []
    for direction in directions:
        along = vectors @ direction
        reached = np.abs(along[np.abs(along) > 1e-12])
        if reached.size == 0:
            continue
        for j in range(n_levels(horizon)):
            level = 0.5**j
            clipped.append(np.clip(along, -level, level))
            levels.append(level)
            # Everything is clipped here: a lower level divides both sides by the same number.
            if level <= reached.min():
                break
    return Tests(vectors, np.ascontiguousarray(np.array(clipped).T), np.array(levels))


def doubt(delta: float, horizon: int, n_directions: int) -> float:
    """``q = log(1/δ')``, a union over rounds, levels and directions."""
    rounds = max(2, horizon)
    tried = 6.0 * math.log2(rounds) * rounds * n_levels(rounds) * n_directions
    return math.log(tried / delta)


def whole_ball(dim: int) -> Cubes:
    """One cube around the ball."""
    return Cubes(np.zeros((1, dim)), 2.0)


def survivors(
    tests: Tests, measured: ActionSums, cubes: Cubes, noise_bound: float, q: float, scale: float
) -> Mask:
    """Which cubes are not wholly excluded by one of the tests."""
    seen = measured.counts > 0.0
    vectors, clipped, counts = tests.vectors[seen], tests.clipped[seen], measured.counts[seen]
    squares, half = clipped * clipped, cubes.side / 2.0
    # How far the two sides move at most from the centre of a cube.
    left_moves = half * np.abs((clipped * counts[:, None]).T @ vectors).sum(axis=1)
    right_moves = half * np.sqrt((counts * np.abs(vectors).sum(axis=1) ** 2) @ squares)
    root = 8.0 * scale * math.sqrt(q)
    constant = left_moves + root * right_moves + 16.0 * scale * noise_bound * q * tests.levels
    alive = np.empty(len(cubes.centres), dtype=np.bool_)
    step = max(1, BLOCK // tests.levels.size)
    for start in range(0, alive.size, step):
        rows = slice(start, start + step)
        residual = measured.means[seen] - cubes.centres[rows] @ vectors.T  # (N, n)
        weighted = counts * residual
        left = np.abs(weighted @ clipped)
        right = np.sqrt((measured.deviations[seen] + weighted * residual) @ squares)
        right *= root
        right += constant
        alive[rows] = (left <= right).all(axis=1)
    return alive


def halved(cubes: Cubes) -> Cubes:
    """Every cube in 2^dim parts; those outside the unit ball are left out."""
    side = cubes.side / 2.0
    dim = cubes.centres.shape[1]
    corners = np.array(list(itertools.product((-side / 2.0, side / 2.0), repeat=dim)))
    centres = (cubes.centres[:, None, :] + corners).reshape(-1, dim)
    nearest = np.maximum(np.abs(centres) - side / 2.0, 0.0)
    return Cubes(centres[(nearest * nearest).sum(axis=1) <= 1.0], side)


def shrink(
    tests: Tests,
    measured: ActionSums,
    cubes: Cubes,
    noise_bound: float,
    q: float,
    scale: float,
    most: int,
) -> Cubes:
    """What the tests leave of some cubes, halved again and again while at most ``most`` are left to try.

    If nothing at all would be left, no parameter explains the data, so the bound on the noise or the
    scale is wrong; then the cubes stay that were there before.
    """
    parts = cubes
    while True:
        alive = survivors(tests, measured, parts, noise_bound, q, scale)
        if not alive.any():
            return cubes
        cubes = Cubes(parts.centres[alive], parts.side)
        if len(cubes.centres) * 2 ** cubes.centres.shape[1] > most or cubes.side < SMALLEST:
            return cubes
        parts = halved(cubes)
