"""Every method of a study, by address: generated from the class, so that a new one without an address fails.

Each call is made on a study in a file and on one behind a server, one after the other; what they return, or
how they refuse, must be the same to the last letter.
"""

import pytest

pytest.importorskip("fastapi", reason="the server is an extra")

from tests.support.servers import in_thread
from tests.support.study_calls import CALLS, KINDS, NOW, log_of, outcome

import noisewise as nw
from noisewise.web.app import make_app

#: What a study has for those who write servers; a server's own is behind its requests.
NOT_BY_ADDRESS = {"acting": "who acts is the holder of the token", "appended_as": "that is the server's key"}


def clock():
    return NOW


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
            if said[0] != said[1]:
                found += [f"{name} {place}", f"  here:  {said[0]}", f"  there: {said[1]}"]
    return "\n".join(found)


@pytest.fixture
def both(tmp_path):
    """Makes the same study in a file, and in a file behind a server."""
    nw.create_study(tmp_path / "there.db", name="first", options=["A", "B"], eps=1.0)
    app = make_app(tmp_path / "there.db", clock=clock)
    with in_thread(app) as address:

        def make(name, **question):
            here = nw.create_study(tmp_path / "here.db", name=name, clock=clock, **question)
            nw.create_study(tmp_path / "there.db", name=name, clock=clock, **question)
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
