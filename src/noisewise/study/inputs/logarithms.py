"""From what was told to logarithms: the one place where they are taken, and what has none.

A log keeps what people told, in their unit: a value, its standard error, the single readings. What is
computed with are logarithms: log x with the standard error se/x (delta method), and of several readings the
mean and the scatter of their logarithms. To first order an amount on one scale is the value times that on the
other, and content in a log is written so: the way to logarithms is the same for every kind of error bar.
"""

from typing import Any, NamedTuple

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.core.text import number


class Logarithms(NamedTuple):
    """Columns of measurements, on the scale of logarithms."""

    value: Floats
    sigma: Floats
    scatter: Floats


def logarithms(value: Floats, sigma: Floats, scatter: Floats) -> Logarithms:
    """Values with standard errors and sums of squares as they were told, on a log scale, (N,)."""
    return Logarithms(np.log(value), sigma / value, scatter / value**2)


def of_logarithms(readings: Floats) -> tuple[float, float]:
    """The geometric mean of readings, and the squares of their logarithms' scatter times its square."""
    mean, scatter = mean_and_scatter(np.log(readings))
    value = float(np.exp(mean))
    return value, scatter * value**2


def mean_and_scatter(readings: Floats) -> tuple[float, float]:
    """The mean of readings, and the sum of squares around it; 0 if they are equal, whatever is rounded."""
    if readings.min() == readings.max():  # the mean of seven times 0.4 is not 0.4, and would seem to scatter
        return float(readings[0]), 0.0
    mean = float(np.mean(readings))
    return mean, float(np.sum((readings - mean) ** 2))


def refuse_no_logarithm(given: dict[str, Any]) -> None:
    """Refuse measurements that say nothing about logarithms."""
    if given.get("successes") is not None or given.get("trials") is not None:
        raise ValueError(
            'a study with scale="log" compares ratios of values, and successes= out of trials= are shares, '
            "which may be 0: make a study without scale= for them."
        )
    if given.get("minus") is not None:
        raise ValueError(
            'a study with scale="log" takes no differences (minus=): which ratio one stands for is not '
            "known. Tell both options, with the same block= if they were measured side by side."
        )
    if given.get("arm"):
        raise ValueError(
            'a study with scale="log" takes no arms of trials (arm=), which stand for differences: block= '
            "alone says that options were measured side by side."
        )


def note_if_rough(name: str, amount: float, value: float, most: float) -> tuple[str, ...]:
    """A remark on an error bar that its value's logarithm cannot have: see `value_scale.log_limits`.

    It is taken nevertheless: refused would be those whose value happens to be small, and the mean of the rest
    would be too large. The certificate is withheld if error bars are that large beside what is estimated.
    """
    if amount <= most * value:
        return ()
    return (
        f"{name} is {number(100.0 * amount / value)} % of its value; beyond {number(100.0 * most)} % the "
        "logarithm of a mean says too little about the mean of logarithms for this study's eps, and the "
        "certificate is withheld: tell single readings, values=[...].",
    )
