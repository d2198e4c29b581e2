"""What a certificate takes: cold, and after one more measurement was told; known error bars and counts.

In a study in memory: 1000 options with 10^4 measurements, and 10^5 options with 1.5 x 10^5 of them. Only the
certificate is timed, not the telling before it, in seconds of one processor, so that a busy machine changes
little. *After a tell*: the median of several, each after one
measurement of the recommended option or of its closest rival, which is what a study is told that follows
`ask`.
"""

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import noisewise as nw
from benchmarks.timing import Row

EPS, TIMES = 0.3, 7
#: Options, measurements, and the most seconds: cold, and after a tell.
SIZES = ((1000, 10_000, 3.0, 0.05), (100_000, 150_000, 60.0, 1.0))
KNOWN, COUNTS = "known error bars", "counts"


def told(kind: str, rows: np.ndarray, values: np.ndarray, rng: np.random.Generator) -> dict[str, Any]:
    """Measurements of these options as a table."""
    table: dict[str, Any] = {"option": [f"o{k}" for k in rows]}
    if kind == COUNTS:
        shares = 1.0 / (1.0 + np.exp(-values[rows]))
        return table | {"successes": rng.binomial(50, shares), "trials": np.full(rows.size, 50)}
    se = rng.uniform(0.3, 1.0, rows.size)
    return table | {"value": values[rows] + se * rng.standard_normal(rows.size), "se": se}


def seconds(function: Callable[[], object]) -> float:
    """Of one processor, for one call."""
    start = time.process_time()
    function()
    return time.process_time() - start


def times(kind: str, n: int, number: int) -> tuple[float, list[float]]:
    """Seconds of the first certificate, and of some after one more measurement each."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal(n)
    study = nw.create_study(options=[f"o{k}" for k in range(n)], eps=EPS)
    rows = np.concatenate([np.arange(n), rng.integers(n, size=number - n)])
    study.tell_many(told(kind, rows, values, rng))
    cold, after = seconds(study.certificate), []
    for turn in range(TIMES):
        certificate = study.certificate()
        rivals = [name for name in certificate.candidates if name != certificate.option]
        option = str(certificate.option if turn % 2 or not rivals else rivals[turn % len(rivals)])
        study.tell_many(told(kind, np.array([study.options.index(option)]), values, rng), repeat=True)
        after.append(seconds(study.certificate))
    return cold, after


def rows() -> list[Row]:
    """Both kinds in both sizes."""
    made = []
    for n, number, most_cold, most in SIZES:
        for kind in (KNOWN, COUNTS):
            cold, after = times(kind, n, number)
            about = f"{kind}, {n:,} options, {number:,} measurements"
            made.append(Row("certificate, cold", cold, "s", most_cold, False, about))
            detail = f"{about}; {1e3 * min(after):.3g} to {1e3 * max(after):.3g} ms"
            made.append(
                Row(
                    "certificate after a tell",
                    1e3 * statistics.median(after),
                    "ms",
                    1e3 * most,
                    False,
                    detail,
                )
            )
    return made
