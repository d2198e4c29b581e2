"""The command ``noisewise`` with all its sub-commands; only the one that is called is built."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import click

from noisewise.core.text import printable
from noisewise.core.version import __version__
from noisewise.operations.table import Group, load_table

PURPOSE = "Find the best option from noisy measurements, when every measurement has its own error bar."
READ, GATE_TABLE = "read-table", "gate-table"
INTERRUPTED, WRONG_CALL, UNREACHABLE = 130, 2, 5


class ByHand(NamedTuple):
    """A command that is not an operation on a study."""

    group: Group
    place: str  # module:function
    about: str  # the first sentence of its help
    light: bool = True  # whether it begins with one thread; heavy ones take all processors at once


BY_HAND = {
    "demo": ByHand(Group.START, "demo:demo", "Watch a study find the best of 223 models.", False),
    "bench": ByHand(Group.START, "bench:bench", "Find the fastest of some commands."),
    "run": ByHand(
        Group.MEASURE, "run:run", "Measure with a command until the certificate says you may stop."
    ),
    "serve": ByHand(Group.SHARE, "serving:serve", "Serve the studies of a store to browsers and programs."),
    "token": ByHand(Group.SHARE, "serving:token", "Make, list or revoke the tokens of a store's server."),
    "mcp": ByHand(Group.SHARE, "mcp:mcp", "Serve the study commands to an assistant.", False),
    "simulate": ByHand(
        Group.RESEARCH, "simulate:simulate", "Compare rules on the same simulated measurements.", False
    ),
    "arena": ByHand(
        Group.RESEARCH, "arena:arena", "Let rules play against each other in many worlds.", False
    ),
    "rules": ByHand(Group.RESEARCH, "research:rules", "List all rules.", False),
    "design": ByHand(Group.RESEARCH, "research:design", "Find in which shares to measure options.", False),
    "paper": ByHand(
        Group.RESEARCH, "research:paper", "Check the paper: every theorem, table and claim in numbers.", False
    ),
}
_ENDINGS = (".csv", ".tsv", ".txt", ".xlsx", ".json", ".jsonl", ".parquet", ".md")


class Commands(click.Group):
    """All commands, in groups."""

    def list_commands(self, context: click.Context) -> list[str]:
        """Return their names, in the order of the help."""
        return [name for rows in self._by_group().values() for name, _ in rows if name != "TABLE"]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Return the command of this name."""
        from noisewise.cli.commands import FunctionCommand, OperationCommand, load_function

        op = load_table().get(name)
        if op is not None and "shell" in op.on:
            return OperationCommand(op)
        if name == READ:
            return FunctionCommand(name, load_function("noisewise.cli.table:read_table"), light=True)
        if name == GATE_TABLE:
            return FunctionCommand("gate", load_function("noisewise.cli.table:gate_table"), light=True)
        if name not in BY_HAND:
            return None
        one = BY_HAND[name]
        return FunctionCommand(name, load_function(f"noisewise.cli.{one.place}"), light=one.light)

    def _by_group(self) -> dict[Group, list[tuple[str, str]]]:
        found: dict[Group, list[tuple[str, str]]] = {group: [] for group in Group}
        found[Group.START].append(("TABLE", "Answer a finished table: noisewise results.csv."))
        for name, one in BY_HAND.items():
            found[one.group].append((name, one.about))
        for op in load_table().values():
            if "shell" in op.on:
                found[op.group].append((op.name, first_sentence(op.help)))
        return found

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a section for each group."""
        for group, rows in self._by_group().items():
            with formatter.section(group):
                formatter.write_dl(rows)

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; a file alone is a table to answer."""
        path = Path(args[0].partition("#")[0])
        known = args[0] in BY_HAND or args[0] in load_table() or args[0].startswith("-")
        if not known and (path.suffix in _ENDINGS or path.is_file()):
            return READ, self.get_command(context, READ), args
        if args[0] == "gate" and any(Path(arg.partition("#")[0]).suffix in _ENDINGS for arg in args[1:2]):
            return GATE_TABLE, self.get_command(context, GATE_TABLE), args[1:]
        if not known and args[0] != READ:
            raise ValueError(_unknown(args[0], self.list_commands(context)))
        return super().resolve_command(context, args)


def _unknown(name: str, known: Iterable[str]) -> str:
    from noisewise.core.checks import nearest

    return f"there is no command {name!r}.{nearest(name, sorted(known))}"


def first_sentence(help: str) -> str:
    """The first sentence of a docstring."""
    first = help.partition("\n")[0].partition(". ")[0]
    return first if first.endswith((".", "?")) else f"{first}."


@click.group(cls=Commands, help=PURPOSE, no_args_is_help=True)
@click.version_option(__version__, prog_name="noisewise", message="%(prog)s %(version)s")
def app() -> None:
    """Run the commands."""


def main() -> None:
    """Run the command line: bad input gets one sentence."""
    try:
        sys.exit(app(prog_name="noisewise", standalone_mode=False))
    except click.ClickException as problem:
        problem.show()
        sys.exit(problem.exit_code)
    except (KeyboardInterrupt, click.Abort):
        click.echo("Interrupted.", err=True)
        sys.exit(INTERRUPTED)
    except (ValueError, KeyError, TypeError, OSError, ModuleNotFoundError) as problem:
        from noisewise.cli.printing import sentence_of

        asks = hasattr(problem, "exit_code")
        for sentence in sentence_of(problem).splitlines():
            click.echo(printable(sentence if asks else f"Error: {sentence}"), err=True)
        sys.exit(getattr(problem, "exit_code", None) or exit_code(problem))


def exit_code(problem: Any) -> int:
    """The exit code of a refusal: 5 if the store is busy, unreachable or damaged."""
    from noisewise.study.stores.protocol import DamagedError, OutcomeUnknownError

    trouble = (ConnectionError, TimeoutError, DamagedError, OutcomeUnknownError)
    return (
        UNREACHABLE if isinstance(problem, trouble) or isinstance(problem.__cause__, trouble) else WRONG_CALL
    )
