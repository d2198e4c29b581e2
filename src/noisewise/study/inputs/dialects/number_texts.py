"""Numbers as they are written in the world: 1,234.5 and 1.234,5 and 1 234,5 and 1'234.5 and 12.5 %.

A text is read twice: with a point as the decimal sign, and with a comma. Texts that are both, and different
numbers, are ambiguous (1,234); texts that are only one settle the matter for a table (0,4).
"""

import functools
import re
from typing import NamedTuple

POINT, COMMA = ".", ","
#: Blanks that stand between thousands: plain, fixed, narrow, thin, of a figure, of punctuation.
BLANKS = " \u00a0\u202f\u2009\u2007\u2008"
#: Apostrophes that do.
APOSTROPHES = "'\u2019"
#: Characters of a number; a longer text is none. Patterns would take long for what is made to fool them.
LONGEST = 500
#: A value with its error.
_PLUS_MINUS = re.compile(r"±|\+/-|\+-")
#: The error in units of the last digit, behind the value.
_SHORTHAND = re.compile(r"^\s*(.+?)(\([0-9]{1,15}\)(?:[eE][+-]?[0-9]{1,4})?)\s*$")
_PARTS = re.compile(r"([+\-\u2212]?)\s?([0-9][0-9.,'\u2019 \u00a0\u202f\u2009\u2007\u2008]*|[.,][0-9]+)"
                    r"(?:[eE]([+\-\u2212]?[0-9]{1,4}))?(\s?[%\u2030])?")  # fmt: skip


class Forms(NamedTuple):
    """A number with each decimal sign, as a plain text; None where it is none."""

    point: str | None
    comma: str | None
    percent: bool
    body: str  # its digits with the signs between them

    @property
    def settles(self) -> str | None:
        """The decimal sign that this number can only have."""
        if (self.point is None) == (self.comma is None):
            return None
        return COMMA if self.point is None else POINT

    @property
    def ambiguous(self) -> bool:
        """Whether it is another number with the other decimal sign."""
        return self.point is not None and self.comma is not None and self.point != self.comma

    def grouped(self, decimal: str) -> bool:
        """Whether signs stand between its thousands."""
        whole = self.body.partition(decimal)[0]
        return bool(whole) and not whole.isdecimal()

    def read(self, decimal: str) -> str | None:
        """The plain text of the number with a decimal sign; a per cent is a hundredth."""
        return self.comma if decimal == COMMA else self.point


NO_NUMBER = Forms(None, None, False, "")


def forms_of(text: str) -> Forms:
    """What a text is as a number."""
    return NO_NUMBER if len(text) > LONGEST else _forms_of(text)


@functools.lru_cache(maxsize=1 << 16)
def _forms_of(text: str) -> Forms:
    found = _PARTS.fullmatch(text.strip())
    if found is None:
        return NO_NUMBER
    sign, body, power, percent = found.groups()
    body = body.rstrip(BLANKS)
    sign = "-" if sign in ("-", "\u2212") else sign
    end = "" if power is None else "e" + power.replace("\u2212", "-")
    if percent is not None:
        hundredth = -2 if percent.strip() == "%" else -3
        end = f"e{int(end[1:] or 0) + hundredth}"
    plain = {decimal: _plain(body, decimal) for decimal in (POINT, COMMA)}
    written = {decimal: None if one is None else sign + one + end for decimal, one in plain.items()}
    if written[POINT] is None and written[COMMA] is None:
        return NO_NUMBER
    return Forms(written[POINT], written[COMMA], percent is not None, body)


def forms_of_cell(text: str) -> tuple[Forms, ...]:
    """What the parts of a cell are: one number, or a value with its error, 12,3 ± 0,4 or 12,34(5)."""
    if (one := forms_of(text)) is not NO_NUMBER:
        return (one,)
    text = text.strip()
    if len(text) > 2 * LONGEST:
        return (NO_NUMBER,)
    if parts := _around_plus_minus(text):
        return forms_of(parts[0]), forms_of(parts[1])
    if found := _SHORTHAND.match(text):
        return (forms_of(found[1]),)
    return (NO_NUMBER,)


def cell_in(text: str, decimal: str) -> str:
    """A cell with its numbers as plain texts; what is no number stays as it is."""
    if (one := forms_of(text)) is not NO_NUMBER:
        return one.read(decimal) or text
    if len(text.strip()) > 2 * LONGEST:
        return text
    if parts := _around_plus_minus(text.strip()):
        value, error = (forms_of(part).read(decimal) for part in parts)
        return text if value is None or error is None else f"{value} ± {error}"
    if found := _SHORTHAND.match(text.strip()):
        value = forms_of(found[1]).read(decimal)
        return text if value is None else value + found[2]
    return text


def _around_plus_minus(text: str) -> tuple[str, str] | None:
    """What stands before and behind the first ± of a text without blanks around it."""
    found = _PLUS_MINUS.search(text, 1)
    parts = None if found is None else (text[: found.start()].rstrip(), text[found.end() :].lstrip())
    return parts if parts and all(parts) else None


def _plain(body: str, decimal: str) -> str | None:
    """Digits with a point, of digits with a decimal sign and signs between thousands."""
    whole, sign, fraction = body.partition(decimal)
    if (sign and decimal == COMMA and not fraction) or (fraction and not fraction.isdecimal()):
        return None
    if not whole.isdecimal() and whole:
        between = {character for character in whole if not character.isdecimal()}
        parts = re.split(r"[^0-9]", whole)
        if len(between) > 1 or not 1 <= len(parts[0]) <= 3 or any(len(part) != 3 for part in parts[1:]):
            return None
        if parts[0].startswith("0"):
            return None
        whole = "".join(parts)
    return whole + (("." + fraction) if sign else "")
