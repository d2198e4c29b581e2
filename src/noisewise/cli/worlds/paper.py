"""``noisewise paper``: the paper's claims, measured; a report with figures and numbers."""

from pathlib import Path
from typing import Annotated

import typer

from noisewise.cli.terminal.exits import DIFFERS, leave
from noisewise.cli.terminal.options import On, Seed
from noisewise.cli.terminal.output import console, print_json

COLOURS = {
    "holds": "green",
    "holds with care": "yellow",
    "does not hold as printed": "blue",
    "NOT CONFIRMED": "bold red",
}


def paper(
    sections: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SECTIONS]...",
            help="table1 table2 case-study theorem1 theorem2 theorem3 heavy-tails external; default: all.",
        ),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full/--quick", help="All replications, or what a few minutes allow.")
    ] = False,
    out: Annotated[
        Path, typer.Option(help="Folder for the report; finished work in it is used again.")
    ] = Path("paper"),
    seed: Seed = 0,
    on: On = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a list.")] = False,
) -> None:
    """Check the paper: every theorem, table and claim in numbers. Exit code 1 if one is not confirmed."""
    from noisewise.paper import check_paper

    found = check_paper(sections or ("all",), full=full, out=out, seed=seed, on=on)
    if json:
        checks = [{"section": name, **check._asdict(), "label": check.label} for name, check in found.checks]
        print_json("paper", {"passed": found.passed, "checks": checks, "written": [str(found.report)]})
    else:
        screen = console()
        for section, check in found.checks:
            mark = f"[{COLOURS[check.label]}]{check.label}[/]"
            screen.print(f"{mark}  {section}: {check.name}: {check.detail}", highlight=False)
        screen.print(f"\nThe report: {found.report}")
    if not found.passed:
        leave("paper", DIFFERS)
