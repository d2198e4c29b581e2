"""Readings whose scatter is each option's own: which they are, and what all of one option say together."""

import math
from typing import NamedTuple

import numpy as np

from noisewise.core.choice.selection import Mask
from noisewise.core.model.dense import Floats
from noisewise.core.support.distributions import f_tails
from noisewise.study.log.measurements import ALL_READINGS, KINDS, Columns
from noisewise.study.log.model_choice import ModelChoice
from noisewise.study.log.specification import FIRST, OWN, POOLED
from noisewise.study.log.state import State
from noisewise.study.models.sums import sorted_by, totals
from noisewise.study.telling.error_bars import NONE, READINGS

#: Readings of an option below which nothing is known of its own scatter.
LEAST = 2
#: A scatter below this part of a value is rounding.
ROUNDING = 8.0 * float(np.finfo(float).eps)


def has_own_scatter(state: State) -> bool:
    """Whether readings that name neither instrument nor block scatter by each option's own amount.

    It was declared, or follows from what was told at the first moment: never from values.
    """
    question = state.specification
    if not (question.scatter == OWN or (question.scatter == FIRST and begins_with_own(state))):
        return False
    return shares_nothing(question.first_model) and shares_nothing(state.model)


def begins_with_own(state: State) -> bool:
    """Whether readings that name neither instrument nor block were told at the first moment."""
    return state.begun.own > 0


def begins_mostly_with_own(state: State) -> bool:
    """Whether they were at least half of what was told at the first moment."""
    return 0 < state.begun.rows <= 2 * state.begun.own


def begins_pooled(state: State) -> bool:
    """Whether scatter is pooled from the first moment on, by declaration or because of the kinds told."""
    if has_own_scatter(state):
        return False
    return state.specification.scatter == POOLED or not state.begun.kinds.isdisjoint((READINGS, NONE))


def shares_nothing(model: ModelChoice) -> bool:
    """Whether options have nothing in common, and readings of one option all that there is of its scatter."""
    return not model.uses_features and model.extra_scatter is None


def is_linked(columns: Columns) -> bool:
    """Whether there are blocks or differences, whose bounds need a scatter that options share."""
    return bool(((columns.minus >= 0) | (columns.block > 0)).any())


def own_rows(columns: Columns) -> Mask:
    """Which measurements are readings of one option that name neither instrument nor block, (N,)."""
    everything = columns.pools.index(ALL_READINGS) if ALL_READINGS in columns.pools else -1
    alike = (columns.kind == KINDS.index(READINGS)) & (columns.pool == everything)
    single = columns.kind == KINDS.index(NONE)
    return np.asarray((alike | single) & (columns.minus < 0) & (columns.block == 0))


class Agreement(NamedTuple):
    """Whether repeated measurements of one option agree as well as their readings do among themselves."""

    compared: int  # options
    worst: int  # the one that agrees least
    chance: float  # of so little agreement for any of them


class OwnReadings(NamedTuple):
    """What all readings of every option say, (n,) each: it does not matter how they were told."""

    readings: Floats
    told: Floats  # in how many measurements
    mean: Floats  # 0 without readings
    squares: Floats  # around that mean
    within: Floats  # around the mean of each measurement

    @property
    def sd(self) -> Floats:
        """The standard deviation of single readings; NaN where it is not known."""
        known = (self.readings >= LEAST) & (self.squares > 0.0)
        return np.where(known, np.sqrt(self.squares / np.maximum(self.readings - 1.0, 1.0)), np.nan)

    @property
    def typical_sd(self) -> float:
        """Of the readings of any option; NaN if none is known."""
        freedom = float(np.maximum(self.readings - 1.0, 0.0).sum())
        squares = float(self.squares.sum())
        return math.sqrt(squares / freedom) if freedom > 0.0 and squares > 0.0 else math.nan

    def agreement(self) -> Agreement:
        """By F tests, one per option that was measured repeatedly with several readings."""
        between, within = self.told - 1.0, self.readings - self.told
        some = np.flatnonzero((between > 0.0) & (within > 0.0) & (self.within > 0.0))
        if not some.size:
            return Agreement(0, 0, 1.0)
        above = (self.squares - self.within)[some] / between[some]
        ratio = above / (self.within[some] / within[some])
        chances = np.ones(some.size)
        for place in np.flatnonzero(ratio > 3.0):  # smaller ones are never suspicious
            at = some[place]
            chances[place] = f_tails(float(between[at]), float(within[at]), float(ratio[place])).upper
        least = int(np.argmin(chances))
        return Agreement(some.size, int(some[least]), min(1.0, float(chances[least]) * some.size))

    def least_squares(self, noise_floor: float) -> Floats:
        """The sum of squares with which the usual measurement has a standard error of the noise floor."""
        usual = self.readings / np.maximum(self.told, 1.0)
        return np.maximum(self.readings - 1.0, 0.0) * usual * noise_floor**2


def own_readings(columns: Columns, n: int) -> OwnReadings:
    """The sums of these measurements, the same to the last bit whatever their order.

    Args:
        columns: Readings.
        n: How many options there are.
    """
    sorting = sorted_by(columns, "readings", columns.plus, columns.value)
    order = sorting.places
    if not sorting.is_settled(columns.readings, columns.scatter):
        order = np.lexsort((columns.scatter, columns.readings, columns.value, columns.plus))
    plus, value, count = columns.plus[order], columns.value[order], columns.readings[order]
    readings = totals(plus, count, n)
    centre = float(np.median(value)) if value.size else 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.nan_to_num(totals(plus, count * (value - centre), n) / readings)
    within = totals(plus, columns.scatter[order], n)
    between = totals(plus, count * (value - centre - mean[plus]) ** 2, n)
    told = totals(plus, np.ones(plus.size), n)
    # Equal readings scatter by what their mean was rounded by: three times 0.1 by 2e-17.
    largest = np.zeros(n)
    np.maximum.at(largest, plus, np.abs(value))
    equal = within + between <= readings * (ROUNDING * largest) ** 2
    within, between = np.where(equal, 0.0, within), np.where(equal, 0.0, between)
    return OwnReadings(readings, told, np.where(readings > 0.0, mean + centre, 0.0), within + between, within)
