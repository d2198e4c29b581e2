"""Generalised least squares on the differences of studies, in rational arithmetic, without arms or blocks.

Of every study the differences to one of its options are taken; the covariance of two of them follows from
the standard errors of all pairs: ``cov(a - r, b - r) = (V_ar + V_br - V_ab)/2``.
"""

import math
from fractions import Fraction

import numpy as np


class Trial:
    """A study: an effect and a variance for every pair of its options, as fractions."""

    def __init__(self, options, effects, variances):
        self.options, self.effects, self.variances = list(options), effects, variances

    @classmethod
    def of_arms(cls, arms):
        """From ``{option: (mean, variance)}``."""
        arms = {option: (Fraction(mean), Fraction(variance)) for option, (mean, variance) in arms.items()}
        pairs = [(one, other) for one in arms for other in arms if one != other]
        return cls(
            arms,
            {(one, other): arms[one][0] - arms[other][0] for one, other in pairs},
            {(one, other): arms[one][1] + arms[other][1] for one, other in pairs},
        )

    def against(self, reference, tau2=0):
        """The differences to one option, and their covariance with heterogeneity τ² of every difference."""
        others = [option for option in self.options if option != reference]

        def spread(one, other):
            return Fraction(0) if one == other else self.variances[one, other] + Fraction(tau2)

        covariance = [
            [(spread(one, reference) + spread(other, reference) - spread(one, other)) / 2 for other in others]
            for one in others
        ]
        return others, [self.effects[option, reference] for option in others], covariance


def inverse(matrix):
    """By Gauss and Jordan, with the determinant."""
    size = len(matrix)
    rows = [list(row) + [Fraction(int(at == k)) for k in range(size)] for at, row in enumerate(matrix)]
    determinant = Fraction(1)
    for at in range(size):
        pivot = next(k for k in range(at, size) if rows[k][at] != 0)
        if pivot != at:
            rows[at], rows[pivot], determinant = rows[pivot], rows[at], -determinant
        scale = rows[at][at]
        determinant *= scale
        rows[at] = [entry / scale for entry in rows[at]]
        for k in range(size):
            if k != at and rows[k][at] != 0:
                times = rows[k][at]
                rows[k] = [one - times * other for one, other in zip(rows[k], rows[at], strict=True)]
    return [row[size:] for row in rows], determinant


class Network:
    """The estimates of every option against one, their covariance, and the misfit."""

    def __init__(self, options, trials, references=None, tau2=0):
        self.options = list(options)
        base, *free = self.options
        place = {option: at for at, option in enumerate(free)}
        precision = [[Fraction(0)] * len(free) for _ in free]
        right = [Fraction(0)] * len(free)
        squares, self.freedom, logs = Fraction(0), -len(free), 0.0
        for at, trial in enumerate(trials):
            reference = trial.options[0] if references is None else references[at]
            others, effects, covariance = trial.against(reference, tau2)
            weight, determinant = inverse(covariance)
            logs += math.log(determinant)
            self.freedom += len(others)
            design = [{option: 1, reference: -1} for option in others]
            for one, left in enumerate(design):
                for other, said in enumerate(design):
                    w = weight[one][other]
                    squares += w * effects[one] * effects[other]
                    for option, sign in left.items():
                        if option == base:
                            continue
                        right[place[option]] += sign * w * effects[other]
                        for beside, turn in said.items():
                            if beside != base:
                                precision[place[option]][place[beside]] += sign * turn * w
        covariance, determinant = inverse(precision)
        found = [sum(c * r for c, r in zip(row, right, strict=True)) for row in covariance]
        self.estimates = dict(zip(self.options, [Fraction(0), *found], strict=True))
        self.squares = float(squares - sum(f * r for f, r in zip(found, right, strict=True)))
        self.minus_log = logs + math.log(determinant) + self.squares
        self._covariance, self._place = covariance, place

    def difference(self, one, other):
        """Of two options."""
        return float(self.estimates[one] - self.estimates[other])

    def error(self, one, other):
        """The standard error of their difference."""

        def shared(left, right):
            if left not in self._place or right not in self._place:
                return Fraction(0)
            return self._covariance[self._place[left]][self._place[right]]

        return math.sqrt(shared(one, one) + shared(other, other) - 2 * shared(one, other))


def studied(study):
    """The differences that a study estimates, and their standard errors, both (n, n)."""
    estimate = study.frame("options")["estimate"].to_numpy()
    fit = study.analysis().estimates
    error = np.sqrt([fit.variances_apart(option) for option in range(estimate.size)])
    error[np.isinf(error)] = np.nan
    return estimate[:, None] - estimate[None, :], error


def assert_same(study, network, tolerance=1e-9):
    """Every difference of a study and its standard error are those of exact generalised least squares."""
    differences, errors = studied(study)
    names = study.frame("options")["option"].to_list()
    typical = max(abs(network.difference(one, other)) for one in names for other in names)
    for a, one in enumerate(names):
        for b, other in enumerate(names):
            if a == b:
                continue
            error = network.error(one, other)
            assert abs(errors[a, b] - error) <= tolerance * error
            size = max(abs(network.difference(one, other)), min(error, typical))
            assert abs(differences[a, b] - network.difference(one, other)) <= tolerance * size
