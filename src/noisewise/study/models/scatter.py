"""Standard errors for measurements that brought none of their own: pooled scatter and its upper limit.

Readings that share an instrument (or a block) share one standard deviation. With ν degrees of freedom and a
sum of squares Q its square is estimated by Q/ν; for the certificate by an upper limit that holds at every
moment at once: ``exp(-λQ/s²)·(1 + 2λ)^(ν/2)`` is a martingale with mean 1 if s is the true one and readings
are normal, so by Ville

    s² <= λQ / (ν/2·log(1 + 2λ) - log(1/δ))      for all ν, with probability 1 - δ.

Where every option's readings scatter in their own way, an option's own standard deviation is what is shown
and weighed with; bounds do not rest on it (`noisewise.study.evidence.own_scatter`).
"""

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from noisewise.core.blocks import Floats, Mask, distinct, median
from noisewise.core.distributions import chi_square_quantile, chi_square_tails, f_tails
from noisewise.core.text import counted
from noisewise.study.log.measurements import ALL_READINGS, KINDS, WITHOUT_ERROR_BARS, Columns
from noisewise.study.log.model_choice import ModelChoice
from noisewise.study.log.specification import FIRST, OWN, POOLED
from noisewise.study.log.state import State
from noisewise.study.models.fit import sorted_by, totals
from noisewise.study.telling.error_bars import NONE, READINGS

#: Readings of an option below which nothing is known of its own scatter.
LEAST = 2
#: A scatter below this part of a value is rounding.
ROUNDING = 8.0 * float(np.finfo(float).eps)


def has_own_scatter(state: State) -> bool:
    """Whether readings that name neither instrument nor block scatter by each option's own amount.

    It was declared, or follows from what was told at the first moment: never from values.
    """
    question = state.specification
    if not (question.scatter == OWN or (question.scatter == FIRST and begins_with_own(state))):
        return False
    return shares_nothing(question.first_model) and shares_nothing(state.model)


def begins_with_own(state: State) -> bool:
    """Whether readings that name neither instrument nor block were told at the first moment."""
    return state.begun.own > 0


def begins_mostly_with_own(state: State) -> bool:
    """Whether they were at least half of what was told at the first moment."""
    return 0 < state.begun.rows <= 2 * state.begun.own


def begins_pooled(state: State) -> bool:
    """Whether scatter is pooled from the first moment on, by declaration or because of the kinds told."""
    if has_own_scatter(state):
        return False
    return state.specification.scatter == POOLED or not state.begun.kinds.isdisjoint((READINGS, NONE))


def shares_nothing(model: ModelChoice) -> bool:
    """Whether options have nothing in common, and readings of one option all that there is of its scatter."""
    return not model.uses_features and model.extra_scatter is None


def is_linked(columns: Columns) -> bool:
    """Whether there are blocks or differences, whose bounds need a scatter that options share."""
    return bool(((columns.minus >= 0) | (columns.block > 0)).any())


def own_rows(columns: Columns) -> Mask:
    """Which measurements are readings of one option that name neither instrument nor block, (N,)."""
    everything = columns.pools.index(ALL_READINGS) if ALL_READINGS in columns.pools else -1
    alike = (columns.kind == KINDS.index(READINGS)) & (columns.pool == everything)
    single = columns.kind == KINDS.index(NONE)
    return np.asarray((alike | single) & (columns.minus < 0) & (columns.block == 0))


class Agreement(NamedTuple):
    """Whether repeated measurements of one option agree as well as their readings do among themselves."""

    compared: int  # options
    worst: int  # the one that agrees least
    chance: float  # of so little agreement for any of them


class OwnReadings(NamedTuple):
    """What all readings of every option say, (n,) each: it does not matter how they were told."""

    readings: Floats
    told: Floats  # in how many measurements
    mean: Floats  # 0 without readings
    squares: Floats  # around that mean
    within: Floats  # around the mean of each measurement

    @property
    def sd(self) -> Floats:
        """The standard deviation of single readings; NaN where it is not known."""
        known = (self.readings >= LEAST) & (self.squares > 0.0)
        return np.where(known, np.sqrt(self.squares / np.maximum(self.readings - 1.0, 1.0)), np.nan)

    @property
    def typical_sd(self) -> float:
        """Of the readings of any option; NaN if none is known."""
        freedom = float(np.maximum(self.readings - 1.0, 0.0).sum())
        squares = float(self.squares.sum())
        return math.sqrt(squares / freedom) if freedom > 0.0 and squares > 0.0 else math.nan

    def agreement(self) -> Agreement:
        """By F tests, one per option that was measured repeatedly with several readings."""
        between, within = self.told - 1.0, self.readings - self.told
        some = np.flatnonzero((between > 0.0) & (within > 0.0) & (self.within > 0.0))
        if not some.size:
            return Agreement(0, 0, 1.0)
        above = (self.squares - self.within)[some] / between[some]
        ratio = above / (self.within[some] / within[some])
        chances = np.ones(some.size)
        for place in np.flatnonzero(ratio > 3.0):  # smaller ones are never suspicious
            at = some[place]
            chances[place] = f_tails(float(between[at]), float(within[at]), float(ratio[place])).upper
        least = int(np.argmin(chances))
        return Agreement(some.size, int(some[least]), min(1.0, float(chances[least]) * some.size))

    def least_squares(self, noise_floor: float) -> Floats:
        """The sum of squares with which the usual measurement has a standard error of the noise floor."""
        usual = self.readings / np.maximum(self.told, 1.0)
        return np.maximum(self.readings - 1.0, 0.0) * usual * noise_floor**2


def own_readings(columns: Columns, n: int) -> OwnReadings:
    """The sums of these measurements, the same to the last bit whatever their order.

    Args:
        columns: Readings.
        n: How many options there are.
    """
    sorting = sorted_by(columns, "readings", columns.plus, columns.value)
    order = sorting.places
    if not sorting.is_settled(columns.readings, columns.scatter):
        order = np.lexsort((columns.scatter, columns.readings, columns.value, columns.plus))
    plus, value, count = columns.plus[order], columns.value[order], columns.readings[order]
    readings = totals(plus, count, n)
    centre = median(value) if value.size else 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.nan_to_num(totals(plus, count * (value - centre), n) / readings)
    within = totals(plus, columns.scatter[order], n)
    between = totals(plus, count * (value - centre - mean[plus]) ** 2, n)
    told = totals(plus, np.ones(plus.size), n)
    # Equal readings scatter by what their mean was rounded by: three times 0.1 by 2e-17.
    largest = np.zeros(n)
    np.maximum.at(largest, plus, np.abs(value))
    equal = within + between <= readings * (ROUNDING * largest) ** 2
    within, between = np.where(equal, 0.0, within), np.where(equal, 0.0, between)
    return OwnReadings(readings, told, np.where(readings > 0.0, mean + centre, 0.0), within + between, within)


#: Pooled degrees of freedom below which no certificate is given.
LEAST_FREEDOM = 20
#: Values of λ tried side by side: for few, some and many degrees of freedom.
SLOPES = (1.2, 0.4, 0.12)


class Pool(NamedTuple):
    """Measurements that share one scatter."""

    name: str
    freedom: float
    sd: float  # of a single reading; NaN if it cannot be estimated yet
    upper: float  # its upper limit; infinite if there is none yet


class Sigmas(NamedTuple):
    """The standard error of every measurement, as estimated and as certified."""

    estimated: Floats  # (N,)
    certified: Floats  # (N,): meaningless while ``waiting`` is not empty
    pools: list[Pool]
    waiting: list[str]  # reasons to withhold the certificate


def settle(
    columns: Columns,
    delta: float,
    noise_floor: float | None,
    residual: Callable[[Columns], tuple[float, int]],
    *,
    resolution: float,
    once: bool = False,
    own: bool = False,
) -> Sigmas:
    """Give every measurement a standard error.

    Args:
        columns: The measurements.
        delta: Error probability of all upper limits together.
        noise_floor: Standard errors are at least this.
        residual: Sum of squares and degrees of freedom that remain when the model is fitted to measurements
            with equal weights: the scatter of those that came without error bars.
        resolution: The difference that matters: taken for an error bar where nothing is known of any.
        once: Whether limits need to hold at one look only; then few degrees of freedom will do.
        own: Whether readings without instrument or block scatter by each option's own amount.
    """
    least = 1 if once else LEAST_FREEDOM
    estimated = columns.sigma.copy()
    lacking = np.isnan(estimated)
    waiting: list[str] = []
    if own and (rows := lacking & own_rows(columns)).any():
        waiting += _own(columns, rows, estimated, noise_floor, resolution, once=once)
        lacking &= ~rows
    if not lacking.any():
        return Sigmas(estimated, estimated, [], waiting)
    certified = estimated.copy()
    used = sorted(distinct(columns.pool[lacking]).tolist(), key=columns.pools.__getitem__)
    # With G pools each gets δ/(G²(G+1)): summed over the pools and over G = 1, 2, … that is δ.
    share = delta / (len(used) ** 2 * (len(used) + 1))
    pools = []
    for code in used:
        members = lacking & (columns.pool == code)
        limit = one_look_limit if once else upper_limit
        pool = _pool(columns, members, columns.pools[code], share, residual, limit)
        readings = np.sqrt(columns.readings[members])
        usable = math.isfinite(pool.sd) and pool.sd > 0.0
        fallback = median(columns.sigma[~lacking]) if not lacking.all() else resolution
        estimated[members] = pool.sd / readings if usable else fallback
        certified[members] = pool.upper / readings
        pools.append(pool)
        if pool.freedom < least:
            waiting.append(
                f"the scatter of {pool.name} has {counted(pool.freedom, 'degree of freedom')} and needs "
                f"{least}: repeat measurements, {_or_give(pool.name, int(members.sum()), lacking)}"
            )
        elif not usable and noise_floor is None:
            waiting.append(
                f"the scatter of {pool.name} is 0: set noise_floor to your instrument's resolution"
            )
    if noise_floor is not None:
        estimated, certified = np.maximum(estimated, noise_floor), np.maximum(certified, noise_floor)
    return Sigmas(estimated, certified, pools, waiting)


def _or_give(pool: str, members: int, lacking: Mask) -> str:
    """What helps beside repeating; where only some have no error bar, the others do without them."""
    if pool != WITHOUT_ERROR_BARS or lacking.all():
        return "or give `se=`"
    return f"void the {counted(members, 'measurement')} without error bars, or give `se=`"


def _own(
    columns: Columns,
    rows: Mask,
    estimated: Floats,
    noise_floor: float | None,
    resolution: float,
    *,
    once: bool,
) -> list[str]:
    """Give readings the standard errors that their own options' scatter says; reasons to withhold."""
    some = columns.select(rows)
    sums = own_readings(some, 1 + int(some.plus.max()))
    sd, typical = sums.sd, sums.typical_sd
    known = estimated[~np.isnan(estimated)]
    fallback = median(known) if known.size else resolution
    sd = np.where(np.isnan(sd), typical if math.isfinite(typical) else fallback, sd)
    found = sd[some.plus] / np.sqrt(some.readings)
    estimated[rows] = found if noise_floor is None else np.maximum(found, noise_floor)
    if once:
        return _without_scatter(sums) if noise_floor is None else []
    agreeing = int(((sums.readings > LEAST) & (sums.squares == 0.0)).sum())
    if agreeing and noise_floor is None:
        return [
            f"the readings of {counted(agreeing, 'option')} agree to the last digit, so that nothing is "
            "known of their scatter: set noise_floor to your instrument's resolution"
        ]
    return []


def _without_scatter(sums: OwnReadings) -> list[str]:
    """Why one look at readings says nothing about their scatter; empty if it does."""
    if (sums.readings > 1.0).any() and not (sums.squares > 0.0).any():
        return [
            "all readings of an option agree to the last digit: say the resolution of values "
            "(noise_floor= for a "
            'table, `errors="floor=SIZE"` for a study)'
        ]
    if not (sums.readings > 1.0).any():
        return ["every option has a single reading and no error bar: give `se=`, or read some options again"]
    return []


def widened(columns: Columns, sigmas: Sigmas, extra: float, largest: float) -> Sigmas:
    """Standard errors with extra scatter, for all measurements that came with an error bar.

    The scatter of those without was estimated from what it is, extra or not.

    Args:
        columns: The measurements.
        sigmas: Their standard errors without extra scatter.
        extra: Its size.
        largest: Its upper limit, for the certificate.
    """
    if extra == largest == 0.0:
        return sigmas
    barred = np.sqrt((columns.kind != KINDS.index(NONE)) * columns.extra_share)
    estimated = np.hypot(sigmas.estimated, extra * barred)
    same = sigmas.certified is sigmas.estimated and extra == largest
    return sigmas._replace(
        estimated=estimated, certified=estimated if same else np.hypot(sigmas.certified, largest * barred)
    )


def _pool(
    columns: Columns,
    members: Floats,
    name: str,
    delta: float,
    residual: Callable[[Columns], tuple[float, int]],
    limit: Callable[[float, float, float], float],
) -> Pool:
    if KINDS[int(columns.kind[members][0])] == NONE:
        squares, freedom = residual(columns.select(members))
    else:
        squares = float(np.sort(columns.scatter[members]).sum())
        freedom = int((columns.readings[members] - 1).sum())
    sd = math.sqrt(squares / freedom) if freedom > 0 else math.nan
    return Pool(name, freedom, sd, limit(squares, freedom, delta))


def one_look_limit(squares: float, freedom: float, delta: float) -> float:
    """An upper limit of the standard deviation, true at one look with probability 1 - delta."""
    return math.sqrt(squares / chi_square_quantile(freedom, delta)) if freedom > 0 else math.inf


def upper_limit(squares: float, freedom: float, delta: float) -> float:
    """An upper limit of the standard deviation, true at all times with probability 1 - delta."""
    doubt = math.log(len(SLOPES) / delta)
    limits = [math.inf]
    for slope in SLOPES:
        certain = 0.5 * freedom * math.log1p(2.0 * slope) - doubt
        if certain > 0.0:
            limits.append(slope * squares / certain)
    return math.sqrt(min(limits))


def unequal_scatter(columns: Columns, level: float) -> int | None:
    """The first pool whose sets of readings scatter too differently to share one, if any: its code."""
    is_reading = columns.kind == KINDS.index(READINGS)
    for code in distinct(columns.pool[is_reading]):
        members = is_reading & (columns.pool == code)
        if chance_of_equal_scatter([sets_of(columns, members)]) < level:
            return int(code)
    return None


def sets_of(columns: Columns, members: Mask) -> tuple[Floats, Floats]:
    """The degrees of freedom and sums of squares of some sets of readings."""
    return columns.readings[members] - 1.0, columns.scatter[members]


def chance_of_equal_scatter(groups: Iterable[tuple[Floats, Floats]]) -> float:
    """The probability of sets of readings that differ as much, if all of one group scatter alike (Bartlett).

    Args:
        groups: Degrees of freedom and sums of squares of sets that share one scatter; groups may differ.
    """
    statistic, free = 0.0, 0
    for freedom, squares in groups:
        freedom, squares = freedom[squares > 0.0], squares[squares > 0.0]
        if freedom.size < 2:
            continue
        total, sets = freedom.sum(), freedom.size
        pooled = squares.sum() / total
        apart = total * np.log(pooled) - (freedom * np.log(squares / freedom)).sum()
        statistic += apart / (1.0 + ((1.0 / freedom).sum() - 1.0 / total) / (3.0 * (sets - 1)))
        free += sets - 1
    return chi_square_tails(free, float(statistic)).upper if free else 1.0
