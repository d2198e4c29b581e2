"""Theorems 1 and 2: how far the recommendation can be from the best, with explicit constants."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noisewise.core.choice.radius import make_radius, radius_after
from noisewise.core.support.blocks import Floats
from noisewise.core.support.checks import check_choice, check_count, check_positive, check_probability
from noisewise.theory.levels import (
    LEAST_BUDGET,
    clipped_level,
    harmonic_level,
    information_budget,
    water_level,
)
from noisewise.theory.sigmas import checked_sigmas, plain, precision_without_largest

#: How many radii times the level the regret can be, by what is recommended (note 5 on the paper).
FACTORS = {"best": 2.0, "candidate": 4.0, "last": 4.0}
#: The constant in the proof of Theorem 1; its steps add up to 4.
PRINTED_FACTOR = 5.0
#: The forms of its level; with the constants as printed, a clipped level is the printed one.
FORMS = ("clipped", "printed", "harmonic")


def vaee_bound(
    sigma: ArrayLike,
    dim: int,
    *,
    radius: str | float = "mixture",
    recommendation: str = "best",
    form: str = "clipped",
    ridge: float = 1.0,
    norm_bound: float = 1.0,
    max_norm: float = 1.0,
    delta: float = 0.05,
    log_det: ArrayLike | None = None,
    oracle: float = 1.0,
    as_printed: bool = False,
) -> Any:
    """Theorem 1: the regret of VAEE is at most this, with probability ``1 - delta``; never above ``2RA``.

    ``factor·radius·x``: x a level above the widest action, the factor 2 for the best mean among the
    candidates and 4 for any candidate. The expected regret is at most this plus ``2RA·delta``.

    As printed, x solves ``Σ min(1, x²/σ_t²) = ι``, where ι grows with log S: rounds that are *more* precise
    can raise it. The default clips the weights first, where that is best (`clipped_level`): never larger.

    Args:
        sigma: The sigmas, ``(..., T)``.
        dim: Features.
        radius: As for `noisewise.vaee`; before the run its log det is bounded by ``d·log(1 + S·A²/(dλ))``.
        recommendation: ``"best"`` (mean among the candidates), ``"candidate"`` (any of them) or ``"last"``.
        form: ``"clipped"``; ``"printed"``: the level without clipping; ``"harmonic"``: the paper's
            simplification of that, with the harmonic mean.
        ridge: λ.
        norm_bound: R, what the norm of theta does not exceed.
        max_norm: A, the norm of the longest action.
        delta: The error probability.
        log_det: ``log det V - d·log λ`` of a run that is over, which sharpens both factors.
        oracle: The share of the largest width that the choice of an action is sure to reach.
        as_printed: With the printed constants, 2 in ι and 5 before the radius, which is the theorem's; and
            in the printed form, unless the harmonic one is asked for.
    """
    array = checked_sigmas(sigma)
    check_choice("form", form, FORMS)
    check_choice("recommendation", recommendation, tuple(FACTORS))
    factor = PRINTED_FACTOR if as_printed else FACTORS[recommendation]
    if not 0.0 < check_positive("oracle", oracle) <= 1.0:
        raise ValueError(f"`oracle` must be above 0 and at most 1; got {oracle!r}.")
    budget = information_budget(array, dim, ridge=ridge, max_norm=max_norm, as_printed=as_printed)
    information = np.asarray(budget) * (0.5 if as_printed else math.log(2.0))
    if log_det is not None:
        information = np.minimum(information, np.asarray(log_det, dtype=np.float64))
        budget = np.minimum(budget, information / math.log(2.0))
    if form == "clipped" and not as_printed:
        level = clipped_level(array, dim, ridge=ridge, max_norm=max_norm, log_det=log_det)
    else:
        unclipped = harmonic_level if form == "harmonic" else water_level
        level = unclipped(array, np.maximum(budget, LEAST_BUDGET))
    options = {"delta": delta, "ridge": ridge, "norm_bound": norm_bound, "max_norm": max_norm, "rank": dim}
    kind = "paper" if as_printed else radius
    if kind in ("averaged", "restarted"):
        raise ValueError(
            f"`radius` must not be {kind!r} here: how large it becomes depends on what is measured; "
            "'mixture' is known beforehand."
        )
    radii = _radii(kind, array, information, options)
    return plain(np.minimum(factor * radii * level / oracle, 2.0 * norm_bound * max_norm))


def _radii(kind: str | float, sigma: Floats, information: Floats, options: dict[str, Any]) -> Floats:
    """The radius at the end of each row; the paper's knows its smallest sigma."""

    def one(least: float, log_det: float) -> float:
        made = make_radius(kind, sigma_min=least if kind == "paper" else None, **options)
        return radius_after(made, log_det, float(sigma.shape[-1]))

    rows = np.broadcast_arrays(sigma.min(axis=-1), information)
    values = [one(float(least), float(log_det)) for least, log_det in zip(*map(np.ravel, rows), strict=True)]
    return np.array(values).reshape(rows[0].shape)


def core_set_size(dim: int) -> int:
    """How many actions a near-optimal design needs: ``⌊4d·log log d + 16⌋``, the logarithm at least 0."""
    check_count("dim", dim)
    double_log = math.log(math.log(dim)) if dim > 2 else 0.0
    return math.floor(4 * dim * max(0.0, double_log) + 16)


def vagd_bound(
    sigma: ArrayLike,
    dim: int,
    n_actions: int,
    *,
    g_value: float | None = None,
    support_size: int | None = None,
    ridge: float = 1.0,
    norm_bound: float = 1.0,
    max_norm: float = 1.0,
    delta: float = 0.05,
    as_printed: bool = False,
) -> Any:
    """Theorem 2: the regret of VAGD is at most this, with probability ``1 - delta``; never above ``2RA``.

    ``2·√(g/D)·(√(2·log(2n/δ)) + R√λ)``, D the total precision without the ``support_size - 1`` quietest
    rounds. It holds if neither the sigmas nor the number of rounds depend on any value that was measured.

    Args:
        sigma: The sigmas, ``(..., T)``.
        dim: Features.
        n_actions: Actions.
        g_value: The design's ``max ‖a‖²`` in the norm of ``V(π)⁻¹``; default: ``2·dim``, that of a core set.
        support_size: The design's number of actions; default: `core_set_size`.
        ridge: λ.
        norm_bound: R, what the norm of theta does not exceed.
        max_norm: A, the norm of the longest action.
        delta: The error probability.
        as_printed: ``2·√(d·log(n/δ)/D)``, D without a whole core set: too small a constant, and no ridge.
    """
    array = checked_sigmas(sigma)
    check_count("n_actions", n_actions)
    check_probability("delta", delta)
    bias = check_positive("norm_bound", norm_bound) * math.sqrt(check_positive("ridge", ridge))
    spread = 2.0 * dim if g_value is None else check_positive("g_value", g_value)
    support = core_set_size(dim) if support_size is None else check_count("support_size", support_size)
    if as_printed:
        spread, support, tail = float(dim), core_set_size(dim) + 1, math.sqrt(math.log(n_actions / delta))
    else:
        tail = math.sqrt(2.0 * math.log(2.0 * n_actions / delta)) + bias
    rest = precision_without_largest(array, support - 1)
    with np.errstate(divide="ignore"):
        bound = 2.0 * np.sqrt(spread / rest) * tail
    return plain(np.minimum(bound, 2.0 * norm_bound * check_positive("max_norm", max_norm)))
