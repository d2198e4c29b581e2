"""The parallel map: every piece once, on any workers, whatever happens to them."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from tests.support.clusters import small_cluster

from noisewise.core import parallel
from noisewise.core.parallel import WorkersError, executor_on, processors, spread
from noisewise.core.remarks import heard_progress

PROCESSES = pytest.param(2, marks=pytest.mark.long("processes"))


def square(piece):
    return piece * piece


def refuse_seven(piece):
    if piece == 7:
        raise ValueError("seven is bad")
    return piece


def die_once(piece):
    number, folder = piece
    flag = Path(folder) / "died"
    if number == 3 and not flag.exists():
        flag.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def die(piece):
    os.kill(os.getpid(), signal.SIGKILL)


def processors_there(piece):
    return processors()


@pytest.fixture(scope="module")
def client():
    """A cluster in this process."""
    with small_cluster(processes=False) as client:
        yield client


@pytest.mark.parametrize("on", [None, 1, "1", PROCESSES])
def test_every_piece_comes_back_once_with_its_result(on):
    assert sorted(spread(square, range(9), on)) == [(k, k * k) for k in range(9)]


def test_executors_and_clusters_do_every_piece_and_stay_open(client):
    wanted = [(k, k * k) for k in range(9)]
    with ThreadPoolExecutor(2) as pool:
        assert sorted(spread(square, range(9), pool)) == wanted
        assert list(spread(square, [], pool)) == []
        assert pool.submit(square, 2).result() == 4
    assert sorted(spread(square, range(9), client)) == wanted
    assert sorted(spread(square, range(9), client.scheduler.address)) == wanted
    assert client.submit(square, 2).result() == 4


def test_equal_pieces_and_pieces_without_a_hash_are_each_done():
    with ThreadPoolExecutor(2) as pool:
        assert sorted(spread(square, [2, 2, 2], pool)) == [(2, 4)] * 3
        assert len(list(spread(np.sum, [np.ones(2), np.ones(2)], pool))) == 2


@pytest.mark.parametrize("on", [1, "threads", PROCESSES])
def test_an_error_in_a_piece_is_raised_as_it_is(on):
    with ThreadPoolExecutor(2) as pool, pytest.raises(ValueError, match="seven is bad"):
        list(spread(refuse_seven, range(10), pool if on == "threads" else on))


def test_leaving_the_loop_cancels_what_has_not_begun():
    with ThreadPoolExecutor(1) as pool:
        results = spread(refuse_seven, range(8), pool)
        assert next(results) == (0, 0)
        results.close()
        assert pool.submit(square, 3).result() == 9


def test_a_worker_has_one_processor():
    with ThreadPoolExecutor(1) as pool:
        assert [found for _, found in spread(processors_there, [0, 1], pool)] == [1, 1]
    assert processors() >= 1


def test_workers_with_other_versions_are_refused(monkeypatch):
    parcel = parallel._Parcel("token", b"", "noisewise 0.0.1")
    with pytest.raises(WorkersError, match=r"must have the same versions: .* there, noisewise 0\.0\.1 here"):
        parallel._do(parcel, 1)


@pytest.mark.long("processes")
def test_a_process_that_dies_costs_its_pieces_only(tmp_path):
    pieces = [(number, str(tmp_path)) for number in range(8)]
    assert sorted(found for _, found in spread(die_once, pieces, 2)) == list(range(8))


@pytest.mark.long("processes")
def test_pieces_that_kill_every_worker_are_given_up():
    with pytest.raises(WorkersError, match="5 pieces are left"):
        list(spread(die, range(5), 2))
    with ProcessPoolExecutor(1) as pool, pytest.raises(WorkersError, match="5 pieces are left"):
        list(spread(die, range(5), pool))


@pytest.mark.long("clusters")
def test_a_dask_worker_that_dies_costs_its_pieces_only(tmp_path):
    with small_cluster() as client:
        pieces = [(number, str(tmp_path)) for number in range(8)]
        assert sorted(found for _, found in spread(die_once, pieces, client)) == list(range(8))
        with pytest.raises(WorkersError, match="1 pieces are left"):
            list(spread(die, [1], client))


SCRIPT = """
import os, signal, time
from pathlib import Path
from noisewise.core.parallel import spread

print("once", flush=True)
factor = 3

def work(piece):
    if piece == 5:  # Ctrl-C once the others are back
        while not Path("back").exists():
            time.sleep(0.01)
        os.kill(parent, signal.SIGINT)
        signal.pause()
    return factor * piece

parent, done = os.getpid(), []
try:
    for piece, result in spread(work, range(6), 2):
        done.append(result)
        if len(done) == 5:
            Path("back").touch()
except KeyboardInterrupt:
    print("interrupted", sorted(done))
"""


@pytest.mark.long("processes")
def test_ctrl_c_in_a_script_without_a_guard_keeps_what_is_finished(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    said = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, timeout=600, check=True
    )
    assert said.stdout.splitlines() == ["once", "interrupted [0, 3, 6, 9, 12]"]
    assert said.stderr == ""


def test_progress_is_told_to_those_who_listen_and_not_drawn_in_a_pipe(capfd):
    heard = []
    with heard_progress(lambda *said: heard.append(said)):
        list(spread(len, [range(3), range(3, 5)], 1, label="simulating"))
    list(spread(len, [range(3)], 1, label="simulating"))
    assert heard == [("simulating", 3, 5), ("simulating", 5, 5)]
    assert capfd.readouterr() == ("", "")


def test_on_a_terminal_a_bar_is_drawn(monkeypatch, capsys):
    monkeypatch.setattr(parallel, "ALONE", -1.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    list(spread(square, range(3), 1, label="squaring"))
    assert "squaring" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("on", "words"),
    [
        (0, "`on` must be a number of processes"),
        (object(), "got <object"),
        ("tcp://127.0.0.1:1", "`on` must lead to a Dask scheduler that answers"),
    ],
)
def test_other_places_are_refused(on, words, monkeypatch):
    monkeypatch.setattr(parallel, "TO_CONNECT", 0.5)
    with pytest.raises((TypeError, OSError), match=words), executor_on(on):
        pass
