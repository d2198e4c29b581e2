"""AdaOFUL (Li and Sun 2024): optimism with the adaptive pseudo-Huber estimate, for heavy tails."""

from typing import Any, NamedTuple

from noisewise.actions import ActionSet
from noisewise.core.choice.selection import Mask, most_optimistic
from noisewise.core.model.dense import DenseModel, Floats, new_dense
from noisewise.policies.robust.estimates import (
    Memory,
    Robust,
    all_or_none,
    imagine_robustly,
    learn_robustly,
    make_robust,
    new_memory,
    robust_certificate,
    robust_radius,
    with_room,
)
from noisewise.policies.shared.least_squares import Setting, best_mean, within
from noisewise.policies.shell.options import SharedOptions, constructor, option
from noisewise.policies.shell.rule import rule_in


class Params(NamedTuple):
    """What does not change during a run."""

    setting: Setting
    robust: Robust


class State(NamedTuple):
    """The model, and what the estimate keeps."""

    model: DenseModel
    memory: Memory


def make_params(actions: ActionSet, horizon: int | None, options: dict[str, Any]) -> Params:
    """Check the options."""
    return Params(*make_robust(actions, horizon, options | {"estimator": "huber", "blocks": None}))


def init(params: Params) -> State:
    """``H_0 = λI``."""
    model = new_dense(params.setting.columns, params.setting.ridge)
    return State(model, new_memory(params.setting, params.robust))


def choose(params: Params, state: State, allowed: Mask, sigma: float, draws: Floats) -> int:
    """The most optimistic action."""
    return most_optimistic(state.model, allowed, robust_radius(params, state))


def candidates(params: Params, state: State) -> Mask:
    """The actions that the confidence set does not rule out."""
    return within(state.model, robust_radius(params, state))


RULE = rule_in(
    __name__,
    name="adaoful",
    absorb_many=all_or_none(learn_robustly),
    make_room=with_room,
    absorb=learn_robustly,
    imagine=imagine_robustly,
    recommend=best_mean,
    radius=robust_radius,
    certificate=robust_certificate,
    reference="Li and Sun 2024, AdaOFUL",
    year=2024,
    guarantee="anytime certificate; regret",
    cost="n·dim, and all measurements so far",
    reconstruction=True,
)


class AdaofulOptions(SharedOptions):
    """AdaOFUL: measure what could be the best, by a pseudo-Huber estimate that outliers cannot carry away."""

    tau0: float | str = option(
        "lemma", 'How many of its error bars one measurement may move the estimate; ``"lemma"`` is faithful.'
    )
    floor: bool = option(True, "Raise small sigmas as the proof needs it; True is faithful.")
    horizon: int | None = option(None, "Measurements to plan for; no more can be told. Default: 10,000.")
    radius: str | float = option(
        "paper", '``"paper"``: the lemma\'s, at ``delta/4``; or a number (public code uses 1).'
    )


adaoful = constructor(RULE, AdaofulOptions)
