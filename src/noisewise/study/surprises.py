"""Warnings about a measurement at the moment it is told: most slips are easiest to correct then.

A value far from what is known of the option, another unit, a missing error bar that will withhold the
certificate, the same reading told again. Nothing is refused or changed, and the log
says nothing of it. What earlier measurements say is kept as a few sums for each option and block, so
that a tell takes microseconds longer, however long the log is.
"""

import math
from typing import Any

import numpy as np

from noisewise.core.text import number
from noisewise.study.log.measurements import KINDS, NO_BLOCK, NOBODY
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
#: Measurements among which the same one is looked for, and of others that are taken in one by one.
RECENT = 1000

#: An option, the one it was compared with, and the block.
Probe = tuple[str, str | None, str | None]


class Surprises:
    """What earlier measurements say about the next one.

    Args:
        state: The study.
        until: How many measurements are looked at, from the first on; default: all.
    """

    def __init__(self, state: State, until: int | None = None) -> None:
        columns = state.measurements.columns()
        self.seen = len(state.told) if until is None else until
        columns = columns.select((columns.number <= self.seen) & (columns.kind != KINDS.index(ITEMS)))
        value, sigma = state.measurements.as_told(columns.number)
        known = np.isin(columns.kind, (KINDS.index(KNOWN), KINDS.index(COUNTS)))
        question = state.specification
        self._far = FAR if question.noise != HEAVY else FAR_OF_ANY_TAILS
        self._known, self._single = int(known.sum()), int((columns.kind == KINDS.index(NONE)).sum())
        keys, place = np.unique(
            np.stack([columns.plus, columns.minus, columns.block]), axis=1, return_inverse=True
        )
        place, size = place.reshape(-1), keys.shape[1]
        count = np.bincount(place, minlength=size).astype(float)
        mean = np.bincount(place, value, minlength=size) / np.maximum(count, 1.0)
        squares = np.bincount(place, (value - mean[place]) ** 2, minlength=size)
        weight = np.bincount(place, np.where(known, sigma, np.inf) ** -2.0, minlength=size)
        ids, blocks = state.ids, columns.blocks
        probes: list[Probe] = [
            (ids[plus], None if minus == NOBODY else ids[minus], None if blocks[b] == NO_BLOCK else blocks[b])
            for plus, minus, b in keys.T.tolist()
        ]
        #: How many there are of each, their mean, squares around it, and the sum of 1/sigma².
        self._sums = dict(zip(probes, np.stack([count, mean, squares, weight], 1).tolist(), strict=True))
        sizes = np.abs(value[columns.minus == NOBODY])
        self._count = sizes.size
        self._least, self._most = float(sizes.min(initial=math.inf)), float(sizes.max(initial=0.0))
        recent = (state.told[n - 1] for n in columns.number[-RECENT:].tolist())
        #: Hashes, which the garbage collector does not look at.
        self._recent = {hash((_probe(one), one["value"], one.get("shown"))): None for one in recent}

    def take(self, state: State, body: dict[str, Any], written: Any = None) -> list[str]:
        """Take in the next measurement; warnings about it.

        Args:
            state: The study.
            body: What was told, as the log holds it.
            written: Its value as it was written.
        """
        self.seen += 1
        kind, value = body["kind"], body["value"]
        if kind == ITEMS:
            return []
        probe, shown = _probe(body), body.get("shown")
        sigma = body["sigma"] if kind in (KNOWN, COUNTS) else None
        sums = self._sums.get(probe)
        said = []
        if (reading := hash((probe, value, shown))) in self._recent:
            said += _repeated(kind, shown)
        if sums is None:
            said += self._unlike_all(probe, value)
            self._sums[probe] = [1.0, value, 0.0, 0.0 if sigma is None else sigma**-2.0]
        else:
            count, mean, squares, weight = sums
            away = value - mean
            if sigma is None or not weight:
                said += _other_unit(value, mean) if abs(away) > 0.5 * abs(mean) else ()
            elif away * away > self._far**2 * sigma**2:
                scatter = squares / (count - 1.0) if count > 2.0 else 0.0
                usual = max(sigma**2, scatter) + max(1.0 / weight, scatter / count)
                if away * away > self._far**2 * usual:
                    said += _far_off(value, sums, math.sqrt(usual))
            sums[0] = count = count + 1.0
            sums[1] = mean = mean + away / count
            sums[2] = squares + away * (value - mean)
            if sigma is not None:
                sums[3] = weight + sigma**-2.0
        if sigma is not None:
            if not self._known and isinstance(written, str) and (pair := PLUS_MINUS.match(written)):
                said.append(
                    f"was read as a value with its standard error. If {pair[2]} is the standard deviation of "
                    f"n readings, amend it with sd={pair[2]} and n=."
                )
            self._known += 1
        elif kind == NONE:
            said += self._without_error_bar(state)
            self._single += 1
        if probe[1] is None:
            self._count += 1
            if not self._least <= (size := abs(value)) <= self._most:
                self._least, self._most = min(self._least, size), max(self._most, size)
        self._recent[reading] = None
        if len(self._recent) > RECENT:
            del self._recent[next(iter(self._recent))]
        return [f"{_name(body)} {one}" for one in said] if said else []

    def catch_up(self, state: State, until: int) -> bool:
        """Take in what others told, without a word; False: it is too much to do one by one."""
        told = range(self.seen + 1, until + 1)
        if not 0 < len(told) <= RECENT:
            return False
        for place in told:
            if state.measurements.is_live(place):
                self.take(state, state.told[place - 1])
        self.seen = until
        return True

    def _unlike_all(self, probe: Probe, value: float) -> list[str]:
        """Whether the first value of an option is of another size than those of all others."""
        if probe[1] is not None or self._count < FEW or not 0.0 < self._most < ALIKE * self._least:
            return []
        if self._least / BEYOND <= abs(value) <= BEYOND * self._most:
            return []
        return [
            f"is of another size than all {self._count:,} values so far, which are {number(self._least)} to "
            f"{number(self._most)}: is the unit right?"
        ]

    def _without_error_bar(self, state: State) -> list[str]:
        if not self._known or self._single >= LEAST_FREEDOM or has_own_scatter(state):
            return []
        return [
            "has no error bar, and others have one: the certificate is withheld until such measurements were "
            f"repeated often enough to know their scatter ({LEAST_FREEDOM} degrees of freedom). Amend it "
            "with se=, or void it."
        ]


def slips_in(state: State, number_of: int) -> list[str]:
    """Warnings about a measurement that was told already."""
    before = Surprises(state, number_of - 1)
    return before.take(state, state.told[number_of - 1]) if state.measurements.is_live(number_of) else []


def _probe(body: dict[str, Any]) -> Probe:
    return body["option"], body.get("minus"), body.get("block")


def _name(body: dict[str, Any]) -> str:
    what = body["option"] + (f" - {body['minus']}" if "minus" in body else "")
    error = "" if body.get("shown") is None else f" ± {number(body['shown'])}"
    return f"{what} = {body['value']:.6g}{error}"


def _repeated(kind: str, shown: float | None) -> list[str]:
    if shown is None or kind == COUNTS:
        return []
    return [
        "was told before, with the same value and error bar. If it is the same measurement, void one of "
        "them; with key= telling it twice does no harm."
    ]


def _far_off(value: float, sums: list[float], usual: float) -> list[str]:
    """How far a value lies from what is known of its option, and what it may have been meant to be."""
    count, mean = sums[:2]
    earlier = "an earlier one" if count == 1.0 else f"{count:,.0f} earlier ones"
    off = number(abs(value - mean) / usual, 2)
    meant = [moved for factor in FACTORS for moved in (value / factor, value * factor) if value]
    # Near 0 a billionth of anything fits.
    near = [
        one
        for one in meant
        if abs(one - mean) <= min(3.0 * usual * max(1.0, abs(one / value)), NEAR * abs(mean))
    ]
    words = f"lies {off} standard errors from {earlier} of the same option, {number(mean)}"
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
