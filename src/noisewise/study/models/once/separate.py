"""One look at options that share nothing: Dunnett's comparisons, with a variance per option."""

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.study.evidence.half_widths import HalfWidths
from noisewise.study.models.fit import Fit
from noisewise.study.models.once.look import OneLook, never_compared
from noisewise.study.models.once.multipliers import all_within, independent_at_most

#: Different variances that are told apart; with an estimated standard deviation each takes longer.
MOST_KINDS, MOST_ESTIMATED = 64, 24


class SeparateOnce(HalfWidths):
    """Half-widths ``c_j·√(v_i + v_j)`` of "j minus i".

    Args:
        fit: Weighted means.
        look: What the bound is made from.
    """

    def __init__(self, fit: Fit, look: OneLook) -> None:
        self._own, self._group = fit.own, fit.group
        self._multiplier = np.ones(fit.own.size)
        measured = np.flatnonzero((fit.group >= 0) & look.may_win)
        errors, count = look.errors, float(max(1, measured.size - 1))
        if errors.shares:
            self._multiplier[:] = errors.one_by_one(count, look.delta)
        elif errors.limited:
            # True variances are smaller, which makes other correlations, but none below 0.
            self._multiplier[:] = independent_at_most(count, look.delta)
        elif measured.size > 1:
            most = MOST_KINDS if errors.freedom is None else MOST_ESTIMATED
            self._multiplier[measured] = _dunnett(fit.own[measured], most, look.delta, errors.freedom)

    @property
    def evidence(self) -> tuple[str, ...]:
        """What is looked at once."""
        return ("one look: each option",)

    def half_widths(self, option: int) -> Floats:
        """By how much "j minus option" can be larger than estimated, for every j, (n,)."""
        half = self._multiplier * np.sqrt(self._own + self._own[option])
        return never_compared(half, option, self._group)

    def lead_widths(self, rival: int) -> Floats:
        """By how much "rival minus i" can be larger than estimated, for every i, (n,)."""
        half = self._multiplier[rival] * np.sqrt(self._own + self._own[rival])
        return never_compared(half, rival, self._group)


def _dunnett(variances: Floats, most: int, delta: float, freedom: float | None) -> Floats:
    """The multiplier of every option, (n,).

    Among very many variances neighbours are taken together, each as large as the largest when it is compared
    with others, and as small as the smallest when others are compared with it: common factors are smaller.
    """
    distinct, which, many = np.unique(variances, return_inverse=True, return_counts=True)
    edges = np.arange(distinct.size)
    if distinct.size > most:
        edges = np.unique(np.linspace(0, distinct.size - 1e-9, most + 1).astype(np.int64)[:-1])
    group = np.searchsorted(edges, np.arange(distinct.size), side="right") - 1
    least = distinct[edges]
    largest = distinct[np.append(edges[1:], distinct.size) - 1]
    size = np.bincount(group, many).astype(float)
    common = np.sqrt(1.0 / (1.0 + largest[None, :] / least[:, None]))
    others = np.tile(size, (size.size, 1)) - np.eye(size.size)
    return np.asarray(all_within(common, others, delta, freedom)[group[which]])
