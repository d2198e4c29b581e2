"""How many measurements until one look will do, whatever comes out: found from error bars alone.

In a study that is looked at once, the number of measurements must not be decided by values, so nothing is
simulated forward from them: every option is measured in turn, and the number is the one after which every
difference is known well enough. Whatever the values are, the option with the largest estimate is then within
eps of the best, with the study's confidence.
"""

import math

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.study.asking.under_way import UNNAMED
from noisewise.study.asking.what_if import More, WhatIf, with_more
from noisewise.study.log.measurements import NOBODY
from noisewise.study.planning.paths import NoiseMenu, Outcome, Question

#: Rounds that are told one by one; more are as many of these whose errors are smaller.
TOLD = 20
#: Options that are compared with all others; of more, those that are known least.
LOOKED_AT = 500


class OneLookAhead:
    """Every option measured in turn.

    Args:
        question: What is known, and what is asked.
    """

    def __init__(self, question: Question) -> None:
        self._question = question
        self._options = np.flatnonzero(question.state.allowed())
        self._share = _shares(question.menu)
        self._precision = float(self._share @ question.menu.sigma**-2.0)

    def go(self) -> Outcome:
        """The least number of measurements, and what they cost."""
        count, menu = max(self._needed(), float(self._question.least)), self._question.menu
        each = float(self._share @ menu.cost) * float(self._question.costs[self._options].mean())
        return Outcome(count, count * each, self._share, 0, 0)

    def _needed(self) -> float:
        """In whole rounds; infinite if they are too many."""
        most = self._question.most // self._options.size
        rounds = [0, 1]
        if self._widest(0) <= self._question.eps:
            return 0.0
        while self._widest(rounds[1]) > self._question.eps:
            if rounds[1] >= most:
                return math.inf
            rounds = [rounds[1], min(most, 2 * rounds[1])]
        while rounds[1] - rounds[0] > 1:
            middle = sum(rounds) // 2
            rounds[self._widest(middle) <= self._question.eps] = middle
        return float(rounds[1] * self._options.size)

    def _widest(self, rounds: int) -> float:
        """The largest half-width after so many more rounds."""
        question, options = self._question, self._options
        foreseen = WhatIf(question.state, with_more(question.columns, self._more(rounds)), question.sizes)
        if not foreseen.columns.value.size or foreseen.sigmas.waiting:
            return math.inf
        fit = foreseen.certified
        if (fit.group[options] != fit.group[options[0]]).any() or (fit.group[options] < 0).any():
            return math.inf
        some = options[np.argsort(-fit.variances()[options], kind="stable")[:LOOKED_AT]]
        return max(float(foreseen.boundary.half_widths(int(option))[options].max()) for option in some)

    def _more(self, rounds: int) -> More:
        """The coming measurements: their values say nothing, and are left at 0."""
        question, told = self._question, min(rounds, TOLD)
        plus = np.tile(self._options, told)
        times: Floats = np.ones(plus.size) if question.menu.times is None else question.menu.times[plus]
        sigma = times * math.sqrt(told / max(1, rounds) / self._precision)
        blocks, count = question.blocks, plus.size
        names = [blocks.name] * count
        if blocks.size is not None:
            place = np.maximum(np.arange(count) - blocks.room, -1) // blocks.size
            names = [blocks.name if at < 0 else f"{UNNAMED}{at}" for at in place]
        return More(plus, np.full(count, NOBODY), np.zeros(count), sigma, names)


def _shares(menu: NoiseMenu) -> Floats:
    """How often each level comes; of a priced menu the one that brings most precision for its cost."""
    if menu.share is not None:
        return menu.share
    best = int(np.argmax(menu.sigma**-2.0 / menu.cost))
    return np.asarray(np.arange(menu.sigma.size) == best, dtype=float)
