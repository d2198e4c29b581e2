"""Sums: n, the sum and the sum of squares of every option, as warehouses keep them."""

from fractions import Fraction

from noisewise.study.readers.named_columns import NamedColumns
from noisewise.study.readers.reader import Reader
from noisewise.study.readers.readout import Readout, ReadRow
from noisewise.study.readers.result_file import ResultFile
from noisewise.study.readers.shared import told_as_scatter

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
    table = NamedColumns(file, CUSTOM, said)
    table.need("option", "n", "sum")
    if "sum_squares" not in table.columns:
        raise file.refuse(
            "sum_squares is no known column; name it by choosing sum_squares=COLUMN. If readings are 0 or 1, "
            "none is needed: import a plain table with the columns successes and trials."
        )
    names = table.texts("option")
    numbers = {role: table.numbers(role) for role in ("n", "sum", "sum_squares")}
    about = {
        field: table.texts(role)
        for role, field in (("blocks", "block"), ("key", "key"))
        if role in table.columns
    }
    rows = []
    for row, name in enumerate(names):
        where = f"{table.place(row)} ({name})"
        cells = [numbers[role][row] for role in ("n", "sum", "sum_squares")]
        mean, sd, count = _moments(file, where, cells)
        fields = {"option": name, **told_as_scatter(mean, sd, count)}
        rows.append(ReadRow(table.place(row), fields | {field: cells[row] for field, cells in about.items()}))
    notes = table.unused()
    if "blocks" not in table.columns and len(set(names)) < len(names):
        notes.append(
            "Options have several rows; if these are days or sites, choose their column: blocks=COLUMN."
        )
    return Readout(rows, unit=unit, notes=notes)


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
    table = NamedColumns(file.beginning(), CUSTOM, {})
    return {"sum", "sum_squares", "n"} <= set(table.columns)


READER = Reader("sums", "tables with n, sum and sum of squares", read, looks_like)
