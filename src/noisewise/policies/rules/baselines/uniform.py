"""Measure an action at random: the baseline that knows nothing."""

import math
from dataclasses import replace

import numpy as np

from noisewise.core.choice.selection import Mask
from noisewise.core.model.dense import Floats
from noisewise.policies.rules.baselines.widest import RULE as WIDEST
from noisewise.policies.shared.least_squares import Params, State
from noisewise.policies.shell.on_sets import OnSets
from noisewise.policies.shell.options import SharedOptions, constructor


def choose(params: Params, state: State, allowed: Mask, sigma: float, draws: Floats) -> int:
    """Any allowed action, all with the same probability."""
    share = 0.5 * math.erfc(-draws[0] / math.sqrt(2.0))  # Φ of a normal draw is uniform
    options = np.flatnonzero(allowed)
    return int(options[min(int(share * options.size), options.size - 1)])


def one_draw(params: Params) -> int:
    """One random number a round."""
    return 1


def aim(params: Params, state: State, draws: Floats, direction: Floats) -> float:
    """On a set of vectors: the best action for a random direction, a random point of a ball's surface."""
    direction[:] = draws
    return 0.0


RULE = replace(
    WIDEST,
    name="uniform",
    choose=choose,
    n_draws=one_draw,
    on_sets=OnSets(aim, random=True),
    pools=False,
    reference="baseline",
    guarantee="anytime certificate",
)


uniform = constructor(RULE, SharedOptions, "Measure actions uniformly at random; recommend the largest mean.")
