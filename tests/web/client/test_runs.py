"""A run on another machine: threads, a server that is gone for a while, and a worker that is killed."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

pytest.importorskip("fastapi", reason="the server is an extra")

from tests.support.lossy_proxy import LossyProxy, answering
from tests.support.servers import ServerProcess, in_thread
from tests.support.web_stores import guarded_app

import noisewise as nw
from noisewise.web.app import make_app

TRUTH = {"A": 1.0, "B": 3.0, "C": 2.0}
PATIENCE = 60.0


def measure(job):
    return TRUTH[job.option], 0.3


def told_once(study):
    """Every suggestion that was measured has one measurement."""
    jobs = [event.body["job"] for event in study.events() if event.kind == "tell" and "job" in event.body]
    assert len(jobs) == len(set(jobs))
    return jobs


def test_a_run_with_threads_ends_as_it_does_in_a_file(tmp_path):
    question = {"name": "s", "options": list(TRUTH), "eps": 0.5, "seed": 1}
    here = nw.create_study(tmp_path / "here.db", **question)
    there = nw.create_study(tmp_path / "there.db", **question)
    done = here.run(measure, workers=3, progress=False)
    with in_thread(make_app(tmp_path / "there.db")) as address:
        remote = nw.load_study(address).run(measure, workers=3, progress=False)
    assert done.reached
    assert remote.reached
    assert remote.certificate.option == "B"
    assert (remote.measured, remote.ended) == (done.measured, done.ended)
    assert len(told_once(there)) == remote.measured
    assert there.pending == []


def test_a_run_that_loses_every_third_answer_doubles_nothing(tmp_path):
    there = nw.create_study(tmp_path / "s.db", name="s", options=list(TRUTH), eps=0.5)
    asked = [0]

    def lose(method, path):
        asked[0] += 1
        return asked[0] % 3 == 0

    with in_thread(make_app(tmp_path / "s.db")) as server, answering(LossyProxy(server, lose)) as address:
        done = nw.load_study(address, "s").run(measure, workers=4, progress=False)
    assert done.reached
    assert len(told_once(there)) == done.measured == there.n_measurements
    asks = [event.body["id"] for event in there.events() if event.kind == "ask"]
    assert len(asks) == done.measured  # none was reserved in vain


def test_a_run_that_was_killed_is_taken_over_by_the_next(tmp_path):
    app, secrets = guarded_app(tmp_path)
    here = nw.load_study(tmp_path / "studies.db")
    script = textwrap.dedent("""
        import sys, time
        import noisewise as nw
        def measure(job):
            print(job.id, flush=True)
            time.sleep(0.05 if int(job.id[4:]) < 6 else 60.0)
            return 2.0, 0.3
        nw.load_study(sys.argv[1]).run(measure, workers=3, until="spent", budget=20, progress=False)
    """)
    with in_thread(app) as address:
        worker = subprocess.Popen(
            [sys.executable, "-c", script, address],
            env={**os.environ, "NOISEWISE_TOKEN": secrets["worker"]},
            stdout=subprocess.PIPE,
        )
        give_up = time.monotonic() + PATIENCE
        while sum(job.by is not None for job in here.pending) < 3 or here.n_measurements < 7:
            assert worker.poll() is None
            assert time.monotonic() < give_up
            time.sleep(0.05)
        worker.send_signal(signal.SIGKILL)
        worker.communicate()
        left = [job for job in here.pending if job.by is not None]
        assert {job.by.partition(": ")[0] for job in left} == {"worker one"}
        before = here.n_measurements
        study = nw.load_study(address, token=secrets["worker"])
        done = study.run(lambda job: (2.0, 0.3), workers=3, until="spent", budget=6, progress=False)
    assert done.measured == 6
    assert here.n_measurements == before + 6
    told = told_once(here)
    assert {job.id for job in left} <= set(told)
    assert [job for job in here.pending if job.by is not None] == []


def test_a_run_outlives_a_server_that_is_killed_and_started_again(tmp_path):
    here = nw.create_study(tmp_path / "s.db", name="s", options=list(TRUTH), eps=0.01)
    server = ServerProcess(tmp_path / "s.db")
    server.start()
    ended = []

    def slowly(job):
        time.sleep(0.05)
        return TRUTH[job.option], 0.3

    def work():
        study = nw.load_study(server.url)
        ended.append(study.run(slowly, workers=3, until="spent", budget=40, progress=False))

    worker = threading.Thread(target=work)
    worker.start()
    try:
        for goal in (8, 20):
            give_up = time.monotonic() + PATIENCE
            while here.n_measurements < goal:
                assert time.monotonic() < give_up
                time.sleep(0.02)
            server.process.kill()
            server.process.communicate()
            server.start(server.port)
        worker.join(PATIENCE)
    finally:
        server.__exit__()
    assert ended[0].measured == 40
    assert len(told_once(here)) == here.n_measurements == 40
