"""How many standard errors all comparisons with one option stay within, at one look.

The best option j is one fixed, unknown option; the recommended option i is chosen by the data. So for a fixed
j all n - 1 differences "j minus i" must lie within c standard errors at once, on one side only. With errors
``T_i`` of these differences in standard errors, c is the smallest number for which ``P(all T_i <= c·S)`` is
at least 1 - δ; S is 1, or the estimated standard deviation over the true one where all standard errors share
one that was estimated with ν degrees of freedom (``S² ~ χ²_ν/ν``, independent of the T_i).

- **One common factor** (Dunnett): ``T_i = λ_i·Z + √(1 - λ_i²)·ε_i``, so that the probability is an integral
  over Z, and over S, of a product. It is exact for options that share nothing, with
  ``λ_i² = v_j/(v_j + v_i)``. By Slepian's inequality smaller λ never make the probability larger, so smaller
  ones may be put in their place.
- **Any correlations, normal errors in d dimensions**: given the distance of the errors from 0, each of N
  comparisons fails with the probability of a cap of the sphere; the sum of these, cut at 1 and averaged over
  the distance, is at most Bonferroni's bound and at most Scheffé's (Naiman 1986).
- **Errors no heavier than normal** (shares of successes in blocks or weighted sums): Chernoff's bound,
  ``c² = 2·log(N/δ)``.
- **Two evidences that cannot be added up** (exact limits of shares): with ``z`` the normal quantile of the
  rival's exact p-value, and ``z_i`` those of the others, all ``max(z, 0)² + max(z_i, 0)² <= c²``.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.core.support.distributions import chi_square_quantile, normal_quantile, student_quantile

#: Common factors beyond this make steps that the grid does not resolve; smaller ones are on the safe side.
MOST_COMMON = 0.99
#: Steps of the trapezoidal rule over Z: errors of smooth steps of width 0.1 are below 1e-15.
STEP, REACH = 0.05, 8.5
#: To which part of 1 common factors are told apart.
FINE = 2.0**40
#: Of the table from which probabilities are averaged over S.
TABLE = 0.1
#: Smaller probabilities are rounding.
LEAST = 1e-15
#: Where the search for a quantile ends, and what is added to it for rounding.
CLOSE = 1e-9


def all_within(
    common: Floats, many: Floats, delta: float, freedom: float | None = None, factors: int = 2_000_000
) -> Floats:
    """The multiplier for comparisons with one common factor, one per row, (rows,).

    Args:
        common: The λ of the comparisons, (rows, kinds), from 0 to 1.
        many: How many comparisons have each, (rows, kinds).
        delta: Error probability of each row.
        freedom: Degrees of freedom of the shared standard deviation; None if it is known.
        factors: How many factors of the product are computed at once.
    """
    # Rounded down, so that what differs by rounding alone is found once.
    common = np.floor(np.minimum(common, math.sqrt(MOST_COMMON)) * FINE) / FINE
    kinds = max(1, common.shape[1])
    step = max(1, int(factors / (kinds * 2.0 * REACH / STEP)))
    found = [
        _kept(
            common[at : at + step].tobytes(),
            many[at : at + step].astype(float).tobytes(),
            kinds,
            delta,
            freedom,
        )
        for at in range(0, len(common), step)
    ]
    return np.concatenate(found) if found else np.zeros(0)


@functools.lru_cache(maxsize=128)
def _kept(common: bytes, many: bytes, kinds: int, delta: float, freedom: float | None) -> Floats:
    shape = (-1, kinds)
    return _quantiles(
        np.frombuffer(common).reshape(shape), np.frombuffer(many).reshape(shape), delta, freedom
    )


def _quantiles(common: Floats, many: Floats, delta: float, freedom: float | None) -> Floats:
    missed = _missed(common, many)
    if freedom is not None:
        missed = _averaged(missed, common.shape[0], freedom)
    count = np.maximum(many.sum(axis=1), 1.0)
    one = np.full(count.size, at_most(1.0, delta, freedom))
    every = np.array([at_most(number, delta, freedom) for number in count])
    return falls_to_zero(lambda c: np.log(missed(c) / delta), one, every)


def _missed(common: Floats, many: Floats) -> Callable[[Floats], Floats]:
    """The probability that some comparison is further off, as a function of one multiplier per row."""
    from scipy.special import ndtr

    z = np.arange(-REACH, REACH + 0.5 * STEP, STEP)
    mass = STEP / math.sqrt(2.0 * math.pi) * np.exp(-0.5 * z * z)
    own = np.sqrt(1.0 - common**2)
    along = (common / own)[:, :, None] * z

    def missed(c: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            each = np.log(ndtr(c[:, None, None] / own[:, :, None] - along))
        each = np.where(many[:, :, None] > 0.0, many[:, :, None] * each, 0.0)
        return np.asarray(np.maximum(1.0 - np.exp(each.sum(axis=1)) @ mass, LEAST))

    return missed


def _averaged(missed: Callable[[Floats], Floats], rows: int, freedom: float) -> Callable[[Floats], Floats]:
    """The same averaged over S: between the points of a table the logarithm is a cubic spline."""
    from scipy.interpolate import CubicSpline

    scales, weights = _scales(freedom)
    at = np.arange(0.0, REACH + 0.5 * TABLE, TABLE)
    table = np.array([np.log(missed(np.full(rows, x))) for x in at])
    splines = [CubicSpline(at, table[:, row]) for row in range(rows)]

    def averaged(c: Floats) -> Floats:
        reached = np.minimum(c[:, None] * scales, REACH)
        return np.array([np.exp(spline(row)) @ weights for spline, row in zip(splines, reached, strict=True)])

    return averaged


def _scales(freedom: float) -> tuple[Floats, Floats]:
    """Nodes and weights for S: the trapezoidal rule over its logarithm."""
    from scipy.special import gammaln

    half, width = 0.5 * freedom, 1.0 / math.sqrt(2.0 * freedom)
    logs = np.arange(-max(9.0 * width, 46.0 / freedom), 9.0 * width + 0.5, min(0.25, 0.4 * width))
    log_density = freedom * logs - half * np.exp(2.0 * logs) + half * math.log(half) - gammaln(half)
    weights = 2.0 * np.exp(log_density) * (logs[1] - logs[0])
    used = weights > 0.1 * LEAST
    return np.exp(logs[used]), weights[used]


def falls_to_zero(excess: Callable[[Floats], Floats], low: Floats, high: Floats) -> Floats:
    """Where falling functions cross 0, from above: false position, halved where one end stays (Illinois)."""
    at_low, at_high = excess(low), excess(high)
    stayed = np.zeros(low.size)  # 1: the upper end did, -1: the lower
    for _ in range(100):
        done = (at_low <= 0.0) | (at_high >= 0.0) | (high - low <= CLOSE)
        if done.all():
            break
        with np.errstate(invalid="ignore", divide="ignore"):
            middle = np.where(done, high, (low * at_high - high * at_low) / (at_high - at_low))
        middle = np.where((middle > low) & (middle < high), middle, 0.5 * (low + high))
        value = excess(middle)
        above, near = value > 0.0, np.abs(value) <= CLOSE
        at_high = np.where(done, at_high, np.where(above, at_high * np.where(stayed > 0.0, 0.5, 1.0), value))
        at_low = np.where(done, at_low, np.where(above, value, at_low * np.where(stayed < 0.0, 0.5, 1.0)))
        low, high = (
            np.where(done, low, np.where(above | near, middle, low)),
            np.where(done, high, np.where(above & ~near, high, middle)),
        )
        stayed = np.where(above, 1.0, -1.0)
    return np.asarray(np.where(at_low <= 0.0, low, high) + 2.0 * CLOSE)


def at_most(count: float, delta: float, freedom: float | None = None) -> float:
    """Bonferroni's multiplier for this many comparisons, whatever connects them; at least 0."""
    share = delta / max(1.0, count)
    found = -normal_quantile(share) if freedom is None else -student_quantile(freedom, share)
    return max(0.0, found)


def independent_at_most(count: float, delta: float) -> float:
    """Šidák's multiplier, for normal errors whose correlations are not negative (Slepian)."""
    share = -math.expm1(math.log1p(-delta) / max(1.0, count))
    return max(0.0, -normal_quantile(share))


def no_heavier_than_normal(count: float, delta: float) -> float:
    """Chernoff's multiplier for this many comparisons."""
    return math.sqrt(2.0 * math.log(max(1.0, count) / delta))


def in_dimensions(count: float, dimensions: int, delta: float, freedom: float | None = None) -> float:
    """The multiplier for comparisons that are directions in so many dimensions."""
    high = at_most(count, delta, freedom)
    if count < 2.0 or dimensions == 0:
        return high
    missed = _caps(count, dimensions, freedom)
    one = at_most(1.0, delta, freedom)

    def excess(c: Floats) -> Floats:
        return np.array([math.log(max(missed(float(c[0])), 1e-300) / delta)])

    return min(high, float(falls_to_zero(excess, np.array([one]), np.array([high]))[0]))


def whole_ellipsoid(dimensions: int, delta: float) -> float:
    """Scheffé's multiplier: for every direction in so many dimensions at once."""
    return math.sqrt(chi_square_quantile(dimensions, 1.0 - delta))


def _caps(count: float, dimensions: int, freedom: float | None) -> Callable[[float], float]:
    """``E min(1, count·P(a direction in the cap | distance))`` as a function of the multiplier."""
    from scipy.special import betainc, betaincinv

    nodes, masses = np.polynomial.legendre.leggauss(200)
    d = float(dimensions)
    density, beyond = _distance(d, freedom)
    # Where the cap holds 1/count of the sphere: cos² of its half-angle.
    full = 1.0 if dimensions == 1 else 1.0 - float(betaincinv(0.5 * (d - 1.0), 0.5, 2.0 / count))

    def missed(c: float) -> float:
        if c <= 0.0:
            return 1.0
        last = c / math.sqrt(full) if full > 0.0 else math.inf
        outside = beyond(last) if math.isfinite(last) else 0.0
        # In u = c²/r², from where the caps are full to the sphere that only touches.
        u = full + (1.0 - full) * 0.5 * (nodes + 1.0)
        r = c / np.sqrt(u)
        cap = np.full(u.size, 0.5) if dimensions == 1 else 0.5 * betainc(0.5 * (d - 1.0), 0.5, 1.0 - u)
        inside = float(np.sum(masses * 0.5 * (1.0 - full) * count * cap * density(r) * r / (2.0 * u)))
        return outside + inside

    return missed


def _distance(d: float, freedom: float | None) -> tuple[Callable[[Any], Any], Callable[[float], float]]:
    """Density and upper tail of the distance of d normal errors from 0, divided by S."""
    from scipy.special import betainc, betaln, gammaincc, gammaln

    if freedom is None:
        start = (1.0 - 0.5 * d) * math.log(2.0) - float(gammaln(0.5 * d))
        return (
            lambda r: np.exp(start + (d - 1.0) * np.log(r) - 0.5 * r * r),
            lambda r: float(gammaincc(0.5 * d, 0.5 * r * r)),
        )
    nu = freedom
    start = math.log(2.0) - 0.5 * d * math.log(nu) - float(betaln(0.5 * d, 0.5 * nu))
    return (
        lambda r: np.exp(start + (d - 1.0) * np.log(r) - 0.5 * (d + nu) * np.log1p(r * r / nu)),
        lambda r: float(betainc(0.5 * nu, 0.5 * d, nu / (nu + r * r))),
    )


def two_evidences(count: float, delta: float) -> float:
    """The c of ``max(z, 0)² + max(z_i, 0)² <= c²`` for this many z_i, all independent."""
    from scipy.special import ndtr

    nodes, masses = np.polynomial.legendre.leggauss(200)
    turns, weights = 0.25 * math.pi * (nodes + 1.0), 0.25 * math.pi * masses
    count = max(1.0, count)

    def excess(c: Floats) -> Floats:
        c = c[:, None]
        z = c * np.sin(turns)
        density = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
        around = (density * np.exp(count * np.log(ndtr(c * np.cos(turns)))) * c * np.cos(turns)) @ weights
        below = 0.5 * np.exp(count * np.log(ndtr(c[:, 0])))
        return np.asarray(np.log(np.maximum(1.0 - below - around, 1e-15) / delta))

    high = math.hypot(at_most(1.0, 0.5 * delta), at_most(count, 0.5 * delta))
    return float(falls_to_zero(excess, np.zeros(1), np.array([high]))[0])
