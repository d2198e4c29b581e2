"""Sets with finitely many vertices: a convex function is largest at one of them, so all are tried.

Vertices come as pairs of rows of two tables, ``(left_i, right_j)``: a product of a thousand by a thousand
makes a million vertices, and ``‖(l, r)‖² = ‖l‖² + ‖r‖² + 2·lᵀCr`` is computed from the two tables.
A plain list of vertices is one table, the other being a single row without entries.
"""

from typing import NamedTuple

import numpy as np

from noisewise.actions.oracle_set import Oracle
from noisewise.core.blocks import Floats
from noisewise.core.native.verbs import verb
from noisewise.core.selection import TIE, first_largest

#: The largest number of vertices that are tried one by one.
MOST_VERTICES = 2**20


class Vertices(NamedTuple):
    """All pairs of a row on the left and a row on the right."""

    left: Floats  # (n_left, dim_left)
    right: Floats  # (n_right, dim_right)
    gray: bool  # whether the right rows are the corners of a box, in the order of binary numbers


@verb
def contrast_values(
    shape: Vertices, theta: Floats, covariance: Floats, radius: float, origin: Floats
) -> Floats:
    """``<θ, a - origin> + radius·‖a - origin‖`` at every vertex, (n_left·n_right,)."""
    cut = shape.left.shape[1]
    left, right = shape.left - origin[:cut], shape.right - origin[cut:]
    values = np.add.outer(left @ theta[:cut], right @ theta[cut:])
    if radius > 0.0:
        own_left = np.einsum("ij,ij->i", left @ covariance[:cut, :cut], left)
        own_right = np.einsum("ij,ij->i", right @ covariance[cut:, cut:], right)
        squared = (left @ (2.0 * covariance[:cut, cut:])) @ right.T
        squared += own_left[:, None]
        squared += own_right
        np.sqrt(np.maximum(squared, 0.0, out=squared), out=squared)
        squared *= radius
        values += squared
    return values.ravel()


def take(shape: Vertices, vertex: int, out: Floats) -> None:
    """Write a vertex."""
    n_right = len(shape.right)
    cut = shape.left.shape[1]
    out[:cut] = shape.left[vertex // n_right]
    out[cut:] = shape.right[vertex % n_right]


def contrast(
    shape: Vertices, theta: Floats, covariance: Floats, radius: float, origin: Floats, out: Floats
) -> float:
    """The vertex with the largest ``<θ, a - origin> + radius·‖a - origin‖``."""
    values = contrast_values(shape, theta, covariance, radius, origin)
    vertex = first_largest(values, np.ones(values.size, np.bool_))
    take(shape, vertex, out)
    largest_value = values.max()
    return float(largest_value + TIE * abs(largest_value))


def largest(shape: Vertices, direction: Floats, covariance: Floats, reach: float, out: Floats) -> float:
    """The vertex with the largest ``<direction, a> + reach·‖a‖``."""
    if reach > 0.0:
        return contrast(shape, direction, covariance, reach, np.zeros(direction.size), out)
    # Without a norm the two halves of a vertex are chosen apart.
    cut = shape.left.shape[1]
    left = np.dot(shape.left, direction[:cut])
    right = np.dot(shape.right, direction[cut:])
    row = first_largest(left, np.ones(left.size, np.bool_))
    take(shape, row * right.size + first_largest(right, np.ones(right.size, np.bool_)), out)
    top = left.max() + right.max()
    return float(top + TIE * abs(top))


ORACLE = Oracle(largest, contrast)


def one_table(vertices: Floats) -> Vertices:
    """A plain list of vertices."""
    return Vertices(vertices, np.zeros((1, 0)), False)


def corners(low: Floats, high: Floats) -> Floats:
    """The corners of a box, (2^dim, dim), in the order of binary numbers: the last entry changes fastest."""
    dim = low.size
    bits = (np.arange(2**dim)[:, None] >> np.arange(dim - 1, -1, -1)) & 1
    return np.where(bits == 1, high, low)


def two_tables(low: Floats, high: Floats) -> Vertices:
    """The corners of a box, half of the entries in each table."""
    cut = low.size // 2
    return Vertices(corners(low[:cut], high[:cut]), corners(low[cut:], high[cut:]), True)
