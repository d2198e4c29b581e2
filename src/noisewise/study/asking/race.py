"""RACE: measure what the certificate needs.

The bound is decided by races between the recommended option i and its strongest rivals. RACE measures the
option, or compares the pair, whose measurement is expected to narrow these races most, per cost. It needs to
know neither eps nor a prior: it lowers the bound itself.

    RACE(what was measured, noise, block, cost)
     1  Measurements under way are taken as if they had come out as expected, in their blocks.
     2  Unless all options are linked: measure what links them (`first_results.py`).
     3  i <- recommended option;   h_k <- half-width of k - i;   u_k <- m_k - m_i + h_k;   k* <- argmax u
     4  If the block is new: return i.                            alone, it teaches no difference
     5  w_k <- exp(-sharpness·(u_k* - u_k)/h_k*), for the `RACES` strongest that are above `NEGLIGIBLE`
     6  For every probe a and race k:  T <- cov(a, k - i)²/var(a, its noise included)
            without deviations:  h'_k <- h_k·√(1 - T/var(k - i))
            with deviations:     the same of both parts of h_k (`Knowledge`), T of each part its own
     7  return argmax over a of  Σ_k w_k·(h_k - h'_k) / cost_a

T is the exact fall of a variance, whatever comes out; only radii are held fixed. Probes that are rated equal
are taken by name.

**It ends.** Let half-widths obey the triangle inequality. For any rival l of the strongest rival k*,

    m_l - m_k* + h_lk*  <=  (m_i - m_k* + h_k*) + u_l  <=  (2·h_k* - u_k*) + u_k*  =  2·h_k*,

and i has the smallest bound, so **bound <= 2·h_k***. While the bound is above eps the race being measured
has h > eps/2, the probe takes a part off its variance, and so each race is chosen finitely often.
"""

import math
from typing import NamedTuple

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.study.asking.coming import DIFFERENCE, Coming, Company, company_in
from noisewise.study.asking.first_results import first_result, largest
from noisewise.study.certificate.bound import Recommended
from noisewise.study.log.measurements import NOBODY, Codes
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.joint import Joint, Knowledge

#: How much less the race of a weaker rival counts.
SHARPNESS = 50.0
#: Races that count less than this part of the strongest are left out, and so are all beyond so many.
NEGLIGIBLE, RACES = 0.01, 40
#: Options that are tried as ends of a difference, at most; of more, so many on either side of a race.
ENDS, EXTREMES = 48, 2
#: Scores that differ by less than this part are equal.
EQUAL = 1e-9
#: A difference of two variances that is less than this part of them is rounding.
ROUNDING = 1e-12


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


class Lesson(NamedTuple):
    """What probes would teach about races."""

    covariance: Floats  # (probes, races)
    variance: Floats  # (probes,): of what is read, noise included
    race: Floats  # (races,): the variance of each now

    @property
    def fall(self) -> Floats:
        """By how much the variance of each race will fall, (probes, races)."""
        with np.errstate(invalid="ignore"):
            fall = self.covariance**2 / self.variance[:, None]
        return np.clip(np.nan_to_num(fall), 0.0, self.race)


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
        return Proposal(*first)
    assert found is not None
    field = _Field(analysis, found.option, coming)
    if not (field.upper > -np.inf).any() or not math.isfinite(field.half[field.rival]):
        return Proposal(found.option) if _alone(analysis, found) else None
    if coming.probe != DIFFERENCE and field.company is None and coming.allowed[found.option]:
        return Proposal(found.option, NOBODY, found.option, None, field.width, found.bound, found.bound)
    races, weights = field.races(sharpness)
    probes = field.pairs(races) if coming.probe == DIFFERENCE else field.options(races)
    falls = field.half[races] - field.after(probes, races)
    scores = falls @ weights / field.prices(probes)
    best = _best(scores, probes, analysis)
    option, minus = probes[best]
    helped = int(races[np.argmax(falls[best] * weights)])
    then = field.bound_after(int(option), int(minus))
    return Proposal(
        int(option), int(minus), found.option, field.rival, field.width, found.bound,
        min(found.bound, then), helped,
    )  # fmt: skip


class _Field:
    """The races of all options with the leader."""

    def __init__(self, analysis: Analysis, leader: int, coming: Coming) -> None:
        self._coming, self.leader, self._by_name = coming, leader, analysis.state.by_name()
        fit, boundary = analysis.certified, analysis.boundary
        self.half = boundary.half_widths(leader)
        self.upper = fit.differences(leader) + self.half
        self.upper[~analysis.state.allowed()] = -np.inf
        self.upper[leader] = -np.inf
        self.rival = largest(self.upper, self._by_name)
        self.width = float(self.half[self.rival])
        self.knowledge: Knowledge = analysis.model.knowledge(fit, boundary, leader)
        self.company = company_in(analysis.certified_sums, coming.block)

    def races(self, sharpness: float) -> tuple[Codes, Floats]:
        """The rivals that count, by name, and how much."""
        behind = (self.upper[self.rival] - self.upper) / max(self.width, 1e-300)
        weights = np.exp(-np.minimum(sharpness * behind, 700.0))
        rivals = self._by_name[weights[self._by_name] >= NEGLIGIBLE]
        if rivals.size > RACES:
            rivals = rivals[np.sort(np.argsort(-weights[rivals], kind="stable")[:RACES])]
        return rivals, weights[rivals]

    def options(self, races: Codes) -> Codes:
        """The options that may be measured, (probes, 2)."""
        some = self._coming.allowed.copy()
        if self.knowledge.joint.separate:  # then only those in the races teach anything about them
            near = np.zeros_like(some)
            near[races] = near[self.leader] = True
            some = some & near if (some & near).any() else some
        options = np.flatnonzero(some)
        return np.column_stack([options, np.full(options.size, NOBODY)])

    def pairs(self, races: Codes) -> Codes:
        """Pairs that may be compared, (probes, 2): of many options, of those that tell most of the races."""
        allowed = self._by_name[self._coming.allowed[self._by_name]]
        ends = allowed if allowed.size <= ENDS else self._telling(allowed, races)
        # The later name stands on the plus side, but against the leader its rival: a positive result then
        # means that the rival is better.
        one, other = np.triu_indices(ends.size, 1)
        pairs = np.column_stack([ends[other], ends[one]])
        turned = pairs[:, 0] == self.leader
        pairs[turned] = pairs[turned][:, ::-1]
        return pairs

    def _telling(self, allowed: Codes, races: Codes) -> Codes:
        """The leader, its rivals, and who varies most with and against these races; by name."""
        ends = [np.array([self.leader]), races]
        if not self.knowledge.joint.separate:
            along = self._along(self.knowledge.joint, races)[allowed]
            order = np.argsort(along, axis=0, kind="stable")
            ends += [allowed[order[:EXTREMES].ravel()], allowed[order[-EXTREMES:].ravel()]]
        _, first = np.unique(listed := np.concatenate(ends), return_index=True)
        kept = listed[np.sort(first)]
        ends_kept = allowed[np.isin(allowed, kept[self._coming.allowed[kept]][:ENDS])]
        # What may be measured need not be in the races.
        return np.asarray(ends_kept if ends_kept.size > 1 else allowed[:ENDS])

    def prices(self, probes: Codes) -> Floats:
        """Of each probe; comparing costs what both options cost."""
        costs = self._coming.costs
        if costs is None:
            return np.ones(len(probes))
        return np.asarray(costs[probes[:, 0]] + np.where(probes[:, 1] >= 0, costs[probes[:, 1]], 0.0))

    def after(self, probes: Codes, races: Codes) -> Floats:
        """The half-widths of the races after each probe, radii as they are, (probes, races)."""
        given = self.knowledge.given_weights
        whole = self._lesson(self.knowledge.joint, probes, races)
        left = None if given is None else self._lesson(given, probes, races)
        return _narrowed(self.half[races], self.knowledge.quantile, whole, left)

    def bound_after(self, option: int, minus: int) -> float:
        """What the bound will be after one probe that comes out as expected: all races are looked at."""
        given = self.knowledge.given_weights
        whole = self._lesson_of(self.knowledge.joint, option, minus)
        left = None if given is None else self._lesson_of(given, option, minus)
        half = np.where(np.isfinite(self.half), self.half, 0.0)
        upper = self.upper - half + _narrowed(half, self.knowledge.quantile, whole, left)[0]
        return max(0.0, float(upper.max()))

    def _lesson_of(self, joint: Joint, option: int, minus: int) -> Lesson:
        """What one probe would teach about the races of all options, (1, n)."""
        options, weights, noise = np.array([option]), np.ones(1), float(self._coming.noise[option]) ** 2
        if minus != NOBODY:
            options, weights = np.array([option, minus]), np.array([1.0, -1.0])
        elif (company := self._company(joint)) is not None:
            options = np.append(company.options, option)
            weights, noise = np.append(-company.shares, 1.0), noise + company.variance
        along, variances = joint.mixed(options, weights), joint.variances()
        read = float(weights @ along[options])
        to_leader = joint.mixed(np.array([self.leader]), np.ones(1))
        with np.errstate(invalid="ignore"):  # where options were never measured
            race = np.maximum(variances + variances[self.leader] - 2.0 * to_leader, 0.0)
        return Lesson(
            (along - along[self.leader])[None], np.array([noise + max(read, 0.0)]), np.nan_to_num(race)
        )

    def _company(self, joint: Joint) -> Company | None:
        """What a value in the coming block is compared with; None where its offset is known, or cancels."""
        known = joint.separate or (joint is self.knowledge.given_weights and self.knowledge.offsets_given)
        return None if known else self.company

    def _along(self, joint: Joint, races: Codes) -> Floats:
        """The covariances of every option with the races, (n, races)."""
        return joint.columns(races) - joint.columns(np.array([self.leader]))

    def _lesson(self, joint: Joint, probes: Codes, races: Codes) -> Lesson:
        """What probes would teach about some races, (probes, races)."""
        if joint.separate:
            return self._lesson_apart(joint, probes, races)
        along, variances = self._along(joint, races), joint.variances()
        race = along[races, np.arange(races.size)] - along[self.leader]
        option, minus = probes.T
        noise = self._coming.noise[option] ** 2
        if self._coming.probe == DIFFERENCE:
            ends, place = np.unique(probes, return_inverse=True)
            one, other = place.reshape(probes.shape).T
            between = joint.columns(ends)[ends][one, other]
            read = variances[option] + variances[minus] - 2.0 * between
            return Lesson(along[option] - along[minus], noise + np.maximum(read, 0.0), np.maximum(race, 0.0))
        with_company, own = np.zeros(races.size), 0.0
        shared, company = np.zeros(option.size), self._company(joint)
        if company is not None:
            with_company = company.shares @ along[company.options]
            mixed = joint.mixed(company.options, company.shares)
            own = float(company.shares @ mixed[company.options])
            shared, noise = mixed[option], noise + company.variance
        read = variances[option] + own - 2.0 * shared
        return Lesson(along[option] - with_company, noise + np.maximum(read, 0.0), np.maximum(race, 0.0))

    def _lesson_apart(self, joint: Joint, probes: Codes, races: Codes) -> Lesson:
        """The same where options share nothing: an option teaches about its own races alone."""
        own, leader = joint.variances(), self.leader
        covariance, read = np.zeros((len(probes), races.size)), self._coming.noise[probes[:, 0]] ** 2
        for end, sign in ((probes[:, 0], 1.0), (probes[:, 1], -1.0)):
            there = end != NOBODY
            spread = np.where(there, own[end], 0.0)
            covariance += (
                sign
                * spread[:, None]
                * ((end[:, None] == races).astype(np.float64) - (end == leader)[:, None])
            )
            read = read + spread
        return Lesson(covariance, read, own[races] + own[leader])


def _narrowed(half: Floats, quantile: float, whole: Lesson, left: Lesson | None) -> Floats:
    """Half-widths after probes, radii as they are, (probes, races).

    Args:
        half: Now, (races,).
        quantile: Of the part that is left once the weights are known.
        whole: What is learned of the races.
        left: What is learned of them once the weights are known; None without deviations.
    """
    if left is None:
        return np.asarray(half * np.sqrt(1.0 - whole.fall / np.maximum(whole.race, 1e-300)))
    weights = whole.race - left.race
    # This part may also grow: a value that is pulled to its own measurements is pulled off its features.
    weights_after = np.maximum(weights - whole.fall + left.fall, 0.0)
    known = (
        weights > ROUNDING * whole.race
    )  # else the features are the same, and all that is left is rounding
    ratio = np.where(known, weights_after / np.where(known, weights, 1.0), 1.0)
    narrowed = np.maximum(half - quantile * np.sqrt(left.race), 0.0) * np.sqrt(ratio)
    return np.asarray(narrowed + quantile * np.sqrt(left.race - left.fall))


def _alone(analysis: Analysis, found: Recommended) -> bool:
    """Whether there is no other option to race with."""
    return int(analysis.state.allowed().sum()) == 1


def _best(scores: Floats, probes: Codes, analysis: Analysis) -> int:
    """The place of the best score; of equals, the first by name."""
    top = float(scores.max())
    equal = np.flatnonzero(scores >= top - EQUAL * abs(top))
    if equal.size == 1:
        return int(equal[0])
    ids = analysis.state.ids
    return int(min(equal, key=lambda at: (ids[probes[at, 0]], ids[probes[at, 1]])))
