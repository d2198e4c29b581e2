"""A process that is killed between the head of a frame and its page leaves a store that opens as before."""

import shutil
import sqlite3

import noisewise as nw

#: Sizes in SQLite's file format: the head of the log, and that of a frame.
LOG_HEAD, FRAME_HEAD = 32, 24


def test_a_head_above_the_page_of_an_earlier_log_does_not_make_it_another_stores(tmp_path):
    study = nw.create_study(tmp_path / "s.db", options=["A", "B"], eps=1.0)
    for value in range(30):
        study.tell(option="A", value=float(value), se=1.0)
    connection = sqlite3.connect(tmp_path / "s.db")
    busy, frames, done = connection.execute("PRAGMA wal_checkpoint(FULL)").fetchone()
    connection.close()
    assert (busy, frames) == (0, done), "the next change begins the log anew"
    earlier = (tmp_path / "s.db-wal").read_bytes()
    state = tmp_path / "killed"
    state.mkdir()
    shutil.copy(tmp_path / "s.db", state / "s.db")
    study.tell(option="B", value=1.0, se=1.0)
    later = (tmp_path / "s.db-wal").read_bytes()
    assert later[LOG_HEAD : LOG_HEAD + 4] == b"\x00\x00\x00\x01", "the first page comes first"
    written = LOG_HEAD + FRAME_HEAD
    (state / "s.db-wal").write_bytes(later[:written] + earlier[written:])
    found = nw.load_study(state / "s.db")
    assert found.n_measurements == 30
    found.tell(option="B", value=2.0, se=1.0)
    assert nw.load_study(state / "s.db").n_measurements == 31
