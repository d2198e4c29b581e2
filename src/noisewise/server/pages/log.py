"""The log in words, the newest event first."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from noisewise.core.text import counted, moment, number
from noisewise.server.pages.rendering import Pager, SentencePart, page_of
from noisewise.study.log.events import Event, events_of, numbers_of
from noisewise.study.stores.protocol import Storage
from noisewise.study.study import Study

#: Kinds of events that change what was said before.
GRAVE = ("void", "amend", "exclude", "switch", "fail", "policy")


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
    query: Mapping[str, str] = {}
    kinds: Sequence[str] = ()  # that can be chosen


class LogReader:
    """A log of which pages are read, however long it is."""

    def __init__(self, study: Study, storage: Storage) -> None:
        self._study, self._storage = study, storage

    def page(self, query: Mapping[str, str], kinds: Sequence[str]) -> LogPage:
        """What an address asks for: ``q`` (a text, or a measurement), ``kind``, ``page``."""
        kept = {name: query.get(name, "").strip() for name in ("q", "kind")}
        numbers = self._found(kept["q"], kept["kind"] if kept["kind"] in kinds else "")
        total = self._study.n_events if numbers is None else len(numbers)
        pager = page_of(total, query.get("page"), kept)
        first, last = total - pager.last, total - pager.first
        if numbers is None:
            events = events_of(self._storage, self._study.name, first, last - first)
        else:
            wanted = numbers[first:last]
            events = [one for at in wanted for one in events_of(self._storage, self._study.name, at - 1, 1)]
        rows, day = [], ""
        for event, told in zip(reversed(events), reversed(self._told(events)), strict=True):
            row = _row(event, told)
            rows.append(row._replace(day="" if row.day == day else row.day))
            day = row.day
        return LogPage(rows, pager, self._study.head, kept, kinds)

    def _found(self, text: str, kind: str) -> list[int] | None:
        """Numbers of the events that are wanted; None: all."""
        if not text and not kind:
            return None
        measurement = re.fullmatch(r"m-([1-9]\d{0,10})", text)
        if measurement is None:
            return numbers_of(self._storage, self._study.name, kind or None, text)
        number, recorded = int(measurement[1]), self._study.analysis().state.measurements.event
        about = [recorded[number - 1]] if number <= len(recorded) and kind in ("", "tell") else []
        for one in ("void", "amend"):
            about += self._correcting(one, number) if kind in ("", one) else []
        return sorted(set(about))

    def _correcting(self, kind: str, number: int) -> list[int]:
        """The events of a kind that are about a measurement."""
        name, found = self._study.name, numbers_of(self._storage, self._study.name, kind, f"{number}")
        read = (one for at in found for one in events_of(self._storage, name, at - 1, 1))
        return [one.number for one in read if one.body.get("number") == number]

    def _told(self, events: Sequence[Event]) -> list[str]:
        """The measurements that events recorded, such as "m-5" or "m-5 to m-1004"."""
        recorded = self._study.analysis().state.measurements.event
        ends = [(bisect_left(recorded, one.number), bisect_right(recorded, one.number)) for one in events]
        return [
            f"m-{first + 1}{f' to m-{last}' if last > first + 1 else ''}" if last > first else ""
            for first, last in ends
        ]


def _row(event: Event, about: str) -> EventRow:
    body: dict[str, Any] = event.body if isinstance(event.body, dict) else {}
    at = moment(event.at)
    parts, more = _in_words(event.kind, body)
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
    if kind == "table":
        columns = body["columns"]
        count = counted(len(columns["option"]), "measurement")
        return [SentencePart(count, True), SentencePart(" of a table", False)], []
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
