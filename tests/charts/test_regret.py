import numpy as np
import polars as pl
import pytest

from noisewise.charts import regret_over_precision, regret_over_rounds


def subtitle(chart):
    return " ".join(chart.to_dict(validate=False)["title"]["subtitle"])


def drawn(chart):
    """The rows behind the lines."""
    return max(chart.to_dict(validate=False)["datasets"].values(), key=len)


def texts(chart):
    return {
        row["label"]
        for rows in chart.to_dict(validate=False)["datasets"].values()
        for row in rows
        if "label" in row
    }


@pytest.mark.parametrize("log", [True, False])
@pytest.mark.parametrize("draw", [regret_over_rounds, regret_over_precision])
def test_the_specification_is_valid_and_names_every_policy(draw, log, regret):
    chart = draw(regret, log=log)
    assert chart.to_dict(validate=True)["width"] == 640
    assert texts(chart) == {"policy-0", "policy-1", "policy-2"}


def test_a_reference_curve_is_drawn_and_labelled(regret):
    x = np.geomspace(4, 4000, 30)
    chart = regret_over_precision(regret, reference=[(x, 3 / np.sqrt(x), "d / √S")])
    assert "d / √S" in texts(chart)


def test_lows_at_or_below_zero_are_drawn_at_a_stated_floor(regret):
    table = regret.with_columns(low=pl.col("mean") - 0.2)
    assert table["low"].min() < 0.0
    chart = regret_over_rounds(table)
    floor = min(row["low"] for row in drawn(chart))
    assert floor > 0.0
    assert f"below {floor:g} is drawn at {floor:g}" in subtitle(chart)


def test_few_more_points_are_drawn_than_there_are_pixels():
    rounds = np.arange(1, 20_001)
    table = {"policy": ["a"] * 20_000, "rounds": rounds, "mean": 1 / rounds, "low": 0.9 / rounds}
    rows = drawn(regret_over_rounds(table | {"high": 1.1 / rounds}))
    assert len(rows) < 1300
    assert rows[0]["x"] == 1
    assert rows[-1]["x"] == 20_000


def test_every_line_carries_markers(regret):
    rows = drawn(regret_over_rounds(regret))
    for policy in ("policy-0", "policy-1", "policy-2"):
        assert 4 <= sum(row["marker"] for row in rows if row["policy"] == policy) <= 9


def test_an_interval_that_misses_its_mean_is_refused(regret):
    with pytest.raises(ValueError, match="'low', 'mean' and 'high' must be in this order; got low="):
        regret_over_rounds(regret.with_columns(low=2.0))


@pytest.mark.parametrize(
    "curve", [([1.0], [1.0], "c"), ([1.0, 2.0], [1.0], "c"), ([1.0, 2.0], [0.0, 1.0], "c")]
)
def test_a_reference_curve_that_cannot_be_drawn_is_refused(curve, regret):
    with pytest.raises(ValueError, match="`reference` 'c' must"):
        regret_over_rounds(regret, reference=[curve])


def test_axes_of_ones_own(regret):
    from noisewise.charts import lines_with_bands

    chart = lines_with_bands(
        regret,
        x="rounds",
        x_title="Horizon",
        y_title="Width",
        title="Widths",
        log_x=False,
        log_y=False,
        reference=[([0.0, 9.0], [-1.0, 1.0], "through 0")],
    )
    made = chart.to_dict(validate=True)
    titles = {
        layer["encoding"][axis]["axis"]["title"]
        for layer in made["layer"]
        for axis in ("x", "y")
        if "axis" in layer["encoding"].get(axis, {})
    }
    assert {"Horizon", "Width"} <= titles
    assert "subtitle" not in made["title"] or made["title"]["subtitle"] == []
    with pytest.raises(ValueError, match="must be above 0 on a log axis"):
        lines_with_bands(
            regret.with_columns(rounds=0), x="rounds", x_title="x", y_title="y", title="t", log_y=False
        )
