"""The linear model: an option's value is a weighted sum of its features."""

from typing import Any, ClassVar

import numpy as np

from noisewise.actions import ActionSet
from noisewise.core.model.dense import Floats
from noisewise.study.evidence.half_widths import HalfWidths
from noisewise.study.log.measurements import Columns
from noisewise.study.log.model_choice import ESTIMATE, ModelFacts
from noisewise.study.log.state import State
from noisewise.study.models.exact.pooled_model import fill_model
from noisewise.study.models.features.linear_boundary import LinearBoundary, restart_ridge
from noisewise.study.models.features.linear_fit import estimated_weights, fit_linear, ridge_of
from noisewise.study.models.features.restarts import (
    KeptRestarts,
    Restart,
    ToldInOrder,
    in_order,
    restart_places,
)
from noisewise.study.models.features.worlds import weighted_worlds
from noisewise.study.models.fit import Fit
from noisewise.study.models.joint import Knowledge, LoadedJoint
from noisewise.study.models.once import OneLook, WeightedOnce
from noisewise.study.models.remedies import AGREE, DISAGREE, NO_REPEATS, TELLING, Remedy, more_scatter
from noisewise.study.models.rule_view import RuleView
from noisewise.study.models.sizes.variance_components import Likelihood, Sizes, estimate_both, estimate_one
from noisewise.study.models.study_model import BoundaryCase, StudyModel
from noisewise.study.models.sums import SharedUnknowns, Sums, shared_unknowns

#: Features that explain less of the differences between options are not worth their assumptions.
WORTH = 0.3
#: The models that are suggested in place of this one.
INDEPENDENT, DEVIATION = "independent", "linear+deviation"


class Linear(StudyModel):
    """One weight per feature."""

    facts = ModelFacts("linear", uses_features=True, needs_span=True, limits_pairs=False)
    shares_information = True
    radius = (
        "average of normal mixtures over the features, from the start and from restarts, over differences"
    )
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
        self.ridge = ridge_of(self.choice.span)

    def fit(self, sums: Sums, deviation: float) -> Fit:
        """Weights with a ridge, and an offset per block without."""
        return fit_linear(self.features, sums, self.ridge)

    def boundary(self, case: BoundaryCase) -> HalfWidths:
        """One ellipsoid for all differences."""
        return LinearBoundary(case.fit, case.delta, case.resolution, restarts=self.restarts(case))

    def restarts(self, case: BoundaryCase) -> tuple[Restart, ...]:
        """The fits at the restarts."""
        return self.fits_of_moments(case.columns, case.sigma, case.deviation)

    def fits_of_moments(self, columns: Columns, sigma: Floats, deviation: float) -> tuple[Restart, ...]:
        """The fits at the restarts, which the study keeps."""
        dim = self.features.shape[1]
        columns, sigma = in_order(columns, sigma)
        ridge = restart_ridge(dim, self.ridge)
        told = ToldInOrder(columns, sigma, self.specification.sign, self.features, deviation, ridge)
        if self.state.restarts is None:
            self.state.restarts = {}
        # Studies that are thought of begin with measurements put together: they do not disturb the real one.
        kept: KeptRestarts = self.state.restarts.setdefault(bool(columns.fits), KeptRestarts())
        return (*columns.fits, *kept.at(told, restart_places(columns, dim)))

    def one_look(self, look: OneLook) -> HalfWidths:
        """What the ridge may have moved, plus a multiple of the standard error."""
        return WeightedOnce(look)

    def knowledge(self, fit: Fit, boundary: HalfWidths, option: int) -> Knowledge:
        """Options follow the weights."""
        return Knowledge(LoadedJoint(fit.own, fit.loads))

    def likelihood(self, columns: Columns, sigma: Floats) -> Likelihood:
        """With the weights integrated out."""
        return Likelihood(columns, sigma, self.n, self.features, self.specification.sign)

    def assumptions(self, sizes: Sizes) -> list[str]:
        """That features say everything, and that the span is right."""
        scale = self.specification.value_scale
        value = "the logarithm of an option's value" if scale.log else "an option's value"
        span = scale.span_stated(self.choice.span or 0.0)
        return [f"{value} is a weighted sum of its features; no two differ by more than {span}"]

    def actions(self, view: RuleView) -> ActionSet:
        """Vectors: features, a level, and a place per block."""
        places = shared_unknowns(view.sums).blocks.size if view.whole else 0
        return ActionSet(np.column_stack([self.features, np.ones(self.n), np.zeros((self.n, places))]))

    def fill(self, rule_model: Any, view: RuleView, ridge: float) -> None:
        """Fill the rule's model from one row per probe."""
        if view.whole and view.sums.n_measurements:
            sums = view.sums
            rows = _dense_rows(self.features, sums, shared_unknowns(sums))
            fill_model(rule_model, rows, sums.value, sums.weight, sums.n_measurements)

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
        explained = float(np.var(self.features @ estimated_weights(self.features, sums, size, self.ridge)))
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
        return weighted_worlds(fit, sums, count, rng, span)

    def prior_parts(self, deviation: float) -> tuple[float, Floats]:
        """Nothing of its own; features and a level are shared."""
        return 0.0, np.column_stack([self.features, np.ones(self.n)])

    def n_unknowns(self) -> int:
        """Weights and a level."""
        return int(self.features.shape[1]) + 1


def _dense_rows(features: Floats, sums: Sums, shared: SharedUnknowns) -> Floats:
    level = sums.minus < 0
    rows = np.zeros((sums.plus.size, features.shape[1] + 1 + shared.blocks.size))
    dim = features.shape[1]
    rows[:, :dim] = features[sums.plus]
    rows[~level, :dim] -= features[sums.minus[~level]]
    rows[level, dim] = 1.0
    named = np.flatnonzero(level & (sums.block > 0))
    rows[named, dim + 1 + np.searchsorted(shared.blocks, sums.block[named])] = 1.0
    return rows


MODEL = Linear
