# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, check-untyped-defs=False
"""Solving with a factored matrix and rotating a row into it, as loops, for the compiler alone."""

from noisewise.core.compiler.kernels import REORDERED, compiled_body
from noisewise.core.model.factor import RESIDUAL


@compiled_body(flags=REORDERED)
def solve(factor, reciprocals, half, step):
    """Take a in ``half``; leave ``U⁻ᵀa`` there and V⁻¹a in ``step``; return ‖a‖² in the norm of V⁻¹."""
    dim = step.size
    squared_width = 0.0
    for j in range(dim):
        entry = half[j]
        weighted = entry * reciprocals[j]
        squared_width += entry * weighted
        step[j] = weighted
        for i in range(j + 1, dim):
            half[i] -= entry * factor[j, i]
    for i in range(dim - 1, -1, -1):
        rest = step[i]
        for j in range(i + 1, dim):
            rest -= factor[i, j] * step[j]
        step[i] = rest
    return squared_width


@compiled_body(flags=REORDERED)
def rotate(factor, pivots, reciprocals, row, weight, tally):
    """Rotate a new row into the factors."""
    dim = row.size - 1
    for j in range(dim):
        entry, pivot = row[j], pivots[j]
        grown = pivot + weight * entry * entry
        reciprocal = 1.0 / grown
        share = weight * entry * reciprocal
        weight *= pivot * reciprocal
        pivots[j] = grown
        reciprocals[j] = reciprocal
        for i in range(j + 1, dim + 1):
            row[i] -= entry * factor[j, i]
            factor[j, i] += share * row[i]
    tally[RESIDUAL] += weight * row[dim] * row[dim]
