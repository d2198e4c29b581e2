"""Published tables: how many rounds rules need until a common stopping rule, or their own, is satisfied."""

from typing import Any

import numpy as np

from noisewise.design import transductive_design
from noisewise.paper.measuring.runs import make_world, mean_and_error, run
from noisewise.world import instances

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
    rounds = simulation.stopped.astype(float)
    return mean_and_error(rounds) | {
        "spread": float(rounds.std(ddof=1)) if replications > 1 else 0.0,
        "wrong": int((simulation.simple_regret[:, -1] > 1e-12).sum()),
        "unfinished": int((~simulation.fired).sum()),
        "runs": replications,
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
