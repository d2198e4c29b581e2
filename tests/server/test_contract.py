"""The JSON interface does what the study does, on every kind of store."""

import json
import sqlite3

import pytest
from starlette.testclient import TestClient
from tests.support.postgres import NoPostgresError, fresh_database, running_server
from tests.support.web_stores import API, small_study

import noisewise as nw
from noisewise.server import open_studies
from noisewise.server.app import make_app


@pytest.fixture(scope="session")
def database():
    """The address of a PostgreSQL server of our own."""
    try:
        with running_server() as server:
            yield server.address
    except NoPostgresError as problem:
        pytest.skip(str(problem))


STORES = [
    "sqlite",
    pytest.param("postgres", marks=pytest.mark.long("PostgreSQL")),
    pytest.param("memory", marks=pytest.mark.long("stores")),
]


@pytest.fixture(params=STORES)
def store(request, tmp_path):
    if request.param == "postgres":
        return fresh_database(request.getfixturevalue("database"))
    return nw.MemoryStorage() if request.param == "memory" else str(tmp_path / "studies.db")


@pytest.fixture
def client(store):
    nw.open_store(store, create=True)
    small_study(store)
    with TestClient(make_app(store), base_url="http://localhost") as client:
        client.store = store
        yield client


def test_all_studies_are_listed_page_by_page(client):
    for name in ("coffee", "cocoa"):
        small_study(client.store, name)
    first = client.get(API, params={"limit": 2}).json()
    assert first["studies"] == ["tea", "coffee"]
    assert (first["states"][0]["leader"], first["states"][0]["state"]) == ("B", "ready")
    second = client.get(API, params={"limit": 2, "after": first["next"]}).json()
    assert second["studies"] == ["cocoa"]
    assert "next" not in second


def test_a_study_is_made_asked_told_and_certified(client):
    made = client.post(API, json={"name": "new/one", "options": ["X", "Y"], "eps": 0.5, "goal": "min"})
    assert made.status_code == 201
    place = made.headers["location"]
    assert place == "/api/v1/studies/new~1one"
    for value in (1.0, 3.0):
        job = client.post(f"{place}/asks", json={}).json()["jobs"][0]
        told = client.post(f"{place}/tells", json={"job": job["id"], "value": value, "se": 0.01})
        assert told.status_code == 201
    found = client.get(f"{place}/certificate").json()["certificate"]
    assert (found["option"], found["reached"]) == ("X", True)
    agreed = client.post(f"{place}/certificate", json={"verify": found}).json()
    assert agreed["agrees"] is True
    wrong = client.post(f"{place}/certificate", json={"verify": found | {"option": "Y"}}).json()
    assert wrong["agrees"] is False


def test_several_results_are_told_or_none(client):
    rows = [{"option": "A", "value": 1.1, "se": 0.1}, {"option": "nobody", "value": 1.0, "se": 0.1}]
    refused = client.post(f"{API}/tea/tells/all", json={"results": rows})
    assert refused.status_code == 422
    assert "row 2" in refused.json()["detail"]
    assert client.get(f"{API}/tea").json()["measurements"] == 3
    rows[1]["option"] = "B"
    told = client.post(f"{API}/tea/tells/all", json={"results": rows})
    assert [one["id"] for one in told.json()["measurements"]] == ["m-4", "m-5"]


def test_an_idempotency_key_is_the_key_of_the_measurement(client):
    result = {"option": "A", "value": 1.5, "se": 0.1}
    header = {"Idempotency-Key": "run 7"}
    first = client.post(f"{API}/tea/tells", json=result, headers=header)
    again = client.post(f"{API}/tea/tells", json=result, headers=header)
    assert (again.status_code, again.json()) == (201, first.json())
    other = client.post(f"{API}/tea/tells", json=result | {"value": 1.6}, headers=header)
    assert other.status_code == 409
    assert "run 7" in other.json()["detail"]
    assert client.get(f"{API}/tea").json()["measurements"] == 4


def test_a_key_twice_in_one_request_counts_once_and_conflicts_if_it_differs(client):
    row = {"option": "A", "value": 1.5, "se": 0.1, "key": "k"}
    told = client.post(f"{API}/tea/tells/all", json={"results": [row, row]}).json()["measurements"]
    assert [one["id"] for one in told] == ["m-4", "m-4"]
    rows = [row | {"key": "l"}, row | {"key": "l", "value": 2.0}]
    assert client.post(f"{API}/tea/tells/all", json={"results": rows}).status_code == 409
    assert client.get(f"{API}/tea").json()["measurements"] == 4


def test_a_repeated_question_gets_the_same_suggestion(client):
    header = {"Idempotency-Key": "ask 1"}
    first = client.post(f"{API}/tea/asks", json={}, headers=header).json()
    assert client.post(f"{API}/tea/asks", json={}, headers=header).json() == first
    assert client.post(f"{API}/tea/asks", json={"n": 2}, headers=header).status_code == 409
    assert client.post(f"{API}/tea/asks", json={}).json() != first


def test_the_etag_is_the_number_of_events(client):
    found = client.get(f"{API}/tea")
    assert found.headers["etag"] == '"4"'
    same = client.get(f"{API}/tea/certificate", headers={"If-None-Match": '"4"'})
    assert (same.status_code, same.content) == (304, b"")
    result = {"option": "A", "value": 1.0, "se": 0.1}
    late = client.post(f"{API}/tea/tells", json=result, headers={"If-Match": '"3"'})
    assert late.status_code == 412
    told = client.post(f"{API}/tea/tells", json=result, headers={"If-Match": '"4"'})
    assert (told.status_code, told.headers["etag"]) == (201, '"5"')
    assert client.get(f"{API}/tea", headers={"If-None-Match": '"4"'}).status_code == 200


def test_suggestions_are_failed_and_released(client):
    jobs = client.post(f"{API}/tea/asks", json={"n": 2}).json()["jobs"]
    failed = client.post(f"{API}/tea/release", json={"jobs": [jobs[0]["id"]], "failed": "the lamp broke"})
    assert failed.status_code == 200
    released = client.post(f"{API}/tea/release", json={"jobs": [jobs[1]["id"]]})
    assert released.json()["event"] == 8
    again = client.post(f"{API}/tea/release", json={"jobs": [jobs[1]["id"]]})
    assert again.status_code == 422
    assert "not under way" in again.json()["detail"]


def test_measurements_are_corrected_and_options_changed(client):
    def post(verb, **body):
        answer = client.post(f"{API}/tea/{verb}", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    post("void", measurement="m-1", reason="spilled")
    assert post("amend", measurement="m-2", reason="typo", value=2.5, se=0.05)["measurement"]["value"] == 2.5
    post("exclude", option="C", reason="sold out")
    post("exclude", option="C", undo=True)
    assert post("options", options=["D"])["added"] == ["D"]
    assert post("switch", extra_scatter="estimate", reason="bars too small")["model"] == "independent"
    assert post("policy", name="round_robin")["policy"] == "round_robin"
    assert client.post(f"{API}/rename", json={"name": "tea", "new": "chai"}).json()["study"] == "chai"
    assert client.get(f"{API}/tea").status_code == 404
    assert client.get(f"{API}/chai").json()["options"] == 4
    kinds = [one["kind"] for one in client.get(f"{API}/chai/events", params={"after": 4}).json()["rows"]]
    assert kinds == ["void", "amend", "exclude", "include", "add", "switch", "policy"]


def test_a_table_is_previewed_told_and_told_again(client):
    table = "option;value;se\nA;1,512;0,1\nB;2,498;0,1\n"
    preview = client.post(f"{API}/tea/imports", json={"table": table, "dry_run": True}).json()
    assert (preview["told"], preview["understood"]["rows"]) == (2, 2)
    assert client.get(f"{API}/tea").json()["measurements"] == 3
    assert client.post(f"{API}/tea/imports", json={"table": table}).json()["told"] == 2
    assert client.post(f"{API}/tea/imports", json={"table": table}).json()["known"] == 2
    assert client.get(f"{API}/tea").json()["measurements"] == 5


def test_tables_come_page_by_page(client):
    found = client.get(f"{API}/tea/options", params={"limit": 2}).json()
    assert [row["option"] for row in found["rows"]] == ["A", "B"]
    assert (found["next"], found["total"]) == (2, 3)
    rest = client.get(f"{API}/tea/options", params={"after": 2}).json()
    assert [row["option"] for row in rest["rows"]] == ["C"]
    told = client.get(f"{API}/tea/measurements", params={"after": 1, "limit": 1}).json()["rows"]
    assert [row["id"] for row in told] == ["m-2"]


def test_the_log_comes_page_by_page(client):
    first = client.get(f"{API}/tea/events", params={"limit": 3}).json()
    assert [row["number"] for row in first["rows"]] == [1, 2, 3]
    rest = client.get(f"{API}/tea/events", params={"after": first["next"]}).json()
    assert ([row["kind"] for row in rest["rows"]], rest["next"], rest["total"]) == (["ask"], None, 4)


def test_the_exported_log_rebuilds_the_study(client):
    log = client.get(f"{API}/tea/export.jsonl")
    assert log.headers["content-disposition"] == 'attachment; filename="log.jsonl"'
    made = client.post(f"{API}/rebuild", json={"log": log.text, "name": "twin"})
    assert made.status_code == 201, made.text
    one, other = (client.get(f"{API}/{name}/certificate").json()["certificate"] for name in ("tea", "twin"))
    assert one["head"] == other["head"]


def test_tables_are_exported_as_csv_and_parquet(client, tmp_path):
    import polars as pl

    table = client.get(f"{API}/tea/export.csv")
    assert table.text.splitlines()[0].startswith("id,option,minus,value,se")
    (tmp_path / "t.parquet").write_bytes(
        client.get(f"{API}/tea/export.parquet", params={"what": "options"}).content
    )
    assert pl.read_parquet(tmp_path / "t.parquet")["option"].to_list() == ["A", "B", "C"]
    assert client.get(f"{API}/tea/export.csv", params={"what": "log"}).status_code == 422


def test_check_worth_and_plan_answer_as_the_study_does(client):
    study = nw.load_study(client.store, "tea")
    assert client.get(f"{API}/tea/check").json()["ok"] is study.check().ok
    assert client.get(f"{API}/tea/worth").json()["sentence"] == study.worth().sentence
    plan = client.get(f"{API}/tea/plan", params={"paths": 4}).json()
    assert plan["sentence"] == study.plan(paths=4).sentence


def test_the_report_is_a_page_that_loads_nothing(client):
    page = client.get(f"{API}/tea/report.html")
    assert page.text.startswith("<!DOCTYPE html>")
    assert page.headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in page.headers["content-security-policy"]
    saved = client.get(f"{API}/tea/report.html", params={"download": True})
    assert saved.headers["content-disposition"].startswith("attachment")


def test_the_description_is_openapi_3_1_and_declares_every_refusal(client):
    found = client.get("/api/v1/openapi.json").json()
    assert found["openapi"].startswith("3.1")
    operations = [one for path in found["paths"].values() for one in path.values()]
    assert len(operations) > 30
    for one in operations:
        assert {"400", "401", "403", "404", "409", "412", "413", "422", "429"} <= one["responses"].keys()
        assert all(
            "application/problem+json" in answer["content"]
            for status, answer in one["responses"].items()
            if status >= "4"
        )
    assert "HTTPValidationError" not in json.dumps(found)


def test_a_study_that_another_process_renames_is_found_under_its_new_name(client, monkeypatch):
    monkeypatch.setattr(open_studies, "LOOK", 0.0)
    assert client.get(f"{API}/tea").status_code == 200
    nw.open_store(client.store).rename("tea", "chai")
    assert client.get(f"{API}/tea").status_code == 404
    assert client.get(f"{API}/chai").json()["measurements"] == 3
    small_study(client.store, "tea").tell(option="A", value=9.0, se=0.1)
    assert client.get(f"{API}/tea").json()["measurements"] == 4


def test_a_study_is_made_as_a_rehearsal(client):
    asked = {"name": "new", "results": "option,value,se\nA,1,0.1\nB,2,0.1\n", "eps": 0.1, "dry_run": True}
    said = client.post(API, json=asked)
    assert (said.status_code, said.json()["told"], said.json()["options"]) == (200, 2, 2)
    assert said.json()["understood"]
    assert nw.open_store(client.store).names() == ["tea"]
    made = client.post(API, json=asked | {"dry_run": False})
    assert (made.status_code, made.json()["told"]) == (201, 2)
    assert nw.load_study(client.store, "new").n_measurements == 2


def _damage(file):
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE noisewise_log SET id = 'x' WHERE number = 2")
    connection.close()


def test_a_damaged_log_is_found_though_it_was_verified_before(tmp_path):
    small_study(tmp_path / "studies.db")
    with TestClient(make_app(tmp_path / "studies.db"), base_url="http://localhost") as client:
        assert client.get(f"{API}/tea/verify").json()["fits"] is True
        _damage(tmp_path / "studies.db")
        said = client.get(f"{API}/tea/verify").json()
        assert (said["fits"], said["verdicts"][0]["event"]) == (False, 2)
