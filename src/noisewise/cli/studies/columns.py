"""How a table is to be read, on the command line: ``--map``, ``--ignore``, ``--decimal`` and others."""

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from noisewise.core.support.checks import nearest

if TYPE_CHECKING:
    from noisewise.study.inputs.read_table import ReadTable
    from noisewise.study.intake.columns.understanding import Understood

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


def parse_map(texts: list[str], layout: str | None = None) -> dict[str, str]:
    """Names of `tell`'s arguments to columns, or to patterns with columns in braces."""
    known = _known_roles(layout)
    found: dict[str, str] = {}
    # Columns may have commas in their names: only what looks like another pair begins one.
    for pair in [pair for text in texts for pair in re.split(r",(?=\s*[A-Za-z_]+\s*=|\s*$)", text)]:
        name, equals, column = (part.strip() for part in pair.partition("="))
        if not (name and equals and column):
            raise ValueError(f"--map must look like value=HV,se=HV_se; got {pair.strip()!r}.")
        if name not in known:
            raise ValueError(f"--map knows {', '.join(known)}; got {name!r}.{nearest(name, known)}")
        if name in found:
            raise ValueError(f"--map must name {name!r} once; got {found[name]!r} and {column!r}.")
        found[name] = column
    return found


def _known_roles(layout: str | None) -> tuple[str, ...]:
    if layout is None:
        from noisewise.study.intake.roles import ROLE

        return tuple(ROLE)
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
) -> "Understood":
    """A table as the command line says how to read it; messages speak of its options."""
    from noisewise.study.inputs.dialects.wording import COMMAND
    from noisewise.study.intake.columns.mapping import with_option
    from noisewise.study.intake.columns.understanding import understand

    source = read_source("table", table)
    wanted = parse_map(map, studies.layout) if map else None
    if option is not None:
        wanted = with_option(source.frame.columns, wanted, option)
    return understand(
        source, what="table", map=wanted, ignore=_columns(ignore, source), decimal=decimal,
        allow_missing_se=allow_missing_se, words=COMMAND, others=others or (), layout=studies.layout,
        counts=studies.counts,
    )  # fmt: skip


def _columns(texts: list[str], source: Any) -> list[str]:
    """Names of columns; with commas between them, unless a column is called so."""
    names = []
    for text in texts:
        whole = text.strip()
        names += [whole] if whole in source.frame.columns else [part.strip() for part in text.split(",")]
    return [name for name in names if name]


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
