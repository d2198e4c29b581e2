"""What a measurement is about: its suggestion, its options, and the block that the suggestion asked for."""

import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from noisewise.core.checks import nearest
from noisewise.core.text import composed, duration, printable
from noisewise.study.log.jobs import FAILED, RELEASED, TOLD
from noisewise.study.log.model_choice import named_models
from noisewise.study.log.state import Job, State
from noisewise.study.log.told import Measurement as Measurement
from noisewise.study.log.told import Told as Told
from noisewise.study.log.told import check_arguments as check_arguments
from noisewise.study.log.told import measurement_of as measurement_of

#: Is called with what is being done, how many rows are done, and how many there are.
Watch = Callable[[str, int, int], None]
#: Rows that one message shows at most.
NAMED = 5
#: Distinct pairs of options that may be compared in models where each adds an unknown.
MOST_PAIRS = 500


#: Options that a message lists all.
FEW = 12


def pair_asked(job: Job, given: dict[str, Any], where: str) -> tuple[str, str]:
    """The two options of a suggested difference; what is recorded wins, if it is a difference.

    It may be recorded the other way round, or against another option. One option alone is refused: its value
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
        f"{where}{job.id} asks for the difference {job.what}; got {got}: name both or none, or record "
        "it without the suggestion."
    )


def block_asked(state: State, job: Job, where: str, named_here: Iterable[str] = ()) -> str | None:
    """The block of a measurement that answers a suggestion and names none.

    Suggestions that are meant for one new block are recorded in the block of the first of them.
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
    known = f"recorded in {' and '.join(map(repr, sorted(named)))}" if named else "not named yet"
    raise ValueError(
        f"{where}{job.id} is meant for a new block, {known}: say `block=` (the day, plate or judge; in a "
        "table, the column block), or, if it is in no block, record it without the suggestion."
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
    return [f"{job.id} was meant for block {job.block}, and was recorded in {block}."]


def about_lease(state: State, job: Job, now: float) -> list[str]:
    """What there is to say about a suggestion whose answer comes late or again."""
    late = now - job.expires.timestamp()
    if job.status == TOLD:
        return [f"{job.id} was answered before; both results are kept as repeats."]
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


def find_job(state: State, job: Any, where: str = "") -> Job:
    """A suggestion by itself or by its id."""
    if isinstance(job, list | tuple | set):
        raise TypeError(
            f"`job` must be one suggestion; got {len(job)} in a {type(job).__name__}. `ask()` returns "
            "a list: "
            "(job,) = study.ask(), or record each of them."
        )
    if hasattr(job, "columns") or isinstance(job, Mapping):
        raise TypeError("`job` must be one suggestion; got a table: use tell_many().")
    id = job.id if isinstance(job, Job) else job
    if not isinstance(id, str) or id not in state.jobs:
        recent = ", ".join(list(state.jobs)[-3:]) or "none"
        option = (
            f" {id!r} is an option: say `option={id!r}`." if isinstance(id, str) and id in state.index else ""
        )
        raise KeyError(
            f"{where}`job` must be a suggestion of this study (the latest: {recent}); got {id!r}.{option}"
        )
    return state.jobs[id]


def find_option(state: State, option: Any, where: str = "") -> str:
    """An option's name, refused with the nearest ones if it is unknown."""
    if option is None or isinstance(option, bytes | list | tuple | set | dict):
        raise TypeError(f"{where}`option` must be the name of an option; got {option!r}.")
    name = composed(str(option))
    if name in state.index:
        return name
    if name.strip() in state.index:
        return name.strip()
    # A-7 means A-007 before it means A-97.
    same = [known for known in state.ids if _without_zeros(known) == _without_zeros(name)]
    close = [*same, *(known for known in get_close_matches(name, state.ids, n=2) if known not in same)][:2]
    hint = f" Nearest: {', '.join(map(printable, close))}." if close else ""
    if not close and len(state.ids) <= FEW:
        hint = f" There are {', '.join(map(printable, state.ids))}."
    name = printable(name if len(name) <= 60 else f"{name[:60]}…")
    raise KeyError(f"{where}{name!r} is not in the catalogue ({len(state.ids)} options).{hint}")


def _without_zeros(name: str) -> str:
    return re.sub(r"(?<!\d)0+(?=\d)", "", name.casefold())


def find_measurement(state: State, measurement: Any) -> int:
    """The number of a measurement, given itself, its id or its key."""
    given = measurement
    if isinstance(measurement, Measurement):
        return measurement.number
    if isinstance(measurement, str):
        measurement = composed(measurement)
        keyed = state.keys.get(measurement)
        if keyed is None and measurement in state.freed:
            keyed = state.freed[measurement][-1]
        if measurement.startswith("m-") and measurement[2:].isdecimal() and len(measurement) < 20:
            number = int(measurement[2:])
            if keyed not in (None, number) and 1 <= number <= len(state.told):
                raise KeyError(
                    f"`measurement` {given!r} is the key of m-{keyed} and the id of another one: say "
                    f"m-{keyed} for the first, m-0{number} for the second."
                )
            measurement = number
        if keyed is not None:
            return keyed
    if type(measurement) is int and 1 <= measurement <= len(state.told):
        return measurement
    hint = nearest(given, list(state.keys)) if isinstance(given, str) else ""
    raise KeyError(
        f"`measurement` must be one of this study's {len(state.told)}, by its id (m-1, …) or key; got "
        f"{given!r}.{hint}"
    )


def find_probe(state: State, given: dict[str, Any], job: Job | None, where: str) -> tuple[str, str | None]:
    """What was measured: an option, or two for a difference."""
    plus, minus, option = given.get("plus"), given.get("minus"), given.get("option")
    if job is not None and job.minus is not None and (plus is None or option is None):
        one, other = pair_asked(job, given, where)
        return one, find_option(state, other, where)
    if (plus is None) != (minus is None):
        raise ValueError(f"{where}`plus=` and `minus=` go together: a difference has two options.")
    ways = [
        name for name, value in (("job", job), ("option", option), ("plus, minus", plus)) if value is not None
    ]
    if len(ways) > 1 and not (job and option is not None and str(option) == job.option):
        raise ValueError(
            f"{where}say what was measured in one way: a job, `option=`, or `plus=` and `minus=` "
            f"(got {', '.join(ways)})."
        )
    if not ways:
        raise ValueError(f"{where}say what was measured: a job, `option=`, or `plus=` and `minus=`.")
    if plus is not None:
        one, other = find_option(state, plus, where), find_option(state, minus, where)
        if one == other:
            raise ValueError(f"{where}a difference needs two different options; got {one!r} twice.")
        return one, other
    return (job.option if job is not None else find_option(state, option, where)), None


def check_pair(state: State, option: str, minus: str, where: str) -> None:
    """Refuse one distinct pair too many."""
    one, other = sorted((state.index[option], state.index[minus]))
    limited = state.model.facts.limits_pairs and len(state.pairs) >= MOST_PAIRS
    if limited and (one, other) not in state.pairs:
        others = named_models(lambda facts: not facts.limits_pairs)
        raise ValueError(
            f"{where}{option} - {minus} would be pair number {MOST_PAIRS + 1}: the {state.model.model} model "
            f"keeps at most {MOST_PAIRS} distinct pairs, because every compared option is tied to every "
            "other. Compare all options with a few references, measure them directly, or use "
            f"`model={others}`."
        )
