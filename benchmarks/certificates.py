"""How many measurements a certificate needs beside 0.1.0, where nobody asks it what to measure.

Both versions are told the same sequence of measurements, chosen by a plain sampler that knows no certificate;
r is the geometric mean over the runs of N / N(0.1.0), N being the first look at which the bound is at most
eps. Readings of unknown scatter are compared with readings whose scatter is stated, and options that answer
the same items with options that answer items of their own, both in the present version. What was
played is kept in the user's cache folder, 0.1.0 by commit, the present version by its code.

``python -m benchmarks certificates`` plays 100 runs of each world: about half an hour on one core the first
time. ``python -m benchmarks.certificates docs/certificates-measured.md`` writes the tables into that page;
``--seeds 20 --groups Counts`` plays less.
"""

import argparse
import os
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.baseline import NEW, OLD
from benchmarks.certificate_cells import GROUPS
from benchmarks.certificate_looks import PLAYED
from benchmarks.certificate_worlds import Drawn, World
from benchmarks.certificates_page import page
from benchmarks.contrast_moves import moved
from benchmarks.contrast_widths import Widths, measured
from benchmarks.geometric import Ratio, geometric_ratio
from benchmarks.kept_runs import is_kept, played
from benchmarks.pages import write_figures
from benchmarks.timing import Row

SEEDS = int(os.environ.get("CERTIFICATES_SEEDS", "100"))
JOBS = int(os.environ.get("CERTIFICATES_JOBS", "1"))
FIRST_SEED = 5000


class Cell(NamedTuple):
    """One world, told in one way, under one version."""

    world: World
    way: str
    version: str

    @property
    def first_seed(self) -> int:
        """Where the seeds begin."""
        return FIRST_SEED

    @property
    def at_once(self) -> int:
        """Seeds that one process plays."""
        return 50

    @property
    def title(self) -> str:
        """The name of the world."""
        return self.world.name

    def work(self) -> tuple[str, ...]:
        """What plays it."""
        return "benchmarks.certificate_looks", self.world.name, self.way

    def content(self) -> bytes:
        """What the world draws, and how it is played."""
        return Drawn(self.world, FIRST_SEED).content(self.way) + repr(PLAYED).encode()


class Compared(NamedTuple):
    """What the runs of one world gave, and those of its opponent."""

    world: World
    new: list[dict[str, Any]]
    old: list[dict[str, Any]]

    @property
    def ratio(self) -> Ratio:
        """Of the measurements, run by run."""
        return geometric_ratio([run["n"] for run in self.new], [run["n"] for run in self.old])

    @property
    def unreached(self) -> tuple[int, int]:
        """Studies that did not come to their end, new and old; they count as their cap."""
        new, old = (sum(not run["reached"] for run in runs) for runs in (self.new, self.old))
        return new, old

    @property
    def wrong(self) -> int:
        """Studies that ended with an option further below the best than eps."""
        return sum(run["reached"] and run["lost"] > self.world.eps for run in self.new)

    @property
    def medians(self) -> tuple[float, float]:
        """Of the measurements, new and old."""
        new, old = (statistics.median(run["n"] for run in runs) for runs in (self.new, self.old))
        return new, old

    def row(self) -> Row:
        """Beside its target."""
        (new, old), (late, old_late) = self.medians, self.unreached
        against = self.world.against or "0.1.0"
        detail = (
            f"r {precise(self.ratio)}; medians {new:g} and {old:g}; not done {late} and {old_late} "
            f"of {len(self.new)}; wrong {self.wrong}"
        )
        return Row(
            f"{self.world.name}: N / N({against})", self.ratio.mean, "x", self.world.most, False, detail
        )


def precise(ratio: Ratio) -> str:
    """With three digits."""
    return f"{ratio.mean:.3f} ({ratio.low:.3f} to {ratio.high:.3f})"


def opponents(world: World) -> tuple[Cell, Cell]:
    """What is compared: the present version, and 0.1.0 or another way of telling."""
    other = Cell(world, world.way, OLD) if world.against is None else Cell(world, world.against, NEW)
    return Cell(world, world.way, NEW), other


def compared(worlds: Iterable[World], seeds: int, jobs: int) -> list[Compared]:
    """All of these worlds, world by world."""
    pairs = [(world, *opponents(world)) for world in worlds]
    # The opponents first: whatever happens to the present version, they are kept.
    found = played([old for _, _, old in pairs], seeds, jobs)
    found |= played([new for _, new, _ in pairs], seeds, jobs)
    return [Compared(world, found[new], found[old]) for world, new, old in pairs]


def _kept(world: World, seeds: int) -> bool:
    return all(is_kept(cell, seeds) for cell in opponents(world))


def rows() -> list[Row]:
    """All worlds that have targets, and the half-widths in blocks."""
    worlds = [world for group in GROUPS.values() for world in group]
    found = [one.row() for one in compared(worlds, SEEDS, JOBS)]
    return [*found, *(one.row() for one in measured()), *moved()]


def main() -> None:
    """All groups of worlds, or some; printed, or written into a page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("page", nargs="?", type=Path, help="the page that the tables are written into")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="runs per world")
    parser.add_argument("--jobs", type=int, default=JOBS, help="processes at a time")
    parser.add_argument("--kept", action="store_true", help="play nothing: what was played before")
    parser.add_argument("--groups", nargs="*", default=list(GROUPS), help=f"default: {'; '.join(GROUPS)}")
    given = parser.parse_args()
    if unknown := [name for name in given.groups if name not in GROUPS]:
        parser.error(f"`--groups` must be among {'; '.join(GROUPS)}; got {unknown[0]!r}.")
    found: dict[str, list[Compared]] = {}
    for name in given.groups:
        worlds = [world for world in GROUPS[name] if not given.kept or _kept(world, given.seeds)]
        if worlds:
            found[name] = compared(worlds, given.seeds, given.jobs)
            for one in found[name]:
                show(one.row())
    widths: list[Widths] = measured() if given.groups == list(GROUPS) else []
    for width in widths:
        show(width.row())
    if given.page is not None:
        write_figures(given.page, page(found, widths, given.seeds))


def show(row: Row) -> None:
    """One line of what was found."""
    mark = "yes" if row.reached else "NO "
    print(f"{mark} {row.name}: {row.figure:.3g} (<= {row.target:g}); {row.detail}", flush=True)


if __name__ == "__main__":
    main()
