"""VAEE for heavy tails (Algorithm 3): the widest action, with an estimate that no outlier can carry away."""

from typing import Any, NamedTuple

import numpy as np

from noisewise.actions import ActionSet
from noisewise.core.choice.selection import Mask, drop_ruled_out
from noisewise.core.model.dense import DenseModel, new_dense
from noisewise.policies.robust.estimates import (
    MEDIAN,
    TAU0,
    Memory,
    Robust,
    all_or_none,
    imagine_robustly,
    learn_robustly,
    make_robust,
    new_memory,
    robust_bound,
    robust_certificate,
    robust_radius,
    with_room,
)
from noisewise.policies.rules.paper import vaee
from noisewise.policies.shared.least_squares import Setting, within
from noisewise.policies.shell.on_sets import OnSets
from noisewise.policies.shell.options import SharedOptions, constructor, option
from noisewise.policies.shell.rule import rule_in


class Params(NamedTuple):
    """What does not change during a run."""

    setting: Setting
    explore_all: bool
    recommend_last: bool  # on sets of vectors
    robust: Robust


class State(NamedTuple):
    """The model, the survivors A_t, and what the estimate keeps."""

    model: DenseModel
    candidates: Mask  # (n,)
    memory: Memory


def make_params(actions: ActionSet, horizon: int | None, options: dict[str, Any]) -> Params:
    """Check the options."""
    setting, robust = make_robust(actions, horizon, options)
    explored = vaee.make_params(actions, horizon, options | {"radius": "mixture"})
    if robust.estimator == MEDIAN and not explored.explore_all:
        raise ValueError(
            "`explore` must be 'all' with estimator='median-of-means', whose certificate needs measurements "
            "that are not chosen by looking at values; got 'candidates'."
        )
    return Params(setting, explored.explore_all, explored.recommend_last, robust)


def init(params: Params) -> State:
    """Line 1: all actions are candidates."""
    model = new_dense(params.setting.columns, params.setting.ridge)
    memory = new_memory(params.setting, params.robust)
    return State(model, np.ones(model.means.size, np.bool_), memory)


def absorb(params: Params, state: State, action: int, reward: float, sigma: float) -> None:
    """Lines 4-8: learn the measurement, then drop the actions it rules out."""
    learn_robustly(params, state, action, reward, sigma)
    # Medians hold at one moment: what they rule out is asked for at that moment, and not kept.
    if params.robust.estimator != MEDIAN:
        drop_ruled_out(state.model, state.candidates, robust_radius(params, state))


def candidates(params: Params, state: State) -> Mask:
    """The survivors A_{t+1}; for medians, what the present certificate does not rule out."""
    if params.robust.estimator != MEDIAN:
        return state.candidates
    return within(state.model, robust_radius(params, state))


RULE = rule_in(
    __name__,
    name="robust_vaee",
    absorb_many=all_or_none(absorb),
    make_room=with_room,
    choose=vaee.choose,
    imagine=imagine_robustly,
    recommend=vaee.recommend,
    radius=robust_radius,
    certificate=robust_certificate,
    bound=robust_bound,
    on_sets=OnSets(
        vaee.aim,
        eliminates=True,
        among_candidates=vaee.among_candidates,
        recommends_last=vaee.recommends_last,
    ),
    reference="Breaking the Total Variance Barrier, Algorithm 3",
    guarantee="anytime certificate with floor=True and tau0='lemma'; fixed-design one by medians of means",
    cost="n·dim, and for estimator='huber' all measurements so far",
)


class RobustVaeeOptions(SharedOptions):
    """VAEE for noise with heavy tails or outliers: sigma must be its standard deviation, no more."""

    estimator: str = option(
        "huber",
        '``"huber"``: the adaptive pseudo-Huber estimate, exactly, from all measurements; ``"one-pass"``: '
        'the same loss without a history, at a constant cost; ``"median-of-means"``: the tightest '
        "certificate, under any noise, if what is measured never depends on values.",
    )
    tau0: float | str = option(
        TAU0,
        'How many of its error bars one measurement may move the estimate; or ``"lemma"``, the value that '
        "the proof needs, which clips next to nothing. Not for medians.",
    )
    floor: bool = option(
        False, "Raise small sigmas as the proof needs it, at a price in accuracy; the paper prints no floor."
    )
    explore: str = option("all", '``"all"`` or ``"candidates"``, as for `vaee`; medians need ``"all"``.')
    blocks: int | None = option(
        None, "How many blocks the median is taken over, an odd number; default: what is best for delta."
    )
    horizon: int | None = option(
        None,
        'Measurements to plan for; ``estimator="huber"`` takes no more. Default: 10,000, and more where no '
        "proof rests on it.",
    )
    radius: str | float = option(
        "paper",
        '``"paper"``: the certificate published with the estimator, at ``delta/4`` where that holds with '
        "probability ``1 - 4·delta``; or a number.",
    )


robust_vaee = constructor(RULE, RobustVaeeOptions)
