"""Whether a SQLite file is still the one that was opened: same place, same store, nothing put back.

Read straight from the file, past SQLite, whose cache does not see a file that was replaced under it. One
descriptor per process and file, kept until the last handle is closed: closing *any* descriptor of a file
ends the locks that SQLite holds on it in this process, after which another process may remove the
write-ahead log with everything in it.
"""

import os
import threading
from pathlib import Path
from typing import NamedTuple

from noisewise.study.stores.protocol import StoreChangedError
from noisewise.study.stores.turns import on_fork

MAGIC = b"SQLite format 3\0"
HEADER = 100


class Header(NamedTuple):
    """The first bytes of a file, or of a copy of them in the write-ahead log."""

    is_sqlite: bool
    counter: int  # "user version": grows by one with every change of ours
    mark: int  # "schema cookie": a random number since the store was made
    application: int
    length: int


def parse_header(found: bytes) -> Header:
    """What SQLite's file format says, section 1.3."""
    counter, mark, application = (int.from_bytes(found[at : at + 4], "big") for at in (60, 40, 68))
    return Header(found.startswith(MAGIC), counter, mark, application, len(found))


class _Open:
    """A descriptor, and how many handles use it."""

    def __init__(self, file: int) -> None:
        self.file, self.users = file, 0


_OPEN: dict[tuple[int, int], _Open] = {}
#: Reentrant: a store that is collected as garbage lets go wherever this thread happens to be.
_CHANGING = threading.RLock()


class Watch:
    """A look at the file past SQLite; one per handle."""

    def __init__(self, path: Path) -> None:
        self.path, self.label = path, repr(str(path))
        self._mark: int | None = None
        self._counter = 0
        self._place: tuple[int, int] | None = None
        self._open: _Open | None = None
        self._get()

    def header(self) -> Header:
        """The first bytes as they are in the file now."""
        return parse_header(_read(self._get().file))

    def _get(self) -> _Open:
        """The open file; after `close`, opened once more."""
        if self._open is not None:
            return self._open
        with _CHANGING:
            there = self.path.stat()
            place = there.st_dev, there.st_ino
            if place not in _OPEN:
                file = os.open(
                    self.path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
                )
                now = os.fstat(file)  # whatever happened between the two looks, this is what was opened
                place = now.st_dev, now.st_ino
                _OPEN[place] = _Open(file)
            self._open = _OPEN[place]
            self._open.users += 1
        # A handle stays with its file, also when it was closed in between.
        self._place = self._place or place
        return self._open

    def expect(self) -> Header:
        """From now on it must be the store that it is at this moment."""
        header = self.header()
        self._mark, self._counter = header.mark, header.counter
        self.check()
        return header

    def check(self) -> None:
        """Refuse a file that is not the one that was opened."""
        try:
            there = self.path.stat()
        except OSError:
            raise StoreChangedError(
                f"{self.label} was removed or moved away while it was open. Nothing more was written; put it "
                "back, or open the store where it is now."
            ) from None
        if (there.st_dev, there.st_ino) != self._place:
            raise self._replaced("another file has its name now")
        header = self.header()
        if not header.is_sqlite or (self._mark is not None and header.mark != self._mark):
            raise self._replaced("another store was copied over it")
        if header.counter < self._counter and self.header().counter < self._counter:
            raise self._replaced("an earlier state of it was copied over it")
        self._counter = max(self._counter, header.counter)

    def close(self) -> None:
        """Let go; the descriptor is closed when no handle of this process needs it."""
        with _CHANGING:
            if self._open is None:
                return
            self._open.users -= 1
            if self._open.users == 0:
                for place in [place for place, opened in _OPEN.items() if opened is self._open]:
                    del _OPEN[place]
                os.close(self._open.file)
            self._open = None

    def _replaced(self, how: str) -> StoreChangedError:
        return StoreChangedError(
            f"{self.label} was replaced while it was open: {how}. Nothing more was written; open the store "
            "again (noisewise restore replaces a store safely)."
        )


def _read(file: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(file, HEADER, 0)
    with _CHANGING:  # Windows
        os.lseek(file, 0, os.SEEK_SET)
        return os.read(file, HEADER)


def _after_fork() -> None:
    global _CHANGING
    _CHANGING = threading.RLock()


on_fork(_after_fork)
