"""``noisewise paper``: the paper's claims, measured; a report with figures and numbers."""

from pathlib import Path
from typing import Annotated

from noisewise.cli.exits import DIFFERS, leave
from noisewise.cli.options import On, Seed
from noisewise.cli.printing import console, print_json
from noisewise.operations.table import Arg, Opt

COLOURS = {
    "holds": "green",
    "holds with care": "yellow",
    "does not hold as printed": "blue",
    "NOT CONFIRMED": "bold red",
}


def paper(
    sections: Annotated[
        list[str] | None,
        Arg(
            "table1 table2 case-study theorem1 theorem2 theorem3 heavy-tails external; default: all.",
            metavar="[SECTIONS]...",
        ),
    ] = None,
    full: Annotated[bool, Opt("All replications, or what a few minutes allow.", "--full/--quick")] = False,
    out: Annotated[Path, Opt("Folder for the report; finished work in it is used again.")] = Path("paper"),
    seed: Seed = 0,
    on: On = None,
    json: Annotated[bool, Opt("Print JSON instead of a list.", "--json")] = False,
) -> None:
    """Check the paper: every theorem, table and claim in numbers."""
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
