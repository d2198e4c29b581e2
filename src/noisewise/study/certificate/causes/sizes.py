"""Extra scatter and deviations as causes: the restricted likelihood of both sizes, and the check after a switch."""

import copy
import math

from noisewise.study.certificate.advice import advise
from noisewise.study.certificate.causes.cause import DEVIATION, SCATTER, Cause
from noisewise.study.certificate.causes.table import Table
from noisewise.study.certificate.check import Check, check_fit
from noisewise.study.log.model_choice import switched
from noisewise.study.models.analysis import Analysis

#: Degrees of freedom below which no size is suggested.
FEW = 5


def wrong_sizes(table: Table) -> Cause | None:
    """What the model itself suggests: extra scatter, deviations, or both; None if that is nothing."""
    if table.rest.freedom < FEW:
        return None
    found = advise(table.analysis, table.columns, table.bare)
    if found is None or found.gain <= 0.0:
        return None
    after = check_after(table.analysis, found.switch)
    words = f"{found.words[0].upper()}{found.words[1:]}."
    numbers = len(found.switch) if "independent" not in found.switch.values() else 1
    deviance = table.deviance - 2.0 * found.gain + numbers * math.log(table.rest.freedom)
    return Cause(
        SCATTER if set(found.switch) == {"extra_scatter"} else DEVIATION,
        words,
        deviance,
        after.reduced,
        after.freedom,
        after.p_value,
        {"switch": dict(found.switch)},
        switch=dict(found.switch),
    )


def check_after(analysis: Analysis, switch: dict[str, str]) -> Check:
    """What the check would say if the model were switched."""
    state = copy.copy(analysis.state)
    state.model = switched(
        state.model, switch.get("model"), None, switch.get("deviation"), switch.get("extra_scatter"), True
    )
    state.restarts, state.doubt = None, None
    return check_fit(Analysis(state))
