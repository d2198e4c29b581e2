"""Who does pieces of work: `workers_on` makes one thing of all that people may hand over as ``on``.

A piece is something that can be pickled; the work is a function that other processes can import. Workers
return what they found, and write nothing: whoever asked keeps it.
"""

import contextlib
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from noisewise.core.spreading.arithmetic import arithmetic, difference
from noisewise.core.spreading.tasks import Kit

Piece = TypeVar("Piece")
Result = TypeVar("Result")

WANTED = (
    "`on` must be a Dask client or cluster, the address of a scheduler (such as 'tcp://10.0.0.1:8786'), the "
    "path of a scheduler file, or an executor of concurrent.futures; got {got}."
)


class Workforce(ABC):
    """Those who do pieces of work; to be closed, or used in a ``with``."""

    @property
    @abstractmethod
    def count(self) -> int:
        """How many pieces are done at the same time, as far as can be seen now; at least 1."""

    @abstractmethod
    def executor(self) -> Executor:
        """For single calls of functions: futures that end when somebody has done it."""

    @abstractmethod
    def arithmetics(self, compiled: bool) -> set[str]:
        """How the workers compute; several texts where last digits depend on who did what."""

    @abstractmethod
    def spread(
        self,
        work: Callable[..., Result],
        pieces: Iterable[Piece],
        *,
        shared: Any = None,
        kit: Kit | None = None,
        home_of: Callable[[Piece], Any] | None = None,
        name_of: Callable[[Piece], str] = repr,
    ) -> Iterator[tuple[Piece, Result]]:
        """Do every piece and yield it when it is done, with what came out; see `spread`."""

    def close(self) -> None:  # noqa: B027 - most have nothing to close
        """Let go of what was opened for this; what a person handed over stays open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def spread(
    work: Callable[..., Result],
    pieces: Iterable[Piece],
    on: Any,
    *,
    shared: Any = None,
    kit: Kit | None = None,
    home_of: Callable[[Piece], Any] | None = None,
    name_of: Callable[[Piece], str] = repr,
) -> Iterator[tuple[Piece, Result]]:
    """Do every piece on other processes or machines, and yield it when it is done, with what came out.

    Every piece is yielded once, in the order in which they are finished. A worker of a cluster that dies
    changes nothing: its pieces are done elsewhere. An exception in the work is raised, and ends the rest; so
    does leaving the loop.

    Args:
        work: A function of a piece that other processes can import.
        pieces: Things that can be pickled.
        on: What `workers_on` takes, or workers it has made: then a connection is opened once, not per call.
        shared: Something that all pieces need, sent to every worker once: then the work is called with it and
            the piece. Not None, and better not a ``Future``.
        kit: What pieces need on every worker, if anything.
        home_of: Pieces with the same home are done by the same worker as long as it lives, because it has
            what they read; default: by whoever is free.
        name_of: What a piece is called in an error.
    """
    with opened(on) as workers:
        if workers is None:
            raise TypeError(WANTED.format(got=None))
        yield from workers.spread(work, pieces, shared=shared, kit=kit, home_of=home_of, name_of=name_of)


@contextlib.contextmanager
def opened(on: Any) -> Iterator[Workforce | None]:
    """The workers, closed in the end if they were made for this; None for None, which is this machine."""
    if on is None or isinstance(on, Workforce):
        yield on
        return
    with workers_on(on) as workers:
        yield workers


def workers_on(on: Any) -> Workforce:
    """Those who do pieces of work.

    Args:
        on: A Dask ``Client`` or cluster, the address of a scheduler, the path of a scheduler file, or an
            executor of `concurrent.futures`; workers that this function made are handed back.
    """
    if isinstance(on, Workforce):
        return on
    if is_dask(on) or isinstance(on, str | os.PathLike):
        # Loaded here: nothing else imports Dask.
        from noisewise.core.spreading.dask_workers import connect

        return connect(os.fspath(on) if isinstance(on, os.PathLike) else on)
    if isinstance(on, Executor):
        from noisewise.core.spreading.executor_workers import ExecutorWorkers

        return ExecutorWorkers(on)
    raise TypeError(WANTED.format(got=_called(on)))


def mixture(finished: Iterable[str], workers: Workforce | None) -> tuple[int, str] | None:
    """How many results were computed otherwise than new ones will be, and what differs; None if none.

    Args:
        finished: How each of them was computed (`arithmetic`); empty where that is not known.
        workers: Who computes the new ones; None: this process.
    """
    known = [one for one in finished if one]
    if not known:
        return None
    here: set[str] = set()
    for compiled in (False, True):
        here |= {arithmetic(compiled)} if workers is None else workers.arithmetics(compiled)
    others = [one for one in known if not set(one.split(" | ")) <= here]
    if not others:
        return None
    nearest = min(here, key=lambda own: (("numba" in own) != ("numba" in others[0]), own))
    return len(others), difference(others[0], nearest)


def is_dask(on: Any) -> bool:
    """Whether this is a client or a cluster of Dask, found out without loading Dask."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return False
    return isinstance(on, distributed.Client | distributed.deploy.Cluster)


def is_place(on: Any) -> bool:
    """Whether this leads to a Dask cluster, as far as can be seen without going there."""
    if isinstance(on, str):
        return is_address(on) or Path(on).is_file()
    return isinstance(on, os.PathLike) or is_dask(on)


def is_address(text: str) -> bool:
    """Whether a text is an address, and no path of a scheduler file."""
    return "://" in text or (":" in text and not Path(text).exists())


def _called(on: Any) -> str:
    said = repr(on)
    return said if len(said) < 80 else f"a {type(on).__name__}"
