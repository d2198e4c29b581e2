"""What a certificate for one look rests on, and when it is withheld."""

import numpy as np

from noisewise.study.certificate.check import Check
from noisewise.study.log.looks import broken_promise
from noisewise.study.log.measurements import KINDS
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.once import ENOUGH, PairedOnce
from noisewise.study.telling.error_bars import COUNTS, KNOWN, NONE, READINGS


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
    present = {KINDS[code] for code in np.unique(analysis.columns.kind)}
    said = []
    if KNOWN in present:
        said += [
            "error bars given as se, var or ci are true standard errors, with normal errors",
            "these error bars do not depend on the realised noise (were not computed from the same readings)",
        ]
    limits = "an upper limit is used" if analysis.errors.limited else "Student's law is used"
    if analysis.own_scatter:
        return [*said, *_about_readings(analysis)]
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


def _about_readings(analysis: Analysis) -> list[str]:
    """Whose scatter bounds on readings rest on."""
    sums = analysis.own_readings
    fewest = 0.0 if sums is None else float(sums.readings[sums.readings > 0.0].min(initial=np.inf))
    if fewest >= ENOUGH:
        return ["readings scatter normally, those of each option by an amount of their own (Welch)"]
    return [
        f"readings scatter normally, and by about the same amount for all options: with fewer than {ENOUGH} "
        "of each, scatter is pooled (Tukey)"
    ]
