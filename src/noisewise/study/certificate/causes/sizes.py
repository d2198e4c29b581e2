"""Extra scatter and deviations as causes: the likelihood of both sizes, and the check after a switch."""

import math

import numpy as np

from noisewise.core.support.words import number
from noisewise.study.certificate.advice import advise
from noisewise.study.certificate.causes.cause import DEVIATION, SCATTER, Cause
from noisewise.study.certificate.causes.search import least_of
from noisewise.study.certificate.causes.table import Table
from noisewise.study.certificate.check import Check, check_fit
from noisewise.study.log.model_choice import ESTIMATE, facts_of, switched
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.remedies import Remedy, scatter_of

#: Degrees of freedom below which no size is suggested.
FEW = 5
#: The least extra scatter that is tried, in error bars; how many are; and how near the best is found.
LEAST, TRIED, NEAR = 0.03, 10, 0.02


def wrong_sizes(table: Table) -> Cause | None:
    """What the model itself suggests: extra scatter, deviations, or both; None if that is nothing."""
    if table.rest.freedom < FEW:
        return None
    if table.features is None:
        return _extra_scatter(table)
    found = advise(table.analysis, table.columns, table.bare)
    if found is None or found.gain <= 0.0:
        return None
    after = check_after(table.analysis, found.switch)
    model = found.switch.get("model")
    numbers = 1 if model is not None and not facts_of(model).uses_features else len(found.switch)
    deviance = table.deviance - 2.0 * found.gain + numbers * math.log(table.rest.freedom)
    return _cause(found, deviance, after.reduced, after.freedom, after.p_value)


def _extra_scatter(table: Table) -> Cause | None:
    """The only size of options that share nothing."""
    if table.analysis.state.model.extra_scatter == ESTIMATE:
        return None

    def deviance(log: float) -> float:
        return table.deviance_of(table.columns, table.bare, extra=math.exp(log))

    usual = float(np.median(table.bare))
    most = max(float(np.ptp(table.columns.value)), 10.0 * usual)
    ends = math.log(LEAST * usual), math.log(most)
    log, least = least_of(deviance, *ends, tried=TRIED, tolerance=NEAR)
    size = math.exp(log)
    rest = table.fitted(table.columns, table.columns.widened(table.bare, size))
    least += math.log(table.rest.freedom)
    return _cause(
        scatter_of(0.0, size, table.analysis.specification.value_scale),
        least,
        rest.reduced,
        rest.freedom,
        table.chance(rest),
    )


def _cause(found: Remedy, deviance: float, reduced: float, freedom: int, chance: float) -> Cause:
    return Cause(
        SCATTER if set(found.switch) == {"extra_scatter"} else DEVIATION,
        f"{found.words[0].upper()}{found.words[1:]}. Then the reduced chi-square is {number(reduced)}.",
        deviance,
        reduced,
        freedom,
        chance,
        {"switch": dict(found.switch)},
        switch=dict(found.switch),
    )


def check_after(analysis: Analysis, switch: dict[str, str]) -> Check:
    """What the check would say if the model were switched."""
    state = analysis.state
    model = switched(
        state.model, switch.get("model"), None, switch.get("deviation"), switch.get("extra_scatter"), True
    )
    return check_fit(Analysis(state.with_model(model)))
