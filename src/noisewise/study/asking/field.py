"""The races between a leader and all its rivals: what each measurement would do to their half-widths."""

from typing import NamedTuple

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.study.asking.coming import DIFFERENCE, Coming, Company, company_in
from noisewise.study.asking.first_results import largest
from noisewise.study.evidence.half_widths import Foreseen
from noisewise.study.log.measurements import NO_BLOCK, NOBODY, Codes
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.posterior import Joint, Knowledge

#: Races that count less than this part of the strongest are left out, and so are all beyond so many.
NEGLIGIBLE, RACES = 0.01, 40
#: Options that are tried as ends of a difference, at most; of more, so many on either side of a race.
ENDS, EXTREMES = 48, 2
#: Races that are looked at together.
FEW = 64
#: A difference of two variances that is less than this part of them is rounding.
ROUNDING = 1e-12


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
        # Far below the leader, ends are rounded by more than a width: nobody is ahead of the first rival.
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
        """The half-widths of the races after each probe, (probes, races)."""
        if self._foreseen is not None:
            return np.minimum(self._foreseen.after(probes[:, 0], races), self.half[races])
        given = self.knowledge.given_weights
        whole = self._lesson(self.knowledge.joint, probes, races)
        left = None if given is None else self._lesson(given, probes, races)
        return _narrowed(self.half[races], self.knowledge.quantile, whole, left)

    def bound_after(self, option: int, minus: int) -> float:
        """What the bound will be after one probe that comes out as expected: all races are looked at."""
        if self._foreseen is not None:
            return self._bound_foreseen(option)
        half = np.where(np.isfinite(self.half), self.half, 0.0)
        upper = self.upper - half + self.halves_after(option, minus, float(self._coming.noise[option]))
        return max(0.0, float(upper.max()))

    def _bound_foreseen(self, option: int) -> float:
        """The same where options share nothing: half-widths fall, so that most need no second look."""
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
        shared, company = np.zeros(option.size), self.company_of(joint)
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
