"""How many measurements a study needs when it is asked what to measure, beside version 0.1.0.

Both versions meet the same worlds, seeds and noise; r is the geometric mean of N / N(0.1.0) over the seeds,
where N counts the measurements until the certificate's bound is at most eps (costs, where options have
costs), and a study that does not come to its end counts as its cap. What was played is kept in the user's
cache folder, 0.1.0 by commit, the present version by its code.

``python -m benchmarks asking`` plays the worlds that have targets, 40 seeds each: about an hour on one core
the first time. ``python -m benchmarks.asking --jobs 2 docs/asking-worlds.md`` plays all worlds and writes
the tables into that page; ``--seeds 8 --worlds "prompts, eps 0.03"`` plays less.
"""

import argparse
import os
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.asking_page import page
from benchmarks.asking_play import BATCHES, OLD_RULE, ONE_BY_ONE, WHOLE_DAYS
from benchmarks.asking_runs import Cell
from benchmarks.asking_worlds import NAMED, OTHERS, WORLDS, World
from benchmarks.baseline import NEW, OLD
from benchmarks.geometric import Ratio, geometric_ratio
from benchmarks.kept_runs import is_kept, played
from benchmarks.pages import write_figures
from benchmarks.timing import Row

SEEDS = int(os.environ.get("ASKING_SEEDS", "40"))
JOBS = int(os.environ.get("ASKING_JOBS", "1"))

#: The largest r that is good enough.
RATIOS = {
    "prompts, eps 0.03": 0.25,
    "prompts, eps 0.06": 0.65,
    "large deviations": 0.38,
    "twenty options, ten ties": 0.75,
    "twenty options": 0.9,
    "two hundred options": 0.6,
    "features": 0.92,
    "loud and quiet options": 0.95,
}
#: Where the whole interval of r must not lie above this.
NOT_WORSE = 1.05
AS_GOOD = (
    "two instruments, announced",
    "two instruments, not announced",
    "twenty options, one winner",
    "five options",
    "five options, small eps",
)
#: The largest mean number of measurements.
MEANS = {
    "days, five options": 51.0,
    "days, eight options": 105.0,
    "days, twenty options": 260.0,
    "days, features": 82.0,
    "days, deviations": 145.0,
}
MEDIANS = {"prompts, eps 0.03": 120.0}
#: Asked in batches of five as well, and how much more that may take.
BATCHED = (
    "twenty options",
    "twenty options, ten ties",
    "features",
    "prompts, eps 0.03",
    "large deviations",
    "ten features, smallest wanted",
    "small deviations",
)
BATCH_RATIO = 1.15


class Figures(NamedTuple):
    """What the seeds of one cell gave."""

    runs: list[dict[str, Any]]

    @property
    def median(self) -> float:
        """Of the numbers of measurements."""
        return float(statistics.median(run["n"] for run in self.runs))

    @property
    def mean(self) -> float:
        """Of the numbers of measurements."""
        return statistics.fmean(run["n"] for run in self.runs)

    @property
    def unreached(self) -> int:
        """Studies that did not come to their end."""
        return sum(not run["reached"] for run in self.runs)

    def over(self, others: "Figures", figure: str = "cost") -> Ratio:
        """Ratio of what it took, seed by seed; everything costs 1 where options have no costs."""
        return geometric_ratio([run[figure] for run in self.runs], [run[figure] for run in others.runs])

    def __str__(self) -> str:
        rest = f", {self.unreached} of {len(self.runs)} not done" if self.unreached else ""
        return f"{self.median:g} / {self.mean:.1f}{rest}"


def ways(world: World, version: str) -> list[str]:
    """How a world is asked in."""
    if version == OLD:
        return [] if world.differences else [ONE_BY_ONE]
    beside = [WHOLE_DAYS, OLD_RULE] if world.day else [BATCHES] if world.name in BATCHED else []
    return [ONE_BY_ONE, *beside]


def figures(worlds: Iterable[World], seeds: int, jobs: int, only_kept: bool = False) -> dict[Cell, Figures]:
    """What both versions need in these worlds; if so wished without those that would have to be played."""
    cells = [
        Cell(world, way, version)
        for version in (OLD, NEW)
        for world in worlds
        for way in ways(world, version)
    ]
    if only_kept:
        cells = [cell for cell in cells if is_kept(cell, seeds)]
    return {cell: Figures(runs) for cell, runs in played(cells, seeds, jobs).items()}


def judged(found: dict[Cell, Figures]) -> list[Row]:
    """The figures beside their targets."""
    rows: list[Row] = []
    for cell, new in found.items():
        if cell.version == NEW:
            rows += _of_ratio(cell, new, found) + _of_size(cell, new)
    return rows


def _of_ratio(cell: Cell, new: Figures, found: dict[Cell, Figures]) -> list[Row]:
    name, way = cell.world.name, cell.way
    alone, old = (found.get(Cell(cell.world, ONE_BY_ONE, version)) for version in (NEW, OLD))
    if way == BATCHES and alone is not None:
        detail = f"r {new.over(alone)}; {new} against {alone}"
        return [
            Row(f"{name}, {way}: N / N one by one", new.over(alone).mean, "x", BATCH_RATIO, False, detail)
        ]
    if way != ONE_BY_ONE or old is None or not (name in RATIOS or name in AS_GOOD):
        return []
    r = new.over(old)
    detail = f"r {r}; {new} against {old}"
    if name in RATIOS:
        return [Row(f"{name}: r", r.mean, "x", RATIOS[name], False, detail)]
    return [Row(f"{name}: lower end of r", r.low, "x", NOT_WORSE, False, detail)]


def _of_size(cell: Cell, new: Figures) -> list[Row]:
    name, rows = cell.world.name, []
    if cell.way == OLD_RULE:
        return []
    about = name if cell.way == ONE_BY_ONE else f"{name}, {cell.way}"
    if name in MEANS:
        rows.append(Row(f"{about}: mean measurements", new.mean, "", MEANS[name], False, str(new)))
    if name in MEDIANS and cell.way == ONE_BY_ONE:
        rows.append(Row(f"{about}: median measurements", new.median, "", MEDIANS[name], False, str(new)))
    if name in MEANS or name in MEDIANS:
        rows.append(Row(f"{about}: not done at {cell.world.cap}", new.unreached, "", 0, False, str(new)))
    return rows


def rows() -> list[Row]:
    """The worlds with targets."""
    batched = [WORLDS[name] for name in BATCHED]
    worlds = dict.fromkeys([*NAMED, *batched])
    return judged(figures(worlds, SEEDS, JOBS))


def main() -> None:
    """All worlds, or some; printed, or written into a page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("page", nargs="?", type=Path, help="the page that the tables are written into")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="studies per world")
    parser.add_argument("--jobs", type=int, default=JOBS, help="processes at a time")
    parser.add_argument("--kept", action="store_true", help="play nothing: what was played before")
    parser.add_argument("--worlds", nargs="*", default=list(WORLDS), help="their names; default: all")
    given = parser.parse_args()
    if unknown := [name for name in given.worlds if name not in WORLDS]:
        parser.error(f"`--worlds` must be among {'; '.join(WORLDS)}; got {unknown[0]!r}.")
    worlds = [world for world in (*NAMED, *OTHERS) if world.name in given.worlds]
    found = figures(worlds, given.seeds, given.jobs, given.kept)
    for cell, one in found.items():
        old = found.get(Cell(cell.world, ONE_BY_ONE, OLD))
        r = f"  r {one.over(old)}" if old is not None and cell.version == NEW else ""
        print(f"{cell.world.name}, {cell.way}, {cell.version}: {one}{r}")
    for row in judged(found):
        mark = "yes" if row.reached else "NO "
        print(f"{mark} {row.name}: {row.figure:.3g} (<= {row.target:g}); {row.detail}")
    if given.page is not None:
        write_figures(given.page, page(found, given.seeds))


if __name__ == "__main__":
    main()
