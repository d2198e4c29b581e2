"""Studies that are made on a page: seen before they are made, refused in one sentence, never half made."""

import inspect
import json

import pytest
from starlette.testclient import TestClient
from tests.support.page_worlds import NASTY_OPTION
from tests.support.web_pages import HTML, Reader, form_in, token_in

import noisewise as nw
from noisewise.server.app import make_app
from noisewise.server.pages.new_study import GROUPS, QUESTION, question_in

RESULTS = "alloy\tHV [GPa]\terr\tCu\nA-1\t21.2\t0.4\t1.5\nA-2\t22.2\t0.4\t2.5\nA-1\t21.4\t0.4\t1.5\n"
ROLES = {"role.0": "option", "role.1": "value", "role.2": "se", "role.3": "feature"}
TIMES = {
    "results": [{"command": name, "times": [0.1, 0.11, 0.12], "median": 0.11} for name in ("sort", "tac")]
}


@pytest.fixture
def place(tmp_path):
    return tmp_path / "team.db"


@pytest.fixture
def client(place):
    nw.open_store(place, create=True).close()
    with TestClient(make_app(place), base_url="http://127.0.0.1", headers=HTML) as opened:
        yield opened


def send(client, files=None, **fields):
    fields = {"csrf_token": token_in(client.get("/new")), "name": "new one", "eps": "0.5", **fields}
    return client.post("/new", data=fields, files=files, follow_redirects=False)


def names_in(place):
    return nw.open_store(place, read_only=True).names()


def test_a_study_of_names_is_seen_and_then_made(place, client):
    seen = send(client, table="green\nblack\n\n oolong \n", goal="min", unit="s", do="preview")
    assert seen.status_code == 200
    assert "Which of 3 options has the smallest value (s)?" in seen.text
    assert names_in(place) == []
    made = send(client, table="green\nblack\n\n oolong \n", goal="min", unit="s", do="make")
    assert (made.status_code, made.headers["location"]) == (303, "./s/new%20one/?made=1")
    study = nw.load_study(place, "new one")
    assert study.options == ["green", "black", "oolong"]
    assert (study.specification.goal, study.specification.unit, study.specification.eps) == ("min", "s", 0.5)
    assert "was made" in client.get("/s/new%20one/?made=1").text


def test_a_study_of_results_has_its_measurements_and_features(place, client):
    first = send(client, source="results", table=RESULTS, do="make")
    assert "Say what &#39;err&#39; is" in first.text
    assert names_in(place) == []
    seen = send(client, source="results", table=RESULTS, do="preview", **ROLES)
    assert "at most" in seen.text
    made = send(client, source="results", table=RESULTS, do="make", **ROLES)
    assert made.status_code == 303
    study = nw.load_study(place, "new one")
    assert (study.options, study.n_measurements, study.specification.unit) == (["A-1", "A-2"], 3, "GPa")
    assert [one.name for one in study.specification.catalogue.features] == ["Cu"]


def test_a_study_of_a_table_of_options_has_features_and_costs(place, client):
    table = "id;Cu;price\na;1,5;3\nb;2,5;1\n"
    seen = send(client, source="options", table=table, do="preview")
    assert 'value="feature" selected' in seen.text
    roles = {"role.0": "name", "role.1": "feature", "role.2": "cost"}
    made = send(client, source="options", table=table, do="make", model="linear", **roles)
    assert made.status_code == 303
    catalogue = nw.load_study(place, "new one").specification.catalogue
    assert (catalogue.values.tolist(), catalogue.costs) == ([[1.5], [2.5]], [3.0, 1.0])


def test_a_file_of_another_tool_is_a_table_between_looking_and_making(place, client):
    files = {"file": ("run.json", json.dumps(TIMES), "application/json")}
    seen = send(
        client, files=files, source="results", unit="ms", scale="log", goal="min", eps="2%", do="preview"
    )
    assert "Read as hyperfine." in seen.text
    said = {"source": "results", "unit": "ms", "scale": "log", "goal": "min", "eps": "2%"}
    made = send(client, do="make", **said, **form_in(seen))
    assert made.status_code == 303
    study = nw.load_study(place, "new one")
    assert (study.options, study.n_measurements) == (["sort", "tac"], 2)
    assert study.frame("measurements")["value"][0] == pytest.approx(109.7, rel=0.01)


REFUSED = [
    ({"table": ""}, "There are no options"),
    ({"table": "A\nB", "name": " "}, "is empty"),
    ({"table": "A\nB", "eps": ""}, "eps"),
    ({"table": "A\nB", "eps": "half"}, "must be a number"),
    ({"table": "A\nB", "eps": "0,5"}, "“Good enough” must"),
    ({"table": "A\nB", "confidence": "100"}, "confidence"),
    ({"table": "A\nB", "measure": "ratings:1"}, "“A measurement is”"),
    ({"table": "A\nB", "measure": "items:/etc/passwd"}, "“A measurement is”"),
    ({"table": "A\nB", "model": "linear"}, "feature"),
    ({"table": "A\nB", "policy": "nobody"}, "nobody"),
    ({"table": "A\nB", "goal": "best"}, "goal"),
    ({"table": "A\nB", "source": "elsewhere"}, "elsewhere"),
    ({"table": "x", "source": "results"}, "Say which column is"),
    ({"table": "A\nB", "name": "a\u200bb"}, "printable"),
    ({"source": "results", "table": RESULTS, "role.0": "se", "role.1": "se"}, "two columns"),
]


def test_what_cannot_be_made_is_said_in_one_sentence_and_nothing_is_made(place, client):
    for fields, said in REFUSED:
        for do in ("preview", "make"):
            answer = send(client, **{**fields, "do": do})
            assert answer.status_code in (200, 422)
            assert said.lower() in answer.text.lower(), fields
            assert Reader(answer.text).wrong == []
    assert names_in(place) == []


def test_names_that_look_like_markup_and_addresses_are_names(place, client):
    for name in ("a/b", "..", ".", "#", "?", "~2", "<b>&amp;", "مرحبا", "🍵"):
        made = send(client, name=name, table=f"{NASTY_OPTION}\nمقعد\n🍵", do="make")
        assert made.status_code == 303, name
        answer = client.get("/" + made.headers["location"].removeprefix("./"))
        assert answer.status_code == 200, name
        assert Reader(answer.text).wrong == []
        assert "<img src=x" not in answer.text
    assert len(names_in(place)) == 9


def test_every_choice_of_create_study_is_on_the_page():
    on_page = {name for group in (QUESTION, *GROUPS.values()) for name in group}
    elsewhere = {"store", "name", "options", "results", "roles", "features", "reading"}
    assert set(inspect.signature(nw.create_study).parameters) - on_page - elsewhere == set()


def test_choices_are_read_as_they_are_typed_at_a_shell():
    said = question_in(
        {"eps": "2%", "confidence": "0.9", "measure": "ratings:1,5", "final": "1", "seed": "3"}
    )
    assert said == {"eps": "2%", "confidence": 0.9, "measure": "ratings:1,5", "final": True, "seed": 3}
