"""The decimal sign of a table: settled by its cells or by the person, never guessed where it is ambiguous.

One table has one decimal sign. Cells that can only be read one way settle it (0,4 or 1,234.5); cells such as
1,234 do not, and without any other that does, the table is refused. A column of plain numbers is looked at as
a whole.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from noisewise.core.text import printable
from noisewise.study.inputs.dialects.number_texts import (
    BLANKS,
    COMMA,
    NO_NUMBER,
    POINT,
    Forms,
    cell_in,
    forms_of,
    forms_of_cell,
)
from noisewise.study.inputs.dialects.wording import PYTHON, Wording
from noisewise.study.inputs.numbers import NUMBER

#: Numbers without signs between thousands, by their decimal sign.
_SIMPLE = {
    POINT: f"^{NUMBER}$",
    COMMA: r"^[+-]?(?:[0-9]+(?:,[0-9]+)?|,[0-9]+)(?:[eE][+-]?[0-9]{1,4})?$",
}
#: Of these, the ones that are others if their sign stands between thousands.
_GROUP_LIKE = {sign: rf"^[+-]?[1-9][0-9]{{0,2}}[{sign}][0-9]{{3}}(?:[eE][+-]?[0-9]+)?$" for sign in _SIMPLE}
DECIMAL_SIGNS = {POINT: "decimal points", COMMA: "decimal commas"}


class Seen(NamedTuple):
    """A cell that says something about the decimal sign."""

    column: str
    row: int
    text: str

    def __str__(self) -> str:
        return f"{printable(self.text)!r} in column {self.column!r}, row {self.row + 1}"


class Evidence(NamedTuple):
    """The first cell of each kind."""

    settles: dict[str, Seen]  # by the decimal sign that it can only have
    ambiguous: dict[str, Seen]  # by the sign that may be either

    @property
    def decimal(self) -> str | None:
        """The decimal sign, if it is settled."""
        return next(iter(self.settles)) if len(self.settles) == 1 else None


class NumberColumns(NamedTuple):
    """Columns of numbers as plain texts with points, and what was guessed to read them so."""

    columns: dict[str, pl.Series]
    guesses: list[str]
    percent: list[str]  # columns that were written in per cent
    plain: list[str]  # texts that were plain numbers all along
    decimal: str | None = None  # what was said or settled; None: there was no need to ask


def read_numbers(
    columns: Mapping[str, pl.Series],
    *,
    decimal: str | None,
    separator: str | None = None,
    others: Iterable[pl.Series] = (),
    exact: Mapping[str, pl.Series] | None = None,
    words: Wording = PYTHON,
    called: Mapping[str, str] | None = None,
) -> NumberColumns:
    """Columns that hold numbers, as plain texts: points, no signs between thousands, hundredths for per cent.

    What is no number stays as it is: who reads the column refuses it, with its row.

    Args:
        columns: The columns.
        decimal: The decimal sign as a person said it; None: the cells settle it.
        separator: What stands between the columns of the text; None: there was no text.
        others: Columns that nobody reads, which may settle the decimal sign if those that count do not.
        exact: Cells that a workbook holds as numbers, by column: no dialect concerns them.
        words: How messages call what a person can say.
        called: How messages call columns, if otherwise than they are.
    """
    exact, called = exact or {}, called or {}
    texts = {name: column for name, column in columns.items() if column.dtype == pl.String}
    odd = {name: column for name, column in texts.items() if not _is_plain(column)}
    plain = [name for name in texts if name not in odd]
    if not odd and decimal in (None, POINT) and separator != ";":
        return NumberColumns(dict(columns), [], [], plain)
    evidence = _evidence(texts, exact, called)
    sign = decimal or _settled(evidence, others, separator, words)
    guesses = [] if sign == POINT else [DECIMAL_SIGNS[sign]]
    if sign == POINT and not odd:
        return NumberColumns(dict(columns), guesses, [], plain, sign)
    found, groups, percent = dict(columns), [], []
    for name, column in texts.items():
        if name not in odd and sign == POINT:
            continue
        keep = exact.get(name)
        found[name] = _plain_column(column, sign, keep)
        groups += [
            seen for seen in [_first_grouped(called.get(name, name), column, sign, keep)] if seen is not None
        ]
        if _in_percent(called.get(name, name), column, keep):
            percent.append(name)
    if groups:
        guesses.append(f"signs between thousands, such as {groups[0]}")
    if percent:
        listed = ", ".join(repr(called.get(name, name)) for name in percent)
        guesses.append(f"per cent as hundredths, 5% as 0.05, in {listed}")
    return NumberColumns(found, guesses, percent, plain if sign == POINT else [], sign)


def looks_numeric(column: pl.Series) -> bool:
    """Whether every cell is a number in one dialect or another, and one at least is there."""
    if column.dtype != pl.String:
        return column.dtype.is_numeric()
    cells = column.drop_nulls()
    if cells.is_empty():
        return False
    return _is_plain(cells) or all(forms_of(text) is not NO_NUMBER for text in cells.unique().to_list())


def mostly_numeric(column: pl.Series) -> bool:
    """Whether more than half of the cells are numbers: `timeout` among results makes no names of them."""
    if column.dtype != pl.String:
        return column.dtype.is_numeric()
    cells = column.drop_nulls().to_list()
    return 2 * sum(forms_of(text) is not NO_NUMBER for text in cells) > len(cells)


def _is_plain(column: pl.Series) -> bool:
    return bool(column.str.strip_chars().str.contains(f"^{NUMBER}$").fill_null(True).all())


def _evidence(
    columns: Mapping[str, pl.Series], exact: Mapping[str, pl.Series], called: Mapping[str, str]
) -> Evidence:
    found = Evidence({}, {})
    for name, column in columns.items():
        cells, here = column.str.strip_chars(), called.get(name, name)
        if name in exact:
            cells = cells.set(exact[name], None)
        usual = pl.Series([False]).new_from_index(0, cells.len())
        for sign, simple in _SIMPLE.items():
            is_simple = cells.str.contains(simple).fill_null(False)
            usual |= is_simple
            groups = is_simple & cells.str.contains(_GROUP_LIKE[sign]).fill_null(False)
            signs = is_simple & cells.str.contains(sign, literal=True).fill_null(False)
            for kind, at in ((found.settles, signs & ~groups), (found.ambiguous, groups)):
                if at.any() and sign not in kind:
                    row = int(at.arg_max() or 0)
                    kind[sign] = Seen(here, row, cells[row])
        for row in (cells.is_not_null() & ~usual).arg_true():
            for forms in _forms_in(cells[row]):
                if forms.settles is not None:
                    found.settles.setdefault(forms.settles, Seen(here, row, cells[row]))
                elif forms.ambiguous:
                    sign = COMMA if COMMA in forms.body else POINT
                    found.ambiguous.setdefault(sign, Seen(here, row, cells[row]))
    return found


def _forms_in(text: str) -> Sequence[Forms]:
    parts = text.split(";") if ";" in text else [text]
    return [forms for part in parts for forms in forms_of_cell(part) if forms is not NO_NUMBER]


def _settled(evidence: Evidence, others: Iterable[pl.Series], separator: str | None, words: Wording) -> str:
    """The decimal sign of a table; one sentence if its cells leave it open, or contradict each other."""
    if len(evidence.settles) == 2:
        one, other = evidence.settles[POINT], evidence.settles[COMMA]
        raise ValueError(
            f"the table must have one decimal sign; it has a point ({one}) and a comma ({other}): write "
            "all numbers alike."
        )
    if evidence.decimal is not None:
        return evidence.decimal
    # A point is what it is in most tables; but where semicolons stand between columns, commas are decimal.
    doubtful = COMMA in evidence.ambiguous or (POINT in evidence.ambiguous and separator == ";")
    if not doubtful:
        return POINT
    unused = {column.name: column for column in others if column.dtype == pl.String and looks_numeric(column)}
    elsewhere = _evidence(unused, {}, {}).decimal
    if elsewhere is not None:
        return elsewhere
    sign, seen = next(
        (sign, evidence.ambiguous[sign]) for sign in (COMMA, POINT) if sign in evidence.ambiguous
    )
    forms = forms_of(seen.text)
    said = {decimal: forms.read(decimal) for decimal in (POINT, COMMA)}
    called = "comma" if sign == COMMA else "point"
    raise ValueError(
        f"row {seen.row + 1}: {printable(seen.text)!r} in column {seen.column!r} is {_shown(said[sign])} if "
        f"the {called} is a decimal sign, and {_shown(said[COMMA if sign == POINT else POINT])} if it stands "
        f"between thousands, and no other cell of the table settles it: say {words.decimal(COMMA)} or "
        f"{words.decimal(POINT)} to settle it."
    )


def _shown(text: str | None) -> str:
    return "no number" if text is None else f"{float(text):.12g}"


def _plain_column(column: pl.Series, sign: str, keep: pl.Series | None) -> pl.Series:
    cells = column.str.strip_chars()
    simple = cells.str.contains(_SIMPLE[sign]).fill_null(True)
    if keep is not None:
        simple |= keep
        cells = cells.set(keep, None)
    read = cells.str.replace(",", ".", literal=True) if sign == COMMA else cells
    odd = (~simple).arg_true()
    if odd.len():
        texts = [";".join(cell_in(part, sign) for part in column[row].split(";")) for row in odd]
        read = read.scatter(odd, texts)
    return (read if keep is None else column.zip_with(keep, read)).alias(column.name)


def _first_grouped(name: str, column: pl.Series, sign: str, keep: pl.Series | None) -> Seen | None:
    cells = column if keep is None else column.set(keep, None)
    between = f"[{'.' if sign == COMMA else ','}'\u2019{BLANKS}]"
    marks = cells.str.contains(f"(?:^|[^0-9.,])[0-9]{{1,3}}{between}[0-9]{{3}}").fill_null(False)
    for row in marks.arg_true():
        if any(forms.grouped(sign) and forms.read(sign) for forms in _forms_in(cells[row])):
            return Seen(name, row, cells[row])
    return None


def _in_percent(name: str, column: pl.Series, keep: pl.Series | None) -> bool:
    """Whether a column is written in per cent: all of it or nothing."""
    signs = column.str.contains("[%\u2030]\\s*$").fill_null(False)
    if not signs.any():
        return False
    there = column.is_not_null() & (column.str.strip_chars().str.to_lowercase() != "none")
    bare = there & ~signs
    if bare.any():
        row, other = int(bare.arg_max() or 0), int(signs.arg_max() or 0)
        raise ValueError(
            f"row {row + 1}: column {name!r} holds {printable(column[row])!r} without a per cent sign, and "
            f"{printable(column[other])!r} with one (row {other + 1}): write all of its cells alike."
        )
    return True
