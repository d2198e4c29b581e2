"""How a table is to be read, on the command line: ``--map``, ``--ignore``, ``--decimal`` and others."""

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import click
import typer

from noisewise.core.support.checks import nearest

if TYPE_CHECKING:
    from noisewise.study.inputs.read_table import ReadTable
    from noisewise.study.intake.columns.understanding import Understood
    from noisewise.study.tables.table import UndecidedError

TABLES = "csv, tsv, txt, xlsx (FILE.xlsx#SHEET), parquet or arrow; - for a text on standard input"
Map = Annotated[
    list[str],
    typer.Option(
        "--map",
        metavar="NAME=COLUMN,...",
        help='Which column is what: "value=HV,se=HV_se,key={plate}:{well}".',
    ),
]
Ignore = Annotated[
    list[str],
    typer.Option("--ignore", metavar="COLUMN", help="A column that is not used, on purpose; repeatable."),
]
Decimal = Annotated[
    str | None,
    typer.Option("--decimal", metavar="SIGN", help="The decimal sign, . or , where the cells leave it open."),
]
AllowMissing = Annotated[
    bool, typer.Option("--allow-missing-se", help="Take rows whose error bar is blank as rows without one.")
]


Where = Annotated[
    str | None, typer.Option("--where", metavar="COLUMN=VALUE", help="Read only the rows with this value.")
]
HowMany = Annotated[int | None, typer.Option("--n", help="Number of readings behind each value.")]
#: Tables of studies, for `import` and `init --from`.
Network = Annotated[
    bool,
    typer.Option(
        "--network",
        help="A table of studies, a row for each difference: treat1, treat2, TE, seTE, studlab.",
    ),
]
Arms = Annotated[
    bool,
    typer.Option(
        "--arms",
        help="A table of studies, a row for each arm (study, treatment, mean and se, or sd and n, or events "
        "and n), or numbered columns: treat1, mean1, ...",
    ),
]
Counts = Annotated[
    str | None,
    typer.Option("--counts", help="With --arms, what events out of n become: log odds (default), or shares."),
]


class Studies(NamedTuple):
    """What was said about a table of studies."""

    network: bool = False
    arms: bool = False
    counts: str | None = None

    @property
    def layout(self) -> str | None:
        """The layout of the table; None if it is one of measurements."""
        if self.network and self.arms:
            raise ValueError(
                "a table has rows for differences (--network) or for arms (--arms), not for both."
            )
        return "network" if self.network else "arms" if self.arms else None


def parse_map(texts: list[str], layout: str | None = None) -> dict[str, Any]:
    """Names of `tell`'s arguments to columns, or to patterns with columns in braces."""
    known = _known_roles(layout)
    found: dict[str, list[str]] = {}
    # Columns may have commas in their names: only what looks like another pair begins one.
    for pair in [pair for text in texts for pair in re.split(r",(?=\s*[A-Za-z_]+\s*=|\s*$)", text)]:
        name, equals, column = (part.strip() for part in pair.partition("="))
        if not (name and equals and column):
            raise ValueError(f"--map must look like value=HV,se=HV_se; got {pair.strip()!r}.")
        if name not in known:
            raise ValueError(f"--map knows {', '.join(known)}; got {name!r}.{nearest(name, known)}")
        found.setdefault(name, []).append(column)
    return {name: columns[0] if len(columns) == 1 else columns for name, columns in found.items()}


def _known_roles(layout: str | None) -> tuple[str, ...]:
    if layout is None:
        from noisewise.study.intake.roles import ROLE

        return (*ROLE, "pair", "winner", "features")
    from noisewise.study.intake.columns.networks import ALIASES, ROLES_OF

    return (*ROLES_OF[layout], *ALIASES[layout])


def read_source(what: str, table: str) -> "ReadTable":
    """A table from a file, or from standard input."""
    from dataclasses import replace

    from noisewise.study.inputs.delimited import read_delimited
    from noisewise.study.inputs.dialects.wording import COMMAND
    from noisewise.study.inputs.tables import read_whole

    if table == "-":
        found = read_delimited(what, sys.stdin.buffer.read(), ",", "standard input")
    else:
        found = read_whole(what, Path(table))
    return replace(found, words=COMMAND)


def understand_table(
    table: str,
    map: list[str],
    ignore: list[str],
    decimal: str | None,
    allow_missing_se: bool,
    others: list[str] | None = None,
    option: str | None = None,
    studies: Studies = Studies(),  # noqa: B008 - a tuple
    where: str | None = None,
    n: int | None = None,
) -> "Understood":
    """A table as the command line says how to read it; messages speak of its options."""
    from noisewise.study.inputs.dialects.wording import COMMAND
    from noisewise.study.intake.columns.understanding import understand
    from noisewise.study.tables.table import UndecidedError

    source: Any = read_source("table", table) if table == "-" else Path(table)
    wanted = parse_map(map, studies.layout) if map else None
    if option is not None:
        wanted = {**(wanted or {}), "option": option}
    said: dict[str, Any] = {
        "what": "table", "ignore": ignore, "decimal": decimal, "allow_missing_se": allow_missing_se,
        "words": COMMAND, "others": others or (), "layout": studies.layout, "counts": studies.counts,
    }  # fmt: skip
    try:
        return understand(source, map=wanted, where=where, n=n, **said)
    except UndecidedError as question:
        if (answer := asked(question)) is None:
            raise
    return understand(source, **answer, **said)


def asked(question: "UndecidedError") -> dict[str, Any] | None:
    """Ask a person on a terminal how a table is meant; None if there is nobody to ask."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    table = question.table
    for k, one in enumerate(table.readings, 1):
        typer.echo(f"  {k}. {one}", err=True)
    choice = typer.prompt(table.question, type=click.IntRange(1, len(table.readings)), err=True)
    reading = table.readings[choice - 1]
    n = None
    if reading.needs_n:
        n = typer.prompt("Number of readings behind each value", type=click.IntRange(1), err=True)
    return {"map": reading.stated, "where": next(iter(reading.roles.get("where", ())), None), "n": n}


def read_options(options: list[str]) -> Any:
    """A table, or names."""
    from noisewise.study.inputs.tables import ENDINGS, FOREIGN, split_sheet

    if options == ["-"]:
        return read_source("options", "-")
    path = split_sheet(options[0])[0]
    if len(options) == 1 and (path.suffix.lower() in ENDINGS or path.is_file()):
        return _only_table(options[0], path)
    for option in options:
        is_command = " " in option and not Path(option).exists()  # sort -u words.txt
        if option.lower().endswith((*ENDINGS, *FOREIGN)) and not is_command:
            raise ValueError(
                f"options must be names, or one table that ends in {', '.join(ENDINGS)}; {option!r} looks "
                "like a file. Save it as CSV in UTF-8."
            )
    return options


def _only_table(option: str, path: Path) -> Any:
    """A file that must be a table; a text of one column is one only if it says what the column is."""
    from noisewise.study.inputs.dialects.headers import key_of

    if not path.is_file():
        raise ValueError(
            f"{option!r} looks like a file, and there is none; names of options have no such endings."
        )
    table = read_source("options", option)
    columns = table.frame.columns
    says_so = path.suffix.lower() in (".csv", ".tsv", ".parquet", ".arrow", ".feather")
    named = key_of(columns[0]) in ("id", "option", "options", "name", "names")
    if len(columns) == 1 and not (says_so or named):
        raise ValueError(
            f"options must be names or a table; {option!r} is a text without columns: its first line is "
            f"{columns[0][:60]!r}. A list of names has id in its first line, and one name in each other."
        )
    return table
