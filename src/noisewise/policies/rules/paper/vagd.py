"""VAGD (Algorithm 2): track a near-G-optimal design in precision."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from noisewise.actions import ActionSet
from noisewise.core.choice.radius import confidence_radius
from noisewise.core.choice.selection import Mask, first_largest, widest
from noisewise.core.model.dense import Floats, fold, new_model
from noisewise.core.model.model import Model
from noisewise.policies.shared.least_squares import Setting, best_mean, make_setting, within
from noisewise.policies.shell.options import SharedOptions, constructor, fixed, option
from noisewise.policies.shell.rule import always_anytime, rule_in

if TYPE_CHECKING:
    from noisewise.designs import Design

FIXED_DESIGN = "fixed design: if neither what was measured nor when to stop depended on the values"


class Params(NamedTuple):
    """The design, and what does not change during a run."""

    setting: Setting
    shares: Floats  # (n,): the design's weights, 0 off its support
    by_count: bool  # count measurements instead of their precision
    union_radius: float


class State(NamedTuple):
    """The model, what each action has been given, and how often the design was left."""

    model: Model
    given: Floats  # (n,): Σ 1/σ², or the number of measurements
    strayed: Floats  # (1,)


def make_params(actions: ActionSet, horizon: int | None, options: dict[str, Any]) -> Params:
    """Line 1: find the design, or take the one that was brought."""
    setting = make_setting(actions, options)
    if options["design"] is None:
        from noisewise.designs import optimal_design

        shares = optimal_design(actions.vectors, support="core").dense()
    else:
        shares = _checked_shares(actions, **options["design"])
    return Params(setting, shares, options["by_count"], _union_radius(actions.n_actions, setting))


def _union_radius(n: int, setting: Setting) -> float:
    """One-sided, over all ordered pairs; the ridge shifts a contrast by at most its width times the bias."""
    pairs = max(2, n * (n - 1))
    return math.sqrt(2.0 * math.log(pairs / setting.radius.delta)) + setting.radius.bias


def init(params: Params) -> State:
    """Line 2: nothing measured."""
    model = new_model(params.setting.columns, params.setting.ridge)
    return State(model, np.zeros(model.means.size), np.zeros(1))


def choose(params: Params, state: State, allowed: Mask, sigma: float, draws: Floats) -> int:
    """Line 4: the action of the design that lags most, the least ``Σ 1/σ² / π(a)``."""
    on_design = allowed & (params.shares > 0.0)
    if not on_design.any():
        return widest(state.model, allowed)
    # Off the design the ratio is 0/0 in the paper (note 17): only the support takes part.
    return first_largest(-state.given / np.maximum(params.shares, 1e-300), on_design)


def absorb(params: Params, state: State, action: int, reward: float, sigma: float) -> None:
    """Lines 5-6: learn, and book what the action was given."""
    fold(state.model, action, reward, sigma)
    state.given[action] += 1.0 if params.by_count else 1.0 / (sigma * sigma)
    if params.shares[action] == 0.0:
        state.strayed[0] += 1.0


def radius(params: Params, state: State) -> float:
    """Without looking at values: a union over all pairs. After straying from the design: anytime."""
    if state.strayed[0] > 0.0:
        return confidence_radius(params.setting.radius, state.model)
    return params.union_radius


def candidates(params: Params, state: State) -> Mask:
    """The actions that the certificate does not rule out."""
    return within(state.model, radius(params, state))


def certificate(params: Params, state: State) -> str:
    """Which of the two bounds it is (note 10)."""
    return always_anytime(params, state) if state.strayed[0] > 0.0 else FIXED_DESIGN


RULE = rule_in(
    __name__,
    name="vagd",
    recommend=best_mean,
    fixed_set=True,
    order_free=True,
    pools=True,
    reference="Breaking the Total Variance Barrier, Algorithm 2",
    guarantee="fixed-design certificate, anytime after leaving the design; simple regret by Theorem 2, for "
    "recommendation='best'",
    cost="n·dim, and a design once",
)
STATIC = replace(
    RULE,
    name="static_design",
    pools=False,
    reference="Soare, Lazaric and Munos, Best-arm identification in linear bandits: G-allocation, by counts",
    year=2014,
    guarantee="fixed-design certificate, anytime after leaving the design",
)


class VagdOptions(SharedOptions):
    """Variance-aware G-optimal design: give the actions of a small design their shares of the precision.

    Its bound is the fixed-design one (no √dim, but only if neither what is measured, nor sigma, nor the
    moment of stopping depends on the values) as long as only actions of the design were measured, and
    the anytime one after that.
    """

    design: "Design | None" = option(
        None, 'A `Design` on these actions; default: a core design, ``optimal_design(support="core")``.'
    )
    by_count: bool = fixed(False)

    def as_dict(self) -> dict[str, Any]:
        """With the design as plain lists, so that a policy can be saved with it."""
        return super().as_dict() | {"design": _plain(self.design)}


vagd = constructor(RULE, VagdOptions)


class StaticDesignOptions(VagdOptions):
    """The same design as `vagd`, tracked by counts as if all measurements were equally good."""

    by_count: bool = fixed(True)


static_design = constructor(STATIC, StaticDesignOptions)


def _plain(design: "Design | None") -> dict[str, Any] | None:
    """A design as plain lists, so that a policy can be saved with it."""
    if design is None:
        return None
    try:
        return {
            "indices": design.indices.tolist(),
            "weights": design.weights.tolist(),
            "g_value": design.g_value,
            "shape": [design.n_actions, design.dim],
        }
    except AttributeError:
        raise TypeError(f"`design` must be what nw.optimal_design returns; got {design!r}.") from None


def _checked_shares(
    actions: ActionSet,
    indices: Sequence[int],
    weights: Sequence[float],
    g_value: float,
    shape: Sequence[int],
) -> Floats:
    """The design's weights on all actions, refused if it was made for another set."""
    rows: NDArray[np.int64] = np.asarray(indices)
    shares = np.zeros(actions.n_actions)
    fits = tuple(shape) == actions.vectors.shape
    if fits:
        shares[rows] = weights
        fits = math.isclose(_g_value(actions, rows, shares[rows]), g_value, rel_tol=1e-3)
    if not fits:
        _refuse(shape, g_value)
    return shares


def _refuse(shape: Sequence[int], g_value: float) -> NoReturn:
    raise ValueError(
        f"`design` must be made for these actions, in this order; got one of {shape[0]} actions in "
        f"{shape[1]} features whose g_value {g_value:.6g} does not fit."
    )


def _g_value(actions: ActionSet, rows: NDArray[np.int64], weights: Floats) -> float:
    """The largest ``aᵀV(π)⁺a`` over all actions; infinite if the design misses a direction."""
    inverse = _inverse_moment(actions.vectors[rows].astype(np.float64), weights, actions.rank)
    if inverse is None:
        return math.inf
    return float(np.einsum("ij,jk,ik->i", actions.vectors, inverse, actions.vectors, optimize=True).max())


def _inverse_moment(support: Floats, weights: Floats, rank: int) -> Floats | None:
    """``V(π)⁺``; None if the design misses a direction."""
    moment = (support * weights[:, None]).T @ support
    if np.linalg.matrix_rank(moment, tol=1e-12 * np.trace(moment), hermitian=True) < rank:
        return None
    return np.asarray(np.linalg.pinv(moment, rcond=1e-13, hermitian=True))
