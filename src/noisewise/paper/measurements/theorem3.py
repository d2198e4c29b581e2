"""Theorem 3: the regret of real rules on the lower-bound family, in units of d/√S."""

from typing import Any

import numpy as np

from noisewise.paper.measurements.runs import NamedWorld, Runs, mean_and_error, named_world, run


def family(rule: str, options: dict[str, Any], world: NamedWorld, runs: Runs) -> dict[str, Any]:
    """Mean and standard error of ``regret·√S/d`` at one scale of the family."""
    simulation = run(rule, options, named_world(world), **runs)
    units = np.sqrt(simulation.total_precision[:, -1]) / world["problem_options"]["dim"]
    return mean_and_error(simulation.simple_regret[:, -1] * units) | {"runs": runs["replications"]}
