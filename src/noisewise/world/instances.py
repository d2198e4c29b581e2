"""Named problems: actions and a true parameter, drawn afresh (or shuffled) for every replication."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from noisewise.actions import Ball, OracleSet
from noisewise.core.model.dense import Floats
from noisewise.core.support.checks import (
    check_choice,
    check_count,
    check_number,
    check_options,
    check_positive,
)
from noisewise.world.hard_instances import case_study as case_study
from noisewise.world.hard_instances import he_gu as he_gu
from noisewise.world.hard_instances import hypercube as hypercube
from noisewise.world.hard_instances import signs as signs
from noisewise.world.instance import Instance as Instance
from noisewise.world.instance import constant, on_set
from noisewise.world.twister import Twister

#: The seed from which Tirinzoni and Degenne drew their instance.
PUBLISHED_SEED = 123


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
        n_points: Points of which the hull is taken; those inside it are no actions.
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
        shape: Seed of all that is random; the same in every replication. Default: the published draw.
    """
    check_count("dim", dim, least=4)
    middle = math.ceil(dim / 2)
    check_count("n_actions", n_actions, least=middle)
    rng = Twister(PUBLISHED_SEED) if shape is None else np.random.default_rng(shape)
    theta = np.concatenate([np.full(middle, 0.8), rng.random(dim - middle) - 1.0])
    theta[: middle // 2] = 0.9
    theta[0] = 1.0
    rows = list(np.eye(dim)[:middle])
    while len(rows) < n_actions:
        row = _unit(2.0 * rng.random(dim)[None] - 1.0)[0]
        if row @ theta <= 0.5:
            rows.append(row)
    vectors = np.array(rows)

    return constant("tirinzoni-degenne", {"n_actions": n_actions, "dim": dim, "shape": shape}, vectors, theta)


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
