"""Published tables: how many rounds rules need until a common stopping rule, or their own, is satisfied."""

from typing import Any

import numpy as np

from noisewise.design import transductive_design
from noisewise.paper.measurements.runs import make_world, mean_and_error, run
from noisewise.simulation import Simulation
from noisewise.world import Environment, instances
from noisewise.world.twister import Twister

#: A regret bound that only a single survivor has: the own stopping rule of rules that eliminate.
ALONE = 1e-12


def stopping_times(
    problem: str,
    problem_options: dict[str, Any],
    rule: str,
    options: dict[str, Any],
    stop: str,
    longest: int,
    replications: int,
    seed: int,
) -> dict[str, Any]:
    """The mean number of rounds until a rule stops where all sigmas are 1, its spread, and the mistakes.

    ``stop="gap"`` stands for the rule's own: no other action is left.
    """
    env = make_world(problem, problem_options, np.ones(longest))
    simulation = run(
        rule,
        options,
        env,
        horizon=longest,
        replications=replications,
        seed=seed,
        stop=stop,
        eps=ALONE if stop == "gap" else None,
    )
    return _summary([simulation])


def stopping_times_on_published_draws(
    problem: str,
    rule: str,
    options: dict[str, Any],
    stop: str,
    longest: int,
    replications: int,
    first_seed: int,
) -> dict[str, Any]:
    """The same on the noise of a published experiment, run by run."""
    return _summary(
        [
            run(
                rule,
                options,
                published_world(problem, longest, first_seed + r),
                horizon=longest,
                replications=1,
                seed=0,
                stop=stop,
            )
            for r in range(replications)
        ]
    )


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
    return 2.0 * transductive_design(vectors, directions, gap=1e-6).value
