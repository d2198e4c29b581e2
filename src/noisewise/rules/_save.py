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
layer in which no remaining action is wide, among the actions that remain. The layers are in `layers.py`.
"""

from noisewise.rules.layers import Layered


class Save(Layered):
    """SAVE: layers of least squares that need not be told sigma. It never looks at sigma.

    Args:
        scale: Multiplies the stochastic part of the radii; 1 is faithful.
        trust_after: Layer l trusts its measured variance once 2ˡ exceeds this times a square root of a
            logarithm; 64 is faithful, and what the certificate rests on.
    """

    name = "save"
    reference = "Zhao, He, Zhou, Zhang and Gu, COLT 2023, Algorithm 1"
    year = 2023
    guarantee = "anytime certificate; cumulative regret d·√(Σσ²) + d·R + d, up to logarithms"
    cost = "n·(dim + layers) + dim², log₂(R·T^1.5) layers at most"

    def choose(self, allowed, sigma):
        level, remaining, widest = self.descend_among(allowed)
        if self.is_wide(level, widest):  # 3
            return widest
        return self.layers[level].most_optimistic(remaining, self.radii[level])  # 1
