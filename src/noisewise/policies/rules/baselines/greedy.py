"""Measure what looks best: the baseline that fools itself."""

from dataclasses import replace

from noisewise.core.choice.selection import Mask, first_best
from noisewise.core.model.dense import Floats, theta
from noisewise.policies.rules.baselines.widest import RULE as WIDEST
from noisewise.policies.shared.least_squares import Params, State
from noisewise.policies.shell.on_sets import OnSets
from noisewise.policies.shell.options import SharedOptions, constructor


def choose(params: Params, state: State, allowed: Mask, sigma: float, draws: Floats) -> int:
    """The largest mean."""
    return first_best(state.model.means, state.model.squared_widths, allowed)


def aim(params: Params, state: State, draws: Floats, direction: Floats) -> float:
    """On a set of vectors: the best action for the estimate."""
    direction[:] = theta(state.model)
    return 0.0


RULE = replace(
    WIDEST,
    name="greedy",
    choose=choose,
    on_sets=OnSets(aim),
    reference="baseline",
    guarantee="anytime certificate, which need not shrink",
)


greedy = constructor(
    RULE,
    SharedOptions,
    "Always measure the action with the largest mean, and recommend it.",
)
