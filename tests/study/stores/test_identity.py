"""A store knows who it is: what is replaced, removed, rolled back or left behind by another is noticed."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import uuid

import pytest

import noisewise as nw


def make(path, count=6, **more):
    study = nw.create_study(path, options=["A", "B", "C"], eps=0.5, **more)
    for i in range(count):
        study.tell(option="ABC"[i % 3], value=float(i), se=0.3)
    return study


def refused(action, *sentences, error=nw.StoreChangedError):
    with pytest.raises(error) as caught:
        action()
    for sentence in sentences:
        assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def killed_worker(path, count=20):
    """A process that tells, and is killed with its write-ahead log still there."""
    script = (
        "import os, signal, sys, noisewise as nw\n"
        "s = nw.load_study(sys.argv[1])\n"
        f"for i in range({count}): s.tell(option='A', value=9.0, se=0.1)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ended = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr


def tell(study):
    return lambda: study.tell(option="A", value=1.0, se=0.1)


def roll_back(storage, name, number):
    """Take the events behind a number out of a database, and whatever tells that they were there."""
    head = storage.read(name, number, number)[0].hash
    with storage._writing() as tables:
        study = storage._number(name)
        tables.run("DELETE FROM noisewise_log WHERE number > ? AND study = ?", number, study)
        tables.run("UPDATE noisewise_studies SET number = ?, head = ? WHERE study = ?", number, head, study)


def test_a_new_study_does_not_inherit_the_events_of_a_removed_one(tmp_path):
    make(tmp_path / "z.db")._log.storage.close()
    killed_worker(tmp_path / "z.db")
    (tmp_path / "z.db").unlink()
    left = (tmp_path / "z.db-wal").read_bytes()
    refused(lambda: make(tmp_path / "z.db"), "'z.db-wal'", "left by another store", "Nothing was changed")
    assert (tmp_path / "z.db-wal").read_bytes() == left
    assert not (tmp_path / "z.db").exists()


def test_a_file_beside_the_log_of_another_store_is_refused(tmp_path):
    make(tmp_path / "z.db")._log.storage.close()
    make(tmp_path / "other.db")._log.storage.close()
    killed_worker(tmp_path / "z.db")
    shutil.copy(tmp_path / "other.db", tmp_path / "z.db")
    for action in (lambda: nw.load_study(tmp_path / "z.db"), lambda: nw.open_store(tmp_path / "z.db")):
        refused(action, "'z.db-wal' beside ", "belongs to another store", "noisewise restore")


@pytest.mark.long("kills")
def test_an_older_copy_of_the_same_file_beside_a_newer_log_is_refused(tmp_path):
    path = tmp_path / "z.db"
    study = make(path)
    study._log.storage.close()
    shutil.copy(path, tmp_path / "copy.db")
    nw.load_study(path).tell(option="A", value=1.0, se=0.1)  # closed at once: all is in the file
    killed_worker(path)
    assert nw.load_study(path).n_measurements == 27  # as it should be, from file and log together
    killed_worker(path, 3)
    shutil.copy(tmp_path / "copy.db", path)
    refused(lambda: nw.load_study(path), "belongs to another store, or to another state of this one")


@pytest.mark.parametrize("how", ["copied over", "moved over", "removed", "raw copy over", "moved away"])
def test_a_file_that_is_replaced_under_a_worker_is_noticed_at_once(tmp_path, how):
    path, backup = tmp_path / "z.db", tmp_path / "backup.db"
    study = make(path)
    nw.backup_store(path, backup)
    raw = tmp_path / "raw.db"
    if how == "raw copy over":
        study._log.storage.close()
        shutil.copy(path, raw)
    for _ in range(40):
        study.tell(option="B", value=1.0, se=0.1)
    if how == "raw copy over":
        study._log.storage.close()  # what was told is in the file
        study.certificate()
    sentence = "was replaced while it was open"
    if how == "copied over":
        path.write_bytes(backup.read_bytes())
    elif how == "raw copy over":
        path.write_bytes(raw.read_bytes())
        sentence = "was r"  # replaced or rolled back, as SQLite's cache has it
    elif how == "moved over":
        os.replace(backup, path)
    else:
        sentence = "was removed or moved away"
        path.rename(tmp_path / "away.db") if how == "moved away" else path.unlink()
    for action in (tell(study), study.ask, study.certificate):
        refused(action, sentence, "was written")


def test_a_file_that_is_replaced_in_the_middle_of_a_change_is_not_written(tmp_path, monkeypatch):
    path = tmp_path / "z.db"
    study = make(path)
    nw.backup_store(path, tmp_path / "backup.db")
    real = study._log.storage._commit

    def replace_it(connection):
        os.replace(tmp_path / "backup.db", path)
        real(connection)

    monkeypatch.setattr(study._log.storage, "_commit", replace_it)
    refused(tell(study), "was replaced while it was open")
    (tmp_path / "z.db-wal").unlink()
    assert nw.load_study(path).n_measurements == 6


def test_a_log_that_became_shorter_is_said_to_be_rolled_back_at_once(tmp_path, open_storage):
    storage = open_storage()
    study = nw.create_study(storage, name=f"rolled {uuid.uuid4().hex}", options=["A", "B"], eps=0.5)
    for value in (1.0, 2.0, 3.0):
        study.tell(option="A", value=value, se=0.1)
    if isinstance(storage, nw.MemoryStorage):
        del storage._logs[study.name][3:]
        refused(tell(study), "was rolled back: it has 2 events, and had 3")
        return
    roll_back(storage, study.name, 2)
    for action in (tell(study), study.ask, study.certificate):
        refused(action, "was rolled back: it has 2 events, and had 3")
    assert nw.load_study(open_storage(), study.name).n_measurements == 2


def test_another_history_of_the_same_length_is_noticed(open_database):
    storage = open_database()
    study = nw.create_study(storage, name=f"history {uuid.uuid4().hex}", options=["A", "B"], eps=0.5)
    study.tell(option="A", value=1.0, se=0.1)
    roll_back(storage, study.name, 0)
    other = nw.load_study(open_database(), study.name)
    other.tell(option="B", value=2.0, se=0.1)
    for _ in range(2):
        refused(tell(study), "is not the one that was read before")
        other.tell(option="B", value=2.0, se=0.1)  # also when it has become longer


@pytest.mark.long("PostgreSQL")
def test_a_database_that_was_made_anew_is_another_store(postgres):
    store = nw.open_store(postgres.address, create=True)
    study = nw.create_study(store, name="made anew", options=["A", "B"], eps=0.5)
    real = store.id
    store.id = "0" * 32
    refused(tell(study), "is another store than the one that was opened")
    store.id = real
    study.tell(option="A", value=1.0, se=0.1)
    store.close()


@pytest.mark.long("kills")
def test_a_second_handle_does_not_end_the_locks_of_the_first(tmp_path):
    """Closing any descriptor of a file ends SQLite's locks; another process then removed the log."""
    path = tmp_path / "z.db"
    study = make(path)
    nw.load_study(path)  # opened and closed
    assert nw.verify_log(path)[0].fits
    look = "import sys, noisewise as nw; print(nw.load_study(sys.argv[1]).n_measurements)"
    for count in (6, 7):
        said = subprocess.run([sys.executable, "-c", look, path], capture_output=True, text=True)
        assert said.stdout.strip() == str(count), said.stderr
        study.tell(option="A", value=1.0, se=0.1)
    assert (tmp_path / "z.db-wal").exists()
    study._log.storage.close()
    assert nw.load_study(path).n_measurements == 8


def test_restoring_replaces_a_store_safely(tmp_path):
    path, backup = tmp_path / "z.db", tmp_path / "backup.db"
    study = make(path)
    certificate = study.certificate()
    nw.backup_store(path, backup)
    study.tell(option="A", value=100.0, se=0.1)
    before = backup.read_bytes()
    refused(lambda: nw.restore_store(backup, path, timeout=0.1), "is in use by others", error=TimeoutError)
    assert study.n_measurements == 7
    study._log.storage.close()
    kept = nw.restore_store(backup, path)
    assert backup.read_bytes() == before
    assert nw.load_study(path).certificate().to_json() == certificate.to_json()
    assert nw.load_study(kept).n_measurements == 7  # what was replaced is a store still
    refused(tell(study), "was replaced while it was open")
    nw.load_study(path).tell(option="A", value=1.0, se=0.1)
    ids = {nw.open_store(place, read_only=True).id for place in (path, backup, kept)}
    assert len(ids) == 3


@pytest.mark.long("kills")
def test_restoring_over_a_damaged_file_and_over_leftovers(tmp_path):
    path, backup = tmp_path / "z.db", tmp_path / "backup.db"
    make(path)._log.storage.close()
    nw.backup_store(path, backup)
    path.write_bytes(path.read_bytes()[:5000])
    kept = nw.restore_store(backup, path)
    assert nw.load_study(path).n_measurements == 6
    assert len(kept.read_bytes()) == 5000
    killed_worker(path)
    path.unlink()
    kept = nw.restore_store(backup, path)
    assert nw.load_study(path).n_measurements == 6
    assert kept.with_name(kept.name + "-wal").exists()
    assert nw.restore_store(backup, tmp_path / "new.db") is None
    assert nw.load_study(tmp_path / "new.db").n_measurements == 6


def test_a_backup_that_is_not_whole_is_not_restored(tmp_path):
    path, backup = tmp_path / "z.db", tmp_path / "backup.db"
    make(path)._log.storage.close()
    nw.backup_store(path, backup)
    connection = sqlite3.connect(backup)
    connection.execute("UPDATE noisewise_log SET id = 'x' WHERE number = 4")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    refused(lambda: nw.restore_store(backup, path), "`backup` must be whole", "event 4", error=ValueError)
    assert path.read_bytes() == before
    refused(lambda: nw.restore_store(path, path), "another file than the store", error=ValueError)
    refused(lambda: nw.restore_store(path, "postgresql://u@h/d"), "with its own tools", error=ValueError)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["backup.db", "z.db"]
