"""What would settle several races best."""

import math

from noisewise.core.choice.selection import Mask, first_largest
from noisewise.core.model.covariances import squared_covariances
from noisewise.core.model.dense import Floats
from noisewise.core.model.model import Model
from noisewise.core.native.verbs import verb
from noisewise.policies.rules.ours.vage.noise_history import DIFFER, NoiseHistory, average_variance
from noisewise.policies.rules.ours.vage.races import Rows
from noisewise.policies.rules.ours.vage.sketch import Sketch


@verb
def most_settling(
    model: Model,
    sketch: Sketch,
    rivals: Rows,
    leader: int,
    weights: Floats,
    noise: NoiseHistory,
    sigma: float,
    allowed: Mask,
) -> int:
    """The allowed action whose measurement takes most off the variances of the races; -1 if none does.

    ``Σ_j w_j·((a_j - b)ᵀV⁻¹a_k)²/(σ_k² + ‖a_k‖²)`` over the rivals j of the leader b, up to the first weight
    of 0. The variance σ_k² is the announced one, or if sigma is NaN what the noise so far says of the action.
    The sketch lets compiled code pass over most actions, and changes nothing.
    """
    count = int((weights > 0.0).sum())
    gains = squared_covariances(model, rivals[:count], leader, weights[:count])
    gains /= foreseen_variances(noise, sigma) + model.squared_widths
    action = first_largest(gains, allowed)
    return action if gains[action] > 0.0 else -1


def foreseen_variances(noise: NoiseHistory, sigma: float) -> float | Floats:
    """The variance of a coming measurement: one for all actions, or each one's own."""
    if not math.isnan(sigma):
        return sigma * sigma
    average = average_variance(noise)
    return average * noise.relative if noise.tally[DIFFER] > 0.0 else average
