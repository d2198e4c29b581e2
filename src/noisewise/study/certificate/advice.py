"""What to do about a misfit: which structure of the residuals tells error bars, features and options apart.

Too small error bars show wherever a measurement is repeated; a value that features cannot follow shows as
measurements of one option that agree with each other and disagree with the rest. The restricted likelihoods
of extra scatter and of deviations have the same unknowns besides, so they may be compared. What each model
suggests is its `remedy`.
"""

from noisewise.core.model.dense import Floats
from noisewise.study.log.measurements import Columns
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.remedies import Remedy


def advise(analysis: Analysis, columns: Columns | None = None, sigma: Floats | None = None) -> Remedy | None:
    """What to do about a chi-square that is too large; None if nothing is known beyond the usual.

    Args:
        analysis: What the measurements say.
        columns: Those that are judged; default: all.
        sigma: Their standard errors without extra scatter; default: as stated.
    """
    likelihood, sizes = analysis.likelihood(columns, sigma), analysis.sizes
    if not likelihood.measurements:
        return None
    found = analysis.model.remedy(likelihood, sizes, analysis.sums)
    if found is None:
        return None
    before = likelihood(sizes.deviation, sizes.extra_scatter)
    return found._replace(gain=(before - likelihood(*found.sizes)) / 2.0)
