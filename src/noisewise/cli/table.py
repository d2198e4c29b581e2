"""``noisewise TABLE``: how a table is read."""

from pathlib import Path
from typing import Annotated

import typer

from noisewise.cli.terminal.exits import WITHHELD, WRONG_CALL, leave
from noisewise.cli.terminal.options import split_roles
from noisewise.cli.terminal.output import print_json
from noisewise.cli.terminal.refusals import sentence_of

#: The name under which ``noisewise TABLE`` is registered.
READ = "read-table"


def read_table(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="A file; results.xlsx#Sheet for one sheet.")],
    map_: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="ROLE=COLUMN", help="The column of a role; repeat it for more."),
    ] = None,
    where: Annotated[
        str | None, typer.Option(metavar="COLUMN=VALUE", help="Read only the rows with this value.")
    ] = None,
    n: Annotated[int | None, typer.Option("--n", help="Number of readings behind each value.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say how the table is read (default).")
    ] = True,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Read a table of measurements, and say how it is read."""
    from noisewise.study.tables.table import read_table as read

    try:
        found = read(table, roles=split_roles(map_ or []), where=where, n=n)
    except (ValueError, TypeError, OSError) as problem:
        if not json:
            raise
        print_json("table", {"kind": "refused", "message": sentence_of(problem), "readings": []})
        raise typer.Exit(WRONG_CALL) from None
    if json:
        print_json("table", found.to_dict())
    else:
        typer.echo(f"Read as: {found}" if found.kind == "read" else str(found))
    if found.kind != "read":
        leave("TABLE", WITHHELD)


def with_command(arguments: list[str], commands: list[str]) -> list[str]:
    """Put the name of the command in front of a table that is given alone."""
    first = arguments[0] if arguments else "-"
    if first.startswith("-") or first in commands:
        return arguments
    path = Path(first.partition("#")[0])
    return [READ, *arguments] if path.is_file() or path.suffix in _ENDINGS else arguments


_ENDINGS = (".csv", ".tsv", ".txt", ".xlsx", ".json", ".jsonl", ".parquet", ".md")
