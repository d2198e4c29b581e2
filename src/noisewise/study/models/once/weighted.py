"""One look at the linear models: weights of features, and deviations if the model has them.

The estimate has a ridge, so a difference with whitened loads c is off by a bias and by noise. With A the
precision of all unknowns, the ridge R among it on the weights θ alone, and ``ridge·‖θ‖² <= 1`` by the span,

    |bias| = |cᵀA⁻¹Rθ| <= √ridge·‖the weights' part of A⁻¹c‖ = b,    variance of the noise = cᵀA⁻¹c - b²,

the latter with deviations counted as noise (they are drawn once, before anything is measured). The half-width
is b plus a multiplier times the standard error of the noise. With the unknowns in the order of the factor,
``A = FᵀF`` and weights last, their part of A⁻¹c is that part of ``F⁻ᵀc``, solved by the last corner of F.
"""

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.study.evidence.half_widths import HalfWidths
from noisewise.study.models.exact.weighted_rows import ENOUGH
from noisewise.study.models.features.linear_boundary import TOO_MUCH
from noisewise.study.models.features.linear_fit import Parts
from noisewise.study.models.once.look import OneLook
from noisewise.study.models.once.multipliers import in_dimensions, whole_ellipsoid


class WeightedOnce(HalfWidths):
    """Half-widths, the same for "j minus i" as for "i minus j"."""

    def __init__(self, look: OneLook) -> None:
        self._parts: Parts = look.fit.parts
        self._own, self._slack = look.fit.own, look.fit.slack
        layout, errors = self._parts.layout, look.errors
        deviates = layout.deviation > 0.0
        alone = errors.one_by_one(look.comparisons, look.delta)
        if deviates or errors.shares:
            self._multiplier = alone
        elif errors.limited:
            # True errors are smaller in every direction: one comparison, or the whole ellipsoid, still holds.
            self._multiplier = min(alone, whole_ellipsoid(layout.dim, look.delta))
        else:
            self._multiplier = in_dimensions(look.comparisons, layout.dim, look.delta, errors.freedom)

    @property
    def evidence(self) -> tuple[str, ...]:
        """What is looked at once."""
        return ("one look: features",)

    def half_widths(self, option: int) -> Floats:
        """By how much each estimated difference to ``option`` can be off, (n,)."""
        parts = self._parts
        apart = parts.apart(option)
        corner = parts.solved.factor.high[parts.layout.before :, parts.layout.before :]
        biased = parts.ridge * np.square(np.linalg.solve(corner, apart[parts.layout.before :])).sum(axis=0)
        whole = np.einsum("ij,ij->j", apart, apart)
        biased = np.minimum(biased, whole)
        noise = whole - biased + self._own + self._own[option]
        half = np.sqrt(biased) + self._multiplier * np.sqrt(noise)
        if self._slack > ENOUGH:
            half = half * (1.0 + 4.0 * self._slack) if self._slack <= TOO_MUCH else np.full(half.size, np.inf)
        half[np.isnan(half)] = np.inf
        half[option] = 0.0
        return np.asarray(half)
