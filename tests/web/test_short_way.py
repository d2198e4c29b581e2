"""Tells and asks go a shorter way than other requests; their answers are those of the long one."""

import json

import pytest
from starlette.testclient import TestClient
from tests.support.web_stores import API, bearer, guarded_app

from noisewise.web.short_way import ShortWay

NOW = 1.7e9
JSON = {"Content-Type": "application/json"}
RESULT = {"option": "A", "value": 1.0, "se": 0.1}
LONG_KEY = {"Idempotency-Key": "k" * 1001}


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """The same studies behind a server as it is, and behind one without the short way."""
    clients = []
    for name in ("short", "long"):
        folder = tmp_path_factory.mktemp(name)
        app, secrets = guarded_app(
            folder, clock=lambda: NOW, root_path="/lab", pages_later=True, rate=1e9, burst=1e9
        )
        if name == "long":
            app.router.routes[:] = [one for one in app.router.routes if not isinstance(one, ShortWay)]
        client = TestClient(app, base_url="http://localhost", raise_server_exceptions=False)
        client.secrets = secrets
        clients.append(client)
    return clients


def sent(client, end, body, headers, role="worker", study="tea"):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    who = {} if role is None else bearer(client.secrets[role])
    answer = client.post(f"/lab{API}/{study}/{end}", content=content, headers={**JSON, **who, **headers})
    return answer.status_code, dict(answer.headers), answer.text


CASES = [
    ("tells", RESULT, {"If-Match": '"4"'}, 201),
    ("tells", RESULT, {}, 201),
    ("tells", RESULT | {"key": "x"}, {"Idempotency-Key": "x"}, 201),
    ("tells", RESULT | {"key": "x"}, {"Idempotency-Key": "y"}, 422),
    ("tells", RESULT, {"If-Match": '"3"'}, 412),
    ("tells", RESULT, {"If-Match": "nonsense"}, 412),
    ("tells", RESULT, {"If-Match": '"' + "1" * 100 + '"'}, 422),
    ("tells", RESULT, LONG_KEY, 422),
    ("tells", RESULT, {"Idempotency-Key": ""}, None),
    ("tells", {"tells": [RESULT, RESULT | {"option": "B"}]}, {"Idempotency-Key": "two"}, 201),
    ("tells", {"tells": []}, {}, 422),
    ("tells", {"job": "ask-1", "value": 2.0, "se": 0.1}, {}, 201),
    ("tells", RESULT | {"key": "first A"}, {}, 409),
    ("tells", RESULT | {"option": "D"}, {}, 422),
    ("tells", RESULT | {"value": True}, {}, 422),
    ("tells", RESULT | {"colour": 1.0}, {}, 422),
    ("tells", b'{"option": "A", "option": "B", "value": 1.0}', {}, 400),
    ("tells", b"[" * 40 + b"]" * 40, {}, 400),
    ("tells", b"[" * 100_000, {}, 400),
    ("tells", b"\xff", {}, 400),
    ("tells", b"{", {}, 400),
    ("tells", b"", {}, 422),
    ("tells", RESULT, {"Content-Type": "application/json; charset=utf-8"}, 201),
    ("tells", RESULT, {"Content-Type": "text/plain"}, 422),
    ("asks", {}, {}, 201),
    ("asks", {"n": 2, "by": "Bob"}, {"Idempotency-Key": "q"}, 201),
    ("asks", {"n": 0}, {}, 422),
    ("asks", {"dry_run": True}, {}, 201),
    ("asks", {"sigma": "much"}, {}, 422),
    ("asks", b"", {}, 422),
]


def test_every_answer_is_that_of_the_long_way(both):
    for end, body, headers, status in CASES:
        short, long = (sent(client, end, body, headers) for client in both)
        assert short == long
        assert status is None or short[0] == status, (end, body, headers)
        again, repeated = (sent(client, end, body, headers) for client in both)
        assert again == repeated
    logs = [client.get(f"/lab{API}/tea/events", headers=bearer(client.secrets["viewer"])) for client in both]
    first, second = ([(one["kind"], one["body"]) for one in log.json()["rows"]][4:] for log in logs)
    assert first == second


@pytest.mark.parametrize("role", ["viewer", None])
@pytest.mark.parametrize("end", ["tells", "asks"])
def test_who_may_not_is_refused_as_on_the_long_way(both, role, end):
    short, long = (sent(client, end, RESULT, {}, role) for client in both)
    assert short == long
    assert short[0] == (403 if role else 401)


@pytest.mark.parametrize("study", ["coffee", "t" * 1001, "te~1a", "%2e"])
def test_a_study_that_is_not_there_is_refused_as_on_the_long_way(both, study):
    short, long = (sent(client, "tells", RESULT, {}, study=study) for client in both)
    assert short == long
    assert short[0] in (404, 422)


def test_a_body_that_is_too_large_is_refused_once(tmp_path):
    app, secrets = guarded_app(tmp_path, most_bytes=1000, pages_later=True)
    client = TestClient(app, base_url="http://localhost")
    large = json.dumps(RESULT | {"note": "n" * 2000})

    def pieces():
        yield from (large[:500].encode(), large[500:].encode())

    headers = {**JSON, **bearer(secrets["worker"])}
    for content in (large, pieces()):
        answer = client.post(f"{API}/tea/tells", content=content, headers=headers)
        assert answer.status_code == 413
        assert "1,000 bytes" in answer.json()["detail"]
