"""Heavy tails: what the floors do to the widths, and which rules cope with outliers."""

import math
from typing import Any

import numpy as np

from noisewise.paper.measurements.runs import make_schedule, make_world, mean_and_error, run


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
    rule: str,
    options: dict[str, Any],
    noise: str,
    dim: int,
    n_actions: int,
    horizon: int,
    replications: int,
    seed: int,
) -> dict[str, Any]:
    """Mean regret under a law of noise, its 95 % quantile, and how often the certificate failed."""
    schedule = make_schedule("log-uniform", dim, low=0.1, high=2.0)
    env = make_world("sphere", {"n_actions": n_actions, "dim": dim}, schedule, noise)
    simulation = run(rule, options, env, horizon=horizon, replications=replications, seed=seed)
    regret = simulation.simple_regret[:, -1]
    return mean_and_error(regret) | {
        "quantile": float(np.quantile(regret, 0.95)),
        "uncovered": int((~simulation.covered).sum()),
        "bound": float(np.median(simulation.bound[:, -1])),
        "runs": replications,
    }
