"""Tables and files of other tools that come in a request, read as if they lay on this machine."""

import base64
import binascii
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from noisewise.operations.tables import understood_columns
from noisewise.server.api.table_bodies import Importing, ToolFile, ToolFiles
from noisewise.server.problems import ProblemError
from noisewise.study.study import Study

if TYPE_CHECKING:
    from noisewise.study.intake.columns.understanding import Understood
    from noisewise.study.readers.reader import Reader
    from noisewise.study.readers.result_file import ResultFile


def understood_text(text: str, others: Any = (), **reading: Any) -> "Understood":
    """A table that was sent as text."""
    from noisewise.study.inputs.tables import read_whole
    from noisewise.study.intake.columns.understanding import check_reading, understand

    check_reading(reading, "tell_many")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.csv"  # the text itself says what stands between its columns
        file.write_text(text, encoding="utf-8", newline="")
        table = replace(read_whole("table", file), name="table")
        return understand(table, what="table", others=others, **reading)


def understood_import(
    study: Study, asked: Importing, reading: Mapping[str, Any], by: str | None
) -> "Understood":
    """Results for a study; they are told by whoever sends them, if that is known."""
    import polars as pl

    if (asked.table is None) == (asked.columns is None):
        raise ValueError("say `table`, or `columns`: one of them.")
    if asked.columns is not None:
        found = understood_columns(asked.columns, reading)
    elif isinstance(asked.table, ToolFiles):
        found = _of_tool(study, asked, reading)
    else:
        found = _of_text(study, asked, reading)
    if by is None or "item" in found.frame.columns:
        return found
    return replace(found, frame=found.frame.with_columns(pl.lit(by).alias("by")))


def _of_text(study: Study, asked: Importing, reading: Mapping[str, Any]) -> "Understood":
    from noisewise.study.table_entries import described_columns

    for name in ("only", "called", "block"):
        if getattr(asked, name) is not None:
            raise ProblemError(422, f"`{name}` goes with files of another tool, and not with a table.")
    settled = reading.get("map") or reading.get("layout")
    others = () if settled else described_columns(study.specification)
    return understood_text(str(asked.table), others, **reading)


def _of_tool(study: Study, asked: Importing, reading: Mapping[str, Any]) -> "Understood":
    from noisewise.study.intake.columns.understanding import understand

    assert isinstance(asked.table, ToolFiles)
    _refuse_reading(reading)
    with laid_out(asked.table) as (reader, files):
        wanted: dict[str, Any] = {"only": asked.only, "called": asked.called, "block": asked.block}
        return understand(study.read_from(files, reader.name, **(asked.table.choices | wanted)))


def first_results(
    results: str | ToolFiles, unit: str | None, described: Sequence[str], reading: Mapping[str, Any]
) -> "Understood":
    """What a study is made of."""
    if isinstance(results, str):
        return understood_text(results, described, **reading)
    from noisewise.study.intake.columns.understanding import understand
    from noisewise.study.readers.registry import read

    _refuse_reading(reading)
    with laid_out(results) as (reader, files):
        own = {"unit": unit} if unit is not None and "unit" in reader.choices else {}
        return understand(read(files, reader.name, **(own | results.choices)))


def _refuse_reading(reading: Mapping[str, Any]) -> None:
    for name, said in reading.items():
        if said:
            raise ProblemError(422, f"`{name}` is for tables, and not for files of another tool.")


@contextmanager
def laid_out(results: ToolFiles) -> "Iterator[tuple[Reader, list[ResultFile]]]":
    """The reader, and the files of a request in a folder of their own.

    Some readers look at paths, and for files beside others. Messages call each as it was called.
    """
    from noisewise.study.readers.registry import choose, in_folder
    from noisewise.study.readers.result_file import ResultFile

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = _write(folder, results.files)
        files = [ResultFile(path, None, file.name) for path, file in zip(paths, results.files, strict=True)]
        reader = choose(folder if results.folder else files, results.reader)
        reader.check(results.choices)
        if results.folder:
            if reader.pattern is None:
                raise ProblemError(422, f"`folder`: a file of {reader.name} is wanted ({reader.reads}).")
            files = [ResultFile(p, None, str(p.relative_to(folder))) for p in in_folder(folder, reader)]
            if not files:
                raise ProblemError(422, f"`files` has none of {reader.name} ({reader.reads}).")
        yield reader, files


def _write(folder: Path, files: Sequence[ToolFile]) -> list[Path]:
    paths: dict[Path, None] = {}
    for file in files:
        path = folder / _inside(file.name)
        if path in paths:
            raise ProblemError(422, f"`files`: {file.name!r} is there twice.")
        content = _content(file)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        except OSError as problem:  # a name that is a folder in another, or too long
            raise ProblemError(
                422, f"`files`: {file.name!r} cannot be a file ({problem.strerror})."
            ) from None
        paths[path] = None
    return list(paths)


def _inside(name: str) -> PurePosixPath:
    """A path below a folder, and not out of it."""
    path = PurePosixPath(name)
    if path.is_absolute() or not path.parts or ".." in path.parts or "\\" in name or not name.isprintable():
        raise ProblemError(
            422, f'`files`: a name is a path inside a folder, such as "run.json"; got {name!r}.'
        )
    return path


def _content(file: ToolFile) -> bytes:
    if (file.text is None) == (file.base64 is None):
        raise ProblemError(422, f"`files`: {file.name!r} needs `text` or `base64`, one of them.")
    if file.text is not None:
        return file.text.encode(errors="replace")
    try:
        return base64.b64decode(file.base64 or "", validate=True)
    except (binascii.Error, ValueError):
        raise ProblemError(422, f"`files`: `base64` of {file.name!r} is none.") from None
