"""Large designs against version 0.1.0, in turn: the seconds one takes, and how many times less that is.

Processor time, which on one thread is the wall time of an idle machine.

``python -m benchmarks.design_times optimal`` (or ``transductive``) is a piece of work, under either version.
"""

import json
import sys
import time

import numpy as np

import noisewise as nw
from benchmarks import baseline
from benchmarks.timing import Row

#: For each kind: actions, dimensions, the gap asked for, the most seconds, and the least ratio to 0.1.0.
TASKS = {"optimal": (10_000, 200, 1e-6, 2.5, 2.0), "transductive": (100_000, 50, 1e-2, 5.0, 2.0)}
TURNS = 2


def against_the_first_version(kind: str) -> list[Row]:
    """The seconds of a design, and their ratio."""
    n_actions, dim, gap, most, least = TASKS[kind]
    found = baseline.ratios("benchmarks.design_times", kind, figures=["seconds", "gap"], times=TURNS)
    seconds, gaps = found["seconds"], found["gap"]
    about = f"{kind} design, {n_actions} x {dim} to a gap of {gap:g}"
    if max(gaps.new) > gap:
        raise RuntimeError(f"{about}: reached only {max(gaps.new):.3g}.")
    detail = f"0.1.0: {min(seconds.old):.3g} s; gap {max(gaps.new):.2g}, 0.1.0: {max(gaps.old):.2g}"
    return [
        Row(about, min(seconds.new), "s", most, False, detail),
        Row(f"{about}: 0.1.0 over this", seconds.median, "x", least, True, str(seconds)),
    ]


def main() -> None:
    """One piece of work."""
    kind = sys.argv[1]
    n_actions, dim, gap, *_ = TASKS[kind]
    vectors = np.random.default_rng(0).standard_normal((n_actions, dim))
    if kind == "optimal":
        nw.optimal_design(vectors[:500, :5])  # imports and first pages
        start = time.process_time()
        reached = nw.optimal_design(vectors, gap=gap).gap
    else:
        best = int(np.argmax(vectors @ np.random.default_rng(3).standard_normal(dim)))
        directions = np.delete(vectors, best, 0) - vectors[best]
        nw.transductive_design(vectors[:500, :5], directions[:500, :5])
        start = time.process_time()
        reached = nw.transductive_design(vectors, directions, gap=gap).gap
    print(json.dumps({"seconds": time.process_time() - start, "gap": reached}))


if __name__ == "__main__":
    main()
