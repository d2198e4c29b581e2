"""Named problems: actions and a true parameter, drawn afresh (or shuffled) for every replication."""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from noisewise.actions import ActionSet
from noisewise.core.checks import check_choice, check_count, check_number, check_options, check_positive
from noisewise.core.model import Floats
from noisewise.world.schedules import Schedule, window

if TYPE_CHECKING:
    from noisewise.world.environment import Environment

Draw = Callable[[np.random.Generator, Floats], tuple[Floats, Floats]]
Turns = Callable[[Floats], tuple[NDArray[np.bool_], NDArray[np.int64]]]

#: Where the worst case of the lower-bound family lies: the u that maximises 2u·Φ(-u) (note 12).
HARDEST = 0.7518


@dataclass(frozen=True)
class Instance:
    """A problem: how actions and parameter are drawn, knowing the sigmas that will come."""

    name: str
    options: dict[str, Any]
    draw: Draw
    """``(rng, sigma) -> vectors (n, dim), theta (dim,)``; may scale gaps with the total precision."""
    same_actions: bool
    """Whether all draws have the same actions; then a replication only shuffles their order."""
    schedule: Schedule | None = None
    """The schedule that belongs to it, if there is one."""
    turns: Turns | None = None
    """``(sigma) -> masks (G, n), opening (horizon,)``: the sets of actions that take turns, and the one
    that is allowed in each round; default: always all."""

    @functools.cached_property
    def actions(self) -> ActionSet:
        """A typical set of actions, to make a policy for it (simulations draw their own)."""
        return ActionSet(self.draw(np.random.default_rng(0), np.ones(1))[0])

    def environment(self, schedule: Any = None, **options: Any) -> "Environment":
        """This problem under a schedule; options as for `Environment`."""
        from noisewise.world.environment import Environment

        return Environment.of(self, self.schedule if schedule is None else schedule, **options)


def sphere(n_actions: int = 60, dim: int = 6, length: float = 1.0) -> Instance:
    """Random unit vectors; theta random of the given length."""
    check_count("n_actions", n_actions)
    check_count("dim", dim)
    check_positive("length", length)

    def draw(rng: np.random.Generator, sigma: Floats) -> tuple[Floats, Floats]:
        vectors = rng.standard_normal((n_actions, dim))
        theta = rng.standard_normal(dim)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors, length * theta / np.linalg.norm(theta)

    options = {"n_actions": n_actions, "dim": dim, "length": length}
    return Instance("sphere", options, draw, same_actions=False)


def soare(dim: int = 6, angle: float = 0.1, length: float = 1.0) -> Instance:
    """Soare's instance: the unit vectors, and a competitor at a small angle from the first, the best."""
    if check_count("dim", dim) < 2:
        raise ValueError(f"`dim` must be at least 2; got {dim}.")
    check_number("angle", angle)
    check_positive("length", length)
    competitor = np.zeros(dim)
    competitor[:2] = math.cos(angle), math.sin(angle)
    vectors = np.vstack([np.eye(dim), competitor])
    theta = length * np.eye(dim)[0]

    def draw(rng: np.random.Generator, sigma: Floats) -> tuple[Floats, Floats]:
        return vectors, theta

    options = {"dim": dim, "angle": angle, "length": length}
    return Instance("soare", options, draw, same_actions=True)


def hypercube(dim: int = 5, scale: float = HARDEST) -> Instance:
    """The lower-bound family: actions ``{±1}^dim/√dim``, theta with random signs.

    Each coordinate of theta is ``±scale·√(dim/S)``, S the total precision of the run (but ``‖θ‖`` never
    above 1): the problem is equally hard at every horizon, and hardest at the default scale.
    """
    if check_count("dim", dim) > 16:
        raise ValueError(f"`dim` must be at most 16: there are 2^dim actions; got {dim}.")
    check_positive("scale", scale)
    vectors = np.array(list(product([-1.0, 1.0], repeat=dim))) / math.sqrt(dim)

    def draw(rng: np.random.Generator, sigma: Floats) -> tuple[Floats, Floats]:
        total = float((sigma**-2.0).sum())
        size = min(scale * math.sqrt(dim / total), 1.0 / math.sqrt(dim))
        return vectors, size * rng.choice([-1.0, 1.0], dim)

    return Instance("hypercube", {"dim": dim, "scale": scale}, draw, same_actions=True)


def case_study(
    horizon: int,
    *,
    exponent: float = 0.25,
    length_factor: float = 1.0,
    outside: float = 1.0,
    as_printed: bool = False,
) -> Instance:
    """Section 4.1 of the paper: two coordinates, one quiet window, and an action that hides the second.

    Args:
        horizon: T; the gap is ``ε = T^(-1/4)``.
        exponent: The variance inside the window is ``T^(-exponent)``.
        length_factor: c in the window's length ``c·T^(-exponent)·log T/ε²``.
        outside: Sigma outside the window.
        as_printed: Use the printed length, with ``ε⁴`` (note 19 says why it is a slip).
    """
    check_count("horizon", horizon, least=2)
    check_number("exponent", exponent)
    check_positive("length_factor", length_factor)
    check_positive("outside", outside)
    gap = horizon**-0.25
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [1.0 - gap, gap]])
    theta = np.array([1.0, 0.0])
    wanted = length_factor * horizon**-exponent * math.log(horizon) / gap ** (4 if as_printed else 2)
    length = min(horizon // 2, max(1, int(wanted)))
    schedule = functools.partial(
        window,
        start=horizon // 2 - length // 2,
        length=length,
        inside=horizon ** (-exponent / 2.0),
        outside=outside,
    )

    def draw(rng: np.random.Generator, sigma: Floats) -> tuple[Floats, Floats]:
        return vectors, theta

    options = {
        "horizon": horizon,
        "exponent": exponent,
        "length_factor": length_factor,
        "outside": outside,
        "as_printed": as_printed,
    }
    return Instance("case-study", options, draw, same_actions=True, schedule=schedule)


def he_gu(
    levels: Sequence[float] = (0.01, 1.0),
    coordinates: int = 3,
    *,
    fixed: bool = False,
    scale: float = 1.0,
) -> Instance:
    """The lower-bound instance of He and Gu: a block of actions for every level of noise, each in its turn.

    A round whose sigma lies in ``(level/2, level]`` allows the block of that level only. With
    ``s = level/2`` its 2^coordinates actions pay ``s·(1/3 + <μ, x>)``, x in ``{±1}^coordinates``, and the
    signs of ``μ ∈ {±Δ}^coordinates`` are random, ``Δ = scale/√(96·K)``, K the rounds of the block. Blocks
    live in different coordinates, so a quiet round teaches nothing about a loud block, and regret grows like
    ``dim·√Σσ²`` for every rule. With ``fixed=True`` all blocks are one set, allowed in every round.

    The theorem's rewards are Bernoulli; here they have the same means, and noise of the round's sigma. Its
    levels are ``2^i/K``; those without a round are left out, as is the noiseless block.

    Args:
        levels: The largest sigma of each block; each at least twice the one before.
        coordinates: Signs per block.
        fixed: All blocks as one set.
        scale: 1 is the theorem's; Δ is never more than ``1/(12·coordinates)``.
    """
    tops = np.array([check_positive("levels", level) for level in levels])
    if tops.size == 0 or (tops[1:] < 2.0 * tops[:-1]).any():
        raise ValueError(f"`levels` must grow, each at least twice the one before; got {levels!r}.")
    if check_count("coordinates", coordinates) > 12:
        raise ValueError(
            f"`coordinates` must be at most 12: a block has 2^coordinates actions; got {coordinates}."
        )
    check_positive("scale", scale)
    signs = np.array(list(product([-1.0, 1.0], repeat=coordinates)))
    features = np.column_stack([np.ones(len(signs)), signs])
    # Longer vectors and a shorter theta are the same problem; so scaled, theta is no longer than 1.
    longest = math.sqrt(tops.size * (1.0 / 9.0 + 1.0 / (144.0 * coordinates)))
    vectors = np.kron(np.diag(tops / 2.0), features) * longest
    masks = np.kron(np.eye(tops.size), np.ones(len(signs))) > 0.0

    def blocks(sigma: Floats) -> NDArray[np.int64]:
        block = np.searchsorted(tops * (1.0 + 1e-12), sigma)
        fits = (block < tops.size) & (sigma > tops[np.minimum(block, tops.size - 1)] / 2.0)
        if not fits.all():
            raise ValueError(
                "`schedule` must keep to sigmas in (level/2, level] of the levels "
                f"{tops.tolist()}; got {float(sigma[np.argmin(fits)])}."
            )
        return block

    def draw(rng: np.random.Generator, sigma: Floats) -> tuple[Floats, Floats]:
        # A typical set is asked for with a single round, which belongs to no block in particular.
        rounds = np.bincount(blocks(sigma), minlength=tops.size) if sigma.size > 1 else np.zeros(tops.size)
        theta = np.full((tops.size, coordinates + 1), 1.0 / 3.0)
        gap = np.minimum(scale / np.sqrt(96.0 * np.maximum(rounds, 1.0)), 1.0 / (12.0 * coordinates))
        theta[:, 1:] = gap[:, None] * rng.choice([-1.0, 1.0], (tops.size, coordinates))
        return vectors, theta.ravel() / longest

    options = {"levels": tops.tolist(), "coordinates": coordinates, "fixed": bool(fixed), "scale": scale}
    turns = None if fixed else lambda sigma: (masks, blocks(sigma))
    return Instance("he-gu", options, draw, same_actions=True, turns=turns)


#: The instances by the name used on the command line.
NAMES: dict[str, Callable[..., Instance]] = {
    "sphere": sphere,
    "soare": soare,
    "hypercube": hypercube,
    "case-study": case_study,
    "he-gu": he_gu,
}


def named(name: str, **options: Any) -> Instance:
    """An instance by name."""
    check_choice("instance", name, tuple(NAMES))
    check_options("instance", name, NAMES[name], options)
    return NAMES[name](**options)


def shuffled(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """A random order of n actions, so that the order of storage never helps anyone."""
    return rng.permutation(n)
