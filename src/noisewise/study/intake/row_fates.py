"""What becomes of the rows of a table, and which suggestions they answer."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from noisewise.study.intake.answers import about_block, block_asked
from noisewise.study.intake.corrections import Change
from noisewise.study.intake.parsed_table import Parsed
from noisewise.study.log.jobs import Job
from noisewise.study.log.state import State


class RowFates(NamedTuple):
    """What becomes of the rows of a table in the present state."""

    fresh: Sequence[int]  # places that are told
    options: Sequence[str]  # of every place
    minus: list[str | None] | None
    jobs: dict[int, str]
    notes: dict[int, list[str]]
    known: int
    voided: list[str]  # measurements that rows were told as, and that do not count
    blocks: dict[int, str]  # of places that name none, from the suggestions they answer
    changes: list[Change] = []  # noqa: RUF012 - never changed; rows that correct what was told
    skipped: tuple[int, ...] = ()  # measurements that rows without keys were told as
    missing: tuple[int, ...] = ()  # measurements of an earlier version of the table that are not in it

    def content(self, parsed: Parsed, place: int) -> dict[str, Any]:
        """What a row says, with the block of the suggestion that it answers."""
        block = {"block": self.blocks[place]} if place in self.blocks else {}
        return parsed.content(place) | block

    def in_words(self, parsed: Parsed) -> dict[int, str]:
        """What becomes of rows, from 1; those that are not named were told before, or say nothing."""
        fates = {int(parsed.rows[place]) + 1: "will be told" for place in self.fresh}
        return fates | {change.row: f"corrects m-{change.number}" for change in self.changes}


def answer_suggestions(state: State, parsed: Parsed, told: RowFates, now: float) -> list[int]:
    """Let rows that name no suggestion answer the oldest of what they measured that are under way.

    Rows come first whose block a suggestion names. The others answer one for a block that is not named, or
    any: what a row says about its block wins.

    Returns:
        The places of these rows.
    """
    waiting: dict[frozenset[str | None], list[Job]] = {}
    taken = set(told.jobs.values())
    for job in state.open_jobs(now):
        if job.id not in taken:
            waiting.setdefault(frozenset((job.option, job.minus)), []).append(job)
    if not waiting:
        return []
    blocks, answering = parsed.column("block"), []
    for known in (True, False):
        for place in told.fresh:
            probe = (told.options[place], None if told.minus is None else told.minus[place])
            jobs = waiting.get(frozenset(probe))
            if place in told.jobs or not jobs:
                continue
            block = None if blocks is None else blocks[place]
            fits = [job for job in jobs if job.block == block]
            if known and (block is None or not fits):
                continue
            fits = fits or [job for job in jobs if job.block is None]
            found = (fits if block is not None and fits else jobs)[0]
            jobs.remove(found)
            told.jobs[place] = found.id
            answering.append(place)
    return answering


def take_blocks(state: State, parsed: Parsed, told: RowFates, answering: list[int]) -> None:
    """Give rows that answer suggestions and name no block the blocks that were asked for."""
    said = parsed.column("block") or [None] * len(parsed)
    named: dict[str | None, set[str]] = {}
    for place in answering:
        named.setdefault(state.jobs[told.jobs[place]].together, set()).update(filter(None, [said[place]]))
    for place in answering:
        job = state.jobs[told.jobs[place]]
        where = f"row {parsed.rows[place] + 1} ({told.options[place]}): "
        if said[place] is None and (block := block_asked(state, job, where, named[job.together])) is not None:
            told.blocks[place] = block
        if elsewhere := about_block(job, said[place]):
            told.notes.setdefault(place, []).extend(elsewhere)
