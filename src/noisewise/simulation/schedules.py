"""Schedules: the sigmas (standard deviations) of a simulated world's rounds, as arrays.

The first four are those of the paper's Table 2, exactly as it writes them. Random ones take ``rng``, so
that each can be handed to an `Environment` and be drawn afresh for every replication.
"""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.core.checks import check_choice, check_count, check_number, check_options, check_positive

Schedule = Callable[[int, np.random.Generator], Floats]


def fast_decaying(horizon: int, rng: np.random.Generator | None = None) -> Floats:
    """``σ_t² = 1/t²``."""
    return 1.0 / _rounds(horizon)


def flat(horizon: int, dim: int) -> Floats:
    """``σ_t² = 1/dim``."""
    return np.full(check_count("horizon", horizon), 1.0 / math.sqrt(check_count("dim", dim)))


def moderate_spikes(horizon: int, rng: np.random.Generator | None = None, *, share: float = 0.3) -> Floats:
    """``σ_t² = T^(-1/3)`` for the first ``share`` of the rounds, 1 after."""
    _check_share(share)
    quiet = _rounds(horizon) <= share * horizon * (1.0 + 1e-12)
    return np.where(quiet, horizon ** (-1.0 / 6.0), 1.0)


def front_loaded(horizon: int, rng: np.random.Generator | None = None) -> Floats:
    """``σ_t² = min(1/2, 1/t²)`` up to round ``T^(4/5)``, 1/2 after."""
    rounds = _rounds(horizon)
    early = rounds <= horizon**0.8 * (1.0 + 1e-12)
    return np.sqrt(np.where(early, np.minimum(0.5, rounds**-2.0), 0.5))


def window(
    horizon: int,
    rng: np.random.Generator | None = None,
    *,
    start: int,
    length: int,
    inside: float,
    outside: float = 1.0,
) -> Floats:
    """``inside`` for ``length`` rounds from round ``start`` (the first is 0), ``outside`` elsewhere."""
    check_count("start", start, least=0)
    check_count("length", length, least=0)
    sigma = np.full(check_count("horizon", horizon), check_positive("outside", outside))
    sigma[start : start + length] = check_positive("inside", inside)
    return sigma


def log_uniform(
    horizon: int, rng: np.random.Generator | None = None, *, low: float = 1e-2, high: float = 1.0
) -> Floats:
    """Sigmas whose logarithm is uniform between those of ``low`` and ``high``."""
    low, high = check_positive("low", low), check_positive("high", high)
    if low > high:
        raise ValueError(f"`low` must not exceed `high`; got {low!r} and {high!r}.")
    exponents = _generator(rng).uniform(math.log(low), math.log(high), check_count("horizon", horizon))
    return np.exp(exponents)


def rare_quiet(
    horizon: int,
    rng: np.random.Generator | None = None,
    *,
    share: float = 0.02,
    quiet: float = 1e-2,
    loud: float = 1.0,
) -> Floats:
    """Each round is ``quiet`` with probability ``share`` and ``loud`` otherwise."""
    _check_share(share)
    lucky = _generator(rng).random(check_count("horizon", horizon)) < share
    return np.where(lucky, check_positive("quiet", quiet), check_positive("loud", loud))


#: The schedules by the name used on the command line.
NAMES: dict[str, Callable[..., Floats]] = {
    "fast-decaying": fast_decaying,
    "flat": flat,
    "moderate-spikes": moderate_spikes,
    "front-loaded": front_loaded,
    "window": window,
    "log-uniform": log_uniform,
    "rare-quiet": rare_quiet,
}


@dataclass(frozen=True)
class NamedSchedule:
    """A schedule by name with its options: what an environment takes, and a file can remember."""

    name: str
    options: dict[str, Any]

    def __call__(self, horizon: int, rng: np.random.Generator | None) -> Floats:
        """The sigmas of ``horizon`` rounds."""
        function = NAMES[self.name]
        random = {"rng": rng} if "rng" in inspect.signature(function).parameters else {}
        return function(horizon, **random, **self.options)


def named(name: str, **options: Any) -> NamedSchedule:
    """A schedule by name with its options.

    Example:
        >>> named("flat", dim=4)(3, None).tolist()
        [0.5, 0.5, 0.5]
    """
    check_choice("schedule", name, tuple(NAMES))
    check_options("schedule", name, NAMES[name], options)
    return NamedSchedule(name, options)


def _rounds(horizon: int) -> Floats:
    return np.arange(1.0, check_count("horizon", horizon) + 1.0)


def _check_share(share: float) -> None:
    if not 0.0 <= check_number("share", share) <= 1.0:
        raise ValueError(f"`share` must lie between 0 and 1; got {share!r}.")


def _generator(rng: np.random.Generator | None) -> np.random.Generator:
    return np.random.default_rng(0) if rng is None else rng
