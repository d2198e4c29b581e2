"""What to do about a problem of the check: every cause is fitted, and the likeliest comes first.

None of this is needed for a certificate or a suggestion, and it takes longer than both: only `Study.check`
and the report ask. A cause is a hypothesis with a remedy. Its remedy is tried, and it is judged by

    D = -2·log L + penalty,

L the restricted likelihood: options' values (weights, offsets of blocks) are integrated out with a flat
prior, the same for all causes. What a cause fits besides has a normal prior of the size that suits it best
(`causes.rows`, `causes.offsets`) or costs log f for each number, f the degrees of freedom; what could be
any one of k costs 2·log k; a remedy that leaves a misfit costs `TELLING`, about 20 to 1. Two causes whose D
differ by less than that are both said.

A cause is said if the measurements disagree with their error bars by more than chance (chi-square), and it
explains them better than no cause by `SOME`; or, where chi-square sees nothing, by `LOUD`.
"""

import math
from dataclasses import replace

import numpy as np

from noisewise.core.support.words import number
from noisewise.study.certificate.causes.cause import (
    DEVIATION,
    OFFSETS,
    ORDER,
    OVERSTATED,
    ROOTS,
    ROW,
    SCATTER,
    UNDERSTATED,
    UNIT,
    VARIANCES,
    Cause,
)
from noisewise.study.certificate.causes.error_bars import common_factor, copies, equal_bars, transformed
from noisewise.study.certificate.causes.left_out import left_out_in_turn
from noisewise.study.certificate.causes.offsets import labelled_offsets, offsets_in_order
from noisewise.study.certificate.causes.readings import about_own_readings, unequal_readings
from noisewise.study.certificate.causes.rows import wrong_rows
from noisewise.study.certificate.causes.scatters import unequal_bars
from noisewise.study.certificate.causes.sizes import check_after, wrong_sizes
from noisewise.study.certificate.causes.table import Table
from noisewise.study.certificate.causes.unbarred import wrong_reading
from noisewise.study.certificate.check import SUSPICIOUS, UNEQUAL, Check, tails
from noisewise.study.certificate.drift import about_time
from noisewise.study.certificate.outlying import about_readings
from noisewise.study.log.measurements import NO_BLOCK
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.remedies import TELLING
from noisewise.study.models.scatter import unequal_scatter

#: By how much D must fall for a cause, and for one that chi-square does not see.
SOME, LOUD = 2.0, 8.0
#: The causes that some tables do not tell from each other.
KINDS = (DEVIATION, UNDERSTATED, OVERSTATED, SCATTER)
#: A reduced chi-square below this makes error bars look too large.
TOO_LARGE = 0.5
#: After a remedy without any fitted number the fit must be at least this likely, on both sides.
FITS = SUSPICIOUS / 10.0


def explain(analysis: Analysis, check: Check) -> Check:
    """The same check with what to do about its problems."""
    table = Table(analysis)
    notes = list(check.notes)
    remedies: list[str] = []
    causes: list[Cause] = []
    left_out: tuple[dict[str, object], ...] = ()
    pool = unequal_scatter(table.columns, UNEQUAL)
    if pool is not None:  # then standard errors from that pool say little about single measurements
        causes.append(unequal_readings(analysis, table.columns, pool))
        remedies.append(causes[0].words)
    judged = (pool is None or bool(table.known.any())) and check.far_off is None
    if check.far_off is not None and check.p_value < SUSPICIOUS:
        remedies.append("Error bars look too small even for errors with heavy tails: use larger ones.")
    if (alone := wrong_reading(analysis)) is not None:
        causes.append(alone)
        remedies.append(alone.words)
    if judged and check.freedom > 0 and math.isfinite(check.reduced) and table.count:
        misfit = check.p_value < SUSPICIOUS
        slack = tails(analysis, check.reduced, check.freedom)[1] < SUSPICIOUS
        found = _causes(table, misfit, slack)
        said = _in_words(table, found, misfit)
        causes += found
        if misfit or any(one.kind in (ROW, UNIT) for one in found):
            remedies += said
            left_out = left_out_in_turn(table)
        else:
            notes = [*said, *notes]
    named = {str(row["measurement"]) for one in causes for row in one.rows}
    notes += [*about_own_readings(analysis), *about_time(analysis), *about_readings(analysis, named)]
    return replace(
        check,
        remedies=tuple(remedies),
        notes=tuple(notes),
        advice=causes[0].switch if causes else {},
        causes=tuple(causes),
        left_out=left_out,
        explained=True,
    )


def _causes(table: Table, misfit: bool, slack: bool) -> list[Cause]:
    """What explains the measurements better than nothing, the likeliest first."""
    too_large = slack and table.rest.reduced < TOO_LARGE and table.known.mean() > 0.5
    with np.errstate(all="ignore"):
        if too_large and (copied := copies(table, TOO_LARGE)) is not None:
            return [copied]
        found = [wrong_rows(table), *transformed(table)]
        if misfit or too_large:
            found.append(common_factor(table))
        if misfit:
            found += [wrong_sizes(table), *unequal_bars(table)]
            found += [*labelled_offsets(table), offsets_in_order(table)]
    least = table.deviance - (SOME if misfit or too_large else LOUD)
    likely = [_judged(one) for one in found if one is not None and _helps(table, one)]
    likely = [one for one in likely if one.deviance < least]
    likely = _merged(table, sorted(_cautious(table, likely), key=lambda one: one.deviance))
    return [one for one in likely if one.deviance < likely[0].deviance + TELLING]


def _helps(table: Table, cause: Cause) -> bool:
    """Whether the fit is better once its remedy is followed."""
    if cause.freedom <= 0:
        return True
    if not math.isfinite(cause.reduced):
        return False
    upper, lower, _ = tails(table.analysis, cause.reduced, cause.freedom)
    if cause.kind in (VARIANCES, ROOTS):
        return min(upper, lower) >= FITS
    before = table.rest.reduced
    return upper >= SUSPICIOUS or abs(_log(cause.reduced)) < abs(_log(before))


def _log(reduced: float) -> float:
    return math.log(max(reduced, 1e-300))


def _judged(cause: Cause) -> Cause:
    """A remedy after which the measurements still disagree has to be clearly better than others."""
    left = cause.freedom > 0 and cause.chance < SUSPICIOUS
    return replace(cause, deviance=cause.deviance + TELLING) if left else cause


def _cautious(table: Table, causes: list[Cause]) -> list[Cause]:
    """With causes that nobody can tell apart beside each other.

    Without repeats error bars cannot be told from features: that options deviate is the cautious reading, as
    more measurements would average extra scatter out, and a deviation stays. Of equal error bars the square
    root is a multiple.
    """
    least = {
        kind: min((one.deviance for one in causes if one.kind == kind), default=math.inf) for kind in KINDS
    }
    near = 0.5 * TELLING
    limits = {}
    if not table.repeated and math.isfinite(least[DEVIATION]):
        limits[UNDERSTATED] = least[DEVIATION] + near
    if equal_bars(table):
        other = min(least[UNDERSTATED], least[OVERSTATED], least[SCATTER])
        limits[VARIANCES] = other - near if math.isfinite(other) else -math.inf
    return [replace(one, deviance=max(one.deviance, limits.get(one.kind, -math.inf))) for one in causes]


def _merged(table: Table, causes: list[Cause]) -> list[Cause]:
    """Without those that say the same in other words.

    A cause that includes a simpler one, as factors of their own include a common one, is told first or not at
    all. With equal error bars a factor and extra scatter are one cause: that which can be switched on.
    """
    causes = [one for place, one in enumerate(causes) if place == 0 or not one.nested]
    kinds = [one.kind for one in causes]
    if not (SCATTER in kinds and UNDERSTATED in kinds and equal_bars(table)):
        return causes
    scatter, factor = (causes[kinds.index(kind)] for kind in (SCATTER, UNDERSTATED))
    times = number(float(factor.remedy["se_times"]), 2)
    words = f"{scatter.words} As all error bars are equal, that is to make them {times} times as large."
    both = replace(scatter, words=words, deviance=min(scatter.deviance, factor.deviance))
    rest = [one for one in causes if one not in (scatter, factor)]
    return sorted([*rest, both], key=lambda one: one.deviance)


def _in_words(table: Table, causes: list[Cause], misfit: bool) -> list[str]:
    """The causes, and what to do if it is none of them."""
    words = [one.words if len(causes) == 1 else one.unsure or one.words for one in causes[:3]]
    said = [*words[:1], *(f"Or, nearly as likely: {text[0].lower()}{text[1:]}" for text in words[1:])]
    if not misfit or (causes and causes[0].kind in (ROW, UNIT)):
        return said
    fixes = []
    analysis = table.analysis
    if analysis.model.way_out and check_after(analysis, {"model": "independent"}).ok:
        fixes.append(analysis.model.way_out)
    columns = table.columns
    advised = any(one.kind in (ORDER, OFFSETS) for one in causes)
    if not advised and not any(columns.blocks[code] != NO_BLOCK for code in np.unique(columns.block)):
        fixes.append("give block= if days, plates or judges differ")
    fixes.append("use larger error bars")
    first = "Otherwise" if said else "Nothing that was tried explains it clearly. To fix it"
    return [*said, f"{first}, {'; or '.join(fixes)}."]
