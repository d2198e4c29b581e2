"""Nobody starves: writers queue for the turn, imports read their table once, asking computes no advice."""

import gc
import subprocess
import sys
import threading
import uuid

import pytest
from tests.support.threads import run_at_once
from tests.support.waiting import wait_until

import noisewise as nw
from noisewise.study import journal
from noisewise.study import table_entries as entries
from noisewise.study.asking import suggestion
from noisewise.study.log.state import State
from noisewise.study.stores import turns
from noisewise.study.stores.sqlite import identity

#: Seconds to wait for what is certain to come.
WAIT = 120.0


def test_turns_are_given_one_at_a_time():
    queue, order, inside = turns.Turns(), [], []
    start = threading.Barrier(4)

    def work(who):
        start.wait()
        for _ in range(30):
            with queue.take("x", WAIT) as came:
                assert came
                inside.append(who)
                assert inside == [who]
                order.append(who)
                inside.remove(who)

    run_at_once(work, range(4))
    assert len(order) == 120


def test_a_writer_that_waits_comes_before_one_that_had_its_turn():
    queue, order = turns.Turns(), []

    def wait():
        with queue.take("x", WAIT):
            order.append("second")

    with queue.take("x", WAIT):
        thread = threading.Thread(target=wait)
        thread.start()
        wait_until(lambda: queue._locks["x"][0].locked(), "the other thread to be next")
        order.append("first")
    with queue.take("x", WAIT):
        order.append("first again")
    thread.join()
    assert order == ["first", "second", "first again"]


def test_a_turn_that_does_not_come_is_given_up(tmp_path):
    queue = turns.turns_at(tmp_path / "x-turn")
    came = []

    def wait():
        with queue.take(1, 0.05) as got:
            came.append(got)

    with queue.take(1, WAIT) as mine, queue.take(1, WAIT) as again, queue.take(2, WAIT) as other:
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
import sys
from pathlib import Path
from noisewise.study.stores.turns import turns_at
queue = turns_at(Path(sys.argv[1]))
with queue.take(1, 5.0):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_killed_holder_gives_the_turn_back(tmp_path):
    place = tmp_path / "x-turn"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, place], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout.readline() == "held\n"
    queue = turns.turns_at(place)
    with queue.take(1, 0.1) as came:
        assert not came
    holder.kill()
    holder.communicate()
    with queue.take(1, WAIT) as came:
        assert came
    turns.leave(queue)


@pytest.mark.parametrize("reason", ["no such folder", "no locks", "no fcntl"])
def test_where_nothing_can_be_locked_everything_works_as_before(tmp_path, monkeypatch, reason):
    if reason == "no fcntl":
        gc.collect()  # stores of other tests need it to close
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
    monkeypatch.setattr(journal, "PATIENCE", 0.2)
    held, done = threading.Event(), threading.Event()

    def hold():
        with open_storage().turn(study.name, WAIT):
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        study.tell(option="A", value=1.0, se=0.1)
    finally:
        done.set()
        thread.join()
    assert study.n_measurements == 1


@pytest.mark.parametrize("same", [True, False])
def test_an_import_is_read_again_if_the_news_concern_it(tmp_path, monkeypatch, same):
    study = nw.create_study(tmp_path / "s.db", options=["A", "B"], eps=0.5)
    rival = nw.load_study(tmp_path / "s.db")
    real, told = entries.check_batch, []

    def outrun(state, parsed, **more):
        if not told:
            told.append(rival.tell(option="A", value=1.0 if same else 2.0, se=0.1, key="k3"))
        return real(state, parsed, **more)

    monkeypatch.setattr(entries, "check_batch", outrun)
    table = {"option": ["A"] * 5, "value": [1.0] * 5, "se": [0.1] * 5, "key": [f"k{i}" for i in range(5)]}
    if same:
        assert len(study.tell_many(table)) == 4
        assert study.n_measurements == 5
    else:
        with pytest.raises(ValueError, match=r"row 4 \(key k3\): m-1 was told as A = 2"):
            study.tell_many(table)
        assert study.n_measurements == 1


def test_asking_computes_neither_check_nor_certificate(tmp_path, monkeypatch):
    study = nw.create_study(tmp_path / "s.db", options=["A", "B"], eps=0.5)
    study.tell(option="A", value=1.0, se=0.1)

    def never(*arguments):
        raise AssertionError("asking needs no advice")

    for name in ("check_fit", "certify"):
        monkeypatch.setattr(f"noisewise.study.study.{name}", never)
    (job,) = study.ask()
    assert job.option == "B"


def test_whoever_asks_reckons_with_what_others_ask_for_meanwhile(open_storage, monkeypatch):
    """Prepared before the turn came, the suggestion is the one of somebody who came later."""
    storage = open_storage()
    options = [f"o{k}" for k in range(6)]
    study = nw.create_study(storage, name=f"beside {uuid.uuid4().hex}", options=options, eps=0.5, span=4.0)
    rival = nw.load_study(storage, name=study.name)
    study.tell_many({"option": options, "value": [0.0] * 6, "se": [0.5, 0.6, 0.7, 0.8, 0.9, 1.0]})
    prepare, rivals = suggestion.Asking, []

    def prepared(*arguments, **named):
        made = prepare(*arguments, **named)
        if not rivals:
            rivals.append(None)
            rivals[:] = rival.ask()
            rival.tell(option="o0", value=0.0, se=0.5)
        return made

    monkeypatch.setattr(suggestion, "Asking", prepared)
    mine = study.ask()
    assert (rivals[0].option, mine[0].option) == ("o5", "o4")
    assert [job.id for job in study.pending] == ["ask-1", "ask-2"]


def test_suggestions_and_measurements_in_any_mixture_give_one_state():
    """Read at once or one by one: runs are entered together, and an edited log is not."""
    study = nw.create_study(options=["A", "B"], eps=0.5)
    jobs = [study.ask()[0]]
    for _ in range(4):
        jobs.append(study.ask()[0])
        study.tell(jobs[-2], 1.0, se=0.1)
    study.fail(jobs[-1], reason="lost")
    events = study.events()
    edited = [events[0]._replace(kind="tell", body={**events[2].body, "job": "ask-2"}), *events[1:]]
    for log in (events, edited):
        log = [event._replace(number=number) for number, event in enumerate(log, start=1)]
        whole, steps = State(study.specification), State(study.specification)
        whole.apply_all(log)
        for event in log:
            steps.apply_all([event])
        assert whole.jobs == steps.jobs
        assert list(whole.told) == list(steps.told)
        assert whole.n_events == steps.n_events == len(log)


def test_a_store_that_is_collected_while_another_is_opened_does_not_wait_for_itself(tmp_path):
    """Garbage is collected anywhere, also by the thread that is just opening a store."""
    given_back = []

    def opening():
        first = turns.turns_at(tmp_path / "a.lock")
        with turns._CHANGING, identity._CHANGING:
            turns.leave(first)
            watch = identity.Watch(tmp_path / "a.db")
            watch.close()
            given_back.append(first.users)

    (tmp_path / "a.db").write_bytes(b"")
    thread = threading.Thread(target=opening, daemon=True)
    thread.start()
    thread.join(WAIT)
    assert given_back == [0]
