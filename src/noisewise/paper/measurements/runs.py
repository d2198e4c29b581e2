"""Simulations as the sections want them: by names, on one thread, and reduced to a few numbers."""

import inspect
import math
from typing import Any, TypedDict

import numpy as np

from noisewise.core.support.blocks import Floats
from noisewise.rules.registry import POLICIES, make_policy, rule_named
from noisewise.simulation import Simulation, simulate
from noisewise.world import Environment, instances, schedules

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


def make_world(
    problem: str, options: dict[str, Any], schedule: Any, noise: str = "gaussian", announced: bool = False
) -> Environment:
    """An instance by name under a schedule."""
    return instances.named(problem, **options).environment(schedule, noise=noise, announced=announced)


def world_of(
    problem: str,
    problem_options: dict[str, Any],
    schedule: str,
    schedule_options: dict[str, Any] | None = None,
) -> NamedWorld:
    """A world in names."""
    return {
        "problem": problem,
        "problem_options": problem_options,
        "schedule": schedule,
        "schedule_options": schedule_options or {},
    }


def named_world(world: NamedWorld, noise: str = "gaussian") -> Environment:
    """The world with these names."""
    schedule = make_schedule(world["schedule"], world["problem_options"]["dim"], **world["schedule_options"])
    return make_world(world["problem"], world["problem_options"], schedule, noise)


def run(
    rule: str,
    options: dict[str, Any],
    env: Environment,
    *,
    horizon: int,
    replications: int,
    seed: int,
    checkpoints: list[int] | None = None,
    stop: str | None = None,
    eps: float | None = None,
) -> Simulation:
    """A rule in a world, on one thread: cells run side by side."""
    policy, env = ready(rule, options, env, horizon)
    return simulate(
        policy,
        env,
        horizon=horizon,
        replications=replications,
        seed=seed,
        on=1,
        checkpoints=[horizon] if checkpoints is None else checkpoints,
        stop=stop,
        eps=eps,
    )


def ready(rule: str, options: dict[str, Any], env: Environment, horizon: int) -> tuple[Any, Environment]:
    """The rule on the world's actions, and the world as the rule needs it."""
    if rule_named(rule).sees_sigma == "before" and not env.announced:
        env = Environment.of(env.instance, env.schedule, noise=env.noise, announced=True)
    planned = {"horizon": horizon} if "horizon" in inspect.signature(POLICIES[rule]).parameters else {}
    return make_policy(rule, env.actions, **planned, **options), env


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
