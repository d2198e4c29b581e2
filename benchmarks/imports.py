"""Large tables: a million rows, thousands of blocks, a wide catalogue; time and memory, here and in 0.1.0.

``python -m benchmarks imports`` measures the million under this version alone and a tenth of it under both;
with ``IMPORTS_FULL=1`` version 0.1.0 has to do all of it, too (some minutes, 2.4 GB).
Every figure is that of a process of its own; memory is the most that it ever held, Python and libraries
included.
"""

import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import noisewise as nw
from benchmarks import baseline
from benchmarks.timing import Row

FULL = bool(os.environ.get("IMPORTS_FULL"))
ROWS, FEWER_ROWS, OPTIONS = 1_000_000, 100_000, 1000
BLOCKS, FEWER_BLOCKS = 4000, 1000
CATALOGUE, FEATURES = 3000, 2000
FEWER_FEATURES = 500


def import_rows(folder: Path, count: int) -> dict[str, Any]:
    """A table of so many measurements into a new SQLite file."""
    rng = np.random.default_rng(0)
    names = [f"o{k}" for k in range(OPTIONS)]
    table = folder / "rows.csv"
    picked, noise = rng.integers(OPTIONS, size=count), rng.standard_normal(count)
    with table.open("w") as file:
        file.write("option,value,se,key\n")
        file.writelines(f"o{k},{k / 100.0 + noise[at]:.6f},1.0,run-{at}\n" for at, k in enumerate(picked))
    study = nw.create_study(folder / "s.db", options=names, eps=0.05)
    return {"seconds": _seconds(lambda: study.tell_many(table)), "memory": memory()}


def open_rows(folder: Path) -> dict[str, Any]:
    """Open that file, and look at its certificate."""
    found: list[nw.Study] = []
    load = _seconds(lambda: found.append(nw.load_study(folder / "s.db")))
    certificate = _seconds(lambda: found[0].certificate())
    return {"load": load, "certificate": certificate, "memory": memory()}


def single_blocks(count: int) -> dict[str, Any]:
    """So many blocks with one measurement each, which can teach nothing about differences."""
    rng = np.random.default_rng(0)
    study = nw.create_study(options=["A", "B", "C", "D"], eps=0.5)
    told = {
        "option": [("A", "B", "C", "D")[k % 4] for k in range(count)],
        "value": rng.standard_normal(count),
        "se": np.ones(count),
        "block": [f"b{k}" for k in range(count)],
    }
    tell = _seconds(lambda: study.tell_many(told))
    certificate = _seconds(study.certificate)
    return {"seconds": tell + certificate, "certificate": certificate, "memory": memory()}


def wide_catalogue(n: int, dim: int) -> dict[str, Any]:
    """Begin a linear study of n options in dim features."""
    features = np.random.default_rng(0).normal(size=(n, dim))
    table: dict[str, Any] = {"id": [f"o{k}" for k in range(n)]}
    table |= {f"f{j}": features[:, j] for j in range(dim)}
    took = _seconds(lambda: nw.create_study(options=table, model="linear", eps=0.5, span=20.0))
    return {"seconds": took, "memory": memory()}


def memory() -> float:
    """The most this process ever held, in MB.

    `getrusage` would count what the process that started this one held.
    """
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        unit = 2.0**-20 if sys.platform == "darwin" else 2.0**-10
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return next(float(line.split()[1]) / 1024.0 for line in lines if line.startswith("VmHWM"))


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def both(*work: Any, full: bool) -> dict[str, dict[str, Any]]:
    """A piece of work under this version, and under 0.1.0 if it can be done in reasonable time."""
    versions = (baseline.NEW, baseline.OLD) if full else (baseline.NEW,)
    return {version: baseline.run("benchmarks.imports", *work, version=version) for version in versions}


def imported(count: int, *, full: bool) -> dict[str, dict[str, Any]]:
    """Import into a new file, then open it in another process."""
    found: dict[str, dict[str, Any]] = {}
    for version in (baseline.NEW, baseline.OLD) if full else (baseline.NEW,):
        with tempfile.TemporaryDirectory() as folder:
            first = baseline.run("benchmarks.imports", "import", folder, count, version=version)
            then = baseline.run("benchmarks.imports", "open", folder, version=version)
        found[version] = {
            "seconds": first["seconds"],
            "load": then["load"],
            "certificate": then["certificate"],
            "memory": max(first["memory"], then["memory"]),
        }
    return found


def rows() -> list[Row]:
    """What a person waits for, against limits; smaller ones against 0.1.0."""
    found: list[Row] = []
    about = f"{ROWS:,}-row import"
    figures = imported(ROWS, full=FULL)
    found.append(_row(about, figures, "seconds", "s", 40.0))
    found.append(_row(about, figures, "memory", "MB", 1000.0))
    found.append(_row(f"certificate after the {about}", figures, "certificate", "s", 3.0))
    found.append(_row(f"load after the {about}", figures, "load", "s", 12.0))
    fewer = imported(FEWER_ROWS, full=True)
    compared = ("seconds", "load", "certificate", "memory")
    found += [_against(f"{FEWER_ROWS:,}-row import: {figure}", fewer, figure) for figure in compared]
    about = f"{BLOCKS:,} blocks of one measurement"
    figures = both("blocks", BLOCKS, full=FULL)
    found.append(_row(about, figures, "seconds", "s", 3.0))
    found.append(_row(about, figures, "memory", "MB", 300.0))
    fewer = both("blocks", FEWER_BLOCKS, full=True)
    found.append(_against(f"{FEWER_BLOCKS:,} blocks of one measurement: seconds", fewer, "seconds"))
    figures = both("catalogue", CATALOGUE, FEATURES, full=FULL)
    found.append(_row(f"create {CATALOGUE:,} options x {FEATURES:,} features", figures, "seconds", "s", 48.0))
    fewer = both("catalogue", CATALOGUE, FEWER_FEATURES, full=True)
    name = f"create {CATALOGUE:,} options x {FEWER_FEATURES:,} features: seconds"
    found.append(_against(name, fewer, "seconds"))
    return found


def _row(name: str, figures: dict[str, dict[str, Any]], figure: str, unit: str, most: float) -> Row:
    old = figures.get(baseline.OLD)
    detail = f"0.1.0: {old[figure]:.3g} {unit}" if old else "0.1.0 not run at this size"
    return Row(f"{name}: {figure}", figures[baseline.NEW][figure], unit, most, False, detail)


def _against(name: str, figures: dict[str, dict[str, Any]], figure: str) -> Row:
    """The figure over that of 0.1.0: nothing may have become much worse."""
    new, old = figures[baseline.NEW][figure], figures[baseline.OLD][figure]
    return Row(f"{name} over 0.1.0's", new / old, "x", 1.2, False, f"{new:.3g} against {old:.3g}")


def main() -> None:
    """One piece of work."""
    what, *given = sys.argv[1:]
    if what == "import":
        found = import_rows(Path(given[0]), int(given[1]))
    elif what == "open":
        found = open_rows(Path(given[0]))
    elif what == "blocks":
        found = single_blocks(int(given[0]))
    else:
        found = wide_catalogue(int(given[0]), int(given[1]))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
