"""Rows in blocks that stay in the cache, over as many threads as BLAS may use; and routines of LAPACK.

Those are SciPy's, loaded at their first use: importing ``scipy.linalg`` takes longer than importing all of
noisewise, so a process that only reads a file or prints a help page does not load it.
"""

import contextlib
import functools
import itertools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray


class Routines(NamedTuple):
    """What each does is said by its name; arguments are those of the Fortran routine."""

    solve_triangular: Callable[..., Any]  # trtrs: one right-hand side
    solve_many: Callable[..., Any]  # trsm: many right-hand sides


@functools.cache
def routines() -> Routines:
    """The double-precision routines."""
    from scipy.linalg import blas, lapack

    return Routines(lapack.dtrtrs, blas.dtrsm)


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS use one thread: with several it adds in another order, and processes slow each other down."""
    from threadpoolctl import threadpool_limits

    with _limit.lock:
        if _limit.users == 0:
            _limit.limits = threadpool_limits(1, user_api="blas")
        _limit.users += 1
    try:
        yield
    finally:
        with _limit.lock:
            _limit.users -= 1
            if _limit.users == 0:
                _limit.limits.restore_original_limits()


#: The limit of this process, shared by its threads.
_limit: Any = SimpleNamespace(lock=threading.Lock(), users=0, limits=None)


Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Result = TypeVar("Result")

#: Rows handled at a time.
ROWS_PER_BLOCK = 32768
#: Numbers of a block that a thread keeps memory for; beyond that the arithmetic costs more than the memory.
MOST_WIDENED = 1 << 22
#: With fewer rows, threads cost more than they bring.
MANY = 250_000


def row_blocks(n: int) -> Iterator[slice]:
    """Consecutive slices that cover n rows."""
    for start in range(0, n, ROWS_PER_BLOCK):
        yield slice(start, min(start + ROWS_PER_BLOCK, n))


def fits_one_block(n: int) -> bool:
    """Whether n rows are one block, for which going through blocks would take longer than the work."""
    return n <= ROWS_PER_BLOCK


def map_rows(task: Callable[[slice], Result], n: int) -> list[Result]:
    """The results of ``task`` on each block of n rows, in order.

    Threads of our own work on whole blocks, each with a BLAS of one thread: a product with so few
    columns gains little from BLAS's threads, and nothing else would gain from them at all. For tasks
    that read the vectors: a few operations on one number per row are done before two threads have
    handed each other the interpreter's lock.
    """
    threads = _blas().threads() if n >= MANY else 1
    if threads == 1:
        return [task(rows) for rows in row_blocks(n)]

    # Every thread takes a run of blocks: fewer hand-overs of the interpreter's lock.
    def work(blocks: list[slice]) -> list[Result]:
        return [task(rows) for rows in blocks]

    blocks = list(row_blocks(n))
    cuts = [len(blocks) * i // threads for i in range(threads + 1)]
    runs = [blocks[first:last] for first, last in itertools.pairwise(cuts)]
    with _blas().one_thread():
        return [result for results in _pool(threads).map(work, runs) for result in results]


_own = threading.local()


def workspace(rows: slice) -> tuple[Floats, Floats]:
    """Two arrays as long as the block, the same every time in one thread.

    Allocating fresh ones for every block would cost more than
    the arithmetic on them.
    """
    size = rows.stop - rows.start
    if getattr(_own, "size", 0) < size:
        _own.size, _own.arrays = size, (np.empty(size), np.empty(size))
    one, other = _own.arrays
    return one[:size], other[:size]


def widened(block: NDArray[Any]) -> Floats:
    """A block of single-precision numbers as float64, in memory that this thread's next call uses again.

    It lies in memory as ``block.astype`` would lay it, so that products with it are the same.
    """
    if block.size > MOST_WIDENED:
        return block.astype(np.float64)
    kept = getattr(_own, "widened", None)
    if kept is None or kept.size < block.size:
        kept = _own.widened = np.empty(block.size)
    by_column = block.ndim == 2 and block.strides[0] < block.strides[1]
    wide: Floats = kept[: block.size].reshape(block.shape, order="F" if by_column else "C")
    np.copyto(wide, block)
    return wide


class _Blas:
    """The linear algebra library behind NumPy and how many threads it may use."""

    def __init__(self) -> None:
        from threadpoolctl import ThreadpoolController

        self._controller = ThreadpoolController().select(user_api="blas")

    def threads(self) -> int:
        return max((library.num_threads for library in self._controller.lib_controllers), default=1)

    def one_thread(self) -> Any:
        return self._controller.limit(limits=1)


@functools.cache
def _blas() -> _Blas:
    return _Blas()


@functools.cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="noisewise")
