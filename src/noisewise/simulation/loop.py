"""The one replication loop: choose, measure, absorb, record. Plain, or compiled from the same source."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.core.kernels import kernel
from noisewise.core.model import Floats, distance_to, total_precision
from noisewise.core.selection import regret_bound
from noisewise.policies.rule import Rule


class Truth(NamedTuple):
    """What the world knows and the rule does not."""

    theta: Floats  # (dim,)
    means: Floats  # (n,)
    action_sigma: Floats  # (n,)
    sigma: Floats  # (horizon,)
    noise: Floats  # (horizon,)
    draws: Floats  # (horizon, n_draws)
    announced: bool
    hidden: bool


class Record(NamedTuple):
    """What is written down: every action measured, and the state of affairs at the checkpoints."""

    pulled: NDArray[np.int32]  # (horizon,)
    checkpoints: NDArray[np.int64]  # (C,), ascending
    advised: NDArray[np.int32]  # (C,)
    regret: Floats  # (C,): simple regret of the advice
    cumulative: Floats  # (C,): sum of the regrets of the actions measured
    precision: Floats  # (C,): total precision
    radius: Floats  # (C,)
    distance: Floats  # (C,): ‖θ̂ - θ‖ in the norm of V; the certificate says it is below the radius
    bound: Floats  # (C,): certified regret bound
    progress: Floats  # (2,): next checkpoint, regret so far


Loop = Callable[[Any, Any, Truth, Record, int], int]


@kernel
def never(params: Any, state: Any) -> bool:
    """A rule that never stops to plan."""
    return False


def make_loop(rule: Rule) -> Loop:
    """The loop of one rule: runs from a round until the end, or until the rule wants to plan."""
    # Plain functions in a closure: Numba's disk cache knows them by name.
    choose, absorb, recommend = rule.choose, rule.absorb, rule.recommend
    radius_now, candidates_now = rule.radius, rule.candidates
    wants_plan = rule.wants_plan or never

    def loop(params: Any, state: Any, truth: Truth, record: Record, start: int) -> int:
        horizon, best = truth.sigma.size, truth.means.max()
        allowed = np.ones(truth.means.size, np.bool_)
        checkpoint, cumulative = int(record.progress[0]), record.progress[1]
        for t in range(start, horizon):
            if wants_plan(params, state):
                record.progress[0], record.progress[1] = checkpoint, cumulative
                return t
            before = truth.sigma[t] if truth.announced else math.nan
            action = choose(params, state, allowed, before, truth.draws[t])
            sigma = truth.sigma[t] * truth.action_sigma[action]
            reward = truth.means[action] + sigma * truth.noise[t]
            absorb(params, state, action, reward, math.nan if truth.hidden else sigma)
            record.pulled[t] = action
            cumulative += best - truth.means[action]
            if t + 1 == record.checkpoints[checkpoint]:
                advised = recommend(params, state)
                radius = radius_now(params, state)
                record.advised[checkpoint] = advised
                record.regret[checkpoint] = best - truth.means[advised]
                record.cumulative[checkpoint] = cumulative
                record.precision[checkpoint] = total_precision(state.model)
                record.radius[checkpoint] = radius
                record.distance[checkpoint] = distance_to(state.model, truth.theta)
                record.bound[checkpoint] = regret_bound(
                    state.model, candidates_now(params, state), advised, radius
                )
                checkpoint = min(checkpoint + 1, record.checkpoints.size - 1)
        return horizon

    return loop


def run_replication(loop: Loop, rule: Rule, params: Any, state: Any, truth: Truth, record: Record) -> None:
    """One replication from beginning to end, planning whenever the rule asks for it."""
    done = 0
    while (done := loop(params, state, truth, record, done)) < truth.sigma.size:
        if rule.plan is None:
            raise ValueError(
                f"{rule.name!r} wants to plan but has no `plan`: give the rule one, or drop `wants_plan`."
            )
        rule.plan(params, state)
