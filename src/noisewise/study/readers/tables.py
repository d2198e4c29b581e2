"""Grids of texts: delimited text, workbooks, JSON, Parquet, Markdown, frames and mappings."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from noisewise.study.inputs.dialects.encodings import as_utf8
from noisewise.study.inputs.dialects.packed_tables import PACKED, read_packed
from noisewise.study.inputs.dialects.workbook_file import SheetCells, WorkbookFile, place_of
from noisewise.study.inputs.table_limits import MOST_UNPACKED, check_size, most_cells
from noisewise.study.inputs.tables import _BEGINNINGS, split_sheet

_ZIP = b"PK\x03\x04"
#: How numbers begin.
_NUMERIC = re.compile(r"[-+−]?[.,]?\d")
#: Texts beyond this size must be regular: the same number of cells in every row.
_LARGE = 1 << 20


class Grid(NamedTuple):
    """Rows of texts; header and body are not told apart yet."""

    rows: pl.DataFrame  # of strings, null where a cell is empty
    name: str = ""  # the sheet of a workbook
    title: str = ""  # comments that stand above
    comma: bool = False  # whether numbers probably have decimal commas


def read_grids(source: Any) -> list[Grid]:
    """Read the tables of a file, a frame or a mapping: one, or one for each sheet of a workbook."""
    if isinstance(source, str | PathLike):
        return _read_file(str(source))
    if isinstance(source, Mapping):
        readings = _readings_of_options(source)
        return [_grid_of_records(_records(dict(source)) if readings is None else readings)]
    if isinstance(source, list | tuple) and source and all(isinstance(row, Mapping) for row in source):
        return [_grid_of_records([dict(row) for row in source])]
    return [_grid_of_frame(_as_polars(source))]


def _readings_of_options(source: Mapping[Any, Any]) -> list[dict[str, Any]] | None:
    """Rows of ``{option: readings}``, two options or more with numbers alone; else None."""
    plain = {str(name): c.tolist() if hasattr(c, "tolist") else c for name, c in source.items()}
    columns = {name: list(column) for name, column in plain.items() if isinstance(column, Sequence)}
    numbers = [one for column in columns.values() for one in column]
    if len(columns) < max(2, len(source)) or not all(type(one) in (int, float) for one in numbers):
        return None
    return [{"option": name, "value": one} for name, column in columns.items() for one in column]


def _read_file(source: str) -> list[Grid]:
    path, sheet = split_sheet(source)
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    if path.suffix.lower() in PACKED:
        try:
            return [_grid_of_frame(read_packed(path))]
        except (pl.exceptions.PolarsError, ValueError, OSError) as problem:
            raise ValueError(f"{path.name!r} cannot be read: {_first_line(problem)}.") from None
    size = path.stat().st_size
    if size > MOST_UNPACKED:
        raise ValueError(f"{path.name!r} has {size >> 20} MB; at most {MOST_UNPACKED >> 20} MB are read.")
    content = path.read_bytes()
    if content.startswith(_ZIP):
        return _workbook(path, sheet)
    kind = next(
        (kind for sign, kind in _BEGINNINGS.items() if kind != "JSON" and content.startswith(sign)), None
    )
    if kind is not None:
        raise ValueError(f"{path.name!r} is {kind}, not a table: save the table as CSV, .xlsx or .parquet.")
    text = as_utf8("table", content, repr(path.name))[0].decode()
    if not text.strip():
        raise ValueError(f"{path.name!r} is empty.")
    if text.lstrip()[:1] in ("{", "[") and (grid := _json(text, path.name)) is not None:
        return [grid]
    return [_markdown(text) or _delimited(text, path.name)]


def _first_line(problem: Exception) -> str:
    return (str(problem).splitlines() or [type(problem).__name__])[0].rstrip(".")


def _grid(rows: list[list[str]], name: str = "", title: str = "") -> Grid:
    """A grid of ragged rows."""
    width = max(map(len, rows), default=0)
    check_size("table", "it", len(rows), width, sum(map(len, rows)))
    padded = [row + [""] * (width - len(row)) for row in rows]
    columns = zip(*padded, strict=True)
    frame = pl.DataFrame([pl.Series(f"c{k}", cells, dtype=pl.String) for k, cells in enumerate(columns)])
    return Grid(frame.select(_stripped()), name, title)


def _stripped() -> pl.Expr:
    text = pl.all().str.strip_chars()
    return pl.when(text.str.len_bytes() > 0).then(text).name.keep()


# Delimited text


def _delimited(text: str, name: str) -> Grid:
    """Rows by the separator that gives most lines the same number of cells."""
    said = re.match(r'"?sep=(.)"?\r?\n', text, re.IGNORECASE)
    text = text[said.end() :] if said else text
    comments = "\n".join(re.findall(r"(?m)^#.*$", text[:_LARGE]))
    kept = re.sub(r"(?m)^#.*(?:\n|\Z)", "", text) if comments else text
    if not kept.strip():
        raise ValueError(f"{name!r} holds comments only.")
    head = kept[: 1 << 16] if len(kept) <= 1 << 16 else kept[: kept.rfind("\n", 0, 1 << 16) + 1]
    best, most = ",", (-1.0, 0)
    ruled = re.search(r"(?m)^\s*-+\+-+", head)  # the lines between columns were drawn
    for sign in [said[1]] if said and said[1] in ",;\t|" else [",", ";", "\t", *([] if ruled else ["|"])]:
        widths = Counter(len(row) for row in _csv_rows(head, sign) if any(row))
        width, often = max(widths.items(), key=lambda one: (one[1] * (one[0] > 1), one[0]), default=(0, 0))
        score = (often / widths.total() if width > 1 else 0.0, width)
        if score > most:
            best, most = sign, score
    if most[0] <= 0 and (blanks := _by_blanks(head)):
        return _grid(blanks if len(head) == len(kept) else _by_blanks(kept), title=comments)
    if len(kept) > _LARGE:
        return Grid(_large(kept, best, name), title=comments, comma=best == ";")
    rows = list(_csv_rows(kept, best))
    _refuse_ragged(rows, most[1])
    hashed = [row for row in _csv_rows(comments.replace("#", ""), best) if len(row) == most[1] > 1]
    first = next((row for row in rows if any(row)), [])
    if hashed and sum(bool(_NUMERIC.match(cell)) for cell in first) >= 0.5 * len(
        first
    ):  # the header is the last comment
        rows.insert(0, [cell.strip() for cell in hashed[-1]])
    return _grid(rows, title=comments)._replace(comma=best == ";")


def _refuse_ragged(rows: list[list[str]], width: int) -> None:
    """Refuse a row with more or fewer cells than all rows around it: it was cut or shifted."""
    whole = [k for k, row in enumerate(rows) if len(row) == width]
    for k, row in enumerate(rows[: whole[-1]] if len(whole) >= max(2, len(rows) - 2) else []):
        if whole[0] < k and len(row) != width and sum(map(bool, row)) > 1:
            raise ValueError(
                f"row {k} has {len(row)} cells, and the others have {width}: {','.join(row)[:60]!r}."
            )


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


def _large(text: str, sign: str, name: str) -> pl.DataFrame:
    width = max(len(row) for row in _csv_rows(text[: text.rfind("\n", 0, 1 << 16) + 1] or text, sign))
    check_size("table", repr(name), 1, width, width)
    schema = {f"c{k}": pl.String() for k in range(width)}
    try:
        frame = pl.read_csv(text.encode(), separator=sign, has_header=False, schema=schema)
    except pl.exceptions.PolarsError as problem:
        raise ValueError(f"{name!r} cannot be read as a table: {_first_line(problem)}.") from None
    return frame.select(_stripped())


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
    try:
        with WorkbookFile(path) as book:
            titles = [title for title in book.sheets if sheet is None or title.casefold() == sheet.casefold()]
            grids = [_sheet(book.read(title)) for title in titles]
    except ModuleNotFoundError:
        raise ValueError(f"Reading {path.name!r} needs openpyxl: pip install 'noisewise[excel]'.") from None
    except KeyError:
        raise ValueError(f"{path.name!r} is a zip archive and not a workbook: unpack it first.") from None
    except Exception as problem:  # whatever a damaged file makes of its reader
        raise ValueError(f"{path.name!r} is not a readable workbook: {_first_line(problem)}.") from None
    if not grids:
        raise ValueError(f"{path.name!r} has no sheet {sheet!r}.")
    return grids


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
                for column in range(left, right + 1):
                    texts.setdefault(row, {})[column] = value
    width = 1 + max(max(cells) for cells in texts.values())
    filled = sum(map(len, texts.values()))
    check_size("table", repr(page.title), len(texts), width, filled)
    if (bare := next((row for row, _ in page.bare if row in texts), None)) is not None:
        raise ValueError(
            f"row {bare + 1} of sheet {page.title!r} holds a formula without its result: "
            "save it in a spreadsheet"
        )
    return _grid([[texts[at].get(column, "") for column in range(width)] for at in sorted(texts)], page.title)


def _cell(value: Any, form: str) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value).removesuffix(" 00:00:00")
    if "%" in form:
        return f"{value * 100:.12g}%"
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
    check_size("table", "it", len(rows), len(names), sum(map(len, rows)))
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
    return Grid(pl.DataFrame(columns).select(_stripped()))


def _are_readings(cell: Any) -> bool:
    return isinstance(cell, list) and len(cell) > 1 and all(type(x) in (int, float) for x in cell)


def _text(cell: Any) -> str:
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    return str(cell)


def _as_polars(source: Any) -> pl.DataFrame:
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
    return Grid(pl.DataFrame(texts).select(_stripped()))
