"""Events as they happen, and long tasks that are watched and cancelled."""

import asyncio
import json
import os
import threading
import urllib.parse
import urllib.request

import pytest
from tests.support.event_streams import Listener, connection_to, request
from tests.support.held_worker import HeldWorker
from tests.support.servers import in_thread
from tests.support.waiting import wait_until
from tests.support.web_stores import API, bearer, guarded_app, small_study

import noisewise as nw
from noisewise.server import tasks
from noisewise.server.app import make_app

TASKS = "/api/v1/tasks"
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


def test_events_of_all_writers_arrive_and_a_stream_resumes_where_it_stopped(served):
    url, store = served
    listener = Listener(url, f"{API}/tea/events?after=3")
    assert listener.answer.headers["content-type"].startswith("text/event-stream")
    assert listener.next()["id"] == "4"
    request(url, "POST", f"{API}/tea/tells", RESULT)
    fifth = listener.next()
    assert (fifth["id"], fifth["event"]) == ("5", "tell")
    assert json.loads(fifth["data"])["body"]["option"] == "A"
    nw.load_study(store).tell(option="B", value=1.0, se=0.1)  # as another process would
    assert listener.next()["id"] == "6"
    listener.close()
    resumed = Listener(url, f"{API}/tea/events", **{"Last-Event-ID": "5"})
    assert resumed.next()["id"] == "6"
    resumed.close()


def test_a_server_that_ends_ends_its_streams(app):
    with in_thread(app) as url:
        listener = Listener(url, f"{API}/tea/events")
        listener.next()
    list(listener.messages())
    listener.close()


def test_a_plan_with_levels_of_noise_is_computed_once_for_each_version_of_a_study(served):
    url, store = served
    levels = [[0.3, 0.9], [0.03, 0.1]]
    asked = {"noise": levels, "paths": 4, "eps": 0.01}
    status, begun = request(url, "POST", f"{API}/tea/plan", asked)
    assert (status, begun["state"]) == (202, "waiting")
    place = f"{TASKS}/{begun['id']}?wait=60"
    ended = wait_until(lambda: (one := request(url, "GET", place)[1])["state"] == "done" and one, "the plan")
    wanted = nw.load_study(store).plan([(0.3, 0.9), (0.03, 0.1)], paths=4, eps=0.01)
    assert ended["result"]["sentence"] == wanted.sentence
    assert request(url, "POST", f"{API}/tea/plan", asked)[1]["id"] == begun["id"]


@pytest.mark.parametrize(
    ("what", "asked"),
    [
        pytest.param("plan", {"paths": 40, "eps": 0.01}, marks=pytest.mark.long("servers")),
        pytest.param("worth", {"by": "option"}, marks=pytest.mark.long("servers")),
        ("worth", {}),
    ],
)
def test_a_task_is_watched_as_a_stream_until_its_end(served, what, asked):
    url, _ = served
    begun = request(url, "POST", f"{API}/tea/{what}", asked)[1]
    watcher = Listener(url, f"{TASKS}/{begun['id']}")
    steps = list(watcher.messages())
    watcher.close()
    kinds = [step["event"] for step in steps]
    assert kinds[-1] == "done"
    assert set(kinds[:-1]) <= {"waiting", "running"}
    told = [json.loads(step["data"]) for step in steps]
    assert told[-1]["result"]
    assert all(one["result"] is None for one in told[:-1])


def test_a_running_plan_reports_progress_keeps_nobody_waiting_and_ends_when_cancelled(served, held):
    url, _ = served
    begun = request(url, "POST", f"{API}/tea/plan", {"paths": 1000})[1]
    place, worker = f"{TASKS}/{begun['id']}", held.begun()
    seen = wait_until(lambda: request(url, "GET", place)[1]["progress"], "progress")
    assert seen == {"doing": "simulating", "done": 3, "of": 60}
    listed = request(url, "GET", TASKS)[1]["tasks"]
    assert [(one["id"], one["state"]) for one in listed] == [(begun["id"], "running")]
    assert request(url, "POST", f"{API}/tea/tells", RESULT)[0] == 201
    gone = request(url, "DELETE", place)[1]
    assert (gone["state"], gone["progress"], gone["result"]) == ("cancelled", None, None)
    assert not is_alive(worker)


def test_a_client_that_goes_away_cancels_what_it_waited_for(app, held):
    with in_thread(app) as url:
        connection = connection_to(url)
        connection.request("GET", f"{API}/tea/plan?paths=1000")
        held.begun()
        (task,) = app.state.tasks.all()
        connection.close()
        wait_until(lambda: task.state == tasks.CANCELLED, "the task to be cancelled")


def test_a_task_is_seen_by_who_began_it_and_by_owners(tmp_path, held):
    app, secrets = guarded_app(tmp_path)
    with in_thread(app) as url:
        viewer, worker, owner = (bearer(secrets[role]) for role in ("viewer", "worker", "owner"))
        begun = request(url, "POST", f"{API}/tea/plan", {"paths": 2}, **viewer)[1]
        place = f"{TASKS}/{begun['id']}"
        assert [request(url, "GET", place, **who)[0] for who in (viewer, worker, owner)] == [200, 404, 200]


def test_too_many_plans_at_once_are_refused(served, held, monkeypatch):
    url, _ = served
    monkeypatch.setattr(tasks, "MOST_WAITING", -1)
    request(url, "POST", f"{API}/tea/plan", {"paths": 1000})
    assert request(url, "POST", f"{API}/tea/plan", {"paths": 3})[0] == 429


def test_one_token_cannot_take_all_places_and_reports_have_their_own(tmp_path, monkeypatch):
    app, secrets = guarded_app(tmp_path)
    go_on = asyncio.Event()

    async def answer(self, task):
        if task.kind != tasks.REPORT:
            await go_on.wait()
        return {"result": "<p>", "event": 4}

    monkeypatch.setattr(tasks.LongTasks, "_answer", answer)
    with in_thread(app) as url:
        viewer, owner = bearer(secrets["viewer"]), bearer(secrets["owner"])

        def plan(seed, who):
            return request(url, "POST", f"{API}/tea/plan", {"seed": seed}, **who)

        assert [plan(seed, viewer)[0] for seed in range(tasks.MOST_OF_ONE)] == [202] * tasks.MOST_OF_ONE
        refused = plan(99, viewer)
        assert (refused[0], "4 plans of yours are being computed" in refused[1]["detail"]) == (429, True)
        assert plan(99, owner)[0] == 202
        for who in (viewer, owner):
            connection = connection_to(url)
            connection.request("GET", f"{API}/tea/report.html", headers=who)
            assert connection.getresponse().status == 200
            connection.close()


def test_many_readers_of_one_link_wait_for_the_same_report(tmp_path, monkeypatch):
    app, secrets = guarded_app(tmp_path)
    began, go_on = threading.Event(), threading.Event()
    computed = []

    async def answer(self, task):
        computed.append(task)
        began.set()
        await asyncio.to_thread(go_on.wait, 60)
        return {"result": "<p>", "event": 4}

    monkeypatch.setattr(tasks.LongTasks, "_answer", answer)
    statuses = []
    with in_thread(app) as url:
        made = request(url, "POST", f"{API}/tea/shares", {"name": "r"}, **bearer(secrets["owner"]))[1]

        def read():
            with urllib.request.urlopen(url + made["path"], timeout=60) as found:
                statuses.append(found.status)

        readers = [threading.Thread(target=read) for _ in range(2 * tasks.MOST_OF_ONE)]
        for reader in readers:
            reader.start()
        assert began.wait(60)
        wait_until(lambda: computed[0].waiting == len(readers), "all readers")
        go_on.set()
        for reader in readers:
            reader.join(60)
    assert statuses == [200] * len(readers)
    assert len(computed) == 1


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
