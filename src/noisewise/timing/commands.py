"""Timing commands: processes started one after the other, and which of several commands is fastest."""

import os
import shlex
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from noisewise.core.checks import check_choice
from noisewise.core.text import number, printable
from noisewise.study.stores.address import MEMORY
from noisewise.timing.functions import versus_of
from noisewise.timing.race import Race, Timed
from noisewise.timing.timings import Timings

#: What a shell understands and a list of words does not.
SHELL_SIGNS = frozenset("|&;<>()$`\\*?[]#~=%!{}\n")
#: Commands shorter than so many seconds are mostly a process that starts.
SHORT = 5e-3
#: How often starting a process, or a shell, is timed by itself.
TRIES = 7
#: Characters of what a command that failed said.
SAID = 300
SHELL = "/bin/sh"
WALL, CPU = CLOCKS = ("wall", "cpu")


class CommandFailedError(ValueError):
    """A command could not be started, or ended with an exit code other than 0."""


class Command:
    """A command that can be timed.

    Args:
        line: As it would be typed.
        shell: Whether a shell runs it.
        prepare: A command that runs before each timing, and is not timed.
        ignore_failure: Whether exit codes do not matter.
        clock: "wall", or "cpu": seconds that the process and its children computed.
        env: Its environment; default: that of this process.
    """

    def __init__(
        self,
        line: str,
        *,
        shell: bool,
        prepare: str | None = None,
        ignore_failure: bool = False,
        clock: str = WALL,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._env = env
        self.line, self._words = line, words_of(line, shell=shell)
        self._prepare = None if prepare is None else words_of(prepare, shell=needs_shell(prepare))
        self._ignore, self._cpu = ignore_failure, clock == CPU

    def take(self) -> float:
        """Run it once; returns the seconds that took."""
        if self._prepare is not None:
            self._run(self._prepare, "--prepare")
        return self._run(self._words, self.line)

    def _run(self, words: list[str], what: str) -> float:
        with tempfile.TemporaryFile() as said:
            began = time.perf_counter_ns()
            try:
                process = subprocess.Popen(
                    words,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=said,
                    env=self._env,
                    close_fds=False,  # faster, and nothing that is open here is meant for it
                )
            except OSError as problem:
                hint = "" if words[0] == SHELL else " What only a shell knows needs --shell."
                raise CommandFailedError(
                    f"`{printable(what)}` could not be started: {problem.strerror or problem}.{hint}"
                ) from None
            try:
                _, status, used = os.wait4(process.pid, 0)
            except BaseException:
                process.kill()
                process.wait()
                raise
            ended = time.perf_counter_ns()
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode and not (self._ignore and what == self.line):
                said.seek(0)
                raise CommandFailedError(_failure(what, process.returncode, said.read()[-SAID:]))
        return used.ru_utime + used.ru_stime if self._cpu else (ended - began) * 1e-9


def _failure(what: str, code: int, said: bytes) -> str:
    """What a command that failed said last."""
    words = " ".join(said.decode(errors="replace").split())
    how = f"was ended by signal {-code}" if code < 0 else f"failed with exit code {code}"
    why = f": {printable(words)}" if words else ""
    hint = "" if what == "--prepare" else " (--ignore-failure times commands that fail as well)"
    return f"`{printable(what)}` {how}{why}{'' if why.endswith('.') else '.'}{hint}"


def needs_shell(line: str) -> bool:
    """Whether a command has signs that only a shell understands."""
    return any(sign in SHELL_SIGNS for sign in line)


def words_of(line: str, *, shell: bool) -> list[str]:
    """What is started for a command."""
    if shell:
        return [SHELL, "-c", line]
    try:
        words = shlex.split(line)
    except ValueError as problem:
        raise ValueError(f"`{printable(line)}` cannot be read as a command: {problem}.") from None
    if not words:
        raise ValueError("a command must not be empty.")
    return words


def bench(
    commands: Sequence[str],
    *,
    names: Sequence[str] | None = None,
    eps: float | str = "2%",
    confidence: float = 0.95,
    budget: Any = None,
    baseline: bool = False,
    warmup: int = 1,
    setup: str | None = None,
    prepare: str | None = None,
    shell: bool | None = None,
    ignore_failure: bool = False,
    clock: str = WALL,
    seed: int | None = None,
    store: str | Path = MEMORY,
    env: Mapping[str, str] | None = None,
    progress: bool = True,
) -> Timings:
    """Find the fastest of some commands, and time them for as long as that takes.

    Args:
        commands: As they would be typed.
        names: Of the commands; default: themselves.
        eps: How much slower than the fastest is good enough: "2%", or 0.02.
        confidence: Of the certificate.
        budget: When to give up: a time such as "30s" or "2min", or a number of runs. Default: after five
            minutes, or twelve rounds if these take longer.
        baseline: Whether there are two, and the question is whether the second is at most `eps` slower than
            the first.
        warmup: Rounds before the first that counts; the last of them orders the commands.
        setup: A command that runs once, before everything else.
        prepare: A command that runs before each timing, and is not timed.
        shell: Whether a shell runs the commands; default: all of them if one has signs that only a shell
            understands.
        ignore_failure: Whether commands may fail.
        clock: ``"wall"``, seconds that pass, or ``"cpu"``, seconds that are computed.
        seed: Of the order within rounds.
        store: Where the study is kept, if it is to be kept: a file.
        env: The environment of the commands; default: that of this process.
        progress: Whether a terminal shows how it goes.
    """
    if isinstance(commands, str) or len(commands) < 2:
        raise ValueError('at least two commands are needed, to be compared: noisewise bench "one" "another".')
    check_choice("clock", clock, CLOCKS)
    called = _names(commands, names)
    shell = any(map(needs_shell, commands)) if shell is None else shell
    timed = [
        Command(line, shell=shell, prepare=prepare, ignore_failure=ignore_failure, clock=clock, env=env)
        for line in commands
    ]
    versus = versus_of(called, called[0], called[1]) if baseline else None
    if setup is not None:
        Command(setup, shell=needs_shell(setup), env=env).take()
    race = Race(
        [Timed(name, one.take) for name, one in zip(called, timed, strict=True)], eps=eps,
        confidence=confidence, budget=budget, warmup=warmup, seed=seed, store=store, versus=versus,
        progress=progress, name="bench", asides=lambda times: _asides(times, shell=shell),
    )  # fmt: skip
    return race.run()


def _names(commands: Sequence[str], names: Sequence[str] | None) -> list[str]:
    for line in commands:
        if not line.strip():
            raise ValueError("a command must not be empty.")
    called = [line.strip() for line in commands] if names is None else [name.strip() for name in names]
    if len(called) != len(commands):
        raise ValueError(f"`names` must be as many as commands, {len(commands)}; got {len(called)}.")
    for at, name in enumerate(called):
        if name in called[:at]:
            way = "give them names (--names)" if names is None else "each needs one of its own"
            raise ValueError(f"`{printable(name)}` is there twice; {way}.")
    return called


def _asides(shortest: dict[str, float], *, shell: bool) -> tuple[str, ...]:
    """What starting processes has to do with the times."""
    said = []
    if shell:
        empty = _usually([SHELL, "-c", ""])
        said.append(f"times include starting a shell, about {number(1e3 * empty, 2)} ms (-N does without).")
    quick = [name for name, seconds in shortest.items() if seconds < SHORT]
    if quick:
        empty = _usually([SHELL, "-c", ""] if shell else ["true"])
        said.append(
            f"`{printable(quick[0])}` takes less than 5 ms, of which starting any process takes about "
            f"{number(1e3 * empty, 2)} ms: let it do more work to compare the work itself."
        )
    return tuple(said)


def _usually(words: list[str]) -> float:
    """The median time of a command that does nothing."""
    command = Command("true", shell=False)
    command._words = words
    return float(np.median([command.take() for _ in range(TRIES)]))
