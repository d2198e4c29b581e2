"""Events are tried before they are written; logs with bad events open, say so, and are mended."""

import json
import math
import re

import numpy as np
import pytest

import noisewise as nw
from noisewise.core.support.ranges import AMOUNT, CONFIDENCE, COUNT, LEASE, VALUE
from noisewise.study.log.flaws import FEW, _are_within, find_flaw
from noisewise.study.log.state import State, replay
from noisewise.study.stores.protocol import Event, MemoryStorage


def study_of(*names, **arguments):
    return nw.create_study(options=list(names), **{"eps": 0.1, **arguments})


def refused(study, call, message):
    before = study.events()
    with pytest.raises((ValueError, KeyError, TypeError), match=message):
        call()
    assert study.events() == before
    again = nw.load_study(study._storage, study.name)
    assert again.events() == before
    assert again.certificate().to_json() == study.certificate().to_json()


def poisoned(*events, **arguments):
    """A study whose log holds events as an older noisewise, or somebody with an editor, wrote them."""
    store = MemoryStorage()
    nw.create_study(store, options=["A", "B"], eps=0.1, **arguments)
    store.append("study", 0, [Event(k, 1.7e9, kind, body) for k, (kind, body) in enumerate(events, start=1)])
    return nw.load_study(store)


GOOD = {
    "option": "A",
    "value": 1.0,
    "kind": "known",
    "sigma": 0.1,
    "shown": 0.1,
    "readings": 1,
    "scatter": 0.0,
}


# ---- poison events


def test_ask_with_a_lease_of_1e12_seconds():
    study = study_of("A", "B")
    refused(
        study,
        lambda: study.ask(lease=1e12),
        r"`lease` must lie between 0\.001 and 3155760000; got 1000000000000",
    )
    with pytest.raises(ValueError, match="`lease` must lie between"):
        study_of("A", "B", lease=1e12)
    study.ask(lease=LEASE.most)
    assert nw.load_study(study._storage).pending[0].expires.year > 2100


@pytest.mark.parametrize("trials", [2**63, 10**30, COUNT.most + 1])
def test_trials_of_2_to_the_63(trials):
    study = study_of("A", "B")
    refused(
        study,
        lambda: study.tell(option="A", successes=1, trials=trials),
        r"`trials` must be at most 1,000,000,000,000",
    )


def test_n_of_10_to_the_30():
    study = study_of("A", "B")
    refused(study, lambda: study.tell(option="A", value=1.0, sd=1.0, n=10**30), "`n` must be at most 1,000,0")


@pytest.mark.parametrize("value", [1e200, 1e300, -1e51])
def test_a_value_of_1e300(value):
    study = study_of("A", "B")
    refused(study, lambda: study.tell(option="A", value=value, se=1.0), "must lie between -1e.50 and 1e.50")
    refused(
        study,
        lambda: study.tell_many({"option": ["B", "A"], "value": [1.0, value], "se": [1.0, 1.0]}),
        r"row 2 \(A\): value=",
    )


@pytest.mark.parametrize("size", [1e160, 1e-160])
@pytest.mark.parametrize("argument", ["eps", "span", "noise_floor", "extra_scatter"])
def test_an_eps_or_span_of_1e160(argument, size):
    with pytest.raises(ValueError, match=f"`{argument}` must lie between 1e-50 and 1e.50; got 1e"):
        study_of("A", "B", **{argument: size})


@pytest.mark.parametrize("se", [1e-51, 1e51, 1e-320])
def test_a_standard_error_out_of_range(se):
    study = study_of("A", "B")
    refused(study, lambda: study.tell(option="A", value=1.0, se=se), "se must lie between 1e-50 and 1e.50")
    refused(study, lambda: study.ask(sigma=se), "`sigma` must lie between")
    refused(
        study,
        lambda: study.tell_many({"option": ["B", "A"], "value": [1.0, 1.0], "se": [1.0, se]}),
        r"row 2 \(A\): se must lie between",
    )


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"at": 1e12}, "`at` must lie between"),
        ({"at": math.nan}, "`at` must lie between"),
        ({"cost": -1.0}, "`cost` must lie between 0 and"),
        ({"cost": math.inf}, "`cost` must lie between 0 and"),
    ],
)
def test_times_and_costs_out_of_range(told, message):
    study = study_of("A", "B")
    refused(study, lambda: study.tell(option="A", value=1.0, se=0.1, **told), message)


@pytest.mark.parametrize("confidence", [1e-9, 0.001, 1.0 - 1e-15])
def test_a_confidence_out_of_range(confidence):
    with pytest.raises(ValueError, match=r"`confidence` must lie between 0\.01 and 0\.9"):
        study_of("A", "B", confidence=confidence)


@pytest.mark.parametrize("unit", [1e-50, 1e-30, 1.0, 1e30, 1e49])
@pytest.mark.parametrize("confidence", CONFIDENCE)
def test_everything_works_at_the_ends_of_the_ranges(unit, confidence):
    study = study_of("A", "B", "C", eps=unit, confidence=confidence, noise_floor=unit)
    for value, option in enumerate("ABCABC"):
        study.tell(option=option, value=unit * value, se=unit, block="x", cost=1e50, at=-6e10)
        study.tell(option=option, value=VALUE.most if unit > 1.0 else unit, se=10.0 * unit)
    study.tell(option="A", successes=1, trials=COUNT.most) if unit == 1.0 else None
    study.tell(option="A", value=unit, sd=unit, n=COUNT.most)
    study.ask(2, lease=LEASE.most, sigma=AMOUNT.most)
    again = nw.load_study(study._storage)
    assert again.certificate().to_json() == study.certificate().to_json()
    assert str(again.check())
    assert again.frame("measurements").height == len(again._state.told)


# ---- logs that hold bad events

ASKED = {"id": "ask-1", "option": "A", "why": "", "expires": 2e9}
BAD = [
    ("tell", {**GOOD, "value": 1e300}, "value=1e\\+300 must be a number from"),
    ("tell", {**GOOD, "sigma": 0.0}, "sigma=0.0 must be a number from 1e-50"),
    ("tell", {**GOOD, "sigma": -1.0}, "sigma=-1.0 must be a number from 1e-50"),
    ("tell", {**GOOD, "sigma": True}, "sigma=True must be a number"),
    ("tell", {**GOOD, "value": "1.0"}, "value='1.0' must be a number"),
    ("tell", {**GOOD, "option": "X"}, "'X' is not in the catalogue"),
    ("tell", {**GOOD, "option": ["A"]}, "its content is not that of an event 'tell'"),
    ("tell", {**GOOD, "minus": "A"}, "a difference of an option to itself"),
    ("tell", {**GOOD, "kind": "counts", "minus": "B"}, "a share of successes was told as a difference"),
    ("tell", {**GOOD, "kind": "guessed"}, "its error bar is of an unknown kind"),
    ("tell", {**GOOD, "kind": "none"}, "sigma=0.1 was told for a measurement whose error is estimated"),
    ("tell", {**GOOD, "readings": 10**30}, "readings=1000"),
    ("tell", {**GOOD, "readings": 2.5}, "readings=2.5 is not a whole number"),
    ("tell", {**GOOD, "block": 7}, "block=7 is not a text"),
    ("tell", {}, "None is not in the catalogue"),
    ("ask", {"id": "ask-1", "option": "A", "why": "", "expires": 1e12}, "expires=1000000000000.0 must be"),
    ("ask", {"id": "ask-1", "option": "X", "why": "", "expires": 2e9}, "'X' is not in the catalogue"),
    ("ask", {**ASKED, "minus": "X"}, "'X' is not in the catalogue"),
    ("ask", {**ASKED, "minus": "A"}, "it asks for the difference of an option to itself"),
    ("ask", {**ASKED, "minus": ["B"]}, "its content is not that of an event 'ask'"),
    ("ask", {**ASKED, "block": 7}, "block=7 is not a text"),
    ("ask", {**ASKED, "block": ""}, "block='' is not a text"),
    ("ask", {**ASKED, "together": ["ask-1"]}, r"together=\['ask-1'\] is not a text"),
    ("release", {"job": "ask-7", "reason": None}, "there is no suggestion 'ask-7'"),
    ("void", {"number": 9, "reason": "x"}, "there is no measurement m-9"),
    ("void", {"number": "1", "reason": "x"}, "there is no measurement m-'1'"),
    (
        "amend",
        {"number": 1, "reason": "x", "content": {**GOOD, "value": None}},
        "value=None must be a number",
    ),
    ("exclude", {"option": "X", "reason": "x"}, "'X' is not in the catalogue"),
    ("include", {"option": "A"}, "'A' was not excluded"),
    ("add", {"ids": ["A"], "values": [], "costs": None}, "is in the catalogue already"),
    ("add", {"ids": "C"}, "it adds no options"),
    ("policy", {"policy": {"name": "vage"}}, "its content is not that of an event 'policy'"),
    ("switch", {"model": {"model": "linear", "span": 1.0}}, "needs features, and this study has none"),
    ("switch", {"model": {"model": "magic"}}, "its content is not that of an event 'switch'"),
]


@pytest.mark.parametrize(("kind", "body", "why"), BAD)
def test_a_log_with_a_bad_event_opens_says_so_and_is_mended(kind, body, why, tmp_path):
    others = [("tell", GOOD), ("tell", {**GOOD, "option": "B", "value": 2.0})]
    study = poisoned(others[0], (kind, body), others[1])
    (note,) = [note for note in study.notes if note.startswith(f"event 2 ({kind}")]
    assert note in study.certificate().notes
    assert re.search(why, note)
    # Measurements keep their numbers.
    last = study.frame("measurements")["id"].to_list()[-1]
    assert last == ("m-3" if kind == "tell" else "m-2")
    assert study.n_measurements == 2
    study.ask()
    study.export(tmp_path / "log.jsonl")
    matters = kind not in ("ask", "release", "policy")
    assert bool(study.certificate().withheld) == matters
    study.mend(2, "written by an old version")
    assert not study.certificate().withheld
    assert study.certificate().option == "B"
    again = nw.load_study(study._storage)
    assert again.certificate().to_json() == study.certificate().to_json()
    refused(study, lambda: study.mend(2, "again"), "`event` must be one that is ignored")


def test_a_measurement_that_cannot_be_used_is_voided_or_amended():
    study = poisoned(("tell", GOOD), ("tell", {**GOOD, "option": "B", "value": 1e300, "key": "k"}))
    assert "Void or amend m-2" in study.certificate().withheld[0]
    assert not study.certificate().sentence.endswith("..")
    study.amend("m-2", "a slip of the exponent", value=3.0, se=0.1)
    assert (study.n_measurements, study.certificate().option, study.certificate().withheld) == (2, "B", ())
    other = poisoned(("tell", GOOD), ("tell", {**GOOD, "option": "B", "value": 1e300}))
    other.void("m-2", "nonsense")
    assert (other.n_measurements, other.certificate().withheld) == (1, ())


def test_a_block_name_with_a_surrogate_in_an_old_log_is_shown_as_an_escape():
    study = poisoned(
        ("tell", {**GOOD, "block": "caf\udce9", "note": "\ud800", "by": "\udfff"}),
        ("exclude", {"option": "B", "reason": "caf\udce9"}),
    )
    assert study.frame("measurements")["block"].to_list() == ["caf\\udce9"]
    assert study.certificate().option == "A"
    study.void("m-1", "why not")
    assert study.certificate().option is None


def test_names_that_cannot_be_seen_are_refused_and_do_not_reach_the_terminal():
    store = MemoryStorage()
    nw.create_study(store, options=["A", "B"], eps=0.1)
    plain = store.specification("study")
    plain["catalogue"]["ids"][0] = "A\x1b]0;owned\x07\nnews"
    from noisewise.study.inputs.catalogue import OptionCatalogue

    catalogue = OptionCatalogue([*plain["catalogue"]["ids"]], [], np.zeros((2, 0)), None)
    store._specifications["study"] = json.dumps({**plain, "catalogue": catalogue.to_plain()})
    with pytest.raises(ValueError, match="has a character that cannot be seen") as refusal:
        nw.load_study(store)
    assert str(refusal.value).isprintable()


def test_an_unknown_kind_of_event_is_refused_because_it_may_mean_anything():
    store = MemoryStorage()
    nw.create_study(store, options=["A", "B"], eps=0.1)
    store.append("study", 0, [Event(1, 1.7e9, "merge", {})])
    with pytest.raises(ValueError, match="upgrade noisewise"):
        nw.load_study(store)


def test_applying_never_fails_where_no_flaw_was_found():
    """Each part of each kind of event replaced by junk: either it is a flaw, or it can be applied."""
    junk = [None, "", "A", -1, 0, 7, 1e300, math.nan, [], {}, ["A"], {"A": 1}, True, "\ud800", 10**400]
    events = {
        "tell": GOOD,
        "ask": ASKED | {"sigma": 0.1, "by": "eve", "block": "Tue", "minus": "B", "together": "ask-1"},
        "fail": {"job": "ask-0", "reason": "x"},
        "void": {"number": 1, "reason": "x"},
        "amend": {"number": 1, "reason": "x", "content": GOOD},
        "exclude": {"option": "A", "reason": "x"},
        "include": {"option": "B"},
        "add": {"ids": ["C"], "values": [], "costs": None},
        "policy": {"policy": {"name": "vage", "version": "1", "options": {}}},
        "switch": {"model": {"model": "independent", "span": None, "extra_scatter": 0.1}},
        "mend": {"event": 3, "reason": "x"},
    }
    first = [
        Event(1, 1.7e9, "tell", GOOD),
        Event(2, 1.7e9, "ask", {"id": "ask-0", "option": "A", "why": "", "expires": 2e9}),
        Event(3, 1.7e9, "tell", {}),
        Event(4, 1.7e9, "exclude", {"option": "B", "reason": "x"}),
    ]
    specification = study_of("A", "B").specification
    tried = 0
    for kind, body in events.items():
        for name in [*body, None]:
            for part in junk:
                state = replay(specification, first)
                content = part if name is None else {**body, name: part}
                flaw = find_flaw(state, kind, content)
                state.apply(Event(5, 1.7e9, kind, content))
                assert (5 in state.ignored) == (flaw is not None)
                tried += 1
    assert tried > 400


def test_a_hundred_thousand_measurements_are_applied_in_a_moment():
    """In bulk as one by one; the time is only roughly bounded, because machines are busy."""
    import time

    specification = study_of("A", "B").specification
    events = [Event(k + 1, 1.7e9, "tell", {**GOOD, "value": k / 7.0, "key": f"k{k}"}) for k in range(100_000)]
    began = time.process_time()
    state = replay(specification, events)
    assert time.process_time() - began < 3.0
    alone = State(specification)
    for event in events[:100]:
        alone.apply(event)
    assert list(alone.told) == state.told[:100]
    assert state.measurements.n_live == 100_000


def test_what_was_rehearsed_is_not_looked_at_again_and_what_was_not_is(monkeypatch):
    looked = []
    study = study_of("A", "B")
    monkeypatch.setattr("noisewise.study.log.state.flawed", lambda state, bodies: looked.append(bodies) or {})
    study.tell(option="A", value=1.0, se=0.1)
    assert looked == []
    assert nw.load_study(study._storage, study.name).n_measurements == 1
    assert len(looked) == 1  # what is read from a store may have been written by anybody


def test_behind_an_event_of_another_kind_measurements_are_looked_at_again():
    state = State(study_of("A", "B").specification)
    bad = GOOD | {"option": "nobody"}
    events = [Event(1, 1.7e9, "exclude", {"option": "B", "reason": "broken"}), Event(2, 1.7e9, "tell", bad)]
    state.apply_all(events, rehearsed=True)
    assert list(state.ignored) == [2]


@pytest.mark.parametrize("many", [1, FEW - 1, FEW, 3 * FEW])
@pytest.mark.parametrize(
    "one", [0.0, VALUE.most, -VALUE.most, 2.0 * VALUE.most, 10**400, math.nan, True, "1"]
)
def test_a_few_numbers_are_judged_as_many_are(one, many):
    within = type(one) in (int, float) and abs(one) <= VALUE.most
    assert _are_within([0.5] * (many - 1) + [one], VALUE) is within
