"""Measure the actions in turn: the baseline that people use."""

from dataclasses import replace

import numpy as np

from noisewise.core.choice.selection import Mask
from noisewise.core.model.dense import TOLD, Floats
from noisewise.policies.rules.baselines.widest import RULE as WIDEST
from noisewise.policies.shared.least_squares import Params, State
from noisewise.policies.shell.options import SharedOptions, constructor


def choose(params: Params, state: State, allowed: Mask, sigma: float, draws: Floats) -> int:
    """The allowed action whose turn it is."""
    options = np.flatnonzero(allowed)
    return int(options[int(state.model.tally[TOLD]) % options.size])


RULE = replace(
    WIDEST,
    name="round_robin",
    on_sets=None,  # a set has no next action in turn
    choose=choose,
    pools=False,
    reference="baseline",
    guarantee="anytime certificate",
)


round_robin = constructor(RULE, SharedOptions, "Measure the actions in turn; recommend the largest mean.")
