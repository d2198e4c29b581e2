"""Tables for pages that also hold charts."""

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


def html_table(frame: "pl.DataFrame", columns: Mapping[str, str | tuple[str, str]]) -> str:
    """Some columns of a frame as a table: for each its title and, if not plainly, how values are written."""
    forms = {name: (how, "{}") if isinstance(how, str) else how for name, how in columns.items()}
    head = "".join(f"<th>{escape(title)}</th>" for title, _ in forms.values())
    rows = []
    for row in frame.iter_rows(named=True):
        cells = [
            f"<td{' class=name' if isinstance(row[name], str) else ''}>"
            f"{'-' if row[name] is None else escape(form.format(row[name]))}</td>"
            for name, (_, form) in forms.items()
        ]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
