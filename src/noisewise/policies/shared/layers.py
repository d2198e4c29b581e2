"""Layers of models, each for measurements of equal influence: what SAVE and its relatives share.

Layer ``l`` learns a measurement of ``a`` with the weight ``w² = 4⁻ˡ/‖a‖²`` while the action is wide there,
``‖a‖ > 2⁻ˡ``: no single measurement then has more influence than ``‖w·a‖ = 2⁻ˡ``. Nothing is known of
sigma; the weight comes from the width alone. Actions of length A and rewards of size A·B are treated as if
divided by them, which the ridge ``A²·4⁻ˡ`` does.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.actions import ActionSet
from noisewise.core.choice.selection import Mask, first_best, first_largest, keep_near_best
from noisewise.core.model.dense import TOLD, DenseModel, Floats, fold, new_dense, squared_norm
from noisewise.core.model.factor import RESIDUAL
from noisewise.core.support.checks import check_count, check_not_negative, check_positive
from noisewise.policies.shared.least_squares import Setting, make_setting
from noisewise.policies.shell.rule import anytime, below

#: Trusting measured variances from an earlier layer on is more than the proof allows.
PROVEN_TRUST = 64.0


class Params(NamedTuple):
    """What does not change during a run."""

    setting: Setting
    noise_bound: float  # R
    scale: float
    depth: int  # L
    narrowest: float  # α: what is narrower needs no further measurement
    reach: float  # A·B: no value is further from 0
    trust_after: float  # measured variances are trusted from the layer on where 2ˡ exceeds this times √G
    doubt: float  # δ as printed
    spread: float  # of a random choice, in radii


class Layers(NamedTuple):
    """The fields of a `DenseModel`, once for every layer; scratch space, the last six, is shared."""

    columns: NDArray[np.floating]  # (dim, n)
    factor: Floats  # (L, dim, dim+1)
    pivots: Floats  # (L, dim)
    reciprocals: Floats  # (L, dim)
    centre: Floats  # (L, dim)
    squared_widths: Floats  # (L, n)
    means: Floats  # (L, n)
    floors: Floats  # (L, n)
    tally: Floats  # (L, 7)
    halves: Floats
    batch: NDArray[np.int64]
    half: Floats
    step: Floats
    row: Floats
    scratch: Floats


class State(NamedTuple):
    """All layers, a copy of the deepest one that is finished, the one to believe, and where the walk ends."""

    model: DenseModel
    layers: Layers
    radii: Floats  # (L,)
    rounds: Floats  # (1,): measurements told
    reported: NDArray[np.int64]  # (1,): which layer the model is a copy of
    reached: NDArray[np.int64]  # (1,): the layer where the walk ends if all actions are allowed
    remaining: Mask  # (n,): the actions that remain there


def make_params(actions: ActionSet, horizon: int | None, options: dict[str, Any]) -> Params:
    """Check the options; α and L in units in which no action is longer than 1 and no value above 1."""
    noise_bound = check_positive("noise_bound", options["noise_bound"])
    scale = check_positive("scale", options["scale"])
    trust_after = check_positive("trust_after", options["trust_after"])
    spread = check_not_negative("spread", options.get("spread", 0.0))
    norm_bound = check_positive("norm_bound", options["norm_bound"])
    length = actions.max_norm or 1.0
    reach = length * norm_bound
    narrowest = reach / (noise_bound * check_count("horizon", horizon) ** 1.5)
    depth = max(1, math.ceil(-math.log2(narrowest)))
    setting = make_setting(actions, options | {"ridge": (length / 2.0) ** 2})
    # The printed guarantee has probability 1 - 3δ; ours is to have 1 - delta.
    doubt = setting.radius.delta / 3.0
    return Params(setting, noise_bound, scale, depth, narrowest, reach, trust_after, doubt, spread)


def init(params: Params) -> State:
    """Layer l starts with the ridge ``A²·4⁻ˡ``, an estimate of 0 and the radius ``2·A·B·2⁻ˡ``."""
    ridges = params.setting.ridge * 4.0 ** -np.arange(params.depth)
    models = [new_dense(params.setting.columns, ridge) for ridge in ridges]
    first = models[0]
    stacked = {
        name: np.stack([getattr(model, name) for model in models])
        for name in (
            "factor",
            "pivots",
            "reciprocals",
            "centre",
            "squared_widths",
            "means",
            "floors",
            "tally",
        )
    }
    radii: Floats = 2.0 * params.reach * 0.5 ** np.arange(1.0, params.depth + 1.0)
    layers = Layers(**(first._asdict() | stacked))
    model = new_dense(params.setting.columns, params.setting.ridge)
    return State(
        model=model,
        layers=layers,
        radii=radii,
        rounds=np.zeros(1),
        reported=np.zeros(1, dtype=np.int64),
        reached=np.zeros(1, dtype=np.int64),
        remaining=np.ones(model.means.size, dtype=np.bool_),
    )


def layer(layers: Layers, level: int) -> DenseModel:
    """One layer as a model; changing it changes the layer."""
    return DenseModel(
        layers.columns,
        layers.factor[level],
        layers.pivots[level],
        layers.reciprocals[level],
        layers.centre[level],
        layers.squared_widths[level],
        layers.means[level],
        layers.floors[level],
        layers.tally[level],
        layers.halves,
        layers.batch,
        layers.half,
        layers.step,
        layers.row,
        layers.scratch,
    )


# These take the arrays they need, not the state: handing over all its arrays would cost more than the work.
def is_wide(params: Params, squared_widths: Floats, level: int, action: int) -> bool:
    """``‖a‖ > 2⁻ˡ`` in the layer (``> α`` in the last, where ``2⁻ᴸ ≤ α``); layer 1 has the index 0."""
    limit = 0.5 ** (level + 1)
    if level == params.depth - 1:
        limit = max(limit, params.narrowest)
    return bool(squared_widths[level, action] > limit * limit)


def descend(params: Params, squared_widths: Floats, means: Floats, radii: Floats, remaining: Mask) -> int:
    """Walk down while no remaining action is wide, dropping what each layer rules out; where it ends.

    It ends where an action is wide or, in the last layer at the latest, all are narrower than α.
    """
    level = 0
    while level < params.depth - 1:
        widest = first_largest(squared_widths[level], remaining)
        narrow = squared_widths[level, widest] <= params.narrowest * params.narrowest
        if narrow or is_wide(params, squared_widths, level, widest):
            return level
        keep_near_best(means[level], remaining, 2.0 * 0.5 ** (level + 1) * radii[level])
        level += 1
    return level


def descend_among(params: Params, state: State, allowed: Mask) -> tuple[int, Mask]:
    """Where the walk among the allowed actions ends, and those that remain there."""
    if allowed.all():
        return int(state.reached[0]), state.remaining
    remaining = allowed.copy()
    layers = state.layers
    return descend(params, layers.squared_widths, layers.means, state.radii, remaining), remaining


def learning_layer(params: Params, squared_widths: Floats, action: int) -> int:
    """The first layer in which the action is wide, which is where it is chosen; -1 if none is.

    The original learns nothing once all actions are narrower than α in a layer. Here a deeper layer learns
    then; while the same actions are allowed nothing looks at it, because the walk ends above.
    """
    for level in range(params.depth):
        if is_wide(params, squared_widths, level, action):
            return level
    return -1


def absorb(params: Params, state: State, action: int, reward: float, sigma: float) -> None:
    """Learn in one layer, so that the measurement has the influence ``2⁻ˡ``; walk down again."""
    squared_widths, radii, remaining = state.layers.squared_widths, state.radii, state.remaining
    state.rounds[0] += 1.0
    level = learning_layer(params, squared_widths, action)
    if level >= 0:
        learning = layer(state.layers, level)
        # A weight of w² = 4⁻ˡ/‖a‖² is a sigma of ‖a‖·2ˡ.
        fold(learning, action, reward, math.sqrt(squared_widths[level, action]) * 2.0 ** (level + 1))
        variance = measured_variance(learning, params.setting.ridge * 0.25**level)
        radii[level] = layer_radius(params, learning.tally[TOLD], variance, level, state.rounds[0])
    remaining[:] = True
    reached = descend(params, squared_widths, state.layers.means, radii, remaining)
    state.reached[0] = reached
    widest = first_largest(squared_widths[reached], remaining)
    finished = max(0, reached - 1) if is_wide(params, squared_widths, reached, widest) else reached
    if finished == level or finished != state.reported[0]:
        report(state, finished)


def measured_variance(model: DenseModel, ridge: float) -> float:
    """``Σ w²·(r - <θ̂, a>)²``: what the fit minimised, without its penalty ``ridge·‖θ̂‖²``."""
    # What is no number stays none: 0 would be the smallest variance of all.
    return float(np.maximum(0.0, model.tally[RESIDUAL] - ridge * squared_norm(model)))


def layer_radius(params: Params, told: float, measured: float, level: int, rounds: float) -> float:
    """The radius of layer l after round k; only its stochastic part, all but ``2·A·B·2⁻ˡ``, is scaled."""
    influence, noise_bound = 0.5 ** (level + 1), params.noise_bound
    bias = 2.0 * influence * params.reach
    log_next = math.log(4.0 * (rounds + 1.0) ** 2 * params.depth / params.doubt)  # G
    log_now = math.log(4.0 * rounds**2 * params.depth / params.doubt)  # H
    trusted = 1.0 / influence >= params.trust_after * math.sqrt(log_next)
    variance = measured if trusted else noise_bound * noise_bound * told
    total = 8.0 * variance + 6.0 * noise_bound**2 * log_next + 4.0 * bias * bias
    stochastic = 16.0 * influence * math.sqrt(total * log_now) + 6.0 * influence * noise_bound * log_now
    return bias + params.scale * stochastic


def report(state: State, level: int) -> None:
    """Copy a layer into the model."""
    model, layers = state.model, state.layers
    model.factor[:] = layers.factor[level]
    model.pivots[:] = layers.pivots[level]
    model.reciprocals[:] = layers.reciprocals[level]
    model.centre[:] = layers.centre[level]
    model.squared_widths[:] = layers.squared_widths[level]
    model.means[:] = layers.means[level]
    model.floors[:] = layers.floors[level]
    model.tally[:] = layers.tally[level]
    state.reported[0] = level


def imagine(params: Params, state: State, action: int, sigma: float) -> None:
    """A pending measurement goes to the layer where it would be learnt."""
    level = max(0, learning_layer(params, state.layers.squared_widths, action))
    absorb(params, state, action, state.layers.means[level, action], sigma)


def recommend(params: Params, state: State) -> int:
    """The best mean of the finished layer among what all finished layers leave."""
    return first_best(state.model.means, state.model.squared_widths, state.remaining)


def radius(params: Params, state: State) -> float:
    """The radius of the layer that is reported."""
    return float(state.radii[state.reported[0]])


def candidates(params: Params, state: State) -> Mask:
    """What the finished layers leave."""
    return state.remaining


def certificate(params: Params, state: State) -> str:
    """It rests on the noise bound, and on trusting measured variances late enough."""
    doubts = (below("scale", params.scale), below("trust_after", params.trust_after, PROVEN_TRUST))
    return anytime(
        params,
        f"if noise stays within ±noise_bound={params.noise_bound:g}",
        unproven=" and ".join(doubt for doubt in doubts if doubt),
    )


def most_sigma(params: Params) -> float:
    """Noise within ±R has no larger standard deviation."""
    return params.noise_bound
