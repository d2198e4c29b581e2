"""Charts of studies: the course of the bound, the ledger, residuals, forecasts."""

import numpy as np
import pytest

from noisewise.charts import (
    bound_over_measurements,
    forecast_bands,
    residuals_over_measurements,
    worth_per_measurement,
)


def table(chart, name):
    return chart.to_dict()["datasets"][name]


def test_the_course_marks_quiet_measurements_and_eps():
    chart = bound_over_measurements(
        {"measurement": [3, 1, 2], "bound": [0.0, 2.0, 1.0], "quiet": [True, False, False]}, eps=0.5
    )
    rows = table(chart, "course")
    assert [row["measurement"] for row in rows] == [1.0, 2.0, 3.0]
    assert rows[-1]["bound"] == 0.2  # the lower edge: a log axis has no 0
    assert chart.to_dict()["title"]["text"] == ["After 3 measurements: the bound is 0"]
    said = " ".join(chart.to_dict()["title"]["subtitle"])
    assert "drawn at 0.2, the lower edge" in said
    assert "Dots are quiet measurements: 1 are shown." in said
    assert table(chart, "eps")[0]["text"] == "eps 0.5: good enough"
    alone = bound_over_measurements({"measurement": [1], "bound": [0.0], "quiet": [False]})
    assert "eps" not in alone.to_dict()["datasets"]


def test_the_ledger_shows_what_was_worth_most():
    chart = worth_per_measurement(
        {"measurement": ["a", "b", "c"], "share": [0.2, 0.5, 0.3], "quiet": [False, True, False]}, most=2
    )
    assert [row["measurement"] for row in table(chart, "measurements")] == ["b", "c"]
    assert [row["kind"] for row in table(chart, "measurements")] == ["quiet", "usual"]
    with pytest.raises(ValueError, match="must name each row once"):
        worth_per_measurement({"measurement": ["a", "a"], "share": [0.5, 0.5], "quiet": [True, True]})


def test_residuals_are_thinned_but_outliers_stay():
    residual = np.random.default_rng(0).standard_normal(5000)
    residual[[10, 4000]] = 7.0, -9.0
    chart = residuals_over_measurements(
        {"measurement": np.arange(1, 5001), "option": ["A"] * 5000, "residual": residual}, most=500
    )
    rows = table(chart, "residuals")
    drawn = {row["measurement"]: row["residual"] for row in rows}
    assert len(rows) <= 501
    assert set(np.flatnonzero(np.abs(residual) > 2.0) + 1.0) <= set(drawn)
    assert [row["state"] for row in rows if abs(row["residual"]) > 3.0] == ["beyond three"] * sum(
        np.abs(residual) > 3.0
    )
    assert f"{len(rows):,} of 5,000 are drawn" in " ".join(chart.to_dict()["title"]["subtitle"])


def test_forecasts():
    chart = forecast_bands(
        {"name": ["a", "b"], "median": [5, 50], "low": [2, 20], "high": [9, 90]}, what="Cost"
    )
    assert [row["median"] for row in table(chart, "ways")] == [5.0, 50.0]
    assert chart.to_dict()["layer"][0]["encoding"]["x"]["axis"]["title"] == "Cost (log scale)"
    with pytest.raises(ValueError, match="must be above 0"):
        forecast_bands({"name": ["a"], "median": [5], "low": [0], "high": [9]})
