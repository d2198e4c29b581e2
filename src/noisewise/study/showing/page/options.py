"""The options of the report: a row for each, with its picture, its number and what may be said about it."""

from typing import Any, NamedTuple

import polars as pl

from noisewise.charts.svg import SHAPES, Scale, Tick, axis_row, interval_row, scale_of
from noisewise.core.support.words import aligned
from noisewise.study.certificates.certificate import UNBOUNDED, Certificate
from noisewise.study.certificates.claims import EXCLUDED, MAY_BE_BEST, NOT_KNOWN, RULED_OUT
from noisewise.study.showing.intervals import View
from noisewise.study.showing.page.elements import NOTHING, Column, figure, folded, table, text

RECOMMENDED, LEADS = "recommended", "leads, without a bound"
#: The shape of each standing.
KINDS = {
    RECOMMENDED: "recommended",
    LEADS: "recommended",
    MAY_BE_BEST: "may",
    RULED_OUT: "out",
    NOT_KNOWN: "uncertain",
}


class OptionLine(NamedTuple):
    """One option as it is shown."""

    option: str
    standing: str
    value: float | None
    error: float | None
    measured: int
    ends: tuple[float, float, float] | None  # low end, estimate and high end, if there are such
    remark: str = ""


def options_figure(
    frame: pl.DataFrame, view: View | None, certificate: Certificate, most: int, *, table_too: bool = True
) -> str:
    """The chart of all options, or of the best of them, and a table of all.

    Args:
        frame: `Study.frame("options")`.
        view: The intervals; None if nothing was measured.
        certificate: What may be claimed.
        most: Rows of the chart.
        table_too: Whether a table lists all of them below, where the chart does not.
    """
    rows = _rows(frame, view, certificate)
    shown = [row for row in rows if row.ends is not None][:most]
    missing = [row for row in rows if row.option == certificate.option and row.ends is not None]
    if missing and missing[0] not in shown:
        shown[-1] = missing[0]
    rest = [row for row in rows if row.ends is None][: max(0, most - len(shown))]
    left = len(rows) - len(shown) - len(rest)
    listed = _listed(rows, certificate) if left and table_too else ""
    if view is None or not shown:
        return _listed(rows, certificate)
    said = [*view.said, *([f"{left:,} more options are in the table below."] if listed else [])]
    return figure("intervals", view.heading, said, _keys(shown), _table([*shown, *rest], view)) + listed


def _rows(frame: pl.DataFrame, view: View | None, certificate: Certificate) -> list[OptionLine]:
    found = option_lines(frame, view, certificate)
    sign = -1.0 if certificate.goal == "max" else 1.0
    found.sort(key=lambda row: (row.ends is None, row.value is None, sign * (row.value or 0.0)))
    return found


def option_lines(frame: pl.DataFrame, view: View | None, certificate: Certificate) -> list[OptionLine]:
    """The options of a frame in its order: all of `Study.frame("options")`, or some of its rows."""
    bars = None if view is None else view.table
    if bars is not None and len(frame) < len(bars):
        bars = bars.filter(pl.col("option").is_in(frame["option"].to_list()))
    ends = {} if bars is None else {row["option"]: row for row in bars.iter_rows(named=True)}
    apart, ratios = (False, False) if view is None else (view.apart, view.apart and view.log)
    found = []
    for row in frame.iter_rows(named=True):
        bar = ends.get(row["option"])
        found.append(
            OptionLine(
                row["option"],
                _standing(row, certificate),
                *_numbers(row, apart, ratios),
                row["measurements"],
                None if bar is None else (bar["low"], bar["mean"], bar["high"]),
                _remark(row, bar is None, certificate),
            )
        )
    return found


def _numbers(row: dict[str, Any], apart: bool, ratios: bool) -> tuple[float | None, float | None]:
    """What stands beside the picture, with its standard error: differences or ratios, where drawn."""
    if not apart:
        return row["estimate"], row["se"]
    if "ratio" not in row:
        return row["difference"], row["difference_se"]
    ratio, error = row["ratio"], row["ratio_se"]
    if ratios:
        return ratio, error
    return None if ratio is None else 100.0 * (ratio - 1.0), None if error is None else 100.0 * error


def _standing(row: dict[str, Any], certificate: Certificate) -> str:
    if row["excluded"] is not None:
        return EXCLUDED
    if row["recommended"]:
        return LEADS if certificate.verdict == UNBOUNDED else RECOMMENDED
    return {True: MAY_BE_BEST, False: RULED_OUT, None: NOT_KNOWN}[row["may_be_best"]]


def _remark(row: dict[str, Any], no_bar: bool, certificate: Certificate) -> str:
    if row["excluded"] is not None:
        return str(row["excluded"])
    if not no_bar:
        return ""
    if not row["measurements"]:
        return "never measured"
    if not row.get("linked", True):
        return "not linked"
    return "without a bound yet" if certificate.verdict == UNBOUNDED else ""


def standing_in_words(row: OptionLine) -> str:
    """What may be said about an option, with a remark."""
    standing = "" if row.standing == NOT_KNOWN and row.remark else row.standing
    return ", ".join(part for part in (standing, row.remark) if part)


def _table(rows: list[OptionLine], view: View) -> str:
    drawn = [row.ends for row in rows if row.ends is not None]
    scale = scale_of([end for ends in drawn for end in ends], log=view.log)
    ticks = scale.ticks(5)
    values = aligned([row.value for row in rows], [row.error for row in rows])
    body = "".join(
        _line(row, number, scale, ticks, view.edge) for row, number in zip(rows, values, strict=True)
    )
    title = text(f"{view.axis} (log scale)" if view.log else view.axis)
    return (
        '<table class="pictured" role="table"><thead role="rowgroup"><tr role="row">'
        f'<th role="columnheader" scope="col">Option</th><th role="columnheader" class="plot" scope="col">'
        f'{title}</th><th role="columnheader" class="number" scope="col">{text(view.number)}</th>'
        '<th role="columnheader" class="number" scope="col">Measurements</th>'
        '<th role="columnheader" scope="col">Standing</th></tr></thead>'
        f'<tbody role="rowgroup">{body}</tbody>'
        f'<tfoot aria-hidden="true"><tr><td></td><td class="plot">{axis_row(ticks)}</td><td></td><td></td>'
        "<td></td></tr></tfoot></table>"
    )


def _line(
    row: OptionLine, value: tuple[str, str] | None, scale: Scale, ticks: list[Tick], edge: float | None
) -> str:
    kind = KINDS.get(row.standing, "uncertain")
    drawn = "" if row.ends is None else interval_row(scale, ticks, kind, row.ends, edge)
    shown = NOTHING if value is None else " ± ".join(part for part in value if part).replace("-", "−")
    bold = " class=recommended" if kind == "recommended" else ""
    return (
        f'<tr role="row"{bold}><th role="rowheader" scope="row">{text(row.option)}</th>'
        f'<td role="cell" class="plot">{drawn}</td><td role="cell" class="number main">{shown}</td>'
        f'<td role="cell" class="number count">{row.measured:,}</td>'
        f'<td role="cell" class="standing">{text(standing_in_words(row))}</td></tr>'
    )


def _keys(rows: list[OptionLine]) -> str:
    """What the shapes stand for."""
    present = {KINDS.get(row.standing, "uncertain"): row.standing for row in rows}
    words = {kind: present[kind] for kind in SHAPES if kind in present}
    if "uncertain" in words:
        words["uncertain"] = "nothing certified"
    keys = "".join(
        f'<span class="key"><svg aria-hidden="true"><svg x="50%" y="50%" overflow="visible">'
        f'<path class="{kind}" d="{SHAPES[kind]}"/></svg></svg>{text(said)}</span>'
        for kind, said in words.items()
    )
    return f'<p class="soft">{keys}</p>'


def _listed(rows: list[OptionLine], certificate: Certificate) -> str:
    numbers = aligned([row.value for row in rows], [row.error for row in rows])
    frame = pl.DataFrame(
        {
            "option": [row.option for row in rows],
            "value": [None if one is None else one[0] for one in numbers],
            "error": [None if one is None else one[1] or None for one in numbers],
            "count": [row.measured for row in rows],
            "standing": [standing_in_words(row) for row in rows],
        },
        schema_overrides={"value": pl.String, "error": pl.String},
    )
    columns = {
        "option": Column("option"),
        "value": Column("estimate", number=True),
        "error": Column("standard error", number=True),
        "count": Column("measurements", "{:,}", number=True),
        "standing": Column("standing"),
    }
    order = "largest" if certificate.goal == "max" else "smallest"
    return folded(f"All options, the {order} first", table(frame, columns, "options", first=True))
