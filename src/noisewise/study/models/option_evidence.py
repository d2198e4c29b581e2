"""The evidence about options that share nothing, gathered from a study's measurements by their kinds."""

from collections.abc import Iterator

import numpy as np

from noisewise.core.choice.selection import Mask
from noisewise.core.model.dense import Floats
from noisewise.study.evidence.bounded import BoundedReadings
from noisewise.study.evidence.counts import Counts
from noisewise.study.evidence.kind import Kind
from noisewise.study.evidence.known import KnownErrorBars, LimitedScatter
from noisewise.study.evidence.levels import Stacks, ladder, levels_for, of_suprema
from noisewise.study.evidence.own_scatter import OwnScatter
from noisewise.study.evidence.separate import SeparateOptions
from noisewise.study.evidence.tables import PAYS, Tables
from noisewise.study.inputs.error_bars import BOUNDED, COUNTS, NONE, READINGS
from noisewise.study.log.measurements import KINDS, Columns
from noisewise.study.models.boundary import Shares
from noisewise.study.models.fit import Fit
from noisewise.study.models.own_readings import own_readings, own_rows
from noisewise.study.models.sums import pool, totals

#: Kinds of measurements whose scatter is pooled.
POOLED = tuple(KINDS.index(kind) for kind in (READINGS, NONE))
#: Weights of the kind that a study of own scatter began with, and of all others.
MAIN, OTHER = 0.95, 0.05


class Gathered:
    """Measurements of single options outside of any block, with what they are compared with.

    Args:
        columns: The measurements.
        sigma: The certificate's standard errors, (N,).
        fit: The estimates that half-widths are counted from.
        sign: Of the goal.
        resolution: The difference that matters.
        as_told: Whether trials and readings between bounds count one by one; not if scatter is added to all
            error bars.
        bounds: Of readings, where there are such.
        own: Whether readings scatter by each option's own amount.
        noise_floor: The least standard error of a measurement.
    """

    def __init__(
        self,
        columns: Columns,
        sigma: Floats,
        fit: Fit,
        sign: float,
        resolution: float,
        *,
        as_told: bool,
        bounds: tuple[float, float] | None = None,
        own: bool = False,
        noise_floor: float | None = None,
    ) -> None:
        self._columns, self._sigma, self._fit = columns, sigma, fit
        self._sign, self._resolution = sign, resolution
        self._bounds, self._own, self._noise_floor = bounds, own, noise_floor
        self._parts = list(self._by_kind(as_told))
        self._centre = pool(columns, sigma, sign).centre if len(self._parts) > 1 else 0.0

    def kinds(self) -> list[Kind]:
        """The evidence of each kind; of one without measurements if there are none."""
        if not self._parts:
            nothing = np.zeros(self._fit.means.size)
            return [KnownErrorBars(nothing, nothing, self._resolution)]
        return [self._kind(which, rows) for which, rows in self._parts]

    def _by_kind(self, as_told: bool) -> Iterator[tuple[type[Kind], Mask]]:
        columns = self._columns
        counted = (columns.kind == KINDS.index(COUNTS)) & as_told
        bounded = (columns.kind == KINDS.index(BOUNDED)) & as_told
        own = own_rows(columns) & self._own
        pooled = np.isin(columns.kind, POOLED) & ~own
        known = ~counted & ~bounded & ~pooled & ~own
        if known.any():
            yield KnownErrorBars, known
        if counted.any():
            yield Counts, counted
        if bounded.any():
            yield BoundedReadings, bounded
        if own.any():
            yield OwnScatter, own
        for code in np.unique(columns.pool[pooled]):
            yield LimitedScatter, pooled & (columns.pool == code)

    def _kind(self, which: type[Kind], rows: Mask) -> Kind:
        columns, n = self._columns.select(rows), self._fit.means.size
        if which is BoundedReadings:
            return self._bounded(columns, n)
        if which is OwnScatter:
            sums = own_readings(columns, n)
            apart = self._apart(sums.readings > 0.0, self._sign * sums.mean)
            least = np.zeros(n) if self._noise_floor is None else sums.least_squares(self._noise_floor)
            return OwnScatter(sums.readings, apart, sums.squares, least)
        if which is Counts:
            successes = totals(columns.plus, np.round(columns.value * columns.readings, 9), n)
            trials = totals(columns.plus, columns.readings, n)
            with np.errstate(invalid="ignore", divide="ignore"):
                mean = np.nan_to_num(successes / trials)
            estimate = mean - self._sign * self._apart(trials > 0.0, self._sign * mean)
            return Counts(successes, trials, estimate, self._sign, self._resolution)
        pooled = pool(columns, self._sigma[rows], self._sign)
        precision, means = np.zeros(n), np.zeros(n)
        precision[pooled.plus], means[pooled.plus] = pooled.weight, pooled.value + pooled.centre
        apart = self._apart(precision > 0.0, means)
        made: type[KnownErrorBars] = LimitedScatter if which is LimitedScatter else KnownErrorBars
        return made(precision, apart, self._resolution)

    def _bounded(self, columns: Columns, n: int) -> Kind:
        assert self._bounds is not None
        singles = [columns.singles.get(number) for number in columns.number.tolist()]
        values = [
            np.array([value]) if several is None else several
            for several, value in zip(singles, columns.value.tolist(), strict=True)
        ]
        readings, value = np.concatenate(values), np.array([part.size for part in values])
        option = np.repeat(columns.plus, value)
        order = np.lexsort((readings, option))  # sums must not depend on the order of telling
        option, readings = option[order], readings[order]
        count = np.bincount(option, minlength=n)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.nan_to_num(totals(option, readings, n) / count)
        estimate = mean - self._sign * self._apart(count > 0, self._sign * mean)
        return BoundedReadings(option, readings, self._bounds, estimate, self._sign)

    def _apart(self, measured: Mask, means: Floats) -> Floats:
        """How far means of one kind lie above the estimates, (n,): 0, exactly, where there is no other."""
        apart = np.zeros(means.size)
        if len(self._parts) > 1 or self._fit.components:
            kinds = np.zeros(means.size, dtype=np.int64)
            for _, rows in self._parts:
                kinds[np.unique(self._columns.plus[rows])] += 1
            mixed = measured & ((kinds > 1) | bool(self._fit.components))
            apart[mixed] = (means - self._centre - self._fit.means)[mixed]
        return apart


def separate_options(
    kinds: list[Kind],
    shares: Shares,
    before: Tables | None,
    stacks: Stacks | None = None,
    *,
    quickly: bool = False,
) -> SeparateOptions:
    """Half-widths from the evidence about each option.

    Args:
        kinds: The evidence.
        shares: How the error probability is divided.
        before: Earlier tables of the same study.
        stacks: The weights of a study whose readings scatter by each option's own amount.
        quickly: Whether reaches are interpolated however few options there are: worth it for many looks.
    """
    pays = 0 if quickly else PAYS
    if not shares.changed:
        levels = levels_for(shares.n_first, shares.comparing * shares.delta, shares.cap, stacks)
        return SeparateOptions(kinds, levels, before=before, pays=pays)

    def doubt(option: int) -> Floats:
        plain = shares.doubt(option)
        return plain if stacks is None else of_suprema(plain, 0.5)

    most = max(float(doubt(option).max()) for option in (0, shares.n_now - 1))
    return SeparateOptions(kinds, ladder(most, shares.cap, stacks), doubt, before, pays)
