"""Which measurements a misfit is due to: those without which everything fits.

Leaving out measurement i lowers chi-square by ``r²/(σ²(1 - h))``, r its residual and h its leverage.
Leverages are only approximated here, to choose which to suspect; each suspect is then left out and the rest
fitted anew.
"""

import math
from typing import NamedTuple

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.core.support.words import number
from noisewise.study.certificate.check import name_of, standard_residuals, tails
from noisewise.study.log.measurements import Codes, Columns
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.fit import Fit
from noisewise.study.models.sums import Sums, block_places

#: The most measurements that are blamed for a misfit, as a number and as a part of all.
MOST_ROWS, MOST_PART = 3, 0.1
#: The number of measurements that are left out by turns.
SUSPECTS = 12
#: One is an outlier if chance makes the worst of all as bad with less than this probability.
SUSPICIOUS = 0.01
#: What remains fits if chance makes it as bad with at least this probability, or if no more than this part of
#: the chi-square in excess remains: whatever else is wrong is small.
GOOD, REMAINS = 0.01, 0.1
#: Outliers this close in chi-square cannot be told apart.
ALIKE = 1.0
#: Factors by which a value in another unit is off.
UNITS = {
    100.0: "100 times",
    0.01: "a hundredth of",
    1000.0: "1000 times",
    0.001: "a thousandth of",
    -1.0: "minus",
}


class Rest(NamedTuple):
    """What is left of the measurements, fitted."""

    columns: Columns
    sigma: Floats
    sums: Sums
    fit: Fit
    squares: float
    freedom: int


class Blamed(NamedTuple):
    """Measurements without which the rest fits, and words about them."""

    words: str
    numbers: tuple[int, ...]  # their numbers; of those that cannot be told apart, all


def fit_rest(analysis: Analysis, columns: Columns, sigma: Floats) -> Rest:
    """Fit the model of the study to some of its measurements."""
    sums = analysis.pooled(columns, sigma)
    fit = analysis.fit(sums)
    return Rest(columns, sigma, sums, fit, fit.squares(sums), columns.value.size - fit.rank)


def find_outliers(analysis: Analysis, columns: Columns, sigma: Floats) -> Blamed | None:
    """The one measurement, or the few, without which everything fits; None if there are none."""
    count = columns.value.size
    rest = fit_rest(analysis, columns, sigma)
    excess = rest.squares - rest.freedom
    sentences: list[str] = []
    blamed: list[int] = []
    for _ in range(min(MOST_ROWS, max(1, int(MOST_PART * count)), rest.freedom)):
        left, alike = _worst(analysis, rest)
        drop = rest.squares - left.squares
        if not math.erfc(math.sqrt(max(drop, 0.0) / 2.0)) * count < SUSPICIOUS:
            return None
        sentences.append(_sentence(analysis, rest, left, alike, math.sqrt(drop)))
        blamed += [int(rest.columns.number[at]) for at in alike]
        rest = left
        if _fits(analysis, rest, excess):
            without = "them" if len(sentences) > 1 or len(alike) > 1 else "it"
            without = "one of them" if len(alike) > 1 and len(sentences) == 1 else without
            good = (
                f"the reduced chi-square is {number(rest.squares / rest.freedom)}"
                if rest.freedom
                else "all fits"
            )
            sentences.append(f"Without {without} {good}: void or amend what is wrong before anything else.")
            if analysis.model.if_nothing_is_wrong:
                sentences.append(analysis.model.if_nothing_is_wrong)
            return Blamed(" ".join(sentences), tuple(blamed))
    return None


def _fits(analysis: Analysis, rest: Rest, excess: float) -> bool:
    if not rest.freedom or rest.squares - rest.freedom < REMAINS * excess:
        return True
    return tails(analysis, rest.squares / rest.freedom, rest.freedom)[0] >= GOOD


def _worst(analysis: Analysis, rest: Rest) -> tuple[Rest, list[int]]:
    """The rest without its worst measurement, and the places of all that are as bad."""
    found: dict[int, Rest] = {}
    for at in _suspects(analysis, rest):
        others = np.arange(rest.sigma.size) != at
        found[int(at)] = fit_rest(analysis, rest.columns.select(others), rest.sigma[others])
    worst = min(found, key=lambda at: (found[at].squares, at))
    # Also where squares are so large that 1 more makes no difference.
    alike = [at for at in sorted(found) if found[at].squares <= found[worst].squares + ALIKE]
    return found[worst], alike


def _suspects(analysis: Analysis, rest: Rest) -> Codes:
    """Measurements with the largest studentised residuals, and those that share an option with the first."""
    columns = rest.columns
    residuals = np.abs(standard_residuals(analysis, columns, rest.sigma, rest.sums, rest.fit))
    variances = rest.fit.variances()
    known = variances[columns.plus] + np.where(columns.minus >= 0, variances[columns.minus], 0.0)
    leverage = np.clip(known / rest.sigma**2, 0.0, 0.98)
    order = np.argsort(-residuals / np.sqrt(1.0 - leverage), kind="stable")[:SUSPECTS]
    first = int(order[0])
    beside = np.flatnonzero((columns.plus == columns.plus[first]) | (columns.minus == columns.plus[first]))
    beside = beside[np.argsort(rest.sigma[beside], kind="stable")][:SUSPECTS]
    return np.unique(np.concatenate([order, beside]))


def _sentence(analysis: Analysis, rest: Rest, left: Rest, alike: list[int], far: float) -> str:
    """Where to look, how far it is off, and whether a unit may be to blame."""
    columns = rest.columns
    names = [name_of(analysis, columns, at) for at in alike]
    if len(alike) > 1:
        return f"Look first at {' and '.join(names)}: they disagree by {number(far)} standard errors."
    said = f"Look first at {names[0]}: it lies {number(far)} standard errors from what the others say"
    expected = _expected(analysis, left, columns, alike[0])
    if expected is None:
        return f"{said}."
    value = float(columns.value[alike[0]])
    said += f" ({number(value, 4)}, where they say {number(expected, 4)})."
    for factor, words in UNITS.items():
        if expected and abs(value / expected / factor - 1.0) < 0.15:
            unit = (
                "its sign"
                if factor < 0.0
                else "its unit (per cent?)"
                if factor in (100.0, 0.01)
                else "its unit"
            )
            return f"{said} That is {words} what was expected: is {unit} right?"
    return said


def _expected(analysis: Analysis, left: Rest, columns: Columns, at: int) -> float | None:
    """What the others say about a measurement; None if they say nothing."""
    plus, minus, fit = columns.plus[at], columns.minus[at], left.fit
    sign = analysis.specification.sign
    if fit.group[plus] < 0:
        return None
    if minus >= 0:
        alone = fit.group[minus] != fit.group[plus]
        return None if alone else float(sign * (fit.means[plus] - fit.means[minus]))
    block = block_places(columns, left.sums.blocks)[at]
    if not fit.offset_precision[block] > 0.0:
        return None
    return float(sign * (fit.means[plus] + fit.offsets[block] + left.sums.centre))
