"""What each command loads: a library that it does not use would be most of the time that a person waits."""

import ast
import subprocess
import sys

import pytest

import noisewise as nw

#: Libraries, and rooms of our own that are as large as one.
DATABASES = ("psycopg",)
TABLES = ("polars", "narwhals", "pandas", "pyarrow")
SCREENS = ("rich", "altair")
STATISTICS = ("scipy.stats", "scipy.special", "scipy.optimize", "scipy.spatial")
RULES = ("noisewise.rules", "noisewise.simulation")
VIEWS = ("noisewise.study.planning.plan", "noisewise.study.report", "noisewise.charts", "noisewise.arena")
HEAVY = (*DATABASES, *TABLES, *SCREENS, *STATISTICS, "noisewise.simulation", *VIEWS)
#: By command, with its arguments after the store, what must not be loaded when it ends.
NOT_LOADED = {
    ("ask",): (*HEAVY, *RULES),
    ("ask", "--json"): (*HEAVY, *RULES),
    ("tell", "A", "1.0", "--se", "0.1"): (*HEAVY, *RULES, "scipy"),
    ("certify",): (*HEAVY, *RULES),
    ("certify", "--json"): (*HEAVY, *RULES),
    ("status",): (*DATABASES, *SCREENS, *STATISTICS, *RULES),
    ("check",): (*HEAVY, *RULES),
    ("void", "m-1", "a slip"): (*HEAVY, *RULES, "scipy"),
    ("exclude", "A", "broken"): (*HEAVY, *RULES, "scipy"),
    ("list",): (*HEAVY, *RULES),
}
SCRIPT = """
import sys
from noisewise.cli import main
sys.argv[0] = "noisewise"
try:
    main()
except SystemExit as end:
    assert end.code in (None, 0, 3), end.code
print(sorted(sys.modules))
"""
#: A simulation and its table of comparisons use polars, and nothing of studies.
SIMULATED = (*DATABASES, *SCREENS, *STATISTICS, "noisewise.study", "noisewise.charts", "noisewise.arena")


def loaded(script, *arguments):
    """The modules of a fresh Python at its end."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return ast.literal_eval(done.stdout.splitlines()[-1])


def amiss(modules, forbidden):
    return [name for name in forbidden if any(f"{module}.".startswith(f"{name}.") for module in modules)]


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "s.db"
    table = {"id": ["A", "B", "C"], "f": [0.0, 1.0, 2.0], "g": [1.0, 0.0, 1.0]}
    study = nw.create_study(
        path, options=table, roles={"option": "id"}, features=["f", "g"], model="linear", eps=0.5
    )
    for option, value in (("A", 1.0), ("B", 2.0), ("C", 3.0), ("A", 1.1)):
        study.tell(option=option, value=value, se=0.1)
    study._log.storage.close()
    return path


SHORT = ("tell", "certify", "list")


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(command, marks=() if command[0] in SHORT else pytest.mark.long("processes"))
        for command in NOT_LOADED
    ],
    ids=" ".join,
)
def test_a_command_loads_only_what_it_uses(command, store):
    modules = loaded(SCRIPT, command[0], store, *command[1:])
    assert "noisewise.study.stores.sqlite" in modules
    assert amiss(modules, ("numpy", "sqlite3")) == ["numpy", "sqlite3"]  # nothing hides from this look
    assert amiss(modules, NOT_LOADED[command]) == []


def test_the_command_simulate_loads_no_statistics():
    size = ("--instance", "sphere:n_actions=5:dim=2", "--horizon", "20", "--replications", "4")
    modules = loaded(SCRIPT, "simulate", "--policies", "uniform,vaee", *size, "--json")
    assert amiss(modules, set(SIMULATED) - {"rich"}) == []  # its progress is drawn by rich
