"""Table 1: the total-variance bounds of the other systems, with the lower-order terms it drops."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from noisewise.core.checks import check_choice, check_count, check_positive
from noisewise.theory.levels import checked_sigmas, plain


class Terms(NamedTuple):
    """What the cumulative bounds are made of."""

    variance: Any  # Λ = Σσ²
    rounds: float  # T
    dim: float
    n_actions: float
    noise_bound: float  # R: noise stays within ±R

    @property
    def root(self) -> Any:
        """√Λ."""
        return np.sqrt(self.variance)


class SystemBound(NamedTuple):
    """A system of Table 1: the leading term of its cumulative regret, and what is added to it."""

    title: str
    leading: Callable[[Terms], Any]
    lower_order: Callable[[Terms], Any]
    formula: str


def _weighted_oful_plus(title: str) -> SystemBound:
    """SAVE has the same bound without knowing sigma."""
    return SystemBound(
        title, lambda t: t.dim * t.root, lambda t: t.dim * t.noise_bound + t.dim, "d√Λ + dR + d"
    )


#: By the name of the rule. Logarithms and constants are left out, as in the table.
TOTAL_VARIANCE_ROWS = {
    "weighted_oful": SystemBound(
        "Weighted OFUL",
        lambda t: t.dim * t.root,
        lambda t: t.noise_bound * math.sqrt(t.dim * t.rounds),
        "d√Λ + R√(dT)",
    ),
    "weighted_oful_plus": _weighted_oful_plus("Weighted OFUL+"),
    "voful": SystemBound("VOFUL", lambda t: t.dim**4.5 * t.root, lambda t: t.dim**5, "d^4.5·√Λ + d^5"),
    "voful2": SystemBound(
        "VOFUL2",
        lambda t: np.minimum(t.dim * math.sqrt(t.rounds), t.dim**1.5 * t.root),
        lambda t: t.dim**2,
        "min(d√T, d^1.5·√Λ) + d²",
    ),
    "save": _weighted_oful_plus("SAVE"),
    "linnats": SystemBound(
        "LinNATS", lambda t: t.dim**1.5 * t.root, lambda t: t.dim**1.5, "d^1.5·√Λ + d^1.5"
    ),
    "varcb": SystemBound(
        "VarCB", lambda t: np.sqrt(t.n_actions * t.variance * t.dim), lambda t: t.dim**2, "√(nΛd) + d²"
    ),
}


def total_variance_bound(
    rule: str,
    sigma: ArrayLike,
    dim: int,
    *,
    n_actions: int | None = None,
    noise_bound: float = 1.0,
    lower_order: bool = True,
) -> Any:
    """A row of Table 1: the order of a cumulative regret bound divided by T, without logarithms.

    It bounds the regret of an action drawn at random from those played, not that of the best mean.

    Args:
        rule: One of `TOTAL_VARIANCE_ROWS`.
        sigma: The sigmas, ``(..., T)``.
        dim: Features.
        n_actions: Actions; only VarCB's bound depends on it.
        noise_bound: R: the noise stays within ±R.
        lower_order: Whether to add the terms that the table leaves out; for ``weighted_oful`` they lead
            once ``Λ < R²·T/d``.
    """
    row = TOTAL_VARIANCE_ROWS[check_choice("rule", rule, tuple(TOTAL_VARIANCE_ROWS))]
    terms = _terms(rule, sigma, dim, n_actions, noise_bound)
    total = row.leading(terms) + (row.lower_order(terms) if lower_order else 0.0)
    return plain(total / terms.rounds)


def cumulative_lower_bound(source: str, sigma: ArrayLike, dim: int, *, n_actions: int | None = None) -> Any:
    """A lower bound of Table 1 on *cumulative* regret, divided by T: no lower bound on simple regret.

    A rule that explores throughout has a large cumulative and a small simple regret; and both hold for action
    sets that change from round to round, not for a fixed one.

    Args:
        source: ``"varcb"``: ``√(min(n, d)·Λ) + d``, an order. ``"he-gu"``: ``d·√(Λ - 1)/(32·√6·L)``,
            ``L = ⌈log₂ T⌉ + 1``, with its constants; 0 where ``Λ < 1 + 384·d²``.
        sigma: The sigmas, ``(..., T)``.
        dim: Features.
        n_actions: Actions; only VarCB's depends on it.
    """
    check_choice("source", source, ("varcb", "he-gu"))
    terms = _terms(source, sigma, dim, n_actions, 1.0)
    if source == "varcb":
        total = np.sqrt(min(terms.n_actions, dim) * terms.variance) + dim
    else:
        levels = math.ceil(math.log2(terms.rounds)) + 1
        proved = dim * np.sqrt(np.maximum(terms.variance - 1.0, 0.0)) / (32.0 * math.sqrt(6.0) * levels)
        total = np.where(terms.variance >= 1.0 + 384.0 * dim**2, proved, 0.0)
    return plain(total / terms.rounds)


def _terms(name: str, sigma: ArrayLike, dim: int, n_actions: int | None, noise_bound: float) -> Terms:
    if name == "varcb" and n_actions is None:
        raise ValueError("`n_actions` must be given for 'varcb', whose bound depends on it; got None.")
    array = checked_sigmas(sigma)
    count = 1 if n_actions is None else check_count("n_actions", n_actions)
    return Terms(
        variance=np.square(array).sum(axis=-1),
        rounds=float(array.shape[-1]),
        dim=float(check_count("dim", dim)),
        n_actions=float(count),
        noise_bound=check_positive("noise_bound", noise_bound),
    )
