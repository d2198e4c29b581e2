"""What to do about a misfit, on tables whose defect is known; nothing is said where nothing is wrong."""

import numpy as np
import pytest
from tests.support.effort import effort

import noisewise as nw
from noisewise.study.models.analysis import Analysis

NAMES = [f"o{k}" for k in range(10)]
ROWS = 60
WRONG = 13  # the row that is wrong, where one is


def table(rng, low=0.1, high=0.4):
    """Sixty measurements of ten options in random order: options, standard errors, values."""
    k = rng.permutation(np.arange(ROWS) % 10)
    se = rng.uniform(low, high, ROWS)
    return k, se, rng.uniform(0.1, 0.3, 10)[k] + se * rng.standard_normal(ROWS)


def told(k, value, se, **columns):
    study = nw.create_study(options=NAMES, eps=0.5)
    study.tell_many({"option": [NAMES[i] for i in k], "value": value, "se": se, **columns})
    return study


def advice(study):
    check = study.check()
    return " ".join([*check.remedies, *check.notes])


def test_nothing_is_said_about_tables_without_a_defect():
    """Tables: remedies at a nominal 1 %, notes about error bars that look too large at the same.

    More than 12 of 200, or 7 of 80, at 2 % have a probability below 3e-4.
    """
    tables, most = effort((80, 7), (200, 12))
    spoken = 0
    for seed in range(tables):
        k, se, value = table(np.random.default_rng(seed))
        spoken += bool(advice(told(k, value, se)))
    assert spoken <= most


def test_one_wrong_row_is_named_with_its_key_and_scatter_is_not_mentioned():
    named = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        k, se, value = table(rng)
        value[WRONG] += 12.0 * se[WRONG]
        study = told(k, value, se, key=[f"row/{i}" for i in range(ROWS)])
        first = study.check().remedies[0]
        named += f"m-{WRONG + 1} (key row/{WRONG}) of {NAMES[k[WRONG]]}" in first
        assert "extra_scatter" not in advice(study)
        assert study.check().advice == {}
    assert named == 30


def test_two_wrong_rows_are_both_named():
    rng = np.random.default_rng(0)
    k, se, value = table(rng)
    value[[WRONG, 30]] += 15.0 * se[[WRONG, 30]]
    text = told(k, value, se).check().remedies[0]
    assert f"m-{WRONG + 1} (row {WRONG + 1}) of" in text
    assert "m-31 (row 31) of" in text
    assert "Without them" in text


@pytest.mark.parametrize("with_its_error_bar", [False, True])
def test_a_row_in_per_cent_leads_to_the_row(with_its_error_bar):
    rng = np.random.default_rng(0)
    k, se, value = table(rng, 0.005, 0.02)
    value[WRONG] *= 100.0
    if with_its_error_bar:
        se[WRONG] *= 100.0
    study = told(k, value, se)
    assert not study.check().ok
    text = advice(study)
    assert f"Look first at m-{WRONG + 1} (row {WRONG + 1}) of {NAMES[k[WRONG]]}" in text
    both = ", error bar and all" if with_its_error_bar else ""
    assert f"100 times what was expected{both}: is its unit (per cent?) right?" in text
    assert "scatter" not in text
    (correction,) = study.check().causes[0].remedy["amend"]
    study.amend(correction.pop("measurement"), "in per cent", **correction)
    assert study.check().ok


def test_two_readings_that_disagree_cannot_be_told_apart_and_both_are_named():
    study = nw.create_study(options=["A", "B"], eps=0.5)
    study.tell(option="A", value=1.0, se=0.1, key="Monday")
    study.tell(option="A", value=9.0, se=0.1, key="Tuesday")
    study.tell(option="B", value=1.0, se=0.1)
    (text,) = study.check().remedies
    assert "m-1 (key Monday) of A and m-2 (key Tuesday) of A: they disagree by 56.6 standard errors" in text
    assert "Without one of them all fits" in text


def test_leaving_one_out_is_what_the_formula_with_leverages_says():
    rng = np.random.default_rng(1)
    k, se, value = table(rng)
    value[WRONG] += 10.0 * se[WRONG]
    study = told(k, value, se)
    weight = se**-2.0
    total = np.bincount(k, weight)
    means = np.bincount(k, weight * value) / total
    dropped = ((value - means[k]) ** 2 * weight / (1.0 - weight / total[k]))[WRONG]
    check = study.check()
    (cause,) = check.causes
    assert [row["measurement"] for row in cause.rows] == [f"m-{WRONG + 1}"]
    assert f"it lies {np.sqrt(dropped):.3g} standard errors" in cause.words
    # And what it would be is the fit of a study that was never told it.
    others = np.arange(ROWS) != WRONG
    without = told(k[others], value[others], se[others]).check()
    assert cause.freedom == without.freedom == check.freedom - 1
    assert cause.reduced == pytest.approx(without.reduced, rel=1e-12)
    assert check.left_out[0]["reduced_chi_square"] == cause.reduced
    assert cause.reduced * cause.freedom == pytest.approx(check.reduced * check.freedom - dropped)


def test_error_bars_that_are_variances_are_said_to_be_and_others_are_not():
    """Of 20 tables each. Small error bars that lack scatter have square roots that would do as well."""
    counts = {"variances": 0, "even": 0, "scatter": 0, "factor": 0}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        k, se, value = table(rng)
        text = advice(told(k, value, se**2))
        counts["variances"] += "look like variances" in text
        counts["even"] += "were variances, their square roots would fit as well" in text
        more = told(k, value + 0.5 * rng.standard_normal(ROWS), se)
        counts["scatter"] += "look like variances" in advice(more)
        factor = told(k, value, se / 2.0)
        counts["factor"] += "look like variances" in advice(factor)
    assert counts["variances"] >= 12
    assert counts["variances"] + counts["even"] >= 18
    assert counts["scatter"] == counts["factor"] == 0


def test_large_error_bars_that_are_variances_are_noticed():
    rng = np.random.default_rng(0)
    k, se, value = table(rng, 1.5, 4.0)
    check = told(k, value, se**2).check()
    assert check.ok  # too large error bars make no certificate false
    assert "look like variances" in check.notes[0]


def test_standard_deviations_told_as_standard_errors():
    rng = np.random.default_rng(0)
    k, se, value = table(rng)
    (note,) = told(k, value, 3.0 * se).check().notes
    assert "like standard deviations of single readings where the value is the mean of about 9" in note


def test_copies_are_not_taken_for_large_error_bars():
    rng = np.random.default_rng(0)
    value = rng.normal(size=10)
    k = np.tile(np.arange(10), 4)
    (note,) = told(k, value[k], np.full(40, 0.3)).check().notes
    assert "30 measurements repeat another one to the last digit. Were they told twice?" in note
    assert "too large" not in note


def in_days(seed, **columns):
    rng = np.random.default_rng(seed)
    k, se, value = table(rng)
    day = np.repeat(np.arange(6), 10)
    return k, value + rng.normal(size=6)[day], se, [f"day {d}" for d in day]


def test_missing_blocks_are_seen_in_the_order_of_telling():
    seen, tables = 0, effort(12, 30)
    for seed in range(tables):
        k, value, se, day = in_days(seed)
        without = told(k, value, se)
        seen += "conditions changed as time went on. Give block=" in advice(without)
        assert told(k, value, se, block=day).check().ok
    assert seen >= 2 * tables // 3


def test_blocks_that_were_given_are_not_asked_for_again():
    for seed in range(5):
        k, value, se, day = in_days(seed)
        value = value + 0.6 * np.random.default_rng(seed + 100).standard_normal(ROWS)
        study = told(k, value, se, block=day)
        assert not study.check().ok
        text = advice(study)
        assert "give block=" not in text.lower()
        assert 'extra_scatter="estimate"' in text


def test_instruments_with_an_offset_of_their_own():
    rng = np.random.default_rng(0)
    k, se, value = table(rng)
    which = rng.integers(3, size=ROWS)
    value = value + np.array([0.0, 1.0, -1.5])[which]
    study = told(k, value, se, instrument=[f"i{i}" for i in which])
    assert "Instruments differ by an offset: with the instrument as block=" in study.check().remedies[0]


def timings(scatter, seed=0, **names):
    """Twelve sets of eight readings for each of three programs."""
    rng = np.random.default_rng(seed)
    study = nw.create_study(options=["fast", "slow", "slower"], eps=0.5)
    for _ in range(12):
        for option, mean, sd in zip(study.options, (1.0, 5.0, 9.0), scatter, strict=True):
            named = {name: text.format(option=option) for name, text in names.items()}
            study.tell(option=option, values=(mean + sd * rng.standard_normal(8)).tolist(), **named)
    return study


def test_timings_whose_instrument_was_named_are_not_told_to_name_it():
    study = timings((0.01, 0.3, 0.9), instrument="laptop")
    assert "the scatter within instrument laptop differs" in study.check().problems[0]
    text = advice(study)
    assert "between options: single readings of slower scatter by" in text
    assert "name the instrument=" not in text
    assert timings((0.01, 0.3, 0.9), instrument="laptop, {option}").check().ok  # the advice, taken
    assert timings((0.3, 0.3, 0.3), instrument="laptop").check().ok


def test_timings_with_outlying_readings_name_the_measurement():
    rng = np.random.default_rng(0)
    study = nw.create_study(options=["A", "B"], eps=0.5)
    for i in range(24):
        values = 1.0 + 0.1 * rng.standard_normal(6)
        if i == 7:
            values[2] += 5.0
        study.tell(option="AB"[i % 2], values=values.tolist(), instrument="laptop", key=f"run {i}")
    assert "the readings of m-8 (key run 7) of B scatter most" in advice(study)


def test_certificates_do_not_wait_for_advice(monkeypatch):
    """What to do about a misfit takes far longer than the certificate: only the check looks for it."""
    rng = np.random.default_rng(0)
    k, se, value = table(rng)
    study = told(k, value, se / 3.0)

    def never(*_):
        raise AssertionError("advice was computed")

    monkeypatch.setattr("noisewise.study.certificate.diagnosis.explain", never)
    assert study.certificate().withheld
    assert study.ask()
    assert "withheld" in repr(study)
    study.frame("options")
    with pytest.raises(AssertionError, match="advice was computed"):
        study.check()


def test_a_misfit_that_cannot_be_computed_withholds_the_certificate(monkeypatch):
    k, se, value = table(np.random.default_rng(0))
    study = told(k, value, se)
    fit = Analysis(study._state).estimates
    monkeypatch.setattr(type(fit), "squares", lambda *_: float("nan"))
    assert study.certificate().verdict == "withheld"
    assert "cannot be computed" in study.certificate().sentence


@pytest.mark.parametrize("se", [1e-3, 1e-9, 1e-30])
def test_a_row_that_is_off_by_any_number_of_standard_errors_is_named(se):
    """Also where chi-square is so large that 1 more makes no difference to it."""
    study = nw.create_study(options=["A", "B"], eps=0.1)
    for value in (1.0, 1.0, 1.0, 1.0, 8.0):
        study.tell(option="A", value=value, se=se)
    assert "m-5 of A" in study.check().remedies[0]


def test_a_few_copies_do_not_make_error_bars_look_too_large():
    numbers = np.random.default_rng(0)
    rows = [
        {"option": option, "value": float(numbers.normal()), "se": 1.0}
        for option in "ABCDEF"
        for _ in range(4)
    ]
    study = nw.create_study(options=list("ABCDEF"), eps=0.1)
    study.tell_many([*rows, *rows[:7]])
    (note,) = study.check().notes
    assert "7 measurements repeat another one to the last digit" in note
