"""Errors of any tails: an e-process that needs a variance only, and studies that no outlier carries away."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.stats import binom
from tests.support.effort import effort, long_beyond

import noisewise as nw
from noisewise.study.certificates.check import FarOff, far_off
from noisewise.study.evidence.heavy_tails import STAKES, AnyTails, PerOption, centres, grid_weights, rows_of
from noisewise.study.evidence.kind import DOWN, UP
from noisewise.study.evidence.search import reaches

RESOLUTION = 0.5
#: A statistical test fails with this probability although all is right.
FALSE_ALARM = 1e-6


def textbook(values, sigmas, z, side):
    """The mixture, factor by factor."""
    total = 0.0
    for stake, weight in zip(STAKES * RESOLUTION, grid_weights(), strict=True):
        product = weight
        for value, sigma in zip(values, sigmas, strict=True):
            y = min((z - side * value) * stake / sigma**2, 3.0)
            product *= (1.0 + y + y * y / 2.0 if y > -1.0 else 0.5) / (1.0 + stake**2 / (2.0 * sigma**2))
        total += product
    return math.log(total)


def drawn(rng, n, size):
    """Several options with measurements whose error bars differ."""
    option = np.repeat(np.arange(n), size)
    sigma = rng.uniform(0.5, 2.0, option.size)
    return option, sigma * rng.standard_t(3, option.size) / math.sqrt(3.0), sigma


@pytest.mark.parametrize("side", [UP, DOWN])
def test_it_is_the_textbook_mixture(side):
    rng = np.random.default_rng(0)
    option, value, sigma = drawn(rng, 4, 13)
    kind = AnyTails(rows_of(option, value, sigma, 4), RESOLUTION)
    z = np.linspace(-3.0, 5.0, 9)
    found = kind.log_e(np.array([2, 0]), np.tile(z, (2, 1)), side)
    for row, which in zip(found.value, (2, 0), strict=True):
        some = option == which
        np.testing.assert_allclose(
            row, [textbook(value[some], sigma[some], at, side) for at in z], rtol=1e-12
        )
    step = 1e-6
    ahead = kind.log_e(np.array([2, 0]), np.tile(z + step, (2, 1)), side).value
    np.testing.assert_allclose((ahead - found.value) / step, found.slope, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("side", [UP, DOWN])
def test_a_reach_ends_where_the_evidence_reaches_the_level(side):
    rng = np.random.default_rng(1)
    option, value, sigma = drawn(rng, 6, 9)
    value[3] = 1e4  # far off
    kind = AnyTails(rows_of(option, value, sigma, 6), RESOLUTION)
    levels = np.linspace(-3.0, 22.0, 40)
    found = reaches([kind], np.arange(6), levels, side)
    assert np.all(found[:, 1:] >= found[:, :-1])
    assert np.isinf(found).any()  # nine measurements do not exclude everything
    some = np.isfinite(found).all(axis=0)
    levels, found = levels[some], found[:, some]
    assert levels[-1] > 4.0
    there = kind.log_e(np.arange(6), found, side).value
    assert np.all(there >= levels)
    inside = kind.log_e(np.arange(6), found - 1e-6 * np.abs(found), side).value
    assert np.all(inside < levels + 1e-9)


@settings(max_examples=effort(12, 60), deadline=None)
@given(
    value=arrays.arrays(float, st.integers(1, 12), elements=st.floats(-1e6, 1e6)),
    sigma=st.floats(1e-3, 1e3),
    shift=st.floats(-1e3, 1e3),
)
def test_it_never_falls_and_moves_with_the_values(value, sigma, shift):
    rows = rows_of(np.zeros(value.size, dtype=np.int64), value, np.full(value.size, sigma), 1)
    kind = AnyTails(rows, RESOLUTION)
    z = np.sort(np.concatenate([[-2e6, 2e6], value]))[None, :]
    found = kind.log_e(np.array([0]), z, UP)
    assert np.all(np.diff(found.value) >= -1e-9 * np.abs(found.value[:, 1:]) - 1e-9)
    assert np.all(found.slope >= 0.0)
    moved = AnyTails(rows._replace(value=rows.value + shift), RESOLUTION).log_e(np.array([0]), z + shift, UP)
    np.testing.assert_allclose(moved.value, found.value, rtol=1e-5, atol=1e-4)


def laws(rng, shape):
    """Errors with mean 0 and variance 1, from harmless to nasty."""
    rare = rng.random(shape) < 1e-3
    yield "normal", rng.standard_normal(shape)
    yield "heavy", rng.standard_t(2.2, shape) * math.sqrt(0.2 / 2.2)
    yield (
        "skewed",
        (rng.lognormal(0.0, 1.5, shape) - math.exp(1.125)) / math.sqrt(math.exp(4.5) - math.exp(2.25)),
    )
    yield "rare", (rare - 1e-3) / math.sqrt(1e-3 * (1.0 - 1e-3))


@pytest.mark.parametrize("law", long_beyond(2, range(4), "statistics"))
def test_it_seldom_speaks_against_the_truth(law):
    """At any of 40 moments, on either side, in 500 sequences; 8 tests in all."""
    rng = np.random.default_rng(100 + law)
    sequences, length = 500, 40
    _, errors = list(laws(rng, (sequences, length)))[law]
    sigma = rng.choice([0.3, 1.0, 3.0], size=(sequences, length))
    # Every beginning of every sequence as an option of its own.
    lengths = np.tile(np.arange(1, length + 1), sequences)
    starts = np.append(0, np.cumsum(lengths))
    at = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
    which = np.repeat(np.arange(sequences), np.arange(1, length + 1).sum())
    rows = PerOption(starts, (sigma * errors)[which, at], sigma[which, at], np.ones(at.size))
    kind = AnyTails(rows, RESOLUTION)
    for side in (UP, DOWN):
        found = kind.log_e(np.arange(lengths.size), np.zeros((lengths.size, 1)), side).value
        ever = found.reshape(sequences, length).max(axis=1)
        for alpha in (0.5, 0.05):
            assert (ever >= math.log(1.0 / alpha)).sum() <= binom.isf(FALSE_ALARM / 16.0, sequences, alpha)


def test_one_error_moves_an_estimate_by_about_a_standard_error():
    rng = np.random.default_rng(3)
    value = rng.standard_normal(50)
    whole = np.zeros(50, dtype=np.int64), value, np.ones(50)
    before = centres(rows_of(*whole, 1), RESOLUTION)[0]
    assert before == pytest.approx(value.mean(), abs=0.1 / math.sqrt(50))
    for error in (1e2, 1e4, 1e8):
        worse = np.append(value, error)
        after = centres(rows_of(np.zeros(51, dtype=np.int64), worse, np.ones(51), 1), RESOLUTION)[0]
        assert abs(after - before) < 1.5 / math.sqrt(50)


def told(noise, extra=()):
    rng = np.random.default_rng(4)
    study = nw.create_study(options=["A", "B", "C"], eps=0.5, errors=nw.Errors(tails=noise))
    rows = [(name, 0.8 * k + rng.standard_normal()) for _ in range(60) for k, name in enumerate("ABC")]
    for name, value in [*rows, *extra]:
        study.tell(option=name, value=value, se=1.0)
    return study


def test_a_study_of_any_tails_is_not_carried_away():
    for noise, withheld in (("normal", True), ("heavy", False)):
        plain, off = told(noise).certificate(), told(noise, [("A", 1e5)]).certificate()
        assert plain.option == "C"
        assert plain.bound < 0.5
        assert bool(off.withheld) == withheld
    assert off.option == "C"
    assert off.bound == pytest.approx(plain.bound, abs=0.1)
    assert off.evidence == ("error bars, any tails",)
    assert any("whatever the tails" in said for said in off.assumptions)


def test_counts_stand_beside_error_bars_of_any_tails():
    study = nw.create_study(options=["A", "B"], eps=0.2, errors=nw.Errors(tails="heavy"))
    for name, share in (("A", 0.2), ("B", 0.7)):
        study.tell(option=name, successes=round(200 * share), trials=200)
        for value in (share - 0.05, share, share + 0.05):
            study.tell(option=name, value=value, se=0.05)
    certificate = study.certificate()
    assert certificate.option == "B"
    assert certificate.bound <= 0.2
    assert set(certificate.evidence) == {"counts", "error bars, any tails"}


def test_asking_and_planning_go_on():
    study = told("heavy", [("A", 1e5)])
    (job,) = study.ask()
    study.tell(job, 1.0, se=1.0)
    assert "simulated" not in str(study.plan())


REFUSED = [
    ({"value": 1.0}, "needs an error bar that was known before"),
    ({"values": [1.0, 2.0, 3.0]}, "needs an error bar that was known before"),
    ({"value": 1.0, "se": 1.0, "block": "monday"}, "neither differences"),
]


@pytest.mark.parametrize(("given", "said"), REFUSED)
def test_what_cannot_be_used_is_refused(given, said):
    study = nw.create_study(options=["A", "B"], eps=0.5, errors=nw.Errors(tails="heavy"))
    with pytest.raises(ValueError, match=said):
        study.tell(option="A", **given)
    with pytest.raises(ValueError, match=f"row 1 \\(A\\): .*{said}"):
        study.tell_many({"option": ["A"], **{name: [value] for name, value in given.items()}})
    with pytest.raises(ValueError, match="neither differences"):
        study.tell(plus="A", minus="B", value=1.0, se=1.0)
    assert study.n_measurements == 0


def test_too_many_far_off_withhold_the_certificate():
    study = nw.create_study(options=["A", "B"], eps=0.5, errors=nw.Errors(tails="heavy"))
    rng = np.random.default_rng(6)
    for _ in range(30):
        for name in "AB":
            study.tell(option=name, value=8.0 * rng.standard_normal(), se=1.0)
    certificate = study.certificate()
    assert "more than 4 standard errors off" in certificate.withheld[0]
    assert not study.check().ok


def test_the_chance_of_far_off_is_the_binomial_tail():
    for many, of in ((5, 20), (30, 100), (9, 9)):
        assert FarOff(many, of).chance == pytest.approx(binom.sf(many - 1, of, 1.0 / 9.0), rel=1e-9)
    assert FarOff(1, 100).chance == 1.0
    assert far_off(np.array([0, 0, 1]), np.array([5.0, 0.0, 9.0])) == FarOff(1, 2)


@pytest.mark.parametrize("se", [0.01, 1e-9])
def test_precise_measurements_bound_something_too(se):
    # Far below eps, every factor once cost more than a measurement could bring: there never was a bound.
    rng = np.random.default_rng(5)
    value = np.repeat([0.0, 3.0], 15) + se * rng.standard_normal(30)
    told = {"option": ["a"] * 15 + ["b"] * 15, "value": value, "se": [se] * 30}
    made = nw.create_study(results=told, eps=0.5, errors=nw.Errors(tails="heavy")).certificate()
    assert (made.option, made.bound) == ("b", 0.0)
    close = {**told, "value": value - np.repeat([0.0, 3.0], 15)}
    assert nw.create_study(results=close, eps=0.5, errors=nw.Errors(tails="heavy")).certificate().bound < 0.5


@pytest.mark.parametrize("sigma", [0.05, 1e-3])
def test_below_all_stakes_it_is_an_e_process_still(sigma):
    # The mean of the evidence over the two values that a measurement has, by enumeration.
    chance = 0.1
    low, high = -sigma * math.sqrt((1 - chance) / chance), sigma * math.sqrt(chance / (1 - chance))
    total = 0.0
    for value, weight in ((low, chance), (high, 1 - chance)):
        kind = AnyTails(rows_of(np.zeros(1, int), np.array([value]), np.array([sigma]), 1), RESOLUTION)
        total += weight * math.exp(kind.log_e(np.zeros(1, int), np.zeros((1, 1)), UP).value[0, 0])
    assert 0.1 < total <= 1.0 + 1e-12


@pytest.mark.parametrize("far", [1e9, -1e20, 1e45])
def test_an_estimate_is_found_however_far_off_one_measurement_is(far):
    value = np.append(np.linspace(-1.0, 1.0, 19), far)
    near = np.append(np.linspace(-1.0, 1.0, 19), math.copysign(1e4, far))
    found, expected = (
        centres(rows_of(np.zeros(20, int), v, np.ones(20), 1), RESOLUTION)[0] for v in (value, near)
    )
    assert found == pytest.approx(expected, abs=1e-6)
