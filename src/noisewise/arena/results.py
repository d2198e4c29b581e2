"""What an arena says: matches, ratios with intervals, geometric means over cells, ranks; and its page."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from noisewise.arena.cells import Cell
from noisewise.arena.matches import CERTIFIED_AT, INDEX, Entry, Match, half_width, read_match, run_matches
from noisewise.charts.files import html_table
from noisewise.core.blocks import Floats
from noisewise.core.checks import check_choice, check_probability
from noisewise.core.distributions import normal_quantile
from noisewise.core.files import written_whole

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False)
class Arena:
    """All finished matches of some rules in some cells."""

    matches: list[Match]
    horizon: int
    replications: int
    seed: int

    @cached_property
    def entries(self) -> list[str]:
        """The rules, in the order in which they were entered."""
        return list(dict.fromkeys(match.entry for match in self.matches))

    @cached_property
    def cells(self) -> list[str]:
        """The cells in which every rule has played."""
        played = self._by_place
        names = dict.fromkeys(match.cell for match in self.matches)
        return [cell for cell in names if all((cell, entry) in played for entry in self.entries)]

    @cached_property
    def _by_place(self) -> dict[tuple[str, str], Match]:
        return {(match.cell, match.entry): match for match in self.matches}

    def table(self) -> "pl.DataFrame":
        """One row per match: means over the replications; ``low`` and ``high`` belong to ``regret``."""
        import polars as pl

        rows = []
        for match in self.matches:
            mean, half = float(match.regret.mean()), half_width(match.regret)
            rows.append(
                {
                    "cell": match.cell,
                    "policy": match.entry,
                    "regret": mean,
                    "low": mean - half,
                    "high": mean + half,
                    "found": float(match.found.mean()),
                    "certified": float(match.certified.mean()),
                    "rounds": float(match.rounds.mean()),
                    "precision": float(match.precision.mean()),
                    "covered": float(match.covered.mean()),
                    "misses": int((~match.covered).sum()),
                    "microseconds": match.microseconds,
                }
            )
        return pl.DataFrame(rows)

    def ratios(self, against: str | None = None, confidence: float = 0.95) -> "pl.DataFrame":
        """Each rule's mean regret in each cell over that of one rule, paired, with intervals.

        ``ratio`` is null where a mean is 0, so that there is nothing to divide.
        """
        import polars as pl

        base = self._reference(against)
        rows = []
        for cell in self.cells:
            for entry in self.entries:
                mine, theirs = self._by_place[cell, entry].regret, self._by_place[cell, base].regret
                log_ratio, error = log_ratio_of_means(mine, theirs)
                half = _quantile(confidence) * error
                known = math.isfinite(log_ratio)
                rows.append(
                    {
                        "cell": cell,
                        "policy": entry,
                        "against": base,
                        "ratio": math.exp(log_ratio) if known else None,
                        "low": math.exp(log_ratio - half) if known else None,
                        "high": math.exp(log_ratio + half) if known else None,
                        "difference": float((mine - theirs).mean()),
                        "error": half_width(mine - theirs, confidence),
                    }
                )
        schema = {"ratio": pl.Float64, "low": pl.Float64, "high": pl.Float64}
        return pl.DataFrame(rows, schema_overrides=schema)

    def standings(
        self, against: str | None = None, cells: list[str] | None = None, confidence: float = 0.95
    ) -> "pl.DataFrame":
        """Each rule over all cells, best first: geometric mean of the ratios, worst ratio, mean rank.

        ``compared`` says in how many cells a ratio exists; the geometric mean is over those.
        """
        import polars as pl

        base = self._reference(against)
        chosen = self.cells if cells is None else [check_choice("cells", c, self.cells) for c in cells]
        ranks = self._mean_ranks(chosen)
        rows = []
        for entry in self.entries:
            pairs = [
                log_ratio_of_means(self._by_place[cell, entry].regret, self._by_place[cell, base].regret)
                for cell in chosen
            ]
            known = np.array([pair for pair in pairs if math.isfinite(pair[0])]).reshape(-1, 2)
            n = len(known)
            centre = float(known[:, 0].mean()) if n else math.nan
            # Cells are independent of one another.
            half = _quantile(confidence) * math.sqrt(float((known[:, 1] ** 2).sum())) / n if n else math.nan
            here = [self._by_place[cell, entry] for cell in chosen]
            rows.append(
                {
                    "policy": entry,
                    "geometric_mean": _exp(centre),
                    "low": _exp(centre - half),
                    "high": _exp(centre + half),
                    "worst": _exp(float(known[:, 0].max())) if n else None,
                    "rank": ranks[entry],
                    "compared": n,
                    "found": float(np.mean([match.found.mean() for match in here])),
                    "rounds": float(np.mean([match.rounds.mean() for match in here])),
                    "covered": float(np.mean([match.covered.mean() for match in here])),
                    "microseconds": float(np.median([match.microseconds for match in here])),
                }
            )
        return pl.DataFrame(rows).sort("geometric_mean", nulls_last=True)

    def _reference(self, against: str | None) -> str:
        return self.entries[0] if against is None else check_choice("against", against, self.entries)

    def _mean_ranks(self, cells: list[str]) -> dict[str, float]:
        means = np.array([[self._by_place[cell, e].regret.mean() for e in self.entries] for cell in cells])
        if not cells:
            return dict.fromkeys(self.entries, math.nan)
        ranks = np.array([_ranks(row) for row in means])
        return dict(zip(self.entries, ranks.mean(axis=0).tolist(), strict=True))


def log_ratio_of_means(one: Floats, other: Floats) -> tuple[float, float]:
    """The logarithm of ``mean(one)/mean(other)`` and its standard error, for paired values.

    By the delta method: the error is that of the mean of ``one/mean(one) - other/mean(other)``. Minus or
    plus infinity, or NaN, if a mean is 0.
    """
    mean, base = float(one.mean()), float(other.mean())
    if mean <= 0.0 or base <= 0.0:
        return (math.nan if mean == base else math.copysign(math.inf, mean - base)), math.nan
    if len(one) < 2:
        return math.log(mean / base), math.inf
    spread = (one / mean - other / base).std(ddof=1)
    return math.log(mean / base), float(spread / math.sqrt(len(one)))


def run_arena(
    entries: Sequence[str | Entry],
    cells: Sequence[Cell],
    folder: str | PathLike[str],
    *,
    horizon: int = 400,
    replications: int = 1000,
    seed: int = 0,
    on: Any = None,
) -> Arena:
    """Let rules play in cells, on common random numbers, and keep every match in a folder.

    Interrupted by Ctrl-C, it keeps what is finished; called again with the same folder it goes on.

    Args:
        entries: Names of rules, or `Entry` objects with options.
        cells: Where they play.
        folder: Where the matches are kept; made if it is not there.
        horizon: Rounds of every run.
        replications: Runs of every match.
        seed: Seed of everything random.
        on: Number of processes, an executor of `concurrent.futures`, or a Dask client (or the address of its
            scheduler); default: all processors.
    """
    run_matches(entries, cells, folder, horizon=horizon, replications=replications, seed=seed, on=on)
    return load_arena(folder)


def load_arena(folder: str | PathLike[str]) -> Arena:
    """The finished matches of an arena's folder, as far as it got."""
    index = Path(folder) / INDEX
    if not index.is_file():
        raise FileNotFoundError(f"`folder` must hold an arena; there is no file {str(index)!r}.")
    content = json.loads(index.read_text(encoding="utf-8"))
    read = [read_match(Path(folder) / f"{key}.npz") for key in content["matches"]]
    finished = [match for match in read if match is not None]
    return Arena(finished, content["horizon"], content["replications"], content["seed"])


def _quantile(confidence: float) -> float:
    return normal_quantile(0.5 + check_probability("confidence", confidence) / 2.0)


def _exp(value: float) -> float | None:
    return math.exp(value) if math.isfinite(value) else None


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
    from noisewise.charts.files import render

    return [render(chart.to_dict(), ".svg").decode() for chart in draw(arena, against)]


def _ranks(values: Floats) -> Floats:
    """The rank of every value, from 1 for the smallest; equal values share the mean of theirs."""
    _, place, ties = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(ties) - (ties - 1) / 2.0)[place])
