"""The command ``noisewise`` with all its sub-commands."""

import sys
from collections.abc import Callable
from typing import Annotated

import typer

import noisewise
from noisewise.cli.assistant.command import mcp
from noisewise.cli.bench import bench
from noisewise.cli.demo import demo
from noisewise.cli.serving import serve, token
from noisewise.cli.studies import imports, judgement, measurements, outlook, safekeeping, upkeep
from noisewise.cli.studies.listing import list_studies
from noisewise.cli.studies.model import switch
from noisewise.cli.studies.running.run import CommandBehindDashes, run
from noisewise.cli.table import READ, read_table, with_command
from noisewise.cli.terminal.exits import INTERRUPTED, WRONG_CALL
from noisewise.cli.terminal.flags import flags_of, in_its_words
from noisewise.cli.terminal.refusals import refuse_unknown_flags, sentence_of
from noisewise.cli.terminal.threads import lightly
from noisewise.cli.worlds.arena import arena
from noisewise.cli.worlds.design import design
from noisewise.cli.worlds.paper import paper
from noisewise.cli.worlds.policies import policies
from noisewise.cli.worlds.simulate import simulate
from noisewise.core.support.text import printable

app = typer.Typer(
    name="noisewise",
    help="Find the best option from noisy measurements, when every measurement has its own error bar.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"noisewise {noisewise.__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Shared by all commands."""


#: In the order of the help text; a command is called like its function, but for those in `NAMES`.
COMMANDS: tuple[Callable[..., None], ...] = (
    *(demo, bench),
    *(upkeep.init, run, measurements.ask, measurements.tell, imports.import_),
    *(judgement.status, judgement.best, judgement.certify, judgement.check),
    *(outlook.plan, outlook.worth, outlook.slot, outlook.report, switch),
    *(measurements.void, measurements.amend, measurements.fail, measurements.release),
    *(upkeep.exclude, upkeep.include, upkeep.add, list_studies, upkeep.rename),
    *(upkeep.export, upkeep.rebuild),
    *(safekeeping.backup, safekeeping.restore, safekeeping.verify),
    *(serve, token, mcp, simulate, arena, policies, design, paper),
)
NAMES: dict[Callable[..., None], str] = {imports.import_: "import", list_studies: "list"}
#: These take values, which may be negative: what looks like an option but is none is an argument.
TAKE_NUMBERS = (measurements.tell, measurements.amend, outlook.slot)

#: Columns of tables that are imported: there, what Python calls an argument is a column.
OF_TABLES = (
    "option", "plus", "minus", "value", "se", "var", "sd", "n", "ci", "level", "values", "successes",
    "trials", "block", "instrument", "key", "by", "note", "at", "cost", "job", "item",
)  # fmt: skip
#: These are for large problems, and take all processors from the beginning.
#: The server's workers run others, each of which begins by itself.
HEAVY = (simulate, arena, design, paper, policies, demo, mcp)

for command in COMMANDS:
    settings = {"ignore_unknown_options": True} if command in TAKE_NUMBERS else {}
    called = NAMES.get(command, command.__name__)
    speaking = in_its_words(command, called, OF_TABLES if command is imports.import_ else ())
    kind = CommandBehindDashes if command is run else None
    app.command(called, cls=kind, context_settings=settings)(
        speaking if command in HEAVY else lightly(speaking)
    )


app.command(READ, hidden=True)(read_table)

#: Flags of commands that take values: what looks like one and is none would be taken for a value.
NUMBER_FLAGS = {
    NAMES.get(command, command.__name__): frozenset(flags_of(command).values()) for command in TAKE_NUMBERS
}


def main() -> None:
    """Run the command line: bad input gets one sentence."""
    try:
        refuse_unknown_flags(sys.argv[1:], NUMBER_FLAGS)
        app(with_command(sys.argv[1:], [command.name or "" for command in app.registered_commands]))
    except KeyboardInterrupt:
        typer.echo("Interrupted.", err=True)
        sys.exit(INTERRUPTED)
    except (ValueError, KeyError, TypeError, OSError, ModuleNotFoundError) as problem:
        lines = f"Error: {sentence_of(problem)}".split("\n" if hasattr(problem, "exit_code") else "\0")
        typer.echo("\n".join(map(printable, lines)), err=True)
        sys.exit(getattr(problem, "exit_code", WRONG_CALL))
