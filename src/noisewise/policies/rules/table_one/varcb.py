"""VarCB (Jia, Qian, Rakhlin and Wei 2024), our reconstruction: chance by gaps, sharper in quiet rounds.

Each round, sigma being known before the choice, with weights, radius, α and γ² of Weighted OFUL+ and
``s² = max(σ², α²)``:

1. an action is plausible if its upper bound reaches the largest lower bound;
2. if ``γ²·‖a‖ > s²`` for a plausible action: measure the widest plausible one;
3. else, with S the sum of s² over all rounds that came here, this one included, ``η = √(8·n·S/E)`` and
   ``E = d·log(1 + T·A²/(d·λ·α²)) + log(1/δ)``: measure a plausible action ``a`` other than the best with
   probability ``1/(m + (η/s²)·gap(a))``, m the number of plausible ones, else the best;
4. learn it with the sigma ``√max(s², γ²·‖a‖)``.

Only the abstract could be read: the two branches and the rate are the paper's, thresholds and constants are
ours.
"""

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from noisewise.actions import ActionSet
from noisewise.core.choice.selection import Mask, first_best, first_largest
from noisewise.core.model.dense import Floats, fold, new_model
from noisewise.core.model.model import Model
from noisewise.policies.rules.baselines.uniform import one_draw
from noisewise.policies.rules.table_one.weighted_oful_plus import RULE as WEIGHTED_OFUL_PLUS
from noisewise.policies.rules.table_one.weighted_oful_plus import (
    Weighting,
    cautious_sigma,
    make_weighting,
    radius,
)
from noisewise.policies.shared.bounded_noise import BoundedNoiseOptions
from noisewise.policies.shared.least_squares import Setting, make_setting, plausible_among
from noisewise.policies.shell.options import constructor

#: Below 1, so that the share of the last action is never passed by.
ALMOST_1 = 1.0 - 1e-12


class Params(NamedTuple):
    """What does not change during a run."""

    setting: Setting
    weighting: Weighting
    complexity: float  # E


class State(NamedTuple):
    """The model, and the variance of the rounds that were left to chance."""

    model: Model
    variance: Floats  # (1,): S


def make_params(actions: ActionSet, horizon: int | None, options: dict[str, Any]) -> Params:
    """Check the options."""
    setting, weighting = make_setting(actions, options), make_weighting(actions, horizon, options)
    limits = setting.radius
    rank = max(1, limits.rank)
    # α = 1/√T: T·A²/α² = A²/α⁴.
    spread = limits.max_norm**2 / (weighting.floor**4 * rank * limits.ridge)
    complexity = rank * math.log1p(spread) + math.log(1.0 / limits.delta)
    return Params(setting, weighting, complexity)


def init(params: Params) -> State:
    """Nothing measured yet."""
    return State(new_model(params.setting.columns, params.setting.ridge), np.zeros(1))


def believed_variance(params: Params, sigma: float) -> float:
    """``s² = max(σ², α²)``."""
    return max(sigma, params.weighting.floor) ** 2


def is_uncertain(params: Params, state: State, action: int, sigma: float) -> bool:
    """``γ²·‖a‖ > s²``: what it could teach is more than what the noise could hide."""
    width = math.sqrt(max(0.0, state.model.squared_widths[action]))
    return params.weighting.caution * width > believed_variance(params, sigma)


def shares_by_gap(means: Floats, plausible: Mask, best: int, sharpness: float) -> Floats:
    """The probabilities of inverse gap weighting: ``1/(m + sharpness·gap)``, and the rest for the best."""
    n_plausible = plausible.sum()
    gaps = np.maximum(means[best] - means, 0.0)
    shares: Floats = plausible / (n_plausible + sharpness * gaps)
    shares[best] = 0.0
    shares[best] = 1.0 - shares.sum()
    return shares


def choose(params: Params, state: State, allowed: Mask, sigma: float, draws: Floats) -> int:
    """The widest plausible action while it is uncertain; by chance after that."""
    plausible = plausible_among(state.model, allowed, radius(params, state))
    wide = first_largest(state.model.squared_widths, plausible)
    if is_uncertain(params, state, wide, sigma):
        return wide
    variance = believed_variance(params, sigma)
    eta = math.sqrt(8.0 * allowed.size * (state.variance[0] + variance) / params.complexity)
    best = first_best(state.model.means, state.model.squared_widths, plausible)
    shares = shares_by_gap(state.model.means, plausible, best, eta / variance)
    uniform = 0.5 * math.erfc(-draws[0] / math.sqrt(2.0))  # Φ of a normal draw is uniform
    passed = np.cumsum(shares)
    return int(np.searchsorted(passed, min(uniform, ALMOST_1) * passed[-1], side="right"))


def absorb(params: Params, state: State, action: int, reward: float, sigma: float) -> None:
    """Learn with the cautious sigma, and book the variance of a round that was left to chance."""
    # Such a round has no uncertain plausible action, the other kind measures one: the action tells.
    if not is_uncertain(params, state, action, sigma):
        state.variance[0] += believed_variance(params, sigma)
    fold(state.model, action, reward, cautious_sigma(params.weighting, state.model, action, sigma))


RULE = replace(
    WEIGHTED_OFUL_PLUS,
    name="varcb",
    make_params=make_params,
    init=init,
    choose=choose,
    absorb=absorb,
    n_draws=one_draw,
    sees_sigma="before",
    reconstruction=True,
    reference="Jia, Qian, Rakhlin and Wei, NeurIPS 2024",
    year=2024,
    guarantee="anytime certificate; the original: cumulative regret √(n·d·Σσ²) + d², up to logarithms",
    cost="n·dim + dim²",
)


class VarcbOptions(BoundedNoiseOptions):
    """VarCB (our reconstruction): inverse gap weighting that must know sigma before it chooses."""


varcb = constructor(RULE, VarcbOptions)
