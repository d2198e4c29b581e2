"""The GitHub Action: its script, run as a job runs it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLE = "option,value,se\nv1,10.0,0.1\nv2,{new},0.1\nv1,10.1,0.1\nv2,{new},0.1\n"
GATE = "results.csv --baseline v1 --candidate v2"


@pytest.fixture
def job(tmp_path):
    """Run the script; returns its exit code, the summary, and the outputs."""

    def run(command: str, arguments: str, undecided: str = "pass") -> tuple[int, str, str]:
        said = [tmp_path / name for name in ("summary.md", "output")]
        given = {"RUN": command, "ARGUMENTS": arguments, "UNDECIDED": undecided}
        env = os.environ | {f"NOISEWISE_{name}": value for name, value in given.items()}
        env |= {"GITHUB_STEP_SUMMARY": str(said[0]), "GITHUB_OUTPUT": str(said[1])}
        script = [sys.executable, "-I", str(ROOT / "tools" / "action.py")]
        done = subprocess.run(script, cwd=tmp_path, env=env, capture_output=True)
        return done.returncode, *(file.read_text(encoding="utf-8") if file.exists() else "" for file in said)

    return run


@pytest.mark.long("processes")
@pytest.mark.parametrize(
    ("new", "undecided", "code", "verdict", "found"),
    [
        ("12.0", "pass", 0, "better", 0),
        ("8.0", "pass", 1, "worse", 1),
        ("10.1", "pass", 0, "undecided", 3),
        ("10.1", "fail", 3, "undecided", 3),
    ],
)
def test_a_gate_writes_its_summary_and_sets_the_exit_code(
    job, tmp_path, new, undecided, code, verdict, found
):
    (tmp_path / "results.csv").write_text(TABLE.format(new=new))
    returned, summary, output = job("gate", GATE, undecided)
    assert (returned, output) == (code, f"code={found}\n")
    assert f"v2 beside v1: {verdict}" in summary
    assert "| 95 % confidence |" in summary


@pytest.mark.long("processes")
def test_timings_become_a_table_and_names_stay_text(job):
    returned, summary, _ = job("bench", "'true # <b>' true --budget 6 --shell")
    assert returned == 0
    assert re.search(r"^\| true \\# \\<b\\> \| [\d.]+ ms \| ", summary, re.M)
    assert "\n| true |" in summary


@pytest.mark.long("processes")
def test_what_fails_is_in_the_summary(job):
    returned, summary, output = job("gate", "nowhere.csv --baseline a --candidate b")
    assert returned == 2
    assert output == "code=2\n"
    assert summary.startswith("### ❌ noisewise gate failed")
    assert "nowhere.csv" in summary
    assert job("certify", GATE)[0] == 2  # and nothing was run


def test_the_action_passes_inputs_as_variables_only():
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    scripts = re.findall(r"^ +run: (.*)$", text, re.M)
    assert len(scripts) == 2
    assert not any("${{" in script for script in scripts)
    script = (ROOT / "tools" / "action.py").read_text(encoding="utf-8")
    assert set(re.findall(r"NOISEWISE_[A-Z]+(?=:)", text)) == set(
        re.findall(r"NOISEWISE_[A-Z]+(?=\")", script)
    )
