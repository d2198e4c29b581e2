"""How tests are arranged: helpers lie in tests/support, and what tests share is imported from there alone."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "tests").rglob("*.py"))


def imported_by(file):
    names = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{'.' * node.level}{node.module}.{alias.name}" for alias in node.names}
    return names


def test_no_test_imports_a_benchmark_or_another_test():
    for file in FILES:
        for name in imported_by(file):
            assert name.split(".")[0] not in ("benchmarks", ""), f"{file} imports {name}"
            if name.split(".")[0] == "tests":
                assert name.startswith(("tests.support", "tests.golden")), f"{file} imports {name}"


def test_the_folders_of_tests_are_rooms_of_the_package():
    """Except for those that test promises across rooms."""
    across = {
        "contracts",
        "statistical",
        "golden",
        "support",
        "website",
    }
    for folder in {file.parent for file in FILES} - {ROOT / "tests"}:
        room = folder.relative_to(ROOT / "tests")
        assert str(room) in across or (ROOT / "src" / "noisewise" / room).is_dir(), room
