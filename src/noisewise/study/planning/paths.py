"""Looking ahead: the study as it may go on in one drawn world, until its bound is small enough.

The study's own rule chooses, and the study's own certificate is looked at: RACE in `race_path.py`, other
policies in `chooser_path.py`. Here is what both have in common: measuring, blocks, looking, counting.

To be fast, equal measurements are made in **strides** once there are many: a choice is measured m times at
once, m being small beside what there is already (`STRIDE`). Where measurements come in blocks or batches, a
stride is m blocks that hold the same: they say as much about differences as one whose errors are √m smaller.
"""

import math
from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from noisewise.core.choice.selection import Mask
from noisewise.core.model.dense import Floats
from noisewise.study.asking.coming import OPTION, Manner, company_in, usual_probe
from noisewise.study.asking.under_way import UNNAMED
from noisewise.study.asking.what_if import More, WhatIf, condensed, with_more
from noisewise.study.certificate.bound import Recommended, recommend
from noisewise.study.inputs.error_bars import COUNTS
from noisewise.study.log.measurements import NO_BLOCK, NOBODY, Codes, Columns
from noisewise.study.log.specification import RACE
from noisewise.study.log.state import State
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.sizes.variance_components import Sizes
from noisewise.study.models.study_model import StudyModel
from noisewise.study.models.sums import Sums
from noisewise.study.planning.coming_blocks import ComingBlocks

#: How measurements are told unless others were told otherwise.
KNOWN_ERROR_BARS = Manner()
#: By which part of all measurements so far one stride may grow them.
STRIDE = 0.08
#: The same for blocks and batches when the end is near: while the bound is at most so many times eps.
NEAR_STRIDE, NEAR = 0.02, 2.0


class NoiseMenu(NamedTuple):
    """The noise levels there are, how often each comes, and what it costs."""

    sigma: Floats  # (levels,)
    share: Floats | None  # (levels,); None: chosen by what it is worth per cost
    cost: Floats  # (levels,)
    scatters: Mask | None = None  # (levels,): whether extra scatter comes on top; None: on top of all
    times: Floats | None = None  # (n,): by how much noise is larger for each option; None: for none

    @property
    def usual(self) -> float:
        """The sigma of all measurements that teaches as much as these."""
        share = np.full(self.sigma.size, 1.0 / self.sigma.size) if self.share is None else self.share
        return float((share @ self.sigma**-2.0) ** -0.5)


class Question(NamedTuple):
    """What all paths have in common."""

    analysis: Analysis
    state: State
    model: StudyModel
    columns: Columns  # condensed
    sums: Sums  # the same, pooled
    sizes: Sizes
    centre: float
    menu: NoiseMenu
    eps: float
    most: int
    least: int  # measurements before which there is no certificate, whatever the bound
    costs: Floats  # (n,): of options
    blocks: ComingBlocks
    probe: str
    manner: Manner  # how coming measurements are told
    counted: bool  # whether these are successes out of trials that count as such


class Outcome(NamedTuple):
    """How one path went."""

    needed: float  # measurements until the bound was small enough; infinite if they were too many
    cost: float
    used: Floats  # (levels,): measurements of each level
    steps: int  # how much work it was
    looks: int


def ask_ahead(
    analysis: Analysis,
    menu: NoiseMenu,
    eps: float,
    most: int,
    blocks: ComingBlocks,
    least: int = 0,
    manner: Manner = KNOWN_ERROR_BARS,
) -> Question:
    """Everything that is known now, ready for paths."""
    costs, columns = analysis.state.costs, condensed(analysis)
    scatters = np.ones(menu.sigma.size) if menu.scatters is None else menu.scatters
    extra = np.where(scatters, analysis.sizes.extra_scatter, 0.0)
    # Extra scatter is in the condensed error bars already, and put into the menu's.
    sizes = Sizes(deviation=analysis.sizes.certified[0])
    sums = WhatIf(analysis.state, columns, sizes).certified_sums
    apart = not (analysis.model.shares_information or sums.has_border) and blocks.name == NO_BLOCK
    return Question(
        analysis=analysis,
        state=analysis.state,
        model=analysis.model,
        columns=columns,
        sums=sums,
        sizes=sizes,
        centre=analysis.sums.centre,
        menu=menu._replace(sigma=np.hypot(menu.sigma, extra)),
        eps=eps,
        most=most,
        least=least,
        costs=np.ones(analysis.n) if costs is None else np.array(costs),
        blocks=blocks,
        probe=usual_probe(analysis) if analysis.state.policy.name == RACE else OPTION,
        manner=manner,
        counted=manner.kind == COUNTS and apart and analysis.state.model.extra_scatter is None,
    )


class Path(ABC):
    """One possible future."""

    def __init__(self, question: Question, world: Floats, rng: np.random.Generator) -> None:
        self._question, self._world, self._rng = question, world, rng
        self._plus: list[int] = []
        self._minus: list[int] = []
        self._value: list[float] = []
        self._sigma: list[float] = []
        self._often: list[int] = []
        self._blocks: list[str] = []
        self._used = np.zeros(question.menu.sigma.size)
        self._precisions = question.menu.sigma**-2.0
        self._shares = np.ones(1) if question.menu.share is None else np.cumsum(question.menu.share)[:-1]
        self._cost, self._count, self._steps, self._looks = 0.0, 0, 0, 0
        self._bound = math.inf
        self._allowed: Mask = question.state.allowed()
        blocks = question.blocks
        # The block of the coming measurement, its offset, what is left of it, for how many alike it stands.
        self._block, self._offset = blocks.name, self._offset_now()
        self._left, self._alike, self._begun = blocks.room, 1, 0

    @abstractmethod
    def go(self) -> Outcome:
        """Measure until the bound is small enough."""

    def _offset_now(self) -> float:
        """Of the block of the last measurement: given the world, what was measured there says what it is."""
        question = self._question
        if not (question.sums.has_border or question.model.shares_information):
            return 0.0
        company, sums = company_in(question.sums, question.blocks.name), question.sums
        if company is None:
            return 0.0
        rows = np.flatnonzero((sums.minus < 0) & (sums.block == sums.blocks.index(question.blocks.name)))
        above = sums.value[rows] - self._world[sums.plus[rows]]
        noise = math.sqrt(company.variance) * self._rng.standard_normal()
        return float(company.shares @ above) + noise

    def _turn_to_block(self) -> bool:
        """See that there is room in the present block; whether a new one was begun."""
        blocks = self._question.blocks
        if blocks.size is None or self._left > 0:
            return False
        self._begun += 1
        self._block, self._left = f"{UNNAMED}{self._begun}", blocks.size
        self._offset = blocks.centre + blocks.spread * self._rng.standard_normal()
        self._alike = self._stride(blocks.size)
        return True

    def _stride(self, size: int) -> int:
        """How many times what holds this many measurements may come at once."""
        far = self._bound > NEAR * self._question.eps
        return max(1, int((STRIDE if far else NEAR_STRIDE) * self._count / size))

    def _levels(self, level: int | None, most: int, enough: float) -> Codes:
        """The noise levels of one stride, one after the other.

        It ends when one more of the noisiest would make the precision too large, or the last one did: whether
        it goes on may depend on the levels that came, never on the one to come, or quiet ones would be rarer.

        Args:
            level: The level of all of them; None: they come as their shares say.
            most: How many at most; at least one comes.
            enough: A precision.
        """
        precisions = self._precisions
        if level is not None:
            return np.full(max(1, int(min(most, enough / precisions[level]))), level)
        least = float(precisions.min())
        most = max(1, int(min(most, enough / least)))
        levels = self._shares.searchsorted(self._rng.random(most), side="right")
        if most == 1 or math.isinf(enough):
            return levels
        ended = int(np.searchsorted(np.cumsum(precisions[levels]), enough - least))
        return levels[: ended + 1]

    def _sigma_of(self, option: int, minus: int, levels: Codes) -> float:
        """The standard error of the mean of measurements with these levels."""
        times = self._question.menu.times
        usual = float(self._precisions[levels].sum()) ** -0.5
        return float(usual if times is None or minus != NOBODY else usual * times[option])

    def _measure(self, option: int, minus: int, levels: Codes) -> tuple[float, float]:
        """Measure with these levels, and note it; returns the value (large is good) and its error."""
        question, menu = self._question, self._question.menu
        sigma = self._sigma_of(option, minus, levels)
        value, sigma = self._read(option, sigma)
        price = float(question.costs[option])
        if minus == NOBODY:
            value += self._offset
        else:
            value -= float(self._world[minus])
            price += float(question.costs[minus])
        self._plus.append(option)
        self._minus.append(minus)
        self._value.append(question.state.specification.sign * (value + (minus == NOBODY) * question.centre))
        self._sigma.append(sigma)
        self._often.append(levels.size)
        self._blocks.append(self._block if minus == NOBODY else NO_BLOCK)
        self._used += np.bincount(levels, minlength=menu.sigma.size)
        self._count += levels.size
        self._cost += float(menu.cost[levels].sum()) * price
        return value, sigma

    def _read(self, option: int, sigma: float) -> tuple[float, float]:
        """What is read of an option, its block's offset apart, and its error."""
        mean = float(self._world[option])
        if not self._question.counted:
            return mean + sigma * self._rng.standard_normal(), sigma
        sign, centre = self._question.state.specification.sign, self._question.centre
        trials = max(1, round(float(self._question.manner.amount(sigma))))
        share = min(1.0, max(0.0, sign * (mean + centre)))
        successes = int(self._rng.binomial(trials, share))
        return sign * successes / trials - centre, 0.5 / math.sqrt(trials)

    def _foreseen(self) -> WhatIf:
        """The study with everything measured so far."""
        question = self._question
        more = More(
            plus=np.array(self._plus, dtype=np.int64),
            minus=np.array(self._minus, dtype=np.int64),
            value=np.array(self._value),
            sigma=np.array(self._sigma),
            blocks=self._blocks,
            manners=[question.manner if minus == NOBODY else Manner() for minus in self._minus],
            often=self._often,
        )
        return WhatIf(question.state, with_more(question.columns, more), question.sizes, imagined=True)

    def _look(self) -> tuple[WhatIf, Recommended | None]:
        """What the certificate would say now."""
        self._looks += 1
        foreseen = self._foreseen()
        found = recommend(foreseen)
        self._bound = math.inf if found is None else found.bound
        return foreseen, found

    def _outcome(self, count: float, cost: float) -> Outcome:
        """That the bound was small enough after so many measurements."""
        least = self._question.least
        if count < least:
            cost += (least - count) * self._usual_cost()
            count = least
        return Outcome(count, cost, self._used, self._steps, self._looks)

    def _given_up(self) -> Outcome:
        return Outcome(math.inf, math.inf, self._used, self._steps, self._looks)

    def _usual_cost(self) -> float:
        """Of a measurement, on the average of this path; of any, if there were none."""
        if self._count:
            return self._cost / self._count
        menu = self._question.menu
        level = float(menu.cost.min() if menu.share is None else menu.share @ menu.cost)
        return level * float(self._question.costs[self._allowed].mean())


def crossing(before: float, after: float, eps: float) -> float:
    """Where between two looks the bound was as small as eps, as a share; on a log scale."""
    if not math.isfinite(before) or after <= 0.0 or before <= after:
        return 1.0
    return min(1.0, max(0.0, math.log(before / eps) / math.log(before / after)))
