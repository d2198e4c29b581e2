"""The solver against rational arithmetic, and its updates against new fits.

Random problems of every kind of model, with error bars over 6 and 8 decades; normal equations of the same
rows are solved in fractions. What is tested is deterministic: the seeds are fixed.
"""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.support.effort import effort

from noisewise.study.models.fit import Equations, Sums, fit_features, fit_independent
from noisewise.study.models.solver import GROUND

KINDS = (
    "one block", "blocks", "differences", "blocks and differences", "trials", "linear", "linear in blocks",
    "linear differences", "more features than rows", "deviations", "deviations in blocks",
    "deviations compared",
)  # fmt: skip
N = 6


def problem(kind, seed, decades):
    """Pooled rows with distinct probes, features, and the size of deviations."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    n_blocks = 1 if kind in ("one block", "linear", "deviations") else 6 if kind == "trials" else 3
    plain = "differences" in kind and "blocks" not in kind
    rows = {(int(rng.integers(N)), -1, int(rng.integers(n_blocks))) for _ in range(0 if plain else 14)}
    if "difference" in kind or "compared" in kind:
        for _ in range(6):
            one, other = sorted(rng.choice(N, 2, replace=False).tolist(), reverse=True)
            rows.add((one, other, 0))
    plus, minus, block = np.array(sorted(rows)).T
    sigma = 10.0 ** rng.uniform(-decades, 0.0, plus.size)
    sigma[rng.permutation(plus.size)[:2]] = 10.0**-decades, 1.0
    features, deviation = None, 0.0
    if "linear" in kind or "features" in kind or "deviations" in kind:
        features = rng.normal(size=(N, 5 if "more" in kind else 2))
    if "deviations" in kind:
        deviation = float(10.0 ** rng.uniform(-3.0, 0.0))
    values = rng.normal(size=N)
    value = values[plus] - np.where(minus < 0, 0.0, values[minus])
    value = (
        value
        + np.where(minus < 0, rng.normal(size=n_blocks)[block], 0.0)
        + sigma * rng.normal(size=plus.size)
    )
    names = ["", *(f"b{k}" for k in range(1, n_blocks))]
    sums = Sums(plus, minus, block, value, sigma**-2.0, names, 0.0, 0.0, plus.size)
    return sums, features, deviation


def solved(kind, seed, decades):
    sums, features, deviation = problem(kind, seed, decades)
    equations = Equations(N, sums, features, deviating=deviation > 0.0)
    return equations.solve(sums, deviation), sums, features, deviation


def normal_equations(found):
    """The normal equations of all rows with a right-hand side, as fractions."""
    rows, size = found.rows, found.nodes + found.layout.d
    normal = [[Fraction(0)] * (size + 1) for _ in range(size)]
    for at in range(rows.value.size):
        entries = {}
        for end, sign in ((int(rows.plus[at]), 1), (int(rows.minus[at]), -1)):
            if end != GROUND:
                entries[end] = entries.get(end, Fraction(0)) + sign
        for place, x in enumerate(rows.dense[at].tolist()):
            entries[found.nodes + place] = Fraction(x)
        weight, value = Fraction(float(rows.weight[at])), Fraction(float(rows.value[at]))
        for one, x in entries.items():
            for other, z in entries.items():
                normal[one][other] += weight * x * z
            normal[one][size] += weight * x * value
    return normal


def contrasts(found, leader):
    """Estimate and variance of every option less one, as fractions; None where nothing determines it."""
    size = found.nodes + found.layout.d
    matrix, wanted = normal_equations(found), []
    for option in range(N):
        row = [Fraction(0)] * size
        for end, sign in ((option, 1), (leader, -1)):
            if (node := int(found.targets.node[end])) != GROUND:
                row[node] += sign
            for place, x in enumerate(found.targets.dense[end].tolist()):
                row[found.nodes + place] += sign * Fraction(x)
        wanted.append(row)
        for at in range(size):
            matrix[at].append(row[at])
    pivots, row = [], 0
    for column in range(size):
        pivot = next((r for r in range(row, size) if matrix[r][column] != 0), None)
        if pivot is None:
            continue
        matrix[row], matrix[pivot] = matrix[pivot], matrix[row]
        head = matrix[row][column]
        matrix[row] = [x / head for x in matrix[row]]
        for r in range(size):
            if r != row and (times := matrix[r][column]) != 0:
                matrix[r] = [x - times * y for x, y in zip(matrix[r], matrix[row], strict=True)]
        pivots.append(column)
        row += 1
    result = []
    for option, c in enumerate(wanted):
        column = size + 1 + option
        if any(matrix[r][column] != 0 for r in range(len(pivots), size)):
            result.append(None)
            continue
        estimate = sum(c[p] * matrix[r][size] for r, p in enumerate(pivots))
        result.append((estimate, sum(c[p] * matrix[r][column] for r, p in enumerate(pivots))))
    return result


def errors(kind, seed, decades):
    """The largest error of an estimate in standard errors, and of a standard error relatively."""
    found, sums, features, deviation = solved(kind, seed, decades)
    fit = fit_independent(N, sums) if features is None else fit_features(features, sums, deviation)
    worst, wide = 0.0, 0.0
    for leader in np.flatnonzero(fit.group >= 0)[:2].tolist():
        apart, variances = fit.differences(leader), fit.variances_apart(leader)
        for option, truth in enumerate(contrasts(found, leader)):
            if option == leader:
                continue
            if truth is None or fit.group[option] != fit.group[leader]:
                # A direction that the rows miss by rounding counts as undetermined.
                assert np.isinf(variances[option]), (kind, seed, leader, option)
                continue
            estimate, variance = truth
            if variance == 0:
                continue
            error = float(variance) ** 0.5
            worst = max(worst, abs(float(Fraction(float(apart[option])) - estimate)) / error)
            wide = max(wide, abs(float(variances[option]) ** 0.5 / error - 1.0))
    return worst, wide


@pytest.mark.parametrize("decades", [6, 8])
@pytest.mark.parametrize("kind", KINDS)
def test_estimates_and_variances_are_those_of_rational_arithmetic(kind, decades):
    for seed in range(effort(3, 500)):
        worst, wide = errors(kind, seed, decades)
        # In standard errors, of which a half-width has two or more.
        assert max(worst, wide) < (1e-7 if decades == 6 else 5e-6), (kind, seed, worst, wide)


@pytest.mark.parametrize("kind", KINDS)
def test_leaving_a_row_out_is_a_new_fit(kind):
    for seed in range(effort(4, 50)):
        sums, features, deviation = problem(kind, seed, 2)
        whole, *_ = solved(kind, seed, 2)
        out = whole.left_out(sums.plus.size)
        for row in range(sums.plus.size):
            kept = np.arange(sums.plus.size) != row
            rest = Equations(N, sums.select(kept), features, deviating=deviation > 0.0)
            again = rest.solve(sums.select(kept), deviation)
            assert whole.squares - out.fall[row] == pytest.approx(again.squares, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_learning_and_forgetting_a_row_is_a_new_fit(kind):
    for seed in range(effort(4, 50)):
        rng = np.random.default_rng(seed)
        sums, features, deviation = problem(kind, seed, 2)
        whole, *_ = solved(kind, seed, 2)
        equations = Equations(N, sums, features, deviating=deviation > 0.0)
        for row in rng.permutation(sums.plus.size)[:3].tolist():
            # The same probe once more, with another value and error bar.
            weight, value = sums.weight.copy(), sums.value.copy()
            more, read = 1.0 / 0.3**2, float(rng.normal())
            value[row] = (weight[row] * value[row] + more * read) / (weight[row] + more)
            weight[row] += more
            again = equations.solve(sums._replace(weight=weight, value=value), deviation)
            plus, minus, dense = whole.rows.plus[row], whole.rows.minus[row], whole.rows.dense[row]
            learned, *_ = solved(kind, seed, 2)
            before = learned.log_det
            grown = learned.learn(int(plus), int(minus), dense, 0.3**2, read)
            assert before + grown == pytest.approx(again.log_det, abs=1e-6)
            for leader in range(N):
                finite = again.layout.part[np.where(again.targets.node < 0, 0, again.targets.node)]
                same = finite == finite[leader]
                assert_allclose(
                    learned.variances_apart(leader)[same],
                    again.variances_apart(leader)[same],
                    rtol=1e-6,
                    atol=1e-9,
                )
            assert_allclose(learned.values()[0], again.values()[0], rtol=1e-6, atol=1e-8)
            learned.learn(int(plus), int(minus), dense, 0.3**2, read, remove=True)
            assert_allclose(learned.values()[0], whole.values()[0], rtol=1e-5, atol=1e-6)


def test_the_only_row_that_says_something_cannot_be_forgotten():
    sums, *_ = problem("one block", 0, 2)
    one = sums.select(np.arange(1))
    found = Equations(N, one).solve(one)
    plus, minus = int(found.rows.plus[0]), int(found.rows.minus[0])
    with pytest.raises(ValueError, match="nothing else says"):
        found.learn(plus, minus, found.rows.dense[0], float(1.0 / one.weight[0]), remove=True)
