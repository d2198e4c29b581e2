"""Parquet files as local memory maps, each made once."""

import hashlib
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from noisewise.core.support.files import written_whole

#: Rows of a Parquet file that are in memory at a time while it is converted.
ROWS_AT_ONCE = 262_144


def map_folder() -> Path:
    """Where the maps are kept: in ``NOISEWISE_CACHE_DIR``, else in the user's cache."""
    root = os.environ.get("NOISEWISE_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    base = Path(root) if root else Path.home() / ".cache" / "noisewise"
    folder = base / "catalogues"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        folder = Path(tempfile.gettempdir()) / "noisewise-catalogues"
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def looked_at(path: Path, columns: tuple[str, ...] | None) -> tuple[tuple[str, ...], int, str]:
    """The columns that count, the number of rows, and what they are stored as; read from the file's end."""
    import polars as pl

    lazy = pl.scan_parquet(path)
    schema: Any = lazy.collect_schema()
    names = tuple(name for name in schema if schema[name].is_numeric()) if columns is None else columns
    for name in names:
        if name not in schema:
            listed = ", ".join(list(schema)[:20])
            raise ValueError(f"`columns` must be in every file; {str(path)!r} has no {name!r}, but {listed}.")
        if not schema[name].is_numeric():
            raise ValueError(
                f"`columns` must be numbers; {name!r} in {str(path)!r} is of type {schema[name]}: name "
                f"others."
            )
    if not names:
        raise ValueError(f"`paths` must hold columns of numbers; got {str(path)!r} without any.")
    single = all(schema[name] == pl.Float32 for name in names)
    count = int(lazy.select(pl.len()).collect().item())
    return names, count, "float32" if single else "float64"


def converted(path: Path, columns: tuple[str, ...], kind: np.dtype[Any], count: int) -> Path:
    """The map of a Parquet file, (rows, columns) without a header; made unless it is there."""
    import polars as pl

    seen = path.stat()
    said = f"{path.resolve()} {seen.st_size} {seen.st_mtime_ns} {columns} {kind}"
    target = map_folder() / f"{hashlib.sha256(said.encode()).hexdigest()[:24]}.map"
    wanted = count * len(columns) * kind.itemsize
    if target.exists() and target.stat().st_size == wanted:
        return target
    with written_whole(target) as draft, draft.open("wb") as file:
        for start in range(0, count, ROWS_AT_ONCE):
            some = pl.scan_parquet(path).slice(start, ROWS_AT_ONCE).select(columns).collect()
            for name in columns:
                if some[name].null_count():
                    row = start + int(some[name].is_null().arg_max() or 0)
                    raise ValueError(f"{name!r} is empty in row {row} of the file")
            file.write(np.ascontiguousarray(some.to_numpy(), dtype=kind).tobytes())
    if target.stat().st_size != wanted:
        raise ValueError(f"the file changed while it was read: {count} rows were expected")
    return target
