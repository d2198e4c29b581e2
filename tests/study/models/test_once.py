"""Bounds for one look in every model: exact where they are said to be, invariant, below those at any time."""

import math

import numpy as np
import pytest
from scipy.stats import beta, binom, norm
from tests.support import one_look
from tests.support.effort import effort
from tests.support.one_look import FEATURES, NAMES, Tables, once, outside, widths

import noisewise as nw
from noisewise.study.models import one_look as models_once
from noisewise.study.models.one_look import common_factor, two_evidences

LINEAR = {"model": "linear"}
DEVIATION = {"model": "linear+deviation:0.7"}
FREE = np.array([0.0, -0.3, -1.0, 0.4, 0.1])
SUMS = FEATURES @ np.array([1.0, -0.5])
CHANCES = np.array([0.3, 0.5, 0.62, 0.7, 0.1])
#: How tables are measured, the true values, the model, and the part of the error probability that is used.
TABLES = {
    "known": (one_look.known, FREE, {}, 1.0),
    "complete blocks": (lambda v, r: one_look.in_blocks(v, r, 5), FREE, {}, 1.0),
    "incomplete blocks": (one_look.in_blocks, FREE, {}, 0.7),
    "differences": (one_look.differences, FREE, {}, 0.7),
    "readings": (one_look.readings, FREE, {}, 1.0),
    "several instruments": (lambda v, r: one_look.readings(v, r, (1.0, 2.0)), FREE, {}, 0.0),
    "without error bars": (one_look.bare, FREE, {}, 0.3),
    "without error bars, equal scatter": (one_look.bare, FREE, {"errors": nw.Errors(scatter="pooled")}, 1.0),
    "shares": (one_look.shares, CHANCES, {}, 0.0),
    "linear": (one_look.known, SUMS, LINEAR, 0.3),
    "linear, blocks": (one_look.in_blocks, SUMS, LINEAR, 0.3),
    "linear, without error bars": (one_look.bare, SUMS, LINEAR, 0.3),
    "deviation": (one_look.known, SUMS, DEVIATION, 0.3),
    "deviation, blocks": (one_look.in_blocks, SUMS, DEVIATION, 0.3),
}
RUNS = effort(40, 400)


@pytest.mark.parametrize("name", TABLES)
def test_differences_to_the_best_lie_outside_as_seldom_as_allowed_and_nearly_as_often(name):
    measure, truth, question, used = TABLES[name]
    rng, missed, delta = np.random.default_rng(1), 0, 0.5
    tables = Tables(confidence=1.0 - delta, **question)
    for _ in range(RUNS):
        values = truth + (0.7 * rng.standard_normal(5) if question is DEVIATION else 0.0)
        missed += outside(tables.analysis(measure(values, rng)), values)
    # Each limit is left by chance with a probability below 1e-5.
    assert binom.ppf(1e-5, RUNS, used * delta) <= missed <= binom.isf(1e-5, RUNS, delta)


@pytest.mark.parametrize("name", list(TABLES)[:: effort(3, 1)])
def test_they_are_smaller_than_bounds_that_hold_at_any_time(name):
    measure, truth, question, _ = TABLES[name]
    rows = measure(truth, np.random.default_rng(2))
    rows = [*rows, *measure(truth, np.random.default_rng(3))]  # enough degrees of freedom for both
    if "readings" in name or "error bars" in name:
        rows = [*rows, *measure(truth, np.random.default_rng(4))]
    at_once, any_time = once(rows, **question), once(rows, final=False, **question)
    small, large = widths(at_once), widths(any_time)
    apart = ~np.eye(5, dtype=bool)
    assert np.isfinite(large).all()
    assert (small[apart] < 0.9 * large[apart]).all()
    assert at_once.certificate().bound <= any_time.certificate().bound


@pytest.mark.parametrize("name", list(TABLES)[:: effort(3, 1)])
def test_names_order_shifts_and_units_change_nothing(name):
    measure, truth, question, _ = TABLES[name]
    rows = measure(truth, np.random.default_rng(4))
    usual = widths(once(rows, **question))
    shuffled = [rows[k] for k in np.random.default_rng(0).permutation(len(rows))]
    assert widths(once(shuffled, **question)) == pytest.approx(usual, rel=1e-7)
    turned = one_look.table()[::-1]
    found = widths(once(rows, options=turned, **question))
    assert found[::-1, ::-1] == pytest.approx(usual, rel=1e-7)
    if name == "shares":
        return
    scaled = {"model": f"linear+deviation:{8.0 * 0.7}"} if question is DEVIATION else question
    moved = [_changed(row, 8.0, 64.0 * ("plus" not in row)) for row in rows]
    found = widths(once(moved, eps=4.0, **scaled)) / 8.0
    assert found == pytest.approx(usual, rel=1e-6)


def _changed(row, factor, shift):
    changed = dict(row)
    for name in ("value", "se"):
        if name in row:
            changed[name] = factor * row[name] + (shift if name == "value" else 0.0)
    if "values" in row:
        changed["values"] = [factor * value + shift for value in row["values"]]
    return changed


def test_one_block_that_holds_everything_is_no_block():
    rows = one_look.known(FREE, np.random.default_rng(7))
    together = [row | {"block": "all"} for row in rows]
    assert widths(once(together)) == pytest.approx(widths(once(rows)), rel=1e-6)


def test_common_factors_never_exceed_the_correlations():
    rng = np.random.default_rng(8)
    for n in (3, 6, 12):
        root = rng.normal(size=(n, 3)) * (rng.random((n, 3)) > 0.3)
        links = np.abs(root @ root.T)
        np.fill_diagonal(links, 0.0)
        precision = np.diag(links.sum(axis=1) + 0.1) - links
        covariance = np.linalg.inv(precision)
        for at in range(n):
            common = common_factor(covariance, at)
            others = np.arange(n) != at
            apart = covariance - covariance[at] - covariance[:, [at]] + covariance[at, at]
            apart = apart[np.ix_(others, others)]
            related = apart / np.sqrt(np.outer(np.diagonal(apart), np.diagonal(apart)))
            products = np.outer(common, common)
            off = ~np.eye(n - 1, dtype=bool)
            assert (products[off] <= related[off] * (1.0 + 1e-9)).all()


def test_many_different_variances_are_on_the_safe_side(monkeypatch):
    variances = 10.0 ** np.random.default_rng(9).uniform(-1.0, 1.0, 60)
    exact = models_once._among(variances, 0.05, None)
    monkeypatch.setattr(models_once, "MOST", 24)
    together = models_once._among(variances, 0.05, None)
    assert (together >= exact - 1e-8).all()
    assert (together <= 1.03 * exact).all()


def test_shares_are_what_a_search_over_all_pairs_of_chances_says():
    counts = {"A": (12, 40), "B": (31, 60), "C": (0, 25), "D": (50, 50), "E": (7, 9)}
    rows = [{"option": name, "successes": s, "trials": t} for name, (s, t) in counts.items()]
    found = widths(once(rows))
    radius = two_evidences(4, 0.05)
    for j, rival in enumerate(NAMES):
        for i, other in enumerate(NAMES):
            if i != j:
                reached = _farthest(counts[rival], counts[other], radius)
                assert reached - 1e-9 <= found[j, i] <= 1.006 * reached + 1e-9


def _farthest(rival, other, radius):
    """The largest difference of chances, less the estimated one, with z² + z² within the radius."""
    (s, t), (r, n) = rival, other
    turns = np.linspace(0.0, 0.5 * math.pi, 4001)
    tails = norm.sf(radius * np.cos(turns)), norm.sf(radius * np.sin(turns))
    upper = np.ones(turns.size) if s == t else beta.isf(tails[0], s + 1, t - s)
    lower = np.zeros(turns.size) if r == 0 else beta.ppf(tails[1], r, n - r + 1)
    return float((upper - lower).max()) - (s / t - r / n)


def test_shares_in_blocks_keep_the_largest_error_they_can_have():
    rows = [{"option": name, "successes": 50, "trials": 100, "block": "day"} for name in NAMES]
    expected = math.sqrt(2.0 * math.log(4 / 0.05)) * math.sqrt(2.0) * 0.05
    assert widths(once(rows))[0, 1] == pytest.approx(expected)


def test_options_without_a_link_have_no_bound():
    rows = one_look.known(FREE, np.random.default_rng(10))[:4]
    found = widths(once(rows))
    assert np.isinf(found[4, :4]).all()
    assert np.isfinite(found[:4, :4]).all()
    apart = [{"option": "A", "value": 1.0, "se": 1.0, "block": "x"}, {"option": "B", "value": 1.0, "se": 1.0}]
    assert np.isinf(widths(once(apart))[0, 1])


def test_a_changed_catalogue_costs_something():
    rows = one_look.known(FREE, np.random.default_rng(11))
    study, changed = once(rows), once(rows)
    changed.exclude("E", "not sold any more")
    assert (widths(changed)[:4, :4] >= widths(study)[:4, :4]).all()
    assert widths(changed)[0, 1] > widths(study)[0, 1]
    assert any("excluded" in said for said in changed.certificate().assumptions)
