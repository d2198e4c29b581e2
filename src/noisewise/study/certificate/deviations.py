"""Single options that are not what their model expects: which they are, and how large deviations are."""

import math
from typing import Any

import numpy as np

from noisewise.core.support.words import number
from noisewise.study.log.model_choice import ESTIMATE
from noisewise.study.models.analysis import Analysis


def standing_rows(analysis: Analysis, least: float) -> list[dict[str, Any]]:
    """Options that lie further than this from what the model expects of them, as rows of the check."""
    apart, ids = analysis.standing_out, analysis.state.ids
    if apart is None:
        return []
    return [
        {"what": "option", "name": ids[at], "residual": float(apart[at])}
        for at in np.flatnonzero(np.abs(apart) > least)
    ]


def unlike_the_others(analysis: Analysis, suspicious: float) -> str | None:
    """A sentence if some option lies further off than a normal law allows, all options considered."""
    apart = analysis.standing_out
    if apart is None:
        return None
    at = int(np.argmax(np.abs(apart)))
    measured = np.unique(analysis.columns.plus).size
    chance = math.erfc(abs(apart[at]) / math.sqrt(2.0)) * measured
    if chance >= suspicious:
        return None
    name, size = analysis.state.ids[at], analysis.sizes.deviation
    return analysis.model.unlike_the_others(name, float(apart[at]), size)


def sizes_in_words(analysis: Analysis) -> list[str]:
    """The sizes that the model reckons with, where they were estimated."""
    model, sizes = analysis.state.model, analysis.sizes
    said = []
    if model.deviation == ESTIMATE:
        said.append(f"Deviations of single options: estimated size {number(sizes.deviation)}.")
    if model.extra_scatter == ESTIMATE:
        said.append(f"Extra scatter: estimated size {number(sizes.extra_scatter)}.")
    return said
