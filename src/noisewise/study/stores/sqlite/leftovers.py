"""Files that SQLite left beside a store: whether they belong to it.

SQLite takes any write-ahead log that has the right name for its own. One that a killed process left behind,
beside a file that was put there later, would become part of the new store. Every change of a store writes
its first page, with the store's mark and a counter, so the log says whose it is, and where it begins.
"""

import os
import time
from pathlib import Path
from typing import NamedTuple

from noisewise.study.stores.protocol import StoreChangedError
from noisewise.study.stores.sqlite.identity import HEADER, Header, Watch, parse_header

ENDINGS = ("-wal", "-shm", "-journal")
#: Sizes in SQLite's file format, section 4.1: the log's header, and a frame's before its page.
_LOG_HEADER, _FRAME = 32, 24
#: SQLite's own tidying (VACUUM) adds one to the mark.
_TIDIED = 8
#: Looks at a log that somebody may be writing, and seconds between them.
LOOKS, PAUSE = 5, 0.05


def beside(path: Path, ending: str) -> Path:
    """The file with this ending."""
    return path.with_name(path.name + ending)


def refuse_orphans(path: Path) -> None:
    """Refuse to make a store where files of another one were left behind."""
    left = [beside(path, ending) for ending in ENDINGS if beside(path, ending).exists()]
    if left and not path.exists():  # if it is there now, somebody has just made it
        names = " and ".join(repr(one.name) for one in left)
        raise StoreChangedError(
            f"{str(path)!r} is not there, but {names} beside it {'is' if len(left) == 1 else 'are'}: left by "
            "another store, with changes of it that are nowhere else. Put its file back, or move what was "
            "left away. Nothing was changed."
        )


class Log(NamedTuple):
    """What the first pages in a write-ahead log say."""

    salts: bytes  # change when the log begins anew
    first: Header | None
    last: Header | None


def read_log(path: Path) -> Log | None:
    """The first and the last copy of the first page that are valid in the log; None without a log."""
    try:
        file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        return None
    with os.fdopen(file, "rb") as log:
        head = log.read(_LOG_HEADER)
        if len(head) < _LOG_HEADER:
            return Log(b"", None, None)
        size = int.from_bytes(head[8:12], "big")
        salts, at = head[16:24], _LOG_HEADER
        first: Header | None = None
        last: Header | None = None
        newest: Header | None = None
        while True:
            log.seek(at)
            frame = log.read(_FRAME + HEADER)
            if len(frame) < _FRAME + HEADER or frame[8:16] != salts:
                return Log(salts, first, last)
            if newest is not None:
                first, last, newest = first or newest, newest, None
            if int.from_bytes(frame[:4], "big") == 1:
                # It counts once another frame follows. SQLite writes the head of a frame before its page, and
                # the first page before the others of a change: a process that was killed between the two
                # leaves, at the very end, a head above what an earlier log had in its place.
                newest = parse_header(frame[_FRAME:])
            at += _FRAME + size


def check_log(watch: Watch) -> None:
    """Refuse a write-ahead log that does not belong to the file beside it."""
    path = beside(watch.path, "-wal")
    for look in range(LOOKS):
        before, log, after = watch.header(), read_log(path), watch.header()
        if log is None or log.first is None or log.last is None or _belongs(before, log):
            return
        # Somebody may have been writing: it is amiss only if nothing moves.
        if look == LOOKS - 1 or (before == after and read_log(path) == log and look > 0):
            break
        time.sleep(PAUSE)
    raise StoreChangedError(
        f"{path.name!r} beside {watch.label} belongs to another store, or to another state of this one: one "
        "of the two was replaced or put back by hand. Put back what belongs together, or replace the store "
        "by a backup (noisewise restore). Nothing was changed."
    )


def _belongs(header: Header, log: Log) -> bool:
    first, last = log.first, log.last
    assert first is not None
    assert last is not None
    if header.application != first.application:
        return False
    if not 0 <= first.mark - header.mark <= _TIDIED:
        return False
    # The log begins with the state that the file was in, and the file may have got a part of the log since.
    return first.counter - 1 <= header.counter <= last.counter
