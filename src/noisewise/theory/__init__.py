"""The paper's bounds and rates as numbers: what a sequence of sigmas is worth before anything is measured.

Every function takes an array of sigmas whose last axis is the rounds, ``(..., T)``, and answers for each row;
one row gives a plain number. Nothing is subtracted that could cancel: exact for ten million rounds whose
precisions span 32 decades.
"""

from noisewise.theory.bounds import (
    SHARPEST,
    core_set_size,
    floored_level,
    lower_bound,
    robust_radius,
    robust_vaee_bound,
    vaee_bound,
    vagd_bound,
)
from noisewise.theory.levels import (
    clipped_level,
    harmonic_gain,
    harmonic_level,
    information_budget,
    rounds_needed,
    water_level,
)
from noisewise.theory.total_variance import TOTAL_VARIANCE_ROWS, cumulative_lower_bound, total_variance_bound

__all__ = [
    "SHARPEST",
    "TOTAL_VARIANCE_ROWS",
    "clipped_level",
    "core_set_size",
    "cumulative_lower_bound",
    "floored_level",
    "harmonic_gain",
    "harmonic_level",
    "information_budget",
    "lower_bound",
    "robust_radius",
    "robust_vaee_bound",
    "rounds_needed",
    "total_variance_bound",
    "vaee_bound",
    "vagd_bound",
    "water_level",
]
