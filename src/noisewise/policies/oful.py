"""OFUL (Abbasi-Yadkori, Pál and Szepesvári 2011): optimism that takes all measurements for equally good."""

from typing import Any, NamedTuple, Unpack

from numpy.typing import ArrayLike

from noisewise.actions import ActionSet, OracleSet
from noisewise.core.checks import check_positive
from noisewise.core.kernels import kernel
from noisewise.core.model import Floats, fold, new_model, theta
from noisewise.core.selection import Mask, most_optimistic
from noisewise.policies.least_squares import (
    Setting,
    State,
    best_mean,
    make_setting,
    not_ruled_out,
    present_radius,
)
from noisewise.policies.on_sets import OnSets
from noisewise.policies.options import SharedOptions, constructor_with, with_defaults
from noisewise.policies.policy import Policy
from noisewise.policies.rule import Rule


class Params(NamedTuple):
    """What does not change during a run."""

    setting: Setting
    noise_level: float


def make_params(actions: ActionSet, horizon: int | None, options: dict[str, Any]) -> Params:
    """Check the options.

    In the textbook ``V = ridge·I + Σ a aᵀ`` without weights; our model divides by the noise level squared,
    so the ridge is divided by it too.
    """
    level = check_positive("noise_level", options["noise_level"])
    check_positive("ridge", options["ridge"])
    return Params(make_setting(actions, options | {"ridge": options["ridge"] / level**2}), level)


def init(params: Params) -> State:
    """Nothing measured yet."""
    return State(new_model(params.setting.columns, params.setting.ridge))


@kernel
def choose(params: Params, state: State, allowed: Mask, sigma: float, draws: Floats) -> int:
    """The most optimistic action."""
    return most_optimistic(state.model, allowed, present_radius(params, state))


@kernel
def absorb(params: Params, state: State, action: int, reward: float, sigma: float) -> None:
    """Learn as if every measurement had the assumed noise."""
    fold(state.model, action, reward, params.noise_level)


@kernel
def imagine(params: Params, state: State, action: int, sigma: float) -> None:
    """A pending measurement has the assumed noise, too."""
    fold(state.model, action, state.model.means[action], params.noise_level)


@kernel
def aim(params: Params, state: State, draws: Floats, direction: Floats) -> float:
    """On a set of vectors: the most optimistic action of the confidence ellipsoid."""
    direction[:] = theta(state.model)
    return present_radius(params, state)


RULE = Rule(
    name="oful",
    make_params=make_params,
    init=init,
    choose=choose,
    absorb=absorb,
    imagine=imagine,
    recommend=best_mean,
    radius=present_radius,
    candidates=not_ruled_out,
    on_sets=OnSets(aim),
    sees_sigma="never",
    order_free=True,
    reference="Abbasi-Yadkori, Pál and Szepesvári 2011",
)


@constructor_with(radius="self-normalised")
def oful(
    actions: ActionSet | OracleSet | ArrayLike, *, noise_level: float = 1.0, **shared: Unpack[SharedOptions]
) -> Policy:
    """OFUL: optimism with unweighted least squares. It never looks at sigma.

    Args:
        noise_level: The sigma assumed for every measurement; the certificate holds if none is noisier.
    """
    return Policy(RULE, actions, with_defaults("oful", shared) | {"noise_level": noise_level})
