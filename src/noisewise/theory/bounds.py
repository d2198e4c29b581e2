"""Theorems 1 to 3, and the bound for heavy tails: how far the recommendation can be from the best."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noisewise.core.blocks import Floats
from noisewise.core.checks import check_choice, check_count, check_positive, check_probability
from noisewise.core.radius import make_radius
from noisewise.theory.levels import (
    LEAST_BUDGET,
    checked_budget,
    checked_sigmas,
    clipped_level,
    harmonic_level,
    information_budget,
    plain,
    precision_without_largest,
    total_precision,
    water_level,
    weights_of,
)

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
        return made.after(log_det, float(sigma.shape[-1]))

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


#: The u that maximises ``2u·Φ(-u)``, the root of ``Φ(-u) = u·φ(u)``; its value there is 0.33994.
SHARPEST = 0.7517915247


def lower_bound(sigma: ArrayLike, dim: int, *, norm_bound: float = 1.0, as_printed: bool = False) -> Any:
    """No algorithm has an expected regret below this on every problem ``{±1}^d/√d``, ``θ ∈ {±c}^d``.

    ``2u·Φ(-u)·d/√S`` with ``u = min(0.7518, R√S/d)``: the worst case over the scale c. Spreading evenly over
    orthogonal directions attains it. For Gaussian noise and sigmas that do not depend on the choices.

    Args:
        sigma: The sigmas, ``(..., T)``.
        dim: Features.
        norm_bound: R, what the norm of theta does not exceed.
        as_printed: ``(3/16)·d/√S``, which is true where ``S >= d²/(16·R²)``; elsewhere it may exceed
            what regret can be.
    """
    root = np.sqrt(total_precision(checked_sigmas(sigma)))
    check_count("dim", dim)
    check_positive("norm_bound", norm_bound)
    if as_printed:
        return plain(3.0 / 16.0 * dim / root)
    scale = np.minimum(SHARPEST, norm_bound * root / dim)
    return plain(family_regret(scale) * dim / root)


def family_regret(scale: ArrayLike) -> Any:
    """``2u·Φ(-u)``: the least possible regret on the family at scale u, in units of ``d/√S``."""
    u = np.asarray(scale, dtype=np.float64)
    tail = np.vectorize(lambda value: 0.5 * math.erfc(value / math.sqrt(2.0)), otypes=[np.float64])
    return plain(2.0 * u * tail(u))


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
    scales = {"ridge": ridge, "norm_bound": norm_bound, "max_norm": max_norm}
    radii = [
        robust_radius(rounds, dim, sigma_min=float(one), tau=tau, delta=delta, **scales)
        for one in np.ravel(least)
    ]
    budget = information_budget(array, dim, ridge=ridge, max_norm=max_norm)
    if floors:
        share = 1.0 / (42.0 * math.log(2.0 * rounds**2 / delta))
        slope = math.sqrt(share * dim) / (norm_bound * max_norm)
        level = floored_level(array, budget, slope)
    else:
        level = water_level(array, budget)
    return plain(np.minimum(2.0 * np.reshape(radii, least.shape) * level, 2.0 * norm_bound * max_norm))
