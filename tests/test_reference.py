"""The page of all public names: complete, and every name once."""

import inspect
import re
from collections import Counter

import pytest
from website.reference_page import reference

import noisewise as nw
from noisewise.simulation import action_noise, arena

TEXT = reference()
#: The rows of the tables: what is written in the first cell.
ROWS = re.findall(r"^\| `([\w.]+)", TEXT, re.MULTILINE)


def test_every_name_has_one_row():
    names = [row for row in ROWS if not row.startswith(".")]
    assert [name for name, count in Counter(names).items() if count > 1] == []
    assert len(names) > 150
    headings = re.findall(r"^#+ (.*)$", TEXT, re.MULTILINE)
    assert len(set(headings)) == len(headings)


@pytest.mark.parametrize("name", nw.__all__)
def test_the_front_door_has_its_rows(name):
    assert f"nw.{name}" in ROWS or inspect.ismodule(getattr(nw, name))


def test_names_are_written_as_they_are_imported():
    rooms = {"nw": nw} | {name: getattr(nw, name) for name in ("charts", "data", "extending", "paper")}
    rooms |= {"testing": nw.testing, "action_noise": action_noise, "arena": arena}
    for row in ROWS:
        if not row.startswith("."):
            first, *path = row.split(".")
            found = rooms[first]
            for part in path:
                found = getattr(found, part)
