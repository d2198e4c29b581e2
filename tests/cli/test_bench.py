"""``noisewise bench``: answers, exit codes, files."""

import json
import os
import signal
import subprocess
import sys

import pytest
from tests.support.commands import run
from tests.support.simulated_times import simulated_times  # noqa: F401 - a fixture
from tests.support.waiting import wait_until

import noisewise as nw
from noisewise.cli import main

pytestmark = pytest.mark.usefixtures("simulated_times")
SLEEPS = ("sleep 0.01", "sleep 0.03")


def test_the_answer_is_the_first_line():
    done = run("bench", *SLEEPS)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("`sleep 0.01` is fastest")
    assert "times as long" in done.stdout


def test_a_candidate_within_eps_is_0_a_slower_one_is_1_and_undecided_is_3():
    assert run("bench", "--baseline", SLEEPS[1], "--candidate", SLEEPS[0]).exit_code == 0
    assert run("bench", "--baseline", SLEEPS[0], "--candidate", SLEEPS[1], "--eps", "5%").exit_code == 1
    undecided = run("bench", "--baseline", SLEEPS[0], "--candidate", SLEEPS[1], "--budget", "4")
    assert undecided.exit_code == 3
    assert undecided.stdout.startswith("Undecided: whether")


def test_everything_can_be_written_and_kept(tmp_path):
    out, store = tmp_path / "times.json", tmp_path / "kept.db"
    done = run("bench", *SLEEPS, "--names", "a,b", "--export", out, "--keep", store, "--seed", 1)
    assert done.exit_code == 0, done.output
    written = json.loads(out.read_text())
    assert [one["command"] for one in written["results"]] == ["a", "b"]
    assert nw.load_study(store).certificate().option == "a"
    assert run("certify", store).exit_code == 0
    told = json.loads(run("bench", *SLEEPS, "--json").stdout)
    assert (told["option"], told["reached"]) == ("sleep 0.01", True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["bench"], "at least two commands"),
        (["bench", "true"], "at least two commands"),
        (["bench", "true", "false"], "`false` failed with exit code 1"),
        (["bench", "--baseline", "true"], "--candidate is missing"),
        (["bench", "true", "--baseline", "a", "--candidate", "b"], "no others are compared"),
        (["bench", "true", "sleep 1", "--budget", "soon"], "--budget must be"),
        (["bench", "true", "sleep 1", "--eps", "x"], "--eps must be"),
        (["bench", "true", "sleep 1", "--export", "no/such/folder/x.json"], "there is no folder"),
    ],
)
def test_nonsense_is_one_sentence(arguments, said, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["noisewise", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_ctrl_c_says_what_is_known_and_ends_with_130(tmp_path):
    runs = tmp_path / "runs"
    arguments = [
        "bench", "sleep 0.02", "sleep 0.0201", "--confidence", "0.999999", "--eps", "0.1%", "--prepare",
        f"echo x >> {runs}",
    ]  # fmt: skip
    running = subprocess.Popen(
        [sys.executable, "-m", "noisewise", *arguments], stdout=subprocess.PIPE, text=True
    )
    wait_until(lambda: runs.exists() and runs.stat().st_size >= 16, "eight runs")
    running.send_signal(signal.SIGINT)
    said, _ = running.communicate()
    assert running.returncode == 130
    assert "interrupted" in " ".join(said.split())
    assert "times as long" in said


def test_commands_get_the_environment_of_the_person(tmp_path):
    """Not the one thread for matrices that this program allows itself."""
    seen = tmp_path / "seen"
    line = f"echo ${{OMP_NUM_THREADS-none}} >> {seen}"
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    words = [sys.executable, "-m", "noisewise", "bench", line, f"sleep 0.05; {line}", "--budget", "6"]
    subprocess.run(words, env=environment, check=False, capture_output=True)
    assert set(seen.read_text().split()) == {"none"}
