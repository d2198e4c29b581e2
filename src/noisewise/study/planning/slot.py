"""A slot, an opportunity to measure with a known error bar: what to measure in it, and what that is worth.

What to measure is decided by RACE, as when a study asks, so that `ask` and `slot` agree. What it is worth is
found by fitting the study again, with everything under way and the slot told as they are expected: radii
change with what was measured, and so do standard errors.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from noisewise.core.choice.selection import Mask
from noisewise.core.support.checks import check_choice, check_positive
from noisewise.core.support.text import check_text
from noisewise.core.support.words import rounded_up, usual_measurements
from noisewise.study.asking.coming import DIFFERENCE, PROBES, Coming, company_in, with_scatter
from noisewise.study.asking.decision import Decider
from noisewise.study.asking.policy import racing
from noisewise.study.asking.race import Proposal
from noisewise.study.asking.reasons import HARDLY
from noisewise.study.asking.under_way import UNNAMED, Imagination, all_under_way
from noisewise.study.certificates.bound import Recommended, recommend
from noisewise.study.inputs.value_scale import AS_TOLD, ValueScale
from noisewise.study.log.measurements import NO_BLOCK, NOBODY
from noisewise.study.log.specification import RACE
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.fit import display_errors
from noisewise.study.planning.ledger import information_of_last


@dataclass(frozen=True)
class Slot:
    """What to do with one opportunity, and what it would bring if the result is as expected."""

    sigma: float
    option: str
    cost: float | None
    usual: float | None  # as many measurements of the median noise so far carry the same precision
    information: float  # nats
    se_before: float | None  # of the option's estimate, or of the difference; None if there is none yet
    se_after: float | None
    bound_before: float | None
    bound_after: float | None
    rival: str | None  # the option that it helps to tell apart from the recommended one
    recommended: str | None
    withheld: bool = False  # then there is no bound, before or after
    minus: str | None = None  # the other option, if a difference is to be measured
    block: str | None = None  # the block that it is thought to be in
    opens: bool = False  # whether it is the first measurement of its block
    policy: str | None = None  # the one that `ask` follows, if it is not race
    scale: ValueScale = AS_TOLD  # how its numbers are shown

    def __str__(self) -> str:
        short = self.scale.short
        paid = "" if self.cost is None else f" (cost {self.cost:g})"
        where = "" if self.block is None else f" in {'the new ' if self.opens else ''}block {self.block}"
        lines = [f"sigma {self.scale.error_stated(self.sigma)}: measure {self._what}{where}{paid}."]
        if self.withheld:
            lines.append("The certificate is withheld: what it does to the bound cannot be said.")
        elif self.bound_before == 0.0:
            lines.append(f"The bound of {self.recommended} is 0 already: there is nothing left to decide.")
        elif self.bound_before is not None and _hardly_falls(self.bound_before, self.bound_after or 0.0):
            opens = " Others in this block will be compared with it." if self.opens else ""
            lines.append(f"By itself it will hardly lower the bound, {short(self.bound_before)}.{opens}")
        elif self.rival is not None and self.bound_before is not None:
            lines.append(
                f"It helps most to tell {self.recommended} from {self.rival}: the bound falls from "
                f"{short(self.bound_before)} to {short(self.bound_after or 0.0)} if the result is "
                "as expected."
            )
        worth = "" if self.usual is None else f"; worth {usual_measurements(self.usual)}"
        now = "not known yet" if self.se_before is None else f"now ±{self.scale.error(self.se_before)}"
        known = "" if self.se_after is None else f"would be known to ±{self.scale.error(self.se_after)}, "
        lines.append(f"{self._what} {known}{now if known else f'is {now}'}{worth}.")
        if self.policy is not None:
            lines.append(f"`ask` follows another policy, {self.policy}, and may suggest something else.")
        return "\n  ".join(lines)

    __repr__ = __str__

    @property
    def _what(self) -> str:
        return self.option if self.minus is None else f"{self.option} - {self.minus}"

    def to_plain(self) -> dict[str, Any]:
        """As JSON values."""
        plain = asdict(self)
        del plain["scale"]
        return plain | self.scale.to_plain(bound_before=self.bound_before, bound_after=self.bound_after)


def _hardly_falls(before: float, after: float) -> bool:
    """Whether nobody would see that a bound falls."""
    return after > HARDLY * before or rounded_up(after) == rounded_up(before)


class Wanted(NamedTuple):
    """What is known of the slots besides their error bars."""

    budget: float | None = None  # what all may cost together
    block: str | None = None  # default: the last one goes on
    probe: str | None = None  # default: what is usual
    withheld: bool = False  # whether the certificate is: no bound is told then


def fill_slots(
    analysis: Analysis, sigmas: float | str | Sequence[float | str], now: float, wanted: Wanted
) -> list[Slot]:
    """Something to measure for every slot, the quietest choosing first; in the order given.

    Args:
        analysis: What is known.
        sigmas: Of the slots.
        now: Suggestions that have not expired by now are under way.
        wanted: What else is known.
    """
    if analysis.once:
        raise ValueError(
            "a study with final=True has no slots: which option is worth one is found by looking at "
            "values. Ask instead, which goes by turns."
        )
    listed = sigmas if isinstance(sigmas, Iterable) and not isinstance(sigmas, str) else [sigmas]
    given = [analysis.specification.value_scale.read_error(sigma, "sigma") for sigma in listed]
    if not given:
        raise ValueError("`sigma` must name at least one slot; got none.")
    if wanted.budget is not None:
        check_positive("budget", wanted.budget)
        if analysis.state.costs is None:
            raise ValueError("`budget` needs costs: the catalogue of this study has no cost column.")
    if wanted.block is not None:
        wanted = wanted._replace(block=check_text("block", wanted.block))
    if wanted.probe is not None:
        check_choice("probe", wanted.probe, PROBES)
    filler = _Filler(analysis, now, wanted)
    filled: dict[int, Slot] = {}
    for place in sorted(range(len(given)), key=lambda at: (given[at], at)):
        filled[place] = filler.fill(given[place])
    return [filled[place] for place in range(len(given))]


class _Filler:
    """Slots one after the other, each as if those before came out as expected."""

    def __init__(self, analysis: Analysis, now: float, wanted: Wanted) -> None:
        state, specification = analysis.state, analysis.specification
        self._analysis, self._wanted, self._left = analysis, wanted, wanted.budget
        policy = racing(state.policy, delta=specification.delta, seed=specification.seed)
        self._decider = Decider(analysis, policy, all_under_way(analysis, state.open_jobs(now)))
        self._imagination = Imagination(analysis)
        self._asked = len(state.jobs)
        self._usual = float(np.median(analysis.sigmas.estimated)) if analysis.columns.value.size else None
        self._costs = None if state.costs is None else np.array(state.costs)
        self._now = self._imagination.told(self._decider.under_way)
        self._found = recommend(self._now)

    def fill(self, sigma: float) -> Slot:
        state, wanted = self._analysis.state, self._wanted
        coming = self._decider.coming(sigma, block=wanted.block, probe=wanted.probe)
        chosen = self._chosen(coming, sigma)
        before, found = self._now, self._found
        self._decider.expect(chosen, coming, sigma)
        self._now = self._imagination.told(self._decider.under_way)
        self._found = recommend(self._now)
        noise = with_scatter(self._analysis, sigma) or sigma
        cost = self._price(chosen)
        self._left = None if self._left is None or cost is None else self._left - cost
        rival = chosen.rival if chosen.helped is None else chosen.helped
        opens = coming.probe != DIFFERENCE and company_in(before.sums, coming.block) is None
        return Slot(
            sigma=sigma,
            scale=self._analysis.specification.value_scale,
            option=state.ids[chosen.option],
            cost=cost,
            usual=None if self._usual is None else (self._usual / noise) ** 2,
            information=information_of_last(self._now),
            se_before=_error(before, chosen),
            se_after=_error(self._now, chosen),
            bound_before=None if wanted.withheld else _finite(found),
            bound_after=None if wanted.withheld else _finite(self._found),
            rival=None if rival is None else state.ids[rival],
            recommended=None if found is None else state.ids[found.option],
            withheld=wanted.withheld,
            minus=None if chosen.minus == NOBODY else state.ids[chosen.minus],
            block=_named(wanted.block if coming.probe == DIFFERENCE else coming.block),
            opens=opens and _named(coming.block) is not None,
            policy=None if state.policy.name == RACE else state.policy.name,
        )

    def _chosen(self, coming: Coming, sigma: float) -> Proposal:
        """What RACE measures of what can be paid."""
        self._asked += 1
        allowed, costs = self._affordable(coming), self._costs
        while True:
            chosen = self._decider.decide(coming._replace(allowed=allowed), sigma, self._asked)
            cost = self._price(chosen)
            if costs is None or cost is None or self._left is None or cost <= self._left:
                return chosen
            # Two options that are too dear together: without the dearer one there is a pair, if there is any.
            dearer = chosen.option if costs[chosen.option] >= costs[chosen.minus] else chosen.minus
            allowed = allowed.copy()
            allowed[dearer] = False

    def _affordable(self, coming: Coming) -> Mask:
        """Options that can be paid, as a difference together with the cheapest other one."""
        if self._left is None or self._costs is None:
            return coming.allowed
        at_least = np.zeros(self._costs.size)
        needed, what = 1, "option"
        if coming.probe == DIFFERENCE:
            needed, what = 2, "pair of options"
            options = np.flatnonzero(coming.allowed)
            cheapest = options[np.argsort(self._costs[options], kind="stable")[:2]]
            at_least[:] = self._costs[cheapest[0]]
            at_least[cheapest[0]] = self._costs[cheapest[1]]
        allowed = coming.allowed & (self._costs + at_least <= self._left)
        if int(allowed.sum()) < needed:
            raise ValueError(
                f"there is no {what} that costs at most what is left of the budget ({self._left:g}): leave "
                "out a slot, or include options."
            )
        return allowed

    def _price(self, chosen: Proposal) -> float | None:
        if self._costs is None:
            return None
        return float(self._costs[chosen.option] + (self._costs[chosen.minus] if chosen.minus >= 0 else 0.0))


def _error(analysis: Analysis, chosen: Proposal) -> float | None:
    """The standard error of an option's estimate, or of a difference; None while there is none."""
    fit, option, minus = analysis.estimates, chosen.option, chosen.minus
    if not analysis.columns.value.size or fit.group[option] < 0:
        return None
    if minus == NOBODY:
        error = float(display_errors(fit, analysis.sums)[option])
    elif fit.group[option] != fit.group[minus] or analysis.sigmas.waiting:
        return None
    else:
        joint = analysis.model.knowledge(fit, analysis.boundary, option).joint
        ends, apart = np.array([option, minus]), np.array([1.0, -1.0])
        error = math.sqrt(max(0.0, float(apart @ joint.mixed(ends, apart)[ends])))
    return error if 0.0 < error < math.inf else None


def _named(block: str | None) -> str | None:
    """The name that people gave a block, if there is one."""
    return None if block in (None, NO_BLOCK) or block.startswith(UNNAMED) else block


def _finite(found: Recommended | None) -> float | None:
    return None if found is None or math.isinf(found.bound) else found.bound
