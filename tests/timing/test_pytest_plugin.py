"""The pytest plugin, in sessions of its own with a simulated clock."""

import json
import os
import subprocess
import sys

import pytest

from noisewise.timing import pytest_plugin

CONFTEST = '''
import random
import pytest

class Machine:
    """Its clock moves by the work that is done, give or take some per cent."""
    now, rng = 0.0, random.Random(1)

    def work(self, seconds):
        self.now += seconds * self.rng.uniform(0.97, 1.03)

@pytest.fixture
def machine(monkeypatch):
    made = Machine()
    monkeypatch.setattr("noisewise.timing.pytest_plugin.yardstick", lambda: made.work(1e-3))
    return made

@pytest.fixture
def race_clock(machine):
    return lambda: round(1e9 * machine.now)
'''
TWO = """
def test_two(race, machine):
    new = lambda: machine.work(NEW)
    found = race({"old": lambda: machine.work(2e-3), "new": new}, baseline="old", seed=1)
    assert found.versus.verdict == "within"
"""
ONE = """
def test_one(race, machine):
    race(lambda: machine.work(NEW), seed=1)
"""
LONG = pytest.mark.long("processes")


@pytest.fixture
def session(tmp_path):
    """Run a test file in a new session of pytest."""
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")

    def run(text: str, *arguments: str) -> tuple[int, str]:
        (tmp_path / "test_it.py").write_text(text)
        command = [sys.executable, "-B", "-m", "pytest", "-p", "noisewise.timing.pytest_plugin", *arguments]
        alone = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        done = subprocess.run(
            [*command, "-p", "no:cacheprovider"], cwd=tmp_path, env=alone, capture_output=True, text=True
        )
        return done.returncode, done.stdout + done.stderr

    return run


@LONG
@pytest.mark.parametrize(
    ("new", "code", "said"),
    [
        ("1e-3", 0, "`new` is faster than `old`, with 95 % confidence"),
        ("4e-3", 1, "`new` is more than 10 % slower than `old`"),
    ],
)
def test_two_functions_are_compared(session, new, code, said):
    returned, printed = session(TWO.replace("NEW", new))
    assert returned == code, printed
    assert said in printed


@LONG
def test_a_race_that_is_not_decided_warns(session):
    text = (
        TWO.replace("NEW", "2.2e-3").replace('"within"', '"undecided"').replace("seed=1", "rounds=3, seed=1")
    )
    returned, printed = session(text)
    assert returned == 0, printed
    assert "RaceUndecidedWarning: Undecided: whether `new` is at most 10 % slower" in printed


@LONG
def test_a_function_is_compared_with_what_was_stored(session, tmp_path):
    returned, printed = session(ONE.replace("NEW", "3e-3"))
    assert returned == 0
    assert "1 skipped" in printed
    returned, printed = session(ONE.replace("NEW", "3e-3"), "--race-update")
    assert returned == 0, printed
    assert "times the yardstick" in printed
    ((name, stored),) = json.loads((tmp_path / pytest_plugin.FILE).read_text()).items()
    assert name.startswith("test_it.py::test_one (")
    assert 2.9 < stored["ratio"] <= stored["at_most"] < 3.3
    returned, printed = session(ONE.replace("NEW", "3e-3"))
    assert returned == 0, printed
    assert "`now` is at most" in printed
    assert "97.5 % confidence" in printed
    returned, printed = session(ONE.replace("NEW", "4.5e-3"))
    assert returned == 1, printed
    assert "`now` is more than 10 % slower than `stored`" in printed


def test_the_yardstick_takes_long_enough_to_be_timed():
    assert pytest_plugin.yardstick() > 0
