"""What every model counts, and where: the places of its tally."""

import math

from noisewise.core.model.model import AnyModel
from noisewise.core.support.blocks import Floats

LOG_DET = 0
TOTAL_PRECISION = 1
TOLD = 2
#: Measurements since all widths were computed afresh.
AGE = 3
#: The sum of squared residuals of all rotations.
RESIDUAL = 4
SINCE_CENTRED = 5
#: Not a count: the action whose lower bound was the largest when it was last looked for. Only a hint.
SAFEST = 6


def count(tally: Floats, squared_width: float, sigma: float) -> None:
    """Book one measurement: ``det V`` grows by the factor ``1 + ‖a‖²/σ²``."""
    weight = 1.0 / (sigma * sigma)
    tally[LOG_DET] += math.log1p(squared_width * weight)
    tally[TOTAL_PRECISION] += weight
    tally[TOLD] += 1.0
    tally[AGE] += 1.0
    tally[SINCE_CENTRED] += 1.0


def log_det(model: AnyModel) -> float:
    """``log det V - dim·log ridge``: twice the information gathered, in nats."""
    return float(model.tally[LOG_DET])


def total_precision(model: AnyModel) -> float:
    """``Σ 1/σ²`` over all measurements: the currency of everything."""
    return float(model.tally[TOTAL_PRECISION])
