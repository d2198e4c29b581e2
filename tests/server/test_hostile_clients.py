"""Clients that are slow, never read, send too much or no HTTP are refused, and others are served."""

import contextlib
import http.client
import json
import logging
import socket
import urllib.parse

import pytest
from tests.support.requests import PATIENCE, call, connection_to
from tests.support.servers import in_thread
from tests.support.waiting import wait_until
from tests.support.web_stores import API, bearer, guarded_app, small_store

import noisewise as nw
from noisewise.server import serving as connections
from noisewise.server.app import make_app
from noisewise.server.serving import SecretiveFormatter

HOST = b"Host: localhost\r\n"
TELLS = f"{API}/tea/tells".encode()
HEALTH = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
EVENTS = b"GET /api/v1/studies/tea/events?limit=10000 HTTP/1.1\r\n" + HOST + b"\r\n"


@pytest.fixture
def store(tmp_path):
    return small_store(tmp_path)


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """A server that still answers after all these tests, and whose study they have not changed."""
    store = small_store(tmp_path_factory.mktemp("store"))
    with in_thread(make_app(store, most_bytes=1_000_000)) as url:
        yield url
        assert call(url, "GET", "/healthz")[0] == 200
    assert nw.load_study(store).n_events == 4


def connected(url):
    """A connection without a client."""
    address = urllib.parse.urlsplit(url)
    return socket.create_connection((address.hostname, address.port), timeout=PATIENCE)


def answered(url, *pieces):
    """The status, the type and the content of an answer to these bytes."""
    with connected(url) as line:
        for piece in pieces:
            try:
                line.sendall(piece)
            except OSError:
                break  # it has heard enough
        answer = http.client.HTTPResponse(line)
        answer.begin()
        return answer.status, answer.headers["content-type"], answer.read()


def is_closed(line):
    """Whether the server has closed a connection without an answer."""
    try:
        return line.recv(1000) == b""
    except ConnectionResetError:
        return True


def test_clients_beyond_the_largest_number_of_connections_are_told_to_come_back(store):
    with contextlib.ExitStack() as open_ones:
        url = open_ones.enter_context(in_thread(make_app(store), limit_concurrency=3))
        lines = [open_ones.enter_context(connected(url)) for _ in range(2)]
        for line in lines:  # each is known to the server once it answers
            line.sendall(HEALTH)
            assert line.recv(12) == b"HTTP/1.1 200"
        assert answered(url, HEALTH)[0] == 503


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
def test_what_is_no_http_is_refused(url, what):
    try:
        assert answered(url, NONSENSE[what])[0] == 400
    except ConnectionResetError:  # closed before everything was sent, so the answer is lost
        assert len(NONSENSE[what]) > 100_000


@pytest.mark.parametrize(
    "body",
    [
        b'{"option": "A", "value": 1.0, "value": 2.0, "se": 0.1}',
        b'{"results": [{"option": "A", "value": 1.0, "se": 0.1, "se": 5}]}',
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a": ' * 50_000 + b"1" + b"}" * 50_000,
        b'{"option": ' + b"[" * 40 + b"]" * 40 + b"}",
        '{"option": "A", "value": 1.0, "se": 0.1}'.encode("utf-16"),
        b'{"option": "\xff", "value": 1.0, "se": 0.1}',
    ],
    ids=["a name twice", "twice inside", "deep lists", "deep objects", "40 levels", "UTF-16", "bad UTF-8"],
)
def test_a_body_that_can_be_read_in_two_ways_is_refused(url, body):
    head = b"POST %b HTTP/1.1\r\n%bContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    code, kind, content = answered(url, head % (TELLS, HOST, len(body)), body)
    assert (code, kind) == (400, "application/problem+json")
    assert "nothing was changed" in json.loads(content)["detail"]


@pytest.mark.parametrize("depth", [20, 300, 900])
def test_a_certificate_that_is_nested_deeply_is_refused_without_a_fault(url, depth):
    body = b'{"verify": {"n_events": 1, "x": ' + b"[" * depth + b"]" * depth + b"}}"
    kind = {"Content-Type": "application/json"}
    status, _, said = call(url, "POST", f"{API}/tea/certificate", body, **kind)
    assert status == (200 if depth < 30 else 400)
    assert not json.loads(said).get("agrees")


@pytest.mark.parametrize("length", [1_000_001, 100_000_000, None])
def test_a_body_that_is_too_large_is_refused_before_it_is_read(url, length):
    connection = connection_to(url)
    connection.putrequest("POST", TELLS.decode())
    connection.putheader("Content-Type", "application/json")
    if length is None:
        connection.putheader("Transfer-Encoding", "chunked")
    else:
        connection.putheader("Content-Length", str(length))
    connection.endheaders()
    piece = b"c350\r\n" + b"x" * 50_000 + b"\r\n"
    with contextlib.suppress(OSError):  # the server closes the connection in between
        for _ in range(0 if length else 2000):
            connection.send(piece)
    assert connection.getresponse().status == 413
    connection.close()


def test_a_body_that_never_ends_is_given_up(store):
    body = b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n"
    with in_thread(make_app(store, body_seconds=0.1)) as url:
        code, _, _ = answered(url, b"POST " + TELLS + b" HTTP/1.1\r\n" + HOST + body + b'{"option')
    assert code == 408


def test_requests_that_never_end_are_given_up_and_others_are_served(url, monkeypatch):
    monkeypatch.setattr(connections, "HEAD_SECONDS", PATIENCE)
    with connected(url) as second:
        second.sendall(HEALTH)
        first = http.client.HTTPResponse(second)
        first.begin()
        assert first.read() == b'{"alive": true}'
        monkeypatch.setattr(connections, "HEAD_SECONDS", 0.1)
        with connected(url) as silent, connected(url) as half:
            half.sendall(b"POST /api/v1/studies/tea/te")
            assert is_closed(silent)
            assert is_closed(half)

        def is_given_up():  # a letter now and then does not help
            try:
                second.sendall(b"a")
            except OSError:
                return True
            return False

        second.sendall(b"GET /healthz HTTP/1.1\r\nX: ")
        wait_until(is_given_up, "the end of a connection whose second request is slow")
    monkeypatch.setattr(connections, "HEAD_SECONDS", PATIENCE)
    assert call(url, "GET", "/healthz")[0] == 200


def long_log(store):
    """More events than the buffers of a connection hold."""
    study = nw.load_study(store)
    study.tell_many({"option": ["A"] * 20_000, "value": list(range(20_000)), "se": [1.0] * 20_000})
    return study


@pytest.mark.long("servers")
def test_a_client_that_never_reads_its_events_is_given_up(store, monkeypatch):
    monkeypatch.setattr(connections, "READ_SECONDS", 0.1)
    long_log(store)
    app = make_app(store)
    with in_thread(app) as url, socket.socket() as line:
        address = urllib.parse.urlsplit(url)
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.connect((address.hostname, address.port))
        line.sendall(EVENTS)
        assert line.recv(12) == b"HTTP/1.1 200"  # and reads no more

        def is_given_up():
            try:
                line.sendall(HEALTH)
            except OSError:
                return True
            return False

        wait_until(is_given_up, "the end of the connection")
        assert call(url, "GET", "/healthz")[0] == 200


def test_no_secret_gets_into_the_log_whoever_writes_it(tmp_path, monkeypatch, caplog):
    app, secrets = guarded_app(tmp_path)
    with in_thread(app) as url:
        owner = bearer(secrets["owner"]) | {"Content-Type": "application/json"}

        def fails(self, name):
            raise RuntimeError(f"with {secrets['owner']}")

        monkeypatch.setattr(type(app.state.studies), "number", fails)
        assert call(url, "GET", f"{API}/tea/events", **owner)[0] == 500
    lines = [SecretiveFormatter("%(message)s").format(record) for record in caplog.records]
    assert any("a fault of the server at" in line for line in lines)
    assert not any(secrets["owner"] in line for line in lines)
    plain = logging.LogRecord("x", 40, "", 0, "postgresql://ann:hidden@db/lab", None, None)
    assert "hidden" not in SecretiveFormatter("%(message)s").format(plain)
