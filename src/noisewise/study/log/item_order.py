"""Which items come next for an option: the order that all options share, with what is being measured."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from noisewise.study.log.items import ROUNDING, Answers
from noisewise.study.log.jobs import Job
from noisewise.study.telling.items import Places, read_values

if TYPE_CHECKING:
    from noisewise.study.log.state import State

#: Items of one suggestion, unless another number is asked for.
BATCH = 50


def next_places(state: "State", option: int, count: int, under_way: list[Job]) -> Places:
    """The first places that were not told for an option and are not being measured, at most ``count``.

    Places beyond the names known so far are those of items that are yet to be drawn; a pool has none.
    """
    items = state.items
    jobs = [job for job in under_way if job.option == state.ids[option]]
    asked = _asked(state, jobs)
    places = items.of(option).missing(count + len(asked))
    places = places[~np.isin(places, asked)][:count]
    return places if items.pool is None else places[places < items.pool]


def _asked(state: "State", jobs: Iterable[Job]) -> list[int]:
    """The places that suggestions are for."""
    items, asked = state.items, []
    for job in jobs:
        asked += [items.place[name] for name in job.items]
        asked += range(job.fresh_from - 1, job.fresh_from - 1 + job.fresh)
    return asked


def why_not_next(
    state: "State", option: str, places: Places, job: str | None, answers: Answers | None = None
) -> str | None:
    """Why an option cannot be told items at these places now; None if it can.

    Told are the next ones, or those that a suggestion named: what was chosen before anybody saw an answer.

    Args:
        state: The study before.
        option: Its name.
        places: Rising.
        job: The suggestion that they answer.
        answers: What the option was told, if that is more than the study knows.
    """
    items = state.items
    answers = items.of(state.index[option]) if answers is None else answers
    before = answers.has(places)
    if before.any():
        place = int(places[np.argmax(before)])
        number = told_in(state, option, place)
        return (
            f"item {items.names[place]!r} was told for {option} before, in m-{number}: an item counts once "
            f"for each option; amend m-{number} if it was wrong"
        )
    expected = answers.missing(places.size)
    if np.array_equal(places, expected):
        return None
    asked = _asked(state, (one for one in state.jobs.values() if one.option == option))
    rest = places[~np.isin(places, asked)]
    if any(one.id == job and one.fresh for one in state.jobs.values()):
        rest = rest[rest < len(items.names)]  # others drew theirs in the meantime
    others = answers.missing(rest.size + len(asked))
    if np.array_equal(rest, others[~np.isin(others, asked)][: rest.size]):
        return None
    wrong = int(np.flatnonzero(places != expected)[0])
    due = int(expected[wrong])
    which = f"{items.names[due]!r}, at place {due + 1}" if due < len(items.names) else f"place {due + 1}"
    return (
        f"{option} goes on with item {which} of the order that all options share; items are told in that "
        "order, because those that are picked out, by looking or otherwise, would spoil the comparison"
    )


def told_in(state: "State", option: str, place: int) -> int:
    """The measurement that told an option's item."""
    for number in reversed(state.items.numbers(state.index[option])):
        if state.measurements.is_live(number):
            places = state.items.read(state.told[number - 1]).places
            if place in places:
                return number
    raise KeyError(place)


def items_flaw(state: "State", body: dict[str, Any], number: int | None) -> str | None:
    """Why the items of a measurement cannot be used; ``number``: of the measurement that they correct."""
    items = state.items
    if state.model.uses_features:
        return f"it has items, and the {state.model.model} model does not compare options item by item"
    if len(state.told) and not state.begins_with_items:
        return "it has items, and the study began with other measurements"
    if state.specification.value_scale.log and items.low <= 0.0:
        return "it has items, and nothing says that they are above 0 (bounds), where logarithms are taken"
    if any(name in body for name in ("minus", "block", "instrument")):
        return "items are of one option, and in no block"
    if "readings" not in body:
        return "it does not say how many items it has"
    told = items.read(body)
    raw = read_values(body["items"], body["readings"])
    slack = ROUNDING * max(abs(items.low), abs(items.high))
    if not ((raw >= items.low - slack) & (raw <= items.high + slack)).all():
        return f"the values of its items do not all lie from {items.low:g} to {items.high:g}"
    if number is not None:
        return None
    new = body.get("names", [])
    if not isinstance(new, list) or not all(type(name) is str and name for name in new):
        return "the names of its new items are no texts"
    if new and (items.pool is not None or len(set(new)) < len(new) or not items.place.keys().isdisjoint(new)):
        return "it names items anew that this study has"
    beyond = told.places[told.places >= len(items.names)]
    if not np.array_equal(beyond, len(items.names) + np.arange(len(new))):
        return "it has items without a name"
    return why_not_next(state, body["option"], told.places, body.get("job"))
