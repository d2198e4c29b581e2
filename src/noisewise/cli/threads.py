"""One thread of the linear algebra library for small problems, one for each processor for large ones.

A study of a hundred options multiplies matrices that fit a cache. Threads make that slower, on a busy machine
many times: they wait for each other. So a command begins with one, unless the person has said how many.
"""

import functools
import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

Command = TypeVar("Command", bound=Callable[..., None])

#: What the libraries read when they are loaded.
VARIABLES = (
    "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)  # fmt: skip
#: The order of the largest matrix from which threads pay.
LARGE = 1000
_ours = False


def lightly(command: Command) -> Command:
    """The same command, beginning with one thread."""

    @functools.wraps(command)
    def light(*arguments: Any, **options: Any) -> None:
        begin_with_one()
        command(*arguments, **options)

    return light  # type: ignore[return-value]


def begin_with_one() -> None:
    """Let the library begin with one thread, if it is not loaded yet and nothing else was chosen."""
    global _ours
    if "numpy" in sys.modules or any(variable in os.environ for variable in VARIABLES):
        return
    _ours = True
    for variable in VARIABLES:
        os.environ[variable] = "1"


def environment() -> dict[str, str]:
    """The environment that the person gave, for other programs: without what `begin_with_one` has set."""
    return {name: value for name, value in os.environ.items() if not (_ours and name in VARIABLES)}


def threads_for(order: int) -> None:
    """Use all processors from here on for matrices of this order, if `begin_with_one` limited them."""
    if not _ours or order < LARGE:
        return
    from threadpoolctl import ThreadpoolController

    ThreadpoolController().limit(limits=os.cpu_count() or 1, user_api="blas")
