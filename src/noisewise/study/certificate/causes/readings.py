"""Readings whose scatter differs within a pool: where, and what to do so that only equals are pooled."""

import math

import numpy as np

from noisewise.core.choice.selection import Mask
from noisewise.study.certificate.causes.cause import READINGS as UNLIKE
from noisewise.study.certificate.causes.cause import Cause
from noisewise.study.certificate.check import name_of
from noisewise.study.inputs.error_bars import READINGS
from noisewise.study.log.measurements import KINDS, Columns
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.own_readings import LEAST, is_linked, own_rows
from noisewise.study.models.scatter import LEAST_FREEDOM, chance_of_equal_scatter, sets_of

#: Groups explain unequal scatter if within them it is equal with at least this probability.
GOOD = 0.01
#: The chance above which options are said to scatter alike, and readings of an option beyond which that gains
#: nothing.
ALIKE, MANY = 0.2, 12


def unequal_readings(analysis: Analysis, columns: Columns, pool: int) -> Cause:
    """What makes the scatter within a pool unequal."""
    members = (columns.kind == KINDS.index(READINGS)) & (columns.pool == pool)
    name, scale = columns.pools[pool], analysis.specification.value_scale
    logs = "" if scale.log else ', or make the study with scale="log" if large ones scatter more'
    logged = "" if scale.log else ' make the study with scale="log" or'
    for what, codes, names in (
        ("option", columns.plus, analysis.state.ids),
        ("block", columns.block, columns.blocks),
    ):
        groups: dict[int, Mask] = {int(code): members & (codes == code) for code in np.unique(codes[members])}
        chance = chance_of_equal_scatter(sets_of(columns, group) for group in groups.values())
        if len(groups) < 2 or chance < GOOD:
            continue
        spread = {code: _scatter(columns, group) for code, group in groups.items()}
        most, least = max(spread, key=lambda k: spread[k]), min(spread, key=lambda k: spread[k])
        alone = _make_it_own(analysis) if what == "option" else ""
        words = (
            f"Within {name} the scatter differs between {what}s: single readings of "
            f"{names[most] or 'no block'} scatter by {scale.error(spread[most])}, those of "
            f"{names[least] or 'no block'} by {scale.error(spread[least])}. Give the readings of each {what} "
            f"an instrument= of its own, so that only equals are pooled{logs}.{alone}"
            f"{_too_few(columns, groups)}"
        )
        return Cause(UNLIKE, words, -math.inf, math.nan, 0, chance, {"instrument": what, "within": name})
    single = np.where(members, columns.scatter / np.maximum(columns.readings - 1.0, 1.0), -np.inf)
    worst = int(np.argmax(single))
    usual = float(np.sqrt(np.median(single[members])))
    words = (
        f"Within {name} the readings of {name_of(analysis, columns, worst)} scatter most, by "
        f"{scale.error(math.sqrt(single[worst]))} where {scale.error(usual)} is usual. Look for outlying "
        "readings; "
    )
    words += (
        f"where these are the rule, as with timings,{logged} tell a mean with an se= that you know."
        if name.startswith("instrument ")
        else "or name the instrument= of each, so that only equals are pooled."
    )
    number_of = int(columns.number[worst])
    row = {"measurement": f"m-{number_of}", "key": analysis.state.told[number_of - 1].get("key")}
    remedy = {"look": [f"m-{number_of}"]}
    return Cause(UNLIKE, words, -math.inf, math.nan, 0, math.nan, remedy, (row,))


def _too_few(columns: Columns, groups: dict[int, Mask]) -> str:
    """What groups of their own would lack."""
    least = min(float((columns.readings[group] - 1.0).sum()) for group in groups.values())
    if least >= LEAST_FREEDOM:
        return ""
    return (
        f" The scatter of an instrument needs {LEAST_FREEDOM} degrees of freedom, and one of them would have "
        f"{least:.0f}: more readings would be needed."
    )


def _make_it_own(analysis: Analysis) -> str:
    """The way out where options share nothing."""
    if analysis.model.shares_information or is_linked(analysis.columns):
        return ""
    return " Or make the study with scatter=\"own\": then no option's readings stand for another's."


def about_own_readings(analysis: Analysis) -> list[str]:
    """A note where few readings of each option scatter alike, as far as can be seen."""
    sums = analysis.own_readings
    if sums is None:
        return []
    some = np.flatnonzero(sums.readings >= LEAST)
    if (
        some.size < 2
        or (sums.readings[some] - 1.0).sum() < LEAST_FREEDOM
        or np.median(sums.readings[some]) > MANY
    ):
        return []
    columns = analysis.columns
    columns = columns.select(own_rows(columns) & (columns.readings > 1.0))
    if chance_of_equal_scatter([(columns.readings - 1.0, columns.scatter)]) < ALIKE:
        return []
    return [
        "As far as can be seen, all options scatter alike. If you know that they do (one instrument, one "
        'procedure), a study made with scatter="pooled" needs fewer readings.'
    ]


def _scatter(columns: Columns, group: Mask) -> float:
    return float(np.sqrt(columns.scatter[group].sum() / max(1.0, (columns.readings[group] - 1.0).sum())))
