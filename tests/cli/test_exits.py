"""Exit codes: what the documentation lists is what the commands end with."""

import ast
from pathlib import Path

import pytest

import noisewise.cli
from noisewise.cli import exits
from website import command_page

NAMES = {value: name for name, value in vars(exits).items() if name.isupper() and isinstance(value, int)}
SOURCES = [path for path in Path(noisewise.cli.__file__).parent.rglob("*.py") if path.name != "exits.py"]


def calls(tree, *names):
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) in names]


def test_every_command_ends_with_the_codes_that_are_listed_for_it():
    found = {}
    for path in SOURCES:
        tree = ast.parse(path.read_text("utf-8"))
        for call in calls(tree, "leave"):
            command = ast.literal_eval(call.args[0])
            used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
            found.setdefault(command, set()).update(used & set(NAMES.values()))
        numbers = [call for call in calls(tree, "click.exceptions.Exit", "sys.exit") if call.args]
        assert not [one for one in numbers if isinstance(one.args[0], ast.Constant)], path
    assert set(found) == set(exits.BY_HAND)
    for command, codes in exits.BY_HAND.items():
        assert {NAMES[code] for code in codes if code} <= found[command], command


def test_a_code_that_is_not_listed_is_an_error():
    with pytest.raises(LookupError, match="no exit code 3"):
        exits.leave("paper", exits.NOT_YET)


def test_the_table_is_part_of_the_documentation():
    assert command_page.exit_table() in command_page.reference()
