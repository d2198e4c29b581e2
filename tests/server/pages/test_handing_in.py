"""Results and options that are handed in on a page: tables, items, files of other tools; previewed first."""

import json
import re

import numpy as np
import pytest
from starlette.testclient import TestClient
from tests.support.web_pages import HTML, Reader, address_of, form_in, token_in

import noisewise as nw
from noisewise.server.app import make_app
from noisewise.server.pages.tables import handed_in

TIMES = {
    "results": [{"command": name, "times": [0.1, 0.11, 0.12], "median": 0.11} for name in ("A", "B", "new")]
}


@pytest.fixture
def place(place):
    store = nw.open_store(place)
    nw.create_study(
        store, name="asked", options=["A", "B"], measure=nw.Items(["q1", "q2", "q3"]), eps=0.1, seed=0
    )
    rng = np.random.default_rng(1)
    table = {"id": list("abcd"), "Cu": rng.normal(size=4), "price": [1.0, 2.0, 3.0, 4.0]}
    nw.create_study(store, name="described", options=table, features=["Cu"], roles={"cost": "price"}, eps=0.1)
    store.close()
    return place


@pytest.fixture
def client(place):
    with TestClient(make_app(place), base_url="http://127.0.0.1", headers=HTML) as opened:
        yield opened


def send(client, study, page, files=None, **fields):
    fields["csrf_token"] = token_in(client.get(address_of(study, page)))
    return client.post(address_of(study, page), data=fields, files=files, follow_redirects=False)


def test_a_table_of_items_is_previewed_and_told(place, client):
    order = nw.load_study(place, "asked").next_items("A")
    table = "option,item,value\n" + "".join(f"{one},{item},1\n" for one in "AB" for item in order)
    roles = {"role.0": "option", "role.1": "item", "role.2": "value"}
    seen = send(client, "asked", "paste", table=table, do="preview")
    assert "2 measurements with 6 items recorded" in seen.text
    assert 'value="item" selected' in seen.text
    told = send(client, "asked", "paste", table=table, do="tell", **roles)
    assert told.status_code == 303
    assert nw.load_study(place, "asked").n_measurements == 2
    again = send(client, "asked", "paste", table=table, do="preview", **roles)
    assert "6 rows recorded already" in again.text


def test_a_file_of_another_tool_becomes_a_table_that_is_told_once(place, client):
    files = {"file": ("run.json", json.dumps(TIMES), "application/json")}
    refused = send(client, "nothing", "paste", files=files, do="preview")
    assert refused.status_code == 422
    assert "not in the catalogue" in refused.text
    seen = send(client, "nothing", "paste", files=files, do="preview", unknown="add")
    assert "Read as hyperfine." in seen.text
    assert "3 measurements recorded" in seen.text
    told = send(client, "nothing", "paste", do="tell", unknown="add", **form_in(seen))
    assert told.status_code == 303
    assert (
        "3 measurements were recorded, from m-1 on."
        in client.get(address_of("nothing", told.headers["location"])).text
    )
    study = nw.load_study(place, "nothing")
    assert (study.n_measurements, len(study.options)) == (3, 5)
    again = send(client, "nothing", "paste", do="tell", **form_in(seen))
    assert nw.load_study(place, "nothing").n_measurements == 3
    assert again.status_code == 303


def test_only_some_options_of_a_file_are_told(place, client):
    files = {"file": ("run.json", json.dumps(TIMES), "application/json")}
    said = {"unknown": "skip", "tool.only": "A, new"}
    seen = send(client, "reached", "paste", files=files, do="preview", **said)
    assert "1 measurement recorded" in seen.text
    assert "Left out, because they are not in the catalogue: new" in seen.text
    bad = send(client, "nothing", "paste", files=files, do="preview", **{"tool.choose": "x"})
    assert "must look like name=value" in bad.text
    unknown = send(client, "nothing", "paste", files=files, do="preview", **{"tool.choose": "x=1"})
    assert "has no choice" in unknown.text


FILES = [
    ("run.json", b'{"results": [', "looks like none|ends in the middle|cut off"),
    ("run.json", b"{}", "looks like none"),
    ("x.pdf", b"%PDF-1.7", "looks like none"),
    ("x.xlsx", b"no workbook", "workbook|cannot"),
    ("x.csv", b"\xff\xfe\x00", ""),
    ("empty.csv", b"", ""),
]


def test_files_that_are_none_are_refused_in_one_sentence(place, client):
    for name, content, said in FILES:
        answer = send(client, "nothing", "paste", files={"file": (name, content)}, do="preview")
        assert answer.status_code == 422
        assert Reader(answer.text).wrong == []
        assert re.search(said, answer.text), name
    assert nw.load_study(place, "nothing").n_events == 0


def test_folders_in_the_names_of_files_are_dropped():
    assert handed_in({}, [("../../etc/passwd", b"x")]).files == [("passwd", b"x")]


def test_a_file_of_options_becomes_the_text_of_the_form(place, client):
    seen = send(client, "reached", "add", files={"file": ("more.csv", b"option\nD\n")}, do="preview")
    assert "1 option will be added" in seen.text
    assert ">\noption\nD" in seen.text


def test_options_are_previewed_and_added(place, client):
    seen = send(client, "reached", "add", table="D\nE", do="preview")
    assert "2 options will be added" in seen.text
    assert len(nw.load_study(place, "reached").options) == 3
    added = send(client, "reached", "add", table="D\nE", do="add")
    assert added.status_code == 303
    assert nw.load_study(place, "reached").options[3:] == ["D", "E"]
    assert "2 options were added." in client.get(address_of("reached", added.headers["location"])).text


def test_options_with_features_are_added_as_a_table(place, client):
    asked = client.get(address_of("described", "add")).text
    assert "with the columns id, Cu, price" in asked
    refused = send(client, "described", "add", table="e\nf", do="add")
    assert refused.status_code == 422
    added = send(client, "described", "add", table="id,Cu,price\ne,0.5,9\n", do="add")
    assert added.status_code == 303
    assert nw.load_study(place, "described").options[-1] == "e"


def test_options_that_cannot_be_added_are_refused(place, client):
    for table in ("A", "A\u200b", "x" * 1001, "  "):
        assert send(client, "reached", "add", table=table, do="add").status_code in (200, 422)
    assert nw.load_study(place, "reached").n_events == 9


def test_a_file_that_was_previewed_is_told_as_it_was(place, client):
    table = b"option,value,se\nA,10.1,0.1\n"
    send(client, "reached", "paste", files={"file": ("t.csv", table, "text/csv")}, do="preview")
    form = {"role.0": "option", "role.1": "value", "role.2": "se", "unknown": "refuse", "do": "tell"}
    told = send(client, "reached", "paste", table=table.decode(), **form)
    assert told.status_code == 303
