"""Tails and quantiles of the chi-square law, the F law, Student's and the normal one, without SciPy.

A command needs one or two such numbers, and importing a library for them would take longer than all it does.
Relative errors stay below 1e-12, far out in the tails and for a million degrees of freedom as well: a tail is
computed as itself (never as 1 minus the other one where that loses digits), and the factor before a series,
x^a·e^-x/Γ(a) or x^a·y^b/B(a, b), from deviations, not from differences of large logarithms:

    x^a·e^-x/Γ(a)   = sqrt(a/2π)·exp(a·g(x/a - 1) - s(a)),                          g(e) = log(1 + e) - e,
    x^a·y^b/B(a, b) = sqrt(ab/2π(a+b))·exp(a·g(e) + b·g(f) + s(a+b) - s(a) - s(b)),

with e = x(a+b)/a - 1, f = y(a+b)/b - 1, and s the error of Stirling's formula, which is log Γ(a) =
(a - 1/2)·log a - a + log(2π)/2 + s(a) (Loader 2000, Fast and accurate computation of binomial probabilities).
"""

import math
from collections.abc import Callable
from typing import NamedTuple

#: Where a sum or a continued fraction ends: the next step would change nothing.
_ENOUGH = 2.0**-54
_TINY = 1e-300
#: The logarithm of the largest number.
LARGEST = 709.78
#: The longest step of Newton's method, in logarithms.
FARTHEST = 4.0
#: Coefficients of Stirling's error, of a^-1, a^-3, ...
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)


class Tails(NamedTuple):
    """The probabilities to lie below and above a number."""

    lower: float
    upper: float


def chi_square_tails(freedom: float, squares: float) -> Tails:
    """Of a sum of squares with these degrees of freedom."""
    return _gamma(0.5 * freedom, 0.5 * squares)[0]


def chi_square_quantile(freedom: float, lower: float) -> float:
    """The sum of squares below which a part ``lower`` of all lie."""
    a = 0.5 * freedom
    return 2.0 * _quantile(lambda x: _gamma(a, x), Tails(lower, 1.0 - lower), math.log(a))


def f_tails(above: float, below: float, ratio: float) -> Tails:
    """Of the ratio of two mean squares, with the degrees of freedom above and below the line."""
    return _beta(0.5 * above, 0.5 * below, ratio * above / below)[0]


def f_quantile(above: float, below: float, lower: float) -> float:
    """The ratio below which a part ``lower`` of all lie."""
    return _f_quantile(above, below, Tails(lower, 1.0 - lower))


def student_quantile(freedom: float, lower: float) -> float:
    """Of Student's t, whose square is an F ratio with one degree of freedom above the line."""
    if lower < 0.5:
        return -math.sqrt(_f_quantile(1.0, freedom, Tails(1.0 - 2.0 * lower, 2.0 * lower)))
    return math.sqrt(_f_quantile(1.0, freedom, Tails(2.0 * lower - 1.0, 2.0 * (1.0 - lower))))


def normal_quantile(lower: float) -> float:
    """The standard normal number below which a part ``lower`` of all lie."""
    from statistics import NormalDist

    return NormalDist().inv_cdf(lower)


def _f_quantile(above: float, below: float, tails: Tails) -> float:
    # Odds of 1 are near the middle if both are alike; Newton's way from there to any tail is short.
    a, b = 0.5 * above, 0.5 * below
    return _quantile(lambda odds: _beta(a, b, odds), tails, math.log(a / b)) * below / above


def _quantile(law: Callable[[float], tuple[Tails, float]], tails: Tails, start: float) -> float:
    """Where a law has these tails, by Newton's method on the logarithms of the number and the smaller tail.

    Args:
        law: Both tails at a number x, and x times the density there.
        tails: Those wanted.
        start: The logarithm of a number not far out. In logarithms, tails are concave: after its first step
            Newton's method comes from the far side, and never overshoots.
    """
    if math.isnan(tails.lower) or not 0.0 <= tails.lower <= 1.0:
        return math.nan
    if tails.lower == 0.0 or tails.upper == 0.0:
        return 0.0 if tails.lower == 0.0 else math.inf
    side, sign = (0, 1.0) if tails.lower < tails.upper else (1, -1.0)
    wanted, log, step = math.log(tails[side]), start, math.inf
    for _ in range(1000):
        if log > LARGEST:
            return math.inf
        found, slope = law(math.exp(log))
        if found[side] <= _TINY or slope <= 0.0:  # so far out that nothing is left: half of the way back
            step *= 0.5
            log += step
            continue
        last, step = step, sign * (math.log(found[side]) - wanted) * found[side] / slope
        step = max(-FARTHEST, min(FARTHEST, step))  # the first may lead beyond all numbers
        log -= step
        if abs(step) <= 1e-15 * max(1.0, abs(log)) or (abs(step) < 1e-12 and abs(step) >= abs(last)):
            break
    return math.exp(log)


def _gamma(a: float, x: float) -> tuple[Tails, float]:
    """The tails of the gamma law with shape a, the incomplete gamma functions, and x times the density."""
    if math.isnan(x) or x <= 0.0 or math.isinf(x):
        return _at_the_end(x), 0.0
    before = math.sqrt(a / (2.0 * math.pi)) * math.exp(a * _log_less(x / a, (x - a) / a) - _stirling(a))
    if x < a + 1.0:
        # P = before/a · (1 + x/(a+1) + x²/((a+1)(a+2)) + ...)
        term = total = 1.0 / a
        place = a
        while term > _ENOUGH * total:
            place += 1.0
            term *= x / place
            total += term
        lower = before * total
        return Tails(lower, 1.0 - lower), before
    # Q = before · 1/(x+1-a - 1(1-a)/(x+3-a - 2(2-a)/(x+5-a - ...)))
    upper = before / _fraction(lambda k: (-k * (k - a), x + 1.0 - a + 2.0 * k), x + 1.0 - a)
    return Tails(1.0 - upper, upper), before


def _beta(a: float, b: float, odds: float) -> tuple[Tails, float]:
    """The tails of the beta law at x = odds/(1 + odds), and x·(1 - x) times the density."""
    if math.isnan(odds) or odds <= 0.0 or math.isinf(odds):
        return _at_the_end(odds), 0.0
    x, y = odds / (1.0 + odds), 1.0 / (1.0 + odds)
    both = a + b
    # a·e + b·f = 0: the part that is the smaller one, and therefore the more precise, says both.
    small, shape, other = (y, b, a) if y <= x else (x, a, b)
    e = (small * both - shape) / shape
    f = -shape * e / other
    deviance = shape * _log_less(small * both / shape, e) + other * _log_less(1.0 + f, f)
    deviance += _stirling(both) - _stirling(a) - _stirling(b)
    before = math.sqrt(a * b / (2.0 * math.pi * both)) * math.exp(deviance)
    if a * y >= b * x:
        lower = before / _beta_fraction(a, b, x, y)
        return Tails(lower, 1.0 - lower), before
    upper = before / _beta_fraction(b, a, y, x)
    return Tails(1.0 - upper, upper), before


def _beta_fraction(a: float, b: float, x: float, y: float) -> float:
    """What divides x^a·y^b/B(a, b) to give the lower tail, for x <= a/(a + b) (DiDonato and Morris 1992)."""
    excess = a * y - b * x + 1.0

    def part(n: int) -> tuple[float, float]:
        at = a + 2.0 * n
        turn = n * (b - n) * x / (at - 1.0)
        p = (a + n - 1.0) * (a + b + n - 1.0) / (at - 1.0) * turn * x
        return p, n + turn + (a + n) * (excess + n * (1.0 + y)) / (at + 1.0)

    return _fraction(part, a * excess / (a + 1.0))


def _fraction(part: Callable[[int], tuple[float, float]], first: float) -> float:
    """First + p1/(q1 + p2/(q2 + ...)) from its front (Lentz); ``part`` gives p and q."""
    total = above = first or _TINY
    below, k = 0.0, 0
    while True:
        k += 1
        p, q = part(k)
        below = 1.0 / ((q + p * below) or _TINY)
        above = (q + p / above) or _TINY
        change = above * below
        total *= change
        if abs(change - 1.0) <= 2.0 * _ENOUGH or k > 10_000_000:
            return total


def _at_the_end(x: float) -> Tails:
    if math.isnan(x):
        return Tails(math.nan, math.nan)
    return Tails(1.0, 0.0) if x > 0.0 else Tails(0.0, 1.0)


def _log_less(ratio: float, e: float) -> float:
    """log(1 + e) - e, which is -e²/2 + e³/3 - ... near 0; ``ratio`` is 1 + e with its own digits."""
    if abs(e) > 0.1:
        return math.log(ratio) - e
    power, total, k = -e, 0.0, 1
    while True:
        k += 1
        power *= -e
        step = power / k
        total -= step
        if abs(step) <= _ENOUGH * abs(total):
            return total


def _stirling(a: float) -> float:
    """What Stirling's formula for log Γ(a) lacks."""
    if a < 10.0:  # log Γ(a + 1) = log a + log Γ(a), so that s(a) - s(a + 1) is
        return _stirling(a + 1.0) + (a + 0.5) * math.log1p(1.0 / a) - 1.0
    square = 1.0 / (a * a)
    total = 0.0
    for coefficient in reversed(_STIRLING):
        total = total * square + coefficient
    return total / a
