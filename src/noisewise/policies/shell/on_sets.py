"""How a rule runs on a set that is known through its oracle: choose, learn, remember, advise.

To a rule such a set looks like a set of one action, the vector that is spoken of: its `absorb`, `imagine` and
`radius` are used as they are. What it would choose, it says by an aim: a direction and a reach, for the
set to find the action with the largest ``<direction, a> + reach·‖a‖``.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from noisewise.core.choice.selection import TIE, Mask
from noisewise.core.model.dense import Floats, theta, total_precision
from noisewise.core.model.vectors import covariance, place

#: Certificates kept at most, one per doubling of the total precision.
MOST_KEPT = 64
# What the tally of a memory counts.
KEPT = 0
DUE = 1


def no(params: Any) -> bool:
    """What most rules answer to questions about their options."""
    return False


def weighted_estimate(params: Any, state: Any) -> Floats:
    """The parameter that most rules believe in: that of the model."""
    return theta(state.model)


@dataclass(frozen=True)
class OnSets:
    """What a rule declares to run on sets that answer questions, such as a ball."""

    aim: Callable[[Any, Any, Floats, Floats], float]
    """``(params, state, draws, direction) -> reach``; writes the direction."""
    random: bool = False
    """Whether ``draws`` holds standard normal numbers, one per feature."""
    eliminates: bool = False
    """Whether an action that was ruled out once stays so."""
    among_candidates: Callable[[Any], bool] = no
    """``(params)``: whether only actions that may still be the best are measured."""
    recommends_last: Callable[[Any], bool] = no
    """``(params)``: whether the action measured last is recommended, while it is a candidate."""
    parameter: Callable[[Any, Any], Floats] = weighted_estimate
    """``(params, state) -> (dim,)``: the estimate."""


class CertificateMemory(NamedTuple):
    """Certificates of the past: what each of them ruled out stays ruled out."""

    parameters: Floats  # (K, dim)
    covariances: Floats  # (K, dim, dim)
    radii: Floats  # (K,)
    advice: Floats  # (K, dim): the action then recommended, with which all others are compared
    tally: Floats  # (2,): how many were kept, and the total precision at which the next is due


class SetState(NamedTuple):
    """The state of a rule on a set of vectors."""

    inner: Any  # the rule's own, whose model has one column: the vector spoken of
    memory: CertificateMemory
    last: Floats  # (dim,): measured last; NaN before the first

    @property
    def model(self) -> Any:
        """What is known."""
        return self.inner.model


def own_slot(inner: Any) -> Any:
    """The rule's state with a column of its own to speak of vectors: states share theirs otherwise."""
    return inner._replace(model=inner.model._replace(columns=np.zeros_like(inner.model.columns)))


def new_state(on_sets: OnSets, inner: Any) -> SetState:
    """The state before any measurement."""
    dim = inner.model.pivots.size
    kept = MOST_KEPT if on_sets.eliminates else 0
    memory = CertificateMemory(
        parameters=np.zeros((kept, dim)),
        covariances=np.zeros((kept, dim, dim)),
        radii=np.zeros(kept),
        advice=np.zeros((kept, dim)),
        tally=np.zeros(2),
    )
    return SetState(own_slot(inner), memory, np.full(dim, np.nan))


def not_ruled_out(parameter: Floats, spread: Floats, radius: float, advice: Floats, points: Floats) -> Mask:
    """Which points a certificate lets be better than ``advice``, or equal to it, (n,).

    ``<θ̂, a - advice> + radius·‖a - advice‖ >= 0``; up to rounding, so that advice is always among them.
    """
    away = points - advice
    squares = np.dot(np.dot(away, spread) * away, np.ones(advice.size))
    reach = radius * np.sqrt(np.maximum(squares, 0.0))
    leads = np.dot(away, parameter)
    alive: Mask = ~(leads + reach < -TIE * (np.abs(leads) + reach))
    return alive


def remembered(memory: CertificateMemory, points: Floats) -> Mask:
    """Which points no certificate of the past ruled out, (n,)."""
    alive = np.ones(len(points), np.bool_)
    for k in range(min(int(memory.tally[KEPT]), memory.radii.size)):
        alive &= not_ruled_out(
            memory.parameters[k], memory.covariances[k], memory.radii[k], memory.advice[k], points
        )
    return alive


def advise(largest: Any, shape: Any, memory: CertificateMemory, parameter: Floats, out: Floats) -> None:
    """The best action for the estimate; if it was ruled out, the best of those advised before."""
    dim = parameter.size
    largest(shape, parameter, np.zeros((dim, dim)), 0.0, out)
    if memory.tally[KEPT] == 0.0 or remembered(memory, out.reshape((1, dim)))[0]:
        return
    # The advice at the newest kept certificate passed all of them, so there is always one.
    most = -np.inf
    for k in range(min(int(memory.tally[KEPT]), memory.radii.size)):
        mean = np.dot(memory.advice[k], parameter)
        if mean > most and remembered(memory, memory.advice[k].copy().reshape((1, dim)))[0]:
            most = mean
            out[:] = memory.advice[k]


def keep(memory: CertificateMemory, parameter: Floats, spread: Floats, radius: float, advice: Floats) -> None:
    """Remember a certificate, in the place of the oldest if there are too many."""
    k = int(memory.tally[KEPT]) % memory.radii.size
    memory.parameters[k][:] = parameter
    memory.covariances[k][:] = spread
    memory.radii[k] = radius
    memory.advice[k][:] = advice
    memory.tally[KEPT] += 1.0


def learn_vector(
    absorb: Any, params: Any, state: SetState, vector: Floats, reward: float, sigma: float
) -> None:
    """Learn one measurement of a vector."""
    place(state.inner.model, vector)
    absorb(params, state.inner, 0, reward, sigma)
    state.last[:] = vector


def keep_if_due(radius: Any, estimate: Any, largest: Any, params: Any, shape: Any, state: SetState) -> None:
    """Keep a certificate whenever the total precision has doubled."""
    inner, memory = state.inner, state.memory
    if memory.radii.size == 0 or total_precision(inner.model) < memory.tally[DUE]:
        return
    memory.tally[DUE] = 2.0 * total_precision(inner.model)
    parameter = estimate(params, inner)
    advice = np.empty(parameter.size)
    advise(largest, shape, memory, parameter, advice)
    keep(memory, parameter, covariance(inner.model), radius(params, inner), advice)


def recommends(largest: Any, shape: Any, state: SetState, last: bool, parameter: Floats, out: Floats) -> None:
    """The action to take if measuring stops now."""
    if (
        last
        and not math.isnan(state.last[0])
        and remembered(state.memory, state.last.reshape((1, out.size)))[0]
    ):
        out[:] = state.last
    else:
        advise(largest, shape, state.memory, parameter, out)
