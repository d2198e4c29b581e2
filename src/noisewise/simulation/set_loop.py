"""The replication loop on sets that answer questions: aim, measure a vector, learn, record."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from noisewise.actions.oracle_set import Oracle
from noisewise.core.model.covariances import distance_to
from noisewise.core.model.dense import Floats
from noisewise.core.model.vectors import covariance
from noisewise.policies.shell.on_sets import OnSets, SetState, keep_if_due, learn_vector, recommends
from noisewise.policies.shell.rule import Rule
from noisewise.simulation.record import Record, keep, next_due, write_down
from noisewise.simulation.stopping import NEVER, Stop


class SetTruth(NamedTuple):
    """What the world knows and the rule does not."""

    theta: Floats  # (dim,)
    best: float  # the value of the best action
    sigma: Floats  # (horizon,)
    noise: Floats  # (horizon,)
    draws: Floats  # (horizon, dim or 0)
    hidden: bool


SetLoop = Callable[[Any, Any, bool, SetState, SetTruth, Record, Stop], tuple[int, bool]]
SetRounds = Callable[[Any, Any, bool, SetState, SetTruth, Record, Stop], int]
#: Moves a choice to where it is allowed: ``(params, state, spread, vector)``.
Narrow = Callable[[Any, SetState, Floats, Floats], None]


def anywhere(params: Any, state: SetState, spread: Floats, vector: Floats) -> None:
    """Every action of the set may be measured."""


def make_set_rounds(rule: Rule, oracle: Oracle, narrow: Narrow = anywhere) -> SetRounds:
    """The loop of one rule on one kind of set, from the first round to the end or a stop; the rounds done."""
    on_sets: OnSets = rule.on_sets  # type: ignore[assignment]
    # Plain functions in a closure: Numba's disk cache knows them by name.
    aim, estimate, absorb, radius_now = on_sets.aim, on_sets.parameter, rule.absorb, rule.radius
    largest, contrast = oracle.largest, oracle.contrast

    def rounds(
        params: Any, shape: Any, last: bool, state: SetState, truth: SetTruth, record: Record, stop: Stop
    ) -> int:
        inner, progress = state.inner, record.progress
        regret, precision, due = 0.0, 0.0, next_due(record)
        dim = truth.theta.size
        direction, vector, advised, rival = np.empty(dim), np.empty(dim), np.empty(dim), np.empty(dim)
        # No two actions differ by more than this, whatever was measured.
        trivial = 2.0 * params.setting.radius.norm_bound * params.setting.radius.max_norm
        for t in range(truth.sigma.size):
            spread = covariance(inner.model)
            reach = aim(params, inner, truth.draws[t], direction)
            largest(shape, direction, spread, reach, vector)
            narrow(params, state, spread, vector)
            sigma = truth.sigma[t]
            value = np.dot(truth.theta, vector)
            told = math.nan if truth.hidden else sigma
            learn_vector(absorb, params, state, vector, value + sigma * truth.noise[t], told)
            keep_if_due(radius_now, estimate, largest, params, shape, state)
            record.pulled[t][:] = vector
            regret += truth.best - value
            precision += 1.0 / (sigma * sigma)
            if t + 1 != due and stop.kind == NEVER:
                continue
            parameter, radius = estimate(params, inner), radius_now(params, inner)
            recommends(largest, shape, state, last, parameter, advised)
            bound = contrast(shape, parameter, covariance(inner.model), radius, advised, rival)
            bound = max(bound, 0.0) if bound < trivial else trivial  # also where it is no number
            stopped = stop.kind != NEVER and bound <= stop.eps
            if t + 1 == due or stopped:
                distance = distance_to(inner.model, truth.theta)
                simple_regret = truth.best - np.dot(truth.theta, advised)
                keep(progress, regret, precision, False)
                for c in write_down(record, stopped, simple_regret, radius, distance, bound):
                    record.advised[c][:] = advised
                due = next_due(record)
            if stopped:
                for later in range(t + 1, truth.sigma.size):
                    record.pulled[later][:] = np.nan
                return t + 1
        return truth.sigma.size

    return rounds


def make_set_loop(rule: Rule, oracle: Oracle, narrow: Narrow = anywhere) -> SetLoop:
    """The loop of one rule on one kind of set in the interpreter."""
    rounds = make_set_rounds(rule, oracle, narrow)

    def loop(
        params: Any, shape: Any, last: bool, state: SetState, truth: SetTruth, record: Record, stop: Stop
    ) -> tuple[int, bool]:
        done = rounds(params, shape, last, state, truth, record, stop)
        return done, bool(record.progress.stopped[0])

    return loop
