"""Optimal designs: what they cost, and the same task given to others, in one run.

Every certificate is recomputed from the returned weights alone. Run with one BLAS thread:
``OPENBLAS_NUM_THREADS=1 python -m benchmarks.designs --out designs.json``. The parts against
others need numba, and cvxpy with Clarabel where installed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tests.support.design_twins import KINDS, instance

from benchmarks import design_rivals, timing
from noisewise.designs import Design, optimal_design

CHUNK = 8192
Row = dict[str, Any]
LIMIT = 60.0


def true_gap(vectors: np.ndarray, indices: np.ndarray, weights: np.ndarray) -> float:
    """Return max g / dim - 1 over all rows in float64, from the weights alone."""
    support = np.asarray(vectors[indices], dtype=np.float64) * np.sqrt(weights)[:, None]
    factor = np.linalg.qr(support, mode="r")
    largest = 0.0
    for start in range(0, len(vectors), CHUNK):
        block = np.asarray(vectors[start : start + CHUNK], dtype=np.float64)
        largest = max(largest, float(np.sum(np.linalg.solve(factor.T, block.T) ** 2, 0).max()))
    return largest / vectors.shape[1] - 1.0


def durations(call: Callable[[], Any], repeats: int) -> tuple[list[float], Any]:
    """Return the times of the calls, and the last result."""
    times, result = [], None
    for _ in range(repeats):
        start = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - start)
    return times, result


def design_row(task: str, kind: str, vectors: np.ndarray, repeats: int, **options: Any) -> Row:
    """Time one design, count its readings and passes, and check its certificate."""
    direction = np.ones(vectors.shape[1], vectors.dtype)
    passes = durations(lambda: vectors @ direction, 5)[0]
    times, design = durations(lambda: optimal_design(vectors, **options), repeats)
    passes += durations(lambda: vectors @ direction, 5)[0]  # the machine may have changed
    assert isinstance(design, Design)
    duration = statistics.median(times)
    check = true_gap(vectors, design.indices, design.weights)
    assert abs(check - design.gap) <= 1e-8 + 1e-3 * design.gap, (kind, check, design.gap)
    return {
        "task": task,
        "kind": kind,
        "seconds": duration,
        "passes": duration / statistics.median(passes),
        "reads": design.reads,
        "gap": design.gap,
        "true_gap": check,
        "support": len(design.indices),
        "support_per_dim": len(design.indices) / vectors.shape[1],
    }


def large(n_actions: int = 1_000_000, dim: int = 50) -> list[Row]:
    """To 1e-6 at a million rows: at most 12 reads and 120 passes."""
    return [
        design_row(f"{n_actions} x {dim}, gap 1e-6", kind, instance(kind, n_actions, dim), 3, gap=1e-6)
        for kind in KINDS
    ]


def small() -> list[Row]:
    """To 1e-6 at 1000 x 10: within 20 ms."""
    return [design_row("1000 x 10, gap 1e-6", kind, instance(kind, 1000, 10), 15, gap=1e-6) for kind in KINDS]


def core(n_actions: int = 1_000_000, dim: int = 50) -> list[Row]:
    """Core designs, g <= 2d: at most 3 reads, at most 2.2 d actions."""
    return [
        design_row(f"{n_actions} x {dim}, core", kind, instance(kind, n_actions, dim), 3, support="core")
        for kind in KINDS
    ]


def mapped(n_actions: int = 10_000_000, dim: int = 50) -> list[Row]:
    """Solve a float32 memory map of 10^7 rows to 1e-2: at most 4 reads. It is deleted after."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vectors.f32"
        rng = np.random.default_rng(0)
        with path.open("wb") as file:
            for start in range(0, n_actions, 100_000):
                n_rows = min(100_000, n_actions - start)
                rng.standard_normal((n_rows, dim), dtype=np.float32).tofile(file)
        vectors = np.memmap(path, dtype=np.float32, mode="r", shape=(n_actions, dim))
        row = design_row(f"{n_actions} x {dim} float32 map, gap 1e-2", "gaussian", vectors, 1, gap=1e-2)
        del vectors
    return [row]


def against(
    task: str,
    rival: str,
    solve: Callable[[np.ndarray], tuple[np.ndarray, bool]],
    kinds: tuple[str, ...],
    shape: tuple[int, int],
    gap: float,
) -> list[Row]:
    """Time a rival that returns dense weights and whether it finished, and us on the same rows."""
    rows = []
    for kind in kinds:
        vectors = instance(kind, *shape)
        ours = design_row(task, kind, vectors, 5, gap=gap)
        (duration,), (weights, finished) = durations(lambda data=vectors: solve(data), 1)
        # Before and after the rival, whose run may take a minute of a busy machine.
        after = design_row(task, kind, vectors, 5, gap=gap)
        ours["seconds"] = statistics.mean((ours["seconds"], after["seconds"]))
        used = np.flatnonzero(weights > 0.0)
        rows.append(
            ours
            | {
                "rival": rival,
                "rival_seconds": duration,
                "rival_true_gap": true_gap(vectors, used, weights[used] / weights[used].sum()),
                "rival_finished": finished,
                "ratio": duration / ours["seconds"],
            }
        )
    return rows


def rivals(limit: float) -> list[Row]:
    """Run the same tasks with Frank-Wolfe with away steps, REX, and cvxpy with Clarabel."""
    design_rivals.compile_all()
    found = against(
        "100000 x 50, gap 1e-4",
        "Frank-Wolfe, away steps",
        lambda vectors: design_rivals.frank_wolfe_away(vectors, 1e-4, limit),
        ("gaussian",),
        (100_000, 50),
        1e-4,
    )
    found += against(
        "100000 x 50, gap 1e-6",
        "REX",
        lambda vectors: design_rivals.rex(vectors, 1e-6, limit),
        KINDS,
        (100_000, 50),
        1e-6,
    )
    if design_rivals.has_clarabel():
        found += against(
            "10000 x 20, gap 1e-6",
            "cvxpy + Clarabel",
            design_rivals.clarabel,
            ("gaussian",),
            (10_000, 20),
            1e-6,
        )
    return found


def print_table(rows: list[Row]) -> None:
    """Print one line per measurement."""
    print(f"{'task':36s} {'rows':10s} {'time':>9s} {'passes':>7s} {'reads':>6s} {'gap':>8s} support")
    for row in rows:
        line = (
            f"{row['task']:36s} {row['kind']:10s} {row['seconds'] * 1e3:7.1f}ms "
            f"{row['passes']:7.0f} {row['reads']:6.2f} {row['true_gap']:8.1e} {row['support']:5d}"
        )
        if "rival" in row:
            line += (
                f"   {row['rival']}: {row['rival_seconds']:.2f} s, gap {row['rival_true_gap']:.1e}"
                f"{'' if row['rival_finished'] else ' (stopped by the limit)'}, {row['ratio']:.0f}x"
            )
        print(line)


def verdicts(rows: list[Row]) -> dict[str, bool]:
    """Return each promise and whether this run kept it."""

    def some(text: str) -> list[Row]:
        return [row for row in rows if text in row["task"] and "rival" not in row]

    def beaten(rival: str) -> list[Row]:
        return [row for row in rows if row.get("rival", "").startswith(rival)]

    kept: dict[str, bool] = {}
    if large_rows := some("1000000 x 50, gap 1e-6"):
        kept["at most 12 reads"] = all(row["reads"] <= 12 for row in large_rows)
        kept["at most 120 passes"] = all(row["passes"] <= 120 for row in large_rows)
    if small_rows := some("1000 x 10"):
        kept["small sets within 20 ms"] = all(row["seconds"] <= 0.02 for row in small_rows)
    if core_rows := some("core"):
        kept["core: at most 3 reads"] = all(row["reads"] <= 3 for row in core_rows)
        kept["core: at most 2.2 d"] = all(row["support_per_dim"] <= 2.2 for row in core_rows)
    if map_rows := some("map"):
        kept["10^7 rows: at most 4 reads"] = all(row["reads"] <= 4 for row in map_rows)
    if away := beaten("Frank-Wolfe"):
        kept["Frank-Wolfe with away steps: 50x"] = all(row["ratio"] >= 50 for row in away)
    if rex := beaten("REX"):
        kept["REX: 4x in the median"] = statistics.median(row["ratio"] for row in rex) >= 4
    if conic := beaten("cvxpy"):
        kept["Clarabel: 300x"] = all(row["ratio"] >= 300 for row in conic)
        kept["Clarabel: as accurate"] = all(row["true_gap"] <= row["rival_true_gap"] for row in conic)
    return kept


def rows() -> list[timing.Row]:
    """The figures that were promised, for the table of all benchmarks."""
    everything = [*small(), *large(), *core(), *mapped(), *rivals(LIMIT)]
    print_table(everything)

    def line(text: str, figure: str, unit: str, target: float, least: bool = False) -> timing.Row:
        found = [row for row in everything if text in row.get("rival", row["task"])]
        values = [row[figure] for row in found]
        worst = statistics.median(values) if text == "REX" else (min if least else max)(values)
        detail = ", ".join(f"{row['kind']} {row[figure]:.3g}" for row in found)
        return timing.Row(f"design, {text}: {figure}", worst, unit, target, least, detail)

    lines = [
        line("1000 x 10, gap 1e-6", "seconds", "s", 0.02),
        line("1000000 x 50, gap 1e-6", "reads", "reads", 12),
        line("1000000 x 50, gap 1e-6", "passes", "products", 120),
        line("1000000 x 50, core", "reads", "reads", 3),
        line("1000000 x 50, core", "support_per_dim", "d", 2.2),
        line("float32 map", "reads", "reads", 4),
        line("Frank-Wolfe", "ratio", "x", 50, least=True),
        line("REX", "ratio", "x", 4, least=True),
    ]
    if design_rivals.has_clarabel():
        lines.append(line("Clarabel", "ratio", "x", 300, least=True))
    return lines


def main() -> None:
    """Measure, print, and write what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="write all figures as JSON")
    parser.add_argument("--parts", default="small,large,core,mapped,rivals")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for a rival's run")
    options = parser.parse_args()
    parts: dict[str, Callable[[], list[Row]]] = {
        "small": small,
        "large": large,
        "core": core,
        "mapped": mapped,
        "rivals": lambda: rivals(options.limit),
    }
    optimal_design(instance("gaussian", 2000, 5))  # imports and first pages
    rows = [row for part in options.parts.split(",") for row in parts[part]()]
    print_table(rows)
    for promise, kept in verdicts(rows).items():
        print(f"{'kept  ' if kept else 'MISSED'} {promise}")
    if options.out:
        options.out.write_text(json.dumps({"rows": rows, "kept": verdicts(rows)}, indent=1))


if __name__ == "__main__":
    main()
