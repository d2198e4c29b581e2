"""Rules against rules: many worlds, common random numbers, every figure with its interval.

A match is one rule in one cell. Matches are played in parallel and kept in files: what is finished stays, and
is not played again.
"""

import hashlib
import json
import math
import sys
import time
import zipfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from noisewise.charts.files import html_table
from noisewise.core.blocks import Floats
from noisewise.core.checks import check_choice, check_count, check_probability, nearest
from noisewise.core.distributions import normal_quantile
from noisewise.core.files import PACKAGE, save_arrays, sources_hash, written_whole
from noisewise.core.parallel import spread
from noisewise.core.randomness import check_seed
from noisewise.rules.policy import Policy
from noisewise.rules.registry import make_policy, rule_named
from noisewise.simulation import action_noise, instances, schedules
from noisewise.simulation.environment import Environment
from noisewise.simulation.results import Simulation
from noisewise.simulation.simulate import simulate

if TYPE_CHECKING:
    import polars as pl


__all__ = [
    "CELLS",
    "Arena",
    "Cell",
    "Entry",
    "Match",
    "cells_named",
    "load_arena",
    "play",
    "run_arena",
    "write_page",
]


@dataclass(frozen=True)
class Cell:
    """One world, as names and plain options, so that a file can remember it and a process be sent it."""

    instance: str
    schedule: str
    instance_options: dict[str, Any] = field(default_factory=dict)
    schedule_options: dict[str, Any] = field(default_factory=dict)
    announced: bool = False
    action_noise: str | None = None
    label: str = ""
    """The instance's name for people; default: its name with its size."""

    @property
    def name(self) -> str:
        """What people call it: the instance, the schedule, and what is special about the noise."""
        special = f", {self.action_noise}" if self.action_noise else ""
        return f"{self.label or self.instance} / {self.schedule}{special}{', announced' * self.announced}"

    def environment(self, horizon: int) -> Environment:
        """The world for runs of ``horizon`` rounds."""
        options = dict(self.instance_options)
        if self.instance == "case-study":
            options.setdefault("horizon", horizon)
        instance = instances.named(self.instance, **options)
        noise = None if self.action_noise is None else action_noise.named(self.action_noise)
        return instance.environment(self._schedule(instance), announced=self.announced, action_sigma=noise)

    def _schedule(self, instance: instances.Instance) -> Any:
        if self.schedule == "its own":
            return instance.schedule
        options = dict(self.schedule_options)
        if self.schedule == "flat":
            options.setdefault("dim", instance.actions.dim)
        return schedules.named(self.schedule, **options)


#: Five problems whose gaps shrink with the total precision, so that no horizon makes them easy.
_INSTANCES: list[tuple[str, str, dict[str, Any]]] = [
    ("sphere 60 x 6", "sphere", {"n_actions": 60, "dim": 6, "reach": 48.0}),
    ("sphere 200 x 3", "sphere", {"n_actions": 200, "dim": 3, "reach": 24.0}),
    ("hypercube 5", "hypercube", {"dim": 5, "scale": 0.8}),
    ("soare 6", "soare", {"dim": 6, "angle": 0.1, "reach": 30.0}),
    ("clustered 60 x 6", "clustered", {"n_actions": 60, "dim": 6, "reach": 180.0}),
]
#: The paper's four schedules, and two that are rough.
_SCHEDULES = ("flat", "fast-decaying", "moderate-spikes", "front-loaded", "log-uniform", "rare-quiet")
_ELSEWHERE: list[tuple[str, str, dict[str, Any]]] = [
    ("polytope 4", "polytope", {"dim": 4, "reach": 32.0}),
    ("leaderboard", "leaderboard", {}),
]

GRID = [
    Cell(instance, schedule, options, label=label)
    for label, instance, options in _INSTANCES
    for schedule in _SCHEDULES
]
SPECIAL = [
    Cell("case-study", "its own", label="case study"),
    *(
        Cell(instance, schedule, options, label=label)
        for label, instance, options in _ELSEWHERE
        for schedule in ("flat", "log-uniform", "rare-quiet")
    ),
    *(
        Cell(instance, "flat", options, action_noise=noise, label=label)
        for label, instance, options in _INSTANCES + _ELSEWHERE
        for noise in ("spread-out", "quiet-when-useless")
    ),
    *(
        Cell(instance, schedule, options, announced=True, label=label)
        for label, instance, options in _INSTANCES
        for schedule in ("log-uniform", "rare-quiet")
    ),
]
#: The sets of cells by name: ``grid`` is the 30 cells that rules are judged by.
CELLS: dict[str, list[Cell]] = {
    "grid": GRID,
    "special": SPECIAL,
    "all": GRID + SPECIAL,
    **{label.replace(" ", "-"): [c for c in GRID if c.label == label] for label, _, _ in _INSTANCES},
}


def cells_named(names: list[str]) -> list[Cell]:
    """The cells of the named sets, each once; a name may also be that of a single cell."""
    by_name = {cell.name: [cell] for cell in CELLS["all"]} | CELLS
    found: dict[str, Cell] = {}
    for name in names:
        if name not in by_name:
            sets = ", ".join(CELLS)
            raise ValueError(
                f"`cells` must be among {sets}, or a cell's name; got {name!r}.{nearest(name, list(by_name))}"
            )
        found |= {cell.name: cell for cell in by_name[name]}
    if not found:
        raise ValueError("`cells` must name at least one set of cells; got none.")
    return list(found.values())


#: A certificate counts as reached once its bound is at most this times dim/√S: on spheres, theta's length.
CERTIFIED_AT = 8.0
#: The rooms that decide how a match comes out.
ROOMS = ("core", "actions", "designs", "rules", "simulation")
#: The file beside the matches that says which belong together.
INDEX = "arena.json"
#: Recommendations within this of the best are the best.
EQUAL = 1e-12


@dataclass(frozen=True)
class Entry:
    """A rule with its options, under the name that people see."""

    name: str
    rule: str
    options: dict[str, Any]

    def policy(self, actions: Any, horizon: int) -> Policy:
        """The rule on these actions; one that divides a budget is told how many rounds there are."""
        planned = {"horizon": horizon} if rule_named(self.rule).needs_horizon else {}
        return make_policy(self.rule, actions, **planned | self.options)


@dataclass(frozen=True)
class Fixture:
    """Everything that decides how a match comes out."""

    cell: Cell
    entry: Entry
    horizon: int
    replications: int
    seed: int

    def key(self) -> str:
        """A hash of it and of the sources: a finished match with the same key need not be played again."""
        content = asdict(self) | {"sources": _sources_hash(rule_named(self.entry.rule).__module__)}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:24]


def _sources_hash(home: str) -> str:
    """A hash of every source that decides how a rule fares, a file of another package included."""
    own = getattr(sys.modules.get(home), "__file__", None)
    others = [] if own is None or PACKAGE in Path(own).parents else [Path(own)]
    return sources_hash(ROOMS, *others)


@dataclass(frozen=True, eq=False)
class Match:
    """The outcome of every replication; a replication is the same world for every rule."""

    cell: str
    entry: str
    regret: Floats  # (R,): final simple regret times √S, S the schedule's total precision
    found: NDArray[np.bool_]  # (R,): whether the best was recommended
    covered: NDArray[np.bool_]  # (R,): whether the certificate was true at every checkpoint
    certified: NDArray[np.bool_]  # (R,): whether the bound fell to CERTIFIED_AT·dim/√S
    rounds: Floats  # (R,): rounds until then; the horizon if it did not
    precision: Floats  # (R,): share of the precision measured by then
    microseconds: float  # per round, everything included


def play(fixture: Fixture) -> Match:
    """Play a match in this process."""
    cell, entry = fixture.cell, fixture.entry
    env = cell.environment(fixture.horizon)
    policy, clock = entry.policy(env.actions, fixture.horizon), time.process_time  # others may be busy
    start = clock()
    simulation = simulate(
        policy, env, horizon=fixture.horizon, replications=fixture.replications, seed=fixture.seed, on=1
    )
    seconds = clock() - start
    totals = [
        (env.sigmas(fixture.horizon, fixture.seed, r) ** -2.0).sum() for r in range(fixture.replications)
    ]
    rate = np.sqrt(np.array(totals))
    certified, rounds, precision = _to_certificate(simulation, CERTIFIED_AT * env.actions.dim / rate)
    final = simulation.simple_regret[:, -1]
    return Match(
        cell=cell.name,
        entry=entry.name,
        regret=final * rate,
        found=final <= EQUAL,
        covered=simulation.covered,
        certified=certified,
        rounds=rounds,
        precision=precision,
        microseconds=1e6 * seconds / (fixture.replications * fixture.horizon),
    )


def _to_certificate(simulation: Simulation, target: Floats) -> tuple[NDArray[np.bool_], Floats, Floats]:
    """Whether and at which checkpoint the bound reached the target, and the precision spent by then."""
    reached = simulation.bound <= target[:, None]
    certified = np.asarray(reached.any(axis=1))
    where = np.where(certified, reached.argmax(axis=1), simulation.checkpoints.size - 1)
    spent = simulation.total_precision[np.arange(len(where)), where] / simulation.total_precision[:, -1]
    return certified, simulation.checkpoints[where].astype(np.float64), spent


def save_match(match: Match, path: Path) -> None:
    """Write a match, whole or not at all."""
    save_arrays(path, asdict(match))


def read_match(path: Path) -> Match | None:
    """Read a match; None if there is none, or a damaged one, which will be played again."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            parts: dict[str, Any] = {name: file[name] for name in file.files}
        names: dict[str, Any] = {name: str(parts.pop(name)) for name in ("cell", "entry")}
        return Match(**names, microseconds=float(parts.pop("microseconds")), **parts)
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile):
        return None


def half_width(values: Floats, confidence: float = 0.95) -> float:
    """Half of the confidence interval of a mean; infinite for one value."""
    if len(values) < 2:
        return math.inf
    return float(normal_quantile(0.5 + confidence / 2.0) * values.std(ddof=1) / math.sqrt(len(values)))


def _file(folder: Path, fixture: Fixture) -> Path:
    return folder / f"{fixture.key()}.npz"


def _checked_entries(entries: Sequence[str | Entry], horizon: int) -> list[Entry]:
    """Entries whose rules and options exist, found out before anything is played."""
    checked = [entry if isinstance(entry, Entry) else Entry(entry, entry, {}) for entry in entries]
    if not checked:
        raise ValueError("`entries` must name at least one rule; got none.")
    for entry in checked:
        entry.policy([[1.0, 0.0], [0.0, 1.0]], horizon)
    names = [entry.name for entry in checked]
    if doubles := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"`entries` must have different names; got {doubles[0]!r} twice.")
    return checked


def _checked_cells(cells: Sequence[Cell]) -> Sequence[Cell]:
    if not cells:
        raise ValueError("`cells` must hold at least one cell; got none.")
    return cells


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
    check_count("horizon", horizon)
    check_count("replications", replications)
    check_seed(seed)
    fixtures = [
        Fixture(cell, entry, horizon, replications, seed)
        for entry in _checked_entries(entries, horizon)
        for cell in _checked_cells(cells)
    ]
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    keys = [fixture.key() for fixture in fixtures]
    with written_whole(target / INDEX) as draft:
        index = {"horizon": horizon, "replications": replications, "seed": seed, "matches": keys}
        draft.write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")
    missing = [fixture for fixture in fixtures if read_match(_file(target, fixture)) is None]
    for fixture, match in spread(play, missing, on, label=f"{len(missing)} of {len(fixtures)} matches"):
        # Here, and not where it was played: other machines have other disks.
        save_match(match, _file(target, fixture))
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
    """The charts as drawings inside the page."""
    from noisewise.charts.files import render

    return [render(chart.to_dict(), ".svg").decode() for chart in draw(arena, against)]


def _ranks(values: Floats) -> Floats:
    """The rank of every value, from 1 for the smallest; equal values share the mean of theirs."""
    _, place, ties = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(ties) - (ties - 1) / 2.0)[place])
