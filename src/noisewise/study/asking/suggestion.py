"""Suggestions: what to measure next, for how long it is reserved, and why."""

from collections.abc import Iterator
from typing import Any

from noisewise.study.asking.coming import OPTION, Coming
from noisewise.study.asking.decision import Decider
from noisewise.study.asking.item_race import ItemRace, batch_of, check_only_items, with_items
from noisewise.study.asking.policy import checked
from noisewise.study.asking.race import Proposal
from noisewise.study.asking.reasons import Reasons
from noisewise.study.asking.under_way import UNNAMED, UnderWay, all_under_way
from noisewise.study.certificates.bound import Recommended
from noisewise.study.log.events import Event
from noisewise.study.log.measurements import NO_BLOCK, NOBODY
from noisewise.study.log.specification import RACE
from noisewise.study.log.state import Job, State, job_of
from noisewise.study.models.analysis import Analysis

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
        """Whether it still serves after these events: suggestions of others are reckoned with.

        Measurements that came in meanwhile do not spoil a suggestion; whatever else happened does.
        """
        unseen = [event for event in news if event.number > self._seen]
        if not all(event.kind in ("ask", "tell") for event in unseen):
            return False
        jobs: list[Job] = [job_of(event.body) for event in unseen if event.kind == "ask"]
        if jobs:
            self._decider.reckon_with(all_under_way(self._analysis, jobs))
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
        """The bodies of events "ask", each reckoning with what is under way. It serves once.

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
        state, decider = self._state, self._decider
        batch = batch_of(state, items)
        if batch is not None:
            check_only_items(state, {"sigma": sigma, "block": block, "probe": probe})
            return self._with_items(n, batch, now=now, lease=lease, by=by)
        first = state.last_job + 1
        given = {key: said for key, said in (("sigma", sigma), ("by", by)) if said is not None}
        new = None if n == 1 or self._for_several else f"{UNNAMED}ask-{first}"
        coming = decider.coming(sigma, block=block, probe=probe, new=new)
        where = coming.block or NO_BLOCK
        if where.startswith(UNNAMED):
            given["together"] = f"ask-{first}"
        elif where != NO_BLOCK or block is not None:
            given["block"] = where if block is None else block
        said = None if where.startswith(UNNAMED) else where
        reasons = Reasons(self._analysis, sigma, said, state.policy.name)
        suggested: list[dict[str, Any]] = []
        numbers = range(first, first + n)
        steps = self._at_once if self._for_several else self._one_by_one
        for asked, (chosen, found, under_way) in zip(numbers, steps(coming, sigma, numbers), strict=True):
            pair = {} if chosen.minus == NOBODY else {"minus": state.ids[chosen.minus]}
            why = reasons.why(chosen, found, under_way)
            body = {"option": state.ids[chosen.option], "why": why, "expires": now + lease} | pair | given
            suggested.append({"id": f"ask-{asked}"} | body)
        return suggested

    def _one_by_one(self, coming: Coming, sigma: float | None, numbers: range) -> Iterator[Step]:
        """A decision for each."""
        for asked in numbers:
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

    def _with_items(
        self, n: int, batch: int, *, now: float, lease: float, by: str | None
    ) -> list[dict[str, Any]]:
        """The same where options are measured item by item."""
        state, decider, jobs = self._state, self._decider, self._state.open_jobs(now)
        first, found = state.last_job + 1, decider.prepare()[1]
        race = ItemRace(self._analysis, found, state.allowed(), jobs, batch)
        reasons = Reasons(self._analysis, None, NO_BLOCK, state.policy.name)
        coming = decider.coming(None, block=NO_BLOCK, probe=OPTION)
        suggested: list[dict[str, Any]] = []
        for asked in range(first, first + n):
            racing = state.policy.name == RACE
            if suggested and racing and race.is_over:
                break  # less is left than was asked for
            chosen = race.propose() if racing else decider.decide(coming, None, asked)
            why = reasons.why(chosen, found, list(decider.under_way))
            decider.expect(chosen, coming, None)
            body = {
                "id": f"ask-{asked}",
                "option": state.ids[chosen.option],
                "why": why,
                "expires": now + lease,
            }
            body |= with_items(state, chosen.option, batch, jobs) | ({} if by is None else {"by": by})
            jobs = [*jobs, job_of(body)]
            suggested.append(body)
        return suggested


def rehearse_asking(state: State) -> None:
    """A first choice, thrown away: a policy that the model cannot serve refuses now and not later."""
    if state.policy.name == RACE:
        return
    from noisewise.study.asking.chooser import Chooser

    allowed = state.allowed()
    # Where all options are excluded nothing can be asked for now, but some may be included again.
    some = allowed if allowed.any() else ~allowed
    Chooser(Analysis(state), checked(state.policy)).choose(some, 1.0, 1)
