"""Results of other tools over HTTP, and what a study warns of while it is told."""

import base64
import json
import os
import threading

import pytest
from starlette.testclient import TestClient
from tests.support.reader_cases import FIXTURES, case_of
from tests.support.servers import in_thread
from tests.support.web_stores import API, bearer, guarded_app, small_study

import noisewise as nw
from noisewise.core.remarks import heard_warnings, warn
from noisewise.readers import names
from noisewise.server.app import make_app
from noisewise.study.study import Study

IMPORTS = f"{API}/tea/imports"
RUN = {
    "results": [
        {"command": "A", "median": 1.0, "times": [1.0, 1.1, 0.9]},
        {"command": "B", "median": 3.0, "times": [3.0, 3.2, 2.9]},
    ]
}
ROWS = "option,value,se\nA,1.11,0.1\nB,2.22,0.2\nA,1.33,0.1\n"


@pytest.fixture
def client(tmp_path):
    small_study(tmp_path / "studies.db")
    with TestClient(make_app(tmp_path / "studies.db"), base_url="http://localhost") as client:
        client.store = tmp_path / "studies.db"
        yield client


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory):
    store = tmp_path_factory.mktemp("store") / "studies.db"
    small_study(store)
    with TestClient(make_app(store), base_url="http://localhost") as client:
        client.store = store
        yield client
    assert nw.load_study(store).n_events == 4


def sent(files=None, **more):
    return {"reader": "hyperfine", "table": files or {"run.json": json.dumps(RUN)}, **more}


def test_files_of_another_tool_are_told_as_they_are_on_this_machine(client, tmp_path):
    (tmp_path / "run.json").write_text(json.dumps(RUN))
    small_study(tmp_path / "here.db")
    here = nw.load_study(tmp_path / "here.db")
    here.import_from(tmp_path / "run.json", "hyperfine")
    answer = client.post(IMPORTS, json=sent() | {"match": False})
    assert (answer.status_code, answer.json()["told"]) == (200, 2)
    wanted = ["option", "value", "sigma"]
    there = nw.load_study(client.store)
    assert there.frame("measurements").select(wanted).equals(here.frame("measurements").select(wanted))


def test_options_are_chosen_renamed_and_put_into_a_block(client):
    only = client.post(IMPORTS, json=sent() | {"only": "A", "called": "C", "block": "monday"})
    assert only.status_code == 200, only.text
    last = nw.load_study(client.store).frame("measurements").tail(1).to_dicts()[0]
    assert (last["option"], last["block"]) == ("C", "monday")


READERS = sorted(name for name in names() if (FIXTURES / name).is_dir())
#: One that reads a file, and one that reads a folder.
QUICK = ("criterion", "hyperfine")


@pytest.mark.parametrize(
    "name", [one if one in QUICK else pytest.param(one, marks=pytest.mark.long("stores")) for one in READERS]
)
def test_every_reader_reads_what_was_sent_as_it_reads_files_here(tmp_path, name):
    case = case_of(name)
    folder = name == "criterion"  # which looks at paths, and at files beside others
    base = FIXTURES / name if folder else case.path.parent
    paths = sorted(path for path in base.rglob("*") if path.is_file()) if folder else [case.path]
    choices = {} if folder else dict(case.choices)
    question = {"eps": 0.1, **case.study}
    encoded = {str(path.relative_to(base)): base64.b64encode(path.read_bytes()).decode() for path in paths}
    files = {file: f"data:;base64,{text}" for file, text in encoded.items()}
    said = {"reader": name, "choose": choices} if choices else {"reader": name}
    nw.open_store(tmp_path / "there.db", create=True)
    with TestClient(make_app(tmp_path / "there.db"), base_url="http://localhost") as client:
        made = client.post(API, json={"name": "s", "results": files, **said, **question})
    assert made.status_code == 201, made.text
    results = nw.readers.read(base if folder else case.path, name, **choices)
    here = nw.create_study(tmp_path / "here.db", name="s", results=results, **question)
    there = nw.load_study(tmp_path / "there.db")
    assert there.frame("options").equals(here.frame("options"))
    assert str(tmp_path.parent) not in str([event.body for event in there.events()])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (sent() | {"reader": "hyperfin"}, "Did you mean"),
        (sent({"../run.json": "{}"}), "inside a folder"),
        (sent({"/etc/passwd": "{}"}), "inside a folder"),
        (sent({"a\\..\\b": "{}"}), "inside a folder"),
        (sent({"a\x00b": "{}"}), "inside a folder"),
        (sent({".": "{}"}), "inside a folder"),
        (sent({"a": "{}", "a/b": "{}"}), "cannot be one"),
        (sent({"x" * 900: "{}"}), "cannot be one"),
        (sent({"a": "data:;base64,%%"}), "base64"),
        (sent({"a": "not json"}), "not JSON"),
        (sent({"a": "\ud800"}), ""),
        (sent(choose={"files": "x"}), "no choice 'files'"),
        (sent(choose={"colour": "red"}), "no choice 'colour'"),
        (sent(map={"value": "mean"}), "is for tables"),
        ({"table": "option,value,se\nA,1,1\n", "only": "A"}, "goes with"),
        (sent({"folder/other.txt": "{}"}), "files of hyperfine"),
    ],
    ids=lambda part: str(part)[:40].encode("ascii", "replace").decode() if not isinstance(part, str) else "",
)  # fmt: skip
def test_files_that_make_no_sense_are_refused_and_nothing_is_told(unchanged, change, says):
    body = json.dumps(change)
    answer = unchanged.post(IMPORTS, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422, answer.text
    assert says in answer.json()["detail"]
    assert "/tmp" not in answer.text
    assert os.fspath(unchanged.store.parent) not in answer.text


def test_rows_that_another_table_may_have_brought_are_refused_until_that_is_settled(client):
    assert client.post(IMPORTS, json={"table": ROWS, "match": False}).json()["told"] == 3
    others = "option,value,se\nC,2.5,0.2\nC,2.6,0.2\nB,2.22,0.2\nA,1.2,0.3\n"
    refused = client.post(IMPORTS, json={"table": others, "match": False})
    assert refused.status_code == 422
    assert "1 row without a key may have been recorded before" in refused.json()["detail"]
    assert client.post(IMPORTS, json={"table": others, "match": False, "again": True}).json()["told"] == 4
    again = client.post(IMPORTS, json={"table": ROWS, "match": False}).json()
    assert (again["told"], again["known"]) == (0, 3)


@pytest.fixture
def warns_of_voids(monkeypatch):
    """Studies that warn when a measurement is voided."""
    void = Study.void

    def warning(study, measurement, reason):
        warn("a voided measurement", UserWarning, stacklevel=2)
        return void(study, measurement, reason)

    monkeypatch.setattr(Study, "void", warning)


def test_what_a_study_warns_of_is_in_the_answer(client, warns_of_voids):
    plain = client.post(IMPORTS, json={"table": ROWS, "match": False}).json()
    assert "warnings" not in plain
    voided = client.post(f"{API}/tea/void", json={"measurement": "m-1", "reason": "typo"}).json()
    assert voided["warnings"] == [{"category": "UserWarning", "message": "a voided measurement"}]


def test_a_client_warns_of_it_again(tmp_path, warns_of_voids):
    small_study(tmp_path / "studies.db")
    with in_thread(make_app(tmp_path / "studies.db")) as url:
        study = nw.load_study(url, "tea")
        with pytest.warns(UserWarning, match="a voided measurement"):
            study.void("m-1", "typo")
        study.close()


def test_one_request_does_not_hear_the_warnings_of_another():
    """Filters of `warnings` are those of the whole process; these are those of a thread."""
    inside, said = threading.Barrier(2), {}

    def work(name):
        with heard_warnings() as heard:
            inside.wait(30)
            warn(f"of {name}", UserWarning, stacklevel=2)
            inside.wait(30)
        said[name] = [one.message for one in heard]

    threads = [threading.Thread(target=work, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert said == {"one": ["of one"], "two": ["of two"]}


def test_who_sends_a_file_of_another_tool_is_who_told_it(tmp_path):
    app, secrets = guarded_app(tmp_path)
    with TestClient(app, base_url="http://localhost") as client:
        assert client.post(IMPORTS, json=sent(), headers=bearer(secrets["viewer"])).status_code == 403
        assert client.post(IMPORTS, json=sent(), headers=bearer(secrets["worker"])).status_code == 200
    told = [event for event in nw.load_study(tmp_path / "studies.db").events() if event.kind == "tell"]
    assert {event.body.get("by") for event in told[3:]} == {"worker one"}
