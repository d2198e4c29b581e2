"""Large tables are events in columns: what follows is the same as from an event for each measurement."""

import pytest

import noisewise as nw
from noisewise.study.log.events import MANY, TABLE
from noisewise.study.stores.protocol import MemoryStorage

ROWS = TABLE + MANY + 1
RESULTS = {
    "option": ["A", "B", "C"] * (ROWS // 3),
    "value": [float(k % 7) for k in range(ROWS // 3 * 3)],
    "se": [1.0 + k % 2 for k in range(ROWS // 3 * 3)],
}


def test_a_large_table_is_a_few_events_and_gives_the_same_certificate():
    large, small = (nw.create_study(options=["A", "B", "C"], eps=0.1) for _ in range(2))
    large.tell_many(RESULTS)
    rows = [dict(zip(RESULTS, row, strict=True)) for row in zip(*RESULTS.values(), strict=True)]
    for first in range(0, len(rows), MANY - 1):
        small.tell_all(rows[first : first + MANY - 1])
    assert [event.kind for event in large.events()] == ["table", "table"]
    assert {event.kind for event in small.events()} == {"tell"}
    found, expected = large.certificate(), small.certificate()
    assert (found.option, found.bound, found.estimate) == (
        expected.option, pytest.approx(expected.bound), pytest.approx(expected.estimate)
    )  # fmt: skip
    large.void(f"m-{TABLE + 1}", "wrong row")
    again = nw.load_study(large._log.storage)
    assert again.certificate().to_json() == large.certificate().to_json()
    assert again.n_measurements == len(rows) - 1


@pytest.mark.parametrize(
    ("spoilt", "why"),
    [
        ({"value": [1.0]}, "its columns have different lengths"),
        ({"sigma": [0.1] * 2 + [-1.0]}, "sigma: expected `float` >= 1e-50"),
        ({"option": ["A", "X", "B"]}, "'X' is not in the catalogue"),
    ],
)
def test_a_table_that_cannot_have_happened_is_refused(spoilt, why):
    from tests.support.logs import append

    store = MemoryStorage()
    nw.create_study(store, options=["A", "B"], eps=0.1)
    columns = {"option": ["A", "B", "A"], "value": [1.0] * 3, "kind": ["known"] * 3, "sigma": [0.1] * 3}
    append(store, "study", ("table", {"columns": columns | spoilt}))
    with pytest.raises(nw.DamagedError, match=rf"event 1 \(table\) cannot be used: {why}"):
        nw.load_study(store)
