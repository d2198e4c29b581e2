"""A server that ends after it has written and before it has answered, and one that is killed repeatedly."""

import random
import threading
import time
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest

pytest.importorskip("fastapi", reason="the server is an extra")

from tests.support.effort import effort
from tests.support.lossy_proxy import LossyProxy, answering
from tests.support.servers import ServerProcess, in_thread

import noisewise as nw
from noisewise.web.app import make_app

PATIENCE = 120.0
TABLE = {"option": ["A", "B"], "value": [1.0, 2.0], "se": [0.1, 0.1]}

#: Changes by the request that is lost, with the events that each appends.
CHANGES = {
    "ask": ("/asks", 2, lambda s: [job.id for job in s.ask(2)]),
    "ask of a run": ("/asks", 2, lambda s: [job.id for job in s._ask_at_once(2, by="run here 1 1")]),
    "tell": ("/tells", 1, lambda s: s.tell(option="A", value=1.0, se=0.1).id),
    "tell a suggestion": ("/tells", 1, lambda s: s.tell("ask-1", 1.0, se=0.1).id),
    "tell several": ("/tells", 2, lambda s: [m.id for m in s.tell_all([{"option": "A", "value": 1.0}] * 2)]),
    "tell a table": ("/imports", 2, lambda s: [m.id for m in s.tell_many(TABLE)]),
    "tell a table again": ("/imports", 2, lambda s: [m.id for m in s.tell_many(TABLE, repeat=True)]),
    "fail": ("/fail", 1, lambda s: s.fail("ask-1", "broken")),
    "release": ("/release", 2, lambda s: s.release(["ask-1", "ask-2"])),
    "void": ("/void", 1, lambda s: s.void("m-1", "wrong")),
    "amend": ("/amend", 1, lambda s: s.amend("m-1", "typing error", 1.5, se=0.1).value),
    "exclude": ("/exclude", 1, lambda s: s.exclude("B", "gone")),
    "include": ("/include", 1, lambda s: s.include("C")),
    "add": ("/add", 1, lambda s: s.add_options(["D", "E"])),
    "switch": ("/switch", 1, lambda s: s.switch(extra_scatter=0.1)),
    "policy": ("/policy", 1, lambda s: s.set_policy("uniform")),
}


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


@pytest.mark.parametrize("change", CHANGES)
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


def test_another_change_with_the_same_content_is_another(tmp_path):
    here = nw.create_study(tmp_path / "s.db", name="s", options=["A", "B"], eps=0.1)
    with in_thread(make_app(tmp_path / "s.db")) as address:
        study = nw.load_study(address)
        assert [study.ask()[0].id for _ in range(3)] == ["ask-1", "ask-2", "ask-3"]
    assert len({event.append for event in here.events()}) == 3


def measure(job):
    """What comes out depends on the suggestion alone."""
    time.sleep(0.02)
    return {"A": 1.0, "B": 1.4, "C": 1.2, "D": 0.5}[job.option] + (int(job.id[4:]) * 7919 % 13) / 50.0, 0.5


def story(study):
    """The log without times, and without who measured."""
    apart = ("expires", "by", "at")
    return [
        (event.kind, {name: part for name, part in event.body.items() if name not in apart})
        for event in study.events()
    ]


def test_a_run_of_eight_workers_and_many_kills_writes_the_log_of_an_undisturbed_one(tmp_path):
    budget, kills = effort((50, 3), (120, 10))
    question = {"name": "s", "options": list("ABCD"), "eps": 0.001, "seed": 5}
    asked = {"workers": 8, "until": "spent", "budget": budget, "progress": False}
    undisturbed = nw.create_study(tmp_path / "here.db", **question)
    undisturbed.run(measure, **asked)
    there = nw.create_study(tmp_path / "there.db", **question)
    chance = random.Random()
    server = ServerProcess(tmp_path / "there.db")
    server.start()
    ended = []

    def work():
        ended.append(nw.load_study(server.url, timeout=PATIENCE).run(measure, **asked))

    worker = threading.Thread(target=work)
    worker.start()
    try:
        for goal in sorted(chance.sample(range(2, budget - 10), kills)):
            give_up = time.monotonic() + PATIENCE
            while there.n_measurements < goal:
                assert time.monotonic() < give_up
                assert worker.is_alive()
                time.sleep(0.002)
            time.sleep(chance.uniform(0.0, 0.03))
            server.process.kill()
            server.process.communicate()
            server.start(server.port)
        worker.join(PATIENCE)
    finally:
        server.__exit__()
    assert [done.measured for done in ended] == [budget]
    assert story(there) == story(undisturbed)
