"""An arena as one page: what was played, the standings, the heat map, every match. It needs no network."""

from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

from noisewise.arena.match import CERTIFIED_AT
from noisewise.arena.results import Arena
from noisewise.charts.drawing.page import html_table
from noisewise.core.support.files import written_whole

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>The arena of rules</title>
<style>
body {{ font: 15px/1.5 "Liberation Sans", Arial, Helvetica, sans-serif; color: #1f1f1f;
  max-width: 70rem; margin: 2rem auto; padding: 0 1rem }}
table {{ border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums }}
th, td {{ padding: .25rem .8rem; text-align: right; border-bottom: 1px solid #e6e6e6 }}
th:first-child, td:first-child, td.name {{ text-align: left }}
svg {{ max-width: 100%; height: auto }}
.wide {{ overflow-x: auto }}
</style>
</head>
<body>
<h1>The arena of rules</h1>
<p>{n_rules} rules in {n_cells} cells, {replications} runs of {horizon} rounds each (seed {seed}),
the same worlds and the same noise for every rule. Regret is how far the recommended option is below the best
at the end, times √S, S the schedule's total precision. All are compared with <b>{against}</b>.</p>
<h2>Standings</h2>
<div class="wide">{standings}</div>
<p>The geometric mean is over the cells where both means are above 0 (<i>compared</i>);
<i>found</i>: the share of runs that recommend the best; <i>rounds</i>: until the certified bound is at most
{certified_at:g}·dim/√S, the horizon if it never is; <i>covered</i>: the share of runs whose certificate was
true at every checkpoint; µs: processor time per round.</p>
{charts}
<h2>Every match</h2>
<div class="wide">{table}</div>
</body>
</html>
"""

_STANDINGS: dict[str, str | tuple[str, str]] = {
    "policy": "rule",
    "geometric_mean": ("geometric mean", "{:.3f}"),
    "low": ("from", "{:.3f}"),
    "high": ("to", "{:.3f}"),
    "worst": ("worst cell", "{:.2f}"),
    "rank": ("mean rank", "{:.2f}"),
    "compared": "compared",
    "found": ("found", "{:.1%}"),
    "rounds": ("rounds", "{:.0f}"),
    "covered": ("covered", "{:.2%}"),
    "microseconds": ("µs", "{:.2f}"),
}
_TABLE: dict[str, str | tuple[str, str]] = {
    "cell": "cell",
    "policy": "rule",
    "regret": ("regret·√S", "{:.3g}"),
    "low": ("from", "{:.3g}"),
    "high": ("to", "{:.3g}"),
    "found": ("found", "{:.1%}"),
    "certified": ("certified", "{:.0%}"),
    "rounds": ("rounds", "{:.0f}"),
    "precision": ("of the precision", "{:.0%}"),
    "covered": ("covered", "{:.2%}"),
    "microseconds": ("µs", "{:.2f}"),
}


def write_page(arena: Arena, path: str | PathLike[str], against: str | None = None) -> Path:
    """Write an arena as one HTML page, whole or not at all."""
    standings = arena.standings(against)
    base = against or arena.entries[0]
    page = _PAGE.format(
        n_rules=len(arena.entries),
        n_cells=len(arena.cells),
        replications=f"{arena.replications:,}",
        horizon=f"{arena.horizon:,}",
        seed=arena.seed,
        against=escape(base),
        certified_at=CERTIFIED_AT,
        standings=html_table(standings, _STANDINGS),
        charts="\n".join(f"<figure>{svg}</figure>" for svg in _drawings(arena, base)),
        table=html_table(arena.table(), _TABLE),
    )
    target = Path(path)
    with written_whole(target) as draft:
        draft.write_text(page, encoding="utf-8")
    return target


def draw(arena: Arena, against: str) -> list[Any]:
    """The intervals of the geometric means and the heat map, of all rules but the one compared with.

    Nothing where no ratio exists.
    """
    import polars as pl

    from noisewise import charts

    ratios = arena.ratios(against).filter(pl.col("ratio").is_not_null() & (pl.col("policy") != against))
    standings = arena.standings(against)
    known = standings.filter(pl.col("geometric_mean").is_not_null() & (pl.col("policy") != against))
    if known.is_empty():
        return []
    ordered = pl.concat([ratios.filter(pl.col("policy") == rule) for rule in known["policy"]])
    return [charts.ratio_intervals(known, against=against), charts.ratio_heat_map(ordered, against=against)]


def _drawings(arena: Arena, against: str) -> list[str]:
    """The charts as drawings that stand in the page itself."""
    from noisewise.charts.drawing.chart_files import render

    return [render(chart.to_dict(), ".svg").decode() for chart in draw(arena, against)]
