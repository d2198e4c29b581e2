"""RACE: measure what the certificate needs.

The bound is decided by races between the recommended option i and its strongest rivals. RACE measures the
option, or compares the pair, whose measurement is expected to narrow these races most, per cost. It needs to
know neither eps nor a prior: it lowers the bound itself.

    RACE(what was measured, noise, block, cost)
     1  Measurements under way are taken as if they had come out as expected, in their blocks.
     2  Unless all options are linked: measure what links them (`first_result`).
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

Where options share nothing the fall is that of the certificate's own half-width (`half_widths.py`): in
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

**Several from one decision.** Deciding anew for every worker would take longer than measuring. A wave is
decided on one fit, that of the certificate: every probe is the best when all that is under way and those
before it in the wave have come out as expected. For that the variances of races and probes are carried along:

    WAVE(races k of the leader i, probes a, what is under way)
     1  c_ak <- cov(a, k - i),   c_ab <- cov(a, b),   S_a <- c_aa + noise of a,   v_k <- var(k - i)
     2  For everything under way, and then for each probe that is chosen:
            v'_k <- v_k - c_ak²/S_a;    u_k, h_k fall by h_k·(1 - √(v'_k/v_k))
            c_bk <- c_bk - c_ab·c_ak/S_a;    c_bd <- c_bd - c_ab·c_ad/S_a
     3  chosen is argmax over a of  Σ_k w_k·(fall of h_k) / cost_a,  w_k as in RACE, from u_k as it is then

What is read in a block has an offset that others there tell: then a stands for its value less theirs, and all
probes share the error of that offset (`Company`).

These are the lines 5 to 7 of RACE with radii held fixed, repeated without a new fit. A race that was far
behind may become the strongest within a wave, so that more of them are looked at than for a single probe.
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.study.asking.pending import DIFFERENCE, Coming, Company, UnderWay, company_in, looks_at
from noisewise.study.certificates.bound import Recommended
from noisewise.study.evidence.half_widths import Foreseen
from noisewise.study.log.measurements import NO_BLOCK, NOBODY, Codes
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.posterior import Joint, Knowledge

#: How much less the race of a weaker rival counts.
SHARPNESS = 50.0
#: Scores that differ by less than this part are equal.
EQUAL = 1e-9
#: Races that count less than this part of the strongest are left out, and so are all beyond so many.
NEGLIGIBLE, RACES = 0.01, 40
#: Options that are tried as ends of a difference, at most; of more, so many on either side of a race.
ENDS, EXTREMES = 48, 2
#: Races that are looked at together.
FEW = 64
#: A difference of two variances that is less than this part of them is rounding.
ROUNDING = 1e-12
#: Races that a wave looks at lie this many times as far behind as those that a single probe is chosen for.
WIDER = 4.0
#: Options that a wave is made of, at most: of more, those that tell most about one of the races.
PROBES = 64


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


def field_of(analysis: Analysis, leader: int, coming: Coming) -> "Field":
    """The races as the certificate has them now."""
    fit, boundary = analysis.certified, analysis.boundary
    half = boundary.half_widths(leader)
    upper = fit.differences(leader) + half
    upper[~analysis.state.allowed()] = -np.inf
    knowledge = analysis.model.knowledge(fit, boundary, leader)
    company = company_in(analysis.certified_sums, coming.block)
    foreseen = None
    if knowledge.evidence is not None and coming.probe != DIFFERENCE and coming.block == NO_BLOCK:
        foreseen = Foreseen(knowledge.evidence, leader, coming.evidence(analysis.specification.resolution))
    return Field(leader, half, upper, knowledge, company, coming, analysis.state.by_name(), foreseen)


class Field:
    """The races of all options with the leader.

    Args:
        leader: The recommended option.
        half: Half-widths of the differences to it, (n,).
        upper: By how much each option may be better, (n,); -inf for those that are excluded.
        knowledge: How the values of options vary together.
        company: What the coming block holds; None if it is new.
        coming: The measurement.
        by_name: The options in the order of their names.
        foreseen: Half-widths to come where options share nothing; None: they shrink with standard errors.
    """

    def __init__(
        self,
        leader: int,
        half: Floats,
        upper: Floats,
        knowledge: Knowledge,
        company: Company | None,
        coming: Coming,
        by_name: Codes,
        foreseen: Foreseen | None = None,
    ) -> None:
        self.leader, self.half, self.upper = leader, half, upper
        self.knowledge, self.company, self._coming = knowledge, company, coming
        upper[leader] = -np.inf
        self._by_name, self._foreseen = by_name, foreseen
        self.rival = largest(upper, by_name)
        self.width = float(half[self.rival])

    @property
    def is_decided(self) -> bool:
        """Whether the strongest rival is ahead of the leader by more than the half-width of their race."""
        return bool(self.upper[self.rival] > self.width + max(self.width, 0.0))

    def strongest(self) -> int:
        """Of what may be measured, the one that races most closely."""
        return largest(self.upper, self._by_name[self._coming.allowed[self._by_name]])

    def races(self, sharpness: float) -> tuple[Codes, Floats]:
        """The rivals that count, by name, and how much."""
        behind = (self.upper[self.rival] - self.upper) / max(self.width, 1e-300)
        # Far below the leader, ends are rounded by more than a width: no option is ahead of the first rival.
        weights = np.exp(-np.clip(sharpness * behind, 0.0, 700.0))
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

    def by_name(self, probes: Codes) -> Codes:
        """Probes of one option in the order of names: of equals the first by name is taken."""
        place = np.empty_like(self._by_name)
        place[self._by_name] = np.arange(place.size)
        return np.asarray(probes[np.argsort(place[probes[:, 0]], kind="stable")])

    def pairs(self, races: Codes) -> Codes:
        """Pairs that may be compared, (probes, 2): of many options, of those that tell most of the races."""
        allowed = self._by_name[self._coming.allowed[self._by_name]]
        ends = allowed if allowed.size <= ENDS else self._telling(allowed, races)
        # The later name is on the plus side, but against the leader its rival: a positive result then
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
        """The half-widths of the races after each probe, (probes, races)."""
        if self._foreseen is not None:
            return np.minimum(self._foreseen.after(probes[:, 0], races), self.half[races])
        given = self.knowledge.given_weights
        whole = self.lesson(self.knowledge.joint, probes, races)
        left = None if given is None else self.lesson(given, probes, races)
        return _narrowed(self.half[races], self.knowledge.quantile, whole, left)

    def bound_after(self, option: int, minus: int) -> float:
        """What the bound will be after one probe that comes out as expected: all races are looked at."""
        if self._foreseen is not None:
            return self._bound_foreseen(option)
        half = np.where(np.isfinite(self.half), self.half, 0.0)
        upper = self.upper - half + self.halves_after(option, minus, float(self._coming.noise[option]))
        return max(0.0, float(upper.max()))

    def _bound_foreseen(self, option: int) -> float:
        """`bound_after` where options share nothing: half-widths fall, so that most need no second look."""
        assert self._foreseen is not None
        if option != self.leader:
            after = self._foreseen.after(np.array([option]), np.array([option]))[0, 0]
            upper = self.upper.copy()
            upper[option] -= max(0.0, self.half[option] - after)
            return max(0.0, float(upper.max()))
        bound = 0.0
        order = np.argsort(-self.upper, kind="stable")
        for first in range(0, order.size, FEW):
            some = order[first : first + FEW]
            some = some[self.upper[some] > bound]
            if not some.size:
                break
            fall = np.maximum(0.0, self.half[some] - self._foreseen.after(np.array([option]), some)[0])
            bound = max(bound, float((self.upper[some] - fall).max()))
        return bound

    def halves_after(self, option: int, minus: int, sigma: float) -> Floats:
        """All half-widths after one probe, radii as they are, (n,); infinite ones become 0."""
        given = self.knowledge.given_weights
        whole = self._lesson_of(self.knowledge.joint, option, minus, sigma)
        left = None if given is None else self._lesson_of(given, option, minus, sigma)
        half = np.where(np.isfinite(self.half), self.half, 0.0)
        return np.asarray(_narrowed(half, self.knowledge.quantile, whole, left)[0])

    def _lesson_of(self, joint: Joint, option: int, minus: int, sigma: float) -> Lesson:
        """What one probe would teach about the races of all options, (1, n)."""
        options, weights, noise = np.array([option]), np.ones(1), sigma**2
        if minus != NOBODY:
            options, weights = np.array([option, minus]), np.array([1.0, -1.0])
        elif (company := self.company_of(joint)) is not None:
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

    def company_of(self, joint: Joint) -> Company | None:
        """What a value in the coming block is compared with; None where its offset is known, or cancels."""
        return None if joint.separate else self.company

    def _along(self, joint: Joint, races: Codes) -> Floats:
        """The covariances of every option with the races, (n, races)."""
        return joint.columns(races) - joint.columns(np.array([self.leader]))

    def lesson(self, joint: Joint, probes: Codes, races: Codes) -> Lesson:
        """What probes would teach about some races, (probes, races)."""
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
        shared, company = np.zeros(option.size), self.company_of(joint)
        if company is not None:
            with_company = company.shares @ along[company.options]
            mixed = joint.mixed(company.options, company.shares)
            own = float(company.shares @ mixed[company.options])
            shared, noise = mixed[option], noise + company.variance
        read = variances[option] + own - 2.0 * shared
        return Lesson(along[option] - with_company, noise + np.maximum(read, 0.0), np.maximum(race, 0.0))


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
        if int(analysis.state.allowed().sum()) == 1:  # no other option to race with
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


def propose_wave(
    analysis: Analysis,
    found: Recommended | None,
    coming: Coming,
    sharpness: float,
    under_way: Sequence[UnderWay],
    count: int,
) -> list[Proposal]:
    """What so many workers may measure at a time; nothing where that takes a decision for each.

    Args:
        analysis: What was measured.
        found: The option that would be recommended.
        coming: What is known of the measurements.
        sharpness: How much less the race of a weaker rival counts.
        under_way: What is being measured.
        count: How many.
    """
    if coming.probe == DIFFERENCE or analysis.once:
        return []
    if any(one.minus != NOBODY or one.block != coming.block for one in under_way):
        return []
    apart = not analysis.model.shares_information and coming.block == NO_BLOCK
    if apart and (rough := _fewest_looks(analysis, coming, under_way, count)):
        return rough
    if found is None or analysis.sigmas.waiting:
        return []
    field = field_of(analysis, found.option, coming)
    while field.is_decided:
        field = field_of(analysis, field.rival, coming)
    rivals = coming.allowed & (np.arange(analysis.n) != field.leader)
    if not rivals.any() or not np.isfinite(field.half[rivals] + field.upper[rivals]).all():
        return []
    if not field.knowledge.joint.separate and field.company is None:
        return []  # it opens a block, where nothing is compared yet
    wave = _Wave(field, coming, sharpness)
    wave.expect(under_way)
    return wave.more(count)


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


def _best(scores: Floats, probes: Codes, ids: Sequence[str]) -> int:
    """The place of the best score; of equals, the first by name."""
    top = float(scores.max())
    equal = np.flatnonzero(scores >= (top - EQUAL * abs(top) if np.isfinite(top) else top))
    if equal.size == 1:
        return int(equal[0])
    return int(min(equal, key=lambda at: (ids[probes[at, 0]], ids[probes[at, 1]])))


def _fewest_readings(analysis: Analysis, coming: Coming) -> Proposal | None:
    """Where scatter is each option's own, few readings bound nothing: the option that has fewest."""
    sums, by_name = analysis.own_readings, analysis.state.by_name()
    allowed = by_name[coming.allowed[by_name]]
    if sums is None or not allowed.size or coming.probe == DIFFERENCE:
        return None
    return Proposal(int(allowed[np.argmin(sums.readings[allowed])]))


def _fewest_looks(
    analysis: Analysis, coming: Coming, under_way: Sequence[UnderWay], count: int
) -> list[Proposal]:
    """Where options share nothing, and some bound nothing yet: these, those first that were seen least."""
    in_order, looks = by_price(analysis, coming), looks_at(analysis)
    begun = np.zeros_like(looks)
    np.add.at(begun, [one.option for one in under_way], 1)
    fresh = (looks == 0) & (begun > 0)  # what follows is seen when their first results have come in
    in_order, looks = in_order[~fresh[in_order]], looks + begun
    if analysis.columns.value.size and not analysis.sigmas.waiting:
        leader = largest(analysis.certified.means, by_price(analysis, coming))
        unbounded = coming.allowed & ~np.isfinite(analysis.boundary.half_widths(leader))
        unbounded[leader] = unbounded.any()  # it may be what nothing is bounded against
        in_order = in_order[unbounded[in_order]]
    chosen = []
    for _ in range(count if in_order.size else 0):
        option = int(in_order[np.argmin(looks[in_order])])
        looks[option] += 1
        chosen.append(Proposal(option))
    return chosen


class _Wave:
    """The races of a wave, as they will be."""

    def __init__(self, field: Field, coming: Coming, sharpness: float) -> None:
        self._leader, self._sharpness = field.leader, sharpness
        self._races, _ = field.races(sharpness / WIDER)
        joint, races = field.knowledge.joint, self._races
        probes = field.by_name(field.options(races))
        lesson = field.lesson(joint, probes, races)
        if len(probes) > PROBES:
            told = (lesson.covariance**2 / lesson.variance[:, None]).max(axis=1)
            kept = np.sort(np.argsort(-told, kind="stable")[:PROBES])
            probes, lesson = probes[kept], lesson._replace(covariance=lesson.covariance[kept])
        self._options, self._along, self._race = probes[:, 0], lesson.covariance, lesson.race
        self._half, self._upper = field.half[races].copy(), field.upper[races].copy()
        self._noise, self._prices = coming.noise[self._options] ** 2, field.prices(probes)
        self._between = joint.columns(self._options)[self._options]
        if (company := field.company_of(joint)) is not None:
            mixed = joint.mixed(company.options, company.shares)
            level = float(company.shares @ mixed[company.options]) + company.variance
            mixed = mixed[self._options]
            self._between = self._between + level - mixed - mixed[:, None]

    def expect(self, under_way: Sequence[UnderWay]) -> None:
        """Go on as if all of these had come out as expected; those of other options change little."""
        place = {int(option): at for at, option in enumerate(self._options)}
        several = Counter((place[one.option], one.sigma) for one in under_way if one.option in place)
        for (at, sigma), count in sorted(several.items()):
            self._choose(at, sigma**2 / count)

    def more(self, count: int) -> list[Proposal]:
        """The next probes."""
        found = []
        for _ in range(count):
            falls = self._falls(self._along, self._noise + np.maximum(self._between.diagonal(), 0.0))
            ahead = first_largest(self._upper)
            width, bound = float(self._half[ahead]), max(0.0, float(self._upper[ahead]))
            behind = (self._upper[ahead] - self._upper) / max(width, 1e-300)
            weights = np.exp(-np.minimum(self._sharpness * behind, 700.0))
            best = first_largest(falls @ weights / self._prices)
            helped = int(self._races[first_largest(falls[best] * weights)])
            self._choose(best, float(self._noise[best]), falls[best])
            after = min(bound, max(0.0, float(self._upper.max())))
            option, rival = int(self._options[best]), int(self._races[ahead])
            found.append(Proposal(option, NOBODY, self._leader, rival, width, bound, after, helped))
        return found

    def _falls(self, along: Floats, read: Floats) -> Floats:
        """By how much probes narrow each race, (probes, races)."""
        # In one array: there are few numbers, and a new array for each step takes longer than the step.
        part = np.maximum(np.multiply.outer(read, self._race), 1e-300)
        np.divide(along * along, part, out=part)
        np.minimum(np.maximum(part, 0.0, out=part), 1.0, out=part)
        np.sqrt(np.subtract(1.0, part, out=part), out=part)
        np.multiply(self._half, np.subtract(1.0, part, out=part), out=part)
        return np.asarray(part)

    def _choose(self, at: int, noise: float, falls: Floats | None = None) -> None:
        """Go on as if a probe with this variance of noise had come out as expected.

        Args:
            at: Which.
            noise: The variance.
            falls: By how much it narrows each race, where that is known.
        """
        along, read = self._along[at].copy(), noise + max(float(self._between[at, at]), 0.0)
        if falls is None:
            falls = self._falls(along[None], np.array([read]))[0]
        self._half -= falls
        self._upper -= falls
        self._race = np.maximum(self._race - along * along / read, 0.0)
        with_it = self._between[:, at] / read
        self._along -= np.multiply.outer(with_it, along)
        self._between -= np.multiply.outer(with_it, self._between[at])


def first_result(analysis: Analysis, found: Recommended | None, coming: Coming) -> tuple[int, int] | None:
    """The option to measure, and the one to compare it with or NOBODY; None if all options are linked."""
    in_order = by_price(analysis, coming)
    if not analysis.columns.value.size:
        silent = analysis.estimates.silent
        return (
            _farthest(analysis, coming, in_order, silent) if silent.size else _with_partner(in_order, coming)
        )
    fit = analysis.certified
    group = fit.group
    if fit.silent.shape[1] and (group[in_order] != group[in_order[0]]).any():
        return _farthest(analysis, coming, in_order, fit.silent)
    if found is None:  # only excluded options were measured so far
        return _with_partner(in_order, coming)
    home = int(group[found.option])
    missing = in_order[group[in_order] != home]
    if not missing.size:
        return None
    linked = in_order[(group[in_order] == home)]
    if not linked.size:  # what may be measured is not linked with the recommended option, and will not be
        return _with_partner(missing, coming)
    leader = largest(fit.means, linked)
    stranger = _stranger(group, missing)
    if coming.probe == DIFFERENCE:
        return stranger, leader
    company = company_in(analysis.certified_sums, coming.block)
    if company is None:
        # The best option opens a block: it is the one that the others will have to be compared with.
        return leader, NOBODY
    here = int(group[company.options[0]])
    elsewhere = in_order[group[in_order] != here]
    return (_stranger(group, elsewhere), NOBODY) if here == home else (leader, NOBODY)


def _farthest(analysis: Analysis, coming: Coming, in_order: Codes, silent: Floats) -> tuple[int, int]:
    """What moves most, per cost, along the weights that nothing is known of, against what it is read with."""
    n = analysis.n
    prices = np.ones(n) if coming.costs is None else coming.costs
    company = company_in(analysis.certified_sums, coming.block) if analysis.columns.value.size else None
    middle = silent[in_order].mean(axis=0)
    if company is not None and coming.probe != DIFFERENCE:
        middle = company.shares @ silent[company.options]
    first = largest(np.square(silent - middle).sum(axis=1) / prices, in_order)
    others = in_order[in_order != first]
    if coming.probe != DIFFERENCE or not others.size:
        return first, NOBODY
    apart = np.square(silent - silent[first]).sum(axis=1) / (prices + prices[first])
    return largest(apart, others), first


def _with_partner(in_order: Codes, coming: Coming) -> tuple[int, int]:
    if coming.probe != DIFFERENCE or in_order.size < 2:
        return int(in_order[0]), NOBODY
    return int(in_order[1]), int(in_order[0])


def _stranger(group: Codes, missing: Codes) -> int:
    """The first option that was never measured; else the first of those that most others are linked with."""
    never = missing[group[missing] < 0]
    if never.size:
        return int(never[0])
    groups, first, sizes = np.unique(group[missing], return_index=True, return_counts=True)
    largest = groups[np.lexsort((first, -sizes))[0]]  # of equals, the first by name
    return int(missing[group[missing] == largest][0])


def largest(values: Floats, among: Codes) -> int:
    """The first of those with the largest value; differences that rounding makes do not count."""
    return int(among[first_largest(values[among])])


def first_largest(values: Floats) -> int:
    """The place of the first of the largest values; differences that rounding makes do not count."""
    top = float(values.max())
    if not math.isfinite(top):
        return int(values.argmax())
    return int((values >= top - 1e-9 * abs(top)).argmax())


def by_price(analysis: Analysis, coming: Coming) -> Codes:
    """What may be measured: the cheapest first, and equals by name."""
    by_name = analysis.state.by_name()
    some = by_name[coming.allowed[by_name]]
    return np.asarray(some if coming.costs is None else some[np.argsort(coming.costs[some], kind="stable")])
