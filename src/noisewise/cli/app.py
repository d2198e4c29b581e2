"""The command ``noisewise`` and its sub-commands; each lives in a file of its own."""

import sys
from typing import Annotated

import typer

import noisewise
from noisewise.cli import insight, judging, keeping, measuring, safekeeping
from noisewise.cli.arena import arena
from noisewise.cli.demo import demo
from noisewise.cli.design import design
from noisewise.cli.modelling import switch
from noisewise.cli.paper import paper
from noisewise.cli.policies import policies
from noisewise.cli.simulate import simulate
from noisewise.core.text import printable

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
app.command()(keeping.init)
app.command()(measuring.ask)
app.command(context_settings=measuring.NUMBERS)(measuring.tell)
app.command("import")(measuring.import_)
app.command()(judging.status)
app.command()(judging.best)
app.command()(judging.certify)
app.command()(judging.check)
app.command()(insight.plan)
app.command()(insight.worth)
app.command()(insight.slot)
app.command()(insight.report)
app.command()(switch)
app.command()(measuring.void)
app.command(context_settings=measuring.NUMBERS)(measuring.amend)
app.command()(measuring.mend)
app.command()(measuring.fail)
app.command()(measuring.release)
app.command()(keeping.exclude)
app.command()(keeping.include)
app.command()(keeping.add)
app.command("list")(keeping.list_studies)
app.command()(keeping.rename)
app.command()(keeping.export)
app.command()(keeping.rebuild)
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
