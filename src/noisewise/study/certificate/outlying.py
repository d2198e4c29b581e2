"""Single readings that lie far from the others of their option, named in the user's unit.

Where values are on a log scale, a log keeps every reading. One that was made while something else went on is
far off, and the mean of logarithms feels it less than a mean of readings, but it feels it.
"""

from typing import NamedTuple

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.core.support.words import counted
from noisewise.study.certificate.check import name_of, standard_residuals
from noisewise.study.log.measurements import KINDS, Codes
from noisewise.study.models.analysis import Analysis
from noisewise.study.telling.error_bars import NONE, READINGS

#: Readings of an option from which on one of them can stand out.
FEWEST = 8
#: How many usual scatters off: of normal logarithms, one in a million lies so far.
FAR = 5.0
#: How many are named.
NAMED = 3
#: The median of absolute deviations of a normal law, in standard deviations.
MEDIAN = 0.6745


class Singles(NamedTuple):
    """Readings as logarithms, with what they were measured in."""

    at: Codes  # the place of their measurement in the columns
    value: Floats
    expected: Floats  # what the fit says of each


def about_readings(analysis: Analysis, named: set[str]) -> list[str]:
    """A note that names them; none where values are as they are.

    Args:
        analysis: What was measured.
        named: Measurements that others have named already.
    """
    if not analysis.specification.value_scale.log or not analysis.columns.value.size:
        return []
    singles = _singles(analysis)
    columns = analysis.columns
    far, usual_value = np.zeros(singles.at.size), singles.expected.copy()
    for option in np.unique(columns.plus[singles.at]):
        own = np.flatnonzero(columns.plus[singles.at] == option)
        if own.size < FEWEST:
            continue
        away = singles.value[own] - singles.expected[own]
        usual_value[own] += np.median(away)
        away = away - np.median(away)
        usual = float(np.median(np.abs(away))) / MEDIAN
        if usual > 0.0:
            far[own] = np.abs(away) / usual
    found = np.flatnonzero(far > FAR)
    found = found[[f"m-{columns.number[singles.at[k]]}" not in named for k in found]]
    if not found.size:
        return []
    scale = analysis.specification.value_scale
    worst = found[np.argsort(-far[found], kind="stable")]
    said = []
    for k in worst[:NAMED].tolist():
        seen, usual_one = (scale.value(float(scale.undone(part[k]))) for part in (singles.value, usual_value))
        where = name_of(analysis, columns, int(singles.at[k]))
        said.append(f"{seen} in {where} (where {usual_one} is usual)")
    more = f", and {len(worst) - NAMED} more" if len(worst) > NAMED else ""
    lie = "lies" if found.size == 1 else "lie"
    return [
        f"{counted(found.size, 'reading')} of {singles.at.size:,} {lie} over {FAR:g} usual scatters off: "
        f"{', '.join(said)}{more}. Void what went wrong; what belongs to the option stays."
    ]


def _singles(analysis: Analysis) -> Singles:
    """Every reading that was told by itself or as one of values=[...]."""
    columns, told = analysis.columns, analysis.state.told
    ones = np.ones(columns.value.size)
    sums, fit = analysis.sums, analysis.estimates
    above = analysis.specification.sign * standard_residuals(analysis, columns, ones, sums, fit)
    expected = columns.value - above
    places: list[int] = []
    logs: list[float] = []
    alone, several = KINDS.index(NONE), KINDS.index(READINGS)
    for at, (number, kind) in enumerate(zip(columns.number.tolist(), columns.kind.tolist(), strict=True)):
        if kind == alone:
            places.append(at)
            logs.append(float(columns.value[at]))
        elif kind == several and "values" in told[number - 1]:
            readings = np.log(told[number - 1]["values"]).tolist()
            places += [at] * len(readings)
            logs += readings
    of_which = np.array(places, dtype=np.int64)
    return Singles(of_which, np.array(logs), expected[of_which])
