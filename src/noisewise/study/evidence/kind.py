"""What a kind of evidence provides: e-processes against "the mean of this option is m", for all options.

An **e-process** against a hypothesis is a process that is never negative, begins at 1 and is not expected to
grow while the hypothesis is true, whatever decides what is measured next and when to stop. By Ville it ever
exceeds x with probability 1/x at most. Those of several kinds multiply, so their logarithms are added.

Means are written as distances: ``m = estimate + side·z``. With side ``UP`` the mean is suspected to lie above
what was measured (this is asked of rivals), with ``DOWN`` below it (of the recommended option); a large z
lies far out on the suspected side. As a function of z the logarithm never falls, so that what a level leaves
possible ends at one point, its reach (`limits`); of most kinds it is convex, too.
"""

import functools
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

import numpy as np

from noisewise.core.blocks import Floats, Mask, distinct
from noisewise.study.log.measurements import KINDS, Codes, Columns
from noisewise.study.models.fit import pool

if TYPE_CHECKING:
    from noisewise.study.models.fit import Fit

UP, DOWN = 1.0, -1.0


class LogEvidence(NamedTuple):
    """The logarithm of the evidence against some means, and how fast it grows with the distance."""

    value: Floats
    slope: Floats


class Kind(ABC):
    """Evidence of one kind, for every option of a study."""

    #: Its name in a certificate.
    name: ClassVar[str]
    #: Whether standard errors are upper limits: then levels below 0 are not used (see `levels.py`).
    limited: bool = False
    #: Whether the logarithm is convex in the distance.
    convex: ClassVar[bool] = True
    #: Whether it is an e-process in the order of each option's own measurements only, and not in the order
    #: of all: then suprema are compared, and the level is higher (see `levels.py`). It need not be convex,
    #: finds its reaches itself, and is not multiplied with other kinds.
    own_stack: ClassVar[bool] = False
    #: What the error bars rest on of measurements that bring such evidence, see `inputs/error_bars.py`.
    told: ClassVar[tuple[str, ...]]
    #: Whether a coming measurement brings so many readings, or trials; else it brings precision.
    by_readings: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def takes(cls, recorded: "Recorded") -> Mask:
        """Which measurements bring evidence of this kind, unless a kind further down the list takes them."""

    @classmethod
    def parts(cls, columns: Columns, rows: Mask) -> Iterator[Mask]:
        """What each object of this kind is made from: all of these rows."""
        yield rows

    @classmethod
    @abstractmethod
    def of(cls, recorded: "Recorded", rows: Mask) -> Self:
        """The evidence of these measurements."""

    @property
    @abstractmethod
    def facts(self) -> Floats:
        """All that the evidence about each option depends on, (n, anything): equal rows, equal evidence."""

    @property
    @abstractmethod
    def signature(self) -> tuple[object, ...]:
        """What all options have in common: equal signatures and facts, equal evidence."""

    @abstractmethod
    def holds(self) -> Mask:
        """Of which options there are measurements of this kind, (n,)."""

    @abstractmethod
    def log_e(self, options: Codes, z: Floats, side: float) -> LogEvidence:
        """The evidence against means at a distance from the estimate.

        Args:
            options: Some of those that it has measurements of, (k,).
            z: Distances outwards, (k, levels).
            side: UP or DOWN.
        """

    @abstractmethod
    def guess(self, options: Codes, levels: Floats, side: float) -> Floats:
        """About where the evidence reaches each level, rather too far out than too near, (k, levels)."""

    @abstractmethod
    def imagined(self, options: Codes, more: Floats) -> "Kind":
        """The evidence about some options alone, in this order, if more had come out as expected.

        Args:
            options: Any, (k,).
            more: How much more each would have, (k,): readings where `by_readings`, else precision.
        """

    @property
    @abstractmethod
    def precision(self) -> Floats:
        """One over the squared standard error of what it says about each option, as it is estimated, (n,)."""

    @property
    def above(self) -> Floats:
        """How far above its estimate a further measurement of an option is expected to lie, (n,)."""
        return np.zeros(self.precision.size)

    @property
    def of_one(self) -> Floats:
        """The precision that each unit of more evidence is expected to bring, (n,)."""
        return np.ones(self.precision.size)

    def ends(self, options: Codes, side: float) -> tuple[Floats, Floats]:
        """The least and the largest distance that a mean can have at all, (k,) each."""
        everything = np.full(options.size, np.inf)
        return -everything, everything


@dataclass(frozen=True)
class Recorded:
    """Measurements of single options outside of any block, with what they are compared with."""

    columns: Columns
    sigma: Floats  # (N,): the certificate's standard errors
    fit: "Fit"  # the estimates that half-widths are counted from
    sign: float  # of the goal
    resolution: float  # the difference that matters
    as_told: bool  # whether trials and readings between bounds count one by one, without extra scatter
    bounds: tuple[float, float] | None = None  # of readings, where there are such
    own: bool = False  # whether readings scatter by each option's own amount
    noise_floor: float | None = None  # the least standard error of a measurement
    centres: Floats | None = None  # where errors may have any tails: robust estimates, (n,)
    several: Mask = field(default_factory=lambda: np.zeros(0, dtype=bool))  # options with more than one kind

    @property
    def n(self) -> int:
        """The number of options."""
        return self.fit.means.size

    def of_kind(self, *kinds: str) -> Mask:
        """Which measurements rest on these, (N,)."""
        return np.isin(self.columns.kind, [KINDS.index(kind) for kind in kinds])

    @functools.cached_property
    def centre(self) -> float:
        """What the estimates are counted from."""
        return pool(self.columns, self.sigma, self.sign).centre

    def elsewhere(self, usual: float, low: float, high: float) -> Floats:
        """Where readings of options that have none are expected, (n,): at their estimates, if there are."""
        measured = np.bincount(self.columns.plus, minlength=self.n) > 0
        means = self.sign * (self.fit.means + self.centre)
        return np.where(measured, np.clip(means, low, high), usual)

    def apart(self, measured: Mask, means: Floats) -> Floats:
        """How far means of one kind lie above the estimates, (n,): 0, exactly, where there is no other."""
        apart, mixed = np.zeros(means.size), measured & (self.several | self.fit.connected)
        if mixed.any():
            apart[mixed] = (means - self.centre - self.fit.means)[mixed]
        return apart


def evidence_of(recorded: Recorded, known: Sequence[type[Kind]]) -> list[Kind]:
    """The evidence of each kind; that of no measurement at all if there are none.

    Args:
        recorded: The measurements.
        known: All kinds; of several that take a measurement the last one has it.
    """
    free, parts = np.ones(recorded.columns.plus.size, dtype=bool), list[tuple[type[Kind], Mask]]()
    for kind in reversed(known):
        if (rows := kind.takes(recorded) & free).any():
            parts += [(kind, part) for part in kind.parts(recorded.columns, rows)]
            free &= ~rows
    kinds = np.zeros(recorded.n, dtype=np.int64)
    for _, rows in parts:
        kinds[distinct(recorded.columns.plus[rows])] += 1
    recorded = replace(recorded, several=kinds > 1)
    parts.sort(key=lambda part: known.index(part[0]))
    return [kind.of(recorded, rows) for kind, rows in parts or [(known[0], free)]]


def sums_of_digits(options: Codes, n: int, *parts: Floats) -> Floats:
    """Sums over each option's readings of their scrambled digits, (n, 3): the same in any order.

    Args:
        options: Of which option each reading is, (N,).
        n: How many options there are.
        parts: What a reading consists of, (N,) each.
    """
    bits = np.zeros(options.size, dtype=np.uint64)
    for part in parts:
        bits = bits ^ np.ascontiguousarray(part + 0.0).view(np.uint64)
        bits = (bits ^ (bits >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
        bits = (bits ^ (bits >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    third = np.uint64(0x1FFFFF)
    # Sums of 21 bits each are exact.
    return np.column_stack(
        [
            np.bincount(options, ((bits >> np.uint64(shift)) & third).astype(np.float64), n)
            for shift in (0, 21, 42)
        ]
    )


def log_mean(values: Floats, slopes: Floats) -> LogEvidence:
    """The logarithm of a sum of exponentials over the last axis, and its slope."""
    top = values.max(axis=-1)
    parts = np.exp(values - top[..., None])
    total = parts.sum(axis=-1)
    return LogEvidence(top + np.log(total), np.einsum("...s,...s->...", parts, slopes) / total)
