"""Noise that belongs to the action: factors of sigma, drawn with the instance in every replication."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.core.checks import check_choice, check_options, check_positive


class ActionNoise(Protocol):
    """``(vectors, theta, rng) -> (n,)``: each action's factor of the round's sigma."""

    def __call__(self, vectors: Floats, theta: Floats, rng: np.random.Generator) -> Floats:
        """The factors, in the order of the vectors."""


def spread_out(
    vectors: Floats, theta: Floats, rng: np.random.Generator, *, low: float = 0.1, high: float = 1.0
) -> Floats:
    """Factors whose logarithm is uniform between those of ``low`` and ``high``: some are easy to measure."""
    low, high = check_positive("low", low), check_positive("high", high)
    if low > high:
        raise ValueError(f"`low` must not exceed `high`; got {low!r} and {high!r}.")
    return np.exp(rng.uniform(np.log(low), np.log(high), len(vectors)))


def quiet_when_useless(
    vectors: Floats, theta: Floats, rng: np.random.Generator, *, quiet: float = 0.1
) -> Floats:
    """An adversary: ``quiet`` for the half of the actions that say least about the closest race, else 1.

    What an action says about the race between the best and the second best is the size of the cosine
    between it and their difference. A rule that runs after precision never stops measuring the wrong half.
    """
    check_positive("quiet", quiet)
    best, second = np.argsort(-(vectors @ theta), kind="stable")[:2]
    race = vectors[best] - vectors[second]
    lengths = np.linalg.norm(vectors, axis=1)
    use = np.round(np.abs(vectors @ race) / np.maximum(lengths, np.finfo(float).tiny), 9)
    factors = np.ones(len(vectors))
    factors[np.argsort(use, kind="stable")[: len(vectors) // 2]] = quiet
    return factors


#: By the name used on the command line.
NAMES: dict[str, Callable[..., Floats]] = {"spread-out": spread_out, "quiet-when-useless": quiet_when_useless}


@dataclass(frozen=True)
class NamedActionNoise:
    """One of the above by name with its options: what an environment takes, and a file can remember."""

    name: str
    options: dict[str, Any]

    def __call__(self, vectors: Floats, theta: Floats, rng: np.random.Generator) -> Floats:
        """The factors, in the order of the vectors."""
        return NAMES[self.name](vectors, theta, rng, **self.options)


def named(name: str, **options: Any) -> NamedActionNoise:
    """By name with its options, checked."""
    check_choice("action_noise", name, tuple(NAMES))
    given = dict.fromkeys(("vectors", "theta", "rng"))
    check_options("action_noise", name, NAMES[name], given | options)
    return NamedActionNoise(name, options)
