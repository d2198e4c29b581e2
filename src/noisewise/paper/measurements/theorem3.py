"""Theorem 3: the regret of real rules on the lower-bound family, in units of d/√S."""

from typing import Any

import numpy as np

from noisewise.paper.measurements.runs import make_schedule, make_world, mean_and_error, run


def family(
    rule: str,
    options: dict[str, Any],
    schedule: str,
    schedule_options: dict[str, Any],
    dim: int,
    scale: float,
    horizon: int,
    replications: int,
    seed: int,
) -> dict[str, Any]:
    """Mean and standard error of ``regret·√S/d`` at one scale."""
    world = make_schedule(schedule, dim, **schedule_options)
    env = make_world("hypercube", {"dim": dim, "scale": scale}, world)
    simulation = run(rule, options, env, horizon=horizon, replications=replications, seed=seed)
    units = np.sqrt(simulation.total_precision[:, -1]) / dim
    return mean_and_error(simulation.simple_regret[:, -1] * units) | {"runs": replications}
