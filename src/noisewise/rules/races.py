"""What VAGE books and looks at: ledgers, the noise so far, and races.

**Races.** The leader against its closest rivals, and what each counts. **Ledgers** keep the widest actions'
share, of the precision and of the credit. **The noise to come** is predicted from what an action's own
measurements were like, and from those of all actions: in most worlds noise belongs to the round (the day, the
instrument, the sample size), and an action's history says nothing about it; in others it belongs to the
action. An analysis of variance of ``log σ²`` tells which world it is, and how far to believe an action's own
history; time trends are taken out first, or whatever was measured early would look noisy.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.core.any_model import AnyModel
from noisewise.core.blocks import Floats, Mask
from noisewise.core.model import CANCELLED, contrast_widths, squared_covariances
from noisewise.core.native.verbs import verb
from noisewise.core.selection import ROUNDING, TIE, first_largest

#: Rounds over which the running level forgets: trends are slower, an action's turns are faster.
MEMORY = 20.0
#: Standard errors by which actions must differ before they are believed to: rare quiet rounds are far from
#: normal, and a wrong belief sends measurements to actions that were lucky.
CAUTION = 8.0
#: Repetitions, over all actions, below which nothing is judged.
FEWEST_REPEATS = 10.0

# What the tally holds.
LEVEL = 0  # the running level of log σ²
TOLD = 1
SUM = 2  # of the residuals, log σ² minus the level before it
SQUARES = 3
BETWEEN = 4  # Σ over actions of (sum of residuals)²/count
ACTIONS = 5  # measured at least once
PAIRS = 6  # Σ over actions of count²
DIFFER = 7  # 1 while actions are believed to differ


class NoiseHistory(NamedTuple):
    """What the sigmas told so far say about those to come."""

    counts: Floats  # (n,)
    residuals: Floats  # (n,): sums of log σ² minus the running level
    precisions: Floats  # (n,): Σ 1/σ²
    relative: Floats  # (n,): an action's variance over that of an average action
    tally: Floats  # (8,): what the names above say


def new_history(n: int) -> NoiseHistory:
    """Before any measurement all actions are alike."""
    return NoiseHistory(np.zeros(n), np.zeros(n), np.zeros(n), np.ones(n), np.zeros(8))


def observe(history: NoiseHistory, action: int, sigma: float) -> None:
    """Book one sigma, in place, and judge afresh how much actions differ."""
    tally, counts, residuals = history.tally, history.counts, history.residuals
    value = 2.0 * math.log(sigma)
    if tally[TOLD] == 0.0:
        tally[LEVEL] = value
    residual = value - tally[LEVEL]
    count, total = counts[action], residuals[action]
    before = total * total / count if count > 0.0 else 0.0
    counts[action], residuals[action] = count + 1.0, total + residual
    tally[BETWEEN] += residuals[action] ** 2 / counts[action] - before
    tally[ACTIONS] += 1.0 if count == 0.0 else 0.0
    tally[PAIRS] += 2.0 * count + 1.0
    tally[TOLD] += 1.0
    tally[SUM] += residual
    tally[SQUARES] += residual * residual
    history.precisions[action] += 1.0 / (sigma * sigma)
    compare_actions(history)
    # What belongs to the action must not move the level of the round.
    tally[LEVEL] += (residual - math.log(history.relative[action])) / min(tally[TOLD], MEMORY)


def compare_actions(history: NoiseHistory) -> None:
    """Analysis of variance: set ``relative`` to what the actions' own histories are worth."""
    tally = history.tally
    told, groups = tally[TOLD], tally[ACTIONS]
    freedom, between = told - groups, 0.0
    if groups >= 2.0 and freedom >= FEWEST_REPEATS:
        within = max(0.0, tally[SQUARES] - tally[BETWEEN]) / freedom
        spread = max(0.0, tally[BETWEEN] - tally[SUM] ** 2 / told) / (groups - 1.0)
        # Without any difference spread/within has mean 1 and about this standard error.
        doubt = 1.0 + CAUTION * math.sqrt(2.0 / (groups - 1.0) + 2.0 / freedom)
        between = (spread - doubt * within) * (groups - 1.0) / (told - tally[PAIRS] / told)
    if between > 1e-6:
        # The mean of `count` residuals has variance between + within/count around the common mean.
        prior = within / between
        shrunk = (history.residuals - history.counts * tally[SUM] / told) / (history.counts + prior + 1e-9)
        history.relative[:] = np.exp(shrunk)
        tally[DIFFER] = 1.0
    elif tally[DIFFER] > 0.0:
        history.relative[:] = 1.0
        tally[DIFFER] = 0.0


def average_variance(history: NoiseHistory) -> float:
    """The variance whose weight is the mean weight told so far, of an action with ``relative`` 1."""
    told = history.tally[TOLD]
    if told == 0.0:
        return 1.0
    if history.tally[DIFFER] > 0.0:
        return float(told / (history.precisions * history.relative).sum())
    return float(told / history.precisions.sum())


# What the ledgers hold: all, and what went to an action that was the widest at the time; and Σw²/(Σw)², which
# is one over the number of equal measurements that would be as even as those made.
PRECISION, PRECISION_TO_WIDEST, CREDIT, CREDIT_TO_WIDEST, CONCENTRATION = range(5)
#: The widest actions' share of the precision while few rounds carry it all.
ROUGH_SHARE = 0.2


def are_due(ledgers: Floats, share: float, rank: int) -> bool:
    """Whether the widest actions hold at most their share of the precision, or of the credit."""
    # Numbers of Python's own: those of NumPy take three times as long to multiply.
    precision, credit = float(ledgers[PRECISION]), float(ledgers[CREDIT])
    rough = share_of_precision(ledgers, share, rank)
    return bool(
        ledgers[PRECISION_TO_WIDEST] <= rough * precision * (1.0 + TIE)
        or ledgers[CREDIT_TO_WIDEST] <= share * credit * (1.0 + TIE)
    )


def share_of_precision(ledgers: Floats, share: float, rank: int) -> float:
    """ρ, or more while few rounds carry the precision: ``(dim/2)·Σw²/(Σw)²``, at most a fifth.

    After a handful of measurements that count, a leader means little, and the next one that counts
    would be lost on it.
    """
    return max(share, min(ROUGH_SHARE, 0.5 * rank * float(ledgers[CONCENTRATION])))


@verb
def book(model: AnyModel, ledgers: Floats, noise: NoiseHistory, action: int, sigma: float) -> None:
    """Enter one measurement in both ledgers and in the history of the noise, before it is learnt."""
    enter(ledgers, model.squared_widths.max(), model.squared_widths[action], sigma)
    observe(noise, action, sigma)


def enter(ledgers: Floats, largest: float, own: float, sigma: float) -> None:
    """Enter one measurement in both ledgers: the largest squared width there is, and that of its action."""
    precision = 1.0 / (sigma * sigma)
    credit = min(1.0, largest * precision)
    # In shares: squares of the precisions themselves would overflow.
    part = precision / (ledgers[PRECISION] + precision)
    ledgers[CONCENTRATION] = ledgers[CONCENTRATION] * (1.0 - part) ** 2 + part * part
    ledgers[PRECISION] += precision
    ledgers[CREDIT] += credit
    if own >= largest * (1.0 - TIE):
        ledgers[PRECISION_TO_WIDEST] += precision
        ledgers[CREDIT_TO_WIDEST] += credit


Rows = NDArray[np.int64]

#: How many races are looked at; with the first alone, a quiet round may settle a race and the leader, which
#: is in all of them, stay unknown.
RACES = 4
#: A race that is behind the closest by this share of its reach counts 1/e of it.
BEHIND = 0.25
#: A race that counts less is left out.
NEGLIGIBLE = 0.01


@verb
def closest_races(
    model: AnyModel,
    candidates: Mask,
    leader: int,
    reach: float,
    rivals: Rows,
    weights: Floats,
) -> None:
    """Find the candidates that may be furthest above the leader, and what each race counts.

    By the largest ``slack_k - lead_k``, where the lead is ``<θ̂, b - a_k>`` and the slack ``reach·‖a_k -
    b‖``. If every rival is beaten by more than that, the reach grows until the closest is not: then the rival
    that is beaten least surely comes first. A copy of the leader is as good as the leader: their difference
    is rounding, and no race. Weights fall with what a race is behind the closest,
    ``e^(-behind/(BEHIND·slack))``.

    Args:
        model: What is known.
        candidates: Which actions may be rivals.
        leader: Whose rivals.
        reach: How many widths of a difference a rival is given.
        rivals: Room for RACES rows, the closest first.
        weights: Room for what each race counts; 0 from where there are no more.
    """
    rivals[:], weights[:] = leader, 0.0
    widths, means, best = _rival_widths(model, candidates, leader), model.means, float(model.means[leader])
    among = np.flatnonzero(widths > 0.0)
    if not among.size:
        return
    reach = max(reach, float(((best - means[among]) / widths[among]).min()))
    upper = reach * widths[among] + means[among]
    # Of what the strongest rival is given, and for rounding in the two means.
    slack = float(reach * widths[among][upper >= upper.max()].max())
    tolerance = TIE * slack + ROUNDING * (abs(upper.max() - slack) + abs(best))
    for j in range(min(RACES, among.size)):
        place = int(np.argmax(upper >= upper.max() - tolerance))
        if j == 0:
            first, slack = float(upper[place]), float(reach * widths[among[place]])
        weight = math.exp(-(first - upper[place]) / (BEHIND * slack))
        if weight < NEGLIGIBLE:
            break
        rivals[j], weights[j], upper[place] = among[place], weight, -np.inf


def _rival_widths(model: AnyModel, candidates: Mask, leader: int) -> Floats:
    """``‖a_k - b‖`` for every rival, -∞ for other actions, (n,)."""
    widths = contrast_widths(model, leader)
    terms = model.squared_widths + model.squared_widths[leader]
    widths[~candidates | (widths**2 <= 2.0 * CANCELLED * terms)] = -np.inf
    widths[leader] = -np.inf
    return widths


@verb
def most_settling(
    model: AnyModel,
    rivals: Rows,
    leader: int,
    weights: Floats,
    noise: NoiseHistory,
    sigma: float,
    allowed: Mask,
) -> int:
    """The allowed action whose measurement takes most off the variances of the races; -1 if none does.

    ``Σ_j w_j·((a_j - b)ᵀV⁻¹a_k)²/(σ_k² + ‖a_k‖²)`` over the rivals j of the leader b, up to the first weight
    of 0. The variance σ_k² is the announced one, or if sigma is NaN what the noise so far says of the action.
    """
    count = int((weights > 0.0).sum())
    gains = squared_covariances(model, rivals[:count], leader, weights[:count])
    gains /= foreseen_variances(noise, sigma) + model.squared_widths
    action = first_largest(gains, allowed)
    return action if gains[action] > 0.0 else -1


def foreseen_variances(noise: NoiseHistory, sigma: float) -> float | Floats:
    """The variance of a coming measurement: one for all actions, or each one's own."""
    if not math.isnan(sigma):
        return sigma * sigma
    average = average_variance(noise)
    return average * noise.relative if noise.tally[DIFFER] > 0.0 else average
