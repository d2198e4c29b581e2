"""Designs for all differences at once: the smallest expected maximum of the noise of differences.

``γ = min over shares of E[max over z, z' of <z - z', A^(-1/2) g>]²`` with g standard normal: how far the best
of many differences is off, where `transductive_design` looks at one at a time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from noisewise.designs.algebra import Floats

#: Normal vectors that the expectation is averaged over, and as many mirrored ones; the same for all designs.
DRAWS = 128
MOST_STEPS = 60
#: The width counts as found when ten steps lower it by less than this share.
CLOSE = 3e-3


class WidthDesign(NamedTuple):
    """Shares of all actions, and γ under them."""

    shares: Floats  # (n,)
    width: float


def width_design(vectors: Any, targets: Any, start: Floats | None = None) -> WidthDesign:
    """Shares of measuring ``vectors`` under which the largest error of a difference of ``targets`` is least.

    By multiplicative steps on common draws: with ``u ~ N(0, A⁻¹)`` and y the difference that u favours
    most, the width ``f = E<y, u>`` has derivatives ``-½·E[<a, u>·<a, A⁻¹y>]``, whose mean over the shares
    is ``-f/2``.
    """
    rows, aims = np.asarray(vectors, dtype=np.float64), np.asarray(targets, dtype=np.float64)
    # In the coordinates of what the actions span.
    _, values, right = np.linalg.svd(rows, full_matrices=False)
    basis = right[values > 1e-10 * values[0]]
    rows, aims = rows @ basis.T, aims @ basis.T
    half = np.random.default_rng(0).standard_normal((DRAWS, rows.shape[1]))
    normals = np.concatenate([half, -half])
    shares = np.full(len(rows), 1.0 / len(rows)) if start is None else start.copy()
    best, last = WidthDesign(shares, np.inf), np.inf
    for step in range(MOST_STEPS):
        width, slopes = _width_and_slopes(rows, aims, shares, normals)
        if width < best.width:
            best = WidthDesign(shares, width)
        if step % 10 == 9:
            if width > (1.0 - CLOSE) * last:
                break
            last = width
        # Widths squared are of degree -1 in the shares, where this power descends.
        shares = shares * np.sqrt(slopes)
        shares /= shares.sum()
    return WidthDesign(best.shares, best.width**2)


def _width_and_slopes(rows: Floats, aims: Floats, shares: Floats, normals: Floats) -> tuple[float, Floats]:
    """The expected maximum, and by what factor each share should grow; their mean over the shares is 1."""
    moment = (rows * shares[:, None]).T @ rows
    moment.flat[:: len(moment) + 1] += 1e-12 * np.trace(moment) / len(moment)
    root = np.linalg.inv(np.linalg.cholesky(moment))
    noise = normals @ root  # (draws, rank), covariance A⁻¹
    scores = noise @ aims.T
    favoured = aims[scores.argmax(axis=1)] - aims[scores.argmin(axis=1)]
    together = noise.T @ favoured / len(noise)
    width = float(np.trace(together))
    slopes = ((rows @ (together @ root.T @ root)) * rows).sum(axis=1)
    return width, np.maximum(1e-12, slopes / width)
