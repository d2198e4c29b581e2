"""What those who watch over servers see, on every kind of store, and while other processes write."""

import os
import subprocess
import sys

import pytest
from starlette.testclient import TestClient
from tests.support.postgres import NoPostgresError, fresh_database, running_server
from tests.support.web_stores import API, bearer, guarded_app, small_study

import noisewise as nw
from noisewise.server.app import make_app


@pytest.fixture(scope="module")
def database():
    """The address of a PostgreSQL server of our own."""
    try:
        with running_server() as server:
            yield server.address
    except NoPostgresError as problem:
        if os.environ.get("NOISEWISE_NEEDS_POSTGRES"):
            raise
        pytest.skip(str(problem))


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.long("PostgreSQL"))])
def store(request, tmp_path):
    if request.param == "postgres":
        return fresh_database(request.getfixturevalue("database"))
    return str(tmp_path / "studies.db")


@pytest.fixture
def client(store):
    nw.open_store(store, create=True)
    small_study(store)
    with TestClient(make_app(store), base_url="http://localhost") as client:
        yield client


def test_a_server_says_that_it_is_alive_and_ready(client):
    assert client.get("/healthz").json() == {"alive": True}
    assert client.get("/readyz").json() == {"ready": True}


def test_a_server_whose_store_is_gone_is_alive_and_not_ready(tmp_path):
    small_study(tmp_path / "studies.db")
    with TestClient(make_app(tmp_path / "studies.db"), base_url="http://localhost") as client:
        assert client.get("/readyz").status_code == 200
        (tmp_path / "studies.db").rename(tmp_path / "elsewhere.db")
        gone = client.get("/readyz")
        assert (gone.status_code, gone.headers["content-type"]) == (503, "application/problem+json")
        assert client.get("/healthz").status_code == 200
        assert (
            client.post(f"{API}/tea/tells", json={"option": "A", "value": 1.0, "se": 1.0}).status_code == 503
        )
        (tmp_path / "elsewhere.db").rename(tmp_path / "studies.db")
        assert client.get("/readyz").status_code == 200
        assert client.get(f"{API}/tea").json()["event"] == 4


def test_a_stranger_does_not_learn_where_the_store_is(tmp_path):
    app, secrets = guarded_app(tmp_path)
    with TestClient(app, base_url="http://localhost") as client:
        owner = bearer(secrets["owner"])
        (tmp_path / "studies.db").rename(tmp_path / "elsewhere.db")
        refused = client.get("/readyz")
        assert (refused.status_code, str(tmp_path) in refused.text) == (503, False)
        assert str(tmp_path) in client.get("/readyz", headers=owner).json()["detail"]
        (tmp_path / "elsewhere.db").rename(tmp_path / "studies.db")


WRITER = """
import sys, noisewise as nw
study = nw.load_study(sys.argv[1], "tea")
for number in range(20):
    study.tell(option="AB"[number % 2], value=float(number), se=0.5, key=f"other {number}")
study.exclude("C", "broken")
"""


def test_another_process_writes_to_the_store_while_it_is_served(client, store):
    writer = subprocess.Popen([sys.executable, "-c", WRITER, store], stderr=subprocess.PIPE, text=True)
    told = 0
    while writer.poll() is None or told < 20:
        body = {"option": "B", "value": 3.0, "se": 0.5, "key": f"ours {told}"}
        assert client.post(f"{API}/tea/tells", json=body).status_code == 201
        assert client.get(f"{API}/tea/certificate").status_code == 200
        told += 1
    assert writer.returncode == 0, writer.stderr.read()
    writer.stderr.close()
    seen = client.get(f"{API}/tea").json()
    assert seen["event"] == 4 + 20 + 1 + told
    assert seen["measurements"] == 3 + 20 + told
    rows = client.get(f"{API}/tea/events", params={"limit": 10_000}).json()["rows"]
    keys = [row["body"].get("key", "") for row in rows if row["kind"] == "tell"]
    assert sum(key.startswith("other") for key in keys) == 20
    assert sum(key.startswith("ours") for key in keys) == told
    assert len(set(keys)) == len(keys)


def test_events_of_a_long_log_are_read_page_by_page(client, store, monkeypatch):
    """A page reads what it shows, however long the log is."""
    study = nw.load_study(store)
    for first in range(0, 1000, 50):
        study.tell_all([{"option": "AB"[k % 2], "value": k, "se": 1.0} for k in range(first, first + 50)])
    wanted = study.events()
    client.get(f"{API}/tea")  # the study has caught up
    storage, asked = client.app.state.studies.storage, []
    read = storage.read
    monkeypatch.setattr(
        storage,
        "read",
        lambda name, first=0, last=None: asked.append((first, last)) or read(name, first, last),
    )
    found, after = [], 0
    while after is not None:
        part = client.get(f"{API}/tea/events", params={"after": after, "limit": 300}).json()
        found += part["rows"]
        after = part["next"]
    assert [row["hash"] for row in found] == [event.hash for event in wanted]
    pages = [one for one in asked if one[1] is not None]
    assert pages == [(1, 300), (301, 600), (601, 900), (901, 1004)]
    assert all(first == 1004 for first, last in asked if last is None), "the study itself reads what is new"
