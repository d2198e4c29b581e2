"""Extra scatter and deviations as causes: the likelihood of both sizes, and the check after a switch."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from noisewise.core.support.words import number
from noisewise.study.certificate.causes.cause import DEVIATION, SCATTER, Cause
from noisewise.study.certificate.causes.search import least_of
from noisewise.study.certificate.causes.table import Table
from noisewise.study.certificate.check import Check, check_fit
from noisewise.study.log.model_choice import ESTIMATE, SIZES, facts_of, switched
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
    found = _advice(table)
    if found is None or found.gain <= 0.0:
        return None
    model = found.switch.get("model")
    numbers = 1 if model is not None and not facts_of(model).uses_features else len(found.switch)
    return _tried(table, found, table.deviance - 2.0 * found.gain + numbers * math.log(table.rest.freedom))


def _advice(table: Table) -> Remedy | None:
    """What the model suggests, by the structure of the residuals.

    Too small error bars show wherever a measurement is repeated; a value that features cannot follow shows
    as measurements of one option that agree with each other and disagree with the rest. The restricted
    likelihoods of extra scatter and of deviations have the same unknowns besides, so they may be compared.
    """
    analysis, sizes = table.analysis, table.analysis.sizes
    likelihood = analysis.likelihood(table.columns, table.bare)
    found = analysis.model.remedy(likelihood, sizes, analysis.sums) if likelihood.measurements else None
    if found is None:
        return None
    before = likelihood(sizes.deviation, sizes.extra_scatter)
    return found._replace(gain=(before - likelihood(*found.sizes)) / 2.0)


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
    least += math.log(table.rest.freedom)
    return _tried(table, scatter_of(0.0, math.exp(log)), least)


def _tried(table: Table, found: Remedy, deviance: float) -> Cause | None:
    """A switch that was tried on a copy; None if the certificate would be withheld all the same.

    Where too little was measured to estimate a size, it can only be stated.
    """
    scale, why = table.analysis.specification.value_scale, f"{found.why[0].upper()}{found.why[1:]}"
    after = check_after(table.analysis, found.switch)
    if after.ok:
        words, switch = f"{why}: switch to {found.in_words(scale)}", dict(found.switch)
        remedy: dict[str, Any] = {"switch": switch}
    else:
        lacking, after = after.problems[0], check_after(table.analysis, found.stated)
        if not after.ok:
            return None
        numbers = {name: size for name, size in found.stated.items() if name in SIZES}
        sizes = " and ".join(f"{name}={scale.error(size)}" for name, size in numbers.items())
        words = (
            f"{why}; but {lacking}. These measurements look like {sizes}: a number that is stated for that "
            "reason makes the confidence approximate"
        )
        switch, remedy = {}, {"state": found.stated}
    return Cause(
        SCATTER if set(found.switch) == {"extra_scatter"} else DEVIATION,
        f"{words}. Then the reduced chi-square is {number(after.reduced)}.",
        deviance,
        after.reduced,
        after.freedom,
        after.p_value,
        remedy,
        switch=switch,
    )


def check_after(analysis: Analysis, switch: Mapping[str, Any]) -> Check:
    """What the check would say if the model were switched."""
    state = analysis.state
    model = switched(
        state.model, switch.get("model"), None, switch.get("deviation"), switch.get("extra_scatter"), True
    )
    return check_fit(Analysis(state.with_model(model)))
