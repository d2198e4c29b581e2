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

from noisewise.core.choice.selection import Mask
from noisewise.core.model.dense import Floats
from noisewise.core.support.distributions import chi_square_quantile, chi_square_tails
from noisewise.core.support.words import counted
from noisewise.study.log.measurements import KINDS, WITHOUT_ERROR_BARS, Columns
from noisewise.study.models.own_readings import LEAST, OwnReadings, own_readings, own_rows
from noisewise.study.telling.error_bars import NONE, READINGS

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
    used = sorted(np.unique(columns.pool[lacking]).tolist(), key=columns.pools.__getitem__)
    # With G pools each gets δ/(G²(G+1)): summed over the pools and over G = 1, 2, … that is δ.
    share = delta / (len(used) ** 2 * (len(used) + 1))
    pools = []
    for code in used:
        members = lacking & (columns.pool == code)
        limit = one_look_limit if once else upper_limit
        pool = _pool(columns, members, columns.pools[code], share, residual, limit)
        readings = np.sqrt(columns.readings[members])
        usable = math.isfinite(pool.sd) and pool.sd > 0.0
        fallback = float(np.median(columns.sigma[~lacking])) if not lacking.all() else resolution
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
        return "or give se="
    return f"void the {counted(members, 'measurement')} without error bars, or give se="


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
    fallback = float(np.median(known)) if known.size else resolution
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
            "all readings of an option agree to the last digit: give noise_floor=, the resolution of values"
        ]
    if not (sums.readings > 1.0).any():
        return ["every option has a single reading and no error bar: give se=, or read some options again"]
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
    for code in np.unique(columns.pool[is_reading]):
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
