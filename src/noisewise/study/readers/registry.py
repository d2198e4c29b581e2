"""All readers by name: those of the modules here, and those of other packages (``noisewise.readers``)."""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import entry_points
from os import PathLike
from pathlib import Path
from typing import Any

from noisewise.core.checks import nearest
from noisewise.core.remarks import warn
from noisewise.core.text import printable
from noisewise.study import readers
from noisewise.study.readers.reader import Reader
from noisewise.study.readers.readout import Readout, joined
from noisewise.study.readers.result_file import MOST_BYTES, ResultFile

#: The group of entry points by which other packages bring readers; each names a `Reader`.
GROUP = "noisewise.readers"
#: What finds the reader by the look of the file.
AUTO = "auto"
Path_ = str | PathLike[str]

_readers: dict[str, Reader] = {}


class BrokenReaderWarning(UserWarning):
    """A reader of another package could not be loaded; all others work."""


def register(reader: Reader) -> None:
    """Make a reader known by its name, in this process."""
    if not isinstance(reader, Reader):
        raise TypeError(f"`reader` must be a Reader; got {type(reader).__name__}.")
    if reader.name == AUTO:
        raise ValueError(f"a reader cannot be called {AUTO!r}, which stands for all of them.")
    _all()[reader.name] = reader


def names() -> list[str]:
    """The names of all readers."""
    return sorted(_all())


def get(name: str) -> Reader:
    """The reader of this name."""
    known = _all()
    if name not in known:
        raise KeyError(
            f"there is no reader {name!r}; there are {', '.join(names())}.{nearest(name, names())}"
        )
    return known[name]


def likely(file: ResultFile | Path_) -> list[str]:
    """The readers whose files look like this one."""
    given = file if isinstance(file, ResultFile) else ResultFile(Path(file))
    return [name for name in names() if _looks_like(_all()[name], given)]


def read(
    files: "Path_ | ResultFile | Sequence[Path_ | ResultFile]", reader: str = AUTO, **choices: Any
) -> Readout:
    """Read files of results as rows that `Study.tell_many` takes.

    Args:
        files: A file, several, or a folder where the format is one.
        reader: The name of the reader; ``"auto"``: the only one whose files look like these.
        choices: What the reader can be told, such as ``unit="ms"`` or ``metric="acc"``.
    """
    given = given_files(files)
    chosen = choose(given, reader)
    chosen.check(choices)
    found = [file for one in given for file in _files_of(one, chosen)]
    _refuse_twice(found)
    readings = [read_one(chosen, file, choices) for file in found]
    wanted = [one for one in readings if not one.aside]
    if not wanted:
        raise found[0].refuse(readings[0].aside)
    return joined(wanted, chosen.name)


def given_files(files: Any) -> "list[Path | ResultFile]":
    """Files and folders, of which there must be one; what can be read only once, such as a pipe, is."""
    several = [files] if isinstance(files, str | PathLike | ResultFile) else list(files)
    if not several:
        raise ValueError("`files` must be at least one file; got none.")
    return [one if isinstance(one, ResultFile) else _given(Path(one)) for one in several]


def _given(path: Path) -> "Path | ResultFile":
    if path.is_file() or path.is_dir():
        return path
    if not path.exists():
        raise FileNotFoundError(f"there is no file {printable(path)!r}.")
    with path.open("rb") as pipe:
        return ResultFile(None, pipe.read(MOST_BYTES), str(path))


def choose(files: Any, reader: str = AUTO) -> Reader:
    """The reader of this name, or the one that the first of the files looks like."""
    return get(_recognised(given_files(files)[0]) if reader == AUTO else reader)


def read_one(reader: Reader, file: ResultFile, choices: Mapping[str, Any]) -> Readout:
    """What a reader makes of one file; whatever goes wrong is one sentence."""
    try:
        readout = reader.read(file, **choices)
        if not readout.rows and not readout.aside:
            raise file.refuse("it has no results.")
    except OSError as problem:
        raise file.refuse(f"it cannot be read ({problem.strerror or problem}).") from None
    except ValueError as problem:
        said = str(problem)
        where = "" if said.startswith(str(file.refuse(""))[:-1]) else str(file.refuse(""))
        raise ValueError(f"{where}{said}{_better(reader, file)}") from None
    except (RecursionError, MemoryError):
        raise
    except Exception as problem:  # of another package: one sentence, and where it came from
        raise ValueError(
            f"{printable(file.name)!r}: the reader {reader.name!r} failed "
            f"({type(problem).__name__}: {printable(problem)}); nothing was read."
        ) from problem
    return readout.placed_in(file.name)


def _better(reader: Reader, file: ResultFile) -> str:
    """Which reader was meant, if the file does not look like one of this."""
    if _looks_like(reader, file):
        return ""
    others = [name for name in likely(file) if name != reader.name]
    return f" It looks like a file of {' or '.join(others)}." if others else ""


def _looks_like(reader: Reader, file: ResultFile) -> bool:
    try:
        return bool(reader.looks_like(file))
    except Exception:  # whatever a file of garbage makes of a guess: it is none of this reader's
        return False


def _recognised(source: "Path | ResultFile") -> str:
    if isinstance(source, Path) and source.is_dir():
        fits = [
            name for name in names() if _all()[name].pattern and next(in_folder(source, _all()[name]), None)
        ]
        said = str(source)
    else:
        file = source if isinstance(source, ResultFile) else ResultFile(source)
        fits, said = likely(file), file.name
    if len(fits) == 1:
        return fits[0]
    if fits:
        raise ValueError(
            f"{printable(said)!r} looks like a file of {' and of '.join(fits)}: name the reader "
            f"(import --from {fits[-1]}, init --from {fits[-1]}:FILE)."
        )
    known = ", ".join(names())
    raise ValueError(
        f"{printable(said)!r} looks like none that is read ({known}); plain tables need no reader."
    )


def _files_of(source: "Path | ResultFile", reader: Reader) -> list[ResultFile]:
    if isinstance(source, ResultFile):
        return [source]
    if not source.is_dir():
        return [ResultFile(source)]
    if reader.pattern is None:
        raise ValueError(f"{str(source)!r} is a folder; a file of {reader.name} is wanted ({reader.reads}).")
    found = [ResultFile(path) for path in in_folder(source, reader)]
    if not found:
        raise ValueError(f"{str(source)!r} has no files of {reader.name} ({reader.pattern}).")
    return found


def in_folder(folder: Path, reader: Reader) -> Iterator[Path]:
    """The files of a folder that a reader reads."""
    files = (path for path in sorted(folder.glob(reader.pattern or "")) if path.is_file())
    return (path for path in files if _looks_like(reader, ResultFile(path)))


def _refuse_twice(files: list[ResultFile]) -> None:
    """The same file twice would count twice where its results have no names of their own."""
    seen: set[Path] = set()
    for file in files:
        if file.path is not None:
            if file.path.resolve() in seen:
                raise ValueError(f"{printable(file.name)!r} is given twice.")
            seen.add(file.path.resolve())


def _all() -> dict[str, Reader]:
    if not _readers:
        for found in pkgutil.iter_modules(readers.__path__):
            module = importlib.import_module(f"{readers.__name__}.{found.name}")
            own = getattr(module, "READERS", [module.READER] if hasattr(module, "READER") else [])
            _readers.update((one.name, one) for one in own)
        _readers.update(_of_others(set(_readers)))
    return _readers


def _of_others(taken: set[str]) -> dict[str, Reader]:
    """The readers of other packages; one that is broken is said, and breaks nothing else."""
    found: dict[str, Reader] = {}
    for point in entry_points(group=GROUP):
        try:
            loaded = point.load()
            reader = loaded() if callable(loaded) and not isinstance(loaded, Reader) else loaded
            if not isinstance(reader, Reader):
                raise TypeError(f"it is a {type(reader).__name__}, and no Reader")
            if reader.name in taken or reader.name in found or reader.name == AUTO:
                raise ValueError(f"there is a reader {reader.name!r} already")
            found[reader.name] = reader
        except Exception as problem:
            warn(
                f"the reader {point.name!r} ({point.value}) was left out, because it cannot be loaded: "
                f"{type(problem).__name__}: {printable(problem)}.",
                BrokenReaderWarning,
                stacklevel=2,
            )
    return found
