"""Lost answers, restarted servers and killed workers: nothing is made twice, and nothing is missing."""

import os
import subprocess
import sys
import textwrap
import threading
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest

pytest.importorskip("fastapi", reason="the server is an extra")

from tests.support.lossy_proxy import LossyProxy, answering, losing
from tests.support.servers import ServerProcess, in_thread
from tests.support.waiting import wait_until
from tests.support.web_stores import guarded_app

import noisewise as nw
from noisewise.server.app import make_app

PATIENCE = 600.0
TABLE = {"option": ["A", "B"], "value": [1.0, 2.0], "se": [0.1, 0.1]}
TRUTH = {"A": 1.0, "B": 3.0, "C": 2.0}
LONG = pytest.mark.long("servers")

#: Changes by the request that is lost, with the events that each appends.
CHANGES = {
    "ask": ("/asks", 2, lambda s: [job.id for job in s.ask(2)]),
    "ask of a run": ("/asks", 2, lambda s: [job.id for job in s._ask_at_once(2, by="run here 1 1")]),
    "tell": ("/tells", 1, lambda s: s.tell(option="A", value=1.0, se=0.1).id),
    "tell a suggestion": ("/tells", 1, lambda s: s.tell("ask-1", 1.0, se=0.1).id),
    "tell several": (
        "/tells/all",
        2,
        lambda s: [m.id for m in s.tell_all([{"option": "A", "value": 1.0}] * 2)],
    ),
    "tell a table": ("/imports", 2, lambda s: [m.id for m in s.tell_many(TABLE)]),
    "tell a table again": ("/imports", 2, lambda s: [m.id for m in s.tell_many(TABLE, repeat=True)]),
    "fail": ("/release", 1, lambda s: s.fail("ask-1", "broken")),
    "release": ("/release", 2, lambda s: s.release(["ask-1", "ask-2"])),
    "void": ("/void", 1, lambda s: s.void("m-1", "wrong")),
    "amend": ("/amend", 1, lambda s: s.amend("m-1", "typing error", 1.5, se=0.1).value),
    "exclude": ("/exclude", 1, lambda s: s.exclude("B", "gone")),
    "include": ("/exclude", 1, lambda s: s.include("C")),
    "add": ("/options", 1, lambda s: s.add_options(["D", "E"])),
    "switch": ("/switch", 1, lambda s: s.switch(extra_scatter=0.1)),
    "policy": ("/policy", 1, lambda s: s.set_policy("uniform")),
}
#: The kinds of requests that the short suite loses: a suggestion, a key, a table, a correction.
SHORT = ("ask", "tell", "tell several", "tell a table", "void")


class Restarting(LossyProxy):
    """Forwards requests; after the one that is lost, another server has taken the place of the first."""

    def __init__(self, store, servers, wanted):
        self._store, self._servers, self.restarts = store, servers, 0
        super().__init__(self._start(), self._lose)
        self._wanted = wanted

    def _start(self):
        return self._servers.enter_context(in_thread(make_app(self._store)))

    def _lose(self, method, path):
        if self.restarts or not path.endswith(self._wanted):
            return False
        self.restarts += 1
        self._servers.close()
        self.upstream = urlsplit(self._start())
        return True


@pytest.mark.parametrize("change", [c if c in SHORT else pytest.param(c, marks=LONG) for c in CHANGES])
def test_a_change_is_made_once_though_the_server_was_restarted_before_it_answered(tmp_path, change):
    wanted, appended, act = CHANGES[change]
    made = []
    for place in ("here", "there"):
        study = nw.create_study(tmp_path / f"{place}.db", name="s", options=["A", "B", "C"], eps=0.1)
        study.tell(option="A", value=1.0, se=0.1, key="first")
        study.exclude("C", "for now")
        study.ask(2)
        made.append(study)
    here, there = made
    before = there.n_events
    with ExitStack() as servers:
        proxy = Restarting(tmp_path / "there.db", servers, wanted)
        with answering(proxy) as address:
            answer = act(nw.load_study(address))
    assert proxy.restarts == 1
    assert answer == act(here)
    assert there.n_events == before + appended == here.n_events


def test_a_study_is_made_and_renamed_once_though_the_answer_was_lost(tmp_path):
    nw.create_study(tmp_path / "s.db", name="s", options=["A", "B"], eps=0.1)
    for wanted in ("/rebuild", "/rename"):
        with ExitStack() as servers:
            proxy = Restarting(tmp_path / "s.db", servers, wanted)
            with answering(proxy) as address:
                if wanted == "/rebuild":
                    made = nw.create_study(address, name="t", results=TABLE, eps=0.1)
                    assert made.n_measurements == 2
                    with pytest.raises(ValueError, match="'t'"):
                        nw.create_study(address, name="t", results=TABLE, eps=0.1)
                else:
                    nw.open_store(address).rename("t", "u")
                    with pytest.raises(KeyError, match="'t'"):
                        nw.open_store(address).rename("t", "u")
        assert proxy.restarts == 1
    assert nw.open_store(tmp_path / "s.db").names() == ["s", "u"]


@pytest.fixture
def behind(tmp_path):
    """A study behind a server behind a proxy: the file, and the proxy with its address."""
    here = nw.create_study(tmp_path / "s.db", name="s", options=list(TRUTH), eps=0.5, seed=1)
    with in_thread(make_app(tmp_path / "s.db")) as server:
        proxy = LossyProxy(server)
        with answering(proxy) as address:
            yield here, proxy, address


def test_equal_changes_are_different_ones_unless_the_answer_to_one_was_lost(behind):
    here, proxy, address = behind
    study = nw.load_study(address)
    proxy.lose = losing(3, "/tells")
    assert [study.tell(option="A", value=1.0, se=0.1).id for _ in range(2)] == ["m-1", "m-2"]
    assert [study.ask()[0].id for _ in range(2)] == ["ask-1", "ask-2"]
    assert (here.n_measurements, len(here.pending)) == (2, 2)
    keys = {key for _, path, key in proxy.seen if path.endswith("/tells")}
    assert len(keys) == 2
    assert all(key.startswith("sent-") for key in keys)


def test_after_giving_up_the_same_call_repeats_the_change_and_another_is_another(behind):
    here, proxy, address = behind
    study = nw.load_study(address)
    study._connection.timeout = 0.1
    proxy.lose = losing(1000, "/tells")
    with pytest.raises(nw.OutcomeUnknownError, match="Call the same again"):
        study.tell(option="A", value=1.0, se=0.1)
    study._connection.timeout = PATIENCE
    proxy.lose = lambda method, path: False
    assert study.tell(option="A", value=1.0, se=0.1).id == "m-1"
    assert study.tell(option="A", value=1.0, se=0.1).id == "m-2"
    assert here.n_measurements == 2


def told_once(study):
    """The suggestions that were measured, each of which has one measurement."""
    jobs = [event.body["job"] for event in study.events() if event.kind == "tell" and "job" in event.body]
    assert len(jobs) == len(set(jobs))
    return jobs


def test_a_run_that_loses_every_third_answer_doubles_nothing(behind):
    here, proxy, address = behind
    asked = []

    def lose(method, path):
        asked.append(path)
        return len(asked) % 3 == 0

    proxy.lose = lose
    done = nw.load_study(address, "s").run(lambda job: (TRUTH[job.option], 0.3), workers=4, progress=False)
    assert (done.reached, done.certificate.option) == (True, "B")
    assert len(told_once(here)) == done.measured == here.n_measurements
    asks = [event.body["id"] for event in here.events() if event.kind == "ask"]
    assert len(asks) == done.measured  # none was reserved in vain


def test_a_run_that_was_killed_is_taken_over_by_the_next(tmp_path):
    app, secrets = guarded_app(tmp_path)
    here = nw.load_study(tmp_path / "studies.db")
    script = textwrap.dedent("""
        import sys
        import noisewise as nw
        def measure(job):
            if int(job.id[4:]) >= 6:
                sys.stdin.read()
            return 2.0, 0.3
        nw.load_study(sys.argv[1]).run(measure, workers=3, until="spent", budget=20, progress=False)
    """)
    with in_thread(app) as address:
        worker = subprocess.Popen(
            [sys.executable, "-c", script, address],
            env={**os.environ, "NOISEWISE_TOKEN": secrets["worker"]},
            stdin=subprocess.PIPE,
        )

        def is_held():
            assert worker.poll() is None
            return here.n_measurements == 7 and sum(job.by is not None for job in here.pending) == 3

        wait_until(is_held, "three suggestions under way")
        worker.kill()
        worker.communicate()
        left = [job for job in here.pending if job.by is not None]
        assert {job.by.partition(": ")[0] for job in left} == {"worker one"}
        study = nw.load_study(address, token=secrets["worker"])
        done = study.run(lambda job: (2.0, 0.3), workers=3, until="spent", budget=6, progress=False)
    assert (done.measured, here.n_measurements) == (6, 13)
    assert {job.id for job in left} <= set(told_once(here))
    assert [job for job in here.pending if job.by is not None] == []


def story(study):
    """The log without times, and without who measured."""
    apart = ("expires", "by", "at")
    return [
        (event.kind, {name: part for name, part in event.body.items() if name not in apart})
        for event in study.events()
    ]


@pytest.mark.long("kills")
def test_a_run_of_eight_workers_and_many_kills_writes_the_log_of_an_undisturbed_one(tmp_path):
    budget, goals = 120, range(5, 105, 10)
    killed = {goal: threading.Event() for goal in goals}
    disturbed = False

    def measure(job):
        """Return a value that follows from the suggestion; no worker passes a kill that is still to come."""
        number = int(job.id[4:])
        for goal in goals:
            if disturbed and number > goal + 8:
                assert killed[goal].wait(PATIENCE)
        return {"A": 1.0, "B": 1.4, "C": 1.2, "D": 0.5}[job.option] + (number * 7919 % 13) / 50.0, 0.5

    question = {"name": "s", "options": list("ABCD"), "eps": 0.001, "seed": 5}
    asked = {"workers": 8, "until": "spent", "budget": budget, "progress": False}
    undisturbed = nw.create_study(tmp_path / "here.db", **question)
    undisturbed.run(measure, **asked)
    there = nw.create_study(tmp_path / "there.db", **question)
    disturbed, ended = True, []
    with ServerProcess(tmp_path / "there.db") as server:
        study = nw.load_study(server.url, timeout=PATIENCE)
        worker = threading.Thread(target=lambda: ended.append(study.run(measure, **asked)))
        worker.start()
        for goal in goals:
            wait_until(lambda goal=goal: there.n_measurements >= goal, f"{goal} measurements", PATIENCE)
            server.kill()
            server.start(server.port)
            killed[goal].set()
        worker.join(PATIENCE)
    assert [done.measured for done in ended] == [budget]
    assert story(there) == story(undisturbed)
