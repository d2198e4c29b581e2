"""What to do about a problem of the check, the likeliest cause first: rows, units, blocks, then structure.

None of this is needed for a certificate or a suggestion, and it takes longer than both: only `Study.check`
and the report ask. Single measurements come first, since one wrong row looks like extra scatter everywhere;
then error bars that are variances, then conditions that changed from block to block, then the sizes of
`noisewise.study.certificate.advice`.
"""

import math
from dataclasses import replace

import numpy as np

from noisewise.core.choice.selection import Mask
from noisewise.core.model.dense import Floats
from noisewise.core.support.words import counted, number
from noisewise.study.certificate.advice import advise
from noisewise.study.certificate.check import (
    SUSPICIOUS,
    UNEQUAL,
    Check,
    checkable,
    name_of,
    standard_residuals,
    tails,
)
from noisewise.study.certificate.outliers import find_outliers, fit_rest
from noisewise.study.inputs.error_bars import KNOWN, READINGS
from noisewise.study.log.measurements import KINDS, NO_BLOCK, Columns
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.networks.independent_fit import fit_independent
from noisewise.study.models.own_readings import LEAST, is_linked, own_rows
from noisewise.study.models.remedies import Remedy
from noisewise.study.models.scatter import LEAST_FREEDOM, chance_of_equal_scatter, unequal_scatter

#: By how much log L must be larger before error bars are taken for variances: than as given, than otherwise.
#: Down to `EVEN` of the latter they fit as well, having no number that was fitted.
MUCH, SOME, EVEN = 6.0, 1.0, -2.0
#: Neighbours in the order of telling are a run if they agree by this many standard errors more than chance.
RUNS = 3.0
#: Degrees of freedom below which nothing is said about blocks or error bars that look too large.
FEW = 5
#: A reduced chi-square below this makes error bars look too large.
TOO_LARGE = 0.5
#: The chance above which options are said to scatter alike, and readings of an option beyond which that gains
#: nothing.
ALIKE, MANY = 0.2, 12


def explain(analysis: Analysis, check: Check) -> Check:
    """The same check with what to do about its problems."""
    columns, sigma = checkable(analysis)
    remedies: list[str] = []
    notes = list(check.notes)
    advice: dict[str, str] = {}
    if check.freedom > 0 and check.p_value < SUSPICIOUS:
        found, advice = _about_misfit(analysis, columns, sigma)
        remedies += found
    elif check.freedom > 0 and tails(analysis, check.reduced, check.freedom)[1] < SUSPICIOUS:
        notes = [*_about_too_large(analysis, columns, check.reduced), *notes]
    if (pool := unequal_scatter(columns, UNEQUAL)) is not None:
        remedies.append(_about_scatter(analysis, columns, pool))
    notes += _about_own(analysis)
    return replace(check, remedies=tuple(remedies), notes=tuple(notes), advice=advice, explained=True)


def _about_misfit(analysis: Analysis, columns: Columns, sigma: Floats) -> tuple[list[str], dict[str, str]]:
    """What to do about a chi-square that is too large, and the same as arguments of `Study.switch`."""
    if blamed := find_outliers(analysis, columns, sigma):
        return [blamed.words], {}
    found = advise(analysis)
    variances, likely = _variances(analysis, columns, found)
    blocks = _blocks(analysis, columns, sigma)
    # What a person can look up in a moment comes before what changes the model.
    first = [said for said in (variances, blocks) if said]
    sure = bool(blocks or (variances and likely))
    fixes = []
    if analysis.model.way_out:
        fixes.append(analysis.model.way_out)
    if not _named(columns):
        fixes.append("give block= if days, plates or judges differ")
    fixes.append("use larger error bars")
    otherwise = "; or ".join(fixes)
    if found:
        said = f"{found.words[0].upper()}{found.words[1:]}."
        return [*first, said, f"Otherwise, {otherwise}."], {} if sure else found.switch
    return [*first, f"{'Otherwise' if first else 'To fix it'}, {otherwise}."], {}


def _named(columns: Columns) -> bool:
    """Whether blocks were given."""
    return any(columns.blocks[code] != NO_BLOCK for code in np.unique(columns.block))


def _variances(analysis: Analysis, columns: Columns, found: Remedy | None = None) -> tuple[str | None, bool]:
    """A sentence if the square roots of the error bars explain the residuals; whether better than all else.

    Better than the error bars as they are, than any multiple of them, and than what was found besides. All
    are restricted likelihoods, so that neither many options nor a number that is fitted has an advantage.
    """
    known = columns.select(columns.kind == KINDS.index(KNOWN))
    if known.value.size < 10 or np.ptp(np.log(known.sigma)) < 1e-9:
        return None, False
    roots = np.sqrt(known.sigma)
    rest = fit_rest(analysis, known, roots)
    as_given = fit_rest(analysis, known, known.sigma)
    if rest.freedom < FEW or not 0.0 < as_given.squares < math.inf:
        return None, False
    upper, lower, _ = tails(analysis, rest.squares / rest.freedom, rest.freedom)
    if min(upper, lower) < SUSPICIOUS / 10.0:
        return None, False
    scale = math.sqrt(as_given.squares / as_given.freedom)
    given = _restricted(analysis, known, known.sigma)
    others = [_restricted(analysis, known, scale * known.sigma), given + (found.gain if found else 0.0)]
    likely = _restricted(analysis, known, roots)
    if likely - given < MUCH or likely - max(others) < EVEN:
        return None, False
    fit = f"(reduced chi-square {number(rest.squares / rest.freedom)}). If they are, tell them as var=."
    if likely - max(others) < SOME:
        return f"If the error bars were variances, their square roots would fit as well {fit}", False
    return f"Your error bars look like variances: their square roots fit {fit}", True


def _restricted(analysis: Analysis, columns: Columns, sigma: Floats) -> float:
    """The restricted log-likelihood of error bars."""
    sizes, likelihood = analysis.sizes, analysis.likelihood(columns, sigma)
    return -0.5 * likelihood(sizes.deviation, sizes.extra_scatter)


def _blocks(analysis: Analysis, columns: Columns, sigma: Floats) -> str | None:
    """A sentence if measurements agree with their neighbours, or within an instrument, beyond chance."""
    told = analysis.state.told
    for what in ("instrument", "by"):
        labels = [str(told[number - 1].get(what) or NO_BLOCK) for number in columns.number]
        names = sorted(set(labels))
        if len(names) < 2 or _named(columns):
            continue
        codes = np.array([names.index(label) for label in labels], dtype=np.int64)
        rest = fit_rest(analysis, columns._replace(block=codes, blocks=names), sigma)
        if (
            rest.freedom >= FEW
            and tails(analysis, rest.squares / rest.freedom, rest.freedom)[0] >= SUSPICIOUS
        ):
            sources = "Instruments" if what == "instrument" else "Those who measured (by=)"
            return (
                f"{sources} differ by an offset: with the {what} as block= the reduced "
                f"chi-square is {number(rest.squares / rest.freedom)}. Tell it as block= as well."
            )
    if (agreement := _agreement(analysis, columns, sigma)) is None:
        return None
    said = f"What was told one after the other agrees (correlation {number(agreement, 2)} of the residuals)"
    if _named(columns):
        return f"{said}: conditions changed within your blocks as time went on; make the blocks shorter."
    return f"{said}: conditions changed as time went on. Give block=, such as the day or the batch."


def _agreement(analysis: Analysis, columns: Columns, sigma: Floats) -> float | None:
    """The correlation of neighbours in the order of telling, whatever the options' values, if it is large.

    In the independent model, where residuals of one option sum to 0: features that miss something would make
    all residuals of an option alike, in whichever order it was told.
    """
    sums = analysis.pooled(columns, sigma)
    fit = fit_independent(analysis.n, sums)
    freedom = columns.value.size - fit.rank
    if freedom < 4 * FEW or tails(analysis, fit.squares(sums) / freedom, freedom)[0] >= SUSPICIOUS:
        return None  # repeats agree: whatever is wrong is not a matter of time
    residuals = standard_residuals(analysis, columns, sigma, sums, fit)[np.argsort(columns.number)]
    # Ranks: one wrong measurement must not speak for all.
    ranks = np.argsort(np.argsort(residuals)) - 0.5 * (residuals.size - 1)
    total = float(ranks @ ranks)
    correlation = float(ranks[:-1] @ ranks[1:]) / total if total else 0.0
    return correlation if correlation * math.sqrt(residuals.size) > RUNS else None


def _about_too_large(analysis: Analysis, columns: Columns, reduced: float) -> list[str]:
    """Notes about a chi-square that is too small; it makes no certificate false."""
    known = columns.kind == KINDS.index(KNOWN)
    if not known.mean() > 0.5:
        return []
    variances, likely = _variances(analysis, columns)
    if variances and likely:
        return [variances]
    if reduced >= TOO_LARGE:
        return []
    if copies := _copies(columns.select(known)):
        return [
            f"Reduced chi-square {number(reduced)}: {counted(copies, 'measurement')} repeat another one to "
            "the last digit. Were they told twice? Each counts."
        ]
    mean = f" where the value is the mean of about {round(1.0 / reduced)}" if reduced > 1e-3 else ""
    too_large = (
        f"Reduced chi-square {number(reduced)}: your error bars look too large, like standard deviations of "
        f"single readings{mean}. If so, tell sd= with n=."
    )
    return [too_large, *([variances] if variances else [])]


def _copies(columns: Columns) -> int:
    """How many measurements repeat another one exactly, if most repeats do; else 0."""
    rows = np.column_stack([columns.plus, columns.minus, columns.block, columns.value, columns.sigma])
    distinct = np.unique(rows, axis=0).shape[0]
    probes = np.unique(rows[:, :3], axis=0).shape[0]
    copies, repeats = rows.shape[0] - distinct, rows.shape[0] - probes
    return copies if copies > 0.5 * repeats else 0


def _about_scatter(analysis: Analysis, columns: Columns, pool: int) -> str:
    """Where the scatter of readings differs, and what to do so that only equals are pooled."""
    members = (columns.kind == KINDS.index(READINGS)) & (columns.pool == pool)
    name = columns.pools[pool]
    for what, codes, names in (
        ("option", columns.plus, analysis.state.ids),
        ("block", columns.block, columns.blocks),
    ):
        groups: dict[int, Mask] = {int(code): members & (codes == code) for code in np.unique(codes[members])}
        if len(groups) < 2 or chance_of_equal_scatter(columns, groups.values()) < SUSPICIOUS:
            continue
        spread = {code: _scatter(columns, group) for code, group in groups.items()}
        most, least = max(spread, key=lambda k: spread[k]), min(spread, key=lambda k: spread[k])
        return (
            f"Within {name} the scatter differs between {what}s: single readings of "
            f"{names[most] or 'no block'} scatter by {number(spread[most])}, those of "
            f"{names[least] or 'no block'} by {number(spread[least])}. Give the readings of each {what} an "
            "instrument= of its own, so that only equals are pooled, or take logarithms of all values if "
            f"large ones scatter more.{_make_it_own(analysis) if what == 'option' else ''}"
        )
    alone = np.where(members, columns.scatter / np.maximum(columns.readings - 1.0, 1.0), -np.inf)
    worst = int(np.argmax(alone))
    usual = float(np.sqrt(np.median(alone[members])))
    said = (
        f"Within {name} the readings of {name_of(analysis, columns, worst)} scatter most, by "
        f"{number(math.sqrt(alone[worst]))} where {number(usual)} is usual."
    )
    if name.startswith("instrument "):
        return (
            f"{said} Look for outlying readings; where these are the rule, as with timings, take logarithms "
            "or tell a mean with an se= that you know."
        )
    return (
        f"{said} Look for outlying readings; or name the instrument= of each, so that only equals are pooled."
    )


def _make_it_own(analysis: Analysis) -> str:
    """The way out where options share nothing."""
    if analysis.model.shares_information or is_linked(analysis.columns):
        return ""
    return " Or make the study with scatter=\"own\": then no option's readings stand for another's."


def _about_own(analysis: Analysis) -> list[str]:
    """A note where few readings of each option scatter alike, as far as can be seen."""
    sums = analysis.own_readings
    if sums is None:
        return []
    some = np.flatnonzero(sums.readings >= LEAST)
    if (
        some.size < 2
        or (sums.readings[some] - 1.0).sum() < LEAST_FREEDOM
        or np.median(sums.readings[some]) > MANY
    ):
        return []
    columns = analysis.columns
    columns = columns.select(own_rows(columns) & (columns.readings > 1.0))
    if chance_of_equal_scatter(columns, [np.ones(columns.value.size, dtype=bool)]) < ALIKE:
        return []
    return [
        "As far as can be seen, all options scatter alike. If you know that they do (one instrument, one "
        'procedure), a study made with scatter="pooled" needs fewer readings.'
    ]


def _scatter(columns: Columns, group: Mask) -> float:
    return float(np.sqrt(columns.scatter[group].sum() / max(1.0, (columns.readings[group] - 1.0).sum())))
