"""``noisewise bench``: which of these commands is fastest, timed until that is certain."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from noisewise.cli.exits import DIFFERS, NOT_YET, leave
from noisewise.cli.options import Json
from noisewise.cli.printing import print_json, say
from noisewise.cli.threads import environment
from noisewise.operations.table import Arg, Opt

if TYPE_CHECKING:
    from noisewise.timing import Timings

#: The exit code after Ctrl-C.
INTERRUPTED = 130


def bench(
    commands: Annotated[
        list[str] | None, Arg("The commands, each in quotation marks.", metavar="COMMAND...")
    ] = None,
    eps: Annotated[str, Opt("How much slower than the fastest is good enough.")] = "2%",
    baseline: Annotated[str | None, Opt("Compare --candidate with this one.", metavar="COMMAND")] = None,
    candidate: Annotated[
        str | None,
        Opt("Is it at most --eps slower? 0: yes, 1: no, 3: undecided.", metavar="COMMAND"),
    ] = None,
    budget: Annotated[
        str | None,
        Opt("A time (30s, 2min) or a number of runs; default: 5min, or 12 rounds if longer."),
    ] = None,
    confidence: Annotated[float, Opt("Of the certificate.")] = 0.95,
    warmup: Annotated[
        int, Opt("Rounds before the first that counts; the last of them orders the commands.")
    ] = 1,
    setup: Annotated[str | None, Opt("Run once before everything.", metavar="COMMAND")] = None,
    prepare: Annotated[str | None, Opt("Run before each timing; not timed.", metavar="COMMAND")] = None,
    names: Annotated[str | None, Opt("Names of the commands, with commas between.")] = None,
    shell: Annotated[
        bool | None,
        Opt("Default: a shell if any command needs one.", "--shell/--no-shell", " /-N"),
    ] = None,
    ignore_failure: Annotated[
        bool, Opt("Time commands that fail as well.", "--ignore-failure", "-i")
    ] = False,
    clock: Annotated[str, Opt("wall, or cpu: seconds that the command computes.")] = "wall",
    seed: Annotated[int | None, Opt("Of the order within rounds.")] = None,
    keep: Annotated[str | None, Opt("Keep the study: a file, or postgresql://...", metavar="STORE")] = None,
    export: Annotated[Path | None, Opt("Write all times as JSON, with hyperfine's fields.")] = None,
    json: Json = False,
) -> None:
    """Find the fastest of some commands. They are timed for as long as that takes."""
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
    click.echo()
    for line in found.table():
        click.echo(line)
    notes = [*(f"Note: {one}" for one in found.cautions), *more]
    if not found.reached and not found.interrupted:
        notes.append("More time may decide it (--budget 10min), or a larger --eps.")
    if notes:
        click.echo()
        say(notes)


def _write(found: "Timings", path: Path) -> None:
    from noisewise.core.files import written_whole
    from noisewise.core.strict_json import strict_json

    with written_whole(path) as draft:
        draft.write_text(strict_json(found.to_plain(), indent=2) + "\n", encoding="utf-8")
