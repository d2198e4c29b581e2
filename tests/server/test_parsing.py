"""Bodies are parsed after authorisation, large ones outside of the event loop, and in linear time."""

import json
import threading

import pytest
from pydantic import ValidationError
from starlette.testclient import TestClient
from tests.support.requests import request
from tests.support.servers import in_thread
from tests.support.web_stores import API, bearer, guarded_app, small_study

from noisewise.core.strict_json import MOST_DIGITS
from noisewise.operations import schemas
from noisewise.operations.table import load_table
from noisewise.server import bodies, guards
from noisewise.server.app import make_app
from noisewise.server.auth import forms
from noisewise.server.auth.keys import COOKIE, session_in
from noisewise.server.auth.roles import Role, role_of, routes_of
from noisewise.server.bodies import JsonBodyRequest

JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
LARGE = b'{"option": "A", "value": 1.0, "note": "' + b"x" * forms.SMALL + b'"}'
MANY = 50_000


@pytest.fixture
def client(tmp_path):
    small_study(tmp_path / "studies.db")
    with TestClient(make_app(tmp_path / "studies.db"), base_url="http://localhost") as client:
        yield client


def test_no_body_is_read_before_its_sender_is_authorised(tmp_path, monkeypatch):
    async def body(self):
        raise AssertionError("the body was read")

    monkeypatch.setattr(JsonBodyRequest, "body", body)
    app, secrets = guarded_app(tmp_path)
    client = TestClient(app, base_url="http://localhost")
    n_tried = 0
    for method, path, route in routes_of(app.routes):
        if getattr(route, "body_field", None) is None:
            continue
        place = path.replace("{study}", "tea").replace("{id}", "1")
        senders = [{}] + ([bearer(secrets["viewer"])] if role_of(route) > Role.VIEWER else [])
        for sender in senders:
            answer = client.request(method, place, content=LARGE, headers={**JSON, **sender})
            assert answer.status_code == (403 if sender else 401)
            n_tried += 1
    assert n_tried > 20


@pytest.mark.parametrize("body", [LARGE, LARGE.replace(b"option", b"nobody")])
def test_large_bodies_are_parsed_and_validated_in_the_parsing_thread(client, monkeypatch, body):
    where = []
    validated = bodies._validated
    monkeypatch.setattr(
        bodies, "_validated",
        lambda *given: where.append(threading.current_thread().name) or validated(*given),
    )  # fmt: skip
    client.post(f"{API}/tea/tells", content=b'{"option": "A", "value": 1.0}', headers=JSON)
    assert not any(name.startswith("noisewise-parser") for name in where)
    where.clear()
    client.post(f"{API}/tea/tells", content=body, headers=JSON)
    assert where
    assert all(name.startswith("noisewise-parser") for name in where)


def test_the_server_answers_others_while_it_parses_a_large_body(tmp_path, monkeypatch):
    small_study(tmp_path / "studies.db")
    began, go_on = threading.Event(), threading.Event()
    parse = bodies.parse_json

    def slowly(text):
        if len(text) > forms.SMALL:
            began.set()
            assert go_on.wait(60)
        return parse(text)

    monkeypatch.setattr(bodies, "parse_json", slowly)
    with in_thread(make_app(tmp_path / "studies.db")) as url:
        told = {"option": "A", "value": 1.0, "se": 0.1, "note": "x" * forms.SMALL}
        sender = threading.Thread(target=request, args=(url, "POST", f"{API}/tea/tells", told))
        sender.start()
        assert began.wait(60)
        assert request(url, "GET", "/healthz")[0] == 200
        go_on.set()
        sender.join(60)


def test_a_number_with_too_many_digits_is_refused(client):
    for n_digits in (100_000, MOST_DIGITS + 1):
        body = b'{"option": "A", "value": ' + b"9" * n_digits + b"}"
        answer = client.post(f"{API}/tea/tells", content=body, headers=JSON)
        assert answer.status_code == 400
        assert "too many digits" in answer.json()["detail"]


def test_more_lists_and_objects_than_any_request_needs_are_refused_before_they_are_made(client, monkeypatch):
    monkeypatch.setattr(bodies, "MOST_PARTS", 1000)
    parsed = []
    parse = bodies.parse_json
    monkeypatch.setattr(bodies, "parse_json", lambda text: parsed.append(text) or parse(text))
    answer = client.post(
        f"{API}/tea/options", content=b'{"options": [' + b"[]," * 1000 + b"[]]}", headers=JSON
    )
    assert (answer.status_code, "more than 1,000 lists and objects" in answer.text) == (400, True)
    assert not parsed


def test_brackets_in_texts_count_because_finding_texts_may_take_quadratic_time(client, monkeypatch):
    monkeypatch.setattr(bodies, "MOST_PARTS", 1000)
    told = json.dumps({"option": "A", "value": 1.0, "note": "[{" * 501}).encode()
    answer = client.post(f"{API}/tea/tells", content=told, headers=JSON)
    assert (answer.status_code, "lists and objects" in answer.text) == (400, True)


def schemas_in(node):
    """Every part of a schema of pydantic."""
    if isinstance(node, dict):
        if isinstance(node.get("type"), str):
            yield node
        for part in node.values():
            yield from schemas_in(part)
    elif isinstance(node, list | tuple):
        for part in node:
            yield from schemas_in(part)


def test_every_list_in_a_body_stops_at_its_first_mistake(tmp_path):
    app = guarded_app(tmp_path)[0]
    n_lists = 0
    for _, path, route in routes_of(app.routes):
        if getattr(route, "body_field", None) is None:
            continue
        for part in schemas_in(route.body_field._type_adapter.core_schema):
            if part["type"] == "list":
                n_lists += 1
                assert part.get("fail_fast"), path
    assert n_lists > 10


@pytest.mark.parametrize(
    ("operation", "body"),
    [
        ("tell", {f"n{k}": 1 for k in range(MANY)}),
        ("tell", {"option": "A", "values": ["x"] * MANY}),
        ("tell_all", {"results": [{"nobody": 1}] * 10_000}),
        ("tell_all", {"results": [{f"n{k}": k for k in range(10_000)}]}),
        ("add", {"options": {"id": [[]] * MANY}}),
        ("add", {"options": {f"c{k}": [[]] for k in range(MANY)}}),
        ("add", {"options": [{"id": []}] * MANY}),
        ("add", {"options": [{f"c{k}": [] for k in range(MANY)}]}),
        ("init", {"name": "a", "options": [1.5] * MANY}),
        ("policy", {"options": {f"n{k}": [] for k in range(MANY)}}),
        ("import", {"table": {f"n{k}": 1 for k in range(MANY)}}),
        ("import", {"map": {f"n{k}": 1 for k in range(MANY)}}),
        ("import", {"columns": {f"n{k}": 1 for k in range(MANY)}}),
    ],
)
def test_a_body_full_of_mistakes_makes_few_errors(operation, body):
    op = load_table()[operation]
    with pytest.raises(ValidationError) as refused:
        schemas.given_model(op, op.params.values(), schemas.StrictBody).model_validate(body)
    # Unknown names are listed once each, up to the limit of an object.
    assert refused.value.error_count() <= schemas.MOST_NAMES


def test_an_object_with_too_many_names_says_how_many_are_allowed(client):
    body = {"options": {f"n{k}": 1 for k in range(schemas.MOST_NAMES + 1)}}
    answer = client.post(f"{API}/tea/policy", content=json.dumps(body).encode(), headers=JSON)
    assert answer.status_code == 422
    assert "at most 10,000 names; got 10,001" in answer.json()["detail"]


# Forms


def multipart(*parts, boundary="b"):
    """The body and the headers of a form."""
    body = b"".join(b"--" + boundary.encode() + b"\r\n" + part + b"\r\n" for part in parts)
    kind = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
    return body + b"--" + boundary.encode() + b"--\r\n", kind


FIELD = b'Content-Disposition: form-data; name="a"\r\n\r\nx'


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"a=1&" * (forms.MOST_FIELDS + 1), FORM, 413),
        (b"&" * 10 * forms.MOST_FIELDS, FORM, 413),
        (b"a=" + b"%41" * 400_000, FORM, 413),
        (*multipart(*[FIELD] * 10_000), 413),
        (*multipart(b"A: b\r\n" * 1000 + FIELD), 400),
        (*multipart(b"A: " + b"b" * 10_000 + b"\r\n" + FIELD), 400),
        (*multipart(FIELD, boundary="b" * 71), 400),
        (b"\r\n" * 50_000, multipart(FIELD)[1], 400),
        (b"--b\r\n" + b"A: b\r\n" * 10_000, multipart(FIELD)[1], 400),
        (*multipart(FIELD), 403),  # without its CSRF token
        (b"", FORM, 403),
    ],
)
def test_forms_with_too_many_parts_are_refused_before_they_are_parsed(
    client, monkeypatch, body, headers, status
):
    parsed = []
    for parser in (forms.FormParser, forms.MultiPartParser):
        monkeypatch.setattr(
            parser, "__init__",
            lambda self, *given, old=parser.__init__, **more: parsed.append(1) or old(self, *given, **more),
        )  # fmt: skip
    answer = client.post("/s/tea/tell", content=body, headers=headers)
    assert answer.status_code == status, answer.text
    assert len(parsed) == (status == 403)


def test_large_forms_are_parsed_in_the_parsing_thread(client, monkeypatch):
    where = []
    check = forms._check_parts
    monkeypatch.setattr(
        forms, "_check_parts",
        lambda *given: where.append(threading.current_thread().name) or check(*given),
    )  # fmt: skip
    body, headers = multipart(FIELD + b"x" * 2 * 2**20)
    assert client.post("/s/tea/tell", content=body, headers=headers).status_code == 403
    assert where[0].startswith("noisewise-parser")


# Addresses and headers


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        (f"/healthz?{'a&' * (guards.MOST_ADDRESS // 2 + 1)}", {}, 414),
        ("/healthz", {"Cookie": "a=" + "\\" * 20_000}, 431),
        ("/healthz", {"Content-Type": 'a; b="' + ";" * 2000}, 431),
        ("/healthz", {"X-Any": "a" * 20_000}, 431),
    ],
)
def test_long_addresses_and_headers_are_refused(client, path, headers, status):
    assert client.get(path, headers=headers).status_code == status


def test_a_session_is_found_among_other_cookies():
    assert session_in({b"cookie": f"a=b; {COOKIE}=x-1; c".encode()}) == "x-1"
    assert session_in({b"cookie": b'a="' + b"\\" * 10_000}) is None
    assert session_in({}) is None
