"""What Theorems 1 and 2 are measured on: random problems, the lower-bound family, and a row of horizons."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from noisewise.paper.measurements.runs import world_of
from noisewise.paper.section import Account, Effort, Outcome, Piece
from noisewise.paper.statistics import most_misses

DELTA = 0.05
LOG_UNIFORM = {"low": 1e-3, "high": 1.0}
PROBLEMS: dict[str, tuple[str, dict[str, Any]]] = {
    "20 random actions, d = 3": ("sphere", {"n_actions": 20, "dim": 3}),
    "60 random actions, d = 8": ("sphere", {"n_actions": 60, "dim": 8}),
    "hard family, d = 5": ("hypercube", {"dim": 5}),
}
HORIZON = 1000
CURVE_HORIZONS = (100, 300, 1000, 3000, 10_000)


def at_one_horizon(
    function: Callable[..., Outcome],
    effort: Effort,
    schedules: Mapping[str, dict[str, Any]],
    replications: tuple[int, int],
    rule: str,
    **arguments: Any,
) -> dict[str, Piece]:
    """A piece per schedule and problem; replications of the quick and of the full report."""
    runs = effort.runs(HORIZON, *replications)
    return {
        f"{schedule}/{label}": Piece(
            function, arguments | {"world": world_of(*problem, schedule, options), "runs": runs}, rule
        )
        for schedule, options in schedules.items()
        for label, problem in PROBLEMS.items()
    }


def over_horizons(
    function: Callable[..., Outcome],
    effort: Effort,
    problem: tuple[str, dict[str, Any]],
    replications: tuple[int, int],
    rule: str,
    **arguments: Any,
) -> dict[str, Piece]:
    """A piece per horizon, on one problem with sigmas log-uniform between 0.001 and 1."""
    world = world_of(*problem, "log-uniform", LOG_UNIFORM)
    return {
        f"curve/{horizon}": Piece(
            function, arguments | {"world": world, "runs": effort.runs(horizon, *replications)}, rule
        )
        for horizon in CURVE_HORIZONS
    }


def curve(outcomes: Mapping[str, Outcome], label: str, name: str) -> list[dict[str, Any]]:
    """Median and range over replications, horizon by horizon; left out where no run has it."""
    found = {
        horizon: [value for value in outcomes[f"curve/{horizon}"][name] if value is not None]
        for horizon in CURVE_HORIZONS
    }
    return [
        {
            "policy": label,
            "horizon": horizon,
            "mean": float(np.median(values)),
            "low": float(min(values)),
            "high": float(max(values)),
        }
        for horizon, values in found.items()
        if values
    ]


def check_misses(account: Account, name: str, missed: int, runs: int, how: str, looks: int = 1) -> None:
    """Check that no more runs miss than chance explains where each may with probability `DELTA`."""
    allowed = most_misses(runs, DELTA, looks)
    account.check(
        name, missed <= allowed, f"{missed} of {runs} runs {how}; up to {allowed} believable at δ = {DELTA}"
    )
