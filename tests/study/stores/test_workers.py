"""Many processes on one store, one of them killed in the middle of its work."""

import json

import pytest
from tests.support.threads import run_at_once
from tests.support.workers import run

import noisewise as nw


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("sqlite", marks=pytest.mark.long("kills")),
        pytest.param("postgresql", marks=pytest.mark.long("PostgreSQL")),
    ],
)
def test_nothing_acknowledged_is_lost_or_doubled(kind, tmp_path, request):
    address = str(tmp_path / "s.db") if kind == "sqlite" else request.getfixturevalue("postgres").address
    outcome = run(address, tmp_path, workers=3, count=12, kills=3)
    assert outcome.errors == []
    assert (outcome.lost, outcome.doubled, outcome.same) == (0, 0, True)
    assert outcome.acknowledged == 36
    assert outcome.kills == 3


def test_asking_at_once_never_gives_a_number_twice(open_storage):
    name = "asking at once"
    nw.create_study(open_storage(), name=name, options=[f"o{k}" for k in range(30)], eps=0.1)
    got = []

    def ask(_):
        study = nw.Study(open_storage(), name)
        for _ in range(4):
            got.extend(study.ask())

    run_at_once(ask, range(3))
    # Nobody measures what is under way elsewhere: 12 questions, 12 options never looked at.
    assert sorted(job.id for job in got) == sorted(f"ask-{k}" for k in range(1, 13))
    assert len({job.option for job in got}) == 12


def test_what_one_tells_the_other_knows(tmp_path):
    one = nw.create_study(tmp_path / "s.db", options=["A", "B"], eps=0.5)
    other = nw.load_study(tmp_path / "s.db")
    (job,) = one.ask()
    other.tell(job.id, 1.0, se=0.1, key="k")
    assert one.pending == []
    assert one.n_measurements == 1
    assert one.tell(job, 1.0, se=0.1, key="k").number == 1  # harmless, from whichever side
    with pytest.raises(ValueError, match=r"key k already told with 1; you sent 1.5. Use amend"):
        one.tell(job, 1.5, se=0.1, key="k")
    other.exclude("B", "sold out")
    with pytest.raises(ValueError, match="B is excluded already: sold out"):
        one.exclude("B", "gone")
    assert one.certificate().to_json() == other.certificate().to_json()


def test_a_change_that_others_always_outrun_is_given_up_with_a_sentence(tmp_path, monkeypatch):
    study = nw.create_study(tmp_path / "s.db", options=["A", "B"], eps=0.5)
    rival = nw.load_study(tmp_path / "s.db")
    monkeypatch.setattr("noisewise.study.journal.PATIENCE", 0.0)
    real = study._storage.append

    def outrun(*arguments):
        rival.tell(option="A", value=1.0, se=0.1)
        real(*arguments)

    monkeypatch.setattr(study._storage, "append", outrun)
    with pytest.raises(TimeoutError, match="Nothing was written; run again"):
        study.tell(option="B", value=1.0, se=0.1)
    assert set(rival.frame("measurements")["option"]) == {"A"}


def test_a_suggestion_stands_when_only_measurements_came_between(tmp_path, monkeypatch):
    study = nw.create_study(tmp_path / "s.db", options=["A", "B"], eps=0.5)
    rival = nw.load_study(tmp_path / "s.db")
    real, calls = study._storage.append, []

    def first_outrun(*arguments):
        calls.append(1)
        if len(calls) == 1:
            rival.tell(option="A", value=1.0, se=0.1)
        if len(calls) == 2:
            rival.ask()
        real(*arguments)

    monkeypatch.setattr(study._storage, "append", first_outrun)
    (job,) = study.ask()
    assert len(calls) == 3
    assert job.id == "ask-2"  # the rival's question was first, so this one was made anew
    assert [json.loads(body)["option"] for body in study.frame("events")["body"]].count(job.option) >= 1
