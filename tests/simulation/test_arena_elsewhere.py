"""The arena on other workers gives the same matches."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.support.clusters import small_cluster

from noisewise.simulation.arena import Cell, run_arena

SMALL = [
    Cell("soare", "flat", {"dim": 3, "reach": 30.0}),
    Cell("sphere", "log-uniform", {"n_actions": 8, "reach": 4.0}),
]
RULES = ["vaee", "round_robin"]
SIZE = {"horizon": 40, "replications": 12}


@pytest.fixture(params=["thread", pytest.param("cluster", marks=pytest.mark.long("clusters"))])
def on(request):
    """A place to work."""
    with ThreadPoolExecutor(1) if request.param == "thread" else small_cluster() as place:
        yield place


def numbers(arena):
    left_out = ("microseconds",)  # which are measured anew
    return [
        {f.name: getattr(match, f.name) for f in dataclasses.fields(match) if f.name not in left_out}
        for match in arena.matches
    ]


def test_matches_played_elsewhere_are_those_played_here(on, tmp_path):
    here = run_arena(RULES, SMALL, tmp_path / "here", on=1, **SIZE)
    there = run_arena(RULES, SMALL, tmp_path / "there", on=on, **SIZE)
    for mine, theirs in zip(numbers(here), numbers(there), strict=True):
        for name, value in mine.items():
            assert np.array_equal(value, theirs[name]), name
