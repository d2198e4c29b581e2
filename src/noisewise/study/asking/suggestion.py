"""Suggestions: what to measure next, for how long it is reserved, and why."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise.core.choice.selection import Mask
from noisewise.core.support.words import number, ordinal, usual_measurements
from noisewise.study.asking.chooser import Chooser
from noisewise.study.certificate.bound import Recommended, recommend
from noisewise.study.log.measurements import NO_BLOCK, Columns
from noisewise.study.log.state import State
from noisewise.study.models.analysis import Analysis
from noisewise.study.stores.protocol import Event


class Asking:
    """Everything that a suggestion needs, at one moment; what others ask for afterwards can be added.

    Only the recommendation is needed, not whether the model fits: that costs a hundred times as much. It is
    made before the turn to append has come, so that people who ask at the same time need not wait for each
    other.
    """

    def __init__(self, analysis: Analysis, now: float) -> None:
        state, found = analysis.state, recommend(analysis)
        self._analysis, self._state = analysis, state
        self._allowed = _worth_asking(analysis, found)
        self._reasons = Reasons(analysis, found)
        self._chooser = Chooser(analysis, state.policy)
        self._names: list[str] = []  # of the options under way, one for each time
        self._seen = state.n_events
        for job in state.open_jobs(now):
            self._reckon_with(job.option, job.sigma, job.minus)

    def still_holds(self, news: list[Event]) -> bool:
        """Whether it still serves after these events: suggestions of others are reckoned with.

        Measurements that came in meanwhile do not spoil a suggestion; whatever else happened does.
        """
        unseen = [event for event in news if event.number > self._seen]
        if not all(event.kind in ("ask", "tell") for event in unseen):
            return False
        for event in unseen:
            if event.kind == "ask":
                self._reckon_with(event.body["option"], event.body.get("sigma"), event.body.get("minus"))
            self._seen = event.number
        return True

    def suggest(
        self,
        *,
        n: int,
        sigma: float | None,
        now: float,
        lease: float,
        by: str | None,
        block: str | None = None,
        probe: str | None = None,
    ) -> list[dict[str, Any]]:
        """The bodies of n events "ask", each reckoning with what is under way. It serves once."""
        state, noise = self._state, _with_scatter(self._analysis, sigma)
        given = {key: said for key, said in (("sigma", sigma), ("by", by)) if said is not None}
        columns = self._analysis.columns
        only_differences = bool(columns.minus.size) and bool((columns.minus >= 0).all())
        compare = probe == "difference" or (probe is None and only_differences)
        given |= (
            {"block": block} if block is not None else {} if compare else _coming_block(columns, state, n)
        )
        suggested: list[dict[str, Any]] = []
        for asked in range(len(state.jobs) + 1, len(state.jobs) + n + 1):
            free = _first_results_first(self._allowed, self._reasons.looks, self._names, state.index)
            option = self._chooser.choose(free, noise, asked)
            name = state.ids[option]
            why = self._reasons.why(option, self._names.count(name), noise, state.policy.name)
            minus = self._opponent(option) if compare else None
            if len(suggested) < n - 1:
                self._reckon_with(name, sigma, minus)
            body = {"id": f"ask-{asked}", "option": name, "why": why, "expires": now + lease}
            suggested.append(body | ({} if minus is None else {"minus": minus}) | given)
        return suggested

    def _reckon_with(self, name: str, sigma: float | None, minus: str | None = None) -> None:
        if minus is None:
            self._chooser.imagine(self._state.index[name], _with_scatter(self._analysis, sigma))
        self._names.append(name)

    def _opponent(self, option: int) -> str:
        """The option to compare with: the leader, or the first other one."""
        others = [k for k in np.flatnonzero(some_allowed(self._state)).tolist() if k != option]
        if not others:
            raise ValueError("a difference needs two options, and this study has one that is not excluded.")
        leader = self._reasons.leader
        return self._state.ids[leader if leader in others else others[0]]


def _coming_block(columns: Columns, state: State, n: int) -> dict[str, str]:
    """Where measurements have blocks: one more goes on in the last block, several make a new one."""
    level = np.flatnonzero(columns.minus < 0)
    last = columns.blocks[columns.block[level[np.argmax(columns.number[level])]]] if level.size else NO_BLOCK
    if last == NO_BLOCK:
        return {}
    return {"block": last} if n == 1 else {"together": f"ask-{len(state.jobs) + 1}"}


def _with_scatter(analysis: Analysis, sigma: float | None) -> float | None:
    """The noise of a measurement with this error bar."""
    return None if sigma is None else math.hypot(sigma, analysis.sizes.extra_scatter)


def some_allowed(state: State) -> Mask:
    """Options that are not excluded, of which there must be one."""
    allowed = state.allowed()
    if not allowed.any():
        raise ValueError("every option of this study is excluded: there is nothing to ask for.")
    return allowed


def _worth_asking(analysis: Analysis, found: Recommended | None) -> Mask:
    """Options that are not excluded; where options share nothing, only those that may still be the best.

    Such an option teaches about itself, and in a block about the offset, which the others do as well.
    """
    state = analysis.state
    allowed = some_allowed(state)
    if not analysis.model.shares_information and found is not None and found.candidates.any():
        return allowed & found.candidates
    return allowed


def _first_results_first(allowed: Mask, looks: NDArray[np.intp], under_way: list[str], index: Any) -> Mask:
    """Without the options whose very first measurement is still under way, if any others are left."""
    free = allowed.copy()
    free[[k for k in (index[name] for name in under_way) if looks[k] == 0]] = False
    return free if free.any() else allowed


class Reasons:
    """Why an option is worth a measurement, in words."""

    def __init__(self, analysis: Analysis, found: Recommended | None) -> None:
        self._analysis, self.leader = analysis, None if found is None else found.option
        columns = analysis.columns
        n = analysis.n
        self.looks = np.bincount(columns.plus, minlength=n) + np.bincount(
            columns.minus[columns.minus >= 0], minlength=n
        )
        self._errors = np.sqrt(analysis.estimates.variances()) if columns.value.size else np.full(n, np.inf)
        self._may_be_best = analysis.state.allowed() if found is None else found.candidates

    def why(self, option: int, under_way: int, sigma: float | None, policy: str) -> str:
        """One line, such as "4th look at C17: known to ±0.3, least known of 6 in the running"."""
        name, looks = self._analysis.state.ids[option], int(self.looks[option])
        parts = [self._standing(option)]
        if looks == 0 and under_way == 0:
            start = f"first look at {name}"
        else:
            start = f"{ordinal(looks + under_way + 1)} look at {name}"
        if under_way:
            parts.append(f"{under_way} under way")
        sigmas = self._analysis.sigmas.estimated
        if sigma is not None and sigmas.size:
            worth = (float(np.median(sigmas)) / sigma) ** 2
            parts.append(f"this slot is worth {usual_measurements(worth, 2)}")
        return f"{start}: {', '.join(part for part in parts if part)} ({policy})"

    def _standing(self, option: int) -> str:
        error, few = self._errors[option], int(self._may_be_best.sum())
        known = f"known to ±{number(float(error), 2)}" if np.isfinite(error) else ""
        if not self._may_be_best[option]:
            return f"{known}; out of the running so far, but teaches most about those in it"
        if option == self.leader:
            return f"{known}, the present leader"
        rank = int((self._errors[self._may_be_best] > error * (1.0 + 1e-9)).sum())
        among = f"of {few} in the running" if few < self._analysis.n else f"of {few}"
        if not known:
            return f"not measured yet, one {among}"
        return f"{known}, least known {among}" if rank == 0 else f"{known}, one {among}"
