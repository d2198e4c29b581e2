"""A change whose answer is lost: found in the log, or said to be unknown; never written twice."""

import sqlite3
import uuid

import psycopg
import pytest

import noisewise as nw
from noisewise.study.log import log
from noisewise.study.stores import postgres as postgres_store
from noisewise.study.stores import sqlite as sqlite_store
from noisewise.study.stores.protocol import AnswerLostError


def disk_error(words="disk I/O error", code=sqlite3.SQLITE_IOERR):
    error = sqlite3.OperationalError(words)
    error.sqlite_errorcode = code
    return error


@pytest.fixture
def study(open_database):
    return nw.create_study(
        open_database(), name=f"outcome {uuid.uuid4().hex}", options=["A", "B", "C"], eps=0.5
    )


def lose(monkeypatch, study, *, written, askable, error=None):
    """The next commit is written or not, its answer is lost, and the store can or cannot be asked."""
    module = sqlite_store if isinstance(study._log.storage, sqlite_store.SqliteStorage) else postgres_store
    lost = error or (disk_error() if module is sqlite_store else psycopg.OperationalError("gone"))
    real, begin, armed = module.send_commit, type(study._log.storage).transaction, [True]
    monkeypatch.setattr(log, "ASKING", 10.0 if askable else 0.02)
    monkeypatch.setattr(log, "PAUSE", 0.01)

    def send(connection):
        if not armed:
            return real(connection)
        armed.clear()
        real(connection) if written else connection.execute("ROLLBACK")
        if not askable:
            monkeypatch.setattr(type(study._log.storage), "transaction", unreachable)
        raise lost

    def unreachable(*arguments):
        raise ConnectionError("nobody answers. Nothing was written.")

    monkeypatch.setattr(module, "send_commit", send)
    return lambda: monkeypatch.setattr(type(study._log.storage), "transaction", begin)


def values(study):
    return study.frame("measurements")["value"].to_list()


def test_what_was_written_counts_though_the_answer_was_lost(study, monkeypatch):
    lose(monkeypatch, study, written=True, askable=True)
    assert study.tell(option="A", value=1.0, se=0.1).number == 1
    assert values(study) == [1.0]


@pytest.mark.parametrize("written", [True, False])
@pytest.mark.parametrize("between", [False, True])
def test_the_same_call_again_never_writes_twice(study, monkeypatch, written, between):
    study.tell(option="B", value=5.0, se=0.1)
    mend = lose(monkeypatch, study, written=written, askable=False)
    with pytest.raises(nw.OutcomeUnknownError, match="it is not known whether this was written"):
        study.tell(option="A", value=1.0, se=0.1)
    mend()
    if between:  # whoever looks in between sees the truth
        assert study.n_measurements == 1 + written
        nw.load_study(study._log.storage, study.name).tell(option="C", value=7.0, se=0.1)
    again = study.tell(option="A", value=1.0, se=0.1)
    assert values(study).count(1.0) == 1
    assert study.frame("measurements")["value"].to_list()[again.number - 1] == 1.0
    study.tell(option="A", value=1.0, se=0.1)  # a repeated measurement, not a repeated call
    assert values(study).count(1.0) == 2


def test_another_change_after_an_unknown_one_is_a_change_of_its_own(study, monkeypatch):
    mend = lose(monkeypatch, study, written=True, askable=False)
    with pytest.raises(nw.OutcomeUnknownError):
        study.tell(option="A", value=1.0, se=0.1)
    mend()
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
            mend = lose(patched, study, written=True, askable=False)
            with pytest.raises(nw.OutcomeUnknownError):
                change()
            mend()
        after = len(study.events())
        assert after > length
        change()
        assert len(study.events()) == after


def test_what_was_lost_on_the_way_is_written_again(study, monkeypatch):
    lose(monkeypatch, study, written=False, askable=True)
    assert study.tell(option="A", value=1.0, se=0.1).number == 1
    assert values(study) == [1.0]


def test_a_full_disk_at_the_commit_has_written_nothing(tmp_path, monkeypatch):
    study = nw.create_study(tmp_path / "s.db", options=["A", "B"], eps=0.5)
    full = disk_error("database or disk is full", sqlite3.SQLITE_FULL)
    lose(monkeypatch, study, written=False, askable=True, error=full)
    with pytest.raises(OSError, match=r"the disk is full\. Nothing was written"):
        study.tell(option="A", value=1.0, se=0.1)
    assert study.n_measurements == 0


def test_an_interrupted_change_is_resolved_by_the_next_call(tmp_path, monkeypatch):
    study = nw.create_study(tmp_path / "s.db", options=["A", "B"], eps=0.5)
    lose(monkeypatch, study, written=True, askable=True, error=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        study.tell(option="A", value=1.0, se=0.1)
    study.tell(option="A", value=1.0, se=0.1)
    assert study.n_measurements == 1


def test_ids_of_changes_are_kept_and_differ(open_storage):
    storage = open_storage()
    study = nw.create_study(storage, name=f"ids {uuid.uuid4().hex}", options=["A", "B"], eps=0.5)
    study.tell(option="A", value=1.0, se=0.1)
    study.ask(2)
    ids = [event.append for event in study.events()]
    assert ids[0] != ids[1]
    assert ids[1] == ids[2]


CHANGES = {
    "tell": lambda study, value: study.tell(option="A", value=value, se=0.1),
    "tell_all": lambda study, value: study.tell_all([{"option": "B", "value": value, "se": 0.1}] * 2),
    "tell_many": lambda study, value: study.tell_many({"option": ["A"], "value": [value], "se": [0.1]}),
    "ask": lambda study, value: study.ask(int(value)),
    "exclude": lambda study, value: study.exclude("C", f"cost {value}"),
    "amend": lambda study, value: study.amend("m-1", "misread", value=value),
    "void": lambda study, value: study.void(int(value), "wrong"),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_a_change_with_a_key_is_made_once_whoever_repeats_it(tmp_path, kind):
    """The answer is that of the first time, also in another process; another request is refused."""
    study = nw.create_study(tmp_path / "s.db", options=["A", "B", "C"], eps=0.5)
    for value in (5.0, 6.0):
        study.tell(option="B", value=value, se=0.1)
    with study.acting(key="k"):
        first = CHANGES[kind](study, 1.0)
    study.tell(option="C", value=8.0, se=0.1)
    count = len(study.events())
    for again in (study, nw.load_study(tmp_path / "s.db")):
        with again.acting(key="k"):
            assert repr(CHANGES[kind](again, 1.0)) == repr(first)
        with again.acting(key="k"), pytest.raises(ValueError, match="this key was used for another change"):
            CHANGES[kind](again, 2.0)
        with again.acting(key="k"), pytest.raises(ValueError, match="this key was used for another change"):
            again.set_policy("widest")
        assert len(again.events()) == count


@pytest.mark.long("PostgreSQL")
def test_a_server_that_is_gone_at_the_commit_leaves_it_unknown(postgres, monkeypatch):
    """The commit arrives, its answer does not, and then nobody answers any more."""
    store = nw.open_store(f"{postgres.address}&connect_timeout=60", create=True, timeout=2.0)
    study = nw.create_study(store, name="gone at the commit", options=["A", "B"], eps=0.5)
    monkeypatch.setattr(log, "ASKING", 0.5)
    real = postgres_store.send_commit

    def stop_after(connection):
        real(connection)
        postgres.stop()
        raise AnswerLostError("the server closed the connection")

    monkeypatch.setattr(postgres_store, "send_commit", stop_after)
    try:
        with pytest.raises(nw.OutcomeUnknownError) as caught:
            study.tell(option="A", value=1.0, se=0.1)
        assert "Nothing was written" not in str(caught.value)
    finally:
        postgres.start()
    monkeypatch.setattr(postgres_store, "send_commit", real)
    assert study.tell(option="A", value=1.0, se=0.1).number == 1
    assert study.n_measurements == 1
    store.close()
