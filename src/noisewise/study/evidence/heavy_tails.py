"""Evidence of measurements of which the standard error is known, and nothing else: errors may have any tails.

A normal likelihood ratio needs tails that are no heavier than normal ones. With a variance alone, let a
measurement x have mean m and a variance of σ² at most. For a stake d > 0 and ``y = (m - x)·d/σ²`` the factor

    (1 + y + y²/2) / (1 + d²/(2σ²))        and in place of the numerator ½, its minimum, where y < -1

is never negative and has mean 1 at most, because y has mean 0 and a variance of d²/σ² at most. The product
over an option's measurements is an e-process against "the mean is m", for every d; so is an average over d.
It grows if measurements lie below m. Mirrored, with x - m in the place of m - x, it grows if they lie above.

For small y the logarithm of a factor is ``y - d²/(2σ²)`` up to third order, which is that of the normal
likelihood ratio of "the mean is m - d": little is paid where errors are normal after all. y counts as 3 at
most, which only makes the evidence smaller: so one measurement, however far off, adds log 8.5 to it at most,
and takes away log 2, and some five of them are needed before anything is excluded. (Catoni 2012 has such
functions; for confidence at any time, Wang and Ramdas 2023. The numerator here is the largest possible one
that never falls.)

The law of d is that of known error bars (`known`), on a grid. The evidence never falls with m, but it is
not convex: reaches are found between two ends (`limits`).

**The estimate** of an option is where the evidence of both sides is equal, if no y counts as more than 1: for
normal errors the weighted mean, up to little; one measurement that is far off moves it by about a standard
error at most, however far off it is.
"""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

import numpy as np

from noisewise.core.blocks import Floats, Mask
from noisewise.study.evidence.kind import DOWN, UP, Kind, LogEvidence, Recorded, log_mean, sums_of_digits
from noisewise.study.evidence.known import SCALES, WEIGHTS
from noisewise.study.log.measurements import KINDS, Codes, Columns
from noisewise.study.models.fit import Fit, Sums, totals
from noisewise.study.models.solver import two_sum
from noisewise.study.telling.error_bars import BOUNDED, COUNTS, KNOWN, NONE, READINGS

if TYPE_CHECKING:
    from noisewise.study.log.state import State

#: d over the difference that matters: dense where most studies are decided, wide beyond.
STAKES = np.append(0.16 * 1.6 ** np.arange(11.0), 17.6 * 4.0 ** np.arange(1.0, 9.0))
#: The largest y that counts; the same for estimates.
MOST, MOST_OF_ESTIMATES = 3.0, 1.0
#: How many factors are multiplied before a logarithm is taken: their product is a float.
AT_ONCE = 8
#: Numbers that are held at a time.
ROOM = 1 << 14
#: The least σ, in smallest stakes. A variance of σ² at most is also one of more; with σ far below all stakes
#: every factor would cost more than its y can bring, and precise measurements would exclude nothing.
LEAST_SIGMA = STAKES[0] / 1.5
#: Steps of the search for an estimate; one below this part of a standard error is the last. Halving takes
#: 190 of them from the largest value that a measurement may have.
STEPS, CLOSE = 240, 1e-10


def grid_weights() -> Floats:
    """The law of d as for known error bars, each part of it at the nearest stake."""
    middles = np.sqrt(STAKES[1:] * STAKES[:-1])
    # Of the standard library: SciPy takes longer to import than all else that a command needs.
    erf = np.vectorize(math.erf, otypes=[np.float64])
    below = (WEIGHTS * erf(middles[:, None] * np.sqrt(SCALES / 2.0))).sum(axis=1)
    return np.diff(np.concatenate([[0.0], below, [1.0]]))


_LOG_WEIGHTS = np.log(grid_weights())


def _log_products(factors: Floats, rows: "PerOption") -> Floats:
    """The logarithms of products over each option's measurements: a few at a time are multiplied first."""
    first = rows.starts[:-1]
    if (rows.times != 1.0).any():
        return np.asarray(np.add.reduceat(np.log(factors) * rows.times[:, None, None], first, axis=0))
    counts = np.diff(rows.starts)
    pieces = -(-counts // AT_ONCE)
    begins = np.append(0, np.cumsum(pieces))
    within = np.arange(begins[-1]) - np.repeat(begins[:-1], pieces)
    cuts = np.repeat(first, pieces) + AT_ONCE * within
    logs = np.log(np.multiply.reduceat(factors, cuts, axis=0))
    return np.asarray(np.add.reduceat(logs, begins[:-1], axis=0))


class PerOption(NamedTuple):
    """Measurements, those of an option one after the other, large values being good."""

    starts: Codes  # (n + 1,): where those of each option begin
    value: Floats  # (N,): above the option's estimate
    sigma: Floats  # (N,): the standard error
    times: Floats  # (N,): how often it counts; 1 but for measurements that are imagined


class AnyTails(Kind):
    """Measurements with known standard errors, whose errors may have any tails.

    Args:
        rows: The measurements.
        resolution: The difference that matters.
        most: The largest y that counts.
    """

    name = "error bars, any tails"
    told: ClassVar[tuple[str, ...]] = (KNOWN,)
    convex = False

    def __init__(self, rows: PerOption, resolution: float, most: float = MOST) -> None:
        self._rows, self.resolution, self._most = rows, resolution, most
        self._stakes = STAKES * resolution
        # Estimates weigh all that error bars say.
        self._least_sigma = LEAST_SIGMA * resolution if most == MOST else 0.0

    @classmethod
    def takes(cls, recorded: Recorded) -> Mask:
        """Whatever has neither a price nor a scatter of its own, in a study of such errors."""
        some = _judged(recorded.columns, recorded.as_told) & ~recorded.of_kind(READINGS, NONE)
        return some & (recorded.centres is not None)

    @classmethod
    def of(cls, recorded: Recorded, rows: Mask) -> Self:
        """Every measurement, around the robust estimates."""
        columns, centre = recorded.columns.select(rows), recorded.centres
        assert centre is not None
        # 0, exactly, where there is no other kind: evidence about an option changes with its own alone.
        shift = recorded.apart(np.bincount(columns.plus, minlength=recorded.n) > 0, centre)
        value = recorded.sign * columns.value - centre[columns.plus] + shift[columns.plus]
        return cls(rows_of(columns.plus, value, recorded.sigma[rows], recorded.n), recorded.resolution)

    @property
    def facts(self) -> Floats:
        """How many there are, and sums of scrambled digits of all of them, in any order."""
        rows, n = self._rows, self._rows.starts.size - 1
        option = np.repeat(np.arange(n), np.diff(rows.starts))
        digits = sums_of_digits(option, n, rows.value, rows.sigma, rows.times)
        return np.column_stack([np.diff(rows.starts), digits])

    @property
    def signature(self) -> tuple[object, ...]:
        """The stakes."""
        return (self.name, self._stakes.tobytes())

    def holds(self) -> Mask:
        """Where there are measurements."""
        return np.diff(self._rows.starts) > 0

    def log_e(self, options: Codes, z: Floats, side: float) -> LogEvidence:
        """The mixture over all stakes."""
        value, slope = np.empty(z.shape), np.empty(z.shape)
        counts = np.diff(self._rows.starts)[options]
        for some in together(counts, ROOM // STAKES.size):
            some_rows = picked(self._rows, options[some])
            step = max(1, ROOM // (STAKES.size * some_rows.value.size))
            for first in range(0, z.shape[1], step):
                part = slice(first, first + step)
                value[some, part], slope[some, part] = self._sums(some_rows, z[some, part], side)
        return LogEvidence(value, slope)

    def _sums(self, rows: PerOption, z: Floats, side: float) -> LogEvidence:
        """The mixture at distances from the estimates of these options, (options, distances)."""
        place = np.repeat(np.arange(len(z)), np.diff(rows.starts))
        weight = np.maximum(rows.sigma, self._least_sigma) ** -2.0
        away = (z[place] - side * rows.value[:, None]) * weight[:, None]
        y = np.minimum(
            np.maximum(away[..., None] * self._stakes, -1.0), self._most
        )  # (rows, distances, stakes)
        factor = y + 1.0
        slope = np.where(y < self._most, factor, 0.0) * weight[:, None, None]
        factor *= factor
        factor += 1.0
        factor *= 0.5  # 1 + y + y²/2
        slope /= factor
        cost = 1.0 + 0.5 * self._stakes**2 * weight[:, None]
        factor /= cost[:, None, :]
        logs = _log_products(factor, rows)
        if (rows.times != 1.0).any():
            slope *= rows.times[:, None, None]
        steep = np.add.reduceat(slope, rows.starts[:-1], axis=0)
        return log_mean(logs + _LOG_WEIGHTS, steep * self._stakes)

    def guess(self, options: Codes, levels: Floats, side: float) -> Floats:
        """Where a normal likelihood ratio reaches a somewhat higher level."""
        wanted = np.maximum(np.broadcast_to(levels, (options.size, levels.shape[-1])), 0.0) + 2.0
        sigma = np.maximum(self.precision[options] ** -0.5, self._least_sigma)
        return np.asarray(np.sqrt(2.0 * wanted) * sigma[:, None])

    def imagined(self, options: Codes, more: Floats) -> "AnyTails":
        """More measurements at the estimate, each as precise as those so far are."""
        rows, usual = self._rows, self._usual
        parts = []
        for option, amount in zip(options.tolist(), more.tolist(), strict=True):
            some = slice(*rows.starts[option : option + 2].tolist())
            one = usual[option]
            extra = ([0.0], [one**-0.5], [amount / one]) if amount > 0.0 else ([], [], [])
            parts.append([np.append(part[some], add) for part, add in zip(rows[1:], extra, strict=True)])
        starts = np.cumsum([0, *(part[0].size for part in parts)])
        value, sigma, times = (np.concatenate(column) for column in zip(*parts, strict=True))
        return AnyTails(PerOption(starts, value, sigma, times), self.resolution)

    @property
    def _usual(self) -> Floats:
        """The precision of one measurement of each option; of those without any, as it usually is."""
        count = np.add.reduceat(np.append(self._rows.times, 0.0), self._rows.starts[:-1])
        count = np.where(self.holds(), count, 0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            own = self.precision / count
        known = own[np.isfinite(own)]
        return np.where(np.isfinite(own), own, np.median(known) if known.size else self.resolution**-2.0)

    @property
    def precision(self) -> Floats:
        """As the error bars say."""
        weights = np.append(self._rows.times / self._rows.sigma**2, 0.0)
        return np.where(self.holds(), np.add.reduceat(weights, self._rows.starts[:-1]), 0.0)


def rows_of(option: Codes, value: Floats, sigma: Floats, n: int) -> PerOption:
    """Measurements, sorted so that nothing depends on the order of telling.

    Args:
        option: Of which option each is, (N,).
        value: (N,).
        sigma: Standard errors, (N,).
        n: The number of options.
    """
    order = np.lexsort((sigma, value, option))
    starts = np.concatenate([[0], np.cumsum(np.bincount(option, minlength=n))]).astype(np.int64)
    return PerOption(starts, value[order], sigma[order], np.ones(order.size))


def picked(rows: PerOption, options: Codes) -> PerOption:
    """The measurements of some options."""
    counts = np.diff(rows.starts)[options]
    starts = np.append(0, np.cumsum(counts))
    at = np.arange(starts[-1]) + np.repeat(rows.starts[options] - starts[:-1], counts)
    return PerOption(starts, rows.value[at], rows.sigma[at], rows.times[at])


def centres(rows: PerOption, resolution: float) -> Floats:
    """Where the evidence of both sides is equal, (n,); 0 where nothing was measured.

    With the mean suspected ever higher one of both grows and the other falls: Newton's steps, kept between
    two ends.
    """
    evidence = AnyTails(rows, resolution, most=MOST_OF_ESTIMATES)
    found, some = np.zeros(rows.starts.size - 1), np.flatnonzero(evidence.holds())
    first = rows.starts[some]
    low, high = np.minimum.reduceat(rows.value, first), np.maximum.reduceat(rows.value, first)
    weight = rows.sigma**-2.0
    middle = np.add.reduceat(weight * rows.value, first) / np.add.reduceat(weight, first)
    going = np.arange(some.size)
    for _ in range(STEPS):
        here, options = middle[going][:, None], some[going]
        above, below = evidence.log_e(options, here, UP), evidence.log_e(options, -here, DOWN)
        over = (above.value - below.value)[:, 0]
        high[going] = np.where(over >= 0.0, here[:, 0], high[going])
        low[going] = np.where(over <= 0.0, here[:, 0], low[going])
        with np.errstate(divide="ignore", invalid="ignore"):
            step = here[:, 0] - over / (above.slope + below.slope)[:, 0]
        inside = (step > low[going]) & (step < high[going])
        middle[going] = np.where(inside, step, 0.5 * (low[going] + high[going]))
        moved = np.abs(middle[going] - here[:, 0]) * np.sqrt(evidence.precision[options])
        going = going[moved > CLOSE]
        if not going.size:
            break
    found[some] = middle
    return found


def together(counts: Codes, room: int) -> Iterator[slice]:
    """Options one after the other whose measurements fit into so much room, one at least."""
    first = held = 0
    for place, count in enumerate(counts.tolist()):
        if place > first and held + count > room:
            yield slice(first, place)
            first, held = place, 0
        held += count
    if first < counts.size:
        yield slice(first, counts.size)


def _judged(columns: Columns, as_told: bool) -> Mask:
    """Which measurements do not count trial by trial or reading by reading, (N,)."""
    return ~(np.isin(columns.kind, [KINDS.index(kind) for kind in (COUNTS, BOUNDED)]) & as_told)


def robust_centres(state: "State", columns: Columns, sigma: Floats, *, as_told: bool) -> Floats:
    """What error bars of any tails say about every option, (n,), large being good; 0 where there are none.

    Args:
        state: The study; it keeps what was found, and only options that changed are looked at again.
        columns: The measurements.
        sigma: The certificate's standard errors, (N,).
        as_told: Whether trials and readings between bounds count one by one.
    """
    some, n, question = _judged(columns, as_told), len(state.ids), state.specification
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
    n, some = robust.size, _judged(columns, as_told)
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
