"""Progress and warnings of a computation, for listeners.

Each thread, and each request of a server, has its own listeners: filters of `warnings` are those of the whole
process, and a request that set them would hear what is said to others.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

#: What is being done, how much of it is done, and how much there is.
Watcher = Callable[[str, int, int], None]


class HeardWarning(NamedTuple):
    """A warning that was caught for a listener."""

    category: type[Warning]
    message: str


_warnings: ContextVar[list[HeardWarning] | None] = ContextVar("noisewise warnings", default=None)
_watcher: ContextVar[Watcher | None] = ContextVar("noisewise watcher", default=None)


def warn(message: str, category: type[Warning], *, stacklevel: int) -> None:
    """Warn the listener, or else as `warnings.warn` does, whose stack levels these are."""
    heard = _warnings.get()
    if heard is None:
        warnings.warn(message, category, stacklevel=stacklevel + 1)
    else:
        heard.append(HeardWarning(category, message))


@contextmanager
def heard_warnings() -> Iterator[list[HeardWarning]]:
    """Listen to the warnings of a block."""
    heard: list[HeardWarning] = []
    before = _warnings.set(heard)
    try:
        yield heard
    finally:
        _warnings.reset(before)


def progress(doing: str, done: int, of: int) -> bool:
    """Report progress, and return whether there is a listener."""
    watcher = _watcher.get()
    if watcher is not None:
        watcher(doing, done, of)
    return watcher is not None


@contextmanager
def heard_progress(watcher: Watcher) -> Iterator[None]:
    """Listen to how far the computations of a block are."""
    before = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(before)
