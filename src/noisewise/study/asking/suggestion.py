"""Suggestions: what to measure next, for how long it is reserved, and why."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise.core.choice.selection import Mask
from noisewise.study.asking.chooser import Chooser
from noisewise.study.asking.coming import (
    DIFFERENCE,
    OPTION,
    Coming,
    block_going_on,
    expected_noise,
    usual_probe,
    with_scatter,
)
from noisewise.study.asking.policy import without_bounds
from noisewise.study.asking.race import Proposal, propose
from noisewise.study.asking.reasons import Reasons, looks_at
from noisewise.study.asking.under_way import UNNAMED, Imagination, UnderWay, all_under_way
from noisewise.study.certificate.bound import Recommended, recommend
from noisewise.study.log.measurements import NO_BLOCK, NOBODY
from noisewise.study.log.specification import RACE
from noisewise.study.log.state import Job, State, job_of
from noisewise.study.models.analysis import Analysis
from noisewise.study.stores.protocol import Event


class Asking:
    """Everything that a suggestion needs, at one moment; what others ask for afterwards can be added.

    Only the recommendation is needed, not whether the model fits: that costs a hundred times as much. It is
    made before the turn to append has come, so that people who ask at the same time need not wait for each
    other.
    """

    def __init__(self, analysis: Analysis, now: float) -> None:
        state = analysis.state
        self._analysis, self._state = analysis, state
        self._allowed = some_allowed(state)
        self._costs = None if state.costs is None else np.array(state.costs)
        self._imagination = Imagination(analysis)
        self._under_way: list[UnderWay] = []
        self._chooser: Chooser | None = None
        self._seen = state.n_events
        self._prepared: tuple[int, Analysis, Recommended | None] | None = None
        self._reckon_with(all_under_way(analysis, state.open_jobs(now)))
        self._prepare()

    def still_holds(self, news: list[Event]) -> bool:
        """Whether it still serves after these events: suggestions of others are reckoned with.

        Measurements that came in meanwhile do not spoil a suggestion; whatever else happened does.
        """
        unseen = [event for event in news if event.number > self._seen]
        if not all(event.kind in ("ask", "tell") for event in unseen):
            return False
        jobs: list[Job] = [job_of(event.body) for event in unseen if event.kind == "ask"]
        self._reckon_with(all_under_way(self._analysis, jobs))
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
    ) -> list[dict[str, Any]]:
        """The bodies of n events "ask", each reckoning with what is under way. It serves once."""
        state = self._state
        first = len(state.jobs) + 1
        if probe is None:
            probe = usual_probe(self._analysis) if state.policy.name == RACE else OPTION
        if probe == DIFFERENCE and int(self._allowed.sum()) < 2:
            raise ValueError("a difference needs two options, and only one of this study is not excluded.")
        given = {key: said for key, said in (("sigma", sigma), ("by", by)) if said is not None}
        where = self._coming_block(n, block, f"ask-{first}") if probe == OPTION else NO_BLOCK
        if where.startswith(UNNAMED):
            given["together"] = f"ask-{first}"
        elif where != NO_BLOCK or block is not None:
            given["block"] = where if block is None else block
        coming = Coming(
            noise=expected_noise(self._analysis, sigma, probe), allowed=self._allowed, block=where,
            probe=probe, costs=self._costs,
        )  # fmt: skip
        reasons = Reasons(self._analysis, sigma, block, state.policy.name)
        suggested: list[dict[str, Any]] = []
        for asked in range(first, first + n):
            chosen = self._propose(coming, sigma, asked)
            pair = {} if chosen.minus == NOBODY else {"minus": state.ids[chosen.minus]}
            why = reasons.why(chosen, self._prepare()[1], self._under_way)
            noise = float(coming.noise[chosen.option])
            self._reckon_with([UnderWay(chosen.option, chosen.minus, where, noise, sigma)])
            body = {"id": f"ask-{asked}", "option": state.ids[chosen.option], "why": why}
            suggested.append(body | {"expires": now + lease} | pair | given)
        return suggested

    def _coming_block(self, n: int, block: str | None, id: str) -> str:
        """The block of the coming measurements: the one that was said, goes on, or is new."""
        if block is not None:
            return block
        going_on = block_going_on(self._analysis)
        return going_on if n == 1 or going_on == NO_BLOCK else UNNAMED + id

    def _propose(self, coming: Coming, sigma: float | None, number: int) -> Proposal:
        policy = self._state.policy
        if policy.name == RACE:
            imagined, found = self._prepare()
            proposal = propose(imagined, found, coming, float(policy.options["sharpness"]))
            if proposal is not None:
                return proposal
        option = self._chosen(sigma, number)
        return Proposal(option, self._opponent(option) if coming.probe == DIFFERENCE else NOBODY)

    def _prepare(self) -> tuple[Analysis, Recommended | None]:
        """The study that is decided on, and what it recommends: RACE sees all under way as it is expected."""
        count = len(self._under_way) if self._state.policy.name == RACE else 0
        if self._prepared is None or self._prepared[0] != count:
            imagined = self._imagination.with_all(self._under_way[:count])
            self._prepared = count, imagined, recommend(imagined)
        return self._prepared[1:]

    def _chosen(self, sigma: float | None, number: int) -> int:
        """What the policy chooses, if it is another one than RACE, or RACE cannot yet."""
        if self._chooser is None:
            self._chooser = Chooser(self._analysis, without_bounds(self._state.policy))
            for one in self._under_way:
                self._imagine(one)
        allowed = _worth_asking(self._analysis, self._allowed, self._prepare()[1])
        free = _first_results_first(allowed, looks_at(self._analysis), self._under_way)
        return self._chooser.choose(free, with_scatter(self._analysis, sigma), number)

    def _opponent(self, option: int) -> int:
        """The option to compare a chosen one with: the leader, or the first other one by name."""
        found, by_name = self._prepare()[1], self._state.by_name()
        others = [k for k in by_name[self._allowed[by_name]].tolist() if k != option]
        return found.option if found is not None and found.option in others else others[0]

    def _imagine(self, one: UnderWay) -> None:
        if self._chooser is not None and one.minus == NOBODY:
            self._chooser.imagine(one.option, with_scatter(self._analysis, one.announced))

    def _reckon_with(self, more: list[UnderWay]) -> None:
        self._under_way += more
        for one in more:
            self._imagine(one)


def rehearse_asking(state: State) -> None:
    """A first choice, thrown away: a policy that the model cannot serve refuses now and not later."""
    Chooser(Analysis(state), without_bounds(state.policy)).choose(state.allowed(), 1.0, 1)


def some_allowed(state: State) -> Mask:
    """Options that are not excluded, of which there must be one."""
    allowed = state.allowed()
    if not allowed.any():
        raise ValueError("every option of this study is excluded: there is nothing to ask for.")
    return allowed


def _worth_asking(analysis: Analysis, allowed: Mask, found: Recommended | None) -> Mask:
    """Options that are not excluded; where options share nothing, only those that may still be the best.

    Such an option teaches about itself, and in a block about the offset, which the others do as well.
    """
    if not analysis.model.shares_information and found is not None and found.candidates.any():
        return allowed & found.candidates
    return allowed


def _first_results_first(allowed: Mask, looks: NDArray[np.intp], under_way: list[UnderWay]) -> Mask:
    """Without the options whose very first measurement is still under way, if any others are left."""
    free = allowed.copy()
    free[[one.option for one in under_way if looks[one.option] == 0]] = False
    return free if free.any() else allowed
