"""Elements of the report: sections, lists, tables, what is folded; everything is escaped here."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import polars as pl

from noisewise.core.text import printable

#: Rows of a table that are shown.
ROWS = 200
#: What stands in an empty cell.
NOTHING = "–"


class Column(NamedTuple):
    """A column of a table: its title, and how its values are written."""

    title: str
    form: str = "{}"
    number: bool = False
    long: bool = False


def text(words: Any) -> str:
    """Words of people as the page may hold them."""
    return escape(printable(words))


def together(words: str) -> str:
    """The same where lines break, but not between a number and its per cent sign."""
    return text(words).replace(" %", "\u00a0%")


def section(name: str, title: str, *parts: str) -> str:
    """A part of the page with its title."""
    inside = "\n".join(part for part in parts if part)
    return f'<section aria-labelledby="{name}"><h2 id="{name}">{text(title)}</h2>\n{inside}\n</section>'


def paragraph(words: str, kind: str = "") -> str:
    """One paragraph."""
    return f"<p{f' class={kind}' if kind else ''}>{text(words)}</p>"


def bullets(lines: Iterable[str]) -> str:
    """A list; empty if there is nothing on it."""
    items = "".join(f"<li>{text(line)}</li>" for line in lines)
    return f"<ul>{items}</ul>" if items else ""


def folded(title: str, *parts: str) -> str:
    """What is shown when one asks for it."""
    return f"<details><summary>{text(title)}</summary>{''.join(parts)}</details>"


def figure(name: str, title: str, said: Sequence[str], *parts: str) -> str:
    """A chart with its title and how to read it."""
    words = "".join(paragraph(line, "soft") for line in said)
    return (
        f'<figure class="chart" id="{name}"><figcaption><h3>{text(title)}</h3>{words}</figcaption>'
        f"{''.join(parts)}</figure>"
    )


def definitions(rows: Mapping[str, str], kind: str) -> str:
    """Names with what they stand for."""
    items = "".join(f"<div><dt>{text(name)}</dt><dd>{text(what)}</dd></div>" for name, what in rows.items())
    return f'<dl class="{kind}">{items}</dl>'


def table(
    frame: pl.DataFrame,
    columns: Mapping[str, Column],
    what: str,
    *,
    first: bool = False,
    total: int | None = None,
) -> str:
    """The first or the last rows; says what is left out. Columns without any value are left out as well.

    Args:
        frame: The rows.
        columns: Those that are shown, by name.
        what: What the rows are, in the plural.
        first: Whether the first rows are shown, and not the last.
        total: How many rows there are; default: as many as the frame has.
    """
    shown = frame[:ROWS] if first else frame[-ROWS:]
    total = len(frame) if total is None else total
    used = {
        name: column
        for name, column in columns.items()
        if name in shown.columns and (shown[name].null_count() < len(shown) or not len(shown))
    }
    which = "first" if first else "last"
    caption = f"The {which} {len(shown):,} of {total:,} {what}." if len(shown) < total else ""
    caption = caption or f"{what[0].upper()}{what[1:]}"
    head = "".join(
        f'<th scope="col"{" class=number" if column.number else ""}>{text(column.title)}</th>'
        for column in used.values()
    )
    rows = "".join(
        f"<tr>{''.join(_cell(row[name], column) for name, column in used.items())}</tr>"
        for row in shown.select(list(used)).iter_rows(named=True)
    )
    # What can be scrolled can be reached by keyboard.
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{text(caption)}"><table>'
        f"<caption>{text(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _cell(value: Any, column: Column) -> str:
    kind = " class=number" if column.number else " class=long" if column.long else ""
    return f"<td{kind}>{NOTHING if value is None else text(column.form.format(value))}</td>"
