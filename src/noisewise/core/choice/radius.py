"""Confidence radii: the multiplier that turns a width into a bound, true at every moment at once.

``"averaged"`` is the mixture with several priors N(0, 1/(fλ)) in place of one, λ being the ridge. Their
likelihood ratios against θ differ by a factor that does not depend on θ, so their average is a martingale
that is as good as the best of them but for its share: f need not fit the norm of θ. With V = λI + Σ aaᵀ/σ²
and κ the logarithm of the average at θ̂, Ville's inequality says

    ‖θ - θ̂‖² in the norm of V  <=  2·(log(1/δ) - κ) + λ·(norm_bound² - ‖θ̂‖²).

``"restarted"`` averages this martingale with others that begin later (`restarts.py`). What these say is no
ball around θ̂, so the radius is that of the first alone, with its share of δ: rules that need one number use
it, while bounds, candidates and stopping rules use all.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from noisewise.core.model.dense import LOG_DET, TOLD, Floats, theta
from noisewise.core.model.model import Model
from noisewise.core.model.vectors import covariance
from noisewise.core.support.checks import check_choice, check_positive, check_probability

#: The radii by name, and the kind that each is; a number fixes it by hand.
RADII = ("mixture", "self-normalised", "paper", "averaged", "restarted")
MIXTURE, SELF_NORMALISED, PAPER, AVERAGED, RESTARTED, FIXED = range(6)
#: Those that depend on what was measured, and on all features at once.
AVERAGES = (AVERAGED, RESTARTED)
#: The priors of the averaged radius: precision per direction in units of dim/norm_bound², and their shares.
SCALES, SCALE_SHARES = np.array([1.0, 4.0, 16.0, 64.0]), np.array([0.2, 0.35, 0.3, 0.15])
#: The part of δ that belongs to restarts.
RESTARTS = 1.0 / 3.0


class Radius(NamedTuple):
    """Which radius, and the numbers that go into it."""

    kind: int  # MIXTURE, ...
    fixed: float
    delta: float
    ridge: float
    norm_bound: float
    max_norm: float
    sigma_min: float
    rank: int
    doubt: float  # 2·log(1/delta)
    bias: float  # norm_bound·√ridge: how far the ridge pulls the estimate at most


def make_radius(
    radius: str | float,
    *,
    delta: float,
    ridge: float,
    norm_bound: float,
    max_norm: float,
    sigma_min: float | None,
    rank: int,
) -> Radius:
    """Check the options and gather the numbers."""
    check_probability("delta", delta)
    check_positive("ridge", ridge)
    check_positive("norm_bound", norm_bound)
    fixed = 0.0
    if isinstance(radius, str):
        kind = RADII.index(check_choice("radius", radius, RADII))
    else:
        kind, fixed = FIXED, check_positive("radius", radius)
    if sigma_min is not None:
        check_positive("sigma_min", sigma_min)
    elif kind == PAPER:
        raise ValueError(
            "`sigma_min` must be given with radius='paper': the smallest sigma that will ever be told; "
            "got None. (radius='mixture' has the same guarantee and does not need it.)"
        )
    return Radius(
        kind=kind,
        fixed=fixed,
        delta=float(delta),
        ridge=float(ridge),
        norm_bound=float(norm_bound),
        max_norm=max_norm,
        sigma_min=sigma_min or 0.0,
        rank=rank,
        doubt=2.0 * math.log(1.0 / delta),
        bias=norm_bound * math.sqrt(ridge),
    )


def confidence_radius(radius: Radius, model: Model) -> float:
    """The radius after the measurements in ``model``.

    With probability at least 1 - delta, at all times, ``‖θ̂ - θ‖ <= radius`` in the norm of V, if the
    noise is sigma-sub-Gaussian given the past, the action and sigma (note 3 on the paper).
    """
    if radius.kind == AVERAGED or radius.kind == RESTARTED:
        return averaged_radius(radius, model)
    return radius_after(radius, model.tally[LOG_DET], model.tally[TOLD])


def averaged_radius(radius: Radius, model: Any) -> float:
    """The radius of the average over `SCALES`; actions are vectors (`make_setting` refuses others)."""
    return averaged_over_scales(radius, theta(model), covariance(model), model.tally[LOG_DET])


def averaged_over_scales(radius: Radius, estimate: Floats, spread: Floats, log_det: float) -> float:
    """The averaged radius around an estimate whose covariance and information are these."""
    average = averaged_at_estimate(radius, estimate, spread, log_det)
    if radius.kind == RESTARTED:
        average += math.log(1.0 - RESTARTS)
    excess = radius.ridge * np.dot(estimate, estimate) - radius.bias * radius.bias
    # An estimate that the norm bound contradicts makes the region no smaller than a single number has it.
    return math.sqrt(max(radius.doubt - 2.0 * average - excess, radius.doubt))


def averaged_at_estimate(radius: Radius, estimate: Floats, spread: Floats, log_det: float) -> float:
    """κ, the logarithm of the average over `SCALES` at θ̂.

    In the directions of the covariance let j² be λ times its eigenvalues, the information 1/j² - 1 ridges.
    The prior with f ridges has in its logarithm at θ̂ ``½·Σ λθ̂²·(j² - f(1 + j²))/(1 + (f - 1)j²)``, less half
    of ``log det(I + (V - λ)/(fλ))``: no term cancels, however well a direction is known.
    """
    squares, directions = np.linalg.eigh(radius.ridge * spread)
    squares = np.maximum(squares, 0.0)
    along = radius.ridge * np.dot(directions.T, estimate) ** 2
    dim, most = estimate.size, radius.bias * radius.bias
    logs = np.empty(SCALES.size)
    for k in range(SCALES.size):
        f = SCALES[k] * max(1, radius.rank) / most
        grown = 1.0 + (f - 1.0) * squares
        fitted = (along * (squares - f * (1.0 + squares)) / grown).sum()
        learned = log_det + np.log(grown).sum() - dim * math.log(f)
        logs[k] = math.log(SCALE_SHARES[k]) + 0.5 * (fitted - learned)
    top = logs.max()
    return float(top + math.log(np.exp(logs - top).sum()))


def radius_after(radius: Radius, log_det: float, told: float) -> float:
    """The radius after ``told`` measurements that raised ``log det V`` by ``log_det``.

    The averaged ones depend on what was measured as well: they are infinite here.
    """
    information, bias = log_det + radius.doubt, radius.bias
    if radius.kind == MIXTURE:
        # Likelihood-ratio martingale with prior N(0, I/ridge), then Ville's inequality.
        return math.sqrt(information + bias * bias)
    if radius.kind == SELF_NORMALISED:
        return bias + math.sqrt(information)
    if radius.kind == PAPER:
        # The paper's confidence lemma, with norm bounds other than 1 allowed.
        rounds = max(1.0, told)
        rank = max(1, radius.rank)
        spread = rounds * (radius.max_norm / radius.sigma_min) ** 2 / (rank * radius.ridge)
        return 2.0 * bias + 16.0 * math.sqrt(
            math.log(4.0 * rounds * rounds / radius.delta) * rank * math.log1p(spread)
        )
    return radius.fixed if radius.kind == FIXED else math.inf
