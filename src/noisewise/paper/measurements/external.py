"""Published tables: how many rounds rules need until a common stopping rule, or their own, is satisfied."""

from typing import Any

import numpy as np

from noisewise.designs import transductive_design
from noisewise.paper.measurements.runs import Runs, make_world, mean_and_error, run
from noisewise.simulation import Simulation
from noisewise.world import Environment, instances
from noisewise.world.twister import Twister

#: A regret bound that only a single survivor has: the own stopping rule of rules that eliminate.
ALONE = 1e-12


def stopping_times(
    problem: str, problem_options: dict[str, Any], rule: str, options: dict[str, Any], stop: str, runs: Runs
) -> dict[str, Any]:
    """The mean number of rounds until a rule stops where all sigmas are 1, its spread, and the mistakes.

    ``stop="gap"`` stands for the rule's own: no other action is left.
    """
    env = make_world(problem, problem_options, np.ones(runs["horizon"]))
    eps = ALONE if stop == "gap" else None
    return _summary([run(rule, options, env, stop=stop, eps=eps, **runs)])


def stopping_times_on_published_draws(
    problem: str, rule: str, options: dict[str, Any], stop: str, runs: Runs
) -> dict[str, Any]:
    """The same on the noise of a published experiment, run by run; the seed is that of its first run."""
    longest, first = runs["horizon"], runs["seed"]
    worlds = [published_world(problem, longest, first + r) for r in range(runs["replications"])]
    alone: Runs = {"horizon": longest, "replications": 1, "seed": 0}
    return _summary([run(rule, options, world, stop=stop, **alone) for world in worlds])


def published_world(problem: str, longest: int, seed: int) -> Environment:
    """The world of one published run: its rounds take the normal numbers of its seed in turn.

    The actions also keep the order of the instance.
    """
    vectors, theta = instances.named(problem).draw(np.random.default_rng(0), np.ones(1))
    return Environment(vectors, theta, np.ones(longest), noise=lambda _, size: Twister(seed).normals(size))


def _summary(simulations: list[Simulation]) -> dict[str, Any]:
    rounds = np.concatenate([simulation.stopped for simulation in simulations]).astype(float)
    return mean_and_error(rounds) | {
        "spread": float(rounds.std(ddof=1)) if rounds.size > 1 else 0.0,
        "wrong": sum(int((simulation.simple_regret[:, -1] > 1e-12).sum()) for simulation in simulations),
        "unfinished": sum(int((~simulation.fired).sum()) for simulation in simulations),
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
