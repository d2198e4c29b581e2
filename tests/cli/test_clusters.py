"""Commands on a cluster: the same numbers as here, and a demonstration that loses a worker."""

import json

import pytest
from tests.support.clusters import dask_or_skip, small_cluster
from typer.testing import CliRunner

from noisewise.cli import app

SMALL = [
    *("simulate", "-p", "vaee,round_robin", "--horizon", "30", "--replications", "8"),
    *("--no-compile", "--json"),
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


def test_jobs_mean_nothing_on_a_cluster(address):
    found = CliRunner().invoke(app, [*SMALL, "--on", address, "--jobs", "2"])
    assert "must be left out" in str(found.exception)


def test_the_demonstration_kills_a_worker_and_finds_the_same_bits():
    dask_or_skip()
    found = said("demo", "--cluster", "--json")
    assert found["killed"].startswith("tcp://127.0.0.1:")
    assert found["differing"] == []
    assert {"pulled", "advised", "simple_regret", "bound"} <= set(found["compared"])
