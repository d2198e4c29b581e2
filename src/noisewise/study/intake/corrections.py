"""Rows of a table that say something else than before: shown beside it, refused or corrected together."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from noisewise.study.intake.answers import took_its_block
from noisewise.study.intake.told_before import all_differing
from noisewise.study.log.state import State

#: Rows that one message shows at most.
NAMED = 5
#: What a correction keeps if the row does not say it.
KEPT = ("by", "note", "at", "cost", "row")
#: What a value and its error bar say already.
_MEASURED = ("option", "minus", "value", "sigma", "readings", "scatter", "values")


class Change(NamedTuple):
    """A row that says something else than a measurement that it was told as."""

    row: int  # in its table, from 1
    number: int  # of the measurement
    body: dict[str, Any]  # what the row says


def changes_in_words(state: State, changes: Sequence[Change]) -> str:
    """The changed rows beside what was told, and how to correct them all."""
    shown = [_in_words(state, change) for change in changes[:NAMED]]
    more = len(changes) - NAMED
    rest = f"; and {more} more like these" if more > 0 else ""
    loose = any(not {"key", "job"} & set(change.body) for change in changes)
    own = '; if they are measurements of their own, `repeat="others"`' if loose else ""
    return (
        f"{'; '.join(shown)}{rest}. Nothing was told: if these are corrections, say why with "
        f'`amend="reason"`{own}.'
    )


def _in_words(state: State, change: Change) -> str:
    told, body = state.told[change.number - 1], change.body
    name = f"key {body['key']}" if "key" in body else body.get("job")
    parts = [part for part in all_differing(told, body) if part not in _MEASURED]
    parts += ["key"] if told.get("key") != body.get("key") else []
    old, new = _content(told, parts), _content(body, parts)
    where = f"row {change.row}{'' if name is None else f' ({name})'}"
    return f"{where}: m-{change.number} was told as {old}, and the row says {new}"


def _content(content: dict[str, Any], parts: Sequence[str]) -> str:
    """A content such as "A = 1.31 ± 0.1, block 'Tue'"."""
    minus = f" - {content['minus']}" if "minus" in content else ""
    error = "" if content.get("shown") is None else f" ± {content['shown']:.6g}"
    bare = " without error bar" if "kind" in parts and content.get("kind") == "none" else ""
    said = [f"{part} {content[part]!r}" for part in parts if part != "kind" and content.get(part) is not None]
    lacking = [f"no {part}" for part in parts if part != "kind" and content.get(part) is None]
    value = f"{content.get('option')}{minus} = {content.get('value')!r}{error}{bare}"
    return ", ".join([value, *said, *lacking])


def corrected(state: State, change: Change, reason: str) -> dict[str, Any]:
    """The body of the event that corrects a measurement to what a row says."""
    old = state.told[change.number - 1]
    content = {name: part for name, part in change.body.items() if name != "notes"}
    kept = {name: old[name] for name in KEPT if name in old and name not in content}
    if "block" not in content and "block" in old and took_its_block(state, old):
        kept["block"] = old["block"]
    kept |= {"job": old["job"]} if old.get("job") in state.jobs else {}
    return {"number": change.number, "reason": reason, "content": content | kept}
