"""Whatever happens to a store: a clear sentence, nothing lost, nothing half-written."""

import os
import sqlite3
import subprocess
import sys
import tempfile
import uuid
import warnings
from pathlib import Path

import psycopg
import pytest
from tests.support.threads import run_at_once

import noisewise as nw
from noisewise.study.stores import postgres as postgres_store
from noisewise.study.stores import sqlite as sqlite_store


def make(path, **more):
    study = nw.create_study(path, options=["A", "B", "C"], eps=0.5, **more)
    for i, option in enumerate("ABCABC"):
        study.tell(option=option, value=float(i), se=0.3, key=f"k{i}")
    return study


def change(path, statement):
    """Change a store's file behind its back."""
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()


def refused(action, error, *sentences):
    with pytest.raises(error) as caught:
        action()
    message = str(caught.value.args[0])
    for sentence in sentences:
        assert sentence in message
    assert "\n" not in message
    return message


def test_a_file_that_is_not_there(tmp_path):
    refused(lambda: nw.load_study(tmp_path / "no.db"), FileNotFoundError, "there is no ", "no.db")
    refused(lambda: make(tmp_path / "no" / "x.db"), FileNotFoundError, "in a folder that exists")
    refused(lambda: make(tmp_path), IsADirectoryError, "is a folder")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("keep", [0.0, 0.2, 0.5, 0.9])
def test_a_truncated_file_is_refused_and_left_as_it_is(tmp_path, keep):
    path = tmp_path / "s.db"
    study = make(path)
    study.tell_many({"option": ["A"] * 500, "value": [1.0] * 500, "se": [0.3] * 500})
    study._log.storage.close()
    whole = path.read_bytes()
    path.write_bytes(whole[: int(keep * len(whole))])
    cut = path.read_bytes()
    refused(lambda: nw.load_study(path), ValueError, "s.db", "is empty" if keep == 0.0 else "truncated")
    assert path.read_bytes() == cut


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are listed on Linux only")
def test_a_damaged_file_is_not_left_open(tmp_path):
    path = tmp_path / "s.db"
    make(path)._log.storage.close()
    path.write_bytes(path.read_bytes()[:1500])
    with pytest.raises(ValueError, match="truncated"):
        nw.load_study(path)
    assert not [at for at in Path("/proc/self/fd").iterdir() if at.is_symlink() and at.readlink() == path]


def test_a_gap_in_the_log_is_noticed(tmp_path):
    make(tmp_path / "s.db")._log.storage.close()
    with sqlite3.connect(tmp_path / "s.db") as connection:
        connection.execute("DELETE FROM noisewise_log WHERE number = 3")
    connection.close()
    refused(lambda: nw.load_study(tmp_path / "s.db"), ValueError, "is damaged", "event 3 does not fit")


def test_foreign_files_are_refused_and_left_as_they_are(tmp_path):
    text = tmp_path / "notes.csv"
    text.write_text("option,value\nA,1\n")
    other = tmp_path / "other.db"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE cakes (name TEXT)")
    connection.commit()
    connection.close()
    for path, sentence in ((text, "it is not a database"), (other, "a database of something else")):
        before = path.read_bytes()
        for action in (lambda p=path: nw.load_study(p), lambda p=path: make(p)):
            refused(action, ValueError, path.name, sentence)
        assert path.read_bytes() == before


def test_a_file_of_another_version_says_what_to_do(tmp_path):
    make(tmp_path / "s.db")._log.storage.close()
    change(tmp_path / "s.db", "UPDATE noisewise_store SET version = 99")
    refused(
        lambda: nw.load_study(tmp_path / "s.db"),
        ValueError,
        "another version",
        "(schema 99",
        "use that version",
    )


@pytest.fixture
def as_nobody():
    """Rights count for nothing with root: become somebody else for a while, in a folder of theirs."""
    folder = Path(tempfile.mkdtemp(prefix="nw-", dir="/tmp"))
    root = os.geteuid() == 0
    if root:
        os.chown(folder, 65534, 65534)
        os.seteuid(65534)
    yield folder
    if root:
        os.seteuid(0)
    os.chmod(folder, 0o700)
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()


def test_a_read_only_file_can_be_read_and_is_not_written(as_nobody):
    path = as_nobody / "s.db"
    make(path)._log.storage.close()
    os.chmod(path, 0o444)
    for mode in (0o755, 0o555):  # the folder, too
        os.chmod(as_nobody, mode)
        study = nw.load_study(path)
        assert study.n_measurements == 6
        refused(lambda s=study: s.tell(option="A", value=1.0, se=0.1), OSError, "s.db", "Nothing was written")
        assert study.n_measurements == 6
        study._log.storage.close()


def test_opened_for_reading_only(open_database):
    name = "read only"
    storage = open_database()
    nw.create_study(storage, name=name, options=["A", "B"], eps=0.1).tell(option="A", value=1.0, se=0.1)
    study = nw.Study(open_database(read_only=True), name)
    assert study.n_measurements == 1
    for write in (
        lambda: study.tell(option="B", value=1.0, se=0.1),
        lambda: study.ask(),
        lambda: study._log.storage.rename(name, "another"),
    ):
        refused(write, PermissionError, "opened for reading only", "Nothing was written")
    assert nw.Study(storage, name).n_measurements == 1
    storage.rename(name, f"{name} {uuid.uuid4().hex}")


def test_a_full_disk_loses_nothing(tmp_path):
    study = make(tmp_path / "s.db")
    before = study.events()
    with study._log.storage._pool.take(study._log.storage._connect) as connection:
        ((pages,),) = connection.execute("PRAGMA page_count")
        connection.execute(f"PRAGMA max_page_count = {pages}").fetchall()
    many = {"option": ["A"] * 3000, "value": [1.0] * 3000, "se": [0.3] * 3000}
    refused(lambda: study.tell_many(many), OSError, "the disk is full", "make room and run again")
    assert study.events() == before
    assert nw.load_study(tmp_path / "s.db").events() == before
    study._log.storage.close()  # a new connection has all the room
    study.tell_many(many)
    assert nw.load_study(tmp_path / "s.db").n_measurements == 3006


def test_waiting_for_another_writer_ends_with_a_sentence(tmp_path):
    study = make(tmp_path / "s.db")
    other = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    waiting = nw.load_study(tmp_path / "s.db", timeout=0.05)
    message = refused(
        lambda: waiting.tell(option="A", value=1.0, se=0.1), TimeoutError, "Nothing was written"
    )
    assert message.startswith("waited 0.05 s for another writer of ")
    # Whoever only looks does not wait.
    assert nw.load_study(tmp_path / "s.db", read_only=True, timeout=0.05).n_measurements == 6
    other.execute("ROLLBACK")
    other.close()
    waiting.tell(option="A", value=1.0, se=0.1)
    assert study.n_measurements == 7


@pytest.mark.long("PostgreSQL")
def test_the_same_on_postgresql(postgres):
    address = f"{postgres.address}&connect_timeout=60"
    store = nw.open_store(address, create=True, timeout=0.05)
    study = nw.create_study(store, name="locked", options=["A", "B"], eps=0.1)
    with psycopg.connect(postgres.address) as connection:
        connection.execute("SELECT * FROM noisewise_studies FOR UPDATE")
        refused(lambda: study.tell(option="A", value=1.0, se=0.1), TimeoutError, "waited 0.05 s")
    study.tell(option="A", value=1.0, se=0.1)
    assert study.n_measurements == 1
    store.close()


@pytest.mark.long("PostgreSQL")
@pytest.mark.parametrize("moment", ["idle", "insert", "commit"])
def test_a_connection_lost_in_the_middle_of_a_transaction(postgres, monkeypatch, moment):
    """What was not written is written again; what was begun and not committed is gone."""
    store = nw.open_store(postgres.address, create=True)
    study = nw.create_study(store, name=f"lost at {moment}", options=["A", "B"], eps=0.1)
    study.tell(option="A", value=1.0, se=0.1)
    fired = []

    def cut(connection):
        if not fired:
            fired.append(True)
            with psycopg.connect(postgres.address, autocommit=True) as other:
                other.execute("SELECT pg_terminate_backend(%s, 2000)", (connection.info.backend_pid,))

    if moment == "idle":
        with store._pool.take(store._connect) as connection:
            cut(connection)
    elif moment == "insert":
        append = postgres_store.LogTables.append
        monkeypatch.setattr(
            postgres_store.LogTables,
            "append",
            lambda tables, *rows: (cut(tables._cursor.connection), append(tables, *rows)),
        )
    else:
        send = postgres_store.send_commit
        monkeypatch.setattr(
            postgres_store, "send_commit", lambda connection: (cut(connection), send(connection))
        )
    told = lambda: study.tell(option="B", value=2.0, se=0.1, key="b")  # noqa: E731
    if moment == "insert":
        refused(told, ConnectionError, "connection to postgresql://", "Nothing was written; run again")
        assert study.n_measurements == 1
    assert told().number == 2
    assert fired
    assert nw.load_study(store, study.name).n_measurements == 2
    store.close()


def test_a_server_that_is_not_there(tmp_path):
    refused(
        lambda: nw.load_study(f"postgresql://me:secret@/nowhere?host={tmp_path}", timeout=1.0),
        ConnectionError,
        "was lost or refused",
    )
    message = refused(
        lambda: nw.load_study("postgresql://u:secret@/x?host=/no", timeout=1.0), ConnectionError
    )
    assert "secret" not in message


@pytest.mark.long("PostgreSQL")
def test_a_database_without_studies(postgres):
    with psycopg.connect(postgres.address, autocommit=True) as connection:
        connection.execute("CREATE DATABASE empty")
    address = postgres.address.replace("/postgres?", "/empty?")
    refused(lambda: nw.load_study(address), ValueError, "holds no studies")
    run_at_once(lambda _: nw.open_store(address, create=True).close(), range(4))
    assert nw.open_store(address).names() == []


def test_a_store_made_by_many_at_once_is_made_once(tmp_path):
    path, problems = tmp_path / "s.db", []

    def make_one(k):
        try:
            nw.create_study(path, name=f"s{k}", options=["A"], eps=0.1)
        except Exception as problem:
            problems.append(problem)

    run_at_once(make_one, range(6))
    assert problems == []
    assert sorted(nw.open_store(path).names()) == [f"s{k}" for k in range(6)]
    assert not [name for name in os.listdir(tmp_path) if "draft" in name]


def test_killed_in_the_middle_of_a_transaction(tmp_path):
    make(tmp_path / "s.db")._log.storage.close()
    script = (
        "import os, signal, sys, noisewise as nw\n"
        "from noisewise.study.stores import sqlite\n"
        "s = nw.load_study(sys.argv[1])\n"
        "s.tell(option='A', value=9.0, se=0.1, key='acknowledged')\n"
        "print('told', flush=True)\n"
        "sqlite.send_commit = lambda connection: os.kill(os.getpid(), signal.SIGKILL)\n"
        "s.tell_many({'option': ['B'] * 50, 'value': [1.0] * 50, 'se': [0.1] * 50})\n"
    )
    ended = subprocess.run([sys.executable, "-c", script, tmp_path / "s.db"], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (-9, "told\n"), ended.stderr
    # Also for one who may only read, while the dead process's write-ahead log is still there.
    for read_only in (True, False):
        study = nw.load_study(tmp_path / "s.db", read_only=read_only)
        assert study.n_measurements == 7
        assert study.frame("measurements")["key"].to_list()[-1] == "acknowledged"


@pytest.mark.long("processes")
def test_a_fork_has_connections_of_its_own(tmp_path):
    make(tmp_path / "s.db")
    script = (
        "import os, sys, noisewise as nw\n"
        "study = nw.load_study(sys.argv[1])\n"
        "child = os.fork()\n"
        "study.tell(option='A', value=1.0, se=0.1, key='parent' if child else 'child')\n"
        "os.waitpid(child, 0) if child else os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", script, tmp_path / "s.db"], check=True)
    keys = nw.load_study(tmp_path / "s.db").frame("measurements")["key"].to_list()
    assert sorted(keys[-2:]) == ["child", "parent"]


def test_a_network_file_system_gets_a_warning(tmp_path, monkeypatch):
    mounts = tmp_path / "mountinfo"
    lines = [
        "21 1 8:1 / / rw - ext4 /dev/sda rw",
        f"30 21 0:40 / {tmp_path}/lab\\040disk rw - nfs4 srv:/x rw",
    ]
    mounts.write_text("\n".join(lines))
    folder = tmp_path / "lab disk"
    folder.mkdir()
    kind = sqlite_store.network_file_system
    assert kind(folder / "s.db", mounts) == "nfs4"
    assert kind(tmp_path / "s.db", mounts) is None
    assert kind(tmp_path / "s.db", tmp_path / "none") is None
    monkeypatch.setattr(sqlite_store, "MOUNTS", mounts)
    with pytest.warns(RuntimeWarning, match=r"network file system \(nfs4\).*Use PostgreSQL"):
        make(folder / "s.db")
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        make(tmp_path / "s.db")


@pytest.mark.parametrize(
    "trigger",
    [
        "BEFORE INSERT ON noisewise_log BEGIN SELECT RAISE(IGNORE); END",
        "AFTER INSERT ON noisewise_log BEGIN DELETE FROM noisewise_log WHERE number = NEW.number; END",
        "BEFORE UPDATE ON noisewise_studies BEGIN SELECT RAISE(IGNORE); END",
        "AFTER INSERT ON noisewise_log BEGIN UPDATE noisewise_log SET record = x'7b7d'; END",
    ],
)
def test_nothing_is_acknowledged_in_a_store_with_a_trigger(tmp_path, trigger):
    path = tmp_path / "s.db"
    study = make(path)
    change(path, f"CREATE TRIGGER t {trigger}")
    if "IGNORE" in trigger:
        with pytest.raises(ValueError, match=r"wrote 0 of 1 rows|does not end with event"):
            study.tell(option="A", value=1.0, se=0.3)
    study._log.storage.close()
    for act in (
        lambda: nw.load_study(path).tell(option="A", value=1.0, se=0.3),
        lambda: nw.create_study(path, name="another", options=["A", "B"], eps=0.5),
    ):
        with pytest.raises(
            ValueError, match="has a trigger, 't', which could drop or change what is written"
        ):
            act()
    change(path, "DROP TRIGGER t")
    again = nw.load_study(path)
    assert again.n_measurements == 6
    again.tell(option="A", value=1.0, se=0.3)
    assert nw.load_study(path).n_measurements == 7
