"""Warnings about a measurement at the moment it is recorded: most slips are easiest to correct then.

A value far from what is known of the option, another unit, a missing error bar that will withhold the
certificate, the same reading again. Nothing is refused or changed, and the log says nothing of it.
"""

import math
from typing import Any

import numpy as np

from noisewise.core.blocks import Floats, Mask
from noisewise.core.text import number
from noisewise.study.log.measurements import KINDS, NOBODY, Codes, Measurements
from noisewise.study.log.specification import HEAVY
from noisewise.study.log.state import State
from noisewise.study.models.scatter import LEAST_FREEDOM, has_own_scatter
from noisewise.study.telling.error_bars import COUNTS, ITEMS, KNOWN, NONE
from noisewise.study.telling.numbers import PLUS_MINUS

#: Standard errors off from which a value is far, where errors are normal, and where they have any tails.
FAR, FAR_OF_ANY_TAILS = 6.0, 30.0
#: Factors between units, and other slips that people make.
FACTORS = (10.0, 60.0, 100.0, 1000.0, 3600.0, 1e6, 1e9)
#: How near such a factor has to come.
NEAR = 0.2
#: Values of all options that differ by less than the first factor, where a new one beyond the second is odd.
ALIKE, BEYOND, FEW = 10.0, 30.0, 4
#: Measurements among which the same one is looked for.
RECENT = 1000
_BARRED = (KINDS.index(KNOWN), KINDS.index(COUNTS))
_ITEMS = KINDS.index(ITEMS)
_LABELS = ("plus", "minus", "block", "kind", "live")


def slips_in(state: State, place: int, written: Any = None) -> list[str]:
    """Return warnings about a measurement, compared with those before it that count.

    Args:
        state: The study with the measurement.
        place: The number of the measurement.
        written: Its value as it was written.
    """
    body, all_of, question = state.told[place - 1], state.measurements, state.specification
    if body["kind"] == ITEMS or not all_of.is_live(place):
        return []
    plus, minus, block, kinds, live = (all_of.column(name, place) for name in _LABELS)
    rows = np.flatnonzero(plus[:-1] == plus[-1])
    rows = rows[(minus[rows] == minus[-1]) & (block[rows] == block[-1]) & _counts(kinds[rows], live[rows])]
    values, value, shown = all_of.column("value", place)[rows], body["value"], body.get("shown")
    sigma = body["sigma"] if kinds[-1] in _BARRED else None
    said = []
    same = rows[(values == value) & (rows >= place - 1 - RECENT)].tolist()
    if shown is not None and body["kind"] != COUNTS and shown in (state.told[at].get("shown") for at in same):
        said.append(
            "was told before, with the same value and error bar. If it is the same measurement, void one of "
            "them; with `key=` telling it twice does no harm."
        )
    if not rows.size:
        said += _unlike_all(all_of, place, value) if "minus" not in body else []
    else:
        mean, far = float(values.sum()) / values.size, FAR if question.noise != HEAVY else FAR_OF_ANY_TAILS
        if abs(value - mean) > (0.5 * abs(mean) if sigma is None else far * sigma):
            barred = _are_barred(kinds[rows])
            if sigma is None or not barred.any():
                said += _other_unit(value, mean)
            else:
                precision = float(np.sum(all_of.column("sigma", place)[rows][barred] ** -2.0))
                said += _far_off(value, values, sigma, precision, far)
    if sigma is None and body["kind"] == NONE:
        said += _without_error_bar(state, kinds[:-1][live[:-1] > 0])
    pair = PLUS_MINUS.match(written) if sigma is not None and isinstance(written, str) else None
    if pair and not _are_barred(kinds[:-1][live[:-1] > 0]).any():
        said.append(
            f"was read as a value with its standard error. If {pair[2]} is the standard deviation of n "
            f"readings, amend it with `sd={pair[2]}` and `n=`."
        )
    return [f"{_name(body)} {one}" for one in said]


def _are_barred(kinds: Codes) -> Mask:
    return np.asarray((kinds == _BARRED[0]) | (kinds == _BARRED[1]))


def _counts(kinds: Codes, live: Codes) -> Mask:
    return np.asarray((live > 0) & (kinds != _ITEMS))


def _unlike_all(all_of: Measurements, place: int, value: float) -> list[str]:
    """Whether the first value of an option is of another size than those of all others."""
    _, minus, _, kinds, live = (all_of.column(name, place)[:-1] for name in _LABELS)
    sizes = np.abs(all_of.column("value", place)[:-1][(minus == NOBODY) & _counts(kinds, live)])
    if sizes.size < FEW or not 0.0 < sizes.max() < ALIKE * sizes.min():
        return []
    least, most = float(sizes.min()), float(sizes.max())
    if least / BEYOND <= abs(value) <= BEYOND * most:
        return []
    return [
        f"is of another size than all {sizes.size:,} values so far, which are {number(least)} to "
        f"{number(most)}: is the unit right?"
    ]


def _without_error_bar(state: State, kinds: Codes) -> list[str]:
    if not _are_barred(kinds).any() or has_own_scatter(state):
        return []
    if np.count_nonzero(kinds == KINDS.index(NONE)) >= LEAST_FREEDOM:
        return []
    return [
        "has no error bar, and others have one: the certificate is withheld until such measurements were "
        f"repeated often enough to know their scatter ({LEAST_FREEDOM} degrees of freedom). Amend it "
        "with `se=`, or void it."
    ]


def _name(body: dict[str, Any]) -> str:
    what = body["option"] + (f" - {body['minus']}" if "minus" in body else "")
    error = "" if body.get("shown") is None else f" ± {number(body['shown'])}"
    return f"{what} = {body['value']:.6g}{error}"


def _far_off(value: float, values: Floats, sigma: float, precision: float, far: float) -> list[str]:
    """How far a value lies from what is known of its option, and what it may have been meant to be."""
    count, mean = values.size, float(values.mean())
    away = value - mean
    scatter = float(values.var(ddof=1)) if count > 2 else 0.0
    usual = max(sigma**2, scatter) + max(1.0 / precision, scatter / count)
    if away * away <= far**2 * usual:
        return []
    off = math.sqrt(usual)
    meant = [moved for factor in FACTORS for moved in (value / factor, value * factor) if value]
    # Near 0 a billionth of anything fits.
    near = [
        one
        for one in meant
        if abs(one - mean) <= min(3.0 * off * max(1.0, abs(one / value)), NEAR * abs(mean))
    ]
    earlier = "an earlier one" if count == 1 else f"{count:,} earlier ones"
    words = (
        f"lies {number(abs(away) / off, 2)} standard errors from {earlier} of the same option, {number(mean)}"
    )
    if near:
        best = min(near, key=lambda one: abs(one - mean))
        return [f"{words}. {number(best, 4)} would fit: are the unit and the decimal point right?"]
    return [f"{words}: amend it if it is a slip."]


def _other_unit(value: float, mean: float) -> list[str]:
    """Whether a value without error bar differs from the earlier ones by a factor between units."""
    ratio = value / mean if mean else 0.0
    for factor in FACTORS:
        for part, times in ((factor, f"{factor:,.0f} times"), (1.0 / factor, f"1/{factor:,.0f} of")):
            if abs(ratio / part - 1.0) < NEAR:
                return [f"is about {times} its earlier values, {number(mean)}: is the unit right?"]
    return []
