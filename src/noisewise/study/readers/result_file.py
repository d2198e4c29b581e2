"""A file that a reader is given: its bytes, its text, its JSON, refused in one sentence if it is none."""

import io
import json
from pathlib import Path
from typing import BinaryIO

from noisewise.core.support.strict_json import DuplicateNameError, parse_json
from noisewise.core.support.text import printable
from noisewise.study.readers.json_part import JsonPart

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

    def beginning(self) -> "ResultFile":
        """The first lines as a file of their own, for a look at a table that may be long."""
        head = self.head()
        whole = len(head.encode()) < HEAD
        lines = head if whole else head[: head.rfind("\n") + 1]
        return ResultFile(None, lines.encode(), self.name)

    def text(self) -> str:
        """All of it as text; line ends are those of Unix."""
        content = self.bytes()
        encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError as problem:
            raise self.refuse(
                f"it is no text in UTF-8 (byte {problem.start + 1:,}): is it the right file?"
            ) from None
        if "\x00" in text:
            raise self.refuse("it is no text: is it the right file?")
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
                "it ends in the middle: is it cut off?" if cut else f"it is no JSON ({problem.msg} in {at})."
            )
            raise self.refuse(f"{where}{why}") from None
        except RecursionError:
            raise self.refuse(f"{where}its JSON is nested too deeply to be a file of results.") from None
        except DuplicateNameError as problem:
            name = printable(str(problem)[:100])
            raise self.refuse(f"{where}the name {name!r} appears twice in one object.") from None
        except ValueError:
            raise self.refuse(f"{where}it has a number with too many digits.") from None

    def sibling(self, *names: str) -> "ResultFile | None":
        """A file in the same folder, or at a relative path from it; None if there is none."""
        if self.path is None:
            return None
        found = self.path.parent.joinpath(*names)
        return ResultFile(found) if found.is_file() else None

    def refuse(self, why: str) -> ValueError:
        """An error that names the file: ``raise file.refuse("line 3: ...")``."""
        return ValueError(f"{printable(self.name)!r}: {why}")
