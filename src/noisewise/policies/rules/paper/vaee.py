"""VAEE (Algorithm 1): measure the widest action, and drop those that cannot be the best."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.actions import ActionSet
from noisewise.core.choice.selection import (
    Mask,
    drop_ruled_out,
    first_best,
    first_largest,
    first_largest_candidate,
)
from noisewise.core.model.dense import Floats, fold, new_model
from noisewise.core.model.model import Model
from noisewise.core.support.checks import check_choice
from noisewise.policies.shared.least_squares import Setting, imagine, make_setting, present_radius
from noisewise.policies.shell.on_sets import OnSets
from noisewise.policies.shell.options import SharedOptions, constructor, fixed, option
from noisewise.policies.shell.rule import own_ball, rule_in


class Params(NamedTuple):
    """What does not change during a run."""

    setting: Setting
    explore_all: bool
    recommend_last: bool  # on sets of vectors; lists of actions have it from the shell


class State(NamedTuple):
    """The model, and the survivors A_t."""

    model: Model
    candidates: Mask  # (n,)


def make_params(actions: ActionSet, horizon: int | None, options: dict[str, Any]) -> Params:
    """Check the options."""
    explore = check_choice("explore", options["explore"], ("all", "candidates"))
    if explore == "all" and options["recommendation"] == "last":
        raise ValueError(
            "`recommendation` must be 'best' with explore='all': the action measured last may be one "
            "that was measured only to learn from it; got 'last'."
        )
    return Params(make_setting(actions, options), explore == "all", options["recommendation"] == "last")


def init(params: Params) -> State:
    """Line 1: all actions are candidates."""
    model = new_model(params.setting.columns, params.setting.ridge)
    return State(model, np.ones(model.means.size, np.bool_))


def choose(params: Params, state: State, allowed: Mask, sigma: float, draws: Floats) -> int:
    """Line 3: the widest action, of all or of the candidates."""
    # Taken out before the branch: in two places, compiled code would count references to the whole model.
    squared_widths, survivors = state.model.squared_widths, state.candidates
    if params.explore_all:
        return first_largest(squared_widths, allowed)
    return first_largest_candidate(squared_widths, allowed, survivors)


def absorb(params: Params, state: State, action: int, reward: float, sigma: float) -> None:
    """Lines 4-8: learn the measurement, then drop the actions it rules out."""
    fold(state.model, action, reward, sigma)
    drop_ruled_out(state.model, state.candidates, present_radius(params, state))


def recommend(params: Params, state: State) -> int:
    """The best mean among the candidates (note 5)."""
    return first_best(state.model.means, state.model.squared_widths, state.candidates)


def candidates(params: Params, state: State) -> Mask:
    """The survivors A_{t+1}."""
    return state.candidates


def aim(params: Params, state: State, draws: Floats, direction: Floats) -> float:
    """Line 3 on a set of vectors: nothing but the width counts."""
    direction[:] = 0.0
    return 1.0


def among_candidates(params: Any) -> bool:
    """Whether only candidates are measured."""
    return not params.explore_all


def recommends_last(params: Any) -> bool:
    """Whether the action measured last is the advice."""
    return bool(params.recommend_last)


def catch_up(params: Params, state: State, actions: NDArray[np.int64], sigmas: Floats) -> None:
    """Drop what the measurements rule out together; the order in which they came leaves no trace."""
    drop_ruled_out(state.model, state.candidates, present_radius(params, state))


RULE = rule_in(
    __name__,
    name="vaee",
    imagine=imagine,
    radius=present_radius,
    ball=own_ball,
    on_sets=OnSets(aim, eliminates=True, among_candidates=among_candidates, recommends_last=recommends_last),
    reference="Breaking the Total Variance Barrier, Algorithm 1",
    guarantee="anytime certificate; simple regret 2·radius·x, x the clipped level of Theorem 1, for "
    "recommendation='best' (4 for any candidate)",
    cost="n·dim",
)
AS_PRINTED = replace(
    RULE,
    name="vaee_as_printed",
    guarantee="anytime certificate; simple regret 4·radius·x by Theorem 1, for recommendation='last'",
)


class VaeeOptions(SharedOptions):
    """Variance-aware exploration with elimination: always measure the widest action.

    Its bound holds for any recommendation among the candidates, and is smallest for the best mean. Under
    ``explore="all"`` an action may be measured only to learn from it, so ``recommendation="last"`` is
    refused, and nothing is proven about those that count how often an action was measured.
    """

    explore: str = option(
        "all",
        '``"all"`` (default) may measure an action that can no longer be the best, because it may teach '
        'the most about those that can; ``"candidates"``, the paper\'s way, may not.',
    )


vaee = constructor(RULE, VaeeOptions)


class VaeeAsPrintedOptions(SharedOptions):
    """VAEE with the paper's own choices: its radius, measuring candidates only, the last as advice.

    The confidence set is the one its lemma proves; Algorithm 1 misprints it (note 1 on the paper).
    """

    radius: str | float = option("paper")
    recommendation: str = option("last")
    explore: str = fixed("candidates")


vaee_as_printed = constructor(AS_PRINTED, VaeeAsPrintedOptions)
