"""Which number is the error bar? Exactly one way of saying it, and what it enters the model as.

Error bars that were computed from the same readings as the value are a trap: a reading that happens to lie
low with a small scatter gets a large weight, and weighted means drift (note 10 on the paper: at a nominal
5 % such certificates missed in 92 % of runs). So successes out of trials enter with the largest standard
error they can have, repeated readings with a scatter that is estimated apart from their mean (pooled, or by
bounds that reckon with it), and readings between known bounds as they are.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.core.checks import AMOUNT, COUNT, SQUARES, as_float, check_count_within, check_probability
from noisewise.core.text import number
from noisewise.study.telling.numbers import Written, carries_error, check_value, read_value
from noisewise.study.telling.scale import LogLimits


class Logarithms(NamedTuple):
    """Columns of measurements, on the scale of logarithms."""

    value: Floats
    sigma: Floats
    scatter: Floats


def logarithms(value: Floats, sigma: Floats, scatter: Floats) -> Logarithms:
    """Values with standard errors and sums of squares as they were told, on a log scale, (N,)."""
    return Logarithms(np.log(value), sigma / value, scatter / value**2)


def of_logarithms(readings: Floats) -> tuple[float, float]:
    """The geometric mean of readings, and the squares of their logarithms' scatter times its square."""
    mean, scatter = mean_and_scatter(np.log(readings))
    value = float(np.exp(mean))
    return value, scatter * value**2


def mean_and_scatter(readings: Floats) -> tuple[float, float]:
    """The mean of readings, and the sum of squares around it; 0 if they are equal, whatever is rounded."""
    if readings.min() == readings.max():  # the mean of seven times 0.4 is not 0.4, and would seem to scatter
        return float(readings[0]), 0.0
    mean = float(np.mean(readings))
    return mean, float(np.sum((readings - mean) ** 2))


def refuse_no_logarithm(given: dict[str, Any]) -> None:
    """Refuse measurements that say nothing about logarithms."""
    if given.get("successes") is not None or given.get("trials") is not None:
        raise ValueError(
            'a study with `scale="log"` compares ratios of values, and `successes=` out of `trials=` '
            "are shares, "
            "which may be 0: make a study without `scale=` for them."
        )
    if given.get("minus") is not None:
        raise ValueError(
            'a study with `scale="log"` takes no differences (`minus=`): which ratio one means is not '
            "known. Record both options, with the same `block=` if they were measured side by side."
        )
    if given.get("arm"):
        raise ValueError(
            'a study with `scale="log"` takes no arms of trials (arm=), which stand for differences: '
            "`block=` "
            "alone says that options were measured side by side."
        )


def note_if_rough(name: str, amount: float, value: float, most: float) -> tuple[str, ...]:
    """A remark on an error bar that its value's logarithm cannot have: see `value_scale.log_limits`.

    It is taken nevertheless: refused would be those whose value happens to be small, and the mean of the rest
    would be too large. The certificate is withheld if error bars are that large beside what is estimated.
    """
    if amount <= most * value:
        return ()
    return (
        f"{name} is {number(100.0 * amount / value)} % of its value; beyond {number(100.0 * most)} % the "
        "logarithm of a mean says too little about the mean of logarithms for this study's eps, and the "
        "certificate is withheld: record single readings, `values=[...]`.",
    )


#: What a measurement's error bar rests on.
KNOWN, READINGS, COUNTS, NONE, BOUNDED = "known", "readings", "counts", "none", "bounded"
#: Answers to items that several options share: see `noisewise.study.log.items`.
ITEMS = "items"
WAYS = "se, var, sd+n, ci, values, successes+trials"
#: The level of intervals that say none.
USUAL_LEVEL = 0.95


class Measured(NamedTuple):
    """A value with what is known about its error."""

    value: float
    kind: str
    sigma: float | None  # what it enters with; None: to be pooled or estimated
    shown: float | None  # the standard error people expect to see
    readings: int  # how many readings or trials the value is the mean of
    scatter: float  # their sum of squared deviations from the mean
    notes: tuple[str, ...]
    singles: tuple[float, ...] = ()  # readings that are kept: those between bounds, or for their logarithms


#: The least and the largest that a reading can be.
Bounds = tuple[float, float]


#: What falls with which power of the number of readings, and how one sees it.
POWERS = (
    (-1.0, ("variances", "var", "times the number of readings it is about constant")),
    (0.0, ("standard deviations", "sd", "it does not fall with the number of readings")),
)
#: Rows from which on that is judged; how near a power must be, and how far from that of standard errors.
FEWEST_SIZES, NEAR_POWER, CLEAR = 8, 0.2, 3.0


def power_of_sizes(se: Floats, n: Floats) -> tuple[str, str, str] | None:
    """What numbers beside numbers of readings look like, if not like standard errors, which fall as n^-1/2.

    Returns what they are, what to call them, and why.
    """
    usable = np.isfinite(se) & np.isfinite(n) & (se > 0.0) & (n >= 1.0)
    log_n, log_se = np.log(n[usable]), np.log(se[usable])
    if log_n.size < FEWEST_SIZES or not (spread := float(((log_n - log_n.mean()) ** 2).sum())) > 0.0:
        return None
    power = float((log_n - log_n.mean()) @ log_se) / spread
    rest = log_se - log_se.mean() - power * (log_n - log_n.mean())
    off = math.sqrt(float(rest @ rest) / (log_n.size - 2) / spread)
    clear = abs(power + 0.5) > CLEAR * off
    return next((said for exact, said in POWERS if clear and abs(power - exact) < NEAR_POWER), None)


def read_measured(
    given: dict[str, Any],
    *,
    noise_floor: float | None,
    where: str,
    bounds: Bounds | None = None,
    logs: LogLimits | None = None,
) -> Measured:
    """Read a value with its error bar from keyword arguments, of which most are None.

    Args:
        given: ``value``, ``se``, ``var``, ``sd``, ``n``, ``ci``, ``level``, ``values``, ``successes``,
            ``trials``.
        noise_floor: Standard errors below it are raised to it; where logarithms are taken, a part of the
            value.
        where: How messages begin, such as "row 17 (A-077): ".
        bounds: Between which all readings lie.
        logs: How rough a measurement may be, where logarithms are taken; None where values are as they are.
    """
    try:
        _check_one_way(given)
        if logs is not None:
            refuse_no_logarithm(given)
        if given.get("values") is not None:
            return _of_readings(given, None if given.get("minus") is not None else bounds, logs)
        if given.get("successes") is not None or given.get("trials") is not None:
            return _of_counts(given)
        if given.get("value") is None:
            way_out = " If there is no result, leave its error bar empty as well." if where else ""
            raise ValueError(
                f"`value` must be given: the number that came out of the measurement; got nothing.{way_out}"
            )
        written = read_value(given["value"])
        check_value(written.value, positive=logs is not None)
        if given.get("sd") is not None:
            if bounds is not None and given.get("minus") is None:
                _refuse_outside(np.array([written.value]), bounds)
            return _of_scatter(written.value, given, logs)
        if logs is not None and noise_floor is not None:
            noise_floor *= written.value
        found = _of_error(written, given, noise_floor)
        if bounds is not None and given.get("minus") is None:
            if found.kind == NONE:
                return _of_bounded(np.array([found.value]), bounds, logs)
            # Noise may carry an adjusted estimate a little beyond them; to refuse that would censor by value.
            _refuse_outside(np.array([found.value]), bounds, 3.0 * (found.sigma or 0.0))
        if logs is not None and found.sigma is not None:
            rough = note_if_rough("se", found.sigma, found.value, logs.error)
            return found._replace(notes=(*found.notes, *rough))
        return found
    except (ValueError, TypeError) as problem:
        raise type(problem)(f"{where}{problem}") from None


def _check_one_way(given: dict[str, Any]) -> None:
    ways = [way for way in ("se", "var", "sd", "ci", "values") if given.get(way) is not None]
    if given.get("successes") is not None or given.get("trials") is not None:
        ways.append("successes+trials")
    own = given.get("value") is not None and "values" not in ways and carries_error(given["value"])
    if own:
        ways.append("the value's own error")
    if len(ways) > 1:
        raise ValueError(f"give exactly one of {WAYS} (got {', '.join(ways)}).")
    if given.get("n") is not None and "sd" not in ways:
        raise ValueError(
            f"`n=` goes with `sd=`, the scatter of n readings; got `n={given['n']!r}` without it."
        )
    if given.get("level") is not None and "ci" not in ways:
        raise ValueError(f"`level=` goes with `ci=`; got `level={given['level']!r}` without it.")


def _of_error(written: Written, given: dict[str, Any], noise_floor: float | None) -> Measured:
    notes: list[str] = []
    if given.get("se") is not None:
        se = _one_of_two(given["se"], notes)
    elif given.get("var") is not None:
        var = as_float("var", given["var"])
        if not (math.isfinite(var) and var >= 0.0):
            raise ValueError(f"`var={var!r}` is not a variance; it must be a number above 0.")
        se = math.sqrt(var)
    elif given.get("ci") is not None:
        se = _of_interval(written.value, given["ci"], given.get("level"), notes)
    elif written.se is not None:
        se = written.se
    else:
        return Measured(written.value, NONE, None, None, 1, 0.0, ())
    return Measured(written.value, KNOWN, _raised(se, noise_floor, notes), se, 1, 0.0, tuple(notes))


def _one_of_two(se: Any, notes: list[str]) -> float:
    """One standard error; of an asymmetric pair (down, up) the larger."""
    pair = isinstance(se, Sequence) and not isinstance(se, str)
    if pair and len(se) != 2:
        raise ValueError(f"`se` must be one number, or two for an asymmetric error (down, up); got {se!r}.")
    sides = [as_float("se", side) for side in (se if pair else [se])]
    for side in sides:
        if not side >= 0.0 or math.isinf(side):
            raise ValueError(f"`se` must be a finite number above 0; got {side!r}.")
    if pair:
        notes.append(f"asymmetric error (-{sides[0]:g}, +{sides[1]:g}): the larger was used.")
    return max(sides)


def _raised(se: float, noise_floor: float | None, notes: list[str]) -> float:
    if noise_floor is None and se == 0.0:
        raise ValueError(
            "se is 0. An exact measurement would end the study by itself. "
            'If it is below your instrument\'s resolution, make the study with `errors="floor=SIZE"`, '
            "the least error "
            "that you believe (e.g. 0.01)."
        )
    if noise_floor is not None and se < noise_floor:
        notes.append(f"se {se:g} was raised to the noise floor {noise_floor:g}.")
        se = noise_floor
    if not AMOUNT.holds(se):
        raise ValueError(f"se must lie between {AMOUNT.least:g} and {AMOUNT.most:g}; got {se!r}.")
    return se


def _of_interval(value: float, ci: Any, level: Any, notes: list[str]) -> float:
    if isinstance(ci, str) or not isinstance(ci, Sequence) or len(ci) != 2:
        raise ValueError(f"`ci` must be a pair (lo, hi); got {ci!r}.")
    low, high = as_float("ci", ci[0]), as_float("ci", ci[1])
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError(f"ci must have two finite ends; got ({low:g}, {high:g}).")
    level = USUAL_LEVEL if level is None else check_probability("level", level)
    if not low <= value <= high:
        raise ValueError(
            f"`ci=({low:g}, {high:g})` must contain the value {value:g}. Did lo and hi get swapped?"
        )
    z = NormalDist().inv_cdf(0.5 + level / 2.0)
    down, up = value - low, high - value
    if abs(up - down) > 0.02 * (high - low):
        notes.append(f"asymmetric interval (-{down:g}, +{up:g}): the larger side was used.")
    return max(up, down) / z


def _of_scatter(value: float, given: dict[str, Any], logs: LogLimits | None) -> Measured:
    """The standard deviation of n readings says the same as the readings themselves."""
    sd = as_float("sd", given["sd"])
    if given.get("n") is None:
        raise ValueError(
            f"`sd={sd:g}` is the scatter of single readings; I need the error of the reported value. "
            "Give `n=` as well, or use `se=`."
        )
    if not 0.0 <= sd <= AMOUNT.most:
        raise ValueError(
            f"`sd={sd!r}` is not a standard deviation; it must be a number above 0, at most {AMOUNT.most:g}."
        )
    n = check_count_within("n", given["n"], COUNT, least=2)
    rough = () if logs is None else note_if_rough("sd", sd, value, logs.scatter)
    return Measured(value, READINGS, None, sd / math.sqrt(n), n, (n - 1) * sd * sd, rough)


def _of_readings(given: dict[str, Any], bounds: Bounds | None, logs: LogLimits | None) -> Measured:
    if given.get("value") is not None:
        raise ValueError("`values=[...]` brings its own value, the mean; leave `value=` out.")
    least = 2 if bounds is None else 1
    if not _is_list(given["values"]) or len(given["values"]) < least:
        raise ValueError(
            f"`values` must be a list of at least {'two readings' if least == 2 else 'one reading'}; got "
            f"{given['values']!r}. For one reading give `value=`{' and `se=`' if least == 2 else ''}."
        )
    positive = logs is not None
    readings = np.array(
        [check_value(as_float("values", item), positive=positive) for item in given["values"]]
    )
    if bounds is not None:
        return _of_bounded(readings, bounds, logs)
    n = readings.size
    if positive:
        mean, scatter = of_logarithms(readings)
        shown = math.sqrt(scatter / (n - 1) / n)
        return Measured(mean, READINGS, None, shown, n, scatter, (), tuple(readings.tolist()))
    mean, scatter = mean_and_scatter(readings)
    if not SQUARES.holds(scatter):
        raise ValueError(f"values scatter by {math.sqrt(scatter / n):g}, which is too much: change the unit.")
    return Measured(mean, READINGS, None, math.sqrt(scatter / (n - 1) / n), n, scatter, ())


def _refuse_outside(values: Floats, bounds: Bounds, near: float = 0.0) -> None:
    low, high = bounds
    outside = values[(values < low - near) | (values > high + near)]
    if outside.size:
        raise ValueError(
            f"{outside[0]:g} lies outside of the bounds of this study, {low:g} to {high:g}: no reading can. "
            "If it is right, make the study with wider bounds, or without."
        )


def _of_bounded(readings: Floats, bounds: Bounds, logs: LogLimits | None) -> Measured:
    _refuse_outside(readings, bounds)
    low, high = bounds
    n, width = readings.size, high - low
    mean, scatter = mean_and_scatter(readings)
    if logs is not None:
        mean, scatter = of_logarithms(readings)
        width = mean * math.log(high / low)
    usual = math.sqrt(scatter / (n - 1) / n) if n > 1 else None
    # As a share of trials does: (hi - lo)/(2√n)-sub-Gaussian, whatever the readings' law (Hoeffding).
    sigma = 0.5 * width / math.sqrt(n)
    return Measured(mean, BOUNDED, sigma, usual, n, scatter, (), tuple(readings.tolist()) if n > 1 else ())


def _is_list(values: Any) -> bool:
    try:
        return not isinstance(values, str | bytes) and np.ndim(values) == 1
    except ValueError:  # lists of unequal length
        return False


def _of_counts(given: dict[str, Any]) -> Measured:
    if given.get("successes") is None or given.get("trials") is None:
        raise ValueError("`successes=` and `trials=` go together; one of them is missing.")
    if given.get("value") is not None:
        raise ValueError("`successes=` and `trials=` bring their own value; leave `value=` out.")
    if given.get("minus") is not None:
        raise ValueError(
            "`successes=` out of `trials=` are of one option; a share is not a difference. Record both "
            "options, with "
            "the same `block=` if they were tried side by side, or the difference itself as `value=` "
            "with `se=`."
        )
    trials = check_count_within("trials", given["trials"], COUNT)
    successes = check_count_within("successes", given["successes"], COUNT, least=0)
    if successes > trials:
        raise ValueError(f"`successes={successes}` cannot exceed `trials={trials}`.")
    share = successes / trials
    usual = math.sqrt(share * (1.0 - share) / trials)
    # A mean of n numbers in [0, 1] is 1/(2√n)-sub-Gaussian whatever its expectation (Hoeffding).
    return Measured(share, COUNTS, 0.5 / math.sqrt(trials), usual, trials, 0.0, ())
