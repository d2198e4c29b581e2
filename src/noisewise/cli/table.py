"""``noisewise TABLE``: how a table is read, and what it says."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from noisewise.cli.exits import NOT_YET, WITHHELD, WRONG_CALL, leave
from noisewise.cli.options import split_roles
from noisewise.cli.printing import print_json, sentence_of
from noisewise.core.strict_json import strict_json
from noisewise.operations.table import Arg, Opt
from noisewise.operations.values import amount
from noisewise.operations.words import said

if TYPE_CHECKING:
    from noisewise.study.answer import TableAnswer
    from noisewise.study.tables.table import Table


def read_table(
    table: Annotated[str, Arg("A file; results.xlsx#Sheet for one sheet.", metavar="TABLE")],
    map_: Annotated[
        list[str] | None,
        Opt("The column of a role; repeat it for more.", "--map", metavar="ROLE=COLUMN"),
    ] = None,
    where: Annotated[str | None, Opt("Read only the rows with this value.", metavar="COLUMN=VALUE")] = None,
    n: Annotated[int | None, Opt("Number of readings behind each value.", "--n")] = None,
    goal: Annotated[str | None, Opt("Which value is best; default: by its name.", metavar="max|min")] = None,
    eps: Annotated[str | None, Opt("How far from the best is good enough.")] = None,
    confidence: Annotated[float, Opt("Confidence of the answer.")] = 0.95,
    against: Annotated[str | None, Opt("Show differences to this option.", metavar="OPTION")] = None,
    extra_scatter: Annotated[str, Opt("Of trials: estimate, a standard deviation, or none.")] = "estimate",
    scatter: Annotated[
        str | None, Opt("Whether readings of all options scatter alike.", metavar="pooled|own")
    ] = None,
    noise_floor: Annotated[str | None, Opt("Resolution of the values.")] = None,
    html: Annotated[Path | None, Opt("Write the answer as a page.")] = None,
    dry_run: Annotated[bool, Opt("Only say how the table is read.", "--dry-run")] = False,
    json: Annotated[bool, Opt("Print JSON.", "--json")] = False,
) -> None:
    """Answer a finished table: which option is best, with the bounds of one look. Nothing is kept."""
    from noisewise.study.tables.table import UndecidedError
    from noisewise.study.tables.table import read_table as read

    try:
        found = read(table, roles=split_roles(map_ or []), where=where, n=n)
        if found.kind != "read" and not (dry_run or json):
            from noisewise.cli.commands import answered

            if (answer := answered(UndecidedError(found))) is not None:
                found = read(table, roles=answer["map"], where=answer["where"], n=answer.get("n", n))
        if not dry_run and found.kind == "read":
            extra = None if extra_scatter == "none" else size(extra_scatter)
            result = found.answer(
                goal=goal, eps=size(eps), confidence=confidence, against=against, extra_scatter=extra,
                scatter=scatter, noise_floor=size(noise_floor),
            )  # fmt: skip
            _report(result, html, json)
            return
    except (ValueError, TypeError, OSError) as problem:
        if not json:
            raise
        print_json("table", {"kind": "refused", "message": sentence_of(problem), "readings": []})
        raise click.exceptions.Exit(WRONG_CALL) from None
    if json:
        _print(found)
    else:
        click.echo(f"Read as: {found}" if found.kind == "read" else str(found))
    if found.kind != "read":
        leave("TABLE", WITHHELD)


def gate_table(
    table: Annotated[str, Arg("A file; results.xlsx#Sheet for one sheet.", metavar="TABLE")],
    candidate: Annotated[str, Opt("The option that may replace the baseline.", metavar="OPTION")],
    baseline: Annotated[str, Opt("The option it is compared with.", metavar="OPTION")],
    margin: Annotated[str | None, Opt("The loss that does not matter.", metavar="AMOUNT")] = None,
    map_: Annotated[
        list[str] | None,
        Opt("The column of a role; repeat it for more.", "--map", metavar="ROLE=COLUMN"),
    ] = None,
    where: Annotated[str | None, Opt("Read only the rows with this value.", metavar="COLUMN=VALUE")] = None,
    goal: Annotated[str | None, Opt("Which value is best; default: by its name.", metavar="max|min")] = None,
    confidence: Annotated[float, Opt("Confidence of the verdict.")] = 0.95,
    markdown: Annotated[bool, Opt("Print Markdown for a pull request.", "--markdown")] = False,
    json: Annotated[bool, Opt("Print JSON.", "--json")] = False,
) -> None:
    """Compare a candidate with a baseline in a finished table."""
    from noisewise.operations.look import gate_outcome
    from noisewise.study.tables.table import read_table as read

    understood = read(table, roles=split_roles(map_ or []), where=where)
    if understood.kind != "read":
        click.echo(str(understood), err=True)
        raise click.exceptions.Exit(WITHHELD)
    found = understood.answer(goal=goal, confidence=confidence)
    outcome = gate_outcome(found.study.compare(candidate, baseline, margin=size(margin)), markdown)
    if json:
        print_json("gate", outcome.to_dict() | {"reading": found.reading})
    elif markdown:
        click.echo("".join(outcome.text or []), nl=False)
    else:
        click.echo(_in_flags("\n".join([f"Read as: {found.reading}", *found.notes, *outcome.lines()])))
    if outcome.code:
        raise click.exceptions.Exit(outcome.code)


def _report(answer: "TableAnswer", html: Path | None, json: bool) -> None:
    """Print the answer, write its page, and leave with its exit code."""
    if html is not None:
        answer.report(html)
    if json:
        print_json("answer", answer.to_dict() | {"written": [] if html is None else [str(html)]})
    else:
        click.echo(_in_flags(str(answer)))
        if html is not None:
            click.echo(f"Wrote {html}.")
    certificate = answer.certificate
    if certificate.withheld:
        leave("TABLE", WITHHELD)
    if not certificate.reached and not (certificate.eps is None and certificate.bound == 0.0):
        leave("TABLE", NOT_YET)


def _in_flags(text: str) -> str:
    """The answer in the words of a shell."""
    text = text.replace("roles={'var': COLUMN}", "--map var=COLUMN")
    return "\n".join(said(line) for line in text.splitlines())


def size(text: str | None) -> float | str | None:
    """A number where there is one; the study decides about words."""
    return None if text is None else amount(text)


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
