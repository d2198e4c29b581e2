"""The replication loop on sets that answer questions: aim, measure a vector, learn, record."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.actions.oracle_set import Oracle
from noisewise.core.compiler.kernels import kernel
from noisewise.core.model.covariances import distance_to
from noisewise.core.model.dense import Floats
from noisewise.core.model.vectors import covariance
from noisewise.policies.shell.on_sets import OnSets, SetState, observe, recommends
from noisewise.policies.shell.rule import Rule
from noisewise.simulation.stopping import NEVER, Stop


class SetTruth(NamedTuple):
    """What the world knows and the rule does not."""

    theta: Floats  # (dim,)
    best: float  # the value of the best action
    sigma: Floats  # (horizon,)
    noise: Floats  # (horizon,)
    draws: Floats  # (horizon, dim or 0)
    hidden: bool


class SetRecord(NamedTuple):
    """What is written down: every vector measured, and the state of affairs at the checkpoints."""

    pulled: Floats  # (horizon, dim): NaN after the stop
    checkpoints: NDArray[np.int64]  # (C,), ascending
    # In the order of results.PER_CHECKPOINT:
    advised: Floats  # (C, dim)
    simple_regret: Floats  # (C,)
    cumulative_regret: Floats  # (C,)
    total_precision: Floats  # (C,)
    radius: Floats  # (C,)
    distance: Floats  # (C,)
    bound: Floats  # (C,)


SetLoop = Callable[[Any, Any, bool, SetState, SetTruth, SetRecord, Stop], tuple[int, bool]]
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
        record: SetRecord,
        stop: Stop,
    ) -> tuple[int, bool]:
        inner, checkpoints = state.inner, record.checkpoints
        dim = truth.theta.size
        direction, vector, advised, rival = np.empty(dim), np.empty(dim), np.empty(dim), np.empty(dim)
        # No two actions differ by more than this, whatever was measured.
        trivial = 2.0 * params.setting.radius.norm_bound * params.setting.radius.max_norm
        checkpoint, cumulative, precision = 0, 0.0, 0.0
        for t in range(truth.sigma.size):
            spread = covariance(inner.model)
            reach = aim(params, inner, truth.draws[t], direction)
            largest(shape, direction, spread, reach, vector)
            narrow(params, state, spread, vector)
            sigma = truth.sigma[t]
            value = np.dot(truth.theta, vector)
            told = math.nan if truth.hidden else sigma
            observe(
                absorb,
                radius_now,
                estimate,
                largest,
                params,
                shape,
                state,
                vector,
                value + sigma * truth.noise[t],
                told,
            )
            record.pulled[t] = vector
            cumulative += truth.best - value
            precision += 1.0 / (sigma * sigma)
            due = checkpoint < checkpoints.size and t + 1 == checkpoints[checkpoint]
            if not due and stop.kind == NEVER:
                continue
            parameter, radius = estimate(params, inner), radius_now(params, inner)
            recommends(largest, shape, state, last, parameter, advised)
            bound = contrast(shape, parameter, covariance(inner.model), radius, advised, rival)
            bound = max(bound, 0.0) if bound < trivial else trivial  # also where it is no number
            stopped = stop.kind != NEVER and bound <= stop.eps
            if due or stopped:
                # After a stop nothing changes any more: the later checkpoints see the same.
                until = checkpoints.size if stopped else checkpoint + 1
                record.advised[checkpoint:until] = advised
                record.simple_regret[checkpoint:until] = truth.best - np.dot(truth.theta, advised)
                record.cumulative_regret[checkpoint:until] = cumulative
                record.total_precision[checkpoint:until] = precision
                record.radius[checkpoint:until] = radius
                record.distance[checkpoint:until] = distance_to(inner.model, truth.theta)
                record.bound[checkpoint:until] = bound
                checkpoint = until
            if stopped:
                record.pulled[t + 1 :] = np.nan
                return t + 1, True
        return truth.sigma.size, False

    return loop
