"""docs/reference.md is made from the code: fresh, complete, and every name once."""

import importlib
import inspect
import re
from collections import Counter
from pathlib import Path

import pytest

import noisewise as nw
from noisewise.cli.pages.names import public_names
from noisewise.cli.pages.reference_page import SECTIONS, reference

TEXT = (Path(__file__).parents[1] / "docs" / "reference.md").read_text("utf-8")
#: The rows of the tables: what is written in the first cell.
ROWS = re.findall(r"^\| `([\w.]+)", TEXT, re.MULTILINE)


def test_the_page_is_fresh():
    assert reference() == TEXT, "python -m noisewise.cli.pages.reference_page > docs/reference.md"


def test_every_name_has_one_row():
    names = [row for row in ROWS if not row.startswith(".")]
    assert [name for name, count in Counter(names).items() if count > 1] == []
    assert len(names) > 150
    headings = re.findall(r"^#+ (.*)$", TEXT, re.MULTILINE)
    assert len(set(headings)) == len(headings)


def test_no_class_lists_a_member_twice():
    for table in re.findall(r"^\| of `\w+` .*?\n\n", TEXT, re.MULTILINE | re.DOTALL):
        members = re.findall(r"`(\.\w+)[`(]", "\n".join(row.split(" | ")[0] for row in table.splitlines()))
        assert len(set(members)) == len(members), table


@pytest.mark.parametrize("module", [section.module for section in SECTIONS])
def test_every_name_of_a_public_module_is_on_the_page(module):
    for name in public_names(importlib.import_module(module)):
        assert re.search(rf"`(?:[\w.]+\.)?{name}\b", TEXT), name


@pytest.mark.parametrize("name", nw.__all__)
def test_the_front_door_has_its_rows(name):
    assert f"nw.{name}" in ROWS or inspect.ismodule(getattr(nw, name))


def test_names_are_written_as_they_are_imported():
    rooms = {"nw": nw} | {
        name: getattr(nw, name) for name in ("arena", "charts", "data", "extending", "paper")
    }
    rooms |= {"testing": nw.testing, "world": nw.world, "action_noise": nw.world.action_noise}
    for row in ROWS:
        if not row.startswith("."):
            first, *path = row.split(".")
            found = rooms[first]
            for part in path:
                found = getattr(found, part)


def test_every_row_says_something():
    assert re.findall(r"^\|[^|]*\|\s*\|$", TEXT, re.MULTILINE) == []
