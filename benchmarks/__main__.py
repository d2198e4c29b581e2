"""Run the benchmarks: ``python -m benchmarks [names] [--out bench.json] [--on ADDRESS]``.

``python -m benchmarks rivals`` plays other packages in the worlds of docs/comparisons.md; with ``--page`` it
prints the tables of that page.

Most of them time something, and do it here. Those that only simulate, and count what came out, can do it on a
Dask cluster: ``--on`` is the address of its scheduler, or its scheduler file.
"""

import argparse
import importlib
import json
import platform
import sys
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

import noisewise as nw

NAMES = (
    "rules",
    "designs",
    "heavy_tails",
    "vage",
    "precision_tracking",
    "restarts",
    "studies",
    "study",
    "running",
    "serving",
    "remote",
    "faults",
    "log",
    "adversaries",
    "coverage",
    "coverage_kinds",
    "evidence_events",
    "one_look",
    "exactness",
    "beside_oracle",
    "small_tables",
    "items",
    "commands",
    "advice",
    "gate",
    "smooth",
    "good_enough",
)
#: Benchmarks of simulations in which nothing is timed, or little, which stays here.
SWEEPS = ("restarts", "vage")


def main() -> None:
    """Measure, print a table, write JSON."""
    if sys.argv[1:2] == ["rivals"]:
        from benchmarks.rivals import page, plays

        if sys.argv[2:] == ["--page"]:
            print(page.figures(page.load()))
        else:
            plays.main(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"which ones; default: {' '.join(NAMES)}")
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    parser.add_argument("--on", help=f"workers for the simulations of {' and '.join(SWEEPS)}")
    arguments = parser.parse_args()
    if arguments.on is not None and (timed := [name for name in arguments.names if name not in SWEEPS]):
        parser.error(f"`--on` must be left out for {timed[0]!r}, which times what this machine does.")
    for name in arguments.names:
        if name not in NAMES:
            parser.error(f"`names` must be among {', '.join(NAMES)}; got {name!r}.")
    how = {} if arguments.on is None else {"on": arguments.on}
    results = {}
    table = Table(title=f"noisewise {nw.__version__}, {platform.machine()}, one thread unless said")
    for title in ("what", "measured", "target", "", "in detail"):
        table.add_column(title)
    for name in arguments.names or (NAMES if arguments.on is None else SWEEPS):
        with threadpool_limits(1):
            rows = importlib.import_module(f"benchmarks.{name}").rows(**how)
        results[name] = [asdict(row) | {"reached": row.reached} for row in rows]
        for row in rows:
            wanted = f"{'>=' if row.at_least else '<='} {row.target:g} {row.unit}"
            mark = "yes" if row.reached else "NO"
            table.add_row(row.name, f"{row.figure:.3g} {row.unit}", wanted, mark, row.detail)
    Console(width=160).print(table)
    if arguments.out:
        arguments.out.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
