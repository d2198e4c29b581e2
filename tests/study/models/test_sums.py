"""The fast order of measurements is the slow one."""

import numpy as np
import pytest

from noisewise.study.models.sums import _order


@pytest.mark.parametrize("probes", [1, 50, 100_000])
@pytest.mark.parametrize("digits", [0, 1, 9])
@pytest.mark.parametrize("count", [0, 1, 2000])
def test_sorting_by_probe_value_and_weight(probes, digits, count):
    rng = np.random.default_rng(count + digits)
    probe = rng.integers(probes, size=count)
    value = np.round(rng.normal(size=count), digits)
    for weight in (np.ones(count), np.round(rng.uniform(1.0, 2.0, count), 1)):
        fast, slow = _order(probe, value, weight), np.lexsort((weight, value, probe))
        assert sorted(fast.tolist()) == list(range(count))
        for column in (probe, value, weight):
            assert np.array_equal(column[fast], column[slow])
