"""The league table: every option with its estimate and interval, the best first, as text and as HTML."""

import html
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from noisewise.core.checks import nearest
from noisewise.core.strict_json import plain
from noisewise.core.text import percent, printable
from noisewise.study.certificates.certificate import Certificate
from noisewise.study.certificates.claims import UNBOUNDED
from noisewise.study.certificates.good_enough import known_good_enough
from noisewise.study.log.amounts import name_of
from noisewise.study.log.measurements import KINDS
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.fit import only_differences
from noisewise.study.report.intervals import comparison, estimates
from noisewise.study.telling.error_bars import NONE

#: Options that are shown, and the widths of their names and of the chart in a terminal.
SHOWN, NAME_WIDTH, CHART_WIDTH = 24, 28, 30
#: The chart in a notebook, in pixels.
WIDTH, HEIGHT, EDGE = 260, 20, 6


@dataclass(frozen=True)
class LeagueRow:
    """An option in the league table.

    Attributes:
        option: The name.
        estimate: Its value, or its difference to another option where only differences are known.
        low: Lower end of the interval; None if there is none.
        high: Upper end of the interval; None if there is none.
        count: The readings, trials, items or rows behind it.
        may_be_best: Whether it may be the best; None where nothing may be said.
        good_enough: Whether it is within eps of the best; None where that is undecided.
    """

    option: str
    estimate: float
    low: float | None
    high: float | None
    count: int
    may_be_best: bool | None
    good_enough: bool | None = None


@dataclass(frozen=True)
class League:
    """The options with their intervals, the best first.

    Attributes:
        rows: One for each option.
        heading: What the estimates are.
        counts: What is counted behind them, such as "readings".
        intervals: What the intervals are, in a sentence.
        within: The heading above whether options are good enough; empty if that is not asked.
    """

    rows: tuple[LeagueRow, ...]
    heading: str
    counts: str
    intervals: str
    within: str = ""

    def lines(self) -> list[str]:
        """The table for a terminal, with a chart of the intervals."""
        rows = self.rows[:SHOWN]
        if not rows:
            return []
        several = any(row.count != 1 for row in rows)
        columns = [
            ["option", *(_cut(printable(row.option)) for row in rows)],
            [_cut(printable(self.heading)), *_aligned(rows)],
            [self.counts, *(f"{row.count:,}" for row in rows)] if several else [""] * (len(rows) + 1),
            *self._good_enough(rows),
            ["", *_bars(rows)],
        ]
        wide = [max(map(len, column)) for column in columns]
        lines = []
        for name, text, count, *rest in zip(*columns, strict=True):
            cells = [f"{name:<{wide[0]}}", f"{text:<{wide[1]}}", f"{count:>{wide[2]}}"]
            cells += [f"{cell:<{width}}" for cell, width in zip(rest, wide[3:], strict=True)]
            lines.append("  ".join(cells).rstrip())
        if len(self.rows) > len(rows):
            lines.append(f"... and {len(self.rows) - len(rows):,} more")
        if any(row.low is not None for row in rows):
            lines.append(self.intervals)
        return lines

    def _good_enough(self, rows: Sequence[LeagueRow]) -> list[list[str]]:
        """The column that says which options are good enough, where that is known of any."""
        if not self.within or all(row.good_enough is None for row in rows):
            return []
        words = {True: "yes", False: "no", None: "?"}
        return [[self.within, *(words[row.good_enough] for row in rows)]]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__

    def to_dict(self) -> list[dict[str, Any]]:
        """The rows for programs."""
        return [{name: plain(cell) for name, cell in asdict(row).items()} for row in self.rows]

    def _repr_html_(self) -> str:
        """The table for a notebook: no scripts and no colours that vanish on a dark page."""
        rows = self.rows[:SHOWN]
        if not rows:
            return ""
        several, scale = any(row.count != 1 for row in rows), _scale(rows)
        cell = "style='text-align:{};padding:0.1em 0.7em;background:none;border:none'"
        left, right = cell.format("left"), cell.format("right")
        names = [
            ("option", left),
            (self.heading, right),
            *([(self.counts, right)] if several else []),
            *((column[0], left) for column in self._good_enough(rows)),
            ("", left),
        ]
        head = "".join(f"<th {style}>{html.escape(name)}</th>" for name, style in names)
        body = []
        enough = [column[1:] for column in self._good_enough(rows)]
        for at, (row, text) in enumerate(zip(rows, _aligned(rows), strict=True)):
            name = html.escape(row.option)
            cells = [(f"<b>{name}</b>" if row.may_be_best else name, left), (text.strip(), right)]
            cells += [(f"{row.count:,}", right)] if several else []
            cells += [(column[at], left) for column in enough]
            cells += [(_drawn(row, scale), left)]
            body.append("<tr>" + "".join(f"<td {style}>{inner}</td>" for inner, style in cells) + "</tr>")
        more = len(self.rows) - len(rows)
        below = [f"... and {more:,} more"] if more else []
        below += [self.intervals] if any(row.low is not None for row in rows) else []
        said = "".join(f"<div style='opacity:0.7;font-size:85%'>{html.escape(one)}</div>" for one in below)
        return (
            "<table style='border-collapse:collapse;font-variant-numeric:tabular-nums;margin:0.4em 0'>"
            f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>{said}"
        )


def league_of(
    analysis: Analysis,
    certificate: Certificate,
    against: str | None = None,
    *,
    measured: str = "estimate",
    counts: str | None = None,
) -> League:
    """The league table of a study.

    Args:
        analysis: The fits.
        certificate: Of the same moment.
        against: Show differences to this option; default: estimates, or differences to the recommended option
            where only differences are known.
        measured: What the estimates are.
        counts: What is counted behind them; default: what measurements are called.
    """
    state = analysis.state
    if against is not None and against not in state.index:
        raise ValueError(f"There is no option {against!r} here.{nearest(against, state.ids)}")
    counts = f"{name_of(state, analysis.columns)}s" if counts is None else counts
    if certificate.option is None:
        return League((), measured, counts, "")
    bounded = certificate.may_show_bounds and (against is not None or math.isfinite(certificate.bound))
    apart = against is not None or (only_differences(analysis.sums) and _level(analysis, certificate) is None)
    return League(
        rows=tuple(_rows(analysis, certificate, against)),
        heading=f"minus {against or certificate.option}" if apart and bounded else measured,
        counts=counts,
        intervals=_about(certificate, against),
        within="" if certificate.eps is None else f"within {certificate.value_scale.stated(certificate.eps)}",
    )


def _about(certificate: Certificate, against: str | None) -> str:
    if not certificate.may_show_bounds or not math.isfinite(certificate.bound):
        return "Intervals: one standard error to either side."
    sure = f"with {percent(certificate.confidence)} confidence"
    if against is not None:
        return f"Intervals: difference to {against}, all lower (or all upper) ends together {sure}."
    return f"Intervals: uncertainty of the difference to {certificate.option}, {sure}. ● may be the best."


def _rows(analysis: Analysis, certificate: Certificate, against: str | None) -> list[LeagueRow]:
    state, sign = analysis.state, analysis.specification.sign
    sides = np.concatenate([analysis.columns.plus, analysis.columns.minus])
    of_rows = np.concatenate([analysis.columns.readings] * 2)
    behind = np.bincount(sides[sides >= 0], of_rows[sides >= 0], analysis.n)
    if against is not None and certificate.may_show_bounds:
        frame = _differences(analysis, state.index[against])
    elif certificate.may_show_bounds and math.isfinite(certificate.bound):
        frame = comparison(analysis, certificate)
    else:
        frame = estimates(analysis, certificate)
    known = certificate.may_show_bounds and certificate.verdict != UNBOUNDED
    level = 0.0 if against is not None or (shared := _level(analysis, certificate)) is None else shared
    first = certificate.option if against is None else None
    found = []
    candidates, good = set(certificate.candidates), known_good_enough(analysis, certificate)
    for name, mean, low, high in frame.select("option", "mean", "low", "high").iter_rows():
        known_ends = low < high and math.isfinite(high - low)
        count, may_win = int(behind[state.index[name]]), name in candidates if known else None
        ends = (low + level, high + level) if known_ends else (None, None)
        found.append(LeagueRow(name, mean + level, ends[0], ends[1], count, may_win, good.get(name)))
    return sorted(found, key=lambda row: (row.option != first, -sign * row.estimate))


def _level(analysis: Analysis, certificate: Certificate) -> float | None:
    """What to add to differences to the recommended option where every block has all options; else None."""
    columns = analysis.columns
    if not only_differences(analysis.sums) or analysis.specification.value_scale.log:
        return None
    if (columns.minus >= 0).any() or not (columns.kind == KINDS.index(NONE)).all():
        return None
    pairs = np.unique(np.stack([columns.block, columns.plus]), axis=1)
    if pairs.shape[1] != columns.value.size or pairs.shape[1] != np.unique(columns.block).size * analysis.n:
        return None
    return float(columns.value[columns.plus == analysis.state.index[certificate.option or ""]].mean())


def _differences(analysis: Analysis, other: int) -> pl.DataFrame:
    """Differences to one option; each end of all intervals together has the certificate's confidence."""
    fit, boundary, sign = analysis.certified, analysis.boundary, analysis.specification.sign
    apart, up, down = fit.differences(other), boundary.half_widths(other), boundary.lead_widths(other)
    known = np.flatnonzero(np.isfinite(up) & np.isfinite(down) & analysis.state.allowed())
    ends, shown = (
        np.sort([sign * (apart - down), sign * (apart + up)], axis=0),
        analysis.specification.value_scale,
    )
    return pl.DataFrame(
        {
            "option": [analysis.state.ids[k] for k in known],
            "mean": shown.differences((sign * apart)[known] + 0.0),
            "low": shown.differences(ends[0][known]),
            "high": shown.differences(ends[1][known]),
        }
    )


def _cut(name: str) -> str:
    return name if len(name) <= NAME_WIDTH else f"{name[: NAME_WIDTH - 1]}…"


def _aligned(rows: Sequence[LeagueRow]) -> list[str]:
    """Estimates with their intervals, all with the digits that the narrowest interval needs."""
    least = min(
        (row.high - row.low for row in rows if row.low is not None and row.high is not None), default=0.0
    )
    sizes = [abs(row.estimate) for row in rows if row.estimate]
    scale = least or min(sizes, default=1.0)
    digits = min(9, max(0, 2 - math.floor(math.log10(scale)))) if math.isfinite(scale) else 3
    cells = [
        [f"{number:.{digits}f}" for number in (row.estimate, row.low, row.high) if number is not None]
        for row in rows
    ]
    estimate = max(len(row[0]) for row in cells)
    ends = max((len(cell) for row in cells for cell in row[1:]), default=0)
    return [
        f"{row[0]:>{estimate}}  [{row[1]:>{ends}}, {row[2]:>{ends}}]"
        if len(row) > 2
        else f"{row[0]:>{estimate}}"
        for row in cells
    ]


def _scale(rows: Sequence[LeagueRow]) -> tuple[float, float]:
    """The least number of the chart, and how far the largest is above it."""
    ends = [
        x for row in rows for x in (row.low, row.estimate, row.high) if x is not None and math.isfinite(x)
    ]
    return min(ends), max(ends) - min(ends)


def _bars(rows: Sequence[LeagueRow]) -> list[str]:
    """The intervals as text on one scale; those of options that may be the best are solid."""
    low, span = _scale(rows)
    if span <= 0.0:
        return [""] * len(rows)

    def place(x: float) -> int:
        return round((CHART_WIDTH - 1) * (x - low) / span)

    found = []
    for row in rows:
        cells = [" "] * CHART_WIDTH
        if row.low is not None and row.high is not None:
            first, last = place(row.low), place(row.high)
            cells[first : last + 1] = ["━" if row.may_be_best else "─"] * (last + 1 - first)
        cells[place(row.estimate)] = "●" if row.may_be_best else "○"
        found.append("".join(cells))
    return found


def _drawn(row: LeagueRow, scale: tuple[float, float]) -> str:
    """The interval of one option as SVG: filled if it may be the best."""
    low, span = scale
    if span <= 0.0:
        return ""

    def place(x: float) -> str:
        return f"{EDGE + (WIDTH - 2 * EDGE) * (x - low) / span:.1f}"

    middle, colour = HEIGHT // 2, "#3b82c4" if row.may_be_best else "#8a939c"
    colour = "#2e9e5b" if row.good_enough else colour
    line = ""
    if row.low is not None and row.high is not None:
        line = (
            f"<line x1='{place(row.low)}' x2='{place(row.high)}' y1='{middle}' y2='{middle}' "
            f"stroke='{colour}' stroke-width='{3 if row.may_be_best else 1.5}'/>"
        )
    inside = colour if row.may_be_best or row.good_enough else "none"
    dot = (
        f"<circle cx='{place(row.estimate)}' cy='{middle}' r='4' fill='{inside}' stroke='{colour}' "
        "stroke-width='1.5'/>"
    )
    return (
        f"<svg width='{WIDTH}' height='{HEIGHT}' viewBox='0 0 {WIDTH} {HEIGHT}' role='img' "
        f"aria-label='interval' style='vertical-align:middle'>{line}{dot}</svg>"
    )
