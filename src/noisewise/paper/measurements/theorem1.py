"""Theorem 1: widths against levels, regrets against bounds, and what breaks the certificate."""

from typing import Any

import numpy as np

from noisewise.core.support.blocks import Floats
from noisewise.core.support.randomness import generator
from noisewise.paper.measurements.runs import (
    NamedWorld,
    Runs,
    given_precision,
    largest_width,
    make_world,
    named_world,
    run,
)
from noisewise.theory import clipped_level, harmonic_level, information_budget, vaee_bound, water_level


def against_the_bound(options: dict[str, Any], world: NamedWorld, runs: Runs) -> dict[str, Any]:
    """VAEE: per replication the largest width, the levels, the regret and its bounds."""
    dim, env, replications = world["problem_options"]["dim"], named_world(world), runs["replications"]
    checkpoints = sorted({int(t) for t in np.geomspace(1, runs["horizon"], 25)})
    simulation = run("vaee", options, env, checkpoints=checkpoints, **runs)
    widths, gains = [], []
    for r in range(replications):
        vectors, given = given_precision(simulation, env, r)
        widths.append(largest_width(vectors, given))
        gram = np.eye(dim) + (vectors * given[:, None]).T @ vectors
        gains.append(float(np.linalg.slogdet(gram)[1]))
    sigma = np.array([env.sigmas(runs["horizon"], runs["seed"], r) for r in range(replications)])
    budget = np.asarray(information_budget(sigma, dim))
    printed = np.asarray(information_budget(sigma, dim, as_printed=True))
    advice = "best" if options.get("recommendation", "best") == "best" else "last"
    return {
        "width": widths,
        "clipped_level": _finite(clipped_level(sigma, dim)),
        "level": _finite(water_level(sigma, budget)),
        "printed_level": _finite(water_level(sigma, printed)),
        "harmonic_level": _finite(harmonic_level(sigma, budget)),
        "level_of_run": _finite(water_level(sigma, np.array(gains) / np.log(2.0))),
        "regret": simulation.simple_regret[:, -1].tolist(),
        "bound": np.asarray(vaee_bound(sigma, dim, recommendation=advice)).tolist(),
        "unclipped_bound": np.asarray(vaee_bound(sigma, dim, recommendation=advice, form="printed")).tolist(),
        "printed_bound": np.asarray(vaee_bound(sigma, dim, as_printed=True)).tolist(),
        "certificate": simulation.bound[:, -1].tolist(),
        "outside": (simulation.distance > simulation.radius).any(axis=1).tolist(),
        "uncovered": (~simulation.covered).tolist(),
    }


def _finite(values: Any) -> list[float | None]:
    """Levels as a file can hold them: None where there is none, with too few rounds for the budget."""
    return [float(value) if np.isfinite(value) else None for value in np.ravel(values)]


def wrong_on_soare(
    rule: str,
    options: dict[str, Any],
    dim: int,
    sigma: float,
    horizons: list[int],
    replications: int,
    seed: int,
) -> dict[str, Any]:
    """How many runs recommend something else than the best, after each of the horizons."""
    env = make_world("soare", {"dim": dim}, np.full(max(horizons), sigma))
    simulation = run(
        rule,
        options,
        env,
        horizon=max(horizons),
        replications=replications,
        seed=seed,
        checkpoints=horizons,
    )
    return {"wrong": (simulation.simple_regret > 1e-12).sum(axis=0).tolist(), "runs": replications}


#: How an error bar can come about: from the measurement's own sample, or not.
ERROR_BARS = (
    "three repeats, their own scatter",
    "three repeats, widened by Student's t",
    "binomial, own successes",
    "binomial, smoothed successes",
    "binomial, 1/(4n)",
    "binomial, the true variance",
)


def own_error_bars(kind: str, rounds: int, runs: int, seed: int) -> dict[str, Any]:
    """Runs in which the certificate for one mean fails at some round, with error bars of this kind."""
    rng = generator(seed, "noise", ERROR_BARS.index(kind))
    truth, values, variances = (_repeats if kind.startswith("three") else _binomial)(kind, rounds, runs, rng)
    precision = 1.0 + np.cumsum(1.0 / variances, axis=1)
    estimate = np.cumsum(values / variances, axis=1) / precision
    distance = np.sqrt(precision) * np.abs(estimate - truth)
    radius = np.sqrt(np.log(precision) + 2.0 * np.log(20.0) + 1.0)
    return {"missed": int((distance > radius).any(axis=1).sum()), "runs": runs}


def _binomial(kind: str, rounds: int, runs: int, rng: np.random.Generator) -> tuple[float, Floats, Floats]:
    chance, n = 0.3, 20
    successes = rng.binomial(n, chance, (runs, rounds))
    shares = successes / n
    if kind.endswith("own successes"):
        variances = np.maximum(shares * (1.0 - shares), 1.0 / n**2) / n
    elif kind.endswith("smoothed successes"):
        smoothed = (successes + 2.0) / (n + 4.0)
        variances = smoothed * (1.0 - smoothed) / n
    elif kind.endswith("1/(4n)"):
        variances = np.full(shares.shape, 0.25 / n)
    else:
        variances = np.full(shares.shape, chance * (1.0 - chance) / n)
    return chance, shares, variances


def _repeats(kind: str, rounds: int, runs: int, rng: np.random.Generator) -> tuple[float, Floats, Floats]:
    values = rng.standard_normal((runs, rounds, 3))
    # 2.195: what makes a 95 % interval of three repeats as wide as Student's t asks.
    factor = 2.195 if kind.endswith("Student's t") else 1.0
    return 0.0, values.mean(axis=2), values.var(axis=2, ddof=1) / 3.0 * factor**2
