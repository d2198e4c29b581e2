"""The check: it fires when it should, rarely when not, and says what is wrong."""

import numpy as np
import pytest
from tests.support.effort import effort
from tests.support.simulated_studies import chi_square

import noisewise as nw

NAMES = [f"o{k}" for k in range(10)]


def told(sigma, stated, *, seed=0, rows=100, offsets=None, **columns):
    rng = np.random.default_rng(seed)
    k = np.arange(rows) % 10
    values = rng.normal(size=10)[k] + sigma * rng.standard_normal(rows)
    study = nw.create_study(options=NAMES, eps=0.5)
    study.tell_many({"option": [NAMES[i] for i in k], "value": values, "se": stated, **columns})
    return study


def test_it_fires_on_a_chi_square_of_five_and_rarely_on_one():
    """15 or 100 studies: 14 or 95 at least and, at a nominal 1 %, 4 or 9 at most (false alarm below 1e-6)."""
    studies, least, most = effort((15, 14, 4), (100, 95, 9))
    assert sum(chi_square(5.0, seed) for seed in range(studies)) >= least
    assert sum(chi_square(1.0, seed) for seed in range(studies)) <= most


def test_the_reduced_chi_square_is_that_of_the_fit():
    study = told(0.3, np.full(100, 0.3))
    frame = study.frame("measurements")
    values, groups = frame["value"].to_numpy(), np.arange(100) % 10
    means = np.bincount(groups, values) / 10.0
    expected = np.sum((values - means[groups]) ** 2) / 0.09 / 90
    check = study.check()
    assert check.freedom == 90
    assert check.reduced == pytest.approx(expected)
    low, high = check.expected
    assert low < 1.0 < high
    assert (low, high) == pytest.approx((0.729, 1.313), abs=2e-3)


def test_error_bars_like_standard_deviations_of_single_readings_are_told():
    study = told(0.3 / np.sqrt(9.0), np.full(100, 0.3))
    (note,) = study.check().notes
    assert "like standard deviations of single readings" in note
    assert study.check().ok  # too large error bars make no certificate false


def test_the_worst_residuals_name_measurement_and_block():
    rng = np.random.default_rng(0)
    study = nw.create_study(options=NAMES, eps=0.5)
    for i in range(60):
        wrong = 4.0 if i == 33 else 0.0
        study.tell(option=NAMES[i % 10], value=i % 10 + wrong + 0.1 * rng.standard_normal(), se=0.1)
    check = study.check()
    assert not check.ok
    assert check.worst[0]["name"] == f"m-34 of {NAMES[3]}"
    assert "m-34" in str(check)


def test_readings_that_scatter_differently_must_not_be_pooled():
    rng = np.random.default_rng(0)
    together, apart = (
        nw.create_study(options=["A", "B"], eps=0.5, errors=nw.Errors(scatter="pooled")) for _ in range(2)
    )
    for i in range(40):
        scatter = 0.05 if i % 2 else 1.0
        values = (scatter * rng.standard_normal(4)).tolist()
        together.tell(option="AB"[i % 2], values=values)
        apart.tell(option="AB"[i % 2], values=values, instrument=f"i{i % 2}")
    assert "the scatter within all readings differs" in together.check().problems[0]
    assert "an instrument= of their own" in together.check().remedies[0]
    assert 'make the study with errors="scatter=own"' in together.check().remedies[0]
    assert apart.check().ok


def test_shares_are_judged_by_their_usual_error():
    """At 2 % the largest possible error is seven times the usual one; a misfit must show nevertheless."""
    rng = np.random.default_rng(0)
    right, wrong = (nw.create_study(options=["A", "B"], eps=0.1) for _ in range(2))
    for i in range(60):
        right.tell(option="AB"[i % 2], successes=int(rng.binomial(500, 0.02)), trials=500)
        wrong.tell(
            option="AB"[i % 2], successes=int(rng.binomial(500, rng.choice([0.002, 0.06]))), trials=500
        )
    assert right.check().ok
    assert 0.5 < right.check().reduced < 1.6
    assert not wrong.check().ok


def test_before_anything_was_repeated_it_cannot_be_checked():
    study = nw.create_study(options=["A", "B"], eps=0.1)
    study.tell(option="A", value=0.0, se=0.1)
    assert study.check().freedom == 0
    assert "cannot be checked yet" in str(study.check())
    assert any("not checked yet" in line for line in study.certificate().assumptions)
