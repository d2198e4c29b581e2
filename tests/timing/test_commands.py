"""Timing commands: processes, shells, failures."""

import sys

import pytest
from tests.support.simulated_times import simulated_times  # noqa: F401 - a fixture

from noisewise.timing import CommandFailedError, bench
from noisewise.timing.commands import Command, needs_shell, words_of

pytestmark = pytest.mark.usefixtures("simulated_times")
PYTHON = f"{sys.executable} -I -S -c"


def test_the_faster_command_is_found():
    found = bench(["sleep 0.03", "sleep 0.01", "sleep 0.06"], progress=False, seed=1)
    assert (found.option, found.reached) == ("sleep 0.01", True)


def test_commands_that_need_a_shell_get_one_and_all_others_too():
    assert not needs_shell("sort -u 'my file.txt'")
    assert needs_shell("sort file | uniq")
    assert words_of("echo 'a b'", shell=False) == ["echo", "a b"]
    found = bench(["true; sleep 0.02", "sleep 0.01"], progress=False)
    assert found.option == "sleep 0.01"
    assert any("starting a shell" in said for said in found.cautions)
    assert any("less than 5 ms" in said for said in bench(["true", "sleep 0.02"], progress=False).cautions)


def test_setup_runs_once_and_prepare_before_each_timing(tmp_path):
    setup, prepare = tmp_path / "setup", tmp_path / "prepare"
    found = bench(
        ["sleep 0.005", "sleep 0.02"], setup=f"echo x >> {setup}", prepare=f"echo x >> {prepare}",
        progress=False, warmup=2,
    )  # fmt: skip
    runs = sum(times.size for times in found.times.values()) + 2
    assert setup.read_text() == "x\n"
    assert prepare.read_text() == runs * "x\n"


def test_a_command_that_fails_is_one_sentence_with_what_it_said():
    with pytest.raises(CommandFailedError, match=r"`false` failed with exit code 1\."):
        bench(["true", "false"], progress=False)
    with pytest.raises(CommandFailedError, match="exit code 3: bad luck"):
        bench(["true", f"{PYTHON} \"import sys; sys.stderr.write('bad luck'); sys.exit(3)\""], progress=False)
    with pytest.raises(CommandFailedError, match="could not be started: No such file"):
        bench(["true", "no-such-command-here"], progress=False)
    with pytest.raises(CommandFailedError, match="ended by signal 9"):
        bench(["sleep 0.001", "kill -9 $$"], progress=False)
    with pytest.raises(CommandFailedError, match="--prepare"):
        bench(["sleep 0.001", "sleep 0.002"], prepare="false", ignore_failure=True, progress=False)


def test_failures_can_be_ignored():
    found = bench(["sleep 0.01; false", "sleep 0.03"], ignore_failure=True, progress=False)
    assert found.option == "sleep 0.01; false"


def test_a_command_reads_nothing_and_writes_nowhere(capfd):
    Command("cat", shell=False).take()
    Command("echo hello", shell=False).take()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("commands", "given", "said"),
    [
        (["true"], {}, "at least two"),
        ("true", {}, "at least two"),
        (["true", " "], {}, "must not be empty"),
        (["true", "true"], {}, "is there twice; give them names"),
        (["true", 'echo "a'], {"shell": False}, "cannot be read as a command"),
        (["true", "sleep 1"], {"names": ["a"]}, "as many as commands"),
        (["true", "sleep 1"], {"names": ["a", "a"]}, "each needs one of its own"),
        (["true", "sleep 1"], {"clock": "sun"}, "`clock`"),
    ],
)
def test_nonsense_is_refused(commands, given, said):
    with pytest.raises(ValueError, match=said):
        bench(commands, progress=False, **given)
