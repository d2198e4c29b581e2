"""A part of a JSON file that knows its place: what is missing or of the wrong type is named with it."""

import math
from collections.abc import Iterator
from typing import Any, TypeAlias

from noisewise.core.support.checks import nearest
from noisewise.core.support.text import printable

#: Numbers whose squares and products are still numbers; no measurement is larger.
LARGEST = 1e100
#: How much of a wrong value is shown.
SHOWN = 40
_TYPES = {
    dict: "an object", list: "a list", str: "a text", bool: "true or false", int: "a number",
    float: "a number",
}  # fmt: skip


#: Lists, which have the name of a method below.
Parts: TypeAlias = "list[JsonPart]"
Numbers = list[float]


class JsonPart:
    """A value in a JSON file: ``file.json()["results"].list()[2]["mean"].number(least=0.0)``."""

    def __init__(self, value: Any, file: str, place: str = "") -> None:
        self.value, self.file, self.place = value, file, place

    def refuse(self, why: str) -> ValueError:
        """An error that names the file and the place: ``raise part.refuse("must be ...")``."""
        where = f"{self.place} " if self.place else "it "
        return ValueError(f"{printable(self.file)!r}: {printable(where)}{why}")

    def __getitem__(self, name: str) -> "JsonPart":
        """A member that must be there."""
        found = self.get(name)
        if found is not None:
            return found
        if name in self.object():
            raise self._member(name).refuse("must not be null.")
        raise self.refuse(f"must have {name!r}.{nearest(name, list(self.value))}")

    def get(self, name: str) -> "JsonPart | None":
        """A member; None if it is not there, or null."""
        return None if self.object().get(name) is None else self._member(name)

    def _member(self, name: str) -> "JsonPart":
        plain = name.isascii() and name.isidentifier()
        step = (f".{name}" if self.place else name) if plain else f"[{name!r}]"
        return JsonPart(self.value[name], self.file, f"{self.place}{step}")

    def object(self) -> dict[str, Any]:
        """It, which must be an object."""
        return self._typed(dict, "an object")  # type: ignore[no-any-return]

    def items(self) -> Iterator[tuple[str, "JsonPart"]]:
        """The members of an object."""
        return ((name, self._member(name)) for name in self.object())

    def list(self, least: int = 0) -> "Parts":
        """The elements of a list."""
        found = self._typed(list, "a list")
        if len(found) < least:
            raise self.refuse(f"must have at least {least}; it has {len(found)}.")
        return [JsonPart(one, self.file, f"{self.place}[{at}]") for at, one in enumerate(found)]

    def text(self, empty: bool = False) -> str:
        """A text, which may be ``empty``, or blank, only if that is said."""
        found: str = self._typed(str, "a text")
        if not empty and not found.strip():
            raise self.refuse("must not be empty.")
        return found

    def number(self, least: float | None = None) -> float:
        """A finite number, of at least ``least``."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            raise self._wrong("a number")
        try:
            number = float(self.value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self.refuse(f"must be a finite number; got {number}.")
        if abs(number) > LARGEST:
            raise self.refuse(f"is too large for a measurement: {number:g}.")
        if least is not None and number < least:
            raise self.refuse(f"must be at least {least:g}; got {number:g}.")
        return number

    def numbers(self, least: float | None = None, at_least: int = 0) -> Numbers:
        """A list of finite numbers."""
        plain = self._typed(list, "a list")
        # Long lists are usually in order; only what is not is looked at one by one, for its place.
        if len(plain) >= at_least and set(map(type, plain)) <= {float}:
            lowest = -math.inf if least is None else least
            if all(lowest <= number and -LARGEST <= number <= LARGEST for number in plain):
                return [*plain]
        return [one.number(least) for one in self.list(at_least)]

    def count(self, least: int = 0) -> int:
        """A whole number."""
        number = self.number(float(least))
        if number != int(number):
            raise self.refuse(f"must be a whole number; got {number:g}.")
        return int(self.value)

    def is_a(self, *types: type) -> bool:
        """Whether it is of one of these types, for files that write the same in several ways."""
        return isinstance(self.value, types)

    def _typed(self, wanted: type, called: str) -> Any:
        if not isinstance(self.value, wanted):
            raise self._wrong(called)
        return self.value

    def _wrong(self, called: str) -> ValueError:
        got = _TYPES.get(type(self.value), "null")
        shown = "" if isinstance(self.value, dict | list) or self.value is None else f", {self._shown()}"
        return self.refuse(f"must be {called}; got {got}{shown}.")

    def _shown(self) -> str:
        text = printable(repr(self.value))
        return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
