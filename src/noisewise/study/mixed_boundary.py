"""How far differences can be off in the model with deviations.

Let β be the weights and offsets, unknown but fixed, and d the deviations, drawn once from N(0, τ²) before
anything was measured. Errors are normal with the stated standard errors. A difference of two options is off
by two things.

**β.** With the deviations integrated out the measurements are normal around a linear function of β, so the
mixture of likelihood ratios is a martingale as in the linear model, with V the precision of β in the presence
of the deviations: one ellipsoid that holds at all times at once with probability 1 - δ₁, whatever the
deviations turn out to be.

**d.** Given β and everything measured so far, a difference of deviations is normal around its conditional
mean with a known variance s², whatever chose the measurements and the moment of stopping: choices look at
nothing but the past. The recommended option is chosen by the same past, so only its n - 1 comparisons must
hold: with probability 1 - δ₂ all deviations lie within z·s, where z is the normal quantile of δ₂/(n - 1).

The half-width is the sum of both parts, and δ₁ + δ₂ the error probability *at the moment of stopping*,
averaged over the deviations.
"""

import math
from statistics import NormalDist

import numpy as np

from noisewise.core.independent import quadratic_forms
from noisewise.core.model import Floats
from noisewise.study.boundary import COMPARING, LINEAR, grown
from noisewise.study.fit import Fit

#: The part of δ that belongs to β; the rest belongs to the deviations.
FIXED = 0.5


class MixedBoundary:
    """Half-widths of the differences between one option and all others."""

    def __init__(self, fit: Fit, delta: float, n_allowed: int, resolution: float) -> None:
        p = fit.covariance.shape[0] - fit.seats
        self._fixed = fit.covariance[:p, :p]
        # Deviations in the border follow β by regression, and scatter around it by what is left.
        follow = np.linalg.solve(self._fixed, fit.covariance[:p, p:]).T
        self._scatter = fit.covariance[p:, p:] - follow @ fit.covariance[:p, p:]
        self._seated = fit.loads[:, p:]
        self._loads = fit.loads[:, :p] + self._seated @ follow
        self._own = fit.own
        self._offsets = self._loads @ self._fixed[:, fit.dim :]  # what Λ multiplies, (n, offsets)
        self._within = quadratic_forms(self._loads, self._fixed)
        self._out = np.sum(self._offsets**2, axis=1)
        self._beside = quadratic_forms(self._seated, self._scatter)
        doubt = math.log(1.0 / (FIXED * COMPARING * delta))
        self._radii = []
        for tuning in LINEAR:
            big = tuning.elsewhere / resolution**2
            # Popoviciu, as in the linear model: ridge·‖θ‖² <= 1.
            radius = (
                2.0 * (doubt - math.log(tuning.share)) + grown(self._fixed, fit.dim, fit.ridge, big) + 1.0
            )
            self._radii.append((big, radius))
        share = (1.0 - FIXED) * COMPARING * delta / max(1, n_allowed - 1)
        self._quantile = -NormalDist().inv_cdf(share)

    def half_widths(self, option: int) -> Floats:
        """By how much each estimated difference to ``option`` can be off, (n,)."""
        variance = _apart(self._within, self._loads @ (self._fixed @ self._loads[option]), option)
        elsewhere = _apart(self._out, self._offsets @ self._offsets[option], option)
        squared = np.min([(variance + big * elsewhere) * radius for big, radius in self._radii], axis=0)
        own = self._own + self._own[option]
        if self._seated.shape[1]:
            shared = self._seated @ (self._scatter @ self._seated[option])
            own = own + _apart(self._beside, shared, option)
        half = np.asarray(np.sqrt(squared) + self._quantile * np.sqrt(own))
        half[option] = 0.0
        return half


def _apart(squares: Floats, shared: Floats, option: int) -> Floats:
    """The squared lengths of differences to one, from squared lengths and products with it."""
    return np.asarray(np.maximum(squares + squares[option] - 2.0 * shared, 0.0))
