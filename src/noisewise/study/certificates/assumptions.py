"""What a certificate rests on, topic by topic, and why it may hold only approximately.

What a certificate for one look rests on, and when it is withheld.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from noisewise.core.blocks import distinct
from noisewise.core.text import counted, number, rounded_up, some_of
from noisewise.study.certificates.check import Check, largest_shift, shared_arms
from noisewise.study.evidence.counts import Counts
from noisewise.study.evidence.rounds import GROSS, SELDOM
from noisewise.study.log.looks import broken_promise
from noisewise.study.log.measurements import KINDS
from noisewise.study.log.model_choice import ESTIMATE
from noisewise.study.log.specification import SYMMETRIC
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.one_look import ENOUGH, PairedOnce
from noisewise.study.models.scatter import is_linked, own_rows
from noisewise.study.models.variance_components import with_limit
from noisewise.study.telling.error_bars import BOUNDED, COUNTS, ITEMS, KNOWN, NONE, READINGS


class Assumptions(NamedTuple):
    """What must be true for a certificate to hold, one sentence each."""

    all: tuple[str, ...]
    special: tuple[str, ...]  # those that not every study with such measurements rests on


def assumptions(analysis: Analysis, check: Check) -> Assumptions:
    """List what the certificate rests on."""
    topics = ONE_LOOK_TOPICS if analysis.once else TOPICS
    said = [(text, topic) for topic in topics for text in topic(analysis, check)]
    special = tuple(text for text, topic in said if topic not in USUAL)
    return Assumptions(tuple(text for text, _ in said), special)


def _kinds(analysis: Analysis) -> set[str]:
    return {KINDS[code] for code in distinct(analysis.columns.kind)}


def about_known_rows(analysis: Analysis, check: Check) -> list[str]:
    """That tables which were told again without keys hold the same measurements."""
    skipped = sorted(analysis.state.skipped)
    if not skipped:
        return []
    named = some_of([f"m-{number}" for number in skipped])
    return [
        f"tables without keys that came again hold the same measurements, and none that were made again "
        f"({counted(len(skipped), 'measurement')}: {named})"
    ]


def about_scale(analysis: Analysis, check: Check) -> list[str]:
    """What values are, where they are not as they were told."""
    if not analysis.specification.value_scale.log:
        return []
    return [
        "values enter as logarithms: what is compared are geometric means, and what is said of errors and "
        "scatter is said of logarithms"
    ]


def about_error_bars(analysis: Analysis, check: Check) -> list[str]:
    """Assumptions that come with the kinds of error bars told."""
    present, said = _kinds(analysis), []
    if KNOWN in present:
        tails = "whatever the tails" if analysis.any_tails else "with errors no heavier than normal"
        said += [
            f"error bars given as se, var or ci are true standard errors, {tails}",
            "these error bars do not depend on the realised noise (were not computed from the same readings)",
        ]
        if analysis.own_scatter:
            said.append("how small these error bars are was not decided by looking at values")
    said += _about_readings(analysis, present)
    if NONE in present and not analysis.own_scatter:
        said.append("measurements without error bars share one normal scatter; an upper limit is used")
    if COUNTS in present:
        said.append(_about_counts(analysis))
    if ITEMS in present and analysis.specification.noise != SYMMETRIC:
        pool = analysis.state.items.pool
        said += [
            "items come in one random order that all options share; how many each option has answered may "
            "depend on anything",
            "an option's value is its mean over "
            + (
                "all items that could be drawn"
                if pool is None
                else f"the {counted(pool, 'item')} of the pool"
            ),
        ]
    if present & {READINGS, COUNTS, BOUNDED}:
        said.append("how many readings or trials a measurement has was not decided by how they came out")
    return said


def about_bounds(analysis: Analysis, check: Check) -> list[str]:
    """Bounds of readings that were stated."""
    bounds = analysis.specification.bounds
    if bounds is None or BOUNDED not in _kinds(analysis):
        return []
    return [
        f"readings are independent and lie between {bounds[0]:g} and {bounds[1]:g}, as was stated "
        "(`measure`); nothing else is assumed about how they scatter"
    ]


def about_rounds(analysis: Analysis, check: Check) -> list[str]:
    """What differences within rounds have to be."""
    if analysis.specification.noise != SYMMETRIC or ITEMS not in _kinds(analysis):
        return []
    ratio = analysis.specification.value_scale.log
    what = "ratio" if ratio else "difference"
    said = [
        f"within a round, chance moves the {what} of two options' values as easily up as down; by how much "
        "is not assumed, and may change from round to round",
        f"an option's value is such that these {what}s scatter around its {what} to the others; what a round "
        "does to all that is measured in it cancels, and the first round only orders the options",
    ]
    if ratio:
        said.append(
            f"chance moves such a ratio by more than a factor {GROSS:g}, in a given direction, at most once "
            f"in {1.0 / SELDOM:g} rounds"
        )
    return said


def _about_readings(analysis: Analysis, present: set[str]) -> list[str]:
    """Whose scatter readings share."""
    if not present & {READINGS, NONE}:
        return []
    if not analysis.own_scatter:
        alike = "readings scatter normally, equally within each instrument (or block); an upper limit is used"
        return [alike] if READINGS in present else []
    if is_linked(analysis.columns):
        return [
            "readings scatter normally, and equally for all options: blocks or differences link them, so "
            "that a scatter of each option's own cannot be reckoned with; an upper limit is used"
        ]
    own = "readings of an option scatter normally, by an unknown amount of its own; options are independent"
    named = bool((~own_rows(analysis.columns) & (analysis.columns.kind == KINDS.index(READINGS))).any())
    shared = "readings that name an instrument scatter alike within it; an upper limit is used"
    return [own, shared] if named else [own]


def _about_counts(analysis: Analysis) -> str:
    """What trials have to be, and at which price they enter the evidence that is used."""
    independent = "trials of an option are independent, with the same chance of success"
    evidence = analysis.evidence
    if not evidence:  # no bound was computed
        return independent
    if analysis.state.model.extra_scatter is not None:
        why = "as extra scatter is added to them"
    elif Counts.name not in evidence:
        why = "as options are compared by what they share"
    else:
        exact = f"{independent}; they count as what they are, without a normal approximation"
        return exact if len(evidence) == 1 or not analysis.sums.has_border else f"{exact}, outside of blocks"
    return f"{independent}; {why}, shares enter with the largest error they can have, 1/(2·sqrt(trials))"


def about_time(analysis: Analysis, check: Check) -> list[str]:
    """What must not change as time goes by, neither in the options nor in how measurements come in."""
    return [
        "what a measurement measures does not change with time, apart from its block's offset",
        "when a measurement is recorded, and whether at all, does not depend on how it came out (no good run "
        "comes in sooner than a bad one)",
    ]


def about_blocks(analysis: Analysis, check: Check) -> list[str]:
    """What bounds within blocks need, if there are any.

    Differences alone need no promise: they have no level that one could look at.
    """
    sums = analysis.sums
    if not (sums.has_border and (sums.minus < 0).any()):
        return []
    if analysis.columns.arm is not None and analysis.columns.arm[analysis.columns.minus < 0].all():
        return ["which options a study tried was not decided by how its arms came out"]
    return [
        "what is measured next within a block depends on differences seen so far, not on how high the "
        "block's values are (`ask` keeps to it)"
    ]


def about_shared_arms(analysis: Analysis, check: Check) -> list[str]:
    """Differences that may have errors in common."""
    if not shared_arms(analysis.columns):
        return []
    return ["differences of one block that share an option have no error in common (see the check)"]


def about_fit(analysis: Analysis, check: Check) -> list[str]:
    """What was checked of it."""
    if check.far_off is not None:
        return [f"it was checked that error bars are no smaller than errors: {check.far_off}"]
    if check.freedom > 0:
        freedom = counted(check.freedom, "degree of freedom")
        return [f"the fit was checked: reduced chi-square {number(check.reduced)} on {freedom}"]
    if check.compared:
        return [f"it was checked that {counted(check.compared, 'option')} measured repeatedly did not change"]
    return []


def about_no_fit(analysis: Analysis, check: Check) -> list[str]:
    """That nothing could be checked."""
    if about_fit(analysis, check) or _kinds(analysis) == {ITEMS}:  # items say nothing about single values
        return []
    if NONE in _kinds(analysis):  # repeated or not: their scatter is all that is known of their errors
        return ["not checked: whether the model fits (nothing with an error bar was repeated)"]
    return ["not checked yet: whether the model fits (nothing was repeated)"]


def about_model(analysis: Analysis, check: Check) -> list[str]:
    """Assumptions that come with the model."""
    model, sizes = analysis.state.model, analysis.sizes
    said = analysis.model.assumptions(sizes)
    if sizes.extra_scatter or model.extra_scatter is not None:
        scatter = with_limit(
            sizes.extra_scatter, sizes.largest_scatter, analysis.specification.value_scale, sizes.freedom
        )
        arms = "" if analysis.columns.arm is None else "; a difference of two arms lacks it once"
        said.append(
            f"every error bar lacks the same extra scatter, {scatter}, which is added in squares{arms}"
        )
    if analysis.state.switched:
        told = counted(analysis.state.switched, "measurement")
        said.append(f"the model was chosen after {told} had been seen")
    return said


def broken_promises(analysis: Analysis) -> list[str]:
    """Reasons to withhold a certificate for one look that the log itself shows."""
    broken = broken_promise(analysis.state) if analysis.once else None
    return [] if broken is None else [broken]


def about_one_look(analysis: Analysis, check: Check) -> list[str]:
    """What makes it one look. The log does not say who looked when, so it has to be assumed."""
    said = [
        "it is valid for one look only: nobody looked at values before, and measured more, or no more, for "
        "what was seen",
        "what was measured, and how often, was not decided by how measurements came out",
    ]
    if analysis.state.changed:
        said.append("options were added or excluded: the bound holds whichever option is the best of all")
    return said


def about_errors_once(analysis: Analysis, check: Check) -> list[str]:
    """Assumptions that come with the kinds of error bars told."""
    present = {KINDS[code] for code in distinct(analysis.columns.kind)}
    said = []
    if KNOWN in present:
        said += [
            "error bars given as se, var or ci are true standard errors, with normal errors",
            "these error bars do not depend on the realised noise (were not computed from the same readings)",
        ]
    limits = "an upper limit is used" if analysis.errors.limited else "Student's law is used"
    if analysis.own_scatter:
        return [*said, *_about_readings_once(analysis)]
    if PairedOnce.name in " ".join(analysis.evidence):
        return [
            "differences between two options scatter normally from block to block; where they share "
            f"{ENOUGH} blocks or more, those of each pair by an amount of their own"
        ]
    if READINGS in present:
        said.append(f"readings scatter normally, equally within each instrument (or block); {limits}")
    if NONE in present:
        said.append(f"measurements without error bars share one normal scatter; {limits}")
    if COUNTS in present:
        said.append("trials are independent, with the same chance of success within a measurement")
    return said


def _about_readings_once(analysis: Analysis) -> list[str]:
    """Whose scatter bounds on readings rest on."""
    sums = analysis.own_readings
    fewest = 0.0 if sums is None else float(sums.readings[sums.readings > 0.0].min(initial=np.inf))
    if fewest >= ENOUGH:
        return ["readings scatter normally, those of each option by an amount of their own (Welch)"]
    return [
        f"readings scatter normally, and by about the same amount for all options: with fewer than {ENOUGH} "
        "of each, scatter is pooled (Tukey)"
    ]


#: How near factors of error bars have to be for one number.
ALIKE = 0.02

#: In the order in which they are listed; whatever a cheaper bound needs is added here.
Topic = Callable[[Analysis, Check], list[str]]
TOPICS: tuple[Topic, ...] = (
    about_scale,
    about_error_bars,
    about_bounds,
    about_rounds,
    about_known_rows,
    about_time,
    about_model,
    about_blocks,
    about_shared_arms,
    about_fit,
    about_no_fit,
)
#: The same for certificates that hold for one look only.
ONE_LOOK_TOPICS: tuple[Topic, ...] = (
    about_one_look,
    about_scale,
    about_errors_once,
    about_known_rows,
    about_time,
    about_model,
    about_shared_arms,
    about_fit,
    about_no_fit,
)
#: What every study with such measurements rests on: the certificate lists it when it is asked why.
USUAL = (about_error_bars, about_errors_once, about_time, about_fit)


def approximations(analysis: Analysis) -> tuple[str, ...]:
    """Why the confidence is not exact."""
    model, reasons = analysis.state.model, []
    if model.deviation == ESTIMATE:
        reasons.append("the size of the deviations was estimated from the same measurements")
    if model.extra_scatter == ESTIMATE:
        reasons.append("the extra scatter was estimated from the same measurements")
    for name, told in analysis.state.stated.items():
        if told and getattr(model, name) is not None:
            seen = counted(told, "measurement")
            reasons.append(f"the {name.replace('_', ' ')} was stated after {seen} had been seen")
    reasons += _rescaled(analysis)
    present = _kinds(analysis) - {KNOWN}
    if NONE in present and not analysis.once and not analysis.own_scatter:
        reasons.append(
            "the scatter of measurements without error bars is exactly limited only if what was repeated did "
            "not depend on their values"
        )
    return (*reasons, *_by_logarithms(analysis), *analysis.model.approximations(present))


def _rescaled(analysis: Analysis) -> list[str]:
    """Error bars that were multiplied by one number after they had been seen."""
    state = analysis.state
    known = set(analysis.columns.number[analysis.columns.kind == KINDS.index(KNOWN)].tolist())
    pairs = [(old[0], state.told[at - 1]) for at, old in state.superseded.items() if at in known]
    factors = [now["sigma"] / old["sigma"] for old, now in pairs if old.get("sigma") and old["kind"] == KNOWN]
    if 2 * len(factors) < len(known) or not factors:
        return []
    usual = float(np.median(factors))
    alike = np.abs(np.array(factors) / usual - 1.0) < ALIKE
    if abs(usual - 1.0) < ALIKE or 2 * alike.sum() < len(known):
        return []
    return [f"error bars were multiplied by {number(usual)} after they had been seen"]


def _by_logarithms(analysis: Analysis) -> list[str]:
    """What taking logarithms after averaging may shift."""
    shift = largest_shift(analysis)
    if not shift:
        return []
    return [
        "logarithms were taken of values that are means, or have error bars, which may shift them by up to "
        f"{rounded_up(100.0 * shift)} %"
    ]
