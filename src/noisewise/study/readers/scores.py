"""Scores of options on items, as rows: items that options share, counts, or single readings.

Answers to the same questions are compared question by question, which takes fewer of them than any error bar
computed from their scatter (docs/evaluations.md). So that is how they are recorded unless something else is
asked for.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from noisewise.core.checks import nearest
from noisewise.core.text import counted, printable
from noisewise.study.readers.readout import Readout, ReadRow
from noisewise.study.readers.result_file import ResultFile
from noisewise.study.telling.items import shuffled

#: Names that a refusal lists.
LISTED = 12


def choose_one(file: ResultFile, what: str, known: Sequence[str], asked: str | None) -> str:
    """The name that was asked for, or the only one.

    Args:
        file: For messages.
        what: What it is, and how the choice is called: "task".
        known: The names that the file has.
        asked: What was asked for.
    """
    names = list(dict.fromkeys(known))
    if asked is None:
        if len(names) == 1:
            return names[0]
        if not names:
            raise file.refuse(f"it has no {what}.")
        raise file.refuse(f"it has several {what}s; choose one with `{what}=`: {quoted(names)}.")
    if asked in names:
        return asked
    raise file.refuse(
        f"it has no {what} {printable(asked)!r}; it has {quoted(names) or 'none'}.{nearest(asked, names)}"
    )


def quoted(names: Sequence[str]) -> str:
    """Names in quotation marks, the first dozen of them."""
    more = len(names) - LISTED
    shown = ", ".join(repr(printable(name)) for name in names[:LISTED])
    return shown + (f" and {more} more" if more > 0 else "")


#: How scores can be told.
ITEMS, COUNTS, VALUES = "items", "counts", "values"
HOW = (ITEMS, COUNTS, VALUES)
#: What leaves out items without a score.
DROP = "drop"


class ItemScore(NamedTuple):
    """What one option got on one item."""

    place: str  # in the file
    option: str
    item: str
    value: float | None  # None: it has no score
    why: str = ""  # why it has none, if the file says so


class Telling(NamedTuple):
    """How scores are told, as it was asked for."""

    how: str | None = None  # None: as items where they lie from 0 to 1, else as values
    missing: str | float | None = None  # the score of an item without one; "drop": none

    def check(self) -> "Telling":
        """Refuse what cannot be meant; a number may be a text."""
        if self.how not in (None, *HOW):
            raise ValueError(f"`how` must be one of {', '.join(HOW)}; got {self.how!r}.")
        if self.missing is None or self.missing == DROP:
            return self
        try:
            number = float(self.missing)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise ValueError(f"`missing` must be a number, or {DROP!r}; got {self.missing!r}.")
        return self._replace(missing=number)


def tell_scores(
    file: ResultFile,
    scores: Sequence[ItemScore],
    telling: Telling,
    key: Callable[[str], str],
    better: str | None = None,
) -> Readout:
    """Scores as rows.

    Args:
        file: For messages.
        scores: One for each option and item; repeats were averaged before.
        telling: How they are told.
        key: The key of an option's measurement, where it is one: what the file is known by.
        better: ``"max"`` if more is better, ``"min"`` if less is, None if the file does not say.
    """
    if not scores:
        raise file.refuse("it has no scores of items.")
    whole, notes = _without_gaps(file, scores, telling)
    within = all(0.0 <= one <= 1.0 for one in whole.values())
    how = telling.how or (ITEMS if within else VALUES)
    if how == ITEMS:
        return Readout(_as_items(scores, whole), notes=notes, better=better)
    if telling.how is None:
        notes.append(
            'Scores that do not lie from 0 to 1 are recorded as single readings; `how="items"` compares '
            "them item "
            'by item, in a study with `measure="ratings:LOW,HIGH"`.'
        )
    rows = [_summed(file, scores, option, whole, how, key(option)) for option in _options(scores)]
    return Readout(rows, notes=notes, better=better, of_items=True)


def averaged(scores: Sequence[ItemScore]) -> list[ItemScore]:
    """One score for each option and item: repeats say how an option answers one item, and are no more items.

    A repeat without a score makes its item one without: what is left of it was not chosen at random.
    """
    found: dict[tuple[str, str], list[ItemScore]] = {}
    for one in scores:
        found.setdefault((one.option, one.item), []).append(one)
    return [_mean(repeats) for repeats in found.values()]


def _mean(repeats: list[ItemScore]) -> ItemScore:
    values = [one.value for one in repeats if one.value is not None]
    if len(values) < len(repeats):
        return next(one for one in repeats if one.value is None)
    return repeats[0]._replace(value=math.fsum(values) / len(values))


def _without_gaps(
    file: ResultFile, scores: Sequence[ItemScore], telling: Telling
) -> tuple[dict[tuple[str, str], float], list[str]]:
    """The values by option and item, with a score for those that have none."""
    missing = telling.missing
    values: dict[tuple[str, str], float] = {}
    gaps = [one for one in scores if one.value is None]
    if gaps and (missing is None or (missing == DROP and telling.how in (None, ITEMS))):
        raise file.refuse(_about_gaps(gaps, missing == DROP))
    for one in scores:
        if (one.option, one.item) in values:
            raise file.refuse(
                f"{one.place}: item {printable(one.item)!r} of {printable(one.option)} appears twice."
            )
        if one.value is not None:
            values[one.option, one.item] = one.value
        elif missing != DROP and missing is not None:
            values[one.option, one.item] = float(missing)
    if not gaps:
        return values, []
    what = "left out" if missing == DROP else f"recorded as {float(missing or 0):g}"
    return values, [f"{counted(len(gaps), 'item')} without a score {what}."]


def _about_gaps(gaps: Sequence[ItemScore], dropped: bool) -> str:
    one = gaps[0]
    more = f", and {len(gaps) - 1} more like it" if len(gaps) > 1 else ""
    why = f" ({printable(one.why)[:80]})" if one.why else ""
    what = f"{one.place}: item {printable(one.item)!r} of {printable(one.option)} has no score{why}{more}"
    if dropped:
        return (
            f"{what}: items are compared for all options alike, and none can be left out for one of them; "
            "`missing=0` records it as failed."
        )
    return (
        f"{what}: one that could not be measured counts as failed, or results would depend on what was left "
        'out; `missing=0` records it so, and `how="counts"` with `missing="drop"` leaves it out.'
    )


def _as_items(scores: Sequence[ItemScore], whole: dict[tuple[str, str], float]) -> list[ReadRow]:
    """Rows option by option, each in the order of shuffled names.

    Files are sorted by topic or difficulty, and where a study has no pool, the order in which items are
    recorded first must be random. Names decide it, so that it is the same for every file.
    """
    place = {(one.option, one.item): one.place for one in scores}
    rank = {item: at for at, item in enumerate(shuffled({one.item for one in scores}, 0))}
    rows = []
    for option in _options(scores):
        mine = sorted((item for name, item in whole if name == option), key=rank.__getitem__)
        rows += [
            ReadRow(place[option, item], {"option": option, "item": item, "value": whole[option, item]})
            for item in mine
        ]
    return rows


def _options(scores: Sequence[ItemScore]) -> list[str]:
    return list(dict.fromkeys(one.option for one in scores))


def _summed(
    file: ResultFile,
    scores: Sequence[ItemScore],
    option: str,
    whole: dict[tuple[str, str], float],
    how: str,
    key: str,
) -> ReadRow:
    """All scores of an option as one measurement."""
    mine = [one for one in scores if one.option == option and (option, one.item) in whole]
    values = [whole[option, one.item] for one in mine]
    if how == COUNTS:
        return ReadRow(mine[0].place if mine else "", _counted(file, option, mine, values, key))
    if len(values) < 2:
        raise file.refuse(
            f"{printable(option)} has {counted(len(values), 'reading')}; it takes two at least."
        )
    return ReadRow(mine[0].place, {"option": option, "values": values, "key": key})


def _counted(
    file: ResultFile, option: str, mine: list[ItemScore], values: list[float], key: str
) -> dict[str, object]:
    for one, value in zip(mine, values, strict=True):
        if value not in (0.0, 1.0):
            raise file.refuse(
                f"{one.place}: {value:g} is neither a success nor a failure; leave `how=` out for items, "
                'or say `how="values"`.'
            )
    if not values:
        raise file.refuse(f"{printable(option)} has no scores.")
    return {"option": option, "successes": int(sum(values)), "trials": len(values), "key": key}
