"""Whole tables, and result files of other tools: ``import``."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from noisewise.cli.studies.columns import (
    TABLES,
    AllowMissing,
    Arms,
    Counts,
    Decimal,
    HowMany,
    Ignore,
    Map,
    Network,
    Studies,
    Where,
    understand_table,
)
from noisewise.cli.studies.imported import import_in_words
from noisewise.cli.studies.session import Json, Name, Store, open_study, report, told_warnings
from noisewise.cli.terminal.output import import_progress

Files = Annotated[
    list[str],
    typer.Argument(metavar="TABLE...", help=f"{TABLES}; with --from files of another tool, or a folder."),
]
From = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="READER",
        help="The tool that wrote the files: hyperfine, pytest-benchmark, lm-eval, ... (a wrong name lists "
        "all); auto: the one that they look like.",
    ),
]
Only = Annotated[
    str | None,
    typer.Option(
        metavar="OPTIONS", help="With --from: only these options of the file; * stands for anything."
    ),
]
Called = Annotated[
    str | None,
    typer.Option(
        "--as", metavar="OPTION", help="With --from: what the only option of the file is called in the study."
    ),
]
Metric = Annotated[str | None, typer.Option(help="With --from: which of several metrics.")]
Task = Annotated[str | None, typer.Option(help="With --from: which of several tasks.")]
Unit = Annotated[
    str | None, typer.Option(help="With --from: the unit to tell values in; default: the study's.")
]
Block = Annotated[
    str | None, typer.Option(help="With --from: the day, machine or run that all of it was measured in.")
]
Choose = Annotated[
    list[str],
    typer.Option(metavar="NAME=VALUE", help="With --from: anything else that the reader can be told."),
]
Add = Annotated[bool, typer.Option("--add", help="Add options that the study does not have.")]
Skip = Annotated[bool, typer.Option("--skip", help="Leave out options that the study does not have.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Only show how the table is understood; tell nothing.")
]
Again = Annotated[
    bool,
    typer.Option(
        "--again",
        help="Rows without keys that have something in common with other tables were measured again; so was "
        "the whole table if all of it was told before.",
    ),
]
Amend = Annotated[
    str | None,
    typer.Option(metavar="REASON", help="Correct rows that say something else than before, and say why."),
]


def import_(
    store: Store,
    table: Files,
    reader: From = None,
    map: Map = [],  # noqa: B006 - typer reads it; it is never changed
    ignore: Ignore = [],  # noqa: B006
    decimal: Decimal = None,
    where: Where = None,
    n: HowMany = None,
    allow_missing_se: AllowMissing = False,
    network: Network = False,
    arms: Arms = False,
    counts: Counts = None,
    only: Only = None,
    called: Called = None,
    metric: Metric = None,
    task: Task = None,
    unit: Unit = None,
    block: Block = None,
    choose: Choose = [],  # noqa: B006
    add: Add = False,
    skip: Skip = False,
    dry_run: DryRun = False,
    again: Again = False,
    amend: Amend = None,
    study: Name = None,
    json: Json = False,
) -> None:
    """Tell the study a table of results, or files of other tools. All of it, or nothing if a row is bad.

    Told again, each row counts once.
    """
    from noisewise.study.plain import import_content

    if add and skip:
        raise ValueError("unknown options are added (--add) or left out (--skip), not both.")
    how = _HowToRead(
        table, reader, map, ignore, decimal, allow_missing_se, Studies(network, arms, counts),
        {"metric": metric, "task": task, "unit": unit}, _WantedRows(only, called, block), choose,
        where, n,
    )  # fmt: skip
    how.check()
    opened = open_study(store, study, write=not dry_run)
    table = how.understood(opened)
    with import_progress() as watch:
        taken = opened.tell_many(
            table,
            match=True,
            repeat="others" if again else False,
            amend=amend,
            unknown="add" if add else "skip" if skip else "refuse",
            dry_run=dry_run,
            watch=watch,
        )
    understood: Any = taken.understood
    content = import_content(taken, len(opened.pending), understood, dry_run)
    if dry_run:
        words = [*understood.describe(), f"Nothing was told; it would be: {import_in_words(content)[0]}"]
    else:
        words = [*([understood.sentence] if understood.sentence else []), *import_in_words(content)]
    report("import", opened, json, content, words)


class _WantedRows(NamedTuple):
    """What is wanted of the rows that a reader made."""

    only: str | None
    called: str | None
    block: str | None


class _HowToRead(NamedTuple):
    """What was said about the files."""

    files: list[str]
    reader: str | None
    map: list[str]
    ignore: list[str]
    decimal: str | None
    allow_missing_se: bool
    studies: Studies
    choices: dict[str, str | None]  # of a reader
    wanted: _WantedRows
    more: list[str]  # choices as name=value
    where: str | None
    n: int | None

    def check(self) -> None:
        """Refuse what belongs to tables with --from, and what belongs to readers without it."""
        of_tables = {
            "--map": self.map, "--ignore": self.ignore, "--decimal": self.decimal,
            "--allow-missing-se": self.allow_missing_se, "--network": self.studies.network,
            "--arms": self.studies.arms, "--counts": self.studies.counts, "--where": self.where,
            "--n": self.n,
        }  # fmt: skip
        of_readers = {
            **{f"--{name}": said for name, said in self.choices.items()},
            "--only": self.wanted.only, "--as": self.wanted.called, "--block": self.wanted.block,
            "--choose": self.more,
        }  # fmt: skip
        wrong = of_readers if self.reader is None else of_tables
        for flag, said in wrong.items():
            if said:
                way = "goes with --from READER" if self.reader is None else "is for tables, without --from"
                raise ValueError(f"{flag} {way}.")
        if self.reader is None and len(self.files) > 1:
            raise ValueError(f"import takes one table at a time; got {len(self.files)}.")

    def understood(self, opened: Any) -> Any:
        """The table that a study can be told."""
        from noisewise.study.table_entries import described_columns

        if self.reader is None:
            layout = self.studies.layout
            described = [] if self.map or layout else described_columns(opened.specification)
            with _other_tools(self.files[0]):
                return understand_table(
                    self.files[0], self.map, self.ignore, self.decimal, self.allow_missing_se, described,
                    studies=self.studies, where=self.where, n=self.n,
                )  # fmt: skip
        from noisewise.study.inputs.dialects.wording import COMMAND
        from noisewise.study.intake.columns.understanding import understand

        choices = {name: said for name, said in self.choices.items() if said is not None}
        with told_warnings():
            readout = opened.read_from(
                files_or_input(self.files),
                self.reader,
                **self.wanted._asdict(),
                **(choices | parse_choices(self.more)),
            )
        return understand(readout, words=COMMAND)


@contextmanager
def _other_tools(file: str, wording: str = "{reader}") -> Iterator[None]:
    """Say beside the refusal of a table that it looks like a file of another tool, and what to say then."""
    try:
        yield
    except ValueError as problem:
        from noisewise.study.readers.registry import likely

        found = likely(file) if Path(file).is_file() else []
        if not found or len(problem.args) != 1:
            raise
        hint = f"It looks like a file of {found[0]}: --from {wording.replace('{reader}', found[0])} reads it."
        raise ValueError(f"{problem.args[0]} {hint}") from None


def first_results(results: str, unit: str | None, choices: list[str], *said: Any) -> Any:
    """The table that a study is made of; ``hyperfine:run.json`` is a file of another tool.

    Args:
        results: A table, or a reader, a colon and a file; JSON and folders are no tables: their look decides.
        unit: The unit of the study.
        choices: Of the reader, as name=value.
        said: What `understand_table` takes besides.
    """
    reader, file = _reader_of(results)
    if reader is None:
        if choices:
            raise ValueError("--choose goes with files of other tools, such as --from hyperfine:run.json.")
        with _other_tools(results, "{reader}:" + results):
            return understand_table(results, *said)
    map, ignore, decimal, allow_missing_se, about, _, studies, where, n = said
    if map or ignore or decimal or allow_missing_se or about or studies.layout or where or n:
        raise ValueError(f"{results!r} is a file of another tool: flags on columns are for tables.")
    from noisewise.study.inputs.dialects.wording import COMMAND
    from noisewise.study.intake.columns.understanding import understand
    from noisewise.study.readers.registry import choose, given_files, read

    files = given_files(files_or_input([file]))
    with told_warnings():
        chosen = choose(files, reader)
        own = {"unit": unit} if unit is not None and "unit" in chosen.choices else {}
        return understand(read(files, chosen.name, **(own | parse_choices(choices))), words=COMMAND)


def _reader_of(results: str) -> tuple[str | None, str]:
    """The reader of a file that is no table, and the file."""
    path = Path(results)
    name, colon, file = results.partition(":")
    if colon and not path.exists():
        from noisewise.study.readers.registry import AUTO, names

        if name in (AUTO, *names()):
            return name, file
    if path.suffix.lower() in (".json", ".jsonl") and path.is_file():
        from noisewise.study.readers.registry import likely

        return ("auto" if likely(path) else None), results
    return ("auto" if path.is_dir() or path.suffix.lower() == ".eval" else None), results


def files_or_input(files: list[str]) -> list[Any]:
    """Files as readers take them; - is standard input."""
    from noisewise.study.readers.result_file import ResultFile

    if files.count("-") > 1:
        raise ValueError("- is standard input, and can be read once.")
    return [ResultFile(None, sys.stdin.buffer.read()) if file == "-" else file for file in files]


def parse_choices(texts: list[str]) -> dict[str, str]:
    """Choices of a reader as name=value."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise ValueError(f"--choose must look like NAME=VALUE; got {text!r}.")
        found[name.replace("-", "_")] = value
    return found
