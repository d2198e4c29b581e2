"""Worlds of independent options that blocks or differences connect: values given what contrasts say.

Values are normal around a common mean with a spread τ. Within a connected part only differences are known,
and the level is anybody's guess. In the directions of the contrasts' covariance (1/s along each, the level
apart) prior and data fall apart into single numbers z with

    z  ~  N(0, τ²),      estimate of z  ~  N(z, 1/s),

so that evidence and posterior of each are at hand. The level of the largest part is a convention; those of
other parts and of options that were never measured are where the common mean says.
"""

import math
from typing import NamedTuple

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.study.log.measurements import Codes
from noisewise.study.models.connected_parts import Component
from noisewise.study.models.joint import NetworkJoint
from noisewise.study.models.spreads import Spreads


class _Contrasts(NamedTuple):
    """What is known within a connected part."""

    options: Codes
    level: float
    directions: Floats  # (options, options - 1)
    along: Floats  # (options - 1,): the estimates
    errors: Floats  # (options - 1,): their variances


def network_worlds(
    means: Floats, parts: list[tuple[Component, int]], spreads: Spreads, count: int, rng: np.random.Generator
) -> Floats:
    """Values of all options in ``count`` worlds, (count, n).

    Args:
        means: The estimates, (n,).
        parts: The connected parts, each with the node that is set to 0.
        spreads: Possible spreads of the options, and how likely each is.
        count: How many worlds.
        rng: Where chance comes from.
    """
    n = means.size
    known = sorted((_contrasts(n, part, root, means) for part, root in parts), key=lambda c: -c.options.size)
    squares = spreads.tau**2
    evidence = np.zeros(squares.size)
    for part in known:
        total = squares[:, None] + part.errors
        evidence -= 0.5 * (np.log(total) + part.along**2 / total).sum(axis=1)
    tau = spreads.tau[spreads.weighed(evidence).draw(rng, count)]
    home = known[0]
    centre = home.level + tau / math.sqrt(home.options.size) * rng.standard_normal(count)
    worlds = centre[:, None] + tau[:, None] * rng.standard_normal((count, n))
    for part in known:
        level = np.full(count, part.level)
        if part is not home:
            level = centre + tau / math.sqrt(part.options.size) * rng.standard_normal(count)
        kept = tau[:, None] ** 2 / (tau[:, None] ** 2 + part.errors)
        drawn = kept * part.along + np.sqrt(kept * part.errors) * rng.standard_normal(
            (count, part.errors.size)
        )
        worlds[:, part.options] = level[:, None] + drawn @ part.directions.T
    return worlds


def _contrasts(n: int, part: Component, root: int, means: Floats) -> _Contrasts:
    options = part.options
    covariance = NetworkJoint(n, part, root).columns(options)[options]
    # Without what all have in common: of each row its mean, and of each column.
    centred = covariance - covariance.mean(axis=0)
    centred = centred - centred.mean(axis=1, keepdims=True)
    # The level is made the largest direction, and left out.
    errors, directions = np.linalg.eigh(centred + 2.0 * float(np.trace(centred)) / options.size + 1e-300)
    errors, directions = np.maximum(errors[:-1], 0.0), directions[:, :-1]
    return _Contrasts(
        options, float(means[options].mean()), directions, directions.T @ means[options], errors
    )
