"""Heavy tails: the bound of the extension, with the floors that its lemma needs, and without them."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noisewise.core.support.blocks import Floats
from noisewise.core.support.checks import check_count, check_positive, check_probability
from noisewise.theory.levels import checked_budget, information_budget, water_level
from noisewise.theory.sigmas import checked_sigmas, plain, precision_without_largest, weights_of


def robust_radius(
    rounds: int,
    dim: int,
    *,
    sigma_min: float,
    tau: float | None = None,
    delta: float = 0.05,
    ridge: float = 1.0,
    norm_bound: float = 1.0,
    max_norm: float = 1.0,
) -> float:
    """The radius of the pseudo-Huber estimate after ``rounds`` rounds; it holds with ``1 - 4·delta``.

    ``32·(κ/τ₀ + √(κ·ℓ) + τ₀·ℓ) + 5R√λ``, ``ℓ = log(2T²/δ)``, ``κ = d·log(1 + T·A²/(dλσ_min²))``.

    Args:
        rounds: T.
        dim: Features.
        sigma_min: The smallest sigma that will ever come.
        tau: τ₀; default: the least that the lemma allows, ``max(√(2κ), 2√d)/√ℓ``.
        delta: A quarter of the error probability.
        ridge: λ.
        norm_bound: R.
        max_norm: A.
    """
    check_count("rounds", rounds)
    check_count("dim", dim)
    least = check_positive("sigma_min", sigma_min)
    doubt = math.log(2.0 * rounds**2 / check_probability("delta", delta))
    spread = rounds * check_positive("max_norm", max_norm) ** 2 / (dim * check_positive("ridge", ridge))
    kappa = dim * math.log1p(spread / least**2)
    allowed = max(math.sqrt(2.0 * kappa), 2.0 * math.sqrt(dim)) / math.sqrt(doubt)
    chosen = allowed if tau is None else check_positive("tau", tau)
    if chosen < allowed * (1.0 - 1e-12):
        raise ValueError(f"`tau` must be at least {allowed:.6g}, or the lemma says nothing; got {tau!r}.")
    bias = check_positive("norm_bound", norm_bound) * math.sqrt(ridge)
    return 32.0 * (kappa / chosen + math.sqrt(kappa * doubt) + chosen * doubt) + 5.0 * bias


def floored_level(sigma: ArrayLike, budget: ArrayLike, slope: float, cap: float = 1.0) -> Any:
    """The x that solves ``Σ min(cap², x²/σ_t², slope·x) = budget``; infinite if the budget is ``T·cap²``.

    The middle term is Theorem 1's. The last one is what a floor ``√(RA‖a‖)/(m₁d)^(1/4)`` on sigma leaves of a
    quiet round: no round brings more than in proportion to x, so that x cannot fall faster than 1/T.

    Args:
        sigma: The sigmas, ``(..., T)``.
        budget: ι, a number or one per row.
        slope: ``√(m₁d)/(RA)``.
        cap: m₀.
    """
    array, wanted = checked_sigmas(sigma), checked_budget(budget)
    check_positive("slope", slope)
    check_positive("cap", cap)
    below = _sloped_level(array, wanted, slope)
    above = cap * np.asarray(water_level(array, wanted / cap**2))
    # Once slope·x exceeds cap² the sloped term is never the smallest, and before that the cap never is.
    level = np.where(slope * below <= cap**2, below, above)
    return plain(np.where(wanted < array.shape[-1] * cap**2, level, np.inf))


def _sloped_level(sigma: Floats, budget: Floats, slope: float) -> Floats:
    """The x of ``Σ min(x²/σ_t², slope·x) = budget``."""
    ordered = np.sort(sigma, axis=-1)
    weights = weights_of(ordered)
    tails = np.cumsum(weights[..., ::-1], axis=-1)[..., ::-1]
    counts = np.arange(weights.shape[-1])
    # At x = slope·σ^(k)² the k-1 quieter rounds, and k itself, count slope·x.
    reached = slope**2 / weights * (counts + tails / weights)
    ends = reached >= budget[..., None]
    full = np.where(ends.any(axis=-1), np.argmax(ends, axis=-1), weights.shape[-1])
    tail = precision_without_largest(ordered, full)
    # tail·x² + slope·full·x = budget, by the form of the root that does not cancel.
    linear = slope * full
    return np.asarray(2.0 * budget / (linear + np.sqrt(linear**2 + 4.0 * tail * budget)))


def robust_vaee_bound(
    sigma: ArrayLike,
    dim: int,
    *,
    floors: bool = True,
    sigma_min: float | None = None,
    ridge: float = 1.0,
    norm_bound: float = 1.0,
    max_norm: float = 1.0,
    delta: float = 0.05,
    tau: float | None = None,
) -> Any:
    """The regret of VAEE for heavy tails is at most this with probability ``1 - 4·delta``; never above 2RA.

    In the form of the printed Theorem 1: no weights are clipped, as `vaee_bound` does.

    Args:
        sigma: The sigmas, ``(..., T)``.
        dim: Features.
        floors: Whether sigma is floored as the lemma's source needs it, ``m₁ = 1/(42·log(2T²/δ))`` and
            ``m₀ = 1``. False gives what the paper prints, which its source does not support.
        sigma_min: The smallest sigma that will ever come; default: the smallest of each row.
        ridge: λ.
        norm_bound: R.
        max_norm: A.
        delta: A quarter of the error probability.
        tau: τ₀, as in `robust_radius`.
    """
    array = checked_sigmas(sigma)
    rounds = array.shape[-1]
    if sigma_min is not None:
        array = np.maximum(array, check_positive("sigma_min", sigma_min))
    least = array.min(axis=-1)
    options: dict[str, Any] = {
        "delta": delta,
        "ridge": ridge,
        "norm_bound": norm_bound,
        "max_norm": max_norm,
        "tau": tau,
    }
    radii = np.reshape(
        [robust_radius(rounds, dim, sigma_min=float(one), **options) for one in np.ravel(least)], least.shape
    )
    budget = information_budget(array, dim, ridge=ridge, max_norm=max_norm)
    if floors:
        share = 1.0 / (42.0 * math.log(2.0 * rounds**2 / delta))
        slope = math.sqrt(share * dim) / (norm_bound * max_norm)
        level = floored_level(array, budget, slope)
    else:
        level = water_level(array, budget)
    return plain(np.minimum(2.0 * radii * level, 2.0 * norm_bound * max_norm))
