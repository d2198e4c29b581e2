"""Sums: n, the sum and the sum of squares of every option, as warehouses keep them."""

import re
from collections.abc import Mapping
from fractions import Fraction

import polars as pl

from noisewise.core.text import printable
from noisewise.study.readers.reader import Reader
from noisewise.study.readers.readout import Readout, ReadRow
from noisewise.study.readers.result_file import ResultFile
from noisewise.study.readers.shared import told_as_scatter
from noisewise.study.tables.cells import read_numbers
from noisewise.study.tables.names import columns_called, key_of
from noisewise.study.tables.sheet import ReadTable

#: What columns are usually called; the longer names are GrowthBook's.
CUSTOM = {
    "option": ("option", "variant", "variation", "variation_id", "arm", "group", "treatment", "name"),
    "n": ("n", "count", "users", "units", "visitors"),
    "sum": ("sum", "main_sum", "total", "sum_x"),
    "sum_squares": (
        "sum_squares", "main_sum_squares", "sum_of_squares", "sum_sq", "sumsq", "sum_squared", "ss", "sum_x2",
    ),
    "blocks": ("block",),
    "key": ("key",),
}  # fmt: skip
#: The part of a sum of squares that double precision and a few million additions may have lost.
ROUNDING = 1e-13


def read(
    file: ResultFile,
    *,
    unit: str | None = None,
    option: str | None = None,
    n: str | None = None,
    sum: str | None = None,
    sum_squares: str | None = None,
    blocks: str | None = None,
    key: str | None = None,
) -> Readout:
    """The mean and the standard deviation that n, sum and sum of squares say.

    Args:
        file: A table with a row for every option.
        unit: The unit of the values, if it is known.
        option: The column with the options' names, where it is not called so.
        n: The column with the numbers of readings.
        sum: The column with their sums.
        sum_squares: The column with the sums of their squares, not centred.
        blocks: The column with the days or sites that rows belong to, if there is one.
        key: The column with a name of each row, if there is one.
    """
    said = {
        "option": option, "n": n, "sum": sum, "sum_squares": sum_squares, "blocks": blocks, "key": key,
    }  # fmt: skip
    table = file.table()
    columns = _columns(file, table, said)
    names = table.frame[columns["option"]].cast(pl.String).to_list()
    numbers = {role: _numbers(file, table, columns[role]) for role in ("n", "sum", "sum_squares")}
    about = {
        field: table.frame[columns[role]].cast(pl.String).to_list()
        for role, field in (("blocks", "block"), ("key", "key"))
        if role in columns
    }
    rows = []
    for row, name in enumerate(names):
        place = table.place(row) if table.lines is None else f"line {table.lines[row]}"
        where = f"{place} ({name})"
        if name is None or any(cells[row] is None for cells in about.values()):
            raise file.refuse(f"{place}: names of options, blocks and keys must not be empty.")
        cells = [numbers[role][row] for role in ("n", "sum", "sum_squares")]
        mean, sd, count = _moments(file, where, cells)
        fields = {"option": name, **told_as_scatter(mean, sd, count)}
        rows.append(ReadRow(place, fields | {field: cells[row] for field, cells in about.items()}))
    rest = [printable(name) for name in table.frame.columns if name not in columns.values()]
    notes = [f"Columns not used: {', '.join(rest)}."] if rest else []
    if "blocks" not in columns and len(set(names)) < len(names):
        notes.append(
            "Options have several rows; if these are days or sites, choose their column: blocks=COLUMN."
        )
    return Readout(rows, unit=unit, notes=notes)


def _columns(file: ResultFile, table: ReadTable, said: Mapping[str, str | None]) -> dict[str, str]:
    """Which column is what, by custom or by what a person says."""
    columns: dict[str, str] = {}
    there = ", ".join(repr(printable(name)[:40]) for name in table.frame.columns[:12])
    for role, names in CUSTOM.items():
        wanted = said.get(role)
        called = names if wanted is None else (wanted,)
        found = list(dict.fromkeys(c for name in called for c in columns_called(table.frame.columns, name)))
        if wanted is not None and len(found) != 1:
            many = "no column" if not found else "more than one column"
            raise file.refuse(f"there is {many} {wanted!r} for {role}; there are {there}.")
        if len(found) > 1 and role in ("option", "n", "sum"):
            raise file.refuse(
                f"{found[0]!r} and {found[1]!r} could both be {role}; name it by choosing `{role}=COLUMN`."
            )
        columns |= {role: found[0]} if found else {}
    missing = next((role for role in ("option", "n", "sum", "sum_squares") if role not in columns), None)
    if missing == "sum_squares":
        raise file.refuse(
            "sum_squares is not a known column; choose sum_squares=COLUMN. If readings are 0 or 1, "
            "none is needed: import a plain table with the columns successes and trials."
        )
    if missing is not None:
        raise file.refuse(
            f"{missing} is not a known column of {there}; name it by choosing `{missing}=COLUMN`."
        )
    return columns


def _numbers(file: ResultFile, table: ReadTable, column: str) -> list[float | None]:
    cells = table.frame[column]
    try:
        found = read_numbers({column: cells}, comma=table.comma, exact=table.exact).columns[column]
    except ValueError as problem:
        raise file.refuse(table.with_lines(str(problem))) from None
    numbers = found.cast(pl.Float64).fill_nan(None)
    if numbers.is_infinite().any():
        row = int(numbers.is_infinite().arg_max() or 0)
        raise file.refuse(f"{table.place(row)}: {column!r} must be a finite number; got {cells[row]!r}.")
    return numbers.to_list()


def _moments(file: ResultFile, where: str, cells: list[float | None]) -> tuple[float, float, int]:
    """The mean, the standard deviation and n; Σ(x - x̄)² = Σx² - (Σx)²/n, exactly from what is given."""
    for role, cell in zip(("n", "sum", "sum_squares"), cells, strict=True):
        if cell is None:
            raise file.refuse(f"{where}: {role} is missing.")
    n, total, squares = (Fraction(cell) for cell in cells if cell is not None)
    if n.denominator != 1 or n < 1:
        raise file.refuse(f"{where}: n must be a whole number above 0; got {float(n):g}.")
    if squares < 0:
        raise file.refuse(f"{where}: a sum of squares cannot be negative; got {float(squares):g}.")
    scatter = squares - total * total / n
    exact = total.denominator == squares.denominator == 1 and squares < 2**53  # sums of whole numbers
    lost = Fraction(0) if exact else Fraction(ROUNDING) * squares
    if scatter < -lost:
        raise file.refuse(
            f"{where}: no {int(n):,} numbers have the sum {float(total):g} and the sum of squares "
            f"{float(squares):g}, which is at least sum²/n = {float(total * total / n):g}: is it centred, or "
            "of another metric?"
        )
    if lost and n > 1 and scatter <= lost:
        raise file.refuse(
            f"{where}: the sum of squares and sum²/n agree in all their digits, so rounding has eaten the "
            "scatter: subtract a typical value from all readings before summing, or export the standard "
            "deviation."
        )
    deviation = float(scatter / (n - 1)) ** 0.5 if n > 1 else 0.0
    return float(total / n), deviation, int(n)


def looks_like(file: ResultFile) -> bool:
    """Whether a table has a column of sums and one of sums of squares."""
    if file.head().lstrip()[:1] in ("{", "["):
        return False
    names = {key_of(name) for name in re.split(r"[,;\t]", file.head().partition("\n")[0].strip())}
    return all(names & {*CUSTOM[role]} for role in ("sum", "sum_squares", "n"))


READER = Reader("sums", "tables with n, sum and sum of squares", read, looks_like)
