"""Weighted least squares on rows, some of which share an unknown of their own; exact to 1e-8 standard errors.

A row is a measurement ``value = <x, u> + e_g + error`` with known weight (1/variance). The unknowns u have
dense coefficients. The unknown e of a **group** of rows (the offset of a block, the value of an option)
enters with coefficient 1 and has no prior: it is eliminated by taking the group's weighted mean from its
rows, which is the orthogonal projection. What remains is factorised by QR, never by normal equations:

    precision of u = RᵀR,      e_g = mean of values - <mean of rows, u> ± 1/√(weight of the group).

Rounding perturbs a row by ε times the longest one, so with rows in units of their standard errors the
answers are off by ε·strain, where strain is the longest row (before its mean was taken away) times the
largest standard error of a unit of u. Where that is too much for floats, everything is done in twofold
numbers, ε = 2⁻¹⁰⁰; where it is too much even for those, `SolvedRows.slack` says so, and a bound that
rests on the answers must be withheld.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.core.support.blocks import Floats
from noisewise.study.models.exact import twofold as tf
from noisewise.study.models.exact.twofold import Twofold

Codes = NDArray[np.int64]

#: What may be lost, in standard errors (of estimates) and relatively (of variances).
ENOUGH = 1e-8
_EPS = 2.0**-52
#: Corrections of a solution in floats by its residuals; each leaves ε·strain of the error.
_CORRECTIONS = 2


class WeightedRows(NamedTuple):
    """Measurements, in any order."""

    x: Twofold  # (m, q)
    value: Twofold  # (m,)
    weight: Floats  # (m,)
    group: Codes  # (m,): -1 for a row that shares nothing
    groups: int  # how many groups there are; each has a row


class SolvedRows(NamedTuple):
    """What the rows say about u and about the unknowns of the groups."""

    factor: Twofold  # (q, q): R, upper triangular
    solution: Twofold  # (q,)
    centre: Twofold  # (groups, q): weighted means of the rows
    centre_value: Twofold  # (groups,)
    group_weight: Floats  # (groups,)
    residuals: Floats  # (m,)
    slack: float  # what rounding may have cost, in standard errors
    exact: bool  # whether twofold numbers were used

    @property
    def log_det(self) -> float:
        """Of the precision of u, with the unknowns of the groups integrated out."""
        return 2.0 * float(np.log(np.abs(np.diagonal(self.factor.high))).sum())

    def shared(self) -> Twofold:
        """The estimated unknowns of the groups, (groups,)."""
        along = product(self.centre, self.solution, self.exact)
        if not self.exact:
            return tf.plainly(self.centre_value.high - along.high)
        return tf.subtract(self.centre_value, along)

    def whitened(self, contrasts: Twofold) -> Twofold:
        """``R⁻ᵀc`` for every row c, (q, n): squared lengths are variances, products are covariances."""
        if not self.exact:
            return tf.plainly(_substitute(self.factor.high.T, contrasts.high.T))
        return _substitute_exactly(self.factor, contrasts)


def product(rows: Twofold, numbers: Twofold, exact: bool) -> Twofold:
    """``rows @ numbers``, (m,)."""
    if not exact:
        return tf.plainly(rows.high @ numbers.high)
    terms = tf.multiply(Twofold(rows.high.T, rows.low.T), numbers.at((slice(None), None)))
    return tf.total(terms)


def solve(rows: Callable[[bool], WeightedRows], ridge: Floats) -> SolvedRows:
    """Least squares with a prior of mean 0 and precision ``ridge`` (q,) on each unknown.

    The unknowns must be determined by rows and ridge together; if they are not, ``slack`` is infinite.

    Args:
        rows: Makes the rows: in floats, or (True) with their low parts, if these are needed.
        ridge: Prior precisions.
    """
    with np.errstate(all="ignore"):
        found = solve_plainly(rows(False), ridge)
        if found.slack <= ENOUGH:
            return found
        return solve_exactly(rows(True), ridge)


def triangle(rows: Floats) -> Floats:
    """R of the QR factorisation."""
    return np.asarray(np.linalg.qr(rows, mode="r"))


def solve_plainly(rows: WeightedRows, ridge: Floats) -> SolvedRows:
    """In floats; ``slack`` says whether that is good enough."""
    x, value, group = rows.x.high, rows.value.high, rows.group
    inside = group >= 0
    everything = bool(inside.all())
    codes, weight = (group, rows.weight) if everything else (group[inside], rows.weight[inside])
    group_weight = np.asarray(np.bincount(codes, weight, rows.groups), dtype=np.float64)
    centre = _means(x if everything else x[inside], codes, weight, group_weight)
    centre_value = np.bincount(codes, weight * value[inside], rows.groups) / group_weight
    heavy = np.sqrt(rows.weight)
    m, q = x.shape
    held = np.flatnonzero(ridge > 0.0)
    stacked, told = np.zeros((m + held.size, q)), np.zeros(m + held.size)
    stacked[:m], told[:m] = x, value
    stacked[:m][inside if not everything else slice(None)] -= centre[codes]
    told[:m][inside if not everything else slice(None)] -= centre_value[codes]
    told[:m] += rows.value.low
    stacked[:m] *= heavy[:, None]
    told[:m] *= heavy
    stacked[m + np.arange(held.size), held] = np.sqrt(ridge[held])
    upper = _triangle(stacked)
    strain = _strain(upper, stacked, x, rows.weight)
    solution = np.zeros(q)
    left = told
    if np.isfinite(strain):
        for _ in range(1 + _CORRECTIONS):
            # (RᵀR)⁻¹ of the gradient: what the factor got wrong, the next correction puts right.
            step = _substitute(upper.T, stacked.T @ left)
            solution = solution + _substitute(upper, step)
            left = told - stacked @ solution
    rough = float(np.sqrt(np.sum(rows.weight * value * value)))
    size = float(np.sqrt(left @ left))
    slack = _EPS * (strain * (np.sqrt(1.0 + m) + size) + 4.0 * rough)
    return SolvedRows(
        tf.plainly(upper), tf.plainly(solution), tf.plainly(centre), tf.plainly(centre_value), group_weight,
        left[:m] / heavy, slack if np.isfinite(slack) else np.inf, False,
    )  # fmt: skip


def _means(x: Floats, codes: Codes, weight: Floats, group_weight: Floats) -> Floats:
    """Weighted means of the rows of each group, (groups, q)."""
    weighted = x * weight[:, None]
    if group_weight.size == 1:
        return np.asarray(weighted.sum(axis=0)[None] / group_weight[0])
    columns = [np.bincount(codes, column, group_weight.size) for column in weighted.T]
    shape = (x.shape[1], group_weight.size)
    return np.asarray(np.reshape(columns, shape).T / group_weight[:, None])


def _triangle(stacked: Floats) -> Floats:
    """R of the QR factorisation, (q, q); zeros where there are too few rows."""
    m, q = stacked.shape
    return np.asarray(np.linalg.qr(stacked, mode="r")) if m >= q else np.zeros((q, q))


def _strain(upper: Floats, stacked: Floats, x: Floats, weight: Floats) -> float:
    """The longest row times the largest standard error, unknowns in units in which columns have length 1."""
    if not upper.size:
        return 1.0
    squares = np.einsum("ij,ij->j", stacked, stacked)
    if not (squares > 0.0).all():
        return np.inf
    try:
        inverse = np.linalg.inv(upper / np.sqrt(squares))
    except np.linalg.LinAlgError:
        return np.inf
    lengths = np.einsum("ij,ij,j->i", x, x, 1.0 / squares) * weight
    longest = max(1.0, float(np.sqrt(lengths.max(initial=0.0))))
    return float(longest * np.sqrt(np.sum(inverse * inverse)))


def _substitute(triangle: Floats, right: Floats) -> Floats:
    """Solve with a triangle whose unknowns differ in size, (q,) or (q, n)."""
    if not triangle.size:
        return np.zeros_like(right)
    size = np.abs(triangle).max(axis=1)
    scaled = right / size if right.ndim == 1 else right / size[:, None]
    return np.asarray(np.linalg.solve(triangle / size[:, None], scaled))


def solve_exactly(rows: WeightedRows, ridge: Floats) -> SolvedRows:
    """The same in twofold numbers, by modified Gram-Schmidt with the values as a further column."""
    m, q = rows.x.shape
    heavy = np.sqrt(rows.weight)
    inside = rows.group >= 0
    codes = rows.group[inside]
    # Weights are the squares of their roots as rounded: all parts of the problem must have the same.
    weight = tf.product_of(heavy, heavy)
    whole = Twofold(
        np.column_stack([rows.x.high, rows.value.high]), np.column_stack([rows.x.low, rows.value.low])
    )
    group_weight = tf.group_totals(weight.at(inside), codes, rows.groups)
    weighted = tf.multiply(whole.at(inside), weight.at(inside).at((slice(None), None)))
    sums = tf.group_totals(weighted, codes, rows.groups)
    centre = tf.divide(sums, group_weight.at((slice(None), None)))
    whole.put(inside, tf.subtract(whole.at(inside), centre.at(codes)))
    stacked = tf.scale(whole, heavy[:, None])
    held = np.flatnonzero(ridge > 0.0)
    prior = np.zeros((held.size, q + 1))
    prior[np.arange(held.size), held] = np.sqrt(ridge[held])
    stacked = Twofold(
        np.concatenate([stacked.high, prior]), np.concatenate([stacked.low, np.zeros_like(prior)])
    )
    basis, upper = _gram_schmidt(Twofold(stacked.high.copy(), stacked.low.copy()))
    factor = upper.at((slice(None), slice(0, q)))
    solution, left = _substitute_back(upper), basis.at((slice(None), q))
    x = stacked.at((slice(None), slice(0, q)))
    strain = _strain(factor.high, x.high, rows.x.high, rows.weight)
    rough = float(np.sqrt(np.sum(rows.weight * rows.value.high**2)))
    if tf.UNIT * strain * rough > 1e-2 * ENOUGH:
        # Once more with what is left: large values cost nothing then.
        told = stacked.at((slice(None), q))
        basis.put((slice(None), q), tf.subtract(told, product(x, solution, exact=True)))
        _take_along(basis, upper)
        solution = tf.add(solution, _substitute_back(upper))
        left = tf.subtract(told, product(x, solution, exact=True))
    size = float(np.sqrt(np.sum(left.high**2)))
    slack = tf.UNIT * (strain * (np.sqrt(1.0 + m) + size) * (1.0 + tf.UNIT * strain * rough) + rough)
    return SolvedRows(
        factor, solution, centre.at((slice(None), slice(0, q))), centre.at((slice(None), q)),
        group_weight.high, left.plain[:m] / heavy, slack if np.isfinite(slack) else np.inf, True,
    )  # fmt: skip


def _gram_schmidt(x: Twofold) -> tuple[Twofold, Twofold]:
    """Orthogonal columns in place of those of x but the last; and R, with what the last has along each."""
    q = x.shape[1] - 1
    upper = Twofold(np.zeros((q, q + 1)), np.zeros((q, q + 1)))
    for k in range(q):
        column = x.at((slice(None), slice(k, k + 1)))
        later = (slice(None), slice(k + 1, q + 1))
        along = tf.total(tf.multiply(x.at((slice(None), slice(k, q + 1))), column))
        square = along.at(0)
        share = tf.divide(along.at(slice(1, None)), square)
        x.put(later, tf.subtract(x.at(later), tf.multiply(column, share)))
        length = tf.square_root(square)
        upper.put((k, k), length)
        upper.put((k, slice(k + 1, q + 1)), tf.multiply(share, length))
    return x, upper


def _take_along(basis: Twofold, upper: Twofold) -> None:
    """What a new last column has along each of the others."""
    q = upper.shape[0]
    for k in range(q):
        column, last = basis.at((slice(None), k)), basis.at((slice(None), q))
        length = upper.at((k, k))
        part = tf.divide(tf.total(tf.multiply(column, last)), length)
        upper.put((k, q), part)
        basis.put((slice(None), q), tf.subtract(last, tf.multiply(column, tf.divide(part, length))))


def _substitute_back(upper: Twofold) -> Twofold:
    """The solution with R for the last column."""
    q = upper.shape[0]
    solution = Twofold(upper.high[:, q].copy(), upper.low[:, q].copy())
    for k in reversed(range(q)):
        found = tf.divide(solution.at(k), upper.at((k, k)))
        solution.put(k, found)
        above = slice(0, k)
        solution.put(above, tf.subtract(solution.at(above), tf.multiply(upper.at((above, k)), found)))
    return solution


def _substitute_exactly(factor: Twofold, contrasts: Twofold) -> Twofold:
    """``R⁻ᵀc`` for the rows c, by forward substitution, (q, n)."""
    right = Twofold(contrasts.high.T.copy(), contrasts.low.T.copy())
    for k in range(right.shape[0]):
        found = tf.divide(right.at(k), factor.at((k, k)))
        right.put(k, found)
        rest = slice(k + 1, None)
        taken = tf.multiply(factor.at((k, rest)).at((slice(None), None)), found.at((None, slice(None))))
        right.put(rest, tf.subtract(right.at(rest), taken))
    return right
