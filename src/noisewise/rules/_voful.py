"""VOFUL (Zhang, Yang, Ji and Du 2021): optimism over a set made of many small tests, blind to sigma.

Each round: measure the action of the largest ``<θ, a>`` over all ``θ`` in the ball that pass every test on
all measurements so far; among equals, the widest.

**Tests.** In units in which actions are no longer than 1 and parameters have a norm of at most 1, a direction
``u`` of length 1 and a level ``τ`` test a parameter: with ``c_s = clip(<x_s, u>, ±τ)`` and the residuals
``ε_s = y_s - <x_s, θ>`` of all measurements so far, it fails if

    |Σ c_s·ε_s|  >  8·√(q·Σ c_s²·ε_s²) + 16·R·τ·q,      q = log(1/δ'),

which the truth does with probability at most 6·δ'·log₂T for each test (a Bernstein inequality in terms of
the squares themselves). δ' spreads delta over rounds, directions and levels.

Scaling a test vector and its clip level together changes nothing, and ``u`` and ``-u`` test the same: half
a sphere of directions with the levels 1, 1/2, … 1/T is the whole family of the papers. The sums need only
the count, mean and squared deviations of every action, so a test costs the same however much was measured.

**Nets.** The set has no closed form. In the original it runs over nets of about T^(3d) points; here
directions and parameters have nets of the sizes below, in such a way that the set is never too small. Its
cost grows like ``cubes·n·directions·log T`` for every new set, and its resolution fades with the dimension: 4
at most. A set stays in use until the measurements have grown by the share ``refresh``; an older set is as
valid, only larger. Parameters are cubes. A cube is dropped only if all of it fails the same test: both sides
are followed over the whole cube, the left one exactly (it is linear), the right one by the triangle
inequality. So the cubes that are left contain the confidence set, whatever the resolution; they are halved as
long as there is room for them.

The original could not be read. The shape of the set is restated by Chen, Jain and Luo (ICML 2022), with the
inequality that our constants come from. No test can exclude anything before ``64·q`` measurements, about
1500 for T = 10⁴ in the plane: until then the rule measures the widest of the longest actions.

VOFUL2 (Kim, Yang and Jun 2022): what failed a test once stays excluded. The paper improves the analysis above
all; as an algorithm it differs from VOFUL in the intersection over all past rounds, and in test directions
from a whole ball, of which both have the same net here.
"""

import itertools
import math
from typing import NamedTuple

import numpy as np

from noisewise.core.blocks import Floats, Mask
from noisewise.core.checks import check_count, check_not_negative, check_positive
from noisewise.core.selection import TIE, first_largest
from noisewise.rules.bounded import BoundedNoise

#: With more features the cubes that fit into memory are too large to exclude anything.
MOST_FEATURES = 4
#: Directions by default, by the number of features.
DIRECTIONS = {1: 1, 2: 64, 3: 200, 4: 400}
#: Numbers in one product of cubes with tests.
BLOCK = 1_000_000
#: Cubes are not halved beyond this: a millionth of the ball.
SMALLEST = 2.0**-20


class Voful(BoundedNoise):
    """VOFUL: optimism over a set made of many tests, for at most 4 features. It never looks at sigma.

    Args:
        horizon: The number of measurements planned.
        scale: Multiplies the tests' tolerance; 1 is what the inequality asks for.
        refresh: The set is made anew when the measurements have grown by this share; 0 means after every one,
            as printed.
        directions: Size of the net of directions; default: 1, 64, 200, 400 for 1, 2, 3, 4 features.
        cubes: Size of the net of parameters; more make a finer set. The bounds hold for any number.
    """

    refresh: float = 0.05
    directions: int | None = None
    cubes: int = 2048

    name = "voful"
    reference = "Zhang, Yang, Ji and Du, NeurIPS 2021; constants from Chen, Jain and Luo, ICML 2022, Lemma 36"
    year = 2021
    guarantee = "anytime certificate; the original: cumulative regret d^4.5·√(Σσ²) + d⁵, up to logarithms"
    cost = "cubes·n·directions·log T for a new set, n·dim + dim² between; dim ≤ 4"
    reconstruction = True
    sees_sigma = "never"
    for_good = False  # what failed a test once stays excluded

    def prepare(self):  # lay out the tests
        dim = self.actions.dim
        if dim > MOST_FEATURES:
            raise ValueError(
                f"`actions` must have at most {MOST_FEATURES} features for {self.name!r}, whose set "
                f"is a net that grows exponentially with them; got {dim}. (nw.rules.save has a like "
                "guarantee.)"
            )
        rounds, length = check_count("horizon", self.horizon), self.actions.max_norm or 1.0
        self.unit = length * self.norm_bound  # A·B, the largest possible value
        self.noise_in_units = check_positive("noise_bound", self.noise_bound) / self.unit
        size = DIRECTIONS[dim] if self.directions is None else check_count("directions", self.directions)
        directions = half_sphere(dim, size)
        self.tests = make_tests(self.actions.vectors.astype(np.float64) / length, directions, rounds)
        self.q = doubt(self.delta, rounds, len(directions))
        check_positive("scale", self.scale)
        check_not_negative("refresh", self.refresh)
        check_count("cubes", self.cubes, least=2**dim)

    def start(self):  # the set is the whole ball
        n, dim = self.tests.vectors.shape
        self.counts, self.averages, self.deviations = np.zeros(n), np.zeros(n), np.zeros(n)  # in units of A·B
        self.told, self.used = 0, 0  # measurements, and how many the set was made from
        self.set = whole_ball(dim)
        self.box = self.norm_bound * np.repeat([[-1.0], [1.0]], dim, axis=1)  # around the set
        self.upper = self.unit * np.linalg.norm(self.tests.vectors, axis=1)
        self.lower = -self.upper

    def choose(self, allowed, sigma):  # the most optimistic action over the set; among equals, the widest
        best = self.upper[first_largest(self.upper, allowed)]
        return self.model.widest(allowed & (self.upper >= best - TIE * abs(best)))

    def learn(self, action, reward, sigma):  # the action's count, mean and squared deviations (Welford 1962)
        self.model.learn(action, reward, self.noise_bound)
        value = reward / self.unit
        self.counts[action] += 1.0
        surprise = value - self.averages[action]
        self.averages[action] += surprise / self.counts[action]
        self.deviations[action] += surprise * (value - self.averages[action])
        self.told += 1
        # |Σ x| ≤ √(t·Σ x²), so t ≤ 64·q tests exclude nothing.
        enough = self.told > 64.0 * self.scale * self.scale * self.q
        if enough and self.told > self.used and self.told >= (1.0 + self.refresh) * self.used:
            self.renew()

    def imagine(self, action, sigma):  # it makes the action less wide; the set waits for what comes out
        self.model.imagine(action, self.noise_bound)

    def renew(self):
        """Make the set anew: of the whole ball, or for VOFUL2 of what was left of it."""
        vectors = self.tests.vectors
        before = self.set if self.for_good else whole_ball(vectors.shape[1])
        measured = ActionSums(self.counts, self.averages, self.deviations)
        left = shrink(self.tests, measured, before, self.noise_in_units, self.q, self.scale, self.cubes)
        self.set, self.used, side = left, self.told, left.side
        inside = [left.centres.min(axis=0) - side / 2.0, left.centres.max(axis=0) + side / 2.0]
        self.box = self.norm_bound * np.clip(inside, -1.0, 1.0)
        values = vectors @ left.centres.T  # (n, N)
        slack = side / 2.0 * np.abs(vectors).sum(axis=1)
        reach = np.linalg.norm(vectors, axis=1)
        self.upper = self.unit * np.minimum(values.max(axis=1) + slack, reach)
        self.lower = self.unit * np.maximum(values.min(axis=1) - slack, -reach)

    def beta(self):  # how far the least-squares estimate is from the set at most: from a corner of the box
        return max(self.model.distance_to(np.array(corner)) for corner in itertools.product(*self.box.T))

    def candidates(self):  # whose largest value over the set reaches the largest of the smallest values
        return ~(self.upper < self.lower.max())

    def recommend(self):  # the best mean among the candidates
        return self.model.best(self.candidates())


class Voful2(Voful):
    """VOFUL2: VOFUL with the intersection of all sets, for at most 4 features. It never looks at sigma."""

    name = "voful2"
    reference = "Kim, Yang and Jun, NeurIPS 2022; constants from Chen, Jain and Luo, ICML 2022, Lemma 36"
    year = 2022
    guarantee = "anytime certificate; the original: cumulative regret d^1.5·√(Σσ²) + d², up to logarithms"
    for_good = True


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
