"""One look at independent options that blocks or measured differences connect.

With option j set to 0, the precision of all other nodes is that of a network whose links only pull together,
so no covariance is negative (the inverse of an M-matrix). By Slepian's inequality the largest error is at
most that of errors with smaller correlations: those that a common factor makes, ``λ_i·λ_k <= ρ_ik``.
"""

import math

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.study.evidence.half_widths import HalfWidths
from noisewise.study.log.measurements import Codes
from noisewise.study.models.connected_parts import Component
from noisewise.study.models.joint import NetworkJoint
from noisewise.study.models.once.look import OneLook, never_compared
from noisewise.study.models.once.multipliers import all_within, independent_at_most

#: Options of a part up to which each has a λ of its own; the same with an estimated standard deviation; and
#: up to which correlations are looked at.
FACTORS, FACTORS_ESTIMATED, MOST = 100, 24, 800
#: How often the factors are made larger; what is left shrinks by half each time.
REFINED = 20
#: Estimates that refinement still moved by more than this, in their errors, are not certified.
UNSETTLED = 1e-6
#: Variances of differences below this part of those they are found from have lost their digits.
LOST = 1e-6


class ConnectedOnce(HalfWidths):
    """Half-widths: a multiplier for every rival, times the standard error of the difference."""

    def __init__(self, look: OneLook) -> None:
        self._look, self._group = look, look.fit.group
        self._multipliers: dict[int, Floats] = {}

    @property
    def evidence(self) -> tuple[str, ...]:
        """What is looked at once."""
        return ("one look: contrasts",)

    def half_widths(self, option: int) -> Floats:
        """By how much "j minus option" can be larger than estimated, for every j, (n,)."""
        return self._widths(option, leads=False)

    def lead_widths(self, rival: int) -> Floats:
        """By how much "rival minus i" can be larger than estimated, for every i, (n,)."""
        return self._widths(rival, leads=True)

    def _widths(self, option: int, *, leads: bool) -> Floats:
        half = np.full(self._group.size, np.inf)
        for number, part in enumerate(self._look.fit.components):
            at = int(np.searchsorted(part.options, option))
            if at == part.options.size or part.options[at] != option or self._look.fit.slack > UNSETTLED:
                continue
            if number not in self._multipliers:
                self._multipliers[number] = self._multipliers_of(part)
            multipliers = self._multipliers[number]
            errors = np.sqrt(part.variances(part.grounded(at), at)[: part.options.size])
            half[part.options] = (multipliers[at] if leads else multipliers) * errors
        return never_compared(half, option, self._group)

    def _multipliers_of(self, part: Component) -> Floats:
        """One for every option of a part, (options,)."""
        look, n = self._look, part.options.size
        errors, delta, count = look.errors, look.delta, float(max(1, n - 1))
        if errors.shares or errors.limited or n < 2:
            # With upper limits in the place of standard errors the true correlations are not known.
            return np.full(n, errors.one_by_one(count, delta))
        if n > MOST:
            alone = independent_at_most(count, delta)
            return np.full(n, alone if errors.freedom is None else errors.one_by_one(count, delta))
        covariance = NetworkJoint(self._group.size, part, 0).columns(part.options)[part.options]
        several = n <= (FACTORS if errors.freedom is None else FACTORS_ESTIMATED)
        rows = [_common_factor(covariance, at, several) for at in range(n)]
        common = np.array(rows)
        many = np.ones(common.shape) if several else np.full(common.shape, count)
        return all_within(common, many, delta, errors.freedom)


def _common_factor(covariance: Floats, at: int, several: bool) -> Floats:
    """Numbers λ with ``λ_i·λ_k <= ρ_ik`` for the differences to one option, (n - 1,) or one for all."""
    others: Codes = np.flatnonzero(np.arange(len(covariance)) != at)
    own = np.diagonal(covariance)
    apart = (
        covariance[np.ix_(others, others)]
        - covariance[others, at][:, None]
        - covariance[others, at]
        + own[at]
    )
    variances = np.diagonal(apart)
    if (variances <= LOST * np.maximum(own[others], own[at])).any():
        return np.zeros(others.size if several else 1)
    errors = np.sqrt(variances)
    related = np.clip(apart / errors / errors[:, None], 0.0, 1.0)
    np.fill_diagonal(related, np.inf)
    if not several:
        return np.array([math.sqrt(min(1.0, float(related.min())))])
    # λ_i = √(min over k of ρ_ik) will do. If some λ do, so do √(λ_i·min over k of ρ_ik/λ_k), and they are no
    # smaller.
    common: Floats = np.sqrt(np.minimum(1.0, related.min(axis=1)))
    if common.min() <= 0.0:
        return common
    for _ in range(REFINED):
        common = np.minimum(1.0, np.sqrt(common * (related / common).min(axis=1)))
    return common
