"""``noisewise bench``: which of these commands is fastest, timed until that is certain."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noisewise.cli.studies.session import Json, say
from noisewise.cli.terminal.exits import DIFFERS, NOT_YET, leave
from noisewise.cli.terminal.output import print_json
from noisewise.cli.terminal.threads import environment

if TYPE_CHECKING:
    from noisewise.timing import Timings

#: The exit code after Ctrl-C.
INTERRUPTED = 130


def bench(
    commands: Annotated[
        list[str] | None, typer.Argument(metavar="COMMAND...", help="The commands, each in quotation marks.")
    ] = None,
    eps: Annotated[str, typer.Option(help="How much slower than the fastest is good enough.")] = "2%",
    baseline: Annotated[
        str | None, typer.Option(metavar="COMMAND", help="Compare --candidate with this one.")
    ] = None,
    candidate: Annotated[
        str | None,
        typer.Option(metavar="COMMAND", help="Is it at most --eps slower? 0: yes, 1: no, 3: undecided."),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(help="A time (30s, 2min) or a number of runs; default: 5min, or 12 rounds if longer."),
    ] = None,
    confidence: Annotated[float, typer.Option(help="Of the certificate.")] = 0.95,
    warmup: Annotated[
        int, typer.Option(help="Rounds before the first that counts; the last of them orders the commands.")
    ] = 1,
    setup: Annotated[str | None, typer.Option(metavar="COMMAND", help="Run once before everything.")] = None,
    prepare: Annotated[
        str | None, typer.Option(metavar="COMMAND", help="Run before each timing; not timed.")
    ] = None,
    names: Annotated[str | None, typer.Option(help="Names of the commands, with commas between.")] = None,
    shell: Annotated[
        bool | None,
        typer.Option("--shell/--no-shell", " /-N", help="Default: a shell if any command needs one."),
    ] = None,
    ignore_failure: Annotated[
        bool, typer.Option("--ignore-failure", "-i", help="Time commands that fail as well.")
    ] = False,
    clock: Annotated[str, typer.Option(help="wall, or cpu: seconds that the command computes.")] = "wall",
    seed: Annotated[int | None, typer.Option(help="Of the order within rounds.")] = None,
    keep: Annotated[
        str | None, typer.Option(metavar="STORE", help="Keep the study: a file, or postgresql://...")
    ] = None,
    export: Annotated[
        Path | None, typer.Option(help="Write all times as JSON, with hyperfine's fields.")
    ] = None,
    json: Json = False,
) -> None:
    """Find the fastest of some commands. They are timed for as long as that takes.

    Exit code 0: the named command is the fastest, or at most --eps slower. 3: undecided within the budget.
    With --baseline and --candidate, 0: the candidate is at most --eps slower than the baseline; 1: it is more
    than --eps slower; 3: undecided; each with the confidence asked for.
    """
    from noisewise.timing.commands import bench as race

    chosen = _commands(commands, baseline, candidate)
    if export is not None and not export.absolute().parent.is_dir():
        raise FileNotFoundError(f"--export: there is no folder {str(export.parent)!r}.")
    found = race(
        chosen, names=None if names is None else names.split(","), eps=eps, confidence=confidence,
        budget=budget, baseline=baseline is not None, warmup=warmup, setup=setup, prepare=prepare,
        shell=shell, ignore_failure=ignore_failure, clock=clock, seed=seed,
        store=":memory:" if keep is None else keep, env=environment(),
    )  # fmt: skip
    _tell(found, export, json)
    leave("bench", exit_code(found))


def exit_code(found: "Timings") -> int:
    """What a script is told."""
    if found.interrupted:
        return INTERRUPTED
    if not found.reached:
        return NOT_YET
    return DIFFERS if found.versus is not None and found.versus.verdict == "slower" else 0


def _commands(commands: list[str] | None, baseline: str | None, candidate: str | None) -> list[str]:
    if baseline is None and candidate is None:
        return commands or []
    if baseline is None or candidate is None:
        missing = "--baseline" if baseline is None else "--candidate"
        raise ValueError(f"--baseline and --candidate go together; {missing} is missing.")
    if commands:
        raise ValueError(
            f"--baseline and --candidate are two commands, and no others are compared with them; got "
            f"{commands[0]!r} besides."
        )
    return [baseline, candidate]


def _tell(found: "Timings", export: Path | None, json: bool) -> None:
    """Write and print what came out."""
    if export is not None:
        _write(found, export)
    if json:
        print_json("bench", found.to_plain())
    else:
        _say(found, [f"Wrote {export}."] if export else [])


def _say(found: "Timings", more: list[str]) -> None:
    say(found.sentence)
    typer.echo()
    for line in found.table():
        typer.echo(line)
    notes = [*(f"Note: {one}" for one in found.cautions), *more]
    if not found.reached and not found.interrupted:
        notes.append("More time may decide it (--budget 10min), or a larger --eps.")
    if notes:
        typer.echo()
        say(notes)


def _write(found: "Timings", path: Path) -> None:
    from noisewise.core.support.files import written_whole
    from noisewise.core.support.strict_json import strict_json

    with written_whole(path) as draft:
        draft.write_text(strict_json(found.to_plain(), indent=2) + "\n", encoding="utf-8")
