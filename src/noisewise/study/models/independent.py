"""The independent model: every option on its own; blocks and measured differences connect options.

The evidence about options that share nothing, gathered from a study's measurements by their kinds.

Several families of bounds on the same differences, each with its share of the error probability.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.core.selection import Mask
from noisewise.study.evidence.bounded import BoundedReadings
from noisewise.study.evidence.counts import Counts
from noisewise.study.evidence.half_widths import HalfWidths, SeparateOptions
from noisewise.study.evidence.heavy_tails import AnyTails, centres, picked, rows_of
from noisewise.study.evidence.items import PairedItems
from noisewise.study.evidence.kind import Kind
from noisewise.study.evidence.known import KnownErrorBars, LimitedScatter
from noisewise.study.evidence.levels import Stacks, ladder, levels_for, levels_with_limits, of_suprema
from noisewise.study.evidence.limits import Tables
from noisewise.study.evidence.own_scatter import OwnScatter
from noisewise.study.evidence.rounds import SymmetricRounds
from noisewise.study.inputs.error_bars import BOUNDED, COUNTS, ITEMS, NONE, READINGS
from noisewise.study.log.measurements import KINDS, Columns
from noisewise.study.log.model_choice import ModelFacts
from noisewise.study.log.specification import OWN, SYMMETRIC
from noisewise.study.log.state import State
from noisewise.study.models.contrasts import Contrasts
from noisewise.study.models.fit import Fit, Sums, fit_independent, pool, totals
from noisewise.study.models.model import PAIRED, BoundaryCase, Shares, StudyModel
from noisewise.study.models.one_look import (
    ConnectedOnce,
    OneLook,
    PairedOnce,
    ReadingsOnce,
    SeparateOnce,
    SharesOnce,
)
from noisewise.study.models.posterior import Joint, Knowledge, independent_worlds, separate_joint
from noisewise.study.models.scatter import begins_mostly_with_own, begins_pooled, own_readings, own_rows
from noisewise.study.models.solver import two_sum

#: Kinds of measurements whose scatter is pooled.
POOLED = tuple(KINDS.index(kind) for kind in (READINGS, NONE))
#: Weights of the kind that a study of own scatter began with, and of all others.
MAIN, OTHER = 0.95, 0.05
#: Up to so many options more levels are looked at where reaches are not concave.
FEW = 20


class Gathered:
    """Measurements of single options outside of any block, with what they are compared with.

    Args:
        columns: The measurements.
        sigma: The certificate's standard errors, (N,).
        fit: The estimates that half-widths are counted from.
        sign: Of the goal.
        resolution: The difference that matters.
        as_told: Whether trials and readings between bounds count one by one; not if scatter is added to all
            error bars.
        bounds: Of readings, where there are such.
        own: Whether readings scatter by each option's own amount.
        noise_floor: The least standard error of a measurement.
        centres: Where errors may have any tails: see `robust_centres`.
        imagined: Whether errors are reckoned with as normal ones even so: measurements are imagined.
    """

    def __init__(
        self,
        columns: Columns,
        sigma: Floats,
        fit: Fit,
        sign: float,
        resolution: float,
        *,
        as_told: bool,
        bounds: tuple[float, float] | None = None,
        own: bool = False,
        noise_floor: float | None = None,
        centres: Floats | None = None,
        imagined: bool = False,
    ) -> None:
        self._columns, self._sigma, self._fit = columns, sigma, fit
        self._sign, self._resolution = sign, resolution
        self._bounds, self._own, self._noise_floor = bounds, own, noise_floor
        self._centres = None if imagined else centres
        self._parts = list(self._by_kind(as_told))
        shifted = len(self._parts) > 1 or centres is not None
        self._centre = pool(columns, sigma, sign).centre if shifted else 0.0

    def kinds(self) -> list[Kind]:
        """The evidence of each kind; of one without measurements if there are none."""
        if not self._parts:
            nothing = np.zeros(self._fit.means.size)
            return [KnownErrorBars(nothing, nothing, self._resolution)]
        return [self._kind(which, rows) for which, rows in self._parts]

    def _by_kind(self, as_told: bool) -> Iterator[tuple[type[Kind], Mask]]:
        columns = self._columns
        counted, bounded = _one_by_one(columns, as_told)
        own = own_rows(columns) & self._own
        pooled = ((columns.kind == POOLED[0]) | (columns.kind == POOLED[1])) & ~own
        known = ~counted & ~bounded & ~pooled & ~own
        if known.any():
            yield KnownErrorBars if self._centres is None else AnyTails, known
        if counted.any():
            yield Counts, counted
        if bounded.any():
            yield BoundedReadings, bounded
        if own.any():
            yield OwnScatter, own
        for code in np.unique(columns.pool[pooled]):
            yield LimitedScatter, pooled & (columns.pool == code)

    def _kind(self, which: type[Kind], rows: Mask) -> Kind:
        columns, n = self._columns.select(rows), self._fit.means.size
        if which is BoundedReadings:
            return self._bounded(columns, n)
        if which is AnyTails:
            return self._any_tails(columns, self._sigma[rows], n)
        if which is OwnScatter:
            sums = own_readings(columns, n)
            apart = self._apart(sums.readings > 0.0, self._sign * sums.mean)
            least = np.zeros(n) if self._noise_floor is None else sums.least_squares(self._noise_floor)
            return OwnScatter(sums.readings, apart, sums.squares, least, self._resolution)
        if which is Counts:
            successes = totals(columns.plus, np.round(columns.value * columns.readings, 9), n)
            trials = totals(columns.plus, columns.readings, n)
            with np.errstate(invalid="ignore", divide="ignore"):
                mean = np.where(trials > 0.0, successes / trials, self._elsewhere(0.5, 0.0, 1.0))
            estimate = mean - self._sign * self._apart(trials > 0.0, self._sign * mean)
            return Counts(successes, trials, estimate, self._sign, self._resolution)
        pooled = pool(columns, self._sigma[rows], self._sign)
        precision, means = np.zeros(n), np.zeros(n)
        precision[pooled.plus], means[pooled.plus] = pooled.weight, pooled.value + pooled.centre
        apart = self._apart(precision > 0.0, means)
        made: type[KnownErrorBars] = LimitedScatter if which is LimitedScatter else KnownErrorBars
        return made(precision, apart, self._resolution)

    def _any_tails(self, columns: Columns, sigma: Floats, n: int) -> Kind:
        assert self._centres is not None
        count = np.bincount(columns.plus, minlength=n)
        # 0, exactly, where there is no other kind: evidence about an option changes with its own alone.
        shift = self._apart(count > 0, self._centres)
        value = self._sign * columns.value - self._centres[columns.plus] + shift[columns.plus]
        return AnyTails(rows_of(columns.plus, value, sigma, n), self._resolution)

    def _bounded(self, columns: Columns, n: int) -> Kind:
        assert self._bounds is not None
        singles = [columns.singles.get(number) for number in columns.number.tolist()]
        values = [
            np.array([value]) if several is None else several
            for several, value in zip(singles, columns.value.tolist(), strict=True)
        ]
        readings, value = np.concatenate(values), np.array([part.size for part in values])
        option = np.repeat(columns.plus, value)
        order = np.lexsort((readings, option))  # sums must not depend on the order of telling
        option, readings = option[order], readings[order]
        count = np.bincount(option, minlength=n)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = totals(option, readings, n) / count
        mean = np.where(count > 0, mean, self._elsewhere(float(readings.mean()), *self._bounds))
        estimate = mean - self._sign * self._apart(count > 0, self._sign * mean)
        return BoundedReadings(option, readings, self._bounds, estimate, self._sign)

    def _elsewhere(self, usual: float, low: float, high: float) -> Floats:
        """Where readings of options that have none are expected, (n,): at their estimates, if there are."""
        measured = np.bincount(self._columns.plus, minlength=self._fit.means.size) > 0
        means = self._sign * (self._fit.means + self._centre)
        return np.where(measured, np.clip(means, low, high), usual)

    def _apart(self, measured: Mask, means: Floats) -> Floats:
        """How far means of one kind lie above the estimates, (n,): 0, exactly, where there is no other."""
        apart = np.zeros(means.size)
        if len(self._parts) > 1 or self._fit.connected:
            kinds = np.zeros(means.size, dtype=np.int64)
            for _, rows in self._parts:
                kinds[np.unique(self._columns.plus[rows])] += 1
            mixed = measured & ((kinds > 1) | self._fit.connected)
            apart[mixed] = (means - self._centre - self._fit.means)[mixed]
        return apart


def _one_by_one(columns: Columns, as_told: bool) -> tuple[Mask, Mask]:
    """Which measurements are of trials, and which of readings between bounds, that count one by one."""
    return (columns.kind == KINDS.index(COUNTS)) & as_told, (columns.kind == KINDS.index(BOUNDED)) & as_told


def robust_centres(state: State, columns: Columns, sigma: Floats, *, as_told: bool) -> Floats:
    """What error bars of any tails say about every option, (n,), large being good; 0 where there are none.

    Args:
        state: The study; it keeps what was found, and only options that changed are looked at again.
        columns: The measurements.
        sigma: The certificate's standard errors, (N,).
        as_told: Whether trials and readings between bounds count one by one.
    """
    counted, bounded = _one_by_one(columns, as_told)
    some, n, question = ~counted & ~bounded, len(state.ids), state.specification
    rows = rows_of(columns.plus[some], question.sign * columns.value[some], sigma[some], n)
    facts = AnyTails(rows, question.resolution).facts
    found, changed = np.zeros(n), np.ones(n, dtype=bool)
    if state.centres is not None and state.centres[0].shape == facts.shape:
        changed = (state.centres[0] != facts).any(axis=1)
        found = np.where(changed, 0.0, state.centres[1])
    if (new := np.flatnonzero(changed & (facts[:, 0] > 0.0))).size:
        found[new] = centres(picked(rows, new), question.resolution)
    state.centres = facts, found
    return found


def recentred(
    fit: Fit, sums: Sums, columns: Columns, sigma: Floats, robust: Floats, sign: float, *, as_told: bool
) -> Fit:
    """A fit of options that share nothing with robust estimates in the place of weighted means."""
    counted, bounded = _one_by_one(columns, as_told)
    n, some = robust.size, ~counted & ~bounded
    weight = totals(columns.plus[some], sigma[some] ** -2.0, n)
    others = np.bincount(columns.plus[~some], minlength=n) > 0
    alone, mixed = (weight > 0.0) & ~others, (weight > 0.0) & others
    high, low = two_sum(robust, np.full(n, -sums.centre))
    means, fine = np.where(alone, high, fit.means), np.where(alone, low, fit.fine)
    if mixed.any():
        plain = totals(columns.plus[some], sign * columns.value[some] * sigma[some] ** -2.0, n)
        with np.errstate(invalid="ignore", divide="ignore"):
            move = (robust - plain / weight) * weight / fit.precision
        means = np.where(mixed, means + move, means)
    return fit._replace(means=means, fine=fine)


def separate_options(
    kinds: list[Kind],
    shares: Shares,
    before: Tables | None,
    stacks: Stacks | None = None,
    *,
    pooled: bool = False,
) -> SeparateOptions:
    """Half-widths from the evidence about each option.

    Args:
        kinds: The evidence.
        shares: How the error probability is divided.
        before: Earlier tables of the same study.
        stacks: The weights of a study whose readings scatter by each option's own amount.
        pooled: Whether the study began with scatter that is pooled, so that limits are what it is about.
    """
    if not shares.changed:
        alpha = shares.comparing * shares.delta
        finer = not all(kind.convex for kind in kinds) and shares.n_first <= FEW
        levels = levels_for(shares.n_first, alpha, shares.cap, stacks, finer=finer)
        if pooled and stacks is None:
            levels = levels_with_limits(shares.n_first, alpha)
        return SeparateOptions(kinds, levels, before=before)

    def doubt(option: int) -> Floats:
        plain = shares.doubt(option)
        return plain if stacks is None else of_suprema(plain, 0.5)

    most = max(float(doubt(option).max()) for option in (0, shares.n_now - 1))
    return SeparateOptions(kinds, ladder(most, shares.cap, stacks), doubt, before)


class Narrowest(HalfWidths):
    """The smallest half-width of all families: each holds with its own share, so all hold at once."""

    def __init__(self, families: Sequence[HalfWidths]) -> None:
        self.families = tuple(families)

    @property
    def evidence(self) -> tuple[str, ...]:
        """That of all families, each once."""
        return tuple(dict.fromkeys(name for family in self.families for name in family.evidence))

    def half_widths(self, option: int) -> Floats:
        """By how much "j minus option" may be larger than estimated, for every j, (n,)."""
        return np.asarray(np.min([family.half_widths(option) for family in self.families], axis=0))

    def lead_widths(self, rival: int) -> Floats:
        """By how much "rival minus i" may be larger than estimated, for every i, (n,)."""
        return np.asarray(np.min([family.lead_widths(rival) for family in self.families], axis=0))


class Moved(HalfWidths):
    """Half-widths around the estimates of one fit, counted from those of another."""

    def __init__(self, family: HalfWidths, own: Fit, shown: Fit) -> None:
        self._family, self._own, self._shown = family, own, shown

    @property
    def evidence(self) -> tuple[str, ...]:
        """That of the family."""
        return self._family.evidence

    def half_widths(self, option: int) -> Floats:
        """By how much "j minus option" may be larger than estimated, for every j, (n,)."""
        return self._family.half_widths(option) + self._between(option)

    def lead_widths(self, rival: int) -> Floats:
        """By how much "rival minus i" may be larger than estimated, for every i, (n,)."""
        return self._family.lead_widths(rival) - self._between(rival)

    def _between(self, option: int) -> Floats:
        """By how much differences to this option are estimated larger by the one than by the other, (n,)."""
        apart = self._own.differences(option) - self._shown.differences(option)
        return np.where(np.isfinite(apart), apart, 0.0)


def bounds_with_items(
    state: State, case: BoundaryCase, n: int, without: Callable[[BoundaryCase], HalfWidths]
) -> HalfWidths:
    """The narrowest of what paired items say and of what everything else says.

    Answers to an item that other options answered before are no fresh measurements of one option: they enter
    the pairs alone, never the evidence about single options, which multiplies.

    Args:
        state: The study.
        case: What bounds are made from.
        n: The number of options.
        without: The bounds from measurements that are not of items.
    """
    if not state.begins_with_items:
        return without(case)
    sign, of_items = state.specification.sign, case.columns.kind == KINDS.index(ITEMS)
    shares = case.shares
    families: list[HalfWidths] = []
    if state.items:
        live, some = state.items.n_measurements, case.columns.number[of_items]
        # Only in a look at earlier times are there fewer.
        prefixes = None if some.size in (0, live) else state.items.prefixes(some.tolist())
        families.append(_pairs(state, case, n, prefixes))
    if not of_items.all() or not families:
        columns, sigma = case.columns.select(~of_items), case.sigma[~of_items]
        sums = pool(columns, sigma, sign)
        fit = fit_independent(n, sums) if sums.n_measurements else case.fit
        rest = 1.0 - PAIRED
        other = case._replace(
            fit=fit, sums=sums, columns=columns, sigma=sigma, delta=rest * case.delta,
            shares=shares._replace(delta=rest * shares.delta),
        )  # fmt: skip
        families.append(Moved(without(other), fit, case.fit))
    return families[0] if len(families) == 1 else Narrowest(families)


def _pairs(state: State, case: BoundaryCase, n: int, prefixes: dict[int, int] | None) -> HalfWidths:
    """What paired items say."""
    question, shares = state.specification, case.shares
    doubt = shares._replace(delta=PAIRED * shares.delta).doubt
    if question.noise == SYMMETRIC:
        return SymmetricRounds(
            state.items, n, question.sign, differences=case.fit.differences, resolution=case.resolution,
            doubt=doubt, prefixes=prefixes, gross=question.value_scale.log, changed=shares.changed,
        )  # fmt: skip
    return PairedItems(
        state.items, n, question.sign, differences=case.fit.differences, resolution=case.resolution,
        doubt=doubt, prefixes=prefixes,
    )  # fmt: skip


class Independent(StudyModel):
    """One unknown per option."""

    facts = ModelFacts("independent")
    radius = (
        "evidence about each option at its own scale: the best option is protected, the recommended one pays "
        "for having been chosen; normal mixtures over contrasts where blocks or differences connect options"
    )

    radius_once = f"{StudyModel.radius_once} (Dunnett); exact binomial limits for shares"

    def fit(self, sums: Sums, deviation: float) -> Fit:
        """The weighted means, or the network of what connects options, solved."""
        return fit_independent(self.n, sums)

    def boundary(self, case: BoundaryCase) -> HalfWidths:
        """From the evidence about each option, from contrasts where something connects them, from items."""
        return bounds_with_items(self.state, case, self.n, self._without_items)

    def _without_items(self, case: BoundaryCase) -> HalfWidths:
        """What measurements that are not of items say."""
        linked = case.sums.without_lone_blocks()
        if not linked.has_border:
            return self._apart(case, linked)
        shares = case.shares._replace(delta=_connected_part(case) * case.delta)
        return Contrasts(case.fit, case.sums, shares, case.resolution)

    def one_look(self, look: OneLook) -> HalfWidths:
        """The comparisons that the kinds of measurements allow."""
        linked = look.sums.without_lone_blocks()
        if linked.has_border:
            return PairedOnce(look) if look.paired else ConnectedOnce(look)
        if look.readings is not None:
            return ReadingsOnce(look)
        if look.counts and self.choice.extra_scatter is None and not look.sums.has_border:
            return SharesOnce(look)
        alone = look.fit if linked is look.sums else fit_independent(self.n, linked)
        return SeparateOnce(look._replace(fit=alone))

    def _apart(self, case: BoundaryCase, linked: Sums) -> HalfWidths:
        """What the measurements without a block say about each option."""
        rows = (case.columns.minus < 0) & (case.columns.block == 0)
        fit = case.fit if linked is case.sums else fit_independent(self.n, linked)
        question = self.specification
        gathered = Gathered(
            case.columns.select(rows), case.sigma[rows], fit, question.sign, case.resolution,
            as_told=self.choice.extra_scatter is None, bounds=question.computed_bounds, own=case.own_scatter,
            noise_floor=question.noise_floor, centres=case.centres, imagined=case.imagined,
        )  # fmt: skip
        stacks = None
        if case.own_scatter:
            begun = question.scatter == OWN or begins_mostly_with_own(self.state)
            stacks = Stacks(MAIN, OTHER) if begun else Stacks(OTHER, MAIN)
        found = separate_options(
            gathered.kinds(), case.shares, self.state.tables, stacks,
            pooled=begins_pooled(self.state),
        )  # fmt: skip
        self.state.tables = found.tables
        return found

    def knowledge(self, fit: Fit, boundary: HalfWidths, option: int) -> Knowledge:
        """Each option on its own, or the connected ones that it is one of."""
        evidence = boundary if isinstance(boundary, SeparateOptions) else None
        if fit.connected and fit.group[option] >= 0:
            assert fit.solved is not None
            linked = fit.group == fit.group[option]
            own = np.where(linked, fit.solved.own[: self.n], np.inf)
            return Knowledge(Joint(own, np.where(linked, fit.solved.halves, 0.0).T), evidence=evidence)
        return Knowledge(
            separate_joint(fit.own if evidence is None else evidence.variances()), evidence=evidence
        )

    def draw_worlds(
        self, fit: Fit, sums: Sums, count: int, rng: np.random.Generator, span: float | None
    ) -> Floats:
        """Values that are normal around a common mean with an unknown spread, given their estimates."""
        return independent_worlds(fit, self.specification.resolution, count, rng, span)


def _connected_part(case: BoundaryCase) -> float:
    """Of the part of δ that comparisons have: for those of connected options.

    Before anything connected them, options that were measured without a block had bounds of their own, and
    may have been certified. With at most one such option there was nothing to certify, and its values did not
    decide what came next.
    """
    without_block = int(np.count_nonzero((case.sums.minus < 0) & (case.sums.block == 0)))
    if without_block < 2:
        return 1.0
    return case.shares.connected / case.shares.comparing


MODEL = Independent
