"""``noisewise paper``: the paper's claims, measured; a report with figures and numbers."""

from pathlib import Path
from typing import Annotated

import typer

from noisewise.cli.terminal.exits import DIFFERS, leave
from noisewise.cli.terminal.options import Mixed, On, Processes, Seed
from noisewise.cli.terminal.output import console, print_json, progress


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
    jobs: Processes = None,
    out: Annotated[
        Path, typer.Option(help="Folder for the report; finished work in it is used again.")
    ] = Path("paper"),
    seed: Seed = 0,
    on: On = None,
    mixed: Mixed = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a list.")] = False,
) -> None:
    """Check the paper: every theorem, table and claim in numbers. Exit code 1 if a check fails."""
    from noisewise.paper import check_paper

    with progress(quiet=json) as bars:
        bar = bars.add_task("Computing", total=None, note="")

        def advance(done: int, every: int) -> None:
            bars.update(bar, completed=done, total=every, note=f"{done} of {every}")

        how = {"full": full, "out": out, "jobs": jobs, "seed": seed, "on": on, "mixed": mixed}
        found = check_paper(sections or ("all",), progress=advance, **how)  # type: ignore[arg-type]
    if json:
        checks = [{"section": section, **check._asdict()} for section, check in found.checks]
        print_json("paper", {"passed": found.passed, "checks": checks, "written": [str(found.report)]})
    else:
        screen = console()
        for section, check in found.checks:
            mark = "[green]holds[/]" if check.passed else "[bold red]FAILS[/]"
            screen.print(f"{mark}  {section}: {check.name}: {check.detail}", highlight=False)
        screen.print(f"\nThe report: {found.report}")
    if not found.passed:
        leave("paper", DIFFERS)
