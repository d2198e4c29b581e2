"""Problems for simulations, drawn afresh for every replication, with those of lower bounds and the paper."""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from noisewise.actions import ActionSet, Ball, Hypercube, OracleSet
from noisewise.core.blocks import Floats
from noisewise.core.checks import check_choice, check_count, check_number, check_options, check_positive
from noisewise.simulation.schedules import Schedule, window

if TYPE_CHECKING:
    from noisewise.simulation.environment import Environment


__all__ = [
    "Instance",
    "ball",
    "case_study",
    "clustered",
    "he_gu",
    "hypercube",
    "leaderboard",
    "named",
    "polytope",
    "random_parameter",
    "signs",
    "soare",
    "sphere",
    "tirinzoni_degenne",
]
Draw = Callable[[np.random.Generator, Floats], tuple[Floats, Floats]]
Turns = Callable[[Floats], tuple[NDArray[np.bool_], NDArray[np.int64]]]


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
    over: OracleSet | None = None
    """The set, where it is one that answers questions; then ``draw`` returns no vectors."""

    @functools.cached_property
    def actions(self) -> Any:
        """A typical set of actions, to make a policy for it (simulations draw their own)."""
        if self.over is not None:
            return self.over
        return ActionSet(self.draw(np.random.default_rng(0), np.ones(1))[0])

    def environment(self, schedule: Any = None, **options: Any) -> "Environment":
        """This problem under a schedule; options as for `Environment`."""
        from noisewise.simulation.environment import Environment

        return Environment.of(self, self.schedule if schedule is None else schedule, **options)


def on_set(
    name: str,
    options: dict[str, Any],
    actions: OracleSet,
    parameter: Callable[[np.random.Generator, Floats], Floats],
) -> Instance:
    """A problem on a set that answers questions: only the parameter is drawn."""

    def draw(rng: np.random.Generator, sigma: Floats) -> tuple[Floats, Floats]:
        return np.empty((0, actions.dim)), parameter(rng, sigma)

    return Instance(name, options, draw, same_actions=False, over=actions)


def constant(name: str, options: dict[str, Any], vectors: Floats, theta: Floats, **more: Any) -> Instance:
    """A problem that is the same in every replication, but for the order of its actions."""

    def draw(rng: np.random.Generator, sigma: Floats) -> tuple[Floats, Floats]:
        return vectors, theta

    return Instance(name, options, draw, same_actions=True, **more)


def shuffled(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """A random order of n actions, so that the order of storage never helps a rule."""
    return rng.permutation(n)


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
    """The lower-bound family of `hypercube` on the whole set `noisewise.sets.Hypercube`, of any dimension."""
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


#: Numbers of the actions that the published draw of Tirinzoni and Degenne is good for.
MOST_PUBLISHED = 1000


def sphere(n_actions: int = 60, dim: int = 6, length: float = 1.0, reach: float | None = None) -> Instance:
    """Random unit vectors; theta random of the given length.

    Args:
        n_actions: How many.
        dim: Features.
        length: Of theta.
        reach: If given, theta is not longer than ``reach/√S``, S the total precision of the run: then the
            problem stays about equally hard at every horizon and under every schedule.
    """
    check_count("n_actions", n_actions)
    check_count("dim", dim)
    size = _length_of_theta(length, reach)

    def draw(rng: np.random.Generator, sigma: Floats) -> tuple[Floats, Floats]:
        vectors = rng.standard_normal((n_actions, dim))
        theta = rng.standard_normal(dim)
        return _unit(vectors), size(sigma) * theta / np.linalg.norm(theta)

    options = {"n_actions": n_actions, "dim": dim, "length": length, "reach": reach}
    return Instance("sphere", options, draw, same_actions=False)


def random_parameter(actions: OracleSet, length: float = 1.0) -> Instance:
    """Any set that answers questions; theta random of the given length, all directions alike."""
    if not isinstance(actions, OracleSet):
        raise TypeError(f"`actions` must be a set such as nw.sets.Ball(5); got {actions!r}.")
    check_positive("length", length)

    def parameter(rng: np.random.Generator, sigma: Floats) -> Floats:
        theta = rng.standard_normal(actions.dim)
        return np.asarray(length * theta / np.linalg.norm(theta))

    options = {"actions": actions.describe(), "length": length}
    return on_set("random-parameter", options, actions, parameter)


def ball(dim: int = 5, length: float = 1.0) -> Instance:
    """The unit ball; theta random of the given length."""
    return dataclasses.replace(
        random_parameter(Ball(dim), length), name="ball", options={"dim": dim, "length": length}
    )


def soare(dim: int = 6, angle: float = 0.1, length: float = 1.0, reach: float | None = None) -> Instance:
    """Soare's instance: the unit vectors, and a competitor at a small angle from the first, the best.

    ``reach`` shortens theta as for `sphere`.
    """
    if check_count("dim", dim) < 2:
        raise ValueError(f"`dim` must be at least 2; got {dim}.")
    check_number("angle", angle)
    size = _length_of_theta(length, reach)
    competitor = np.zeros(dim)
    competitor[:2] = math.cos(angle), math.sin(angle)
    vectors = np.vstack([np.eye(dim), competitor])

    def draw(rng: np.random.Generator, sigma: Floats) -> tuple[Floats, Floats]:
        return vectors, size(sigma) * np.eye(dim)[0]

    options = {"dim": dim, "angle": angle, "length": length, "reach": reach}
    return Instance("soare", options, draw, same_actions=True)


def clustered(
    n_actions: int = 60, dim: int = 6, spread: float = 0.1, length: float = 1.0, reach: float | None = None
) -> Instance:
    """Unit vectors, half of them within ``spread`` of the direction of theta: many that are almost best.

    ``reach`` shortens theta as for `sphere`.
    """
    check_count("n_actions", n_actions, least=2)
    check_count("dim", dim)
    check_positive("spread", spread)
    size = _length_of_theta(length, reach)

    def draw(rng: np.random.Generator, sigma: Floats) -> tuple[Floats, Floats]:
        vectors = _unit(rng.standard_normal((n_actions, dim)))
        centre = _unit(rng.standard_normal((1, dim)))[0]
        near = n_actions // 2
        vectors[:near] = _unit(centre + spread * vectors[:near])
        return rng.permutation(vectors), size(sigma) * centre

    options = {"n_actions": n_actions, "dim": dim, "spread": spread, "length": length, "reach": reach}
    return Instance("clustered", options, draw, same_actions=False)


def polytope(
    n_points: int = 60, dim: int = 4, length: float = 1.0, reach: float | None = None, shape: int = 0
) -> Instance:
    """The vertices of a random polytope, the hull of normal points scaled to a largest norm of 1.

    Args:
        n_points: Points of which the hull is taken; those inside it are not actions.
        dim: Features, from 2 to 8.
        length: Of theta, whose direction is random.
        reach: Shortens theta as for `sphere`.
        shape: Seed of the polytope, which is the same in every replication.
    """
    if not 2 <= check_count("dim", dim) <= 8:
        raise ValueError(f"`dim` must lie between 2 and 8, or the hull takes too long; got {dim}.")
    check_count("n_points", n_points, least=dim + 1)
    size = _length_of_theta(length, reach)
    from scipy.spatial import ConvexHull

    points = np.random.default_rng(shape).standard_normal((n_points, dim))
    vectors = points[ConvexHull(points).vertices]
    vectors /= np.linalg.norm(vectors, axis=1).max()

    def draw(rng: np.random.Generator, sigma: Floats) -> tuple[Floats, Floats]:
        return vectors, size(sigma) * _unit(rng.standard_normal((1, dim)))[0]

    options = {"n_points": n_points, "dim": dim, "length": length, "reach": reach, "shape": shape}
    return Instance("polytope", options, draw, same_actions=True)


def tirinzoni_degenne(n_actions: int = 50, dim: int = 20, shape: int | None = None) -> Instance:
    """The instance of a published comparison: one best of many good unit vectors, amid useless directions.

    The first half of the unit vectors has the values 1, then 0.9 up to a quarter of the features, then 0.8;
    the other features have values between -1 and 0, uniformly. All further actions are random, of length 1
    and with a value of at most 0.5.

    Args:
        n_actions: Actions in all.
        dim: Features, at least 4.
        shape: Seed of all that is random; the same in every replication. Default: the published draw, which
            has at most 1000 numbers (actions times features).
    """
    check_count("dim", dim, least=4)
    middle = math.ceil(dim / 2)
    check_count("n_actions", n_actions, least=middle)
    random = _published() if shape is None else np.random.default_rng(shape).random
    if shape is None and n_actions * dim > MOST_PUBLISHED:
        raise ValueError(
            f"`shape` must be given for more than {MOST_PUBLISHED} numbers of actions; got None for "
            f"{n_actions} actions in {dim} features."
        )
    theta = np.concatenate([np.full(middle, 0.8), random(dim - middle) - 1.0])
    theta[: middle // 2] = 0.9
    theta[0] = 1.0
    rows = list(np.eye(dim)[:middle])
    while len(rows) < n_actions:
        row = _unit(2.0 * random(dim)[None] - 1.0)[0]
        if row @ theta <= 0.5:
            rows.append(row)
    vectors = np.array(rows)

    return constant("tirinzoni-degenne", {"n_actions": n_actions, "dim": dim, "shape": shape}, vectors, theta)


def _published() -> Callable[[int], Floats]:
    """The uniform numbers of the published draw, in order."""
    from noisewise.data import load_table

    numbers = iter(load_table("tirinzoni_degenne")["number"])
    return lambda size: np.fromiter(numbers, np.float64, size)


def leaderboard(length: float = 1.0) -> Instance:
    """Real features: the language models of the AlpacaEval 2 leaderboard that have an error bar.

    Features are 1, the logarithm of the mean answer length, the length-controlled win rate and its square,
    standardised; theta is what fits the win rates best, scaled to ``length``. The one model with a standard
    error of 0, the reference with 50 % by definition, is left out: it was never measured.
    """
    from noisewise.data import load_table

    check_positive("length", length)
    table = load_table("alpaca_eval")
    table = table.filter(table["standard_error"] > 0.0)
    quality = table["length_controlled_winrate"].to_numpy()
    raw = np.column_stack([np.log(table["avg_length"].to_numpy()), quality, quality**2])
    features = np.column_stack([np.ones(len(raw)), (raw - raw.mean(axis=0)) / raw.std(axis=0)])
    fitted = np.linalg.lstsq(features, table["win_rate"].to_numpy(), rcond=None)[0]
    theta = length * fitted / np.linalg.norm(fitted)
    vectors = features / np.linalg.norm(features, axis=1).max()

    return constant("leaderboard", {"length": length}, vectors, theta)


def _length_of_theta(length: float, reach: float | None) -> Callable[[Floats], float]:
    """The length as a function of the sigmas that will come."""
    check_positive("length", length)
    if reach is None:
        return lambda sigma: length
    check_positive("reach", reach)
    return lambda sigma: min(length, reach / math.sqrt(float((sigma**-2.0).sum())))


def _unit(rows: Floats) -> Floats:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


#: The instances by the name used on the command line.
NAMES: dict[str, Callable[..., Instance]] = {
    "sphere": sphere,
    "soare": soare,
    "hypercube": hypercube,
    "clustered": clustered,
    "polytope": polytope,
    "leaderboard": leaderboard,
    "tirinzoni-degenne": tirinzoni_degenne,
    "case-study": case_study,
    "he-gu": he_gu,
    "ball": ball,
    "signs": signs,
}


def named(name: str, **options: Any) -> Instance:
    """An instance by name."""
    check_choice("instance", name, tuple(NAMES))
    check_options("instance", name, NAMES[name], options)
    return NAMES[name](**options)
