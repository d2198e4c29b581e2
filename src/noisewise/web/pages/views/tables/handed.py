"""What somebody hands in on a page: a text, files, and what wrote them; read as a table or by a reader.

A page that only previews must see the same again when it is told. A text stays in its field; files are kept
in the form itself, so that nothing is left on the server if nobody comes back.
"""

import base64
import binascii
import io
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

from noisewise.study.inputs.dialects.wording import FORM
from noisewise.study.inputs.tables import ENDINGS, SEPARATORS, read_whole

if TYPE_CHECKING:
    from noisewise.study.inputs.read_table import ReadTable
    from noisewise.study.readers.result_file import ResultFile

#: The format that is a plain table; the empty one is found out.
TABLE = "table"
#: Bytes of files that a form keeps, unpacked.
MOST_KEPT = 64 * 2**20
#: Choices of readers that have fields of their own, and what they are.
OF_READERS = (
    ("only", "Only these options", "* stands for anything"),
    ("called", "Called", "here, if it is one option"),
    ("block", "Block", "day or machine of all of it"),
    ("metric", "Metric", "if there are several"),
    ("task", "Task", "if there are several"),
    ("choose", "Anything else", "such as split=test"),
)


class HandedIn(NamedTuple):
    """A text or files, and what they are said to be."""

    text: str = ""
    files: Sequence[tuple[str, bytes]] = ()  # names without folders
    format: str = ""  # empty: to be found out
    kept: str = ""  # the files, for the next time that the form is sent

    @property
    def names(self) -> list[str]:
        """What the files are called."""
        return [name for name, _ in self.files]


class OneTable(NamedTuple):
    """A plain table."""

    table: "ReadTable"
    text: str  # as the field shows it from now on


class ToolResults(NamedTuple):
    """Files of another tool, or a text that is one."""

    files: "list[ResultFile]"
    reader: str


def handed_in(texts: Mapping[str, str], uploads: Sequence[tuple[str, bytes]]) -> HandedIn:
    """What a form says: new files win over the text, which wins over files that were handed in before."""
    text, format = texts.get("table", ""), texts.get("format", "")
    if uploads:
        files = [(PurePath(name.replace("\\", "/")).name or "file", content) for name, content in uploads]
        return HandedIn("", files, format)
    if text.strip():
        return HandedIn(text, (), format)
    return HandedIn("", _unpacked(texts.get("kept", "")), format)


def formats() -> list[tuple[str, str]]:
    """What a file can be said to be: names, and what they mean."""
    from noisewise.study.readers.registry import get, names

    tools = [(name, f"{name}: {get(name).reads}") for name in names()]
    return [("", "found out by its look"), (TABLE, f"a table ({', '.join(ENDINGS)})"), *tools]


def read_handed(handed: HandedIn) -> OneTable | ToolResults:
    """The table, or the files and their reader; `ValueError` in a sentence if there is neither."""
    from noisewise.study.readers.registry import choose, likely
    from noisewise.study.readers.result_file import ResultFile

    if not handed.files and not handed.text.strip():
        raise ValueError("there is no table: paste one with a line of titles, or choose a file.")
    given = handed.files or [("the text", _bytes_of(handed.text))]
    files = [ResultFile(None, content, name) for name, content in given]
    format = handed.format
    if not format:
        format = next(iter(likely(files[0])), TABLE)
        ending = PurePath(files[0].name).suffix.lower()
        if format == TABLE and handed.files and ending not in ENDINGS:
            choose(files[:1])  # refuses it in a sentence that lists what is read
    if format != TABLE:
        return ToolResults(files, choose(files, format).name)
    if len(given) > 1:
        raise ValueError("tables are told one at a time: choose one file.")
    return _table(handed)


def kept_with(handed: HandedIn) -> str:
    """The files as text, for a field of the form."""
    if not handed.files:
        return ""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in handed.files:
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return base64.b64encode(packed.getvalue()).decode("ascii")


def choices_in(texts: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """What is wanted of the rows (only, called, block), and the choices of the reader itself."""
    said = {name: texts.get(f"tool.{name}", "").strip() for name, _, _ in OF_READERS}
    wanted = {name: said[name] for name in ("only", "called", "block") if said[name]}
    choices = {name: said[name] for name in ("metric", "task") if said[name]}
    for part in said["choose"].replace("\n", ",").split(","):
        name, equals, value = (one.strip() for one in part.partition("="))
        if part.strip() and not (name and equals and value):
            raise ValueError(f"`Anything else` must look like name=value; got {part.strip()!r}.")
        if name:
            choices[name.replace("-", "_")] = value
    return wanted, choices


def _table(handed: HandedIn) -> OneTable:
    name, content = handed.files[0] if handed.files else ("table.csv", _bytes_of(handed.text))
    ending = PurePath(name).suffix.lower()
    if ending not in ENDINGS:
        raise ValueError(f"a table must be one of {', '.join(ENDINGS)}; got {name!r}.")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table{ending}"
        path.write_bytes(content)
        table = replace(read_whole("table", path), words=FORM)
    shown = handed.text
    if handed.files and ending in SEPARATORS:
        shown = content.decode("utf-8-sig", "replace")
    elif handed.files:  # a workbook or a frame: its cells as text, every digit of them
        shown = table.frame.write_csv()
    return OneTable(table, shown)


def _bytes_of(text: str) -> bytes:
    return text.replace("\r\n", "\n").encode("utf-8", "replace")


def _unpacked(kept: str) -> list[tuple[str, bytes]]:
    """Files that a form has kept; whatever else is in that field is refused."""
    if not kept:
        return []
    try:
        with zipfile.ZipFile(io.BytesIO(base64.b64decode(kept, validate=True))) as archive:
            parts: list[Any] = archive.infolist()
            if sum(part.file_size for part in parts) > MOST_KEPT:
                raise ValueError(f"the files have more than {MOST_KEPT // 2**20} MB: choose fewer.")
            if any(
                part.compress_type != zipfile.ZIP_DEFLATED for part in parts
            ):  # others unpack without limit
                raise zipfile.BadZipFile
            return [(PurePath(part.filename).name, archive.read(part)) for part in parts]
    except (binascii.Error, zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError):
        raise ValueError("the files that were kept cannot be read: choose them again.") from None
