"""Bad input gets a clear problem document, nothing changes, and the server goes on."""

import http.client
import socket
import time
import urllib.parse

import pytest
from starlette.testclient import TestClient
from tests.support.servers import in_thread
from tests.support.web_stores import API, bearer, guarded_app, small_study

import noisewise as nw
from noisewise.web import connections
from noisewise.web.app import make_app

TELLS = f"{API}/tea/tells"
RESULT = {"option": "A", "value": 1.0, "se": 0.1}


@pytest.fixture
def store(tmp_path):
    small_study(tmp_path / "studies.db")
    return tmp_path / "studies.db"


@pytest.fixture
def client(store):
    with TestClient(make_app(store), base_url="http://localhost") as client:
        yield client
        assert client.get(f"{API}/tea").json()["event"] == 4, "nothing was changed"


def refused(answer, status):
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    plain = answer.json()
    assert plain["status"] == status
    assert plain["detail"].endswith((".", "?"))
    return plain["detail"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"nonsense",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"value": ' + b"9" * 5000 + b"}",
        b"{'a': 1}",
    ],
)
def test_what_is_no_json_is_refused(client, body):
    answer = client.post(TELLS, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    assert refused(answer, answer.status_code)


@pytest.mark.parametrize(
    "change",
    [
        {"value": True},
        {"value": None},
        {"value": [1.0]},
        {"value": {"a": 1}},
        {"se": False},
        {"se": "0.1; DROP TABLE"},
        {"se": -1.0},
        {"se": 0.0},
        {"option": 7},
        {"option": ""},
        {"option": "nobody"},
        {"option": "A\nB"},
        {"n": 1.5},
        {"key": "x" * 1001},
        {"colour": "red"},
        {"job": "ask-999"},
        {"values": [1.0, True]},
        {"at": 1e300},
        {"sigma": 0.1},
    ],
    ids=lambda change: str(change)[:30],
)
def test_a_wrong_type_or_value_is_refused(client, change):
    said = refused(client.post(TELLS, json=RESULT | change), 422)
    assert "Telling" not in said, "people do not know our types"


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_what_is_no_finite_number_is_refused(client, number):
    body = f'{{"option": "A", "value": {number}, "se": 0.1}}'
    refused(client.post(TELLS, content=body, headers={"Content-Type": "application/json"}), 422)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "application/xml", ""])
def test_a_body_that_does_not_say_it_is_json_is_refused(client, kind):
    """A form of a foreign page can send these without being asked whether it may."""
    answer = client.post(TELLS, content=b'{"option":"A","value":1,"se":1}', headers={"Content-Type": kind})
    assert "Content-Type: application/json" in refused(answer, 422)


@pytest.mark.parametrize(
    "name",
    [
        "coffee",
        "..",
        "../tea",
        "tea/../../etc/passwd",
        "%2e%2e%2f",
        "tea\x00",
        "x" * 5000,
        "tea%2F..",
        "~1",
        "\u202e",
    ],
)
def test_a_study_that_is_not_there_is_not_found(client, name):
    answer = client.get(f"{API}/{urllib.parse.quote(name, safe='')}/certificate")
    assert answer.status_code in (404, 422)
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2f..%2fapp.py",
        "/static//etc/passwd",
        "/static/",
    ],
)
def test_no_file_beside_the_static_ones_is_served(client, path):
    assert client.get(path).status_code in (404, 405)


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "169.254.169.254", "user@localhost", ""]
)
def test_another_host_is_refused(client, host):
    answer = client.get("/", headers={"Host": host})
    assert answer.status_code in (400, 403)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:1"},
        {"Origin": "http://["},
        {"Origin": "http://[::1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_change_by_a_page_of_another_site_is_refused(client, headers):
    refused(client.post(TELLS, json=RESULT, headers=headers), 403)


def test_every_answer_has_the_headers_that_protect_browsers(client):
    for path in ("/", "/healthz", "/nothing", f"{API}/tea", "/static/noisewise.css"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin", "with no-referrer, forms come from nowhere"
        assert "access-control-allow-origin" not in headers


def test_if_match_and_last_event_id_must_be_what_they_are(client):
    refused(client.post(TELLS, json=RESULT, headers={"If-Match": "W/abc"}), 412)
    stream = {"Accept": "text/event-stream"}
    refused(client.get(f"{API}/tea/events", headers={"Last-Event-ID": "x", **stream}), 422)
    refused(client.get(f"{API}/tea/events", headers={"Last-Event-ID": "99", **stream}), 422)


def test_too_much_is_refused_whether_it_says_so_or_not(store):
    with in_thread(make_app(store, most_bytes=100_000)) as url:
        address = urllib.parse.urlsplit(url)
        for length in (100_001, 100_000_000):
            connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
            connection.putrequest("POST", TELLS)
            connection.putheader("Content-Type", "application/json")
            connection.putheader("Content-Length", str(length))
            connection.endheaders()
            answer = connection.getresponse()  # before a byte of the body was sent
            assert answer.status == 413
            connection.close()
        assert _chunked(address, 100_000_000) == 413
        study = nw.load_study(store)
        assert study.n_events == 4
        assert http_get(address, "/healthz") == 200


def _chunked(address, size):
    """Send a body piece by piece without saying its length; the status of the answer."""
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
    connection.putrequest("POST", TELLS)
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Transfer-Encoding", "chunked")
    connection.endheaders()
    piece = b"x" * 50_000
    try:
        for _ in range(size // len(piece)):
            connection.send(b"%x\r\n%b\r\n" % (len(piece), piece))
    except OSError:
        pass  # the server has closed the connection
    try:
        return connection.getresponse().status
    finally:
        connection.close()


def http_get(address, path):
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
    connection.request("GET", path)
    try:
        return connection.getresponse().status
    finally:
        connection.close()


def test_strangers_may_send_little(tmp_path):
    app, secrets = guarded_app(tmp_path)
    with TestClient(app, base_url="http://localhost") as client:
        large = {"tells": [RESULT | {"note": "x" * 9000}] * 20}
        assert client.post(TELLS, json=large).status_code == 413
        assert client.post(TELLS, json=large, headers=bearer(secrets["worker"])).status_code == 201


def test_slow_clients_are_given_up_and_others_are_served(store, monkeypatch):
    monkeypatch.setattr(connections, "HEAD_SECONDS", 1.0)
    with in_thread(make_app(store, body_seconds=1.0)) as url:
        address = urllib.parse.urlsplit(url)
        place = address.hostname, address.port
        silent, half, slow = (socket.create_connection(place) for _ in range(3))
        half.sendall(b"POST /api/v1/studies/tea/te")
        slow.sendall(
            b"POST /api/v1/studies/tea/tells HTTP/1.1\r\nHost: localhost\r\n"
            b'Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"option'
        )
        began = time.monotonic()
        assert http_get(address, "/healthz") == 200
        for one in (silent, half):
            one.settimeout(30)
            assert one.recv(1000) == b""
        slow.settimeout(30)
        assert slow.recv(1000).startswith(b"HTTP/1.1 408")
        assert time.monotonic() - began < 25
        for one in (silent, half, slow):
            one.close()
        assert nw.load_study(store).n_events == 4


def test_more_suggestions_than_one_request_may_ask_for_are_refused(client):
    answer = client.post(f"{API}/tea/asks", json={"n": 501, "dry_run": True})
    assert "less than or equal to 500" in refused(answer, 422)
