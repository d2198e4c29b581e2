import numpy as np
import polars as pl
import pytest

from noisewise.charts import who_was_measured
from noisewise.charts.pulls import quiet_threshold


def subtitle(chart):
    return " ".join(chart.to_dict(validate=False)["title"]["subtitle"])


def drawn(chart):
    return max(chart.to_dict(validate=False)["datasets"].values(), key=len)


def test_every_measurement_is_drawn_once_and_quiet_ones_are_marked(measurements):
    chart = who_was_measured(measurements)
    assert len(drawn(chart)) == 200
    assert sum(row["quiet"] for row in drawn(chart)) == 6
    assert "6 of 200 (sigma up to 0.01), with more than 99 % of all precision" in subtitle(chart)


def test_many_rounds_are_drawn_in_stretches_that_lose_no_measurement():
    rng = np.random.default_rng(0)
    n = 20_000
    sigma = rng.uniform(0.5, 1.0, n)
    chart = who_was_measured({"round": np.arange(n), "option": rng.integers(9, size=n), "sigma": sigma})
    assert len(drawn(chart)) < 1300
    assert sum(row["count"] for row in drawn(chart)) == n
    assert sum(row["quiet"] for row in drawn(chart)) == n // 10
    assert "A cell stands for 156 rounds" in subtitle(chart)


@pytest.mark.parametrize(
    ("sigma", "threshold"),
    [
        ([1.0] * 10, 0.0),
        ([0.1] + [1.0] * 19, 0.1),
        ([0.1] * 3 + [1.0] * 7, 0.1),
        ([0.1] * 8 + [1.0] * 2, 0.0),
        ([0.1] + [1.0] * 17 + [5.0] * 2, 0.1),
        ([k / 20 for k in range(1, 21)], 0.1),
    ],
)
def test_quiet_means_the_smallest_sigmas_as_far_as_they_differ(sigma, threshold):
    assert quiet_threshold(pl.Series("sigma", sigma), 0.1) == threshold
