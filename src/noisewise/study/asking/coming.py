"""What is known of a measurement before it is made: its noise, the block that it will be in, its price."""

import math
from typing import Any, NamedTuple

import numpy as np

from noisewise.core.choice.selection import Mask
from noisewise.core.model.dense import Floats
from noisewise.study.evidence.half_widths import MoreEvidence
from noisewise.study.inputs.error_bars import COUNTS, KNOWN
from noisewise.study.log.measurements import KINDS, NO_BLOCK, NOBODY, Codes
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.fit import Sums, inverse_squares, sorted_by, totals

#: What a suggestion asks for: an option, or the difference of two.
OPTION, DIFFERENCE = "option", "difference"
PROBES = (OPTION, DIFFERENCE)


class Manner(NamedTuple):
    """How a measurement will be told: what its error bar rests on."""

    kind: str = KNOWN
    readings: float = 1.0  # usually; of trials there are as many as its noise says
    pool: int = 0  # a place in `Columns.pools`

    def amount(self, noise: Any) -> Any:
        """How many readings, or trials, make this noise: successes have it as 1/(2√trials) at most."""
        return 0.25 / noise**2 if self.kind == COUNTS else np.full(np.shape(noise), self.readings)


class Coming(NamedTuple):
    """The measurement to come."""

    noise: (
        Floats  # (n,): its standard error for each option, extra scatter included, as the certificate has it
    )
    allowed: Mask  # (n,): what may be measured
    block: str | None = NO_BLOCK  # the block that it will be in; None: a new one
    probe: str = OPTION
    costs: Floats | None = None  # (n,)
    manner: Manner = Manner()

    def evidence(self, resolution: float) -> MoreEvidence:
        """What it is for options that share nothing."""
        return MoreEvidence(
            self.manner.kind, self.noise**-2.0, np.asarray(self.manner.amount(self.noise)), resolution
        )


class Company(NamedTuple):
    """What was measured in the coming block so far: a value there is one above its weighted mean.

    Given all options' values, the offset of a block is known from its own measurements alone: it is their
    weighted mean with variance ``1/weight``.
    """

    options: Codes
    shares: Floats  # of the block's precision; they add up to 1
    variance: float  # 1/weight


def company_in(sums: Sums, block: str | None) -> Company | None:
    """What the coming block holds; None if it is new."""
    if block is None or block not in sums.blocks:
        return None
    rows = np.flatnonzero((sums.minus < 0) & (sums.block == sums.blocks.index(block)))
    if not rows.size:
        return None
    weight = float(sums.weight[rows].sum())
    return Company(sums.plus[rows], sums.weight[rows] / weight, 1.0 / weight)


def with_scatter(analysis: Analysis, sigma: float | None) -> float | None:
    """The noise of a measurement with this error bar, as it is estimated."""
    return None if sigma is None else math.hypot(sigma, analysis.sizes.extra_scatter)


def expected_noise(analysis: Analysis, sigma: float | None, probe: str = OPTION) -> Floats:
    """The standard error of a coming measurement of each option, (n,).

    If it was not announced it is what it usually was: the harmonic mean of the variances, because that is
    what measurements with such errors teach; and for each option by so much larger or smaller as noise has
    been seen to belong to options. With ``log sigma = common + option's + rest``, an option's part is
    shrunk by ``between/(between + within/count)``, as its variances between and within options tell.
    """
    if sigma is not None:
        return np.full(analysis.n, math.hypot(sigma, analysis.sizes.certified[1]))
    if ("noise", probe) not in analysis.expected:
        analysis.expected["noise", probe] = _usual_noise(analysis, probe)
    return np.asarray(analysis.expected["noise", probe].copy())


def _usual_noise(analysis: Analysis, probe: str) -> Floats:
    columns, sigmas = analysis.columns, analysis.sigmas
    known = sigmas.estimated if sigmas.waiting else sigmas.certified
    of_kind = (columns.minus >= 0) == (probe == DIFFERENCE)
    if columns.arm is not None and probe == DIFFERENCE:
        of_kind = of_kind | columns.arm
        known = np.where(columns.arm, math.sqrt(2.0) * known, known)  # two arms make a difference
    seen = np.flatnonzero(of_kind if of_kind.any() else np.ones(known.size, dtype=bool))
    seen = seen[np.isfinite(known[seen]) & (known[seen] > 0.0)]
    if not seen.size:
        return np.full(analysis.n, analysis.specification.resolution)
    known = known[seen]
    # In an order of their own: sums must not depend on the order of telling.
    order = sorted_by(columns, "noise", columns.plus[seen], known).places
    known, option = known[order], columns.plus[seen][order]
    usual = float(np.mean(np.sort(inverse_squares(known))) ** -0.5)
    if probe == DIFFERENCE:
        return np.full(analysis.n, usual)
    return np.asarray(usual * np.exp(_belonging(np.log(known), option, analysis.n)))


def expected_manner(analysis: Analysis, sigma: float | None) -> Manner:
    """How a coming measurement of an option will be told: as most were so far.

    With an announced error bar it is a value with that error bar; but where all options were measured by
    successes out of trials, that means as many trials as have it.
    """
    announced = sigma is not None
    if ("manner", announced) not in analysis.expected:
        analysis.expected["manner", announced] = _usual_manner(analysis, announced)
    found: Manner = analysis.expected["manner", announced]
    return found


def _usual_manner(analysis: Analysis, announced: bool) -> Manner:
    columns = analysis.columns
    single = columns.minus == NOBODY
    seen = np.bincount(columns.kind[single], minlength=len(KINDS))
    code = int(np.argmax(seen))
    if not seen.any() or (announced and KINDS[code] != COUNTS):
        return Manner()
    if announced:
        return Manner(COUNTS) if seen[code] == seen.sum() else Manner()
    usual = single & (columns.kind == code)
    pools = np.bincount(columns.pool[usual])
    first = min(np.flatnonzero(pools == pools.max()).tolist(), key=columns.pools.__getitem__)
    return Manner(KINDS[code], float(np.median(columns.readings[usual])), first)


def _belonging(logs: Floats, option: Codes, n: int) -> Floats:
    """By how much the logarithm of an option's noise lies above the common one, (n,).

    Args:
        logs: Of every measurement, in an order that is not that of telling.
        option: Whose noise it is.
        n: How many options there are.
    """
    count = np.bincount(option, minlength=n).astype(np.float64)
    groups, common = int((count > 0.0).sum()), float(logs.mean())
    freedom = logs.size - groups
    if groups < 2 or freedom < 1:
        return np.zeros(n)
    with np.errstate(invalid="ignore"):
        means = np.where(count > 0.0, totals(option, logs, n) / count, common)
    within = float(np.sum((logs - means[option]) ** 2)) / freedom
    spread = float(np.sum(count * (means - common) ** 2)) / (groups - 1)
    usual_count = (logs.size - float(np.sum(count**2)) / logs.size) / (groups - 1)
    between = (spread - within) / usual_count
    if between <= 0.0:
        return np.zeros(n)
    kept = between / (between + within / np.maximum(count, 1.0))
    return np.asarray(np.where(count > 0.0, kept * (means - common), 0.0))


def block_going_on(analysis: Analysis) -> str:
    """The block of the last measurement, which goes on unless something else is said.

    A study that was told by its arms is over: no block goes on in it.
    """
    columns = analysis.columns
    level = np.flatnonzero((columns.minus < 0) & (True if columns.arm is None else ~columns.arm))
    if not level.size:
        return NO_BLOCK
    return columns.blocks[int(columns.block[level[np.argmax(columns.number[level])]])]


def usual_probe(analysis: Analysis) -> str:
    """Differences where nothing else was measured so far; arms of studies are sides of differences."""
    minus, arm = analysis.columns.minus, analysis.columns.arm
    compared = minus != NOBODY if arm is None else (minus != NOBODY) | arm
    return DIFFERENCE if minus.size and bool(compared.all()) else OPTION
