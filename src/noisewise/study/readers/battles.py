"""Battles (CSV, JSON or JSON lines): who won between two models, as measured differences; ties count half.

A battle between A and B has the outcome 1, 0 (a tie) or -1, whose mean is 2p - 1, p being A's chance of
winning with ties as half. The mean of n numbers from -1 to 1 is 1/√n-sub-Gaussian whatever they are
(Hoeffding), so a pair is recorded as a difference with the error 1/√n: it depends on nothing that came out.
"""

import hashlib
import math
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from noisewise.core.text import counted, printable
from noisewise.study.readers.reader import Reader
from noisewise.study.readers.readout import Readout, ReadRow
from noisewise.study.readers.result_file import JsonPart, ResultFile
from noisewise.study.readers.scores import ItemScore, Telling, averaged, quoted, tell_scores

#: Columns that name what a battle was about.
_ITEMS = ("item", "question_id", "prompt_id", "question", "prompt")
_TIES = {
    "tie",
    "ties",
    "draw",
    "both_bad",
    "bothbad",
    "tie (bothbad)",
    "tie(bothbad)",
    "tie (both bad)",
    "both",
}
_FIRST, _SECOND = {"model_a", "a", "[[a]]"}, {"model_b", "b", "[[b]]"}
#: Characters of a prompt that names an item.
_LONG = 200
#: Columns that count outcomes: of all battles of a pair, or of one, with a 1 in one of them.
_COUNTED = (("wins_a", "wins_b", "ties"), ("winner_model_a", "winner_model_b", "winner_tie"))


class Battle(NamedTuple):
    """Battles of two models."""

    place: str
    first: str
    second: str
    outcome: float  # mean of 1, 0 and -1, seen from the first
    battles: int = 1
    item: str | None = None


def read(file: ResultFile, *, baseline: str | None = None, run: str | None = None) -> Readout:
    """Who won between two models.

    Args:
        file: A table or JSON with ``model_a``, ``model_b`` and ``winner`` (or ``winner_model_a``,
            ``winner_model_b`` and ``winner_tie``), or with ``wins_a``, ``wins_b`` and ``ties`` of each pair.
        baseline: A model that is in every battle: the others are compared by how they did against it,
            item by item.
        run: A name for these battles; default: that of the file. A run is recorded once, and corrected with
            amend= when it has grown.
    """
    battles = [_battle(line) for line in _lines(file)]
    if not battles:
        raise file.refuse("it has no battles.")
    if baseline is not None:
        return _against(file, battles, baseline)
    _check_once(file, battles)
    pairs: dict[tuple[str, str], list[Battle]] = defaultdict(list)
    for one in battles:
        turned = one.first > one.second
        key = (one.second, one.first) if turned else (one.first, one.second)
        pairs[key].append(one._replace(outcome=-one.outcome if turned else one.outcome))
    called = run or (file.path.stem if file.path is not None else "standard input")
    rows = [_difference(pair, found, called) for pair, found in pairs.items()]
    return Readout(rows, notes=_notes(battles, len(pairs)), better="max", of_items=True)


def _difference(pair: tuple[str, str], battles: list[Battle], run: str) -> ReadRow:
    """All battles of a pair as one measured difference; those about one item are one of it."""
    first, second = pair
    items: dict[str, list[float]] = defaultdict(list)
    for one in battles:
        if one.item is not None:
            items[one.item].append(one.outcome)
    total = [math.fsum(outcomes) / len(outcomes) for outcomes in items.values()]
    total += [one.outcome * one.battles for one in battles if one.item is None]
    n = len(items) + sum(one.battles for one in battles if one.item is None)
    fields = {
        "plus": first, "minus": second, "value": math.fsum(total) / n, "se": 1.0 / math.sqrt(n),
        "key": f"battles {run}: {first} | {second}",
        "note": f"{counted(n, 'battle')}; ties count half",
    }  # fmt: skip
    return ReadRow(battles[0].place, fields)


def _check_once(file: ResultFile, battles: list[Battle]) -> None:
    """Refuse an item that several pairs battled over: differences that share answers count them twice."""
    seen: dict[str, Battle] = {}
    for one in battles:
        if one.item is None:
            continue
        before = seen.setdefault(one.item, one)
        if {before.first, before.second} != {one.first, one.second}:
            pairs = " and ".join(f"{printable(b.first)} against {printable(b.second)}" for b in (before, one))
            raise file.refuse(
                f"{one.place}: item {printable(one.item)!r} was battled over by {pairs}. All pairs of "
                "differences from the same items count the same answers twice: if one model is in every "
                "battle, name it with `baseline=`; else give every pair items of its own."
            )


def _against(file: ResultFile, battles: list[Battle], baseline: str) -> Readout:
    """Scores against one model, item by item: 1 for a win, ½ for a tie; the model itself has ½ everywhere."""
    scores = []
    for one in battles:
        if baseline not in (one.first, one.second):
            named = quoted(sorted({name for b in battles for name in (b.first, b.second)}))
            raise file.refuse(
                f"{one.place}: {printable(baseline)!r} is not in this battle, and a baseline must be in "
                f"every one; the models are {named}."
            )
        if one.item is None:
            raise file.refuse(
                f"{one.place}: a battle against the baseline must say its item, in a column "
                f"{' or '.join(_ITEMS[:2])}."
            )
        turned = one.second != baseline
        other, outcome = (one.second, -one.outcome) if turned else (one.first, one.outcome)
        scores.append(ItemScore(one.place, other, one.item, 0.5 + 0.5 * outcome))
    itself = {one.item: one for one in reversed(battles)}
    scores += [ItemScore(one.place, baseline, item or "", 0.5) for item, one in itself.items()]
    found = tell_scores(file, averaged(scores), Telling("items"), lambda model: model, "max")
    said = f"Values are chances of winning against {printable(baseline)}, ties as half; its own is ½."
    return Readout(found.rows, notes=[said], better="max")


def _notes(battles: list[Battle], pairs: int) -> list[str]:
    notes = ["A difference is 2p - 1 for the chance p of winning, ties as half."]
    if pairs > 1:
        notes.append(
            "They are taken to add up: A minus C is A minus B plus B minus C. That holds where chances are "
            "near ½; a Bradley-Terry model adds up logarithms of odds instead. Where battles form circles, "
            "the check can see whether they do."
        )
    if all(one.item is None for one in battles):
        notes.append("Every battle is taken to be over an item of its own.")
    return notes


def _lines(file: ResultFile) -> Iterator[JsonPart]:
    """The rows of the file, by columns in small letters."""
    begin = file.bytes().lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if begin == b"[":
        rows = file.json().list()
    elif begin == b"{":
        rows = file.json_lines()
    else:
        table = file.table()
        cells = enumerate(table.frame.iter_rows(named=True))
        rows = [JsonPart(row, file.name, table.place(at)) for at, row in cells]
    for row in rows:
        said = {name.strip().lower(): part for name, part in row.object().items()}
        yield JsonPart(said, row.file, row.place)


def _battle(row: JsonPart) -> Battle:
    first, second = _name(row["model_a"]), _name(row["model_b"])
    if first == second:
        raise row.refuse(f"has {printable(first)!r} against itself.")
    there = {name for name, cell in row.value.items() if cell is not None}
    item = next((_name(row[name]) for name in _ITEMS if name in there), None)
    counts = next((names for names in _COUNTED if not there.isdisjoint(names)), None)
    if counts is not None and "winner" not in there:
        won, lost, ties = (_count(row.get(name)) for name in counts)
        n = won + lost + ties
        if not n:
            raise row.refuse("has no battles.")
        return Battle(row.place, first, second, (won - lost) / n, n, item if n == 1 else None)
    return Battle(row.place, first, second, _outcome(row["winner"], first, second), 1, item)


def _outcome(winner: JsonPart, first: str, second: str) -> float:
    said = winner.text().strip()
    word = said.lower()
    if said in (first, second):
        return 1.0 if said == first else -1.0
    if word in _FIRST:
        return 1.0
    if word in _SECOND:
        return -1.0
    if word in _TIES:
        return 0.0
    raise winner.refuse(
        f"is {printable(said)[:40]!r}; it must be model_a, model_b, the name of one of them, tie or both_bad."
    )


def _name(part: JsonPart) -> str:
    text = " ".join(part.text().split()) if part.is_a(str) else str(part.count())
    if len(text) <= _LONG:
        return text
    return f"{text[:_LONG]}… {hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _count(part: JsonPart | None) -> int:
    """A number of battles, from JSON or from a cell; nothing is none."""
    if part is None:
        return 0
    value: Any = part.value
    if part.is_a(str) and value.strip().isdecimal():
        return int(value)
    return part.count()


def looks_like(file: ResultFile) -> bool:
    """Whether a file has the columns of battles."""
    head = file.head().lower()
    return "model_a" in head and "model_b" in head and ("winner" in head or "wins_a" in head)


READER = Reader("battles", "battles: model_a, model_b, winner", read, looks_like)
