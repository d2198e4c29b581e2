"""The contents of all measurements, kept small: a million of them must fit beside everything else."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

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

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, place: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, place: slice) -> list[dict[str, Any]]: ...

    def __getitem__(self, place: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(place, slice):
            return [self._unpacked(row) for row in self._rows[place]]
        return self._unpacked(self._rows[place])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return map(self._unpacked, self._rows)

    def __setitem__(self, place: int, content: dict[str, Any]) -> None:
        self._rows[place] = self._packed(content)

    def extend(self, contents: Iterable[dict[str, Any]]) -> None:
        """Keep more of them."""
        self._rows.extend(map(self._packed, contents))

    def _packed(self, content: dict[str, Any]) -> tuple[Any, ...]:
        names = tuple(content)
        texts = self._texts
        row: list[Any] = [self._layouts.setdefault(names, names)]
        row += [
            texts.setdefault(value, value) if name in _SHARED and type(value) is str else value
            for name, value in content.items()
        ]
        if "shown" in content and content.get("sigma") == content["shown"]:
            row[names.index("shown") + 1] = content["sigma"]  # one number instead of two equal ones
        return tuple(row)

    @staticmethod
    def _unpacked(row: tuple[Any, ...]) -> dict[str, Any]:
        return dict(zip(row[0], row[1:], strict=True))
