"""Table 2: widths, worst regrets and cumulative regrets over the horizon, for one rule and schedule."""

from typing import Any

from noisewise.paper.measurements.runs import (
    given_precision,
    largest_width,
    make_schedule,
    make_world,
    mean_and_error,
    run,
)


def widths(
    rule: str,
    options: dict[str, Any],
    schedule: str,
    dim: int,
    n_actions: int,
    horizons: list[int],
    replications: int,
    seed: int,
) -> dict[str, Any]:
    """The largest width over all actions at the end, ``[replication][horizon]``; the same actions at each."""
    env = make_world("sphere", {"n_actions": n_actions, "dim": dim}, make_schedule(schedule, dim))
    columns = []
    for horizon in horizons:
        simulation = run(rule, options, env, horizon=horizon, replications=replications, seed=seed)
        columns.append(
            [largest_width(*given_precision(simulation, env, r)) for r in range(simulation.replications)]
        )
    return {"widths": [list(row) for row in zip(*columns, strict=True)]}


def regrets(
    rule: str,
    options: dict[str, Any],
    noise: str,
    schedule: str,
    dim: int,
    scale: float,
    horizons: list[int],
    replications: int,
    seed: int,
) -> dict[str, Any]:
    """Simple and cumulative regret on the lower-bound family at one scale, at every horizon."""
    env = make_world("hypercube", {"dim": dim, "scale": scale}, make_schedule(schedule, dim), noise)
    simple, cumulative = [], []
    for horizon in horizons:
        own = dict(options)
        if own.get("sigma_min") == "schedule":
            own["sigma_min"] = float(env.sigmas(horizon, seed, 0).min())
        simulation = run(rule, own, env, horizon=horizon, replications=replications, seed=seed)
        simple.append(mean_and_error(simulation.simple_regret[:, -1]))
        cumulative.append(mean_and_error(simulation.cumulative_regret[:, -1]))
    return {"simple": simple, "cumulative": cumulative}
