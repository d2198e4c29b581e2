"""The trials of Theorems 1 and 2: on random problems and the lower-bound family, and over the horizon."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from noisewise.paper.measurements.runs import world_of
from noisewise.paper.section import HOLDS, Account, Effort, Outcome, Piece
from noisewise.paper.statistics import most_misses

DELTA = 0.05
SIGMAS: dict[str, dict[str, Any]] = {
    "flat": {},
    "fast-decaying": {},
    "front-loaded": {},
    "log-uniform": {"low": 1e-3, "high": 1.0},
    "rare-quiet": {},
}
#: An instance by name, and its options.
Problem = tuple[str, dict[str, Any]]
PROBLEMS: dict[str, Problem] = {
    "20 random actions, d = 3": ("sphere", {"n_actions": 20, "dim": 3}),
    "60 random actions, d = 8": ("sphere", {"n_actions": 60, "dim": 8}),
    "hard family, d = 5": ("hypercube", {"dim": 5}),
}
HORIZON = 1000
CURVE_HORIZONS = (100, 300, 1000, 3000, 10_000)


class Trials(NamedTuple):
    """The rule of a theorem, the function that measures it, and how much to compute."""

    rule: str
    function: Callable[..., Outcome]
    effort: Effort

    def at_one_horizon(
        self, schedules: Iterable[str], replications: tuple[int, int], **arguments: Any
    ) -> dict[str, Piece]:
        """A piece per schedule and problem; replications of the quick and of the full report."""
        return {
            f"{schedule}/{label}": self._piece(problem, schedule, HORIZON, replications, arguments)
            for schedule in schedules
            for label, problem in PROBLEMS.items()
        }

    def over_horizons(
        self, problem: Problem, replications: tuple[int, int], **arguments: Any
    ) -> dict[str, Piece]:
        """A piece per horizon, on one problem with sigmas log-uniform between 0.001 and 1."""
        return {
            f"curve/{horizon}": self._piece(problem, "log-uniform", horizon, replications, arguments)
            for horizon in CURVE_HORIZONS
        }

    def _piece(
        self,
        problem: Problem,
        schedule: str,
        horizon: int,
        replications: tuple[int, int],
        arguments: dict[str, Any],
    ) -> Piece:
        world = world_of(*problem, schedule, SIGMAS[schedule])
        own = {"world": world, "runs": self.effort.runs(horizon, *replications)}
        return Piece(self.function, arguments | own, self.rule)


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


def check_misses(
    account: Account, name: str, missed: int, runs: int, how: str, looks: int = 1, verdict: str = HOLDS
) -> None:
    """Check that no more runs miss than chance explains where each may with probability `DELTA`."""
    allowed = most_misses(runs, DELTA, looks)
    detail = f"{missed} of {runs} runs {how}; up to {allowed} believable at δ = {DELTA}"
    account.check(name, missed <= allowed, detail, verdict)
