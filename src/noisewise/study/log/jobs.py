"""Suggestions: what to measure next, as the log keeps them."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from noisewise.core.text import counted, printable

#: Seconds for which a suggestion is reserved.
WEEK = 7 * 24 * 3600.0
OPEN, TOLD, FAILED, RELEASED = "open", "told", "failed", "released"
#: What an event "ask" says only where it is so: see `Job`.
PLACED = ("block", "minus", "together")
#: Items of a suggestion that its words name; of more, the first and the last.
NAMED_ITEMS = 3


@dataclass(frozen=True)
class Job:
    """A suggestion: what to measure next, and why. It is yours until it expires."""

    id: str  # what `tell`, `fail` and `release` take
    option: str  # the name of the option to measure
    why: str  # the reason, in words
    expires: datetime  # UTC; it is reserved until then
    sigma: float | None = None  # the noise that was expected, if it was said
    by: str | None = None  # for whom it is reserved
    status: str = OPEN  # "open", or what became of it
    block: str | None = None  # the name of the block to measure it in, if it was said or goes on
    minus: str | None = None  # the other option of a difference: measure option - minus
    together: str | None = None  # the first of those that are meant for one new block, not named yet
    items: tuple[str, ...] = ()  # the items to measure it on, in the order that all options share
    fresh: int = 0  # how many new items to draw besides, at random, where there is no pool
    fresh_from: int = 0  # the place of the first of these in the order, from 1

    @property
    def what(self) -> str:
        """What to measure: an option, or a difference such as "A - B"."""
        return self.option if self.minus is None else f"{self.option} - {self.minus}"

    @property
    def where(self) -> str:
        """The block to measure it in, such as "in block Tue"; empty if any will do."""
        if self.block is not None:
            return f"in block {self.block}"
        if self.together is None:
            return ""
        return "in a new block" if self.together == self.id else f"in a new block with {self.together}"

    @property
    def on_items(self) -> str:
        """The items to measure it on, such as "on q7, q3 … q9 (50 items)"; empty if there are none."""
        new = (
            counted(self.fresh, "item newly drawn at random, the same for every option") if self.fresh else ""
        )
        if not self.items:
            return f"on {new}" if new else ""
        first = ", ".join(self.items[: NAMED_ITEMS - 1])
        some = f"{first} … {self.items[-1]} ({len(self.items)} items)"
        few = len(self.items) <= NAMED_ITEMS
        return f"on {', '.join(self.items) if few else some}{f' and {new}' if new else ''}"

    def __repr__(self) -> str:
        until = f"until {self.expires:%Y-%m-%d %H:%M} UTC"
        measured = (f"measure {self.what}", self.on_items, self.where, until)
        said = ", ".join(part for part in measured if part)
        return printable(f"Job({self.id}: {said}; {self.why})")


def job_of(body: dict[str, Any]) -> Job:
    """The suggestion that an event "ask" makes."""
    expires = datetime.fromtimestamp(body["expires"], UTC)
    parts = {name: body.get(name) for name in ("id", "option", "why", "sigma", "by", *PLACED)}
    parts |= {"fresh": body.get("fresh", 0), "fresh_from": body.get("fresh_from", 0)}
    return Job(**parts, expires=expires, items=tuple(body.get("items", ())))  # type: ignore[arg-type]
