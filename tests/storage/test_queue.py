"""Nobody starves: writers queue for the turn, imports read their table once, asking computes no advice."""

import subprocess
import sys
import threading
import time
import uuid

import pytest

import noisewise as nw
from noisewise.study import study as study_module
from noisewise.study import turns


def test_turns_are_given_one_at_a_time_and_by_turns():
    queue, order, inside = turns.Turns(), [], []

    def work(who):
        for _ in range(30):
            with queue.take("x", 5.0) as came:
                assert came
                inside.append(who)
                assert inside == [who]
                order.append(who)
                time.sleep(0.0005)
                inside.remove(who)

    threads = [threading.Thread(target=work, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(order) == 120
    # Nobody has finished before everybody is well under way.
    assert all(order[:60].count(who) > 3 for who in range(4))


def test_a_turn_that_does_not_come_is_given_up(tmp_path):
    queue = turns.turns_at(tmp_path / "x-turn")
    came = []

    def wait():
        with queue.take(1, 0.05) as got:
            came.append(got)

    with queue.take(1, 1.0) as mine, queue.take(1, 1.0) as again, queue.take(2, 1.0) as other:
        assert (mine, again, other) == (True, True, True)  # also from within, and for another study
        thread = threading.Thread(target=wait)
        thread.start()
        thread.join()
    assert came == [False]
    wait()
    assert came == [False, True]
    turns.leave(queue)
    assert list(tmp_path.iterdir()) == []


HOLD = """
import sys, time
from pathlib import Path
from noisewise.study.turns import turns_at
queue = turns_at(Path(sys.argv[1]))
with queue.take(1, 5.0):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_killed_holder_gives_the_turn_back(tmp_path):
    place = tmp_path / "x-turn"
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(place)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "held\n"
    queue = turns.turns_at(place)
    with queue.take(1, 0.1) as came:
        assert not came
    holder.kill()
    holder.communicate()
    with queue.take(1, 5.0) as came:
        assert came
    turns.leave(queue)


@pytest.mark.parametrize("reason", ["no such folder", "no locks", "no fcntl"])
def test_where_nothing_can_be_locked_everything_works_as_before(tmp_path, monkeypatch, reason):
    if reason == "no fcntl":
        monkeypatch.setattr(turns, "fcntl", None)
    if reason == "no locks":

        def refuse(*arguments):
            raise OSError("no locks here")

        monkeypatch.setattr(turns.fcntl, "lockf", refuse)
    place = tmp_path / ("none/x-turn" if reason == "no such folder" else "x-turn")
    queue = turns.FileTurns(place)
    with queue.take(1, 0.1):
        pass
    queue.close()
    if reason != "no such folder":
        study = nw.create_study(tmp_path / "s.db", options=["A", "B"], eps=0.5)
        study.tell(study.ask()[0], 1.0, se=0.1)
        assert study.n_measurements == 1


def test_whoever_waits_in_vain_goes_ahead(open_storage, monkeypatch):
    """A process that was stopped with the turn in its hands must not stop the others."""
    storage = open_storage()
    study = nw.create_study(storage, name=f"stopped {uuid.uuid4().hex}", options=["A", "B"], eps=0.5)
    monkeypatch.setattr(study_module, "PATIENCE", 0.2)
    held, done = threading.Event(), threading.Event()

    def hold():
        with open_storage().turn(study.name, 5.0):
            held.set()
            done.wait(20.0)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(20.0)
    try:
        study.tell(option="A", value=1.0, se=0.1)
    finally:
        done.set()
        thread.join()
    assert study.n_measurements == 1


def test_an_import_reads_its_table_once(tmp_path, monkeypatch):
    study = nw.create_study(tmp_path / "s.db", options=["A", "B"], eps=0.5)
    rival = nw.load_study(tmp_path / "s.db")
    reads, real = [], study_module.check_batch

    def slow_read(state, parsed, **more):
        reads.append(1)
        if len(reads) == 1:
            rival.tell(option="B", value=0.0, se=0.1, key="theirs")
        return real(state, parsed, **more)

    monkeypatch.setattr(study_module, "check_batch", slow_read)
    table = {"option": ["A"] * 5, "value": [1.0] * 5, "se": [0.1] * 5, "key": [f"k{i}" for i in range(5)]}
    taken = study.tell_many(table)
    assert len(reads) == 1
    assert [one.number for one in taken] == [2, 3, 4, 5, 6]
    assert study.n_measurements == 6


@pytest.mark.parametrize("same", [True, False])
def test_an_import_is_read_again_if_the_news_concern_it(tmp_path, monkeypatch, same):
    study = nw.create_study(tmp_path / "s.db", options=["A", "B"], eps=0.5)
    rival = nw.load_study(tmp_path / "s.db")
    real, told = study_module.check_batch, []

    def outrun(state, parsed, **more):
        if not told:
            told.append(rival.tell(option="A", value=1.0 if same else 2.0, se=0.1, key="k3"))
        return real(state, parsed, **more)

    monkeypatch.setattr(study_module, "check_batch", outrun)
    table = {"option": ["A"] * 5, "value": [1.0] * 5, "se": [0.1] * 5, "key": [f"k{i}" for i in range(5)]}
    if same:
        assert len(study.tell_many(table)) == 4
        assert study.n_measurements == 5
    else:
        with pytest.raises(ValueError, match="row 4: key k3 already told with 2"):
            study.tell_many(table)
        assert study.n_measurements == 1


def test_asking_computes_neither_check_nor_certificate(tmp_path, monkeypatch):
    study = nw.create_study(tmp_path / "s.db", options=["A", "B"], eps=0.5)
    study.tell(option="A", value=1.0, se=0.1)

    def never(*arguments):
        raise AssertionError("asking needs no advice")

    for name in ("check_fit", "certify"):
        monkeypatch.setattr(study_module, name, never)
    (job,) = study.ask()
    assert job.option == "B"
