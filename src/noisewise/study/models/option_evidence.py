"""The evidence about options that share nothing, gathered from a study's measurements by their kinds."""

from collections.abc import Iterator

import numpy as np

from noisewise.core.choice.selection import Mask
from noisewise.core.model.dense import Floats
from noisewise.study.evidence.counts import Counts
from noisewise.study.evidence.kind import Kind
from noisewise.study.evidence.known import KnownErrorBars, LimitedScatter
from noisewise.study.evidence.levels import ladder, levels_for
from noisewise.study.evidence.separate import SeparateOptions
from noisewise.study.evidence.tables import Tables
from noisewise.study.inputs.error_bars import COUNTS, NONE, READINGS
from noisewise.study.log.measurements import KINDS, Columns
from noisewise.study.models.boundary import Shares
from noisewise.study.models.fit import Fit
from noisewise.study.models.sums import pool, totals

#: Kinds of measurements whose scatter is pooled.
POOLED = tuple(KINDS.index(kind) for kind in (READINGS, NONE))


class Gathered:
    """Measurements of single options outside of any block, with what they are compared with.

    Args:
        columns: The measurements.
        sigma: The certificate's standard errors, (N,).
        fit: The estimates that half-widths are counted from.
        sign: Of the goal.
        resolution: The difference that matters.
        true_counts: Whether successes out of trials count as such; not if scatter is added to all error bars.
    """

    def __init__(
        self, columns: Columns, sigma: Floats, fit: Fit, sign: float, resolution: float, *, true_counts: bool
    ) -> None:
        self._columns, self._sigma, self._fit = columns, sigma, fit
        self._sign, self._resolution = sign, resolution
        self._parts = list(self._by_kind(true_counts))
        self._centre = pool(columns, sigma, sign).centre if len(self._parts) > 1 else 0.0

    def kinds(self) -> list[Kind]:
        """The evidence of each kind; of one without measurements if there are none."""
        if not self._parts:
            nothing = np.zeros(self._fit.means.size)
            return [KnownErrorBars(nothing, nothing, self._resolution)]
        return [self._kind(which, rows) for which, rows in self._parts]

    def _by_kind(self, true_counts: bool) -> Iterator[tuple[type[Kind], Mask]]:
        columns = self._columns
        counted = (columns.kind == KINDS.index(COUNTS)) & true_counts
        pooled = np.isin(columns.kind, POOLED)
        known = ~counted & ~pooled
        if known.any():
            yield KnownErrorBars, known
        if counted.any():
            yield Counts, counted
        for code in np.unique(columns.pool[pooled]):
            yield LimitedScatter, pooled & (columns.pool == code)

    def _kind(self, which: type[Kind], rows: Mask) -> Kind:
        columns, n = self._columns.select(rows), self._fit.means.size
        if which is Counts:
            successes = totals(columns.plus, np.round(columns.value * columns.readings, 9), n)
            trials = totals(columns.plus, columns.readings, n)
            with np.errstate(invalid="ignore", divide="ignore"):
                mean = np.nan_to_num(successes / trials)
            estimate = mean - self._sign * self._apart(trials > 0.0, self._sign * mean)
            return Counts(successes, trials, estimate, self._sign, self._resolution)
        sums = pool(columns, self._sigma[rows], self._sign)
        precision, means = np.zeros(n), np.zeros(n)
        precision[sums.plus], means[sums.plus] = sums.weight, sums.value + sums.centre
        apart = self._apart(precision > 0.0, means)
        made: type[KnownErrorBars] = LimitedScatter if which is LimitedScatter else KnownErrorBars
        return made(precision, apart, self._resolution)

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


def separate_options(kinds: list[Kind], shares: Shares, before: Tables | None) -> SeparateOptions:
    """Half-widths from the evidence about each option.

    Args:
        kinds: The evidence.
        shares: How the error probability is divided.
        before: Earlier tables of the same study.
    """
    own_stacks = any(kind.own_stack for kind in kinds)
    if not shares.changed:
        levels = levels_for(
            shares.n_first, shares.comparing * shares.delta, shares.cap, own_stacks=own_stacks
        )
        return SeparateOptions(kinds, levels, before=before)
    most = max(float(shares.doubt(option).max()) for option in (0, shares.n_now - 1))
    return SeparateOptions(kinds, ladder(most, shares.cap), shares.doubt, before)
