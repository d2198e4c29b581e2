"""What the options' values may be, given the measurements: worlds drawn from the posterior.

The certificate takes options as they come. Looking ahead needs a guess of how far apart they are, or the best
of many options that were measured once would look far better than it is. So the values (the features'
weights in the linear model) are normal around a common mean with an unknown spread τ; all sizes of τ on a
log scale are equally likely at first, and the measurements say which they rather are:

    p(τ | data)  ∝  ∫ p(data | values)·p(values | τ).

With a `span`, options that are spread normally have a range of about ``span``, or up to `GENEROUS` times
less, all equally likely; still smaller ones are less likely, as their squares. The same is believed before
the first measurement and after it: who changes his mind about what was likely at first, because something
was measured, plans for other studies than there are. Deviations come on top, of the size that the model has.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.core.model.dense import Floats
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.fit import Fit
from noisewise.study.models.what_if import reference_place

#: How much too large a span easily is, and at most.
GENEROUS, AT_MOST = 10.0, 300.0
SIZES = 41
#: Worlds in which options differ by more than the span are drawn again so often; then the span must be wrong.
REDRAWN = 8


class Spreads(NamedTuple):
    """Possible spreads, and how likely each is."""

    tau: Floats  # (SIZES,)
    probability: Floats  # (SIZES,)

    def weighed(self, evidence: Floats) -> "Spreads":
        """With the logarithm of what the data say about each."""
        likely = self.probability * np.exp(evidence - evidence.max())
        return Spreads(self.tau, likely / likely.sum())

    def draw(self, rng: np.random.Generator, count: int) -> NDArray[np.intp]:
        """The places of some of them, (count,)."""
        return rng.choice(self.tau.size, size=count, p=self.probability)


def draw_worlds(analysis: Analysis, count: int, rng: np.random.Generator, span: float | None) -> Floats:
    """Values of all options in ``count`` worlds, (count, n): large is good, in the fit's own zero.

    Args:
        analysis: What was measured.
        count: How many worlds.
        rng: Where chance comes from.
        span: By how much options differ at most; None if nobody said so.
    """
    worlds = _draw(analysis, count, rng, span)
    if span is None:
        return worlds
    for _ in range(REDRAWN):
        beyond = np.flatnonzero(np.ptp(worlds, axis=1) > span)
        if not beyond.size:
            break
        worlds[beyond] = _draw(analysis, beyond.size, rng, span)
    return worlds


def _draw(analysis: Analysis, count: int, rng: np.random.Generator, span: float | None) -> Floats:
    certified = not analysis.sigmas.waiting
    fit = analysis.certified if certified else analysis.estimates
    if fit.ridge:
        sigma = analysis.sigmas.certified if certified else analysis.sigmas.estimated
        return _weighted(analysis, fit, sigma, count, rng, span)
    return _independent(analysis, fit, count, rng, span)


def _weighted(
    analysis: Analysis, fit: Fit, sigma: Floats, count: int, rng: np.random.Generator, span: float | None
) -> Floats:
    """Weights with a spread, and whatever else the model has given these weights.

    Deviations and offsets follow the weights. Values are in the zero of the block that coming measurements
    are in, so that these agree with those that there are.
    """
    moved = _draw_weights(analysis, fit, count, rng, span)
    parts, before = fit.parts, fit.parts.layout.before
    # In independent units: all that comes before the weights, then these.
    known = parts.solved.factor.high[before:, before:]
    units = np.column_stack([rng.standard_normal((count, before)), moved @ known.T])
    worlds = fit.means + units @ fit.loads.T
    if fit.own.any():
        worlds += np.sqrt(fit.own) * rng.standard_normal(worlds.shape)
    sums = analysis.pooled(analysis.columns, sigma)
    here = np.flatnonzero((sums.minus < 0) & (sums.block == reference_place(fit)))
    if here.size:
        # Given the options' values a block's offset is the mean of what was measured above them.
        weight = sums.weight[here] / sums.weight[here].sum()
        offset = (sums.value[here] - worlds[:, sums.plus[here]]) @ weight
        offset += rng.standard_normal(count) / math.sqrt(float(sums.weight[here].sum()))
        worlds += offset[:, None] - fit.level
    return np.asarray(worlds)


def _draw_weights(
    analysis: Analysis, fit: Fit, count: int, rng: np.random.Generator, span: float | None
) -> Floats:
    """How far the weights of the features are from their estimates, (count, dim).

    The fit's ridge is taken out of what is known of them, and a spread τ drawn for each world put in.
    """
    dim = fit.dim
    theta = np.asarray(fit.weights)
    known = fit.parts.solved.factor.high[-dim:, -dim:]
    # The precision is knownᵀ·known; its directions come from the factor, which floats carry further.
    _, roots, turned = np.linalg.svd(known)
    directions = turned.T
    sizes = np.maximum(roots**2 - fit.ridge, 0.0)  # what the data say about each direction
    pull = roots**2 * (turned @ theta)
    # Features are whitened: with weights of size τ the options' standard deviation is τ·√dim.
    spreads = _spreads(analysis, span, math.inf)
    tau = spreads.tau / math.sqrt(dim)
    prior = tau[:, None] ** -2.0
    evidence = 0.5 * (pull**2 / (sizes + prior)).sum(axis=1) - 0.5 * np.log1p(sizes / prior).sum(axis=1)
    at = spreads.weighed(evidence).draw(rng, count)
    precise = sizes + tau[at][:, None] ** -2.0
    along = pull / precise + rng.standard_normal((count, dim)) / np.sqrt(precise)
    return np.asarray(along @ directions.T - theta)


def _independent(
    analysis: Analysis, fit: Fit, count: int, rng: np.random.Generator, span: float | None
) -> Floats:
    variances = fit.variances()
    known = (fit.group >= 0) & np.isfinite(variances)
    means, errors = fit.means[known], variances[known]
    scale = 3.0 * float(np.std(means)) if means.size > 1 else math.inf
    spreads = _spreads(analysis, span, max(scale, analysis.specification.resolution))
    tau = spreads.tau
    weights = 1.0 / (tau[:, None] ** 2 + errors)
    total = weights.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        centres = np.where(total > 0.0, (weights * means).sum(axis=1) / total, 0.0)
    evidence = 0.5 * (np.log(weights).sum(axis=1) - (weights * (means - centres[:, None]) ** 2).sum(axis=1))
    if means.size:
        evidence -= 0.5 * np.log(total)
    at = spreads.weighed(evidence).draw(rng, count)
    spread = tau[at][:, None]
    centre = centres[at]
    if means.size:
        centre = centre + rng.standard_normal(count) / np.sqrt(total[at])
    normals = rng.standard_normal((count, known.size))
    worlds = centre[:, None] + spread * normals
    kept = spread**2 / (spread**2 + errors)
    shrunk = centre[:, None] * (1.0 - kept) + kept * means
    worlds[:, known] = shrunk + np.sqrt(kept * errors) * normals[:, known]
    return np.asarray(worlds)


def _spreads(analysis: Analysis, span: float | None, scale: float) -> Spreads:
    """Possible standard deviations of the options, and how likely each is before anything is measured."""
    from scipy.special import ndtri

    if span is None and math.isinf(scale):
        raise ValueError(
            "`span` (a number by which no two options differ more) must be given to look ahead before two "
            "options were measured: nothing else says how far apart they may be."
        )
    n = max(2, analysis.n)
    expected_range = 2.0 * float(ndtri((n - 0.375) / (n + 0.25)))  # of n standard normal numbers (Blom)
    top = scale if span is None else span / expected_range
    tau = np.geomspace(top / AT_MOST, top, SIZES)
    # Without a span the top comes from the measurements, and nobody said that it is not far too large.
    likely = np.ones(SIZES) if span is None else np.minimum(1.0, (tau * GENEROUS / top) ** 2)
    return Spreads(tau, likely / likely.sum())
