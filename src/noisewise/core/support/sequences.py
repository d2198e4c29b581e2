"""Sequences whose items are made when they are looked at: a large table is never in memory as objects."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypeVar, overload

Item = TypeVar("Item", covariant=True)


class MadeOnDemand(Sequence[Item], Generic[Item]):
    """A sequence that knows its length, and how to make the item at a place."""

    @abstractmethod
    def make(self, place: int) -> Item:
        """The item at a place from 0."""

    @overload
    def __getitem__(self, at: int) -> Item: ...
    @overload
    def __getitem__(self, at: slice) -> list[Item]: ...

    def __getitem__(self, at: int | slice) -> Any:
        if isinstance(at, slice):
            return [self.make(place) for place in range(*at.indices(len(self)))]
        return self.make(range(len(self))[at])
