"""Does the model fit, and are the error bars what they claim to be?"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from noisewise.core.model import Floats
from noisewise.study.advice import Advice, advise
from noisewise.study.analysis import Analysis
from noisewise.study.deviations import sizes_in_words, standing_rows, unlike_the_others
from noisewise.study.error_bars import COUNTS, KNOWN, NONE
from noisewise.study.measurements import KINDS, WITHOUT_ERROR_BARS, Columns
from noisewise.study.modelling import DEVIATION, INDEPENDENT, LINEAR
from noisewise.study.scatter import unequal_scatter
from noisewise.study.show import as_html, counted, number
from noisewise.study.sizes import usual_errors
from noisewise.study.sums import block_places, totals

#: A fit this unlikely under the model withholds the certificate.
SUSPICIOUS = 0.01
#: An estimated difference so many standard errors above `span` contradicts it.
BEYOND = 4.0
WORST = 5


@dataclass(frozen=True, eq=False)
class Check:
    """How well the measurements fit the model and their own error bars."""

    reduced: float  # chi-square per degree of freedom; NaN if there are none
    freedom: int
    p_value: float  # of a chi-square at least as large, if the model is right
    expected: tuple[float, float]  # where it lies in 95 % of cases, if the model is right
    problems: tuple[str, ...]  # each withholds the certificate
    notes: tuple[str, ...]
    worst: tuple[dict[str, Any], ...]
    advice: dict[str, str] = field(default_factory=dict)  # arguments of `Study.switch` that would help

    @property
    def ok(self) -> bool:
        """Whether nothing speaks against the certificate."""
        return not self.problems

    def __str__(self) -> str:
        if self.freedom == 0:
            lines = ["The fit cannot be checked yet: no measurement was repeated."]
        else:
            low, high = self.expected
            lines = [
                f"Reduced chi-square {number(self.reduced)} on {counted(self.freedom, 'degree of freedom')} "
                f"(expected 1; {number(low)} to {number(high)} in 95 % of cases)."
            ]
        lines += [f"PROBLEM: {problem}" for problem in self.problems]
        lines += list(self.notes)
        if self.worst:
            lines.append("Largest residuals, in standard errors:")
            lines += [f"  {row['what']} {row['name']}: {row['residual']:+.1f}" for row in self.worst]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html("Check", str(self).splitlines(), good=self.ok)


def check_fit(analysis: Analysis) -> Check:
    """Everything that can be said from the measurements themselves."""
    columns, sigma = _checkable(analysis)
    same = columns is analysis.columns and sigma is analysis.sigmas.estimated
    sums = analysis.sums if same else analysis.pooled(columns, sigma)
    fit = analysis.estimates if same else analysis.fit(sums)
    squares = fit.squares(sums)
    freedom = columns.value.size - fit.rank
    advice: dict[str, str] = {}
    problems = [*analysis.sigmas.waiting]
    notes: list[str] = []
    reduced = p_value = math.nan
    expected = (math.nan, math.nan)
    worst: tuple[dict[str, Any], ...] = ()
    if freedom > 0:
        pooled = sum(pool.freedom for pool in analysis.sigmas.pools if pool.name != WITHOUT_ERROR_BARS)
        reduced = squares / freedom
        p_value, below, expected = _reference(reduced, freedom, pooled)
        worst = _worst(analysis, columns, sigma, sums.centre, fit.means, fit.offsets, sums.blocks)
        if p_value < SUSPICIOUS:
            advised = advise(analysis)
            advice = advised.switch if advised else {}
            problems.append(_misfit(analysis, reduced, columns, worst, advised))
        elif below < SUSPICIOUS and reduced < 0.5 and (columns.kind == KINDS.index(KNOWN)).mean() > 0.5:
            notes.append(_too_large(analysis, columns, reduced))
    if (name := unequal_scatter(columns, SUSPICIOUS / 10.0)) is not None:
        problems.append(
            f"the scatter within {name} differs from one measurement to the next by more than chance: name "
            "the instrument= of each, so that only equals are pooled"
        )
    if contradiction := _beyond_span(analysis):
        problems.append(contradiction)
    if outlier := unlike_the_others(analysis, SUSPICIOUS):
        problems.append(outlier)
    notes += sizes_in_words(analysis)
    return Check(reduced, freedom, p_value, expected, tuple(problems), tuple(notes), worst, advice)


def _checkable(analysis: Analysis) -> tuple[Columns, Floats]:
    """The measurements whose error bars can be judged, with those error bars."""
    columns, sigma = analysis.columns, analysis.sigmas.estimated
    without = columns.kind == KINDS.index(NONE)
    if (columns.kind == KINDS.index(COUNTS)).any():
        usual = usual_errors(columns, analysis.stated.estimated, analysis.n)
        sigma = np.where(without, sigma, np.hypot(usual, analysis.sizes.extra_scatter))
    if without.any():
        # Their common sigma was estimated from this very fit.
        columns, sigma = columns.select(~without), sigma[~without]
    return columns, sigma


def _reference(reduced: float, freedom: int, pooled: float) -> tuple[float, float, tuple[float, float]]:
    """Upper and lower tail of the reduced chi-square, and where it lies in 95 % of cases."""
    from scipy.special import chdtr, chdtrc, chdtri, fdtr, fdtrc, fdtri

    if pooled > 0:  # the scatter was estimated, too
        high, low = fdtri(freedom, pooled, 0.975), fdtri(freedom, pooled, 0.025)
        return fdtrc(freedom, pooled, reduced), fdtr(freedom, pooled, reduced), (float(low), float(high))
    squares = reduced * freedom
    low, high = chdtri(freedom, 0.975) / freedom, chdtri(freedom, 0.025) / freedom
    return float(chdtrc(freedom, squares)), float(chdtr(freedom, squares)), (float(low), float(high))


def _misfit(
    analysis: Analysis,
    reduced: float,
    columns: Columns,
    worst: tuple[dict[str, Any], ...],
    advice: Advice | None,
) -> str:
    model = analysis.state.model.model
    blame = "the linear model or the error bars are" if model == LINEAR else "the error bars are"
    if model == DEVIATION:
        blame = "the size of the deviations or the error bars are"
    fixes = ["give block= if days, plates or judges differ", "or use larger error bars"]
    if model != INDEPENDENT:
        fixes.insert(0, f'switch to model="{INDEPENDENT}", which assumes no features')
    text = f"reduced chi-square {number(reduced)} (expected 1): {blame} wrong"
    if worst:
        text += f", most of all for {worst[0]['what']} {worst[0]['name']}"
    variances = _like_variances(analysis, columns, advice.gain if advice else 0.0)
    advised = f"{advice.words[0].upper()}{advice.words[1:]}. Otherwise, " if advice else "To fix it, "
    return f"{text}. {variances}{advised}{'; '.join(fixes)}"


def _too_large(analysis: Analysis, columns: Columns, reduced: float) -> str:
    if variances := _like_variances(analysis, columns):
        return variances.strip()
    return (
        f"Reduced chi-square {number(reduced)}: your error bars look too large, like standard deviations "
        f"of single readings{_mean_of(reduced)}. If so, tell sd= with n=."
    )


def _mean_of(reduced: float) -> str:
    return f" where the value is the mean of about {round(1.0 / reduced)}" if reduced > 1e-3 else ""


def _like_variances(analysis: Analysis, columns: Columns, gain: float = 0.0) -> str:
    """A sentence if the square roots of the error bars fit much better than they do themselves.

    And hardly worse than what else was found to explain the misfit, which raises log L by ``gain`` with a
    number of its own, where square roots need none.
    """
    known = columns.select(columns.kind == KINDS.index(KNOWN))
    if known.value.size < 10 or np.ptp(np.log(known.sigma)) < 1e-9:
        return ""
    as_given, _ = _likelihood(analysis, known, known.sigma)
    as_variances, reduced = _likelihood(analysis, known, np.sqrt(known.sigma))
    if as_variances - as_given > max(6.0, gain - 20.0) and 1.0 / 3.0 < reduced < 3.0:
        return (
            "Your error bars look like variances: their square roots fit "
            f"(reduced chi-square {number(reduced)}). If they are, tell them as var=. "
        )
    return ""


def _likelihood(analysis: Analysis, columns: Columns, sigma: Floats) -> tuple[float, float]:
    sums = analysis.pooled(columns, sigma)
    fit = analysis.fit(sums)
    squares = fit.squares(sums)
    freedom = max(1, columns.value.size - fit.rank)
    return -float(np.log(sigma).sum()) - squares / 2.0, squares / freedom


def _worst(
    analysis: Analysis,
    columns: Columns,
    sigma: Floats,
    centre: float,
    means: Floats,
    offsets: Floats,
    blocks: list[str],
) -> tuple[dict[str, Any], ...]:
    """The measurements, options and blocks that fit worst."""
    block = block_places(columns, blocks)
    level = columns.minus < 0
    value = analysis.specification.sign * columns.value - np.where(level, centre, 0.0)
    fitted = means[columns.plus] - np.where(level, 0.0, means[columns.minus])
    residual = (value - fitted - np.where(level, offsets[block], 0.0)) / sigma
    ids = analysis.state.ids
    rows = [
        {"what": "measurement", "name": _name_of(analysis, columns, int(at)), "residual": residual[at]}
        for at in np.argpartition(-np.abs(residual), min(WORST, residual.size - 1))[:WORST]
    ]
    # An option (a block) whose residuals all point one way, as the linear model cannot follow it.
    for what, codes, names in (("option", columns.plus[level], ids), ("block", block[level], blocks)):
        count = np.bincount(codes, minlength=len(names))
        together = totals(codes, residual[level], len(names)) / np.sqrt(np.maximum(count, 1))
        at = int(np.argmax(np.abs(together)))
        known = what == "option" and analysis.state.model.model == DEVIATION  # see `standing_rows`
        if abs(together[at]) > 3.0 and names[at] and not known:
            rows.append({"what": what, "name": names[at], "residual": together[at]})
    sign = analysis.specification.sign
    signed = [{**row, "residual": sign * float(row["residual"])} for row in rows]
    signed = sorted([*signed, *standing_rows(analysis, 3.0)], key=lambda row: -abs(row["residual"]))
    return tuple(signed[:WORST])


def _name_of(analysis: Analysis, columns: Columns, at: int) -> str:
    ids, minus = analysis.state.ids, columns.minus[at]
    what = ids[columns.plus[at]] + (f" - {ids[minus]}" if minus >= 0 else "")
    return f"m-{columns.number[at]} of {what}"


def _beyond_span(analysis: Analysis) -> str | None:
    span = analysis.state.model.span
    fit = analysis.estimates
    measured = np.flatnonzero(fit.group >= 0)
    if span is None or measured.size < 2 or not analysis.columns.value.size:
        return None
    variances = fit.variances()
    low, high = fit.means + BEYOND * np.sqrt(variances), fit.means - BEYOND * np.sqrt(variances)
    top, bottom = measured[np.argmax(high[measured])], measured[np.argmin(low[measured])]
    if fit.group[top] != fit.group[bottom] or high[top] - low[bottom] <= span:
        return None
    names = analysis.state.ids
    return (
        f"`span` is {span:g}, but {names[top]} and {names[bottom]} differ by about "
        f"{number(fit.means[top] - fit.means[bottom])}: make the study with a larger span"
    )
