"""Everything that is computed for the report, by names and plain numbers, so that files can hold it.

Simulations run on one thread each, side by side, and are reduced to a few numbers.
"""

import inspect
import math
from typing import Any, TypedDict

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.core.randomness import generator
from noisewise.designs import optimal_design, transductive_design
from noisewise.rules.registry import POLICIES, make_policy, rule_named
from noisewise.simulation import Environment, Simulation, instances, schedules, simulate
from noisewise.theory import (
    clipped_level,
    harmonic_level,
    information_budget,
    vaee_bound,
    vagd_bound,
    water_level,
)
from noisewise.theory.levels import precision_without_largest

# ---- Simulations as the sections want them. ----


#: The four schedules of Table 2.
SCHEDULES = ("fast-decaying", "flat", "moderate-spikes", "front-loaded")


class NamedWorld(TypedDict):
    """A problem under a schedule, both by name and with plain options, so that a file can hold it."""

    problem: str
    problem_options: dict[str, Any]
    schedule: str
    schedule_options: dict[str, Any]


class Runs(TypedDict):
    """How long a simulation is, how often it is repeated, and its seed."""

    horizon: int
    replications: int
    seed: int


def make_schedule(name: str, dim: int, **options: Any) -> schedules.NamedSchedule:
    """A schedule by name; the flat one knows the dimension."""
    return schedules.named(name, **({"dim": dim} if name == "flat" else {}), **options)


def make_world(problem: str, options: dict[str, Any], schedule: Any, noise: str = "gaussian") -> Environment:
    """An instance by name under a schedule."""
    return instances.named(problem, **options).environment(schedule, noise=noise)


def world_of(problem: str, options: dict[str, Any], schedule: str, **schedule_options: Any) -> NamedWorld:
    """A world in names."""
    return NamedWorld(
        problem=problem, problem_options=options, schedule=schedule, schedule_options=schedule_options
    )


def named_world(world: NamedWorld, noise: str = "gaussian") -> Environment:
    """The world with these names."""
    schedule = make_schedule(world["schedule"], world["problem_options"]["dim"], **world["schedule_options"])
    return make_world(world["problem"], world["problem_options"], schedule, noise)


def run(
    rule: str,
    options: dict[str, Any],
    env: Environment,
    runs: Runs,
    checkpoints: list[int] | None = None,
    **stopping: Any,
) -> Simulation:
    """A rule in a world, on one thread: pieces run side by side."""
    horizon = runs["horizon"]
    if rule_named(rule).sees_sigma == "before" and not env.announced:
        env = Environment.of(env.instance, env.schedule, noise=env.noise, announced=True)
    own: dict[str, Any] = (
        {"horizon": horizon} if "horizon" in inspect.signature(POLICIES[rule]).parameters else {}
    )
    own |= options
    if own.get("sigma_min") == "schedule":
        own["sigma_min"] = float(env.sigmas(horizon, runs["seed"], 0).min())
    policy = make_policy(rule, env.actions, **own)
    return simulate(policy, env, on=1, checkpoints=checkpoints or [horizon], **runs, **stopping)


def given_precision(simulation: Simulation, env: Environment, r: int) -> tuple[Floats, Floats]:
    """The vectors and the precision given to each action in replication r, in the order of the pulls."""
    world = env.world(simulation.horizon, simulation.seed, r)
    vectors = np.empty_like(world.actions.vectors, dtype=np.float64)
    vectors[world.order] = world.actions.vectors
    weights = 1.0 / world.sigma**2
    given: Floats = np.bincount(simulation.pulled[r], weights=weights, minlength=len(vectors)).astype(float)
    return vectors, given


def mean_and_error(values: Floats) -> dict[str, float]:
    """The mean over replications and its standard error, as plain numbers."""
    n = len(values)
    error = float(np.std(values, ddof=1) / math.sqrt(n)) if n > 1 else 0.0
    return {"mean": float(np.mean(values)), "error": error}


def largest_width(vectors: Floats, precision: Floats, ridge: float = 1.0) -> float:
    """The width of the widest action, given the precision of each."""
    gram = ridge * np.eye(vectors.shape[1]) + (vectors * precision[:, None]).T @ vectors
    return float(np.sqrt(np.einsum("ij,ji->i", vectors, np.linalg.solve(gram, vectors.T)).max()))


# ---- Theorem 1. ----


def against_the_bound(options: dict[str, Any], world: NamedWorld, runs: Runs) -> dict[str, Any]:
    """VAEE: per replication the largest width, the levels, the regret and its bounds."""
    dim, env, replications = world["problem_options"]["dim"], named_world(world), runs["replications"]
    checkpoints = sorted({int(t) for t in np.geomspace(1, runs["horizon"], 25)})
    simulation = run("vaee", options, env, runs, checkpoints)
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
    rule: str, options: dict[str, Any], dim: int, sigma: float, horizons: list[int], runs: Runs
) -> dict[str, Any]:
    """How many runs recommend something else than the best, after each of the horizons."""
    env = make_world("soare", {"dim": dim}, np.full(runs["horizon"], sigma))
    wrong = run(rule, options, env, runs, horizons).simple_regret > 1e-12
    return {"wrong": wrong.sum(axis=0).tolist(), "runs": runs["replications"]}


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


# ---- Theorem 2. ----


def tracked_design(world: NamedWorld, runs: Runs) -> dict[str, Any]:
    """VAGD: how much of D·V(π) was gathered, the regret and its bounds, per replication."""
    dim, env = world["problem_options"]["dim"], named_world(world)
    n_actions = env.actions.n_actions
    simulation = run("vagd", {}, env, runs)
    gathered, bounds, printed, supports = [], [], [], []
    for r in range(runs["replications"]):
        vectors, given = given_precision(simulation, env, r)
        drawn = env.world(runs["horizon"], runs["seed"], r)
        # The rule's own design: on the actions in the order in which the rule saw them, as many may tie.
        design = optimal_design(drawn.actions.vectors, support="core")
        shares = np.empty(n_actions)
        shares[drawn.order] = design.dense()
        root = np.linalg.inv(np.linalg.cholesky((vectors * shares[:, None]).T @ vectors))
        gram = root @ ((vectors * given[:, None]).T @ vectors) @ root.T
        sigma = env.sigmas(runs["horizon"], runs["seed"], r)
        support = int((shares > 0.0).sum())
        rest = float(precision_without_largest(sigma, support - 1))
        gathered.append(float(np.linalg.eigvalsh(gram)[0]) / rest)
        bounds.append(vagd_bound(sigma, dim, n_actions, g_value=design.g_value, support_size=support))
        printed.append(vagd_bound(sigma, dim, n_actions, as_printed=True))
        supports.append(support)
    return {
        "gathered": gathered,
        "support": supports,
        "regret": simulation.simple_regret[:, -1].tolist(),
        "bound": bounds,
        "printed_bound": printed,
    }


def ridge_bias(bias: float, runs: int, seed: int) -> dict[str, Any]:
    """How often the lemma's interval misses a value, without and with the ridge's share R√λ.

    Three orthogonal actions with λ of precision each, theta of norm R on the first: θ̂ = (λθ + √λ·z)/2λ.
    """
    delta, n = 0.05, 3
    ridge, norm_bound = 1.0, bias
    theta = norm_bound * np.eye(n)[0]
    noise = generator(seed, "noise", 0).standard_normal((runs, n))
    estimate = (ridge * theta + math.sqrt(ridge) * noise) / (2.0 * ridge)
    width = math.sqrt(1.0 / (2.0 * ridge))
    radius = math.sqrt(2.0 * math.log(2.0 * n / delta))
    off = np.abs(estimate - theta).max(axis=1) / width
    return {
        "without": int((off > radius).sum()),
        "with": int((off > radius + bias).sum()),
        "runs": runs,
    }


def stopping_by_looking(rounds: list[int], runs: int, seed: int) -> dict[str, Any]:
    """Runs in which intervals of two kinds fail: after these numbers of turns, and in any turn up to then.

    In a turn three orthogonal actions are measured, sigma 1; theta is 0, so that the ridge does no harm.
    """
    delta, n, longest = 0.05, 3, max(rounds)
    fixed = math.sqrt(2.0 * math.log(2.0 * n / delta))
    counts = np.arange(1, longest + 1, dtype=np.float64)
    anytime = np.sqrt(n * np.log1p(counts) + 2.0 * math.log(1.0 / delta) + 1.0)
    found: dict[str, Any] = {
        name: [0] * len(rounds) for name in ("fixed at the end", "fixed ever", "anytime ever")
    }
    for r in range(runs):
        sums = generator(seed, "noise", r).standard_normal((n, longest)).cumsum(axis=1)
        squares = sums**2 / (1.0 + counts)
        # The union's interval is per action, the anytime ball for all at once.
        over = np.sqrt(squares.max(axis=0)) > fixed
        ball = np.sqrt(squares.sum(axis=0)) > anytime
        for place, end in enumerate(rounds):
            found["fixed at the end"][place] += int(over[end - 1])
            found["fixed ever"][place] += int(over[:end].any())
            found["anytime ever"][place] += int(ball[:end].any())
    return found | {"runs": runs}


# ---- Theorem 3. ----


def family(rule: str, options: dict[str, Any], world: NamedWorld, runs: Runs) -> dict[str, Any]:
    """Mean and standard error of ``regret·√S/d`` at one scale of the family."""
    simulation = run(rule, options, named_world(world), runs)
    units = np.sqrt(simulation.total_precision[:, -1]) / world["problem_options"]["dim"]
    return mean_and_error(simulation.simple_regret[:, -1] * units) | {"runs": runs["replications"]}


# ---- Table 1. ----


def recommended(rule: str, options: dict[str, Any], world: NamedWorld, runs: Runs) -> dict[str, Any]:
    """Regret of the rule's own recommendation, of one drawn from those played, the most played, the last.

    The noise is ±σ, a fair coin: bounded by the largest sigma, as most systems assume, and σ-sub-Gaussian.
    """
    env = named_world(world, "rademacher")
    simulation = run(rule, options, env, runs)
    most, last = [], []
    for r in range(runs["replications"]):
        drawn = env.world(runs["horizon"], runs["seed"], r)
        gaps = np.empty(len(drawn.means))
        gaps[drawn.order] = drawn.means.max() - drawn.means
        counts = np.bincount(simulation.pulled[r], minlength=len(gaps))
        most.append(float(gaps[counts.argmax()]))
        last.append(float(gaps[simulation.pulled[r, -1]]))
    return {
        "own": mean_and_error(simulation.simple_regret[:, -1]),
        "drawn from those played": mean_and_error(simulation.cumulative_regret[:, -1] / runs["horizon"]),
        "most played": mean_and_error(np.array(most)),
        "last": mean_and_error(np.array(last)),
        "runs": runs["replications"],
    }


# ---- Table 2. ----


def widths(
    rule: str,
    options: dict[str, Any],
    schedule: str,
    dim: int,
    n_actions: int,
    horizons: list[int],
    runs: Runs,
) -> dict[str, Any]:
    """The largest width over all actions at the end, ``[replication][horizon]``; the same actions at each."""
    env = make_world("sphere", {"n_actions": n_actions, "dim": dim}, make_schedule(schedule, dim))
    columns = []
    for horizon in horizons:
        simulation = run(rule, options, env, runs | {"horizon": horizon})
        columns.append(
            [largest_width(*given_precision(simulation, env, r)) for r in range(runs["replications"])]
        )
    return {"widths": [list(row) for row in zip(*columns, strict=True)]}


def regrets(
    rule: str, options: dict[str, Any], noise: str, world: NamedWorld, horizons: list[int], runs: Runs
) -> dict[str, Any]:
    """Simple and cumulative regret in one world, at every horizon."""
    env = named_world(world, noise)
    simulations = [run(rule, options, env, runs | {"horizon": horizon}) for horizon in horizons]
    return {
        "simple": [mean_and_error(one.simple_regret[:, -1]) for one in simulations],
        "cumulative": [mean_and_error(one.cumulative_regret[:, -1]) for one in simulations],
    }


# ---- The case study. ----


def information(
    rule: str, options: dict[str, Any], outside: float, as_printed: bool, runs: Runs
) -> dict[str, Any]:
    """``Σ a₂²/σ²`` inside and outside the window, and the radius at the end, one per replication."""
    horizon = runs["horizon"]
    problem = {"horizon": horizon, "outside": outside, "as_printed": as_printed}
    env = make_world("case-study", problem, None)
    sigma = env.sigmas(horizon, runs["seed"], 0)
    simulation = run(rule, options, env, runs)
    quiet = sigma == sigma.min()
    # In the order of the instance: e_1, e_2, x.
    second = np.array([0.0, 1.0, horizon**-0.25])
    learnt = second[simulation.pulled] ** 2 / sigma**2
    return {
        "inside": learnt[:, quiet].sum(axis=1).tolist(),
        "outside": learnt[:, ~quiet].sum(axis=1).tolist(),
        "radius": simulation.radius[:, -1].tolist(),
        "total": float((sigma**-2.0).sum()),
        "window": int(quiet.sum()),
        "quiet_weight": float(sigma.min() ** -2.0),
    }


# ---- Heavy tails. ----


def floored_widths(
    schedule: str, dim: int, horizons: list[int], floors: int, delta: float = 0.05
) -> dict[str, Any]:
    """The largest width after measuring the widest of ``dim`` orthogonal actions, with 0, 1 or 2 floors.

    The first floor is ``‖a‖/m₀`` with m₀ = 1, the second ``√(RA‖a‖)/(m₁d)^(1/4)``, m₁ = 1/(42·log(2T²/δ)).
    """
    widths = []
    for horizon in horizons:
        variances = (make_schedule(schedule, dim)(horizon, None) ** 2.0).tolist()
        share = 1.0 / (42.0 * math.log(2.0 * horizon**2 / delta))
        precision = [1.0] * dim
        for variance in variances:
            least = min(precision)
            width = 1.0 / math.sqrt(least)
            if floors >= 1:
                variance = max(variance, width * width)
            if floors >= 2:
                variance = max(variance, width / math.sqrt(share * dim))
            precision[precision.index(least)] = least + 1.0 / variance
        widths.append(1.0 / math.sqrt(min(precision)))
    return {"widths": widths}


def under_a_law(
    rule: str, options: dict[str, Any], noise: str, dim: int, n_actions: int, runs: Runs
) -> dict[str, Any]:
    """Mean regret under a law of noise, its 95 % quantile, and how often the certificate failed."""
    schedule = make_schedule("log-uniform", dim, low=0.1, high=2.0)
    env = make_world("sphere", {"n_actions": n_actions, "dim": dim}, schedule, noise)
    simulation = run(rule, options, env, runs)
    regret = simulation.simple_regret[:, -1]
    return mean_and_error(regret) | {
        "quantile": float(np.quantile(regret, 0.95)),
        "uncovered": int((~simulation.covered).sum()),
        "bound": float(np.median(simulation.bound[:, -1])),
        "runs": runs["replications"],
    }


# ---- Published tables. ----


#: A regret bound that only a single survivor has: the own stopping rule of rules that eliminate.
ALONE = 1e-12


def stopping_times(
    problem: str, problem_options: dict[str, Any], rule: str, options: dict[str, Any], stop: str, runs: Runs
) -> dict[str, Any]:
    """The mean number of rounds until a rule stops where all sigmas are 1, its spread, and the mistakes.

    ``stop="gap"`` is the rule's own: it stops when no other action is left.
    """
    env = make_world(problem, problem_options, np.ones(runs["horizon"]))
    simulation = run(rule, options, env, runs, stop=stop, eps=ALONE if stop == "gap" else None)
    rounds = simulation.stopped.astype(float)
    return mean_and_error(rounds) | {
        "spread": float(rounds.std(ddof=1)) if rounds.size > 1 else 0.0,
        "wrong": int((simulation.simple_regret[:, -1] > 1e-12).sum()),
        "unfinished": int((~simulation.fired).sum()),
        "runs": rounds.size,
    }


def characteristic_time(problem: str, problem_options: dict[str, Any]) -> float:
    """T*: where all sigmas are 1, no method stops before ``T*·kl(δ, 1-δ)`` rounds on average.

    ``2·min over shares of max over rivals x of ‖a - x‖²/gap²``, a the best: a transductive design.
    """
    vectors, theta = instances.named(problem, **problem_options).draw(np.random.default_rng(0), np.ones(1))
    values = vectors @ theta
    best = int(values.argmax())
    rivals = np.delete(np.arange(len(values)), best)
    directions = (vectors[best] - vectors[rivals]) / (values[best] - values[rivals])[:, None]
    return float(2.0 * transductive_design(vectors, directions, gap=1e-6).value)
