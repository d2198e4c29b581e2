"""Commands: made from an operation of the table, or from a function that prints by itself."""

import importlib
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any, cast

import click

from noisewise.cli.exits import BY_HAND
from noisewise.cli.printing import print_json, progress_shown, say, told_warnings
from noisewise.cli.shell import ShellWords, click_param, stores
from noisewise.cli.threads import begin_with_one, threads_for
from noisewise.core.refusals import Problems, Sentence
from noisewise.operations.table import Operation, Param, Result, params_of
from noisewise.operations.words import lifted, said, speaking

STORE = "The store: a file, postgresql://user@host/database, or https://host of a server."
#: How a sentence begins that says why there is no certificate, with parameters of Python in it.
WITHHELD = "Certificate withheld:"
#: The words behind -- of a command that runs another one.
BEHIND = "noisewise.behind_dashes"
#: The command for a table that is given alone: ``noisewise results.csv``.
READ = "read-table"
NUMBER = tuple("0123456789.")


class NoisewiseCommand(click.Command):
    """A command whose refusals are sentences about what was typed.

    Args:
        name: Its name.
        params: The parameters that are declared.
        help: Its docstring.
        more: Parameters before and after the declared ones, and what else click is told.
    """

    numbers = False
    behind = False
    light = True  # whether it begins with one thread

    def __init__(
        self,
        name: str,
        params: dict[str, Param],
        help: str,
        *,
        first: list[click.Parameter],
        last: list[click.Parameter],
        groups: dict[str, str] | None = None,
        examples: tuple[tuple[str, str], ...] = (),
        exits: dict[int, str] | None = None,
    ) -> None:
        self.declared, self.words = params, ShellWords(params, name)
        self.groups, self.examples, self.exits = groups or {}, examples, exits or {}
        made = [one for param in params.values() for one in click_param(param, self.words)]
        super().__init__(name, params=[*first, *made, *last], help=help)

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Read what was typed, and refuse all of it that is wrong at once."""
        if self.light:
            begin_with_one()
        if self.behind:
            at = args.index("--") if "--" in args else len(args)
            context.meta[BEHIND], args = args[at + 1 :], args[:at]
        if self.numbers:
            self._refuse_unknown(context, args)
            context.ignore_unknown_options = any(arg[:1] == "-" and arg[1:2] in NUMBER for arg in args)
        with self.refused():
            rest = super().parse_args(context, args)
            problems = Problems()
            problems.found += context.meta.get("noisewise.problems", [])
            problems.raise_any()
        return rest

    def _refuse_unknown(self, context: click.Context, args: list[str]) -> None:
        """Refuse unknown flags, where what looks like one may also be a negative number."""
        from noisewise.core.checks import nearest

        known = [flag for param in self.get_params(context) for flag in param.opts]
        for arg in args[: args.index("--")] if "--" in args else args:
            flag = arg.partition("=")[0]
            if flag.startswith("--") and flag not in known:
                raise ValueError(f"there is no option {flag}.{nearest(flag, sorted(known))}")

    @contextmanager
    def refused(self) -> Iterator[None]:
        """Say refusals of a block in the words of this command."""
        before = speaking.set(self.words)
        try:
            yield
        except (ValueError, KeyError, TypeError, OSError) as problem:
            if hasattr(problem, "exit_code"):  # a question, which says what to type
                raise
            if isinstance(problem, OSError) and not isinstance(problem, ValueError):
                if problem.errno is None and problem.args:
                    problem.args = (said(str(problem.args[0])), *problem.args[1:])
                raise
            refusal = lifted(problem)
            refusal.args = (refusal.said(self.words),)
            raise refusal from problem
        finally:
            speaking.reset(before)

    def given(self, context: click.Context) -> dict[str, Any]:
        """What was typed; what was not typed has its default in the function."""
        typed = context.params
        return {name: typed[name] for name in self.declared if typed.get(name) is not None}

    def format_help(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help: what it does, its parameters in groups, exit codes and examples."""
        self.format_usage(context, formatter)
        for paragraph in (self.help or "").split("\n\n"):
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(" ".join(paragraph.split()))
        arguments = [one for one in self.get_params(context) if isinstance(one, click.Argument)]
        rows = [(_place(one), self._about(one)) for one in arguments]
        _section(formatter, "Arguments", rows)
        options = [one for one in self.get_params(context) if isinstance(one, click.Option)]
        left = {one.name or "": row for one in options if (row := one.get_help_record(context)) is not None}
        for title, names in self.groups.items():
            _section(formatter, title, [left.pop(name) for name in names.split()])
        _section(formatter, "Options" if not self.groups else "Always", list(left.values()))
        codes = [(str(code), Sentence(text).said(self.words)) for code, text in self.exits.items()]
        _section(formatter, "Exit codes", codes)
        for about, line in self.examples:
            formatter.write(f"\n  # {about}\n  noisewise {line}\n")

    def _about(self, argument: click.Argument) -> str:
        param = self.declared.get(argument.name or "")
        return STORE if param is None else Sentence(param.form.help).said(self.words)

    def collect_usage_pieces(self, context: click.Context) -> list[str]:
        """Return the pieces of the usage line."""
        return [*super().collect_usage_pieces(context), *(["-- COMMAND..."] if self.behind else [])]


def _place(argument: click.Argument) -> str:
    return argument.make_metavar(click.Context(click.Command(""))).replace("[", "").replace("]", "")


def _section(formatter: click.HelpFormatter, title: str, rows: list[Any]) -> None:
    if rows:
        with formatter.section(title):
            formatter.write_dl(rows)


class OperationCommand(NoisewiseCommand):
    """An operation as a command.

    Args:
        op: The operation.
    """

    def __init__(self, op: Operation) -> None:
        self.op, self.numbers = op, op.numbers
        study = click.Option(
            ["study", "--study", "-s"], metavar="NAME", help="The study; default: the only one."
        )
        json = click.Option(["--json"], is_flag=True, help="Print JSON instead of words.")
        dry_run = click.Option(
            ["--dry-run"], is_flag=True, help="Only show what would happen; change nothing."
        )
        own = params_of(op.function) if op.store_is_declared else op.params
        last = [study] if op.opens != "store" else []
        self.rehearses = op.writes and op.opens == "study" and "dry_run" not in op.params
        last += [dry_run] if self.rehearses else []
        store = click.Argument(["store"], metavar="STORE", shell_complete=stores)
        super().__init__(
            op.name, own, op.help, first=[] if op.store_is_declared else [store], last=[*last, json],
            groups=dict(op.groups), examples=op.examples, exits=dict(op.exits),
        )  # fmt: skip

    def invoke(self, context: click.Context) -> None:
        """Run the operation, print its outcome, and end with its exit code; ask a person what a table is."""
        try:
            self._run(context, self.given(context))
        except ValueError as question:
            if (answer := answered(question)) is None:
                raise
            self._run(context, self.given(context) | answer)

    def _run(self, context: click.Context, given: dict[str, Any]) -> None:
        typed = context.params
        if self.op.store_is_declared:
            given.pop("store", None)
        rehearsed = self.rehearses and typed["dry_run"]
        writes = self.op.writes and not given.get("dry_run", False) and not rehearsed
        with self.refused(), opened(self.op, typed, writes=writes, rehearsed=rehearsed) as (thing, about):
            with told_warnings() as warned, progress_shown():
                outcome = self.op(thing, **given)
            more: dict[str, Any] = {"dry_run": True} if rehearsed else {}
            more |= {"warnings": warned} if self.op.name == "tell" else {}
            report(self.op, outcome, about, more, json=typed["json"])
        context.exit(outcome.code)


def answered(question: Any) -> dict[str, Any] | None:
    """Ask on a terminal how a table is meant; None if it is not such a question, or nobody is there."""
    if not hasattr(question, "table") or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    readings = question.table.readings
    for k, one in enumerate(readings, 1):
        click.echo(f"  {k}. {one}", err=True)
    choice = click.prompt(question.table.question, type=click.IntRange(1, len(readings)), err=True)
    reading = readings[choice - 1]
    answer = {"map": reading.stated, "where": next(iter(reading.roles.get("where", ())), None)}
    if reading.needs_n:
        n = click.prompt("Number of readings behind each value", type=click.IntRange(1), err=True)
        answer["n"] = n
    return answer


def report(op: Operation, outcome: Result, about: Any, more: dict[str, Any], *, json: bool) -> None:
    """Print an outcome for a program, or for people."""
    text = outcome.text
    content = outcome.to_dict()
    if json and not outcome.is_text:
        print_json(getattr(outcome, "schema", op.name), {**about, **content, **more})
    elif text is not None:
        for piece in text:
            click.echo(piece, nl=False)
    else:
        say([said(line) if line.startswith(WITHHELD) else line for line in outcome.lines()])
        if "dry_run" in more:
            say("This was a dry run: nothing was changed.")


@contextmanager
def opened(
    op: Operation, typed: dict[str, Any], *, writes: bool, rehearsed: bool
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """What an operation works on, and the name of the study for its answer."""
    import noisewise as nw
    from noisewise.client.opening import is_address

    store = typed["store"]
    if op.opens == "store":
        yield store, {}
        return
    if op.opens == "log":
        with told_warnings():
            log = nw.stores.find_study(store, typed["study"])
        yield log, {"study": log[1]}
        return
    with told_warnings():
        study = rehearsal(store, typed["study"]) if rehearsed else load_study(store, typed["study"], writes)
    if is_address(store) and not rehearsed:  # there, others compute
        with closing(cast(Any, study)):
            yield study, {"study": study.name}
        return
    threads_for(max(len(study.options), len(study.specification.catalogue.features)))
    yield study, {"study": study.name}


def load_study(store: str, name: str | None, writes: bool) -> Any:
    """The study of a command; commands that only look cannot write."""
    import noisewise as nw

    return nw.load_study(store, name, read_only=not writes)


def rehearsal(store: str, name: str | None) -> Any:
    """A copy of a study in memory, to see what a change would do."""
    import noisewise as nw
    from noisewise.study.log.export import log_lines

    log, found = nw.stores.find_study(store, name)
    copy = nw.stores.MemoryStorage()
    nw.rebuild_study(list(log_lines(log, found)), copy, found)
    return nw.load_study(copy, found)


class FunctionCommand(NoisewiseCommand):
    """A command that is a function: it opens and prints by itself.

    Args:
        name: Its name.
        function: The function, whose signature declares its parameters.
        light: Whether it begins with one thread.
    """

    def __init__(self, name: str, function: Callable[..., None], *, light: bool) -> None:
        self.function, self.light = function, light
        self.behind = getattr(function, "behind", False)
        params = {one: param for one, param in params_of(function).items() if one != "command"}
        params |= getattr(function, "more", dict)()
        exits = BY_HAND.get("TABLE" if name == READ else name)
        super().__init__(name, params, inspect.getdoc(function) or "", first=[], last=[], exits=exits)

    def invoke(self, context: click.Context) -> None:
        """Call the function."""
        given = self.given(context)
        if self.behind:
            given["command"] = context.meta[BEHIND]
        with self.refused():
            self.function(**given)


def load_function(place: str) -> Callable[..., None]:
    """The function at a place such as ``noisewise.cli.bench:bench``."""
    module, _, name = place.partition(":")
    found: Callable[..., None] = getattr(importlib.import_module(module), name)
    return found
