"""Keeping: `rename`, `export`, `backup`, `restore` and `verify`."""

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from noisewise.core.refusals import RefusedError
from noisewise.operations.opening import library
from noisewise.operations.table import Arg, Group, Opt, Result, Role, operation
from noisewise.operations.values import DryRun

WRITERS = {".csv": "csv", ".parquet": "write_parquet", ".jsonl": "write_ndjson"}
What = Literal["log", "measurements", "options", "events", "items"]


def write_table(frame: Any, path: Path) -> None:
    """Write a frame; the ending of the path says how."""
    from noisewise.core.files import written_whole
    from noisewise.study.tables.grid import write_delimited

    if path.suffix not in WRITERS:
        raise RefusedError("out", f"must end in one of {', '.join(WRITERS)}", got=str(path))
    with written_whole(path) as draft:
        if path.suffix == ".csv":
            draft.write_text(write_delimited(frame), encoding="utf-8", newline="\n")
        else:
            getattr(frame, WRITERS[path.suffix])(draft)


@dataclass
class ExportOutcome(Result):
    """A log or a table: as text, as rows, or written to a file."""

    what: str
    rows: list[dict[str, Any]] | int
    written: str | None = None
    _text: Iterable[str] | None = field(default=None, repr=False)

    @property
    def text(self) -> Iterable[str] | None:
        """The log or the table itself."""
        return self._text

    @property
    def is_text(self) -> bool:
        """Whether it is the log itself, which is JSON lines already."""
        return self.what == "log" and self.written is None

    def lines(self) -> list[str]:
        """Return where it is."""
        return [f"Wrote {self.written}."]

    def to_dict(self) -> dict[str, Any]:
        """Return the rows, or where they were written."""
        content = super().to_dict()
        return content if self.written is not None else {"what": self.what, "rows": self.rows}


@operation(Group.KEEP, on="shell mcp")
def export(
    log: tuple[Any, str],
    *,
    what: Annotated[What, Opt("log, measurements, options, events or items.")] = "log",
    out: Annotated[
        Path | None,
        Opt("The file: .jsonl for the log; .csv, .parquet or .jsonl for a table.", "--out", "-o", local=True),
    ] = None,
) -> ExportOutcome:
    """Write a study as JSON lines (see restore), or one of its tables."""
    from noisewise.study.log.export import log_lines, write_log
    from noisewise.study.tables.grid import write_delimited

    storage, name = log
    if what == "log":
        if out is None:  # even a log that no study can be made of
            return ExportOutcome(what, [], _text=(f"{line}\n" for line in log_lines(storage, name)))
        write_log(storage, name, out)
        return ExportOutcome(what, len(storage.read(name)), str(out))
    frame = library().load_study(storage, name, read_only=True).frame(what)
    if out is not None:
        write_table(frame, out)
        return ExportOutcome(what, len(frame), str(out))
    rows = [json.loads(line) for line in frame.write_ndjson().splitlines()]
    return ExportOutcome(what, rows, _text=[write_delimited(frame)])


@dataclass
class RenameOutcome(Result):
    """A study's new name."""

    study: str
    was: str

    def lines(self) -> list[str]:
        """Return it in a sentence."""
        return [f"{self.was} is now called {self.study}."]


@operation(Group.KEEP, role=Role.OWNER, on="shell http mcp", corrects=True)
def rename(
    store: Any,
    name: Annotated[str, Arg("The study's name now.")],
    new: Annotated[str, Arg("Its new name.")],
    dry_run: DryRun = False,
) -> RenameOutcome:
    """Give a study another name; work on it goes on undisturbed."""
    storage = library().open_store(store)
    if not dry_run:
        storage.rename(name, new)
    elif name not in storage.names() or new in storage.names():
        _refuse_name(name, new, storage.names())
    return RenameOutcome(new, name)


def _refuse_name(name: str, new: str, names: list[str]) -> None:
    if name not in names:
        raise RefusedError("name", "must be a study of this store", got=name)
    raise RefusedError("new", "is the name of another study", got=new)


@dataclass
class BackupOutcome(Result):
    """The copy of a store."""

    studies: list[str]
    written: str

    def lines(self) -> list[str]:
        """Return what it holds."""
        return [f"Wrote {self.written}: {', '.join(self.studies) or 'no studies'}."]


@operation(Group.KEEP, on="shell mcp")
def backup(
    store: Any, path: Annotated[Path, Arg("The file to write.", metavar="PATH", local=True)]
) -> BackupOutcome:
    """Copy every study of a store to a new file. Others may go on working."""
    return BackupOutcome(library().backup_store(store, path), str(path))


@dataclass
class RestoreOutcome(Result):
    """A store that holds a backup, or a study that was rebuilt from its log."""

    written: str
    kept: str | None
    study: str | None
    events: int | None
    _from: str
    _dry_run: bool

    def lines(self) -> list[str]:
        """Return what is there now."""
        from noisewise.core.text import counted

        if self.study is not None:
            would = "Would rebuild" if self._dry_run else "Rebuilt"
            return [f"{would} study {self.study!r} with {counted(self.events or 0, 'event')}."]
        if self._dry_run:
            return [f"{self.written} would hold the backup {self._from}."]
        old = "" if self.kept is None else f" The old file is kept as {self.kept}."
        return [f"{self.written} now holds the backup {self._from}.{old}"]


@operation(Group.KEEP, role=Role.OWNER, on="shell")
def restore(
    store: Any,
    backup: Annotated[str, Arg("A backup, or an exported log (.jsonl); - for a log on standard input.")],
    *,
    name: Annotated[
        str | None,
        Opt("The name of a study from a log; default: as in the log.", "--study", "-s", metavar="NAME"),
    ] = None,
    dry_run: DryRun = False,
) -> RestoreOutcome:
    """Replace a store (a file) with a backup of it, or rebuild one study from its exported log.

    The backup is checked first, and the old file is kept beside it. Refused while others have the store open.
    A study that is rebuilt from its log has the same events, certificate and next suggestion.
    """
    if backup == "-" or _is_log(backup):
        return _rebuilt(backup, store, name, dry_run)
    if name is not None:
        raise RefusedError("name", "goes with an exported log; a backup has all its studies")
    if isinstance(store, str) and store.lower().startswith(("http://", "https://")):
        raise RefusedError(
            None,
            "restore works on the store itself, not through a server",
            remedy="Run it on the server's machine.",
        )
    if dry_run:
        verdicts = library().verify_log(backup)
        if not all(verdict.fits for verdict in verdicts):
            raise RefusedError("backup", "must be a backup whose hashes fit; run verify on it", got=backup)
        return RestoreOutcome(str(store), None, None, None, backup, True)
    kept = library().restore_store(Path(backup), store)
    return RestoreOutcome(str(store), None if kept is None else str(kept), None, None, backup, False)


def _is_log(backup: str) -> bool:
    path = Path(backup)
    if not path.is_file():
        return path.suffix == ".jsonl"
    with path.open("rb") as opened:
        return opened.read(1) == b"{"


def _rebuilt(backup: str, store: Any, name: str | None, dry_run: bool) -> RestoreOutcome:
    source: Any = sys.stdin.read().splitlines() if backup == "-" else Path(backup)
    target = library().stores.MemoryStorage() if dry_run else store
    made = library().rebuild_study(source, target, name)
    count = len(library().load_study(target, made, read_only=True).events())
    return RestoreOutcome(str(store), None, made, count, backup, dry_run)


@dataclass
class VerifyOutcome(Result):
    """Whether all hashes fit."""

    fits: bool
    verdicts: list[dict[str, Any]]
    _words: list[str] = field(repr=False)
    schema = "verify-log"

    def lines(self) -> list[str]:
        """Return a sentence for each study."""
        return self._words or ["There are no studies yet."]

    @property
    def code(self) -> int:
        """The exit code of the command."""
        return 0 if self.fits else 1


@operation(
    Group.KEEP, on="shell mcp", exits={0: "everything is as it was written", 1: "something differs"}
)  # fmt: skip
def verify(
    store: Annotated[
        Any, Arg("A store, an exported log, or a certificate; - for standard input.", metavar="THING")
    ],
    against: Annotated[
        str | None,
        Arg("For a certificate: the store or exported log to compare it with.", metavar="STORE", local=True),
    ] = None,
    *,
    study: Annotated[
        str | None, Opt("The study; default: the only one.", "--study", "-s", metavar="NAME")
    ] = None,
) -> VerifyOutcome:
    """Compute every hash afresh. It names the first event that does not fit."""
    thing = store
    if thing == "-":
        thing = sys.stdin.read()
        if not thing.lstrip().startswith("{"):
            problem = "standard input must be an exported log or a certificate as JSON; it is neither"
            raise RefusedError(None, problem)
    verdicts = library().verify_log(thing, against, study)
    fits = all(verdict.fits for verdict in verdicts)
    return VerifyOutcome(fits, [asdict(one) for one in verdicts], [str(one) for one in verdicts])
