"""``noisewise arena``: rules against rules, in many worlds."""

import math
from pathlib import Path
from typing import Annotated, Any

import click

from noisewise.cli.exits import INTERRUPTED
from noisewise.cli.options import Json, On, Seed
from noisewise.cli.printing import console, number, print_json
from noisewise.operations.table import Opt
from noisewise.operations.values import named_with_options, names

#: The rules of a quick arena if none is named: the closest rivals, and few to compile.
QUICK = [
    "vaee",
    "vage",
    "vagd",
    "weighted_oful:noise=sub-gaussian",
    "linear_thompson",
    "lingape",
    "top_two_thompson",
]
#: The rules of any other arena if none is named.
DEFAULT = [
    *QUICK,
    "precision_tracking",
    "lingame",
    "frank_wolfe_sampling",
    "rage",
    "h_rage",
    "peace",
    "od_linbai",
    "bayes_gap",
]
QUICK_REPLICATIONS = 100


def arena(
    policies: Annotated[
        list[str] | None,
        Opt(
            "Rules, with commas or repeatedly; options as name:option=value. Default: the usual rivals.",
            "--policies",
            "-p",
            metavar="RULES",
        ),
    ] = None,
    cells: Annotated[
        list[str] | None,
        Opt("Sets of cells: grid (default), special, all, soare-6, …", metavar="CELLS"),
    ] = None,
    against: Annotated[str, Opt("The rule that all others are compared with.")] = "vaee",
    quick: Annotated[bool, Opt("Fewer rules, and 100 runs per match instead of 1000.", "--quick")] = False,
    horizon: Annotated[int, Opt("Rounds per run.")] = 400,
    replications: Annotated[int | None, Opt("Runs per match; default: 1000.")] = None,
    seed: Seed = 0,
    out: Annotated[Path, Opt("Folder for the matches and the page.")] = Path("arena"),
    on: On = None,
    json: Json = False,
) -> None:
    """Let rules play against each other in many worlds. Finished matches are kept and not played again."""
    from noisewise.core.checks import check_choice
    from noisewise.simulation.arena import cells_named, load_arena, run_arena, write_page

    entries = [_entry(text) for text in _chosen(policies, QUICK if quick else DEFAULT)]
    check_choice("against", against, [entry.name for entry in entries])
    chosen = cells_named(names(cells or ["grid"]))
    runs = replications or (QUICK_REPLICATIONS if quick else 1000)
    interrupted = False
    try:
        run_arena(entries, chosen, out, horizon=horizon, replications=runs, seed=seed, on=on)
    except KeyboardInterrupt:
        interrupted = True
    result = load_arena(out)
    known = against in result.entries and bool(result.cells)
    page = write_page(result, out / "arena.html", against) if known else None
    _report(result, against, page, json)
    if interrupted:
        click.echo("Interrupted: the same command goes on where this one stopped.", err=True)
        raise click.exceptions.Exit(INTERRUPTED)


def _report(result: Any, against: str, page: Path | None, json: bool) -> None:
    standings = result.standings(against) if page else None
    if json:
        content = {
            "horizon": result.horizon,
            "replications": result.replications,
            "seed": result.seed,
            "against": against,
            "standings": [] if standings is None else _rows(standings),
            "matches": _rows(result.table()) if result.matches else [],
            "ratios": _rows(result.ratios(against)) if page else [],
            "written": [str(page)] if page else [],
        }
        print_json("arena", content)
        return
    if standings is None:
        click.echo("No cell has been played by every rule yet.")
        return
    console().print(
        _table(standings, f"Regret as a multiple of that of {against}, {len(result.cells)} cells")
    )
    click.echo(f"Wrote {page}")


def _rows(frame: Any) -> list[dict[str, Any]]:
    """The rows of a frame; what is not finite, such as the interval of one run, does not exist."""
    return [
        {name: None if isinstance(x, float) and not math.isfinite(x) else x for name, x in row.items()}
        for row in frame.iter_rows(named=True)
    ]


def _table(standings: Any, title: str) -> Any:
    from rich.table import Table

    table = Table(title=title, box=None, padding=(0, 2, 0, 0), title_justify="left")
    table.add_column("rule", overflow="fold")
    for head in ("geometric mean", "95 %", "worst cell", "rank", "found", "rounds", "covered", "µs"):
        table.add_column(head, justify="right")
    for row in standings.iter_rows(named=True):
        table.add_row(
            row["policy"],
            number(row["geometric_mean"]),
            f"{number(row['low'])} to {number(row['high'])}",
            number(row["worst"]),
            f"{row['rank']:.1f}",
            f"{row['found']:.1%}",
            f"{row['rounds']:.0f}",
            f"{row['covered']:.2%}",
            number(row["microseconds"]),
        )
    return table


def _chosen(policies: list[str] | None, usual: list[str]) -> list[str]:
    return usual if policies is None else names(policies)


def _entry(text: str) -> Any:
    from noisewise.simulation.arena import Entry

    name, options = named_with_options(text, "policies")
    said = ", ".join(f"{option}={value}" for option, value in options.items())
    return Entry(f"{name}({said})" if said else name, name, options)
