"""Copying an array into another, in compiled code one by one.

Numba takes seconds to compile what `out[:] = values` says when the two do not fit.
"""

from typing import Any

from noisewise.core.compiler.kernels import compiled_body


def copy_into(out: Any, values: Any) -> None:
    """``out[:] = values``, for arrays of one dimension and the same length."""
    out[:] = values


def fill(out: Any, value: Any) -> None:
    """``out[:] = value``, for a number."""
    out[:] = value


@compiled_body(copy_into)
def _copy_loops(out: Any, values: Any) -> None:
    for k in range(out.size):
        out[k] = values[k]


@compiled_body(fill)
def _fill_loops(out: Any, value: Any) -> None:
    for k in range(out.size):
        out[k] = value
