"""Small finished tables answered by `noisewise TABLE`: how often is the answer wrong?

Three options with three or six readings each, and eight with three. The best option is 100 standard
deviations ahead, 1 ahead, as far ahead as mistakes are likeliest, or all are tied. Readings are normal,
skewed to either side, or one option scatters three times as much. Every table is answered twice, through the
public interface: as readings, and as mean, sd and n. An answer is wrong if the option that it names is
further from the best than its bound, if it says "close enough" of one that is worse than eps, or if it names
one winner of a tie. ``python -m benchmarks small_tables``; ``SMALL_TABLES=100`` takes fewer tables.
"""

import itertools
import math
import os
from typing import Any

import numpy as np
from scipy.stats import binom

import noisewise as nw
from benchmarks.timing import Row
from noisewise.study.answer import TableAnswer

Readings = np.ndarray[Any, np.dtype[np.float64]]
NAMES = "ABCDEFGH"

TABLES = int(os.environ.get("SMALL_TABLES", "1000"))
EPS, FALSE_ALARM = 0.5, 1e-3
SHAPES = ((3, 3), (8, 3), (3, 6))  # options, readings of each
GAPS = {
    "far ahead": 100.0,
    "1 sd ahead": 1.0,
    "where mistakes are likeliest": 2.5,  # standard errors of a mean
    "tied": 0.0,
}
SCATTERS = ("normal", "skewed up", "skewed down", "best scatters 3 times", "rival scatters 3 times")


def draw(scatter: str, shape: tuple[int, int], rng: np.random.Generator) -> Readings:
    """Errors of readings, (options, readings); standard deviation 1, but for an option that scatters more."""
    normal = rng.standard_normal(shape)
    if scatter.startswith("skewed"):
        errors: Readings = (np.exp(normal) - math.exp(0.5)) / math.sqrt((math.e - 1.0) * math.e)
        return errors if scatter == "skewed up" else -errors
    sizes = np.ones(shape[0])
    sizes[:2] = {"best scatters 3 times": (3.0, 1.0), "rival scatters 3 times": (1.0, 3.0)}.get(scatter, 1.0)
    return sizes[:, None] * normal


def as_readings(values: Readings) -> list[dict[str, Any]]:
    """A row for each reading."""
    return [
        {"option": name, "value": x} for name, row in zip(NAMES, values.tolist(), strict=False) for x in row
    ]


def as_sums(values: Readings) -> list[dict[str, Any]]:
    """A row for each option."""
    return [
        {"option": name, "mean": float(row.mean()), "sd": float(row.std(ddof=1)), "n": row.size}
        for name, row in zip(NAMES, values, strict=False)
    ]


def is_wrong(answer: TableAnswer, gap: float) -> bool:
    """Whether a table of which option A is the best, by this gap, was answered wrongly."""
    lost = 0.0 if answer.option == "A" else gap
    if answer.certificate.withheld:
        return False
    return (
        lost > answer.bound or (answer.certificate.reached and lost > EPS) or (not gap and not answer.bound)
    )


def rows() -> list[Row]:
    """A row for each kind of table: wrong answers, and clear winners that were named."""
    most, found = int(binom.isf(FALSE_ALARM, TABLES, 0.05)), []
    for shape, scatter, (ahead, gap) in itertools.product(SHAPES, SCATTERS, GAPS.items()):
        gap = gap / math.sqrt(shape[1]) if "likeliest" in ahead else gap
        for told, form in (("readings", as_readings), ("mean, sd, n", as_sums)):
            wrong = named = 0
            for number in range(TABLES):
                rng = np.random.default_rng([number, *shape, SCATTERS.index(scatter), round(100.0 * gap)])
                values = draw(scatter, shape, rng)
                values[0] += gap
                answer = nw.read_table(form(values)).answer(goal="max", eps=EPS)
                wrong += is_wrong(answer, gap)
                named += (answer.option, answer.bound) == ("A", 0.0)
            detail = f"{named} of {TABLES} times named alone"
            name = f"{shape[0]} x {shape[1]}, {scatter}, {ahead}, {told}: wrong"
            found.append(Row(name, wrong, "tables", most, at_least=False, detail=detail))
    return found
