"""What to do about a misfit: which structure of the residuals tells error bars, features and options apart.

Too small error bars show wherever a measurement is repeated; a value that features cannot follow shows as
measurements of one option that agree with each other and disagree with the rest. The restricted likelihoods
of extra scatter and of deviations have the same unknowns besides, so they may be compared.
"""

from typing import NamedTuple

import numpy as np

from noisewise.core.support.words import number
from noisewise.study.log.model_choice import DEVIATION, ESTIMATE, INDEPENDENT, ModelChoice
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.linear_fit import estimated_weights
from noisewise.study.models.variance_components import Likelihood, estimate_both, estimate_one

#: A difference in -2·log L that tells two models apart: about 20 to 1 in likelihood.
TELLING = 6.0
#: Features that explain less of the differences between options are not worth their assumptions.
WORTH = 0.3


class Advice(NamedTuple):
    """One thing to do, as words for people and as arguments of `Study.switch`."""

    words: str
    switch: dict[str, str]
    sizes: tuple[float, float]  # of deviation and extra scatter
    gain: float = 0.0  # by how much they raise log L


def advise(analysis: Analysis) -> Advice | None:
    """What to do about a chi-square that is too large; None if nothing is known beyond the usual."""
    likelihood, sizes = analysis.likelihood(), analysis.sizes
    found = _advise(analysis, likelihood) if likelihood.measurements else None
    if found is None:
        return None
    before = likelihood(sizes.deviation, sizes.extra_scatter)
    return found._replace(gain=(before - likelihood(*found.sizes)) / 2.0)


def _advise(analysis: Analysis, likelihood: Likelihood) -> Advice | None:
    model = analysis.state.model
    if not model.uses_features:
        return _scatter(likelihood, _DISAGREE) if model.extra_scatter != ESTIMATE else None
    present = analysis.sizes.extra_scatter  # what was stated, or is estimated already
    if model.model == DEVIATION:
        return _larger(model, likelihood, present)
    deviation = estimate_one(lambda size: likelihood(size, present), likelihood.tried)
    if likelihood.repeats == 0:
        return _deviation(analysis, (deviation, present), _NO_REPEATS)
    scatter = _scatter(likelihood, _DISAGREE)
    by_deviation, by_scatter = likelihood(deviation, present), likelihood(*scatter.sizes)
    both = estimate_both(likelihood)
    if min(by_deviation, by_scatter) - likelihood(*both) > TELLING:
        return Advice(
            f"{_DISAGREE}, and options deviate from the weighted sums of their features, too: switch to "
            f'model="{DEVIATION}" (size {number(both[0])}) with extra_scatter="{ESTIMATE}" '
            f"(size {number(both[1])})",
            {"model": DEVIATION, "extra_scatter": ESTIMATE},
            both,
        )
    if by_deviation - by_scatter > TELLING:
        return scatter if model.extra_scatter != ESTIMATE else None
    return _deviation(analysis, (deviation, present), _AGREE)


_DISAGREE = "repeats of one option disagree by more than their error bars"
_AGREE = "repeats of one option agree, and options deviate from the weighted sums of their features"
_NO_REPEATS = (
    "nothing was repeated, which alone would tell whether the error bars or the features are to blame; the "
    "cautious reading is that options deviate from the weighted sums"
)


def _scatter(likelihood: Likelihood, why: str) -> Advice:
    size = estimate_one(lambda size: likelihood(0.0, size), likelihood.tried)
    words = f'{why}: switch to extra_scatter="{ESTIMATE}" (size {number(size)})'
    return Advice(words, {"extra_scatter": ESTIMATE}, (0.0, size))


def _larger(model: ModelChoice, likelihood: Likelihood, present: float) -> Advice | None:
    """With deviations there already, one of the sizes was stated too small.

    Args:
        model: The present model.
        likelihood: Of both sizes.
        present: The extra scatter that it reckons with.
    """
    stated = float(model.deviation) if model.deviation not in (None, ESTIMATE) else None
    size = estimate_one(lambda size: likelihood(size, present), likelihood.tried)
    too_small = stated is not None and size > stated
    if model.extra_scatter != ESTIMATE and likelihood.repeats > 0:
        both = estimate_both(likelihood)
        told_apart = likelihood(size, present) - likelihood(*both) > TELLING
        if told_apart or (stated is not None and not too_small):
            kept = both[0] if stated is None else stated
            extra = estimate_one(lambda extra: likelihood(kept, extra), likelihood.tried)
            if extra <= present:
                return None
            words = f'{_DISAGREE}: switch to extra_scatter="{ESTIMATE}" (size {number(extra)})'
            return Advice(words, {"extra_scatter": ESTIMATE}, (kept, extra))
    if not too_small:
        return None
    words = f'options deviate by more than stated: switch to deviation="{ESTIMATE}" (size {number(size)})'
    return Advice(words, {"deviation": ESTIMATE}, (size, present))


def _deviation(analysis: Analysis, sizes: tuple[float, float], why: str) -> Advice:
    """Deviations, or options on their own if features explain little and every option was measured."""
    size = sizes[0]
    features, columns = analysis.state.features, analysis.columns
    assert features is not None
    ridge = (2.0 / (analysis.state.model.span or np.inf)) ** 2
    explained = float(np.var(features @ estimated_weights(features, analysis.sums, size, ridge)))
    share = explained / (explained + size**2) if size else 1.0
    told = f"{why}. Features explain {100.0 * share:.0f} % of the differences between options"
    measured = np.unique(np.concatenate([columns.plus, columns.minus[columns.minus >= 0]])).size
    if share < WORTH and measured == analysis.n:
        words = f'{told}, and all were measured: switch to model="{INDEPENDENT}"'
        return Advice(words, {"model": INDEPENDENT}, sizes)
    words = f'{told}: switch to model="{DEVIATION}" (size {number(size)})'
    return Advice(words, {"model": DEVIATION}, sizes)
