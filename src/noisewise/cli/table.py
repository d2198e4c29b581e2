"""``noisewise TABLE``: how a table is read, and what it says."""

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noisewise.cli.studies.model import size
from noisewise.cli.terminal.exits import NOT_YET, WITHHELD, WRONG_CALL, leave
from noisewise.cli.terminal.flags import in_flags
from noisewise.cli.terminal.options import split_roles
from noisewise.cli.terminal.output import print_json
from noisewise.cli.terminal.refusals import sentence_of
from noisewise.core.support.strict_json import strict_json

if TYPE_CHECKING:
    from noisewise.study.answer import TableAnswer
    from noisewise.study.tables.table import Table

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
    goal: Annotated[
        str | None, typer.Option(metavar="max|min", help="Which value is best; default: by its name.")
    ] = None,
    eps: Annotated[str | None, typer.Option(help="How far from the best is good enough.")] = None,
    confidence: Annotated[float, typer.Option(help="Confidence of the answer.")] = 0.95,
    against: Annotated[
        str | None, typer.Option(metavar="OPTION", help="Show differences to this option.")
    ] = None,
    extra_scatter: Annotated[
        str, typer.Option(help="Of trials: estimate, a standard deviation, or none.")
    ] = "estimate",
    scatter: Annotated[
        str | None, typer.Option(metavar="pooled|own", help="Whether readings of all options scatter alike.")
    ] = None,
    noise_floor: Annotated[str | None, typer.Option(help="Resolution of the values.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write the answer as a page.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say how the table is read.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Answer a finished table: which option is best, with the bounds of one look. Nothing is kept.

    Exit code 0: the bound is at most eps; without eps: the option is the best. 3: not yet. 4: a question
    has to be answered, or the certificate is withheld.
    """
    from noisewise.study.tables.table import read_table as read

    try:
        found = read(table, roles=split_roles(map_ or []), where=where, n=n)
        if not dry_run and found.kind == "read":
            extra = None if extra_scatter == "none" else size(extra_scatter)
            answer = found.answer(
                goal=goal, eps=size(eps), confidence=confidence, against=against, extra_scatter=extra,
                scatter=scatter, noise_floor=size(noise_floor),
            )  # fmt: skip
            _report(answer, html, json)
            return
    except (ValueError, TypeError, OSError) as problem:
        if not json:
            raise
        print_json("table", {"kind": "refused", "message": sentence_of(problem), "readings": []})
        raise typer.Exit(WRONG_CALL) from None
    if json:
        _print(found)
    else:
        typer.echo(f"Read as: {found}" if found.kind == "read" else str(found))
    if found.kind != "read":
        leave("TABLE", WITHHELD)


def _report(answer: "TableAnswer", html: Path | None, json: bool) -> None:
    """Print the answer, write its page, and leave with its exit code."""
    if html is not None:
        answer.report(html)
    if json:
        print_json("answer", answer.to_dict() | {"written": [] if html is None else [str(html)]})
    else:
        typer.echo(_in_flags(str(answer)))
        if html is not None:
            typer.echo(f"Wrote {html}.")
    certificate = answer.certificate
    if certificate.withheld:
        leave("TABLE", WITHHELD)
    if not certificate.reached and not (certificate.eps is None and certificate.bound == 0.0):
        leave("TABLE", NOT_YET)


def _in_flags(text: str) -> str:
    def flag(found: re.Match[str]) -> str:
        return f"--{found[1].replace('_', '-')} {found[2].lower()}"

    text = text.replace("roles={'var': COLUMN}", "--map var=COLUMN")
    return in_flags(re.sub(r'\b(goal|extra_scatter)="?(\w+)"?', flag, text))


def _print(found: "Table") -> None:
    """Print a table as JSON, row by row, so that many rows take little memory."""
    content = found.to_dict(rows=False)
    readings = [strict_json(one) for one in content.pop("readings")]
    out = sys.stdout.write
    out(strict_json({"schema": "noisewise.table/1", **content, "readings": []}).removesuffix("]}"))
    for k, (text, one) in enumerate(zip(readings, found.readings, strict=True)):
        out((",\n" if k else "\n") + text.removesuffix("}") + ', "rows": [')
        for at, row in enumerate(one.iter_rows()):
            out((",\n" if at else "\n") + strict_json(row))
        out("]}")
    out("]}\n")


def with_command(arguments: list[str], commands: list[str]) -> list[str]:
    """Put the name of the command in front of a table that is given alone."""
    first = arguments[0] if arguments else "-"
    if first.startswith("-") or first in commands:
        return arguments
    path = Path(first.partition("#")[0])
    return [READ, *arguments] if path.is_file() or path.suffix in _ENDINGS else arguments


_ENDINGS = (".csv", ".tsv", ".txt", ".xlsx", ".json", ".jsonl", ".parquet", ".md")
