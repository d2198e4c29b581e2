"""Many processes on one store, one of them killed in the middle of its work."""

import uuid

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


def test_eight_workers_at_once_all_get_their_turn(open_database):
    """Each finishes what it has to do, whatever the others do; nobody meets a time-out."""
    name = f"eight {uuid.uuid4().hex}"
    nw.create_study(open_database(), name=name, options=["A", "B"], eps=0.1)

    def tell(who):
        study = nw.Study(open_database(), name)
        for value in range(10):
            study.tell(option="AB"[who % 2], value=float(value), se=0.1, key=f"{who}/{value}")

    run_at_once(tell, range(8))
    told = nw.load_study(open_database(), name).frame("measurements")["key"].to_list()
    assert sorted(told) == sorted(f"{who}/{value}" for who in range(8) for value in range(10))
