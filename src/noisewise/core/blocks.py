"""Arrays: their types, rows in blocks, and what is used of BLAS and LAPACK.

Routines are SciPy's, loaded at their first use: importing ``scipy.linalg`` takes longer than importing all of
noisewise, so a process that only reads a file or prints a help page does not load it.
"""

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

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

#: Rows handled at a time.
ROWS_PER_BLOCK = 32768


def median(values: Floats) -> float:
    """The median of some numbers, at least one: that of NumPy loads more than a command needs."""
    half = values.size // 2
    parts = np.partition(values, [max(0, half - 1), half])
    return float(parts[half] if values.size % 2 else 0.5 * (parts[half - 1] + parts[half]))


def distinct(values: NDArray[Any]) -> NDArray[Any]:
    """The different values, ascending: numpy.unique, without the part of NumPy that it loads."""
    ordered = np.sort(values)
    return np.asarray(ordered[np.append(True, ordered[1:] != ordered[:-1])[: ordered.size]])


def row_blocks(n: int) -> Iterator[slice]:
    """Consecutive slices that cover n rows."""
    for start in range(0, n, ROWS_PER_BLOCK):
        yield slice(start, min(start + ROWS_PER_BLOCK, n))
