"""What is known of the races between two looks at the certificate: rank-one updates, radii as they were.

After a look everything is exact. A measurement then lowers the covariance of the options by
``along·alongᵀ/variance`` and moves their estimates by ``along/variance·(value - expected)``, both exactly;
the half-widths shrink with the standard errors. Only the radii are those of the last look.

A value in a block is read against the weighted mean of what the block holds already (`Company`), so that
offsets need not be known.
"""

import math
from typing import NamedTuple

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.study.asking.coming import DIFFERENCE, Coming, Company
from noisewise.study.asking.field import Field
from noisewise.study.certificate.bound import Recommended
from noisewise.study.evidence.foreseen import expected_variance
from noisewise.study.log.measurements import NOBODY, Codes
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.joint import Joint, Knowledge, separate_joint

#: Options with the largest estimates that may lead instead of the one that does.
LEADERS = 4


class DenseJoint(Joint):
    """Options whose covariances are all written down.

    Args:
        covariance: Of every option with every other, (n, n); changed as measurements come in.
    """

    def __init__(self, covariance: Floats) -> None:
        super().__init__(np.zeros(len(covariance)), np.zeros((len(covariance), 0)))
        self.covariance = covariance

    def variances(self) -> Floats:
        """Of every option, (n,)."""
        return np.asarray(np.diagonal(self.covariance))

    def columns(self, options: Codes) -> Floats:
        """The covariances of every option with some, (n, k)."""
        return np.asarray(self.covariance[:, options])

    def mixed(self, options: Codes, weights: Floats) -> Floats:
        """The covariances of every option with a weighted sum of some, (n,)."""
        return np.asarray(self.covariance[:, options] @ weights)


class Reading(NamedTuple):
    """A measurement that was chosen: what it will do to the estimates, whatever comes out."""

    gain: Floats | None  # (n,) per unit that it lies above what is expected; None: it opens a block
    options: Codes  # what is read is a weighted sum of these
    weights: Floats
    against: bool  # whether it is read against the mean of its block
    share: float  # of the precision of its block, as soon as it is in


class Standing:
    """The races, from a look at the certificate on.

    Args:
        foreseen: The study when it was looked at.
        found: What it recommends.
        coming: A usual measurement, in its block.
        apart: Whether options share nothing, and will not.
    """

    def __init__(self, foreseen: Analysis, found: Recommended, coming: Coming, *, apart: bool) -> None:
        fit, boundary = foreseen.certified, foreseen.boundary
        self.leader = found.option
        self.half = boundary.half_widths(self.leader)
        self.means = fit.means + fit.fine
        self._excluded = ~foreseen.state.allowed()
        self._by_name = foreseen.state.by_name()
        knowledge = foreseen.model.knowledge(fit, boundary, self.leader)
        self._quieter: Floats | None = None
        if apart and knowledge.evidence is not None:
            more = coming.evidence(foreseen.specification.resolution)
            self._quieter = np.sqrt(expected_variance(knowledge.evidence, more)) / coming.noise
        self._knowledge = _written_down(knowledge, fit.group == fit.group[self.leader], apart)
        sums, n, block = foreseen.certified_sums, foreseen.n, coming.block
        self._weight, self._level = np.zeros(n), 0.0
        if block is not None and block in sums.blocks:
            rows = np.flatnonzero((sums.minus < 0) & (sums.block == sums.blocks.index(block)))
            if rows.size:
                np.add.at(self._weight, sums.plus[rows], sums.weight[rows])
                self._level = float(sums.weight[rows] @ sums.value[rows]) / float(sums.weight[rows].sum())

    @property
    def upper(self) -> Floats:
        """By how much each option may be better than the leader, (n,)."""
        upper = self.means - self.means[self.leader] + self.half
        upper[self._excluded] = upper[self.leader] = -np.inf
        return np.asarray(upper)

    @property
    def bound(self) -> float:
        """What the certificate would say if radii stayed as they are."""
        return max(0.0, float(self.upper.max()))

    def bound_of_others(self) -> float:
        """The smallest bound of other options that may lead, those with the largest estimates.

        Their half-widths are taken to be as many standard errors as those of the leader.
        """
        means = np.where(self._excluded, -np.inf, self.means)
        means[self.leader] = -np.inf
        others = np.argpartition(-means, min(LEADERS, means.size - 1))[:LEADERS]
        others = others[means[others] > -np.inf]
        if not others.size:
            return math.inf
        half = self._half_widths_like_the_leaders(others)
        upper = self.means[:, None] - self.means[others] + half
        upper[self._excluded] = -np.inf
        upper[others, np.arange(others.size)] = -np.inf
        return max(0.0, float(upper.max(axis=0).min()))

    def _half_widths_like_the_leaders(self, others: Codes) -> Floats:
        """Of the differences of all options to some others, (n, k)."""
        joint, given, quantile = self._knowledge[:3]
        both = np.append(self.leader, others)
        if given is None:
            apart = np.sqrt(_variances_apart(joint, both))
            return _as_wide(self.half, apart[:, 0], apart[:, 1:], self.leader, others)
        left = _variances_apart(given, both)
        apart = np.sqrt(np.maximum(_variances_apart(joint, both) - left, 0.0))
        left = quantile * np.sqrt(left)
        weights = np.maximum(self.half - left[:, 0], 0.0)
        return _as_wide(weights, apart[:, 0], apart[:, 1:], self.leader, others) + left[:, 1:]

    def open_block(self) -> None:
        """The coming measurement is in a new block."""
        self._weight, self._level = np.zeros(self._weight.size), 0.0

    def field(self, coming: Coming) -> Field:
        """The races, for RACE."""
        company = self._company()
        if self._quieter is not None and coming.probe != DIFFERENCE:
            coming = coming._replace(noise=coming.noise * self._quieter)
        return Field(self.leader, self.half, self.upper, self._knowledge, company, coming, self._by_name)

    def _company(self) -> Company | None:
        options = np.flatnonzero(self._weight)
        if not options.size:
            return None
        total = float(self._weight.sum())
        return Company(options, self._weight[options] / total, 1.0 / total)

    def quieter(self, option: int, minus: int) -> float:
        """By how much the noise of what is read is expected to be smaller than its error bar."""
        return 1.0 if self._quieter is None or minus != NOBODY else float(self._quieter[option])

    def spread(self, option: int, minus: int) -> float:
        """The variance of what would be read, noise apart."""
        options, weights, _ = self._row(option, minus)
        return max(0.0, float(weights @ self._knowledge.joint.mixed(options, weights)[options]))

    def expect(self, field: Field, option: int, minus: int, sigma: float) -> Reading:
        """A measurement will be made, and all that is known of it beforehand is taken in."""
        options, weights, extra = self._row(option, minus)
        sigma *= self.quieter(option, minus)
        against = minus == NOBODY and not self._knowledge.joint.separate
        if against and self._company() is None:
            self._weight[option] = sigma**-2.0
            return Reading(None, options, weights, True, 1.0)
        finite = np.isfinite(self.half)
        self.half = np.where(finite, field.halves_after(option, minus, sigma), np.inf)
        gain = _learn(self._knowledge.joint, options, weights, sigma**2 + extra)
        if self._knowledge.given_weights is not None:
            _learn(self._knowledge.given_weights, options, weights, sigma**2 + extra)
        share = 0.0
        if against:
            self._weight[option] += sigma**-2.0
            share = sigma**-2.0 / float(self._weight.sum())
        return Reading(gain, options, weights, against, share)

    def learn(self, reading: Reading, value: float) -> None:
        """What came out; readings come in the order in which they were expected."""
        level = self._level if reading.against else 0.0
        self._level += reading.share * (value - self._level)
        if reading.gain is None:
            self._level = value
        else:
            expected = level + float(reading.weights @ self.means[reading.options])
            self.means = self.means + reading.gain * (value - expected)

    def _row(self, option: int, minus: int) -> tuple[Codes, Floats, float]:
        """What is read, as a weighted sum of options, and the variance that the block's mean adds."""
        if minus != NOBODY:
            return np.array([option, minus]), np.array([1.0, -1.0]), 0.0
        company = None if self._knowledge.joint.separate else self._company()
        if company is None:
            return np.array([option]), np.ones(1), 0.0
        options = np.append(company.options, option)
        return options, np.append(-company.shares, 1.0), company.variance


def _variances_apart(joint: Joint, options: Codes) -> Floats:
    """The variances of the differences of all options to some, (n, k)."""
    own = joint.variances()
    return np.maximum(own[:, None] + own[options] - 2.0 * joint.columns(options), 0.0)


def _as_wide(half: Floats, apart: Floats, others_apart: Floats, leader: int, others: Codes) -> Floats:
    """Half-widths that are as many standard errors as those of the leader's differences, (n, k)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        radius = half / apart
    wide = radius[:, None] * others_apart
    wide[leader] = half[others]
    return np.asarray(np.where(np.isfinite(wide), wide, np.inf))


def _written_down(knowledge: Knowledge, linked: np.ndarray, apart: bool) -> Knowledge:
    """The same with all covariances; those of options that are not linked are of no use, and 0."""
    if apart and knowledge.joint.separate:
        own = np.where(linked, knowledge.joint.variances(), 0.0)
        return Knowledge(separate_joint(own))
    options = np.flatnonzero(linked)

    def dense(joint: Joint) -> DenseJoint:
        found = np.zeros((linked.size, linked.size))
        found[:, options] = np.where(linked[:, None], joint.columns(options), 0.0)
        return DenseJoint(found)

    given = None if knowledge.given_weights is None else dense(knowledge.given_weights)
    return Knowledge(dense(knowledge.joint), given, knowledge.quantile)


def _learn(joint: Joint, options: Codes, weights: Floats, noise: float) -> Floats:
    """Take in a measurement of a weighted sum; returns by how much estimates move per unit."""
    along = joint.mixed(options, weights)
    variance = noise + max(0.0, float(weights @ along[options]))
    if isinstance(joint, DenseJoint):
        joint.covariance -= np.outer(along / variance, along)
    else:
        own = joint.variances()
        own[options] *= noise / variance
    return np.asarray(along / variance)
