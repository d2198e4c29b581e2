"""The linear model: an option's value is a weighted sum of its features."""

from typing import ClassVar

import numpy as np

from noisewise.actions import ActionSet
from noisewise.core.blocks import Floats
from noisewise.study.evidence.half_widths import HalfWidths
from noisewise.study.log.measurements import Columns
from noisewise.study.log.model_choice import ESTIMATE, ModelFacts
from noisewise.study.log.state import State
from noisewise.study.models.feature_bounds import FeatureBounds
from noisewise.study.models.fit import Fit, fit_features
from noisewise.study.models.joint import Joint, Knowledge
from noisewise.study.models.once import OneLook, WeightedOnce
from noisewise.study.models.remedies import AGREE, DISAGREE, NO_REPEATS, TELLING, Remedy, more_scatter
from noisewise.study.models.sizes.variance_components import Likelihood, Sizes, estimate_both, estimate_one
from noisewise.study.models.study_model import BoundaryCase, StudyModel
from noisewise.study.models.sums import Sums
from noisewise.study.models.worlds import weighted_worlds

#: Features that explain less of the differences between options are not worth their assumptions.
WORTH = 0.3
#: The models that are suggested in place of this one.
INDEPENDENT, DEVIATION = "independent", "linear+deviation"


class Linear(StudyModel):
    """One weight per feature."""

    facts = ModelFacts("linear", uses_features=True, limits_pairs=False)
    shares_information = True
    radius = "normal mixtures over the weights of the features, centred on the truth, from differences"
    blame = "the linear model, the error bars or some measurements are wrong"
    if_nothing_is_wrong: ClassVar[str | None] = (
        f'If nothing is wrong, features miss something: switch to model="{DEVIATION}".'
    )
    way_out = f'switch to model="{INDEPENDENT}", which assumes no features'

    def __init__(self, state: State) -> None:
        super().__init__(state)
        if state.features is None:
            raise ValueError(f"the {self.facts.name} model needs features, and this study has none.")
        self.features = state.features

    def fit(self, sums: Sums, deviation: float) -> Fit:
        """One weight per feature, and an offset per block."""
        return fit_features(self.features, sums)

    def boundary(self, case: BoundaryCase) -> HalfWidths:
        """Ellipsoids for all differences."""
        return FeatureBounds(case.fit, case.delta, case.resolution)

    def one_look(self, look: OneLook) -> HalfWidths:
        """A multiple of the standard error."""
        return WeightedOnce(look)

    def knowledge(self, fit: Fit, boundary: HalfWidths, option: int) -> Knowledge:
        """Options follow the weights."""
        assert fit.solved is not None
        return Knowledge(Joint(fit.solved.own[fit.solved.targets.node], fit.solved.halves.T))

    def likelihood(self, columns: Columns, sigma: Floats) -> Likelihood:
        """With the weights integrated out."""
        return Likelihood(columns, sigma, self.n, self.features, self.specification.sign)

    def assumptions(self, sizes: Sizes) -> list[str]:
        """That features say everything."""
        scale = self.specification.value_scale
        value = "the logarithm of an option's value" if scale.log else "an option's value"
        return [f"{value} is a weighted sum of its features"]

    def actions(self) -> ActionSet:
        """Vectors: features and a level."""
        return ActionSet(np.column_stack([self.features, np.ones(self.n)]))

    def remedy(self, likelihood: Likelihood, sizes: Sizes, sums: Sums) -> Remedy | None:
        """Extra scatter, deviations, or both: whichever the likelihood prefers by enough."""
        present = sizes.extra_scatter  # what was stated, or is estimated already
        deviation = estimate_one(lambda size: likelihood(size, present), likelihood.tried)
        if likelihood.repeats == 0:
            return self._deviating(sums, (deviation, present), NO_REPEATS)
        scatter = more_scatter(likelihood)
        by_deviation, by_scatter = likelihood(deviation, present), likelihood(*scatter.sizes)
        both = estimate_both(likelihood)
        if min(by_deviation, by_scatter) - likelihood(*both) > TELLING:
            why = f"{DISAGREE}, and options deviate from the weighted sums of their features, too"
            return Remedy(why, {"model": DEVIATION, "extra_scatter": ESTIMATE}, both)
        if by_deviation - by_scatter > TELLING:
            return scatter if self.choice.extra_scatter != ESTIMATE else None
        return self._deviating(sums, (deviation, present), AGREE)

    def _deviating(self, sums: Sums, sizes: tuple[float, float], why: str) -> Remedy:
        """Deviations, or options on their own if features explain little and every option was measured."""
        size = sizes[0]
        explained = float(np.var(self.features @ np.asarray(fit_features(self.features, sums, size).weights)))
        share = explained / (explained + size**2) if size else 1.0
        told = f"{why}. Features explain {100.0 * share:.0f} % of the differences between options"
        measured = np.unique(np.concatenate([sums.plus, sums.minus[sums.minus >= 0]])).size
        if share < WORTH and measured == self.n:
            return Remedy(f"{told}, and all were measured", {"model": INDEPENDENT}, sizes)
        return Remedy(told, {"model": DEVIATION}, sizes)

    def draw_worlds(
        self, fit: Fit, sums: Sums, count: int, rng: np.random.Generator, span: float | None
    ) -> Floats:
        """Weights with an unknown spread, and whatever else follows from them."""
        return weighted_worlds(fit, self.features, sums, self.specification.resolution, count, rng, span)

    def prior_parts(self, deviation: float) -> tuple[float, Floats]:
        """Nothing of its own; features and a level are shared."""
        return 0.0, np.column_stack([self.features, np.ones(self.n)])

    def n_unknowns(self) -> int:
        """Weights and a level."""
        return int(self.features.shape[1]) + 1


MODEL = Linear
