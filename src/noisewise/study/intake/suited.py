"""Measurements that a study cannot use because of what it was made for: refused before writing."""

from typing import TYPE_CHECKING, Any

from noisewise.study.inputs.error_bars import COUNTS, KNOWN, NONE, READINGS
from noisewise.study.log.jobs import Job
from noisewise.study.log.specification import COUNTED, ERROR_BARS, HEAVY, READ
from noisewise.study.log.state import State

if TYPE_CHECKING:
    from noisewise.study.intake.parsed_table import Parsed
    from noisewise.study.intake.row_fates import RowFates

#: The kinds that a study takes where a measurement was declared to be something, and what to say otherwise.
SUITED = {
    ERROR_BARS: ((KNOWN,), "give se=, var=, or ci="),
    COUNTED: ((COUNTS,), "give successes= and trials="),
    READ: ((READINGS, NONE), "give value=, values=[...], or the mean with sd= and n="),
}


def refuse_unsuited(state: State, content: dict[str, Any], minus: Any, job: Job | None, where: str) -> None:
    """Raise one sentence if a measurement is of a kind that says nothing in this study.

    Args:
        state: The study.
        content: What was told, as an event will hold it.
        minus: The option that is subtracted, if it is a difference.
        job: The suggestion that is answered.
        where: The row, for messages.
    """
    question, kind = state.specification, content["kind"]
    if job is not None and job.items and kind == NONE:
        raise ValueError(
            f"{where}{job.id} asks for {len(job.items)} items: tell items={{{job.items[0]!r}: ...}} (or a "
            "table with a column item); a number without error bar says nothing about them."
        )
    if question.items is not None and kind == NONE:
        raise ValueError(
            f"{where}this study measures options on its items: tell items={{...}} (or a table with a "
            "column item); a number without error bar says nothing about them. Others need se=."
        )
    if question.measure is not None and kind not in SUITED[question.measure][0]:
        raise ValueError(f"{where}this study measures {question.measure}: {SUITED[question.measure][1]}.")
    if question.noise != HEAVY:
        return
    if kind in (NONE, READINGS):
        raise ValueError(
            f'{where}errors of this study may have any tails (tails="{HEAVY}"), so every measurement '
            "needs an error bar that was known before (se=, var=, ci=), or successes= and trials=: the "
            "scatter of a few readings says little about rare large errors."
        )
    if minus is not None or content.get("block") is not None:
        raise ValueError(
            f'{where}errors of this study may have any tails (tails="{HEAVY}"), which needs options that '
            "are measured one by one: it takes neither differences (minus=) nor blocks."
        )


def refuse_unsuited_rows(state: State, parsed: "Parsed", told: "RowFates") -> None:
    """Refuse rows of a table, new ones and corrections, that mean nothing in this study."""
    question = state.specification
    if question.items is None and question.noise is None and question.measure is None and not told.jobs:
        return
    for change in told.changes:
        job = state.jobs.get(change.body.get("job", ""))
        where = f"row {change.row} ({change.body['option']}): "
        refuse_unsuited(state, change.body, change.body.get("minus"), job, where)
    for place in told.fresh:
        minus = None if told.minus is None else told.minus[place]
        job = state.jobs[told.jobs[place]] if place in told.jobs else None
        where = f"row {parsed.rows[place] + 1} ({told.options[place]}): "
        refuse_unsuited(state, told.content(parsed, place), minus, job, where)
