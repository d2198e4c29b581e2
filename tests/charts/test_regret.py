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


def test_lows_at_or_below_zero_are_drawn_at_a_stated_floor(regret):
    table = regret.with_columns(low=pl.col("mean") - 0.2)
    assert table["low"].min() < 0.0
    chart = regret_over_rounds(table)
    floor = min(row["low"] for row in drawn(chart))
    assert floor > 0.0
    assert f"below {floor:g} is drawn at {floor:g}" in subtitle(chart)


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
