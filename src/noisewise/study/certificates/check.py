"""Does the model fit, and are the error bars what they claim to be? Cheap: every certificate asks.

Are error bars standard errors, where errors may have any tails? Then few measurements can lie far off.

A chi-square says nothing here: one large error may carry it anywhere. But whatever the tails, at most one
measurement in k² lies more than k standard errors off (Chebyshev).

Differences of one block that share an option: told as independent, though one reading may be in both.

Whether it is cannot be seen from the numbers: two differences of a trial to its only control have the
control's error in common, two that were measured separately on one day have not. So it is said, not judged.

Logarithms of values that were averaged first, or have error bars: how far they may be off.

With c the standard error over the value, what is estimated may be shifted by 1.5c²; with c the standard
deviation of readings over their mean, by c²/2 (`value_scale.log_limits` has the reasons). The value in c is
that which is estimated for the option, not that which was measured: an error bar is no larger because its
value happened to come out small.
"""

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from noisewise.core.blocks import Floats, distinct
from noisewise.core.distributions import chi_square_quantile, chi_square_tails, f_quantile, f_tails
from noisewise.core.text import as_html, counted, number
from noisewise.study.certificates.certificate import WithLeague
from noisewise.study.log.measurements import KINDS, NO_BLOCK, WITHOUT_ERROR_BARS, Codes, Columns
from noisewise.study.log.model_choice import ESTIMATE
from noisewise.study.log.told import GENERATED
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.fit import Fit, Sums, block_places, totals
from noisewise.study.models.scatter import own_rows, unequal_scatter
from noisewise.study.models.variance_components import usual_errors
from noisewise.study.telling.error_bars import BOUNDED, COUNTS, ITEMS, KNOWN, NONE

#: From how many standard errors on a measurement counts as far off, and of how many the share that may be is
#: reckoned: the estimate itself may be off by the difference.
FAR, ALLOWED = 4.0, 3.0


class FarOff(NamedTuple):
    """How many of the repeated measurements lie far from the estimates."""

    many: int
    of: int

    @property
    def chance(self) -> float:
        """The probability of so many at least, if error bars are standard errors."""
        share = ALLOWED**-2.0
        if self.many <= share * self.of:
            return 1.0
        rest = self.of - self.many + 1.0
        # A binomial tail is one of the beta law, and so of the F law.
        return f_tails(2.0 * self.many, 2.0 * rest, rest / self.many * share / (1.0 - share)).lower

    def __str__(self) -> str:
        return (
            f"{self.many} of {self.of} repeated measurements lie more than {FAR:g} standard errors off "
            f"(whatever the tails of errors, at most one in {ALLOWED**2:g} lies more than {ALLOWED:g} off)"
        )


def far_off(options: Codes, residuals: Floats) -> FarOff:
    """Counted over options that were measured twice or more.

    Args:
        options: Of which option each measurement is, (N,).
        residuals: How many standard errors each lies from its option's estimate, (N,).
    """
    repeated = np.bincount(options)[options] > 1
    return FarOff(int((np.abs(residuals[repeated]) > FAR).sum()), int(repeated.sum()))


class SharedArm(NamedTuple):
    """Differences of one block that have an option in common."""

    block: str
    option: int
    numbers: list[int]  # of the measurements


def shared_arms(columns: Columns) -> list[SharedArm]:
    """All such, by the first measurement; repeats of one difference share both options and are none."""
    rows = np.flatnonzero((columns.minus >= 0) & (columns.block != _code(columns)))
    found: dict[tuple[int, int], dict[int, list[int]]] = {}
    for row in rows.tolist():
        one, other = int(columns.plus[row]), int(columns.minus[row])
        for option, beside in ((one, other), (other, one)):
            of_option = found.setdefault((int(columns.block[row]), option), {})
            of_option.setdefault(beside, []).append(int(columns.number[row]))
    shared = [
        SharedArm(columns.blocks[block], option, sorted(n for numbers in others.values() for n in numbers))
        for (block, option), others in found.items()
        if len(others) > 1
    ]
    return sorted(shared, key=lambda one: one.numbers)


def shared_in_words(shared: SharedArm, name: str) -> str:
    """What it means, and what to do about it."""
    listed = ", ".join(f"m-{number}" for number in shared.numbers[:5])
    more = " and others" if len(shared.numbers) > 5 else ""
    return (
        f"differences {listed}{more} of block {shared.block} share {name} and count as independent: if one "
        f"measured {name} is in all of them, void them, and tell them as a table of studies "
        '(layout="network", --network)'
    )


def _code(columns: Columns) -> int:
    return columns.blocks.index(NO_BLOCK) if NO_BLOCK in columns.blocks else -1


class LargestParts(NamedTuple):
    """The largest part of a value that an error bar, or the scatter of averaged readings, is."""

    error: float  # 0 if there are none
    scatter: float
    error_of: int  # the option
    scatter_of: int


def largest_shift(analysis: Analysis) -> float:
    """By how much logarithms may be shifted at most; 0 where none are taken, or of single readings only."""
    if not analysis.specification.value_scale.log:
        return 0.0
    parts = _parts(analysis)
    return max(1.5 * parts.error**2, 0.5 * parts.scatter**2)


def too_rough_for_logarithms(analysis: Analysis) -> list[str]:
    """Reasons to withhold the certificate: the shift is more than a tenth of the difference that matters."""
    limits = analysis.specification.log_limits
    if limits is None:
        return []
    parts, ids = _parts(analysis), analysis.state.ids
    found = []
    for what, part, most, option in (
        ("error bars", parts.error, limits.error, parts.error_of),
        ("readings behind means (`sd=`)", parts.scatter, limits.scatter, parts.scatter_of),
    ):
        if part > most:
            verb = "are" if what == "error bars" else "scatter by"
            found.append(
                f"{what} of {ids[option]} {verb} {number(100.0 * part)} % of its value, and may be at most "
                f"{number(100.0 * most)} % for this eps, because the logarithm of a mean is not the mean of "
                'logarithms: record single readings (`values=`), or make a study without `scale="log"`; '
                "voiding "
                "some of them would keep those that happen to be large"
            )
    return found


def _parts(analysis: Analysis) -> LargestParts:
    columns, n = analysis.columns, analysis.n
    if not columns.value.size:
        return LargestParts(0.0, 0.0, 0, 0)
    over = np.exp(columns.value - _fitted(analysis))  # the measured value over the estimated one
    known = columns.kind == KINDS.index(KNOWN)
    averaged = np.isin(columns.number, list(analysis.state.measurements.averaged))
    errors = np.where(known, columns.sigma * over, 0.0)
    scatter = totals(columns.plus, np.where(averaged, columns.scatter * over**2, 0.0), n)
    freedom = totals(columns.plus, np.where(averaged, columns.readings - 1.0, 0.0), n)
    spread = np.sqrt(scatter / np.maximum(freedom, 1.0))
    worst = int(np.argmax(errors))
    return LargestParts(
        float(errors[worst]), float(spread.max()), int(columns.plus[worst]), int(np.argmax(spread))
    )


def _fitted(analysis: Analysis) -> Floats:
    """The logarithm that is estimated for each measurement, its block's offset included, (N,)."""
    columns, sums, fit = analysis.columns, analysis.sums, analysis.estimates
    offsets = fit.offsets[block_places(columns, sums.blocks)]
    return np.asarray(analysis.specification.sign * (sums.centre + fit.means[columns.plus] + offsets))


#: A fit this unlikely under the model withholds the certificate.
SUSPICIOUS = 0.01
#: Sets of readings this unlikely under one common scatter must not be pooled.
UNEQUAL = 0.001
WORST = 5


@dataclass(frozen=True, eq=False)
class Check(WithLeague):
    """How well the measurements fit the model and their own error bars."""

    reduced: float  # chi-square per degree of freedom; NaN if there are none
    freedom: int
    p_value: float  # of a chi-square at least as large, if the model is right
    expected: tuple[float, float]  # where it lies in 95 % of cases, if the model is right
    problems: tuple[str, ...]  # each withholds the certificate
    notes: tuple[str, ...]
    worst: tuple[dict[str, Any], ...]
    remedies: tuple[str, ...] = ()  # what to do about the problems, the likeliest first
    advice: dict[str, str] = field(default_factory=dict)  # arguments of `Study.switch` that would help
    compared: int = 0  # options with a scatter of their own whose repeated measurements were compared
    far_off: FarOff | None = None  # in the place of chi-square, where errors may have any tails
    unbarred: int = 0  # measurements without error bars
    explained: bool = False  # whether remedies were looked for: it takes longer than all the rest
    causes: tuple[Any, ...] = ()  # what is probably wrong, the likeliest first: `causes.cause.Cause`

    @property
    def ok(self) -> bool:
        """Whether nothing speaks against the certificate."""
        return not self.problems

    def __str__(self) -> str:
        if self.freedom == 0 and self.compared:
            options = counted(self.compared, "option")
            lines = [f"Repeated measurements of {options} were compared with the scatter of their readings."]
        elif self.far_off is not None:
            lines = [f"{self.far_off}."]
        elif self.freedom == 0 and self.unbarred:
            count = counted(self.unbarred, "measurement")
            lines = [f"{count} came without error bars: their scatter is all that is known of their errors."]
        elif self.freedom == 0:
            lines = ["The fit cannot be checked yet: no measurement was repeated."]
        else:
            low, high = self.expected
            lines = [
                f"Reduced chi-square {number(self.reduced)} on {counted(self.freedom, 'degree of freedom')} "
                f"(expected 1; {number(low)} to {number(high)} in 95 % of cases)."
            ]
        lines += [f"PROBLEM: {problem}." for problem in self.problems]
        lines += [*self.remedies, *self.notes]
        if self.worst:
            lines.append("Largest residuals, in standard errors:")
            lines += [f"  {row['what']} {row['name']}: {row['residual']:+.1f}" for row in self.worst]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html("Check", str(self).splitlines(), good=self.ok, drawn=self._league())


def degrees_of_freedom(analysis: Analysis) -> int:
    """How many measurements there are beyond what is fitted."""
    columns, _, _, fit = _judged(analysis)
    return int(columns.value.size - fit.rank)


def check_fit(analysis: Analysis) -> Check:
    """Whether anything speaks against the certificate; what to do about it says `diagnosis.py`."""
    columns, sigma, sums, fit = _judged(analysis)
    freedom = columns.value.size - fit.rank
    problems = [*analysis.sigmas.waiting]
    reduced = p_value = math.nan
    expected = (math.nan, math.nan)
    worst: tuple[dict[str, Any], ...] = ()
    off: FarOff | None = None
    if freedom > 0:
        reduced = fit.squares(sums) / freedom
        p_value, _, expected = tails(analysis, reduced, freedom)
        residuals = standard_residuals(analysis, columns, sigma, sums, fit)
        worst = _worst(analysis, columns, residuals, sums.blocks)
        if analysis.any_tails:
            off = far_off(columns.plus, residuals)
            p_value = off.chance
        if math.isnan(reduced):
            problems.append(
                "the fit cannot be computed: some values or error bars are too large or too small"
            )
        elif p_value < SUSPICIOUS:
            problems.append(_misfit(analysis, reduced) if off is None else f"{off}")
    if not analysis.own_scatter and (pool := unequal_scatter(columns, UNEQUAL)) is not None:
        problems.append(
            f"the scatter within {columns.pools[pool]} differs from one measurement to the next by more than "
            "chance"
        )
    if outlier := _unlike_the_others(analysis, SUSPICIOUS):
        problems.append(outlier)
    compared, disagreement = _own_agreement(analysis)
    problems += [*disagreement, *too_rough_for_logarithms(analysis)]
    notes = (*_sizes_in_words(analysis), *_shared_in_words(analysis))
    return Check(
        reduced,
        freedom,
        p_value,
        expected,
        tuple(problems),
        notes,
        worst,
        compared=compared,
        far_off=off,
        unbarred=int((analysis.columns.kind == KINDS.index(NONE)).sum()),
    )


def _judged(analysis: Analysis) -> tuple[Columns, Floats, Sums, Fit]:
    """What can be judged, with its error bars, and the fit that it is compared with."""
    columns, sigma = checkable(analysis)
    same = columns is analysis.columns and sigma is analysis.sigmas.estimated
    if same or analysis.any_tails:
        return columns, sigma, analysis.sums, analysis.estimates
    sums = analysis.pooled(columns, sigma)
    return columns, sigma, sums, analysis.fit(sums)


def residuals_to_show(analysis: Analysis) -> tuple[Columns, Floats]:
    """Measurements with their residuals, in the error bars of the check, more being larger values.

    Counts in blocks enter estimates with the largest error they can have, and the check with their usual
    one: a chart with the former would show less scatter than the check tells of. Where nothing can be
    judged, all of it is shown.
    """
    columns, sigma, sums, fit = _judged(analysis)
    if not columns.value.size:
        columns, sigma = analysis.columns, analysis.sigmas.estimated
        sums, fit = analysis.sums, analysis.estimates
    return columns, analysis.specification.sign * standard_residuals(analysis, columns, sigma, sums, fit)


def _own_agreement(analysis: Analysis) -> tuple[int, list[str]]:
    """How many options' repeated measurements were compared with their own scatter, and what is wrong."""
    sums = analysis.own_readings
    if sums is None:
        return 0, []
    found = sums.agreement()
    if found.chance >= SUSPICIOUS:
        return found.compared, []
    return found.compared, [
        f"measurements of {analysis.state.ids[found.worst]} differ from each other by more than their "
        "readings scatter: something changed between them; give `block=` if days, plates or judges differ"
    ]


def checkable(analysis: Analysis) -> tuple[Columns, Floats]:
    """The measurements whose error bars can be judged, with those error bars."""
    columns, sigma = analysis.columns, analysis.sigmas.estimated
    # Answers to items are compared with nothing but each other: batches of one option share no error bar
    # with batches of another that answered the same items.
    without = (columns.kind == KINDS.index(NONE)) | (columns.kind == KINDS.index(ITEMS))
    if analysis.own_readings is not None:
        without |= own_rows(columns)  # whose own scatter is all that is known of them
    if np.isin(columns.kind, (KINDS.index(COUNTS), KINDS.index(BOUNDED))).any():
        usual = usual_errors(columns, analysis.stated.estimated, analysis.n)
        sigma = np.where(without, sigma, columns.widened(usual, analysis.sizes.extra_scatter))
    if without.any():
        # Their common sigma was estimated from this very fit.
        columns, sigma = columns.select(~without), sigma[~without]
    return columns, sigma


def tails(analysis: Analysis, reduced: float, freedom: int) -> tuple[float, float, tuple[float, float]]:
    """Upper and lower tail of a reduced chi-square, and where it lies in 95 % of cases."""
    pools = analysis.sigmas.pools
    return _reference(
        reduced, freedom, sum(pool.freedom for pool in pools if pool.name != WITHOUT_ERROR_BARS)
    )


def _reference(reduced: float, freedom: int, pooled: float) -> tuple[float, float, tuple[float, float]]:
    """Upper and lower tail of the reduced chi-square, and where it lies in 95 % of cases."""
    if pooled > 0:  # the scatter itself was estimated
        low, high = (f_quantile(freedom, pooled, part) for part in (0.025, 0.975))
        lower, upper = f_tails(freedom, pooled, reduced)
        return upper, lower, (low, high)
    low, high = (chi_square_quantile(freedom, part) / freedom for part in (0.025, 0.975))
    lower, upper = chi_square_tails(freedom, reduced * freedom)
    return upper, lower, (low, high)


def _misfit(analysis: Analysis, reduced: float) -> str:
    return f"reduced chi-square {number(reduced)} (expected 1): {analysis.model.blame}"


def standard_residuals(analysis: Analysis, columns: Columns, sigma: Floats, sums: Sums, fit: Fit) -> Floats:
    """How many standard errors each measurement lies above what the fit says, large being good, (N,)."""
    level = columns.minus < 0
    value = analysis.specification.sign * columns.value - np.where(level, sums.centre, 0.0)
    fitted = fit.means[columns.plus] - np.where(level, 0.0, fit.means[columns.minus])
    offset = fit.offsets[block_places(columns, sums.blocks)]
    return np.asarray((value - fitted - np.where(level, offset, 0.0)) / sigma)


def _worst(
    analysis: Analysis, columns: Columns, residual: Floats, blocks: list[str]
) -> tuple[dict[str, Any], ...]:
    """The measurements, options and blocks that fit worst."""
    block = block_places(columns, blocks)
    level = columns.minus < 0
    ids = analysis.state.ids
    rows = [
        {"what": "measurement", "name": name_of(analysis, columns, int(at)), "residual": residual[at]}
        for at in np.argpartition(-np.abs(residual), min(WORST, residual.size - 1))[:WORST]
    ]
    # An option (a block) whose residuals all point one way, as the linear model cannot follow it.
    for what, codes, names in (("option", columns.plus[level], ids), ("block", block[level], blocks)):
        count = np.bincount(codes, minlength=len(names))
        together = totals(codes, residual[level], len(names)) / np.sqrt(np.maximum(count, 1))
        at = int(np.argmax(np.abs(together)))
        known = what == "option" and (analysis.standing_out is not None or analysis.any_tails)
        if abs(together[at]) > 3.0 and names[at] and not known:
            rows.append({"what": what, "name": names[at], "residual": together[at]})
    sign = analysis.specification.sign
    signed = [{**row, "residual": sign * float(row["residual"])} for row in rows]
    signed = sorted([*signed, *_standing_rows(analysis, 3.0)], key=lambda row: -abs(row["residual"]))
    return tuple(signed[:WORST])


def name_of(analysis: Analysis, columns: Columns, at: int) -> str:
    """A measurement as people know it: its number, its key or its row, and what it measured."""
    ids, minus, number = analysis.state.ids, columns.minus[at], int(columns.number[at])
    what = ids[columns.plus[at]] + (f" - {ids[minus]}" if minus >= 0 else "")
    told = analysis.state.told
    body = told[number - 1] if number <= len(told) else {}
    known = [f"{name} {body[name]}" for name in ("key", "row") if _worth_saying(body.get(name))]
    return f"m-{number}{f' ({known[0]})' if known else ''} of {what}"


def _worth_saying(name: Any) -> bool:
    return bool(name) and not str(name).startswith(GENERATED)


def _standing_rows(analysis: Analysis, least: float) -> list[dict[str, Any]]:
    """Options that lie further than this from what the model expects of them, as rows of the check."""
    apart, ids = analysis.standing_out, analysis.state.ids
    if apart is None:
        return []
    return [
        {"what": "option", "name": ids[at], "residual": float(apart[at])}
        for at in np.flatnonzero(np.abs(apart) > least)
    ]


def _unlike_the_others(analysis: Analysis, suspicious: float) -> str | None:
    """A sentence if some option lies further off than a normal law allows, all options considered."""
    apart = analysis.standing_out
    if apart is None:
        return None
    at = int(np.argmax(np.abs(apart)))
    measured = distinct(analysis.columns.plus).size
    chance = math.erfc(abs(apart[at]) / math.sqrt(2.0)) * measured
    if chance >= suspicious:
        return None
    name, size = analysis.state.ids[at], analysis.sizes.deviation
    return analysis.model.unlike_the_others(name, float(apart[at]), size)


def _shared_in_words(analysis: Analysis) -> list[str]:
    """Differences of one block that may have errors in common: the first, and how many there are."""
    shared = shared_arms(analysis.columns)
    if not shared:
        return []
    words = shared_in_words(shared[0], analysis.state.ids[shared[0].option])
    more = (
        f" So do those of {counted(len(shared) - 1, 'other pair')} of block and option." if shared[1:] else ""
    )
    return [f"{words[0].upper()}{words[1:]}.{more}"]


def _sizes_in_words(analysis: Analysis) -> list[str]:
    """The sizes that the model reckons with, where they were estimated."""
    model, sizes, scale = analysis.state.model, analysis.sizes, analysis.specification.value_scale
    said = []
    if model.deviation == ESTIMATE:
        said.append(f"Deviations of single options: estimated size {scale.error(sizes.deviation)}.")
    if model.extra_scatter == ESTIMATE:
        said.append(f"Extra scatter: estimated size {scale.error(sizes.extra_scatter)}.")
    return said
