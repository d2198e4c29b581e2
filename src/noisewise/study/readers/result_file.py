"""A file that a reader is given: its bytes, its text, its JSON, whose parts know their places."""

import io
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from noisewise.core.checks import nearest
from noisewise.core.strict_json import DuplicateNameError, parse_json
from noisewise.core.text import printable
from noisewise.study.tables.grid import WORKBOOKS
from noisewise.study.tables.packed import PACKED
from noisewise.study.tables.sheet import ReadTable, read_whole

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


#: Bytes that are read whole; what is larger is more likely a mistake, and would fill the memory.
MOST_BYTES = 256 * 1024**2
#: Bytes by which a file is recognised.
HEAD = 65_536


class ResultFile:
    """A file of results; messages call it by its name."""

    def __init__(self, path: Path | None, content: bytes | None = None, name: str | None = None) -> None:
        self.path, self._content = path, content
        self.name = name or (str(path) if path is not None else "standard input")

    def bytes(self) -> bytes:
        """All of it."""
        if self._content is None:
            if self.path is None:
                raise self.refuse("there is nothing to read.")
            size = self.path.stat().st_size
            if size > MOST_BYTES:
                raise self.refuse(
                    f"it has {size / 1024**2:,.0f} MB, and at most {MOST_BYTES / 1024**2:,.0f} are read: "
                    "export fewer results into one file."
                )
            self._content = self.path.read_bytes()
        if not self._content.strip(b" \t\r\n\x00\xef\xbb\xbf"):
            raise self.refuse("it is empty: did the tool that writes it end before it was done?")
        return self._content

    def stream(self) -> BinaryIO:
        """It as an open file, of which parts are read: an archive may be larger than what is read of it."""
        if self._content is None and self.path is not None:
            return self.path.open("rb")
        return io.BytesIO(self.bytes())

    def head(self) -> str:
        """The beginning, by which a file is recognised; empty if it cannot be read."""
        try:
            if self._content is None and self.path is not None:
                with self.path.open("rb") as file:
                    return file.read(HEAD).decode("utf-8-sig", errors="replace")
            return (self._content or b"")[:HEAD].decode("utf-8-sig", errors="replace")
        except OSError:
            return ""

    def text(self) -> str:
        """All of it as text; line ends are those of Unix."""
        content = self.bytes()
        encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError as problem:
            raise self.refuse(
                f"it is not text in UTF-8 (byte {problem.start + 1:,}): is it the right file?"
            ) from None
        if "\x00" in text:
            raise self.refuse("it is not text: is it the right file?")
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def json(self) -> JsonPart:
        """All of it as one JSON value, whose parts know their places."""
        return self._parsed(self.text(), "")

    def json_lines(self) -> list[JsonPart]:
        """Every line as a JSON value; empty lines are passed over."""
        lines = enumerate(self.text().split("\n"), start=1)
        return [self._parsed(line, f"line {at}") for at, line in lines if line.strip()]

    def _parsed(self, text: str, place: str) -> JsonPart:
        where = f"{place}: " if place else ""
        try:
            return JsonPart(parse_json(text), self.name, place)
        except json.JSONDecodeError as problem:
            at = f"line {problem.lineno}, column {problem.colno}" if not place else f"column {problem.colno}"
            # Of what ends in the middle, the last character or the beginning of the last text is named.
            cut = problem.pos >= len(text.rstrip()) - 1 or problem.msg.startswith("Unterminated string")
            why = (
                "it ends in the middle: is it cut off?" if cut else f"it is not JSON ({problem.msg} in {at})."
            )
            raise self.refuse(f"{where}{why}") from None
        except RecursionError:
            raise self.refuse(f"{where}its JSON is nested too deeply to be a file of results.") from None
        except DuplicateNameError as problem:
            name = printable(str(problem)[:100])
            raise self.refuse(f"{where}the name {name!r} appears twice in one object.") from None
        except ValueError:
            raise self.refuse(f"{where}it has a number with too many digits.") from None

    def table(self) -> ReadTable:
        """It as a table of any kind; a text from standard input."""
        packed = self.path is not None and self.path.suffix.lower() in (*PACKED, *WORKBOOKS)
        try:
            return read_whole("table", self.path if packed else self.bytes(), "the file")
        except (ValueError, OSError) as problem:
            if str(problem).startswith(str(self.refuse(""))):
                raise
            why = str(problem).removeprefix("'the file' ").replace("'the file'", "the file")
            raise self.refuse(why if why[-1] in ".?" else f"{why}.") from None

    def sibling(self, *names: str) -> "ResultFile | None":
        """A file in the same folder, or at a relative path from it; None if there is none."""
        if self.path is None:
            return None
        found = self.path.parent.joinpath(*names)
        return ResultFile(found) if found.is_file() else None

    def refuse(self, why: str) -> ValueError:
        """An error that names the file: ``raise file.refuse("line 3: ...")``."""
        return ValueError(f"{printable(self.name)!r}: {why}")
