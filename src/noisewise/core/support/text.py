r"""Texts of people: one check on the way in, one escape on the way out.

Names, keys and reasons end up in terminals, tables, pages and databases. What cannot be seen there is refused
when it comes in; what an older log holds is shown as an escape such as ``\x1b``, never sent as it is.
"""

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

#: Characters of a name, key, block, instrument, person.
NAME_LENGTH = 1000
#: Characters of a reason or a note.
NOTE_LENGTH = 10_000
#: Names that one message lists at most.
LISTED = 5

#: Control characters, line breaks, soft hyphens, marks and overrides of the direction of writing, characters
#: without width (joiners are part of words and of emoji, and stay), tags, halves of characters.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f]"
)
#: Halves of characters alone: no file, hash or terminal can take them.
_JOINERS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u200c\u200d\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_HALVES = re.compile("[\ud800-\udfff]")


def cells(text: str) -> int:
    """The columns of a terminal that a text takes: two for a wide character, none for a combining mark."""
    return len(text) if text.isascii() else sum(_cells_of(character) for character in text)


def _cells_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def check_text(name: str, value: Any, *, most: int = NAME_LENGTH, where: str = "") -> str:
    """Return ``value`` as a text without blanks around it that can be seen, kept and printed anywhere.

    Letters with accents are composed (NFC), so that one spelling is one name.

    Args:
        name: What the text is, for the message.
        value: The text, or something whose text is meant.
        most: How long it may be.
        where: How the message begins, such as "row 17: ".
    """
    if isinstance(value, bytes | list | tuple | set | dict):
        raise TypeError(f"{where}`{name}` must be one text; got {printable(repr(value)[:60])}.")
    if isinstance(value, float) and math.isnan(value):  # an empty cell of many a table
        raise ValueError(f"{where}`{name}` must be a text; got nan: leave it out instead.")
    text = composed(str(value).strip())
    if not text:
        raise ValueError(f"{where}`{name}` must not be empty; leave it out instead.")
    if len(text) > most:
        raise ValueError(
            f"{where}`{name}` must have at most {most:,} characters; got {len(text):,}: "
            f"{printable(text[:20])!r}…"
        )
    if not (text.isascii() and text.isprintable()) and (found := _UNSEEN.search(text)):
        what = "half a character (was it read in the wrong encoding?)" if is_half(found[0]) else "a character"
        raise ValueError(
            f"{where}`{name}` must be plain text in one line; {printable(text[:60])!r} has {what} that "
            f"cannot be seen, {printable(found[0])}: leave it out."
        )
    return text


def check_texts(name: str, values: Sequence[str | None], *, most: int = NAME_LENGTH) -> None:
    """Check many texts, which have no blanks around them, at once; the message names the row, from 1."""
    texts = [value for value in values if value is not None]
    together = "".join(texts)
    if together.isascii() and together.isprintable() and max(map(len, texts), default=0) <= most:
        return
    for row, value in enumerate(values, start=1):
        if value is not None:
            check_text(name, value, most=most, where=f"row {row}: ")


def composed(text: str) -> str:
    """A text in which letters with accents are one character each (NFC)."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def look_alikes(names: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of different names that differ in nothing but case, width, blanks or characters without width."""
    first: dict[str, str] = {}
    found = []
    for name in names:
        look = name.casefold()
        if not name.isascii():
            look = unicodedata.normalize("NFKC", _JOINERS.sub("", look)).casefold()
        look = " ".join(look.split())
        if (other := first.setdefault(look, name)) != name:
            found.append((other, name))
    return found


def is_half(text: str) -> bool:
    """Whether a text holds half a character, which no hash, file or terminal can take."""
    return not text.isascii() and _HALVES.search(text) is not None


def printable(text: Any) -> str:
    """One line that is safe to print: what cannot be seen is shown as an escape."""
    line = str(text)
    if line.isascii() and line.isprintable():
        return line
    return _UNSEEN.sub(lambda found: _escape(found[0]), line)


def _escape(character: str) -> str:
    code = ord(character)
    known = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
    short = f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
    return known.get(character) or (short if code < 0x10000 else f"\\U{code:08x}")


def some_of(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    shown = ", ".join(printable(name) for name in names[:LISTED])
    return shown + (f" and {len(names) - LISTED} more" if len(names) > LISTED else "")
