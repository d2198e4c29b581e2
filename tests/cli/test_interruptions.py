"""A run that is interrupted, terminated or killed leaves nothing running, and the same command line goes on."""
# ruff: noqa: E501 - scripts

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.waiting import wait_until

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


#: The command line, with default signals however the tests were started. It notes in `begun` each command that
#: the watchdog knows of, and kills itself before or after the append that KILL_AT names.
PROGRAM = """
import os, signal
for number in (signal.SIGHUP, signal.SIGTERM):
    signal.signal(number, signal.SIG_DFL)

from noisewise.cli import main
from noisewise.cli.run_children import Watchdog
from noisewise.study.stores import sqlite

begun, send = Watchdog.begun, sqlite.send_commit

def noted(self, group):
    begun(self, group)
    with open("begun", "a") as file:
        file.write(".")

left, when = os.environ.get("KILL_AT", "0 never").split()
left = int(left)

def killed(connection):
    global left
    left -= 1
    if left == 0 and when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    send(connection)
    if left == 0 and when == "after":
        os.kill(os.getpid(), signal.SIGKILL)

Watchdog.begun, sqlite.send_commit = noted, killed
main()
"""


def begin(*arguments, kill_at="0 never"):
    """Start a run in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "run", *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"KILL_AT": kill_at},
    )  # fmt: skip


def commands_started(count):
    """Wait until so many commands have written their process ids, and return these."""
    running, begun = Path("running"), Path("begun")
    wait_until(lambda: running.exists() and len(running.read_text().splitlines()) == count, "commands")
    wait_until(lambda: begun.exists() and len(begun.read_text()) == count, "the watchdog")
    return [int(one) for one in running.read_text().split()]


def lives(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_told_to_end_it_gives_suggestions_back_and_ends_its_commands(number):
    study = nw.create_study("s.db", options=OPTIONS, eps=0.1)
    script('#!/bin/sh\nsleep 300 & echo "$$ $!" >> running\nsleep 300\n', "hang")
    process = begin("s.db", "-j", 3, "--", "./hang", "{option}")
    started = commands_started(3)
    assert len(study.pending) == 3
    process.send_signal(number)
    out, err = process.communicate()
    assert (process.returncode, out) == (130, "")
    assert err == "Interrupted: what was measured is recorded, the rest is released; the same line goes on.\n"
    assert study.pending == []
    assert [event.kind for event in study.events()][-3:] == ["release"] * 3
    wait_until(lambda: not any(map(lives, started)), "the end of all commands")
    wait_until(lambda: not any(Path("temporary").iterdir()), "an empty folder")


def test_a_command_that_will_not_end_is_killed_with_the_run():
    nw.create_study("s.db", options=OPTIONS, eps=0.1)
    script("#!/bin/sh\ntrap '' TERM INT HUP\necho $$ >> running\nwhile :; do sleep 1; done\n", "stubborn")
    process = begin("s.db", "--", "./stubborn", "{option}")
    (started,) = commands_started(1)
    process.send_signal(signal.SIGTERM)
    process.communicate()
    assert process.returncode == 130
    wait_until(lambda: not lives(started), "the end of the command")


def test_the_commands_of_a_run_that_was_killed_end_all_the_same():
    nw.create_study("s.db", options=OPTIONS, eps=0.1)
    script('#!/bin/sh\nsleep 300 & echo "$$ $!" >> running\nsleep 300\n', "hang")
    process = begin("s.db", "-j", 3, "--", "./hang", "{option}")
    started = commands_started(3)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    wait_until(lambda: not any(map(lives, started)), "the end of all commands")
    wait_until(lambda: not any(Path("temporary").iterdir()), "an empty folder")


def test_what_was_measured_before_it_was_told_to_end_is_kept():
    study = nw.create_study("s.db", options=OPTIONS, eps=0.001)
    process = begin("s.db", "-j", 2, "--", "./measure", "{job}", "{option}")
    wait_until(lambda: study.n_measurements >= 5, "five measurements")
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == 130
    assert study.pending == []
    kinds = [event.kind for event in study.events()]
    assert kinds.count("ask") == kinds.count("tell") + kinds.count("release")
    assert kinds.count("fail") == 0


def told(study):
    return study.frame("measurements").select("job", "option", "value").rows()


def test_a_run_that_was_killed_goes_on_with_the_same_line():
    """The suggestions, the measurements and the certificate are those of a run that was not killed."""
    question = {"options": OPTIONS, "eps": 0.25}
    whole = nw.create_study("whole.db", **question)
    killed = nw.create_study("killed.db", **question)
    command = ["-j", 4, "--", "./measure", "{job}", "{option}"]
    first = begin("whole.db", *command)
    first.communicate()
    assert first.returncode == 0
    for moment in ("1 before", "2 after", "4 before", "5 after"):
        process = begin("killed.db", *command, kill_at=moment)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    last = begin("killed.db", *command)
    last.communicate()
    assert last.returncode == 0
    assert told(killed) == told(whole)
    assert killed.certificate().bound == whole.certificate().bound
    assert killed.pending == []
