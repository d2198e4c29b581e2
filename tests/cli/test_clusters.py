"""Commands on a cluster: the same numbers as here, and a demonstration that loses a worker."""

import json

import pytest
from click.testing import CliRunner
from tests.support.clusters import small_cluster

from noisewise.cli import app
from noisewise.paper.report import Report

pytestmark = pytest.mark.long("clusters")
SMALL = [
    *("simulate", "-p", "vaee,round_robin", "--horizon", "30", "--replications", "8"),
    "--json",
]


@pytest.fixture(scope="module")
def address():
    with small_cluster() as client:
        yield client.scheduler.address


def said(*arguments):
    found = CliRunner().invoke(app, list(arguments))
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)


def test_simulate_on_a_cluster_prints_what_it_prints_here(address):
    here, there = said(*SMALL), said(*SMALL, "--on", address)
    assert here["runs"] == there["runs"]


def test_arena_on_a_cluster_keeps_its_matches_here(address, tmp_path):
    size = ("--horizon", "30", "--replications", "8", "--cells", "soare-6")
    small = ["arena", "-p", "vaee,round_robin", *size]
    found = said(*small, "--out", str(tmp_path), "--on", address, "--json")
    assert len(found["matches"]) == 12
    assert len(list(tmp_path.glob("*.npz"))) == 12


def test_paper_hands_its_pieces_to_the_cluster(tmp_path, monkeypatch):
    # What becomes of pieces there is tested with the report; all of a section would take minutes.
    asked = {}

    def checked(sections, **how):
        asked.update(how, sections=sections)
        return Report([], tmp_path / "report.html")

    monkeypatch.setattr("noisewise.paper.check_paper", checked)
    said("paper", "theorem3", "--out", str(tmp_path), "--on", "tcp://first:8786", "--json")
    assert asked["on"] == "tcp://first:8786"
    assert list(asked["sections"]) == ["theorem3"]


def test_plan_on_a_cluster_is_the_plan_made_here(address, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for words in (
        ("init", "s.db", "a", "b", "c", "--eps", "0.5"),
        *(
            ("tell", "s.db", option, value, "--se", "1")
            for option, value in (("a", "1"), ("b", "2"), ("c", "3"))
        ),
    ):
        assert CliRunner().invoke(app, list(words)).exit_code == 0
    here = said("plan", "s.db", "--paths", "8", "--json")
    assert said("plan", "s.db", "--paths", "8", "--json", "--on", address) == here
