"""Studies: how often the printed certificate is true, and when the check fires."""

import statistics
from collections.abc import Iterator

import numpy as np
from tests.support import simulated_deviations as deviations
from tests.support.simulated_studies import WORLDS, chi_square, coverage

from benchmarks.timing import Row

STUDIES = 1000
#: Misses of 1000 studies at 5 % that a true certificate exceeds with probability below 1e-6.
MOST_MISSES = 86
#: Sets of 200 measurements with extra scatter.
SETS = 200


def rows() -> list[Row]:
    """Everything an issue could ask for."""
    return [*_coverage_rows(), *_check_rows(), *_deviation_rows(), *_seldom_rows(), *_scatter_rows()]


def _coverage_rows() -> Iterator[Row]:
    for name in WORLDS:
        stopped, missed, ever, looks = coverage(name, STUDIES)
        yield Row(
            name=f"certificate, {name}: misses",
            figure=max(missed, ever),
            unit=f"of {STUDIES}",
            target=MOST_MISSES,
            detail=f"{stopped} stopped after a median of {looks:g}; {missed} false then, {ever} at any look",
        )


def _check_rows() -> Iterator[Row]:
    for inflation, target, at_least in ((5.0, 95.0, True), (1.0, 5.0, False)):
        fired = statistics.mean(chi_square(inflation, seed) for seed in range(STUDIES))
        yield Row(
            name=f"check fires at a true reduced chi-square of {inflation:g}",
            figure=100.0 * fired,
            unit="%",
            target=target,
            at_least=at_least,
            detail=f"{STUDIES} studies of 100 measurements",
        )


def _deviation_rows() -> Iterator[Row]:
    for name in deviations.WORLDS:
        stopped, missed, ever, looks = deviations.coverage(name, STUDIES)
        yield Row(
            name=f"certificate, {name}: misses when stopping",
            figure=missed,
            unit=f"of {STUDIES}",
            target=MOST_MISSES,
            detail=f"{stopped} stopped after a median of {looks:g}; {ever} were false at any look",
        )


def _seldom_rows() -> Iterator[Row]:
    found = [deviations.seldom(seed) for seed in range(SETS)]
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
        found = np.array([deviations.estimated_scatter(model, seed) for seed in range(SETS)])
        yield Row(
            name=f"extra scatter at 200 measurements, {model}: median error",
            figure=100.0 * float(np.median(np.abs(found / 0.4 - 1.0))),
            unit="%",
            target=20.0,
            detail=f"{SETS} sets; median estimate {np.median(found):.3f}, truth 0.4",
        )
