"""The command ``noisewise`` and its sub-commands; each lives in a file of its own."""

import sys
from typing import Annotated

import typer

import noisewise
from noisewise.cli.demo import demo
from noisewise.cli.studies import judgement, measurements, outlook, safekeeping, upkeep
from noisewise.cli.studies.model import switch
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


app.command()(demo)
app.command()(upkeep.init)
app.command()(measurements.ask)
app.command(context_settings=measurements.NUMBERS)(measurements.tell)
app.command("import")(measurements.import_)
app.command()(judgement.status)
app.command()(judgement.best)
app.command()(judgement.certify)
app.command()(judgement.check)
app.command()(outlook.plan)
app.command()(outlook.worth)
app.command()(outlook.slot)
app.command()(outlook.report)
app.command()(switch)
app.command()(measurements.void)
app.command(context_settings=measurements.NUMBERS)(measurements.amend)
app.command()(measurements.mend)
app.command()(measurements.fail)
app.command()(measurements.release)
app.command()(upkeep.exclude)
app.command()(upkeep.include)
app.command()(upkeep.add)
app.command("list")(upkeep.list_studies)
app.command()(upkeep.rename)
app.command()(upkeep.export)
app.command()(upkeep.rebuild)
app.command()(safekeeping.backup)
app.command()(safekeeping.restore)
app.command()(safekeeping.verify)
app.command()(safekeeping.migrate)
app.command()(simulate)
app.command()(arena)
app.command()(policies)
app.command()(design)
app.command()(paper)


def main() -> None:
    """Run the command line: bad input gets one sentence and exit code 2, Ctrl-C exit code 130."""
    try:
        app()
    except KeyboardInterrupt:
        typer.echo("Interrupted.", err=True)
        sys.exit(130)
    except (ValueError, KeyError, TypeError, OSError, ModuleNotFoundError) as problem:
        # A KeyError shows its message in quotes.
        message = problem.args[0] if isinstance(problem, KeyError) and problem.args else problem
        typer.echo(printable(f"Error: {message}"), err=True)
        sys.exit(2)
