"""Noise levels as people say them: with shares, with costs, or like those so far."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.core.support.checks import check_number, check_positive
from noisewise.study.asking.coming import DIFFERENCE, expected_noise, usual_probe
from noisewise.study.inputs.error_bars import NONE
from noisewise.study.inputs.value_scale import ValueScale
from noisewise.study.log.measurements import KINDS
from noisewise.study.models.analysis import Analysis
from noisewise.study.planning.paths import NoiseMenu

#: Levels that are told apart when the noise so far is taken for the noise to come.
USUAL_LEVELS = 8
#: Noise goes with options if no more than this part of its differences is left when that is taken off.
EXPLAINED = 0.5

Level = float | str  # a standard error; in a study on a log scale also as "2%"
Noise = Level | Sequence[Level] | Sequence[tuple[Level, float]] | Mapping[Level, float]
Priced = Sequence[tuple[Level, float]] | Mapping[Level, float]


def by_share(analysis: Analysis, noise: Noise | None, compare: bool) -> list[tuple[str, NoiseMenu]]:
    """The levels with their shares; and without the quietest, if there are several."""
    if noise is None:
        return [("as it was so far", _usual(analysis))]
    sigma, share = _read_noise(noise, analysis.specification.value_scale)
    said = analysis.specification.value_scale.error_stated
    whole = NoiseMenu(sigma, share / share.sum(), np.ones(sigma.size))
    if sigma.size == 1 or not compare:
        return [("with all levels" if sigma.size > 1 else f"at sigma = {said(sigma[0])}", whole)]
    rest = np.arange(sigma.size) != np.argmin(sigma)
    without = NoiseMenu(sigma[rest], share[rest] / share[rest].sum(), np.ones(sigma.size - 1))
    return [("with all levels", whole), (f"without sigma = {said(sigma.min())}", without)]


def by_cost(menu: Priced, scale: ValueScale) -> list[tuple[str, NoiseMenu]]:
    """Every level alone, and the mix that takes the best level for every measurement."""
    pairs = _pairs("menu", menu, "(sigma, cost)")
    sigma = _sigmas([first for first, _ in pairs], scale)
    cost = np.array([check_positive("cost", second) for _, second in pairs])
    alone = [
        (f"sigma = {scale.error_stated(sigma[k])} alone", NoiseMenu(sigma[[k]], np.ones(1), cost[[k]]))
        for k in range(sigma.size)
    ]
    return alone if sigma.size == 1 else [*alone, ("a mix", NoiseMenu(sigma, None, cost))]


def noise_in_words(noise: Noise | None, usual: NoiseMenu, scale: ValueScale, *, priced: bool) -> str:
    """How noisy a plan takes measurements to be."""
    if priced:
        return "noise by the menu"
    times = np.ones(1) if usual.times is None else usual.times
    least, most = float((usual.sigma.min() * times).min()), float((usual.sigma.max() * times).max())
    low, high = map(scale.error_stated, (float(f"{least:.3g}"), float(f"{most:.3g}")))
    size = f"sigma {low}" if low == high else f"sigma {low} to {high}"
    if usual.times is not None:
        return f"noise as it was so far, option by option ({size})"
    return f"noise as it was so far ({size})" if noise is None else f"noise as stated ({size})"


def _read_noise(noise: Noise, scale: ValueScale) -> tuple[Floats, Floats]:
    words = isinstance(noise, str) and not noise.strip().endswith("%")
    several = isinstance(noise, Sequence) and not isinstance(noise, str) and len(noise) > 0
    if isinstance(noise, Mapping) or words or (several and isinstance(noise[0], list | tuple)):  # type: ignore[index]
        pairs = _pairs("noise", noise, "(sigma, share)")
        return _sigmas([first for first, _ in pairs], scale), np.array(
            [check_positive("share", second) for _, second in pairs]
        )
    single = noise if isinstance(noise, Sequence) and not isinstance(noise, str) else [noise]
    if not len(single):
        raise ValueError("`noise` must have at least one level; got none.")
    return _sigmas(list(single), scale), np.ones(len(single))


def _pairs(name: str, given: Any, form: str) -> list[tuple[Any, float]]:
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise ValueError(f"`{name}` must be pairs {form}; got {given!r}.")
    rows = list(given.items()) if isinstance(given, Mapping) else list(given)
    if not rows:
        raise ValueError(f"`{name}` must have at least one level; got none.")
    for row in rows:
        if not isinstance(row, Sequence) or isinstance(row, str) or len(row) != 2:
            raise ValueError(f"`{name}` must be pairs {form}; got {row!r}.")
    return [(first, check_number(name, second)) for first, second in rows]


def _sigmas(levels: Sequence[Any], scale: ValueScale) -> Floats:
    sigma = np.array([scale.read_error(level, "sigma") for level in levels])
    if np.unique(sigma).size < sigma.size:
        raise ValueError(
            f"every noise level must be named once; got {', '.join(map(scale.error_stated, sigma))}."
        )
    return sigma


def _usual(analysis: Analysis) -> NoiseMenu:
    """The noise so far. Extra scatter comes on top of error bars, but is in what had none already."""
    barred = analysis.columns.kind != KINDS.index(NONE)
    if not barred.size:
        raise ValueError(
            "`noise` must say how noisy measurements will be, such as noise=0.3 or "
            "noise=[(0.3, 0.9), (0.03, 0.1)] with shares: nothing was measured yet."
        )
    stated, extra = analysis.stated.estimated, analysis.sizes.extra_scatter
    if analysis.columns.arm is not None and usual_probe(analysis) == DIFFERENCE:
        stated = np.where(analysis.columns.arm, math.sqrt(2.0) * stated, stated)  # two arms make one
    times = _going_with_options(analysis)
    if times is not None:
        sigma, share = _levels(stated / times[analysis.columns.plus], 0.0)
        return NoiseMenu(sigma, share / share.sum(), np.ones(sigma.size), times=times)
    with_bars, without = _levels(stated[barred], extra), _levels(stated[~barred], 0.0)
    sigma, share = (np.concatenate(both) for both in zip(with_bars, without, strict=True))
    scatters = np.arange(sigma.size) < with_bars[0].size
    return NoiseMenu(sigma, share / share.sum(), np.ones(sigma.size), scatters)


def _going_with_options(analysis: Analysis) -> Floats | None:
    """By how much noise is larger for each option, (n,); None unless that explains most of its differences.

    As far as that is so, RACE reckons with it (`expected_noise`), and what it gets for it must be the same.
    """
    columns, sigma = analysis.columns, analysis.stated.estimated
    if analysis.sizes.extra_scatter > 0.0 or (columns.minus >= 0).any() or columns.arm is not None:
        return None
    expected = expected_noise(analysis, None)
    times = expected / float(np.mean(sigma**-2.0) ** -0.5)
    left = np.log(sigma / times[columns.plus])
    return times if float(np.var(left)) < EXPLAINED * float(np.var(np.log(sigma))) else None


def _levels(sigma: Floats, extra: float) -> tuple[Floats, Floats]:
    """A few levels of equally many measurements each, which have their precision with extra scatter."""
    distinct, counts = np.unique(sigma, return_counts=True)
    if distinct.size <= USUAL_LEVELS:
        return distinct, counts.astype(np.float64)
    parts = np.array_split(np.sort(sigma), USUAL_LEVELS)
    squares = np.array([1.0 / np.mean(1.0 / (part**2 + extra**2)) - extra**2 for part in parts])
    least = np.array([part[0] for part in parts])  # for rounding, where extra scatter is much larger
    return np.sqrt(np.maximum(squares, least**2)), np.array([float(part.size) for part in parts])
