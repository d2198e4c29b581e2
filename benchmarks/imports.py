"""Large tables: a million rows, thousands of blocks, a wide catalogue; time and memory, here and in 0.1.0.

``python -m benchmarks imports`` measures the million under this version alone and a tenth of it under both;
with ``IMPORTS_FULL=1`` version 0.1.0 also has to do all of it (some minutes, 2.4 GB).
Every figure is that of a process of its own; memory is the most that it ever held, Python and libraries
included.
"""

import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
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


class Watch:
    """Wall time, and the processor time of this process, which a busy machine changes less."""

    def __init__(self) -> None:
        self.found: dict[str, float] = {}

    def time(self, name: str, work: Callable[[], Any]) -> Any:
        """Do it, and note both under its name."""
        wall, own = time.perf_counter(), time.process_time()
        result = work()
        self.found[name] = time.perf_counter() - wall
        self.found[f"{name}, processor"] = time.process_time() - own
        return result

    def figures(self) -> dict[str, float]:
        """All of it, with the memory held at most."""
        return {**self.found, "memory": memory()}


def import_rows(folder: Path, count: int, watch: Watch) -> None:
    """A table of measurements into a new SQLite file."""
    rng = np.random.default_rng(0)
    names = [f"o{k}" for k in range(OPTIONS)]
    table = folder / "rows.csv"
    picked, noise = rng.integers(OPTIONS, size=count), rng.standard_normal(count)
    with table.open("w") as file:
        file.write("option,value,se,key\n")
        file.writelines(f"o{k},{k / 100.0 + noise[at]:.6f},1.0,run-{at}\n" for at, k in enumerate(picked))
    study = nw.create_study(folder / "s.db", options=names, eps=0.05)
    watch.time("import", lambda: study.tell_many(table))


def open_rows(folder: Path, watch: Watch) -> None:
    """Open that file, and look at its certificate."""
    study = watch.time("load", lambda: nw.load_study(folder / "s.db"))
    watch.time("certificate", study.certificate)


def single_blocks(count: int, watch: Watch) -> None:
    """So many blocks with one measurement each, which can teach nothing about differences."""
    rng = np.random.default_rng(0)
    study = nw.create_study(options=["A", "B", "C", "D"], eps=0.5)
    told = {
        "option": [("A", "B", "C", "D")[k % 4] for k in range(count)],
        "value": rng.standard_normal(count),
        "se": np.ones(count),
        "block": [f"b{k}" for k in range(count)],
    }
    watch.time("tell and certificate", lambda: (study.tell_many(told), study.certificate()))


def wide_catalogue(n: int, dim: int, watch: Watch) -> None:
    """Begin a linear study of n options in dim features."""
    features = np.random.default_rng(0).normal(size=(n, dim))
    table: dict[str, Any] = {"id": [f"o{k}" for k in range(n)]}
    table |= {f"f{j}": features[:, j] for j in range(dim)}
    watch.time("create", lambda: nw.create_study(options=table, model="linear", eps=0.5, span=20.0))


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


def measured(*work: Any) -> dict[str, dict[str, Any]]:
    """A piece of work under this version, and under 0.1.0 if all is to be done."""
    versions = (baseline.NEW, baseline.OLD) if FULL else (baseline.NEW,)
    return {version: baseline.run("benchmarks.imports", *work, version=version) for version in versions}


def imported(count: int) -> dict[str, dict[str, Any]]:
    """Import into a new file, then open it in another process, so that each has its own memory."""
    found: dict[str, dict[str, Any]] = {}
    for version in (baseline.NEW, baseline.OLD) if FULL else (baseline.NEW,):
        with tempfile.TemporaryDirectory() as folder:
            first = baseline.run("benchmarks.imports", "import", folder, count, version=version)
            then = baseline.run("benchmarks.imports", "open", folder, version=version)
        found[version] = {**then, **first, "memory": max(first["memory"], then["memory"])}
    return found


def rows() -> list[Row]:
    """What a person waits for, against limits; smaller ones against 0.1.0."""
    about = f"{ROWS:,} rows"
    figures = imported(ROWS)
    found = [
        _row(about, figures, "import", "s", 40.0),
        _row(about, figures, "memory", "MB", 1000.0),
        _row(about, figures, "certificate", "s", 3.0),
        _row(about, figures, "load", "s", 12.0),
    ]
    found += _against(f"{FEWER_ROWS:,} rows", ("import", "load", "certificate"), "whole", FEWER_ROWS)
    about = f"{BLOCKS:,} blocks of one measurement"
    figures = measured("blocks", BLOCKS)
    found.append(_row(about, figures, "tell and certificate", "s", 3.0))
    found.append(_row(about, figures, "memory", "MB", 300.0))
    about = f"{FEWER_BLOCKS:,} blocks of one measurement"
    found += _against(about, ("tell and certificate",), "blocks", FEWER_BLOCKS)
    figures = measured("catalogue", CATALOGUE, FEATURES)
    found.append(_row(f"{CATALOGUE:,} options x {FEATURES:,} features", figures, "create", "s", 48.0))
    about = f"{CATALOGUE:,} options x {FEWER_FEATURES:,} features"
    found += _against(about, ("create",), "catalogue", CATALOGUE, FEWER_FEATURES)
    return found


def _row(about: str, figures: dict[str, dict[str, Any]], figure: str, unit: str, most: float) -> Row:
    new, old = figures[baseline.NEW], figures.get(baseline.OLD)
    detail = f"0.1.0: {old[figure]:.3g} {unit}" if old else "0.1.0 not run at this size"
    if f"{figure}, processor" in new:
        detail = f"processor time {new[f'{figure}, processor']:.3g} s; {detail}"
    return Row(f"{about}: {figure}", new[figure], unit, most, False, detail)


def _against(about: str, figures: Sequence[str], *work: Any) -> list[Row]:
    """Processor time, in turn with that of 0.1.0: nothing may have become much slower."""
    timed = [f"{figure}, processor" for figure in figures]
    found = baseline.ratios("benchmarks.imports", *work, figures=[*timed, "memory"])
    return [
        Row(f"{about}: {name}, 0.1.0 over this", one.median, "x", 0.8, True, str(one))
        for name, one in found.items()
    ]


def main() -> None:
    """One piece of work."""
    what, *given = sys.argv[1:]
    watch = Watch()
    if what == "import":
        import_rows(Path(given[0]), int(given[1]), watch)
    elif what == "open":
        open_rows(Path(given[0]), watch)
    elif what == "whole":
        with tempfile.TemporaryDirectory() as folder:
            import_rows(Path(folder), int(given[0]), watch)
            open_rows(Path(folder), watch)
    elif what == "blocks":
        single_blocks(int(given[0]), watch)
    else:
        wide_catalogue(int(given[0]), int(given[1]), watch)
    print(json.dumps(watch.figures()))


if __name__ == "__main__":
    main()
