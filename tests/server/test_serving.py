"""``noisewise serve`` as a process: where it listens, how it ends, and what a kill cannot take away."""

import http.client
import json
import os
import socket
import subprocess
import sys
import threading

import pytest
from tests.support.commands import run
from tests.support.requests import request
from tests.support.servers import ServerProcess
from tests.support.waiting import wait_until
from tests.support.web_stores import API, bearer, small_store

import noisewise as nw
from noisewise.server.serving import check_root, is_loopback

TELLS = f"{API}/tea/tells"
RESULT = {"option": "A", "value": 1.0, "se": 0.1}


@pytest.fixture
def store(tmp_path):
    return small_store(tmp_path)


def test_it_serves_until_it_is_told_to_end(store):
    with ServerProcess(store) as server:
        assert json.loads(server.get("/healthz")) == {"alive": True}
        assert json.loads(server.get("/readyz")) == {"ready": True}
        assert request(server.url, "POST", TELLS, RESULT)[0] == 201
    assert server.process.returncode == 0
    assert server.complained == ""
    assert sorted(os.listdir(store.parent)) == ["studies.db"], "nothing is left behind"
    assert nw.load_study(store).n_measurements == 4


def test_a_host_that_others_can_reach_needs_tokens(store):
    refused = run("serve", store, "--host", "0.0.0.0")
    assert "no tokens" in str(refused.exception)
    assert is_loopback("127.0.0.1")
    assert is_loopback("127.8.8.8")
    assert is_loopback("::1")
    assert is_loopback("localhost")
    assert not is_loopback("10.0.0.1")
    assert not is_loopback("localhost.evil.example")


def test_without_the_packages_one_sentence_says_how_to_get_them(store):
    code = (
        "import sys; sys.modules['fastapi'] = None; sys.argv = ['noisewise', 'serve', sys.argv[1]]; "
        "import importlib.util as u; real = u.find_spec; "
        "u.find_spec = lambda name, *a: None if name == 'fastapi' else real(name, *a); "
        "from noisewise.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(store)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "pip install 'noisewise[server]'" in done.stderr


def test_the_library_does_without_the_server():
    code = "import noisewise, noisewise.cli, sys; noisewise.create_study; print('fastapi' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.long("servers")
def test_a_lab_without_a_store_begins_with_an_empty_one(tmp_path):
    for _ in range(2):  # the second time it is there
        with ServerProcess(tmp_path / "lab.db", "--create") as server:
            assert json.loads(server.get("/api/v1/studies"))["studies"] == []
        assert server.process.returncode == 0


@pytest.mark.long("servers")
def test_a_prefix_works_whether_the_proxy_leaves_it_or_not(store):
    with ServerProcess(store, "--root-path", "/lab/") as server:
        assert server.url.endswith("/lab")
        assert json.loads(server.get(f"{API}/tea"))["study"] == "tea"
        server.url = server.url.removesuffix("/lab")
        assert json.loads(server.get(f"{API}/tea"))["study"] == "tea"
        described = json.loads(server.get("/api/v1/openapi.json"))
        assert described["servers"] == [{"url": "/lab"}]


def test_what_cannot_be_served_is_refused_in_one_sentence(store):
    nowhere = str(run("serve", "nowhere.db", "--port", "0").exception)
    assert "no 'nowhere" in nowhere
    assert "--create" in nowhere
    assert "--port" in str(run("serve", store, "--port", "70000").exception)
    assert "--root-path" in str(run("serve", store, "--root-path", "lab").exception)
    assert check_root("/lab/") == "/lab"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert "--port" in str(run("serve", store, "--port", str(taken.getsockname()[1])).exception)


@pytest.mark.long("servers")
def test_no_secret_is_ever_written_down(store):
    secret = run("token", "add", store, "Ann", "--role", "owner").stdout.splitlines()[1]
    with ServerProcess(store) as server:
        assert request(server.url, "POST", TELLS, RESULT, **bearer(secret))[0] == 201
        assert request(server.url, "POST", TELLS, "nonsense", **bearer(secret))[0] == 422
    written = server.said + server.complained
    written += "".join(file.read_bytes().decode("latin-1") for file in store.parent.iterdir())
    assert secret not in written


class Tellers:
    """Four threads that tell one measurement after another until they are stopped."""

    def __init__(self, server, name):
        self.acknowledged, self.sent = set(), set()
        self._stop, self._url, self._name = threading.Event(), server.url, name
        self._threads = [threading.Thread(target=self._tell, args=(number,)) for number in range(4)]
        for thread in self._threads:
            thread.start()

    def _tell(self, worker):
        number = 0
        while not self._stop.is_set():
            key = f"{self._name} {worker} {number}"
            self.sent.add(key)
            try:
                if request(self._url, "POST", TELLS, RESULT, **{"Idempotency-Key": key})[0] == 201:
                    self.acknowledged.add(key)
            except (OSError, ValueError, http.client.HTTPException):
                self._stop.wait(0.01)
            number += 1

    def stop(self):
        self._stop.set()
        for thread in self._threads:
            thread.join()


@pytest.mark.long("kills")
@pytest.mark.parametrize("ending", ["kill", "terminate"])
def test_a_server_that_ends_loses_nothing_that_was_acknowledged(store, ending):
    acknowledged, sent = set(), set()
    with ServerProcess(store) as server:
        for round_number in range(2):
            tellers = Tellers(server, f"{ending} {round_number}")
            wait_until(lambda tellers=tellers: len(tellers.acknowledged) >= 20, "acknowledged measurements")
            getattr(server.process, ending)()
            server.process.communicate()
            tellers.stop()
            acknowledged |= tellers.acknowledged
            sent |= tellers.sent
            if ending == "terminate":
                assert server.process.returncode == 0
            server.start(server.port)
            told = nw.load_study(store).n_measurements - 3
            assert told == len(acknowledged) if ending == "terminate" else told >= len(acknowledged)
    kept = {event.body.get("key") for event in nw.load_study(store).events() if event.kind == "tell"}
    assert acknowledged <= kept
    assert kept - {"first A", "first B", "first C"} <= sent
