"""Confidence radii: the multiplier that turns a width into a bound, true at every moment at once."""

import math
from typing import NamedTuple

from noisewise.core.compiler.kernels import kernel
from noisewise.core.model.dense import LOG_DET, TOLD
from noisewise.core.model.model import Model
from noisewise.core.support.checks import check_choice, check_positive, check_probability

#: The radii by name, and the kind that each is; a number fixes it by hand.
RADII = ("mixture", "self-normalised", "paper")
MIXTURE, SELF_NORMALISED, PAPER, FIXED = range(4)


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


@kernel
def confidence_radius(radius: Radius, model: Model) -> float:
    """The radius after the measurements in ``model``.

    With probability at least 1 - delta, at all times, ``‖θ̂ - θ‖ <= radius`` in the norm of V, if the
    noise is sigma-sub-Gaussian given the past, the action and sigma (note 3 on the paper).
    """
    return radius_after(radius, model.tally[LOG_DET], model.tally[TOLD])


@kernel
def radius_after(radius: Radius, log_det: float, told: float) -> float:
    """The radius after ``told`` measurements that raised ``log det V`` by ``log_det``."""
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
    return radius.fixed
