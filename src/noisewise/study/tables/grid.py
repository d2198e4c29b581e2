"""Grids of texts: delimited text, workbooks, JSON, Parquet, Markdown, frames and mappings.

No cell is converted: "1.10" is not 1.1, "007" is not 7. A text that begins with = + - @, a tab or a carriage
return would be run as a formula by spreadsheets: `write_delimited` puts an apostrophe in front of it, which
is taken away here.
"""

import csv
import importlib.util
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from noisewise.core.text import printable
from noisewise.study.tables.encodings import as_utf8
from noisewise.study.tables.limits import MOST_UNPACKED, check_size, most_cells
from noisewise.study.tables.packed import PACKED, read_packed
from noisewise.study.tables.workbook import SheetCells, WorkbookFile, name_of, place_of

#: Endings of texts, whose content says what separates columns, and of workbooks.
TEXTS, WORKBOOKS = (".csv", ".tsv", ".txt", ".tab", ".dat"), (".xlsx", ".xlsm")
ENDINGS = (*TEXTS, *PACKED, *WORKBOOKS)
#: Files that people take for tables, and that must be saved as something else first.
FOREIGN = (
    ".xls", ".xlsb", ".ods", ".numbers", ".json", ".jsonl", ".db", ".sqlite", ".pdf", ".png", ".jpg", ".jpeg",
    ".gif", ".svg", ".docx", ".doc", ".md", ".html", ".zip", ".gz", ".py", ".ipynb", ".rds", ".mat", ".pkl",
)  # fmt: skip
#: How files begin that are not tables, whatever they are called.
_BEGINNINGS = {
    b"SQLite format 3": "a database",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"%PDF": "a PDF",
    b"\x1f\x8b": "compressed",
    b"\xd0\xcf\x11\xe0": "an old workbook (.xls), or one with a password",
    b"<!DOCTYPE": "a web page",
    b"<html": "a web page",
    b"\x80\x04": "a pickle",
}
_ZIP = b"PK\x03\x04"
#: How numbers begin.
_NUMERIC = re.compile(r"[-+−]?[.,]?\d")
#: Texts beyond this size must be regular: the same number of cells in every row.
_LARGE = 1 << 19
#: The beginning of a text that shows its separator.
_SAMPLE = 1 << 16
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
#: A text that a spreadsheet would run, and the same behind apostrophes.
_FORMULA, _PROTECTED = r"^'*[=+\-@\t\r]", r"^''*[=+\-@\t\r]"
Numbers = NDArray[np.integer]


class Grid(NamedTuple):
    """Rows of texts; header and body are not separated yet."""

    rows: pl.DataFrame  # of strings, null where a cell is empty
    name: str = ""  # the sheet of a workbook
    title: str = ""  # comments above the table
    comma: bool = False  # whether numbers probably have decimal commas
    lines: Numbers | None = None  # of the file or the sheet, for every row
    of: str = "line"  # what these are called
    widths: Numbers | None = None  # the number of cells of every row of a text
    notes: tuple[str, ...] = ()  # what was found out about the format
    exact: bool = False  # whether numbers are those of a workbook, which shows hundredths as per cent


def read_grids(source: Any, name: str = "standard input") -> list[Grid]:
    """Read the tables of a file, a text in bytes, a frame or a mapping; of a workbook all sheets."""
    if isinstance(source, str | PathLike):
        return _read_file(str(source))
    if isinstance(source, bytes):
        return _read_text(source, name)
    if isinstance(source, Mapping):
        readings = readings_of_options(source)
        return [_grid_of_records(_records(dict(source)) if readings is None else readings)]
    if isinstance(source, list | tuple) and source and all(isinstance(row, Mapping) for row in source):
        return [_grid_of_records([dict(row) for row in source])]
    return [_grid_of_frame(as_polars(source))]


def split_sheet(source: str) -> tuple[Path, str | None]:
    """Split a path from the sheet that is named behind it: results.xlsx#Monday."""
    for ending in WORKBOOKS:
        at = source.lower().find(ending + "#")
        if at >= 0:
            end = at + len(ending)
            return Path(source[:end]), source[end + 1 :]
    return Path(source), None


def write_delimited(table: pl.DataFrame) -> str:
    """Write a table as comma-separated text without formulas for spreadsheets."""
    texts = [column for column in table.columns if table.schema[column] == pl.String]
    protected = [
        pl.when(pl.col(column).str.contains(_FORMULA)).then("'" + pl.col(column)).otherwise(pl.col(column))
        .alias(column)
        for column in texts
    ]  # fmt: skip
    written: str = table.with_columns(protected).write_csv()
    return written


#: Columns of a table of measurements, which are no options.
_TOLD = {"option", "value", "se", "sd", "var", "n", "item", "block", "plus", "minus", "successes", "trials"}


def readings_of_options(source: Mapping[Any, Any]) -> list[dict[str, Any]] | None:
    """Rows of ``{option: readings}``, two options or more with numbers alone; else None."""
    plain = {str(name): c.tolist() if hasattr(c, "tolist") else c for name, c in source.items()}
    columns = {name: list(column) for name, column in plain.items() if isinstance(column, Sequence)}
    numbers = [one for column in columns.values() for one in column]
    if (
        len(columns) < max(2, len(source))
        or {*columns} & _TOLD
        or not all(type(one) in (int, float) for one in numbers)
    ):
        return None
    return [{"option": name, "value": one} for name, column in columns.items() for one in column]


def _read_file(source: str) -> list[Grid]:
    path, sheet = split_sheet(source)
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    if path.suffix.lower() in PACKED:
        return [_grid_of_frame(packed_table(path))]
    size = path.stat().st_size
    if size > MOST_UNPACKED:
        raise ValueError(f"{path.name!r} has {size >> 20} MB; at most {MOST_UNPACKED >> 20} MB are read.")
    with path.open("rb") as file:
        if file.read(4) == _ZIP:
            return _workbook(path, sheet)
    return _read_text(path.read_bytes(), path.name)


def packed_table(path: Path) -> pl.DataFrame:
    """Read a Parquet file."""
    try:
        return read_packed(path)
    except (pl.exceptions.PolarsError, ValueError, OSError) as problem:
        raise ValueError(f"{path.name!r} cannot be read: {_first_line(problem)}.") from None


def _read_text(content: bytes, name: str) -> list[Grid]:
    ending = Path(name).suffix.lower()
    kind = next((kind for sign, kind in _BEGINNINGS.items() if content.startswith(sign)), None)
    kind = "not a workbook" if kind is None and ending in WORKBOOKS else kind
    if kind is not None:
        raise ValueError(f"{name!r} is {kind}: save the table as CSV, .xlsx or .parquet.")
    content, encoding = as_utf8(content, repr(name))
    begin = content[:1000].lstrip()
    if not begin and not content.strip():
        raise ValueError(f"{name!r} is empty.")
    if begin[:1] in (b"{", b"[") and (grid := _json(content.decode(), name)) is not None:
        return [grid]
    markdown = b"|" in content[:_SAMPLE] and len(content) <= _LARGE
    grid = (_markdown(content.decode()) if markdown else None) or _delimited(content, name)
    return [grid._replace(notes=(*grid.notes, *([encoding] if encoding else [])))]


def _first_line(problem: Exception) -> str:
    return (str(problem).splitlines() or [type(problem).__name__])[0].rstrip(".")


def _grid(rows: list[list[str]], name: str = "", title: str = "") -> Grid:
    """A grid of ragged rows."""
    width = max(map(len, rows), default=0)
    check_size("it", len(rows), width, sum(map(len, rows)))
    padded = [row + [""] * (width - len(row)) for row in rows]
    columns = zip(*padded, strict=True)
    series = (pl.Series(f"c{k}", cells, dtype=pl.String) for k, cells in enumerate(columns))
    return Grid(pl.DataFrame([_plain_text(one) for one in series]), name, title)


def _plain_text(cells: pl.Series) -> pl.Series:
    """Texts without blanks around them and the apostrophe that protects from formulas; null if empty."""
    if cells.str.contains(r"^\s|\s$").any():
        cells = cells.str.strip_chars()
    if (protected := cells.str.contains(_PROTECTED)).any():
        cells = cells.zip_with(protected.fill_null(False).not_(), cells.str.slice(1))
    empty = cells == ""
    return cells.set(empty, None) if empty.any() else cells


# Delimited text


def _delimited(content: bytes, name: str) -> Grid:
    """Rows by the separator that gives most lines the same number of cells."""
    said = re.match(rb'"?sep=(.)"?\r?\n', content, re.IGNORECASE)
    signs = [said[1].decode()] if said and said[1].decode() in _SEPARATORS else None
    content = b"\n" + content[said.end() :] if said else content  # lines count on
    cut = content.rfind(b"\n", 0, _SAMPLE) + 1 if len(content) > _SAMPLE else len(content)
    head = content[: cut or _SAMPLE].decode(errors="ignore")
    comments = "\n".join(re.findall(r"(?m)^#.*$", head))
    kept = _without_comments(head, comments)
    if not kept.strip():
        raise ValueError(f"{name!r} holds comments only.")
    ruled = re.search(r"(?m)^\s*-+\+-+", head)  # the lines between columns were drawn
    best, most = ",", (-1.0, 0)
    for sign in signs or [",", ";", "\t", *([] if ruled else ["|"])]:
        widths = Counter(len(row) for row in _csv_rows(kept, sign) if any(row))
        width, often = max(widths.items(), key=lambda one: (one[1] * (one[0] > 1), one[0]), default=(0, 0))
        score = (often / widths.total() if width > 1 else 0.0, width)
        if score > most:
            best, most = sign, score
    notes = () if best == "," else (f"{_SEPARATORS[best]} between columns",)
    if most[0] <= 0 and _by_blanks(kept):
        rest = content[cut:].decode()
        return _grid(_by_blanks(kept + rest), title=comments)
    if len(content) > _LARGE:
        return _large(content, best, name)._replace(title=comments, comma=best == ";", notes=notes)
    text = _without_comments(content.decode(), comments, best, most[1])
    named = {line for line in text.splitlines() if line.startswith("#")}  # rows, whose option is called so
    comments = "\n".join(line for line in comments.splitlines() if line not in named)
    rows, lines = _rows_with_lines(text, best, name)
    _refuse_ragged(rows, most[1])
    hashed = [row for row in _csv_rows(comments.replace("#", ""), best) if len(row) == most[1] > 1]
    first = next((row for row in rows if any(row)), [])
    if hashed and sum(bool(_NUMERIC.match(cell)) for cell in first) >= 0.5 * len(first):
        rows.insert(0, [cell.strip() for cell in hashed[-1]])  # the header is the last comment
        lines.insert(0, 1)
        notes = (*notes, "a header that begins with #")
    cells = np.array([len(row) for row in rows])
    return _grid(rows, title=comments)._replace(
        comma=best == ";", lines=np.array(lines), widths=cells, notes=notes
    )


def _without_comments(text: str, comments: str, sign: str = "", width: int = 0) -> str:
    """Lines without comments, which stay as empty ones; a row of the table may begin with # as well."""
    if not comments:
        return text

    def emptied(found: re.Match[str]) -> str:
        is_row = sign and width > 1 and found[0].count(sign) == width - 1 and found.start() > above
        return found[0] if is_row else ""

    above = len(text) - len(re.sub(r"\A(?:\s*#.*(?:\n|\Z))*", "", text))
    return re.sub(r"(?m)^#.*$", emptied, text)


def _refuse_ragged(rows: list[list[str]], width: int) -> None:
    """Refuse a row with more or fewer cells than all rows around it: it was cut or shifted."""
    whole = [k for k, row in enumerate(rows) if len(row) == width]
    for k, row in enumerate(rows[: whole[-1]] if len(whole) >= max(2, len(rows) - 2) else []):
        if whole[0] < k and len(row) != width and sum(map(bool, row)) > 1:
            raise ValueError(
                f"row {k} has {len(row)} cells, and the others have {width}: {','.join(row)[:60]!r}."
            )


def _rows_with_lines(text: str, sign: str, name: str) -> tuple[list[list[str]], list[int]]:
    """The rows that are not empty, and the lines that they begin in."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=sign, strict=True)
    rows, lines, line = [], [], 1
    try:
        for row in reader:
            if any(row):
                rows.append([cell.strip() for cell in row])
                lines.append(line)
            line = reader.line_num + 1
    except csv.Error as problem:
        if "end of data" in str(problem):
            why = f"the quotation mark in line {line} of {name!r} is never closed."
        elif "expected after" in str(problem):
            why = (
                f"line {line} of {name!r} has a quotation mark in the middle of a cell: put the whole cell "
                "in quotation marks and write its own twice."
            )
        else:
            why = f"line {line} of {name!r} cannot be read: {problem}."
        raise ValueError(why) from None
    return rows, lines


def _csv_rows(text: str, sign: str) -> Iterator[list[str]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=sign)
    try:
        yield from ([cell.strip() for cell in row] for row in reader if row)
    except csv.Error as problem:
        raise ValueError(f"line {reader.line_num} cannot be read: {problem}.") from None


def _by_blanks(text: str) -> list[list[str]]:
    """Columns that are set apart by blanks, as R and many programs print them."""
    lines = [re.sub(r"(?<=\s)\|(?=\s|$)", "", line).strip() for line in text.splitlines()]
    lines = [line for line in lines if line.strip("-+=| ")]  # signs between columns, and rules
    apart = [re.sub(r"\s(?:±|\+/-)\s", " ", line) for line in lines]
    joined = [re.sub(r"\s+(?:±|\+/-)\s*", "±", line) for line in lines]
    rows = [re.split(r"\s{2,}|\s(?=[-\d.]+(?:\s|$))", line) for line in apart]
    ways = [[line.split() for line in one] for one in (joined, apart)]
    for found in (*(ways if len(ways[0][0]) == len(ways[0][-1]) else ways[::-1]), rows):
        widths = Counter(map(len, found[1:]))
        width, often = widths.most_common(1)[0] if widths else (0, 0)
        if width > 1 and often >= max(2, 0.8 * len(found) - 1) and len(found[0]) in (width, width - 1):
            if len(found[0]) == width - 1:  # both ends of an interval, or row names without a header
                interval = re.search(r"interval|\bci\b", found[0][-1], re.IGNORECASE)
                found[0].insert(width if interval else 0, found[0][-1] if interval else "")
            return found
    return []


def _large(content: bytes, sign: str, name: str) -> Grid:
    """A long text, of which nothing is copied that need not be."""
    above = re.match(rb"(?:\s*#.*(?:\n|\Z))*", content)
    skipped = above.end() if above else 0
    head = content[skipped : content.rfind(b"\n", 0, skipped + _SAMPLE) + 1] or content[skipped:]
    width = max(len(row) for row in _csv_rows(head.decode(errors="ignore"), sign))
    check_size(repr(name), 1, width, width)
    lines = _checked_lines(content, skipped, sign, width, name)
    schema = {f"c{k}": pl.String() for k in range(width)}
    body = content[skipped:] if skipped else content
    try:
        frame = pl.read_csv(body, separator=sign, has_header=False, schema=schema)
    except pl.exceptions.PolarsError as problem:
        raise ValueError(f"{name!r} cannot be read as a table: {_first_line(problem)}.") from None
    for column in frame.columns:
        frame = frame.with_columns(_plain_text(frame[column]))
    full = frame.select(pl.any_horizontal(pl.all().is_not_null())).to_series()
    lines = lines if lines is None or len(lines) == frame.height else None
    if not full.all():
        frame, lines = frame.filter(full), None if lines is None else lines[full.to_numpy()]
    return Grid(frame, lines=lines)


def _checked_lines(content: bytes, skipped: int, sign: str, width: int, name: str) -> Numbers | None:
    """The lines of the rows, of which none may be cut short; None where cells may hold line ends."""
    if b'"' in content:
        return None
    data = np.frombuffer(content, dtype=np.uint8)[skipped:]
    first = content.count(b"\n", 0, skipped) + 1
    many = int((data == 10).sum()) + (data[-1] != 10)
    if int((data == ord(sign)).sum()) != (width - 1) * many:
        for line, row in enumerate(io.BytesIO(content[skipped:]), first):
            found = row.count(sign.encode()) + 1
            if found != width and row.strip():
                raise ValueError(
                    f"line {line} of {name!r} has {found} cells, and the others have {width}: "
                    ""
                    ""
                    f"{printable(row[:60].decode(errors='replace').rstrip())!r}."
                )
    return np.arange(first, first + many, dtype=np.int32)


def _markdown(text: str) -> Grid | None:
    """The largest pipe table of a text."""
    tables: list[list[list[str]]] = []
    ruled, at = False, -2
    for k, line in enumerate(text.splitlines()):
        line = line.strip()
        if "|" not in line:
            continue
        cells = [
            cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|") if line.startswith("|") else line)
        ]
        if k != at + 1:
            tables.append([])
        at = k
        if all(re.fullmatch(r":?-{1,}:?", cell) for cell in cells):
            ruled = True
        else:
            tables[-1].append([re.sub(r"\*\*|__|`|<[^<>]{0,40}>", "", cell).strip() for cell in cells])
    if not ruled:
        return None
    outside = " ".join(line for line in text.splitlines() if "|" not in line)
    return _grid(max(tables, key=len), title=outside)


# Workbooks


def _workbook(path: Path, sheet: str | None) -> list[Grid]:
    if importlib.util.find_spec("openpyxl") is None:
        raise ValueError(f"Reading {path.name!r} needs openpyxl: pip install 'noisewise[excel]'.")
    try:
        with WorkbookFile(path) as book:
            titles = [one for one in book.sheets if sheet in (None, one)]
            titles = titles or [one for one in book.sheets if one.casefold() == str(sheet).casefold()]
            pages = [book.read(title) for title in titles]
            known = ", ".join(map(repr, book.sheets))
    except KeyError:
        raise ValueError(f"{path.name!r} is a zip archive and not a workbook: unpack it first.") from None
    except Exception as problem:  # whatever a damaged file makes of its reader
        said = _first_line(problem)
        raise ValueError(f"{path.name!r} is not a readable workbook: {printable(said)}.") from None
    if not pages:
        raise ValueError(f"{path.name!r} has no sheet {sheet!r}; its sheets are {known}.")
    return [_sheet(page) for page in pages]


def _sheet(page: SheetCells) -> Grid:
    if not page.rows:
        return Grid(pl.DataFrame(), page.title)
    texts = {
        at: {column: _cell(one.value, one.form) for column, one in cells.items()}
        for at, cells in page.rows.items()
    }
    for span in page.merged:
        (top, left), (bottom, right) = (
            place_of(place) for place in (span.partition(":")[0], span.rpartition(":")[2])
        )
        value = texts.get(top, {}).get(left, "")
        if value and (bottom - top + 1) * (right - left + 1) <= 10_000:
            for row in range(top, bottom + 1):
                # A number counts once: rows that share it would be measured several times.
                for column in range(left, right + 1) if row == top or not _NUMERIC.match(value) else ():
                    texts.setdefault(row, {})[column] = value
    width = 1 + max(max(cells) for cells in texts.values())
    filled = sum(map(len, texts.values()))
    check_size(repr(page.title), len(texts), width, filled)
    if (bare := next((place for place in page.bare if place[0] in texts), None)) is not None:
        raise ValueError(
            f"cell {name_of(*bare)} of sheet {page.title!r} holds a formula without its result, "
            f"{page.bare[bare]!r}: open the workbook in a spreadsheet and save it."
        )
    at = sorted(texts)
    notes = (f"hidden rows of the sheet too ({len(page.hidden & texts.keys())})",)
    grid = _grid([[texts[row].get(column, "") for column in range(width)] for row in at], page.title)
    # A number that was typed as text may have any decimal sign.
    typed = any(
        isinstance(one.value, str) and re.fullmatch(r"[+-]?[1-9]\d{0,2}\.\d{3}", one.value.strip())
        for cells in page.rows.values() for one in cells.values()
    )  # fmt: skip
    return grid._replace(
        lines=np.array(at) + 1,
        of="sheet row",
        exact=not typed,
        notes=notes if page.hidden & texts.keys() else (),
    )


def _cell(value: Any, form: str) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value).removesuffix(" 00:00:00")
    if "%" in form:
        return f"{value * 100:.12g}%"
    if re.fullmatch("0{2,}", form) and float(value).is_integer():
        return str(int(value)).zfill(len(form))
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(value)


# JSON, mappings and frames


def _json(text: str, name: str) -> Grid | None:
    try:
        found = json.loads(text)
    except RecursionError:
        raise ValueError(f"{name!r} is nested too deeply.") from None
    except ValueError:
        if text.lstrip()[0] == "[" and "\n" in text and not re.match(r"\s*\[\s*[\[{\"]", text):
            return None
        found = []
        for k, line in enumerate(text.splitlines(), 1):
            if line.strip():
                try:
                    found.append(json.loads(line))
                except (ValueError, RecursionError):
                    raise ValueError(f"line {k} of {name!r} is not JSON.") from None
    return _grid_of_records(_records(found, name))


def _records(found: Any, name: str = "the mapping") -> list[dict[str, Any]]:
    """The records of a document: a list of them, columns, {option: readings}, or a list further inside."""
    if isinstance(found, list):
        if found and all(isinstance(one, dict) for one in found):
            return found
        if len(found) > 2 and all(isinstance(one, list) for one in found):
            return [dict(zip(map(str, found[0]), row, strict=False)) for row in found[1:]]
    if isinstance(found, dict) and found:
        names, inner = list(map(str, found)), list(found.values())
        if "data" in found and isinstance(found.get("columns"), list) and isinstance(found["data"], list):
            index = found.get("index") or [None] * len(found["data"])
            return [
                {"index": i, **dict(zip(found["columns"], row, strict=False))}
                for i, row in zip(index, found["data"], strict=False)
            ]
        inner = [one.tolist() if hasattr(one, "tolist") else one for one in inner]
        inner = [list(one) if isinstance(one, tuple | range) else one for one in inner]
        if all(isinstance(one, list) for one in inner) and not any(
            isinstance(x, dict | list) for one in inner for x in one
        ):
            named = any(isinstance(x, str) and not _NUMERIC.match(x) for one in inner for x in one)
            if len({len(one) for one in inner}) == 1 and (named or len(inner[0]) > 1):
                return [dict(zip(names, row, strict=True)) for row in zip(*inner, strict=True)]
            return [
                {"option": option, "value": x} for option, one in zip(names, inner, strict=True) for x in one
            ]
        if len(inner) > 1 and all(isinstance(one, dict) for one in inner):
            if all(key.isdigit() for key in map(str, inner[0])):  # columns by pandas
                rows = list(inner[0])
                return [
                    {column: cells.get(row) for column, cells in zip(names, inner, strict=True)}
                    for row in rows
                ]
            return [{"option": option, **one} for option, one in zip(names, inner, strict=True)]
        lists = [
            one for one in inner if isinstance(one, list) and one and all(isinstance(x, dict) for x in one)
        ]
        if lists:
            return max(lists, key=len)
        if all(isinstance(one, int | float) for one in inner):
            return [{"option": option, "value": x} for option, x in zip(names, inner, strict=True)]
        for one in inner:
            if isinstance(one, dict) and len(one) > 1:
                return _records(one, name)
    raise ValueError(
        f"{name if name.startswith('the') else repr(name)} holds no records: a list of them is needed."
    )


def _flat(record: dict[Any, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, cell in record.items():
        if isinstance(cell, dict):
            yield from _flat(cell, f"{before}{name}.")
        else:
            yield f"{before}{name}", cell


def _grid_of_records(records: list[dict[str, Any]]) -> Grid:
    nested = any(isinstance(cell, dict) for record in records for cell in record.values())
    rows = [dict(_flat(record)) for record in records] if nested else records
    names = list(dict.fromkeys(name for row in rows for name in row))
    check_size("it", len(rows), len(names), sum(map(len, rows)))
    lists = [name for name in names if any(isinstance(row.get(name), list) for row in rows)]
    readings = [name for name in lists if all(_are_readings(row.get(name)) for row in rows)]
    if readings:  # one row for each reading
        many = readings[0]
        rows = [{**row, many: x} for row in rows for x in row[many]]
        if len(rows) * len(names) > most_cells(len(rows)):
            rows = [
                {name: row.get(name) for name in names if name not in lists or name == many} for row in rows
            ]
    names = [name for name in names if name not in lists or name in readings[:1]]
    columns = []
    for k, name in enumerate(names):
        cells = [str(name), *(_text(row.get(name)) for row in rows)]
        columns.append(pl.Series(f"c{k}", cells, dtype=pl.String))
    return Grid(pl.DataFrame([_plain_text(one) for one in columns]))


def _are_readings(cell: Any) -> bool:
    return isinstance(cell, list) and len(cell) > 1 and all(type(x) in (int, float) for x in cell)


def _text(cell: Any) -> str:
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    return str(cell)


def as_polars(source: Any) -> pl.DataFrame:
    """A frame of any library, with the index of pandas as columns."""
    if isinstance(source, pl.DataFrame):
        return source
    if hasattr(source, "reset_index"):
        index = source.index
        source = source.to_frame() if not hasattr(source, "columns") else source
        plain = index.nlevels == 1 and index.name is None and list(index) == list(range(len(index)))
        names = [name or "" for name in index.names]
        source = source.copy()
        if source.columns.nlevels > 1:
            source.columns = [" ".join(str(part) for part in name if str(part)) for name in source.columns]
        source.columns = [str(name) for name in source.columns]
        if not plain:
            levels = {
                f"\0{name}" if name in source.columns else name: index.get_level_values(k)
                for k, name in enumerate(names)
            }
            for k, (name, cells) in enumerate(levels.items()):
                source.insert(k, name, cells)
    import narwhals as nw

    try:
        frame: pl.DataFrame = nw.from_native(source, eager_only=True).to_polars()
    except TypeError:
        raise TypeError(
            "`source` must be a file, a data frame, a mapping such as {option: readings} or a list of "
            f"records; got {type(source).__name__}."
        ) from None
    return frame


def _grid_of_frame(frame: pl.DataFrame) -> Grid:
    lists = [name for name, kind in frame.schema.items() if isinstance(kind, pl.List)]
    frame = frame.explode(lists[0]).drop(lists[1:]) if lists else frame
    texts = []
    for k, column in enumerate(frame.get_columns()):
        if column.dtype.is_nested() or column.dtype in (pl.Object, pl.Binary):
            continue
        cells = column.fill_nan(None) if column.dtype.is_float() else column
        cells = cells.cast(pl.String).str.strip_suffix(" 00:00:00.000000")
        texts.append(
            pl.concat([pl.Series([column.name.lstrip("\0")], dtype=pl.String), cells]).alias(f"c{k}")
        )
    if not texts:
        raise ValueError("The frame has no columns of numbers or texts.")
    return Grid(pl.DataFrame([_plain_text(one) for one in texts]))
