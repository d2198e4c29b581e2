"""Writing into an array that is there already, in compiled code one by one.

Numba takes seconds to compile what `out[:] = values` says when the two do not fit.
"""

from typing import Any

from noisewise.core.compiler.kernels import compiled_body


def copy_into(out: Any, values: Any) -> None:
    """``out[:] = values``, for arrays of one dimension and the same length."""
    out[:] = values


def copy_matrix_into(out: Any, values: Any) -> None:
    """The same for matrices of the same shape."""
    out[:] = values


def add_into(out: Any, values: Any, scale: float) -> None:
    """``out[:] += scale·values``, for arrays of one dimension and the same length."""
    out += scale * values


def fill(out: Any, value: Any) -> None:
    """``out[:] = value``, for a number and an array of one dimension."""
    out[:] = value


@compiled_body(copy_into)
def _copy_loops(out: Any, values: Any) -> None:
    for k in range(out.size):
        out[k] = values[k]


@compiled_body(copy_matrix_into)
def _copy_matrix_loops(out: Any, values: Any) -> None:
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = values[i, j]


@compiled_body(add_into)
def _add_loops(out: Any, values: Any, scale: float) -> None:
    for k in range(out.size):
        out[k] += scale * values[k]


@compiled_body(fill)
def _fill_loops(out: Any, value: Any) -> None:
    for k in range(out.size):
        out[k] = value
