"""How often the first advice of the check names what is wrong, where it leads, and how often it is false.

Tables have one defect each (`tests/support/simulated_defects.py`), in worlds of four kinds with 4 to 60
options and 20 to 2000 measurements. Penalties were chosen on seeds below 1000; what is reported begins at
`FRESH`.
``python -m benchmarks advice`` takes 40 tables of each defect, ``ADVICE_TABLES=10`` fewer;
``python -m benchmarks.advice`` prints tables.
"""

import os
import time
from collections import Counter
from typing import NamedTuple

import numpy as np
from tests.support import simulated_defects as simulated
from tests.support.followed_advice import follow_all

import noisewise as nw
from benchmarks.timing import Row

TABLES = int(os.environ.get("ADVICE_TABLES", "40"))
#: The first seed of what is reported.
FRESH = 1_000_000
#: Rows of the tables whose advice is followed, which amends them one by one.
FOLLOWED = 150
NOTHING = "nothing"


class Counted(NamedTuple):
    """What the check said about the tables of one defect."""

    tables: int
    named: int
    first: Counter[str]  # the cause that was said first
    equal: tuple[int, int]  # tables with equal error bars, and those of them that were named
    steps: list[int]  # how many pieces of advice were followed until the check was quiet
    circles: int  # tables in which the same was advised twice, or which were never quiet


def count(defect: str, tables: int) -> Counted:
    """Simulate, check, follow."""
    named, first, equal, steps, circles = 0, Counter[str](), [0, 0], [], 0
    for seed in range(FRESH, FRESH + tables):
        made = simulated.simulate(defect, seed)
        found = simulated.names_it(made)
        named += found
        first[simulated.first_cause(made)] += 1
        equal[0] += made.equal
        equal[1] += made.equal and found
        with simulated.at_most(FOLLOWED):
            study = simulated.simulate(defect, seed).study
        followed = follow_all(study)
        steps.append(len(followed))
        circles += len(set(followed)) < len(followed) or bool(study.check().causes)
    return Counted(tables, named, first, (equal[0], equal[1]), steps, circles)


def false_alarms(tables: int) -> tuple[int, int]:
    """Tables without a defect that get advice, and that have their certificate withheld."""
    advised = withheld = 0
    for seed in range(FRESH, FRESH + tables):
        check = simulated.clean(seed).check()
        advised += bool(check.causes)
        withheld += not check.ok
    return advised, withheld


def seconds_of_a_large_check(compared: bool) -> float:
    """Processor time of the check of 10,000 measurements of 1000 options, all error bars too small."""
    rng = np.random.default_rng(0)
    names = np.array([f"o{k}" for k in range(1000)])
    plus = rng.permutation(np.arange(10_000) % 1000)
    se = rng.uniform(0.1, 0.4, plus.size)
    table: dict[str, object] = {"value": 2.0 * se * rng.standard_normal(plus.size), "se": se}
    if compared:
        minus = (plus + rng.integers(1, 1000, plus.size)) % 1000
        table |= {"plus": names[plus].tolist(), "minus": names[minus].tolist()}
    else:
        table |= {"option": names[plus].tolist()}
    study = nw.create_study(options=names.tolist(), eps=0.1)
    study.tell_many(table)
    study.certificate()
    start = time.process_time()
    study.check()
    return time.process_time() - start


def rows() -> list[Row]:
    """Everything that is promised about advice."""
    counted = {defect: count(defect, TABLES) for defect in simulated.DEFECTS}
    tables = sum(one.tables for one in counted.values())
    named = sum(one.named for one in counted.values())
    found = [
        Row(
            name="first advice names the defect",
            figure=100.0 * named / tables,
            unit="%",
            target=80.0,
            at_least=True,
            detail=f"{named} of {tables} tables, seeds from {FRESH}",
        )
    ]
    for defect, one in counted.items():
        said = ", ".join(f"{kind} {times}" for kind, times in one.first.most_common())
        figure = 100.0 * one.named / one.tables
        found.append(Row(f"of these: {defect}", figure, "%", 80.0, at_least=True, detail=said))
    circles, most = (
        sum(one.circles for one in counted.values()),
        max(max(one.steps) for one in counted.values()),
    )
    found.append(Row("advice that goes in circles", circles, "tables", 0.0, detail=f"at most {most} steps"))
    advised, withheld = false_alarms(5 * TABLES)
    found.append(
        Row(
            name="advice where nothing is wrong",
            figure=100.0 * advised / (5 * TABLES),
            unit="%",
            target=2.0,
            detail=f"of {5 * TABLES} tables; {withheld} withheld at a nominal 1 %",
        )
    )
    for compared in (False, True):
        what = "differences" if compared else "values"
        figure = seconds_of_a_large_check(compared)
        found.append(
            Row(f"check of 10,000 {what} of 1000 options", figure, "s", 5.0, detail="processor time")
        )
    return found


def page(counted: dict[str, Counted], clean: int, alarms: tuple[int, int]) -> str:
    """The tables for the documentation.

    Args:
        counted: What was said, by defect.
        clean: How many tables without a defect there were.
        alarms: Those of them that got advice, and whose certificate was withheld.
    """
    kinds = sorted({kind for one in counted.values() for kind in one.first} - {NOTHING})
    kinds.append(NOTHING)
    head = ["defect", "named first", *kinds, "steps"]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for defect, one in counted.items():
        cells = [str(one.first[kind]) if one.first[kind] else "" for kind in kinds]
        steps = f"{np.mean(one.steps):.2g} (at most {max(one.steps)})"
        lines.append(f"| {defect} | {one.named} of {one.tables} | {' | '.join(cells)} | {steps} |")
    whole = sum(one.tables for one in counted.values())
    named = sum(one.named for one in counted.values())
    few = sum(one.equal[0] for one in counted.values()), sum(one.equal[1] for one in counted.values())
    lines += [
        "",
        f"{named} of {whole} defects were named first, {100.0 * named / whole:.0f} %; of the {few[0]} with "
        f"equal error bars {few[1]}. Following the first advice went in circles in "
        f"{sum(one.circles for one in counted.values())} tables.",
        "",
        f"Of {clean} tables without any defect {alarms[0]} got advice, and {alarms[1]} had their certificate "
        "withheld at a nominal 1 %.",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    found = {defect: count(defect, TABLES) for defect in simulated.DEFECTS}
    print(page(found, 10 * TABLES, false_alarms(10 * TABLES)))
