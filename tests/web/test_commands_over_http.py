"""Everything that commands do on studies can be done over HTTP: each command, and each of its parameters."""

import inspect
import sqlite3

import pytest
from starlette.testclient import TestClient
from tests.support.web_stores import API, small_study

import noisewise as nw
from noisewise.cli.app import COMMANDS, NAMES
from noisewise.web.app import make_app

STUDY = "/api/v1/studies/{study}"
#: By command: its operations.
OPERATIONS = {
    "init": [("POST", "/api/v1/studies")],
    "ask": [("POST", f"{STUDY}/asks")],
    "tell": [("POST", f"{STUDY}/tells")],
    "import": [("POST", f"{STUDY}/imports")],
    "status": [("GET", STUDY)],
    "best": [("GET", f"{STUDY}/certificate")],
    "certify": [("GET", f"{STUDY}/certificate"), ("POST", f"{STUDY}/certificate/verify")],
    "check": [("GET", f"{STUDY}/check")],
    "plan": [("POST", f"{STUDY}/plan"), ("GET", f"{STUDY}/plan")],
    "worth": [("GET", f"{STUDY}/worth"), ("POST", f"{STUDY}/worth")],
    "slot": [("POST", f"{STUDY}/slot"), ("GET", f"{STUDY}/slot")],
    "report": [("POST", f"{STUDY}/report"), ("GET", f"{STUDY}/report.html")],
    "switch": [("POST", f"{STUDY}/switch")],
    "void": [("POST", f"{STUDY}/void")],
    "amend": [("POST", f"{STUDY}/amend")],
    "mend": [("POST", f"{STUDY}/mend")],
    "fail": [("POST", f"{STUDY}/fail")],
    "release": [("POST", f"{STUDY}/release")],
    "exclude": [("POST", f"{STUDY}/exclude")],
    "include": [("POST", f"{STUDY}/include")],
    "add": [("POST", f"{STUDY}/add")],
    "list": [("GET", "/api/v1/studies")],
    "rename": [("POST", f"{STUDY}/rename")],
    "export": [("GET", f"{STUDY}/export.{{ending}}")],
    "rebuild": [("POST", "/api/v1/studies/rebuild")],
    "verify": [("GET", f"{STUDY}/verify"), ("POST", f"{STUDY}/certificate/verify")],
}
MACHINE = "it is about the whole store, and done on its machine"
WORLDS = "it is about simulated worlds, and no study"
#: Commands that need none, and why.
NOT_OVER_HTTP = {
    "run": "it asks and tells, and what it measures with is on the machine of who measures",
    "bench": "it runs programs, and makes a study by asking and telling",
    "demo": "it is a show for people",
    "serve": "it is the server",
    "token": "who may make keys has the machine",
    "mcp": "it is a server of its own",
    **dict.fromkeys(("backup", "restore", "migrate"), MACHINE),
    **dict.fromkeys(("simulate", "arena", "policies", "design", "paper"), WORLDS),
}
#: Parameters of all commands that say where the study is and how the answer is written.
WHERE = {"store", "study", "json", "out"}
#: Parameters that are called otherwise in a request, or need not be said (None): by command, or of all.
CALLED = {
    "*": {"network": "layout", "arms": "layout", "choose": "choices"},
    "tell": {"what": "option"},
    "import": {
        "add": "unknown", "skip": "unknown", "again": "repeat", "metric": "choices", "task": "choices",
        "unit": "choices",
    },
    "certify": {"verify": "certificate"},
    "verify": {"thing": "certificate"},
    "fail": {"job": "jobs"},
    "plan": {"on": None},  # the server computes it
    "rename": {"name": None, "new": "name"},  # it is in the address
    "rebuild": {"study": "name"},
}  # fmt: skip


def called(command):
    return NAMES.get(command, command.__name__)


ON_STUDIES = {called(command): command for command in COMMANDS if called(command) not in NOT_OVER_HTTP}


@pytest.fixture(scope="module")
def described():
    with TestClient(make_app(":memory:"), base_url="http://localhost") as client:
        return client.get("/api/v1/openapi.json").json()


def fields_of(schema, described, seen=()):
    """All names of fields in a schema, those of its parts among them."""
    if isinstance(schema, list):
        return set().union(*(fields_of(one, described, seen) for one in schema)) if schema else set()
    if not isinstance(schema, dict):
        return set()
    found = set(schema.get("properties", ()))
    name = schema.get("$ref", "").rpartition("/")[2]
    if name and name not in seen:
        found |= fields_of(described["components"]["schemas"][name], described, (*seen, name))
    return found.union(*(fields_of(part, described, seen) for part in schema.values()))


def said_in(operation, described):
    """What a request can say."""
    named = {one["name"] for one in operation.get("parameters", ())}
    return named | fields_of(operation.get("requestBody", {}), described)


def test_every_command_is_an_operation_or_says_why_not():
    assert ON_STUDIES.keys() == OPERATIONS.keys()
    assert NOT_OVER_HTTP.keys() <= {called(command) for command in COMMANDS}


def test_every_operation_is_one_of_the_interface(described):
    for operations in OPERATIONS.values():
        for method, path in operations:
            assert method.lower() in described["paths"][path], (method, path)


@pytest.mark.parametrize("name", sorted(ON_STUDIES))
def test_every_parameter_of_a_command_can_be_said(described, name):
    possible = set()
    for method, path in OPERATIONS[name]:
        possible |= said_in(described["paths"][path][method.lower()], described)
    names = CALLED["*"] | CALLED.get(name, {})
    for parameter in inspect.signature(ON_STUDIES[name]).parameters:
        wanted = names.get(parameter, parameter)
        if wanted is not None and (parameter not in WHERE or parameter in names):
            assert wanted in possible, f"{name}: {parameter} cannot be said over HTTP"


def test_a_parameter_that_is_missing_would_be_noticed(described):
    asked = said_in(described["paths"][f"{STUDY}/asks"]["post"], described)
    assert {"n", "sigma", "block", "probe", "items"} <= asked
    assert not {"colour", "table", "reader"} & asked


@pytest.fixture
def client(tmp_path):
    small_study(tmp_path / "studies.db")
    with TestClient(make_app(tmp_path / "studies.db"), base_url="http://localhost") as client:
        client.store = tmp_path / "studies.db"
        yield client


def test_a_study_is_made_as_a_rehearsal(client):
    asked = {"name": "new", "results": "option,value,se\nA,1,0.1\nB,2,0.1\n", "eps": 0.1, "dry_run": True}
    said = client.post(API, json=asked)
    assert (said.status_code, said.json()["told"], said.json()["options"]) == (200, 2, 2)
    assert said.json()["understood"]
    assert nw.open_store(client.store).names() == ["tea"]
    made = client.post(API, json=asked | {"dry_run": False})
    assert (made.status_code, made.json()["told"]) == (201, 2)
    assert nw.load_study(client.store, "new").n_measurements == 2


def test_studies_are_listed_quickly(client):
    (row,) = client.get(API, params={"quick": True}).json()["studies"]
    assert (row["name"], row["measurements"], row["state"], row["leader"]) == ("tea", 3, None, None)


def test_the_hashes_of_a_log_are_computed_afresh(client):
    found = client.get(f"{API}/tea/verify").json()
    assert found["fits"] is True
    assert [(one["study"], one["n_events"]) for one in found["verdicts"]] == [("tea", 4)]


def test_the_hashes_of_a_log_in_memory_are_computed_afresh():
    storage = nw.MemoryStorage()
    small_study(storage)
    with TestClient(make_app(storage), base_url="http://localhost") as client:
        assert client.get(f"{API}/tea/verify").json()["fits"] is True


def test_a_damaged_log_is_found_though_it_was_verified_before(client):
    assert client.get(f"{API}/tea/verify").json()["fits"] is True
    with sqlite3.connect(client.store) as connection:
        connection.execute("UPDATE noisewise_events SET at = at + 1 WHERE number = 2")
    connection.close()
    found = client.get(f"{API}/tea/verify")
    said = found.json()
    assert (said["fits"], said["verdicts"][0]["event"]) == (False, 2)
