"""Looking ahead and back on the command line."""

import json

import pytest
from click.testing import CliRunner

import noisewise as nw
from noisewise.cli import app
from noisewise.operations.values import costs, shares


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)


def plain(*arguments):
    return json.loads(run(*arguments, "--json").stdout)


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "a.db"
    study = nw.create_study(path, options={"id": ["A", "B", "C"], "cost": [1.0, 2.0, 1.0]}, eps=0.3)
    for option, value in (("A", 1.0), ("B", 1.6), ("C", 0.2)):
        study.tell(option=option, value=value, se=0.4, instrument="probe")
    study.tell(option="B", value=1.5, se=0.1, instrument="beam")
    return path


def test_plan(store):
    content = plain("plan", store, "--noise", "0.4", "--noise", "0.1@0.2", "--paths", 6)
    assert content["schema"] == "noisewise.plan/1"
    both, without = content["forecasts"]
    assert [level["sigma"] for level in both["levels"]] == [0.4, 0.1]
    assert [level["sigma"] for level in without["levels"]] == [0.4]
    assert both["low"] <= both["median"] <= both["high"]
    said = run("plan", store, "--menu", "0.4@1", "--menu", "0.1@50", "--paths", 4).stdout
    assert said.startswith("Until the bound is at most 0.3, cheapest is")
    assert max(map(len, said.splitlines())) <= 80


def test_report(store, tmp_path):
    out = tmp_path / "page.html"
    content = plain("report", store, "--out", out, "--noise", "0.05")
    assert content["written"] == [str(out)]
    assert content["sentence"] in out.read_text("utf-8")


def test_a_report_says_what_it_would_take_if_it_is_asked_to(store, tmp_path):
    for flags, said in ((), False), (("--plan",), True):
        plain("report", store, "--out", tmp_path / "page.html", *flags)
        assert ("What it would take" in (tmp_path / "page.html").read_text("utf-8")) == said


def test_levels():
    assert shares(()) is None
    assert costs([]) is None
    assert shares(["0.3", "0.03@0.1"]) == [[0.3, 0.9], [0.03, 0.1]]
    assert shares(["0.3@2", "0.1@1"]) == [[0.3, 2.0], [0.1, 1.0]]
    assert costs(["0.3@5"]) == [[0.3, 5.0]]
