"""The options of a study, sorted, filtered and by pages: what is shown of 100,000 is made for 50."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import polars as pl

from noisewise.charts.svg import axis_row, interval_row, scale_of
from noisewise.core.text import aligned
from noisewise.server.pages.rendering import Pager, page_of, with_query
from noisewise.study.certificates.certificate import Certificate
from noisewise.study.certificates.claims import MAY_BE_BEST, RULED_OUT
from noisewise.study.report.figures import OptionLine, option_lines, standing_in_words
from noisewise.study.report.intervals import View

#: Orders of the table: the column, and whether larger ones come first at the first click.
ORDERS = {
    "estimate": ("estimate", True),
    "option": ("option", False),
    "error": ("se", False),
    "measurements": ("measurements", True),
}
STANDINGS = {"may": MAY_BE_BEST, "out": RULED_OUT, "excluded": "excluded", "never": "never measured"}


class OptionRow(NamedTuple):
    """One option as the page shows it."""

    place: int  # from 1, in this order
    option: str
    kind: str  # of its shape
    value: str
    error: str
    measured: int
    standing: str
    picture: str  # SVG
    excluded: bool


class Sorting(NamedTuple):
    """A column that can be sorted by."""

    title: str
    name: str
    address: str
    state: str  # as `aria-sort` says it: "ascending", "descending", or "none"
    number: bool


class OptionsPage(NamedTuple):
    """One page of the table."""

    rows: list[OptionRow]
    sortings: list[Sorting]
    pager: Pager
    axis: str  # SVG
    axis_title: str
    query: Mapping[str, str]
    standings: list[tuple[str, str]]
    said: list[str]


def options_page(
    frame: pl.DataFrame, view: View | None, certificate: Certificate, query: Mapping[str, str]
) -> OptionsPage:
    """What an address asks for.

    Args:
        frame: `Study.frame("options")`.
        view: The certificate's intervals, if there are any.
        certificate: What may be claimed.
        query: ``q`` (part of a name), ``standing``, ``sort``, ``order``, ``page``.
    """
    kept = {name: query.get(name, "") for name in ("q", "standing", "sort", "order")}
    found = _sorted(_filtered(frame, kept), kept, certificate)
    pager = page_of(len(found), query.get("page"), kept)
    lines = option_lines(found[pager.first : pager.last], view, certificate)
    scale = None
    # One scale for all pages, or rows of two pages could not be compared.
    if view is not None and len(view.table):
        scale = scale_of([view.table["low"].min(), view.table["high"].max()], log=view.log)  # type: ignore[list-item]
    ticks = [] if scale is None else scale.ticks(4)
    values = aligned([line.value for line in lines], [line.error for line in lines])
    rows = []
    for place, (line, value) in enumerate(zip(lines, values, strict=True), start=pager.first + 1):
        kind = line.kind
        drawn = "" if line.ends is None or scale is None else interval_row(
            scale, ticks, kind, line.ends, view.edge if view else None
        )  # fmt: skip
        rows.append(_row(place, line, kind, value, drawn))
    return OptionsPage(
        rows,
        _sortings(kept, view, certificate),
        pager,
        axis_row(ticks) if ticks else "",
        "" if view is None else view.axis,
        kept,
        [(name, word) for name, word in STANDINGS.items() if _offers(name, certificate)],
        [] if view is None else view.said,
    )


def _row(place: int, line: OptionLine, kind: str, value: tuple[str, str] | None, drawn: str) -> OptionRow:
    shown, error = value or ("", "")
    return OptionRow(
        place,
        line.option,
        kind,
        shown.replace("-", "−"),
        error,
        line.measured,
        standing_in_words(line),
        drawn,
        line.standing == "excluded",
    )


def _offers(name: str, certificate: Certificate) -> bool:
    return name not in ("may", "out") or certificate.may_show_bounds


def _filtered(frame: pl.DataFrame, query: Mapping[str, str]) -> pl.DataFrame:
    if query["q"]:
        name = pl.col("option").str.to_lowercase()
        frame = frame.filter(name.str.contains(query["q"].lower(), literal=True))
    wanted: dict[str, Any] = {
        "may": pl.col("may_be_best").fill_null(False),
        "out": ~pl.col("may_be_best").fill_null(True),
        "excluded": pl.col("excluded").is_not_null(),
        "never": pl.col("measurements") == 0,
    }
    return frame.filter(wanted[query["standing"]]) if query["standing"] in wanted else frame


def _direction(query: Mapping[str, str], certificate: Certificate) -> tuple[str, bool]:
    """By what, and whether the largest come first; the best option is first unless one asks otherwise."""
    by = query["sort"] if query["sort"] in ORDERS else "estimate"
    usual = ORDERS[by][1] if by != "estimate" else certificate.goal == "max"
    return by, {"asc": False, "desc": True}.get(query["order"], usual)


def _sorted(frame: pl.DataFrame, query: Mapping[str, str], certificate: Certificate) -> pl.DataFrame:
    by, falling = _direction(query, certificate)
    column = ORDERS[by][0]
    if column == "estimate":
        column = next((name for name in ("difference", "ratio") if name in frame.columns), "estimate")
    return frame.sort(column, descending=falling, nulls_last=True, maintain_order=True)


def _sortings(query: Mapping[str, str], view: View | None, certificate: Certificate) -> list[Sorting]:
    by, falling = _direction(query, certificate)
    number = "Estimate" if view is None else view.number.partition(" ±")[0]
    titles = {
        "option": "Option", "estimate": number, "error": "Standard error", "measurements": "Measurements",
    }  # fmt: skip
    found = []
    for name, title in titles.items():
        again = name == by
        order = ("asc" if falling else "desc") if again else ""
        address = with_query(query, sort=name, order=order)
        state = ("descending" if falling else "ascending") if again else "none"
        found.append(Sorting(title, name, address, state, name != "option"))
    return found
