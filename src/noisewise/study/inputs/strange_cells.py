"""What cells hold where a number should be: errors and dates of spreadsheets, units, limits, nothing."""

import re

#: What a spreadsheet writes where a formula failed.
SPREADSHEET_ERRORS = (
    "#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!", "#WERT!", "#DIV/0", "#NV",
)  # fmt: skip
#: What people write where there is no result.
_NOTHING = ("na", "n/a", "n.a.", "n.d.", "nd", "-", "--", "–", "—", "?", ".", "null", "missing", "tbd", "x")
#: What to do then: a row with an error bar and no value is refused.
NO_RESULT = " In a table, leave both value and error bar empty where there is no result."
#: Words in the place of a value: timeout, not measured.
_WORDS = re.compile(r"[^\W\d_]{3,}(?:[ _-][^\W\d_]+){0,5}")
_MONTHS = "jan|feb|mar|mär|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez"
_DATE = re.compile(
    r"\d{1,4}[-/.]\d{1,2}(?:[-/.]\d{1,4})?(?:[ T]\d\d:\d\d.*)?"
    rf"|\d{{1,2}}[-. ]+(?:{_MONTHS})\w*\.?(?:[- ]\d+)?|(?:{_MONTHS})\w*[-. ]+\d+",
    re.IGNORECASE,
)
_WITH_UNIT = re.compile(r"[+-]?[0-9][0-9.,]*(?:[eE][+-]?[0-9]+)?\s*([A-Za-zµμΩ°/²³·€$£¥]{1,12}[0-9]?)")
_CURRENCY = re.compile(r"([€$£¥])\s*[0-9][0-9.,]*")
_LIMIT = re.compile(r"[<>≤≥~≈][^0-9]*[0-9].*")
_DASH = re.compile(r"[–—]\s?[0-9][0-9.,]*")
_ACCOUNTING = re.compile(r"\([0-9][0-9.,]*\)")
#: A day and a month as spreadsheets write them, and a long number that they shortened.
SHORT_DATE = rf"(?i)^(?:\d{{1,2}}-(?:{_MONTHS})|(?:{_MONTHS})-\d{{2}})$"
SHORTENED = r"^[0-9][.,][0-9]{2,}E\+[0-9]{2}$"


def is_spreadsheet_error(text: str) -> bool:
    """Whether a cell holds the error of a formula."""
    return text.strip().upper() in SPREADSHEET_ERRORS


def is_date(text: str) -> bool:
    """Whether a cell holds a day, or a day and a month."""
    return _DATE.fullmatch(text.strip()) is not None


def why_no_value(text: str) -> str:
    """The same about what should be a value: words tell why there is none."""
    return why_strange(text) or (NO_RESULT if _WORDS.fullmatch(text) else "")


def why_strange(text: str) -> str:
    """One more sentence about a cell that is no number, with a blank before it; empty if there is none."""
    if is_spreadsheet_error(text):
        return " It is the error of a spreadsheet's formula: repair it there, or empty the cell."
    if text.casefold() in _NOTHING:
        return NO_RESULT
    if _LIMIT.fullmatch(text):
        return " It is a limit or a guess, not a measurement: leave the row out."
    if _DASH.fullmatch(text):
        return " If the dash stands for minus, write a minus sign."
    if _ACCOUNTING.fullmatch(text):
        return " If brackets stand for minus, write a minus sign."
    if found := (_CURRENCY.fullmatch(text) or _WITH_UNIT.fullmatch(text)):
        return f" Put the unit {found[1]!r} into the header, and leave it out of the cells."
    if is_date(text):
        return " It looks like a date: did a spreadsheet make it of a number?"
    return ""
