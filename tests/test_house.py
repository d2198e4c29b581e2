"""The layout of the package: what modules say of themselves, names with one meaning, files that docs name.

Which room may import which is in pyproject.toml, and import-linter holds it.
"""

import ast
import functools
import re
from collections import defaultdict
from pathlib import Path

import pytest

import noisewise

HOME = Path(noisewise.__file__).parent
SOURCES = sorted(HOME.rglob("*.py"))
#: Every rule has parameters and a state of its own, and calls them so.
OF_EVERY_RULE = {"Params", "State"}
#: Understanding tables (study/tables) says these, as do inputs, plans and pages of today.
OF_TABLES = {"Column", "Layout", "Reading", "Table"}


@functools.cache
def trees():
    """All sources, parsed when the first test wants them, and not where tests are only collected."""
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES}


@pytest.fixture(scope="module", autouse=True)
def nothing_is_kept():
    """Millions of objects would make every later search for garbage take a second longer."""
    yield
    trees.cache_clear()


def place(path):
    return path.relative_to(HOME).as_posix()


def functions(tree):
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def test_the_house_is_there():
    assert len(SOURCES) > 100
    assert sum(len(functions(tree)) for tree in trees().values()) > 1000


def test_the_first_line_of_a_module_says_what_it_is_for():
    firsts = {place(path): (ast.get_docstring(tree) or "").split("\n")[0] for path, tree in trees().items()}
    said = {
        name: first for name, first in firsts.items() if len(first.split()) < 3 or first[-1] not in ".:;,"
    }
    assert said == {}


def test_the_name_of_a_public_class_means_one_thing():
    homes = defaultdict(list)
    for path, tree in trees().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(place(path))
    twice = {
        name: where
        for name, where in homes.items()
        if len(where) > 1 and name not in OF_EVERY_RULE | OF_TABLES
    }
    assert twice == {}


def test_tests_stand_on_their_own():
    """Benchmarks may use tests, never the other way round."""
    tests = Path(__file__).parent
    borrowed = [
        path.relative_to(tests).as_posix()
        for path in tests.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (isinstance(node, ast.ImportFrom) and (node.module or "").startswith("benchmarks"))
        or (isinstance(node, ast.Import) and any(alias.name.startswith("benchmarks") for alias in node.names))
    ]
    assert borrowed == []


def test_the_design_page_speaks_of_files_that_are_there():
    page = (Path(__file__).parents[1] / "docs" / "design.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:\w+/)+\w+\.py)`", page))
    assert named
    missing = [
        name
        for name in named
        if not any((root / name).is_file() for root in (HOME, Path(__file__).parents[1]))
    ]
    assert missing == []
