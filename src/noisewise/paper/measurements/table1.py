"""Table 1: the regret of one system under four ways to recommend, all read off the same runs."""

from typing import Any

import numpy as np

from noisewise.paper.measurements.runs import NamedWorld, Runs, mean_and_error, named_world, run


def recommended(rule: str, options: dict[str, Any], world: NamedWorld, runs: Runs) -> dict[str, Any]:
    """Regret of the rule's own recommendation, of one drawn from those played, the most played, the last.

    The noise is ±σ, a fair coin: bounded by the largest sigma, as most systems assume, and σ-sub-Gaussian.
    """
    env = named_world(world, "rademacher")
    simulation = run(rule, options, env, **runs)
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
