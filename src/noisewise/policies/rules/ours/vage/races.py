"""The races between the leader and its closest rivals, and what each counts."""

import math

import numpy as np
from numpy.typing import NDArray

from noisewise.core.choice.selection import ROUNDING, TIE, Mask
from noisewise.core.model.covariances import CANCELLED, contrast_widths
from noisewise.core.model.dense import Floats
from noisewise.core.model.model import Model
from noisewise.core.native.verbs import verb
from noisewise.policies.rules.ours.vage.sketch import Sketch

Rows = NDArray[np.int64]

#: How many races are looked at; with the first alone, a quiet round may settle a race and the leader, which
#: is in all of them, stay unknown.
RACES = 4
#: A race that is behind the closest by this share of its reach counts 1/e of it.
BEHIND = 0.25
#: A race that counts less is left out.
NEGLIGIBLE = 0.01


@verb
def closest_races(
    model: Model, sketch: Sketch, candidates: Mask, leader: int, reach: float, rivals: Rows, weights: Floats
) -> None:
    """Find the candidates that may be furthest above the leader, and what each race counts.

    By the largest ``slack_k - lead_k``, where the lead is ``<θ̂, b - a_k>`` and the slack ``reach·‖a_k - b‖``.
    If every rival is beaten by more than that, the reach grows until the closest is not: then the rival that
    is beaten least surely comes first. A copy of the leader is as good as the leader: their difference is
    rounding, and no race. Weights fall with what a race is behind the closest,
    ``e^(-behind/(BEHIND·slack))``.

    Args:
        model: What is known.
        sketch: Of its vectors; lets compiled code pass over most of them, and changes nothing.
        candidates: Who may be a rival.
        leader: Whose rivals.
        reach: How many widths of a difference a rival is given.
        rivals: Room for RACES rows, the closest first.
        weights: Room for what each race counts; 0 from where there are no more.
    """
    rivals[:], weights[:] = leader, 0.0
    widths, means, best = _rival_widths(model, candidates, leader), model.means, float(model.means[leader])
    among = np.flatnonzero(widths > 0.0)
    if not among.size:
        return
    reach = max(reach, float(((best - means[among]) / widths[among]).min()))
    upper = reach * widths[among] + means[among]
    # Of what the strongest rival is given, and for rounding in the two means.
    slack = float(reach * widths[among][upper >= upper.max()].max())
    tolerance = TIE * slack + ROUNDING * (abs(upper.max() - slack) + abs(best))
    for j in range(min(RACES, among.size)):
        place = int(np.argmax(upper >= upper.max() - tolerance))
        if j == 0:
            first, slack = float(upper[place]), float(reach * widths[among[place]])
        weight = math.exp(-(first - upper[place]) / (BEHIND * slack))
        if weight < NEGLIGIBLE:
            break
        rivals[j], weights[j], upper[place] = among[place], weight, -np.inf


def _rival_widths(model: Model, candidates: Mask, leader: int) -> Floats:
    """``‖a_k - b‖`` for every rival, -∞ for what is none, (n,)."""
    widths = contrast_widths(model, leader)
    terms = model.squared_widths + model.squared_widths[leader]
    widths[~candidates | (widths**2 <= 2.0 * CANCELLED * terms)] = -np.inf
    widths[leader] = -np.inf
    return widths
