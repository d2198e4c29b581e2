"""The arena on other workers gives the same matches; results of another processor are not mixed in."""

import dataclasses
import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.support.clusters import small_cluster

from noisewise.arena import Cell, load_arena, run_arena
from noisewise.arena.match import read_match, save_match
from noisewise.paper.pieces import FOLDER, compute
from noisewise.paper.section import Piece

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
    here = run_arena(RULES, SMALL, tmp_path / "here", processes=1, **SIZE)
    there = run_arena(RULES, SMALL, tmp_path / "there", on=on, **SIZE)
    for mine, theirs in zip(numbers(here), numbers(there), strict=True):
        for name, value in mine.items():
            assert np.array_equal(value, theirs[name]), name


def computed_on_another_processor(folder):
    """As if the first match had been played on a machine of another type."""
    path = next(folder.glob("*.npz"))
    match = read_match(path)
    there = match.arithmetic.replace("openblas", "anotherblas")
    save_match(dataclasses.replace(match, arithmetic=there), path)


@pytest.mark.parametrize("place", ["here", "elsewhere"])
def test_going_on_beside_results_of_another_processor_is_refused_unless_that_is_wanted(place, tmp_path):
    run_arena(["vaee"], SMALL, tmp_path, processes=1, **SIZE)
    computed_on_another_processor(tmp_path)
    with ThreadPoolExecutor(1) as executor:
        how = {"on": executor} if place == "elsewhere" else {"processes": 1}
        run_arena(["vaee"], SMALL, tmp_path, **how, **SIZE)  # nothing is missing, so nothing is mixed
        words = r"^1 of 2 finished matches .* \(anotherblas.* there and openblas.* here"
        with pytest.raises(ValueError, match=words):
            run_arena(RULES, SMALL, tmp_path, **how, **SIZE)
        assert len(load_arena(tmp_path).matches) == 2
        mixed = run_arena(RULES, SMALL, tmp_path, mixed=True, **how, **SIZE)
    assert len(mixed.matches) == 4


def doubled(number):
    return {"twice": 2 * number}


def pieces(count):
    return {f"piece {k}": Piece(doubled, {"number": k}) for k in range(count)}


def test_pieces_of_another_processor_are_not_mixed_silently(tmp_path):
    compute(pieces(2), tmp_path, 1)
    for file in (tmp_path / FOLDER).iterdir():
        kept = json.loads(file.read_text())
        file.write_text(json.dumps(kept | {"arithmetic": kept["arithmetic"].replace("numpy", "oldpy")}))
    with pytest.raises(ValueError, match=r"^2 of 2 finished pieces .*oldpy .* there and numpy .* here"):
        compute(pieces(3), tmp_path, 1)
    assert len(compute(pieces(3), tmp_path, 1, mixed=True)) == 3
