"""Named problems: actions and a true parameter, drawn afresh (or shuffled) for every replication."""

import dataclasses
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from noisewise.actions import ActionSet, Ball, Hypercube, OracleSet
from noisewise.core.checks import check_choice, check_count, check_number, check_options, check_positive
from noisewise.core.model import Floats
from noisewise.world.schedules import Schedule, window

if TYPE_CHECKING:
    from noisewise.world.environment import Environment

Draw = Callable[[np.random.Generator, Floats], tuple[Floats, Floats]]

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


def random_parameter(actions: OracleSet, length: float = 1.0) -> Instance:
    """Any set that answers questions; theta random of the given length, all directions alike."""
    if not isinstance(actions, OracleSet):
        raise TypeError(f"`actions` must be a set such as nw.Ball(5); got {actions!r}.")
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

    parameter = _signs_of(dim, scale)

    def draw(rng: np.random.Generator, sigma: Floats) -> tuple[Floats, Floats]:
        return vectors, parameter(rng, sigma)

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


#: The instances by the name used on the command line.
NAMES: dict[str, Callable[..., Instance]] = {
    "sphere": sphere,
    "soare": soare,
    "hypercube": hypercube,
    "case-study": case_study,
    "ball": ball,
    "signs": signs,
}


def named(name: str, **options: Any) -> Instance:
    """An instance by name."""
    check_choice("instance", name, tuple(NAMES))
    check_options("instance", name, NAMES[name], options)
    return NAMES[name](**options)


def shuffled(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """A random order of n actions, so that the order of storage never helps anyone."""
    return rng.permutation(n)
