"""The linear models against rational arithmetic: precise and rough error bars, offsets of 1e6, differences.

``NOISEWISE_EXACT_PROBLEMS=500`` tries as many problems of each kind as that.
"""

import math
import os
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
from tests.support.effort import effort
from tests.support.exact_fit import ExactFit, logarithm, root, row

from noisewise.core.choice.radius import SCALE_SHARES, SCALES
from noisewise.study.log.measurements import Columns
from noisewise.study.models.boundary import COMPARING, LINEAR
from noisewise.study.models.features.linear_boundary import FIXED, RESTARTS, LinearBoundary, MixedBoundary
from noisewise.study.models.features.linear_fit import fit_linear, fit_mixed
from noisewise.study.models.features.weight_regions import log_sum
from noisewise.study.models.sizes.variance_components import Likelihood
from noisewise.study.models.sums import pool

PROBLEMS = int(os.environ.get("NOISEWISE_EXACT_PROBLEMS", effort(6, 20)))
DELTA = 0.05


class Problem:
    """A few measurements whose error bars differ by up to twelve decades."""

    def __init__(self, seed, deviating):
        rng = np.random.default_rng(seed)
        self.n, self.dim = int(rng.integers(2, 7)), int(rng.integers(1, 4))
        rows = int(rng.integers(1, 14))
        scale = 10.0 ** rng.uniform(-10, 10)
        decades = rng.choice([0.0, 3.0, 6.0, 9.0, 12.0])
        blocks = ["", *(f"b{k}" for k in range(int(rng.integers(0, 6))))]
        self.features = rng.normal(size=(self.n, self.dim))
        if rng.random() < 0.3:
            self.features = np.round(self.features)  # ties, repeated options, dependent columns
        theta = scale * rng.normal(size=self.dim)
        self.deviation = scale * 10.0 ** rng.uniform(-decades, 0.5) if deviating else 0.0
        plus, minus = rng.integers(self.n, size=rows), np.full(rows, -1)
        compared = rng.random(rows) < rng.choice([0.0, 0.3])
        minus[compared] = (plus[compared] + rng.integers(1, self.n, compared.sum())) % self.n
        block = np.where(minus < 0, rng.integers(len(blocks), size=rows), 0)
        sigma = scale * 10.0 ** rng.uniform(-decades, 0.0, rows)
        sigma[rng.random(rows) < 0.2] = scale
        offsets = scale * rng.choice([1.0, 1e3, 1e6]) * rng.normal(size=len(blocks))
        truth = self.features @ theta + self.deviation * rng.normal(size=self.n)
        value = truth[plus] - np.where(minus < 0, -offsets[block], truth[minus])
        value = value + sigma * rng.normal(size=rows)
        self.span = scale * 10.0 ** rng.uniform(0.5, 2.0)
        self.ridge, self.resolution = (2.0 / self.span) ** 2, scale * 10.0 ** rng.uniform(-3, 0)
        ones, zeros = np.ones(rows), np.zeros(rows, int)
        self.told = Columns(
            np.arange(rows) + 1, plus, minus, block, value, zeros, sigma, ones, ones, zeros, blocks, [""]
        )
        self.blocks = np.unique(block[minus < 0])

    def twin(self, *, ridge=0.0, level=0.0, weights=True, offsets=True, deviation=None, extra=0.0):
        """The unknowns are offsets, options, weights, in this order; some may be held fixed."""
        deviation = self.deviation if deviation is None else deviation
        first = len(self.blocks)
        last = first + (self.n if deviation else 0)
        told, rows = self.told, []
        variance = [Fraction(s) ** 2 + Fraction(extra) ** 2 for s in told.sigma]

        def features(option, sign):
            return {last + at: sign * Fraction(z) for at, z in enumerate(self.features[option])}

        def add(coefficients, value, weight):
            dropped = set() if offsets else set(range(first))
            dropped |= set() if weights else set(range(last, last + self.dim))
            kept = {at: number for at, number in coefficients.items() if at not in dropped}
            rows.append(row(kept, value, weight))

        for i in range(told.value.size):
            ends = [(int(told.plus[i]), 1)] + ([(int(told.minus[i]), -1)] if told.minus[i] >= 0 else [])
            x = {}
            for option, sign in ends:
                one = {first + option: Fraction(sign)} if deviation else features(option, sign)
                x = {at: x.get(at, 0) + one.get(at, 0) for at in {**x, **one}}
            if told.minus[i] < 0:
                x[int(np.searchsorted(self.blocks, told.block[i]))] = Fraction(1)
            add(x, told.value[i], 1 / variance[i])
        if deviation:
            for option in range(self.n):
                add({first + option: 1, **features(option, -1)}, 0, 1 / Fraction(deviation) ** 2)
        for at in range(self.dim if ridge else 0):
            add({last + at: 1}, 0, Fraction(ridge))
        for at in range(first if level else 0):
            add({at: 1}, 0, Fraction(level))
        return ExactFit(rows, last + self.dim)

    def contrast(self, one, other):
        first = len(self.blocks)
        if self.deviation:
            return {first + one: 1, first + other: -1}
        apart = zip(self.features[one], self.features[other], strict=True)
        return {first + at: Fraction(a) - Fraction(b) for at, (a, b) in enumerate(apart)}


def problems(deviating):
    return [pytest.param(Problem(seed, deviating), id=str(seed)) for seed in range(PROBLEMS)]


class FromTheStart:
    """What the martingale from the start leaves of a difference: by a ball around the fit, or without it."""

    def __init__(self, problem, level):
        self.fit, self.free = problem.twin(ridge=problem.ridge), problem.twin()
        self.determined = all(self.free.pivots[-problem.dim :])
        priors = [Fraction(float(scale) * problem.dim) * Fraction(problem.ridge) for scale in SCALES]
        twins = [problem.twin(ridge=prior) for prior in priors]
        self.squared = []
        for centre, more in ((self.fit, 1.0), (self.free, 0.0)):
            logs = []
            for prior, twin, share in zip(priors, twins, SCALE_SHARES, strict=True):
                grown = sum(map(logarithm, twin.pivots[-problem.dim :])) - problem.dim * logarithm(prior)
                fitted = float(centre.squares() - twin.squares())
                logs.append(math.log(share) + 0.5 * (fitted - grown))
            mixture = log_sum(logs) + math.log(1.0 - RESTARTS)
            self.squared.append(max(2.0 * (level - mixture) + more, 2.0 * level))

    def allowed(self, contrast, own=0):
        """The half-widths that may be found: which one it is depends on how flat the region is."""
        ball = root((self.fit.variance(contrast) - own) * Fraction(self.squared[0]))
        if not self.determined:
            return [ball]
        shift = float(self.free.estimate(contrast) - self.fit.estimate(contrast))
        reach = shift + root((self.free.variance(contrast) - own) * Fraction(self.squared[1]))
        return [ball, max(0.0, min(ball, reach))]


def same_estimates(problem, fit, twin, option):
    apart = fit.differences(option)
    squares = (fit.parts.apart(option) ** 2).sum(axis=0) + fit.own + fit.own[option]
    for other in range(problem.n):
        if other != option:
            contrast = problem.contrast(other, option)
            error = root(twin.variance(contrast))
            off = float(Fraction(apart[other]) - twin.estimate(contrast))
            # A float cannot say a difference more precisely than by its last place.
            assert abs(off) <= 1e-6 * error + math.ulp(apart[other])
            assert math.sqrt(squares[other]) == pytest.approx(error, rel=1e-6)


@pytest.mark.parametrize("problem", problems(False))
def test_the_linear_fit_is_that_of_fractions(problem):
    sums = pool(problem.told, problem.told.sigma, 1.0)
    fit, twin = fit_linear(problem.features, sums, problem.ridge), problem.twin(ridge=problem.ridge)
    same_estimates(problem, fit, twin, 0)
    free = problem.twin()
    assert fit.rank == free.rank
    assert fit.squares(sums) == pytest.approx(float(free.squares()), rel=1e-6, abs=1e-9)
    found = LinearBoundary(fit, DELTA, problem.resolution).half_widths(0)
    doubt = 2.0 * math.log(1.0 / (COMPARING * DELTA)) + 1.0
    prior = problem.dim * math.log(problem.ridge)
    start = FromTheStart(problem, 0.5 * (doubt - 1.0))
    whoever = LinearBoundary(fit, DELTA, problem.resolution, any_order=True).half_widths(0)
    levels = []
    for tuning in LINEAR:
        big = tuning.elsewhere / problem.resolution**2
        grown = problem.twin(ridge=problem.ridge, level=big).log_det() - prior
        grown -= len(problem.blocks) * math.log(big)
        levels.append((Fraction(big), doubt - 2.0 * math.log(tuning.share) + grown))
    for other in range(1, problem.n):
        contrast = problem.contrast(other, 0)
        variance = twin.variance(contrast)
        assert any(found[other] == pytest.approx(one, rel=1e-6) for one in start.allowed(contrast))
        elsewhere = sum(number**2 for number in twin.weights(contrast)[: len(problem.blocks)])
        tried = [root(variance + big * elsewhere) * math.sqrt(radius) for big, radius in levels]
        assert whoever[other] == pytest.approx(min(tried), rel=1e-6)


@pytest.mark.parametrize("any_order", [False, True])
@pytest.mark.parametrize("problem", problems(True))
def test_the_fit_with_deviations_is_that_of_fractions(problem, any_order):
    sums = pool(problem.told, problem.told.sigma, 1.0)
    fit = fit_mixed(problem.features, sums, problem.deviation, problem.ridge, any_order=any_order)
    twin = problem.twin(ridge=problem.ridge)
    same_estimates(problem, fit, twin, 0)
    free = problem.twin()
    assert fit.rank + problem.n == free.rank
    assert fit.squares(sums) == pytest.approx(float(free.squares()), rel=1e-6, abs=1e-9)
    found = MixedBoundary(fit, DELTA, problem.n, problem.resolution, any_order=any_order).half_widths(0)
    quantile = NormalDist().inv_cdf(1.0 - (1.0 - FIXED) * COMPARING * DELTA / max(1, problem.n - 1))
    given = problem.twin(weights=False, offsets=not any_order)
    doubt, prior = (
        2.0 * math.log(1.0 / (FIXED * COMPARING * DELTA)) + 1.0,
        problem.dim * math.log(problem.ridge),
    )
    start, levels = FromTheStart(problem, 0.5 * (doubt - 1.0)), []
    if any_order:
        options = given.log_det()  # with weights and offsets held fixed
        for tuning in LINEAR:
            big = tuning.elsewhere / problem.resolution**2
            grown = problem.twin(ridge=problem.ridge, level=big).log_det() - options - prior
            grown -= len(problem.blocks) * math.log(big)
            levels.append((Fraction(big), doubt - 2.0 * math.log(tuning.share) + grown))
    for other in range(1, problem.n):
        contrast = problem.contrast(other, 0)
        own = given.variance(contrast)
        if not any_order:
            tried = [one + quantile * root(own) for one in start.allowed(contrast, own)]
            assert any(found[other] == pytest.approx(one, rel=1e-6) for one in tried)
            continue
        variance = twin.variance(contrast) - own
        elsewhere = sum(number**2 for number in twin.weights(contrast)[: len(problem.blocks)])
        tried = [root(variance + big * elsewhere) * math.sqrt(radius) for big, radius in levels]
        assert found[other] == pytest.approx(min(tried) + quantile * root(own), rel=1e-6)


@pytest.mark.parametrize("problem", problems(True))
def test_the_restricted_likelihood_is_that_of_fractions(problem):
    told, n = problem.told, problem.n
    likelihood = Likelihood(told, told.sigma, n, problem.features, 1.0)
    measured = np.unique(np.concatenate([told.plus, told.minus[told.minus >= 0]])).size

    def written(deviation, extra):
        twin = problem.twin(deviation=deviation, extra=extra)
        logs = sum(logarithm(Fraction(s) ** 2 + Fraction(extra) ** 2) for s in told.sigma)
        if deviation:
            logs += 2.0 * n * math.log(deviation)
        return logs + twin.log_det() + float(twin.squares())

    assert measured == likelihood.options
    size = problem.deviation
    base = likelihood(size, 0.0) - written(size, 0.0)
    for deviation, extra in ((0.0, 0.0), (0.0, size), (0.1 * size, size), (0.1 * size, 0.0)):
        expected = written(deviation, extra)
        assert likelihood(deviation, extra) - base == pytest.approx(expected, rel=1e-12, abs=1e-6)
