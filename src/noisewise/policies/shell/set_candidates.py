"""Which actions of an infinite set may still be the best, and the widest of them."""

from typing import Any

import numpy as np

from noisewise.actions import OracleSet
from noisewise.actions.among import Test, widest_among
from noisewise.core.choice.selection import Mask
from noisewise.core.model.dense import Floats
from noisewise.core.model.vectors import covariance
from noisewise.policies.shell.on_sets import SetState, not_ruled_out, recommends, remembered
from noisewise.policies.shell.rule import Rule


def recommended(rule: Rule, actions: OracleSet, params: Any, state: SetState) -> Floats:
    """The action to take if measuring stops now."""
    on_sets: Any = rule.on_sets
    advice = np.empty(actions.dim)
    parameter, last = on_sets.parameter(params, state.inner), on_sets.recommends_last(params)
    recommends(actions.oracle.largest, actions.shape, state, last, parameter, advice)
    return advice


def candidates(rule: Rule, actions: OracleSet, params: Any, state: SetState) -> Test:
    """The test that actions pass if they may still be the best."""
    on_sets: Any = rule.on_sets
    radius = float(rule.radius(params, state.inner))
    parameter, spread = on_sets.parameter(params, state.inner), covariance(state.inner.model)
    advice = recommended(rule, actions, params, state)

    def passes(points: Floats) -> Mask:
        now = not_ruled_out(parameter, spread, radius, advice, points)
        return np.asarray(now & remembered(state.memory, points))

    return passes


def narrowed(
    rule: Rule, actions: OracleSet, params: Any, state: SetState, spread: Floats, vector: Floats
) -> Floats:
    """The vector itself if it is a candidate, otherwise the widest candidate found."""
    passes = candidates(rule, actions, params, state)
    if passes(vector[None, :])[0]:
        return vector
    return widest_among(actions, spread, passes, recommended(rule, actions, params, state))
