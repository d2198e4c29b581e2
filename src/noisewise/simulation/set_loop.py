"""The replication loop on sets that answer questions: aim, measure a vector, learn, record."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from noisewise.actions.oracle_set import Oracle
from noisewise.core.compiler.kernels import kernel
from noisewise.core.model.covariances import distance_to
from noisewise.core.model.dense import Floats
from noisewise.core.model.vectors import covariance
from noisewise.policies.shell.on_sets import OnSets, SetState, keep_if_due, learn_vector, recommends
from noisewise.policies.shell.rule import Rule
from noisewise.simulation.record import Record, count_round, is_due, write_down
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
#: Moves a choice to where it is allowed: ``(params, state, spread, vector)``.
Narrow = Callable[[Any, SetState, Floats, Floats], None]


@kernel
def anywhere(params: Any, state: SetState, spread: Floats, vector: Floats) -> None:
    """Every action of the set may be measured."""


def make_set_loop(rule: Rule, oracle: Oracle, narrow: Narrow = anywhere) -> SetLoop:
    """The loop of one rule on one kind of set, from the first round to the end or a stop."""
    on_sets: OnSets = rule.on_sets  # type: ignore[assignment]
    # Plain functions in a closure: Numba's disk cache knows them by name.
    aim, estimate, absorb, radius_now = on_sets.aim, on_sets.parameter, rule.absorb, rule.radius
    largest, contrast = oracle.largest, oracle.contrast

    def loop(
        params: Any,
        shape: Any,
        last: bool,
        state: SetState,
        truth: SetTruth,
        record: Record,
        stop: Stop,
    ) -> tuple[int, bool]:
        inner, progress = state.inner, record.progress
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
            record.pulled[t] = vector
            count_round(progress, truth.best - value, sigma)
            due = is_due(record, t)
            if not due and stop.kind == NEVER:
                continue
            parameter, radius = estimate(params, inner), radius_now(params, inner)
            recommends(largest, shape, state, last, parameter, advised)
            bound = contrast(shape, parameter, covariance(inner.model), radius, advised, rival)
            bound = max(bound, 0.0) if bound < trivial else trivial  # also where it is no number
            stopped = stop.kind != NEVER and bound <= stop.eps
            if due or stopped:
                distance = distance_to(inner.model, truth.theta)
                simple_regret = truth.best - np.dot(truth.theta, advised)
                write_down(record, stopped, advised, simple_regret, radius, distance, bound)
            if stopped:
                record.pulled[t + 1 :] = np.nan
                return t + 1, True
        return truth.sigma.size, False

    return loop
