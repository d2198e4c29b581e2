"""Simulated studies with deviations and extra scatter: whether certificates are true, how near estimates are.

As in `simulated_studies`: studies that stop at the first moment the certificate allows, looked at
after every measurement, with what to measure chosen by the study or by somebody who looks at the values.
"""

import statistics
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from tests.support.simulated_studies import MOST_LOOKS, Told, World, close_values, run

import noisewise as nw

#: Where extra scatter is estimated, a look takes as long as dozens elsewhere: one every so many measurements.
SELDOM = 10


def deviating(
    rng: np.random.Generator,
    *,
    size: Any = "stated",
    true: float = 0.3,
    with_blocks: bool = False,
    extra: Any = None,
    n: int = 15,
    before: int = 0,
) -> Any:
    """Options in two features with deviations; ``before`` measurements are there from the start."""
    names = [f"o{k}" for k in range(n)]
    features = rng.normal(size=(n, 2))
    values = features @ rng.normal(size=2) * 0.5 + 7.0
    values = values + true * rng.standard_normal(n)
    truth = dict(zip(names, values, strict=True))
    frame = pl.DataFrame({"id": names, "a": features[:, 0], "b": features[:, 1]})
    offsets, told = rng.normal(0.0, 20.0, MOST_LOOKS), iter(range(MOST_LOOKS + before))

    def measure(option: str) -> Told:
        se = float(10.0 ** rng.uniform(-1.3, -0.2))
        value = truth[option] + np.hypot(se, 0.3 if extra else 0.0) * rng.standard_normal()
        if with_blocks:
            day = next(told) // 10
            return {"value": value + offsets[day], "se": se, "block": f"day {day}"}
        return {"value": value, "se": se}

    study = nw.create_study(
        options=frame, model=f"linear+deviation:{true if size == 'stated' else size}", eps=0.5,
        errors=nw.Errors(extra=extra),
    )  # fmt: skip
    for at in range(before):
        study.tell(option=names[at % n], **measure(names[at % n]))
    return study, truth, measure


def scattered(rng: np.random.Generator, *, model: str, true: float = 0.3, before: int = 36) -> Any:
    """Every error bar lacks the same scatter, which is estimated; the first measurements go round."""
    n = 6 if model == "independent" else 30
    names, features = [f"o{k}" for k in range(n)], rng.normal(size=(n, 3))
    values = close_values(rng, n, 0.5) if model == "independent" else 0.5 * features @ rng.normal(size=3)
    truth = dict(zip(names, values, strict=True))
    frame = pl.DataFrame({"id": names, **{f"f{j}": features[:, j] for j in range(3)}})

    def measure(option: str) -> Told:
        se = float(10.0 ** rng.uniform(-1.3, -0.2))
        return {"value": truth[option] + np.hypot(se, true) * rng.standard_normal(), "se": se}

    study = nw.create_study(options=frame, model=model, eps=0.5, errors=nw.Errors(extra="estimate"))
    for at in range(before):
        study.tell(option=names[at % n], **measure(names[at % n]))
    return study, truth, measure


class Seldom(NamedTuple):
    """How a study went that is looked at four times, with errors above its deviations."""

    stopped: bool
    missed: bool
    estimated: float  # the size of the deviations, when it ended


def seldom(seed: int, *, size: Any = "estimate", true: float = 0.4, n: int = 300) -> Seldom:
    """One feature that says nothing, every option measured once: the estimated size is often 0."""
    rng = np.random.default_rng(seed)
    names, x = [f"o{k}" for k in range(n)], (np.arange(n) % 2) * 1.0
    truth = true * rng.standard_normal(n)
    study = nw.create_study(options={"id": names, "x": x}, model=f"linear+deviation:{size}", eps=1.0)
    order = rng.permutation(n)
    for first, last in ((0, 100), (100, 130), (130, 160), (160, 200)):
        k = order[first:last]
        values = truth[k] + rng.standard_normal(k.size)
        study.tell_many({"option": [names[i] for i in k], "value": values, "se": [1.0] * k.size})
        certificate = study.certificate()
        if certificate.reached:
            gap = truth.max() - truth[names.index(certificate.option or "")]
            return Seldom(True, bool(gap > certificate.bound), study.deviation or 0.0)
    return Seldom(False, False, study.deviation or 0.0)


stated: World = deviating
WORLDS: dict[str, tuple[World, bool]] = {
    "size stated, asked and un-asked": (stated, True),
    "size stated, un-asked": (stated, False),
    "size stated, blocks": (partial(deviating, with_blocks=True), False),
    "large deviations, stated": (partial(deviating, true=1.0), False),
    "extra scatter stated, too": (partial(deviating, extra=0.3), False),
    "size estimated, 40 options": (partial(deviating, size="estimate", n=40, before=80), False),
    "size stated, extra scatter estimated": (partial(deviating, extra="estimate", before=45), False),
    "both estimated, 40 options": (
        partial(deviating, size="estimate", extra="estimate", n=40, before=80),
        False,
    ),
    "independent, extra scatter estimated": (partial(scattered, model="independent"), False),
    "linear, extra scatter estimated": (partial(scattered, model="linear"), False),
}


def coverage(name: str, studies: int) -> tuple[int, int, int, float]:
    """Stopped, missed when stopping, missed at any look, and the median number of looks."""
    world, asking = WORLDS[name]
    every = SELDOM if "scatter estimated" in name or "both" in name else 1
    outcomes = [run(world, seed, asking=asking, every=every) for seed in range(studies)]
    return (
        sum(o.stopped for o in outcomes),
        sum(o.missed for o in outcomes),
        sum(o.ever_missed for o in outcomes),
        statistics.median(o.looks for o in outcomes),
    )


def estimated_scatter(model: str, seed: int, measurements: int = 200, true: float = 0.4) -> float:
    """The extra scatter that 200 measurements of 30 options in three features show."""
    rng = np.random.default_rng(seed)
    n = 30
    features = rng.normal(size=(n, 3))
    names = [f"o{k}" for k in range(n)]
    frame = pl.DataFrame({"id": names, **{f"f{j}": features[:, j] for j in range(3)}})
    values = features @ rng.normal(size=3) + (0.5 * rng.standard_normal(n) if "deviation" in model else 0.0)
    k, se = rng.integers(n, size=measurements), 10.0 ** rng.uniform(-1.3, 0.0, measurements)
    told = values[k] + np.hypot(se, true) * rng.standard_normal(measurements)
    study = nw.create_study(options=frame, model=model, eps=0.5, errors=nw.Errors(extra="estimate"))
    study.tell_many({"option": [names[i] for i in k], "value": told, "se": se})
    return float(study.extra_scatter or 0.0)
