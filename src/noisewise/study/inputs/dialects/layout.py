"""How a text is laid out: what stands between its columns, and which lines stand above its header.

Whatever the file is called, the text says what stands between its columns: the sign that gives all rows the
same number of cells, two at least. Above the header, lines that begin with # and titles (one cell where the
table has several) are recognised and told.
"""

import csv
import io
import re
from typing import NamedTuple

from noisewise.study.inputs.dialects.number_texts import NO_NUMBER, forms_of

#: What stands between columns, and how messages call it.
CALLED = {",": "commas", ";": "semicolons", "\t": "tabs"}
#: The bytes at the beginning of a text that are looked at.
SAMPLE = 1 << 16
#: The lines above a header that are recognised at most.
_MOST_ABOVE = 30
_SAYS_SEPARATOR = re.compile(r'^"?sep=(.)"?$', re.IGNORECASE)

Rows = list[list[str]]


class Layout(NamedTuple):
    """How a text is laid out."""

    separator: str
    above: int  # lines before the header, empty ones not counted
    guesses: list[str]
    comment_header: bool = False  # the header itself begins with #


def find_layout(content: bytes, usual: str) -> Layout:
    """The layout of a text.

    Args:
        content: The text in UTF-8.
        usual: What stands between columns if the text itself does not say.
    """
    sample = content[:SAMPLE].decode(errors="ignore")
    # A carriage return by itself ends no line, as in what is read later.
    sample = sample.replace("\r\n", "\n").replace("\r", " ")
    if len(content) > SAMPLE:
        sample = sample[: sample.rfind("\n") + 1]
    first = sample.lstrip("\n\r").partition("\n")[0].strip("\r ")
    if said := _SAYS_SEPARATOR.match(first):
        sign = said[1] if said[1] in CALLED else usual
        above, hashed, _ = header_at(_rows(sample, sign)[1:])
        return Layout(sign, above + 1, _guesses(sign, above, hashed), hashed)
    found = []
    for sign in CALLED:
        rows = _rows(sample, sign, cut=len(content) > SAMPLE)
        above, hashed, header = header_at(rows)
        below = rows[above + 1 :]
        if (
            len(header) > 1
            and _agrees(len(header), header, below)
            and (above == 0 or below)
            and (above == 0 or not _is_data(header))
        ):
            found.append((above, -_numeric(below), sign != usual, sign, hashed))
    if not found:
        return _doubtful(sample, usual)
    above, _, _, sign, hashed = min(found)
    return Layout(sign, above, _guesses(sign, above, hashed), hashed)


def _guesses(sign: str, above: int, hashed: bool) -> list[str]:
    guesses = [] if sign == "," else [f"{CALLED[sign]} between columns"]
    if above:
        guesses.append(f"{above} line{'s' if above > 1 else ''} above the header left out")
    if hashed:
        guesses.append("a header that begins with #")
    return guesses


def _doubtful(sample: str, usual: str) -> Layout:
    """Where no sign fits all rows: the one of the first line; rows are then refused with their numbers."""
    widths = {sign: len((_rows(sample, sign) or [[]])[0]) for sign in CALLED}
    sign = usual if widths[usual] > 1 else max(CALLED, key=lambda one: widths[one])
    sign = sign if widths[sign] > 1 else usual
    return Layout(sign, 0, _guesses(sign, 0, False))


def _rows(sample: str, sign: str, cut: bool = False) -> Rows:
    """The cells of every line that is not empty."""
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=sign)
    rows: Rows = []
    try:
        rows = [[cell.strip() for cell in row] for row in reader if row]
    except csv.Error:
        return rows
    return rows[:-1] if cut else rows


def header_at(rows: Rows) -> tuple[int, bool, list[str]]:
    """How many lines stand above the header, whether it begins with #, and its cells."""
    above = 0
    widest = max((_filled(row) for row in rows[: _MOST_ABOVE + 20]), default=0)
    while above < min(len(rows) - 1, _MOST_ABOVE):
        row, after = rows[above], rows[above + 1]
        if row[0].startswith("#"):
            names = _filled(row) > 1 and len(row) == len(after) and not _is_data(row)
            # A comment has the header below it, and numbers below that.
            if names and (_is_data(after) or not any(map(_is_data, rows[above + 2 :]))):
                return above, True, row
        elif widest < 2 or not (_filled(row) <= 1 or _is_preamble(row, rows[above + 1 :])):
            break
        above += 1
    return above, False, rows[above] if above < len(rows) else []


def _is_preamble(row: list[str], below: Rows) -> bool:
    """Whether a line of a few cells stands above a header that all lines after it agree with."""
    for at, header in enumerate(below[:_MOST_ABOVE]):
        if len(header) != len(row):
            rest = below[at + 1 :]
            texts = all(cell and forms_of(cell) is NO_NUMBER for cell in header)
            return (
                len(header) > len(row) and texts and bool(rest) and all(len(r) == len(header) for r in rest)
            )
    return False


def _filled(row: list[str]) -> int:
    return sum(bool(cell) for cell in row)


def _is_data(row: list[str]) -> bool:
    return any(forms_of(cell) is not NO_NUMBER for cell in row if cell)


def _agrees(width: int, header: list[str], below: Rows) -> bool:
    """Whether all rows have as many cells as the header; separators at the end of lines do not matter."""
    counts = {len(row) for row in below}
    if counts <= {width}:
        return True
    if counts == {width - 1}:
        return not header[-1]
    return counts == {width + 1} and all(not row[-1] for row in below)


def _numeric(rows: Rows) -> float:
    cells = [cell for row in rows[:200] for cell in row if cell]
    return sum(forms_of(cell) is not NO_NUMBER for cell in cells) / max(1, len(cells))
