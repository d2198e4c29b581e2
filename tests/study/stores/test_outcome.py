"""A change whose answer is lost: found in the log, or said to be unknown; never written twice."""

import sqlite3
import uuid

import pytest

import noisewise as nw
from noisewise.study.stores.database import commits
from noisewise.study.stores.database.connection import DriverError
from noisewise.study.stores.protocol import Event


class LostError(DriverError):
    """What is raised when the connection or the disk fails."""

    def __init__(self, reason="disk I/O error"):
        super().__init__(sqlite3.OperationalError(reason))


@pytest.fixture
def study(open_database):
    return nw.create_study(
        open_database(), name=f"outcome {uuid.uuid4().hex}", options=["A", "B", "C"], eps=0.5
    )


def lose(monkeypatch, *, written, askable, error=LostError):
    """The next commit is written or not, its answer is lost, and the store can or cannot be asked."""
    real, real_look = commits.send, commits._is_there
    armed = [True]

    def send(transaction):
        if not armed:
            return real(transaction)
        armed.clear()
        if written:
            real(transaction)
        else:
            transaction.rollback()
        raise error()

    def look(database, study, first, problem):
        if not askable:
            raise commits._unknown(database, problem)
        return real_look(database, study, first, problem)

    monkeypatch.setattr(commits, "send", send)
    monkeypatch.setattr(commits, "_is_there", look)
    return lambda: monkeypatch.setattr(commits, "_is_there", real_look)


def values(study):
    return study.frame("measurements")["value"].to_list()


def test_what_was_written_counts_though_the_answer_was_lost(study, monkeypatch):
    lose(monkeypatch, written=True, askable=True)
    assert study.tell(option="A", value=1.0, se=0.1).number == 1
    assert values(study) == [1.0]


@pytest.mark.parametrize("written", [True, False])
@pytest.mark.parametrize("between", [False, True])
def test_the_same_call_again_never_writes_twice(study, monkeypatch, written, between):
    study.tell(option="B", value=5.0, se=0.1)
    lose(monkeypatch, written=written, askable=False)
    with pytest.raises(nw.OutcomeUnknownError, match="it is not known whether this was written"):
        study.tell(option="A", value=1.0, se=0.1)
    if between:  # whoever looks in between sees the truth
        assert study.n_measurements == 1 + written
        nw.load_study(study._storage, study.name).tell(option="C", value=7.0, se=0.1)
    again = study.tell(option="A", value=1.0, se=0.1)
    assert values(study).count(1.0) == 1
    assert study.frame("measurements")["value"].to_list()[again.number - 1] == 1.0
    study.tell(option="A", value=1.0, se=0.1)  # a repeated measurement, not a repeated call
    assert values(study).count(1.0) == 2


def test_another_change_after_an_unknown_one_is_a_change_of_its_own(study, monkeypatch):
    lose(monkeypatch, written=True, askable=False)
    with pytest.raises(nw.OutcomeUnknownError):
        study.tell(option="A", value=1.0, se=0.1)
    study.tell(option="B", value=2.0, se=0.1)
    assert values(study) == [1.0, 2.0]


def test_every_way_to_change_a_study_is_resolved(study, monkeypatch):
    study.tell(option="A", value=1.0, se=0.1)
    changes = [
        lambda: study.ask(2),
        lambda: study.tell_many({"option": ["A", "B"], "value": [2.0, 3.0], "se": [0.1, 0.1]}),
        lambda: study.amend("m-1", "misread", value=1.5),
        lambda: study.void("m-1", "wrong"),
        lambda: study.exclude("C", "sold out"),
        lambda: study.add_options(["D"]),
        lambda: study.release("ask-1", "ill"),
    ]
    for change in changes:
        length = len(study.events())
        with monkeypatch.context() as patched:
            lose(patched, written=True, askable=False)
            with pytest.raises(nw.OutcomeUnknownError):
                change()
        after = len(study.events())
        assert after > length
        change()
        assert len(study.events()) == after


def test_what_was_not_written_is_said_so_only_where_that_is_sure(study, monkeypatch):
    lose(monkeypatch, written=False, askable=True)
    postgres = "Postgres" in type(study._storage._database).__name__
    # A failed write may still be in SQLite's log, and count after a crash.
    expected = (ConnectionError, "Nothing was written") if postgres else (nw.OutcomeUnknownError, "not known")
    with pytest.raises(expected[0], match=expected[1]):
        study.tell(option="A", value=1.0, se=0.1)
    assert study.n_measurements == 0
    study.tell(option="A", value=1.0, se=0.1)
    assert study.n_measurements == 1


def test_a_full_disk_at_the_commit_has_written_nothing(tmp_path, monkeypatch):
    study = nw.create_study(tmp_path / "s.db", options=["A", "B"], eps=0.5)
    lose(monkeypatch, written=False, askable=True, error=lambda: LostError("database or disk is full"))
    with pytest.raises(OSError, match=r"the disk is full\. Nothing was written"):
        study.tell(option="A", value=1.0, se=0.1)
    assert study.n_measurements == 0


def test_an_interrupted_change_is_resolved_by_the_next_call(tmp_path, monkeypatch):
    study = nw.create_study(tmp_path / "s.db", options=["A", "B"], eps=0.5)
    lose(monkeypatch, written=True, askable=True, error=KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        study.tell(option="A", value=1.0, se=0.1)
    study.tell(option="A", value=1.0, se=0.1)
    assert study.n_measurements == 1


def test_ids_of_appends_are_kept_and_differ(open_storage):
    storage = open_storage()
    study = nw.create_study(storage, name=f"ids {uuid.uuid4().hex}", options=["A", "B"], eps=0.5)
    study.tell(option="A", value=1.0, se=0.1)
    study.tell_many({"option": ["A", "B"], "value": [2.0, 3.0], "se": [0.1, 0.1]})
    ids = [event.append for event in storage.read(study.name)]
    assert [bool(one) for one in ids] == [True, True, False]
    assert ids[0] != ids[1]


class Nervous(nw.MemoryStorage):
    """A store of somebody else's, that keeps no ids and loses an answer."""

    lost = False

    def append(self, name, after, events):
        plain = [Event(event.number, event.at, event.kind, event.body) for event in events]
        super().append(name, after, plain)
        if self.lost:
            self.lost = False
            raise ConnectionError("lost")


def test_a_store_without_ids_is_looked_at_by_content():
    store = Nervous()
    study = nw.create_study(store, options=["A", "B"], eps=0.5)
    store.lost = True
    with pytest.raises(ConnectionError):
        study.tell(option="A", value=1.0, se=0.1)
    study.tell(option="A", value=1.0, se=0.1)
    assert study.n_measurements == 1


@pytest.mark.long("PostgreSQL")
def test_a_server_that_is_gone_at_the_commit_leaves_it_unknown(postgres, monkeypatch):
    """The commit arrives, its answer does not, and then nobody answers any more."""
    store = nw.open_store(f"{postgres.address}&connect_timeout=60", create=True, timeout=2.0)
    study = nw.create_study(store, name="gone at the commit", options=["A", "B"], eps=0.5)
    monkeypatch.setattr(commits, "ASKING", 0.5)
    real = commits.send

    def stop_after(transaction):
        real(transaction)
        postgres.stop()
        raise ConnectionError("the server closed the connection")

    monkeypatch.setattr(commits, "send", stop_after)
    try:
        with pytest.raises(nw.OutcomeUnknownError) as caught:
            study.tell(option="A", value=1.0, se=0.1)
        assert "Nothing was written" not in str(caught.value)
    finally:
        postgres.start()
    monkeypatch.setattr(commits, "send", real)
    assert study.tell(option="A", value=1.0, se=0.1).number == 1
    assert study.n_measurements == 1
    store.close()
