"""Least squares in rational numbers: the twin that every fit is compared with."""

import math
from fractions import Fraction
from typing import NamedTuple


class Row(NamedTuple):
    """One measurement: coefficients of the unknowns that it touches, what was measured, its weight."""

    coefficients: dict[int, Fraction]
    value: Fraction
    weight: Fraction


def row(coefficients, value, weight):
    """A row of anything that is a number; floats are taken as they are, to the last bit."""
    numbers = {at: Fraction(number) for at, number in coefficients.items() if number}
    return Row(numbers, Fraction(value), Fraction(weight))


class ExactFit:
    """The unknowns that minimise ``Σ weight·(value - row)²``; what no row determines is set to 0.

    Args:
        rows: The measurements; priors are rows, too.
        unknowns: How many unknowns there are.
    """

    def __init__(self, rows, unknowns):
        self.rows, self.size = rows, unknowns
        precision = [[Fraction(0)] * unknowns for _ in range(unknowns)]
        right = [Fraction(0)] * unknowns
        for one in rows:
            for i, x in one.coefficients.items():
                right[i] += one.weight * x * one.value
                for j, y in one.coefficients.items():
                    precision[i][j] += one.weight * x * y
        self._eliminate(precision)
        self.solution = self.solve(right)

    def _eliminate(self, matrix):
        """LDLᵀ; a pivot of exactly 0 belongs to an unknown that those before it determine, or nothing."""
        self.lower, self.pivots = [[Fraction(0)] * self.size for _ in range(self.size)], []
        for k in range(self.size):
            pivot = matrix[k][k]
            self.pivots.append(pivot)
            for i in range(k + 1, self.size):
                if not pivot or not matrix[i][k]:
                    continue
                factor = matrix[i][k] / pivot
                self.lower[i][k] = factor
                for j in range(k + 1, self.size):
                    if matrix[k][j]:
                        matrix[i][j] -= factor * matrix[k][j]

    @property
    def rank(self):
        return sum(1 for pivot in self.pivots if pivot)

    def solve(self, right):
        """``V⁻¹·right``."""
        x = list(right)
        for i in range(self.size):
            x[i] -= sum(self.lower[i][k] * x[k] for k in range(i))
        x = [number / pivot if pivot else Fraction(0) for number, pivot in zip(x, self.pivots, strict=True)]
        for i in reversed(range(self.size)):
            if not self.pivots[i]:
                continue
            x[i] -= sum(self.lower[k][i] * x[k] for k in range(i + 1, self.size))
        return x

    def estimate(self, contrast):
        """``<contrast, unknowns>``; a contrast is a dictionary like the coefficients of a row."""
        return sum(Fraction(c) * self.solution[i] for i, c in contrast.items())

    def weights(self, contrast):
        """``V⁻¹·contrast``."""
        right = [Fraction(0)] * self.size
        for i, c in contrast.items():
            right[i] = Fraction(c)
        return self.solve(right)

    def variance(self, contrast):
        x = self.weights(contrast)
        return sum(Fraction(c) * x[i] for i, c in contrast.items())

    def squares(self):
        """``Σ weight·residual²``, priors included."""
        left = (
            one.value - sum(x * self.solution[i] for i, x in one.coefficients.items()) for one in self.rows
        )
        return sum(one.weight * gap * gap for one, gap in zip(self.rows, left, strict=True))

    def log_det(self):
        """Of the precision of what is determined."""
        return sum(logarithm(pivot) for pivot in self.pivots if pivot)


def logarithm(number):
    """Of a positive fraction that may be beyond the range of floats."""
    return math.log(number.numerator) - math.log(number.denominator)


def root(number):
    """Of a fraction that may be beyond the range of floats once squared."""
    if not number:
        return 0.0
    shift = (number.numerator.bit_length() - number.denominator.bit_length()) // 2 * 2
    return math.ldexp(math.sqrt(number / Fraction(2) ** shift), shift // 2)
