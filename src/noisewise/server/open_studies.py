"""The studies of a store, each kept open once for all requests, one at a time on each."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from noisewise.server.problems import ProblemError
from noisewise.study.creation import begin_study
from noisewise.study.stores.address import open_store
from noisewise.study.stores.protocol import Storage, StoreChangedError, unknown
from noisewise.study.study import Study

#: Seconds that a request waits for others on the same study.
PATIENCE = 30.0
#: The same for one of many, such as a row of the list: a study at work must not hide the others.
SHORT_PATIENCE = 1.0
#: Seconds between two looks at the names of studies.
LOOK = 1.0
#: Studies of which tables and parts of pages are remembered.
MOST_REMEMBERED = 64
Made = TypeVar("Made")


class OpenStudies:
    """Open studies by name; each catches up with its log when it is used, so others may write to the store.

    Threads take turns: `use` holds the lock of one study, and of no other.
    """

    def __init__(
        self,
        store: Any,
        *,
        read_only: bool = False,
        clock: Callable[[], float] = time.time,
        patience: float = PATIENCE,
    ) -> None:
        #: The address, for workers that open the store by themselves.
        self.place = store
        self.read_only = read_only
        self.storage: Storage = open_store(store, read_only=read_only)
        self.clock = clock
        self._clock, self._patience = clock, patience
        self._open: dict[str, Study] = {}
        self._locks: dict[str, threading.RLock] = {}
        self._made: dict[str, tuple[str, dict[str, Any]]] = {}
        self._changing = threading.Lock()
        self._looked = 0.0

    @property
    def n_open(self) -> int:
        """How many studies are open."""
        return len(self._open)

    def names(self) -> list[str]:
        """The studies there are now, the oldest first."""
        return self.storage.names()

    @contextmanager
    def use(self, name: str, *, write: bool = False, patience: float | None = None) -> Iterator[Study]:
        """A study, caught up with its log, for this thread alone until the block ends.

        Args:
            name: Which one; `ProblemError` 404 if there is none.
            write: Whether the block may change it.
            patience: Seconds to wait for others; `ProblemError` 503 after that.
        """
        patience = self._patience if patience is None else patience
        if write:
            self.check_writable()
        lock = self._lock(name)
        if not lock.acquire(timeout=patience):
            raise ProblemError(
                503,
                f"others have been working on {name!r} for {patience:g} s; try again.",
                headers={"Retry-After": "5"},
            )
        try:
            yield self._study(name)
        except StoreChangedError:
            self._open.pop(name, None)  # the next request opens what is there now
            raise
        finally:
            lock.release()

    def number(self, name: str, *, patience: float | None = None) -> int:
        """How many events the log has: the study's version, which is its ETag."""
        with self.use(name, patience=patience) as study:
            return study.n_events

    def remembered(self, study: Study, what: str, make: Callable[[], Made]) -> Made:
        """Find what was made before of a study that this thread uses; made anew when its log goes on."""
        head, name = study.head, study.name
        with self._changing:
            entry = self._made.pop(name, (head, {}))
            entry = self._made[name] = entry if entry[0] == head else (head, {})
            while len(self._made) > MOST_REMEMBERED:
                del self._made[next(iter(self._made))]
        if what not in entry[1]:
            entry[1][what] = make()
        found: Made = entry[1][what]
        return found

    def create(self, name: str, **question: Any) -> Study:
        """Begin a study; the arguments are those of `create_study`."""
        self.check_writable()
        return begin_study(self.storage, name, self._clock, **question)

    def rename(self, name: str, new: str) -> None:
        """Give a study another name."""
        with self.use(name, write=True):
            self.storage.rename(name, new)
            self._open.pop(name, None)
        with self._changing:
            self._locks.pop(name, None)

    def check_writable(self) -> None:
        """Refuse a change where the server only reads."""
        if self.read_only:
            raise ProblemError(403, "this server only reads: it was started with --read-only.")

    def close(self) -> None:
        """Let go of everything."""
        self._open.clear()
        self.storage.close()

    def _lock(self, name: str) -> threading.RLock:
        with self._changing:
            found = self._locks.get(name)
            fresh = time.monotonic() - self._looked < LOOK
        if found is not None and fresh:
            return found
        names = self.names()
        self._forget_renamed(names)
        if name not in names:  # or anybody could fill the memory with locks
            raise ProblemError(404, str(unknown(name, names).args[0]), error="KeyError")
        with self._changing:
            return self._locks.setdefault(name, threading.RLock())

    def _forget_renamed(self, names: list[str]) -> None:
        """Let go of studies that another process has renamed: their old name may be given to another."""
        with self._changing:
            self._looked = time.monotonic()
            for gone in self._locks.keys() - set(names):
                del self._locks[gone]
                self._open.pop(gone, None)

    def _study(self, name: str) -> Study:
        study = self._open.get(name)
        if study is None:
            try:
                study = self._open[name] = Study(self.storage, name, self._clock)
            except KeyError as problem:  # renamed meanwhile
                raise ProblemError(404, str(problem.args[0]), error="KeyError") from None
        return study


class ServedStore:
    """The store as operations on it see it: a study of it is used as all requests use it."""

    def __init__(self, studies: OpenStudies) -> None:
        self._studies = studies

    def __getattr__(self, name: str) -> Any:
        return getattr(self._studies.storage, name)

    def rename(self, name: str, new: str) -> None:
        """Give a study another name."""
        self._studies.rename(name, new)

    @contextmanager
    def use(self, name: str) -> Iterator[Study]:
        """A study for this thread alone; one that others work on must not hide all others."""
        try:
            with self._studies.use(name, patience=SHORT_PATIENCE) as study:
                yield study
        except ProblemError as problem:
            raise OSError(problem.detail) from None
