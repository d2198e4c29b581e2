"""How much evidence rules a pair of means out: the levels of log E at which reaches are tabulated.

**The best option is one fixed, unknown option; the recommended one pays for having been chosen.** Let E_k be
the e-process against the true mean of option k, j the best option and n the number of options. One
measurement moves one of them, so

    E_j · (1 - w + w/(n - 1)·Σ_{i≠j} E_i)

is an e-process, too, and with probability 1 - α, at all times and for every i,

    E_j(m_j) · (1 - w + w·E_i(m_i)/(n - 1))  <  1/α.

Where i is known well, that costs ``log(1/(α(1 - w)))``, and not ``log((n - 1)/α)``. In logarithms: if u is
what is spent on i, ``v(u) = log(1/α) - log(1 - w + w·e^u/(n - 1))`` is left for j.

**Own stacks.** Where E_k is an e-process in the order of k's own measurements only, the product is none.
But its supremum over k's whole stack exceeds x with probability 1/x at most, whoever chooses, and suprema of
different options are independent, so that

    P(sup E_j·(1 - w + w·max_i sup E_i/(n - 1)) >= x)  <=  (1 + w·log((x - 1 + w)/w))/x,

and x is where this is α. Evidence of other kinds about the same option is weighed against that of own stacks,
not multiplied with it: see `Stacks`.

**Limits in the place of standard errors** (`known.LimitedScatter`). Evidence with an upper limit of the
scatter is less than the true evidence where it is above 1. Where the true evidence about j is below 1, its
mean is within reach of level 0, and nothing bounds what is spent on i but a cap: with the probability that
is kept for it, no option's evidence ever exceeds that. Where the true evidence about i is below 1, its mean
is within reach of level 0, too. These two cases are looked at beside the levels above 0 of both. A study
that begins with such scatter has a better cap: ``c + (1 - c)·E_j`` in the place of E_j is an e-process as
well, and never below c, so that what is spent on i ends where ``c·(1 - w + w·E_i/(n - 1)) = 1/α``.

**After options were added or excluded** the best of those that remain may be any: every ordered pair has a
share α of δ, and ``E_j·(½ + ½E_i) < 1/α``. The thresholds of pairs differ, and are rounded up to a ladder
that both sides have in common.
"""

import math
from typing import NamedTuple

import numpy as np

from noisewise.core.blocks import Floats

#: w: how much of the evidence is a bet on the recommended option as well.
CHOSEN = 2.0 / 3.0
#: Levels between those that can matter, and some far beyond, where one option is known immensely better.
BETWEEN, BEYOND = 72, (10.0, 14.0, 20.0, 30.0)
#: The least level, and by how much the last of the many exceeds what the recommended option can need.
LEAST, MORE = -7.0, 8.0


#: Between levels of studies with own stacks: their reaches are not concave, so more of them are looked at.
FINER, MOST_FINER = 240, 2000
#: What part of the evidence in the order of all measurements is none at all: so it never is below that.
IDLE = 1e-3
#: c: what part of the evidence about a rival is 1, where scatter is known by a limit; the least of the rest.
AT_REST, LOWEST = 0.25, 1e-12


class Stacks(NamedTuple):
    """How evidence in the order of an option's own measurements is weighed against that in the order of all.

    The larger of ``own·sup E`` and ``others·sup E'`` exceeds x with probability 1/x at most, whatever they
    have to do with each other.
    """

    own: float
    others: float

    def own_level(self, levels: Floats) -> Floats:
        """What evidence of own stacks must reach where both together must reach a level."""
        return levels - math.log(self.own)

    def others_level(self, levels: Floats) -> Floats:
        """The same for the rest of the evidence, of which a part is idle: -inf where that suffices."""
        return above_idle(levels - math.log(self.others))


def above_idle(levels: Floats) -> Floats:
    """What evidence must reach where together with a part that is idle it must reach a level.

    ``(1 - IDLE)·E + IDLE`` is an e-process as well, and never below IDLE: -inf where that suffices.
    """
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        level = levels + np.log1p(-IDLE * np.exp(-levels))
    return np.where(np.isnan(level), -np.inf, level) - math.log1p(-IDLE)


class Levels(NamedTuple):
    """What is spent on the recommended option, and what is left for its rival then.

    The first is -inf, where nothing is spent, so that every possible amount lies between two of them.
    """

    spent: Floats  # u, (levels,), increasing
    left: Floats  # v(u), (levels,), decreasing; a ladder that rises where pairs have thresholds of their own
    axis: Floats  # (levels,): where each lies on a line on which reaches are concave
    cap: float  # no option's evidence exceeds this, with a small part of the error probability
    step: float = 0.0  # of the ladder, where pairs have thresholds of their own
    stacks: Stacks | None = None  # where some evidence holds in the order of own measurements only


def levels_for(
    n: int, alpha: float, cap: float, stacks: Stacks | None = None, *, finer: bool = False
) -> Levels:
    """The levels of a study whose options are those of its beginning.

    Args:
        n: How many options there are.
        alpha: The error probability.
        cap: What no option's evidence exceeds.
        stacks: If some evidence holds in the order of each option's own measurements only: its weight.
        finer: Whether more levels are looked at, because reaches are not concave.
    """
    rivals = max(1, n - 1)
    whole, chosen, between = math.log(1.0 / alpha), CHOSEN, BETWEEN
    if stacks is not None:
        chosen = chosen_of_suprema(n)
        whole = float(of_suprema(np.array(whole), chosen))
    if (finer or stacks is not None) and n <= MOST_FINER:
        between = FINER
    last = whole + math.log(rivals / chosen)
    axis = np.append(np.linspace(LEAST, last + MORE, between), last + np.array(BEYOND))
    spent = np.append(-np.inf, axis)
    left = whole - np.logaddexp(math.log(1.0 - chosen), spent + math.log(chosen / rivals))
    return Levels(spent, left, np.append(LEAST - 1.0, axis), cap, stacks=stacks)


def levels_with_limits(n: int, alpha: float) -> Levels:
    """The levels of a study that begins with scatter of which a limit is known: they have a cap of their own.

    Args:
        n: How many options there are.
        alpha: The error probability.
    """
    rivals, whole = max(1, n - 1), math.log(1.0 / alpha)
    cap = math.log((1.0 / (alpha * AT_REST) - (1.0 - CHOSEN)) * rivals / CHOSEN)
    axis = np.linspace(LEAST, cap, BETWEEN + len(BEYOND))
    spent = np.append(-np.inf, axis)
    both = whole - np.logaddexp(math.log(1.0 - CHOSEN), spent + math.log(CHOSEN / rivals))
    alone = np.maximum(np.exp(both) - AT_REST, LOWEST) / (1.0 - AT_REST)
    return Levels(spent, np.log(alone), np.append(LEAST - 1.0, axis), cap)


def ladder(most: float, cap: float, stacks: Stacks | None = None) -> Levels:
    """The levels of a study whose options changed, for thresholds ``log(1/α)`` of at most so much."""
    steps = (BETWEEN if stacks is None else FINER) + len(BEYOND)
    step = (most + MORE - math.log(0.5)) / steps
    axis = math.log(0.5) + step * np.arange(steps + 1.0)  # log(½ + ½e^u)
    spent = np.append(-np.inf, np.log(np.expm1(axis[1:] + math.log(2.0))))
    left = most - math.log(0.5) - step * np.arange(steps, -1.0, -1.0)
    return Levels(spent, left, axis, cap, step, stacks)


def all_levels(levels: Levels) -> tuple[Floats, Floats]:
    """Where reaches are searched: at the levels of rivals, and 0; of the recommended, 0 and the cap."""
    return np.append(levels.left, 0.0), np.append(levels.spent[1:], [0.0, levels.cap])


def chosen_of_suprema(n: int) -> float:
    """W for the suprema of n options: a smaller one lowers x as well, which pays where rivals are many."""
    return float(min(CHOSEN, n**-0.5))


def of_suprema(doubt: Floats, chosen: float) -> Floats:
    """``log x`` where the bound on products of independent suprema is α, given ``log(1/α)``.

    ``log x = log(1/α) + log(1 + w·log((x - 1 + w)/w))``; its right side rises ever more slowly, so that
    steps from above stay above.

    Args:
        doubt: log(1/α).
        chosen: w.
    """
    found = doubt + 60.0
    for _ in range(200):
        inside = found + np.log1p((chosen - 1.0) * np.exp(-found)) - math.log(chosen)
        found = doubt + np.log1p(chosen * inside)
    return np.asarray(found + 1e-12 * (1.0 + found))
