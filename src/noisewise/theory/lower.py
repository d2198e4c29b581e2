"""Theorem 3: what no algorithm can beat on its hard family."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noisewise.core.support.checks import check_count, check_positive
from noisewise.theory.sigmas import checked_sigmas, plain, total_precision

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
