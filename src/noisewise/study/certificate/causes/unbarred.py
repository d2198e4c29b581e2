"""Wrong measurements among those that brought no error bar: judged by the scatter of the others.

Without error bars chi-square says nothing, since their common scatter is estimated from this very fit, and
one wrong value makes it large. Left out in turn, measurement i lowers the sum of squares Q on f degrees of
freedom by ``d = r²/(1 - h)``, and ``d·(f - 1)/(Q - d)`` has Fisher's law with 1 and f - 1 degrees of freedom.
Readings that scatter by each option's own amount are compared within their option, means with readings.
"""

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.core.support.distributions import f_tails
from noisewise.study.certificate.causes.cause import ROW, UNEQUAL, UNIT, Cause
from noisewise.study.certificate.causes.leverages import MOST, leverages
from noisewise.study.certificate.causes.plain_network import PlainNetwork
from noisewise.study.certificate.causes.rows import Suspect, sentence_about, slipped
from noisewise.study.certificate.causes.scatters import factors_of
from noisewise.study.certificate.causes.table import row_of
from noisewise.study.certificate.check import SUSPICIOUS, name_of, standard_residuals
from noisewise.study.inputs.error_bars import NONE
from noisewise.study.log.measurements import KINDS, Columns
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.own_readings import is_linked, own_rows
from noisewise.study.models.sums import totals

#: One is wrong if chance makes the worst of all as bad with less than this probability: errors without error
#: bars are seldom quite normal.
UNLIKELY = 1e-4
#: By how much -2·log L must fall before their scatter is said to be unequal, its two numbers paid for.
LOUD = 8.0
#: Degrees of freedom below which nothing is said.
FEW = 6


class Shared(NamedTuple):
    """Measurements that share one scatter, fitted with equal weights."""

    columns: Columns
    squares: float
    freedom: int
    residuals: Floats  # (N,)
    decided: Floats  # (N,): leverages


def wrong_reading(analysis: Analysis) -> Cause | None:
    """What is wrong among them: one that the others' scatter cannot explain, or unequal scatter."""
    if analysis.any_tails:
        return None
    if analysis.own_readings is not None:
        return _among_its_own(analysis)
    columns = analysis.columns.select(analysis.columns.kind == KINDS.index(NONE))
    shared = _shared(analysis, columns) if columns.value.size > FEW else None
    if shared is None:
        return None
    found = [one for one in (_among_all(analysis, shared), _unequal(analysis, shared)) if one is not None]
    return min(found, key=lambda one: one.deviance, default=None)


def _shared(analysis: Analysis, columns: Columns) -> Shared | None:
    """The fit of measurements that share one scatter; None if that is not known."""
    ones = np.ones(columns.value.size)
    sums = analysis.pooled(columns, ones)
    fit = analysis.model.scatter_fit(sums)
    squares, freedom = fit.squares(sums), columns.value.size - fit.rank
    if freedom < FEW or not 0.0 < squares < math.inf:
        return None
    residuals = analysis.specification.sign * standard_residuals(analysis, columns, ones, sums, fit)
    return Shared(columns, squares, freedom, residuals, _leverages(analysis, columns, ones))


def _unequal(analysis: Analysis, shared: Shared) -> Cause | None:
    """Options whose measurements scatter by other amounts than those of others."""
    columns, n = shared.columns, len(analysis.state.ids)
    if (columns.minus >= 0).any():
        return None
    common = math.sqrt(shared.squares / shared.freedom)
    squares = totals(columns.plus, np.square(shared.residuals / common), n)
    freedom = totals(columns.plus, 1.0 - shared.decided, n)
    if (freedom >= 1.0).sum() < 2:
        return None
    found = factors_of(squares, freedom)
    if found.gain - 2.0 * math.log(shared.freedom) < LOUD:
        return None
    seen = np.flatnonzero(freedom >= 1.0)
    order = seen[np.argsort(-found.squared[seen], kind="stable")]
    most, least = int(order[0]), int(order[-1])
    scatter, ids = common * np.sqrt(found.squared), analysis.state.ids
    own, scale = (
        analysis.state.features is None and not is_linked(columns),
        analysis.specification.value_scale,
    )
    words = (
        f"Measurements that came without error bars scatter differently: by about "
        f"{scale.error(float(scatter[most]), 2)} for {ids[most]} and {scale.error(float(scatter[least]), 2)} "
        f"for {ids[least]}, where {scale.error(common, 2)} is taken for all. Tell se= with each, or readings "
        "(values=)"
    )
    words += ', or make the study with scatter="own".' if own else "."
    remedy = {"study": {"scatter": "own"}} if own else {"look": "scatter"}
    less = found.gain - 2.0 * math.log(shared.freedom)
    return Cause(UNEQUAL, words, -less, math.nan, 0, math.nan, remedy)


def _among_all(analysis: Analysis, shared: Shared) -> Cause | None:
    """Of measurements that share one scatter, that which makes it large."""
    columns, squares, freedom, residuals, decided = shared
    scale = analysis.specification.value_scale
    dropped = np.square(residuals) / (1.0 - decided)
    at = int(np.argmax(dropped))
    left = max(squares - float(dropped[at]), 1e-30 * squares)
    scatter = math.sqrt(left / (freedom - 1))
    far = math.sqrt(float(dropped[at])) / scatter
    if f_tails(1.0, freedom - 1.0, far * far).upper * columns.value.size >= UNLIKELY:
        return None
    away = float(residuals[at] / (1.0 - decided[at]))
    alike = np.flatnonzero(dropped >= (1.0 - 1e-7) * dropped[at])
    expected = float(columns.value[at]) - away if alike.size == 1 else math.nan
    cost = 2.0 * math.log(abs(away)) + 1.0
    found = Suspect(at, columns, tuple(map(int, alike)), far, expected, cost, None)
    if alike.size == 1:
        of_others = scatter**2 * float(decided[at] / (1.0 - decided[at]))
        found = slipped(found, scatter, of_others, with_error=False, logs=scale.log)
    before = math.sqrt(squares / freedom)
    without = name_of(analysis, columns, at).rsplit(" of ", 1)[0] if alike.size == 1 else "one of them"
    said = (
        f"{sentence_about(analysis, found)} Without {without} measurements that came without error bars "
        f"scatter by {scale.error(scatter)}, with it by {scale.error(before)}: void or amend what is wrong."
    )
    # By how much -2·log L falls: the common scatter fitted with it and without, its own offset paid for.
    less = freedom * math.log(squares / freedom) - (freedom - 1) * math.log(scatter**2) - found.deviance
    less -= 2.0 * math.log(columns.value.size) + math.log(1.0 - float(decided[at])) - 1.0
    return replace(_cause(analysis, found, said), deviance=-less)


def _leverages(analysis: Analysis, columns: Columns, ones: Floats) -> Floats:
    deviating = analysis.state.model.facts.has_deviation  # then only repeats tell the scatter
    features = None if deviating else analysis.state.features
    if features is None and is_linked(columns):
        return np.clip(PlainNetwork(columns).leverages(ones), 0.0, MOST)
    return leverages(columns, ones, features, 0.0)


def _among_its_own(analysis: Analysis) -> Cause | None:
    """Of sets of readings of one option, that whose mean lies furthest from the other means."""
    assert analysis.own_readings is not None
    found = analysis.own_readings.agreement()
    if found.chance >= SUSPICIOUS:
        return None
    columns = analysis.columns.select(own_rows(analysis.columns))
    columns = columns.select(columns.plus == found.worst)
    count, value = columns.readings, columns.value
    within, freedom = float(columns.scatter.sum()), float((count - 1.0).sum())
    whole = float(count.sum())
    away = (value - count @ value / whole) * whole / (whole - count)
    dropped = count * np.square(away) * (whole - count) / whole
    at = int(np.argmax(dropped))
    between = float(count @ np.square(value - count @ value / whole)) - float(dropped[at])
    sets = value.size - 2
    scatter = math.sqrt(within / freedom)
    if sets > 0 and f_tails(float(sets), freedom, between / sets / scatter**2).upper < SUSPICIOUS:
        return None  # leaving one out is not enough: something changed between many of them
    alike = tuple(map(int, np.flatnonzero(dropped >= (1.0 - 1e-7) * dropped[at])))
    alone = len(alike) == 1
    expected = float(value[at] - away[at]) if alone else math.nan
    cost = 2.0 * math.log(max(abs(float(away[at])), 1e-150)) + 1.0
    suspect = Suspect(at, columns, alike, math.sqrt(float(dropped[at])) / scatter, expected, cost, None)
    if alone:
        usual = scatter / math.sqrt(float(count[at]))
        of_others = scatter**2 / (whole - float(count[at]))
        logs = analysis.specification.value_scale.log
        suspect = slipped(suspect, usual, of_others, with_error=False, logs=logs)
    without = name_of(analysis, columns, at).rsplit(" of ", 1)[0] if alone else "one of them"
    said = (
        f"{sentence_about(analysis, suspect)} Without {without} the means agree as readings do: void or amend"
    )
    return _cause(analysis, suspect, f"{said} what is wrong.")


def _cause(analysis: Analysis, found: Suspect, words: str) -> Cause:
    name = f"m-{found.columns.number[found.at]}"
    remedy: dict[str, Any] = {"void": [name]}
    if found.slip is not None and float(found.columns.readings[found.at]) == 1.0:
        value = analysis.specification.value_scale.undone(float(found.columns.value[found.at])) / found.slip
        remedy = {"amend": [{"measurement": name, "value": float(value)}]}
    rows = tuple(row_of(analysis, found.columns, at) for at in found.alike)
    kind = UNIT if found.slip is not None else ROW
    return Cause(kind, words, -math.inf, math.nan, 0, math.nan, remedy, rows)
