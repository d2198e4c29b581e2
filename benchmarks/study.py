"""Studies: how often the printed certificate is true, when the check fires, and how long things take."""

import statistics
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from tests.support.logs import append
from tests.support.simulated_studies import WORLDS, chi_square, coverage

import noisewise as nw
from benchmarks.timing import Row, seconds
from benchmarks.worlds import many_options

STUDIES = 1000
#: Misses of 1000 studies at 5 % that a true certificate exceeds with probability below 1e-6.
MOST_MISSES = 86


def rows() -> list[Row]:
    """Everything an issue could ask for."""
    return [*_coverage_rows(), *_check_rows(), *_speed_rows()]


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


def _speed_rows() -> Iterator[Row]:
    rng = np.random.default_rng(0)
    n, told = 1000, 100_000
    frame, values = many_options(rng, n)
    names = frame["id"].to_list()
    for model in ("independent", "linear"):
        store = nw.MemoryStorage()
        nw.create_study(store, options=frame, model=model, eps=0.5)
        picked, noise = rng.integers(n, size=told), rng.standard_normal(told)
        bodies = [_body(names[k], float(values[k] + noise[i])) for i, k in enumerate(picked)]
        append(store, "study", *(("tell", body) for body in bodies))
        taken = [seconds(lambda store=store: nw.load_study(store).certificate()) for _ in range(3)]
        yield Row(
            name=f"replay {told:,} measurements to a certificate, {model}",
            figure=statistics.median(taken),
            unit="s",
            target=2.0,
            detail=f"{n} options, no snapshot",
        )
        study = nw.create_study(options=frame, model=model, eps=0.05)
        some = picked[:3000]
        told_values = values[some] + noise[: some.size]
        study.tell_many({"option": [names[k] for k in some], "value": told_values, "se": np.ones(some.size)})
        asked = []
        for _ in range(20):
            start = time.perf_counter()
            (job,) = study.ask()
            asked.append(time.perf_counter() - start)
            study.tell(job, 1.0, se=1.0)
        yield Row(
            name=f"ask, {n} options, {model}",
            figure=1e3 * statistics.median(asked),
            unit="ms",
            target=50.0,
            detail="after 3,000 measurements, certificate and reasons included",
        )


def _body(option: str, value: float) -> dict[str, Any]:
    return {
        "option": option,
        "value": value,
        "kind": "known",
        "sigma": 1.0,
        "shown": 1.0,
        "readings": 1,
        "scatter": 0.0,
    }
