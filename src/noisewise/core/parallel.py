"""One parallel map: pieces of work here, in processes, on any executor, or on a Dask cluster.

Every piece is a pure function of its input, and BLAS uses one thread everywhere, so results do not depend on
how many workers there are, nor on which of them did what.
"""

import contextlib
import os
import signal
import sys
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from noisewise.core.blocks import one_blas_thread
from noisewise.core.files import sources_hash
from noisewise.core.remarks import progress
from noisewise.core.version import __version__

Piece = TypeVar("Piece")
Result = TypeVar("Result")

#: Seconds of work in this process before others are started by default, and before a bar is drawn.
ALONE = 1.0
#: Seconds between looks at what is finished (on Windows, Ctrl-C waits for them), and to reach a scheduler.
TICK, TO_CONNECT = 0.5, 10.0
#: Times in a row that a process may die before any piece is finished.
ATTEMPTS = 3


class WorkersError(ConnectionError):
    """The workers cannot be reached, or died before they finished their pieces."""


def spread(
    work: Callable[[Piece], Result], pieces: Iterable[Piece], on: Any = None, *, label: str = ""
) -> Iterator[tuple[Piece, Result]]:
    """Do all pieces, and yield each with its result as soon as it is done.

    An error in a piece, Ctrl-C, or leaving the loop cancels the others. Pieces of a process or Dask worker
    that dies are done again by the others.

    Args:
        work: A function of one piece. Functions of scripts and notebooks are sent by value.
        pieces: Inputs that can be pickled. A range counts for its length on the progress bar.
        on: As for `executor_on`. Default: this process for the first second, then all processors.
        label: Title of the progress bar, which is drawn if standard error is a terminal.
    """
    todo = dict(enumerate(pieces))
    bar, start = _Bar(label, sum(map(_size, todo.values()))), time.monotonic()
    on = int(on) if isinstance(on, str) and on.isdigit() else on
    workers = processors() if on is None else on if isinstance(on, int) else None
    with contextlib.closing(bar), one_blas_thread():
        while todo and workers is not None:
            if min(workers, len(todo)) > 1 and (on is not None or time.monotonic() - start > ALONE):
                break
            place, piece = next(iter(todo.items()))
            result = work(piece)
            del todo[place]
            bar.advance(_size(piece))
            yield piece, result
        with contextlib.closing(_elsewhere(work, todo, on)) as results:
            for piece, result in results:
                bar.advance(_size(piece))
                yield piece, result


def processors() -> int:
    """The number of processors this process may use; 1 in a worker, whose neighbours use the others."""
    from multiprocessing import parent_process

    if getattr(_local, "is_working", False) or parent_process() is not None:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def executor_on(on: Any, at_most: int = sys.maxsize) -> Iterator[Executor]:
    """The executor that is meant; a connection opened for this call is closed afterwards.

    Args:
        on: An executor of `concurrent.futures`; a Dask client, or the address or file of its scheduler; or
            the number of processes on this machine, None for one per processor. These processes start once,
            are used again, and do not run the calling script a second time.
        at_most: Number of processes that would have something to do.
    """
    if on is None or (isinstance(on, int) and on > 0):
        from loky import get_reusable_executor

        count, ctrl_c = min(on or processors(), at_most), (signal.SIGINT, signal.SIG_IGN)
        yield get_reusable_executor(count, timeout=60, initializer=signal.signal, initargs=ctrl_c)
    elif isinstance(on, str | os.PathLike):
        with contextlib.closing(_connect(os.fspath(on))) as client:
            yield client.get_executor(pure=False)
    elif hasattr(on, "get_executor"):
        yield on.get_executor(pure=False)
    elif callable(getattr(on, "submit", None)):
        yield on
    else:
        raise TypeError(
            "`on` must be a number of processes, an executor of concurrent.futures, a Dask client, or the "
            f"address or file of a Dask scheduler; got {on!r}."
        )


#: Each thread unpacks work for itself, so pieces share nothing.
_local = threading.local()


class _Parcel(NamedTuple):
    """Work on its way to other processes; pickled once, and unpacked once by every worker."""

    token: str
    content: bytes
    sender: str  # versions that must be the same on all workers


def _elsewhere(
    work: Callable[[Piece], Result], todo: dict[int, Piece], on: Any
) -> Generator[tuple[Piece, Result]]:
    """Do the pieces on workers; finished ones leave ``todo``."""
    if not todo:
        return
    import cloudpickle

    parcel: Any = _Parcel(uuid.uuid4().hex, cloudpickle.dumps(work), _versions())
    failures, ours = 0, on is None or isinstance(on, int)
    while todo:
        with executor_on(on, len(todo)) as executor:
            running: dict[Future[Any], int] = {}
            try:
                # On Dask a task, computed again if its worker dies, and sent to every worker once.
                client = getattr(executor, "_client", None)
                with warnings.catch_warnings():
                    warnings.filterwarnings("ignore", "Sending large graph")
                    sent = parcel if client is None else client.submit(_Parcel, *parcel, pure=False)
                running |= {executor.submit(_do, sent, piece): place for place, piece in todo.items()}
                while running:
                    for future in wait(running, TICK, FIRST_COMPLETED).done:
                        result, failures = future.result(), 0
                        yield todo.pop(running.pop(future)), result
            except BaseException as error:
                for future in running:
                    future.cancel()
                if ours:
                    executor.shutdown(kill_workers=True)  # type: ignore[call-arg]
                if not isinstance(error, BrokenExecutor) and type(error).__name__ != "KilledWorker":
                    raise
                failures += 1
                if not ours or failures == ATTEMPTS:
                    why = (
                        f"{len(todo)} pieces are left, and every worker that began them died, often for lack"
                    )
                    raise WorkersError(f"{why} of memory. What is finished is kept. ({error})") from error


def _do(parcel: _Parcel, piece: Any) -> Any:
    """A piece, on a worker."""
    if parcel.sender != _versions():
        raise WorkersError(f"Workers must have the same versions: {_versions()} there, {parcel.sender} here.")
    if getattr(_local, "token", "") != parcel.token:
        import pickle

        _local.work, _local.token = pickle.loads(parcel.content), parcel.token
    _local.is_working = True
    try:
        with one_blas_thread():
            return _local.work(piece)
    finally:
        _local.is_working = False


def _versions() -> str:
    return f"noisewise {__version__} ({sources_hash(('.',))}) with NumPy {np.__version__}"


def _connect(place: str) -> Any:
    """A client of the Dask scheduler at an address, or named in a file."""
    try:
        from distributed import Client
    except ImportError as missing:
        raise ModuleNotFoundError(f"{missing}: clusters need pip install 'noisewise[cluster]'.") from None
    where = {"scheduler_file": place} if Path(place).is_file() else {"address": place}
    try:
        return Client(**where, timeout=TO_CONNECT, set_as_default=False)
    except (OSError, TimeoutError, ValueError, RuntimeError) as error:
        raise WorkersError(f"`on` must lead to a Dask scheduler that answers; {place!r}: {error}") from None


def _size(piece: Any) -> int:
    return len(piece) if isinstance(piece, range) else 1


class _Bar:
    """Progress: reported to a listener, or drawn on a terminal after a while."""

    def __init__(self, label: str, total: int) -> None:
        self._label, self._total, self._done, self._start = label, total, 0, time.monotonic()
        self._bar: Any = None

    def advance(self, count: int) -> None:
        """Some more is done."""
        self._done += count
        if not self._label or progress(self._label, self._done, self._total):
            return
        if self._bar is None and sys.stderr.isatty() and time.monotonic() - self._start > ALONE:
            from rich.console import Console
            from rich.progress import Progress

            self._bar = Progress(console=Console(stderr=True), transient=True)
            self._bar.add_task(self._label, total=self._total)
            self._bar.start()
        if self._bar is not None:
            self._bar.update(0, completed=self._done)

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()
