"""Information-directed sampling (Kirschner and Krause 2018): little regret for much information."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from noisewise.actions import ActionSet
from noisewise.core.choice.selection import (
    TIE,
    Mask,
    first_largest,
    first_near,
    masked_argmax,
    most_optimistic,
)
from noisewise.core.model.covariances import covariance_with
from noisewise.core.model.dense import Floats
from noisewise.core.native.verbs import verb
from noisewise.core.support.checks import check_choice, check_positive
from noisewise.policies.shared import least_squares
from noisewise.policies.shared.least_squares import Setting, State, make_setting, scaled_radius, within
from noisewise.policies.shell.options import SharedOptions, constructor, option
from noisewise.policies.shell.rule import anytime, below, own_ball, rule_in

#: A mixture counts as optimal when no action promises to improve it by more than this share.
OPTIMAL = 1e-9
#: Exchanges of actions in the mixture; a handful is usual.
MOST_EXCHANGES = 200


class Params(NamedTuple):
    """What does not change during a run."""

    setting: Setting
    factors: Floats  # (n,): action k is measured with sigma·factors[k]
    about_all: bool  # information about everything, or about the most optimistic action
    randomised: bool
    scale: float


def make_params(actions: ActionSet, horizon: int | None, options: dict[str, Any]) -> Params:
    """Check the options."""
    information = check_choice("information", options["information"], ("full", "optimistic"))
    factors = known_factors(actions, options["action_sigma"])
    scale = check_positive("scale", options["scale"])
    randomised = bool(options["randomised"])
    return Params(make_setting(actions, options), factors, information == "full", randomised, scale)


def known_factors(actions: ActionSet, given: Any) -> Floats:
    """How noisy each action is, (n,): as given, or all alike."""
    factors = np.ones(actions.n_actions) if given is None else np.array(given, dtype=np.float64)
    if factors.shape != (actions.n_actions,) or not (np.isfinite(factors) & (factors > 0.0)).all():
        raise ValueError(
            f"`action_sigma` must be {actions.n_actions} finite numbers above 0, "
            f"one per action; got {given!r}."
        )
    return factors


def radius(params: Params, state: State) -> float:
    """``√β_t``, its stochastic part scaled."""
    return scaled_radius(params.setting.radius, state.model, params.scale)


def gaps(params: Params, state: State, allowed: Mask) -> Floats:
    """How much an action may lose: the largest upper bound of all, less its own lower bound."""
    model = state.model
    slack = radius(params, state) * np.sqrt(model.squared_widths)
    upper = model.means + slack
    most: float = upper[masked_argmax(upper, allowed)]
    return most - (model.means - slack)


def information(params: Params, state: State, allowed: Mask, sigma: float) -> Floats:
    """What measuring each action would tell, in nats.

    About everything: ``½·log(1 + ‖a‖²/ρ²)``, ρ the noise of that action. About the most optimistic action
    u: half the logarithm by which its squared width would shrink, ``(uᵀV⁻¹a)²/(ρ² + ‖a‖²)`` of ``‖u‖²``.
    """
    model = state.model
    variances = (sigma * params.factors) ** 2
    if params.about_all:
        return 0.5 * np.log1p(model.squared_widths / variances)
    optimistic = most_optimistic(model, allowed, radius(params, state))
    own = max(model.squared_widths[optimistic], 1e-300)
    told = covariance_with(model, optimistic) ** 2 / (variances + model.squared_widths) / own
    shrunk: Floats = np.log1p(-np.minimum(told, 1.0 - 1e-15))
    return -0.5 * shrunk


def share_of_second(gap: float, gain: float, other_gap: float, other_gain: float) -> float:
    """The share of a second action at which a mixture of two has the least ``(E gap)²/E gain``."""
    more_gap, more_gain = other_gap - gap, other_gain - gain
    if more_gap == 0.0 or more_gain == 0.0:
        better = other_gain > gain if more_gap == 0.0 else other_gap < gap
        return 1.0 if better else 0.0
    # Zero of the derivative: 2·more_gap·(E gain) = more_gain·(E gap). The ratio is convex.
    share = (more_gain * gap - 2.0 * more_gap * gain) / (more_gap * more_gain)
    if more_gap * more_gain < 0.0:
        share = 1.0 if more_gain > 0.0 else 0.0  # one of them is better in both
    return min(1.0, max(0.0, share))


def best_mixture(gap: Floats, gain: Floats, allowed: Mask) -> tuple[int, int, float]:
    """Two actions, and the share of the second, with the least ``(E gap)²/E gain`` of all mixtures.

    That ratio is convex in the mixture and two actions are enough. Its derivative towards an action is
    proportional to ``2·gap - (E gap/E gain)·gain``: exchange one of the two for the action where this is
    least, until no action lies below the mixture itself, where it is E gap.
    """
    mixture = np.empty(3)
    write_mixture(gap, gain, allowed, mixture)
    return int(mixture[0]), int(mixture[1]), mixture[2]


@verb
def write_mixture(gap: Floats, gain: Floats, allowed: Mask, out: Floats) -> None:
    """Write `best_mixture`: the two actions and the share."""
    one = first_largest(gain / np.maximum(gap, 1e-300) ** 2, allowed)  # the best without mixing
    other, share = one, 0.0
    for _ in range(MOST_EXCHANGES):
        mean_gap = (1.0 - share) * gap[one] + share * gap[other]
        mean_gain = (1.0 - share) * gain[one] + share * gain[other]
        if not mean_gain > 0.0:
            break
        rate = mean_gap / mean_gain
        slope = 2.0 * gap - rate * gain
        least_slope = masked_argmax(-slope, allowed)
        terms = 2.0 * gap[least_slope] + rate * gain[least_slope]
        entering = first_near(-slope, allowed, least_slope, TIE * terms)
        if slope[entering] >= mean_gap * (1.0 - OPTIMAL):
            break
        least, kept, part = mean_gap * mean_gap / mean_gain, -1, 0.0
        for candidate in (one, other):
            q = share_of_second(gap[candidate], gain[candidate], gap[entering], gain[entering])
            mixed_gap = (1.0 - q) * gap[candidate] + q * gap[entering]
            mixed_gain = (1.0 - q) * gain[candidate] + q * gain[entering]
            if mixed_gain > 0.0 and mixed_gap * mixed_gap / mixed_gain < least:
                least, kept, part = mixed_gap * mixed_gap / mixed_gain, candidate, q
        if kept < 0:
            break
        one, other, share = kept, entering, part
    out[:] = one, other, share


def choose(params: Params, state: State, allowed: Mask, sigma: float, draws: Floats) -> int:
    """An action of the best mixture, drawn by its shares; or the one action with the least gap²/gain."""
    gap = gaps(params, state, allowed)
    gain = information(params, state, allowed, sigma)
    if not params.randomised:
        return first_largest(gain / np.maximum(gap, 1e-300) ** 2, allowed)
    one, other, share = best_mixture(gap, gain, allowed)
    return other if 0.5 * math.erfc(-draws[0] / math.sqrt(2.0)) < share else one


def candidates(params: Params, state: State) -> Mask:
    """The actions that the certificate does not rule out."""
    return within(state.model, radius(params, state))


def one_draw(params: Params) -> int:
    """One random number a round."""
    return 1


def certificate(params: Params, state: State) -> str:
    """As good as its radius."""
    return anytime(params, unproven=below("scale", params.scale))


RULE = rule_in(
    __name__,
    name="information_directed",
    ball=own_ball,
    init=least_squares.plain_init,
    absorb=least_squares.learn,
    imagine=least_squares.imagine,
    recommend=least_squares.best_mean,
    n_draws=one_draw,
    sees_sigma="before",
    order_free=True,
    reconstruction=True,
    reference="Kirschner and Krause, Information directed sampling and bandits with heteroscedastic noise",
    year=2018,
    guarantee="cumulative regret, so simple regret for recommendation='uniform-played'; anytime certificate",
    cost="n·dim",
)


class InformationDirectedOptions(SharedOptions):
    """Information-directed sampling: the least regret squared per information. Sees sigma beforehand."""

    information: str = option(
        "full",
        '``"full"``: about everything; ``"optimistic"``: about the value of the most optimistic action.',
    )
    randomised: bool = option(
        True, "Whether to draw from the best mixture of two actions; otherwise the best one."
    )
    action_sigma: ArrayLike | None = option(
        None,
        "Known noise per action: action k is measured with ``sigma·action_sigma[k]``. Default: the same "
        "for all. In a simulation the world says it.",
    )
    scale: float = option(1.0, "Multiplies the stochastic part of the radius; 1 is faithful.")
    radius: str | float = option("self-normalised")

    def as_dict(self) -> dict[str, Any]:
        """With the sigmas as a plain list, so that a policy can be saved with them."""
        given = None if self.action_sigma is None else np.asarray(self.action_sigma).tolist()
        return super().as_dict() | {"action_sigma": given}


information_directed = constructor(RULE, InformationDirectedOptions)
