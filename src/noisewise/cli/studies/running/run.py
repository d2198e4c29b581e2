"""``noisewise run``: ask, measure with a command, and tell, until the certificate allows to stop."""

from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from noisewise.cli.studies.running.new_study import with_question
from noisewise.cli.studies.session import Json, Name, Store, report, told_warnings
from noisewise.cli.terminal.exits import DIFFERS, NOT_YET, leave
from noisewise.cli.terminal.flags import translate
from noisewise.core.support.text import printable

if TYPE_CHECKING:
    from noisewise.cli.studies.running.course import Failures
    from noisewise.cli.studies.running.new_study import Begun
    from noisewise.study.running.run import StudyRun

INTERRUPTED = "Interrupted: what was measured is told, the rest is given back; the same line goes on."
#: Where the words behind -- wait for the command that takes them.
_BEHIND = "noisewise.behind_dashes"

Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME|TABLE]...", help="With --new, as for init: the options, or a table of them."
    ),
]
New = Annotated[
    bool,
    typer.Option(
        "--new", help="Make the study if there is none, with the flags of init; else go on with it."
    ),
]
Workers = Annotated[int, typer.Option("--workers", "-j", help="The number of commands at a time.")]
Until = Annotated[
    str,
    typer.Option(
        metavar="certified|BOUND|spent", help="What ends it: the certificate, a bound, or the budget."
    ),
]
Budget = Annotated[
    str | None,
    typer.Option(
        metavar="N|TIME|cost=C",
        help="What this run may spend: 200, 90s, 30min, 2h, cost=5, or several with commas.",
    ),
]
Timeout = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="What one command may take: 30, 90s, 5min; then it is ended."),
]
Retries = Annotated[int, typer.Option(help="How often a command that failed is started again at once.")]
OnError = Annotated[
    str,
    typer.Option(
        help="After that: fail (the option may be asked for again), exclude (the option), or raise (end)."
    ),
]
ReaderName = Annotated[
    str | None,
    typer.Option(
        "--reader",
        metavar="NAME",
        help="What reads the output, as name:choice=value; default: a number or JSON.",
    ),
]
Shell = Annotated[
    bool, typer.Option("--shell", help='Let sh read the command; it finds values in "$NOISEWISE_OPTION".')
]


class CommandBehindDashes(TyperCommand):
    """A command that takes another one, behind ``--``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Keep what stands behind the dashes as it is."""
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[_BEHIND] = args[at + 1 :]
        return super().parse_args(ctx, args[:at])

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """What the help shows."""
        return [*super().collect_usage_pieces(ctx), "-- COMMAND..."]


@with_question
def run(
    context: typer.Context,
    store: Store,
    options: Names = None,
    new: New = False,
    workers: Workers = 1,
    until: Until = "certified",
    budget: Budget = None,
    timeout: Timeout = None,
    retries: Retries = 0,
    on_error: OnError = "fail",
    reader: ReaderName = None,
    shell: Shell = False,
    study: Name = None,
    json: Json = False,
    **question: Any,
) -> None:
    """Measure with a command until the certificate allows to stop.

    Ask, run it, tell, again and again: noisewise run study.db --new red green --eps 0.5 -- ./measure {option}

    The command stands behind --, with {option} in the place of the option's name; also {col:NAME} (a column
    of the options), {items}, {out} (a file to write the result to), {job}, {study}, {minus}. It ends its
    output with a number, 12.3(4), 12.3 ± 0.4, or JSON with the fields of tell. Killed or interrupted, the
    same line goes on.

    Exit code 0: what --until says is reached. 3: not yet. 1: the command failed, and the run had to end.
    """
    from noisewise.cli.studies.running import preparation
    from noisewise.cli.studies.running.children import Children
    from noisewise.cli.studies.running.course import Failures, ending
    from noisewise.cli.studies.running.goal import RunGoal
    from noisewise.study.running.run import MeasuringError

    typed = options or []
    template = preparation.template_of(context.meta[_BEHIND], typed, new=new, shell=shell, question=question)
    goal, seconds = RunGoal(until), preparation.seconds_of_time(timeout)
    preparation.check_settings(workers, retries, on_error, budget)
    read = preparation.reading(reader)
    begun, columns = preparation.begin(
        store, study, typed if new else None, question, template,
        lambda made: goal.check(made, budget),
    )  # fmt: skip
    opened, children = begun.study, Children()
    measure = preparation.measuring(template, opened, columns, children, seconds, read)
    failures = Failures(measure, children)
    try:
        with told_warnings(), ending(children.stop):
            done = opened.run(
                failures.measure, workers=workers, until=goal.until, budget=budget, retries=retries,
                on_error=on_error, progress=not json,
            )  # fmt: skip
    except MeasuringError as failed:
        typer.echo(printable(f"Error: {translate(str(failed), {'on_error': '--on-error'})}"), err=True)
        leave("run", DIFFERS)
    except KeyboardInterrupt:
        typer.echo(INTERRUPTED, err=True)
        raise
    finally:
        children.close()
    _report(begun, done, failures, json)
    if not goal.is_reached(done.certificate):
        leave("run", NOT_YET)


def _report(begun: "Begun", done: "StudyRun", failures: "Failures", json: bool) -> None:
    from noisewise.study.plain import certificate_of

    content = {
        "made": begun.is_new,
        "measured": done.measured,
        "failed": done.failed,
        "seconds": done.seconds,
        "ended": done.ended,
        "failures": failures.told,
        "certificate": certificate_of(begun.study),
    }
    made = [f"Made study {begun.study.name!r} with {len(begun.study.options)} options."]
    report("run", begun.study, json, content, [*(made if begun.is_new else []), *str(done).splitlines()])
