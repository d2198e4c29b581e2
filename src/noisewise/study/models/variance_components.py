"""The sizes of deviations and of extra scatter: stated, or found by restricted likelihood.

With variances ``v = σ² + extra²`` of the measurements (of arms: half of extra²) and deviations of size
τ, y is normal around ``Xβ`` with covariance ``Σ = diag(v) + τ²·(same option)``; β (weights and offsets, or
the options themselves) is of no interest here and is integrated out with a flat prior:

    -2·log L = log det Σ + log det(XᵀΣ⁻¹X) + min over β of ‖y - Xβ‖² in the norm of Σ⁻¹.

Sums and solves are those of the fit, so one evaluation costs as much as one fit.

**Limits** hold at every moment at once. An estimate that stopping looks at must not be trusted: where errors
are larger than the size, it is 0 now and then, and these are the moments at which a certificate would be
reached. If τ is the true size, the ratio of likelihoods ``L(f·τ)/L(τ)`` is a martingale with mean 1 for every
fixed f, and so is a mean of several. By Ville

    Σ L(f·τ)/L(τ) over F fractions f  <=  F/δ      at all times, with probability 1 - δ:

a τ that is less likely than parts of itself, by that much, is too large. The largest that is not is the upper
limit. (The limit of a pooled scatter is the same with normal likelihoods written out.) With multiples in the
place of fractions it is a lower limit. The restricted likelihood has the weights integrated out, so that all
this holds exactly if what to measure does not depend on the values, and nearly otherwise.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from noisewise.core.blocks import Floats, distinct, median
from noisewise.core.text import counted, rounded_up
from noisewise.study.log.measurements import KINDS, Columns
from noisewise.study.log.model_choice import ESTIMATE, SIZES, ModelChoice, facts_of
from noisewise.study.models.fit import Equations, Probes, Sums, fit_independent, totals
from noisewise.study.models.scatter import LEAST_FREEDOM, own_readings
from noisewise.study.telling.error_bars import BOUNDED, COUNTS, NONE
from noisewise.study.telling.scale import ValueScale

#: Sizes tried first, as powers of ten of the typical error bar, and up to the range of the values.
STEP = 0.25
LEAST = 1e-2
#: Where values and error bars are further apart than any instrument's, steps become larger instead of more.
MOST = 60


#: What a size that is to be estimated may lack: options that were never measured, repeats of those that were.
MORE_OPTIONS, MORE_REPEATS = "options", "repeats"


#: Degrees of freedom from which one look estimates extra scatter.
FEWEST = 3


class Sizes(NamedTuple):
    """What the model reckons with."""

    deviation: float = 0.0
    extra_scatter: float = 0.0
    waiting: tuple[str, ...] = ()  # reasons to withhold the certificate
    #: Upper limits, which the certificate uses; None where the size was stated.
    largest_deviation: float | None = None
    largest_scatter: float | None = None
    lacking: tuple[str, ...] = ()  # what would end the waiting: MORE_OPTIONS, MORE_REPEATS
    freedom: int | None = (
        None  # of extra scatter that is used as estimated, where Student's law makes up for it
    )

    @property
    def certified(self) -> tuple[float, float]:
        """The sizes of deviation and extra scatter that the certificate reckons with."""
        deviation, scatter = self.largest_deviation, self.largest_scatter
        return (
            self.deviation if deviation is None else deviation,
            self.extra_scatter if scatter is None else scatter,
        )


def usual_errors(columns: Columns, sigma: Floats, n: int) -> Floats:
    """Standard errors by which a fit is judged: the usual ones of shares, not the largest they can have.

    The certificate takes the largest error a share can have; a fit is judged by the usual one, with the
    option's share over all its trials, one success and one failure added; readings between bounds likewise.
    """
    bounded = columns.kind == KINDS.index(BOUNDED)
    if bounded.any():
        sums = own_readings(columns.select(bounded), n)
        # The largest error a reading can have is half of the bounds' distance; one at either bound is added.
        wide = 2.0 * sigma[bounded][0] ** 2 * columns.readings[bounded][0]
        variance = (sums.squares + wide) / (sums.readings + 2.0)
        sigma = np.where(bounded, np.sqrt(variance[columns.plus] / columns.readings), sigma)
    counts = columns.kind == KINDS.index(COUNTS)
    if not counts.any():
        return sigma
    trials = np.where(counts, columns.readings, 0.0)
    successes = np.where(counts, columns.value * columns.readings, 0.0)
    share = (totals(columns.plus, successes, n) + 1.0) / (totals(columns.plus, trials, n) + 2.0)
    usual = np.sqrt((share * (1.0 - share))[columns.plus] / columns.readings)
    return np.where(counts, usual, sigma)


class Likelihood:
    """The restricted likelihood of both sizes, given the measurements that came with error bars.

    Args:
        columns: The measurements.
        sigma: Their standard errors.
        n: How many options there are.
        features: Of the linear models; None for independent options.
        sign: Of the goal.
    """

    def __init__(self, columns: Columns, sigma: Floats, n: int, features: Floats | None, sign: float) -> None:
        barred = columns.kind != KINDS.index(NONE)
        self._columns, self._sigma = columns.select(barred), usual_errors(columns, sigma, n)[barred]
        self._n, self._features, self._sign = n, features, sign
        self._share = self._columns.extra_share
        # Sums do not depend on the order of telling.
        order = np.lexsort((self._share, self._sigma))
        self._ordered = self._sigma[order] ** 2, self._share[order]
        self._probes = Probes(self._columns, self._sigma, sign)
        self._pooled: tuple[float, Sums] | None = None
        sums = self.sums(0.0)
        self.options = distinct(np.concatenate([sums.plus, sums.minus[sums.minus >= 0]])).size
        self.measurements = self._columns.value.size
        #: Degrees of freedom within options, and of options around the weighted sums.
        self.repeats = self.measurements - Equations(n, sums).layout.rank
        self.rank = self.measurements - self.repeats
        # What is determined does not depend on weights or sizes.
        self._equations: dict[bool, Equations] = {}
        if features is not None:
            self.rank = self._equations_of(sums, deviating=False).layout.rank
        scale = median(self._sigma) if self.measurements else 1.0
        spread = float(np.ptp(sums.value)) if sums.value.size else 0.0
        decades = math.log10(max(spread / scale, 1.0)) - math.log10(LEAST)
        count = min(math.ceil(decades / STEP), MOST)
        self.tried: Floats = (
            scale * LEAST * np.power(10.0, max(STEP, decades / count) * np.arange(count + 1.0))
        )

    def __call__(self, deviation: float, extra_scatter: float) -> float:
        """-2·log L."""
        sums = self.sums(extra_scatter)
        variances, share = self._ordered
        logs = float(np.log(variances + share * extra_scatter**2).sum())
        if self._features is None and not sums.has_border:
            fit = fit_independent(self._n, sums)
            return logs + fit.squares(sums) + fit.log_det
        deviating = self._features is not None and deviation > 0.0
        solved = self._equations_of(sums, deviating=deviating).solve(sums, deviation)
        priors = 2.0 * self._n * math.log(deviation) if deviating else 0.0
        return logs + priors + sums.within + solved.squares + solved.log_det

    def _equations_of(self, sums: Sums, *, deviating: bool) -> Equations:
        if deviating not in self._equations:
            self._equations[deviating] = Equations(self._n, sums, self._features, deviating=deviating)
        return self._equations[deviating]

    def within_options(self) -> "Likelihood":
        """What the same measurements say about extra scatter whatever the options' values are."""
        return Likelihood(self._columns, self._sigma, self._n, None, self._sign)

    def sums(self, extra_scatter: float) -> Sums:
        """The measurements pooled with this extra scatter."""
        if self._pooled is None or self._pooled[0] != extra_scatter:
            sigma = np.sqrt(self._sigma**2 + self._share * extra_scatter**2)
            self._pooled = extra_scatter, self._probes.pool(sigma)
        return self._pooled[1]


def with_limit(size: float, largest: float | None, scale: ValueScale, freedom: int | None = None) -> str:
    """A size in words, with the upper limit that the certificate uses if it was estimated."""
    if largest is None:
        few = (
            ""
            if freedom is None
            else f" (estimated from {counted(freedom, 'degree of freedom')}; Student's law is used)"
        )
        return f"{scale.error(size)}{few}"
    limit = f"{rounded_up(100.0 * largest, 3)} %" if scale.log else rounded_up(largest, 3)
    return f"{scale.error(size)} (estimated; used is its upper limit, {limit})"


def settle_sizes(
    choice: ModelChoice, likelihood: Callable[[], Likelihood], delta: float, *, once: bool = False
) -> Sizes:
    """Stated sizes as they are; the others estimated, as far as the measurements can tell.

    Args:
        choice: The model.
        likelihood: Makes the likelihood, if it is needed.
        delta: Error probability of the upper limits.
        once: Whether there is one look. Then extra scatter may be estimated from few degrees of freedom, and
            comparisons use Student's law (Hartung and Knapp 2001).
    """
    stated = Sizes(_number(choice.deviation), _number(choice.extra_scatter))
    if not choice.estimates:
        return stated
    given = likelihood()
    freedom = given.measurements - given.rank
    few = once and choice.deviation is None and FEWEST <= freedom < LEAST_FREEDOM
    lacking = {} if few else _waiting(choice, given)
    waiting = tuple(lacking.values())
    stated = stated._replace(waiting=waiting, lacking=tuple(lacking))
    if not given.measurements:
        return stated
    both = len(choice.estimates) == 2
    if both and given.repeats >= LEAST_FREEDOM:
        deviation, scatter = estimate_both(given)
        sizes = stated._replace(deviation=deviation, extra_scatter=scatter)
    elif "deviation" in choice.estimates:
        # Without repeats the two are one: the deviation, which stays in the values, is the cautious reading.
        deviation = estimate_one(lambda size: given(size, stated.extra_scatter), given.tried)
        sizes = stated._replace(deviation=deviation)
    else:
        scatter = estimate_one(lambda size: given(stated.deviation, size), given.tried)
        sizes = stated._replace(extra_scatter=scatter, freedom=freedom if few else None)
    return sizes if waiting or few else _limited(choice, given, sizes, delta)


def _limited(choice: ModelChoice, given: Likelihood, sizes: Sizes, delta: float) -> Sizes:
    """With upper limits of what was estimated."""
    if len(choice.estimates) == 1:
        if "deviation" in choice.estimates:
            largest = upper_size(
                lambda size: given(size, sizes.extra_scatter), sizes.deviation, given.tried, delta
            )
            return sizes._replace(largest_deviation=largest)
        largest = upper_size(
            lambda size: given(sizes.deviation, size), sizes.extra_scatter, given.tried, delta
        )
        return sizes._replace(largest_scatter=largest)
    # Repeats alone limit the scatter, whatever the deviations are; the less of it, the larger they may be.
    within = given.within_options()

    def repeated(size: float) -> float:
        return within(0.0, size)

    alone = estimate_one(repeated, given.tried)
    most = upper_size(repeated, alone, given.tried, delta / 3.0)
    least = lower_size(repeated, alone, given.tried, delta / 3.0)

    def deviating(size: float) -> float:
        return given(size, least)

    largest = upper_size(deviating, estimate_one(deviating, given.tried), given.tried, delta / 3.0)
    return sizes._replace(
        largest_deviation=max(largest, sizes.deviation), largest_scatter=max(most, sizes.extra_scatter)
    )


def _number(size: float | str | None) -> float:
    return 0.0 if size is None or size == ESTIMATE else float(size)


def _waiting(choice: ModelChoice, given: Likelihood) -> dict[str, str]:
    """Why a size cannot be estimated well enough yet, by what it lacks."""
    reasons = {}
    if "deviation" in choice.estimates and (freedom := max(0, given.options - given.rank)) < LEAST_FREEDOM:
        reasons[MORE_OPTIONS] = (
            f"the size of the deviations would be estimated from {freedom} more options than unknowns, and "
            f"needs {LEAST_FREEDOM}: measure more options, or state `deviation=`"
        )
    if "extra_scatter" in choice.estimates:
        apart = choice.deviation is not None
        freedom = max(0, given.repeats if apart else given.measurements - given.rank)
        if freedom < LEAST_FREEDOM:
            what = "repeats of options" if apart else "more measurements than unknowns"
            reasons[MORE_REPEATS] = (
                f"the extra scatter would be estimated from {freedom} {what}, and needs {LEAST_FREEDOM}: "
                "repeat measurements, or state `extra_scatter=`"
            )
    return reasons


def _lowest_between(function: Callable[[float], float], low: float, high: float) -> float:
    """The minimum by golden section, to 1e-7: importing scipy.optimize takes longer than a certificate."""
    golden = (math.sqrt(5.0) - 1.0) / 2.0
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = function(left), function(right)
    while high - low > 1e-7:
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = function(right)
    return 0.5 * (low + high)


def estimate_one(minus_log: Callable[[float], float], tried: Floats) -> float:
    """The size with the largest likelihood: the best of those tried, refined between its neighbours, or 0."""
    found = [minus_log(size) for size in tried]
    at = int(np.argmin(found))
    logs = np.log(tried)
    low, high = logs[max(0, at - 1)], logs[min(len(tried) - 1, at + 1)]
    best, least = float(tried[at]), found[at]
    refined = _lowest_between(lambda log: minus_log(math.exp(log)), low, high)
    if (at_refined := minus_log(math.exp(refined))) < least:
        best, least = math.exp(refined), at_refined
    return best if least < minus_log(0.0) - 1e-7 else 0.0


def estimate_both(likelihood: Likelihood) -> tuple[float, float]:
    """Deviation and extra scatter together: from each alone, by simplices in logarithms."""
    from scipy.optimize import minimize

    alone = estimate_one(lambda size: likelihood(size, 0.0), likelihood.tried)
    scatter = estimate_one(lambda size: likelihood(alone, size), likelihood.tried)
    if scatter == 0.0:
        return alone, 0.0
    without = estimate_one(lambda size: likelihood(0.0, size), likelihood.tried)
    least = float(likelihood.tried[0])
    start = np.log([max(alone, least), max(scatter, least)])
    found = minimize(
        lambda logs: likelihood(*np.exp(logs)),
        start,
        method="Nelder-Mead",
        bounds=[tuple(np.log(likelihood.tried[[0, -1]]))] * 2,
        options={"xatol": 1e-6, "fatol": 1e-9, "initial_simplex": start + 0.2 * np.eye(3, 2, -1)},
    )
    edges = [(0.0, without), (alone, 0.0), (float(np.exp(found.x[0])), float(np.exp(found.x[1])))]
    return min(edges, key=lambda sizes: likelihood(*sizes))


#: Parts of a size that it is compared with; their inverses, 0 apart, serve lower limits.
FRACTIONS = (0.9, 0.75, 0.5, 0.0)
#: How far beyond the sizes tried an upper limit is looked for, in steps of theirs.
BEYOND = 24


def upper_size(minus_log: Callable[[float], float], estimate: float, tried: Floats, delta: float) -> float:
    """The largest size that cannot be excluded.

    Args:
        minus_log: -2·log L of a size.
        estimate: The most likely size.
        tried: Sizes in the order of magnitude that is of interest, ascending by one factor.
        delta: Error probability.
    """
    start, factor = max(estimate, float(tried[0])), float(tried[-1] / tried[-2]) if tried.size > 1 else 2.0
    further = tried[-1] * factor ** np.arange(1.0, BEYOND + 1.0)
    outward = [float(size) for size in (*tried, *further) if size > start]
    return _first_excluded(minus_log, start, outward, FRACTIONS, delta)


def lower_size(minus_log: Callable[[float], float], estimate: float, tried: Floats, delta: float) -> float:
    """The smallest size that cannot be excluded; 0 if none of those tried is."""
    multiples = [1.0 / fraction for fraction in FRACTIONS if fraction]
    outward = [float(size) for size in tried[::-1] if size < estimate]
    found = _first_excluded(minus_log, estimate, outward, multiples, delta) if outward else 0.0
    return found if outward and found > outward[-1] else 0.0


def _first_excluded(
    minus_log: Callable[[float], float],
    start: float,
    outward: Iterable[float],
    factors: Iterable[float],
    delta: float,
) -> float:
    """Where exclusion begins on the way outward; the end of the way if nowhere."""
    from scipy.optimize import brentq

    factors = list(factors)
    enough = math.log(len(factors) / delta)

    def excess(log: float) -> float:
        size = math.exp(log)
        here = minus_log(size)
        ratios = [0.5 * (here - minus_log(factor * size)) for factor in factors]
        return float(np.logaddexp.reduce(ratios)) - enough

    inside = start
    for outside in outward:
        if excess(math.log(outside)) > 0.0:
            if excess(math.log(inside)) > 0.0:  # only where nothing as small as the first is likely
                return inside
            return math.exp(brentq(excess, math.log(inside), math.log(outside), xtol=1e-4))
        inside = outside
    return inside


#: A difference in -2·log L that tells two models apart: about 20 to 1 in likelihood.
TELLING = 6.0

DISAGREE = "repeats of one option disagree by more than their error bars"
AGREE = "repeats of one option agree, and options deviate from the weighted sums of their features"
NO_REPEATS = (
    "nothing was repeated, which alone would tell whether the error bars or the features are to blame; the "
    "cautious reading is that options deviate from the weighted sums"
)


class Remedy(NamedTuple):
    """Another model, and why."""

    why: str
    switch: dict[str, str]  # arguments of `Study.switch`
    sizes: tuple[float, float]  # of deviation and extra scatter
    gain: float = 0.0  # by how much they raise log L

    @property
    def stated(self) -> dict[str, Any]:
        """The same switch with numbers in the place of what would be estimated."""
        sizes = dict(zip(SIZES, self.sizes, strict=True))
        model = self.switch.get("model")
        needed = ["deviation"] if model is not None and facts_of(model).has_deviation else []
        needed += [name for name in SIZES if name in self.switch]
        return self.switch | {name: sizes[name] for name in needed}

    def in_words(self, scale: ValueScale) -> str:
        """What to switch to, as arguments, with the sizes that are estimated."""
        stated = self.stated
        said = []
        for name, value in self.switch.items():
            size = stated.get("deviation") if name == "model" else stated[name]
            said.append(f'`{name}="{value}"`' + ("" if size is None else f" (size {scale.error(size)})"))
        return " with ".join(said)


def more_scatter(likelihood: Likelihood) -> Remedy:
    """Extra scatter, where repeats disagree."""
    return scatter_of(0.0, estimate_one(lambda size: likelihood(0.0, size), likelihood.tried))


def scatter_of(deviation: float, size: float) -> Remedy:
    """Extra scatter of this size beside deviations of that one."""
    return Remedy(DISAGREE, {"extra_scatter": ESTIMATE}, (deviation, size))
