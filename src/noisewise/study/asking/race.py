"""RACE: measure what the certificate needs.

The bound is decided by races between the recommended option i and its strongest rivals. RACE measures the
option, or compares the pair, whose measurement is expected to narrow these races most, per cost. It needs to
know neither eps nor a prior: it lowers the bound itself.

    RACE(what was measured, noise, block, cost)
     1  Measurements under way are taken as if they had come out as expected, in their blocks.
     2  Unless all options are linked: measure what links them (`first_results.py`).
     3  i <- recommended option;   h_k <- half-width of k over i;   u_k <- m_k - m_i + h_k;   k* <- argmax u
        While k* is ahead by more than that, m_k* - m_i > h_k*:   i <- k*, and the same again
     4  If the block is new: return i.                            alone, it teaches no difference
     5  w_k <- exp(-sharpness·(u_k* - u_k)/h_k*), for the `RACES` strongest that are above `NEGLIGIBLE`
     6  For every probe a and race k:
            where options share nothing:  h'_k <- half-width by the evidence, that of a as it is expected
            else:  T <- cov(a, k - i)²/var(a, its noise included)
                without deviations:  h'_k <- h_k·√(1 - T/var(k - i))
                with deviations:     the same of both parts of h_k (`Knowledge`), T of each part its own
     7  return argmax over a of  Σ_k w_k·(h_k - h'_k) / cost_a

Where options share nothing the fall is that of the certificate's own half-width (`half_widths`): in
it are the true variance of shares, what the recommended option pays for having been chosen, and how
multipliers change. T is the exact fall of a variance, whatever comes out; only radii are held fixed. Probes
that are rated equal are taken by name.

**It ends.** By step 3 ``u_k* = m_k* - m_i + h_k* <= 2·h_k*``, and step 3 ends because every change of i is to
one with a larger estimate. u_k* is the bound of i; the recommended option has the smallest bound of all, so
**bound <= 2·h_k***. Nothing is said about i over k*: half-widths need not be symmetric. While the bound is
above eps the race being measured has h > eps/2, the probe brings evidence about one of both, and so each race
is chosen finitely often.

Mostly i is the recommended option itself. Write h(l, i) for l over i. If ``m_k* - m_i > h(i, k*)``, so that
k* is certainly better, and ``h(l, k*) <= h(l, i) + h(i, k*)`` for every l, then ``m_l - m_k* + h(l, k*) < u_l
<= u_k*``, and k* would have the smaller bound. Where one of both fails, a rough option may keep the option
with the larger estimate from being recommended: it is the rough one that must be measured then.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.study.asking.coming import DIFFERENCE, Coming, company_in
from noisewise.study.asking.field import Field, field_of
from noisewise.study.asking.first_results import first_result, largest
from noisewise.study.certificates.bound import Recommended
from noisewise.study.log.measurements import NOBODY, Codes
from noisewise.study.models.analysis import Analysis

#: How much less the race of a weaker rival counts.
SHARPNESS = 50.0
#: Scores that differ by less than this part are equal.
EQUAL = 1e-9


class Proposal(NamedTuple):
    """What to measure next, and the race that it is for."""

    option: int
    minus: int = NOBODY  # the other option of a difference
    leader: int | None = None  # None: there is no race yet
    rival: int | None = None  # whose race with the leader decides the bound; None: the leader opens a block
    half_width: float = math.inf  # of their difference
    bound: float = math.inf
    after: float = math.inf  # what the bound will be if the result is as expected
    helped: int | None = None  # the rival whose race it narrows most, as races count


def propose(
    analysis: Analysis, found: Recommended | None, coming: Coming, sharpness: float = SHARPNESS
) -> Proposal | None:
    """The option to measure, or the pair to compare; None while there are no half-widths to narrow.

    Args:
        analysis: What was measured, and is under way.
        found: The option that would be recommended.
        coming: What is known of the measurement.
        sharpness: How much less the race of a weaker rival counts.
    """
    if analysis.columns.value.size and analysis.sigmas.waiting:
        return None
    first = first_result(analysis, found, coming)
    if first is not None:
        leads = found is not None and first == (found.option, NOBODY)
        opens = leads and company_in(analysis.certified_sums, coming.block) is None
        return Proposal(*first, leader=first[0] if opens else None)
    assert found is not None
    field = field_of(analysis, found.option, coming)
    while field.is_decided:
        field = field_of(analysis, field.rival, coming)
    if not (field.upper > -np.inf).any() or not math.isfinite(field.half[field.rival]):
        if _alone(analysis, found):
            return Proposal(found.option)
        return _fewest_readings(analysis, coming)
    if coming.probe != DIFFERENCE and field.company is None:
        if not coming.allowed[field.leader]:  # too dear, say: its strongest rival will be compared, too
            return Proposal(field.strongest())
        return Proposal(field.leader, NOBODY, field.leader, None, field.width, found.bound, found.bound)
    best = best_probe(field, coming, sharpness, analysis.state.ids)
    then = field.bound_after(best.option, best.minus)
    return Proposal(
        best.option, best.minus, field.leader, field.rival, field.width, found.bound,
        min(found.bound, then), best.helped,
    )  # fmt: skip


class BestProbe(NamedTuple):
    """What narrows the races most, per cost."""

    option: int
    minus: int
    helped: int  # the rival whose race it narrows most, as races count
    score: float


def best_probe(field: Field, coming: Coming, sharpness: float, ids: Sequence[str]) -> BestProbe:
    """Lines 5 to 7 of the box."""
    races, weights = field.races(sharpness)
    probes = field.pairs(races) if coming.probe == DIFFERENCE else field.options(races)
    falls = field.half[races] - field.after(probes, races)
    scores = falls @ weights / field.prices(probes)
    best = _best(scores, probes, ids)
    helped = int(races[largest(falls[best] * weights, np.arange(races.size))])
    return BestProbe(int(probes[best, 0]), int(probes[best, 1]), helped, float(scores[best]))


def _fewest_readings(analysis: Analysis, coming: Coming) -> Proposal | None:
    """Where scatter is each option's own, few readings bound nothing: the option that has fewest."""
    sums, by_name = analysis.own_readings, analysis.state.by_name()
    allowed = by_name[coming.allowed[by_name]]
    if sums is None or not allowed.size or coming.probe == DIFFERENCE:
        return None
    return Proposal(int(allowed[np.argmin(sums.readings[allowed])]))


def _alone(analysis: Analysis, found: Recommended) -> bool:
    """Whether there is no other option to race with."""
    return int(analysis.state.allowed().sum()) == 1


def _best(scores: Floats, probes: Codes, ids: Sequence[str]) -> int:
    """The place of the best score; of equals, the first by name."""
    top = float(scores.max())
    equal = np.flatnonzero(scores >= (top - EQUAL * abs(top) if np.isfinite(top) else top))
    if equal.size == 1:
        return int(equal[0])
    return int(min(equal, key=lambda at: (ids[probes[at, 0]], ids[probes[at, 1]])))
