"""The one replication loop: choose, measure, absorb, record. Plain, or compiled from the same source."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.core.choice.selection import Mask
from noisewise.core.model.covariances import distance_to
from noisewise.core.model.dense import Floats
from noisewise.policies.shell.recommendation import BEST, Advice, recommended
from noisewise.policies.shell.rule import Rule
from noisewise.simulation.record import Record, keep, next_due, write_down
from noisewise.simulation.stopping import GAP, GLR, NEVER, Stop, has_won


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


class Script(NamedTuple):
    """The same as the rounds read it: arrays in machine code, lists in the interpreter, being faster."""

    truth: Truth
    means: Sequence[float] | Floats
    action_sigma: Sequence[float] | Floats
    sigma: Sequence[float] | Floats
    noise: Sequence[float] | Floats
    draws: Sequence[Floats] | Floats
    best: float  # the largest mean
    allowed: Mask  # (n,): the actions whose turn it is; at first all


Loop = Callable[[Any, Any, Truth, Record, Advice, Stop, int], tuple[int, bool]]
Rounds = Callable[[Any, Any, Script, Record, Advice, Stop, int], int]


def allow(truth: Truth, turn: int, allowed: Mask) -> float:
    """Let the actions be measured whose turn it is; the best mean among them."""
    # One by one: Numba takes seconds to compile the message of a copy that does not fit.
    for k in range(allowed.size):
        allowed[k] = truth.masks[turn, k]
    return float(truth.tops[turn])


def functions_of(rule: Any) -> tuple[Callable[..., Any], ...]:
    """What the rounds call of a rule, in their order."""
    chooses = rule.choose, rule.absorb, rule.recommend
    return *chooses, rule.radius, rule.candidates, rule.bound, rule.certain


def make_rounds(rule: Any) -> Rounds:
    """The loop with the functions of a rule: from a round until the end, a stop, or until it wants to plan.

    Returns how many rounds are done, or the round after which the rule has to plan.
    """
    # Plain functions in a closure: Numba's disk cache knows them by name.
    choose, absorb, recommend, radius_now, candidates_now, bound_now, certain_now = functions_of(rule)
    plans, wants_plan = rule.wants_plan is not None, rule.wants_plan or never

    def rounds(
        params: Any, state: Any, script: Script, record: Record, advice: Advice, stop: Stop, start: int
    ) -> int:
        # Everything used in every round is taken out of its tuple once, and counted in numbers.
        truth, sigmas, noise, draws = script.truth, script.sigma, script.noise, script.draws
        means, action_sigma, allowed = script.means, script.action_sigma, script.allowed
        announced, hidden, by_turns = truth.announced, truth.hidden, len(truth.opening) > 0
        pulled, progress, turn, top = record.pulled, record.progress, -1, script.best
        regret, precision = float(progress.regret[0]), float(progress.precision[0])
        unrecorded, due, never_stops = bool(progress.unrecorded[0]), next_due(record), stop.kind == NEVER
        # No two actions differ by more than this, whatever was measured.
        trivial = 2.0 * params.setting.radius.norm_bound * params.setting.radius.max_norm
        for t in range(start, len(sigmas)):
            if not unrecorded and not (plans and wants_plan(params, state)):
                if by_turns and truth.opening[t] != turn:
                    turn = truth.opening[t]
                    top = allow(truth, turn, allowed)
                action = choose(params, state, allowed, sigmas[t] if announced else math.nan, draws[t])
                sigma, mean = sigmas[t] * action_sigma[action], means[action]
                absorb(params, state, action, mean + sigma * noise[t], math.nan if hidden else sigma)
                pulled[t] = action
                regret += top - mean
                precision += 1.0 / (sigma * sigma)
            if plans and wants_plan(params, state):
                # What was just measured is recorded with what planning makes of it.
                keep(progress, regret, precision, True)
                return t
            unrecorded = False
            if t + 1 != due and never_stops:
                continue
            advised, radius = recommend(params, state), radius_now(params, state)
            candidates = candidates_now(params, state)
            if advice.kind != BEST:
                advised = recommended(advice, pulled[: t + 1], advised, state.model, candidates, radius)
            stopped = stop.kind == GLR and certain_now(params, state, advised, stop.eps, radius)
            stopped = stopped or has_won(stop, state.model, advised, precision)
            if t + 1 != due and not stopped and stop.kind != GAP:
                continue
            bound = bound_now(params, state, candidates, advised, radius)
            bound = bound if bound < trivial else trivial  # also where it is no number
            stopped = stopped or (stop.kind == GAP and bound <= stop.eps)
            if t + 1 == due or stopped:
                distance, simple_regret = distance_to(state.model, truth.theta), script.best - means[advised]
                keep(progress, regret, precision, False)
                for c in write_down(record, stopped, simple_regret, radius, distance, bound):
                    record.advised[c] = advised
                due = next_due(record)
            if stopped:
                for later in range(t + 1, len(sigmas)):
                    pulled[later] = -1
                return t + 1
        keep(progress, regret, precision, False)
        return len(sigmas)

    return rounds


def never(params: Any, state: Any) -> bool:
    """A rule that never stops to plan."""
    return False


def make_loop(rule: Rule) -> Loop:
    """The loop of one rule in the interpreter."""
    rounds = make_rounds(rule)

    def loop(
        params: Any, state: Any, truth: Truth, record: Record, advice: Advice, stop: Stop, start: int
    ) -> tuple[int, bool]:
        done = rounds(params, state, _read_out(truth), record, advice, stop, start)
        return done, bool(record.progress.stopped[0])

    return loop


def _read_out(truth: Truth) -> Script:
    """Numbers taken from a list are Python's own, which compute several times as fast as NumPy's."""
    nothing = truth.draws.shape[1] == 0
    return Script(
        truth=truth,
        means=truth.means.tolist(),
        action_sigma=truth.action_sigma.tolist(),
        sigma=truth.sigma.tolist(),
        noise=truth.noise.tolist(),
        draws=[np.empty(0)] * truth.sigma.size if nothing else truth.draws,
        best=float(truth.means.max()),
        allowed=np.ones(truth.means.size, np.bool_),
    )


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
