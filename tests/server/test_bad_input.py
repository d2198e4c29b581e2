"""Bad input gets a clear problem document, nothing changes, and the server goes on."""

import urllib.parse

import pytest
from starlette.testclient import TestClient
from tests.support.web_stores import API, bearer, guarded_app, small_store

from noisewise.server.app import make_app

TELLS = f"{API}/tea/tells"
RESULT = {"option": "A", "value": 1.0, "se": 0.1}


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    store = small_store(tmp_path_factory.mktemp("store"))
    with TestClient(make_app(store), base_url="http://localhost") as client:
        yield client
        assert client.get(f"{API}/tea").json()["event"] == 4, "nothing was changed"


def refused(answer, status):
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    plain = answer.json()
    assert plain["status"] == status
    assert plain["detail"].endswith((".", "?", "…"))
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


def test_if_match_must_be_what_it_is(client):
    refused(client.post(TELLS, json=RESULT, headers={"If-Match": "W/abc"}), 412)


def test_strangers_may_send_little(tmp_path):
    app, secrets = guarded_app(tmp_path)
    with TestClient(app, base_url="http://localhost") as client:
        large = {"results": [RESULT | {"note": "x" * 9000}] * 20}
        assert client.post(f"{TELLS}/all", json=large).status_code == 413
        assert client.post(f"{TELLS}/all", json=large, headers=bearer(secrets["worker"])).status_code == 201


def test_more_suggestions_than_one_request_may_ask_for_are_refused(client):
    answer = client.post(f"{API}/tea/asks", json={"n": 501, "dry_run": True})
    assert '"n" must be at most 500' in refused(answer, 422)
