"""The study with other measurements than those it has: some of them, or some more."""

from typing import Any, NamedTuple

import numpy as np

from noisewise.core.choice.selection import Mask
from noisewise.core.model.dense import Floats
from noisewise.study.asking.coming import Manner
from noisewise.study.inputs.error_bars import BOUNDED, COUNTS, KNOWN, NONE, READINGS
from noisewise.study.log.measurements import KINDS, Codes, Columns
from noisewise.study.log.state import State
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.fit import block_places, reference_place, totals
from noisewise.study.models.variance_components import Sizes


class WhatIf(Analysis):
    """The study with other measurements than those it has; sizes of deviations and scatter are given."""

    def __init__(self, state: State, columns: Columns, sizes: Sizes, *, imagined: bool = False) -> None:
        super().__init__(state)
        self.imagined = imagined
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


class More(NamedTuple):
    """Measurements that there may be."""

    plus: Codes
    minus: Codes  # NOBODY unless a difference
    value: Floats
    sigma: Floats
    blocks: list[str]  # of each
    manners: list[Manner] | None = None  # how each will be told; None: with known error bars
    often: list[int] | None = None  # for how many measurements each stands; None: for one


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
        "sigma": more.sigma,
        **_told(columns, more),
    }
    joined: Any = {name: np.concatenate([getattr(columns, name), new]) for name, new in added.items()}
    moment = None
    if columns.moment is not None:
        # They will be told one by one.
        moment = np.append(columns.moment, int(columns.moment.max(initial=-1)) + 1 + np.arange(count))
    return Columns(
        **joined, blocks=list(known), pools=columns.pools or [""], moment=moment,
        singles=columns.singles | _singles(columns, more, added["number"], joined["readings"][-count:]),
        arm=None if columns.arm is None else np.append(columns.arm, np.zeros(count, dtype=bool)),
    )  # fmt: skip


def _singles(columns: Columns, more: More, number: Codes, readings: Floats) -> dict[int, Floats]:
    """The readings behind further values between bounds: spread like those of the option, or like all."""
    found: dict[int, Floats] = {}
    bounded = columns.kind == KINDS.index(BOUNDED)
    for at, how in enumerate(more.manners or ()):
        if how.kind == BOUNDED:
            own = bounded & (columns.plus == more.plus[at])
            rows = np.flatnonzero(own if own.any() else bounded)
            values = [columns.singles.get(int(columns.number[k]), columns.value[[k]]) for k in rows]
            law, count = np.sort(np.concatenate(values)), max(1, round(float(readings[at])))
            found[int(number[at])] = law[((np.arange(count) + 0.5) / count * law.size).astype(np.int64)]
    return found


def _told(columns: Columns, more: More) -> dict[str, Any]:
    """What the error bars of further measurements rest on: readings scatter as those of the option did."""
    count = more.plus.size
    manners, often = more.manners or [Manner()] * count, more.often or [1] * count
    readings = np.array([float(how.amount(sigma)) for how, sigma in zip(manners, more.sigma, strict=True)])
    scatter = np.zeros(count)
    for how in set(manners):
        rows = np.flatnonzero([one == how for one in manners])
        if how.kind != COUNTS:
            readings[rows] *= np.array(often)[rows]
        if how.kind in (READINGS, NONE):
            same = (columns.kind == KINDS.index(how.kind)) & (columns.pool == how.pool) & (columns.minus < 0)
            size = 1 + max(int(columns.plus.max(initial=0)), int(more.plus.max()))
            counted = totals(columns.plus[same], columns.readings[same], size)
            squares = totals(columns.plus[same], columns.scatter[same], size)
            usual = float(squares.sum()) / max(1.0, float(counted.sum()))
            each = np.where(squares > 0.0, squares / np.maximum(counted, 1.0), usual)
            scatter[rows] = readings[rows] * each[more.plus[rows]]
    shares = np.array([how.kind == COUNTS for how in manners], dtype=bool)
    return {
        # Shares of trials are shares, whatever error bars say of the option.
        "value": np.where(shares, np.clip(more.value, 0.0, 1.0), more.value),
        "kind": np.array([KINDS.index(how.kind) for how in manners], dtype=np.int64),
        "readings": readings,
        "scatter": scatter,
        "pool": np.array([how.pool for how in manners], dtype=np.int64),
    }


def condensed(analysis: Analysis) -> Columns:
    """One measurement per probe, kind and pool that says what all of them say.

    They have the certificate's error bars, which are not to be pooled again.
    """
    columns, sigmas = analysis.columns, analysis.sigmas
    sigma = sigmas.estimated if sigmas.waiting else sigmas.certified
    if (columns.kind == KINDS.index(BOUNDED)).any():
        return columns._replace(sigma=sigma)  # every single reading counts
    kept = [KINDS.index(kind) for kind in (COUNTS, READINGS, NONE)]
    kind = np.where(np.isin(columns.kind, kept), columns.kind, KINDS.index(KNOWN))
    family = kind * (1 + len(columns.pools)) + np.where(np.isin(kind, kept[1:]), columns.pool, 0)
    columns = columns._replace(kind=kind)
    parts = [_condensed(analysis, columns, family == one, sigma) for one in np.unique(family)]
    if not parts:
        return columns._replace(pools=columns.pools or [""])
    joined: Any = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name, column in parts[0]._asdict().items()
        if isinstance(column, np.ndarray)
    }
    count = joined["plus"].size
    last = max(count, int(columns.number.max(initial=0)))
    joined |= {"number": last - count + 1 + np.arange(count), "moment": np.zeros(count, dtype=np.int64)}
    return Columns(**joined, blocks=parts[0].blocks, pools=columns.pools or [""])


def _condensed(analysis: Analysis, columns: Columns, rows: Mask, sigma: Floats) -> Columns:
    """The same of one kind and pool."""
    columns, sign = columns.select(rows), analysis.specification.sign
    sums = analysis.pooled(columns, sigma[rows])
    count, level = sums.plus.size, sums.minus < 0
    value = sign * (sums.value + np.where(level, sums.centre, 0.0))
    readings, scatter = np.ones(count), np.zeros(count)
    if KINDS[columns.kind[0]] != KNOWN:
        turned = columns.minus > columns.plus  # in sums, the later option stands on the plus side
        ends = np.maximum(columns.plus, columns.minus), np.minimum(columns.plus, columns.minus)
        block = np.where(columns.minus < 0, block_places(columns, sums.blocks), 0)
        row = np.searchsorted(_keys(sums.plus, sums.minus, sums.block), _keys(*ends, block))
        apart = np.where(turned, -columns.value, columns.value) - value[row]
        readings = totals(row, columns.readings, count)
        scatter = totals(row, columns.scatter + columns.readings * apart**2, count)
    return Columns(
        number=np.zeros(count, dtype=np.int64), plus=sums.plus, minus=sums.minus, block=sums.block,
        value=value, kind=np.full(count, columns.kind[0]), sigma=sums.weight**-0.5, readings=readings,
        scatter=scatter, pool=np.full(count, columns.pool[0]), blocks=sums.blocks, pools=columns.pools,
    )  # fmt: skip


def _keys(plus: Codes, minus: Codes, block: Codes) -> Codes:
    """One number per probe, which grows in the order of pooled sums: there are fewer than 2^21 of each."""
    return np.asarray((plus * 2**21 + minus + 1) * 2**21 + block)


class Reference(NamedTuple):
    """The block that coming measurements are thought to be in: the one that others are compared with."""

    name: str
    zero: float  # what is added to an option's value there


def reference_of(analysis: Analysis) -> Reference:
    """The block that others are compared with, and its estimated offset."""
    fit, sums = analysis.estimates, analysis.sums
    at = reference_place(fit.offset_precision)
    return Reference(sums.blocks[at], float(fit.offsets[at]))
