"""Options that are certainly within eps of the best, those that are not, and the cheapest of the first.

With probability 1 - δ all of this is true together, at every look (with deviations: when one stops), for any
number of options that are named, and so is the certificate. It rests on two events, and δ is divided between
them from the beginning (`noisewise.study.models.model.Shares`).

**Within eps.** Let j be the best option: fixed, but unknown. The bounds of the certificate hold for j and
*every* i at once, U(j, i) >= μ_j - μ_i, because only j is protected, and i may be chosen by looking: the
e-process of separate options contains a sum over all i, pairs of items and of contrasts share their error
probability among all i, one ellipsoid holds for all differences, and a single look uses simultaneous
comparisons with one j. On this event j is not ruled out, so U(j, i) is at most the largest of U(k, i) over
the options k that may still be the best. If that is at most eps, i is within eps of the best. The recommended
option is one of these as soon as its bound is at most eps.

**Worse by more than eps.** That i lies far below some k is a claim about *i*, which these bounds do not
protect unless i is the best. The part of δ that is kept for catalogues that change protects every ordered
pair: with probability 1 - 0.015·δ at least, U'(i, k) >= μ_i - μ_k for all i and k. If U'(i, k) < -eps for
any k, i is more than eps worse than k, and so than the best. No part is kept at a single look, where
nothing is said about this, unless the catalogue did change: then all pairs are protected already.

**Deviations** are compared by their distribution given everything measured so far, for the recommended option
only. Other options that are named pay for being several: their bounds are those of all pairs.
"""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from noisewise.core.text import number, some_of

if TYPE_CHECKING:  # a certificate of a server is read without NumPy
    from noisewise.core.blocks import Floats, Mask
    from noisewise.study.certificates.certificate import Certificate
    from noisewise.study.models.analysis import Analysis

#: Options, the best by estimate, that others are compared with to find those that are worse.
LEADERS = 12
#: Options of a study whose tables and pages say which are good enough without being asked.
MOST_TOLD = 500


@dataclass(frozen=True)
class GoodEnough:
    """The options by whether they are within eps of the best; each list begins with the best estimate.

    Attributes:
        options: Those that certainly are.
        worse: Those that certainly are not.
        undecided: The rest.
        cheapest: Of the first, the one with the lowest cost; None without a column of costs.
        cost: What it costs.
        cost_of_recommended: What the recommended option costs.
    """

    options: tuple[str, ...]
    worse: tuple[str, ...]
    undecided: tuple[str, ...]
    cheapest: str | None = None
    cost: float | None = None
    cost_of_recommended: float | None = None

    def by_option(self) -> dict[str, bool]:
        """Whether an option is good enough, where that is decided."""
        return dict.fromkeys(self.options, True) | dict.fromkeys(self.worse, False)

    def lines(self, certificate: "Certificate") -> list[str]:
        """The sets in sentences, the advice first."""
        if not certificate.may_show_bounds or certificate.eps is None:
            return []
        lines = [self.advice(certificate)]
        for title, names in (
            ("Certainly good enough", self.options),
            ("Certainly not", self.worse),
            ("Undecided", self.undecided),
        ):
            lines += [f"{title} ({len(names):,}): {some_of(names)}."] if names else []
        if certificate.once and self.undecided and not self.worse:
            lines.append("One look at a finished table cannot say which of these certainly are not.")
        return lines

    def advice(self, certificate: "Certificate") -> str:
        """What to take, in a sentence."""
        assert certificate.eps is not None
        pool = "" if certificate.pool is None else f" on these {certificate.pool:,} items"
        within = f"certainly within {certificate.value_scale.close(certificate.eps)} of the best{pool}"
        if not self.options:
            return f"No option is {within} yet."
        take, leader = self.cheapest or self.options[0], certificate.option
        text = f"Take {take}: {within}, {certificate.sure}"
        if self.cheapest is None or self.cost is None or self.cost_of_recommended is None:
            return f"{text}. Without costs of the options there is no cheapest."
        if take == leader:
            return f"{text}; no other such option costs less."
        share = number(100.0 * self.cost / self.cost_of_recommended, 2)
        costs = f"{number(self.cost)} instead of {number(self.cost_of_recommended)}"
        return f"{text}, at {share} % of the cost of {leader} ({costs})."


def find_good_enough(analysis: "Analysis", certificate: "Certificate") -> GoodEnough:
    """Sort the options by whether they are within eps of the best.

    Args:
        analysis: The fits.
        certificate: Of the same moment.
    """
    state, eps = analysis.state, analysis.specification.eps
    if eps is None:
        raise ValueError(
            "`cheapest` needs a study with `eps`, the distance from the best that does not matter; this one "
            "has none. Make one with `eps` from the same measurements."
        )
    allowed, order = state.allowed(), _by_estimate(analysis, certificate)
    within = worse = allowed & False
    if certificate.may_show_bounds and not analysis.sigmas.waiting:
        within, worse = _within(analysis, certificate, eps), _worse(analysis, order[:LEADERS], eps)

    def named(mask: "Mask") -> tuple[str, ...]:
        return tuple(state.ids[k] for k in order if mask[k] and allowed[k])

    # Where evidence contradicts itself, it decides nothing.
    found = GoodEnough(named(within & ~worse), named(worse & ~within), named(within == worse))
    if state.costs is None or not found.options or certificate.option is None:
        return found
    costs = dict(zip(state.ids, state.costs, strict=True))
    # Of equally cheap ones the recommended, else the best by estimate.
    cheapest = min(found.options, key=lambda name: (costs[name], name != certificate.option))
    return replace(
        found, cheapest=cheapest, cost=costs[cheapest], cost_of_recommended=costs[certificate.option]
    )


def known_good_enough(analysis: "Analysis", certificate: "Certificate") -> dict[str, bool]:
    """Whether options are good enough, where that is decided, for tables that say it without being asked."""
    if analysis.specification.eps is None or analysis.n > MOST_TOLD:
        return {}
    return find_good_enough(analysis, certificate).by_option()


def _within(analysis: "Analysis", certificate: "Certificate", eps: float) -> "Mask":
    """Which options no option that may be the best can exceed by more than eps, (n,).

    Comparisons with what is not a number are false, so that it decides nothing.
    """
    recommended = analysis.state.index[certificate.option or ""]
    bounds = analysis.every_pair if analysis.model.facts.has_deviation else analysis
    found: Mask = analysis.state.allowed()
    if bounds is None:
        found &= False
    else:
        found &= _ahead(bounds, recommended) <= eps
        rivals = [analysis.state.index[name] for name in certificate.candidates]
        if len(rivals) <= found.sum():  # the fewer looks, each of which costs O(n)
            for rival in rivals:
                found &= _ahead(bounds, rival) <= eps
        else:
            for option in found.nonzero()[0].tolist():
                found[option] = _above(bounds, option)[rivals].max() <= eps
    found[recommended] = certificate.bound <= eps
    return found


def _worse(analysis: "Analysis", leaders: list[int], eps: float) -> "Mask":
    """Which options are more than eps behind one of the leaders, (n,)."""
    found, pairs = analysis.state.allowed() & False, analysis.every_pair
    if pairs is None:
        return found
    for leader in leaders:
        found |= _above(pairs, leader) < -eps
    return found


def _above(bounds: "Analysis", option: int) -> "Floats":
    """By how much every option can be better than this one, (n,)."""
    above = bounds.certified.differences(option) + bounds.boundary.half_widths(option)
    above[option] = 0.0
    return above


def _ahead(bounds: "Analysis", rival: int) -> "Floats":
    """By how much an option can be better than every other one, (n,)."""
    ahead: Floats = bounds.boundary.lead_widths(rival) - bounds.certified.differences(rival)
    ahead[rival] = 0.0
    return ahead


def _by_estimate(analysis: "Analysis", certificate: "Certificate") -> list[int]:
    """All options, those that can be compared with the recommended one first, the best by estimate first."""
    order: list[int] = analysis.state.by_name().tolist()
    if certificate.option is None:
        return order
    above = analysis.estimates.differences(analysis.state.index[certificate.option]).tolist()
    return sorted(order, key=lambda k: -above[k] if math.isfinite(above[k]) else math.inf)
