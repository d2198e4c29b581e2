"""Columns of numbers, read strictly: one decimal sign for the table, nothing ambiguous guessed, rows named.

One table has one decimal sign. Cells that can only be read one way settle it (0,4 or 1,234.5); cells such as
1,234 do not, and without any other that does, the table is refused.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from noisewise.core.text import printable
from noisewise.study.tables.numbers import NUMBERS, number, split_cell
from noisewise.study.tables.wording import PYTHON, Wording

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
DAY = r"\d{4}-\d\d-\d\d"
#: A day and a month as spreadsheets write them, and a long number that they shortened.
SHORT_DATE = rf"(?i)^(?:\d{{1,2}}-(?:{_MONTHS})|(?:{_MONTHS})-\d{{2}})$"
SHORTENED = r"^[0-9][.,][0-9]{2,}E\+[0-9]{2}$"


#: Texts with a decimal point that can be nothing else, and those that may be thousands.
_POINT = r"^[+-]?\d*\.\d*(?:[eE][+-]?\d+)?$"
_GROUP = r"^[+-]?[1-9]\d{0,2}\.\d{3}(?:[eE][+-]?\d+)?$"
_THOUSANDS = r"(?:^|[^\d.,])\d{1,3}[.,'’ \u00a0\u202f\u2009]\d{3}"
#: Zeros before a number make it a code, such as 007.
_CODE = r"^[+-]?0\d"
SIGNS = {".": "decimal points", ",": "decimal commas"}
#: A value with its error in one cell: 12.3 ± 0.4, 12.34(5).
_OWN_ERROR = re.compile(r"±|\+/-|\+-|\d\(\d+\)$")


class NumberColumns(NamedTuple):
    """Columns of numbers, and what was guessed to read them so."""

    columns: dict[str, pl.Series]  # floats, or lists of them, null where a cell is empty
    errors: dict[str, pl.Series]  # standard errors in the cells of a column
    guesses: list[str]
    percent: list[str]  # columns that were written in per cent
    decimal: str | None


def looks_numeric(column: pl.Series) -> bool:
    """Whether every cell is a number with one of the two decimal signs, and not a code such as 007."""
    if column.dtype != pl.String:
        return column.dtype.is_numeric() or column.dtype == pl.Boolean
    cells = column.drop_nulls().unique()
    if cells.is_empty() or cells.str.contains(_CODE).any():
        return False
    odd = cells.filter(cells.cast(pl.Float64, strict=False).is_null())
    return all(number(cell, ".") is not None or number(cell, ",") is not None for cell in odd.to_list())


def read_numbers(
    columns: Mapping[str, pl.Series],
    *,
    decimal: str | None = None,
    comma: bool = False,
    exact: bool = False,
    others: Iterable[pl.Series] = (),
    words: Wording = PYTHON,
    called: Mapping[str, str] | None = None,
    lists: Sequence[str] = (),
    own_errors: Sequence[str] = (),
    about: Sequence[Any] | None = None,
) -> NumberColumns:
    """Read columns as numbers; one sentence about the first cell that is none.

    Args:
        columns: The columns by their names, or roles.
        decimal: The decimal sign as a person said it; None: the cells settle it.
        comma: Whether decimal commas are likely.
        exact: Whether per cent are how a workbook shows hundredths, which may stand beside plain numbers.
        others: Columns that are not read, which may settle the decimal sign if those that count do not.
        words: How messages call what a person can say.
        called: How messages call columns, if otherwise than they are.
        lists: Columns whose cells hold readings, with semicolons between them.
        own_errors: Columns whose cells may hold a value with its error.
        about: The option of each row, for messages.
    """
    called = {name: (called or {}).get(name, name) for name in columns}
    texts = {name: _plain(one) for name, one in columns.items() if one.dtype == pl.String}
    sign = decimal or _settled(texts, called, others, comma, words, exact)
    guesses = [] if sign == "." or not texts else [SIGNS[sign]]
    found, errors, percent = dict(columns), {}, []
    for name, column in texts.items():
        if seen := _first_grouped(called[name], column, sign):
            guesses.append(f"signs between thousands, such as {seen}")
            break
    for name, column in texts.items():
        if _in_percent(called[name], column, exact):
            percent.append(name)
        if name in lists:
            cells = (None if cell is None else cell.split(";") for cell in column.to_list())
            found[name] = pl.Series(
                name,
                [
                    part and [_number(name, one, sign, at, about) for one in part]
                    for at, part in enumerate(cells)
                ],
                dtype=pl.List(pl.Float64),
            )
            continue
        found[name], odd = _floats(column, sign, exact)
        if not odd:
            continue
        own: dict[int, float] = {}
        values = found[name].to_list()
        for at in odd:
            parts = split_cell(column[at], sign) if _OWN_ERROR.search(column[at][:1000]) else {}
            if (
                name in own_errors
                and parts.keys() <= {"value", "spread", "se"}
                and None not in parts.values()
            ):
                values[at] = parts.get("value")
                own[at] = parts.get("spread", parts.get("se")) or 0.0
            if values[at] is None:
                values[at] = _number(called[name] if own_errors == () else name, column[at], sign, at, about)
        found[name] = pl.Series(name, values, dtype=pl.Float64)
        if own:
            errors[name] = pl.Series(name, [own.get(at) for at in range(column.len())], dtype=pl.Float64)
    if percent:
        listed = ", ".join(repr(called[name]) for name in percent)
        guesses.append(
            f"per cent cells of {listed} as hundredths"
            if exact
            else f"per cent as hundredths, 5% as 0.05, in {listed}"
        )
    return NumberColumns(found, errors, guesses, percent, sign if texts else None)


def _plain(column: pl.Series) -> pl.Series:
    """Texts without blanks around them; empty ones and "none" are missing."""
    cells = column.str.strip_chars()
    return cells.set((cells == "") | (cells.str.to_lowercase() == "none"), None)


def _floats(column: pl.Series, sign: str, exact: bool) -> tuple[pl.Series, list[int]]:
    """The numbers of a column, and the rows that are still to be read one by one."""
    cells = column
    if sign == ",":
        commas = column.str.contains(r"^[+-]?\d*,\d+(?:[eE][+-]?\d+)?$").fill_null(False)
        cells = column.zip_with(~commas, column.str.replace(",", ".", literal=True))
        if not exact:  # numbers of a workbook have points
            cells = cells.set(column.str.contains(".", literal=True).fill_null(False), None)
    floats = cells.cast(pl.Float64, strict=False)
    if floats.is_infinite().any():  # 1e99999
        floats = floats.set((floats.is_infinite() & cells.str.contains(r"\d")).fill_null(False), None)
    left = floats.is_null() & column.is_not_null()
    if left.any():
        some = column.filter(left).unique().to_list()
        read = {cell: x for cell in some if (x := number(cell, sign)) is not None}
        if read:
            values = pl.Series(list(read.values()), dtype=pl.Float64)
            more = column.replace_strict(list(read), values, default=None, return_dtype=pl.Float64)
            floats = floats.zip_with(~left, more)
    return floats, (floats.is_null() & column.is_not_null()).arg_true().to_list()


def _number(name: str, text: str, sign: str, row: int, about: Sequence[Any] | None) -> float:
    found = number(text, sign)
    if found is not None:
        return found
    what = "" if about is None or about[row] is None else f" ({about[row]})"
    shown = printable(text.strip()[:60])
    raise ValueError(f"row {row + 1}{what}: `{name}` must be a number; got {shown!r}.{hint_for(text)}")


class _Seen(NamedTuple):
    column: str
    row: int
    text: str

    def __str__(self) -> str:
        return f"{printable(self.text)!r} in column {self.column!r}, row {self.row + 1}"


def _settled(
    columns: Mapping[str, pl.Series], called: Mapping[str, str], others: Iterable[pl.Series], comma: bool,
    words: Wording, exact: bool,
) -> str:  # fmt: skip
    """The decimal sign of a table; one sentence if its cells leave it open, or contradict each other."""
    settles, open_ = _evidence(columns, called)
    if exact:  # numbers say nothing about texts
        settles.pop(".", None)
    if len(settles) == 2:
        raise ValueError(
            f"the table must have one decimal sign; it has a point ({settles['.']}) and a comma "
            f"({settles[',']}): write all numbers alike."
        )
    if settles:
        return next(iter(settles))
    # A point is what it is in most tables; but where semicolons stand between columns, commas are decimal.
    seen = open_.get(",") or (open_.get(".") if comma else None)
    if seen is None:
        return "."
    unused = {c.name: _plain(c) for c in others if c.dtype == pl.String and looks_numeric(c)}
    elsewhere, _ = _evidence(unused, {name: name for name in unused})
    if len(elsewhere) == 1:
        return next(iter(elsewhere))
    sign = "," if "," in open_ else "."
    values = {one: number(seen.text, one) for one in (sign, "." if sign == "," else ",")}
    decimally, grouped = (f"{x:.12g}" for x in values.values())
    raise ValueError(
        f"row {seen.row + 1}: {printable(seen.text)!r} in column {seen.column!r} is {decimally} if the "
        f"{'comma' if sign == ',' else 'point'} is a decimal sign, and {grouped} if it is between "
        f"thousands, and no other cell of the table settles it: say {words.decimal(',')} or "
        f"{words.decimal('.')} to settle it."
    )


def _evidence(
    columns: Mapping[str, pl.Series], called: Mapping[str, str]
) -> tuple[dict[str, _Seen], dict[str, _Seen]]:
    """The first cell that can only have a decimal sign, and the first that may have it or thousands."""
    settles: dict[str, _Seen] = {}
    open_: dict[str, _Seen] = {}
    for name, cells in columns.items():
        groups = cells.str.contains(_GROUP).fill_null(False)
        points = cells.str.contains(_POINT).fill_null(False) & ~groups
        for where, at in ((settles, points), (open_, groups)):
            if at.any():
                row = int(at.arg_max() or 0)
                where.setdefault(".", _Seen(called[name], row, cells[row]))
        for row in (cells.str.contains("[.,]").fill_null(False) & ~points & ~groups).arg_true():
            text = cells[row]
            parts = (
                NUMBERS.findall(text[:1000]) if re.search(r"[±(\[;–…]|\+/?-|\bto\b", text[:1000]) else [text]
            )
            for part in parts:
                point, comma = number(part, "."), number(part, ",")
                if (point is None) != (comma is None):
                    if "," in part or "." in part:
                        settles.setdefault("," if point is None else ".", _Seen(called[name], row, text))
                elif point != comma:
                    open_.setdefault("," if "," in part else ".", _Seen(called[name], row, part))
    return settles, open_


def _first_grouped(name: str, cells: pl.Series, sign: str) -> _Seen | None:
    between = f"[{'.' if sign == ',' else ','}'’ \u00a0\u202f\u2009]"
    marks = cells.str.contains(f"(?:^|[^0-9.,])[0-9]{{1,3}}{between}[0-9]{{3}}").fill_null(False)
    for row in marks.arg_true():
        if number(cells[row], sign) is not None:
            return _Seen(name, row, cells[row])
    return None


def _in_percent(name: str, column: pl.Series, exact: bool) -> bool:
    """Whether a column is written in per cent: all of it or nothing."""
    signs = column.str.contains(r"%\s*$").fill_null(False)
    if not signs.any():
        return False
    bare = column.is_not_null() & ~signs
    if exact:  # 12 % is kept as 0.12, beside which 13 would not be hundredths
        plain = column.filter(bare).cast(pl.Float64, strict=False)
        bare = pl.Series([bool((plain.abs() > 1.0).any())]).new_from_index(0, column.len()) & bare
    if bare.any():
        row, other = int(bare.arg_max() or 0), int(signs.arg_max() or 0)
        raise ValueError(
            f"row {row + 1}: column {name!r} holds {printable(column[row])!r} without a per cent sign, and "
            f"{printable(column[other])!r} with one (row {other + 1}): write all of its cells alike."
        )
    return True


def as_count(number: Any) -> Any:
    """A whole number from a table, where it may come as 3.0."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


# What cells hold where a number should be


def hint_for(text: str) -> str:
    """What to do about a text that should be a number, if that can be told."""
    return comma_hint(text) or why_strange(text.strip()[:1000])


def comma_hint(text: str) -> str:
    """What to do about a decimal comma, if that is what a text has."""
    plain = text.strip()
    if len(plain) > 80:
        return ""
    if re.fullmatch(r"[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+", plain):
        whole = plain.replace(",", "")
        if plain.count(",") > 1:
            return f" Write it without commas: {whole}."
        return f" Write it without a comma, {whole} or {plain.replace(',', '.')}, whichever is meant."
    if not re.fullmatch(r"[+-]?[0-9]+,[0-9]+(?:[eE][+-]?[0-9]+)?", plain):
        return ""
    return f" Write numbers with a point: {plain.replace(',', '.')}."


def is_spreadsheet_error(text: str) -> bool:
    """Whether a cell holds the error of a formula."""
    return text.strip().upper() in SPREADSHEET_ERRORS


def is_date(text: str) -> bool:
    """Whether a cell holds a day, or a day and a month."""
    return _DATE.fullmatch(text.strip()) is not None


def why_no_value(text: str) -> str:
    """What to do about a text that should be a value; words say why there is none."""
    return why_strange(text) or (NO_RESULT if _WORDS.fullmatch(text) else "")


def why_strange(text: str) -> str:
    """One more sentence about a cell that is not a number, with a blank before it, or an empty text."""
    if is_spreadsheet_error(text):
        return " It is the error of a spreadsheet's formula: repair it there, or empty the cell."
    if text.casefold() in _NOTHING:
        return NO_RESULT
    if _LIMIT.fullmatch(text):
        return " It is a limit or a guess, not a measurement: leave the row out."
    if _DASH.fullmatch(text):
        return " If the dash means minus, write a minus sign."
    if _ACCOUNTING.fullmatch(text):
        return " If brackets mean minus, write a minus sign."
    if found := (_CURRENCY.fullmatch(text) or _WITH_UNIT.fullmatch(text)):
        return f" Put the unit {found[1]!r} into the header, and leave it out of the cells."
    if is_date(text):
        return " It looks like a date: did a spreadsheet make it of a number?"
    return ""
