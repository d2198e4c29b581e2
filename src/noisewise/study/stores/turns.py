"""A queue for the turn to decide on a study and to append: no writer is outrun again and again.

It is a courtesy, not a lock: appending checks the end of the log in any case. So a writer that waited in vain
goes ahead without the turn, and a store where nothing can be locked works as before.

A turnstile of two locks: a writer waits for the *gate*, then, through the gate, for the *turn*, and the gate
opens again once the turn has come. A writer that has just given the turn back is therefore behind at least
one that waited. Between processes, both are byte-range locks on a file beside the store, which end with the
process, however it ends.
"""

import os
import random
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows: writers outrun each other, and try again
    fcntl = None

#: Seconds between two looks of the one that is next, and of those behind it.
NEXT, BEHIND = 0.0003, 0.005


class Turns:
    """Turns among the threads of this process, by name."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew, as in a forked child, which has none of the other threads."""
        self._locks: dict[Hashable, tuple[threading.Lock, threading.Lock]] = {}
        self._holders: dict[Hashable, int] = {}
        self._changing = threading.Lock()

    def holds(self, name: Hashable) -> bool:
        """Whether this thread has the turn."""
        return self._holders.get(name) == threading.get_ident()

    @contextmanager
    def take(self, name: Hashable, patience: float) -> Iterator[bool]:
        """Wait for the turn; yields whether it came in time. A thread that has it already goes on."""
        if self.holds(name):
            yield True
            return
        with self._changing:
            gate, turn = self._locks.setdefault(name, (threading.Lock(), threading.Lock()))
        give_up = time.monotonic() + patience
        came = False
        if gate.acquire(timeout=patience):
            came = turn.acquire(timeout=max(0.0, give_up - time.monotonic()))
            gate.release()
        if came:
            self._holders[name] = threading.get_ident()
        try:
            yield came
        finally:
            if came:
                del self._holders[name]
                turn.release()


class FileTurns:
    """Turns among processes: two bytes of a file per study.

    Locks of this kind belong to the process, and end when any descriptor of the file is closed: there is one
    per process and file, for all of its threads.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.users = 0
        self._file: int | None = None
        self.forget()

    def forget(self) -> None:
        """Begin anew in a forked child, which has neither the threads nor the locks."""
        self._threads = Turns()
        self._inside: set[int] = set()

    @contextmanager
    def take(
        self, study: int, patience: float, meanwhile: Callable[[], object] | None = None
    ) -> Iterator[bool]:
        """Wait for the turn; yields whether it came in time. Once this writer is next, call ``meanwhile``."""
        give_up = time.monotonic() + patience
        with self._threads.take(study, patience) as first:
            if not first or study in self._inside or not self._open():
                yield first
                return
            came = self._through(study, give_up, meanwhile)
            self._inside.add(study)
            try:
                yield came
            finally:
                self._inside.discard(study)
                if came:
                    self._unlock(2 * study + 1)

    def close(self) -> None:
        """Let go of the file, and remove it if no other process is using it."""
        if self._file is None:
            return
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if self._in_place():
                self.path.unlink(missing_ok=True)
        except OSError:
            pass  # somebody waits, or nothing may be removed here
        os.close(self._file)
        self._file = None

    def _through(self, study: int, give_up: float, meanwhile: Callable[[], object] | None) -> bool:
        gate, turn = 2 * study, 2 * study + 1
        if not self._wait(gate, give_up, BEHIND):
            return False
        try:
            if meanwhile is not None:
                meanwhile()
            return self._wait(turn, give_up, NEXT)
        finally:
            self._unlock(gate)

    def _wait(self, byte: int, give_up: float, pause: float) -> bool:
        while True:
            try:
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
                return True
            except (BlockingIOError, PermissionError):  # taken
                if time.monotonic() > give_up:
                    return False
                time.sleep(pause * random.uniform(0.5, 1.5))
            except OSError:  # a file system without locks
                return False

    def _unlock(self, byte: int) -> None:
        if self._file is not None:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, byte)

    def _in_place(self) -> bool:
        try:
            there, mine = self.path.stat(), os.fstat(self._file)  # type: ignore[arg-type]
        except OSError:
            return False
        return (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino)

    def _open(self) -> bool:
        """Whether there is a file to lock; made anew if somebody tidied it away."""
        if fcntl is None:
            return False
        if self._file is not None and self._in_place():
            return True
        if self._file is not None:
            os.close(self._file)
            self._file = None
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError:  # a folder where nothing may be made
            return False
        return True


_FILES: dict[Path, FileTurns] = {}
#: Reentrant: a store that is collected as garbage gives its turns back wherever this thread happens to be.
_CHANGING = threading.RLock()


def turns_at(path: Path) -> FileTurns:
    """The turns of this process at a file; give them back with `leave`."""
    with _CHANGING:
        turns = _FILES.setdefault(path, FileTurns(path))
        turns.users += 1
        return turns


def leave(turns: FileTurns) -> None:
    """Give turns back; the last user closes the file."""
    with _CHANGING:
        turns.users -= 1
        if turns.users <= 0:
            _FILES.pop(turns.path, None)
            turns.close()


def _after_fork() -> None:
    # Locks of threads that do not exist in the child would never be given back.
    global _CHANGING
    _CHANGING = threading.RLock()
    for turns in _FILES.values():
        turns.forget()


def on_fork(forget: Callable[[], None]) -> None:
    """Call this in a forked child, where there is such a thing."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=forget)


on_fork(_after_fork)
