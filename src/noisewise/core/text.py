r"""Text: what people typed, checked on the way in and escaped on the way out; and numbers in words.

Names, keys and reasons end up in terminals, tables, pages and databases. What cannot be seen there is refused
when it comes in; what an older log holds is shown as an escape such as ``\x1b``, never sent as it is.
"""

import html
import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
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


#: Lower-case letters of Cyrillic and Greek that look like Latin ones in one case; mg and μg do not.
_LATIN = str.maketrans("авекмнорстухіјѕαεζικορτυχ", "abekmhopctyxijsaezikoptyx")


def look_alikes(names: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of names that differ in nothing but case, width, spaces, invisible characters or script."""
    first: dict[str, str] = {}
    found = []
    for name in names:
        look = name.casefold()
        if not name.isascii():
            look = unicodedata.normalize("NFKC", _JOINERS.sub("", look)).casefold().translate(_LATIN)
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


def number(value: float, digits: int = 3) -> str:
    """A number with as many digits as matter."""
    if not math.isfinite(value):
        return {math.inf: "infinity", -math.inf: "-infinity"}.get(value, "unknown")
    return f"{value:.{digits}g}" if abs(value) < 10**digits else f"{value:,.0f}"


def estimated(value: float) -> str:
    """An estimate, with the digits that all sentences, tables and charts give it."""
    return number(value, 4)


def aligned(values: Sequence[float | None], errors: Sequence[float | None]) -> list[tuple[str, str] | None]:
    """Estimates of a column and their standard errors, with the same number of decimals.

    Of the usual standard error two digits are to be seen; without any, the largest value has the digits of
    `estimated`. None where there is no value; an error that is none, or 0, is empty.
    """
    known = [abs(value) for value in values if value]
    spread = sorted(error for error in errors if error)
    places = 3 - math.floor(math.log10(max(known))) if known else 0
    if spread:
        places = min(places + 4, 1 - math.floor(math.log10(spread[len(spread) // 2])))
    plain = -3 <= places <= 9

    def written(value: float) -> str:
        if not plain:
            return estimated(value)
        rounded = f"{value:,.{max(0, places)}f}"
        return rounded.removeprefix("-") if float(rounded.replace(",", "")) == 0.0 else rounded

    return [
        None if value is None else (written(value), written(error) if error else "")
        for value, error in zip(values, errors, strict=True)
    ]


def in_unit(text: str, unit: str | None) -> str:
    """A number in words with its unit, if it has one: 0.3 ms."""
    return text if unit is None else f"{text} {unit}"


def about(value: float, digits: int = 3) -> str:
    """A forecast, which has no more digits than that however large it is: 35,200."""
    return number(float(f"{value:.{digits}g}"), digits) if math.isfinite(value) else number(value)


def rounded_up(value: float, digits: int = 2) -> str:
    """A bound, never shown smaller than it is."""
    if not (math.isfinite(value) and value > 0.0):
        return number(value)
    size = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return number(math.ceil(value / size * (1.0 - 1e-12)) * size, digits + 1)


def percent(share: float, decimals: int | None = None) -> str:
    """A share such as 95 % or 99.9999 %: 100 % is said of all and 0 % of nothing only.

    Args:
        share: From 0 to 1.
        decimals: How many are shown; default: as many as there are, for what was chosen and not measured.
    """
    shown = f"{100.0 * share:.10g}" if decimals is None else f"{100.0 * share:.{decimals}f}"
    if decimals is not None:
        least = 10.0**-decimals
        if float(shown) >= 100.0 and share < 1.0:
            return f"over {100.0 - least:.{decimals}f} %"
        if float(shown) == 0.0 and share > 0.0:
            return f"under {least:.{decimals}f} %"
    elif float(shown) >= 100.0 and share < 1.0:
        return "over 99.99999999 %"
    return f"{shown} %"


def counted(count: float, thing: str) -> str:
    """1 option, 2 options, 1,234,567 options."""
    first, *rest = thing.split(" ", 1)
    shown = f"{count:,.0f}" if float(count).is_integer() else f"{count:g}"
    return " ".join([shown, first if count == 1 else f"{first}s", *rest])


def titled(name: str) -> str:
    """A study as a title; the default name is none."""
    return "Study" if name == "study" else f"Study {name}"


def usual_measurements(count: float, digits: int = 3) -> str:
    """1 usual measurement, 2.5 usual measurements."""
    said = number(count, digits)
    return f"{said} usual measurement{'' if said == '1' else 's'}"


def ordinal(count: int) -> str:
    """1st, 2nd, 3rd, 4th, ..."""
    ending = "th" if count % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(count % 10, "th")
    return f"{count}{ending}"


def moment(at: float) -> datetime:
    """A time of the log."""
    return datetime.fromtimestamp(at, UTC)


def duration(seconds: float) -> str:
    """3 days, 5 hours, 10 minutes."""
    for size, unit in ((86400.0, "day"), (3600.0, "hour"), (60.0, "minute")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return "less than a minute"


def as_html(title: str, lines: Sequence[str], *, good: bool | None = None, drawn: str = "") -> str:
    """A small box for a notebook: readable in light and dark themes.

    Args:
        title: What it is about.
        lines: Sentences, the most important one first.
        good: Whether that is good news; None if it is neither.
        drawn: HTML that follows the first sentence.
    """
    colour = {True: "#2e7d32", False: "#c62828", None: "#607d8b"}[good]
    first, *rest = [html.escape(line) for line in lines] or [""]
    body = "".join(f"<div style='opacity:0.8'>{line}</div>" for line in rest)
    return (
        f"<div style='border-left:4px solid {colour};padding:0.3em 0.8em'>"
        f"<div style='opacity:0.6;font-size:85%'>{html.escape(title)}</div>"
        f"<div><b>{first}</b></div>{drawn}{body}</div>"
    )
