"""Table 1: the regret of one system under four ways to recommend, all read off the same runs."""

from typing import Any

import numpy as np

from noisewise.paper.measurements.runs import make_schedule, make_world, mean_and_error, run


def recommended(
    rule: str,
    options: dict[str, Any],
    schedule: str,
    problem: str,
    problem_options: dict[str, Any],
    horizon: int,
    replications: int,
    seed: int,
) -> dict[str, Any]:
    """Regret of the rule's own recommendation, of one drawn from those played, the most played, the last.

    The noise is ±σ, a fair coin: bounded by the largest sigma, as most systems assume, and σ-sub-Gaussian.
    """
    schedule_made = make_schedule(schedule, problem_options["dim"])
    env = make_world(problem, problem_options, schedule_made, "rademacher")
    simulation = run(rule, options, env, horizon=horizon, replications=replications, seed=seed)
    most, last = [], []
    for r in range(replications):
        world = env.world(horizon, seed, r)
        gaps = np.empty(len(world.means))
        gaps[world.order] = world.means.max() - world.means
        counts = np.bincount(simulation.pulled[r], minlength=len(gaps))
        most.append(float(gaps[counts.argmax()]))
        last.append(float(gaps[simulation.pulled[r, -1]]))
    return {
        "own": mean_and_error(simulation.simple_regret[:, -1]),
        "drawn from those played": mean_and_error(simulation.cumulative_regret[:, -1] / horizon),
        "most played": mean_and_error(np.array(most)),
        "last": mean_and_error(np.array(last)),
        "runs": replications,
    }
