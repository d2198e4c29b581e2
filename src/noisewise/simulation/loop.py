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
from noisewise.simulation.record import Record, count_round, is_due, write_down
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


Loop = Callable[[Any, Any, Truth, Record, Advice, Stop, int], tuple[int, bool]]


@kernel
def never(params: Any, state: Any) -> bool:
    """A rule that never stops to plan."""
    return False


@kernel
def allow(truth: Truth, turn: int, allowed: Mask) -> float:
    """Let the actions be measured whose turn it is; the best mean among them."""
    # One by one: Numba takes seconds to compile the message of a copy that does not fit.
    for k in range(allowed.size):
        allowed[k] = truth.masks[turn, k]
    return float(truth.tops[turn])


def make_loop(rule: Rule) -> Loop:
    """The loop of one rule: from a round until the end, a stop, or until the rule wants to plan."""
    # Plain functions in a closure: Numba's disk cache knows them by name.
    choose, absorb, recommend = rule.choose, rule.absorb, rule.recommend
    radius_now, candidates_now, bound_now = rule.radius, rule.candidates, rule.bound
    wants_plan = rule.wants_plan or never

    def loop(
        params: Any, state: Any, truth: Truth, record: Record, advice: Advice, stop: Stop, start: int
    ) -> tuple[int, bool]:
        # Arrays used in every round are taken out of their tuples once.
        sigmas, means, noise, draws = truth.sigma, truth.means, truth.noise, truth.draws
        action_sigma, pulled, progress = truth.action_sigma, record.pulled, record.progress
        best, turn = means.max(), -1
        top = best  # of the actions that are allowed now
        allowed = np.ones(means.size, np.bool_)
        # No two actions differ by more than this, whatever was measured.
        trivial = 2.0 * params.setting.radius.norm_bound * params.setting.radius.max_norm
        for t in range(start, sigmas.size):
            if not progress.unrecorded[0] and not wants_plan(params, state):
                if truth.opening.size > 0 and truth.opening[t] != turn:
                    turn = truth.opening[t]
                    top = allow(truth, turn, allowed)
                before = sigmas[t] if truth.announced else math.nan
                action = choose(params, state, allowed, before, draws[t])
                sigma = sigmas[t] * action_sigma[action]
                reward = means[action] + sigma * noise[t]
                absorb(params, state, action, reward, math.nan if truth.hidden else sigma)
                pulled[t] = action
                count_round(progress, top - means[action], sigma)
            if wants_plan(params, state):
                # What was just measured is recorded with what planning makes of it.
                return t, False
            progress.unrecorded[0] = False
            due = is_due(record, t)
            if not due and stop.kind == NEVER:
                continue
            advised, radius = recommend(params, state), radius_now(params, state)
            candidates = candidates_now(params, state)
            if advice.kind != BEST:
                advised = recommended(advice, pulled[: t + 1], advised, state.model, candidates, radius)
            stopped = has_won(stop, state.model, advised, radius, progress.precision[0])
            if not due and not stopped and stop.kind != GAP:
                continue
            bound = bound_now(params, state, candidates, advised, radius)
            bound = bound if bound < trivial else trivial  # also where it is no number
            stopped = stopped or (stop.kind == GAP and bound <= stop.eps)
            if due or stopped:
                distance = distance_to(state.model, truth.theta)
                write_down(record, stopped, advised, best - means[advised], radius, distance, bound)
            if stopped:
                pulled[t + 1 :] = -1
                return t + 1, True
        return sigmas.size, False

    return loop


def run_replication(
    loop: Loop,
    rule: Rule,
    params: Any,
    state: Any,
    truth: Truth,
    record: Record,
    advice: Advice,
    stop: Stop,
) -> tuple[int, bool]:
    """One replication, planning whenever the rule asks for it: the rounds used, and whether it stopped."""
    done, stopped = 0, False
    while True:
        done, stopped = loop(params, state, truth, record, advice, stop, done)
        if stopped or done == truth.sigma.size:
            return done, stopped
        if rule.plan is None:
            raise ValueError(
                f"{rule.name!r} wants to plan but has no `plan`: give the rule one, or drop `wants_plan`."
            )
        rule.plan(params, state)
