"""Spreading work over processes: everything once, first pieces first, and errors come back."""

import os
from pathlib import Path

import pytest

from noisewise.simulation.sharing.processes import spread

PROCESSES = pytest.param(3, marks=pytest.mark.long("processes"))


def note(piece):
    code, number, folder = piece
    if number == 3 and code == "bad":
        raise ValueError("piece 3 is bad")
    # Whoever comes second must find what the first left behind.
    if number:
        assert (Path(folder) / f"{code}0").exists()
    (Path(folder) / f"{code}{number}").write_text(str(os.getpid()))


def pieces(folder, codes):
    return [(code, number, str(folder)) for number in range(4) for code in codes]


@pytest.mark.parametrize("at_once", [1, PROCESSES])
def test_every_piece_is_done_once_after_the_first_of_its_kind(at_once, tmp_path):
    todo = pieces(tmp_path, "abc")
    done = [piece for piece, _ in spread(note, todo, at_once, lambda piece: piece[0])]
    assert sorted(done) == sorted(todo)
    assert len(list(tmp_path.iterdir())) == 12
    processes = {int(file.read_text()) for file in tmp_path.iterdir()}
    assert (os.getpid() in processes) == (at_once == 1)
    for code in "abc":
        assert next(number for kind, number, _ in done if kind == code) == 0


@pytest.mark.parametrize("at_once", [1, 2])
def test_an_error_comes_back_and_what_is_done_stays(at_once, tmp_path):
    with pytest.raises(ValueError, match="piece 3 is bad"):
        list(spread(note, pieces(tmp_path, ["bad"]), at_once, lambda piece: piece[0]))
    assert (tmp_path / "bad0").exists()
