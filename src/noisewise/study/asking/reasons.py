"""Why an option is worth a measurement, in words."""

import functools
import math

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.core.text import number, ordinal, usual_measurements
from noisewise.study.asking.pending import UnderWay, looks_at, with_scatter
from noisewise.study.asking.race import Proposal
from noisewise.study.certificates.bound import Recommended
from noisewise.study.log.measurements import NO_BLOCK, NOBODY
from noisewise.study.log.specification import RACE
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.fit import display_errors
from noisewise.study.models.variance_components import MORE_OPTIONS, MORE_REPEATS

#: What is estimated from more options, and from repeats.
LACKED = {
    MORE_OPTIONS: "options deviate from their features",
    MORE_REPEATS: "measurements scatter beyond their error bars",
}
#: What is said of a bound that takes what is under way as if it had come out as expected.
EXPECTED = "an expected "
#: A bound that stays above this part of what it was has hardly been lowered.
HARDLY = 0.99


class Reasons:
    """One line for every suggestion.

    Args:
        analysis: What was measured.
        sigma: The error bar that was announced.
        block: The block that they are for; None: a new one without a name.
        policy: The rule that makes suggestions.
    """

    def __init__(self, analysis: Analysis, sigma: float | None, block: str | None, policy: str) -> None:
        self._analysis, self._policy, self._block = analysis, policy, block
        self._sigma = with_scatter(analysis, sigma)
        self._looks, self._ids = looks_at(analysis), analysis.state.ids

    def why(self, chosen: Proposal, found: Recommended | None, under_way: list[UnderWay]) -> str:
        """One line, such as "4th look at C17: against the leader B2, the bound may fall from 0.5 to 0.4"."""
        if chosen.minus != NOBODY:
            start = f"compare {self._ids[chosen.option]} with {self._ids[chosen.minus]}"
            waiting = sum({one.option, one.minus} == {chosen.option, chosen.minus} for one in under_way)
        else:
            waiting = [one.option for one in under_way if one.minus == NOBODY].count(chosen.option)
            start = self._look(chosen.option, waiting)
        if self._analysis.once:
            parts = ["its turn, whatever was seen (looking before the end breaks the promise)"]
        elif chosen.leader is not None and self._analysis.columns.value.size:
            parts = [self._race(chosen, EXPECTED if under_way else "")]
        else:
            parts = [self._standing(chosen, found), self._wanted(chosen.option)]
        if waiting:
            parts.append(f"{waiting} under way")
        sigmas = self._analysis.sigmas.estimated
        if self._sigma is not None and sigmas.size:
            worth = (float(np.median(sigmas)) / self._sigma) ** 2
            parts.append(f"worth {usual_measurements(worth, 2)}")
            if not math.isclose(worth, 1.0, rel_tol=0.05):
                parts.append(f"so it pays if it costs less than {number(worth, 2)} of them")
        costs = self._analysis.state.costs
        if costs is not None:
            ends = [chosen.option] + ([] if chosen.minus == NOBODY else [chosen.minus])
            parts.append(f"at a cost of {number(sum(costs[end] for end in ends))}")
        return f"{start}: {', '.join(part for part in parts if part)} ({self._policy})"

    def _look(self, option: int, waiting: int) -> str:
        items = self._analysis.state.items
        if items:
            return (
                f"{self._ids[option]} on more items"
                if self._looks[option]
                else f"first items of {self._ids[option]}"
            )
        looks = int(self._looks[option])
        which = "first" if looks + waiting == 0 else ordinal(looks + waiting + 1)
        return f"{which} look at {self._ids[option]}"

    def _wanted(self, option: int) -> str:
        """What cannot be estimated yet, if measuring this option is a step to it."""
        lacking = self._analysis.sizes.lacking if self._policy == RACE else ()
        if not lacking or (lacking[0] == MORE_OPTIONS and self._looks[option] > 0):
            return ""
        return f"shows how far {LACKED[lacking[0]]}"

    def _race(self, chosen: Proposal, expected: str) -> str:
        """Which race it is for, and how far the bound may fall.

        What is under way is taken as if it had come out as expected, so that the bound is not that of the
        certificate: then ``expected`` says so. Nor is it where the certificate is withheld.
        """
        ids = self._ids
        leader = ids[chosen.leader or 0]
        if chosen.rival is None:
            if self._block == NO_BLOCK:
                return "the leader is measured first where nothing names a block, to compare others with it"
            where = "a new block" if self._block is None else f"block {self._block}"
            return f"the leader opens {where}, so that others are compared with it"
        rival = chosen.rival if chosen.helped is None else chosen.helped
        ends = {chosen.option, chosen.minus} - {NOBODY}
        if ends == {chosen.leader, rival}:
            race = ""
        elif chosen.minus == NOBODY and chosen.option == rival:
            race = f"against the leader {leader}, "
        elif chosen.minus == NOBODY and chosen.option == chosen.leader:
            race = f"it leads; against {ids[rival]}, "
        else:
            race = f"tells most about {ids[rival]} against the leader {leader}, "
        if chosen.bound <= 0.0:
            return f"{race}the bound is {'expected to be ' if expected else ''}0 if the measurements fit"
        now, then = map(self._analysis.specification.value_scale.short, (chosen.bound, chosen.after))
        if now == then or chosen.after > HARDLY * chosen.bound:
            return f"{race}the bound {'is expected to stay' if expected else 'stays'} at about {now}"
        return f"{race}the bound may fall from {expected}{now} to {then}"

    @functools.cached_property
    def _errors(self) -> Floats:
        analysis = self._analysis
        if not analysis.columns.value.size:
            return np.full(analysis.n, np.inf)
        if self._policy != RACE:  # studies that were begun earlier keep their words: against a reference
            return np.asarray(np.sqrt(analysis.estimates.variances()))
        return display_errors(analysis.estimates, analysis.sums)

    def _standing(self, chosen: Proposal, found: Recommended | None) -> str:
        """Say what is known of an option while there is no race, or another rule makes suggestions."""
        option, error = chosen.option, self._errors[chosen.option]
        may_be_best = self._analysis.state.allowed() if found is None else found.candidates
        few = int(may_be_best.sum())
        scale = self._analysis.specification.value_scale
        known = f"known to ±{scale.error(float(error), 2)}" if np.isfinite(error) else ""
        if not may_be_best[option]:
            start = f"{known}; " if known else ""
            return f"{start}out of the running so far, but teaches most about those in it"
        if known and found is not None and option == found.option:
            return f"{known}, the present leader"
        rank = int((self._errors[may_be_best] > error * (1.0 + 1e-9)).sum())
        among = f"of {few} in the running" if few < self._analysis.n else f"of {few}"
        if not known:
            return f"not measured yet, one {among}"
        return f"{known}, least known {among}" if rank == 0 else f"{known}, one {among}"
