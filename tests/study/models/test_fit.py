"""The fit and its boundaries against plain matrices."""

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.support.measured import plain_design, seven_options

from noisewise.study.models import contrasts
from noisewise.study.models.contrasts import ELLIPSOIDS, PAIRS, Contrasts
from noisewise.study.models.fit import fit_independent, pool
from noisewise.study.models.model import Shares

N = 7


def naive_half_widths(told, resolution, delta):
    """The formula of the module with all matrices written out."""
    rows, weight = plain_design(told, N), told.sigma**-2.0
    rows[:, N:] *= -1.0  # an offset is minus the value of its node
    rows = rows[:, (rows != 0.0).any(axis=0)]
    precision = (rows * weight[:, None]).T @ rows
    options, blocks = precision[:N, :N], precision[N:, N:]
    precision = options - precision[:N, N:] @ np.linalg.inv(blocks) @ precision[N:, :N]
    size, own = len(precision), np.diagonal(precision)
    inverse = np.linalg.pinv(precision, rcond=1e-13)
    half = np.zeros((N, N))
    for one, other in itertools.permutations(range(N), 2):
        contrast = np.zeros(size)
        contrast[[one, other]] = 1.0, -1.0
        x = inverse @ contrast
        tried = []
        for tuning, ways in [(t, 1) for t in ELLIPSOIDS] + [(t, N - 1) for t in PAIRS]:
            prior = np.full(size, tuning.elsewhere / resolution**2)
            prior[[one, other]] = tuning.on_pair / resolution**2
            shifted = x - (prior @ x) / prior.sum()
            doubt = math.log(ways / (Shares(delta, N, N, False).comparing * delta * tuning.share))
            if ways == 1:
                grown = np.linalg.slogdet(np.eye(size) + precision / prior[:, None])[1]
            else:  # Fischer's inequality: the pair, and the diagonal elsewhere
                pair = np.ix_([one, other], [one, other])
                grown = np.linalg.slogdet(np.eye(2) + precision[pair] / prior[one])[1]
                grown += np.delete(np.log1p(own / prior), [one, other]).sum()
            radius = 2.0 * doubt + grown
            tried.append((x @ precision @ x + prior @ shifted**2) * radius)
        half[one, other] = math.sqrt(min(tried))
    return half


@pytest.mark.parametrize("seed", range(3))
def test_boundaries_of_linked_options_are_the_written_formula(seed):
    told = seven_options(np.random.default_rng(seed), rows=80)
    sums = pool(told, told.sigma, 1.0)
    boundary = Contrasts(fit_independent(N, sums), sums, Shares(0.05, N, N, False), 0.7)
    found = np.array([boundary.half_widths(option) for option in range(N)])
    assert_allclose(found, naive_half_widths(told, 0.7, 0.05), rtol=1e-6)
    assert_allclose(found, found.T, rtol=1e-9)


def test_shares_of_the_error_probability_add_up_to_less_than_one():
    for n_first, n_now in ((5, 5), (5, 9), (1, 4)):
        fixed = Shares(1.0, n_first, n_first, False)
        comparing = sum(np.exp(-fixed.doubt(0))[1:])
        changed = Shares(1.0, n_first, n_now, True)
        pairs = sum(np.exp(-changed.doubt(k))[np.arange(n_now) != k].sum() for k in range(n_now))
        assert comparing + pairs + fixed.limits + fixed.connected <= 1.0 + 1e-12
    assert sum(tuning.share for tuning in (*ELLIPSOIDS, *PAIRS)) <= 1.0 + 1e-12


def test_very_many_options_have_the_same_bounds(monkeypatch):
    told = seven_options(np.random.default_rng(5), rows=80)
    sums = pool(told, told.sigma, 1.0)
    fit, shares = fit_independent(N, sums), Shares(0.05, N, N, False)
    dense = Contrasts(fit, sums, shares, 0.7)
    expected = [dense.half_widths(option) for option in range(N)]
    monkeypatch.setattr(contrasts, "DENSE", 2)
    found = Contrasts(fit, sums, shares, 0.7)
    assert_allclose([found.half_widths(option) for option in range(N)], expected, rtol=1e-6)
