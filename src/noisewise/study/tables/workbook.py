"""The parts of a workbook that make a table, read within limits of size.

An Excel file is a zip archive of XML. A few kilobytes of it can stand for gigabytes: zeros that are packed
well, a single cell in the last row and column, one long text used by many cells, entities. So every part is
unpacked only up to a limit, only cells with a value are kept, and document type declarations are refused.
"""

import posixpath
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from xml.parsers import expat

from noisewise.study.tables.limits import MOST_COLUMNS, MOST_UNPACKED, most_letters

_PLACE = re.compile(r"([A-Z]{1,3})([1-9][0-9]{0,6})")
#: Rows of a sheet, and levels of XML elements in one another.
_MOST_ROWS, _MOST_LEVELS = 1 << 20, 64


class FilledCell(NamedTuple):
    """A cell with a value."""

    value: Any
    form: str  # its number format


class SheetCells:
    """The cells of a sheet that have a value, by row and column from 0, and what else matters about them."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.rows: dict[int, dict[int, FilledCell]] = {}
        self.hidden: set[int] = set()
        self.merged: list[str] = []
        #: Formulas without a result.
        self.bare: dict[tuple[int, int], str] = {}


class WorkbookFile:
    """A workbook; raises `ValueError` beyond the limits, and `expat.ExpatError` for anything but XML."""

    def __init__(self, path: Path) -> None:
        self._archive = zipfile.ZipFile(path)
        self._unpacked = self._letters = 0
        try:
            main = self._related("", "officeDocument").get("officeDocument", ["xl/workbook.xml"])[0]
            parts = self._related(main, "sharedStrings", "styles")
            self._texts = self._shared_texts(*parts.get("sharedStrings", []))
            self._formats = self._cell_formats(*parts.get("styles", []))
            self._epoch_1904 = False
            #: The parts with the cells of the sheets, by title.
            self.sheets = self._listed(main)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "WorkbookFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._archive.close()

    def read(self, title: str) -> SheetCells:
        """The cells of a sheet."""
        return _SheetReader(self, title).sheet

    def cell(self, kind: str, style: int, text: str) -> FilledCell | None:
        """A cell of a type and a style; None if it is empty."""
        from openpyxl.styles.numbers import is_date_format, is_timedelta_format
        from openpyxl.utils.datetime import CALENDAR_MAC_1904, CALENDAR_WINDOWS_1900, from_excel, from_ISO8601

        form = self._formats[style] if 0 <= style < len(self._formats) else "General"
        value: Any = text
        if kind == "n":
            value = float(text) if any(letter in text for letter in ".eE") else int(text)
            if is_date_format(form):
                epoch = CALENDAR_MAC_1904 if self._epoch_1904 else CALENDAR_WINDOWS_1900
                try:
                    value = from_excel(value, epoch, timedelta=is_timedelta_format(form))
                except (OverflowError, ValueError):
                    value = "#VALUE!"
        elif kind == "s":
            value = self._texts[int(text)]
        elif kind == "b":
            value = bool(int(text))
        elif kind == "d":
            value = from_ISO8601(text)
        if not isinstance(value, str):
            return FilledCell(value, form)
        self._letters += len(value)
        if self._letters > most_letters(self._unpacked):
            raise ValueError(f"its cells have more than {most_letters(self._unpacked):,} characters")
        value = value.strip()
        return FilledCell(value, form) if value else None

    def parse(self, part: str, begin: Callable[..., None], end: Callable[..., None] | None = None) -> None:
        """Call ``begin(name, attributes)`` and ``end(name, text)`` for every element of a part."""
        info = self._archive.getinfo(part)
        self._unpacked += info.file_size
        if self._unpacked > MOST_UNPACKED:
            raise ValueError(f"it has more than {MOST_UNPACKED >> 20} MB when it is unpacked")
        # Of these two, no more is unpacked than is asked for.
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError("it is packed in a way that workbooks are not")
        texts: list[str] = []
        level = 0

        def on_begin(name: str, attributes: dict[str, str]) -> None:
            nonlocal level
            level += 1
            if level > _MOST_LEVELS:
                raise ValueError(f"its XML has more than {_MOST_LEVELS} levels")
            texts.clear()
            begin(_local(name), {_local(key): text for key, text in attributes.items()})

        def on_end(name: str) -> None:
            nonlocal level
            level -= 1
            if end is not None:
                end(_local(name), "".join(texts))
            texts.clear()

        def on_type(*_: Any) -> None:
            raise ValueError("its XML declares a document type, which workbooks do not")

        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = on_begin, on_end
        parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = texts.append, on_type
        # At once: in pieces, older versions of expat take quadratic time for a long attribute.
        parser.Parse(self._archive.read(info), True)

    def _related(self, part: str, *kinds: str) -> dict[str, list[str]]:
        """The parts that one refers to, by their types, and by their ids."""
        folder, name = posixpath.split(part)
        found: dict[str, list[str]] = {}

        def begin(element: str, attributes: dict[str, str]) -> None:
            kind = posixpath.basename(attributes.get("Type", ""))
            if element == "Relationship" and (kind in kinds or not kinds):
                target = posixpath.normpath(posixpath.join("/", folder, attributes.get("Target", "")))[1:]
                found.setdefault(kind if kinds else attributes.get("Id", ""), []).append(target)

        listed = posixpath.join(folder, "_rels", f"{name}.rels")
        if listed in self._archive.NameToInfo:
            self.parse(listed, begin)
        return found

    def _listed(self, main: str) -> dict[str, str]:
        related, found = self._related(main), {}
        worksheets = set(self._related(main, "worksheet").get("worksheet", []))

        def begin(element: str, attributes: dict[str, str]) -> None:
            if element == "workbookPr":
                self._epoch_1904 = attributes.get("date1904") in ("1", "true")
            place = related.get(attributes.get("id", ""), [""])[0]
            if element == "sheet" and place in worksheets:
                found[attributes.get("name", "")] = place

        self.parse(main, begin)
        return found

    def _shared_texts(self, part: str = "") -> list[str]:
        found: list[str] = []
        parts: list[str] = []
        phonetic = False

        def begin(element: str, attributes: dict[str, str]) -> None:
            nonlocal phonetic
            phonetic = phonetic or element == "rPh"

        def end(element: str, text: str) -> None:
            nonlocal phonetic
            if element == "t" and not phonetic:
                parts.append(text)
            elif element == "rPh":
                phonetic = False
            elif element == "si":
                found.append("".join(parts))
                parts.clear()

        if part:
            self.parse(part, begin, end)
        return found

    def _cell_formats(self, part: str = "") -> list[str]:
        """The number formats of the styles of cells."""
        from openpyxl.styles.numbers import BUILTIN_FORMATS

        codes: dict[str, str] = {str(number): code for number, code in BUILTIN_FORMATS.items()}
        found: list[str] = []
        inside = False

        def begin(element: str, attributes: dict[str, str]) -> None:
            nonlocal inside
            if element == "cellXfs":
                inside = True
            elif element == "numFmt":
                codes[attributes.get("numFmtId", "")] = attributes.get("formatCode", "")
            elif element == "xf" and inside:
                found.append(attributes.get("numFmtId", "0"))

        def end(element: str, text: str) -> None:
            nonlocal inside
            inside = inside and element != "cellXfs"

        if part:
            self.parse(part, begin, end)
        return [codes.get(number, "General") for number in found]


class _SheetReader:
    """Takes a sheet apart."""

    def __init__(self, book: WorkbookFile, title: str) -> None:
        self.sheet, self._book = SheetCells(title), book
        self._row, self._column = -1, -1
        self._kind, self._style, self._text = "n", 0, ""
        self._formula: str | None = None
        self._inline: list[str] = []
        book.parse(book.sheets[title], self._begin, self._end)

    def _begin(self, element: str, attributes: dict[str, str]) -> None:
        if element == "row":
            self._row = int(attributes["r"]) - 1 if "r" in attributes else self._row + 1
            self._column = -1
            if attributes.get("hidden") in ("1", "true"):
                self.sheet.hidden.add(self._row)
        elif element == "c":
            self._row, self._column = self._place(attributes.get("r"))
            self._kind, self._style = attributes.get("t", "n"), int(attributes.get("s", 0))
            self._text, self._formula = "", None
            self._inline.clear()
        elif element == "mergeCell":
            self.sheet.merged.append(attributes.get("ref", ""))

    def _end(self, element: str, text: str) -> None:
        if element == "v":
            self._text = text
        elif element == "f":
            self._formula = text
        elif element == "t":
            self._inline.append(text)
        elif element == "c":
            text = "".join(self._inline) if self._kind == "inlineStr" else self._text
            cell = self._book.cell(self._kind, self._style, text) if text else None
            if cell is not None:
                self.sheet.rows.setdefault(self._row, {})[self._column] = cell
            elif self._formula is not None and not text:
                self.sheet.bare[self._row, self._column] = f"={self._formula[:40]}"

    def _place(self, said: str | None) -> tuple[int, int]:
        row, column = self._row, self._column + 1
        if said is not None:
            row, column = place_of(said)
        if not (0 <= row < _MOST_ROWS and column < MOST_COLUMNS):
            raise ValueError(f"it has cells beyond row {_MOST_ROWS:,} or column {MOST_COLUMNS:,}")
        return row, column


def place_of(said: str) -> tuple[int, int]:
    """The row and the column, from 0, of a place such as C7."""
    found = _PLACE.fullmatch(said)
    if found is None:
        raise ValueError(f"it has a cell in {said[:20]!r}, which is not a place")
    column = 0
    for letter in found[1]:
        column = 26 * column + ord(letter) - 64
    return int(found[2]) - 1, column - 1


def name_of(row: int, column: int) -> str:
    """A place such as C7, of a row and a column from 0."""
    letters = ""
    column += 1
    while column:
        column, last = divmod(column - 1, 26)
        letters = chr(65 + last) + letters
    return f"{letters}{row + 1}"


def _local(name: str) -> str:
    """The name of an element without its namespace."""
    return name.rpartition(" ")[2]
