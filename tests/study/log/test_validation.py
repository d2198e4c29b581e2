"""Numbers out of range are refused, and so are logs with events that cannot have happened."""

import math

import numpy as np
import pytest
from tests.support.logs import append

import noisewise as nw
from noisewise.core.checks import AMOUNT, CONFIDENCE, COUNT, LEASE, VALUE
from noisewise.study.log import bodies
from noisewise.study.log.events import first_row, specification_of
from noisewise.study.log.export import write_log
from noisewise.study.stores.protocol import MemoryStorage


def study_of(*names, **arguments):
    return nw.create_study(options=list(names), **{"eps": 0.1, **arguments})


def refused(study, call, message):
    before = study.events()
    with pytest.raises((ValueError, KeyError, TypeError), match=message):
        call()
    assert study.events() == before
    again = nw.load_study(study._log.storage, study.name)
    assert again.events() == before
    assert again.certificate().to_json() == study.certificate().to_json()


def poisoned(*events):
    """A store with a study whose log somebody edited."""
    store = MemoryStorage()
    nw.create_study(store, options=["A", "B"], eps=0.1)
    append(store, "study", *events)
    return store


GOOD = {
    "option": "A",
    "value": 1.0,
    "kind": "known",
    "sigma": 0.1,
    "shown": 0.1,
    "readings": 1,
    "scatter": 0.0,
}


# ---- numbers out of range

OUT_OF_RANGE = [
    (lambda s: s.ask(lease=1e12), r"`lease` must lie between 0\.001 and 3155760000; got 1000000000000"),
    (lambda s: s.tell(option="A", successes=1, trials=2**63), "`trials` must be at most 1,000,000,000,000"),
    (lambda s: s.tell(option="A", value=1.0, sd=1.0, n=10**30), "`n` must be at most 1,000,0"),
    (lambda s: s.tell(option="A", value=1e300, se=1.0), "must lie between -1e.50 and 1e.50"),
    (
        lambda s: s.tell_many({"option": ["B", "A"], "value": [1.0, -1e51], "se": [1.0, 1.0]}),
        r"row 2 \(A\): `value=",
    ),
    (lambda s: s.tell(option="A", value=1.0, se=1e-51), "se must lie between 1e-50 and 1e.50"),
    (
        lambda s: s.tell_many({"option": ["B", "A"], "value": [1, 1], "se": [1.0, 1e51]}),
        r"row 2 \(A\): se must lie",
    ),
    (lambda s: s.ask(sigma=1e-320), "`sigma` must lie between"),
    (lambda s: s.tell(option="A", value=1.0, se=0.1, at=1e12), "`at` must lie between"),
    (lambda s: s.tell(option="A", value=1.0, se=0.1, cost=-1.0), "`cost` must lie between 0 and"),
    (lambda s: s.tell(option="A", value=1.0, se=0.1, cost=math.inf), "`cost` must lie between 0 and"),
]


@pytest.mark.parametrize(("call", "message"), OUT_OF_RANGE)
def test_numbers_out_of_range_are_refused(call, message):
    study = study_of("A", "B")
    refused(study, lambda: call(study), message)


@pytest.mark.parametrize("size", [1e160, 1e-160])
@pytest.mark.parametrize("argument", ["eps", "floor", "extra_scatter"])
def test_settings_out_of_range_are_refused(argument, size):
    with pytest.raises(ValueError, match=f"`{argument}` must lie between 1e-50 and 1e.50; got 1e"):
        study_of("A", "B", **({"eps": size} if argument == "eps" else {"errors": {argument[:5]: size}}))


@pytest.mark.parametrize("confidence", [1e-9, 0.001, 1.0 - 1e-15])
def test_a_confidence_out_of_range(confidence):
    with pytest.raises(ValueError, match=r"`confidence` must lie between 0\.01 and 0\.9"):
        study_of("A", "B", confidence=confidence)


@pytest.mark.parametrize("unit", [1e-50, 1.0, 1e49])
@pytest.mark.parametrize("confidence", CONFIDENCE)
def test_everything_works_at_the_ends_of_the_ranges(unit, confidence):
    study = study_of("A", "B", "C", eps=unit, confidence=confidence, errors=nw.Errors(floor=unit))
    for value, option in enumerate("ABCABC"):
        study.tell(option=option, value=unit * value, se=unit, block="x", cost=1e50, at=-6e10)
        study.tell(option=option, value=VALUE.most if unit > 1.0 else unit, se=10.0 * unit)
    study.tell(option="A", successes=1, trials=COUNT.most) if unit == 1.0 else None
    study.tell(option="A", value=unit, sd=unit, n=COUNT.most)
    study.ask(2, lease=LEASE.most, sigma=AMOUNT.most)
    again = nw.load_study(study._log.storage)
    assert again.certificate().to_json() == study.certificate().to_json()
    assert str(again.check())
    assert again.frame("measurements").height == len(again._log.state.told)


# ---- logs that hold bad events

BAD = [
    ("tell", {**GOOD, "value": 1e300}, "value: expected `float` <= 1e\\+50"),
    ("tell", {**GOOD, "option": "X"}, "'X' is not in the catalogue"),
    ("release", {"job": "ask-7", "reason": None}, "there is no suggestion 'ask-7'"),
    ("switch", {"model": {"model": "magic"}}, "`model` must be one of"),
]


@pytest.mark.parametrize(("kind", "body", "why"), BAD)
def test_a_log_with_a_bad_event_is_refused_and_can_be_exported(kind, body, why, tmp_path):
    store = poisoned(("tell", GOOD), (kind, body), ("tell", {**GOOD, "option": "B", "value": 2.0}))
    with pytest.raises(nw.DamagedError, match=rf"event 2 \({kind}\) cannot be used: .*{why}") as refusal:
        nw.load_study(store)
    assert refusal.value.event == 2
    (verdict,) = nw.verify_log(store)
    assert (verdict.fits, verdict.event) == (False, 2)
    assert nw.backup_store(store, tmp_path / "copy.db") == ["study"]
    write_log(store, "study", tmp_path / "log.jsonl")
    (verdict,) = nw.verify_log(tmp_path / "log.jsonl")
    assert (verdict.fits, verdict.event) == (False, 2)
    with pytest.raises(nw.DamagedError, match="event 2"):
        nw.rebuild_study(tmp_path / "log.jsonl", tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()


def test_a_bad_event_that_is_appended_to_an_open_study_is_refused():
    store = poisoned(("tell", GOOD))
    study = nw.load_study(store)
    append(store, "study", ("tell", {**GOOD, "sigma": -1.0}))
    for _ in range(2):
        with pytest.raises(nw.DamagedError, match="event 2"):
            study.certificate()
    with pytest.raises(nw.DamagedError, match="event 2"):
        study.tell(option="A", value=1.0, se=0.1)
    assert len(store.read("study")) == 3


def test_names_that_cannot_be_seen_are_refused_and_do_not_reach_the_terminal():
    store = MemoryStorage()
    nw.create_study(store, options=["A", "B"], eps=0.1)
    plain = specification_of(store, "study")
    plain["catalogue"]["ids"][0] = "A\x1b]0;owned\x07\nnews"
    from noisewise.study.telling.catalogue import OptionCatalogue

    catalogue = OptionCatalogue([*plain["catalogue"]["ids"]], [], np.zeros((2, 0)), None)
    store.create("edited", [first_row({**plain, "catalogue": catalogue.to_plain()})])
    with pytest.raises(ValueError, match="has a character that cannot be seen") as refusal:
        nw.load_study(store, "edited")
    assert str(refusal.value).isprintable()


def test_an_unknown_kind_of_event_is_refused_because_it_may_mean_anything():
    store = MemoryStorage()
    nw.create_study(store, options=["A", "B"], eps=0.1)
    append(store, "study", ("merge", {}))
    with pytest.raises(ValueError, match="upgrade noisewise"):
        nw.load_study(store)


@pytest.mark.parametrize("value", [-0.1, 1.5])
def test_a_share_outside_of_0_to_1_is_refused(value):
    study = nw.create_study(options=["A", "B"], eps=0.1)
    study.tell(option="A", successes=3, trials=10)
    state = study.analysis().state
    body = dict(state.told[0])
    bodies.check_told(state, {name: [one] * 9 for name, one in body.items()})
    columns = {name: [one] * 8 + [value if name == "value" else one] for name, one in body.items()}
    with pytest.raises(bodies.FlawError, match="from 0 to 1") as flaw:
        bodies.check_told(state, columns)
    assert flaw.value.place == 8
