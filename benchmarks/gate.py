"""Gates: how often verdicts are wrong with a look after every measurement, and what paired items cost.

The fixed number of items is what McNemar's test needs for a power of 80 % at the planned difference.
``GATES=200`` makes fewer gates of each kind.
"""

import functools
import math
import os
import warnings

import numpy as np
from scipy.stats import binom, norm

import noisewise as nw
from benchmarks.timing import Row
from noisewise.core.parallel import spread

RUNS, LOOKS, FALSE_ALARM = int(os.environ.get("GATES", "2000")), 25, 1e-3
KINDS = ("error bars", "counts", "readings", "ratings", "items")


def told(study: nw.Study, kind: str, look: int, rng: np.random.Generator) -> None:
    """Record one measurement of each option, or one item; both options are equally good."""
    if kind == "items":
        low = (rng.random(2) < 0.5).astype(float)
        study.tell_many({"option": ["A", "B"], "item": [f"i{look}"] * 2, "value": low})
        return
    for option in "AB":
        if kind == "error bars":
            se = float(rng.uniform(0.05, 0.3))
            study.tell(option=option, value=float(rng.normal(0.0, se)), se=se)
        elif kind == "counts":
            study.tell(option=option, successes=int(rng.binomial(20, 0.4)), trials=20)
        elif kind == "readings":
            study.tell(option=option, values=rng.normal(0.0, 0.1, 3).tolist())
        else:
            study.tell(option=option, value=float(rng.choice([1.0, 3.0, 5.0])))


def one_gate(seed: int, kind: str) -> str:
    """The first verdict of a gate between equals; every one is wrong."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    measure = nw.Ratings(1, 5) if kind == "ratings" else None
    study = nw.create_study(options=["A", "B"], eps=0.1, measure=measure)
    for look in range(LOOKS):
        told(study, kind, look, rng)
        if (verdict := study.compare("B", "A").verdict) not in ("undecided", "withheld"):
            return verdict
    return "undecided"


def items_needed(seed: int, better: float, worse: float, most: int, step: int) -> float:
    """How many items a gate looks at; infinite if the verdict is not "better" in the end."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng([seed, 99])
    study = nw.create_study(options=["A", "B"], eps=0.05)
    for first in range(0, most, step):
        draw = rng.random(step)
        same = (rng.random(step) < 0.6) & (draw >= better + worse)
        values = [*(same | ((draw >= better) & (draw < better + worse))), *(same | (draw < better))]
        names = [f"i{first + k}" for k in range(step)]
        options = ["A"] * step + ["B"] * step
        study.tell_many({"option": options, "item": names * 2, "value": np.array(values, dtype=float)})
        if (verdict := study.compare("B", "A").verdict) != "undecided":
            return first + step if verdict == "better" else math.inf
    return math.inf


def mcnemar(better: float, worse: float) -> float:
    """How many items the test needs at 5 % and a power of 80 %."""
    apart, differ = better - worse, better + worse
    return float(
        ((norm.ppf(0.975) * math.sqrt(differ) + norm.ppf(0.8) * math.sqrt(differ - apart**2)) / apart) ** 2
    )


def rows() -> list[Row]:
    """Wrong verdicts each way, and items beside McNemar's test."""
    allowed, found = int(binom.isf(FALSE_ALARM, RUNS, 0.05)), []
    for kind in KINDS:
        verdicts = [verdict for _, verdict in spread(functools.partial(one_gate, kind=kind), range(RUNS))]
        found += [
            Row(f"gates, {kind}: wrongly {wrong}", verdicts.count(wrong), f"of {RUNS}", allowed)
            for wrong in ("better", "worse")
        ]
    fixed = mcnemar(0.15, 0.08)
    for times, (better, worse), most in ((1, (0.15, 0.08), 1.3), (2, (0.185, 0.045), 0.5)):
        one = functools.partial(items_needed, better=better, worse=worse, most=int(6 * fixed), step=6)
        counts = [count for _, count in spread(one, range(RUNS // 20))]
        ratio = float(np.median(counts)) / fixed
        name = f"gate on paired items at {times} x the planned difference"
        found.append(Row(name, ratio, "of McNemar's items", most))
    return found
