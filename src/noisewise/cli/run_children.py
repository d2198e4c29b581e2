"""Commands that run: started in a group of their own, read without end, and ended with all they started."""

import os
import selectors
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

from noisewise.study.running.crews import NoResultError

_SCRIPT = """
all=' ' folder=$1
while read -r sign group; do
  case $sign in
    +) all="$all$group " ;;
    -) case $all in *" $group "*) all="${all%% $group *} ${all#* $group }" ;; esac ;;
  esac
done
set -- $all
if [ $# -gt 0 ]; then
  for group; do kill -s TERM -- "-$group"; done 2>/dev/null
  sleep 2
  for group; do kill -s KILL -- "-$group"; done 2>/dev/null
fi
rm -rf -- "$folder"
"""


class Watchdog:
    """Looks after groups of processes.

    Args:
        folder: For their files; it goes with the run.
    """

    def __init__(self, folder: Path) -> None:
        self._shell = subprocess.Popen(
            ["/bin/sh", "-c", _SCRIPT, "watchdog", str(folder)], stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip

    def begun(self, group: int) -> None:
        """A group that is to end with the run."""
        self._tell(f"+ {group}\n")

    def ended(self, group: int) -> None:
        """A group that no longer exists: its number may be used again."""
        self._tell(f"- {group}\n")

    def close(self) -> None:
        """It ends by itself, and with it what is left."""
        assert self._shell.stdin is not None
        with suppress(OSError):
            self._shell.stdin.close()
        self._shell.wait()

    def _tell(self, line: str) -> None:
        assert self._shell.stdin is not None
        with suppress(OSError, ValueError):  # it has been ended: then there is none
            self._shell.stdin.write(line.encode())
            self._shell.stdin.flush()


#: Bytes of standard output and standard error that are kept: the last ones.
KEPT_OUT, KEPT_ERR = 1 << 20, 1 << 14
#: Seconds between looks at a command that prints nothing; for what it started to print on when it has ended;
#: and for a command that is told to end, before it is killed.
TICK, DRAIN, GRACE = 0.1, 0.5, 2.0
_READ = 1 << 16


class Ended(NamedTuple):
    """What a command left."""

    code: int  # of exit; below 0: the signal that ended it
    out: bytes  # the end of standard output
    err: bytes
    is_cut: bool  # whether the beginning of standard output is missing
    is_late: bool  # whether it was ended because of its time


class _Tail:
    """The last bytes of a stream of any length."""

    def __init__(self, kept: int) -> None:
        self._kept, self._bytes, self.is_cut = kept, bytearray(), False

    def add(self, more: bytes) -> None:
        """What came in."""
        self._bytes += more
        if len(self._bytes) > 2 * self._kept:
            self.is_cut = True
            del self._bytes[: -self._kept]

    def end(self) -> bytes:
        """What is kept."""
        self.is_cut = self.is_cut or len(self._bytes) > self._kept
        return bytes(self._bytes[-self._kept :])


class Children:
    """All commands of a run that are running; any thread may start one, any may end them all."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="noisewise-run-"))  # for their files; it goes with them
        self._running: set[subprocess.Popen[bytes]] = set()
        # Signals are handled in the thread that may hold it.
        self._lock, self.is_over = threading.RLock(), False
        self._watchdog = Watchdog(self.folder)

    def run(self, command: list[str] | str, environment: Mapping[str, str], timeout: float | None) -> Ended:
        """Start a command, and wait until it has ended; a text is for the shell.

        The command is in a session of its own, without a terminal and without input. When it ends, or takes
        longer than `timeout` seconds, all that it started ends with it.
        """
        process = self._start(command, environment)
        late_at = None if timeout is None else time.monotonic() + timeout
        out, err = _Tail(KEPT_OUT), _Tail(KEPT_ERR)
        try:
            is_late = not _read(process, out, err, late_at)
            if is_late:
                self._tell_to_end([process])
                _read(process, out, err, time.monotonic() + GRACE)  # it may say where it was
        finally:
            _signal(process, signal.SIGKILL)  # also to what it left in the background
            _wait(process, GRACE)
            with self._lock:
                self._running.discard(process)
                self._watchdog.ended(process.pid)
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
        code = -signal.SIGKILL if process.returncode is None else process.returncode
        kept_out, kept_err = out.end(), err.end()
        return Ended(code, kept_out, kept_err, out.is_cut, is_late)

    def stop(self) -> None:
        """Begin no more commands, and tell all that run to end."""
        with self._lock:
            self.is_over = True
            self._tell_to_end(list(self._running))

    def close(self) -> None:
        """End all commands: those that do not end by themselves within `GRACE` seconds are killed."""
        self.stop()
        with self._lock:
            left = list(self._running)
        give_up = time.monotonic() + GRACE
        while any(_lives(process) for process in left) and time.monotonic() < give_up:
            time.sleep(0.02)
        for process in left:
            _signal(process, signal.SIGKILL)
            _wait(process, GRACE)
        with self._lock:
            for process in left:
                self._watchdog.ended(process.pid)
            self._watchdog.close()

    def _start(self, command: list[str] | str, environment: Mapping[str, str]) -> "subprocess.Popen[bytes]":
        with self._lock:
            if self.is_over:
                raise NoResultError("the run has ended")
            try:
                process = subprocess.Popen(
                    command, shell=isinstance(command, str), env=environment, stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                )  # fmt: skip
            except (OSError, ValueError) as problem:
                raise NoResultError(_why_not_started(problem, command)) from None
            self._running.add(process)
            self._watchdog.begun(process.pid)
        return process

    def _tell_to_end(self, processes: "list[subprocess.Popen[bytes]]") -> None:
        for process in processes:
            _signal(process, signal.SIGTERM)


def _why_not_started(problem: Exception, command: list[str] | str) -> str:
    program = command if isinstance(command, str) else command[0]
    if isinstance(problem, OSError) and problem.strerror:
        why = problem.strerror[0].lower() + problem.strerror[1:]
        shebang = isinstance(problem, OSError) and problem.errno == 8
        hint = "; a script begins with a line such as #!/bin/sh" if shebang else ""
        return f"{program!r} could not be started: {why}{hint}"
    return f"{program!r} could not be started: {problem}"


def _read(
    process: "subprocess.Popen[bytes]", out: _Tail, err: _Tail, late_at: float | None
) -> bool:  # fmt: skip
    """Read both streams until the command has ended; returns whether that was in time."""
    with selectors.DefaultSelector() as selector:
        for stream, tail in ((process.stdout, out), (process.stderr, err)):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
            selector.register(stream, selectors.EVENT_READ, tail)
        next_look, ended_at = time.monotonic() + TICK, None
        while selector.get_map():
            for key, _ in selector.select(TICK):
                if not _take(key.fileobj, key.data):
                    selector.unregister(key.fileobj)
            now = time.monotonic()
            if late_at is not None and now > late_at:
                return process.poll() is not None
            if now < next_look:
                continue
            # What it started may hold the streams open for ever after it has ended.
            next_look = now + TICK
            if ended_at is None and process.poll() is not None:
                ended_at = now
            if ended_at is not None and now - ended_at > DRAIN:
                return True
    return _wait(process, None if late_at is None else max(0.0, late_at - time.monotonic()))


def _take(stream: IO[bytes] | Any, tail: _Tail) -> bool:
    """Keep what a stream has; returns whether more may come."""
    try:
        more = os.read(stream.fileno(), _READ)
    except BlockingIOError:
        return True
    except OSError:
        return False
    tail.add(more)
    return bool(more)


def _wait(process: "subprocess.Popen[bytes]", seconds: float | None) -> bool:
    """Whether it ends in time."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _lives(process: "subprocess.Popen[bytes]") -> bool:
    """Whether any process of its group is there."""
    process.poll()
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _signal(process: "subprocess.Popen[bytes]", number: int) -> None:
    """To the command and all that it started, as long as that stayed in its group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
