"""HTTP documents are those that the command of the same name prints with --json."""

import json
import re

import pytest

pytest.importorskip("fastapi", reason="the server is an extra")

from starlette.testclient import TestClient
from tests.support.commands import run

import noisewise as nw
from noisewise.server.app import make_app

API = "/api/v1/studies"
TABLE = "option,value,se,key\nE,0.2,0.2,e1\nF,2,0.1,f1\n"
#: What is typed behind the store, and the request that does the same.
STORY = [
    ("init A B C D --eps 0.1 -s tea", "POST", "",
     {"name": "tea", "options": ["A", "B", "C", "D"], "eps": 0.1}),
    ("ask", "POST", "/tea/asks", {}),
    ("tell ask-1 1.0 --se 0.1", "POST", "/tea/tells", {"what": "ask-1", "value": 1.0, "se": 0.1}),
    ("tell B 2.34(5)", "POST", "/tea/tells", {"option": "B", "value": "2.34(5)"}),
    ("tell C 0.5 --var 0.04 --block mon --key k", "POST", "/tea/tells",
     {"what": "C", "value": 0.5, "var": 0.04, "block": "mon", "key": "k"}),
    ("tell --plus A --minus B -- -1.3 --se 0.2", "POST", "/tea/tells",
     {"plus": "A", "minus": "B", "value": -1.3, "se": 0.2}),
    ("ask -n 3 --by eve", "POST", "/tea/asks", {"n": 3, "by": "eve"}),
    ("ask --sigma 0.2 --dry-run", "POST", "/tea/asks", {"sigma": 0.2, "dry_run": True}),
    ("release ask-2 --failed broken", "POST", "/tea/release", {"jobs": ["ask-2"], "failed": "broken"}),
    ("amend m-1 typo --value 1.05 --se 0.12", "POST", "/tea/amend",
     {"measurement": "m-1", "reason": "typo", "value": 1.05, "se": 0.12}),
    ("void m-2 wrong", "POST", "/tea/void", {"measurement": "m-2", "reason": "wrong"}),
    ("exclude D sold", "POST", "/tea/exclude", {"option": "D", "reason": "sold"}),
    ("exclude D --undo", "POST", "/tea/exclude", {"option": "D", "undo": True}),
    ("add E F", "POST", "/tea/options", {"options": ["E", "F"]}),
    ("import table.csv", "POST", "/tea/imports", {"table": TABLE}),
    ("status", "GET", "/tea", None),
    ("status --against E", "GET", "/tea?against=E", None),
    ("certify", "GET", "/tea/certificate", None),
    ("check", "GET", "/tea/check", None),
    ("plan --paths 3", "GET", "/tea/plan?paths=3", None),
    ("worth --by option", "GET", "/tea/worth?by=option", None),
    ("switch --extra-scatter 0.2 --reason rough", "POST", "/tea/switch",
     {"extra_scatter": 0.2, "reason": "rough"}),
    ("list", "GET", "", None),
    ("rename tea chai", "POST", "/rename", {"name": "tea", "new": "chai"}),
]  # fmt: skip
#: What only one of the two says.
APART = ("schema", "event", "warnings", "_log")


@pytest.fixture
def story(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text(TABLE)
    nw.open_store("there.db", create=True)
    with TestClient(make_app("there.db"), base_url="http://localhost") as client:
        yield client


def without_times(document):
    """A document without times, hashes, and what only one of the two says."""
    text = json.dumps({name: part for name, part in document.items() if name not in APART})
    text = re.sub(r'"[0-9a-f]{32,64}"', '"#"', text)
    return json.loads(re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+(\+00:00|Z)?", "THEN", text))


def test_every_document_is_that_of_the_command(story):
    for line, method, path, body in STORY:
        command, *rest = line.split()
        dashes = rest.index("--") if "--" in rest else len(rest)
        words = [command, "here.db", "--json", *rest[:dashes], *rest[dashes:]]
        if "--" in rest:  # flags come before a negative number
            words = [
                command,
                "here.db",
                "--json",
                *rest[:dashes],
                *rest[dashes + 2 :],
                "--",
                rest[dashes + 1],
            ]
        typed = run(*words)
        sent = story.request(method, API + path, **({} if body is None else {"json": body}))
        assert sent.is_success, (line, sent.text)
        assert without_times(sent.json()) == without_times(json.loads(typed.stdout)), line
