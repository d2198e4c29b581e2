"""A run that is interrupted, told to end, or killed: nothing is left running, and the same line goes on."""
# ruff: noqa: E501 - scripts

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import noisewise as nw

#: What a job measures depends on nothing but the job.
MEASURE = f"""#!{sys.executable} -SE
import os, random, sys
job, option = sys.argv[1:]
print(0.4 * int(option[1:]) + random.Random(job).gauss(0.0, 0.5), "±", 0.5)
"""
OPTIONS = [f"o{k}" for k in range(6)]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder with a command."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    script(MEASURE)
    return tmp_path


def script(text, name="measure"):
    Path(name).write_text(text)
    Path(name).chmod(0o755)


def begin(*arguments):
    """A run, as a process of its own."""
    line = [sys.executable, "-m", "noisewise", "run", *map(str, arguments)]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(what, seconds=60.0):
    give_up = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < give_up, "it did not happen"
        time.sleep(0.02)


def lives(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_told_to_end_it_gives_suggestions_back_and_ends_its_commands(number):
    if signal.getsignal(number) == signal.SIG_IGN:
        pytest.skip("whoever began these tests (nohup, say) has this signal ignored")
    study = nw.create_study("s.db", options=OPTIONS, eps=0.1)
    script('#!/bin/sh\nsleep 300 & echo "$$ $!" >> running\nsleep 300\n', "hang")
    process = begin("s.db", "-j", 3, "--", "./hang", "{option}")
    wait_for(lambda: Path("running").exists() and len(Path("running").read_text().splitlines()) == 3)
    assert len(study.pending) == 3
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert err == "Interrupted: what was measured is told, the rest is given back; the same line goes on.\n"
    assert study.pending == []
    assert [event.kind for event in study.events()][-3:] == ["release"] * 3
    started = [int(one) for one in Path("running").read_text().split()]
    wait_for(lambda: not any(map(lives, started)), 10.0)
    wait_for(lambda: not any(Path("temporary").iterdir()), 10.0)


def test_a_command_that_will_not_end_is_killed_with_the_run():
    nw.create_study("s.db", options=OPTIONS, eps=0.1)
    script("#!/bin/sh\ntrap '' TERM INT HUP\necho $$ >> running\nwhile :; do sleep 1; done\n", "stubborn")
    process = begin("s.db", "--", "./stubborn", "{option}")
    wait_for(lambda: Path("running").exists() and Path("running").read_text().strip())
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 130
    wait_for(lambda: not lives(int(Path("running").read_text())), 10.0)


def test_the_commands_of_a_run_that_was_killed_end_all_the_same():
    nw.create_study("s.db", options=OPTIONS, eps=0.1)
    script('#!/bin/sh\nsleep 300 & echo "$$ $!" >> running\nsleep 300\n', "hang")
    process = begin("s.db", "-j", 3, "--", "./hang", "{option}")
    wait_for(lambda: Path("running").exists() and len(Path("running").read_text().splitlines()) == 3)
    time.sleep(0.5)  # a command that begins in this very moment is not known to the watchdog yet
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    started = [int(one) for one in Path("running").read_text().split()]
    wait_for(lambda: not any(map(lives, started)), 10.0)
    wait_for(lambda: not any(Path("temporary").iterdir()), 10.0)


def test_what_was_measured_before_it_was_told_to_end_is_kept():
    study = nw.create_study("s.db", options=OPTIONS, eps=0.001)
    process = begin("s.db", "-j", 2, "--", "./measure", "{job}", "{option}")
    wait_for(lambda: study.n_measurements >= 5)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert study.pending == []
    kinds = [event.kind for event in study.events()]
    assert kinds.count("ask") == kinds.count("tell") + kinds.count("release")
    assert kinds.count("fail") == 0


def told(study):
    return study.frame("measurements").select("job", "option", "value").rows()


def test_a_run_that_was_killed_goes_on_with_the_same_line():
    """Killed at random; the suggestions, the measurements and the certificate are those of a run that was not."""
    question = {"options": OPTIONS, "eps": 0.25}
    whole = nw.create_study("whole.db", **question)
    killed = nw.create_study("killed.db", **question)
    command = ["-j", 4, "--", "./measure", "{job}", "{option}"]
    first = begin("whole.db", *command)
    first.communicate(timeout=300)
    assert first.returncode == 0
    rng, kills = random.Random(1), 0
    while kills < 4:
        process, before = begin("killed.db", *command), killed.n_measurements
        wait_for(lambda: killed.n_measurements > before or process.poll() is not None)  # noqa: B023
        time.sleep(0.05 * rng.random())
        if process.poll() is not None:
            break
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        kills += 1
    last = begin("killed.db", *command)
    last.communicate(timeout=300)
    assert last.returncode == 0
    assert kills >= 2
    assert told(killed) == told(whole)
    assert killed.certificate().bound == whole.certificate().bound
    assert killed.pending == []
