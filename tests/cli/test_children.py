"""Processes of a run: whatever they print, start or ignore, they end and leave nothing behind."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.support.waiting import wait_until

from noisewise.cli import run_children as room
from noisewise.cli.run_children import KEPT_ERR, KEPT_OUT, Children
from noisewise.study.running.crews import NoResultError


@pytest.fixture
def children():
    """Processes that are all gone in the end."""
    made = Children()
    yield made
    made.close()


def run(children, command, timeout=None):
    return children.run(command, dict(os.environ), timeout)


def has_ended(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def wait_for_the_end(process):
    wait_until(lambda: has_ended(process), f"the end of process {process}")


#: A time-out that is over once the command has made the file `late`.
UNTIL_LATE = 1000.0


@pytest.fixture
def clock(tmp_path, monkeypatch):
    """Let a long time pass at the moment when a command makes the file `late`, and none before."""
    monkeypatch.chdir(tmp_path)

    class Clock:
        reads = 0

        def monotonic(self):
            self.reads += 1  # the first sets the deadline, perhaps after the file was made
            late = self.reads > 1 and os.path.exists("late")
            return time.monotonic() + 2 * UNTIL_LATE * late

        sleep = staticmethod(time.sleep)

    monkeypatch.setattr(room, "time", Clock())


def test_what_is_printed_comes_back_with_the_exit_code(children):
    ended = run(children, ["sh", "-c", "echo 1; echo 2 >&2; exit 7"])
    assert (ended.code, ended.out, ended.err, ended.is_cut, ended.is_late) == (
        7,
        b"1\n",
        b"2\n",
        False,
        False,
    )


def test_a_text_is_read_by_the_shell_and_a_list_is_not(children):
    assert run(children, "echo a | tr a b").out == b"b\n"
    assert run(children, ["echo", "a | tr a b", "$HOME"]).out == b"a | tr a b $HOME\n"


def test_there_is_no_input_and_no_terminal(children):
    assert run(children, ["cat"], timeout=None).out == b""
    assert run(children, ["sh", "-c", "(: </dev/tty) || echo none"], timeout=None).out == b"none\n"


def test_of_huge_output_the_end_is_kept(children):
    ended = run(
        children, ["sh", "-c", f"head -c {5 * KEPT_OUT} /dev/zero; head -c 1000000 /dev/zero >&2; echo 7"]
    )
    assert ended.is_cut
    assert (len(ended.out), len(ended.err)) == (KEPT_OUT, KEPT_ERR)
    assert ended.out.endswith(b"\x007\n")


def test_output_without_end_ends_with_the_time_out(children, clock):
    ended = run(children, ["sh", "-c", f"head -c {2 * KEPT_OUT} /dev/zero; touch late; exec yes"], UNTIL_LATE)
    assert ended.is_late
    assert len(ended.out) == KEPT_OUT


def test_a_time_out_ends_the_command_and_all_that_it_started(children, clock):
    ended = run(children, ["sh", "-c", "sleep 600 & echo $!; touch late; sleep 600"], UNTIL_LATE)
    assert ended.is_late
    wait_for_the_end(int(ended.out))


def test_a_command_that_ignores_sigterm_is_killed(children, clock, monkeypatch):
    monkeypatch.setattr(room, "GRACE", 0.2)
    script = "trap '' TERM; echo $$; touch late; sleep 600 & wait; sleep 600"
    ended = run(children, ["sh", "-c", script], UNTIL_LATE)
    assert ended.is_late
    assert ended.code == -signal.SIGKILL
    wait_for_the_end(int(ended.out))


def test_a_command_may_clean_up_when_its_time_is_over(children, clock, monkeypatch):
    monkeypatch.setattr(room, "GRACE", 600.0)
    script = "trap 'echo clean; kill $!; exit 0' TERM; sleep 600 & touch late; wait"
    ended = run(children, ["sh", "-c", script], UNTIL_LATE)
    assert ended.is_late
    assert ended.out == b"clean\n"


def test_background_processes_end_with_the_command(children):
    ended = run(children, ["sh", "-c", "sleep 600 & echo $!"])
    assert (ended.code, ended.is_late) == (0, False)
    wait_for_the_end(int(ended.out))
    ended = run(children, ["sh", "-c", "sleep 600 >/dev/null 2>&1 & echo $!"])
    wait_for_the_end(int(ended.out))


#: Leaves a daemon in a session of its own, which holds standard output open.
DAEMON = """
import os, time
ready, tell = os.pipe()
if os.fork() == 0:
    os.setsid()
    os.write(2, str(os.getpid()).encode())
    os.write(tell, b"x")
    time.sleep(600)
os.read(ready, 1)
print(5, flush=True)
os._exit(0)
"""


def test_a_daemon_that_holds_the_output_is_not_waited_for(children):
    ended = run(children, [sys.executable, "-c", DAEMON])
    assert ended.out == b"5\n"
    assert not has_ended(int(ended.err))
    os.kill(int(ended.err), signal.SIGKILL)


def test_a_command_that_closes_its_output_and_hangs_is_timed_out(children):
    assert run(children, ["sh", "-c", "exec >/dev/null 2>&1; sleep 600"], timeout=0.3).is_late


def test_a_signal_is_the_exit_code_below_zero(children):
    assert run(children, ["sh", "-c", "kill -SEGV $$"]).code == -signal.SIGSEGV


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["/no/such/program"], "'/no/such/program' could not be started: no such file or directory"),
        (["/"], "'/' could not be started: permission denied"),
        (["echo", "a\0b"], "'echo' could not be started: embedded null byte"),
        (["echo", "a" * 10_000_000], "'echo' could not be started: argument list too long"),
    ],
)
def test_what_cannot_be_started_is_said(children, command, said):
    with pytest.raises(NoResultError, match=said):
        run(children, command)


def test_a_script_without_a_first_line_is_explained(children, tmp_path):
    script = tmp_path / "m"
    script.write_text("echo 1\n")
    script.chmod(0o755)
    with pytest.raises(NoResultError, match="a script begins with a line such as #!/bin/sh"):
        run(children, [str(script)])


def test_closing_ends_all_commands_and_no_more_begin(children):
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(run(children, ["sh", "-c", "echo $$; exec sleep 600"])))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(children._running) == 4, "four commands")
    children.close()
    for thread in threads:
        thread.join()
    assert [one.code for one in found] == [-signal.SIGTERM] * 4
    for one in found:
        if one.out:
            wait_for_the_end(int(one.out))
    with pytest.raises(NoResultError, match="the run has ended"):
        run(children, ["true"])


def test_many_commands_run_at_a_time(children, tmp_path):
    """Each of them waits until all have started."""
    script = f"cd {tmp_path}; touch $$; until [ $(ls | wc -l) = 8 ]; do sleep 0.02; done"
    threads = [threading.Thread(target=run, args=(children, ["sh", "-c", script])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_no_files_are_left_open(children):
    def opened():
        return len(os.listdir("/proc/self/fd"))

    run(children, ["true"])
    before = opened()
    for _ in range(20):
        run(children, ["sh", "-c", "sleep 60 >/dev/null 2>&1 & echo 1"])
    assert opened() <= before + 1


def test_no_zombies_are_left(children):
    run(children, ["true"])
    listed = subprocess.run(["ps", "--ppid", str(os.getpid()), "-o", "stat="], capture_output=True, text=True)
    assert "Z" not in listed.stdout
