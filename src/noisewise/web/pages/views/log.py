"""The log in words, the newest event first."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from noisewise.core.support.words import moment, number
from noisewise.study.stores.protocol import Event
from noisewise.web.pages.views.headline import SentencePart
from noisewise.web.pages.views.paging import Pager

#: Kinds of events that change what was said before.
GRAVE = ("void", "amend", "exclude", "switch", "fail", "mend", "policy")


class EventRow(NamedTuple):
    """One event."""

    number: int
    day: str  # where another day begins; else empty
    time: str
    kind: str
    grave: bool
    parts: list[SentencePart]  # what happened
    measurement: str  # the one it is about, as a link
    more: str  # the reason, the block, ...
    by: str


class LogPage(NamedTuple):
    """One page of the log."""

    rows: list[EventRow]
    pager: Pager
    head: str


def log_page(events: Sequence[Event], pager: Pager, told: int, head: str) -> LogPage:
    """Events of one page.

    Args:
        events: In the order of the log.
        pager: Which page of which.
        told: How many measurements had been told when the last of these events happened.
        head: The last hash of the chain.
    """
    rows, last = [], ""
    for event in reversed(events):
        row = _row(event, told if event.kind == "tell" else None)
        told -= event.kind == "tell"
        rows.append(row._replace(day="" if row.day == last else row.day))
        last = row.day
    return LogPage(rows, pager, head)


def _row(event: Event, measurement: int | None) -> EventRow:
    body: dict[str, Any] = event.body if isinstance(event.body, dict) else {}
    at = moment(event.at)
    parts, more = _in_words(event.kind, body)
    about = f"m-{measurement}" if measurement else ""
    if event.kind in ("void", "amend") and "number" in body:
        about = f"m-{body['number']}"
    reason = body.get("reason")
    said = [*more, *([f"reason: {reason}"] if reason else [])]
    return EventRow(
        event.number,
        f"{at:%A %d %B %Y}",
        f"{at:%H:%M:%S}",
        event.kind,
        event.kind in GRAVE,
        parts,
        about,
        "; ".join(said),
        str(body.get("by") or ""),
    )


def _in_words(kind: str, body: Mapping[str, Any]) -> tuple[list[SentencePart], list[str]]:
    """What happened, and what is said besides."""
    what = str(body.get("option", ""))
    if body.get("minus") is not None:
        what += f" − {body['minus']}"
    if kind == "tell":
        return [SentencePart(what, True), SentencePart(f" {_value(body)}", False)], _details(body)
    if kind == "ask":
        where = [str(body["why"])] if body.get("why") else []
        return [SentencePart(what, True), SentencePart(f" reserved as {body.get('id')}", False)], where
    if kind == "void":
        return [SentencePart("counts no more", False)], []
    if kind == "amend":
        content = body.get("content") or {}
        return [SentencePart(f"is now {_value(content)}", False)], []
    if kind in ("fail", "release"):
        end = "could not be measured" if kind == "fail" else "given back unmeasured"
        return [SentencePart(str(body.get("job", "")), True), SentencePart(f" {end}", False)], []
    if kind in ("exclude", "include"):
        end = "taken out" if kind == "exclude" else "taken back in"
        return [SentencePart(what, True), SentencePart(f" {end}", False)], []
    plain = {name: one for name, one in body.items() if name not in ("reason", "by")}
    return [
        SentencePart(", ".join(f"{name}: {_brief(one)}" for name, one in plain.items()) or kind, False)
    ], []


def _value(body: Mapping[str, Any]) -> str:
    value, shown = body.get("value"), body.get("shown")
    error = "" if shown is None else f" ± {number(shown)}"
    return f"{value:.6g}{error}" if isinstance(value, int | float) else "without a value"


def _details(body: Mapping[str, Any]) -> list[str]:
    names = ("job", "block", "instrument", "key", "note")
    return [f"{name} {body[name]}" for name in names if body.get(name) is not None]


def _brief(one: Any) -> str:
    text = str(one)
    return text if len(text) <= 200 else f"{text[:200]}…"
