"""How long a large table of results takes from the file to the certificate, and how much memory.

    python benchmarks/imports.py [ROWS] [--keys]

Prints seconds of processor time (the machine may be busy) and the largest memory of the process so far after
each step: importing the table, the certificate after it, loading the study in a fresh process, its certificate.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import noisewise as nw

LOAD = """
import sys, time, resource
import noisewise as nw
began = time.process_time(); study = nw.load_study(sys.argv[1]); loaded = time.process_time()
study.certificate(); done = time.process_time()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"load {loaded - began:.1f} s, certificate {done - loaded:.1f} s, {peak:,.0f} MB")
"""


def write_table(path: Path, rows: int, keys: bool, options: int = 50) -> None:
    """A table of measurements with different error bars."""
    rng = np.random.default_rng(0)
    option = rng.integers(options, size=rows)
    se = np.exp(rng.uniform(np.log(0.01), np.log(10.0), rows))
    value = option / options + se * rng.standard_normal(rows)
    with path.open("w") as file:
        file.write("option,value,se" + (",key" if keys else "") + "\n")
        for k in range(rows):
            key = f",run-{k}" if keys else ""
            file.write(f"o{option[k]},{value[k]:.6f},{se[k]:.6f}{key}\n")


def peak() -> float:
    """The largest memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Measure one import."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="?", type=int, default=1_000_000)
    parser.add_argument("--keys", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table, store = Path(folder) / "results.csv", Path(folder) / "study.db"
        write_table(table, given.rows, given.keys)
        print(f"{given.rows:,} rows, {table.stat().st_size / 1e6:.0f} MB; {peak():,.0f} MB before")
        study = nw.create_study(store, options=[f"o{k}" for k in range(50)], eps=0.05)
        steps: dict[str, float] = {}
        began = time.process_time()

        def watch(doing: str, done: int, of: int) -> None:
            steps.setdefault(doing, time.process_time() - began)

        study.tell_many(table, watch=watch)
        took = time.process_time() - began
        begun = json.dumps({doing: round(seconds, 1) for doing, seconds in steps.items()})
        print(f"import {took:.1f} s, {peak():,.0f} MB; steps began at {begun}")
        began = time.process_time()
        study.certificate()
        print(f"certificate {time.process_time() - began:.1f} s, {peak():,.0f} MB")
        fresh = subprocess.run(
            [sys.executable, "-c", LOAD, store], capture_output=True, text=True, check=True
        )
        print(fresh.stdout, end="")


if __name__ == "__main__":
    main()
