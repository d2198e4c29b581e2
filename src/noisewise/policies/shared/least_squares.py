"""What rules on weighted least squares share: setting, state, learning, certificate, recommendation."""

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from noisewise.actions import ActionSet, OracleSet
from noisewise.core.choice.radius import AVERAGES, RADII, RESTARTED, Radius, confidence_radius, make_radius
from noisewise.core.choice.selection import Mask, drop_ruled_out, first_best
from noisewise.core.model.dense import SAFEST, DenseModel, fold, new_model
from noisewise.core.model.independent import Separate
from noisewise.core.model.model import Model
from noisewise.core.support.checks import check_choice, check_positive

#: The ridge by its name.
BY_DIM = "dim"


class Setting(NamedTuple):
    """What every rule needs to know: the actions, the ridge and the radius of the certificate."""

    columns: NDArray[np.floating]  # (dim, n)
    ridge: float
    radius: Radius


class Params(NamedTuple):
    """Parameters of a rule that has none of its own."""

    setting: Setting


class State(NamedTuple):
    """The state of a rule that remembers nothing beyond the model."""

    model: Model


class HasSetting(Protocol):
    """Parameters of any rule."""

    @property
    def setting(self) -> Setting:
        """What every rule needs to know."""


class HasModel(Protocol):
    """The state of any rule."""

    @property
    def model(self) -> Model:
        """What is known about the actions."""


class HasDenseModel(Protocol):
    """The state of a rule where actions are vectors."""

    @property
    def model(self) -> DenseModel:
        """What is known about the actions, and about their features."""


def ridge_of(actions: ActionSet | OracleSet, options: dict[str, Any], level: float = 1.0) -> float:
    """The ridge as a precision: a number, divided by the square of the noise level, or that of the dimension.

    With `BY_DIM` it is ``dim/norm_bound²``, dim being how many directions the actions span: the prior
    N(0, 1/ridge) of the mixture expects ``‖θ‖² = norm_bound²`` then, and ``ridge·‖θ‖² <= dim`` is what its
    being off costs at most, while every direction saves ``log dim`` of what is learned about it.
    """
    ridge = options["ridge"]
    if not isinstance(ridge, str):
        return check_positive("ridge", ridge) / level**2
    check_choice("ridge", ridge, (BY_DIM,))
    return max(1, actions.rank) / check_positive("norm_bound", options["norm_bound"]) ** 2


def make_setting(actions: ActionSet | OracleSet, options: dict[str, Any]) -> Setting:
    """Check the options that every rule has."""
    radius = make_radius(
        options["radius"],
        delta=options["delta"],
        ridge=ridge_of(actions, options),
        norm_bound=options["norm_bound"],
        max_norm=actions.max_norm,
        sigma_min=options["sigma_min"],
        rank=actions.rank,
    )
    if radius.kind in AVERAGES and isinstance(getattr(actions, "columns", None), Separate):
        raise ValueError(
            f"`radius` must not be {RADII[radius.kind]!r} for options without features, which share no "
            "weights; radius='mixture' serves them."
        )
    if radius.kind == RESTARTED and isinstance(actions, OracleSet):
        raise ValueError(
            "`radius` must not be 'restarted' on an infinite set, whose questions are answered for one "
            f"ellipsoid at a time; got {actions!r}: radius='averaged' serves it."
        )
    return Setting(actions.columns, radius.ridge, radius)


def plain_params(actions: ActionSet, horizon: int | None, options: dict[str, Any]) -> Params:
    """Parameters for a rule without options of its own."""
    return Params(make_setting(actions, options))


def plain_init(params: Params) -> State:
    """The state before any measurement."""
    return State(new_model(params.setting.columns, params.setting.ridge))


def learn(params: HasSetting, state: HasModel, action: int, reward: float, sigma: float) -> None:
    """Fold one measurement into the model."""
    fold(state.model, action, reward, sigma)


def nothing_else(
    params: HasSetting, state: HasModel, actions: NDArray[np.int64], sigmas: NDArray[np.float64]
) -> None:
    """A rule that remembers nothing beyond the model has nothing to catch up with."""


def imagine(params: HasSetting, state: HasModel, action: int, sigma: float) -> None:
    """Pretend that ``action`` was measured and came out as expected: only widths change."""
    fold(state.model, action, state.model.means[action], sigma)


def present_radius(params: HasSetting, state: HasModel) -> float:
    """The radius that goes with the measurements so far."""
    return confidence_radius(params.setting.radius, state.model)


def scaled_radius(radius: Radius, model: Model, scale: float) -> float:
    """The radius with its stochastic part, all but the bias of the ridge, multiplied by ``scale``."""
    return radius.bias + scale * (confidence_radius(radius, model) - radius.bias)


def plausible_among(model: Model, allowed: Mask, radius: float) -> Mask:
    """The allowed actions that a confidence set of this radius does not rule out."""
    hint = model.tally[SAFEST]
    plausible = allowed.copy()
    drop_ruled_out(model, plausible, radius)
    # Looking leaves no trace: the hint belongs to rules that drop for good.
    model.tally[SAFEST] = hint
    return plausible


def within(model: Model, radius: float) -> Mask:
    """The actions that a confidence set of this radius does not rule out."""
    return plausible_among(model, np.ones(model.means.size, np.bool_), radius)


def not_ruled_out(params: HasSetting, state: HasModel) -> Mask:
    """The actions that the present certificate does not rule out."""
    return within(state.model, confidence_radius(params.setting.radius, state.model))


def best_mean(params: HasSetting, state: HasModel) -> int:
    """The action with the largest estimated value."""
    model = state.model
    return first_best(model.means, model.squared_widths, np.ones(model.means.size, np.bool_))
