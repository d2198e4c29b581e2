"""Which option to measure next: a policy's rule on what the study knows.

The rule sees the measurements pooled, in units of half the span, on a model that also holds offsets of
blocks and measured differences. Its state is made afresh from the log at every question, so the answer
depends on nothing else.
"""

import math
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from noisewise.core.choice.selection import Mask
from noisewise.core.model.dense import Floats
from noisewise.rules.policy import decide
from noisewise.rules.registry import rule_named
from noisewise.rules.rule import Rule
from noisewise.study.log.measurements import Codes, Columns
from noisewise.study.log.specification import PolicyChoice
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.fit import reference_place
from noisewise.study.models.rule_view import RuleView
from noisewise.study.models.sums import Sums, block_places, totals

#: A block with a single probe was begun just now if one of this many last measurements is in it.
BEGUN = 8


class Chooser:
    """A rule with everything told so far; it remembers what is under way."""

    def __init__(self, analysis: Analysis, policy: PolicyChoice) -> None:
        kind = rule_named(policy.name)
        self._unit = unit = unit_of(analysis)
        sigma = analysis.sigmas.estimated / unit
        self._typical = float(np.median(sigma)) if sigma.size else math.nan
        levelled = _on_a_level(analysis)
        self._zero = levelled.zero(analysis)
        sums = levelled.sums
        sums = sums._replace(value=sums.value / unit, weight=sums.weight * unit**2, fine=None)
        view = RuleView(
            policy=kind.name,
            whole=kind.catch_up is not None and policy.options.get("radius") != "restarted",
            sums=sums,
            contrasts_only=levelled.taken is not None,
            deviation=analysis.sizes.deviation / unit,
        )
        options = {name: value for name, value in policy.options.items() if name != "horizon"}
        horizon = policy.options.get("horizon")
        rule = kind(**options).on(analysis.model.actions(view), horizon)
        analysis.model.fill(rule.model.arrays, view, rule.limits.ridge)
        self._rule = rule = rule.keeping(rule.model)
        if sums.n_measurements and view.whole:
            _catch_up(rule, analysis.columns, sigma)
        elif sums.n_measurements:
            _learn_one_by_one(rule, analysis, levelled._replace(sums=sums), sigma)
        for option, error in levelled.alone:
            self.imagine(option, error)

    def choose(self, allowed: Mask, sigma: float | None, ask_number: int) -> int:
        """The option to measure next; the random draws belong to the number of the question."""
        noise = None if sigma is None else sigma / self._unit
        return int(decide(self._rule, allowed, noise, ask_number))

    @property
    def unit(self) -> float:
        """What the rule counts values in."""
        return self._unit

    @property
    def model(self) -> Any:
        """What the rule knows, in these units."""
        return self._rule.model

    @property
    def must_know_sigma(self) -> bool:
        """Whether the rule cannot choose before it knows sigma."""
        return self._rule.sees_sigma == "before"

    def copy(self) -> "Chooser":
        """One that learns on its own from here."""
        twin = copy(self)
        twin._rule = self._rule.copy()
        return twin

    def learn(self, option: int, value: float, sigma: float) -> None:
        """Take in one more measurement; large values are good, and 0 is where the sums are centred."""
        value -= self._zero
        told = sigma / self._unit if self._rule.sees_sigma != "never" else math.nan
        self._rule.learn(option, value / self._unit, told)

    def renew(self, options: Codes, sigmas: Floats) -> None:
        """Keep the model, and let all else follow from these measurements, as at every question."""
        if self._rule.catch_up is not None:
            self._rule = self._rule.keeping(self._rule.model)
            self._rule.catch_up(options, sigmas / self._unit)

    def imagine(self, option: int, sigma: float | None) -> None:
        """Take a measurement under way as if it had come out as expected."""
        assumed = self._typical if sigma is None else sigma / self._unit
        if not math.isfinite(assumed):
            assumed = self._rule.model.width(option) or 1.0
        self._rule.imagine(option, assumed)


class Levelled(NamedTuple):
    """The sums as a rule sees them."""

    sums: Sums
    taken: Floats | None  # (blocks,): what was taken off the values of each block; None if nothing was
    alone: tuple[tuple[int, float], ...] = ()  # options and errors in new blocks that have nothing else yet

    def zero(self, analysis: Analysis) -> float:
        """What was taken off values in the block of coming measurements."""
        if self.taken is None:
            return 0.0
        return float(self.taken[reference_place(analysis.estimates.offset_precision)])


def _on_a_level(analysis: Analysis) -> Levelled:
    """What a rule may know of values in blocks.

    Where contrasts alone may decide what is measured next in a block, the estimated offset of every block is
    taken off, and the mean of the options that are connected: shifting a block then changes nothing. Blocks
    with one probe say nothing about differences, and are left out. In a block that was begun just now such a
    measurement will count as soon as another option is measured there: it is reckoned with like one under
    way, or a rule would ask for the same option for ever.
    """
    sums = analysis.sums
    if not sums.has_border:
        return Levelled(sums, None)
    fit = analysis.estimates
    taken = fit.offsets.copy()
    for part in fit.components:
        taken[part.blocks] += float(np.mean(fit.means[part.options]))
    linked = sums.without_lone_blocks()
    value = np.where(linked.minus < 0, linked.value - taken[linked.block], linked.value)
    columns = analysis.columns
    newest = columns.number > int(columns.number.max()) - BEGUN
    begun = np.unique(block_places(columns, sums.blocks)[newest])
    lone = (sums.minus < 0) & np.isin(sums.block, begun) & ~np.isin(sums.block, linked.block)
    alone = zip(sums.plus[lone].tolist(), (sums.weight[lone] ** -0.5).tolist(), strict=True)
    return Levelled(linked._replace(value=value), taken, tuple(alone))


def unit_of(analysis: Analysis) -> float:
    """Half the span; without one, half the range of the estimates so far, or eps."""
    specification, fit = analysis.specification, analysis.estimates if analysis.columns.value.size else None
    if analysis.state.model.span is not None:
        return analysis.state.model.span / 2.0
    if fit is not None and (fit.group >= 0).any():
        spread = float(np.ptp(fit.means[fit.group >= 0])) / 2.0
        return max(spread, specification.resolution)
    return specification.resolution


def _catch_up(rule: Rule, columns: Columns, sigma: Floats) -> None:
    """Let all that a rule keeps besides its model follow from the measurements, differences apart."""
    level = np.flatnonzero(columns.minus < 0)
    order = level[np.lexsort((sigma[level], columns.plus[level]))]
    rule.catch_up(columns.plus[order], sigma[order])


def _learn_one_by_one(rule: Rule, analysis: Analysis, levelled: Levelled, sigma: Floats) -> None:
    """For rules with books of their own: each measurement, its block's estimated offset taken off.

    A rule that may pool sees one measurement per option. The order is that of the catalogue.
    """
    sums, columns, sign = levelled.sums, analysis.columns, analysis.specification.sign
    if (sums.minus >= 0).any():
        raise ValueError(
            f"the policy {rule.name!r} cannot learn from differences: choose another one, such as 'vaee', "
            "with study.set_policy(...)."
        )
    offsets, unit = analysis.estimates.offsets, unit_of(analysis)
    if rule.pools:
        values = sums.value - (offsets[sums.block] / unit if levelled.taken is None else 0.0)
        weight = totals(sums.plus, sums.weight, analysis.n)
        mean = totals(sums.plus, sums.weight * values, analysis.n)
        for option in np.flatnonzero(weight):
            rule.learn(int(option), mean[option] / weight[option], weight[option] ** -0.5)
        return
    block = block_places(columns, sums.blocks)
    taken = offsets if levelled.taken is None else levelled.taken
    values = (sign * columns.value - sums.centre - taken[block]) / unit
    seen = np.isin(block, sums.block)  # not those of blocks that were left out
    sees = rule.sees_sigma != "never"
    for at in np.lexsort((sigma, values, block, columns.plus)):
        if seen[at]:
            told = float(sigma[at]) if sees else math.nan
            rule.learn(int(columns.plus[at]), float(values[at]), told)
