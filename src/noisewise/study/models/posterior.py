"""How the values of options vary together, given the measurements: what a coming measurement would teach.

Given everything measured, the values are normal around their estimates. A measurement that is not made yet
lowers the variance of the difference of two options by ``covariance²/(variance of the measurement)``,
whatever comes out: these two are all that a rule needs.

Values are known up to a shift of all of them, where nothing fixes their level: only differences may be taken
of what a joint law says.

**Draws for plans.** Values are normal around a common mean with an unknown spread; each spread is weighed by
how well it agrees with the estimates.

*Connected options.* Within a connected part only differences are known, and the level is anybody's guess. In
the directions of the contrasts' covariance (1/s along each, the level apart) prior and data fall apart into
single numbers z with ``z ~ N(0, τ²)`` and ``estimate of z ~ N(z, 1/s)``, so that evidence and posterior of
each are at hand. The level of the largest part is a convention; those of other parts and of options that were
never measured are where the common mean says.

*Weighted sums of features.* The weights have the spread; deviations and offsets follow them.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.core.blocks import Floats
from noisewise.core.distributions import normal_quantile
from noisewise.study.evidence.half_widths import SeparateOptions
from noisewise.study.log.measurements import Codes
from noisewise.study.models.fit import Fit, Sums, reference_place


class Joint:
    """Options that follow common unknowns, which are independent with variance 1, and vary by themselves.

    Args:
        own: What each varies by itself, (n,); infinite for options that were never measured.
        loads: How each follows the common unknowns, (n, q).
        separate: Whether a measurement of an option says nothing about any other.
    """

    def __init__(self, own: Floats, loads: Floats, *, separate: bool = False) -> None:
        self._own, self._loads, self.separate = own, loads, separate

    def variances(self) -> Floats:
        """Of every option, (n,)."""
        if self.separate:
            return self._own
        return np.asarray(self._own + np.einsum("ij,ij->i", self._loads, self._loads))

    def columns(self, options: Codes) -> Floats:
        """The covariances of every option with some, (n, k)."""
        found = self._loads @ self._loads[options].T
        found[options, np.arange(options.size)] += self._own[options]
        return np.asarray(found)

    def mixed(self, options: Codes, weights: Floats) -> Floats:
        """The covariances of every option with a weighted sum of some, (n,); one may be in it twice."""
        found = self._loads @ (weights @ self._loads[options])
        np.add.at(found, options, self._own[options] * weights)
        return np.asarray(found)


def separate_joint(own: Floats) -> Joint:
    """Options that share nothing, with these variances."""
    return Joint(own, np.zeros((own.size, 0)), separate=True)


class Knowledge(NamedTuple):
    """What is known of the options' values, and how half-widths of differences follow from it.

    Without deviations a half-width is a radius times the standard error of the difference. With them it is
    the sum of two parts: the same for the weights of the features, and ``quantile`` times the standard error
    that is left once these weights are known. Where options share nothing, half-widths after a measurement
    follow from the evidence itself, and the joint law is that of its precision.
    """

    joint: Joint
    given_weights: Joint | None = None
    quantile: float = 0.0
    evidence: SeparateOptions | None = None  # where half-widths follow from each option's own evidence


class KnownWeights(NamedTuple):
    """What is known of the weights of the features, all else being unknown."""

    directions: Floats  # (d, r): orthonormal
    error: Floats  # (r,): the standard error along each
    turn: Floats  # (q, r): where these directions lie among the common unknowns


def known_weights(fit: Fit) -> KnownWeights:
    """From the root of the covariance; directions that nothing is known of are left out."""
    assert fit.solved is not None
    assert fit.weights is not None
    dim = fit.weights.size
    half = fit.solved.half[:, fit.solved.nodes : fit.solved.nodes + dim]
    turn, error, directions = np.linalg.svd(half, full_matrices=False)
    rank = dim - fit.silent.shape[1]
    return KnownWeights(directions[:rank].T, error[:rank], turn[:, :rank])


def left_to_options(fit: Fit, known: KnownWeights) -> Joint:
    """How options vary once the weights are known."""
    assert fit.solved is not None
    halves = fit.solved.halves
    left = halves - known.turn @ (known.turn.T @ halves)
    return Joint(fit.solved.own[fit.solved.targets.node], left.T)


#: How much too large a span easily is, and at most.
GENEROUS, AT_MOST = 10.0, 300.0
SIZES = 41


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


def possible_spreads(n: int, span: float | None, scale: float) -> Spreads:
    """Standard deviations that n options may have.

    Args:
        n: How many options there are.
        span: By how much they differ at most; None if that was never stated.
        scale: Without a span, the largest spread to reckon with; infinite if nothing says how large.
    """
    if span is None and math.isinf(scale):
        raise ValueError(
            "`span` (a number by which no two options differ more) must be given to look ahead before two "
            "options were measured: nothing else says how far apart they may be."
        )
    n = max(2, n)
    expected_range = 2.0 * normal_quantile((n - 0.375) / (n + 0.25))  # of n standard normal numbers (Blom)
    top = scale if span is None else span / expected_range
    tau = np.geomspace(top / AT_MOST, top, SIZES)
    # Without a span the top comes from the measurements, and may itself be far too large.
    likely = np.ones(SIZES) if span is None else np.minimum(1.0, (tau * GENEROUS / top) ** 2)
    return Spreads(tau, likely / likely.sum())


def independent_worlds(
    fit: Fit, resolution: float, count: int, rng: np.random.Generator, span: float | None
) -> Floats:
    """Values of independent options, (count, n).

    Args:
        fit: The estimates.
        resolution: The difference that matters.
        count: How many worlds.
        rng: Where chance comes from.
        span: By how much options differ at most; None if that was never stated.
    """
    variances = fit.variances()
    known = (fit.group >= 0) & np.isfinite(variances)
    means, errors = fit.means[known], variances[known]
    scale = 3.0 * float(np.std(means)) if means.size > 1 else math.inf
    spreads = possible_spreads(fit.means.size, span, max(scale, resolution))
    if fit.connected:
        return _connected_worlds(fit, spreads, count, rng)
    tau = spreads.tau
    weights = 1.0 / (tau[:, None] ** 2 + errors)
    total = weights.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        centres = np.where(total > 0.0, (weights * means).sum(axis=1) / total, 0.0)
    misfits = (weights * (means - centres[:, None]) ** 2).sum(axis=1)
    evidence = 0.5 * (np.log(weights).sum(axis=1) - misfits)
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


class _Contrasts(NamedTuple):
    """What is known within a connected part."""

    options: Codes
    level: float
    directions: Floats  # (options, options - 1)
    along: Floats  # (options - 1,): the estimates
    errors: Floats  # (options - 1,): their variances


def _connected_worlds(fit: Fit, spreads: Spreads, count: int, rng: np.random.Generator) -> Floats:
    n = fit.means.size
    parts = [_contrasts(fit, group) for group in np.unique(fit.group[fit.group >= 0]).tolist()]
    known = sorted(parts, key=lambda c: -c.options.size)
    squares = spreads.tau**2
    evidence = np.zeros(squares.size)
    for part in known:
        total = squares[:, None] + part.errors
        evidence -= 0.5 * (np.log(total) + part.along**2 / total).sum(axis=1)
    tau = spreads.tau[spreads.weighed(evidence).draw(rng, count)]
    home = known[0]
    centre = home.level + tau / math.sqrt(home.options.size) * rng.standard_normal(count)
    worlds = centre[:, None] + tau[:, None] * rng.standard_normal((count, n))
    for part in known:
        level = np.full(count, part.level)
        if part is not home:
            level = centre + tau / math.sqrt(part.options.size) * rng.standard_normal(count)
        kept = tau[:, None] ** 2 / (tau[:, None] ** 2 + part.errors)
        drawn = kept * part.along + np.sqrt(kept * part.errors) * rng.standard_normal(
            (count, part.errors.size)
        )
        worlds[:, part.options] = level[:, None] + drawn @ part.directions.T
    return worlds


def _contrasts(fit: Fit, group: int) -> _Contrasts:
    assert fit.solved is not None
    options = np.flatnonzero(fit.group == group)
    root = fit.solved.halves[:, options]
    covariance = root.T @ root + np.diag(fit.solved.own[options])
    # Without what all have in common: of each row its mean, and of each column.
    centred = covariance - covariance.mean(axis=0)
    centred = centred - centred.mean(axis=1, keepdims=True)
    # The level is made the largest direction, and left out.
    errors, directions = np.linalg.eigh(centred + 2.0 * float(np.trace(centred)) / options.size + 1e-300)
    errors, directions = np.maximum(errors[:-1], 0.0), directions[:, :-1]
    means = fit.means[options]
    return _Contrasts(options, float(means.mean()), directions, directions.T @ means, errors)


def weighted_worlds(
    fit: Fit,
    features: Floats,
    sums: Sums,
    resolution: float,
    count: int,
    rng: np.random.Generator,
    span: float | None,
) -> Floats:
    """Values of options with features, (count, n).

    They are in the zero of the block that coming measurements are in, so that these agree with those that
    there are.

    Args:
        fit: Of a linear model.
        features: ``(n, d)``.
        sums: The measurements that were fitted.
        resolution: The difference that matters.
        count: How many worlds.
        rng: Where chance comes from.
        span: By how much options differ at most; None if that was never stated.
    """
    solved = fit.solved
    assert solved is not None
    known = known_weights(fit)
    scale = 3.0 * float(np.std(fit.means)) if sums.n_measurements > 1 else math.inf
    spreads = possible_spreads(fit.means.size, span, max(scale, resolution))
    moved = _draw_weights(fit, known, spreads, count, rng)
    # In independent units: the weights as they were drawn, and all else as it was.
    units = rng.standard_normal((count, known.turn.shape[0]))
    units += (moved @ known.directions / known.error - units @ known.turn) @ known.turn.T
    worlds = fit.means + units @ solved.halves
    if fit.silent.shape[1]:
        worlds += (moved - moved @ known.directions @ known.directions.T) @ features.T
    own = solved.own[solved.targets.node]
    if own.any():
        # What was never measured deviates by as much as anything.
        worlds += np.sqrt(own) * rng.standard_normal(worlds.shape)
    here = np.flatnonzero((sums.minus < 0) & (sums.block == reference_place(fit.offset_precision)))
    if here.size:
        # Given the options' values a block's offset is the mean of what was measured above them.
        weight = sums.weight[here] / sums.weight[here].sum()
        offset = (sums.value[here] - worlds[:, sums.plus[here]]) @ weight
        offset += rng.standard_normal(count) / math.sqrt(float(sums.weight[here].sum()))
        worlds += offset[:, None] - fit.level
    return np.asarray(worlds)


def _draw_weights(
    fit: Fit, known: KnownWeights, spreads: Spreads, count: int, rng: np.random.Generator
) -> Floats:
    """How far the weights of the features are from their estimates, (count, d), with a spread per world."""
    assert fit.weights is not None
    dim = fit.weights.size
    sizes = np.zeros(dim)  # what the data say about each direction
    sizes[: known.error.size] = known.error**-2.0
    turned = np.linalg.qr(np.column_stack([known.directions, np.eye(dim)]))[0]
    turned[:, : known.error.size] = known.directions
    pull = sizes * (fit.weights @ turned)
    # Features are whitened: with weights of size τ the options' standard deviation is τ·√dim.
    tau = spreads.tau / math.sqrt(dim)
    prior = tau[:, None] ** -2.0
    evidence = 0.5 * (pull**2 / (sizes + prior)).sum(axis=1) - 0.5 * np.log1p(sizes / prior).sum(axis=1)
    at = spreads.weighed(evidence).draw(rng, count)
    precise = sizes + tau[at][:, None] ** -2.0
    along = pull / precise + rng.standard_normal((count, dim)) / np.sqrt(precise)
    return np.asarray(along @ turned.T - fit.weights)
