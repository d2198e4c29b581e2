"""The case study: what each rule learns about the second coordinate, inside and outside the window."""

from typing import Any

import numpy as np

from noisewise.paper.measurements.runs import make_world, run


def information(
    rule: str,
    options: dict[str, Any],
    horizon: int,
    outside: float,
    as_printed: bool,
    replications: int,
    seed: int,
) -> dict[str, Any]:
    """``Σ a₂²/σ²`` inside and outside the window, and the radius at the end, one per replication."""
    problem = {"horizon": horizon, "outside": outside, "as_printed": as_printed}
    env = make_world("case-study", problem, None)
    sigma = env.sigmas(horizon, seed, 0)
    own = dict(options)
    if own.get("sigma_min") == "schedule":
        own["sigma_min"] = float(sigma.min())
    simulation = run(rule, own, env, horizon=horizon, replications=replications, seed=seed)
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
