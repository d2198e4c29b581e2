"""Noise laws of mean 0 and variance 1; a measurement's noise is sigma times one such number.

Where a law has options, they shape its tails; it is always scaled so that sigma stays its standard deviation.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.core.checks import check_choice, check_number, check_options, check_positive, check_probability

Law = Callable[[np.random.Generator, int], Floats]


def gaussian(rng: np.random.Generator, size: int) -> Floats:
    """Standard normal."""
    return rng.standard_normal(size)


def rademacher(rng: np.random.Generator, size: int) -> Floats:
    """-1 or 1, a fair coin: the bounded noise of the smallest range."""
    return _signs(rng, size)


def uniform(rng: np.random.Generator, size: int) -> Floats:
    """Uniform between -√3 and √3."""
    return rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), size)


def laplace(rng: np.random.Generator, size: int) -> Floats:
    """Double exponential: unit variance, but not 1-sub-Gaussian, so certificates do not cover it."""
    return rng.laplace(0.0, np.sqrt(0.5), size)


def student_t(rng: np.random.Generator, size: int, *, df: float = 2.1) -> Floats:
    """Student's t with ``df`` degrees of freedom: no moment of order ``df`` or more."""
    if not check_number("df", df) > 2.0:
        raise ValueError(f"`df` must be above 2, or the noise has no variance; got {df!r}.")
    return rng.standard_t(df, size) * math.sqrt((df - 2.0) / df)


def pareto(rng: np.random.Generator, size: int, *, alpha: float = 2.2, symmetric: bool = True) -> Floats:
    """Pareto with tails ``P(X > x) = x^-alpha``: with a random sign, or centred and one-sided."""
    if not check_number("alpha", alpha) > 2.0:
        raise ValueError(f"`alpha` must be above 2, or the noise has no variance; got {alpha!r}.")
    # From uniform numbers above 0: NumPy's own loses the digits of numbers near 1.
    draws = (1.0 - rng.random(size)) ** (-1.0 / alpha)
    mean, square = alpha / (alpha - 1.0), alpha / (alpha - 2.0)
    if symmetric:
        return draws * _signs(rng, size) / math.sqrt(square)
    return (draws - mean) / math.sqrt(square - mean**2)


def lognormal(rng: np.random.Generator, size: int, *, spread: float = 1.0) -> Floats:
    """``exp(spread·z)``, centred: bounded below, with a long tail above."""
    square = check_positive("spread", spread) ** 2
    if square > 300.0:
        raise ValueError(f"`spread` must be at most 17, or numbers overflow; got {spread!r}.")
    draws = np.exp(spread * rng.standard_normal(size))
    return (draws - math.exp(square / 2.0)) / math.sqrt(math.expm1(square) * math.exp(square))


def contaminated(
    rng: np.random.Generator, size: int, *, share: float = 0.01, outlier: float = 30.0, symmetric: bool = True
) -> Floats:
    """Normal, but a ``share`` of the draws lies ``outlier`` standard deviations off.

    Outliers have a random sign, or all the same one, and then the mean is subtracted.
    """
    check_probability("share", share)
    check_positive("outlier", outlier)
    draws = rng.standard_normal(size)
    hit = rng.random(size) < share
    signs = _signs(rng, size) if symmetric else np.ones(size)
    mean = 0.0 if symmetric else share * outlier
    draws[hit] = outlier * signs[hit]
    return (draws - mean) / math.sqrt((1.0 - share) + share * outlier**2 - mean**2)


#: The laws by name.
LAWS: dict[str, Callable[..., Floats]] = {
    "gaussian": gaussian,
    "rademacher": rademacher,
    "uniform": uniform,
    "laplace": laplace,
    "student-t": student_t,
    "pareto": pareto,
    "lognormal": lognormal,
    "contaminated": contaminated,
}


@dataclass(frozen=True)
class NamedLaw:
    """A law by name with its options: what an environment takes, and a file can remember."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)

    def __call__(self, rng: np.random.Generator, size: int) -> Floats:
        """``size`` independent draws."""
        return LAWS[self.name](rng, size, **self.options)

    def __str__(self) -> str:
        return ":".join([self.name, *(f"{option}={value}" for option, value in self.options.items())])


def named(name: str, **options: Any) -> NamedLaw:
    """A law by name with its options, for `Environment`.

    Example:
        >>> str(named("student-t", df=3))
        'student-t:df=3'
    """
    known = name.replace("_", "-") if isinstance(name, str) else name
    check_choice("noise", known, tuple(LAWS))
    check_options("noise", known, LAWS[known], options)
    law = NamedLaw(known, options)
    law(np.random.default_rng(0), 0)  # refuses bad options now, not in the middle of a simulation
    return law


def _signs(rng: np.random.Generator, size: int) -> Floats:
    return rng.choice(np.array([-1.0, 1.0]), size)
