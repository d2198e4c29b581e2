"""Noise levels as people state them: with shares, with costs, or like those so far."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from noisewise.core.blocks import Floats, Mask
from noisewise.core.checks import check_number, check_positive
from noisewise.study.asking.pending import (
    DIFFERENCE,
    expected_noise,
    usual_probe,
)
from noisewise.study.log.measurements import KINDS
from noisewise.study.models.analysis import Analysis
from noisewise.study.telling.error_bars import NONE
from noisewise.study.telling.scale import ValueScale

Sigma = float | str  # a standard error; in a study on a log scale also as "2%"


#: NoiseLevels that are kept apart when the noise so far is taken for the noise to come.
USUAL_LEVELS = 8


#: Noise belongs to options if it explains all but this part of its differences.
EXPLAINED = 0.5


Noise = Sigma | Sequence[Sigma] | Sequence[tuple[Sigma, float]] | Mapping[Sigma, float]


Priced = Sequence[tuple[Sigma, float]] | Mapping[Sigma, float]


class NoiseLevels(NamedTuple):
    """Noise levels, and how often each comes."""

    sigma: Floats  # (levels,)
    share: Floats  # (levels,)
    cost: float = 1.0  # of a measurement
    scatters: Mask | None = None  # (levels,): whether extra scatter comes on top; None: on top of all
    times: Floats | None = None  # (n,): by how much noise is larger for each option; None: for none

    @property
    def usual(self) -> float:
        """The sigma of measurements that teach as much as these."""
        return float((self.share @ self.sigma**-2.0) ** -0.5)

    def of_options(self, n: int) -> Floats:
        """The usual sigma for each option, (n,)."""
        return self.usual * (np.ones(n) if self.times is None else self.times)

    def with_scatter(self, extra: float) -> "NoiseLevels":
        """With extra scatter on top."""
        scatters = np.ones(self.sigma.size) if self.scatters is None else self.scatters
        return self._replace(sigma=np.hypot(self.sigma, np.where(scatters, extra, 0.0)))

    def in_words(self, scale: ValueScale, *, stated: bool) -> str:
        """How noisy measurements are taken to be."""
        times = np.ones(1) if self.times is None else self.times
        ends = float((self.sigma.min() * times).min()), float((self.sigma.max() * times).max())
        low, high = (scale.error_stated(float(f"{end:.3g}")) for end in ends)
        size = f"sigma {low}" if low == high else f"sigma {low} to {high}"
        if self.times is not None:
            return f"noise as it was so far, option by option ({size})"
        return f"noise as stated ({size})" if stated else f"noise as it was so far ({size})"


def by_share(analysis: Analysis, noise: Noise | None) -> list[tuple[str, NoiseLevels]]:
    """The levels with their shares; and without the quietest, if there are several."""
    if noise is None:
        return [("as it was so far", _so_far(analysis))]
    scale = analysis.specification.value_scale
    sigma, share = _read_noise(noise, scale)
    whole = NoiseLevels(sigma, share / share.sum())
    if sigma.size == 1:
        return [(f"at sigma = {scale.error_stated(sigma[0])}", whole)]
    rest = np.arange(sigma.size) != np.argmin(sigma)
    without = NoiseLevels(sigma[rest], share[rest] / share[rest].sum())
    return [("with all levels", whole), (f"without sigma = {scale.error_stated(sigma.min())}", without)]


def by_cost(menu: Priced, scale: ValueScale) -> list[tuple[str, NoiseLevels]]:
    """Every level of a menu."""
    pairs = _pairs("menu", menu, "(sigma, cost)")
    costs = [check_positive("cost", second) for _, second in pairs]
    return [
        (f"sigma = {scale.error_stated(one)}", NoiseLevels(np.array([one]), np.ones(1), cost))
        for one, cost in zip(_sigmas([first for first, _ in pairs], scale), costs, strict=True)
    ]


def _read_noise(noise: Noise, scale: ValueScale) -> tuple[Floats, Floats]:
    words = isinstance(noise, str) and not noise.strip().endswith("%")
    several = isinstance(noise, Sequence) and not isinstance(noise, str) and len(noise) > 0
    if isinstance(noise, Mapping) or words or (several and isinstance(noise[0], list | tuple)):  # type: ignore[index]
        pairs = _pairs("noise", noise, "(sigma, share)")
        shares = np.array([check_positive("share", second) for _, second in pairs])
        return _sigmas([first for first, _ in pairs], scale), shares
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
        stated = ", ".join(map(scale.error_stated, sigma))
        raise ValueError(f"every noise level must be named once; got {stated}.")
    return sigma


def _so_far(analysis: Analysis) -> NoiseLevels:
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
    times = _of_options(analysis)
    if times is not None:
        sigma, share = _few(stated / times[analysis.columns.plus], 0.0)
        return NoiseLevels(sigma, share / share.sum(), times=times)
    with_bars, without = _few(stated[barred], extra), _few(stated[~barred], 0.0)
    sigma, share = (np.concatenate(both) for both in zip(with_bars, without, strict=True))
    return NoiseLevels(sigma, share / share.sum(), scatters=np.arange(sigma.size) < with_bars[0].size)


def _of_options(analysis: Analysis) -> Floats | None:
    """By how much noise is larger for each option, (n,); None unless that explains most of its differences.

    RACE expects the same of coming measurements (`expected_noise`).
    """
    columns, sigma = analysis.columns, analysis.stated.estimated
    if analysis.sizes.extra_scatter > 0.0 or (columns.minus >= 0).any() or columns.arm is not None:
        return None
    times = expected_noise(analysis, None) / float(np.mean(sigma**-2.0) ** -0.5)
    left = np.log(sigma / times[columns.plus])
    return times if float(np.var(left)) < EXPLAINED * float(np.var(np.log(sigma))) else None


def _few(sigma: Floats, extra: float) -> tuple[Floats, Floats]:
    """A few levels of equally many measurements each, with the precision these have with extra scatter."""
    distinct, counts = np.unique(sigma, return_counts=True)
    if distinct.size <= USUAL_LEVELS:
        return distinct, counts.astype(np.float64)
    parts = np.array_split(np.sort(sigma), USUAL_LEVELS)
    squares = np.array([1.0 / np.mean(1.0 / (part**2 + extra**2)) - extra**2 for part in parts])
    least = np.array([part[0] for part in parts])  # for rounding, where extra scatter is much larger
    return np.sqrt(np.maximum(squares, least**2)), np.array([float(part.size) for part in parts])
