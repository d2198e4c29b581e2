"""How tests are arranged: helpers lie in tests/support, and what tests share is imported from there alone."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "tests").rglob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT / "tests")))
def test_a_test_imports_no_benchmark_and_no_other_test(file):
    names = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    assert not [name for name in names if name.split(".")[0] == "benchmarks"]
    ours = [name for name in names if name.startswith("tests.")]
    assert all(name.startswith(("tests.support", "tests.samples")) for name in ours)


def test_the_folders_of_tests_are_rooms_of_the_package():
    """Except for those that test promises across rooms."""
    across = {"contracts", "statistical", "samples", "samples/data", "support", "policies/shell/data"}
    for folder in {file.parent for file in FILES} - {ROOT / "tests"}:
        room = folder.relative_to(ROOT / "tests")
        assert str(room) in across or (ROOT / "src" / "noisewise" / room).is_dir(), room
