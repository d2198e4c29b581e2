"""``noisewise run``: ask, measure with a command, and tell, until the certificate says you may stop."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import click

from noisewise.cli.exits import DIFFERS, NOT_YET, leave
from noisewise.cli.exits import INTERRUPTED as STOPPED
from noisewise.cli.options import Json, Name, Store
from noisewise.cli.printing import print_json, say, told_warnings
from noisewise.cli.run_children import Children
from noisewise.cli.run_preparation import question_params
from noisewise.core.text import printable
from noisewise.operations.table import Api, Arg, Opt
from noisewise.operations.words import said

if TYPE_CHECKING:
    from noisewise.cli.run_preparation import Begun
    from noisewise.study.log.jobs import Job
    from noisewise.study.running.run import StudyRun


#: Failures that are shown while it runs; all are in the log.
SHOWN = 5


class Failures:
    """Tells of measurements that failed, while a run goes on.

    Args:
        measure: The measuring function.
        children: Its processes: what fails because they are ended is not a failure.
    """

    def __init__(self, measure: Callable[["Job"], Any], children: Children) -> None:
        self._measure, self._children = measure, children
        self.told: list[dict[str, str]] = []

    def measure(self, job: "Job") -> Any:
        """Measure, and say on standard error if it failed."""
        try:
            return self._measure(job)
        except Exception as failed:
            if not self._children.is_over:
                self._tell(job, printable(failed))
            raise

    def _tell(self, job: "Job", why: str) -> None:
        self.told.append({"job": job.id, "option": job.what, "reason": why})
        if len(self.told) > SHOWN:
            return
        more = " (further failures are only in the log)" if len(self.told) == SHOWN else ""
        clear = "\r\x1b[K" if sys.stderr.isatty() else ""
        sys.stderr.write(f"{clear}{printable(f'{job.id} ({job.what}) failed: {why}{more}')}\n")
        sys.stderr.flush()


@contextmanager
def ending(stop: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C, and whatever else asks a process to end, ends the commands at once and interrupts the run."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: Any) -> None:
        stop()
        raise KeyboardInterrupt

    # What is ignored on purpose, as by nohup, stays so.
    asked = [
        one
        for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(one) != signal.SIG_IGN
    ]
    before = {one: signal.signal(one, interrupt) for one in asked}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


INTERRUPTED = "Interrupted: what was measured is recorded, the rest is released; the same line goes on."

Names = Annotated[
    list[str] | None,
    Arg("With --new, as for init: the options, or a table of them.", metavar="NAME|TABLE..."),
]
New = Annotated[
    bool,
    Opt("Make the study if there is none, with the flags of init; else go on with it.", "--new"),
]
Workers = Annotated[int, Opt("The number of commands at a time.", "--workers", "-j")]
Until = Annotated[
    str,
    Opt("What ends it: the certificate, a bound, or the budget.", metavar="certified|BOUND|spent"),
]
Budget = Annotated[
    str | None,
    Opt(
        "How many measurements this run may make, or how long it may take: 200, 90s, 30min, 2h, or 200,2h.",
        metavar="N|TIME",
    ),
]
BudgetCost = Annotated[
    float | None,
    Opt("What its measurements may cost together; no measurement is begun that would exceed it."),
]
Deadline = Annotated[
    str | None,
    Opt("When the last measurement may begin: 08:00, or 2026-11-20T08:00.", metavar="TIME"),
]
Timeout = Annotated[
    str | None,
    Opt("What one command may take: 30, 90s, 5min; then it is ended.", metavar="TIME"),
]
Retries = Annotated[int, Opt("How often a command that failed is started again at once.")]
OnError = Annotated[
    str,
    Opt("After that: fail (the option may be asked for again), exclude (the option), or raise (end)."),
]
ReaderName = Annotated[
    str | None,
    Opt(
        "What reads the output, as name:choice=value; default: a number or JSON.", "--reader", metavar="NAME"
    ),
]
Shell = Annotated[bool, Opt('Let sh read the command; it finds values in "$NOISEWISE_OPTION".', "--shell")]


def run(
    store: Store,
    options: Names = None,
    new: New = False,
    workers: Workers = 1,
    until: Until = "certified",
    budget: Budget = None,
    budget_cost: BudgetCost = None,
    deadline: Deadline = None,
    timeout: Timeout = None,
    retries: Retries = 0,
    on_error: OnError = "fail",
    reader: ReaderName = None,
    shell: Shell = False,
    study: Name = None,
    json: Json = False,
    command: Annotated[list[str], Api("The command behind the dashes.")] = [],  # noqa: B006 - it is never changed
    **question: Any,
) -> None:
    """Measure with a command until you may stop.

    Ask, run it, tell, again and again: noisewise run study.db --new red green --eps 0.5 -- ./measure {option}

    The command follows --. In it, {option} is replaced by the option's name, and so are {col:NAME} (a column
    of the options), {items}, {out} (a file to write the result to), {job}, {study} and {minus}. Its output
    ends with a number, 12.3(4), 12.3 ± 0.4, or JSON with the fields of tell. After an
    interruption, the same line goes on.
    """
    from noisewise.cli import run_preparation as preparation
    from noisewise.cli.run_children import Children
    from noisewise.cli.run_preparation import RunGoal
    from noisewise.study.running.run import MeasuringError

    typed = options or []
    template = preparation.template_of(command, typed, new=new, shell=shell, question=question)
    goal, seconds = RunGoal(until), preparation.seconds_of_time(timeout)
    preparation.check_settings(workers, retries, on_error)
    spending = preparation.budget_of(budget, budget_cost, deadline)
    read = preparation.reading(reader)
    begun, columns = preparation.begin(
        store, study, typed if new else None, question, template,
        lambda made: goal.check(made, spending),
    )  # fmt: skip
    opened, children = begun.study, Children()
    measure = preparation.measuring(template, opened, columns, children, seconds, read)
    failures = Failures(measure, children)
    try:
        with told_warnings(), ending(children.stop):
            done = opened.run(
                failures.measure, workers=workers, until=goal.until, budget=spending, retries=retries,
                on_error=on_error, progress=not json,
            )  # fmt: skip
    except MeasuringError as failed:
        click.echo(printable(f"Error: {said(str(failed))}"), err=True)
        leave("run", DIFFERS)
    except KeyboardInterrupt:
        click.echo(INTERRUPTED, err=True)
        leave("run", STOPPED)
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
    if json:
        print_json("run", {"study": begun.study.name, **content})
    else:
        say([*(made if begun.is_new else []), *map(said, str(done).splitlines())])


run.behind = True  # type: ignore[attr-defined]
run.more = question_params  # type: ignore[attr-defined]
