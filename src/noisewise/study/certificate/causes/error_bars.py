"""Error bars that are wrong everywhere in the same way: variances, their roots, too small or too large.

Variances told as standard errors have square roots that fit, and no number is fitted for that. A common
factor c is one number, found where -2·log L is least; without extra scatter and deviations that is where
chi-square equals its degrees of freedom, ``c² = Q/f``. Extra scatter and deviations are the sizes of
`noisewise.study.models.sizes`. All leave the same unknowns to be integrated out, so that their likelihoods
may be compared. Each fitted number costs log f, as in Schwarz's criterion.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.core.support.words import counted, number
from noisewise.study.certificate.causes.cause import (
    COPIES,
    OVERSTATED,
    ROOTS,
    UNDERSTATED,
    VARIANCES,
    Cause,
)
from noisewise.study.certificate.causes.search import least_of
from noisewise.study.certificate.causes.table import Rest, Table
from noisewise.study.log.measurements import Columns

#: Degrees of freedom, and measurements, below which nothing is said about all error bars together.
FEW, LEAST = 5, 10
#: Logarithms of error bars within this range are those of equal error bars.
EQUAL = 1e-9
#: What standard errors told as variances cost: hardly anybody does that.
RARE = 6.0
#: By how much a common factor may differ from 1.
MOST_FACTOR = 1e6


def transformed(table: Table) -> list[Cause]:
    """Error bars that are the squares, or the square roots, of standard errors."""
    if table.known.sum() < LEAST or table.rest.freedom < FEW:
        return []
    found = []
    with np.errstate(over="ignore", under="ignore"):
        for kind, power, rare in ((VARIANCES, 0.5, 0.0), (ROOTS, 2.0, RARE)):
            if kind == ROOTS and equal_bars(table):
                continue
            unit = table.told_values if table.logs else 1.0  # error bars were told in that of the values
            bare = np.where(table.known, (table.bare * unit) ** power / unit, table.bare)
            if not (np.isfinite(bare).all() and (bare > 0.0).all()):
                continue
            rest = table.with_errors(bare)
            fit = f"(reduced chi-square {number(rest.reduced)})"
            deviance = table.deviance_of(table.columns, bare) + rare
            found.append(
                _variances(table, fit, deviance, rest)
                if kind == VARIANCES
                else _roots(table, fit, deviance, rest)
            )
    return found


def _variances(table: Table, fit: str, deviance: float, rest: Rest) -> Cause:
    words = (
        f"Your error bars look like variances: their square roots fit {fit}. If they are, tell them as var=."
    )
    unsure = (
        f"If the error bars were variances, their square roots would fit as well {fit}. If they are, tell "
        "them as var=."
    )
    found = _about_all(table, VARIANCES, words, deviance, rest, {"amend": "all", "se": "told as var"})
    return replace(found, unsure=unsure)


def _roots(table: Table, fit: str, deviance: float, rest: Rest) -> Cause:
    words = (
        f"Your error bars look like square roots of standard errors: their squares fit {fit}. If standard "
        "errors were told as var=, tell them as se=."
    )
    return _about_all(table, ROOTS, words, deviance, rest, {"amend": "all", "se": "squared"})


def common_factor(table: Table) -> Cause | None:
    """All error bars too small, or too large, by one factor."""
    if not table.known.any() or table.rest.freedom < FEW or not 0.0 < table.rest.squares < math.inf:
        return None
    factor, deviance = _factor(table)
    bare = np.where(table.known, factor * table.bare, table.bare)
    rest = table.with_errors(bare)
    deviance += math.log(table.rest.freedom)
    fit = f"Then the reduced chi-square is {number(rest.reduced)}."
    remedy: dict[str, Any] = {"amend": "all", "se_times": factor}
    if factor >= 1.0:
        words = (
            f"All error bars look too small by a factor of about {number(factor, 2)}: tell them "
            f"{number(factor, 2)} times as large, if you know why. {fit}"
        )
        return _about_all(table, UNDERSTATED, words, deviance, rest, remedy)
    mean = f" where the value is the mean of about {round(factor**-2.0)}" if factor > 0.03 else ""
    words = (
        f"Reduced chi-square {number(table.rest.reduced)}: your error bars look too large, like standard "
        f"deviations of single readings{mean}. If so, tell sd= with n=. {fit}"
    )
    return _about_all(table, OVERSTATED, words, deviance, rest, remedy)


def _factor(table: Table) -> tuple[float, float]:
    """The common factor with the largest likelihood, and -2·log L there."""
    sizes, rest = table.analysis.sizes, table.rest
    if table.known.all() and sizes.extra_scatter == sizes.deviation == 0.0:
        factor = math.sqrt(rest.squares / rest.freedom)
        less = rest.squares - rest.freedom - rest.freedom * math.log(factor**2)
        return factor, table.deviance - less

    def deviance(log: float) -> float:
        return table.deviance_of(table.columns, np.where(table.known, math.exp(log) * table.bare, table.bare))

    guess = 0.5 * math.log(min(max(rest.reduced, MOST_FACTOR**-2.0), MOST_FACTOR**2))
    ends = min(0.0, guess) - 1.0, max(0.0, guess) + 1.0
    log, least = least_of(deviance, *ends, tried=6, tolerance=0.02)
    return math.exp(log), least


def _about_all(
    table: Table, kind: str, words: str, deviance: float, rest: Rest, remedy: dict[str, Any]
) -> Cause:
    return Cause(kind, words, deviance, rest.reduced, rest.freedom, table.chance(rest), remedy)


def equal_bars(table: Table) -> bool:
    """Whether all error bars are the same, so that a factor and extra scatter are one."""
    known = table.bare[table.known]
    return bool(known.size == 0 or np.ptp(np.log(known)) < EQUAL)


def copies(table: Table, least: float) -> Cause | None:
    """Measurements told twice: exact copies, without which chi-square is what it should be."""
    columns = table.columns.select(table.known)
    several, most = _copies(columns)
    rest = table.fitted(*_distinct(table)) if several else table.rest
    # A few of them are the cause only if the reduced chi-square is at least this without them.
    if not several or not (most or rest.reduced >= least):
        return None
    words = (
        f"Reduced chi-square {number(table.rest.reduced)}: {counted(several, 'measurement')} repeat another "
        "one to the last digit. Were they told twice? Each counts."
    )
    return Cause(COPIES, words, -math.inf, rest.reduced, rest.freedom, table.chance(rest), {"look": "copies"})


def _rows(columns: Columns) -> Floats:
    return np.column_stack([columns.plus, columns.minus, columns.block, columns.value, columns.sigma])


def _distinct(table: Table) -> tuple[Columns, Floats]:
    _, first = np.unique(_rows(table.columns), axis=0, return_index=True)
    return table.columns.select(first), table.sigma[first]


def _copies(columns: Columns) -> tuple[int, bool]:
    """How many measurements repeat another one exactly, and whether most repeats do."""
    rows = _rows(columns)
    distinct = np.unique(rows, axis=0).shape[0]
    probes = np.unique(rows[:, :3], axis=0).shape[0]
    copied, repeats = rows.shape[0] - distinct, rows.shape[0] - probes
    return copied, copied > 0.5 * repeats
