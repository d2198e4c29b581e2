"""How many measurements a study needs before there can be a certificate, whatever its bound."""

import numpy as np

from noisewise.study.models.analysis import Analysis
from noisewise.study.models.scatter import LEAST_FREEDOM
from noisewise.study.models.sizes.variance_components import Likelihood


def least_more(analysis: Analysis) -> int:
    """Measurements until the sizes that the model estimates have enough degrees of freedom."""
    model, needed = analysis.state.model, 0
    if not model.estimates:
        return 0
    given = analysis.likelihood()
    if "deviation" in model.estimates:
        needed += _options_lacking(analysis, given)
    if "extra_scatter" in model.estimates:
        # With deviations only repeats tell it, and a measurement that is one is not of a further option.
        apart = model.deviation is not None
        freedom = given.repeats if apart else given.measurements - _unknowns(analysis, given)
        needed += max(0, LEAST_FREEDOM - freedom)
    return needed


def _options_lacking(analysis: Analysis, given: Likelihood) -> int:
    """How many further options must be measured; refuses if there is nothing to go by, or too few options."""
    if not given.measurements:
        raise ValueError(
            "`deviation` is to be estimated, and nothing was measured that says how large it is: state "
            "deviation= to look ahead."
        )
    needed = LEAST_FREEDOM + _unknowns(analysis, given)
    columns, reach = analysis.columns, analysis.state.allowed()
    reach[columns.plus] = True
    reach[columns.minus[columns.minus >= 0]] = True
    if needed > (there := int(np.count_nonzero(reach))):
        raise ValueError(
            f"`deviation` cannot be estimated from the {there} options that there are, which takes {needed}: "
            "state deviation= to look ahead."
        )
    return max(0, needed - given.options)


def _unknowns(analysis: Analysis, given: Likelihood) -> int:
    """What the model must know, or more where blocks have offsets."""
    return max(analysis.model.n_unknowns(), given.rank)
