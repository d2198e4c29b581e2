"""Causes of a misfit: each is a hypothesis with a remedy, fitted to the measurements.

Causes are compared by D = -2·log L + penalty, L the restricted likelihood: options' values (weights, offsets
of blocks) are integrated out with a flat prior, the same for all causes.

- Leaving out measurement i is giving it an offset of its own. With a normal prior of the size that suits it
  best that costs ``log e² + 1 + 2·log N``, e the deleted residual, N as any of N may be the one. A slip is a
  prediction instead: ``y/c`` with the error bar of i, or with that divided by c as well.
- A common factor of all error bars and extra scatter cost log f for the fitted number, f the degrees of
  freedom (Schwarz). Variances told as standard errors have square roots that fit, and nothing is fitted.
- Offsets of what shares a label are fitted as blocks, and then have a normal prior of the size s that suits
  them best: ``k·(log s² + 1) + log f`` for k offsets. Without a label the order of telling is divided into
  runs by dynamic programming; each change may be anywhere, which costs 2·log N more.
"""

import functools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.core.text import counted, moment, number
from noisewise.study.certificates.check import Check, check_fit, checkable, name_of, standard_residuals, tails
from noisewise.study.log.measurements import KINDS, NO_BLOCK, Codes, Columns
from noisewise.study.log.model_choice import ESTIMATE, SIZES, facts_of, switched
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.fit import block_places
from noisewise.study.models.solver import DECIDES
from noisewise.study.models.variance_components import Remedy, scatter_of
from noisewise.study.telling.error_bars import KNOWN

#: The kinds of causes.
ROW, UNIT, VARIANCES, UNDERSTATED, OVERSTATED, SCATTER, DEVIATION, OFFSETS, ORDER = (
    "row", "unit", "variances", "understated", "overstated", "scatter", "deviation", "offsets", "order",
)  # fmt: skip
#: Degrees of freedom below which only rows are looked at, and error bars below which nothing is said of all.
FEW, FEW_BARS = 5, 10
#: The most rows that are blamed, as a number and a part of all, and the chance of a measurement that far off
#: below which it is suspected.
MOST_ROWS, MOST_PART, SUSPICIOUS_ROW = 8, 0.1, 0.01
#: Factors by which a value in another unit is off; per cent is the usual slip, and another one costs more.
UNITS = {
    100.0: "100 times", 0.01: "a hundredth of", 1000.0: "1000 times", 0.001: "a thousandth of",
    10.0: "ten times", 0.1: "a tenth of", -1.0: "minus",
}  # fmt: skip
UNUSUAL = 2.0 * math.log(5.0)
#: What measurements may have in common, as it is told, and how it is said.
LABELS = {
    "instrument": "Instruments differ by an offset: with the instrument as `block=`",
    "by": "Those who measured (`by=`) differ by an offset: with their names as `block=`",
    "note": "What has the same `note=` differs from the rest by an offset: with the note as `block=`",
    "key": "What has the same beginning of its `key=` differs from the rest by an offset: with that as "
    "`block=`",
    "day": "Days differ by an offset: with the day of at= as `block=`",
    "call": "What was recorded together differs from the rest by an offset: with one `block=` for each time",
}
#: Measurements in a run, runs at most as a part of the measurements, and places where a run may begin.
SHORTEST, MOST_RUNS, MOST_PLACES = 3, 0.25, 1500


@dataclass(frozen=True)
class Cause:
    """One hypothesis about what is wrong, fitted."""

    kind: str
    words: str  # what is wrong, and what to do
    deviance: float  # D
    reduced: float  # chi-square per degree of freedom if the remedy is followed; NaN if there is no freedom
    freedom: int
    chance: float  # of a chi-square at least as large then
    remedy: dict[str, Any]  # the same for programs: void, amend, block, switch or state
    rows: tuple[dict[str, Any], ...] = ()  # measurements to look at, worst first
    switch: dict[str, str] = field(default_factory=dict)  # arguments of `Study.switch`
    unsure: str | None = None  # the words if another cause is nearly as likely; None: the same

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        fit = {"reduced_chi_square": self.reduced, "freedom": self.freedom, "p_value": self.chance}
        return {
            "cause": self.kind,
            "words": self.words,
            "rows": [dict(row) for row in self.rows],
            "remedy": dict(self.remedy),
            "fit": fit if self.freedom > 0 else None,
        }


class Rest:
    """Measurements, fitted, and what happens without any one of them.

    Args:
        analysis: Whose model is fitted.
        columns: The measurements.
        sigma: Their standard errors, (N,).
        scatter: Whether no size is known yet, and only repeats tell how measurements scatter.
    """

    def __init__(self, analysis: Analysis, columns: Columns, sigma: Floats, *, scatter: bool = False) -> None:
        sign, sums = analysis.specification.sign, analysis.pooled(columns, sigma)
        fit = analysis.model.scatter_fit(sums) if scatter else analysis.fit(sums)
        self.columns, self.sigma, self.squares = columns, sigma, fit.squares(sums)
        self.freedom, self.parts = columns.value.size - fit.rank, fit.group[columns.plus]
        level, block = columns.minus < 0, block_places(columns, sums.blocks)
        self.offsets = np.where(level, sign * fit.offsets[block], 0.0)
        self.residuals = sign * sigma * standard_residuals(analysis, columns, sigma, sums, fit)
        self._fit, self._sums = fit, sums

    @functools.cached_property
    def kept(self) -> Floats:
        """The part of each error that is left in the residual: 0 where nothing else says the same, (N,)."""
        variances = self._fit.variances_of_rows(self._sums)[self._sums.row_of(self.columns)]
        kept = 1.0 - variances / self.sigma**2
        return np.where(kept > 1.0 - DECIDES, kept, 0.0)

    @functools.cached_property
    def falls(self) -> Floats:
        """By how much chi-square falls without each measurement, (N,)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.kept > 0.0, (self.residuals / self.sigma) ** 2 / self.kept, 0.0)

    @property
    def reduced(self) -> float:
        """Chi-square per degree of freedom."""
        return self.squares / self.freedom if self.freedom > 0 else math.nan

    @property
    def words(self) -> str:
        """What the fit is, for the end of a sentence."""
        return f"the reduced chi-square is {number(self.reduced)}" if self.freedom > 0 else "all fits"

    def suspect(self, unit: float = 1.0, *, with_error: bool = True, logs: bool = False) -> "Suspect":
        """The measurement that lies furthest from what the others say.

        Args:
            unit: By how much all squared standard errors are too small.
            with_error: Whether it came with an error bar, which may have the same slip as its value.
            logs: Whether values are logarithms.
        """
        order = np.argsort(-np.abs(self.residuals / self.sigma), kind="stable")
        largest = float(self.falls.max())
        at = int(order[np.argmax(self.falls[order] >= (1.0 - 1e-9) * largest)])
        alike = [k for k in order[self.falls[order] >= largest - unit].tolist() if k != at]
        kept, residual = float(self.kept[at]), float(self.residuals[at])
        sigma, known = float(self.sigma[at]) * math.sqrt(unit), kept > 1e-6 and not alike
        away = residual / kept if kept else math.inf
        expected = float(self.columns.value[at]) - away if known else math.nan
        cost = math.log(max(away * away, 1e-300)) + 1.0 if math.isfinite(away) else 0.0
        found = Suspect(at, self.columns, (at, *alike), math.sqrt(largest / unit), expected, cost)
        of_others = sigma**2 * (1.0 - kept) / kept if known else math.inf
        return slipped(found, sigma, of_others, with_error=with_error, logs=logs) if known else found


class Judged:
    """The measurements of an analysis that can be judged, fitted with other rows, error bars and blocks."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self.columns, self.sigma = checkable(analysis)
        kept = np.isin(analysis.columns.number, self.columns.number, assume_unique=True)
        self.bare: Floats = analysis.stated.estimated[kept]  # without extra scatter
        self.known = self.columns.kind == KINDS.index(KNOWN)
        self.logs = analysis.specification.value_scale.log

    @functools.cached_property
    def rest(self) -> Rest:
        """All of them, as they are."""
        return self.fitted(self.columns, self.sigma)

    @functools.cached_property
    def deviance(self) -> float:
        """-2·log L of the measurements as they are."""
        return self.deviance_of(self.columns, self.bare)

    def fitted(self, columns: Columns, sigma: Floats) -> Rest:
        """The model of the study, fitted to these."""
        return Rest(self.analysis, columns, sigma)

    def deviance_of(self, columns: Columns, bare: Floats, extra: float | None = None) -> float:
        """-2·log L of other measurements, error bars or extra scatter, the model as it is."""
        sizes = self.analysis.sizes
        found = self.analysis.likelihood(columns, bare)
        return found(sizes.deviation, sizes.extra_scatter if extra is None else extra)

    def cause(self, kind: str, words: str, deviance: float, rest: Rest, remedy: Any, **more: Any) -> Cause:
        """A cause whose remedy leads to this fit."""
        chance = tails(self.analysis, rest.reduced, rest.freedom)[0] if rest.freedom > 0 else 1.0
        return Cause(kind, words, deviance, rest.reduced, rest.freedom, chance, remedy, **more)

    def told(self, name: str) -> list[Any]:
        """What was told under this name with each measurement, None where nothing was."""
        column = self.analysis.state.told.column(name)
        return [column[number - 1] for number in self.columns.number.tolist()]


def row_of(analysis: Analysis, columns: Columns, at: int) -> dict[str, Any]:
    """A measurement for programs, by its place."""
    place, ids, minus = int(columns.number[at]), analysis.state.ids, int(columns.minus[at])
    told = analysis.state.told[place - 1]
    return {
        "measurement": f"m-{place}",
        "key": told.get("key"),
        "row": told.get("row"),
        "option": ids[columns.plus[at]],
        "minus": ids[minus] if minus >= 0 else None,
        "block": told.get("block"),
        "value": float(analysis.specification.value_scale.undone(columns.value[at])),
    }


# Single measurements.


class Suspect(NamedTuple):
    """One measurement that is left out."""

    at: int  # its place in the columns it was found in
    columns: Columns
    alike: tuple[int, ...]  # places of all that are as bad
    far: float  # standard errors from what the others say
    expected: float  # what they say; NaN if nothing
    deviance: float  # what an offset of its own costs, or its slip if that is less
    slip: float | None = None  # by which factor its value is off, if that explains it better
    slips_with_error: bool = False  # whether the error bar is off by the same factor


def wrong_rows(judged: Judged) -> Cause | None:
    """The one measurement, or the few, that explain the misfit best; None if none stands out."""
    rest, bare, count = judged.rest, judged.bare, judged.sigma.size
    suspects: list[Suspect] = []
    best: tuple[float, int, Rest] | None = None
    for _ in range(min(MOST_ROWS, max(1, int(MOST_PART * count)), rest.freedom)):
        # A very precise row draws the fit to itself: what counts is how chi-square falls without it.
        far = float(rest.falls.max()) if np.isfinite(rest.falls).all() else 0.0
        if rest.freedom <= 0 or far <= 0.0 or math.erfc(math.sqrt(far / 2.0)) * count >= SUSPICIOUS_ROW:
            break
        suspects.append(rest.suspect(logs=judged.logs))
        others = np.arange(rest.sigma.size) != suspects[-1].at
        bare, rest = bare[others], judged.fitted(rest.columns.select(others), rest.sigma[others])
        deviance = judged.deviance_of(rest.columns, bare) + sum(one.deviance for one in suspects)
        deviance += 2.0 * len(suspects) * math.log(count)
        if best is None or deviance < best[0]:
            best = deviance, len(suspects), rest
    return None if best is None else _row_cause(judged, suspects[: best[1]], best[2], best[0])


def slipped(found: Suspect, sigma: float, of_others: float, *, with_error: bool, logs: bool) -> Suspect:
    """With the slip of the unit that explains it best, if any does better than an offset of its own.

    Args:
        found: The measurement.
        sigma: Its standard error.
        of_others: The variance of what the others say of it.
        with_error: Whether its error bar may be off by the same factor: it was told with one.
        logs: Whether values are logarithms: then a factor is a known offset, and se/value is what enters.
    """
    value = float(found.columns.value[found.at])
    if not logs and not (found.expected and value):
        return found
    for factor in UNITS:
        for both in (False, True) if factor > 0.0 and with_error else (False,):
            if logs and factor < 0.0:
                continue
            if logs:
                size = sigma * factor if with_error and not both else sigma
                away, jacobian = value - math.log(factor) - found.expected, 0.0
            else:
                size = sigma / factor if both else sigma
                away, jacobian = value / factor - found.expected, 2.0 * math.log(abs(factor))
            variance = size**2 + of_others
            cost = math.log(variance) + away * away / variance + jacobian + 2.0 * math.log(2.0)
            cost += 0.0 if factor in (100.0, 0.01) else UNUSUAL
            if cost < found.deviance:
                found = found._replace(deviance=cost, slip=factor, slips_with_error=both)
    return found


def _row_cause(judged: Judged, suspects: list[Suspect], rest: Rest, deviance: float) -> Cause:
    """What to look at, in words and for programs."""
    analysis, first, alone = judged.analysis, suspects[0], len(suspects) == 1
    sentences = [sentence_about(analysis, one) for one in suspects]
    remedy: dict[str, Any] = {"void": [f"m-{one.columns.number[one.at]}" for one in suspects]}
    without = "them"
    if alone:
        without = name_of(analysis, first.columns, first.at).rsplit(" of ", 1)[0]
        without = "one of them" if len(first.alike) > 1 else without
    fits, kind = rest, ROW
    if alone and first.slip is not None:
        kind, (fits, remedy) = UNIT, _corrected(judged, first)
        meant = analysis.specification.value_scale.told(float(fits.columns.value[first.at]))
        left = f"it is {number(rest.reduced)}" if rest.freedom > 0 else "all fits"
        sentences.append(f"With {meant} in its place {fits.words}; without {without} {left}.")
        sentences.append("Amend it, or void it, before anything else.")
    else:
        was = f" (it is {number(judged.rest.reduced)} with {'it' if alone else 'them'})"
        was = was if rest.freedom > 0 and without != "one of them" else ""
        sentences.append(
            f"Without {without} {rest.words}{was}: void or amend what is wrong before anything else."
        )
    if analysis.model.if_nothing_is_wrong:
        sentences.append(analysis.model.if_nothing_is_wrong)
    rows = tuple(row_of(analysis, one.columns, at) for one in suspects for at in one.alike)
    return judged.cause(kind, " ".join(sentences), deviance, fits, remedy, rows=rows)


def _corrected(judged: Judged, one: Suspect) -> tuple[Rest, dict[str, Any]]:
    """The fit with the value that was probably meant, and the correction."""
    slip, both = one.slip or 1.0, one.slips_with_error
    value, sigma = judged.columns.value.copy(), judged.sigma.copy()
    told = float(judged.analysis.specification.value_scale.undone(value[one.at]))
    value[one.at] = value[one.at] - math.log(slip) if judged.logs else value[one.at] / slip
    if judged.logs:
        sigma[one.at] *= 1.0 if both else slip
    else:
        sigma[one.at] /= slip if both else 1.0
    change: dict[str, Any] = {"measurement": f"m-{one.columns.number[one.at]}", "value": told / slip}
    if both:
        change["se"] = float(judged.bare[one.at]) * (told if judged.logs else 1.0) / slip
    return judged.fitted(judged.columns._replace(value=value), sigma), {"amend": [change]}


def sentence_about(analysis: Analysis, one: Suspect) -> str:
    """Where to look, how far it is off, and whether a unit may be to blame."""
    names = [name_of(analysis, one.columns, at) for at in sorted(one.alike)]
    if len(names) > 1:
        return f"Look first at {' and '.join(names)}: they disagree by {number(one.far)} standard errors."
    said = f"Look first at {names[0]}: it lies {number(one.far)} standard errors from what the others say"
    if math.isnan(one.expected):
        return f"{said}."
    scale = analysis.specification.value_scale
    seen, expected = scale.told(float(one.columns.value[one.at])), scale.told(one.expected)
    said += f" ({seen}, where they say {expected})."
    if one.slip is None:
        return said
    doubted = {-1.0: "sign", 10.0: "decimal point", 0.1: "decimal point"}.get(one.slip, "unit")
    doubted += " (per cent?)" if one.slip in (100.0, 0.01) else ""
    both = ", error bar and all" if one.slips_with_error else ""
    return f"{said} That is {UNITS[one.slip]} what was expected{both}: is its {doubted} right?"


# All error bars.


def variances(judged: Judged) -> Cause | None:
    """Error bars that are the squares of standard errors."""
    if judged.known.sum() < FEW_BARS or judged.rest.freedom < FEW:
        return None
    scale = judged.analysis.specification.value_scale
    unit = scale.undone(judged.columns.value) if judged.logs else 1.0  # told in the unit of the values
    bare = np.where(judged.known, np.sqrt(judged.bare * unit) / unit, judged.bare)
    if not (np.isfinite(bare).all() and (bare > 0.0).all()):
        return None
    rest = _with_errors(judged, bare)
    fit = f"(reduced chi-square {number(rest.reduced)})"
    return judged.cause(
        VARIANCES,
        f"Your error bars look like variances: their square roots fit {fit}. If they are, tell them as "
        "`var=`.",
        judged.deviance_of(judged.columns, bare), rest, {"amend": "all", "se": "told as var"},
        unsure=f"If the error bars were variances, their square roots would fit as well {fit}. If they are, "
        "tell them as `var=`.",
    )  # fmt: skip


def common_factor(judged: Judged) -> Cause | None:
    """All error bars too small, or too large, by one factor."""
    whole, sizes = judged.rest, judged.analysis.sizes
    if not judged.known.any() or whole.freedom < FEW or not 0.0 < whole.squares < math.inf:
        return None
    guess = 0.5 * math.log(min(max(whole.reduced, 1e-12), 1e12))

    def bars(log: float) -> Floats:
        return np.where(judged.known, math.exp(log) * judged.bare, judged.bare)

    if judged.known.all() and sizes.extra_scatter == sizes.deviation == 0.0:
        log, deviance = guess, judged.deviance - whole.squares + whole.freedom * (1.0 + 2.0 * guess)
    else:
        ends = min(0.0, guess) - 1.0, max(0.0, guess) + 1.0
        log, deviance = _least(lambda at: judged.deviance_of(judged.columns, bars(at)), *ends)
    rest, factor = _with_errors(judged, bars(log)), math.exp(log)
    fit, times = f"Then the reduced chi-square is {number(rest.reduced)}.", number(factor, 2)
    kind, words = UNDERSTATED, (
        f"All error bars look too small by a factor of about {times}: tell them {times} times as large, if "
        f"you know why. {fit}"
    )  # fmt: skip
    if factor < 1.0:
        mean = f" where the value is the mean of about {round(factor**-2.0)}" if factor > 0.03 else ""
        kind, words = OVERSTATED, (
            f"Reduced chi-square {number(whole.reduced)}: your error bars look too large, like standard "
            f"deviations of single readings{mean}. If so, tell `sd=` with `n=`. {fit}"
        )  # fmt: skip
    deviance += math.log(whole.freedom)
    return judged.cause(kind, words, deviance, rest, {"amend": "all", "se_times": factor})


def _with_errors(judged: Judged, bare: Floats) -> Rest:
    """All of them with other error bars, to which the extra scatter is added as before."""
    return judged.fitted(judged.columns, judged.columns.widened(bare, judged.analysis.sizes.extra_scatter))


def _least(function: Any, low: float, high: float) -> tuple[float, float]:
    """Where a function of one number is least, to a hundredth, and how little: ever finer grids."""
    while True:
        grid = np.linspace(low, high, 11)
        values = [function(float(at)) for at in grid]
        at, step = int(np.argmin(values)), float(grid[1] - grid[0])
        if step < 0.02:
            return float(grid[at]), float(values[at])
        low, high = float(grid[at]) - step, float(grid[at]) + step


def wrong_sizes(judged: Judged) -> Cause | None:
    """Extra scatter, deviations, or what else the model itself suggests; None if that is nothing."""
    analysis, sizes = judged.analysis, judged.analysis.sizes
    if judged.rest.freedom < FEW:
        return None
    if analysis.state.features is None:
        if analysis.state.model.extra_scatter == ESTIMATE:
            return None
        usual = float(np.median(judged.bare))
        most = max(float(np.ptp(judged.columns.value)), 10.0 * usual)
        log, least = _least(
            lambda at: judged.deviance_of(judged.columns, judged.bare, math.exp(at)),
            math.log(0.03 * usual), math.log(most),
        )  # fmt: skip
        return _tried(judged, scatter_of(0.0, math.exp(log)), least + math.log(judged.rest.freedom))
    likelihood = analysis.likelihood(judged.columns, judged.bare)
    found = analysis.model.remedy(likelihood, sizes, analysis.sums) if likelihood.measurements else None
    if found is None:
        return None
    gain = likelihood(sizes.deviation, sizes.extra_scatter) - likelihood(*found.sizes)
    model = found.switch.get("model")
    numbers = 1 if model is not None and not facts_of(model).uses_features else len(found.switch)
    deviance = judged.deviance - gain + numbers * math.log(judged.rest.freedom)
    return _tried(judged, found, deviance) if gain > 0.0 else None


def _tried(judged: Judged, found: Remedy, deviance: float) -> Cause | None:
    """A switch that was tried on a copy; None if the certificate would be withheld all the same.

    Where too little was measured to estimate a size, it can only be stated.
    """
    scale, why = judged.analysis.specification.value_scale, f"{found.why[0].upper()}{found.why[1:]}"
    after, switch = check_after(judged.analysis, found.switch), dict(found.switch)
    words, remedy = f"{why}: switch to {found.in_words(scale)}", {"switch": switch}
    if not after.ok:
        lacking, after = after.problems[0], check_after(judged.analysis, found.stated)
        if not after.ok:
            return None
        numbers = {name: size for name, size in found.stated.items() if name in SIZES}
        stated = " and ".join(f"`{name}={scale.error(size)}`" for name, size in numbers.items())
        words = (
            f"{why}; but {lacking}. These measurements look like {stated}: a number that is stated for that "
            "reason makes the confidence approximate"
        )
        switch, remedy = {}, {"state": found.stated}
    kind = SCATTER if set(found.switch) == {"extra_scatter"} else DEVIATION
    words += f". Then the reduced chi-square is {number(after.reduced)}."
    return Cause(kind, words, deviance, after.reduced, after.freedom, after.p_value, remedy, switch=switch)


def check_after(analysis: Analysis, switch: Mapping[str, Any]) -> Check:
    """What the check would say if the model were switched."""
    state, given = analysis.state, (switch.get(name) for name in ("model", "deviation", "extra_scatter"))
    model, deviation, extra_scatter = given
    changed = switched(state.model, model, deviation, extra_scatter, True)
    return check_fit(Analysis(state.with_model(changed)))


# Offsets.


def labelled_offsets(judged: Judged) -> list[Cause]:
    """Offsets of everything that was told with the measurements, and is not a block yet."""
    candidates = {what: codes for what, codes in labels_of(judged).items() if _adds(judged.columns, codes)}
    found = []
    for what, codes in candidates.items():
        if (grouped := _grouped(judged, codes)) is None:
            continue
        rest, deviance = grouped
        deviance += 2.0 * math.log(len(candidates))
        inside = ", within the blocks that there are," if _has_blocks(judged.columns) else ""
        as_well = " as well" if what in ("instrument", "by", "note", "key") else ""
        words = f"{LABELS[what]}{inside} {rest.words}. Tell it as `block={as_well}`."
        found.append(judged.cause(OFFSETS, words, deviance, rest, {"block": what}))
    return found


def labels_of(judged: Judged) -> dict[str, Codes]:
    """Codes of what measurements have in common, by name."""
    texts = {name: [str(one or "") for one in judged.told(name)] for name in ("instrument", "by", "note")}
    texts["key"] = [_stem(str(one or "")) for one in judged.told("key")]
    texts["day"] = [moment(float(at)).date().isoformat() if at else "" for at in judged.told("at")]
    codes: dict[str, Codes] = {what: np.unique(own, return_inverse=True)[1] for what, own in texts.items()}
    if judged.columns.moment is not None:
        codes["call"] = np.unique(judged.columns.moment, return_inverse=True)[1]
    return codes


def _stem(key: str) -> str:
    """What a key has before its last part or its last number."""
    return re.sub(r"[^/:_. -]*$", "", key) if re.search(r"[/:_. -]", key) else re.sub(r"\d+$", "", key)


def _has_blocks(columns: Columns) -> bool:
    return any(columns.blocks[code] != NO_BLOCK for code in np.unique(columns.block))


def _adds(columns: Columns, codes: Codes) -> bool:
    """Whether these groups are few, and not the blocks that there are, or coarser."""
    level = columns.minus < 0
    if not 2 <= np.unique(codes[level]).size <= 0.5 * level.sum():
        return False
    return np.unique(_crossed(columns, codes)[level]).size > np.unique(columns.block[level]).size


def _crossed(columns: Columns, codes: Codes) -> Codes:
    """Blocks divided further."""
    both = columns.block * (1 + int(codes.max())) + codes
    return np.asarray(np.unique(both, return_inverse=True)[1], dtype=np.int64)


def _grouped(judged: Judged, codes: Codes) -> tuple[Rest, float] | None:
    """The fit with blocks divided by these groups, and its D; None if it leaves too little to be judged."""
    crossed = _crossed(judged.columns, codes)
    # A group's name is its number: sorted as text, as blocks are.
    names = [NO_BLOCK, *(f"{k:09d}" for k in range(1 + int(crossed.max())))]
    columns = judged.columns._replace(block=crossed + 1, blocks=names)
    rest = judged.fitted(columns, judged.sigma)
    more = judged.rest.freedom - rest.freedom
    if rest.freedom < FEW or more < 1:
        return None
    # The mean square of the offsets around those of the blocks there were before.
    level = np.flatnonzero(columns.minus < 0)
    _, first, of_row = np.unique(columns.block[level], return_index=True, return_inverse=True)
    before = judged.columns.block[level][first] * (2 + int(rest.parts.max())) + rest.parts[level][first]
    before = np.unique(before, return_inverse=True)[1]
    offset, weight = rest.offsets[level][first], np.bincount(of_row, weights=judged.sigma[level] ** -2.0)
    mean = np.bincount(before, weights=weight * offset) / np.bincount(before, weights=weight)
    least = 0.01 * float(np.median(judged.sigma)) ** 2
    spread = max(float(np.sum((offset - mean[before]) ** 2)) / more, least)
    deviance = judged.deviance_of(columns, judged.bare) + more * (math.log(spread) + 1.0)
    return rest, deviance + math.log(rest.freedom)


def offsets_in_order(judged: Judged) -> Cause | None:
    """Offsets that change as time goes on, in the order of telling."""
    level = np.flatnonzero(judged.columns.minus < 0)
    order = level[np.argsort(judged.columns.number[level])]
    left, best = judged.rest.residuals[order], None
    for _ in range(3 if order.size >= 4 * FEW else 0):  # estimates depend on offsets, and these on estimates
        starts = _runs(left, judged.sigma[order])
        if starts.size < 2 or starts.size > MOST_RUNS * order.size:
            break
        codes = np.zeros(judged.sigma.size, dtype=np.int64)
        codes[order] = np.searchsorted(starts, np.arange(order.size), side="right") - 1
        if not _adds(judged.columns, codes) or (grouped := _grouped(judged, codes)) is None:
            break
        deviance = grouped[1] + 2.0 * (starts.size - 1) * math.log(order.size)
        if best is not None and deviance >= best[0]:
            break
        best = deviance, grouped[0], order[starts[1:]]
        left = (grouped[0].residuals + grouped[0].offsets)[order]
    if best is None:
        return None
    deviance, rest, first = best
    names = [name_of(judged.analysis, judged.columns, int(at)).rsplit(" of ", 1)[0] for at in first[:4]]
    more = f" and {len(first) - 4} more" if len(first) > 4 else ""
    way_out = ": conditions changed as time went on. Give `block=`, such as the day or the batch."
    if _has_blocks(judged.columns):
        way_out = ": conditions changed within your blocks as time went on; make the blocks shorter."
    return judged.cause(
        ORDER,
        f"Measurements that follow each other agree, with {counted(len(first), 'change')}: from "
        f"{', '.join(names)}{more} on. With a `block=` for each run {rest.words}{way_out}",
        deviance, rest, {"block": "runs", "from": [int(judged.columns.number[at]) for at in first]},
        rows=tuple(row_of(judged.analysis, judged.columns, int(at)) for at in first[:4]),
    )  # fmt: skip


def _runs(values: Floats, sigma: Floats) -> Codes:
    """Where runs of one offset each begin, the first at 0: the division with the largest likelihood.

    A run of weight W with offset b costs its squares around b, ``log(W·s²) + 1`` for an offset of size s, and
    2·log N for where it begins.
    """
    step = math.ceil(values.size / MOST_PLACES)  # of very many measurements runs begin at some only
    places, unit = np.arange(0, values.size, step), float(np.median(sigma))
    weight, scaled = (sigma / unit) ** -2.0, values / unit
    total = np.concatenate([[0.0], np.cumsum(np.add.reduceat(weight, places))])
    first = np.concatenate([[0.0], np.cumsum(np.add.reduceat(weight * scaled, places))])
    # One wrong value must not set the size of all offsets.
    size = max(1.0, float(np.quantile(np.abs(scaled), 0.7)) ** 2)
    each = 1.0 + math.log(size) + 2.0 * math.log(values.size)
    count, shortest = places.size, SHORTEST if step == 1 else 1
    best = np.full(count + 1, np.inf)
    best[0] = -each
    came_from = np.zeros(count + 1, dtype=np.int64)
    for end in range(shortest, count + 1):
        inside = total[end] - total[: end - shortest + 1]
        sums = first[end] - first[: end - shortest + 1]
        cost = best[: end - shortest + 1] - sums * sums / inside + np.log(inside)
        at = int(np.argmin(cost))
        best[end], came_from[end] = cost[at] + each, at
    starts, end = [], count
    while end > 0:
        end = int(came_from[end])
        starts.append(int(places[end]))
    return np.array(starts[::-1], dtype=np.int64)
