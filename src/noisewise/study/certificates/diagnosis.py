"""What to do about a problem of the check: every cause is fitted, and the likeliest comes first.

None of this is needed for a certificate or a suggestion, and it takes longer than both: only `Study.check`
and the report ask. A remedy is tried before it is advised, and one that leaves a misfit costs `TELLING` in
-2·log L, about 20 to 1. Two causes that differ by less than that are both said.

A cause is said if the measurements disagree with their error bars by more than chance (chi-square), and it
explains them better than no cause by `SOME`; or, where chi-square sees nothing, by `LOUD`.
"""

import math
from dataclasses import replace

import numpy as np

from noisewise.core.distributions import f_tails
from noisewise.core.text import number
from noisewise.study.certificates.causes import (
    DEVIATION,
    OFFSETS,
    ORDER,
    OVERSTATED,
    ROW,
    SCATTER,
    UNDERSTATED,
    UNIT,
    VARIANCES,
    Cause,
    Judged,
    Rest,
    check_after,
    common_factor,
    labelled_offsets,
    offsets_in_order,
    row_of,
    sentence_about,
    variances,
    wrong_rows,
    wrong_sizes,
)
from noisewise.study.certificates.check import SUSPICIOUS, UNEQUAL, Check, name_of, tails
from noisewise.study.log.measurements import KINDS, NO_BLOCK
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.scatter import is_linked, unequal_scatter
from noisewise.study.models.variance_components import TELLING
from noisewise.study.telling.error_bars import NONE

#: By how much D must fall for a cause, and for one that chi-square does not see.
SOME, LOUD = 2.0, 8.0
#: A reduced chi-square below this makes error bars look too large.
TOO_LARGE = 0.5
#: After a remedy without any fitted number the fit must be at least this likely, on both sides.
FITS = SUSPICIOUS / 10.0
#: A value without error bar is wrong if chance makes the worst of all as bad with less than this probability:
#: such errors are seldom quite normal. And degrees of freedom below which nothing is said.
UNLIKELY, FEW = 1e-4, 6


def explain(analysis: Analysis, check: Check) -> Check:
    """The same check with what to do about its problems."""
    judged, notes, remedies = Judged(analysis), list(check.notes), list[str]()
    causes = [] if (alone := wrong_reading(analysis)) is None else [alone]
    remedies += [one.words for one in causes]
    if check.far_off is not None and check.p_value < SUSPICIOUS:
        remedies.append("Error bars look too small even for errors with heavy tails: use larger ones.")
    pool = unequal_scatter(judged.columns, UNEQUAL)
    if pool is not None:
        linked = analysis.model.shares_information or is_linked(analysis.columns)
        own = "" if linked else ', or make the study with `errors="scatter=own"`'
        remedies.append(
            f"Look for outlying readings within {judged.columns.pools[pool]}, or give readings that scatter "
            f"differently an `instrument=` of their own, so that only equals are pooled{own}."
        )
    if check.far_off is None and check.freedom > 0 and math.isfinite(check.reduced) and judged.sigma.size:
        misfit = check.p_value < SUSPICIOUS
        found = _likely(judged, misfit, tails(analysis, check.reduced, check.freedom)[1] < SUSPICIOUS)
        causes += found
        if misfit or any(one.kind in (ROW, UNIT) for one in found):
            remedies += _in_words(judged, found, misfit)
        else:
            notes = [*_in_words(judged, found, misfit), *notes]
    advice = causes[0].switch if causes else {}
    return replace(
        check,
        remedies=tuple(remedies),
        notes=tuple(notes),
        advice=advice,
        causes=tuple(causes),
        explained=True,
    )


def _likely(judged: Judged, misfit: bool, slack: bool) -> list[Cause]:
    """What explains the measurements better than nothing, the likeliest first."""
    too_large = slack and judged.rest.reduced < TOO_LARGE and judged.known.mean() > 0.5
    with np.errstate(all="ignore"):
        found = [wrong_rows(judged), variances(judged)]
        if misfit or too_large:
            found.append(common_factor(judged))
        if misfit:
            found += [wrong_sizes(judged), *labelled_offsets(judged), offsets_in_order(judged)]
    # A remedy after which the measurements still disagree has to be clearly better than others.
    likely = [
        replace(one, deviance=one.deviance + TELLING * (one.freedom > 0 and one.chance < SUSPICIOUS))
        for one in found
        if one is not None and _helps(judged, one)
    ]
    least = judged.deviance - (SOME if misfit or too_large else LOUD)
    likely = _cautious(judged, [one for one in likely if one.deviance < least])
    return [one for one in likely if one.deviance < likely[0].deviance + TELLING]


def _helps(judged: Judged, cause: Cause) -> bool:
    """Whether the fit is better once its remedy is followed."""
    if cause.freedom <= 0:
        return True
    if not math.isfinite(cause.reduced):
        return False
    upper, lower, _ = tails(judged.analysis, cause.reduced, cause.freedom)
    if cause.kind == VARIANCES:
        return min(upper, lower) >= FITS
    after, before = max(cause.reduced, 1e-300), max(judged.rest.reduced, 1e-300)
    return upper >= SUSPICIOUS or abs(math.log(after)) < abs(math.log(before))


def _cautious(judged: Judged, causes: list[Cause]) -> list[Cause]:
    """In order, with causes that cannot be told apart beside each other.

    Without repeats error bars cannot be told from features: that options deviate is the cautious reading, as
    more measurements would average extra scatter out, and a deviation stays. Of equal error bars the square
    root is a multiple, and a factor and extra scatter are one cause: that which can be switched on.
    """
    least = {one.kind: one.deviance for one in causes}
    limits, near = dict[str, float](), 0.5 * TELLING
    features = judged.analysis.state.features is not None
    if (
        features
        and DEVIATION in least
        and not judged.analysis.likelihood(judged.columns, judged.bare).repeats
    ):
        limits[UNDERSTATED] = least[DEVIATION] + near
    bars = judged.bare[judged.known]
    if bars.size == 0 or np.ptp(np.log(bars)) < 1e-9:
        other = min(
            (least[kind] for kind in (UNDERSTATED, OVERSTATED, SCATTER) if kind in least), default=None
        )
        limits[VARIANCES] = -math.inf if other is None else other - near
        if {SCATTER, UNDERSTATED} <= least.keys():
            factor = next(one for one in causes if one.kind == UNDERSTATED)
            times = number(float(factor.remedy["se_times"]), 2)
            also = f" As all error bars are equal, that is to make them {times} times as large."
            both = min(least[SCATTER], least[UNDERSTATED])
            causes = [
                replace(one, words=one.words + also, deviance=both) if one.kind == SCATTER else one
                for one in causes
                if one is not factor
            ]
    moved = [replace(one, deviance=max(one.deviance, limits.get(one.kind, -math.inf))) for one in causes]
    return sorted(moved, key=lambda one: one.deviance)


def _in_words(judged: Judged, causes: list[Cause], misfit: bool) -> list[str]:
    """The causes, and what to do if it is none of them."""
    words = [one.words if len(causes) == 1 else one.unsure or one.words for one in causes[:3]]
    said = [*words[:1], *(f"Or, nearly as likely: {text[0].lower()}{text[1:]}" for text in words[1:])]
    if not misfit or (causes and causes[0].kind in (ROW, UNIT)):
        return said
    fixes, analysis, columns = list[str](), judged.analysis, judged.columns
    if analysis.model.way_out and check_after(analysis, {"model": "independent"}).ok:
        fixes.append(analysis.model.way_out)
    in_blocks = any(columns.blocks[code] != NO_BLOCK for code in np.unique(columns.block))
    if not in_blocks and not any(one.kind in (ORDER, OFFSETS) for one in causes):
        fixes.append("give `block=` if days, plates or judges differ")
    fixes.append("use larger error bars")
    first = "Otherwise" if said else "Nothing that was tried explains it clearly. To fix it"
    return [*said, f"{first}, {'; or '.join(fixes)}."]


def wrong_reading(analysis: Analysis) -> Cause | None:
    """Of measurements without error bars, the one that the others' scatter cannot explain.

    Their common scatter is estimated from this very fit, and one wrong value makes it large. Left out in
    turn, measurement i lowers the sum of squares Q on f degrees of freedom by d, and ``d·(f - 1)/(Q - d)``
    has Fisher's law with 1 and f - 1 degrees of freedom.
    """
    columns = analysis.columns.select(analysis.columns.kind == KINDS.index(NONE))
    if analysis.any_tails or analysis.own_readings is not None or columns.value.size <= FEW:
        return None

    rest, scale = (
        Rest(analysis, columns, np.ones(columns.value.size), scatter=True),
        analysis.specification.value_scale,
    )
    squares, freedom = rest.squares, rest.freedom
    if freedom < FEW or not 0.0 < squares < math.inf:
        return None
    fall = float(rest.falls.max())
    variance = max(squares - fall, 1e-30 * squares) / (freedom - 1)
    if f_tails(1.0, freedom - 1.0, fall / variance).upper * columns.value.size >= UNLIKELY:
        return None
    found = rest.suspect(variance, with_error=False, logs=scale.log)
    at, alike, scatter = found.at, found.alike, math.sqrt(variance)
    name = f"m-{columns.number[at]}"
    without = name_of(analysis, columns, at).rsplit(" of ", 1)[0] if len(alike) == 1 else "one of them"
    words = (
        f"{sentence_about(analysis, found)} Without {without} measurements that came without error bars "
        f"scatter by {scale.error(scatter)}, with it by {scale.error(math.sqrt(squares / freedom))}: void or "
        "amend what is wrong."
    )
    rows = tuple(row_of(analysis, columns, one) for one in alike)
    if found.slip is None or float(columns.readings[at]) != 1.0:
        kind = ROW if found.slip is None else UNIT
        return Cause(kind, words, -math.inf, math.nan, 0, math.nan, {"void": [name]}, rows)
    value = float(scale.undone(float(columns.value[at]))) / found.slip
    remedy = {"amend": [{"measurement": name, "value": value}]}
    return Cause(UNIT, words, -math.inf, math.nan, 0, math.nan, remedy, rows)
