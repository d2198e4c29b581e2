"""A study that runs itself: order, failures, time-outs, budgets, and being killed."""

import asyncio
import itertools
import math
import os
import random
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from types import SimpleNamespace

import pytest

import noisewise as nw
from noisewise.study.running import crews, limits
from noisewise.study.running import run as running
from noisewise.study.running.limits import read_budget
from noisewise.study.running.owners import is_left_behind, mark
from noisewise.study.running.run import MeasuringError, group_size

OPTIONS = [f"o{k}" for k in range(6)]
#: Seconds to wait for what is certain to come.
WAIT = 120.0


@pytest.fixture(autouse=True)
def patient_runs(monkeypatch):
    """A run waits for slow measurements, however long they take, so that results are told in order."""
    monkeypatch.setattr(running, "PATIENCE", math.inf)


def measured(job):
    """The same for the same suggestion, whoever measures it and when."""
    k = int(job.option[1:])
    return 0.4 * k + random.Random(job.id).gauss(0.0, 0.5), 0.5


def fresh(**question):
    return nw.create_study(**({"options": OPTIONS, "eps": 0.5} | question))


def told(study):
    return [
        (event.body["job"], event.body["option"], event.body["value"])
        for event in study.events()
        if event.kind == "tell"
    ]


@pytest.mark.parametrize("on", [None, "threads", "processes", "executor", "async"])
def test_whoever_measures_the_run_is_the_same(on):
    async def later(job):
        await asyncio.sleep(0)
        return measured(job)

    plain = fresh()
    plain.run(measured, workers=3)
    study = fresh()
    if on == "executor":
        with ThreadPoolExecutor(3) as executor:
            found = study.run(measured, workers=3, on=executor)
    else:
        found = study.run(later if on == "async" else measured, workers=3, on=None if on == "async" else on)
    assert found.reached
    assert found.certificate.bound <= 0.5
    assert found.measured == study.n_measurements
    assert told(study) == told(plain)
    assert study.pending == []


def test_results_are_told_in_the_order_of_asking():
    third = threading.Event()

    def first_comes_last(job):
        if job.id == "ask-1":
            assert third.wait(WAIT)
        if job.id == "ask-3":
            third.set()
        return measured(job)

    study, plain = fresh(), fresh()
    study.run(first_comes_last, workers=4)
    plain.run(measured, workers=4)
    assert told(study) == told(plain)
    assert [int(job[4:]) for job, _, _ in told(study)] == sorted(int(job[4:]) for job, _, _ in told(study))


def test_a_result_does_not_wait_for_ever(monkeypatch):
    monkeypatch.setattr(running, "PATIENCE", 0.0)
    first = threading.Event()

    def one_hangs(job):
        if job.id == "ask-1":
            assert first.wait(WAIT)
        elif int(job.id[4:]) > 6:
            first.set()
        return measured(job)

    study = fresh()
    study.run(one_hangs, workers=2)
    order = [job for job, _, _ in told(study)]
    assert order[0] != "ask-1"
    assert "ask-1" in order


def test_one_decision_serves_several_workers():
    assert [group_size(workers) for workers in (1, 3, 4, 8, 31, 32, 64)] == [1, 1, 1, 2, 7, 16, 32]
    study = fresh()
    found = study.run(measured, workers=32, budget=96, until="spent")
    assert found.measured == 96
    kinds = [event.kind for event in study.events()]
    changes = [kind for kind, before in zip(kinds, [None, *kinds], strict=False) if kind != before]
    assert len(changes) <= 2 * 96 / 16


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (None, "returned nothing"),
        ("many", "value"),
        ((1.0, 2.0, 3.0), "a pair is"),
        ({"valeu": 1.0}, "valeu"),
        ({}, "said nothing"),
        ((1.0, -0.3), "se"),
        (float("nan"), "value"),
    ],
)
def test_nonsense_is_a_failure_with_its_reason(returned, said):
    study = fresh()
    with pytest.raises(MeasuringError, match=said):
        study.run(lambda job: returned, on_error="raise")
    assert study.n_measurements == 0
    assert study.pending == []


def test_fields_and_readings_and_counts_are_told():
    study = nw.create_study(options=["A", "B"], eps=0.2)
    found = study.run(
        lambda job: {"successes": 90 if job.option == "A" else 20, "trials": 100, "note": "by hand"},
        workers=2,
    )
    assert found.certificate.option == "A"
    assert found.reached
    other = nw.create_study(options=["A", "B"], eps=0.5)
    other.run(
        lambda job: {"values": [1.0, 1.1, 0.9, 1.05]} if job.option == "A" else {"values": [3.0, 3.1, 2.9]}
    )
    assert other.certificate().option == "B"


def test_items_are_measured_where_options_share_them():
    study = nw.create_study(options=["A", "B"], eps=0.1, measure=nw.Items(400), seed=0)

    def answer(job):
        chance = 0.9 if job.option == "A" else 0.4
        return {item: int(random.Random(item).random() < chance) for item in job.items}

    found = study.run(answer, workers=2)
    assert found.certificate.option == "A"
    assert found.reached


def test_failures_are_kept_and_asked_for_again():
    failures = []

    def sometimes(job):
        if not failures:
            failures.append(job.id)
            raise OSError("the lamp is out")
        return measured(job)

    study = fresh()
    found = study.run(sometimes)
    assert found.failed == 1
    (failed,) = [event for event in study.events() if event.kind == "fail"]
    assert "OSError: the lamp is out" in failed.body["reason"]
    assert found.reached


def test_a_measurement_is_tried_again_before_it_fails():
    tries = {}

    def second_time(job):
        tries[job.id] = tries.get(job.id, 0) + 1
        if tries[job.id] == 1:
            raise OSError("busy")
        return measured(job)

    study = fresh()
    found = study.run(second_time, retries=1)
    assert found.reached
    assert not [event for event in study.events() if event.kind == "fail"]
    assert set(tries.values()) == {2}


def test_an_option_that_always_fails_ends_the_run_or_is_excluded():
    def broken(job):
        if job.option == "o5":
            raise OSError("no such device")
        return measured(job)

    with pytest.raises(MeasuringError, match=r"o5 failed 3 times in a row.*no such device"):
        fresh().run(broken)
    study = fresh()
    found = study.run(broken, on_error="exclude", workers=2)
    assert found.certificate.option == "o4"
    assert found.reached


@pytest.mark.parametrize("on", ["threads", pytest.param("processes", marks=pytest.mark.long("processes"))])
def test_a_worker_that_hangs_is_timed_out_and_its_option_asked_again(on, tmp_path, monkeypatch):
    hung, began = tmp_path / "hung", crews.Crew.began
    given_up = []

    def long_ago(crew, attempt):
        """The attempt that hangs began long ago, by the clock of the run; the others just now."""
        if began(crew, attempt) is None:
            return None
        if not given_up and hung.exists() and hung.read_text() == f"ask-{attempt}":
            given_up.append(attempt)
            return -math.inf
        return math.inf

    monkeypatch.setattr(crews.Crew, "began", long_ago)
    study = fresh()
    found = study.run(Hangs(str(hung)), workers=2, timeout=3600.0, on=on)
    assert found.reached
    (failed,) = [event for event in study.events() if event.kind == "fail"]
    assert "time-out" in failed.body["reason"]
    assert study.pending == []


class Hangs:
    """Never returns the first time, whichever process it is in, and writes down what it was to measure."""

    def __init__(self, path):
        self.path = path

    def __call__(self, job):
        if job.option == "o1" and not os.path.exists(self.path):
            with open(self.path + "-draft", "w") as file:
                file.write(job.id)
            os.rename(self.path + "-draft", self.path)
            threading.Event().wait()
        return measured(job)


def test_budgets_of_measurements_cost_and_seconds(monkeypatch):
    study = fresh(eps=1e-4)
    assert study.run(measured, budget=7, workers=3).measured == 7
    assert "budget of 7 measurements" in study.run(measured, budget="7").ended
    dear = nw.create_study(
        options={"id": ["A", "B"], "price": [2.0, 2.0]}, roles={"option": "id", "cost": "price"}, eps=1e-4
    )
    found = dear.run(lambda job: (1.0, 1.0), budget={"cost": 9.0})
    assert found.measured == 4  # a fifth one would cost 10
    assert found.ended == (
        "the budget of a cost of 9 is spent: the 1 that are left do not pay for the next measurement"
    )
    assert dear.pending == []
    ticks = itertools.count()
    with monkeypatch.context() as patched:
        patched.setattr(limits, "time", SimpleNamespace(monotonic=lambda: float(next(ticks))))
        assert study.run(lambda job: (1.0, 1.0), budget="60s").ended == "the budget of 60 seconds is spent"
    own = fresh(budget=9, eps=1e-4)
    assert own.run(measured).measured == 9
    assert own.run(measured).measured == 0


def test_budgets_as_text():
    assert read_budget("200") == {"measurements": 200.0}
    assert read_budget("2h, 200") == {"seconds": 7200.0, "measurements": 200.0}
    assert read_budget("30min") == {"seconds": 1800.0}
    for bad in ("2x", "", "eggs=3", "1.5", "cost=5"):
        with pytest.raises(ValueError, match="`budget` must be a number of measurements"):
            read_budget(bad)


def test_a_deadline_is_a_moment():
    study = fresh(eps=1e-4)
    over = study.run(measured, budget={"deadline": "2020-01-31T08:00"})
    assert over.measured == 0
    assert over.ended == "the deadline, 2020-01-31 08:00, has passed"
    assert study.run(measured, budget={"deadline": "2999-01-01", "measurements": 3}).measured == 3
    assert f"{datetime.fromtimestamp(read_budget({'deadline': '08:00'})['deadline']):%H:%M}" == "08:00"
    assert read_budget({"deadline": "2026-11-20T08:00+00:00"}) == {"deadline": 1795161600.0}
    for bad in ("8 am", "25:00", 5, ""):
        with pytest.raises(ValueError, match="`deadline` must be a time of day"):
            read_budget({"deadline": bad})


def test_a_dear_measurement_ends_a_run_that_a_cheap_one_began():
    study = nw.create_study(options={"id": ["A", "B"], "cost": [1.0, 50.0]}, eps=1e-3)
    run = study.run(lambda job: (1.0, 1.0), budget={"cost": 20.0}, until="spent")
    assert run.measured >= 1
    assert study.pending == []
    assert "do not pay for the next measurement" in run.ended


def test_it_runs_until_what_was_said():
    study = fresh()
    assert study.run(measured, until=1.5).certificate.bound <= 1.5
    assert (
        study.run(
            measured, until=lambda certificate: certificate.n_measurements >= 30
        ).certificate.n_measurements
        == 30
    )
    nothing = nw.create_study(options=["A", "B"], final=True)
    with pytest.raises(ValueError, match="no `eps`"):
        nothing.run(measured)
    with pytest.raises(ValueError, match="needs a budget"):
        study.run(measured, until="spent")
    assert study.run(measured).measured == 0 or study.certificate().reached


def test_interrupted_it_gives_everything_back():
    def interrupted(job):
        if int(job.id[4:]) == 9:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        return measured(job)

    study = fresh(eps=1e-4)
    with pytest.raises(KeyboardInterrupt):
        study.run(interrupted, workers=3)
    assert study.pending == []
    assert study.n_measurements >= 5


def test_interrupted_while_it_asks_it_gives_back_what_it_has_not_seen(tmp_path, monkeypatch):
    study = nw.create_study(tmp_path / "s.db", options=OPTIONS, eps=1e-4)
    (of_another_run,) = study.ask(by=mark())
    ask, asked = study._ask_at_once, []

    def interrupted(n, *, by):
        asked.append(ask(n, by=by))
        if len(asked) > 4:
            raise KeyboardInterrupt  # the suggestions are in the log, and nobody has heard of them
        return asked[-1]

    monkeypatch.setattr(study, "_ask_at_once", interrupted)
    with pytest.raises(KeyboardInterrupt):
        study.run(measured, workers=2)
    assert [job.id for job in study.pending] == [of_another_run.id]


def test_arguments_are_checked_before_anything_happens():
    study = fresh()
    for bad, said in (
        ({"workers": 0}, "`workers`"),
        ({"timeout": -1}, "`timeout`"),
        ({"on_error": "ignore"}, "`on_error`"),
        ({"on": "moon"}, "`on`"),
        ({"until": "tomorrow"}, "`until`"),
    ):
        with pytest.raises(ValueError, match=said):
            study.run(measured, **bad)
    with pytest.raises(TypeError, match="`measure` must be a function"):
        study.run(3)
    with pytest.raises(TypeError, match="top of a module"):
        study.run(lambda job: 1.0, on="processes")
    assert study.events() == []


def test_marks_tell_the_dead_from_the_living():
    assert not is_left_behind(mark())
    assert not is_left_behind(None)
    assert not is_left_behind("Ada")
    script = "from noisewise.study.running.owners import mark; print(mark())"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert is_left_behind(ended.stdout.strip())
    other = mark().split()
    assert not is_left_behind(f"run another-machine {other[2]} {other[3]}")
    assert is_left_behind(f"run {other[1]} {other[2]} 12345")


SCRIPT = """
import math, os, random, signal, sys
import noisewise as nw
from noisewise.study.running import run as running
from noisewise.study.stores import sqlite

store, point, left = sys.argv[1], sys.argv[2], int(sys.argv[3])
running.PATIENCE, send = math.inf, sqlite.send_commit

def at(here):
    global left
    left -= here == point
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)

def commit(transaction):
    at("before a commit")
    send(transaction)
    at("after a commit")

def measured(job):
    at("measuring")
    return 0.4 * int(job.option[1:]) + random.Random(job.id).gauss(0.0, 0.5), 0.5

sqlite.send_commit = commit
nw.load_study(store).run(measured, workers=8)
"""
POINTS = ("before a commit", "after a commit", "measuring")


@pytest.mark.long("kills")
def test_a_run_that_is_killed_again_and_again_ends_as_an_undisturbed_one(tmp_path):
    """At any point; the suggestions, the measurements and the certificate are the same."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    question = {"options": OPTIONS, "eps": 0.25}
    whole = nw.create_study(tmp_path / "whole.db", **question)
    killed = nw.create_study(tmp_path / "killed.db", **question)
    ends = whole.run(measured, workers=8)
    rng, kills = random.Random(0), 9
    for kill in range(kills):
        after = rng.randrange(1, 2 + ends.measured // (4 * kills))
        child = [sys.executable, script, tmp_path / "killed.db", POINTS[kill % 3], str(after)]
        assert subprocess.run(child).returncode == -signal.SIGKILL
    subprocess.run([sys.executable, script, tmp_path / "killed.db", "never", "0"], check=True)
    assert told(killed) == told(whole)
    found = killed.certificate()
    assert (found.option, found.bound) == (ends.certificate.option, ends.certificate.bound)
    assert killed.pending == []


class WordlessError(Exception):
    def __str__(self):
        raise RuntimeError("no words")


def leave(job):
    raise SystemExit(3)


def interrupt(job):
    raise KeyboardInterrupt


def wordless(job):
    raise WordlessError


async def leave_later(job):
    raise SystemExit(3)


@pytest.mark.parametrize("measure", [leave, interrupt, wordless, leave_later])
@pytest.mark.parametrize("with_executor", [False, True])
def test_whatever_a_function_raises_is_a_failure_and_never_a_run_that_waits_for_ever(measure, with_executor):
    study = nw.create_study(options=["A", "B"], eps=0.3)
    with ThreadPoolExecutor(1) as executor:
        on = executor if with_executor and measure is not leave_later else None
        with pytest.raises(RuntimeError, match="failed 3 times in a row"):
            study.run(measure, on=on)
    assert not study.pending


@pytest.mark.parametrize("until", ["certified", 0.2])
def test_a_run_whose_certificate_stays_withheld_is_given_up(until):
    study = nw.create_study(options=["A", "B"], eps=0.3)
    run = study.run(lambda job: {"A": 1.0, "B": 2.0}[job.option], workers=2, until=until)
    assert run.ended.endswith("have not changed that the certificate is withheld")
    assert run.certificate.withheld
    assert not run.reached
    assert run.measured < 100


@pytest.mark.parametrize("workers", [1, 8, 64])
def test_a_budget_of_cost_counts_what_measurements_said_they_cost(workers):
    study = nw.create_study(options=["A", "B"], eps=0.3)
    run = study.run(
        lambda job: {"value": 1.0, "se": 1.0, "cost": 10.0},
        workers=workers,
        until="spent",
        budget={"cost": 100.0},
    )
    assert run.ended == "the budget of a cost of 100 is spent"
    if workers == 1:  # until the first of them says so, measurements are taken to cost what the study says: 1
        assert run.measured == 10


@pytest.mark.parametrize("workers", [1, 8, 64])
def test_many_workers_spend_no_more_than_a_budget_of_cost(workers):
    priced = nw.create_study(
        options={"id": ["A", "B"], "cost": [10.0, 10.0]}, eps=0.3, roles={"cost": "cost"}
    )
    spent = priced.run(lambda job: (1.0, 1.0), workers=workers, until="spent", budget={"cost": 100.0})
    assert spent.measured == 10
