"""Evidence of successes out of trials at their true price: bets that are tilted, over a ladder of tilts.

A value x in [0, 1] with mean m has ``E exp(θx) <= 1 - m + m·exp(θ)``, exactly if it is 0 or 1. So for every θ

    exp(θ·s - n·log(1 - m + m·exp(θ)))          s successes in n trials

is an e-process against "the mean is m", and so is an average over θ. Negative θ suspect the mean to lie above
the data, positive ones below. The tilt that is best for a difference x of means is about x/variance. Races
end when x is the difference that matters, or a few times that, and variances lie between 0.25 (shares around
one half) and 0.01 (rates of a percent), so tilts from twice to a hundred times that difference have most of
the weight; all others of a ladder from 3 down to it keep some. Only sums matter: the order of trials is none
of the evidence's business. Each logarithm is convex and monotone in m, and so is their mixture.
"""

import math
from typing import Self

import numpy as np

from noisewise.core.blocks import Floats, Mask
from noisewise.study.evidence.kind import Kind, LogEvidence, Recorded, log_mean
from noisewise.study.log.measurements import Codes
from noisewise.study.models.fit import totals
from noisewise.study.telling.error_bars import COUNTS

#: The largest tilt, the ratio of neighbours, and the smallest as a part of the resolution.
TOP, RATIO, LEAST = 3.0, 1.6, 0.9
#: The tilt with the most weight, times the resolution; by which factor others fall off; what all have beside.
USUAL, WIDELY, ALWAYS = 8.0, math.exp(1.2), 0.2
#: The most steps of the ladder: a resolution below that is finer than any number of trials.
STEPS = 40
#: Trials that the estimate of an option without any is worth when its first ones are imagined.
UNTRIED = 100.0


def tilts(resolution: float) -> Floats:
    """The sizes of all tilts."""
    steps = math.ceil(math.log(TOP / (LEAST * min(1.0, resolution))) / math.log(RATIO))
    return TOP * RATIO ** -np.arange(min(STEPS, steps) + 1.0)


def log_weights(sizes: Floats, resolution: float) -> Floats:
    """The logarithms of the weights of tilts, which add up to 1."""
    away = np.log(sizes / (USUAL * min(1.0, resolution))) / math.log(WIDELY)
    weights = np.exp(-0.5 * away**2) + ALWAYS
    return np.asarray(np.log(weights / weights.sum()))


class Counts(Kind):
    """Successes out of trials.

    Args:
        successes: Of every option, (n,); a fraction where trials are imagined.
        trials: Of every option, (n,).
        estimate: What distances are counted from, as a share of trials, (n,).
        sign: Of the goal: a mean is ``sign·share``.
        resolution: The difference that matters.
    """

    name = "counts"
    told = (COUNTS,)
    by_readings = True

    def __init__(
        self, successes: Floats, trials: Floats, estimate: Floats, sign: float, resolution: float
    ) -> None:
        self._successes, self._trials, self._estimate = successes, trials, estimate
        self._sign, self._tilts, self._resolution = sign, tilts(resolution), resolution
        self._log_weights = log_weights(self._tilts, resolution)

    @classmethod
    def takes(cls, recorded: Recorded) -> Mask:
        """Trials, unless extra scatter is added to them."""
        return recorded.of_kind(COUNTS) & recorded.as_told

    @classmethod
    def of(cls, recorded: Recorded, rows: Mask) -> Self:
        """Their sums."""
        columns, n, sign = recorded.columns.select(rows), recorded.n, recorded.sign
        successes = totals(columns.plus, np.round(columns.value * columns.readings, 9), n)
        trials = totals(columns.plus, columns.readings, n)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.where(trials > 0.0, successes / trials, recorded.elsewhere(0.5, 0.0, 1.0))
        estimate = mean - sign * recorded.apart(trials > 0.0, sign * mean)
        return cls(successes, trials, estimate, sign, recorded.resolution)

    @property
    def facts(self) -> Floats:
        """The sums, and where distances are counted from."""
        return np.column_stack([self._successes, self._trials, self._estimate])

    @property
    def signature(self) -> tuple[object, ...]:
        """The mixture."""
        return (self.name, self._sign, self._tilts.tobytes(), self._log_weights.tobytes())

    def holds(self) -> Mask:
        """Where there were trials."""
        return np.asarray(self._trials > 0.0)

    def log_e(self, options: Codes, z: Floats, side: float) -> LogEvidence:
        """The mixture over all tilts."""
        upwards = side * self._sign  # of shares
        share = self._estimate[options][:, None] + upwards * z
        share = np.clip(share, 0.0, 1.0)[..., None]
        theta = -upwards * self._tilts
        rise = np.expm1(theta)
        trials, successes = (part[options][:, None, None] for part in (self._trials, self._successes))
        value = theta * successes - trials * np.log1p(share * rise) + self._log_weights
        return log_mean(value, -upwards * trials * rise / (1.0 + share * rise))

    def guess(self, options: Codes, levels: Floats, side: float) -> Floats:
        """Where the normal approximation reaches a somewhat higher level."""
        trials = self._trials[options]
        mean = (self._successes[options] + 1.0) / (trials + 2.0)
        variance = mean * (1.0 - mean) / trials
        wanted = np.maximum(levels, 0.0) + math.log(self._tilts.size) + 1.0
        data = side * self._sign * (self._successes[options] / trials - self._estimate[options])
        far = data[:, None] + np.sqrt(2.0 * wanted * variance[:, None]) + wanted / trials[:, None]
        return np.minimum(far, self.ends(options, side)[1][:, None])

    def ends(self, options: Codes, side: float) -> tuple[Floats, Floats]:
        """Shares lie between 0 and 1."""
        share = self._estimate[options]
        return (-share, 1.0 - share) if side * self._sign > 0.0 else (share - 1.0, share)

    def imagined(self, options: Codes, more: Floats) -> "Counts":
        """More trials, of which the expected share are successes."""
        successes = self._successes[options] + more * self._expected[options]
        trials = self._trials[options] + more
        return Counts(successes, trials, self._estimate[options], self._sign, self._resolution)

    @property
    def above(self) -> Floats:
        """Shares near 0 and 1 are not expected to stay there."""
        return np.asarray(self._sign * (self._expected - self._estimate))

    @property
    def _expected(self) -> Floats:
        """The estimated share, as if there had been a success and a failure more."""
        trials = np.where(self._trials > 0.0, self._trials, UNTRIED)
        successes = trials * np.clip(self._estimate, 0.0, 1.0)
        return np.asarray((successes + 1.0) / (trials + 2.0))

    @property
    def precision(self) -> Floats:
        """Trials over the variance of one."""
        return np.asarray(self._trials * self.of_one)

    @property
    def of_one(self) -> Floats:
        """One over the variance of a trial."""
        return np.asarray(1.0 / (self._expected * (1.0 - self._expected)))
