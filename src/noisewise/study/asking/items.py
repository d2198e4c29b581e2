"""Which option is measured next on which items: the leader goes ahead along the order, challengers follow.

    ITEMS(what was told, jobs under way, items per job)
     1  An option that was told no item and has none under way comes first, by name.
     2  i <- option with the largest mean;   p_k <- items told from the first on, and under way
     3  While the strongest rival k* is certainly better than i:   i <- k*
        u_k <- m_k - m_i + h_k·√(common items now / common items then);   k* <- argmax u, the strongest rival
     4  If p_i <= p_k*: return i, else k*; if its items are used up, the other one.

It ends: each race that decides the bound gets more items in common with every second suggestion, and a leader
that is certainly worse than its rival leads no more.

Only items that both options were told narrow their difference: the option that is behind is measured. The
leader is in all races, so that it goes first, and never waits for rivals that are out of the running.
"""

import math
from typing import Any

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.core.checks import check_count
from noisewise.study.asking.race import Proposal, largest
from noisewise.study.certificates.bound import Recommended
from noisewise.study.log.items import BATCH, next_places
from noisewise.study.log.measurements import KINDS, NOBODY, Codes
from noisewise.study.log.specification import SYMMETRIC
from noisewise.study.log.state import Job, State
from noisewise.study.models.analysis import Analysis
from noisewise.study.telling.error_bars import ITEMS
from noisewise.study.telling.finding import find_option


def batch_of(state: State, items: int | None) -> int | None:
    """How many items a suggestion is for; None where options are not measured item by item."""
    if items is not None:
        return items
    if state.specification.noise == SYMMETRIC:
        return 1  # a round at a time
    columns = state.measurements.columns()
    last = columns.kind[np.argmax(columns.number)] if columns.number.size else -1
    declared = state.specification.items is not None
    return BATCH if declared or last == KINDS.index(ITEMS) else None


def check_only_items(state: State, said: dict[str, Any]) -> None:
    """Refuse what items have none of."""
    for name, value in said.items():
        if value is not None:
            raise ValueError(f"`{name}` must be left out: this study is measured item by item.")
    if state.model.uses_features:
        raise ValueError(
            "`items` goes with the independent model, which compares options item by item; this study uses "
            f"the {state.model.model} model."
        )


def items_to_come(state: State, option: str, n: int, now: float) -> list[str]:
    """The names of the items that come next for an option, at most n."""
    row = state.index[find_option(state, option)]
    places = next_places(state, row, check_count("n", n), state.open_jobs(now))
    return [state.items.names[place] for place in places.tolist() if place < len(state.items.names)]


def with_items(state: State, option: int, batch: int, jobs: list[Job]) -> dict[str, Any]:
    """What a suggestion says about its items: names, and how many are to be drawn anew."""
    names = state.items.names
    places = next_places(state, option, batch, jobs)
    known = [names[place] for place in places.tolist() if place < len(names)]
    fresh = places.size - len(known)
    drawn = {"fresh": fresh, "fresh_from": int(places[-fresh]) + 1} if fresh else {}
    return ({"items": known} if known else {}) | drawn


class ItemRace:
    """What to measure next, one suggestion after the other.

    Args:
        analysis: What was told.
        found: What would be recommended.
        allowed: The options that may be measured, (n,).
        jobs: Suggestions that are under way.
        batch: Items of a suggestion.
    """

    def __init__(
        self,
        analysis: Analysis,
        found: Recommended | None,
        allowed: np.ndarray[Any, np.dtype[np.bool_]],
        jobs: list[Job],
        batch: int,
    ) -> None:
        state = analysis.state
        self._analysis, self._found, self._allowed, self._batch = analysis, found, allowed, batch
        self._told = np.array([float(state.items.of(option).prefix) for option in range(analysis.n)])
        self._place = self._told.copy()  # where each will stand when everything under way has come in
        for job in jobs:
            self._place[state.index[job.option]] += len(job.items) + job.fresh
        self._end = math.inf if state.items.pool is None else float(state.items.pool)

    def propose(self) -> Proposal:
        """The option to measure, which from now on is under way."""
        chosen = self._first() or self._racing()
        self._place[chosen.option] = min(self._place[chosen.option] + self._batch, self._end)
        return chosen

    @property
    def is_over(self) -> bool:
        """Whether all items of the pool are recorded, or are being measured, for every option."""
        return not self._open.any()

    @property
    def _open(self) -> Any:
        return self._allowed & (self._place < self._end)

    def _first(self) -> Proposal | None:
        by_name = self._analysis.state.by_name()
        never = by_name[(self._open & (self._place == 0.0))[by_name]]
        return Proposal(int(never[0])) if never.size else None

    def _racing(self) -> Proposal:
        if self.is_over:
            raise ValueError(
                "every option was measured on all items of the pool, or is being measured on the last: "
                "there is nothing left to ask for."
            )
        found, by_name = self._found, self._analysis.state.by_name()
        among = by_name[self._open[by_name]]
        measured = by_name[(self._analysis.state.allowed() & (self._told > 0.0))[by_name]]
        if found is None or not measured.size:  # the first answers are still under way
            return Proposal(int(among[np.argmin(self._place[among])]))
        leader, rivals = self._leader(measured)
        if not rivals.size:
            return Proposal(int(among[np.argmin(self._place[among])]))
        upper = self._upper(leader, self._place)
        rival = largest(upper, rivals)
        ahead = self._place[leader] > self._place[rival]
        option = rival if (ahead and self._open[rival]) or not self._open[leader] else leader
        then = self._place.copy()
        then[option] = min(then[option] + self._batch, self._end)
        after = self._upper(leader, then)[rivals].max()
        bound = max(0.0, float(upper[rivals].max()))
        width = float(self._analysis.boundary.half_widths(leader)[rival])
        return Proposal(
            option, NOBODY, leader, rival, width, bound, min(bound, max(0.0, float(after))), rival
        )

    def _leader(self, measured: Codes) -> tuple[int, Codes]:
        """The leader, and its rivals in races that can still be narrowed."""
        analysis, by_name = self._analysis, self._analysis.state.by_name()
        leader = largest(analysis.certified.means, measured)
        for _ in range(measured.size):
            upper = self._upper(leader, self._place)
            can = (self._open | self._open[leader]) & np.isfinite(upper)
            rivals = by_name[can[by_name]]
            if not rivals.size:
                break
            rival = largest(upper, rivals)
            behind = (
                analysis.certified.differences(rival)[leader] + analysis.boundary.half_widths(rival)[leader]
            )
            if not behind < 0.0:
                break
            leader = rival
        return leader, rivals

    def _upper(self, leader: int, place: Floats) -> Floats:
        """By how much each option may be better than the leader once it has items up to these places."""
        analysis = self._analysis
        half = analysis.boundary.half_widths(leader)
        now = np.minimum(self._told, self._told[leader])
        then = np.maximum(np.minimum(place, place[leader]), now)
        with np.errstate(divide="ignore", invalid="ignore"):
            shrink = np.where(now > 0.0, np.sqrt(now / then), 1.0)
        upper = analysis.certified.differences(leader) + np.where(half > 0.0, half * shrink, half)
        upper[~analysis.state.allowed()] = -np.inf
        upper[leader] = -np.inf
        return np.where(np.isposinf(upper), np.finfo(float).max, upper)
