"""Coordinates in which a design's moment matrix is the identity, exact for any conditioning."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import qr, solve_triangular

from noisewise.designs.shared.algebra import inverse_root, product, singular_values, weighted_moment
from noisewise.designs.shared.rows import Floats

SAFE_AMPLIFICATION = 1e5  # above it a float64 product leaves fewer than ten digits


@dataclass(frozen=True)
class Frame:
    """Coordinates ``vector @ root``; g-values do not depend on which ``root`` is taken.

    So ``root`` (dim, rank) may be any matrix and counts as exact: the only error of a g-value is
    that of the product, ``amplification`` times the rounding unit. Where that is too much, the
    coordinates are the exact ``vector @ base``, rounded, times a harmless ``change``.
    """

    root: Floats
    amplification: float
    base: Floats
    change: Floats

    @property
    def rank(self) -> int:
        """Dimension of the span of the vectors."""
        return int(self.root.shape[1])

    @property
    def is_delicate(self) -> bool:
        """Whether a plain product would leave fewer than ten digits."""
        return self.amplification > SAFE_AMPLIFICATION

    def relative_error(self, *, single: bool) -> float:
        """Bound the relative error of a squared norm from a plain product with ``root``."""
        unit = float(np.finfo(np.float32 if single else np.float64).eps)
        return 4.0 * unit * self.amplification * float(np.sqrt(len(self.root)))

    def coordinates(self, block: Floats) -> Floats:
        """Return the coordinates of the rows of ``block`` to about ten digits or better."""
        if self.is_delicate:
            return product(exact_product(block, self.base), self.change)
        return product(block, self.root)

    def transformed(self, change: Floats) -> Frame:
        """Return the frame of the coordinates ``coordinates @ change``."""
        frame = frame_from(product(self.root, change))
        if not frame.is_delicate:
            return frame
        # Rounding root @ change would move the coordinates by amplification times the unit.
        return replace(frame, base=self.base, change=product(self.change, change))


def frame_from(root: Floats) -> Frame:
    """Return the frame of ``root`` with a bound of its amplification for *every* vector.

    With the columns of the vectors in units that give ``root`` rows of equal size,
    |a| |root| <= norm(|root|) |a| and |a root| >= (least singular value) |a| for a in the span.
    """
    sizes = np.max(np.abs(root), axis=1, keepdims=True)
    units = root / np.where(sizes > 0.0, sizes, 1.0)
    least = float(singular_values(units)[-1])
    largest = float(singular_values(np.abs(units))[0])
    return Frame(root, largest / max(least, 1e-300), root, np.eye(root.shape[1]))


def whitener(coordinates: Floats, weights: Floats) -> Floats:
    """Return ``C`` such that the design has the identity as moment in ``coordinates @ C``."""
    root = inverse_root(weighted_moment(coordinates, weights))
    if root is not None:
        return root
    # The moment squares the condition number, the rows themselves do not.
    scaled = coordinates * np.sqrt(weights)[:, None]
    upper = qr(scaled, mode="r", check_finite=False)[0][: scaled.shape[1]]
    identity = np.eye(len(upper))
    return np.asarray(solve_triangular(upper, identity, check_finite=False))


def exact_product(block: Floats, root: Floats) -> Floats:
    """Return ``block @ root`` as if computed with about 90 bits and rounded once.

    Both factors are cut into slices of so few bits that every product of slices is exact in
    float64 (error-free transformation of Ozaki, Ogita, Oishi and Rump, Numer. Algorithms 2012).
    """
    exponents = np.frexp(np.max(np.abs(root), axis=1))[1][:, None]
    root = np.ldexp(root, -exponents)  # powers of two: exact
    block = np.ldexp(block, exponents.T)
    bits = (53 - int(np.ceil(np.log2(len(root) + 1)))) // 2
    left = cut(block, bits, n_slices=3, axis=1)
    right = cut(root, bits, n_slices=4, axis=0)
    total = np.zeros((len(block), root.shape[1]))
    for order in range(4):
        for i in range(min(order, 2) + 1):
            total += product(left[i], right[order - i])
    return total


def cut(matrix: Floats, bits: int, *, n_slices: int, axis: int) -> list[Floats]:
    """Cut ``matrix`` into slices of ``bits`` bits below its largest entry along ``axis``."""
    slices = []
    for _ in range(n_slices):
        largest = np.max(np.abs(matrix), axis=axis, keepdims=True)
        shift = np.ldexp(0.75, np.frexp(largest)[1] + 54 - bits)
        high = (matrix + shift) - shift
        slices.append(high)
        matrix = matrix - high
    return slices
