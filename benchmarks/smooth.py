"""The smooth model beside the independent one: six response surfaces, until the certificate allows to stop.

Candidates are drawn at random from the unit cube. Values are scaled to a standard deviation of 1, the error
bar is 0.3 and eps is 0.3; both models measure what RACE asks for, four at a time. ``RUNS=34`` is the number
of runs for each surface; the independent model is run for the first ``BESIDE=6`` of them.
"""

import functools
import os
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg  # noqa: F401  (loaded before the number of threads is limited)
from scipy.stats import binom

import noisewise as nw
from benchmarks.timing import Row
from noisewise.core.blocks import Floats
from noisewise.core.parallel import spread

RUNS, BESIDE = int(os.environ.get("RUNS", "34")), int(os.environ.get("BESIDE", "6"))
SE, EPS, BATCH, FALSE_ALARM = 0.3, 0.3, 4, 1e-3
#: Measurements for each candidate after which the independent model is given up, in favour of it.
GIVEN_UP = 3


class Surface(NamedTuple):
    """A function of the unit cube, and how many candidates there are."""

    dim: int
    candidates: int
    value: Callable[[Floats], Floats]


def branin(x: Floats) -> Floats:
    """Three equally low valleys, turned round."""
    a, b = 15.0 * x[:, 0] - 5.0, 15.0 * x[:, 1]
    bend = b - 5.1 / (4.0 * np.pi**2) * a**2 + 5.0 / np.pi * a - 6.0
    return -np.log(bend**2 + 10.0 * (1.0 - 1.0 / (8.0 * np.pi)) * np.cos(a) + 11.0)


def camel(x: Floats) -> Floats:
    """The six-hump camel back, turned round."""
    a, b = 4.0 * x[:, 0] - 2.0, 2.0 * x[:, 1] - 1.0
    return -((4.0 - 2.1 * a**2 + a**4 / 3.0) * a**2 + a * b + (-4.0 + 4.0 * b**2) * b**2)


def reactor(x: Floats) -> Floats:
    """Yield of B in A -> B -> C, by temperature and time."""
    temperature, time = 300.0 + 60.0 * x[:, 0], 0.2 + 4.0 * x[:, 1]
    one, two = (k * np.exp(-e * (1.0 / temperature - 1.0 / 330.0)) for k, e in ((1.0, 5e3), (0.25, 9e3)))
    return one / (one - two + 1e-9) * (np.exp(-two * time) - np.exp(-one * time))


def hartmann(x: Floats) -> Floats:
    """Hartmann's function of four variables."""
    a = np.array([[10, 3, 17, 3.5], [0.05, 10, 17, 0.1], [3, 3.5, 1.7, 10], [17, 8, 0.05, 10]])
    p = np.array(
        [[0.1312, 0.1696, 0.5569, 0.0124], [0.2329, 0.4135, 0.8307, 0.3736],
         [0.2348, 0.1451, 0.3522, 0.2883], [0.4047, 0.8828, 0.8732, 0.5743]]
    )  # fmt: skip
    inside = (a * (x[:, None, :] - p) ** 2).sum(axis=2)
    return np.asarray(np.exp(-inside) @ np.array([1.0, 1.2, 3.0, 3.2]))


def quadratic(x: Floats) -> Floats:
    """Squares and interactions, as response surface designs have them."""
    y = 2.0 * x - 1.0
    bent = -1.5 * y[:, 0] ** 2 - y[:, 1] ** 2 - 0.5 * y[:, 2] ** 2
    return bent + y[:, 0] * y[:, 1] - 0.8 * y[:, 1] * y[:, 2] + y @ np.array([0.5, 0.3, -0.4, 0.6])


def hills(x: Floats) -> Floats:
    """Two hills in three of four variables."""
    first = 2.0 * np.exp(-4.0 * ((x[:, :3] - (0.3, 0.7, 0.4)) ** 2).sum(axis=1))
    return first + 1.5 * np.exp(-5.0 * ((x[:, :3] - (0.8, 0.2, 0.7)) ** 2).sum(axis=1))


SURFACES = {
    "Branin": Surface(2, 100, branin),
    "camel": Surface(2, 225, camel),
    "reactor": Surface(2, 400, reactor),
    "Hartmann": Surface(4, 200, hartmann),
    "quadratic": Surface(4, 300, quadratic),
    "hills": Surface(4, 400, hills),
}


class Run(NamedTuple):
    """How one study went."""

    reached: bool
    needed: int  # measurements until the certificate allowed to stop
    settled: int  # measurements from which on the option named was within eps of the best
    wrong: bool  # whether it was not, when the certificate allowed to stop


def run(seed: int, name: str, model: str) -> Run:
    """Measure until the certificate allows to stop."""
    warnings.simplefilter("ignore")
    surface, rng = SURFACES[name], np.random.default_rng([49, seed, *name.encode()])
    x = rng.uniform(size=(surface.candidates, surface.dim))
    values = surface.value(x)
    values = (values - values.mean()) / values.std()
    names = [f"c{k:03d}" for k in range(surface.candidates)]
    table = {"id": names} | {f"x{j}": x[:, j] for j in range(surface.dim)}
    study = nw.create_study(
        options=table, features=[f"x{j}" for j in range(surface.dim)], model=model, eps=EPS, seed=seed
    )
    count, settled = 0, 0
    while True:
        for job in study.ask(BATCH):
            value = values[names.index(job.option)] + SE * rng.standard_normal()
            study.tell(job, value=float(value), se=SE)
            count += 1
        found = study.certificate()
        good = values[names.index(found.option)] >= values.max() - EPS
        settled = settled if good else count + BATCH
        if found.reached or count >= GIVEN_UP * surface.candidates:
            return Run(found.reached, count, settled, found.reached and not good)


def rows() -> list[Row]:
    """The part of the independent model's measurements, and wrong certificates."""
    found, wrong, stopped = [], 0, 0
    for name in SURFACES:
        runs = [one for _, one in spread(functools.partial(run, name=name, model="smooth"), range(RUNS))]
        alone = functools.partial(run, name=name, model="independent")
        beside = [one for _, one in spread(alone, range(BESIDE))]
        wrong += sum(one.wrong for one in runs)
        stopped += sum(one.reached for one in runs)
        smooth, separate = (float(np.median([one.needed for one in some])) for some in (runs, beside))
        given_up = sum(not one.reached for one in beside)
        detail = f"median {smooth:g} beside {separate:g}; given up {given_up} of {BESIDE}"
        found.append(
            Row(f"until the certificate, {name}", smooth / separate, "of independent", 0.5, detail=detail)
        )
        settled = [float(np.median([max(one.settled, BATCH) for one in some])) for some in (runs, beside)]
        detail = f"median {settled[0]:g} beside {settled[1]:g}"
        what = f"until the option named stays within eps, {name}"
        found.append(Row(what, settled[0] / settled[1], "of independent", 0.5, detail=detail))
    allowed = int(binom.isf(FALSE_ALARM, RUNS * len(SURFACES), 0.05))
    detail = f"of {RUNS * len(SURFACES)} runs, {stopped} of which reached a certificate"
    found.append(Row("wrong certificates of the smooth model", wrong, "runs", allowed, detail=detail))
    return found
