"""Deviations and extra scatter: how often certificates are true, how near estimates are, how fast it is."""

import time
from collections.abc import Iterator

import numpy as np
from tests.support.logs import append
from tests.support.simulated_deviations import WORLDS, coverage, estimated_scatter, seldom

import noisewise as nw
from benchmarks.study import MOST_MISSES, STUDIES
from benchmarks.timing import Row
from benchmarks.worlds import many_options

#: Sets of 200 measurements with extra scatter.
SETS = 200


def rows() -> list[Row]:
    """Everything that was promised about both sizes."""
    return [*_coverage_rows(), *_seldom_rows(), *_scatter_rows(), *_speed_rows()]


def _coverage_rows() -> Iterator[Row]:
    for name in WORLDS:
        stopped, missed, ever, looks = coverage(name, STUDIES)
        yield Row(
            name=f"certificate, {name}: misses when stopping",
            figure=missed,
            unit=f"of {STUDIES}",
            target=MOST_MISSES,
            detail=f"{stopped} stopped after a median of {looks:g}; {ever} were false at any look",
        )


def _seldom_rows() -> Iterator[Row]:
    found = [seldom(seed) for seed in range(SETS)]
    yield Row(
        name="certificate, size estimated with errors above it: misses when stopping",
        figure=sum(one.missed for one in found),
        unit=f"of {SETS}",
        target=0.05 * SETS,
        detail=f"{sum(one.stopped for one in found)} stopped; the size was estimated as 0 in "
        f"{sum(one.estimated == 0.0 for one in found)}",
    )


def _scatter_rows() -> Iterator[Row]:
    for model in ("independent", "linear", "linear+deviation"):
        found = np.array([estimated_scatter(model, seed) for seed in range(SETS)])
        yield Row(
            name=f"extra scatter at 200 measurements, {model}: median error",
            figure=100.0 * float(np.median(np.abs(found / 0.4 - 1.0))),
            unit="%",
            target=20.0,
            detail=f"{SETS} sets; median estimate {np.median(found):.3f}, truth 0.4",
        )


def _speed_rows() -> Iterator[Row]:
    rng = np.random.default_rng(0)
    n, told = 10_000, 100_000
    frame, linear = many_options(rng, n)
    names, values = frame["id"].to_list(), linear + 0.3 * rng.standard_normal(n)
    picked = rng.integers(n, size=told)
    noisy = values[picked] + rng.standard_normal(told)
    shared = {"kind": "known", "sigma": 1.0, "shown": 1.0, "readings": 1, "errors": nw.Errors(scatter=0.0)}
    for size in (0.3, "estimate"):
        store = nw.MemoryStorage()
        nw.create_study(store, options=frame, eps=0.5, model=f"linear+deviation:{size}")
        bodies = [
            {"option": names[k], "value": float(v), **shared} for k, v in zip(picked, noisy, strict=True)
        ]
        append(store, "study", *(("tell", body) for body in bodies))
        start = time.process_time()
        study = nw.load_study(store)
        study.certificate()
        study.ask()
        yield Row(
            name=f"replay, certificate and ask, {told:,} measurements of {n:,} options, deviation {size}",
            figure=time.process_time() - start,
            unit="s",
            target=20.0,
            detail="processor time",
        )
