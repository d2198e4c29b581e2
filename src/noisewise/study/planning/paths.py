"""Looking ahead: the study as it may go on in one drawn world, until its bound is small enough.

The study's own policy chooses, and the study's own certificate is looked at. To be fast, equal measurements
are made in **strides**: one choice is measured m times at once, m being small near the end and for an option
that little is known about (`FINE` limits what a stride adds to its precision, `STRIDE` what it adds to the
number of measurements), and the certificate is looked at when it may have changed by enough. A test holds the
counts against those of studies that go step by step.
"""

import math
from typing import NamedTuple

import numpy as np

from noisewise.core.choice.selection import Mask
from noisewise.core.model.dense import Floats
from noisewise.study.asking.chooser import Chooser, unit_of
from noisewise.study.asking.policy import without_bounds
from noisewise.study.asking.what_if import More, Reference, WhatIf, condensed, reference_of, with_more
from noisewise.study.certificate.bound import recommend
from noisewise.study.log.measurements import NOBODY, Codes, Columns
from noisewise.study.log.state import State
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.study_model import StudyModel
from noisewise.study.models.variance_components import Sizes

#: By which part of all measurements so far one stride may grow them.
STRIDE = 0.08
#: The largest part that a stride of an option adds to its precision, near the end and far from it; and the
#: same while more than `CROWD` options may still be the best, each of which is then a small part of all.
FINE, FINE_IN_A_CROWD = (0.1, 1.0), (0.25, 2.0)
CROWD = 30
#: The certificate is looked at when measurements grew by this part, near the end and far from it. Near it the
#: bound goes up and down, and the study stops the first time that it is small enough; far from it the
#: first measurements take it down at a stroke, when the last direction is measured.
LOOKED = (0.05, 0.15)
#: The end is near while the bound is at most this many times eps.
NEAR = 2.0
#: A policy is asked afresh, as at every question of the study, after each of the first strides, which are
#: single measurements, and then when the number of measurements grew by this.
RENEWED = 1.1
#: The most measurements, of those that there are already, that its books are filled with.
MANY = 5000
#: A chooser whose unit is off by more, or whose zero (around which the level of all options is thought to be)
#: by this part of the unit, is made afresh.
UNIT_OFF, ZERO_OFF = 1.2, 0.03


class NoiseMenu(NamedTuple):
    """The noise levels there are, how often each comes, and what it costs."""

    sigma: Floats  # (levels,)
    share: Floats | None  # (levels,); None: chosen by what it is worth per cost
    cost: Floats  # (levels,)
    scatters: Mask | None = None  # (levels,): whether extra scatter comes on top; None: on top of all


class Question(NamedTuple):
    """What all paths have in common."""

    state: State
    model: StudyModel
    columns: Columns  # condensed
    sizes: Sizes
    reference: Reference
    centre: float
    chooser: Chooser
    told: tuple[Codes, Floats]  # options and sigmas so far, or some of very many
    menu: NoiseMenu
    eps: float
    most: int
    least: int  # measurements before which there is no certificate, whatever the bound
    costs: Floats  # (n,): of options


class Outcome(NamedTuple):
    """How one path went."""

    needed: float  # measurements until the bound was small enough; infinite if they were too many
    cost: float
    used: Floats  # (levels,): measurements of each level
    steps: int  # how much work it was
    looks: int


def ask_ahead(analysis: Analysis, menu: NoiseMenu, eps: float, most: int, least: int = 0) -> Question:
    """Everything that is known now, ready for paths."""
    costs, columns = analysis.state.costs, condensed(analysis)
    levels = np.flatnonzero(analysis.columns.minus < 0)
    some = levels[:: 1 + levels.size // MANY]
    scatters = np.ones(menu.sigma.size) if menu.scatters is None else menu.scatters
    extra = np.where(scatters, analysis.sizes.extra_scatter, 0.0)
    return Question(
        state=analysis.state,
        model=analysis.model,
        columns=columns,
        # Extra scatter is in the condensed error bars already, and put into the menu's.
        sizes=Sizes(deviation=analysis.sizes.certified[0]),
        reference=reference_of(analysis),
        centre=analysis.sums.centre,
        chooser=Chooser(analysis, without_bounds(analysis.state.policy)),
        told=(analysis.columns.plus[some], analysis.sigmas.estimated[some]),
        menu=menu._replace(sigma=np.hypot(menu.sigma, extra)),
        eps=eps,
        most=most,
        least=least,
        costs=np.ones(analysis.n) if costs is None else np.array(costs),
    )


class LookTaken(NamedTuple):
    """How far a path was when the certificate was looked at."""

    told: int
    cost: float
    precision: float
    bound: float


class Path:
    """One possible future."""

    def __init__(self, question: Question, world: Floats, rng: np.random.Generator) -> None:
        self._question, self._world, self._rng = question, world, rng
        self._chooser, self._centre = question.chooser.copy(), question.centre
        self._plus: list[int] = []
        self._value: list[float] = []
        self._sigma: list[float] = []
        self._often: list[int] = []
        self._renewed = 0
        self._used = np.zeros(question.menu.sigma.size)
        self._precisions = question.menu.sigma**-2.0
        self._shares = np.ones(1) if question.menu.share is None else np.cumsum(question.menu.share)[:-1]
        self._cost, self._count, self._precision, self._steps, self._looks = 0.0, 0, 0.0, 0, 0
        self._bound, self._crowded = math.inf, False
        self._allowed: Mask = question.state.allowed()

    def go(self) -> Outcome:
        """Measure until the bound is small enough."""
        eps, most, least = self._question.eps, self._question.most, self._question.least
        self._look()
        if self._bound > eps:
            self._first_looks()
        before = last = self._seen()
        while self._bound > eps and self._count < most:
            self._stride()
            if self._worth_a_look(last):
                self._look()
                before, last = last, self._seen()
        if self._bound > eps:
            return Outcome(math.inf, math.inf, self._used, self._steps, self._looks)
        grown = last.told - before.told
        count = before.told + math.ceil(_crossing(before.bound, last.bound, eps) * grown)
        cost = before.cost + (last.cost - before.cost) * (count - before.told) / max(1, grown)
        if count < least:
            cost += (least - count) * self._usual_cost()
            count = least
        return Outcome(count, cost, self._used, self._steps, self._looks)

    def _seen(self) -> LookTaken:
        return LookTaken(self._count, self._cost, self._precision, self._bound)

    def _worth_a_look(self, last: LookTaken) -> bool:
        """Whether the bound may have changed by enough since the last time."""
        far = self._bound / self._question.eps
        grown = 1.0 + min(0.5, max(0.03, 0.5 * (far - 1.0)))
        more = LOOKED[0] if far < NEAR else LOOKED[1]
        return self._precision >= grown * last.precision or self._count >= (1.0 + more) * last.told

    def _usual_cost(self) -> float:
        """Of a measurement, on the average of this path; of any, if there were none."""
        if self._count:
            return self._cost / self._count
        menu = self._question.menu
        level = float(menu.cost.min() if menu.share is None else menu.share @ menu.cost)
        return level * float(self._question.costs[self._allowed].mean())

    def _first_looks(self) -> None:
        """Where options share nothing, no bound exists before every option was measured once."""
        if self._question.model.shares_information:
            return
        seen = np.zeros(self._allowed.size, dtype=bool)
        seen[self._question.columns.plus] = True
        seen[self._question.columns.minus[self._question.columns.minus >= 0]] = True
        unseen = np.flatnonzero(self._allowed & ~seen)
        for option in unseen:
            self._measure(int(option))
        if unseen.size:
            self._look()
            self._begin_afresh(self._foreseen())

    def _stride(self) -> None:
        """One choice, measured as often as makes no difference."""
        question, menu = self._question, self._question.menu
        announced = None
        if self._chooser.must_know_sigma:
            announced = float(np.mean(menu.sigma**-2.0) ** -0.5)
        option = self._chooser.choose(self._allowed, announced, int(self._rng.integers(2**40)))
        needed = (self._bound / question.eps) ** 2 - 1.0
        near, far = FINE_IN_A_CROWD if self._crowded else FINE
        fine = min(far, max(near, 0.5 * needed))
        value, sigma = self._measure(option, int(STRIDE * self._count), fine)
        self._chooser.learn(option, value + question.centre - self._centre, sigma)
        self._steps += 1
        if STRIDE * self._count < 2.0 or self._count >= RENEWED * self._renewed:
            self._renew()

    def _measure(self, option: int, most: int = 1, fine: float = 0.0) -> tuple[float, float]:
        """Measure and note it; returns value (large is good) and standard error of the mean.

        Args:
            option: Which one.
            most: How often at most; it is measured once at least.
            fine: No more often than adds this part to the precision that the option has.
        """
        question, menu = self._question, self._question.menu
        width = float(self._chooser.model.squared_widths[option]) * self._chooser.unit**2
        levels = self._levels(width, min(most, question.most), fine / max(width, 1e-300))
        precision = float(self._precisions[levels].sum())
        sigma = precision**-0.5
        value = float(self._world[option]) + question.reference.zero + sigma * self._rng.standard_normal()
        sign = question.state.specification.sign
        self._plus.append(option)
        self._value.append(sign * (value + question.centre))
        self._sigma.append(sigma)
        self._often.append(levels.size)
        self._used += np.bincount(levels, minlength=menu.sigma.size)
        self._count += levels.size
        self._cost += float(menu.cost[levels].sum()) * float(question.costs[option])
        self._precision += precision
        return value, sigma

    def _levels(self, width: float, most: int, enough: float) -> Codes:
        """The noise levels of one stride, one after the other.

        It ends when one more of the noisiest would make the precision too large, or the last one did: whether
        it goes on may depend on the levels that came, never on the one to come, or quiet ones would be rarer.
        """
        menu, precisions = self._question.menu, self._precisions
        if menu.share is None:
            # The level that teaches most about an option per cost: log(1 + width²/σ²)/cost.
            best = int(np.argmax(np.log1p(width * precisions) / menu.cost))
            return np.full(max(1, int(min(most, enough / precisions[best]))), best)
        least = float(precisions.min())
        most = max(1, int(min(most, enough / least)))
        levels = self._shares.searchsorted(self._rng.random(most), side="right")
        if most == 1:
            return levels
        ended = int(np.searchsorted(np.cumsum(precisions[levels]), enough - least))
        return levels[: ended + 1]

    def _foreseen(self) -> WhatIf:
        question = self._question
        more = More(
            plus=np.array(self._plus, dtype=np.int64),
            minus=np.full(len(self._plus), NOBODY),
            value=np.array(self._value),
            sigma=np.array(self._sigma),
            blocks=[question.reference.name] * len(self._plus),
        )
        return WhatIf(question.state, with_more(question.columns, more), question.sizes)

    def _look(self) -> None:
        """What the certificate would say now, and which options the study would ask for."""
        self._looks += 1
        foreseen = self._foreseen()
        found = recommend(foreseen)
        self._bound = math.inf if found is None else found.bound
        state = self._question.state
        sharing = self._question.model.shares_information
        if found is not None and not sharing:
            self._allowed = state.allowed() & found.candidates
            self._crowded = bool(self._allowed.sum() > CROWD)
        if not self._plus:
            return
        off = unit_of(foreseen) / self._chooser.unit
        away = abs(foreseen.sums.centre - self._centre) / self._chooser.unit
        if not 1.0 / UNIT_OFF < off < UNIT_OFF or (sharing and away > ZERO_OFF):
            self._begin_afresh(foreseen)

    def _begin_afresh(self, foreseen: WhatIf) -> None:
        """As the study does at every question."""
        self._chooser = Chooser(foreseen, without_bounds(self._question.state.policy))
        self._centre = foreseen.sums.centre
        self._renew()

    def _renew(self) -> None:
        """The study asks its policy afresh: what a stride did to its books is set right."""
        told, often = self._question.told, np.array(self._often)
        singles = np.sqrt(often) * np.array(self._sigma)
        options = np.concatenate([told[0], np.repeat(self._plus, often)])
        self._chooser.renew(options, np.concatenate([told[1], np.repeat(singles, often)]))
        self._renewed = self._count


def _crossing(before: float, after: float, eps: float) -> float:
    """Where between two looks the bound was as small as eps, as a share; on a log scale."""
    if not math.isfinite(before) or after <= 0.0 or before <= after:
        return 1.0
    return min(1.0, max(0.0, math.log(before / eps) / math.log(before / after)))
