"""The BLAS and LAPACK routines that NumPy does not offer, from SciPy, loaded at their first use.

Importing ``scipy.linalg`` takes longer than importing all of noisewise, so a process that only reads a file
or prints a help page does not load it.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple


class Routines(NamedTuple):
    """What each does is said by its name; arguments are those of the Fortran routine."""

    solve_triangular: Callable[..., Any]  # trtrs: one right-hand side
    solve_many: Callable[..., Any]  # trsm: many right-hand sides


@functools.cache
def routines() -> Routines:
    """The double-precision routines."""
    from scipy.linalg import blas, lapack

    return Routines(lapack.dtrtrs, blas.dtrsm)
