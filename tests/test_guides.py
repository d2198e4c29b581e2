"""The guides are true: their commands run in order, end as they say, and print what they show."""

import os
import re
import sys
from pathlib import Path

import pytest
from tests.support.commands import plain, run
from tests.support.pages import run_commands, run_script
from website.blocks import ROOT, run_blocks

pytestmark = pytest.mark.long("pages")


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_the_nightly_guide_imports_twice_and_ends_when_it_may():
    run_blocks(ROOT / "docs" / "running.md")
    assert run_commands("running.md") == 11
    # The night that was imported last once more: nothing changes, and the job says what to take.
    done = run_script("running.md", "07")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "take the option in certificate.txt"


def test_the_nightly_job_tells_not_yet_from_an_error():
    run_blocks(ROOT / "docs" / "running.md")
    assert run_script("running.md", "01").returncode == 2  # there is no study
    assert run("init", "shop.db", "A", "B", "C", "D", "--eps", "0.5").exit_code == 0
    first = run_script("running.md", "01")
    assert (first.returncode, first.stdout.splitlines()[-1]) == (3, "not yet: see certificate.txt")
    missing = run_script("running.md", "31")
    assert missing.returncode == 2
    assert missing.stderr.startswith("Error: ")


def test_the_guide_to_evaluations_pairs_questions(capsys):
    run_blocks(ROOT / "docs" / "evaluations.md")
    shown = re.search(
        r"```text\n(base: .*?)```", (ROOT / "docs" / "evaluations.md").read_text("utf-8"), re.DOTALL
    )
    assert capsys.readouterr().out.startswith(shown[1])
    assert run_commands("evaluations.md") == 6
    assert run("certify", "eval.db", "--study", "study").exit_code == 0
    assert run("certify", "eval.db", "--study", "counts").exit_code == 3
    again = plain("import", "eval.db", "logs", "--from", "lm-eval-samples", "--study", "study")
    assert (again["told"], again["known"]) == (0, 4000)


def test_the_guide_to_timings_finds_the_fastest_and_its_exit_codes_are_right(monkeypatch):
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    run_blocks(ROOT / "docs" / "timings.md")
    assert run_commands("timings.md") == 2
