"""Independent options against exact arithmetic: error bars over decades, offsets of 1e6, ties, differences.

`NOISEWISE_EXACT_PROBLEMS=500` runs as many problems as that; the default is for every day.
"""

import itertools
import math
import os
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from tests.support.effort import effort

from noisewise.study.log.measurements import Columns
from noisewise.study.models.boundary import Shares
from noisewise.study.models.networks.contrasts import ELLIPSOIDS, PAIRS, Contrasts
from noisewise.study.models.networks.independent_fit import fit_independent
from noisewise.study.models.sums import pool

PROBLEMS = int(os.environ.get("NOISEWISE_EXACT_PROBLEMS", effort(6, 24)))
EPS, DELTA = 0.3, 0.05


def problem(seed):
    """A connected study: options, blocks (the first without a name), differences."""
    rng = np.random.default_rng(seed)
    n, blocks = int(rng.integers(2, 6)), int(rng.integers(1, 5))
    rows = int(rng.integers(n + blocks, 4 * (n + blocks)))
    plus, minus, block = rng.integers(n, size=rows), np.full(rows, -1), rng.integers(blocks, size=rows)
    if seed % 2:
        compared = rng.random(rows) < 0.3
        minus[compared] = (plus[compared] + rng.integers(1, n, compared.sum())) % n
    # Everything is linked, by measurements that may be the roughest of all.
    plus = np.r_[plus, np.arange(n), np.zeros(blocks, int)]
    block = np.r_[block, np.zeros(n, int), np.arange(blocks)]
    minus = np.r_[minus, np.full(n + blocks, -1)]
    decades = rng.choice([0.5, 3.0, 6.0])
    sigma = 10.0 ** (rng.uniform(-4, 4) + rng.uniform(-decades, decades, plus.size))
    if rng.random() < 0.3:
        sigma = np.where(rng.random(plus.size) < 0.5, sigma.min(), sigma.max())  # ties
    offsets = np.r_[0.0, 1e6 * rng.normal(size=blocks - 1)]
    value = rng.normal(size=plus.size) + sigma * rng.normal(size=plus.size)
    value += np.where(minus < 0, offsets[block], 0.0)
    zeros, ones = np.zeros(plus.size, int), np.ones(plus.size)
    names = ["", *(f"b{k}" for k in range(1, blocks))]
    told = Columns(
        np.arange(plus.size) + 1, plus, minus, block, value, zeros, sigma, ones, ones, zeros, names, [""]
    )
    return n, told


def laplacian(n, told):
    """V with the offsets projected out, and its right side, as fractions."""
    weight = [Fraction(float(s)) ** -2 for s in told.sigma]
    precision, right = [[Fraction(0)] * n for _ in range(n)], [Fraction(0)] * n
    blocks = {}
    for k, (plus, minus, block) in enumerate(zip(told.plus, told.minus, told.block, strict=True)):
        value = Fraction(float(told.value[k]))
        if minus < 0:
            blocks.setdefault(block, []).append((plus, weight[k], value))
            continue
        for i, j, sign in ((plus, plus, 1), (minus, minus, 1), (plus, minus, -1), (minus, plus, -1)):
            precision[i][j] += sign * weight[k]
        right[plus] += weight[k] * value
        right[minus] -= weight[k] * value
    for rows in blocks.values():
        total = sum(w for _, w, _ in rows)
        mean = sum(w * y for _, w, y in rows) / total
        for i, w, y in rows:
            right[i] += w * (y - mean)
            precision[i][i] += w
            for j, other, _ in rows:
                precision[i][j] -= w * other / total
    return precision, right


def solve(matrix, right):
    """Gauss in fractions."""
    size = len(matrix)
    rows = [[*row, b] for row, b in zip(matrix, right, strict=True)]
    for k in range(size):
        at = next(r for r in range(k, size) if rows[r][k])
        rows[k], rows[at] = rows[at], rows[k]
        for r in range(size):
            if r != k and rows[r][k]:
                factor = rows[r][k] / rows[k][k]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[k], strict=True)]
    return [rows[k][size] / rows[k][k] for k in range(size)]


def determinant(matrix):
    rows, found = [list(row) for row in matrix], Fraction(1)
    for k in range(len(rows)):
        found *= rows[k][k]
        for r in range(k + 1, len(rows)):
            factor = rows[r][k] / rows[k][k]
            rows[r] = [a - factor * b for a, b in zip(rows[r], rows[k], strict=True)]
    return found


def log(fraction):
    return float(mpmath.log(fraction.numerator) - mpmath.log(fraction.denominator))


def exact_half_width(precision, one, other):
    """The written formula, with x made shortest by its shift."""
    n, unit = len(precision), Fraction(EPS) ** -2
    kept = [k for k in range(n) if k != one]
    inside = [[precision[i][j] for j in kept] for i in kept]
    solved = solve(inside, [Fraction(int(k == other)) for k in kept])
    x = [Fraction(0)] * n
    for k, number in zip(kept, solved, strict=True):
        x[k] = number
    best = math.inf
    tried = [(t, 1) for t in ELLIPSOIDS] + [(t, max(1, n - 1)) for t in PAIRS]
    for tuning, ways in tried:
        prior = [Fraction(tuning.elsewhere) * unit] * n
        prior[one] = prior[other] = Fraction(tuning.on_pair) * unit
        shift = sum(p * v for p, v in zip(prior, x, strict=True)) / sum(prior)
        length = x[other] + sum(p * (v - shift) ** 2 for p, v in zip(prior, x, strict=True))
        grown = determinant([[precision[i][j] / prior[i] + int(i == j) for j in range(n)] for i in range(n)])
        part = tuning.share * Shares(DELTA, 2, 2, False).comparing
        radius = 2.0 * math.log(ways / (part * DELTA)) + log(grown)
        best = min(best, float(length) * radius)
    return math.sqrt(best)


@pytest.mark.parametrize("part", range(4))
def test_differences_and_half_widths_agree_with_fractions(part):
    worst = 0.0
    for seed in range(part, PROBLEMS, 4):
        n, told = problem(seed)
        fit = fit_independent(n, pool(told, told.sigma, 1.0))
        precision, right = laplacian(n, told)
        boundary = Contrasts(fit.components, Shares(DELTA, n, n, False), EPS)
        estimates = [
            Fraction(0),
            *solve([row[1:] for row in precision[1:]], right[1:]),
        ]
        half = [boundary.half_widths(k) for k in range(n)] if fit.components else None
        pairs = list(itertools.permutations(range(n), 2)) if half is not None else []
        # Fractions of many thousand digits take their time: all pairs only where time was asked for.
        for one, other in pairs if PROBLEMS > 40 else pairs[seed % 3 :: 7]:
            expected = exact_half_width(precision, one, other)
            worst = max(worst, abs(half[one][other] / expected - 1.0))
            apart = Fraction(float(fit.differences(one)[other])) - (estimates[other] - estimates[one])
            worst = max(worst, abs(float(apart)) / expected)
    assert worst < 1e-6


@pytest.mark.parametrize("seed", range(8))
def test_the_chi_square_and_the_determinant_agree_with_fractions(seed):
    n, told = problem(seed)
    sums = pool(told, told.sigma, 1.0)
    fit = fit_independent(n, sums)
    blocks = len(told.blocks)
    rows = []
    for k in range(told.value.size):
        row = [Fraction(0)] * (n + blocks)
        row[told.plus[k]] = Fraction(1)
        row[told.minus[k] if told.minus[k] >= 0 else n + told.block[k]] = Fraction(-1)
        rows.append(row)
    weight = [Fraction(float(s)) ** -2 for s in told.sigma]
    if not sums.has_border:
        return
    size = n + blocks - 1  # the last node is set to 0
    precision = [[sum(w * r[i] * r[j] for w, r in zip(weight, rows, strict=True)) for j in range(size)]
                 for i in range(size)]  # fmt: skip
    values = [Fraction(float(v)) for v in told.value]
    right = [sum(w * r[i] * v for w, r, v in zip(weight, rows, values, strict=True)) for i in range(size)]
    x = solve(precision, right)
    left = [v - sum(a * b for a, b in zip(r, x, strict=False)) for r, v in zip(rows, values, strict=True)]
    squares = sum(w * e * e for w, e in zip(weight, left, strict=True))
    assert fit.squares(sums) == pytest.approx(float(squares), rel=1e-6)
    assert fit.log_det == pytest.approx(log(determinant(precision)), rel=1e-9)
