"""What `import noisewise` gives: few names to look at, the rest in rooms, and no waiting."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import noisewise as nw
from noisewise.rules import registry

#: Libraries that are loaded where they are used.
HEAVY = ("numpy", "scipy", "polars", "psycopg", "rich", "altair", "narwhals")


def loaded_by(code):
    """The heavy libraries that a fresh Python has loaded when it ends."""
    report = f"import atexit, sys; atexit.register(lambda: print([m for m in {HEAVY} if m in sys.modules]))"
    done = subprocess.run(
        [sys.executable, "-c", f"{report}; {code}"], capture_output=True, text=True, check=True
    )
    return ast.literal_eval(done.stdout.splitlines()[-1])


def type_checked_imports():
    """What a type checker is told: the module of each name, and the rooms."""
    tree = ast.parse(Path(nw.__file__).read_text("utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    pairs = {(alias.name, line.module) for line in block.body for alias in line.names}
    assert all(alias.asname == alias.name for line in block.body for alias in line.names)
    return pairs


def test_the_front_door_has_few_names_and_dir_shows_them():
    assert len(nw.__all__) <= 36
    assert [name for name in dir(nw) if not name.startswith("__")] == sorted(nw.__all__)
    assert len(set(nw.__all__)) == len(nw.__all__)


@pytest.mark.parametrize("name", nw.__all__)
def test_every_name_works_from_the_top(name):
    assert getattr(nw, name) is not None


def test_a_type_checker_is_told_what_is_found_at_run_time():
    lazy = {(name, home) for home, names in nw._NAMES.items() for name in names.split()}
    assert type_checked_imports() == lazy | {(room, "noisewise") for room in nw._ROOMS.split()}


def test_all_rules_are_in_rules_and_those_of_the_paper_at_the_top():
    for name, constructor in registry.POLICIES.items():
        assert getattr(nw.rules, name) is constructor
        assert hasattr(nw, name) is (name in ("vaee", "vagd", "robust_vaee", "vage"))
    others = {"POLICIES", "Estimate", "Policy", "Rule", "load_policy", "make_policy", "register"}
    assert {*others, *registry.POLICIES} == set(nw.rules.__all__)


def test_a_name_of_a_room_says_where_it_is():
    for name, room in (("rage", "rules"), ("Ball", "sets"), ("Pairs", "designs")):
        with pytest.raises(AttributeError, match=rf"has no attribute '{name}': it is `nw\.{room}\.{name}`\."):
            getattr(nw, name)


def test_the_source_of_a_constructor_is_its_rule():
    assert "class Vaee(Rule):" in inspect.getsource(nw.vaee)


def test_a_name_that_is_not_there_is_an_error_that_python_can_correct():
    with pytest.raises(AttributeError, match="module 'noisewise' has no attribute 'creat_study'") as caught:
        _ = nw.creat_study
    assert (caught.value.name, caught.value.obj) == ("creat_study", nw)


@pytest.mark.parametrize("room", [nw.rules, nw.sets, nw.stores, nw.extending], ids=lambda room: room.__name__)
def test_every_name_of_a_public_module_is_there_and_documented(room):
    assert room.__all__ == sorted(room.__all__, key=lambda name: (not name.isupper(), name.islower(), name))
    for name in room.__all__:
        value = getattr(room, name)
        assert isinstance(value, dict) or (value.__doc__ or "").strip(), f"{name} has no docstring."


def test_importing_noisewise_loads_no_library():
    assert loaded_by("import noisewise") == []


def test_the_help_page_loads_no_library():
    assert loaded_by("sys.argv = ['noisewise', '--help']; from noisewise.cli import main; main()") == []


def test_a_study_in_memory_loads_no_database():
    loaded = loaded_by("import noisewise as nw; nw.create_study(options=['a', 'b'], eps=1).certificate()")
    assert not {"psycopg", "rich", "altair"} & set(loaded)
