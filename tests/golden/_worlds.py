"""Problems that the kinds share: neutral, small, and the same on every machine."""

import math
from typing import Any

import numpy as np

#: Absolute values below this are rounding errors, which differ between processors.
NOTHING = 1e-13


def facts(value: Any) -> Any:
    """The value as JSON has it: infinities and NaN become strings, NumPy's numbers plain ones."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float):
        if not math.isfinite(value):
            return str(value)
        return 0.0 if abs(value) < NOTHING else value
    if isinstance(value, dict):
        return {str(name): facts(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [facts(each) for each in value]
    if value is None or isinstance(value, bool | int | str):
        return value
    raise TypeError(f"JSON cannot hold {value!r}")


def numbers(*seed: int) -> np.random.Generator:
    """A generator whose stream NumPy keeps."""
    return np.random.Generator(np.random.PCG64(list(seed)))


def vectors(seed: int, n: int, dim: int) -> Any:
    """Random rows of different lengths, ``(n, dim)``, with six decimals."""
    rng = numbers(seed, 1)
    rows = rng.standard_normal((n, dim))
    lengths = rng.uniform(0.5, 1.2, n) / np.sqrt((rows**2).sum(axis=1))
    return np.round(rows * lengths[:, None], 6)


def parameter(seed: int, dim: int) -> Any:
    """A random theta of length 0.9, ``(dim,)``."""
    drawn = numbers(seed, 2).standard_normal(dim)
    return np.round(0.9 * drawn / np.sqrt((drawn**2).sum()), 6)


def sigmas(seed: int, rounds: int, low: float = 0.05, high: float = 1.0) -> Any:
    """Error bars over some decades, ``(rounds,)``."""
    return np.round(low * (high / low) ** numbers(seed, 3).uniform(size=rounds), 6)


def noise(seed: int, t: int, law: str = "gaussian") -> float:
    """The noise of round t, from a generator of its own."""
    rng = numbers(seed, 4, t)
    if law == "signs":
        drawn = float(rng.integers(0, 2) * 2 - 1)
    elif law == "heavy":
        drawn = float(rng.standard_t(2.5)) / math.sqrt(5.0)
    else:
        drawn = float(rng.standard_normal())
    return round(drawn, 6)


def reward(vector: Any, theta: Any) -> float:
    """The true value of a vector."""
    return math.fsum(float(a) * float(b) for a, b in zip(vector, theta, strict=True))
