"""Kept logs are certified anew, never with a larger bound than 0.1.0 gave, but where its bound was wrong.

Its bounds after every event of every kept log are in `bounds-0.1.0.json`, computed by its own code
(`tests.samples.earlier`).
"""

import json
from functools import cache

import pytest
from tests.samples import answers
from tests.samples.earlier import BOUNDS

import noisewise as nw
from noisewise.study.certificate.bound import certify
from noisewise.study.log.state import replay
from noisewise.study.models.analysis import Analysis

EARLIER = json.loads((answers.DATA / BOUNDS).read_text("utf-8"))
#: Looks at which a bound is larger than that of 0.1.0 was, and by which factor at most. These studies promise
#: nothing about blocks. 0.1.0 set the offset of one block to 0, in place of a prior for it, and which block
#: that was followed from the measurements: the one without a name if it had any, else the most precise. What
#: is chosen afterwards is no prior; one more reading, without a block (event 22), tripled its bound.
WRONG_BEFORE = {
    "studies-0.1.0/independent-blocks": (range(15, 22), 1.13),
    "studies/independent-any": (range(20, 22), 1.09),
}
ROUNDING = 1.0 + 1e-9


@cache
def bounds(name):
    """After each event with a bound then: its number, that bound, and the present one."""
    storage = nw.MemoryStorage()
    nw.rebuild_study(answers.DATA / f"{name}.jsonl", storage)
    study = nw.load_study(storage)
    events, found = study.events(), []
    for number, _, then in EARLIER[name]:
        now = certify(Analysis(replay(study.specification, events[:number]))).bound
        found.append((number, then, now))
    return found


def test_every_kept_log_has_its_bounds():
    logs = {f"{path.parent.name}/{path.stem}" for path in answers.DATA.glob("studies*/*.jsonl")}
    assert set(EARLIER) == logs
    assert sum(map(len, EARLIER.values())) > 250


@pytest.mark.parametrize("name", EARLIER)
def test_a_bound_is_never_larger_than_it_was(name):
    looks, factor = WRONG_BEFORE.get(name, ((), 1.0))
    for number, then, now in bounds(name):
        allowed = factor if number in looks else 1.0
        assert now <= allowed * then * ROUNDING, f"after event {number}"


@pytest.mark.parametrize("name", WRONG_BEFORE)
def test_what_is_listed_as_wrong_before_is_no_more_than_that(name):
    looks, _ = WRONG_BEFORE[name]
    larger = [number for number, then, now in bounds(name) if now > then * ROUNDING]
    assert larger == list(looks)
    # What gives the earlier bound away: a reading that says hardly anything made it much larger.
    (*_, (_, before, _), (_, after, _)) = bounds(name)
    assert after > 2.0 * before
    assert bounds(name)[-1][2] < bounds(name)[-1][1]


def test_they_became_smaller_where_nothing_connects_options():
    ratios = [now / then for _, then, now in bounds("studies/everything") if then > 0.0]
    assert max(ratios) < 1.0
