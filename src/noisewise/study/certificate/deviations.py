"""The deviations of single options: how large they are, and whether one is unlike the others."""

import math
from typing import Any

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.core.support.words import number
from noisewise.study.log.model_choice import DEVIATION, ESTIMATE
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.sums import totals


def standing_out(analysis: Analysis) -> Floats:
    """How far each measured option lies from its weighted sum, in standard errors, (n,); 0 without any."""
    features, sums, size = analysis.state.features, analysis.sums, analysis.sizes.deviation
    if features is None or not sums.n_measurements:
        return np.zeros(analysis.n)
    weights = np.asarray(analysis.estimates.weights)
    level = sums.minus < 0
    plus, weight = sums.plus[level], sums.weight[level]
    offsets = analysis.estimates.offsets[sums.block[level]]
    away = totals(plus, weight * (sums.value[level] - offsets - features[plus] @ weights), analysis.n)
    total = totals(plus, weight, analysis.n)
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = np.where(total > 0.0, away / total / np.sqrt(size**2 + 1.0 / total), 0.0)
    return np.asarray(analysis.specification.sign * apart)


def standing_rows(analysis: Analysis, least: float) -> list[dict[str, Any]]:
    """Options that lie further than this from their weighted sums, as rows of the check."""
    if analysis.state.model.model != DEVIATION or not analysis.columns.value.size:
        return []
    apart, ids = standing_out(analysis), analysis.state.ids
    return [
        {"what": "option", "name": ids[at], "residual": float(apart[at])}
        for at in np.flatnonzero(np.abs(apart) > least)
    ]


def unlike_the_others(analysis: Analysis, suspicious: float) -> str | None:
    """A sentence if some deviation is too large for a normal law of this size, all options considered."""
    if analysis.state.model.model != DEVIATION or not analysis.columns.value.size:
        return None
    apart = standing_out(analysis)
    at = int(np.argmax(np.abs(apart)))
    measured = np.unique(analysis.columns.plus).size
    chance = math.erfc(abs(apart[at]) / math.sqrt(2.0)) * measured
    if chance >= suspicious:
        return None
    name, size = analysis.state.ids[at], analysis.sizes.deviation
    return (
        f"{name} lies {number(abs(float(apart[at])), 2)} standard errors from the weighted sum of its "
        f"features, where deviations have size {number(size)}: it is not like the others. Void its "
        'measurements if they are wrong, or switch to model="independent"'
    )


def sizes_in_words(analysis: Analysis) -> list[str]:
    """The sizes that the model reckons with, where they were estimated."""
    model, sizes = analysis.state.model, analysis.sizes
    said = []
    if model.deviation == ESTIMATE:
        said.append(f"Deviations of single options: estimated size {number(sizes.deviation)}.")
    if model.extra_scatter == ESTIMATE:
        said.append(f"Extra scatter: estimated size {number(sizes.extra_scatter)}.")
    return said
