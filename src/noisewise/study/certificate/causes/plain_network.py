"""Large networks in plain floats: chi-square, likelihood and leverages of independent options with blocks.

The fit behind a certificate is exact whatever the weights (`noisewise.study.models.solver`), and takes
a second for a thousand options that were compared with each other. To choose among causes many fits are
looked at, and floats are enough. With values only, options are eliminated one by one and the offsets of
blocks are left; with differences all unknowns are.
"""

from typing import NamedTuple

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.study.log.measurements import Codes, Columns
from noisewise.study.models.sums import totals

#: What is added to a diagonal of ones, so that rounding leaves no negative pivot.
RIDGE = 1e-13


class PlainFit(NamedTuple):
    """A fit, with everything in the order of the measurements."""

    squares: float
    rank: int
    log_det: float  # of the precision of what was determined
    residuals: Floats  # (N,): value less fit
    offsets: Floats  # (N,): of its block; 0 for differences
    parts: Codes  # (N,): which connected part it belongs to
    leverages: Floats | None  # (N,), if they were asked for


class PlainNetwork:
    """Measurements as differences of two nodes: two options, or an option and minus the offset of its block.

    Args:
        columns: The measurements.
    """

    def __init__(self, columns: Columns) -> None:
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        self._level = columns.minus < 0
        self._value = columns.value - (np.median(columns.value[self._level]) if self._level.any() else 0.0)
        self._value = np.where(self._level, self._value, columns.value)
        options, ends = np.unique(
            np.concatenate([columns.plus, columns.minus[~self._level]]), return_inverse=True
        )
        blocks, place = np.unique(columns.block[self._level], return_inverse=True)
        self._options, self._size = options.size, options.size + blocks.size
        self._plus = ends[: columns.plus.size]
        self._other = np.empty(columns.plus.size, dtype=np.int64)
        self._other[~self._level] = ends[columns.plus.size :]
        self._other[self._level] = options.size + place
        self._sign = np.where(self._level, 1.0, -1.0)
        links = coo_array(
            (np.ones(columns.plus.size), (self._plus, self._other)), shape=(self._size, self._size)
        )
        count, part = connected_components(links, directed=False)
        self._parts = part
        # The last node of each part is set to 0: a block's offset where there is one.
        last = np.zeros(count, dtype=np.int64)
        last[part] = np.arange(self._size)
        self._kept = np.ones(self._size, dtype=bool)
        self._kept[last] = False
        self.rank = self._size - count

    def solve(self, sigma: Floats, *, with_leverages: bool = False) -> PlainFit:
        """The fit with these standard errors."""
        unit = float(np.median(sigma))
        weight = np.square(unit / sigma)
        right = totals(self._plus, weight * self._value, self._size)
        right += totals(self._other, self._sign * weight * self._value, self._size)
        if self._level.all():
            unknowns, log_det, spread = self._bipartite(weight, right, with_leverages)
        else:
            unknowns, log_det, spread = self._dense(weight, right, with_leverages)
        fitted = unknowns[self._plus] + self._sign * unknowns[self._other]
        residuals = self._value - fitted
        offsets = np.where(self._level, unknowns[self._other], 0.0)
        squares = float(np.sum(np.square(residuals / sigma)))
        return PlainFit(
            squares, self.rank, log_det - 2.0 * self.rank * float(np.log(unit)), residuals, offsets,
            self._parts[self._plus], None if spread is None else weight * spread,
        )  # fmt: skip

    def leverages(self, sigma: Floats) -> Floats:
        """How much of its fitted value each measurement decides, (N,)."""
        found = self.solve(sigma, with_leverages=True).leverages
        assert found is not None
        return found

    def _bipartite(
        self, weight: Floats, right: Floats, with_leverages: bool
    ) -> tuple[Floats, float, Floats | None]:
        """Options eliminated; unknowns, log det, and the variance of each fitted value."""
        n, kept = self._options, self._kept[self._options :]
        place = self._other - n
        own = totals(self._plus, weight, n)
        shared = np.zeros((n, self._size - n))
        np.add.at(shared, (self._plus, place), weight)
        shared, right_blocks = shared[:, kept], right[n:][kept]
        share = shared / own[:, None]
        normal = np.diag(totals(place, weight, self._size - n)[kept]) - shared.T @ share
        inverse, log_det = _inverse(normal)
        offsets = inverse @ (right_blocks - share.T @ right[:n])
        unknowns = np.zeros(self._size)
        unknowns[:n] = right[:n] / own - share @ offsets
        unknowns[n:][kept] = offsets
        log_det += float(np.log(own).sum())
        if not with_leverages:
            return unknowns, log_det, None
        moved = np.zeros((n, self._size - n))
        moved[:, kept] = share @ inverse
        of_block = np.zeros(self._size - n)
        of_block[kept] = np.diag(inverse)
        of_option = 1.0 / own + np.einsum("ij,ij->i", share, moved[:, kept])
        return (
            unknowns,
            log_det,
            of_option[self._plus] + of_block[place] - 2.0 * moved[self._plus, place],
        )

    def _dense(
        self, weight: Floats, right: Floats, with_leverages: bool
    ) -> tuple[Floats, float, Floats | None]:
        """All unknowns at once; the same."""
        normal = np.zeros((self._size, self._size))
        np.add.at(normal, (self._plus, self._plus), weight)
        np.add.at(normal, (self._other, self._other), weight)
        np.add.at(normal, (self._plus, self._other), self._sign * weight)
        np.add.at(normal, (self._other, self._plus), self._sign * weight)
        some = np.flatnonzero(self._kept)
        unknowns = np.zeros(self._size)
        if not with_leverages:
            unknowns[some], log_det = _solved(normal[np.ix_(some, some)], right[some])
            return unknowns, log_det, None
        inverse = np.zeros((self._size, self._size))
        inverse[np.ix_(some, some)], log_det = _inverse(normal[np.ix_(some, some)])
        unknowns[some] = inverse[np.ix_(some, some)] @ right[some]
        diagonal = np.diag(inverse)
        spread = diagonal[self._plus] + diagonal[self._other]
        return unknowns, log_det, spread + 2.0 * self._sign * inverse[self._plus, self._other]


def _factor(normal: Floats) -> tuple[Floats, Floats, float]:
    """The Cholesky factor of a matrix scaled to ones on its diagonal, the scale, and the log of its det."""
    from scipy.linalg.lapack import dpotrf

    scale = 1.0 / np.sqrt(np.diag(normal))
    scaled = normal * scale[:, None] * scale
    scaled[np.diag_indices_from(scaled)] += RIDGE
    factor, failed = dpotrf(scaled, lower=1)
    if failed:
        return np.full_like(scaled, np.nan), scale, np.nan
    return factor, scale, 2.0 * float(np.log(np.diag(factor)).sum() - np.log(scale).sum())


def _solved(normal: Floats, right: Floats) -> tuple[Floats, float]:
    from scipy.linalg.lapack import dpotrs

    if not right.size:
        return right, 0.0
    factor, scale, log_det = _factor(normal)
    found, _ = dpotrs(factor, scale * right, lower=1)
    return scale * found, log_det


def _inverse(normal: Floats) -> tuple[Floats, float]:
    from scipy.linalg.lapack import dpotri

    if not normal.size:
        return normal, 0.0
    factor, scale, log_det = _factor(normal)
    inverse, _ = dpotri(factor, lower=1)
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    return inverse * scale[:, None] * scale, log_det
