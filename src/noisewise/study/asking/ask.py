"""Suggestions: what to measure next, for how long it is reserved, and why."""

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from noisewise.core.blocks import Mask
from noisewise.core.checks import ASKED, COUNT, LEASE, check_choice, check_count_within, check_within
from noisewise.core.text import check_text
from noisewise.study.asking.items import ItemRace, batch_of, check_only_items, with_items
from noisewise.study.asking.pending import (
    DIFFERENCE,
    OPTION,
    PROBES,
    UNNAMED,
    Coming,
    Imagination,
    Manner,
    UnderWay,
    all_under_way,
    block_going_on,
    expected_manner,
    expected_noise,
    looks_at,
    usual_probe,
    with_scatter,
)
from noisewise.study.asking.policy import sharpness_of
from noisewise.study.asking.race import Proposal, by_price, largest, propose, propose_wave
from noisewise.study.asking.reasons import Reasons
from noisewise.study.certificates.bound import Recommended, recommend
from noisewise.study.log.budget import warn_of_budget
from noisewise.study.log.events import Event, Happened
from noisewise.study.log.log import Log
from noisewise.study.log.measurements import NO_BLOCK, NOBODY
from noisewise.study.log.specification import RACE, PolicyChoice
from noisewise.study.log.state import WEEK, Job, State, job_of
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.variance_components import MORE_OPTIONS, MORE_REPEATS
from noisewise.study.telling.item_rows import check_items_belong

if TYPE_CHECKING:  # policies are loaded when one has to decide
    from noisewise.study.asking.policy import Chooser


#: What was decided, what would be recommended then, and what was under way before it.
Step = tuple[Proposal, Recommended | None, list[UnderWay]]


class Asking:
    """Everything that a suggestion needs, at one moment; what others ask for afterwards can be added.

    Only the recommendation is needed, not whether the model fits: that costs a hundred times as much. It is
    made before the turn to append has come, so that people who ask at the same time need not wait for each
    other.

    Args:
        analysis: What was measured.
        now: The time.
        at_once: It is asked for workers who measure at the same time: one decision serves many of them, and
            no block is begun for them.
    """

    def __init__(self, analysis: Analysis, now: float, *, at_once: bool = False) -> None:
        state = analysis.state
        self._analysis, self._state = analysis, state
        self._decider = Decider(analysis, state.policy, all_under_way(analysis, state.open_jobs(now)))
        self._seen, self._for_several = state.n_events, at_once
        _ = self._decider.found if at_once else self._decider.prepare()

    def still_holds(self, news: list[Event]) -> bool:
        """Whether it is still valid after these events: suggestions of others are taken into account.

        Measurements that came in meanwhile do not spoil a suggestion; whatever else happened does.
        """
        unseen = [event for event in news if event.number > self._seen]
        if not all(event.kind in ("ask", "tell") for event in unseen):
            return False
        jobs: list[Job] = [job_of(event.body) for event in unseen if event.kind == "ask"]
        if jobs:
            self._decider.expect_all(all_under_way(self._analysis, jobs))
        self._seen = max([self._seen, *(event.number for event in unseen)])
        return True

    def suggest(
        self,
        *,
        n: int,
        sigma: float | None,
        block: str | None = None,
        probe: str | None = None,
        now: float,
        lease: float,
        by: str | None,
        items: int | None = None,
    ) -> list[dict[str, Any]]:
        """Return the bodies of events "ask", each decided with what is under way. To be called once.

        Args:
            n: How many decisions.
            sigma: The error bar that was announced.
            block: The block that was said.
            probe: What was said.
            now: The time.
            lease: Seconds.
            by: For whom.
            items: How many items each is for.
        """
        state, decider, jobs = self._state, self._decider, self._state.open_jobs(now)
        given = {key: said for key, said in (("sigma", sigma), ("by", by)) if said is not None}
        numbers = range(state.last_job + 1, state.last_job + 1 + n)
        together, batch = f"ask-{numbers[0]}", batch_of(state, items)
        if batch is not None:
            check_only_items(state, {"sigma": sigma, "block": block, "probe": probe})
            decider.by_items(jobs, batch)
            coming = decider.coming(None, block=NO_BLOCK, probe=OPTION)
        else:
            new = None if n == 1 or self._for_several else f"{UNNAMED}{together}"
            coming = decider.coming(sigma, block=block, probe=probe, new=new)
        where = coming.block or NO_BLOCK
        if where.startswith(UNNAMED):
            given["together"] = together
        elif where != NO_BLOCK or block is not None:
            given["block"] = where if block is None else block
        said = None if where.startswith(UNNAMED) else where
        reasons = Reasons(self._analysis, sigma, said, state.policy.name)
        suggested: list[dict[str, Any]] = []
        steps = self._at_once if self._for_several and batch is None else self._one_by_one
        for asked, (chosen, found, under_way) in zip(numbers, steps(coming, sigma, numbers), strict=False):
            why, option = reasons.why(chosen, found, under_way), state.ids[chosen.option]
            body: dict[str, Any] = {"id": f"ask-{asked}", "option": option, "why": why}
            body |= {"expires": now + lease} | given
            if chosen.minus != NOBODY:
                body["minus"] = state.ids[chosen.minus]
            if batch is not None:
                body |= with_items(state, chosen.option, batch, jobs)
                jobs = [*jobs, job_of(body)]
            suggested.append(body)
        return suggested

    def _one_by_one(self, coming: Coming, sigma: float | None, numbers: range) -> Iterator[Step]:
        """A decision for each, while there are items left for it."""
        for asked in numbers:
            if self._decider.is_over and asked > numbers[0]:
                return
            chosen = self._decider.decide(coming, sigma, asked)
            found, under_way = self._decider.prepare()[1], list(self._decider.under_way)
            self._decider.expect(chosen, coming, sigma)
            yield chosen, found, under_way

    def _at_once(self, coming: Coming, sigma: float | None, numbers: range) -> Iterator[Step]:
        """One decision for all of them, where that is possible."""
        decider = self._decider
        under_way = list(decider.under_way)
        for chosen in decider.decide_several(coming, sigma, numbers):
            yield chosen, decider.found, under_way
            under_way.append(decider.as_expected(chosen, coming, sigma))


class Advisor:
    """Suggests what to measure next, and reserves it in a log.

    Args:
        log: The log of a study.
        analyse: Returns the analysis of its newest state.
    """

    def __init__(self, log: Log, analyse: Callable[[], Analysis]) -> None:
        self._log, self._analyse = log, analyse

    def ask(
        self,
        n: int,
        sigma: float | str | None = None,
        *,
        block: str | None = None,
        probe: str | None = None,
        dry_run: bool = False,
        lease: float | None = None,
        by: str | None = None,
        items: int | None = None,
        at_once: bool = False,
    ) -> list[Job]:
        """Make n suggestions (see `Study.ask`).

        Args:
            n: How many.
            sigma: The standard error to come.
            block: The block to come.
            probe: What to measure: an option or a difference.
            dry_run: Whether nothing is reserved.
            lease: Seconds for which they are reserved.
            by: Who will measure.
            items: How many items each is for.
            at_once: Whether they are for workers who measure at the same time.
        """
        log = self._log
        check_count_within("n", n, ASKED)
        sigma = None if sigma is None else log.specification.value_scale.read_error(sigma, "sigma")
        asked: dict[str, Any] = {
            "n": n, "sigma": sigma,
            "block": None if block is None else check_text("block", block),
            "probe": None if probe is None else check_choice("probe", probe, PROBES),
            "lease": WEEK if lease is None else check_within("lease", lease, LEASE),
            "by": None if by is None else check_text("by", by),
            "items": None if items is None else check_count_within("items", items, COUNT),
        }  # fmt: skip
        bodies: list[dict[str, Any]] = []
        asking: Asking | None = None

        def prepare() -> None:
            # Without any lock: others who ask at the same time need not wait for this.
            nonlocal asking
            asking = Asking(self._analyse(), log.clock(), at_once=at_once)

        def suggested(news: list[Event]) -> Happened:
            if items is not None:
                check_items_belong(log.state, "")
            if asking is None or not asking.still_holds(news):
                prepare()
            bodies[:] = cast(Asking, asking).suggest(now=log.clock(), **asked)
            warn_of_budget(log.state, bodies, log.clock())
            return [("ask", body) for body in bodies]

        def recover(events: list[Event]) -> None:
            bodies[:] = [event.body for event in events]

        if dry_run:
            suggested([])
            return [job_of(body) for body in bodies]
        return log.change(
            suggested, ("ask", *asked.values(), at_once),
            lambda: [log.state.jobs[body["id"]] for body in bodies], before=prepare, recover=recover,
        )  # fmt: skip


def rehearse_asking(state: State) -> None:
    """A first choice, thrown away: a policy that the model cannot serve refuses now and not later."""
    if state.policy.name == RACE:
        return
    from noisewise.study.asking.policy import Chooser

    allowed = state.allowed()
    # Where all options are excluded nothing can be asked for now, but some may be included again.
    some = allowed if allowed.any() else ~allowed
    Chooser(Analysis(state), state.policy).choose(some, 1.0, 1)


class Decider:
    """A policy that decides, and everything that it takes into account.

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
        self._items: ItemRace | None = None
        self.expect_all(under_way)

    def by_items(self, jobs: list[Job], batch: int) -> None:
        """Options are measured item by item: the race goes along the order of the items.

        Args:
            jobs: Suggestions that are under way.
            batch: Items of a suggestion.
        """
        if self._policy.name == RACE:
            self._items = ItemRace(self._analysis, self.prepare()[1], self._allowed, jobs, batch)

    @property
    def is_over(self) -> bool:
        """Whether all items of the pool are recorded, or are being measured, for every option."""
        return self._items is not None and self._items.is_over

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
            raise ValueError('`probe` must be "option": a study with `scale="log"` takes no differences.')
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
        if self._items is not None:
            return self._items.propose()
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
        """Return what several workers may measure, each decided with those before it under way."""
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
        """Take what was decided as under way."""
        self.expect_all([self.as_expected(chosen, coming, sigma)])

    def as_expected(self, chosen: Proposal, coming: Coming, sigma: float | None) -> UnderWay:
        """What was decided, as it will be when it is under way."""
        noise, where = float(coming.noise[chosen.option]), coming.block or NO_BLOCK
        return UnderWay(chosen.option, chosen.minus, where, noise, sigma, coming.manner)

    def expect_all(self, more: list[UnderWay]) -> None:
        """Take more measurements as under way."""
        self.under_way += more
        for one in more:
            self._imagine(one)

    @functools.cached_property
    def found(self) -> Recommended | None:
        """What is recommended now."""
        return recommend(self._analysis)

    def prepare(self) -> tuple[Analysis, Recommended | None]:
        """The study that is decided on, and what it recommends: RACE sees all under way as it is expected."""
        # Where options are measured item by item, the race itself takes what is under way into account.
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
            from noisewise.study.asking.policy import Chooser

            self._chooser = Chooser(self._analysis, self._policy)
            for one in self.under_way:
                self._imagine(one)
        allowed = _worth_asking(self._analysis, allowed, self.prepare()[1])
        free = _first_results_first(allowed, looks_at(self._analysis), self.under_way)
        return self._chooser.choose(free, with_scatter(self._analysis, sigma), number)

    def _least_known(self, coming: Coming) -> int:
        """Return what RACE asks for while there is no race: the option that is known least, per cost."""
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
    """Return options that end the wait for standard errors or a size that cannot be estimated yet.

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
