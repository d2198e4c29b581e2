"""A possible future of a study that asks by a policy of `noisewise.POLICIES`."""

import math
from typing import NamedTuple

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.study.asking.chooser import Chooser, unit_of
from noisewise.study.asking.policy import checked
from noisewise.study.asking.what_if import WhatIf
from noisewise.study.log.measurements import NOBODY
from noisewise.study.planning.paths import NEAR, STRIDE, Outcome, Path, Question, crossing

#: The largest part that a stride of an option adds to its precision, near the end and far from it; and the
#: same while more than `CROWD` options may still be the best, each of which is then a small part of all.
FINE, FINE_IN_A_CROWD = (0.1, 1.0), (0.25, 2.0)
CROWD = 30
#: The certificate is looked at when measurements grew by this part, near the end and far from it. Near it the
#: bound goes up and down, and the study stops the first time that it is small enough; far from it the
#: first measurements take it down at a stroke, when the last direction is measured.
LOOKED = (0.05, 0.15)
#: A chooser whose unit is off by more, or whose zero (around which the level of all options is thought to be)
#: by this part of the unit, is made afresh.
UNIT_OFF, ZERO_OFF = 1.2, 0.03


class LookTaken(NamedTuple):
    """How far a path was when the certificate was looked at."""

    told: int
    cost: float
    precision: float
    bound: float


class ChooserPath(Path):
    """Any policy, in strides."""

    def __init__(self, question: Question, world: Floats, rng: np.random.Generator) -> None:
        super().__init__(question, world, rng)
        self._chooser = Chooser(question.analysis, checked(question.state.policy))
        self._centre, self._precision = question.centre, 0.0
        self._crowded = False
        #: In blocks every question is a fresh one: what an offset does to the books is the study's to say.
        self._afresh = question.blocks.size is not None or question.sums.has_border

    def go(self) -> Outcome:
        """Measure until the bound is small enough."""
        eps, most = self._question.eps, self._question.most
        self._look_and_choose()
        if self._bound > eps:
            self._first_looks()
        before = last = self._seen()
        while self._bound > eps and self._count < most:
            self._go_on()
            if self._worth_a_look(last):
                self._look_and_choose()
                before, last = last, self._seen()
        if self._bound > eps:
            return self._given_up()
        grown = last.told - before.told
        count = before.told + math.ceil(crossing(before.bound, last.bound, eps) * grown)
        return self._outcome(
            count, before.cost + (last.cost - before.cost) * (count - before.told) / max(1, grown)
        )

    def _seen(self) -> LookTaken:
        return LookTaken(self._count, self._cost, self._precision, self._bound)

    def _worth_a_look(self, last: LookTaken) -> bool:
        """Whether the bound may have changed by enough since the last time."""
        if self._afresh:
            return True
        far = self._bound / self._question.eps
        grown = 1.0 + min(0.5, max(0.03, 0.5 * (far - 1.0)))
        more = LOOKED[0] if far < NEAR else LOOKED[1]
        return self._precision >= grown * last.precision or self._count >= (1.0 + more) * last.told

    def _first_looks(self) -> None:
        """Where options share nothing, no bound exists before every option was measured once."""
        question = self._question
        if question.model.shares_information or self._afresh:
            return
        seen = np.zeros(self._allowed.size, dtype=bool)
        seen[question.columns.plus] = True
        unseen = np.flatnonzero(self._allowed & ~seen)
        for option in unseen:
            self._take(int(option), self._width(int(option)))
        if unseen.size:
            foreseen = self._look_and_choose()
            self._begin_afresh(foreseen)

    def _go_on(self) -> None:
        """Ask once, and measure what was asked for; alone, as often as makes no difference."""
        question, blocks = self._question, self._question.blocks
        self._turn_to_block()
        at_once = blocks.batch if blocks.size is None else min(blocks.batch, self._left)
        announced = None
        if self._chooser.must_know_sigma:
            announced = float(np.mean(question.menu.sigma**-2.0) ** -0.5)
        asked = self._chooser if at_once == 1 else self._chooser.copy()
        chosen = []
        for _ in range(at_once):
            option = asked.choose(self._allowed, announced, int(self._rng.integers(2**40)))
            chosen.append((option, self._width(option)))
            if at_once > 1:
                asked.imagine(option, question.menu.usual)
        self._steps += at_once
        single = at_once == 1 and blocks.size is None
        alike = self._alike if blocks.size is not None else self._stride(at_once)
        for option, width in chosen:
            if single:
                value, sigma = self._take(option, width, int(STRIDE * self._count), self._fine())
            else:
                value, sigma = self._take(option, width, alike, math.inf)
            if not self._afresh:
                self._chooser.learn(option, value + question.centre - self._centre, sigma)
        self._left -= at_once

    def _fine(self) -> float:
        needed = (self._bound / self._question.eps) ** 2 - 1.0
        near, far = FINE_IN_A_CROWD if self._crowded else FINE
        return min(far, max(near, 0.5 * needed))

    def _width(self, option: int) -> float:
        """The variance that the policy sees."""
        return float(self._chooser.model.squared_widths[option]) * self._chooser.unit**2

    def _take(self, option: int, width: float, most: int = 1, fine: float = 0.0) -> tuple[float, float]:
        """Measure, as often as adds at most this part to the precision that the option has."""
        menu, level = self._question.menu, None
        if menu.share is None:
            # The level that teaches most about an option per cost: log(1 + width²/σ²)/cost.
            level = int(np.argmax(np.log1p(width * self._precisions) / menu.cost))
        levels = self._levels(level, min(most, self._question.most), fine / max(width, 1e-300))
        value, sigma = self._measure(option, NOBODY, levels)
        self._precision += sigma**-2.0
        return value, sigma

    def _look_and_choose(self) -> WhatIf:
        """What the certificate would say now, and which options the study would ask for."""
        foreseen, found = self._look()
        state, sharing = self._question.state, self._question.model.shares_information
        if found is not None and not sharing and found.candidates.any():
            self._allowed = state.allowed() & found.candidates
            self._crowded = bool(self._allowed.sum() > CROWD)
        if not self._plus:
            return foreseen
        off = unit_of(foreseen) / self._chooser.unit
        away = abs(foreseen.sums.centre - self._centre) / self._chooser.unit
        if self._afresh or not 1.0 / UNIT_OFF < off < UNIT_OFF or (sharing and away > ZERO_OFF):
            self._begin_afresh(foreseen)
        return foreseen

    def _begin_afresh(self, foreseen: WhatIf) -> None:
        """As the study does at every question."""
        self._chooser = Chooser(foreseen, checked(self._question.state.policy))
        self._centre = foreseen.sums.centre
