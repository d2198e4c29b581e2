"""Clients that speak slowly, never listen, or speak no HTTP: they are given up, and others are served."""

import contextlib
import http.client
import json
import logging
import socket
import time
import urllib.parse

import pytest
from tests.support.servers import ServerProcess, in_thread
from tests.support.web_stores import API, bearer, guarded_app, small_store

import noisewise as nw
from noisewise.web import connections
from noisewise.web.app import make_app
from noisewise.web.serving import SecretiveFormatter

HOST = b"Host: localhost\r\n"
TELLS = f"{API}/tea/tells".encode()


@pytest.fixture
def store(tmp_path):
    return small_store(tmp_path)


@pytest.fixture
def place(store):
    with in_thread(make_app(store)) as url:
        address = urllib.parse.urlsplit(url)
        yield address.hostname, address.port
        assert status(address, "/healthz") == 200, "the server goes on"
    assert nw.load_study(store).n_events == 4, "nothing was changed"


def status(address, path):
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
    connection.request("GET", path)
    try:
        return connection.getresponse().status
    finally:
        connection.close()


def answered(place, *pieces):
    """The status, the type and the content of an answer to these bytes."""
    with socket.create_connection(place, timeout=60) as line:
        for piece in pieces:
            try:
                line.sendall(piece)
            except OSError:
                break  # it has heard enough
        answer = http.client.HTTPResponse(line)
        answer.begin()
        return answer.status, answer.headers["content-type"], answer.read()


def test_who_comes_when_all_connections_are_taken_is_told_to_come_back(place, monkeypatch):
    monkeypatch.setattr(connections, "MOST_AT_ONCE", 3)
    request = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
    with contextlib.ExitStack() as open_ones:
        lines = [open_ones.enter_context(socket.create_connection(place, timeout=60)) for _ in range(3)]
        for line in lines:  # each is known to the server once it answers
            line.sendall(request)
            assert line.recv(12) == b"HTTP/1.1 200"
        status, kind, content = answered(place, request)
        assert (status, kind) == (503, "application/problem+json")
        assert json.loads(content)["detail"] == "too many connections are open; try again in some seconds."
        lines[0].sendall(request)
        assert b"HTTP/1.1 200" in lines[0].recv(100_000) + lines[0].recv(100_000), "others are served"


NONSENSE = {
    "no HTTP at all": b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
    "a header without end": b"GET /healthz HTTP/1.1\r\n" + HOST + b"X: " + b"a" * 200_000 + b"\r\n\r\n",
    "many headers": b"GET / HTTP/1.1\r\n" + b"".join(b"X%d: a\r\n" % n for n in range(20_000)) + b"\r\n",
    "an address without end": b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
    "two hosts": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
    "no host": b"GET /healthz HTTP/1.1\r\n\r\n",
    "a length below zero": b"POST " + TELLS + b" HTTP/1.1\r\n" + HOST + b"Content-Length: -5\r\n\r\n",
    "two lengths": b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
}  # fmt: skip


@pytest.mark.parametrize("what", NONSENSE)
def test_what_is_no_http_gets_a_problem_document(place, what):
    code, kind, content = answered(place, NONSENSE[what])
    assert (code, kind) == (400, "application/problem+json")
    assert json.loads(content)["detail"].endswith(".")


@pytest.mark.parametrize(
    "body",
    [
        b'{"option": "A", "value": 1.0, "value": 2.0, "se": 0.1}',
        b'{"tells": [{"option": "A", "value": 1.0, "se": 0.1, "se": 5}]}',
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a": ' * 50_000 + b"1" + b"}" * 50_000,
        b'{"option": ' + b"[" * 40 + b"]" * 40 + b"}",
        '{"option": "A", "value": 1.0, "se": 0.1}'.encode("utf-16"),
        b'{"option": "\xff", "value": 1.0, "se": 0.1}',
    ],
    ids=["a name twice", "twice inside", "deep lists", "deep objects", "40 levels", "UTF-16", "bad UTF-8"],
)
def test_a_body_that_can_be_read_in_two_ways_is_refused(place, body):
    head = b"POST %b HTTP/1.1\r\n%bContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    code, kind, content = answered(place, head % (TELLS, HOST, len(body)), body)
    assert (code, kind) == (400, "application/problem+json")
    assert "nothing was changed" in json.loads(content)["detail"]


@pytest.mark.parametrize("depth", [20, 300, 900])
def test_a_certificate_that_is_nested_deeply_is_refused_without_a_fault(store, depth):
    body = b'{"certificate": {"n_events": 1, "x": ' + b"[" * depth + b"]" * depth + b"}}"
    with in_thread(make_app(store)) as url:
        address = urllib.parse.urlsplit(url)
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
        connection.request(
            "POST", f"{API}/tea/certificate/verify", body, {"Content-Type": "application/json"}
        )
        answer = connection.getresponse()
        assert answer.status == (200 if depth < 30 else 400)
        assert not json.loads(answer.read()).get("agrees")
        connection.close()


def test_a_second_request_that_comes_slowly_is_given_up_like_a_first(store, monkeypatch):
    monkeypatch.setattr(connections, "HEAD_SECONDS", 1.0)
    with in_thread(make_app(store)) as url:
        address = urllib.parse.urlsplit(url)
        with socket.create_connection((address.hostname, address.port), timeout=30) as line:
            line.sendall(b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n")
            first = http.client.HTTPResponse(line)
            first.begin()
            assert first.read() == b'{"alive": true}'
            line.sendall(b"GET /healthz HTTP/1.1\r\nX: ")
            began = time.monotonic()
            for _ in range(100):  # a letter now and then does not help
                try:
                    line.sendall(b"a")
                except OSError:
                    break
                time.sleep(0.1)
            assert time.monotonic() - began < 9.0
        assert status(address, "/healthz") == 200


def test_who_listens_to_events_and_never_reads_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(connections, "READ_SECONDS", 1.0)
    study = nw.create_study(tmp_path / "studies.db", name="tea", options=["A", "B"], eps=0.1)
    count = 20_000
    study.tell_many({"option": ["A", "B"] * (count // 2), "value": list(range(count)), "se": [1.0] * count})
    app = make_app(tmp_path / "studies.db")
    with in_thread(app) as url:
        address = urllib.parse.urlsplit(url)
        with socket.socket() as line:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            line.connect((address.hostname, address.port))
            line.sendall(
                b"GET /api/v1/studies/tea/events HTTP/1.1\r\n" + HOST + b"Accept: text/event-stream\r\n\r\n"
            )
            give_up = time.monotonic() + 60.0
            for wanted in (1, 0):  # it begins, and is given up
                while app.state.streams.open != wanted:
                    assert time.monotonic() < give_up
                    time.sleep(0.02)
            assert status(address, "/healthz") == 200


@pytest.mark.parametrize("reading", [True, False], ids=["who reads", "who never reads"])
def test_open_streams_do_not_keep_a_server_from_ending(store, reading):
    opened = nw.open_store(store)
    study = nw.load_study(opened)
    study.tell_many({"option": ["A"] * 20_000, "value": list(range(20_000)), "se": [1.0] * 20_000})
    opened.close()
    with ServerProcess(store) as server:
        lines = []
        for _ in range(5):
            line = socket.create_connection(("127.0.0.1", server.port), timeout=60)
            line.sendall(
                b"GET /api/v1/studies/tea/events HTTP/1.1\r\n" + HOST + b"Accept: text/event-stream\r\n\r\n"
            )
            assert line.recv(100).startswith(b"HTTP/1.1 200")
            lines.append(line)
        began = time.monotonic()
        server.process.terminate()
        while reading and lines[0].recv(2**20):
            pass
        assert server.process.wait(40) == 0
        assert time.monotonic() - began < 30.0
        for line in lines:
            line.close()
    assert "Traceback" not in server.complained


def test_no_secret_gets_into_the_log_whoever_writes_it(tmp_path, monkeypatch, caplog):
    app, secrets = guarded_app(tmp_path)
    with in_thread(app) as url:
        address = urllib.parse.urlsplit(url)
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
        owner = bearer(secrets["owner"]) | {"Content-Type": "application/json"}
        connection.request("POST", f"{API}/tea/shares", json.dumps({"name": "reviewer"}), owner)
        link = json.loads(connection.getresponse().read())["path"]

        def fails(self, name):
            raise RuntimeError(f"at {link} with {secrets['owner']}")

        monkeypatch.setattr(type(app.state.studies), "number", fails)
        connection.request("GET", link)
        assert connection.getresponse().status == 500
        connection.close()
    secret = link.rsplit("/", 1)[1]
    lines = [SecretiveFormatter("%(message)s").format(record) for record in caplog.records]
    assert any("a fault of the server at" in line for line in lines)
    assert not any(secret in line or secrets["owner"] in line for line in lines)
    plain = logging.LogRecord("x", 40, "", 0, "postgresql://ann:hidden@db/lab", None, None)
    assert "hidden" not in SecretiveFormatter("%(message)s").format(plain)
