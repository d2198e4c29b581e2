"""Parquet files as tables, measured by their metadata before anything in them is unpacked.

A few bytes of one can stand for a billion rows: runs of one value, zeros that are packed well, texts of a
dictionary that every row uses. The headers of all pages say how many values they hold and how
many bytes they have unpacked; decoders stop there, so a file that says too little is damaged, not dangerous.
"""

import mmap
import struct
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from noisewise.study.tables.limits import MOST_COLUMNS, MOST_UNPACKED, most_letters, most_values

PACKED = (".parquet",)
#: Bytes of the metadata at the end of a file, and levels of structures in one another.
_MOST_FOOTER, _MOST_LEVELS = 8 * 2**20, 16
_PARQUET = b"PAR1"
#: What reading the metadata of a damaged file may raise.
DAMAGED = (IndexError, struct.error, KeyError, TypeError, AttributeError, OverflowError)
_NOT_WHOLE = "it is cut off, or damaged"


class Size(NamedTuple):
    """What a table has, unpacked."""

    n_values: int = 0
    n_bytes: int = 0

    def __add__(self, other: "Size") -> "Size":  # type: ignore[override]
        return Size(self.n_values + other.n_values, self.n_bytes + other.n_bytes)


def read_packed(path: Path) -> pl.DataFrame:
    """The table of a file; `ValueError` says what is wrong with it, or which limit it exceeds."""
    with path.open("rb") as file:
        try:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:
            raise ValueError("it is empty") from None
        with data:
            try:
                size = _parquet_size(data)
            except DAMAGED:
                raise ValueError(_NOT_WHOLE) from None
    if size.n_bytes > MOST_UNPACKED:
        raise ValueError(f"it has more than {MOST_UNPACKED >> 20} MB when it is unpacked")
    if size.n_values > most_values(size.n_bytes):
        raise ValueError(
            f"it has {size.n_values:,} cells in {size.n_bytes:,} bytes; at most "
            f"{most_values(size.n_bytes):,} are read from so few: leave out columns that are not needed"
        )
    _check_schema(pl.read_parquet_schema(path))
    frame = pl.read_parquet(path, glob=False, hive_partitioning=False)
    _check_letters(frame, most_letters(size.n_bytes))
    return frame


def _check_schema(schema: Any) -> None:
    if len(schema) > MOST_COLUMNS:
        raise ValueError(f"it has {len(schema):,} columns, and a table may have {MOST_COLUMNS:,}")
    for name, kind in schema.items():
        inner = kind.inner if isinstance(kind, pl.List) else None
        if kind.is_nested() and not (inner is not None and inner.is_numeric()):
            raise ValueError(
                f"column {name[:100]!r} holds {str(kind)[:100]}; a table has numbers, texts and lists of "
                "numbers"
            )


def _check_letters(frame: pl.DataFrame, most: int) -> None:
    """Refuse texts that many rows share, and that would be copied for each of them."""
    found = 0
    for column in frame.get_columns():
        if column.dtype == pl.String:
            found += int(column.str.len_bytes().sum())
        elif column.dtype == pl.Binary:
            found += int(column.bin.size().sum())
        elif column.dtype in (pl.Categorical, pl.Enum):
            longest = column.unique().cast(pl.String).str.len_bytes().max()
            found += column.len() * int(longest or 0)  # type: ignore[arg-type]
        if found > most:
            raise ValueError(f"its cells have more than {most:,} characters")


# Parquet: metadata in the compact protocol of Thrift


def _parquet_size(data: Any) -> Size:
    if len(data) < 12 or data[:4] != _PARQUET or data[-4:] != _PARQUET:
        raise ValueError("it is not a Parquet file")
    (length,) = struct.unpack("<I", data[-8:-4])
    if not 0 < length <= min(_MOST_FOOTER, len(data) - 12):
        raise ValueError("its metadata is too long, or cut off")
    meta, _ = _structure(data[-8 - length : -8], 0)
    leaves = [one for one in meta[2] if not one.get(5)]
    widths = [one.get(2, 0) if one.get(1) == 7 else 0 for one in leaves]  # fixed numbers of bytes
    if len(leaves) > MOST_COLUMNS:
        raise ValueError(f"it has {len(leaves):,} columns, and a table may have {MOST_COLUMNS:,}")
    groups = meta.get(4) or []
    n_rows = max(meta[3], sum(group[3] for group in groups))
    size = Size()
    for group in groups:
        for chunk, width in zip(group[1], widths, strict=True):
            found = _chunk_size(data, chunk[3])
            size += Size(found.n_values * max(1, -(-width // 16)), found.n_bytes)
    return Size(max(size.n_values, n_rows * len(leaves)), size.n_bytes)


def _chunk_size(data: Any, meta: dict[int, Any]) -> Size:
    """The size of a column in a group of rows: of all its pages, whatever its metadata says."""
    at = min(offset for offset in (meta[9], meta.get(11) or meta[9]) if offset > 0)
    end = at + meta[7]
    size = Size(meta[5], 0)
    n_values = 0
    if not 0 < at <= end <= len(data):
        raise ValueError(_NOT_WHOLE)
    while at < end:
        page, at = _structure(data, at)
        kind = page.get(5) or page.get(7) or page.get(8) or {}
        n_values += kind.get(1, 0)
        if min(page[2], page[3], kind.get(1, 0)) < 0:
            raise ValueError(_NOT_WHOLE)
        size += Size(0, page[2])
        at += page[3]
    return Size(max(size.n_values, n_values), size.n_bytes)


def _structure(data: Any, at: int, level: int = 0) -> tuple[dict[int, Any], int]:
    """A structure by the numbers of its fields, and where it ends."""
    if level > _MOST_LEVELS:
        raise ValueError(_NOT_WHOLE)
    found: dict[int, Any] = {}
    field = 0
    while head := data[at]:
        at += 1
        kind = head & 15
        if head >> 4:
            field += head >> 4
        else:
            field, at = _number(data, at)
        if kind in (1, 2):  # a boolean, which is its own value
            found[field] = kind == 1
        else:
            found[field], at = _value(data, at, kind, level)
    return found, at + 1


def _value(data: Any, at: int, kind: int, level: int) -> tuple[Any, int]:
    if kind in (1, 2, 3):
        return data[at], at + 1
    if kind in (4, 5, 6):
        return _number(data, at)
    if kind == 7:
        return None, at + 8
    if kind == 8:
        length, at = _unsigned(data, at)
        return None, at + length  # names and statistics do not matter here
    if kind in (9, 10):
        many, inner = data[at] >> 4, data[at] & 15
        at += 1
        if many == 15:
            many, at = _unsigned(data, at)
        values = []
        for _ in range(many):
            one, at = _value(data, at, inner, level + 1)
            values.append(one)
        return values, at
    if kind == 12:
        return _structure(data, at, level + 1)
    raise ValueError(_NOT_WHOLE)  # maps are not in this metadata


def _unsigned(data: Any, at: int) -> tuple[int, int]:
    found = shift = 0
    while shift < 70:
        byte = data[at]
        at += 1
        found |= (byte & 127) << shift
        if byte < 128:
            return found, at
        shift += 7
    raise ValueError(_NOT_WHOLE)


def _number(data: Any, at: int) -> tuple[int, int]:
    found, at = _unsigned(data, at)
    return (found >> 1) ^ -(found & 1), at
