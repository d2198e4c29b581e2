"""A slot, an opportunity to measure with a known error bar: what to measure in it, and what that is worth.

The bound is decided by the recommended option and its strongest rival. A slot goes to the option whose
measurement most reduces the variance of their difference, per cost:

    (aᵀV⁻¹y)²/(σ² + aᵀV⁻¹a) / cost,      y the difference, a an option,

or, of the `TRIED` best by this, to the one that is expected to lower the bound most per cost, if one does.
While there is no bound, it goes to the option that it teaches most about, ``log(1 + aᵀV⁻¹a/σ²)/cost``.
Here σ is the slot's error bar with the study's extra scatter; standard errors are those of the fit, before
and with a measurement that comes out as expected.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from noisewise.core.choice.selection import Mask
from noisewise.core.model.covariances import squared_covariances
from noisewise.core.model.dense import Floats
from noisewise.core.support.checks import check_positive
from noisewise.core.support.ranges import check_amount
from noisewise.core.support.words import number, rounded_up, usual_measurements
from noisewise.study.asking.chooser import Chooser
from noisewise.study.asking.policy import without_bounds
from noisewise.study.asking.what_if import More, WhatIf, reference_of, with_more
from noisewise.study.certificate.bound import Recommended, recommend
from noisewise.study.log.measurements import NOBODY
from noisewise.study.models.analysis import Analysis

#: The number of options that are tried out.
TRIED = 12
#: A bound that stays above this part of what it was has hardly been lowered.
HARDLY = 0.99


@dataclass(frozen=True)
class Slot:
    """What to do with one opportunity, and what it would bring if the result is as expected."""

    sigma: float
    option: str
    cost: float | None
    usual: float | None  # as many measurements of the median noise so far carry the same precision
    information: float  # nats
    se_before: float | None  # of the option's estimate; None if there is none yet
    se_after: float | None
    bound_before: float | None
    bound_after: float | None
    rival: str | None  # the option that it helps to tell apart from the recommended one
    recommended: str | None
    withheld: bool = False  # then there is no bound, before or after

    def __str__(self) -> str:
        paid = "" if self.cost is None else f" (cost {self.cost:g})"
        lines = [f"sigma {self.sigma:g}: measure {self.option}{paid}."]
        if self.withheld:
            lines.append("The certificate is withheld: what it does to the bound cannot be said.")
        elif self.bound_before == 0.0:
            lines.append(f"The bound of {self.recommended} is 0 already: there is nothing left to decide.")
        elif self.bound_before is not None and (self.bound_after or 0.0) > HARDLY * self.bound_before:
            lines.append(f"By itself it will hardly lower the bound, {rounded_up(self.bound_before)}.")
        elif self.rival is not None and self.bound_before is not None:
            lines.append(
                f"It helps most to tell {self.recommended} from {self.rival}: the bound falls from "
                f"{rounded_up(self.bound_before)} to {rounded_up(self.bound_after or 0.0)} if the result is "
                "as expected."
            )
        worth = "" if self.usual is None else f"; worth {usual_measurements(self.usual)}"
        now = "not known yet" if self.se_before is None else f"now ±{number(self.se_before)}"
        known = "" if self.se_after is None else f"would be known to ±{number(self.se_after)}, "
        lines.append(f"{self.option} {known}{now if known else f'is {now}'}{worth}.")
        return "\n  ".join(lines)

    __repr__ = __str__

    def to_plain(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)


def fill_slots(
    analysis: Analysis,
    sigmas: float | Sequence[float],
    budget: float | None,
    under_way: list[tuple[int, float | None]],
    *,
    withheld: bool = False,
) -> list[Slot]:
    """An option for every slot, the quietest choosing first; in the order given.

    Args:
        analysis: What is known.
        sigmas: Of the slots.
        budget: What all may cost together.
        under_way: Options that are being measured now, with their sigmas.
        withheld: Whether the certificate is: no bound is told then.
    """
    listed = [sigmas] if isinstance(sigmas, int | float) else sigmas
    given = [check_amount("sigma", sigma) for sigma in listed]
    if not given:
        raise ValueError("`sigma` must name at least one slot; got none.")
    if budget is not None:
        check_positive("budget", budget)
        if analysis.state.costs is None:
            raise ValueError("`budget` needs costs: the catalogue of this study has no cost column.")
    filler = _Filler(analysis, under_way, budget, withheld)
    filled: dict[int, Slot] = {}
    for place in sorted(range(len(given)), key=lambda at: (given[at], at)):
        filled[place] = filler.fill(given[place])
    return [filled[place] for place in range(len(given))]


class _Filler:
    """Slots one after the other, each as if those before came out as expected."""

    def __init__(
        self,
        analysis: Analysis,
        under_way: list[tuple[int, float | None]],
        budget: float | None,
        withheld: bool,
    ) -> None:
        self._analysis, self._budget, self._withheld = analysis, budget, withheld
        self._chooser = Chooser(analysis, without_bounds(analysis.state.policy))
        self._extra = analysis.sizes.extra_scatter
        self._usual = float(np.median(analysis.sigmas.estimated)) if analysis.columns.value.size else None
        costs = analysis.state.costs
        self._costs = None if costs is None else np.array(costs)
        self._now = analysis
        self._found = recommend(analysis)
        for option, sigma in under_way:
            assumed = sigma if sigma is not None else self._usual_error_bar()
            if assumed is not None:
                self._expect(option, assumed)

    def fill(self, sigma: float) -> Slot:
        state, chooser = self._analysis.state, self._chooser
        noise = math.hypot(sigma, self._extra)
        allowed = self._affordable()
        scores, rival = self._scores(noise / chooser.unit, allowed)
        prices = np.ones(allowed.size) if self._costs is None else self._costs
        option = self._best(np.where(allowed, scores / prices, -np.inf), prices, sigma)
        error, before = self._error(option), self._found
        width = float(chooser.model.squared_widths[option]) * chooser.unit**2
        if self._budget is not None and self._costs is not None:
            self._budget -= float(self._costs[option])
        self._expect(option, sigma)
        return Slot(
            sigma=sigma,
            option=state.ids[option],
            cost=None if self._costs is None else float(self._costs[option]),
            usual=None if self._usual is None else (self._usual / noise) ** 2,
            information=math.log1p(width / noise**2),
            se_before=error,
            se_after=self._error(option),
            bound_before=None if self._withheld else _finite(before),
            bound_after=None if self._withheld else _finite(self._found),
            rival=None if rival is None else state.ids[rival],
            recommended=None if before is None else state.ids[before.option],
            withheld=self._withheld,
        )

    def _usual_error_bar(self) -> float | None:
        """The one that has the usual noise, extra scatter added."""
        if self._usual is None:
            return None
        return math.sqrt(max(self._usual**2 - self._extra**2, 1e-12 * self._usual**2))

    def _error(self, option: int) -> float | None:
        """The standard error of an option's estimate; None while there is none, but for a convention."""
        fit = self._now.estimates
        if not self._now.columns.value.size or fit.group[option] < 0:
            return None
        error = math.sqrt(float(fit.variances()[option]))
        return error if 0.0 < error < math.inf else None

    def _best(self, scores: Floats, prices: Floats, sigma: float) -> int:
        """Of those with the best scores, the one that is expected to lower the bound most per cost."""
        first = int(np.argmax(scores))
        if self._found is None or not math.isfinite(self._found.bound):
            return first
        tried = [int(option) for option in np.argsort(-scores, kind="stable")[:TRIED] if scores[option] > 0.0]
        falls = {}
        for option in tried:
            then = recommend(self._as_expected(option, sigma))
            falls[option] = 0.0 if then is None else (self._found.bound - then.bound) / float(prices[option])
        best = max(falls, key=lambda option: falls[option], default=first)
        return best if falls.get(best, 0.0) > 0.0 else first

    def _affordable(self) -> Mask:
        allowed = self._analysis.state.allowed()
        if self._budget is not None and self._costs is not None:
            allowed &= self._costs <= self._budget
        if not allowed.any():
            left = (
                ""
                if self._budget is None
                else f" that costs at most what is left of the budget ({self._budget:g})"
            )
            raise ValueError(f"there is no option{left}: leave out a slot, or include options.")
        return allowed

    def _scores(self, sigma: float, allowed: Mask) -> tuple[Floats, int | None]:
        """What measuring each option brings, in the chooser's units, (n,); and the rival it is about."""
        model, found = self._chooser.model, self._found
        widths = np.asarray(model.squared_widths)
        rival = None if found is None else _rival(self._now, found)
        if found is None or rival is None:
            fit = self._now.estimates
            unknown = fit.group < 0 if self._now.columns.value.size else np.ones(widths.size, dtype=bool)
            taught = np.log1p(widths / sigma**2)
            return (np.where(unknown, taught, 0.0) if (unknown & allowed).any() else taught), None
        squares = squared_covariances(model, np.array([rival]), found.option, np.ones(1))
        return np.asarray(squares / (sigma**2 + widths)), rival

    def _expect(self, option: int, sigma: float) -> None:
        """Take a measurement as if it had come out as expected."""
        self._chooser.imagine(option, math.hypot(sigma, self._extra))
        self._now = self._as_expected(option, sigma)
        self._found = recommend(self._now)

    def _as_expected(self, option: int, sigma: float) -> WhatIf:
        analysis = self._now
        reference = reference_of(analysis)
        expected = float(analysis.estimates.means[option]) + reference.zero + analysis.sums.centre
        value = np.array([analysis.specification.sign * expected])
        more = More(np.array([option]), np.array([NOBODY]), value, np.array([sigma]), [reference.name])
        return WhatIf(analysis.state, with_more(analysis.columns, more), analysis.sizes)


def _rival(analysis: Analysis, found: Recommended) -> int | None:
    """The option that may be furthest above the recommended one; None while every option may be, or none."""
    if analysis.sigmas.waiting or not math.isfinite(found.bound):
        return None
    fit = analysis.certified
    gaps = fit.means - fit.means[found.option] + analysis.boundary.half_widths(found.option)
    gaps[~analysis.state.allowed()] = -np.inf
    gaps[found.option] = -np.inf
    rival = int(np.argmax(gaps))
    return rival if np.isfinite(gaps[rival]) else None


def _finite(found: Recommended | None) -> float | None:
    return None if found is None or math.isinf(found.bound) else found.bound
