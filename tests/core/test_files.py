"""Files are written whole or not at all."""

import os
import stat
import subprocess
import sys
import threading

import numpy as np
import pytest

from noisewise.core.files import DRAFT, save_arrays, written_whole


def test_arrays_come_back_as_they_were_and_no_others(tmp_path):
    given = {"values": np.arange(3.0), "words": np.array(["a", "bc"]), "count": 4, "name": "kept"}
    save_arrays(tmp_path / "a.npz", given)
    with np.load(tmp_path / "a.npz", allow_pickle=False) as read:
        assert set(read) == set(given)
        for name, values in given.items():
            assert (read[name] == np.asarray(values)).all()


def test_what_only_a_pickle_could_hold_is_refused_and_nothing_is_written(tmp_path):
    with pytest.raises(ValueError, match="`second` must be an array of numbers or texts; got objects"):
        save_arrays(tmp_path / "a.npz", {"first": np.zeros(2), "second": [object()]})
    assert not list(tmp_path.iterdir())


KILLED = """
import os, sys
from pathlib import Path
from noisewise.core.files import written_whole
with written_whole(Path(sys.argv[1])) as draft:
    draft.with_name(draft.name + "-journal").write_text("of SQLite")
    os._exit(1)
"""


@pytest.mark.skipif(os.name == "nt", reason="processes cannot be asked for there")
def test_the_drafts_of_killed_writers_are_removed_and_others_stay(tmp_path):
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "monday.db")], check=False)
    assert len(list(tmp_path.iterdir())) == 2
    (tmp_path / ".other-12345678-1-abcdefab.draft").touch()  # of another machine
    with written_whole(tmp_path / "friday.db") as draft:
        with written_whole(tmp_path / "sunday.db"):
            pass
        assert draft.exists()
        assert draft.name.endswith(DRAFT)
    assert {path.name for path in tmp_path.iterdir()} == {
        "friday.db", "sunday.db", ".other-12345678-1-abcdefab.draft"
    }  # fmt: skip


@pytest.mark.skipif(os.name == "nt", reason="there are no such permissions there")
def test_a_file_gets_the_usual_permissions_and_the_mask_of_the_process_stays(tmp_path, monkeypatch):
    def umask(mask):
        raise AssertionError("the mask was changed")

    before = os.umask(0o027)
    monkeypatch.setattr(os, "umask", umask)
    try:
        thread = threading.Thread(target=save_arrays, args=(tmp_path / "a.npz", {"values": np.zeros(1)}))
        thread.start()
        thread.join()
    finally:
        monkeypatch.undo()
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.npz").stat().st_mode) == 0o640
