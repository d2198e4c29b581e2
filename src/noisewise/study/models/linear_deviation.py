"""The linear model with deviations: a weighted sum of features, plus a deviation of the option's own."""

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.core.text import number
from noisewise.study.evidence.half_widths import HalfWidths
from noisewise.study.log.model_choice import ESTIMATE, ModelFacts
from noisewise.study.models.fit import Fit, Sums, fit_features, fit_independent, totals
from noisewise.study.models.linear import DEVIATION, FIXED, FeatureBounds, Linear
from noisewise.study.models.model import CHANGED, COMPARING, BoundaryCase
from noisewise.study.models.posterior import Knowledge, left_to_options
from noisewise.study.models.variance_components import (
    TELLING,
    Likelihood,
    Remedy,
    Sizes,
    estimate_both,
    estimate_one,
    scatter_of,
    with_limit,
)
from noisewise.study.telling.error_bars import BOUNDED, COUNTS, NONE, READINGS


class LinearDeviation(Linear):
    """One weight per feature, and a deviation per option, drawn from a normal law."""

    facts = ModelFacts(DEVIATION, uses_features=True, has_deviation=True)
    radius = (
        "normal-mixture ellipsoid of the features, plus a normal quantile for the deviations "
        "(union bound over options), at the moment of stopping"
    )
    blame = "the size of the deviations, the error bars or some measurements are wrong"
    if_nothing_is_wrong = None

    def fit(self, sums: Sums, deviation: float) -> Fit:
        """Deviations are shrunk by what their size makes likely."""
        return fit_features(self.features, sums, deviation)

    def scatter_fit(self, sums: Sums) -> Fit:
        """Options are not where their features say: only repeats tell the scatter."""
        return fit_independent(self.n, sums)

    def boundary(self, case: BoundaryCase) -> HalfWidths:
        """Ellipsoids of the weights, and a quantile of the deviations."""
        each = (1.0 - FIXED) * COMPARING * case.delta / max(1, case.n_allowed - 1)
        if case.of_pairs:
            each = CHANGED * case.delta / max(1, self.n * (self.n - 1))
        return FeatureBounds(case.fit, case.delta, case.resolution, each)

    def knowledge(self, fit: Fit, boundary: HalfWidths, option: int) -> Knowledge:
        """Options follow the weights; once these are known, deviations and offsets are left."""
        assert isinstance(boundary, FeatureBounds)
        left = left_to_options(fit, boundary.known)
        return (
            super().knowledge(fit, boundary, option)._replace(given_weights=left, quantile=boundary.quantile)
        )

    def assumptions(self, sizes: Sizes) -> list[str]:
        """That deviations are normal and of the size that is used."""
        scale = self.specification.value_scale
        size = with_limit(sizes.deviation, sizes.largest_deviation, scale)
        value = "the logarithm of an option's value" if scale.log else "an option's value"
        return [
            f"{value} is a weighted sum of its features plus a deviation, drawn from a normal law "
            f"of size {size}; errors are normal, too",
            "the confidence is that of the moment you stop, averaged over deviations of this size",
        ]

    def approximations(self, kinds: set[str]) -> list[str]:
        """That errors of which only an upper limit is known are taken for known ones."""
        if not kinds:
            return []
        names = {
            READINGS: "readings",
            COUNTS: "shares",
            NONE: "measurements without error bars",
            BOUNDED: "readings between bounds",
        }
        listed = ", ".join(names[kind] for kind in sorted(kinds))
        return [
            f"of {listed} only an upper limit of the error is known, where deviations need the error itself"
        ]

    def remedy(self, likelihood: Likelihood, sizes: Sizes, sums: Sums) -> Remedy | None:
        """With deviations there already, one of the sizes was stated too small."""
        present = sizes.extra_scatter
        given = self.choice.deviation
        stated = float(given) if given not in (None, ESTIMATE) else None
        size = estimate_one(lambda size: likelihood(size, present), likelihood.tried)
        too_small = stated is not None and size > stated
        if self.choice.extra_scatter != ESTIMATE and likelihood.repeats > 0:
            both = estimate_both(likelihood)
            told_apart = likelihood(size, present) - likelihood(*both) > TELLING
            if told_apart or (stated is not None and not too_small):
                kept = both[0] if stated is None else stated
                extra = estimate_one(lambda extra: likelihood(kept, extra), likelihood.tried)
                return scatter_of(kept, extra) if extra > present else None
        if not too_small:
            return None
        return Remedy("options deviate by more than stated", {"deviation": ESTIMATE}, (size, present))

    def standing_out(self, sums: Sums, fit: Fit, deviation: float) -> Floats | None:
        """How far each measured option lies from its weighted sum, in standard errors, (n,)."""
        level = sums.minus < 0
        plus, weight = sums.plus[level], sums.weight[level]
        offsets, weighted = fit.offsets[sums.block[level]], self.features[plus] @ np.asarray(fit.weights)
        away = totals(plus, weight * (sums.value[level] - offsets - weighted), self.n)
        total = totals(plus, weight, self.n)
        with np.errstate(invalid="ignore", divide="ignore"):
            apart = np.where(total > 0.0, away / total / np.sqrt(deviation**2 + 1.0 / total), 0.0)
        return np.asarray(apart)

    def unlike_the_others(self, name: str, apart: float, deviation: float) -> str:
        """A sentence about an option whose deviation is too large for a normal law of this size."""
        size = self.specification.value_scale.error(deviation)
        return (
            f"{name} lies {number(abs(apart), 2)} standard errors from the weighted sum of its features, "
            f"where deviations have size {size}: it is not like the others. Void its "
            'measurements if they are wrong, or switch to `model="independent"`'
        )

    def prior_parts(self, deviation: float) -> tuple[float, Floats]:
        """Its deviation; features and a level are shared."""
        return deviation, super().prior_parts(deviation)[1]


MODEL = LinearDeviation
