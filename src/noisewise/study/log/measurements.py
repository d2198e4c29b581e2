"""Measurements as columns: appended, voided and amended by events, read as arrays."""

import itertools
import math
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from noisewise.core.blocks import Floats
from noisewise.core.growing_order import Orders
from noisewise.study.telling.error_bars import BOUNDED, COUNTS, ITEMS, KNOWN, NONE, READINGS, logarithms

Codes = NDArray[np.int64]
#: Measurements that say the same things, in columns.
Told = Mapping[str, Sequence[Any]]
KINDS = (KNOWN, READINGS, COUNTS, NONE, ITEMS, BOUNDED)
_CODE_OF_KIND = {kind: code for code, kind in enumerate(KINDS)}
NOBODY = -1
#: The pool of measurements that came without.
WITHOUT_ERROR_BARS = "measurements without error bars"
#: The pool of readings that name neither an instrument nor a block.
ALL_READINGS = "all readings"
#: The block of measurements that name none.
NO_BLOCK = ""


class Columns(NamedTuple):
    """The measurements that count, in any order."""

    number: Codes
    plus: Codes
    minus: Codes  # NOBODY unless the measurement is of a difference
    block: Codes  # places in ``blocks``
    value: Floats
    kind: Codes  # places in KINDS
    sigma: Floats  # NaN where it is to be pooled
    readings: Floats
    scatter: Floats
    pool: Codes  # places in ``pools``
    blocks: list[str]
    pools: list[str]
    moment: Codes | None = None  # the same for all that were told together; None where that is unknown
    singles: dict[int, Floats] = {}  # noqa: RUF012 - never changed; the readings behind a value, by number
    arm: NDArray[np.bool_] | None = None  # whether it is an arm of the study that its block names
    orders: Orders | None = None  # how they were sorted last

    def select(self, mask: NDArray[Any]) -> "Columns":
        """Some of the measurements."""
        if mask.dtype == bool and mask.all():
            return self
        parts: Any = self._asdict()
        return Columns(
            **{n: part[mask] if isinstance(part, np.ndarray) else part for n, part in parts.items()}
        )

    @property
    def extra_share(self) -> Floats:
        """The part of the variance of extra scatter that each measurement has, (N,).

        Arms of one study have half each: extra scatter is what the *difference* of two arms lacks, as it is
        of a difference that was told as such, and two arms' halves make it up.
        """
        return np.ones(self.value.size) if self.arm is None else np.where(self.arm, 0.5, 1.0)

    def widened(self, sigma: Floats, extra: float) -> Floats:
        """Standard errors with extra scatter, added in squares, (N,)."""
        return np.asarray(np.hypot(sigma, extra * np.sqrt(self.extra_share)))


class Measurements:
    """All measurements of a study, as they were told; the number of one is its place, from 1.

    Args:
        logs: Whether what is computed with, `columns`, are logarithms.
    """

    def __init__(self, *, logs: bool = False) -> None:
        self._logs = logs
        codes = {
            "plus": "i", "minus": "i", "block": "i", "kind": "b", "readings": "q", "pool": "i", "arm": "b",
            "row": "q",
        }  # fmt: skip
        self._whole = {name: array(code) for name, code in codes.items()}
        self._real = {name: array("d") for name in ("value", "sigma", "scatter")}
        self._live = array("b")
        self._all: dict[str, array[Any]] = {**self._whole, **self._real, "live": self._live}
        self._moment, self._at = array("i"), math.nan  # which moment, and when the latest was
        self.event = array("i")  # the number of the event that recorded it
        self.blocks: dict[str, int] = {NO_BLOCK: 0}
        self.pools: dict[str, int] = {}
        self._singles: dict[int, Floats] = {}
        self.averaged: set[int] = set()  # means of readings that are not known, where logarithms are taken
        self._columns: Columns | None = None
        self._orders = Orders()

    def __len__(self) -> int:
        return len(self._live)

    @property
    def n_live(self) -> int:
        """How many count."""
        return self._live.count(1)

    def extend(
        self, plus: Sequence[int], minus: Sequence[int], told: Told, at: Sequence[float], event: Sequence[int]
    ) -> None:
        """Enter measurements, in columns; those with one time in a row were recorded together.

        Args:
            plus: The option of each.
            minus: The option that each was compared with, or NOBODY.
            told: What they say; all say the same things.
            at: When each was recorded.
            event: The number of its event.
        """
        first = len(self) + 1
        self._keep_singles(first, told)
        for name, values in self._entries(plus, minus, told).items():
            self._all[name].extend(values)
        self._live.extend(itertools.repeat(1, len(plus)))
        self._moment.extend(self._moments(at))
        self.event.extend(event)
        self._columns = None

    def replace(self, number: int, plus: int, minus: int, told: Told) -> None:
        """Put a corrected measurement in the place of an earlier one."""
        self._keep_singles(number, told)
        for name, (value,) in self._entries([plus], [minus], told).items():
            self._all[name][number - 1] = value
        self._columns = None

    def void(self, number: int) -> None:
        """Let a measurement count no more."""
        self._live[number - 1] = 0
        self._columns = None

    def from_tables(self) -> tuple[Codes, Codes, Codes]:
        """The numbers of measurements that came from tables without keys, their rows, and which table it was.

        Rows of one table were told at one moment, in their order.
        """
        rows = np.array(self._whole["row"], dtype=np.int64)
        places = np.flatnonzero(rows)
        rows, moments = rows[places], np.array(self._moment, dtype=np.int64)[places]
        begins = (np.diff(moments) != 0) | (np.diff(rows) <= 0)
        tables = np.concatenate([np.zeros(min(1, rows.size), dtype=np.int64), np.cumsum(begins)])
        return places + 1, rows, tables

    def column(self, name: str, count: int) -> NDArray[Any]:
        """One column of the first measurements, as told; "live" says which of them count.

        It is a view, which must be gone before the next measurement is entered.
        """
        column = self._all[name]
        return np.frombuffer(column, dtype=column.typecode, count=count)

    def is_live(self, number: int) -> bool:
        """Whether a measurement counts."""
        return bool(self._live[number - 1])

    def with_values(self, values: Floats) -> Codes:
        """The numbers of measurements that count and were told with one of these values."""
        told = np.isin(np.array(self._real["value"], dtype=np.float64), values)
        return np.flatnonzero(told & np.array(self._live, dtype=bool)) + 1

    def as_told(self, numbers: Codes) -> tuple[Floats, Floats]:
        """Values and standard errors of some measurements in the unit of the values; NaN: none."""
        value, sigma = (np.array(self._real[name], dtype=np.float64) for name in ("value", "sigma"))
        return value[numbers - 1], sigma[numbers - 1]

    def columns(self) -> Columns:
        """The measurements that count, as arrays, on the scale that is computed with."""
        if self._columns is None:
            live = np.array(self._live, dtype=bool)
            whole = {name: np.array(column, dtype=np.int64)[live] for name, column in self._whole.items()}
            real = {name: np.array(column, dtype=np.float64)[live] for name, column in self._real.items()}
            if self._logs:
                real = logarithms(**real)._asdict()
            self._columns = Columns(
                number=np.flatnonzero(live) + 1,
                plus=whole["plus"],
                minus=whole["minus"],
                block=whole["block"],
                value=real["value"],
                kind=whole["kind"],
                sigma=real["sigma"],
                readings=whole["readings"].astype(np.float64),
                scatter=real["scatter"],
                pool=whole["pool"],
                blocks=list(self.blocks),
                pools=list(self.pools),
                moment=np.array(self._moment, dtype=np.int64)[live],
                singles=self._singles,
                arm=whole["arm"].astype(bool) if whole["arm"].any() else None,
                orders=self._orders,
            )
        return self._columns

    def _keep_singles(self, first: int, told: Told) -> None:
        if not (self._logs or "values" in told or first in self._singles):
            return
        singles = told.get("values") or [None] * len(told["kind"])
        for number, (kind, some) in enumerate(zip(told["kind"], singles, strict=True), first):
            self._singles.pop(number, None)
            if self._logs:
                self.averaged.discard(number)
                self.averaged.update({number} if kind == READINGS and some is None else ())
            if kind == BOUNDED and some is not None:
                found = np.array(some, dtype=np.float64)
                self._singles[number] = np.log(found) if self._logs else found

    def _moments(self, at: Iterable[float]) -> Iterator[int]:
        moment = self._moment[-1] if self._moment else -1
        for time in at:
            if time != self._at:
                moment, self._at = moment + 1, time
            yield moment

    def _entries(self, plus: Sequence[int], minus: Sequence[int], told: Told) -> dict[str, Any]:
        n, blocks, pools = len(plus), self.blocks, self.pools
        kinds = told["kind"]
        if {READINGS, NONE}.isdisjoint(kinds):
            shared: list[str] = [""] * n
        else:
            places = (told.get(name) or itertools.repeat(None, n) for name in ("instrument", "block"))
            shared = list(map(_pool_of, kinds, *places))

        def usual(name: str, value: float) -> Sequence[Any]:
            return told.get(name) or [value] * n

        return {
            "plus": plus,
            "minus": minus,
            "block": [blocks.setdefault(block, len(blocks)) for block in told.get("block") or [NO_BLOCK] * n],
            "kind": [_CODE_OF_KIND[kind] for kind in kinds],
            "readings": usual("readings", 1),
            "pool": [pools.setdefault(pool, len(pools)) for pool in shared],
            "arm": [int(one) for one in usual("arm", 0)],
            "row": usual("row", 0),
            "value": told["value"],
            "sigma": usual("sigma", math.nan),
            "scatter": usual("scatter", 0.0),
        }


def _pool_of(kind: str, instrument: str | None, block: str | None) -> str:
    """What a measurement shares its scatter with: its instrument, else its block, else all measurements."""
    if kind == NONE:
        return WITHOUT_ERROR_BARS
    if kind != READINGS:
        return ""
    if instrument:
        return f"instrument {instrument}"
    return f"block {block}" if block else ALL_READINGS


#: Texts that many measurements share are kept once. Keys and notes are not among them.
_SHARED = frozenset(("option", "minus", "kind", "block", "instrument", "by"))


class Contents(Sequence[dict[str, Any]]):
    """A list of dictionaries of which most have the same few names: one tuple of values each.

    A dictionary of six takes 270 bytes, a tuple half of that; with equal numbers and texts kept once, a
    measurement takes about a third.
    """

    def __init__(self) -> None:
        self._rows: list[tuple[Any, ...]] = []  # each begins with its names
        self._layouts: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._texts: dict[str, str] = {}
        self._said: list[str] = []  # the rows as texts, as far as they were asked for

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, place: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, place: slice) -> list[dict[str, Any]]: ...

    def __getitem__(self, place: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(place, slice):
            return [_unpacked(row) for row in self._rows[place]]
        return _unpacked(self._rows[place])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return map(_unpacked, self._rows)

    def __setitem__(self, place: int, content: dict[str, Any]) -> None:
        (self._rows[place],) = self._packed({name: (value,) for name, value in content.items()})
        del self._said[place:]

    def extend(self, told: Told) -> None:
        """Keep more of them, given in columns."""
        self._rows.extend(self._packed(told))

    def texts(self, without: Collection[str]) -> list[str]:
        """What each says under all names but these, which are the same at every call."""
        for one in self[len(self._said) :]:
            said = sorted((name, value) for name, value in one.items() if name not in without)
            self._said.append(repr([pair for pair in said if pair[1] is not None]))
        return self._said

    def column(self, name: str) -> list[Any]:
        """What each has under a name, None where there is nothing."""
        return [one.get(name) for one in self]

    def places_with(self, names: Collection[str], fits: Callable[[str], bool]) -> list[int]:
        """Places of those that have a fitting text under one of some names."""
        return [
            place
            for place, one in enumerate(self)
            if any(fits(str(one[name])) for name in names if one.get(name) is not None)
        ]

    def _packed(self, told: Told) -> Iterator[tuple[Any, ...]]:
        names, texts = tuple(told), self._texts
        columns: list[Sequence[Any]] = [
            [texts.setdefault(text, text) for text in column] if name in _SHARED else column
            for name, column in told.items()
        ]
        if "shown" in told and told.get("sigma") == told["shown"]:
            columns[names.index("shown")] = told["sigma"]  # one number instead of two equal ones
        return zip(itertools.repeat(self._layouts.setdefault(names, names)), *columns)


def _unpacked(row: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(row[0], row[1:], strict=True))
