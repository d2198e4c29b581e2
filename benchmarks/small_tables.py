"""Finished tables of three options with three readings each, answered by `noisewise TABLE`: how often wrong?

The best option is 100 standard deviations ahead, 1 ahead, as far ahead as mistakes are likeliest, or tied.
Readings are normal, skewed to either side, or one option scatters three times as much. Every table is
answered twice, through the public interface: as readings, and as mean, sd and n. An answer is wrong if the
option that it names is further from the best than its bound, or worse than eps although it says "close
enough". ``python -m benchmarks small_tables``; ``SMALL_TABLES=100`` takes fewer tables of each kind.
"""

import math
import os
from typing import Any

import numpy as np
from scipy.stats import binom

import noisewise as nw
from benchmarks.timing import Row

TABLES = int(os.environ.get("SMALL_TABLES", "1000"))
EPS, FALSE_ALARM = 0.5, 1e-3
GAPS = {
    "far ahead": 100.0,
    "1 sd ahead": 1.0,
    "where mistakes are likeliest": 2.5 / math.sqrt(3.0),
    "tied": 0.0,
}
SCATTERS = ("normal", "skewed up", "skewed down", "best scatters 3 times", "rival scatters 3 times")


def draw(scatter: str, rng: np.random.Generator) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Errors of readings, (3, 3): standard deviation 1, but for the option that scatters more."""
    if scatter.startswith("skewed"):
        size = math.sqrt((math.e - 1.0) * math.e)
        errors = (np.exp(rng.standard_normal((3, 3))) - math.exp(0.5)) / size
        return errors if scatter == "skewed up" else -errors
    sizes = {"best scatters 3 times": (3.0, 1.0, 1.0), "rival scatters 3 times": (1.0, 3.0, 1.0)}
    return np.array(sizes.get(scatter, (1.0, 1.0, 1.0)))[:, None] * rng.standard_normal((3, 3))


def as_readings(values: Any) -> list[dict[str, Any]]:
    """A row for each reading."""
    return [{"option": name, "value": float(x)} for name, row in zip("ABC", values, strict=True) for x in row]


def as_sums(values: Any) -> list[dict[str, Any]]:
    """A row for each option."""
    return [
        {"option": name, "mean": float(row.mean()), "sd": float(row.std(ddof=1)), "n": 3}
        for name, row in zip("ABC", values, strict=True)
    ]


def rows() -> list[Row]:
    """A row for each kind of table: wrong answers, and clear winners that were named."""
    most, found = int(binom.isf(FALSE_ALARM, TABLES, 0.05)), []
    for scatter in SCATTERS:
        for ahead, gap in GAPS.items():
            for told, form in (("readings", as_readings), ("mean, sd, n", as_sums)):
                wrong = named = 0
                for number in range(TABLES):
                    rng = np.random.default_rng([number, SCATTERS.index(scatter), round(100.0 * gap)])
                    values = draw(scatter, rng) + gap * np.array([1.0, 0.0, 0.0])[:, None]
                    answer = nw.read_table(form(values)).answer(goal="max", eps=EPS)
                    lost = 0.0 if answer.option == "A" else gap
                    claims = not answer.certificate.withheld
                    wrong += claims and (lost > answer.bound or (answer.certificate.reached and lost > EPS))
                    named += (answer.option, answer.bound) == ("A", 0.0)
                detail = f"{named} of {TABLES} times named alone"
                name = f"3 x 3, {scatter}, {ahead}, {told}: wrong"
                found.append(Row(name, wrong, "tables", most, at_least=False, detail=detail))
    return found
