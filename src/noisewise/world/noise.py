"""Noise laws of unit variance; a measurement's noise is sigma times one such number."""

from collections.abc import Callable

import numpy as np

from noisewise.core.model import Floats

Law = Callable[[np.random.Generator, int], Floats]


def gaussian(rng: np.random.Generator, size: int) -> Floats:
    """Standard normal."""
    return rng.standard_normal(size)


def rademacher(rng: np.random.Generator, size: int) -> Floats:
    """-1 or 1, a fair coin: the bounded noise of the smallest range."""
    return rng.choice(np.array([-1.0, 1.0]), size)


def uniform(rng: np.random.Generator, size: int) -> Floats:
    """Uniform between -√3 and √3."""
    return rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), size)


def laplace(rng: np.random.Generator, size: int) -> Floats:
    """Double exponential: unit variance, but not 1-sub-Gaussian, so certificates do not cover it."""
    return rng.laplace(0.0, np.sqrt(0.5), size)


#: The laws by name.
LAWS: dict[str, Law] = {
    "gaussian": gaussian,
    "rademacher": rademacher,
    "uniform": uniform,
    "laplace": laplace,
}
