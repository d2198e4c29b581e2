"""A possible future of a study that asks by RACE.

Between looks at the certificate the races are kept up to date (`between_looks.py`), and RACE chooses from
them as it does from a fit. The certificate is looked at when it may allow to stop, when another option has
come to the front, and when measurements grew by a part. A test holds choices and counts against those of
studies that go step by step.
"""

import math

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.study.asking.chooser import unit_of
from noisewise.study.asking.coming import DIFFERENCE, Coming, company_in
from noisewise.study.asking.field import Field
from noisewise.study.asking.first_results import by_price
from noisewise.study.asking.policy import sharpness_of
from noisewise.study.asking.race import best_probe, propose
from noisewise.study.asking.under_way import Imagination, UnderWay
from noisewise.study.certificate.bound import Recommended, recommend
from noisewise.study.log.measurements import NO_BLOCK, NOBODY, Codes
from noisewise.study.models.analysis import Analysis
from noisewise.study.planning.between_looks import Reading, Standing
from noisewise.study.planning.paths import Outcome, Path, Question, crossing

#: By which part of eps the bound may be larger, as far as is known, when the certificate is looked at.
ALMOST = 0.03
#: By which part the bound of another option must be smaller, as far as is known, for that to be looked at.
AHEAD = 0.02
#: The certificate is looked at when measurements grew by this part, at the latest.
LOOKED = 0.1
#: The largest part that a stride adds to the precision of what is read, near the end and far from it; and the
#: same while more than `CROWD` options may still be the best, each of which is then a small part of all.
FINE, FINE_IN_A_CROWD = (0.1, 1.0), (0.25, 2.0)
CROWD = 30
#: The most options whose covariances are all written down.
DENSE = 1500


class RacePath(Path):
    """RACE, step by step or in strides."""

    def __init__(self, question: Question, world: Floats, rng: np.random.Generator) -> None:
        super().__init__(question, world, rng)
        self._sharpness = sharpness_of(question.state.policy)
        self._prices = None if question.state.costs is None else question.costs
        self._standing: Standing | None = None
        self._last: tuple[Analysis, Recommended | None]
        self._looked, self._told = 0, question.analysis.columns.value.size

    def go(self) -> Outcome:
        """Measure until the bound is small enough."""
        eps, most = self._question.eps, self._question.most
        self._look_and_stand()
        count, cost, bound = 0, 0.0, math.inf
        while self._bound > eps and self._count < most:
            count, cost = self._count, self._cost
            bound = math.inf if self._standing is None else self._standing.bound
            self._go_on()
            if self._worth_a_look():
                self._look_and_stand()
        if self._bound > eps:
            return self._given_up()
        grown, ended = self._count - count, self._count
        if self._question.blocks.batch == 1:
            ended = count + math.ceil(crossing(bound, self._bound, eps) * grown)
        return self._outcome(ended, cost + (self._cost - cost) * (ended - count) / max(1, grown))

    def _look_and_stand(self) -> None:
        """Look at the certificate, and see how the races stand."""
        foreseen, found = self._last = self._look()
        self._looked, self._standing = self._count, None
        question = self._question
        if found is None or not math.isfinite(found.bound) or self._unlinked(foreseen, found):
            return
        apart = question.blocks.size is None and question.probe != DIFFERENCE
        if foreseen.n <= DENSE or (apart and not foreseen.model.shares_information):
            self._standing = Standing(foreseen, found, self._coming(question.menu.usual), apart=apart)
            if self._question.blocks.size is not None and self._left == 0:
                self._standing.open_block()
            if self._standing.field(self._coming(question.menu.usual)).is_decided:
                self._standing = None  # then RACE looks at another leader's races

    def _unlinked(self, foreseen: Analysis, found: Recommended) -> bool:
        """Whether something is missing that links options."""
        group = foreseen.certified.group
        return bool((group[self._allowed] != group[found.option]).any())

    def _worth_a_look(self) -> bool:
        """Whether the certificate may allow to stop, or may have changed by much."""
        standing = self._standing
        if standing is None or self._count - self._looked > LOOKED * (self._told + self._looked):
            return True
        if self._block != NO_BLOCK and not self._last[0].certified_sums.has_border:
            return True  # now something connects options
        bound, other = standing.bound, standing.bound_of_others()
        return other < (1.0 - AHEAD) * bound or min(bound, other) <= (1.0 + ALMOST) * self._question.eps

    def _go_on(self) -> None:
        """Ask once, and measure what was asked for."""
        blocks = self._question.blocks
        if self._turn_to_block() and self._standing is not None:
            self._standing.open_block()
        at_once = blocks.batch if blocks.size is None else min(blocks.batch, self._left)
        self._steps += at_once
        if self._standing is None:
            self._before_races(at_once)
            return
        alike = self._stride(at_once) if blocks.size is None else self._alike
        taken: list[tuple[int, int, Codes, Reading]] = []
        for _ in range(at_once):
            field, option, minus, level = self._best(self._standing)
            enough = math.inf
            if blocks.size is None and at_once == 1:
                enough = self._fine(field) / max(self._standing.spread(option, minus), 1e-300)
                enough *= self._standing.quieter(option, minus) ** 2
            levels = self._levels(level, alike, enough)
            sigma = self._sigma_of(option, minus, levels)
            taken.append((option, minus, levels, self._standing.expect(field, option, minus, sigma)))
        for option, minus, levels, reading in taken:
            self._standing.learn(reading, self._measure(option, minus, levels)[0])
        self._left -= at_once

    def _fine(self, field: Field) -> float:
        needed = (self._bound / self._question.eps) ** 2 - 1.0
        near, far = FINE_IN_A_CROWD if np.count_nonzero(field.upper >= 0.0) > CROWD else FINE
        return min(far, max(near, 0.5 * needed))

    def _coming(self, sigma: float) -> Coming:
        question = self._question
        times = question.menu.times
        noise = np.full(self._allowed.size, sigma) if times is None else sigma * times
        return Coming(noise, self._allowed, self._block, question.probe, self._prices, question.manner)

    def _best(self, standing: Standing) -> tuple[Field, int, int, int | None]:
        """What RACE chooses, and of a menu the level that narrows the races most per cost."""
        menu, ids = self._question.menu, self._question.state.ids
        if menu.share is not None:
            coming = self._coming(menu.usual)
            field = standing.field(coming)
            if coming.probe != DIFFERENCE and field.company is None and self._allowed[standing.leader]:
                return field, standing.leader, NOBODY, None
            best = best_probe(field, coming, self._sharpness, ids)
            return field, best.option, best.minus, None
        found = []
        for level, sigma in enumerate(menu.sigma.tolist()):
            coming = self._coming(sigma)
            field = standing.field(coming)
            best = best_probe(field, coming, self._sharpness, ids)
            found.append((best.score / float(menu.cost[level]), -level, field, best))
        _, place, field, best = max(found, key=lambda one: one[:2])
        opens = self._question.probe != DIFFERENCE and field.company is None
        if opens and self._allowed[standing.leader]:
            return field, standing.leader, NOBODY, -place
        return field, best.option, best.minus, -place

    def _before_races(self, at_once: int) -> None:
        """What links options, and what is asked for where there are too many to write everything down."""
        foreseen, found = self._last
        imagination, under_way = Imagination(foreseen), list[UnderWay]()
        menu, coming = self._question.menu, self._coming(self._question.menu.usual)
        level = None if menu.share is not None else self._first_level()
        chosen: list[tuple[int, int]] = []
        for _ in range(at_once):
            imagined: Analysis = foreseen
            if under_way:
                imagined = imagination.with_all(under_way)
                found = recommend(imagined)
            proposal = propose(imagined, found, coming, self._sharpness)
            option, minus = (found.option if found else 0, NOBODY) if proposal is None else proposal[:2]
            chosen.append((option, minus))
            noise, manner = float(coming.noise[option]), self._question.manner
            under_way.append(UnderWay(option, minus, self._block, noise, None, manner))
        chosen += self._also_unmeasured(foreseen, coming, chosen)
        blocks = self._question.blocks
        alike = self._alike if blocks.size is not None else self._stride(len(chosen))
        for option, minus in chosen:
            self._measure(option, minus, self._levels(level, alike, math.inf))
        self._left -= len(chosen)

    def _first_level(self) -> int:
        """Of a menu, the level that teaches most about an option that nothing is known of, per cost."""
        menu, width = self._question.menu, unit_of(self._question.analysis) ** 2
        return int(np.argmax(np.log1p(width * menu.sigma**-2.0) / menu.cost))

    def _also_unmeasured(
        self, foreseen: Analysis, coming: Coming, chosen: list[tuple[int, int]]
    ) -> list[tuple[int, int]]:
        """Further options that will be measured in this block whatever comes out, as no bound is finite."""
        question, (option, minus) = self._question, chosen[-1]
        if question.model.shares_information or minus != NOBODY or question.probe == DIFFERENCE:
            return []
        seen = np.zeros(self._allowed.size, dtype=bool)
        for measured in (foreseen.columns.plus, foreseen.columns.minus[foreseen.columns.minus >= 0]):
            seen[measured] = True
        company = company_in(foreseen.certified_sums, self._block) if seen.any() else None
        if seen[option] or (company is None and len(chosen) == 1 and self._block != NO_BLOCK):
            return []
        seen[[one for one, _ in chosen]] = True
        unseen = [one for one in by_price(foreseen, coming).tolist() if not seen[one]]
        room = len(unseen) if question.blocks.size is None else self._left - len(chosen)
        return [(one, NOBODY) for one in unseen[: max(0, room)]]
