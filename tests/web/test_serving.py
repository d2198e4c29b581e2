"""``noisewise serve`` as a process: where it listens, how it ends, and what a kill cannot take away."""

import contextlib
import http.client
import json
import os
import subprocess
import sys
import threading
import time

import pytest
from tests.support.commands import run
from tests.support.servers import ServerProcess
from tests.support.web_stores import API, small_store

import noisewise as nw
from noisewise.web.serving import check_root, is_loopback


@pytest.fixture
def store(tmp_path):
    return small_store(tmp_path)


def tell(port, body, path=f"{API}/tea/tells", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json", **headers})
        return connection.getresponse().status
    finally:
        connection.close()


def test_it_serves_until_it_is_told_to_end(store):
    with ServerProcess(store) as server:
        assert json.loads(server.get("/healthz")) == {"alive": True}
        assert json.loads(server.get("/readyz")) == {"ready": True}
        assert tell(server.port, {"option": "A", "value": 1.0, "se": 0.1}) == 201
        assert 'noisewise_requests_total{method="POST",status="201"} 1' in server.get("/metrics")
    assert server.process.returncode == 0
    assert server.complained == ""
    assert sorted(os.listdir(store.parent)) == ["studies.db"], "nothing is left behind"
    assert nw.load_study(store).n_measurements == 4


def test_a_lab_without_a_store_begins_with_an_empty_one(tmp_path):
    for _ in range(2):  # the second time it is there
        with ServerProcess(tmp_path / "lab.db", "--create") as server:
            assert json.loads(server.get("/api/v1/studies"))["studies"] == []
        assert server.process.returncode == 0


def test_a_prefix_works_whether_the_proxy_leaves_it_or_not(store):
    with ServerProcess(store, "--root-path", "/lab/") as server:
        assert server.url.endswith("/lab")
        assert json.loads(server.get(f"{API}/tea"))["study"] == "tea"
        server.url = server.url.removesuffix("/lab")
        assert json.loads(server.get(f"{API}/tea"))["study"] == "tea"
        described = json.loads(server.get("/api/v1/openapi.json"))
        assert described["servers"] == [{"url": "/lab"}]


def test_a_host_that_others_can_reach_needs_tokens(store):
    refused = run("serve", store, "--host", "0.0.0.0")
    assert "no tokens" in str(refused.exception)
    assert is_loopback("127.0.0.1")
    assert is_loopback("127.8.8.8")
    assert is_loopback("::1")
    assert is_loopback("localhost")
    assert not is_loopback("10.0.0.1")
    assert not is_loopback("localhost.evil.example")


def test_what_cannot_be_served_is_refused_in_one_sentence(store, tmp_path):
    nowhere = str(run("serve", "nowhere.db", "--port", "0").exception)
    assert "no 'nowhere" in nowhere
    assert "--create" in nowhere
    assert "--port" in str(run("serve", store, "--port", "70000").exception)
    assert "--root-path" in str(run("serve", store, "--root-path", "lab").exception)
    assert check_root("/lab/") == "/lab"
    with ServerProcess(store) as server:
        assert "--port" in str(run("serve", store, "--port", str(server.port)).exception)


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


def test_no_secret_is_ever_written_down(store):
    secret = run("token", "add", store, "Ann", "--role", "owner").stdout.splitlines()[1]
    with ServerProcess(store) as server:
        bearer = {"Authorization": f"Bearer {secret}"}
        assert tell(server.port, {"option": "A", "value": 1.0, "se": 0.1}, **bearer) == 201
        assert tell(server.port, b"nonsense".hex(), **bearer) == 422
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        body = json.dumps({"name": "reviewer"})
        connection.request("POST", f"{API}/tea/shares", body, {"Content-Type": "application/json", **bearer})
        link = json.loads(connection.getresponse().read())["path"]
        connection.request("GET", link)
        assert connection.getresponse().status == 200
        connection.close()
    shared = link.rsplit("/", 1)[1]
    written = server.said + server.complained
    for file in store.parent.iterdir():
        written += file.read_bytes().decode("latin-1")
    assert secret not in written
    assert shared not in written


def test_what_is_under_way_is_finished_before_the_end(store):
    with ServerProcess(store) as server:
        statuses = []

        def work(number):
            with contextlib.suppress(OSError):  # a connection that was not accepted any more
                statuses.append(
                    tell(server.port, {"option": "A", "value": 1.0, "se": 0.1, "key": f"k{number}"})
                )

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        time.sleep(0.05)
        server.process.terminate()
        for thread in threads:
            thread.join()
    told = nw.load_study(store).n_measurements - 3
    assert statuses.count(201) == told


def test_a_kill_loses_nothing_that_was_acknowledged(store):
    acknowledged, sent = set(), set()
    with ServerProcess(store) as server:
        port = server.port
        for killing in range(2):
            stop = threading.Event()

            def work(worker, killing=killing, stop=stop):
                number = 0
                while not stop.is_set():
                    key = f"{killing} {worker} {number}"
                    sent.add(key)
                    try:
                        if (
                            tell(port, {"option": "A", "value": 1.0, "se": 0.1}, **{"Idempotency-Key": key})
                            == 201
                        ):
                            acknowledged.add(key)
                    except (OSError, http.client.HTTPException):
                        stop.wait(0.01)
                    number += 1

            threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
            for thread in threads:
                thread.start()
            enough = len(acknowledged) + 20
            give_up = time.monotonic() + 60.0
            while len(acknowledged) < enough and time.monotonic() < give_up:
                time.sleep(0.01)
            server.process.kill()
            stop.set()
            for thread in threads:
                thread.join()
            server.process.communicate()
            server.start(port)
    kept = {event.body.get("key") for event in nw.load_study(store).events() if event.kind == "tell"}
    assert len(acknowledged) >= 40
    assert acknowledged <= kept
    assert kept - {"first A", "first B", "first C"} <= sent
