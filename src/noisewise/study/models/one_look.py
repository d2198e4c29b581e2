"""Bounds that hold at one look at a finished table: ordinary simultaneous comparisons with the best option.

The best option j is one fixed, unknown option; the recommended option i is chosen by the data. So for a fixed
j all n - 1 differences "j minus i" must lie within c standard errors at once, on one side only. Half-widths
are a multiplier times the standard error of the difference:

- **Known error bars** (Dunnett 1955, Hsu 1981): the errors of the differences have one common factor, the
  error of j: ``T_i = λ_i·Z + √(1 - λ_i²)·ε_i`` with ``λ_i² = v_j/(v_j + v_i)``, and c is a quantile of the
  largest. By Slepian's inequality smaller λ never make c too small, so in networks of blocks and
  differences λ with ``λ_i·λ_k <= ρ_ik`` are used.
- **Readings** of options that share nothing: Tukey's studentized range with the pooled scatter while some
  option has few readings, and from `ENOUGH` readings each Welch's intervals with Bonferroni's correction.
  Dunnett's pooled multiplier is smaller, but wrong too often where options scatter differently; it is used
  where equal scatter was declared. If scatter differs by more than chance, or numbers of readings by more
  than a factor, small tables take the larger of Tukey's and Welch's half-widths.
- **Values in shared blocks** (items, days, plates): from `ENOUGH` blocks that two options share, the paired
  version, Student's interval of the mean difference with Bonferroni's correction; else the pooled fit.
- **Shares of successes**: exact binomial limits of both options, as far out as ``z_j² + z_i² <= c²`` allows.
- **Weighted sums of features**: the smaller of Bonferroni's and Scheffé's multipliers.
- **Errors no heavier than normal** (shares in blocks or weighted sums): Chernoff's ``c² = 2·log(N/δ)``.
"""

import functools
import math
from abc import abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from noisewise.core.blocks import Floats, Mask, distinct
from noisewise.core.distributions import chi_square_quantile, f_quantile, normal_quantile, student_quantile
from noisewise.study.evidence.half_widths import HalfWidths
from noisewise.study.log.measurements import KINDS, Codes, Columns
from noisewise.study.log.specification import OWN, POOLED
from noisewise.study.models.fit import Fit, Sums, totals
from noisewise.study.models.scatter import OwnReadings, chance_of_equal_scatter
from noisewise.study.telling.error_bars import COUNTS, NONE

#: The part of δ of upper limits of scatter and of sizes, where there are any.
ONE_LOOK_LIMITS = 0.1
#: Readings of each option, or shared blocks, from which each difference has its own scatter.
ENOUGH = 6
#: Equal scatter less likely than this, or numbers of readings further apart, make small tables cautious.
UNEQUAL, UNBALANCED = 0.01, 2.0
#: Different variances that are told apart, and connected options whose correlations are looked at; fewer with
#: an estimated standard deviation, where each takes longer.
MOST, MOST_ESTIMATED = 64, 16
#: Common factors beyond this make steps that the grid does not resolve; smaller ones are on the safe side.
MOST_COMMON = 0.99
#: Steps of the trapezoidal rule over Z.
STEP, REACH = 0.05, 8.5
#: Estimates that refinement still moved by more than this, in their errors, are not certified; and variances
#: of differences below this part of those they are found from have lost their digits.
UNSETTLED = LOST = 1e-6
#: Directions in which evidence is divided between two options; fewer with very many options.
DIRECTIONS, FEWER, MANY = 256, 64, 5000


class ErrorKinds(NamedTuple):
    """What is known of the errors."""

    freedom: float | None = None  # of the one standard deviation that all of them share, if it is estimated
    limited: bool = False  # whether some standard errors are upper limits
    shares: bool = False  # whether some are shares of successes, which are no heavier than normal

    def one_by_one(self, count: float, delta: float) -> float:
        """The multiplier for this many comparisons, whatever connects them: Bonferroni's or Chernoff's."""
        if self.shares:
            return math.sqrt(2.0 * math.log(max(1.0, count) / delta))
        share = delta / max(1.0, count)
        found = normal_quantile(share) if self.freedom is None else student_quantile(self.freedom, share)
        return max(0.0, -found)


class OneLook(NamedTuple):
    """The measurements at the one look, and the error probability of all comparisons with one option."""

    fit: Fit  # with the certificate's standard errors
    sums: Sums
    columns: Columns
    sign: float
    delta: float
    may_win: Mask  # (n,): the options that may be recommended
    errors: ErrorKinds
    readings: OwnReadings | None = None  # if nothing else was measured, and equal scatter was not declared
    scatter: str | None = None  # OWN or POOLED if that was declared

    @property
    def comparisons(self) -> int:
        """Comparisons with one option, at most."""
        return max(1, int((self.may_win & (self.fit.group >= 0)).sum()) - 1)

    @property
    def counts(self) -> bool:
        """Whether all that was measured are successes out of trials."""
        return bool((self.columns.kind == KINDS.index(COUNTS)).all())

    @property
    def bare(self) -> bool:
        """Whether nothing has an error bar."""
        return bool((self.columns.kind == KINDS.index(NONE)).all())

    @property
    def paired(self) -> bool:
        """Whether all that was measured are values without error bars in blocks."""
        in_blocks = (self.columns.minus < 0) & (self.columns.block > 0)
        return self.bare and self.scatter != POOLED and bool(in_blocks.all())


class Once(HalfWidths):
    """Half-widths that are infinite where nothing links two options."""

    name = ""

    def __init__(self, look: OneLook) -> None:
        self._look, self._group = look, look.fit.group

    @property
    def evidence(self) -> tuple[str, ...]:
        """What is looked at once."""
        return (f"one look: {self.name}",)

    @abstractmethod
    def widths(self, option: int, leads: bool) -> Floats:
        """Half-widths of "j minus option", or where it leads of "option minus i", (n,)."""

    def half_widths(self, option: int) -> Floats:
        """By how much "j minus option" can be larger than estimated, for every j, (n,)."""
        return self._linked(self.widths(option, leads=False), option)

    def lead_widths(self, rival: int) -> Floats:
        """By how much "rival minus i" can be larger than estimated, for every i, (n,)."""
        return self._linked(self.widths(rival, leads=True), rival)

    def _linked(self, half: Floats, option: int) -> Floats:
        group = self._group
        half = np.where((group == group[option]) & (group[option] >= 0) & ~np.isnan(half), half, np.inf)
        half[option] = 0.0
        return half


class SeparateOnce(Once):
    """Dunnett's comparisons of options that share nothing: ``c_j·√(v_i + v_j)``."""

    name = "each option"

    def __init__(self, look: OneLook) -> None:
        super().__init__(look)
        self._own, errors = look.fit.own, look.errors
        self._multiplier = np.ones(self._own.size)
        measured = np.flatnonzero((look.fit.group >= 0) & look.may_win)
        if errors.shares:
            self._multiplier[:] = errors.one_by_one(look.comparisons, look.delta)
        elif errors.limited:
            # True variances are smaller, which makes other correlations, but none below 0.
            self._multiplier[:] = independent_at_most(look.comparisons, look.delta)
        elif measured.size > 1:
            self._multiplier[measured] = _among(self._own[measured], look.delta, errors.freedom)

    def widths(self, option: int, leads: bool) -> Floats:
        """A multiplier of the possible best option, times the standard error of the difference."""
        multiplier = self._multiplier[option] if leads else self._multiplier
        return np.asarray(multiplier * np.sqrt(self._own + self._own[option]))


def _among(variances: Floats, delta: float, freedom: float | None) -> Floats:
    """Dunnett's multiplier of every option among others that share nothing, (n,).

    Among very many variances neighbours are taken together, each as large as the largest when it is compared
    with others, and as small as the smallest when others are compared with it: common factors are smaller.
    """
    least = distinct(variances)
    if least.size > (most := MOST if freedom is None else MOST_ESTIMATED):
        least = least[np.arange(most) * least.size // most]
    group = np.searchsorted(least, variances, side="right") - 1
    largest, many = np.zeros(least.size), np.bincount(group)
    np.maximum.at(largest, group, variances)
    found = []
    for at, own in enumerate(least):
        others = many - (np.arange(least.size) == at)
        common = np.sqrt(own / (own + largest))
        found.append(dunnett(tuple(common[others > 0]), tuple(others[others > 0]), delta, freedom))
    return np.array(found)[group]


class ReadingsOnce(Once):
    """Tukey's and Welch's comparisons of readings."""

    name = "readings"

    def __init__(self, look: OneLook) -> None:
        super().__init__(look)
        assert look.readings is not None
        self._readings, self._squares = look.readings.readings, look.readings.squares
        some = self._readings[self._readings > 0.0]
        freedom = float((some - 1.0).sum())
        self._pooled = float(self._squares.sum()) / max(1.0, freedom)
        self._tukey = studentized_range(some.size, look.delta, freedom) / math.sqrt(2.0)
        self._by_option = some.min() >= ENOUGH or look.scatter == OWN
        several = self._readings > 1.0
        equal = chance_of_equal_scatter([(self._readings[several] - 1.0, self._squares[several])])
        self._cautious = equal < UNEQUAL or some.max() > UNBALANCED * some.min()

    def widths(self, option: int, leads: bool) -> Floats:
        """Those of pooled scatter, of both options' own, or the larger."""
        from scipy.special import stdtrit

        with np.errstate(divide="ignore", invalid="ignore"):
            pooled = self._tukey * np.sqrt(
                self._pooled * (1.0 / self._readings + 1.0 / self._readings[option])
            )
            free = self._readings - 1.0
            own = self._squares / free / self._readings
            both = own + own[option]
            freedom = both**2 / (own**2 / free + own[option] ** 2 / free[option])
            welch = -stdtrit(freedom, self._look.delta / self._look.comparisons) * np.sqrt(both)
        known = np.isfinite(welch) & (both > 0.0)  # else the scatter of all is the best guess there is
        own_scatter = np.where(known, welch, pooled)
        if self._by_option:
            return np.asarray(own_scatter)
        return np.asarray(np.maximum(pooled, own_scatter) if self._cautious else pooled)


class ConnectedOnce(Once):
    """Options that blocks or differences connect: Dunnett's multipliers with smaller correlations.

    With option j set to 0, the precision of all other nodes is that of a network whose links only pull
    together, so no covariance is negative (the inverse of an M-matrix).
    """

    name = "contrasts"

    def __init__(self, look: OneLook) -> None:
        super().__init__(look)
        self._multipliers: dict[int, Floats] = {}

    def widths(self, option: int, leads: bool) -> Floats:
        """A multiplier for every possible best option, times the standard error of the difference."""
        fit, group = self._look.fit, int(self._group[option])
        if group < 0 or fit.slack > UNSETTLED:
            return np.full(self._group.size, np.inf)
        if group not in self._multipliers:
            self._multipliers[group] = np.zeros(self._group.size)
            options = np.flatnonzero(self._group == group)
            self._multipliers[group][options] = self._multipliers_of(options)
        multipliers, errors = self._multipliers[group], np.sqrt(fit.variances_apart(option))
        with np.errstate(invalid="ignore"):
            return np.asarray((multipliers[option] if leads else multipliers) * errors)

    def _multipliers_of(self, options: Codes) -> Floats:
        """One for each of connected options, (options,)."""
        look, n = self._look, options.size
        errors, delta = look.errors, look.delta
        if look.bare and errors.freedom is not None and look.scatter != POOLED:
            return np.full(n, studentized_range(n, delta, errors.freedom) / math.sqrt(2.0))
        # With upper limits in the place of standard errors the true correlations are not known.
        if errors.shares or errors.limited or n > (MOST if errors.freedom is None else MOST_ESTIMATED):
            return np.full(n, errors.one_by_one(n - 1.0, delta))
        solved = look.fit.solved
        assert solved is not None
        root = solved.halves[:, options]
        covariance = root.T @ root + np.diag(solved.own[options])
        rows = [common_factor(covariance, at) for at in range(n)]
        return np.array([dunnett(tuple(row), (1,) * row.size, delta, errors.freedom) for row in rows])


def common_factor(covariance: Floats, at: int) -> Floats:
    """Numbers λ with ``λ_i·λ_k <= ρ_ik`` for the differences to one option, (n - 1,)."""
    apart = covariance - covariance[at] - covariance[:, [at]] + covariance[at, at]
    others = np.arange(len(covariance)) != at
    apart, own = apart[np.ix_(others, others)], np.diagonal(covariance)
    variances = np.diagonal(apart)
    if (variances <= LOST * np.maximum(own[others], own[at])).any():
        return np.zeros(variances.size)
    related = np.clip(apart / np.sqrt(np.outer(variances, variances)), 0.0, 1.0)
    np.fill_diagonal(related, np.inf)
    # λ_i = √(min over k of ρ_ik) will do. If some λ do, so do √(λ_i·min over k of ρ_ik/λ_k), and they are no
    # smaller.
    common: Floats = np.sqrt(np.minimum(1.0, related.min(axis=1)))
    for _ in range(20 if common.min() > 0.0 else 0):
        common = np.minimum(1.0, np.sqrt(common * (related / common).min(axis=1)))
    return common


class PairedOnce(Once):
    """Values in blocks that options share: the differences of two options within blocks, averaged."""

    name = "paired values"

    def __init__(self, look: OneLook) -> None:
        super().__init__(look)
        self._few = ConnectedOnce(look)
        columns, n = look.columns, look.fit.own.size
        place = columns.block * n + columns.plus
        size = len(columns.blocks) * n
        with np.errstate(invalid="ignore"):
            mean = totals(place, look.sign * columns.value, size) / np.bincount(place, minlength=size)
        self._values: Floats = mean.reshape(-1, n)  # NaN where nothing was measured
        self._two = distinct(columns.value).size == 2

    def widths(self, option: int, leads: bool) -> Floats:
        """Student's half-widths, around the differences that the fit estimates."""
        from scipy.special import betaincinv, stdtrit

        side, share = -1.0 if leads else 1.0, self._look.delta / self._look.comparisons
        apart = side * (self._values - self._values[:, [option]])
        count = np.isfinite(apart).sum(axis=0)
        sum_ = np.nansum(apart, axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = sum_ / count
            squares = np.nansum((apart - mean) ** 2, axis=0)
            half = -stdtrit(count - 1.0, share) * np.sqrt(squares / (count - 1.0) / count)
            if self._two:  # rare differences may not have been seen at all
                size, up = np.ptp(self._look.columns.value), (apart > 0.0).sum(axis=0)
                most = 1.0 - betaincinv(np.maximum(count - up, 1), up + 1.0, share)
                half = np.maximum(half, size * (np.where(up < count, most, 1.0) - up / count))
            half += mean - side * self._look.fit.differences(option)
        enough = (count >= ENOUGH) & ((squares > 0.0) | self._two)
        return np.where(enough, half, self._few.widths(option, leads))


class SharesOnce(Once):
    """Shares of successes: exact limits of Clopper and Pearson, divided between both options."""

    name = "counts"

    def __init__(self, look: OneLook) -> None:
        super().__init__(look)
        columns, n = look.columns, look.fit.own.size
        self._trials = totals(columns.plus, columns.readings, n)
        successes = totals(columns.plus, np.rint(columns.value * columns.readings), n)
        # Large is good: of a share that should be small, failures are counted.
        self._good = successes if look.sign > 0.0 else self._trials - successes
        radius = two_evidences(look.comparisons, look.delta)
        turns = np.linspace(0.0, 0.5 * math.pi, (DIRECTIONS if n <= MANY else FEWER) + 1)
        # Up falls and down rises with the turn: taken from its two ends, a step is bounded from above.
        self._up = self._away(radius * np.cos(turns[:-1]), self._good)
        self._down = self._away(radius * np.sin(turns[1:]), self._trials - self._good)

    def _away(self, z: Floats, good: Floats) -> Floats:
        """How far above its estimate the share of these can be where its z is this, (n, z)."""
        from scipy.special import betaincinv, ndtr

        good, trials = good[:, None], self._trials[:, None]
        bad = trials - good
        most = 1.0 - np.where(bad > 0.0, betaincinv(np.maximum(bad, 1.0), good + 1.0, ndtr(-z)), 0.0)
        return np.asarray(np.where(trials > 0.0, most - good / np.maximum(trials, 1.0), np.inf))

    def widths(self, option: int, leads: bool) -> Floats:
        """The largest sum of both deviations."""
        both = self._up[option] + self._down if leads else self._up + self._down[option]
        return np.asarray(np.maximum(both.max(axis=1), 0.0))


class WeightedOnce(Once):
    """Weighted sums of features, and deviations if the model has them; the same for both directions.

    Deviations count as noise. The multiplier is the smaller of Bonferroni's and Scheffé's.
    """

    name = "features"

    def __init__(self, look: OneLook) -> None:
        super().__init__(look)
        errors, solved = look.errors, look.fit.solved
        assert solved is not None
        self._multiplier = errors.one_by_one(max(1, int(look.may_win.sum()) - 1), look.delta)
        if (solved.targets.node < 0).all() and not errors.shares:
            # All directions at once: true errors that are smaller than their limits are so in each.
            sure, dim = 1.0 - look.delta, solved.layout.d
            squares = (
                chi_square_quantile(dim, sure)
                if errors.freedom is None
                else dim * f_quantile(dim, errors.freedom, sure)
            )
            self._multiplier = min(self._multiplier, math.sqrt(squares))

    def widths(self, option: int, leads: bool) -> Floats:
        """By how much each estimated difference to ``option`` can be off, (n,)."""
        if self._look.fit.slack > UNSETTLED:
            return np.full(self._group.size, np.inf)
        return np.asarray(self._multiplier * np.sqrt(self._look.fit.variances_apart(option)))


def independent_at_most(count: float, delta: float) -> float:
    """Šidák's multiplier, for normal errors whose correlations are not negative (Slepian)."""
    return max(0.0, -normal_quantile(-math.expm1(math.log1p(-delta) / max(1.0, count))))


@functools.lru_cache(maxsize=1024)
def dunnett(
    common: tuple[float, ...], many: tuple[int, ...], delta: float, freedom: float | None = None
) -> float:
    """The multiplier for comparisons with one common factor.

    Args:
        common: The λ of the comparisons, from 0 to 1.
        many: How many comparisons have each.
        delta: Error probability.
        freedom: Degrees of freedom of the shared standard deviation; None if it is known.
    """
    from scipy.special import ndtr

    factor = np.minimum(np.array(common), math.sqrt(MOST_COMMON))[:, None]
    own, count = np.sqrt(1.0 - factor**2), np.array(many, dtype=float)
    z, mass = _normal_grid()

    def within(c: float) -> float:
        with np.errstate(divide="ignore"):
            return float(np.exp(count @ np.log(ndtr((c - factor * z) / own))) @ mass)

    return _quantile(within, delta, freedom)


@functools.lru_cache(maxsize=128)
def studentized_range(n: int, delta: float, freedom: float) -> float:
    """The quantile of the range of n normal numbers over an estimate of their standard deviation (Tukey)."""
    from scipy.special import ndtr

    if n < 2 or freedom < 1.0:
        return math.inf if n > 1 else 0.0
    z, mass = _normal_grid()

    def within(q: float) -> float:
        return float(n * (ndtr(z) - ndtr(z - q)) ** (n - 1) @ mass) if q > 0.0 else 0.0

    return _quantile(within, delta, freedom)


@functools.lru_cache(maxsize=128)
def two_evidences(count: int, delta: float) -> float:
    """The c of ``max(z, 0)² + max(z_i, 0)² <= c²`` for this many z_i, all independent."""
    from scipy.special import ndtr

    nodes, masses = np.polynomial.legendre.leggauss(200)
    turns, weights = 0.25 * math.pi * (nodes + 1.0), 0.25 * math.pi * masses

    def within(c: float) -> float:
        z = c * np.sin(turns)
        density = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
        around = density * ndtr(c * np.cos(turns)) ** count * c * np.cos(turns)
        return float(around @ weights + 0.5 * ndtr(c) ** count)

    return _quantile(within, delta, None)


def _normal_grid() -> tuple[Floats, Floats]:
    """Nodes and weights for a normal number: the trapezoidal rule."""
    z = np.arange(-REACH, REACH + 0.5 * STEP, STEP)
    return z, STEP / math.sqrt(2.0 * math.pi) * np.exp(-0.5 * z * z)


def _quantile(within: Callable[[float], float], delta: float, freedom: float | None) -> float:
    """Where a probability is 1 - delta, averaged over the law of an estimated standard deviation."""
    from scipy.optimize import brentq
    from scipy.special import gammaln

    scales, weights = np.ones(1), np.ones(1)
    if freedom is not None:  # the trapezoidal rule over the logarithm of the estimate
        half, width = 0.5 * freedom, 1.0 / math.sqrt(2.0 * freedom)
        logs = np.arange(-max(9.0 * width, 46.0 / freedom), 9.0 * width + 0.5, min(0.25, 0.4 * width))
        density = freedom * logs - half * np.exp(2.0 * logs) + half * math.log(half) - gammaln(half)
        weights = 2.0 * np.exp(density) * (logs[1] - logs[0])
        scales, weights = np.exp(logs[weights > 1e-16]), weights[weights > 1e-16]

    def missed(c: float) -> float:
        inside = [within(c * scale) for scale in scales.tolist()]
        return 1.0 - float(np.array(inside) @ weights) - delta

    low, high = 0.0, 4.0
    if missed(low) <= 0.0:
        return 0.0
    while missed(high) > 0.0 and high < 1e9:
        low, high = high, 2.0 * high
    return float(brentq(missed, low, high, xtol=1e-9)) + 2e-9
