"""Measure what looks best: the baseline that fools itself."""

from dataclasses import replace
from typing import Unpack

from numpy.typing import ArrayLike

from noisewise.actions import ActionSet, OracleSet
from noisewise.core.choice.selection import Mask, first_best
from noisewise.core.compiler.kernels import kernel
from noisewise.core.model.dense import Floats, theta
from noisewise.policies.rules.baselines.widest import RULE as WIDEST
from noisewise.policies.shared.least_squares import Params, State
from noisewise.policies.shell.on_sets import OnSets
from noisewise.policies.shell.options import SharedOptions, constructor, with_defaults
from noisewise.policies.shell.policy import Policy


@kernel
def choose(params: Params, state: State, allowed: Mask, sigma: float, draws: Floats) -> int:
    """The largest mean."""
    return first_best(state.model.means, state.model.squared_widths, allowed)


@kernel
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


@constructor
def greedy(actions: ActionSet | OracleSet | ArrayLike, **shared: Unpack[SharedOptions]) -> Policy:
    """Always measure the action with the largest mean, and recommend it."""
    return Policy(RULE, actions, with_defaults("greedy", shared))
