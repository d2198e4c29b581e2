"""Rows sorted by group and value, kept from question to question: rows that are new are merged into the rest.

Nothing has to be dropped when rows were changed or left out: what was sorted before is compared with what is
there, which takes a tenth of the time of sorting, and is used only if it is the beginning of it.
"""

import functools

import numpy as np
from numpy.typing import NDArray

from noisewise.core.blocks import median

#: Rows of which an order is kept, at most: it takes 40 bytes for each.
MOST_KEPT = 200_000
#: More new rows than one in so many are sorted together with the others.
MERGED = 4
#: Groups up to here are exact as floats.
_EXACT = 2**53

_Codes = NDArray[np.int64]
_Floats = NDArray[np.float64]


class GrowingOrder:
    """The places of some rows, sorted by group and then by value; equal rows are in any order.

    Args:
        group: Of each row, (N,), none below 0.
        value: Of each row, (N,).
        before: Of fewer rows, or others.
    """

    def __init__(self, group: _Codes, value: _Floats, before: "GrowingOrder | None" = None) -> None:
        self.group, self.value = group, value
        merged = None if before is None else _merged(before, group, value)
        self.places: _Codes = _sorted(group, value) if merged is None else merged

    @functools.cached_property
    def starts(self) -> _Codes:
        """Where each group begins among the sorted rows."""
        return np.flatnonzero(self._fresh)

    @functools.cached_property
    def group_of_row(self) -> _Codes:
        """Which group each of the sorted rows belongs to, counted from 0."""
        return np.cumsum(self._fresh) - 1

    @functools.cached_property
    def tied(self) -> NDArray[np.bool_]:
        """Whether each of the sorted rows but the last is like the next, (N - 1,)."""
        value = self.value[self.places]
        return np.asarray(~self._fresh[1:] & (value[1:] == value[:-1]))

    @functools.cached_property
    def median(self) -> float:
        """Of all values; 0 if there are none."""
        return median(self.value) if self.value.size else 0.0

    @functools.cached_property
    def keys(self) -> NDArray[np.complex128]:
        """Of the sorted rows: complex numbers are compared by their first part, and then by their second."""
        return _keys(self.group[self.places], self.value[self.places])

    @functools.cached_property
    def _fresh(self) -> NDArray[np.bool_]:
        group = self.group[self.places]
        fresh = np.ones(group.size, dtype=bool)
        np.not_equal(group[1:], group[:-1], out=fresh[1:])
        return fresh

    def is_settled(self, *others: NDArray[np.generic]) -> bool:
        """Whether rows that are alike in group and value are alike in these as well: none is misplaced."""
        at = np.flatnonzero(self.tied)
        here, there = self.places[at], self.places[at + 1]
        return all(bool((other[here] == other[there]).all()) for other in others)


class Orders:
    """What was sorted last under each of a few names."""

    def __init__(self) -> None:
        self._kept: dict[str, GrowingOrder] = {}

    def of(self, name: str, group: _Codes, value: _Floats) -> GrowingOrder:
        """The order of these rows.

        Args:
            name: What they are sorted for.
            group: Of each row, (N,).
            value: Of each row, (N,).
        """
        before = self._kept.get(name)
        if before is not None and _begins_with(before, group, value) and before.group.size == group.size:
            return before
        found = GrowingOrder(group, value, before)
        if group.size <= MOST_KEPT:
            self._kept[name] = found
        return found


def _sorted(group: _Codes, value: _Floats) -> _Codes:
    """All of them; few groups fit 16 bits, which NumPy sorts by counting."""
    few = int(group.max(initial=0)) < 2**16
    by_value = np.argsort(value)
    return by_value[np.argsort(group[by_value].astype(np.uint16 if few else np.int64), kind="stable")]


def _merged(before: GrowingOrder, group: _Codes, value: _Floats) -> _Codes | None:
    """The places of all rows, if the first of them are those that were sorted before, and few are new."""
    known = before.group.size
    new = group.size - known
    if new * MERGED > known or not _begins_with(before, group, value):
        return None
    if int(group.max(initial=0)) >= _EXACT:
        return None
    fresh = known + np.lexsort((value[known:], group[known:]))
    at = np.searchsorted(before.keys, _keys(group[fresh], value[fresh]), side="right")
    return np.insert(before.places, at, fresh)


def _begins_with(before: GrowingOrder, group: _Codes, value: _Floats) -> bool:
    known = before.group.size
    if group.size < known:
        return False
    return bool((group[:known] == before.group).all() and (value[:known] == before.value).all())


def _keys(group: _Codes, value: _Floats) -> NDArray[np.complex128]:
    keys = np.empty(group.size, dtype=np.complex128)
    keys.real, keys.imag = group, value
    return keys
