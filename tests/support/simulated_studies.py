"""Simulated studies whose truth is known: whether the printed certificate is true, and when the check fires.

Coverage is counted over studies that stop at the first moment the certificate allows, looked at
after every measurement, with what to measure chosen by the study or by somebody who looks at the values.
"""

import statistics
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import polars as pl

import noisewise as nw

MOST_LOOKS = 400


class Outcome(NamedTuple):
    """How one simulated study went."""

    stopped: bool
    missed: bool  # the recommended option was further below the best than the bound, when it stopped
    ever_missed: bool  # the same at any look before
    looks: int  # measurements before it stopped


Told = dict[str, Any]
World = Callable[[np.random.Generator], tuple[nw.Study, dict[str, float], Callable[[str], Told]]]


def run(world: World, seed: int, *, asking: bool = False, every: int = 1) -> Outcome:
    """One study: tell, look, stop when allowed. Whoever measures prefers what may still be the best.

    ``every`` so many measurements it is looked at.
    """
    rng = np.random.default_rng(seed)
    study, truth, measure = world(rng)
    best = max(truth.values())
    ever, certificate = False, study.certificate()
    for look in range(1, MOST_LOOKS + 1):
        if asking and rng.random() < 0.7:
            (job,) = study.ask()
            study.tell(job, **measure(job.option))
        else:
            likely = certificate.candidates or study.options
            option = str(rng.choice(likely)) if rng.random() < 0.9 else str(rng.choice(study.options))
            told = measure(option)
            study.tell(**({"option": option} if "plus" not in told else {}), **told)
        if look % every:
            continue
        certificate = study.certificate()
        if certificate.option is None or certificate.withheld:
            continue
        gap = best - truth[certificate.option]
        ever = ever or gap > certificate.bound
        if certificate.reached:
            return Outcome(True, gap > certificate.bound, ever, look)
    return Outcome(False, False, ever, MOST_LOOKS)


def close_values(rng: np.random.Generator, n: int, eps: float) -> np.ndarray:
    """The hardest to certify: many options just more than eps below the best."""
    values = -eps * rng.uniform(1.0, 2.5, n)
    values[rng.integers(n)] = 0.0
    return values


def independent(rng: np.random.Generator) -> Any:
    """Six options, error bars spread over a factor of thirty."""
    names = [f"o{k}" for k in range(6)]
    truth = dict(zip(names, close_values(rng, 6, 0.5), strict=True))

    def measure(option: str) -> Told:
        se = float(10.0 ** rng.uniform(-1.0, 0.3))
        return {"value": truth[option] + se * rng.standard_normal(), "se": se}

    return nw.create_study(options=names, eps=0.5), truth, measure


def smallest(rng: np.random.Generator) -> Any:
    """The same, looking for the smallest."""
    _, truth, measure = independent(rng)

    def turned(option: str) -> Told:
        told = measure(option)
        return told | {"value": 100.0 - told["value"]}

    return nw.create_study(options=list(truth), eps=0.5, goal="min"), truth, turned


def blocks(rng: np.random.Generator) -> Any:
    """Days with offsets far larger than the differences; a day lasts eight measurements."""
    names = [f"o{k}" for k in range(6)]
    truth = dict(zip(names, close_values(rng, 6, 0.5), strict=True))
    offsets = rng.normal(0.0, 20.0, MOST_LOOKS)
    told = iter(range(MOST_LOOKS))

    def measure(option: str) -> Told:
        day, se = next(told) // 8, float(10.0 ** rng.uniform(-1.3, 0.0))
        value = truth[option] + offsets[day] + se * rng.standard_normal()
        return {"value": value, "se": se, "block": f"day {day}"}

    return nw.create_study(options=names, eps=0.5), truth, measure


def differences(rng: np.random.Generator) -> Any:
    """Half of the measurements compare two options."""
    names = [f"o{k}" for k in range(6)]
    truth = dict(zip(names, close_values(rng, 6, 0.5), strict=True))

    def measure(option: str) -> Told:
        se = float(10.0 ** rng.uniform(-1.2, 0.0))
        other = str(rng.choice([name for name in names if name != option]))
        if rng.random() < 0.5:
            value = truth[option] - truth[other] + se * rng.standard_normal()
            return {"plus": option, "minus": other, "value": value, "se": se}
        return {"value": truth[option] + se * rng.standard_normal(), "se": se}

    return nw.create_study(options=names, eps=0.5), truth, measure


def readings(rng: np.random.Generator) -> Any:
    """Three readings each, their scatter unknown."""
    names = [f"o{k}" for k in range(4)]
    truth = dict(zip(names, close_values(rng, 4, 0.5), strict=True))

    def measure(option: str) -> Told:
        return {"values": (truth[option] + 0.4 * rng.standard_normal(3)).tolist()}

    return nw.create_study(options=names, eps=0.5), truth, measure


def instruments(rng: np.random.Generator) -> Any:
    """Three readings each, on two instruments of unknown and very different scatter."""
    names = [f"o{k}" for k in range(4)]
    truth = dict(zip(names, close_values(rng, 4, 0.5), strict=True))

    def measure(option: str) -> Told:
        which = int(rng.integers(2))
        readings = truth[option] + (0.2, 0.8)[which] * rng.standard_normal(3)
        return {"values": readings.tolist(), "instrument": f"i{which}"}

    return nw.create_study(options=names, eps=0.5), truth, measure


def without_error_bars(rng: np.random.Generator) -> Any:
    """Nobody knows the error bars."""
    names = [f"o{k}" for k in range(4)]
    truth = dict(zip(names, close_values(rng, 4, 0.5), strict=True))

    def measure(option: str) -> Told:
        return {"value": float(truth[option] + 0.3 * rng.standard_normal())}

    return nw.create_study(options=names, eps=0.5), truth, measure


def counts(rng: np.random.Generator) -> Any:
    """Successes out of 50 trials, at shares from 0.02 to 0.98."""
    names = [f"o{k}" for k in range(4)]
    top = rng.uniform(0.22, 0.98)
    shares = np.maximum(0.02, top + close_values(rng, 4, 0.1))
    truth = dict(zip(names, shares, strict=True))

    def measure(option: str) -> Told:
        return {"successes": int(rng.binomial(50, truth[option])), "trials": 50}

    return nw.create_study(options=names, eps=0.1), truth, measure


def linear(rng: np.random.Generator, *, with_blocks: bool = False, quieter: float = 0.0) -> Any:
    """Forty options in three features."""
    n, names = 40, [f"o{k}" for k in range(40)]
    features = rng.normal(size=(n, 3))
    values = features @ rng.normal(size=3) * 0.5 + 7.0
    truth = dict(zip(names, values, strict=True))
    frame = pl.DataFrame({"id": names, **{f"f{j}": features[:, j] for j in range(3)}})
    offsets = rng.normal(0.0, 20.0, MOST_LOOKS)
    told = iter(range(MOST_LOOKS))

    def measure(option: str) -> Told:
        se = float(10.0 ** rng.uniform(-1.0 - quieter, 0.3 - quieter))
        value = truth[option] + se * rng.standard_normal()
        if with_blocks:
            day = next(told) // 10
            return {"value": value + offsets[day], "se": se, "block": f"day {day}"}
        return {"value": value, "se": se}

    return nw.create_study(options=frame, model="linear", eps=0.3), truth, measure


def linear_blocks(rng: np.random.Generator) -> Any:
    """The same with offsets per day."""
    return linear(rng, with_blocks=True, quieter=0.7)


WORLDS: dict[str, tuple[World, bool]] = {
    "independent, asked and un-asked": (independent, True),
    "goal min, un-asked": (smallest, False),
    "blocks": (blocks, False),
    "differences": (differences, False),
    "values of three": (readings, False),
    "values of three, two instruments": (instruments, False),
    "no error bars": (without_error_bars, False),
    "successes of trials": (counts, False),
    "linear, asked and un-asked": (linear, True),
    "linear with blocks": (linear_blocks, False),
}


def coverage(name: str, studies: int) -> tuple[int, int, int, float]:
    """Stopped, missed when stopping, missed at any look, and the median number of looks."""
    world, asking = WORLDS[name]
    outcomes = [run(world, seed, asking=asking) for seed in range(studies)]
    return (
        sum(o.stopped for o in outcomes),
        sum(o.missed for o in outcomes),
        sum(o.ever_missed for o in outcomes),
        statistics.median(o.looks for o in outcomes),
    )


def chi_square(inflation: float, seed: int) -> bool:
    """Whether the check fires on 100 measurements whose errors are larger than stated by √inflation."""
    rng = np.random.default_rng(seed)
    names = [f"o{k}" for k in range(10)]
    study = nw.create_study(options=names, eps=0.5)
    k = rng.integers(10, size=100)
    values = rng.normal(size=10)[k] + np.sqrt(inflation) * 0.3 * rng.standard_normal(100)
    study.tell_many({"option": [names[i] for i in k], "value": values, "se": np.full(100, 0.3)})
    return not study.check().ok
