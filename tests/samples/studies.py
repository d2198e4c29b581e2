"""The studies that samples are made of: every model, every kind of event, every kind of error bar."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import numpy as np
import polars as pl

import noisewise as nw

#: When the first event of every study happened, and when the samples are looked at, in seconds since 1970.
BEGUN, LOOKED_AT = 1_750_000_000.0, 1_750_100_000.0
#: The options' true values in the models without features, and what blocks add.
HEIGHTS = {"A1": 0.1, "A2": 0.9, "A3": 0.4, "A4": 1.3, "A5": -0.2, "A6": 1.15, "A7": 0.6}
LEVELS = {"monday": 0.0, "tuesday": 0.7, "wednesday": -0.4}
KINDS = {"cast": 0.0, "rolled": 0.3, "drawn": -0.1}
Heights = dict[str, float]


def minutes() -> Callable[[], float]:
    """A clock that goes on by one minute whenever it is looked at."""
    ticks: Iterator[int] = count()
    return lambda: BEGUN + 60.0 * next(ticks)


def catalogue(n: int = 7) -> pl.DataFrame:
    """Options with two numbers, a category and a cost."""
    x = np.linspace(-1.0, 1.0, n).round(3)
    kinds = [list(KINDS)[k * 5 % 7 % 3] for k in range(n)]
    names = [f"A{k + 1}" for k in range(n)]
    return pl.DataFrame({"alloy": names, "x": x, "y": (x**2).round(4), "kind": kinds, "cost": x + 2.0})


def weighted_sums(n: int, deviation: float, rng: np.random.Generator) -> Heights:
    """True values that the features explain, up to deviations of this size."""
    return {
        name: 0.8 * x - 0.6 * y + KINDS[kind] + deviation * float(rng.standard_normal())
        for name, x, y, kind, _ in catalogue(n).iter_rows()
    }


def begin(store: Any, name: str, *, n: int = 7, **question: Any) -> Any:
    """A study of the catalogue, or of what ``options`` says."""
    asked: dict[str, Any] = {"eps": 0.3, "clock": minutes()} | question
    if "options" not in asked:
        asked |= {"options": catalogue(n), "id": "alloy", "features": ["x", "y", "kind"]}
    return nw.create_study(store, name=name, **asked)


def tell_all(
    study: Any,
    rng: np.random.Generator,
    rounds: int,
    *,
    heights: Heights = HEIGHTS,
    se: float = 0.2,
    in_blocks: bool = False,
    extra: float = 0.0,
) -> None:
    """Every option measured a few times, in blocks or not; ``extra`` is noise no error bar tells of."""
    for _ in range(rounds):
        for name, height in heights.items():
            about: dict[str, Any] = {"block": str(rng.choice(list(LEVELS)))} if in_blocks else {}
            bar = se * float(rng.uniform(0.5, 1.5))
            level = LEVELS[about["block"]] if in_blocks else 0.0
            noise = bar * rng.standard_normal() + extra * rng.standard_normal()
            study.tell(option=name, value=round(height + level + float(noise), 4), se=bar, **about)


def tell_differences(study: Any, rng: np.random.Generator, heights: Heights, n: int) -> None:
    """Differences of two options, some of them within a block."""
    for k in range(n):
        plus, minus = map(str, rng.choice(list(heights), 2, replace=False))
        value = round(heights[plus] - heights[minus] + 0.15 * float(rng.standard_normal()), 4)
        about: dict[str, Any] = {"block": "tuesday"} if k % 3 == 0 else {}
        study.tell(plus=plus, minus=minus, value=value, se=0.15, **about)


def everything_happens(store: Any, name: str) -> Any:
    """Each kind of event and of error bar once, in the independent model, with costs."""
    study = begin(store, name, cost="cost", noise_floor=0.01, seed=3)
    first, second, third, fourth = study.ask(4, by="Ada")
    study.tell(first, 0.31, se=0.2, key="run-1", instrument="old", note="a first look")
    study.fail(second, "the sample broke")
    study.release(third)
    study.release(fourth, "no time")
    study.tell(option="A2", value="0.95(12)", cost=3.0, by="Ada")
    study.tell(option="A3", value=0.4, var=0.01)
    study.tell(option="A4", value=1.2, se=0.1)
    study.tell(option="A4", value=1.35, ci=(1.15, 1.55), level=0.9)
    study.tell(option="A5", value=-0.1, se=(0.1, 0.2))
    study.tell(option="A6", value=1.0, se=0.001)
    study.tell(option="A7", value=55.0, se=0.1, key="typo")
    study.amend("m-8", "the point was forgotten", value=0.55, se=0.1)
    study.tell(option="A1", value=9.9, se=0.1)
    study.void("m-9", "the wrong sample")
    study.exclude("A5", "cannot be bought")
    study.exclude("A3", "too brittle")
    study.include("A3")
    added = {"alloy": ["B1", "B2"], "x": [0.2, 0.7], "y": [0.1, 0.9], "kind": ["cast", "drawn"]}
    study.add_options(pl.DataFrame(added | {"cost": [2.5, 1.5]}), id="alloy")
    study.set_policy("round_robin")
    study.tell(study.ask()[0], 0.8, se=0.3)
    study.set_policy("vage", share=0.1)
    study.tell_many(pl.DataFrame({"option": ["B1", "B2"], "value": [0.5, 1.1], "se": [0.2, 0.2]}))
    study.ask(2, sigma=0.15, lease=1e6)
    return study


def counted_successes(store: Any, name: str) -> Any:
    """Rates from counts, goal "max", a plain list of names."""
    study = begin(store, name, options=["a", "b", "c"], eps=0.05)
    for option, successes, trials in (("a", 30, 100), ("b", 81, 120), ("c", 0, 15), ("b", 60, 90)):
        study.tell(option=option, successes=successes, trials=trials)
    return study


def readings(store: Any, name: str) -> Any:
    """Repeated readings, and values without any error bar, whose scatter is estimated."""
    study = begin(store, name, options=["a", "b", "c"], eps=0.2, goal="min")
    rng = np.random.default_rng(11)
    study.tell(option="b", value=1.05, sd=0.1, n=9)
    for k, option in enumerate("abc" * 8):
        study.tell(option=option, values=(k % 3 + 0.1 * rng.standard_normal(4)).round(3).tolist())
        study.tell(option=option, value=round(k % 3 + 0.1 * float(rng.standard_normal()), 3))
    return study


def switched(store: Any, name: str) -> Any:
    """From independent options to weighted sums, then to weighted sums with deviations."""
    rng = np.random.default_rng(12)
    study, heights = begin(store, name), weighted_sums(7, 0.1, rng)
    tell_all(study, rng, 2, heights=heights)
    study.switch("linear", span=4.0, reason="the features should tell")
    study.tell(option="A4", value=round(heights["A4"] + 0.05, 4), se=0.1)
    study.switch("linear+deviation", deviation=0.3, reason="they do not tell all")
    study.switch(extra_scatter=0.05)
    job = study.ask()[0]
    study.tell(job, round(heights[job.option], 4), se=0.1)
    return study


def measured(
    model: str,
    seed: int,
    *,
    rounds: int = 2,
    differences: int = 0,
    n: int = 7,
    true_deviation: float = 0.0,
    told: dict[str, Any] | None = None,
    **question: Any,
) -> Callable[[Any, str], Any]:
    """A study of one model: all options a few times, perhaps differences, and one suggestion."""

    def made(store: Any, name: str) -> Any:
        rng = np.random.default_rng(seed)
        heights = HEIGHTS if model == "independent" else weighted_sums(n, true_deviation, rng)
        study = begin(store, name, model=model, n=n, **question)
        tell_all(study, rng, rounds, heights=heights, **told or {})
        tell_differences(study, rng, heights, differences)
        job = study.ask(sigma=0.2)[0]
        study.tell(job, round(heights[job.option] + 0.05, 4), se=0.2)
        return study

    return made


FREE, LINEAR, DEVIATION = "independent", "linear", "linear+deviation"
BLOCKS, TRUE_SIZES = {"in_blocks": True}, {"extra": 0.15}
#: How each study is made, by its name.
STUDIES: dict[str, Callable[[Any, str], Any]] = {
    "everything": everything_happens,
    "rates": counted_successes,
    "readings": readings,
    "switched": switched,
    "unmeasured": begin,
    "independent-blocks": measured(FREE, 1, told=BLOCKS, differences=6, goal="min"),
    "independent-any": measured(FREE, 2, told=BLOCKS, differences=6, blocks="any"),
    "independent-scatter": measured(FREE, 3, rounds=5, told=TRUE_SIZES, extra_scatter="estimate"),
    "independent-decided": measured(FREE, 4, rounds=3, told={"se": 0.02}),
    "linear": measured(LINEAR, 5, rounds=3, span=4.0),
    "linear-blocks": measured(LINEAR, 6, told=BLOCKS, differences=6, span=4.0, policy="vaee"),
    "linear-any": measured(LINEAR, 7, told=BLOCKS, differences=6, span=4.0, blocks="any", goal="min"),
    "linear-misfit": measured(LINEAR, 8, rounds=3, told={"se": 0.05}, true_deviation=0.4, span=4.0),
    "deviation": measured(DEVIATION, 9, true_deviation=0.3, deviation=0.4, span=4.0, goal="min"),
    "deviation-blocks": measured(
        DEVIATION, 10, told=BLOCKS, differences=6, true_deviation=0.3, deviation=0.4, span=4.0
    ),
    "deviation-any": measured(
        DEVIATION, 13, told=BLOCKS, true_deviation=0.3, deviation=0.4, span=4.0, blocks="any"
    ),
    "deviation-estimated": measured(
        DEVIATION, 14, n=32, told=TRUE_SIZES, true_deviation=0.4, span=4.0,
        deviation="estimate", extra_scatter="estimate",
    ),
    "deviation-unestimated": measured(DEVIATION, 15, rounds=1, span=4.0),
}  # fmt: skip
#: Those that version 0.1.0 writes, too: it knows no `blocks=`.
OLD_STUDIES = ("everything", "rates", "independent-blocks", "linear-blocks", "deviation-estimated")
