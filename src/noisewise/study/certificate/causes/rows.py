"""Single measurements without which the rest fits, and slips of their units.

Leaving out measurement i is the same as giving it an offset of its own with a flat prior. With a normal prior
of variance ω² in its place, and the ω that suits it best, its restricted likelihood may be compared with that
of error bars that are wrong everywhere:

    -2·log L(without i) + log e² + 1 + 2·log N,      e the deleted residual, N as any of N may be the one.

A slip is a prediction instead: ``y/c`` with the error bar of i, or with that divided by c as well.
"""

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from noisewise.core.support.words import number
from noisewise.study.certificate.causes.cause import ROW, UNIT, Cause
from noisewise.study.certificate.causes.table import Rest, Table, fit_in_words
from noisewise.study.certificate.check import name_of
from noisewise.study.log.measurements import Columns
from noisewise.study.models.analysis import Analysis

#: The most measurements that are blamed for a misfit, as a number and as a part of all.
MOST_ROWS, MOST_PART = 8, 0.1
#: One is suspected if chance makes the worst of all as bad with less than this probability.
SUSPICIOUS = 0.01
#: Degrees of freedom below which nothing is said about the others' error bars; and the part of the excess
#: that rows must explain before the others' error bars may be wrong besides.
FEW, MOST_EXCESS = 5, 0.7
#: Those this close in chi-square cannot be told apart.
ALIKE = 1.0
#: Factors by which a value in another unit is off, and what they look like; per cent is the usual slip, and
#: another one costs this much more.
UNUSUAL = 2.0 * math.log(5.0)
UNITS = {
    100.0: "100 times",
    0.01: "a hundredth of",
    1000.0: "1000 times",
    0.001: "a thousandth of",
    10.0: "ten times",
    0.1: "a tenth of",
    -1.0: "minus",
}


class Suspect(NamedTuple):
    """One measurement that is left out."""

    at: int  # its place in the columns it was found in
    columns: Columns
    alike: tuple[int, ...]  # places of all that are as bad
    far: float  # standard errors from what the others say
    expected: float  # what they say; NaN if nothing
    deviance: float  # what an offset of its own costs, or its slip if that is less
    slip: float | None  # by which factor its value is off, if that explains it better
    slips_with_error: bool = False  # whether the error bar is off by the same factor


def wrong_rows(table: Table) -> Cause | None:
    """The one measurement, or the few, that explain the misfit best; None if none stands out."""
    rest, bare = table.rest, table.bare
    suspects: list[Suspect] = []
    best: tuple[float, int, Rest] | None = None
    nested = False
    most = min(MOST_ROWS, max(1, int(MOST_PART * table.count)), rest.freedom)
    for _ in range(most):
        found = _worst(table, rest)
        if found is None:
            break
        suspects.append(found)
        others = np.arange(rest.sigma.size) != found.at
        columns, bare = rest.columns.select(others), bare[others]
        rest = table.fitted(columns, rest.sigma[others])
        deviance = table.deviance_of(columns, bare) + sum(one.deviance for one in suspects)
        besides = _gain_by_factor(rest) if _explain_most(table.rest, rest) else 0.0
        deviance += 2.0 * len(suspects) * math.log(table.count) - besides
        if best is None or deviance < best[0]:
            best, nested = (deviance, len(suspects), rest), besides > 0.0
    if best is None:
        return None
    deviance, count, rest = best
    return replace(_cause(table, suspects[:count], rest, deviance), nested=nested)


def _explain_most(whole: Rest, rest: Rest) -> bool:
    """Whether most of the chi-square in excess is gone with those that were left out."""
    return whole.squares - rest.squares >= MOST_EXCESS * (whole.squares - whole.freedom)


def _gain_by_factor(rest: Rest) -> float:
    """What a common factor of the other error bars would gain: they may be wrong besides.

    -2·log L is least at ``c² = Q/f`` and falls by ``Q - f - f·log(Q/f)``, less log f for the fitted number.
    """
    if rest.freedom < FEW or not 0.0 < rest.squares < math.inf:
        return 0.0
    freedom = float(rest.freedom)
    gain = rest.squares - freedom - freedom * math.log(rest.squares / freedom) - math.log(freedom)
    return max(0.0, gain)


def _worst(table: Table, rest: Rest) -> Suspect | None:
    """The measurement that lies furthest from what the others say; None if chance puts one there."""
    if rest.freedom <= 0:
        return None
    whole = rest is table.rest
    residuals = rest.residuals
    decided = table.leverages if whole else table.leverages_of(rest)
    squares = np.square(residuals / rest.sigma) / (1.0 - decided)
    at = int(np.argmax(squares))
    largest = float(squares[at])
    if not math.erfc(math.sqrt(largest / 2.0)) * table.count < SUSPICIOUS:
        return None
    alike = np.flatnonzero(squares >= largest - max(ALIKE, 1e-7 * largest))
    away = residuals[at] / (1.0 - decided[at])
    known = decided[at] < 1.0 - 1e-6 and alike.size == 1
    expected = float(rest.columns.value[at] - away) if known else math.nan
    cost = math.log(max(away * away, 1e-300)) + 1.0
    found = Suspect(at, rest.columns, tuple(map(int, alike)), math.sqrt(largest), expected, cost, None)
    if not known:
        return found
    of_others = float(rest.sigma[at] ** 2 * decided[at] / (1.0 - decided[at]))
    return slipped(found, float(rest.sigma[at]), of_others, logs=table.logs)


def slipped(
    found: Suspect, sigma: float, of_others: float, *, with_error: bool = True, logs: bool = False
) -> Suspect:
    """With the slip of the unit that explains it best, if any does better than an offset of its own.

    Args:
        found: The measurement.
        sigma: Its standard error.
        of_others: The variance of what the others say of it.
        with_error: Whether its error bar may be off by the same factor: it was told with one.
        logs: Whether values are logarithms: then a factor is an offset that is known.
    """
    if logs:
        return _slipped_logarithm(found, sigma, of_others, with_error)
    value = float(found.columns.value[found.at])
    if not found.expected or not value:
        return found
    for factor in UNITS:
        for both in (False, True) if factor > 0.0 and with_error else (False,):
            variance = (sigma / factor if both else sigma) ** 2 + of_others
            away = value / factor - found.expected
            cost = math.log(variance) + away * away / variance
            cost += 2.0 * math.log(abs(factor)) + 2.0 * math.log(2.0)
            cost += 0.0 if factor in (100.0, 0.01) else UNUSUAL
            if cost < found.deviance:
                found = found._replace(deviance=cost, slip=factor, slips_with_error=both)
    return found


def _slipped_logarithm(found: Suspect, sigma: float, of_others: float, with_error: bool) -> Suspect:
    """The same for logarithms: se/value is what it was if the error bar is off by the same factor."""
    value = float(found.columns.value[found.at])
    for factor in UNITS:
        for both in () if factor < 0.0 else (False, True) if with_error else (False,):
            variance = (sigma * factor if with_error and not both else sigma) ** 2 + of_others
            away = value - math.log(factor) - found.expected
            cost = math.log(variance) + away * away / variance + 2.0 * math.log(2.0)
            cost += 0.0 if factor in (100.0, 0.01) else UNUSUAL
            if cost < found.deviance:
                found = found._replace(deviance=cost, slip=factor, slips_with_error=both)
    return found


def _cause(table: Table, suspects: list[Suspect], rest: Rest, deviance: float) -> Cause:
    """What to look at, in words and for programs."""
    first = suspects[0]
    sentences = [sentence_about(table.analysis, one) for one in suspects]
    alone = len(suspects) == 1
    fits = rest
    remedy: dict[str, Any] = {"void": [f"m-{one.columns.number[one.at]}" for one in suspects]}
    if alone and first.slip is not None:
        fits, remedy = _corrected(table, first)
    if len(first.alike) > 1 and alone:
        without = "one of them"
    elif alone:
        without = table.name(first.at, first.columns).rsplit(" of ", 1)[0]
    else:
        without = "them"
    if fits is not rest:
        meant = table.analysis.specification.value_scale.told(float(fits.columns.value[first.at]))
        sentences.append(f"With {meant} in its place")
        sentences[-1] += f" {fit_in_words(fits)}; without {without} {_reduced(rest)}."
        sentences.append("Amend it, or void it, before anything else.")
    else:
        was = f" (it is {number(table.rest.reduced)} with {'it' if alone else 'them'})"
        was = was if rest.freedom > 0 and without != "one of them" else ""
        sentences.append(
            f"Without {without} {fit_in_words(rest)}{was}: void or amend what is wrong before anything else."
        )
    if table.analysis.model.if_nothing_is_wrong:
        sentences.append(table.analysis.model.if_nothing_is_wrong)
    rows = [(one.columns, at) for one in suspects for at in (one.at, *(k for k in one.alike if k != one.at))]
    return Cause(
        UNIT if first.slip is not None else ROW,
        " ".join(sentences),
        deviance,
        fits.reduced,
        fits.freedom,
        table.chance(fits),
        remedy,
        tuple(table.row(at, columns) for columns, at in rows),
    )


def _reduced(rest: Rest) -> str:
    return f"it is {number(rest.reduced)}" if rest.freedom > 0 else "all fits"


def _corrected(table: Table, one: Suspect) -> tuple[Rest, dict[str, Any]]:
    """The fit with the value that was probably meant, and the correction."""
    assert one.slip is not None
    value, sigma = table.columns.value.copy(), table.sigma.copy()
    told = float(table.told_values[one.at])
    error = float(table.bare[one.at]) * (told if table.logs else 1.0)
    if table.logs:
        value[one.at] -= math.log(one.slip)
        sigma[one.at] *= 1.0 if one.slips_with_error else one.slip
    else:
        value[one.at] /= one.slip
        sigma[one.at] /= one.slip if one.slips_with_error else 1.0
    change: dict[str, Any] = {"measurement": f"m-{one.columns.number[one.at]}", "value": told / one.slip}
    if one.slips_with_error:
        change["se"] = error / one.slip
    return table.fitted(table.columns._replace(value=value), sigma), {"amend": [change]}


def sentence_about(analysis: Analysis, one: Suspect) -> str:
    """Where to look, how far it is off, and whether a unit may be to blame."""
    names = [name_of(analysis, one.columns, at) for at in one.alike]
    if len(names) > 1:
        return f"Look first at {' and '.join(names)}: they disagree by {number(one.far)} standard errors."
    said = f"Look first at {names[0]}: it lies {number(one.far)} standard errors from what the others say"
    if math.isnan(one.expected):
        return f"{said}."
    scale = analysis.specification.value_scale
    seen, expected = scale.told(float(one.columns.value[one.at])), scale.told(one.expected)
    said += f" ({seen}, where they say {expected})."
    if one.slip is None:
        return said
    doubted = {-1.0: "sign", 10.0: "decimal point", 0.1: "decimal point"}.get(one.slip, "unit")
    doubted += " (per cent?)" if one.slip in (100.0, 0.01) else ""
    both = ", error bar and all" if one.slips_with_error else ""
    return f"{said} That is {UNITS[one.slip]} what was expected{both}: is its {doubted} right?"
