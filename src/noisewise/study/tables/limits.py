"""Limits of tables, so that a small file cannot take much memory.

What a table takes in memory stays within about 50 MB and twenty times the unpacked size of its file. The same
limits hold for a file on this machine and for one that is sent to a server.
"""

#: Columns of a table.
MOST_COLUMNS = 10_000
#: Bytes of a file when it is unpacked.
MOST_UNPACKED = 256 * 2**20
#: Cells, filled or not, and characters that a table may have in any case.
_FREE_CELLS, _FREE_LETTERS = 1_000_000, 10_000_000


def most_cells(n_given: int) -> int:
    """How many cells a table may have of which so many are filled."""
    return _FREE_CELLS + 10 * n_given


def most_values(n_bytes: int) -> int:
    """How many cells a table may have whose file has so many bytes unpacked."""
    return _FREE_CELLS + n_bytes


def most_letters(n_bytes: int) -> int:
    """How many characters all cells of a table together may have, if its file has so many bytes unpacked."""
    return _FREE_LETTERS + 2 * n_bytes


def check_size(name: str, n_rows: int, n_columns: int, n_given: int) -> None:
    """Refuse a table that has too many columns, or far more cells than are filled.

    Args:
        name: What to call the table in messages.
        n_rows: Rows.
        n_columns: Columns.
        n_given: Filled cells.
    """
    if n_columns > MOST_COLUMNS:
        raise ValueError(
            f"{name} has {n_columns:,} columns, and a table may have {MOST_COLUMNS:,}: leave out "
            "those that are not needed."
        )
    if n_rows * n_columns > most_cells(n_given):
        raise ValueError(
            f"{name} has {n_rows:,} rows of {n_columns:,} columns, and only {n_given:,} cells of "
            f"them are filled; at most {most_cells(n_given):,} cells are read: leave out what is empty."
        )
