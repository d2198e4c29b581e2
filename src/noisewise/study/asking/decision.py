"""What to measure next, one measurement after the other: for suggestions and for slots alike."""

import functools
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from noisewise.core.choice.selection import Mask
from noisewise.study.asking.coming import (
    DIFFERENCE,
    OPTION,
    Coming,
    Manner,
    block_going_on,
    expected_manner,
    expected_noise,
    usual_probe,
    with_scatter,
)
from noisewise.study.asking.first_results import by_price, largest
from noisewise.study.asking.policy import checked, sharpness_of
from noisewise.study.asking.race import Proposal, propose
from noisewise.study.asking.reasons import looks_at
from noisewise.study.asking.under_way import UNNAMED, Imagination, UnderWay
from noisewise.study.asking.wave import propose_wave
from noisewise.study.certificates.bound import Recommended, recommend
from noisewise.study.log.measurements import NO_BLOCK, NOBODY
from noisewise.study.log.specification import RACE, PolicyChoice
from noisewise.study.log.state import State
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.variance_components import MORE_OPTIONS, MORE_REPEATS

if TYPE_CHECKING:  # policies are loaded when one has to decide
    from noisewise.study.asking.chooser import Chooser


class Decider:
    """A policy that decides, and everything that it reckons with.

    Args:
        analysis: What was measured.
        policy: Who decides.
        under_way: What is being measured.
    """

    def __init__(self, analysis: Analysis, policy: PolicyChoice, under_way: list[UnderWay]) -> None:
        state = analysis.state
        self._analysis, self._policy = analysis, policy
        self._allowed = some_allowed(state)
        self._costs = None if state.costs is None else np.array(state.costs)
        self._imagination = Imagination(analysis)
        self.under_way: list[UnderWay] = []
        self._chooser: Chooser | None = None
        self._prepared: tuple[int, Analysis, Recommended | None] | None = None
        self.reckon_with(under_way)

    def coming(
        self, sigma: float | None, *, block: str | None, probe: str | None, new: str | None = None
    ) -> Coming:
        """What is known of the next measurements.

        Args:
            sigma: The error bar that was announced.
            block: The block that was said; default: the last one goes on.
            probe: What was said; default: what is usual.
            new: By default, begin this block instead if measurements are in blocks.
        """
        if probe is None:
            probe = usual_probe(self._analysis) if self._policy.name == RACE else OPTION
        if probe == DIFFERENCE and self._analysis.specification.value_scale.log:
            raise ValueError('`probe` must be "option": a study with scale="log" takes no differences.')
        if probe == DIFFERENCE and int(self._allowed.sum()) < 2:
            raise ValueError("a difference needs two options, and only one of this study is not excluded.")
        if probe == DIFFERENCE:
            where = NO_BLOCK
        elif block is not None:
            where = block
        else:
            where = self._going_on()
            where = where if new is None or where == NO_BLOCK else new
        return Coming(
            noise=expected_noise(self._analysis, sigma, probe), allowed=self._allowed, block=where,
            probe=probe, costs=self._costs,
            manner=Manner() if probe == DIFFERENCE else expected_manner(self._analysis, sigma),
        )  # fmt: skip

    def _going_on(self) -> str:
        """The last block: one that was begun by asking for it, or that of the last measurement."""
        measured = set(self._analysis.columns.blocks)
        begun = [one.block for one in self.under_way if one.minus == NOBODY and one.block not in measured]
        named = [block for block in begun if not block.startswith(UNNAMED)]
        return named[-1] if named else block_going_on(self._analysis)

    def decide(self, coming: Coming, sigma: float | None, number: int) -> Proposal:
        """What to measure; random draws belong to the number of the question."""
        if self._policy.name == RACE:
            imagined, found = self.prepare()
            proposal = propose(imagined, found, coming, sharpness_of(self._policy))
            if proposal is not None:
                return proposal
            option = self._least_known(coming)
        else:
            option = self._chosen(coming.allowed, sigma, number)
        return Proposal(option, self._opponent(option, coming) if coming.probe == DIFFERENCE else NOBODY)

    def decide_several(self, coming: Coming, sigma: float | None, numbers: range) -> list[Proposal]:
        """What several workers may measure, each reckoning with those before it; all are expected."""
        chosen = self._wave(coming, len(numbers)) if self._policy.name == RACE else []
        for number in numbers[len(chosen) :]:
            chosen.append(self.decide(coming, sigma, number))
            self.expect(chosen[-1], coming, sigma)
        return chosen

    def _wave(self, coming: Coming, count: int) -> list[Proposal]:
        """One decision for all, where that is possible: on what is known, or on what is expected."""
        sharpness, analysis = sharpness_of(self._policy), self._analysis
        wave = propose_wave(analysis, self.found, coming, sharpness, self.under_way, count)
        if not wave:
            wave = propose_wave(*self.prepare(), coming, sharpness, [], count)
        return wave

    def expect(self, chosen: Proposal, coming: Coming, sigma: float | None) -> None:
        """Reckon with what was decided."""
        self.reckon_with([self.as_expected(chosen, coming, sigma)])

    def as_expected(self, chosen: Proposal, coming: Coming, sigma: float | None) -> UnderWay:
        """What was decided, as it will be when it is under way."""
        noise, where = float(coming.noise[chosen.option]), coming.block or NO_BLOCK
        return UnderWay(chosen.option, chosen.minus, where, noise, sigma, coming.manner)

    def reckon_with(self, more: list[UnderWay]) -> None:
        """More is being measured."""
        self.under_way += more
        for one in more:
            self._imagine(one)

    @functools.cached_property
    def found(self) -> Recommended | None:
        """What is recommended now."""
        return recommend(self._analysis)

    def prepare(self) -> tuple[Analysis, Recommended | None]:
        """The study that is decided on, and what it recommends: RACE sees all under way as it is expected."""
        # Where options are measured item by item, the race itself reckons with what is under way.
        looks_ahead = self._policy.name == RACE and not self._analysis.state.items
        count = len(self.under_way) if looks_ahead else 0
        if self._prepared is None or self._prepared[0] != count:
            imagined = self._imagination.with_all(self.under_way[:count])
            # While nothing follows from what is under way, it is the study as it is.
            found = self.found if imagined is self._analysis else recommend(imagined)
            self._prepared = count, imagined, found
        return self._prepared[1:]

    def _chosen(self, allowed: Mask, sigma: float | None, number: int) -> int:
        """What another policy than RACE chooses."""
        if self._chooser is None:
            from noisewise.study.asking.chooser import Chooser

            self._chooser = Chooser(self._analysis, checked(self._policy))
            for one in self.under_way:
                self._imagine(one)
        allowed = _worth_asking(self._analysis, allowed, self.prepare()[1])
        free = _first_results_first(allowed, looks_at(self._analysis), self.under_way)
        return self._chooser.choose(free, with_scatter(self._analysis, sigma), number)

    def _least_known(self, coming: Coming) -> int:
        """What RACE asks for while there is no race: the option that least is known of, per cost."""
        analysis = self._analysis
        allowed = _that_ends_waiting(analysis, coming.allowed, self.under_way)
        allowed = _worth_asking(analysis, allowed, self.prepare()[1])
        looks = looks_at(analysis)
        allowed = _first_results_first(allowed, looks, self.under_way)
        known, begun = np.full(analysis.n, np.inf), looks.astype(float)
        if analysis.columns.value.size:
            known = analysis.estimates.variances()
        for one in self.under_way:
            known[one.option] *= begun[one.option] / (begun[one.option] + 1.0) if begun[one.option] else 1.0
            begun[one.option] += 1.0
        if coming.costs is not None:
            known = known / coming.costs
        in_order = by_price(analysis, coming)
        in_order = in_order[allowed[in_order]]
        return largest(known, in_order)

    def _opponent(self, option: int, coming: Coming) -> int:
        """The option to compare a chosen one with: the leader, or the first other one by name."""
        found, by_name = self.prepare()[1], self._analysis.state.by_name()
        others = [k for k in by_name[coming.allowed[by_name]].tolist() if k != option]
        return found.option if found is not None and found.option in others else others[0]

    def _imagine(self, one: UnderWay) -> None:
        if self._chooser is not None and one.minus == NOBODY:
            self._chooser.imagine(one.option, with_scatter(self._analysis, one.announced))


def some_allowed(state: State) -> Mask:
    """Options that are not excluded, of which there must be one."""
    allowed = state.allowed()
    if not allowed.any():
        raise ValueError("every option of this study is excluded: there is nothing to ask for.")
    return allowed


def _that_ends_waiting(analysis: Analysis, allowed: Mask, under_way: list[UnderWay]) -> Mask:
    """While standard errors or a size cannot be estimated, and there is no bound for it: what that takes.

    Where options share nothing, each has to be measured once in any case.
    """
    seen, lacking = looks_at(analysis) > 0, analysis.sizes.lacking
    seen[[one.option for one in under_way]] = True
    if (allowed & ~seen).any() and (MORE_OPTIONS in lacking or not analysis.model.shares_information):
        return allowed & ~seen
    return allowed & seen if MORE_REPEATS in lacking and (allowed & seen).any() else allowed


def _worth_asking(analysis: Analysis, allowed: Mask, found: Recommended | None) -> Mask:
    """Options that are not excluded; where options share nothing, only those that may still be the best.

    Such an option teaches about itself, and in a block about the offset, which the others do as well.
    """
    if analysis.once:  # whatever was seen
        return allowed
    if not analysis.model.shares_information and found is not None and (allowed & found.candidates).any():
        return allowed & found.candidates
    return allowed


def _first_results_first(allowed: Mask, looks: NDArray[np.intp], under_way: list[UnderWay]) -> Mask:
    """Without the options whose very first measurement is still under way, if any others are left."""
    free = allowed.copy()
    free[[one.option for one in under_way if looks[one.option] == 0]] = False
    return free if free.any() else allowed
