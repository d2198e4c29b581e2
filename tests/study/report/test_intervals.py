"""The bars of the chart are the certificate's own statement, both of their ends."""

import numpy as np
import pytest

import noisewise as nw
from noisewise.study.report.intervals import comparison

SE = {"A": 0.1, "B": 0.3, "C": 0.6}


def measured(goal, sign=1.0, **more):
    study = nw.create_study(options=list(SE), eps=0.5, goal=goal, **more)
    for option, value in {"A": 2.0, "B": 1.6, "C": 0.5}.items():
        study.tell(option=option, value=sign * value, se=SE[option])
    return study


def rows_of(study):
    return {
        row["option"]: row for row in comparison(study.analysis(), study.certificate()).iter_rows(named=True)
    }


def test_the_better_end_is_the_bound_of_a_rival_and_the_worse_end_that_of_a_leading_option():
    study = measured("max")
    boundary, rows = study.analysis().boundary, rows_of(study)
    assert study.certificate().option == "A"
    for k, name in enumerate(study.options):
        row = rows[name]
        assert row["high"] - row["mean"] == pytest.approx(boundary.half_widths(0)[k])
        assert row["mean"] - row["low"] == pytest.approx(boundary.lead_widths(0)[k])
    beyond = max(row["high"] for name, row in rows.items() if name != "A") - rows["A"]["mean"]
    assert study.certificate().bound == pytest.approx(beyond)
    # Neither side is the other: the recommended option pays for having been chosen, its rival does not.
    assert rows["C"]["high"] - rows["C"]["mean"] != pytest.approx(
        rows["C"]["mean"] - rows["C"]["low"], rel=1e-3
    )


def test_with_small_values_good_the_picture_is_its_own_mirror_image():
    up, down = rows_of(measured("max")), rows_of(measured("min", -1.0))
    for name in SE:
        assert (down[name]["low"], down[name]["high"]) == pytest.approx((-up[name]["high"], -up[name]["low"]))


def test_bars_stand_on_the_recommended_estimate_if_and_only_if_an_option_may_be_the_best():
    rng = np.random.default_rng(4)
    for goal in ("max", "min"):
        study = nw.create_study(options=[f"o{k}" for k in range(12)], eps=0.1, goal=goal)
        for k, name in enumerate(study.options):
            study.tell(option=name, successes=int(rng.binomial(200, 0.3 + 0.04 * k)), trials=200)
        rows = rows_of(study)
        at = rows[study.certificate().option]["mean"]
        assert len({row["candidate"] for row in rows.values()}) == 2
        for row in rows.values():
            assert row["candidate"] == (row["high"] >= at if goal == "max" else row["low"] <= at)


def test_an_estimate_outside_of_its_limits_is_where_the_bar_ends(tmp_path):
    rng = np.random.default_rng(3)
    study = nw.create_study(options=["a", "b", "c"], goal="min", scale="log", measure="rounds", eps=0.05)
    for number in range(40):
        slow = np.exp(0.1 * rng.normal())
        for option, time in zip("abc", (1.0, 1.2, 2.0), strict=True):
            outlier = 5.0 if option == "b" and number % 4 == 0 else 1.0
            value = float(slow * time * outlier * np.exp(0.005 * rng.normal()))
            study.tell(option=option, items={f"round {number}": value})
    analysis = study.analysis()
    assert analysis.boundary.lead_widths(0)[1] < 0.0, "outliers move the mean of b, and no limit"
    table = comparison(analysis, study.certificate())
    assert (table["low"] <= table["mean"]).all()
    assert (table["mean"] <= table["high"]).all()
    assert table["low"][1] < 1.2 * table["mean"][0] < table["high"][1]
    study.plot.intervals()
    study.report(tmp_path / "report.html")
