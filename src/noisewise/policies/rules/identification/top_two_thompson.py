"""Top-two Thompson sampling: tell the winner of a posterior draw from the winner of another draw."""

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from noisewise.actions import ActionSet
from noisewise.core.choice.selection import (
    TIE,
    Mask,
    first_best,
    first_near,
    masked_argmax,
    most_telling,
    widest,
)
from noisewise.core.model.covariances import CANCELLED, contrast_widths, perturbed_means
from noisewise.core.model.dense import TOLD, Floats, total_precision
from noisewise.core.model.model import Model
from noisewise.core.support.checks import check_choice, check_probability
from noisewise.policies.rules.baselines.widest import RULE as WIDEST
from noisewise.policies.shared.least_squares import Setting, State, make_setting
from noisewise.policies.shell.options import SharedOptions, constructor, option

#: Draws until the challenger is taken by transport cost instead; the original draws for ever.
DRAWS = 20


class Params(NamedTuple):
    """What does not change during a run."""

    setting: Setting
    leader_share: float  # β: how often the leader is measured
    by_transport: bool
    by_pair: bool  # only the leader and its challenger are ever measured


def make_params(actions: ActionSet, horizon: int | None, options: dict[str, Any]) -> Params:
    """Check the options."""
    share = check_probability("leader_share", options["leader_share"])
    challenger = check_choice("challenger", options["challenger"], ("draw", "transport"))
    # Files from before there was a choice do not say it.
    probe = check_choice("probe", options.get("probe", "pair"), ("linear", "pair"))
    return Params(make_setting(actions, options), share, challenger == "transport", probe == "pair")


def choose(params: Params, state: State, allowed: Mask, sigma: float, draws: Floats) -> int:
    """What teaches most about the difference of a draw's winner and its challenger; or one of the two."""
    model, dim = state.model, params.setting.columns.shape[0]
    # Who is only compared need not be allowed.
    compared = allowed if params.by_pair else np.ones(allowed.size, np.bool_)
    leader = first_best(perturbed_means(model, draws[1 : dim + 1], 1.0), model.squared_widths, compared)
    coin = 0.5 * math.erfc(-draws[0] / math.sqrt(2.0))  # from a normal number, a uniform one
    if params.by_pair and coin < params.leader_share:
        return leader
    rival = challenger(params, model, leader, compared, draws)
    if params.by_pair:
        return rival
    return widest(model, allowed) if rival == leader else probe(model, leader, rival, allowed)


def challenger(params: Params, model: Model, leader: int, compared: Mask, draws: Floats) -> int:
    """The best under another draw from ``N(θ̂, V⁻¹)`` that disagrees, or the rival by transport cost."""
    dim = params.setting.columns.shape[0]
    if not params.by_transport:
        for again in range(1, DRAWS):
            fresh = draws[1 + again * dim : 1 + (again + 1) * dim]
            other = first_best(perturbed_means(model, fresh, 1.0), model.squared_widths, compared)
            if other != leader:
                return other
    return cheapest_rival(model, leader, compared)


def probe(model: Model, leader: int, rival: int, allowed: Mask) -> int:
    """The allowed action that takes most off the variance of the two's difference, at the usual noise.

    That is the harmonic mean of the variances told; before the first, the widest action's own.
    """
    told = model.tally[TOLD]
    variance = told / total_precision(model) if told > 0.0 else model.squared_widths.max()
    return most_telling(model, leader, rival, variance, allowed)


def cheapest_rival(model: Model, leader: int, allowed: Mask) -> int:
    """The rival most easily mistaken for the leader: the least ``(<θ̂, leader - a>)₊²/‖leader - a‖²``."""
    widths = contrast_widths(model, leader)
    lead = np.maximum(model.means[leader] - model.means, 0.0)
    terms = model.squared_widths + model.squared_widths[leader]
    # A copy of the leader differs from it by rounding alone.
    rivals = allowed & (widths * widths > 2.0 * CANCELLED * terms)
    rivals[leader] = False
    if not rivals.any():
        return leader
    # In widths, where 1e-9 is nothing: by rounding, a lead is never quite 0.
    behind = lead / np.maximum(widths, 1e-300)
    winner = masked_argmax(-behind, rivals)
    return first_near(-behind, rivals, winner, TIE * (1.0 + behind[winner]))


def enough_draws(params: Params) -> int:
    """A coin, and a normal number for every feature and draw."""
    return int(1 + (1 if params.by_transport else DRAWS) * params.setting.columns.shape[0])


RULE = replace(
    WIDEST,
    name="top_two_thompson",
    on_sets=None,  # the challenger is sought in a list
    make_params=make_params,
    choose=choose,
    n_draws=enough_draws,
    pools=False,
    reconstruction=True,
    reference="Russo 2016; challenger='transport': Shang et al. 2020 (T3C)",
    year=2016,
    guarantee="anytime certificate",
    cost="n·dim per draw",
)


class TopTwoThompsonOptions(SharedOptions):
    """Top-two Thompson sampling: the best under a draw against the best under a draw that disagrees.

    Variance-weighted, on features. It differs from the original, which is about independent options: after
    20 draws without a disagreement the rival that is most easily mistaken for the leader stands in, where the
    original would go on drawing. And the original only ever measures the leader or its challenger
    (``probe="pair"``); with features a third action may tell more about their difference, and is measured
    by default.
    """

    probe: str = option(
        "linear",
        '``"linear"``: measure the action, of all, that takes most off the variance of the difference of '
        'leader and challenger; ``"pair"``: one of the two, as in the original.',
    )
    leader_share: float = option(
        0.5, 'How often the leader itself is measured, by ``probe="pair"``; strictly between 0 and 1.'
    )
    challenger: str = option(
        "draw",
        '``"draw"``, as in the original; ``"transport"``: always the rival most easily mistaken for the '
        "leader (T3C).",
    )


top_two_thompson = constructor(RULE, TopTwoThompsonOptions)
