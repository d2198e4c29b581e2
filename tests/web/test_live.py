"""Events as they happen, and long tasks that are watched and cancelled."""

import asyncio
import http.client
import json
import threading
import time
import urllib.parse
import urllib.request

import pytest
from tests.support.event_streams import Listener, request
from tests.support.servers import in_thread
from tests.support.web_stores import API, bearer, guarded_app, small_study

import noisewise as nw
from noisewise.web import tasks
from noisewise.web.app import make_app


@pytest.fixture
def served(tmp_path):
    small_study(tmp_path / "studies.db")
    with in_thread(make_app(tmp_path / "studies.db")) as url:
        yield url, tmp_path / "studies.db"


def test_events_arrive_whoever_writes_them_and_resume_where_they_stopped(served):
    url, store = served
    listener = Listener(url, f"{API}/tea/events?after=3")
    assert listener.answer.headers["content-type"].startswith("text/event-stream")
    assert listener.next()["id"] == "4"
    request(url, "POST", f"{API}/tea/tells", {"option": "A", "value": 1.0, "se": 0.1})
    began = time.monotonic()
    fifth = listener.next()
    assert (fifth["id"], fifth["event"]) == ("5", "tell")
    assert json.loads(fifth["data"])["body"]["option"] == "A"
    nw.load_study(store).tell(option="B", value=1.0, se=0.1)  # as another process would
    assert listener.next()["id"] == "6"
    assert time.monotonic() - began < 20.0
    listener.close()
    resumed = Listener(url, f"{API}/tea/events", **{"Last-Event-ID": "5"})
    assert resumed.next()["id"] == "6"
    resumed.close()


def test_streams_do_not_keep_the_server_from_ending(tmp_path):
    small_study(tmp_path / "studies.db")
    with in_thread(make_app(tmp_path / "studies.db")) as url:
        listener = Listener(url, f"{API}/tea/events")
        listener.next()
        began = time.monotonic()
    assert time.monotonic() - began < 20.0
    while listener.answer.readline():
        pass
    listener.close()


def test_a_plan_is_begun_watched_and_done(served):
    url, store = served
    status, begun = request(url, "POST", f"{API}/tea/plan", {"paths": 4})
    assert (status, begun["state"]) == (202, "waiting")
    ended = request(url, "GET", f"/api/v1/tasks/{begun['id']}?wait=60")[1]
    assert ended["state"] == "done"
    assert ended["result"]["sentence"] == nw.load_study(store).plan(paths=4).sentence
    again = request(url, "POST", f"{API}/tea/plan", {"paths": 4})[1]
    assert again["id"] == begun["id"], "the same version of a study has the same plan"


def test_a_plan_says_how_far_it_is(served):
    url, _ = served
    begun = request(url, "POST", f"{API}/tea/plan", {"paths": 1000, "eps": 1e-5})[1]
    place = f"/api/v1/tasks/{begun['id']}"
    seen = eventually(lambda: request(url, "GET", place)[1]["progress"])
    assert seen.keys() == {"doing", "done", "of"}
    assert seen["of"] >= seen["done"] >= 0
    listed = request(url, "GET", "/api/v1/tasks")[1]["tasks"]
    assert [(one["id"], one["state"]) for one in listed] == [(begun["id"], "running")]
    assert request(url, "DELETE", place)[1]["progress"] is None


@pytest.mark.parametrize(
    ("what", "asked"),
    [("plan", {"paths": 40, "eps": 0.01}), ("worth", {"by": "option"}), ("report", {"plan": {"paths": 9}})],
)
def test_a_task_is_watched_as_a_stream_until_its_end(served, what, asked):
    url, _ = served
    begun = request(url, "POST", f"{API}/tea/{what}", asked)[1]
    watcher = Listener(url, f"/api/v1/tasks/{begun['id']}")
    steps = list(watcher.messages())
    watcher.close()
    kinds = [step["event"] for step in steps]
    assert kinds[-1] == "done"
    assert set(kinds[:-1]) <= {"waiting", "running"}
    told = [json.loads(step["data"]) for step in steps]
    doing = [one["progress"]["doing"] for one in told if one["progress"]]
    assert "reading the log" in doing
    assert told[-1]["result"]
    assert all(one["result"] is None for one in told[:-1])
    if what == "report":
        assert told[-1]["result"].startswith("<!DOCTYPE html>")
        assert "What it would take" in told[-1]["result"] or "Until the bound" in told[-1]["result"]


def test_levels_of_noise_with_shares_and_costs_are_planned(served):
    url, store = served
    levels = [{"sigma": 0.3, "share": 0.9}, {"sigma": 0.03, "share": 0.1}]
    begun = request(url, "POST", f"{API}/tea/plan", {"noise": levels, "paths": 4, "eps": 0.01})[1]
    ended = request(url, "GET", f"/api/v1/tasks/{begun['id']}?wait=60")[1]
    wanted = nw.load_study(store).plan([(0.3, 0.9), (0.03, 0.1)], paths=4, eps=0.01)
    assert ended["result"]["sentence"] == wanted.sentence


def test_a_plan_is_cancelled_and_its_process_ends(served, monkeypatch):
    url, _ = served
    begun = request(url, "POST", f"{API}/tea/plan", {"paths": 1000, "eps": 1e-5})[1]
    give_up = time.monotonic() + 60.0
    while request(url, "GET", f"/api/v1/tasks/{begun['id']}")[1]["state"] == "waiting":
        assert time.monotonic() < give_up
        time.sleep(0.05)
    gone = request(url, "DELETE", f"/api/v1/tasks/{begun['id']}")[1]
    assert gone["state"] == "cancelled"
    assert request(url, "GET", f"/api/v1/tasks/{begun['id']}")[1]["result"] is None


def test_who_goes_away_cancels_what_they_waited_for(tmp_path):
    small_study(tmp_path / "studies.db")
    app = make_app(tmp_path / "studies.db")
    with in_thread(app) as url:
        address = urllib.parse.urlsplit(url)
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
        connection.request("GET", f"{API}/tea/plan?paths=1000&eps=1e-5")
        (task,) = eventually(lambda: list(app.state.tasks._tasks.values()))
        connection.close()
        eventually(lambda: task.state == tasks.CANCELLED)


def test_a_task_is_seen_by_who_began_it_and_by_owners(tmp_path):
    app, secrets = guarded_app(tmp_path)
    with in_thread(app) as url:
        viewer, worker, owner = (bearer(secrets[role]) for role in ("viewer", "worker", "owner"))
        begun = request(url, "POST", f"{API}/tea/plan", {"paths": 2}, **viewer)[1]
        place = f"/api/v1/tasks/{begun['id']}"
        assert [request(url, "GET", place, **who)[0] for who in (viewer, worker, owner)] == [200, 404, 200]


def test_too_many_plans_at_once_are_refused(served, monkeypatch):
    url, _ = served
    monkeypatch.setattr(tasks, "MOST_WAITING", -1)
    begun = request(url, "POST", f"{API}/tea/plan", {"paths": 1000, "eps": 1e-5})[1]
    assert request(url, "POST", f"{API}/tea/plan", {"paths": 3})[0] == 429
    request(url, "DELETE", f"/api/v1/tasks/{begun['id']}")


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
            begun = request(url, "POST", f"{API}/tea/report", {}, **who)[1]
            place = f"/api/v1/tasks/{begun['id']}?wait=60"
            assert request(url, "GET", place, **who)[1]["state"] == "done"


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
        eventually(lambda: computed[0].waiting == len(readers))
        go_on.set()
        for reader in readers:
            reader.join(60)
    assert statuses == [200] * len(readers)
    assert len(computed) == 1


def test_tells_go_on_while_a_plan_is_computed(served):
    url, _ = served
    begun = request(url, "POST", f"{API}/tea/plan", {"paths": 1000, "eps": 1e-5})[1]
    for number in range(5):
        told = request(url, "POST", f"{API}/tea/tells", {"option": "A", "value": 1.0 + number, "se": 0.1})
        assert told[0] == 201
    request(url, "DELETE", f"/api/v1/tasks/{begun['id']}")


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


def eventually(look):
    """What is true after a while."""
    give_up = time.monotonic() + 60.0
    while not (found := look()):
        assert time.monotonic() < give_up
        time.sleep(0.05)
    return found
