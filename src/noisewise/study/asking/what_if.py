"""The study with other measurements than those it has: some of them, or some more."""

from typing import NamedTuple

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.study.inputs.error_bars import KNOWN
from noisewise.study.log.measurements import KINDS, Codes, Columns
from noisewise.study.log.state import State
from noisewise.study.models.analysis import Analysis, doubt_now
from noisewise.study.models.fit import reference_place
from noisewise.study.models.variance_components import Sizes


class WhatIf(Analysis):
    """The study with other measurements than those it has; sizes of deviations and scatter are given."""

    def __init__(self, state: State, columns: Columns, sizes: Sizes) -> None:
        super().__init__(state)
        self.columns = columns
        self._sizes = sizes

    @property
    def sizes(self) -> Sizes:
        """As they are now: estimating them afresh would take as long as many fits."""
        return self._sizes

    @property
    def own_scatter(self) -> bool:
        """Measurements were put together with the scatter that was estimated, as if it were known."""
        return False

    @property
    def block_doubt(self) -> str | None:
        """As it is now: what was measured when is not known of measurements that were put together."""
        return doubt_now(self.state)


class More(NamedTuple):
    """Measurements with known error bars that there may be."""

    plus: Codes
    minus: Codes  # NOBODY unless a difference
    value: Floats
    sigma: Floats
    blocks: list[str]  # of each


def with_more(columns: Columns, more: More) -> Columns:
    """Measurements added."""
    count = more.plus.size
    known = {name: place for place, name in enumerate(columns.blocks)}
    for name in more.blocks:
        known.setdefault(name, len(known))
    added = {
        "number": int(columns.number.max(initial=0)) + 1 + np.arange(count),
        "plus": more.plus,
        "minus": more.minus,
        "block": np.array([known[name] for name in more.blocks], dtype=np.int64),
        "value": more.value,
        "kind": np.full(count, KINDS.index(KNOWN)),
        "sigma": more.sigma,
        "readings": np.ones(count),
        "scatter": np.zeros(count),
        "pool": np.zeros(count, dtype=np.int64),
    }
    joined = {name: np.concatenate([getattr(columns, name), new]) for name, new in added.items()}
    moment = None
    if columns.moment is not None:
        # They will be told one by one.
        moment = np.append(columns.moment, int(columns.moment.max(initial=-1)) + 1 + np.arange(count))
    return Columns(
        **joined, blocks=list(known), pools=columns.pools or [""], moment=moment, fits=columns.fits
    )


def condensed(analysis: Analysis) -> Columns:
    """One measurement per probe that says what all of them say, with the certificate's error bars."""
    sigmas = analysis.sigmas
    certified = sigmas.estimated if sigmas.waiting else sigmas.certified
    sums = analysis.pooled(analysis.columns, certified)
    sign, level, count = analysis.specification.sign, sums.minus < 0, sums.plus.size
    last = max(count, int(analysis.columns.number.max(initial=0)))
    fits = analysis.model.fits_of_moments(analysis.columns, certified, analysis.sizes.certified[0])
    return Columns(
        number=last - count + 1 + np.arange(count),
        plus=sums.plus,
        minus=sums.minus,
        block=sums.block,
        value=sign * (sums.value + np.where(level, sums.centre, 0.0)),
        kind=np.full(count, KINDS.index(KNOWN)),
        sigma=sums.weight**-0.5,
        readings=np.ones(count),
        scatter=np.zeros(count),
        pool=np.zeros(count, dtype=np.int64),
        blocks=sums.blocks,
        pools=[""],
        moment=np.zeros(count, dtype=np.int64),
        fits=fits,
    )


class Reference(NamedTuple):
    """The block that coming measurements are thought to be in: the one that others are compared with."""

    name: str
    zero: float  # what is added to an option's value there


def reference_of(analysis: Analysis) -> Reference:
    """The block that others are compared with, and its estimated offset."""
    fit, sums = analysis.estimates, analysis.sums
    at = reference_place(fit.offset_precision)
    return Reference(sums.blocks[at], float(fit.offsets[at]))
