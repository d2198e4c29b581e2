"""The problems of lower bounds and of the paper's case study."""

import functools
import math
from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from noisewise.actions import Hypercube
from noisewise.core.model.dense import Floats
from noisewise.core.support.checks import check_count, check_number, check_positive
from noisewise.world.instance import Instance, constant, on_set
from noisewise.world.schedules import window

#: Where the worst case of the lower-bound family lies: the u that maximises 2u·Φ(-u) (note 12).
HARDEST = 0.7518


def hypercube(dim: int = 5, scale: float = HARDEST) -> Instance:
    """The lower-bound family: actions ``{±1}^dim/√dim``, theta with random signs.

    Each coordinate of theta is ``±scale·√(dim/S)``, S the total precision of the run (but ``‖θ‖`` never
    above 1): the problem is equally hard at every horizon, and hardest at the default scale.
    """
    if check_count("dim", dim) > 16:
        raise ValueError(f"`dim` must be at most 16: there are 2^dim actions; got {dim}.")
    check_positive("scale", scale)
    vectors = np.array(list(product([-1.0, 1.0], repeat=dim))) / math.sqrt(dim)
    parameter = _signs_of(dim, scale)

    def draw(rng: np.random.Generator, sigma: Floats) -> tuple[Floats, Floats]:
        return vectors, parameter(rng, sigma)

    return Instance("hypercube", {"dim": dim, "scale": scale}, draw, same_actions=True)


def signs(dim: int = 6, scale: float = HARDEST) -> Instance:
    """The lower-bound family on the whole set `noisewise.Hypercube`, of any dimension; as `hypercube`."""
    check_positive("scale", scale)
    return on_set("signs", {"dim": dim, "scale": scale}, Hypercube(dim), _signs_of(dim, scale))


def _signs_of(dim: int, scale: float) -> Callable[[np.random.Generator, Floats], Floats]:
    def parameter(rng: np.random.Generator, sigma: Floats) -> Floats:
        total = float((sigma**-2.0).sum())
        size = min(scale * math.sqrt(dim / total), 1.0 / math.sqrt(dim))
        return np.asarray(size * rng.choice([-1.0, 1.0], dim))

    return parameter


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
        length_factor: c in the window's length ``c·T^(-exponent)·log T/ε²``; it has at least one round and at
            most half of them. With an exponent above 1/2 the formula gives less than one for large T (note
            30).
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

    options = {
        "horizon": horizon,
        "exponent": exponent,
        "length_factor": length_factor,
        "outside": outside,
        "as_printed": as_printed,
    }
    return constant("case-study", options, vectors, theta, schedule=schedule)


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
