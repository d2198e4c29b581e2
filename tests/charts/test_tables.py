import polars as pl
import pytest

from noisewise.charts import intervals_per_option, regret_over_rounds
from noisewise.charts.draw import to_rows

DRAW = {
    "regret": (regret_over_rounds, {}, "mean"),
    "options": (intervals_per_option, {"recommended": "A-49"}, "high"),
}


@pytest.fixture(params=DRAW)
def case(request):
    return request.getfixturevalue(request.param), *DRAW[request.param]


def test_a_missing_column_is_named(case):
    frame, draw, settings, column = case
    with pytest.raises(ValueError, match=f"`frame` must have a column '{column}'; got the columns '"):
        draw(frame.drop(column), **settings)


def test_an_empty_frame_is_refused(case):
    frame, draw, settings, _ = case
    with pytest.raises(ValueError, match="`frame` must have at least one row; got none"):
        draw(frame.clear(), **settings)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_is_not_finite_is_named(case, value):
    frame, draw, settings, column = case
    with pytest.raises(ValueError, match=f"Column '{column}' must hold finite numbers; got {value!r}"):
        draw(frame.with_columns(pl.lit(value).alias(column)), **settings)


def test_a_missing_value_is_named_with_its_row(case):
    frame, draw, settings, column = case
    row = pl.int_range(pl.len())
    holes = frame.with_columns(pl.when(row == 2).then(None).otherwise(column).alias(column))
    with pytest.raises(
        ValueError, match=f"Column '{column}' must have a value in every row; got none in row 2"
    ):
        draw(holes, **settings)


def test_numbers_in_a_specification_are_short():
    assert to_rows(pl.DataFrame({"x": [0.123456789, 1e-9 / 3]})) == [{"x": 0.123457}, {"x": 3.33333e-10}]


def test_what_is_no_frame_is_refused():
    with pytest.raises(TypeError, match="`frame` must be a data frame or a mapping of columns; got int"):
        intervals_per_option(3, recommended="a")
