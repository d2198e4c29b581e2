"""A study on a server does what one in a file does: the same scenario on both, and the answers compared."""

import json
import re

import numpy as np
import polars as pl
import pytest

pytest.importorskip("fastapi", reason="the server is an extra")

from tests.support.servers import in_thread

import noisewise as nw
from noisewise.web.app import make_app

NOW = 1.8e9


class WithError:
    """As of the package uncertainties."""

    nominal_value, std_dev = 3.0, 0.25


def clock():
    return NOW


@pytest.fixture
def both(tmp_path):
    """The same study in a file, and in a file behind a server."""
    question = {"name": "tea/green", "options": ["A", "B", "C"], "eps": 0.1, "clock": clock, "seed": 3}
    here = nw.create_study(tmp_path / "here.db", **question)
    nw.create_study(tmp_path / "there.db", **question)
    app = make_app(tmp_path / "there.db", clock=clock)
    with in_thread(app) as address:
        yield here, nw.load_study(address, "tea/green")


def outcome(act):
    """What an act returns, or how it is refused."""
    try:
        return act()
    except (ValueError, KeyError, TypeError) as problem:
        kind = next(one for one in (KeyError, TypeError, ValueError) if isinstance(problem, one))
        return kind.__name__, str(problem.args[0])


ACTS = {
    "ask": lambda s: s.ask(2),
    "ask for a noise": lambda s: s.ask(1, 0.3, lease=60.0, by="me"),
    "look": lambda s: s.ask(dry_run=True),
    "tell a suggestion": lambda s: s.tell("ask-1", 1.25, se=0.05),
    "tell it again": lambda s: s.tell("ask-1", 1.25, se=0.05),
    "tell an option": lambda s: s.tell(option="B", value="3.04(5)", note="by hand", cost=2.0),
    "tell a key": lambda s: s.tell(option="C", value=2.0, se=0.05, key="k"),
    "tell the key again": lambda s: s.tell(option="C", value=2.0, se=0.05, key="k"),
    "tell the key otherwise": lambda s: s.tell(option="C", value=2.5, se=0.05, key="k"),
    "tell readings": lambda s: s.tell(option="A", values=[1.2, 1.3, 1.25]),
    "tell numbers of NumPy": lambda s: s.tell(
        option="B", value=np.float64(3.0), se=np.float32(0.5), cost=np.int64(2)
    ),
    "tell an array": lambda s: s.tell(option="B", values=np.array([3.0, 3.1, 2.9])),
    "tell an interval": lambda s: s.tell(option="B", value=3.0, ci=(2.5, 3.5), level=0.9),
    "tell a value with its error": lambda s: s.tell(option="B", value=WithError()),
    "tell infinity": lambda s: isinstance(s.tell(option="B", value=float("inf")), str),
    "tell counts with a difference": lambda s: s.tell(plus="A", minus="B", value=-2.0, se=0.1),
    "tell an unknown option": lambda s: s.tell(option="Z", value=1.0),
    "tell nothing": lambda s: s.tell(option="A"),
    "tell a wrong type": lambda s: s.tell(option="A", value=True),
    "tell an unknown argument": lambda s: s.tell(option="A", value=1.0, sigma=2.0),
    "tell an unknown suggestion": lambda s: s.tell("ask-99", 1.0),
    "tell all": lambda s: s.tell_all([{"option": "B", "value": 3.0, "se": 0.05, "key": "x"},
                                      {"job": "ask-2", "value": 2.9, "se": 0.05}]),
    "tell a table": lambda s: len(s.tell_many({"option": ["A", "B"], "value": [1.2, 3.1], "se": [0.1, 0.1]})),
    "tell a table for suggestions": lambda s: s.tell_many(
        {"option": ["B", "C"], "value": [3.1, 2.1], "se": [0.1, 0.1]}, match=True).unasked,
    "tell a table with a gap": lambda s: s.tell_many({"option": ["A", "B"], "value": [1.2, None]}),
    "tell a bad table": lambda s: s.tell_many({"option": ["A", "Q"], "value": [1.2, 3.1], "se": [0.1, 0.1]}),
    "fail": lambda s: s.fail("ask-3", "the oven broke"),
    "fail it again": lambda s: s.fail("ask-3", "the oven broke"),
    "void": lambda s: s.void("m-1", "wrong cup"),
    "void it again": lambda s: s.void("m-1", "wrong cup"),
    "amend": lambda s: s.amend("m-2", "typing error", 3.0, se=0.06),
    "exclude": lambda s: s.exclude("C", "sold out"),
    "exclude it again": lambda s: s.exclude("C", "sold out"),
    "include": lambda s: s.include("C"),
    "add": lambda s: s.add_options(["D", "E"]),
    "add again": lambda s: s.add_options(["D"]),
    "ask once more": lambda s: s.ask(3),
    "release": lambda s: s.release(s.pending[-1]),
    "switch": lambda s: s.switch(extra_scatter=0.1, reason="drift"),
    "switch to nothing": lambda s: s.switch(),
    "set the policy": lambda s: s.set_policy("uniform"),
}  # fmt: skip


def test_every_verb_answers_and_refuses_alike(both):
    here, there = both
    for name, act in ACTS.items():
        assert repr(outcome(lambda act=act: act(there))) == repr(outcome(lambda act=act: act(here))), name
    assert there.options == here.options
    assert there.n_measurements == here.n_measurements
    assert there.certificate().to_json() == replaced(here.certificate().to_json(), here, there)
    assert str(there.check()) == str(here.check())
    assert there.check().problems == here.check().problems
    assert repr(there) == repr(here)
    assert [job.id for job in there.pending] == [job.id for job in here.pending]
    assert (there.model, there.policy, there.looks, there.extra_scatter, there.eps) == (
        here.model, here.policy, here.looks, here.extra_scatter, here.eps
    )  # fmt: skip
    bodies = [[without_key(event.body) for event in one.events()] for one in both]
    assert bodies[0] == bodies[1]


def replaced(text, here, there):
    """A certificate with the hashes of the other log, in which client's keys stand."""
    plain = json.loads(there.certificate().to_json())
    said = json.loads(text)
    return json.dumps(said | {"head": plain["head"], "data": plain["data"]}, indent=2)


def without_key(body):
    if not isinstance(body, dict):
        return body
    return {name: without_key(part) for name, part in body.items() if not str(part).startswith("sent-")}


def test_forecasts_ledgers_tables_and_files_are_the_same(both, tmp_path):
    here, there = both
    for study in both:
        for key, (option, value) in enumerate((("A", 1.0), ("B", 3.0), ("C", 2.0), ("A", 1.1), ("B", 2.9))):
            study.tell(option=option, value=value, se=0.2, key=f"k{key}", block="mo" if key < 3 else "tu")
    assert str(there.plan(paths=5)) == str(here.plan(paths=5))
    assert str(there.worth()) == str(here.worth())
    assert there.slot(0.1) == here.slot(0.1)
    for what in ("options", "measurements", "items"):
        assert there.frame(what).equals(here.frame(what))
    assert there.frame("events").drop("body").equals(here.frame("events").drop("body"))
    assert isinstance(there.frame("events"), pl.DataFrame)
    there.export(tmp_path / "log.jsonl")
    assert nw.rebuild_study(tmp_path / "log.jsonl", tmp_path / "again.db") == "tea/green"
    assert nw.load_study(tmp_path / "again.db").head == there.head
    page = there.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert re.search("tea/green", page)
    assert nw.verify_certificate(there.certificate(), there).sentence == here.certificate().sentence
    assert there.specification.to_plain() == here.specification.to_plain()


def test_a_certificate_that_nothing_has_changed_is_not_sent_again(both):
    _, there = both
    there.tell(option="A", value=1.0, se=0.1)
    first = there.certificate()
    assert there.certificate() is first
    there.tell(option="B", value=1.0, se=0.1)
    assert there.certificate() is not first


def test_a_study_opened_for_reading_refuses_to_write(tmp_path):
    nw.create_study(tmp_path / "s.db", options=["A", "B"], name="s", eps=0.1)
    with in_thread(make_app(tmp_path / "s.db")) as address:
        study = nw.load_study(address, read_only=True)
        with pytest.raises(PermissionError, match="opened for reading only"):
            study.tell(option="A", value=1.0)
        assert study.certificate().option is None
