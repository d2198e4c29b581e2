"""Worlds of the linear models: values that the options may have, given the measurements."""

import math

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.study.models.fit import Fit, reference_place
from noisewise.study.models.spreads import possible_spreads
from noisewise.study.models.sums import Sums


def weighted_worlds(fit: Fit, sums: Sums, count: int, rng: np.random.Generator, span: float | None) -> Floats:
    """Weights with a spread, and whatever else the model has given these weights.

    Deviations and offsets follow the weights. Values are in the zero of the block that coming measurements
    are in, so that these agree with those that there are.

    Args:
        fit: Of a linear model.
        sums: The measurements that were fitted.
        count: How many worlds.
        rng: Where chance comes from.
        span: By how much options differ at most; None if that was never stated.
    """
    moved = _draw_weights(fit, count, rng, span)
    parts, before = fit.parts, fit.parts.layout.before
    # In independent units: all that comes before the weights, then these.
    known = parts.solved.factor.high[before:, before:]
    units = np.column_stack([rng.standard_normal((count, before)), moved @ known.T])
    worlds = fit.means + units @ fit.loads.T
    if fit.own.any():
        worlds += np.sqrt(fit.own) * rng.standard_normal(worlds.shape)
    here = np.flatnonzero((sums.minus < 0) & (sums.block == reference_place(fit.offset_precision)))
    if here.size:
        # Given the options' values a block's offset is the mean of what was measured above them.
        weight = sums.weight[here] / sums.weight[here].sum()
        offset = (sums.value[here] - worlds[:, sums.plus[here]]) @ weight
        offset += rng.standard_normal(count) / math.sqrt(float(sums.weight[here].sum()))
        worlds += offset[:, None] - fit.level
    return np.asarray(worlds)


def _draw_weights(fit: Fit, count: int, rng: np.random.Generator, span: float | None) -> Floats:
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
    spreads = possible_spreads(fit.means.size, span, math.inf)
    tau = spreads.tau / math.sqrt(dim)
    prior = tau[:, None] ** -2.0
    evidence = 0.5 * (pull**2 / (sizes + prior)).sum(axis=1) - 0.5 * np.log1p(sizes / prior).sum(axis=1)
    at = spreads.weighed(evidence).draw(rng, count)
    precise = sizes + tau[at][:, None] ** -2.0
    along = pull / precise + rng.standard_normal((count, dim)) / np.sqrt(precise)
    return np.asarray(along @ directions.T - theta)
