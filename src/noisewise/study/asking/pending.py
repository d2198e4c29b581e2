"""Measurements that are not made yet, and the study with them.

- What is known of a measurement before it is made (`Coming`): its noise, its block, its price.
- Measurements under way, taken as if they had come out as expected (`Imagination`).
- The study with other measurements than those it has: some of them, or some more (`WhatIf`).
"""

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from noisewise.core.blocks import Floats, Mask, distinct, median
from noisewise.study.evidence.half_widths import MoreEvidence, SeparateOptions, expected_above
from noisewise.study.log.measurements import KINDS, NO_BLOCK, NOBODY, Codes, Columns
from noisewise.study.log.state import Job, State
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.fit import Sums, block_places, inverse_squares, reference_place, sorted_by, totals
from noisewise.study.models.scatter import has_own_scatter
from noisewise.study.models.variance_components import Sizes
from noisewise.study.telling.error_bars import BOUNDED, COUNTS, KNOWN, NONE, READINGS
from noisewise.study.telling.finding import blocks_named

#: What a suggestion asks for: an option, or the difference of two.
OPTION, DIFFERENCE = "option", "difference"
PROBES = (OPTION, DIFFERENCE)
#: Begins the names of blocks that have none yet: no block of a study begins so.
UNNAMED = "\0"


class Manner(NamedTuple):
    """How a measurement will be told: what its error bar rests on."""

    kind: str = KNOWN
    readings: float = 1.0  # usually; of trials there are as many as its noise says
    pool: int = 0  # a place in `Columns.pools`

    def amount(self, noise: Any) -> Any:
        """How many readings, or trials, make this noise: successes have it as 1/(2√trials) at most."""
        return 0.25 / noise**2 if self.kind == COUNTS else np.full(np.shape(noise), self.readings)


class More(NamedTuple):
    """Measurements that there may be."""

    plus: Codes
    minus: Codes  # NOBODY unless a difference
    value: Floats
    sigma: Floats
    blocks: list[str]  # of each
    manners: list[Manner] | None = None  # how each will be recorded; None: with known error bars
    often: list[int] | None = None  # how many measurements each is; None: one


class WhatIf(Analysis):
    """The study with other measurements than those it has; sizes of deviations and scatter are given."""

    def __init__(self, state: State, columns: Columns, sizes: Sizes, *, imagined: bool = False) -> None:
        super().__init__(state)
        self.imagined = imagined
        self.columns = columns
        self._sizes = sizes

    @property
    def sizes(self) -> Sizes:
        """As they are now: estimating them afresh would take as long as many fits."""
        return self._sizes

    @property
    def own_scatter(self) -> bool:
        """Measurements were put together with the scatter that was estimated, as if it were known."""
        return False


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
    return Manner(KINDS[code], median(columns.readings[usual]), first)


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


def looks_at(analysis: Analysis) -> Codes:
    """How often each option was measured, (n,)."""
    columns, n = analysis.columns, analysis.n
    compared = columns.minus[columns.minus >= 0]
    return np.bincount(columns.plus, minlength=n) + np.bincount(compared, minlength=n)


def usual_probe(analysis: Analysis) -> str:
    """Differences where nothing else was measured so far; arms of studies are sides of differences."""
    minus, arm = analysis.columns.minus, analysis.columns.arm
    compared = minus != NOBODY if arm is None else (minus != NOBODY) | arm
    return DIFFERENCE if minus.size and bool(compared.all()) else OPTION


class UnderWay(NamedTuple):
    """A measurement that is being made."""

    option: int
    minus: int  # NOBODY unless a difference
    block: str
    sigma: float  # with extra scatter, as the certificate will have it
    announced: float | None  # the error bar that was said
    manner: Manner = Manner()  # how it will be recorded


class Imagination:
    """The study as it will be when everything under way has come out as expected.

    Values that come out as expected change no estimate, so it does not matter in which order they come.
    """

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis

    @functools.cached_property
    def _columns(self) -> Columns:
        return condensed(self._analysis)

    def with_all(self, under_way: list[UnderWay]) -> Analysis:
        """The study with all of these; as it is while standard errors are not known, and nothing follows."""
        analysis = self._analysis
        if not under_way or (analysis.columns.value.size and analysis.sigmas.waiting):
            return analysis
        sigma = np.array([one.sigma for one in under_way])
        # Extra scatter is in all error bars already.
        sizes = Sizes(deviation=analysis.sizes.certified[0], waiting=analysis.sizes.waiting)
        columns = with_more(self._columns, self._more(under_way, sigma))
        return WhatIf(analysis.state, columns, sizes, imagined=True)

    def _more(self, under_way: list[UnderWay], sigma: Floats) -> More:
        return More(
            plus=np.array([one.option for one in under_way]),
            minus=np.array([one.minus for one in under_way]),
            value=self._expected(under_way),
            sigma=sigma,
            blocks=[one.block for one in under_way],
            manners=[one.manner for one in under_way],
        )

    def _expected(self, under_way: list[UnderWay]) -> Floats:
        """As a person would read them.

        Where nothing links an option with its coming block, or with the option that it is compared with,
        nobody knows what to expect. What is linked is then taken to lie around the same middle, so that
        nothing depends on the level that a block happens to have.
        """
        analysis = self._analysis
        if not analysis.columns.value.size:
            return np.zeros(len(under_way))
        waiting = bool(analysis.sigmas.waiting)  # then no error bars are certified
        fit = analysis.estimates if waiting else analysis.certified
        sums = analysis.sums if waiting else analysis.certified_sums
        _, place = np.unique(fit.group, return_inverse=True)
        middle = np.bincount(place, fit.means) / np.bincount(place)
        above = fit.means - middle[place]
        above[fit.group < 0] = 0.0
        # What is added in a block: its offset, and the middle of those that it is linked with.
        level = np.flatnonzero(sums.minus < 0)
        zero = np.zeros(len(sums.blocks))
        zero[sums.block[level]] = fit.offsets[sums.block[level]] + middle[place[sums.plus[level]]]
        added = dict(zip(sums.blocks, zero.tolist(), strict=True))
        expected = [
            above[one.option] - above[one.minus]
            if one.minus != NOBODY
            else above[one.option] + added.get(one.block, 0.0) + sums.centre
            for one in under_way
        ]
        return analysis.specification.sign * (np.array(expected) + self._above(under_way))

    def _above(self, under_way: list[UnderWay]) -> Floats:
        """What is expected beyond the estimates, where options share nothing."""
        analysis, above = self._analysis, np.zeros(len(under_way))
        if analysis.sigmas.waiting or not isinstance(analysis.boundary, SeparateOptions):
            return above
        found: dict[Manner, Floats] = {}
        measured = analysis.certified.group >= 0  # of the others nothing is expected but the middle
        for at, one in enumerate(under_way):
            if one.minus == NOBODY and one.block == NO_BLOCK and measured[one.option]:
                if one.manner not in found:
                    coming = Coming(np.ones(analysis.n), analysis.state.allowed(), manner=one.manner)
                    more = coming.evidence(analysis.specification.resolution)
                    found[one.manner] = expected_above(analysis.boundary, more)
                above[at] = found[one.manner][one.option]
        return above


def all_under_way(analysis: Analysis, jobs: list[Job]) -> list[UnderWay]:
    """What these suggestions stand for."""
    state = analysis.state
    found, going_on = [], block_going_on(analysis)
    noise: dict[tuple[str, float | None], Floats] = {}
    manners: dict[float | None, Manner] = {}
    for job in jobs:
        option, minus = state.index[job.option], NOBODY if job.minus is None else state.index[job.minus]
        probe = OPTION if minus == NOBODY else DIFFERENCE
        if (probe, job.sigma) not in noise:
            noise[probe, job.sigma] = expected_noise(analysis, job.sigma, probe)
        sigma = noise[probe, job.sigma][option]
        if minus == NOBODY and job.sigma not in manners:
            manners[job.sigma] = expected_manner(analysis, job.sigma)
        manner = manners[job.sigma] if minus == NOBODY else Manner()
        found.append(
            UnderWay(option, minus, _block_of(job, analysis, going_on), float(sigma), job.sigma, manner)
        )
    return found


def _block_of(job: Job, analysis: Analysis, going_on: str) -> str:
    """The block that was said, that answers to the same new block named, or that goes on."""
    if job.block is not None:
        return job.block
    if job.together is None:
        return going_on
    named = blocks_named(analysis.state, job.together)
    return min(named) if named else UNNAMED + job.together


class AsMeasured(WhatIf):
    """The study with some or simulated measurements; readings scatter as they do in the study."""

    @property
    def own_scatter(self) -> bool:
        """As in the study itself."""
        return not self.once and has_own_scatter(self.state)


def with_more(columns: Columns, more: More) -> Columns:
    """Measurements added."""
    count = more.plus.size
    known = {name: place for place, name in enumerate(columns.blocks)}
    for name in more.blocks:
        known.setdefault(name, len(known))
    added = {
        "number": int(columns.number.max(initial=0)) + 1 + np.arange(count),
        "plus": more.plus,
        "minus": more.minus,
        "block": np.array([known[name] for name in more.blocks], dtype=np.int64),
        "sigma": more.sigma,
        **_told(columns, more),
    }
    joined: Any = {name: np.concatenate([getattr(columns, name), new]) for name, new in added.items()}
    moment = None
    if columns.moment is not None:
        # They will be recorded one by one.
        moment = np.append(columns.moment, int(columns.moment.max(initial=-1)) + 1 + np.arange(count))
    return Columns(
        **joined, blocks=list(known), pools=columns.pools or [""], moment=moment,
        singles=columns.singles | _singles(columns, more, added["number"], joined["readings"][-count:]),
        arm=None if columns.arm is None else np.append(columns.arm, np.zeros(count, dtype=bool)),
    )  # fmt: skip


def _singles(columns: Columns, more: More, number: Codes, readings: Floats) -> dict[int, Floats]:
    """The readings behind further values between bounds: spread like those of the option, or like all."""
    found: dict[int, Floats] = {}
    bounded = columns.kind == KINDS.index(BOUNDED)
    for at, how in enumerate(more.manners or ()):
        if how.kind == BOUNDED:
            own = bounded & (columns.plus == more.plus[at])
            rows = np.flatnonzero(own if own.any() else bounded)
            values = [columns.singles.get(int(columns.number[k]), columns.value[[k]]) for k in rows]
            law, count = np.sort(np.concatenate(values)), max(1, round(float(readings[at])))
            found[int(number[at])] = law[((np.arange(count) + 0.5) / count * law.size).astype(np.int64)]
    return found


def _told(columns: Columns, more: More) -> dict[str, Any]:
    """What the error bars of further measurements rest on: readings scatter as those of the option did."""
    count = more.plus.size
    manners, often = more.manners or [Manner()] * count, more.often or [1] * count
    readings = np.array([float(how.amount(sigma)) for how, sigma in zip(manners, more.sigma, strict=True)])
    scatter = np.zeros(count)
    for how in set(manners):
        rows = np.flatnonzero([one == how for one in manners])
        if how.kind != COUNTS:
            readings[rows] *= np.array(often)[rows]
        if how.kind in (READINGS, NONE):
            same = (columns.kind == KINDS.index(how.kind)) & (columns.pool == how.pool) & (columns.minus < 0)
            size = 1 + max(int(columns.plus.max(initial=0)), int(more.plus.max()))
            counted = totals(columns.plus[same], columns.readings[same], size)
            squares = totals(columns.plus[same], columns.scatter[same], size)
            usual = float(squares.sum()) / max(1.0, float(counted.sum()))
            each = np.where(squares > 0.0, squares / np.maximum(counted, 1.0), usual)
            scatter[rows] = readings[rows] * each[more.plus[rows]]
    shares = np.array([how.kind == COUNTS for how in manners], dtype=bool)
    return {
        # Shares of trials are shares, whatever error bars say of the option.
        "value": np.where(shares, np.clip(more.value, 0.0, 1.0), more.value),
        "kind": np.array([KINDS.index(how.kind) for how in manners], dtype=np.int64),
        "readings": readings,
        "scatter": scatter,
        "pool": np.array([how.pool for how in manners], dtype=np.int64),
    }


def condensed(analysis: Analysis) -> Columns:
    """One measurement per probe, kind and pool that says what all of them say.

    They have the certificate's error bars, which are not to be pooled again.
    """
    columns, sigmas = analysis.columns, analysis.sigmas
    sigma = sigmas.estimated if sigmas.waiting else sigmas.certified
    if (columns.kind == KINDS.index(BOUNDED)).any():
        return columns._replace(sigma=sigma)  # every single reading counts
    kept = [KINDS.index(kind) for kind in (COUNTS, READINGS, NONE)]
    kind = np.where(np.isin(columns.kind, kept), columns.kind, KINDS.index(KNOWN))
    family = kind * (1 + len(columns.pools)) + np.where(np.isin(kind, kept[1:]), columns.pool, 0)
    columns = columns._replace(kind=kind)
    parts = [_condensed(analysis, columns, family == one, sigma) for one in distinct(family)]
    if not parts:
        return columns._replace(pools=columns.pools or [""])
    joined: Any = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name, column in parts[0]._asdict().items()
        if isinstance(column, np.ndarray)
    }
    count = joined["plus"].size
    last = max(count, int(columns.number.max(initial=0)))
    joined |= {"number": last - count + 1 + np.arange(count), "moment": np.zeros(count, dtype=np.int64)}
    return Columns(**joined, blocks=parts[0].blocks, pools=columns.pools or [""])


def _condensed(analysis: Analysis, columns: Columns, rows: Mask, sigma: Floats) -> Columns:
    """Condense measurements of one kind and pool."""
    columns, sign = columns.select(rows), analysis.specification.sign
    sums = analysis.pooled(columns, sigma[rows])
    count, level = sums.plus.size, sums.minus < 0
    value = sign * (sums.value + np.where(level, sums.centre, 0.0))
    readings, scatter = np.ones(count), np.zeros(count)
    if KINDS[columns.kind[0]] != KNOWN:
        turned = columns.minus > columns.plus  # in sums, the later option is on the plus side
        ends = np.maximum(columns.plus, columns.minus), np.minimum(columns.plus, columns.minus)
        block = np.where(columns.minus < 0, block_places(columns, sums.blocks), 0)
        row = np.searchsorted(_keys(sums.plus, sums.minus, sums.block), _keys(*ends, block))
        apart = np.where(turned, -columns.value, columns.value) - value[row]
        readings = totals(row, columns.readings, count)
        scatter = totals(row, columns.scatter + columns.readings * apart**2, count)
    return Columns(
        number=np.zeros(count, dtype=np.int64), plus=sums.plus, minus=sums.minus, block=sums.block,
        value=value, kind=np.full(count, columns.kind[0]), sigma=sums.weight**-0.5, readings=readings,
        scatter=scatter, pool=np.full(count, columns.pool[0]), blocks=sums.blocks, pools=columns.pools,
    )  # fmt: skip


def _keys(plus: Codes, minus: Codes, block: Codes) -> Codes:
    """One number per probe, which grows in the order of pooled sums: there are fewer than 2^21 of each."""
    return np.asarray((plus * 2**21 + minus + 1) * 2**21 + block)


class Reference(NamedTuple):
    """The block that coming measurements are thought to be in: the one that others are compared with."""

    name: str
    zero: float  # what is added to an option's value there


def reference_of(analysis: Analysis) -> Reference:
    """The block that others are compared with, and its estimated offset."""
    fit, sums = analysis.estimates, analysis.sums
    at = reference_place(fit.offset_precision)
    return Reference(sums.blocks[at], float(fit.offsets[at]))
