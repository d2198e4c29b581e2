"""An order that is kept and merged is the one that sorting everything anew gives."""

import numpy as np
import pytest

from noisewise.core.growing_order import MERGED, GrowingOrder, Orders


def is_sorted_like_its_twin(order, group, value):
    """Whether the places are all there, and rows stand as three keys of one slow sort would put them."""
    slow = np.lexsort((value, group))
    assert sorted(order.places.tolist()) == list(range(group.size))
    assert np.array_equal(group[order.places], group[slow])
    assert np.array_equal(value[order.places], value[slow])
    sorted_groups = group[slow]
    starts = [at for at in range(group.size) if at == 0 or sorted_groups[at] != sorted_groups[at - 1]]
    assert order.starts.tolist() == starts
    assert order.group_of_row.tolist() == np.unique(group, return_inverse=True)[1][slow].tolist()
    return True


@pytest.mark.parametrize("seed", range(12))
def test_what_was_sorted_before_may_have_grown_changed_or_lost_rows(seed):
    rng = np.random.default_rng(seed)
    orders, merged = Orders(), 0
    group, value = np.zeros(0, dtype=np.int64), np.zeros(0)
    for _ in range(60):
        new = int(rng.integers(1, 30))
        group = np.append(group, rng.integers(int(rng.choice([3, 40, 2**40])), size=new))
        value = np.append(value, np.round(rng.normal(size=new), int(rng.choice([0, 1, 9]))))
        if rng.random() < 0.1:  # amended
            value = value.copy()
            value[rng.integers(value.size)] += 1.0
        if rng.random() < 0.1:  # voided
            kept = np.arange(value.size) != rng.integers(value.size)
            group, value = group[kept], value[kept]
        before = orders._kept.get("some")
        order = orders.of("some", group, value)
        assert is_sorted_like_its_twin(order, group, value)
        assert orders.of("some", group.copy(), value.copy()) is order
        if before is not None and np.array_equal(group[: before.group.size], before.group):
            merged += new * MERGED <= before.group.size
    assert merged > 10  # it was not sorted anew each time


def test_rows_that_are_alike_are_settled_if_they_are_alike_in_everything_else():
    group, value = np.array([0, 0, 1, 0]), np.array([1.0, 1.0, 1.0, 2.0])
    order = GrowingOrder(group, value)
    assert order.is_settled(np.array([3.0, 3.0, 4.0, 5.0]))
    assert not order.is_settled(np.array([3.0, 3.5, 4.0, 5.0]))
    assert not order.is_settled(np.ones(4), np.array([3.0, 3.5, 4.0, 5.0]))
