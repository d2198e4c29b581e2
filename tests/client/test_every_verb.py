"""Every method of a study, by address: generated from the class, so that a new one without an address fails.

Each call is made on a study in a file and on one behind a server, one after the other; what they return, or
how they refuse, must be the same to the last letter.
"""

import pytest

pytest.importorskip("fastapi", reason="the server is an extra")

from tests.support.servers import in_thread
from tests.support.studies_in_time import study_at
from tests.support.study_calls import CALLS, KINDS, NOW, log_of, outcome

import noisewise as nw
from noisewise.server.app import make_app

#: What a study has for those who write servers; a server's own is behind its requests.
NOT_BY_ADDRESS = {"acting": "who acts is the holder of the token", "appended_as": "that is the server's key"}

#: Calls that the server refuses by the types of values, before the study sees them: in other words.
BY_TYPE = {
    "ask": {8, 11, 18, 19}, "tell": {18, 27, 31, 33, 34, 41, 45}, "fail": {7}, "void": {6, 7},
    "amend": {5, 8}, "exclude": {5}, "include": {3}, "switch": {7}, "set_policy": {4},
    "items": {8},
}  # fmt: skip
REFUSED = ("ValueError(", "TypeError(", "KeyError(")


def test_every_method_of_a_study_is_called_by_address():
    study = nw.create_study(options=["A", "B"], eps=1.0)
    names = {name for name in {*dir(study)} if not name.startswith("_")}
    assert names == CALLS.keys() | NOT_BY_ADDRESS.keys()


def differing(here, there, calls):
    """The calls whose outcomes differ, with both of them."""
    found = []
    for name, acts in calls.items():
        for place, act in enumerate(acts):
            said = outcome(act, here), outcome(act, there)
            if place in BY_TYPE.get(name, ()):
                assert all(one.startswith(REFUSED) for one in said), (name, place, said)
            elif said[0] != said[1]:
                found += [f"{name} {place}", f"  here:  {said[0]}", f"  there: {said[1]}"]
    return "\n".join(found)


@pytest.fixture
def both(tmp_path):
    """Makes the same study in a file, and in a file behind a server."""
    nw.create_study(tmp_path / "there.db", name="first", options=["A", "B"], eps=1.0)
    app = make_app(tmp_path / "there.db", clock=lambda: NOW)
    with in_thread(app) as address:

        def make(name, **question):
            here = study_at(lambda: NOW, tmp_path / "here.db", name=name, **question)
            study_at(lambda: NOW, tmp_path / "there.db", name=name, **question)
            return here, nw.load_study(address, name)

        yield make


def test_every_call_answers_and_refuses_alike(both, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("noisewise.study.running.run.mark", lambda: "run here 1 1")
    here, there = both("tea/green", options=["A", "B", "C"], eps=0.1, seed=3)
    for study in (here, there):
        for key, option in enumerate("ABCAB"):
            study.tell(option=option, value=1.0 + 0.5 * key, se=0.2, key=f"first {key}")
        study.ask(2)
    assert differing(here, there, CALLS) == ""
    assert log_of(here) == log_of(there)


@pytest.mark.parametrize("kind", KINDS)
def test_other_kinds_of_studies_answer_and_refuse_alike(both, monkeypatch, kind):
    monkeypatch.setattr("noisewise.study.running.run.mark", lambda: "run here 1 1")
    question, calls = KINDS[kind]
    here, there = both("of another kind", **question)
    assert differing(here, there, {kind: calls}) == ""
    assert log_of(here) == log_of(there)


def test_a_log_and_a_certificate_of_a_server_are_those_of_a_file(both, tmp_path):
    here, there = both("tea/green", options=["A", "B", "C"], eps=0.1)
    for study in (here, there):
        for key, option in enumerate("ABCAB"):
            study.tell(option=option, value=1.0 + 0.5 * key, se=0.2, key=f"k{key}")
    there.export(tmp_path / "log.jsonl")
    assert nw.rebuild_study(tmp_path / "log.jsonl", tmp_path / "again.db") == "tea/green"
    assert nw.load_study(tmp_path / "again.db").head == there.head
    first = there.certificate()
    assert nw.verify_certificate(first, there).sentence == here.certificate().sentence
    assert there.certificate() is first  # an unchanged one is not sent again
    there.tell(option="B", value=1.0, se=0.1)
    assert there.certificate() is not first


def test_a_study_opened_for_reading_refuses_to_write(tmp_path):
    nw.create_study(tmp_path / "s.db", options=["A", "B"], name="s", eps=0.1)
    with in_thread(make_app(tmp_path / "s.db")) as address:
        study = nw.load_study(address, read_only=True)
        with pytest.raises(PermissionError, match="opened for reading only"):
            study.tell(option="A", value=1.0)
        assert study.certificate().option is None
