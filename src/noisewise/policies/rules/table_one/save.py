"""SAVE (Zhao, He, Zhou, Zhang and Gu 2023): layers that estimate the variance themselves.

Layer ``l = 1…L`` has its own least squares with the ridge 4⁻ˡ. Each round ``k`` of ``K``, from layer 1 on,
all actions remaining at first, with ``α = 1/(R·K^1.5)`` and ``L = ⌈log₂(1/α)⌉``:

1. if every remaining action has ``‖a‖ ≤ α``: measure the most optimistic one, learn nothing;
2. else if every one has ``‖a‖ ≤ 2⁻ˡ``: keep those with a mean within ``2·2⁻ˡ·β_l`` of the best, go to layer
   ``l+1``;
3. else measure the widest and learn it in this layer with the weight ``w² = 4⁻ˡ/‖a‖²``; then, with
   ``G = log(4(k+1)²L/δ)`` and ``H = log(4k²L/δ)``,
   ``β_l = 16·2⁻ˡ·√((8·Var + 6R²·G + 16·4⁻ˡ)·H) + 6·2⁻ˡ·R·H + 2·2⁻ˡ``.

Actions longer than 1 and other bounds on θ are brought to these units first. δ is a third of ``delta``,
because the theorem holds with probability 1 - 3δ.

``Var`` is the weighted sum of squared residuals of the layer if ``2ˡ ≥ 64·√G``, else R² per measurement.
With R = 1 that is layer 9, after millions of measurements: the guarantee is asymptotic, ``scale`` and
``trust_after`` are there to see its idea at work earlier. What is reported and recommended is the deepest
layer in which no remaining action is wide, among the actions that remain.
"""

import numpy as np

from noisewise.core.choice.selection import Mask, first_best, first_largest
from noisewise.core.model.dense import Floats
from noisewise.policies.shared import layers
from noisewise.policies.shared.bounded_noise import LayeredOptions
from noisewise.policies.shared.layers import Params, State, descend_among, is_wide
from noisewise.policies.shell.options import constructor, option
from noisewise.policies.shell.rule import rule_in


def choose(params: Params, state: State, allowed: Mask, sigma: float, draws: Floats) -> int:
    """The widest remaining action of the layer where the walk ends; if it is narrow, the most optimistic."""
    level, remaining = descend_among(params, state, allowed)
    means, squared_widths = state.layers.means, state.layers.squared_widths
    widest = first_largest(squared_widths[level], remaining)
    if is_wide(params, squared_widths, level, widest):
        return widest
    upper = means[level] + state.radii[level] * np.sqrt(squared_widths[level])
    return first_best(upper, squared_widths[level], remaining)


RULE = rule_in(
    __name__,
    layers,
    name="save",
    needs_horizon=True,
    sees_sigma="never",
    reference="Zhao, He, Zhou, Zhang and Gu, COLT 2023, Algorithm 1",
    year=2023,
    guarantee="anytime certificate; cumulative regret d·√(Σσ²) + d·R + d, up to logarithms",
    cost="n·(dim + layers) + dim², log₂(R·T^1.5) layers at most",
)


class SaveOptions(LayeredOptions):
    """SAVE: layers of least squares that need not be told sigma. It never looks at sigma."""

    scale: float = option(1.0, "Multiplies the stochastic part of the radii; 1 is faithful.")
    trust_after: float = option(
        64.0,
        "Layer l trusts its measured variance once 2ˡ exceeds this times a square root of a logarithm; 64 "
        "is faithful, and what the certificate rests on.",
    )


save = constructor(RULE, SaveOptions)
