"""Files and arrays as shards: what is there, checked before anything is read."""

import glob
import itertools
import operator
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise.actions.catalogue.shards import KINDS, Shard
from noisewise.core.support.checks import check_count

#: Rows of a shard at most, so that many workers have something to do and none holds too much at a time.
ROWS_PER_SHARD = 4_000_000


def files_meant(paths: Any) -> list[Path]:
    """The files that are meant, in order."""
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    found: list[Path] = []
    for one in given:
        text = os.fspath(one)
        matches = sorted(glob.glob(text)) if glob.has_magic(text) and not Path(text).exists() else [text]
        missing = [match for match in matches if not Path(match).is_file()]
        if not matches or missing:
            raise FileNotFoundError(f"`paths` must be files that are there; got {text!r}, which is none.")
        found += [Path(match) for match in matches]
    if not found:
        raise ValueError(f"`paths` must name at least one file; got {paths!r}.")
    return found


def layout(path: Path, dim: int | None, dtype: str) -> tuple[int, int, int, str]:
    """Where the rows of a file begin, how many they are, how long, and of which kind."""
    if path.suffix == ".npy":
        with path.open("rb") as file:
            version = np.lib.format.read_magic(file)
            read = (
                np.lib.format.read_array_header_1_0
                if version == (1, 0)
                else np.lib.format.read_array_header_2_0
            )
            shape, by_columns, kind = read(file)
            offset = file.tell()
        if len(shape) != 2 or by_columns or kind.name not in KINDS or not kind.isnative:
            raise ValueError(
                f"`paths` must hold rows of float32 or float64, row after row; {str(path)!r} has shape "
                f"{shape}, "
                f"type {kind}{', column after column' if by_columns else ''}."
            )
        return offset, shape[0], shape[1], kind.name
    if dim is None:
        raise ValueError(
            f"`dim` must say how many numbers are in a row of a bare file; got None for {str(path)!r}."
        )
    width = check_count("dim", dim)
    if dtype not in KINDS:
        raise ValueError(f"`dtype` must be one of {', '.join(KINDS)}; got {dtype!r}.")
    rows, rest = divmod(path.stat().st_size, width * np.dtype(dtype).itemsize)
    if rest or not rows:
        raise ValueError(
            f"`dim` must fit the file; {str(path)!r} has {path.stat().st_size} bytes, which are no rows "
            f"of {width} "
            f"numbers of {dtype}."
        )
    return 0, rows, width, dtype


def cut_into_shards(
    path: str,
    offset: int,
    rows: int,
    width: int,
    kind: str,
    places: tuple[int, ...] | None,
    first: int = 0,
) -> list[Shard]:
    """The rows of one file as shards of about equal length."""
    parts = -(-rows // ROWS_PER_SHARD)
    bounds = [rows * part // parts for part in range(parts + 1)]
    size = width * np.dtype(kind).itemsize
    name = str(Path(path).resolve())
    return [
        Shard(first + low, high - low, width, kind, name, offset + low * size, places)
        for low, high in itertools.pairwise(bounds)
    ]


def mapped_file(array: "np.memmap[Any, Any]") -> tuple[str, int] | None:
    """The file of a memory map and where its first number is; None if that cannot be told."""
    base: Any = array
    while isinstance(base.base, np.memmap):
        base = base.base
    if base.filename is None or array.mode not in ("r", "c", "r+", "w+") or array.mode == "c":
        return None
    away = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    return str(base.filename), int(base.offset + away)


def checked_places(columns: Sequence[int] | None) -> tuple[int, ...] | None:
    """Which columns count, refused if they are no numbers of columns."""
    if columns is None:
        return None
    try:
        places = tuple(operator.index(place) for place in columns)
    except TypeError:
        places = ()
    if not places or min(places) < 0:
        raise ValueError(f"`columns` must be the numbers of columns, from 0 on; got {columns!r}.")
    return places


def check_alike(shards: list[Shard]) -> None:
    """Refuse files whose rows differ in length, or lack a column."""
    if not shards:
        raise ValueError("`paths` must hold at least one row; got only files without any.")
    for shard in shards:
        if shard.places is not None and max(shard.places) >= shard.width:
            raise ValueError(
                f"`columns` must be in every file; {shard.path!r} has columns 0 to {shard.width - 1}, "
                f"got {max(shard.places)}."
            )
        if shard.dim != shards[0].dim:
            raise ValueError(
                f"`paths` must hold rows of equal length; {shard.path!r} has {shard.dim} numbers in a row, "
                f"{shards[0].path!r} has {shards[0].dim}."
            )


def end_of(shards: list[Shard]) -> int:
    """How many rows these have."""
    return shards[-1].first + shards[-1].count if shards else 0


def evenly(total: int, shards: Sequence[Shard]) -> NDArray[np.int64]:
    """A number shared among shards by their lengths, each at least 1."""
    counts = np.array([shard.count for shard in shards], dtype=np.float64)
    shares: NDArray[np.int64] = np.maximum(1, np.ceil(total * counts / counts.sum())).astype(np.int64)
    return shares
