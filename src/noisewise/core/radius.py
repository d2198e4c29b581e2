"""Confidence radii: the multiplier β that turns a width into a bound, true at every moment at once.

With probability at least 1 - δ, at all times, ``‖θ̂ - θ‖ <= β`` in the norm of V, if the noise is
sigma-sub-Gaussian given the past, the action and sigma (note 3 on the paper). With B the norm bound, λ the
ridge and ``I = log det V - d·log λ``:

- mixture: ``β² = I + 2·log(1/δ) + λB²``, the likelihood ratio against N(0, 1/λ) and Ville's inequality;
- self-normalised: ``β = √(I + 2·log(1/δ)) + √λ·B``;
- paper: as the paper's confidence lemma prints it, with norm bounds other than 1 allowed;
- averaged: the mixture with several priors N(0, 1/(fλ)). Their likelihood ratios against θ differ by a factor
  that does not depend on θ, so their average is a martingale that is as good as the best of them but for its
  share: f need not fit the norm of θ. With κ the logarithm of the average at θ̂,
  ``‖θ - θ̂‖² <= 2·(log(1/δ) - κ) + λ·(B² - ‖θ̂‖²)`` in the norm of V;
- restarted: averages this martingale with others that begin later (`restarts.py`). Together they give no ball
  around θ̂, so the radius is that of the first alone, with its share of δ: rules that need one number use it,
  while bounds, candidates and stopping rules use all.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from noisewise.core.any_model import LOG_DET, TOLD
from noisewise.core.blocks import Floats
from noisewise.core.checks import check_choice, check_positive, check_probability
from noisewise.core.model import covariance, theta

#: The priors of the averaged radius: precision per direction in units of dim/norm_bound², and their shares.
SCALES, SCALE_SHARES = np.array([1.0, 4.0, 16.0, 64.0]), np.array([0.2, 0.35, 0.3, 0.15])
#: The part of δ that belongs to restarts.
RESTARTS = 1.0 / 3.0


@dataclass(frozen=True)
class Radius:
    """What is known before anything is measured; its kinds say what follows after measurements."""

    delta: float
    ridge: float
    norm_bound: float  # of theta
    max_norm: float  # of the actions
    rank: int
    sigma_min: float  # 0 if it is not known

    @cached_property
    def doubt(self) -> float:
        """``2·log(1/delta)``."""
        return 2.0 * math.log(1.0 / self.delta)

    @cached_property
    def bias(self) -> float:
        """``√ridge·norm_bound``: how far the ridge pulls the estimate at most."""
        return self.norm_bound * math.sqrt(self.ridge)

    @cached_property
    def squared_bias(self) -> float:
        """``ridge·norm_bound²``."""
        return self.bias * self.bias

    @property
    def largest_gap(self) -> float:
        """No two actions differ by more, whatever is measured."""
        return 2.0 * self.norm_bound * self.max_norm

    def at(self, model: Any) -> float:
        """The radius after the measurements in a model."""
        return self.after(model.tally.item(LOG_DET), model.tally.item(TOLD))

    def after(self, log_det: float, told: float) -> float:
        """The radius after ``told`` measurements that raised ``log det V`` by ``log_det``."""
        raise NotImplementedError


class Mixture(Radius):
    """The tightest of equal guarantee that depends on nothing but the information."""

    def at(self, model: Any) -> float:
        """It needs no count."""
        return self.after(model.tally.item(LOG_DET), 0.0)

    def after(self, log_det: float, told: float) -> float:
        """``√(I + 2·log(1/δ) + λB²)``."""
        return math.sqrt(log_det + self.doubt + self.squared_bias)


class SelfNormalised(Radius):
    """The classic one, from the triangle inequality."""

    def after(self, log_det: float, told: float) -> float:
        """``√(I + 2·log(1/δ)) + √λ·B``."""
        return self.bias + math.sqrt(log_det + self.doubt)


class Paper(Radius):
    """The paper's confidence lemma."""

    def after(self, log_det: float, told: float) -> float:
        """``2√λ·B + 16·√(log(4t²/δ)·d·log(1 + tA²/(dλσ_min²)))``."""
        rounds, rank = max(1.0, told), max(1, self.rank)
        spread = rounds * (self.max_norm / self.sigma_min) ** 2 / (rank * self.ridge)
        inside = math.log(4.0 * rounds * rounds / self.delta) * rank * math.log1p(spread)
        return 2.0 * self.bias + 16.0 * math.sqrt(inside)


class Averaged(Radius):
    """The mixture over several priors, smaller where theta is well within its norm bound."""

    own_share = 0.0  # the logarithm of its share of δ

    def at(self, model: Any) -> float:
        """It depends on the estimate; actions must be vectors."""
        estimate = theta(model)
        average = averaged_at_estimate(self, estimate, covariance(model), model.tally.item(LOG_DET))
        excess = self.ridge * np.dot(estimate, estimate) - self.bias * self.bias
        # An estimate that the norm bound contradicts makes the region no smaller than a single number has it.
        return math.sqrt(max(self.doubt - 2.0 * (average + self.own_share) - excess, self.doubt))

    def after(self, log_det: float, told: float) -> float:
        """Not known without the estimate."""
        return math.inf


class RestartedBall(Averaged):
    """The part of it that is a ball around the estimate."""

    own_share = math.log(1.0 - RESTARTS)


@dataclass(frozen=True)
class GivenRadius(Radius):
    """A number given by hand; the certificate is right if the number is."""

    value: float

    def after(self, log_det: float, told: float) -> float:
        """The number, at all times."""
        return self.value


RADII: dict[str, type[Radius]] = {
    "mixture": Mixture,
    "self-normalised": SelfNormalised,
    "paper": Paper,
    "averaged": Averaged,
    "restarted": RestartedBall,
}


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
    known = {"delta": float(delta), "ridge": float(ridge), "norm_bound": float(norm_bound)}
    known |= {"max_norm": max_norm, "sigma_min": sigma_min or 0.0}
    if not isinstance(radius, str):
        return GivenRadius(**known, rank=rank, value=check_positive("radius", radius))
    check_choice("radius", radius, tuple(RADII))
    if sigma_min is not None:
        check_positive("sigma_min", sigma_min)
    elif radius == "paper":
        raise ValueError(
            "`sigma_min` must be given with radius='paper': the smallest sigma that will ever be told; "
            "got None. (radius='mixture' has the same guarantee and does not need it.)"
        )
    return RADII[radius](**known, rank=rank)


def averaged_at_estimate(limits: Radius, estimate: Floats, spread: Floats, log_det: float) -> float:
    """κ, the logarithm of the average over `SCALES` at θ̂.

    In the directions of the covariance let j² be λ times its eigenvalues, the information 1/j² - 1 ridges.
    The prior with f ridges has in its logarithm at θ̂ ``½·Σ λθ̂²·(j² - f(1 + j²))/(1 + (f - 1)j²)``, less half
    of ``log det(I + (V - λ)/(fλ))``: no term cancels, however well a direction is known.
    """
    squares, directions = np.linalg.eigh(limits.ridge * spread)
    squares = np.maximum(squares, 0.0)
    along = limits.ridge * np.dot(directions.T, estimate) ** 2
    dim, most = estimate.size, limits.bias * limits.bias
    logs = np.empty(SCALES.size)
    for k in range(SCALES.size):
        f = SCALES[k] * max(1, limits.rank) / most
        grown = 1.0 + (f - 1.0) * squares
        fitted = (along * (squares - f * (1.0 + squares)) / grown).sum()
        learned = log_det + np.log(grown).sum() - dim * math.log(f)
        logs[k] = math.log(SCALE_SHARES[k]) + 0.5 * (fitted - learned)
    top = logs.max()
    return float(top + math.log(np.exp(logs - top).sum()))
