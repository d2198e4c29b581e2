import polars as pl
import pytest

from noisewise.charts import measured_and_claimed

FRAME = pl.DataFrame(
    {
        "label": ["a", "b", "c"],
        "mean": [1.0, 2.0, 3.0],
        "low": [0.5, 1.5, 2.5],
        "high": [1.5, 2.5, 3.5],
        "claimed": [1.1, None, 9.0],
    }
)


@pytest.mark.parametrize("log", [True, False])
def test_a_tick_only_where_something_was_claimed(log):
    chart = measured_and_claimed(FRAME, title="t", x_title="x", log=log).to_dict(validate=True)
    assert [row["label"] for row in chart["datasets"]["claimed"]] == ["a", "c"]
    assert [row["label"] for row in chart["datasets"]["measured"]] == ["a", "b", "c"]
    across = chart["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert across[0] < 0.5
    assert across[1] > 9.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": ["a", "a", "c"]}, "must name each row once"),
        ({"low": [9.0, 9.0, 9.0]}, "must be in this order"),
        ({"low": [0.0, 0.0, 0.0]}, "must be above 0 on a log axis"),
        ({"claimed": [-1.0, None, 1.0]}, "'claimed' must be above 0 on a log axis"),
    ],
)
def test_what_cannot_be_drawn_is_refused(change, message):
    frame = FRAME.with_columns(**{name: pl.Series(values) for name, values in change.items()})
    with pytest.raises(ValueError, match=message):
        measured_and_claimed(frame, title="t", x_title="x", log=True)
