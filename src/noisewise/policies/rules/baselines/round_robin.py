"""Measure the actions in turn: the baseline that people use."""

from dataclasses import replace
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from noisewise.actions import ActionSet
from noisewise.core.choice.selection import Mask
from noisewise.core.compiler.kernels import kernel
from noisewise.core.model.dense import TOLD, Floats
from noisewise.policies.rules.baselines.widest import RULE as WIDEST
from noisewise.policies.shared.least_squares import Params, State
from noisewise.policies.shell.options import SharedOptions, constructor, with_defaults
from noisewise.policies.shell.policy import Policy


@kernel
def choose(params: Params, state: State, allowed: Mask, sigma: float, draws: Floats) -> int:
    """The allowed action whose turn it is."""
    options = np.flatnonzero(allowed)
    return int(options[int(state.model.tally[TOLD]) % options.size])


RULE = replace(
    WIDEST,
    name="round_robin",
    choose=choose,
    pools=False,
    reference="baseline",
    guarantee="anytime certificate",
)


@constructor
def round_robin(actions: ActionSet | ArrayLike, **shared: Unpack[SharedOptions]) -> Policy:
    """Measure the actions in turn; recommend the largest mean."""
    return Policy(RULE, actions, with_defaults("round_robin", shared))
