"""Events as they happen, and long tasks that are watched and cancelled."""

import asyncio
import os
import threading

import pytest
from tests.support.held_worker import HeldWorker
from tests.support.requests import connection_to, request
from tests.support.servers import in_thread
from tests.support.waiting import wait_until
from tests.support.web_stores import API, bearer, guarded_app, small_study

import noisewise as nw
from noisewise.server import tasks
from noisewise.server.app import make_app

RESULT = {"option": "A", "value": 1.0, "se": 0.1}


@pytest.fixture
def app(tmp_path):
    small_study(tmp_path / "studies.db")
    return make_app(tmp_path / "studies.db")


@pytest.fixture
def served(app, tmp_path):
    with in_thread(app) as url:
        yield url, tmp_path / "studies.db"


@pytest.fixture
def held(tmp_path, monkeypatch):
    return HeldWorker(tmp_path, monkeypatch)


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_plan_with_levels_of_noise_is_computed_once_for_each_version_of_a_study(app, tmp_path):
    asked = {"noise": [[0.3, 0.9], [0.03, 0.1]], "paths": 4, "eps": 0.01}
    with in_thread(app) as url:
        status, found = request(url, "POST", f"{API}/tea/plan", asked)
        wanted = nw.load_study(tmp_path / "studies.db").plan([(0.3, 0.9), (0.03, 0.1)], paths=4, eps=0.01)
        assert (status, found["sentence"]) == (200, wanted.sentence)
        assert request(url, "POST", f"{API}/tea/plan", asked)[1] == found
        assert len(app.state.tasks.all()) == 1


def test_a_plan_reports_progress_and_keeps_nobody_waiting(app, held):
    with in_thread(app) as url:
        connection = connection_to(url)
        connection.request("GET", f"{API}/tea/plan?paths=1000")
        worker = held.begun()
        (task,) = app.state.tasks.all()
        seen = wait_until(lambda: task.progress, "progress")
        assert seen == {"doing": "simulating", "done": 3, "of": 60}
        assert request(url, "POST", f"{API}/tea/tells", RESULT)[0] == 201
        connection.close()
        wait_until(lambda: not is_alive(worker), "the worker to end")


def test_too_many_plans_at_once_are_refused(app, held, monkeypatch):
    with in_thread(app) as url:
        monkeypatch.setattr(tasks, "MOST_WAITING", -1)
        connection = connection_to(url)
        connection.request("GET", f"{API}/tea/plan?paths=1000")
        held.begun()
        assert request(url, "GET", f"{API}/tea/plan?paths=3")[0] == 429
        connection.close()


def test_one_token_cannot_take_all_places_and_reports_have_their_own(tmp_path, monkeypatch):
    app, secrets = guarded_app(tmp_path)

    async def answer(self, task):
        if task.kind != tasks.REPORT:
            await asyncio.Event().wait()
        return {"result": "<p>", "event": 4}

    monkeypatch.setattr(tasks.LongTasks, "_answer", answer)
    opened = []
    with in_thread(app) as url:
        viewer, owner = bearer(secrets["viewer"]), bearer(secrets["owner"])

        def begin(seed, who):
            opened.append(connection_to(url))
            before = len(app.state.tasks.all())
            opened[-1].request("GET", f"{API}/tea/plan?seed={seed}", headers=who)
            wait_until(lambda: len(app.state.tasks.all()) > before, "the plan to begin")

        for seed in range(tasks.MOST_OF_ONE):
            begin(seed, viewer)
        status, refused = request(url, "GET", f"{API}/tea/plan?seed=99", **viewer)
        assert (status, "4 plans of yours are being computed" in refused["detail"]) == (429, True)
        begin(99, owner)
        for who in (viewer, owner):
            connection = connection_to(url)
            connection.request("GET", f"{API}/tea/report.html", headers=who)
            assert connection.getresponse().status == 200
            connection.close()
        for one in opened:
            one.close()


def test_a_client_that_goes_away_cancels_what_it_waited_for(app, held):
    with in_thread(app) as url:
        connection = connection_to(url)
        connection.request("GET", f"{API}/tea/plan?paths=1000")
        held.begun()
        (task,) = app.state.tasks.all()
        connection.close()
        wait_until(lambda: task.state == tasks.CANCELLED, "the task to be cancelled")


def test_many_threads_tell_and_ask_at_once(served):
    url, store = served
    failures = []

    def work(number):
        for turn in range(5):
            job = request(url, "POST", f"{API}/tea/asks", {})[1]["jobs"][0]
            body = {"job": job["id"], "value": 1.0, "se": 0.1, "key": f"{number} {turn}"}
            if request(url, "POST", f"{API}/tea/tells", body)[0] != 201:
                failures.append((number, turn))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert nw.load_study(store).n_measurements == 3 + 20
