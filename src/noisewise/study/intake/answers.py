"""What a measurement takes from the suggestion it answers: its options and its block; and late answers."""

from collections.abc import Iterable
from typing import Any

from noisewise.core.text import duration
from noisewise.study.log.jobs import FAILED, RELEASED, TOLD, Job
from noisewise.study.log.state import State


def pair_asked(job: Job, given: dict[str, Any], where: str) -> tuple[str, str]:
    """The two options of a suggested difference; what is told about them wins, if it is a difference as well.

    It may be told the other way round, or against another option. One option alone is refused: its value
    would be taken for a difference, or the difference for its value.
    """
    assert job.minus is not None
    said = given.get("option") if given.get("plus") is None else given["plus"]
    first, second = (None if name is None else str(name).strip() for name in (said, given.get("minus")))
    if first is None and second is None:
        return job.option, job.minus
    if second not in (None, job.option) and first in (None, job.option):
        return job.option, str(second)
    if (first, second) == (job.minus, job.option):
        return job.minus, job.option
    got = " - ".join(name for name in (first, second) if name is not None)
    raise ValueError(
        f"{where}{job.id} asks for the difference {job.what}; got {got}: name both options or none, or tell "
        "it without the suggestion."
    )


def block_asked(state: State, job: Job, where: str, named_here: Iterable[str] = ()) -> str | None:
    """The block of a measurement that answers a suggestion and names none.

    Suggestions that are meant for one new block are told in the block that the first of them was told in.
    Until one names it, a value without a block is refused where others have blocks: it would be compared
    with measurements that share nothing with it.

    Args:
        state: The study before the measurement.
        job: The suggestion.
        where: How a message begins, such as "row 17: ".
        named_here: Blocks that other rows of the same table name for suggestions of the same new block.
    """
    if job.together is None or job.block is not None:
        return job.block
    if (own := _told_in(state, job.id)) is not None:
        return own
    named = blocks_named(state, job.together) | set(named_here)
    if len(named) == 1:
        return named.pop()
    if job.minus is not None or not (named or _has_blocks(state)):
        return None
    known = f"told in {' and '.join(map(repr, sorted(named)))}" if named else "not named yet"
    raise ValueError(
        f"{where}{job.id} is meant for a new block, {known}: say block= (the day, plate or judge; in a "
        "table, the column block), or, if it is in no block, tell it without the suggestion."
    )


def blocks_named(state: State, together: str) -> set[str]:
    """The names that answers gave to the new block that these suggestions are meant for."""
    told = (_told_in(state, id) for id in state.together.get(together, ()))
    return {block for block in told if block is not None}


def took_its_block(state: State, told: dict[str, Any]) -> bool:
    """Whether the block of a measurement may be the one that its suggestion asked for."""
    job = state.jobs.get(told.get("job", ""))
    return job is not None and (job.block == told.get("block") or job.together is not None)


def _told_in(state: State, id: str) -> str | None:
    number = state.answers.get(id)
    if number is None or not state.measurements.is_live(number):
        return None
    block: str | None = state.told[number - 1].get("block")
    return block


def _has_blocks(state: State) -> bool:
    """Whether any measurement that counts, differences apart, is in a block with a name."""
    columns = state.measurements.columns()
    return bool(((columns.minus < 0) & (columns.block > 0)).any())


def about_block(job: Job, block: str | None) -> list[str]:
    """What there is to say about an answer in another block: spreadsheets like to write dates anew."""
    if job.block is None or block in (None, job.block):
        return []
    return [f"{job.id} was meant for block {job.block}, and was told in {block}."]


def about_lease(state: State, job: Job, now: float) -> list[str]:
    """What there is to say about a suggestion whose answer comes late or again."""
    late = now - job.expires.timestamp()
    if job.status == TOLD:
        return [f"{job.id} was told before; both results are kept as repeats."]
    if job.status in (FAILED, RELEASED):
        return [f"{job.id} was {job.status} before; the result is kept."]
    if late <= 0.0:
        return []
    heirs = [other for other in state.jobs.values() if other.what == job.what and other.expires > job.expires]
    if not heirs:
        return [f"lease {job.id} expired {duration(late)} ago; the result is kept."]
    to = f" to worker {heirs[-1].by}" if heirs[-1].by else f" again as {heirs[-1].id}"
    return [
        f"lease {job.id} expired {duration(late)} ago and was given{to}; both results are kept as repeats."
    ]
