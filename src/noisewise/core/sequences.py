"""Large tables: sequences that make their items on demand, and work without the garbage collector."""

import gc
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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

    def __iter__(self) -> Iterator[Item]:
        return map(self.make, range(len(self)))


@contextmanager
def without_collector() -> Iterator[None]:
    """A context in which no cycles are collected; all else goes by its reference count, as always."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
