"""The one replication loop: choose, measure, absorb, record. Plain, or compiled from the same source."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.core.choice.selection import Mask
from noisewise.core.compiler.kernels import kernel
from noisewise.core.model.covariances import distance_to
from noisewise.core.model.dense import Floats
from noisewise.policies.shell.recommendation import BEST, Advice, recommended
from noisewise.policies.shell.rule import Rule
from noisewise.simulation.stopping import GAP, NEVER, Stop, has_won


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
    masks: Mask  # (G, n): the sets that take turns; none if all actions are always allowed
    opening: NDArray[np.int64]  # (horizon,): whose turn it is; empty likewise
    tops: Floats  # (G,): the best mean in each


class Record(NamedTuple):
    """What is written down: every action measured, and the state of affairs at the checkpoints."""

    pulled: NDArray[np.int32]  # (horizon,): -1 after the stop
    checkpoints: NDArray[np.int64]  # (C,), ascending
    progress: Floats  # (4,): next checkpoint, regret and precision so far, 1 if a round is to be recorded
    advice: Advice
    # In the order of results.PER_CHECKPOINT:
    advised: NDArray[np.int32]  # (C,)
    simple_regret: Floats  # (C,): regret of the advice
    cumulative_regret: Floats  # (C,): sum of the regrets of the actions measured
    total_precision: Floats  # (C,)
    radius: Floats  # (C,)
    distance: Floats  # (C,): ‖θ̂ - θ‖ in the norm of V; the certificate says it is below the radius
    bound: Floats  # (C,): certified regret bound


Loop = Callable[[Any, Any, Truth, Record, Stop, int], tuple[int, bool]]


@kernel
def never(params: Any, state: Any) -> bool:
    """A rule that never stops to plan."""
    return False


def make_loop(rule: Rule) -> Loop:
    """The loop of one rule: from a round until the end, a stop, or until the rule wants to plan."""
    # Plain functions in a closure: Numba's disk cache knows them by name.
    choose, absorb, recommend = rule.choose, rule.absorb, rule.recommend
    radius_now, candidates_now, bound_now = rule.radius, rule.candidates, rule.bound
    wants_plan = rule.wants_plan or never

    def loop(
        params: Any, state: Any, truth: Truth, record: Record, stop: Stop, start: int
    ) -> tuple[int, bool]:
        # Arrays used in every round are taken out of their tuples once.
        sigmas, means, noise, draws = truth.sigma, truth.means, truth.noise, truth.draws
        action_sigma, pulled, checkpoints = truth.action_sigma, record.pulled, record.checkpoints
        opening, turn = truth.opening, -1
        best = means.max()
        top = best  # of the actions that are allowed now
        allowed = np.ones(means.size, np.bool_)
        # No two actions differ by more than this, whatever was measured.
        trivial = 2.0 * params.setting.radius.norm_bound * params.setting.radius.max_norm
        checkpoint = int(record.progress[0])
        cumulative, precision = record.progress[1], record.progress[2]
        measured = record.progress[3] > 0.0
        for t in range(start, sigmas.size):
            if not measured and not wants_plan(params, state):
                if opening.size > 0 and opening[t] != turn:
                    turn = opening[t]
                    # One by one: Numba takes seconds to compile the message of a copy that does not fit.
                    for k in range(allowed.size):
                        allowed[k] = truth.masks[turn, k]
                    top = truth.tops[turn]
                before = sigmas[t] if truth.announced else math.nan
                action = choose(params, state, allowed, before, draws[t])
                sigma = sigmas[t] * action_sigma[action]
                reward = means[action] + sigma * noise[t]
                absorb(params, state, action, reward, math.nan if truth.hidden else sigma)
                pulled[t] = action
                cumulative += top - means[action]
                precision += 1.0 / (sigma * sigma)
                measured = True
            if wants_plan(params, state):
                # What was just measured is recorded with what planning makes of it.
                record.progress[0], record.progress[1], record.progress[2] = checkpoint, cumulative, precision
                record.progress[3] = 1.0 if measured else 0.0
                return t, False
            measured = False
            due = checkpoint < checkpoints.size and t + 1 == checkpoints[checkpoint]
            if not due and stop.kind == NEVER:
                continue
            advised, radius = recommend(params, state), radius_now(params, state)
            candidates = candidates_now(params, state)
            if record.advice.kind != BEST:
                advised = recommended(
                    record.advice, pulled[: t + 1], advised, state.model, candidates, radius
                )
            stopped = (
                stop.kind != NEVER
                and stop.kind != GAP
                and has_won(stop, state.model, advised, radius, precision)
            )
            if not due and not stopped and stop.kind != GAP:
                continue
            bound = bound_now(params, state, candidates, advised, radius)
            bound = bound if bound < trivial else trivial  # also where it is no number
            stopped = stopped or (stop.kind == GAP and bound <= stop.eps)
            if due or stopped:
                # After a stop nothing changes any more: the later checkpoints see the same.
                last = checkpoints.size if stopped else checkpoint + 1
                distance = distance_to(state.model, truth.theta)
                for c in range(checkpoint, last):
                    record.advised[c] = advised
                    record.simple_regret[c] = best - means[advised]
                    record.cumulative_regret[c] = cumulative
                    record.total_precision[c] = precision
                    record.radius[c] = radius
                    record.distance[c] = distance
                    record.bound[c] = bound
                checkpoint = last
            if stopped:
                record.pulled[t + 1 :] = -1
                return t + 1, True
        return truth.sigma.size, False

    return loop


def run_replication(
    loop: Loop, rule: Rule, params: Any, state: Any, truth: Truth, record: Record, stop: Stop
) -> tuple[int, bool]:
    """One replication, planning whenever the rule asks for it: the rounds used, and whether it stopped."""
    done, stopped = 0, False
    while True:
        done, stopped = loop(params, state, truth, record, stop, done)
        if stopped or done == truth.sigma.size:
            return done, stopped
        if rule.plan is None:
            raise ValueError(
                f"{rule.name!r} wants to plan but has no `plan`: give the rule one, or drop `wants_plan`."
            )
        rule.plan(params, state)
