"""What is checked before a run starts its first command."""

import os
import shutil
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from noisewise.cli.commands import load_study
from noisewise.cli.run_children import Children
from noisewise.cli.run_measuring_command import MeasuringCommand, Read
from noisewise.cli.run_new_study import Begun, begin_or_go_on
from noisewise.cli.run_option_columns import asked_for, option_columns
from noisewise.cli.run_placeholders import (
    COLUMN,
    ITEMS,
    MINUS,
    OPTION,
    Template,
    filled,
    read_template,
)
from noisewise.cli.threads import environment
from noisewise.core.checks import AMOUNT, check_choice, check_count, check_within
from noisewise.core.refusals import RefusedError
from noisewise.core.text import printable
from noisewise.operations.values import named_with_options

if TYPE_CHECKING:
    from noisewise.study.log.jobs import Job
    from noisewise.study.study import Study

Columns = Mapping[str, Mapping[str, str]]
#: The name of a study that names none, as for init.
USUAL = "study"


def template_of(
    command: list[str], options: list[str], *, new: bool, shell: bool, question: Mapping[str, Any]
) -> Template:
    """The command to measure with; flags and words that do not go together are refused."""
    if not hasattr(os, "killpg"):
        raise ValueError("noisewise run needs groups of processes, which this system lacks: use study.run.")
    if options and not new:
        raise ValueError(
            f"put -- before the command (options stand there only with --new); got "
            f"{printable(' '.join(options))[:60]!r} before it."
        )
    if new and not options:
        raise ValueError(
            "--new needs the options, or their table: noisewise run study.db --new A B --eps 0.1 -- "
            "./measure {option}."
        )
    for name in question if not new else ():
        raise RefusedError(name, "goes with --new", remedy="A study that exists keeps what it was made with.")
    return read_template(command, shell=shell)


def seconds_of_time(time: str | None) -> float | None:
    """Seconds, of a time such as 30, 90s, 5min or 2h."""
    from noisewise.study.running.limits import read_budget

    if time is None:
        return None
    try:
        number = float(time) if not time.strip()[-1:].isalpha() else read_budget(time)["seconds"]
        return check_within("timeout", number, AMOUNT)
    except (ValueError, KeyError):
        raise ValueError(f"`timeout` must be seconds or a time (30, 90s, 5min, 2h); got {time!r}.") from None


def check_settings(workers: int, retries: int, on_error: str) -> None:
    """Refuse what a run would refuse, before a study is made for it."""
    from noisewise.study.running.run import REACTIONS

    check_count("workers", workers)
    check_count("retries", retries, least=0)
    check_choice("on_error", on_error, REACTIONS)


def budget_of(budget: str | None, cost: float | None, deadline: str | None) -> dict[str, Any] | None:
    """What a run may spend, of all flags about it; None if nothing limits it."""
    from noisewise.study.running.limits import read_budget

    found: dict[str, Any] = {
        kind: int(most) if kind == "measurements" else most for kind, most in read_budget(budget).items()
    }
    if cost is not None:
        found["cost"] = check_within("budget_cost", cost, AMOUNT)
    if deadline is not None:
        read_budget({"deadline": deadline})
        found["deadline"] = deadline
    return found or None


def reading(reader: str | None) -> "Callable[[Study], Read] | None":
    """What reads the file of a command, for a study; None: it is a number or JSON."""
    if reader is None:
        return None
    from noisewise import readers

    name, said = named_with_options(reader, "reader")
    known = [] if name == "auto" else readers.get(name).choices
    if name != "auto":
        readers.get(name).check(said)

    def of_study(study: "Study") -> Read:
        unit = study.specification.unit
        choices = ({"unit": unit} if unit is not None and "unit" in known else {}) | said

        def read(file: Path, option: str) -> dict[str, Any]:
            found = readers.read(file, name, **choices)
            if None not in (found.unit, unit) and found.unit != unit:
                raise ValueError(f"the file is in {found.unit}, and the study in {unit}")
            return found.only(option)

        return read

    return of_study


def begin(
    store: str,
    name: str | None,
    options: list[str] | None,
    question: dict[str, Any],
    template: Template,
    check_more: "Callable[[Study], None]",
) -> tuple[Begun, Columns]:
    """The study to run, and the columns that the command names; nothing is made if they do not fit."""
    if options is None:
        try:
            begun = Begun(load_study(store, name, True), None, False)
        except FileNotFoundError as missing:
            raise FileNotFoundError(f"{missing} --new, options and --eps make it.") from None
    else:

        def check(sketch: "Study", table: Any) -> None:
            check_more(sketch)
            _check_fits(template, sketch, option_columns(sketch, template.columns, table))

        begun = begin_or_go_on(store, name or USUAL, options, question, check)
    check_more(begun.study)
    columns = option_columns(begun.study, template.columns, begun.table)
    _check_fits(template, begun.study, columns)
    return begun, columns


def _check_fits(template: Template, study: "Study", columns: Columns) -> None:
    """Refuse a command that cannot measure what this study asks for, and programs that are not there."""
    on_items = study.analysis().state.begins_with_items
    if ITEMS in template.names and not on_items:
        raise ValueError(f"{{{ITEMS}}} is for options that are measured on items; this study has none.")
    asked: list[Job] = []
    with warnings.catch_warnings(), suppress(ValueError):  # which the run will say
        warnings.simplefilter("ignore")
        asked = study.ask(dry_run=True)
    difference = any(job.minus is not None for job in asked)
    if difference and MINUS not in template.names:
        raise ValueError(
            f"this study asks for differences ({asked[0].what}): the command must have {{{MINUS}}} besides "
            f"{{{OPTION}}}, and print the one minus the other."
        )
    if asked and MINUS in template.names and not difference:
        raise ValueError(f"{{{MINUS}}} is for studies of differences; this one asks for options.")
    if not template.shell:
        _check_programs(template, study, columns)


def _check_programs(template: Template, study: "Study", columns: Columns) -> None:
    names = [piece.text for piece in template.program if piece.is_placeholder]
    if any(name != OPTION and not name.startswith(COLUMN) for name in names):
        return
    for option in asked_for(study) if names else study.options[:1]:
        columns_of = {COLUMN + name: texts for name, texts in columns.items()}
        values = {name: option if name == OPTION else columns_of[name][option] for name in names}
        program = filled(template.program, values)
        if shutil.which(program) is not None:
            continue
        what = f"the command {printable(program)!r}" + (f" (option {printable(option)!r})" if names else "")
        if " " in program and len(template.arguments) == 1:
            raise ValueError(f"{what} is one word with blanks: leave the quotes out.")
        if Path(program).is_file() and "/" in program:
            raise ValueError(f"{what} is a file that cannot be executed: chmod +x, or name its interpreter.")
        here = f" There is one in this folder: ./{program}." if Path(program).is_file() else ""
        raise ValueError(f"{what} was not found: look for a typing error.{here}")


def measuring(
    template: Template,
    study: "Study",
    columns: Columns,
    children: Children,
    timeout: float | None,
    read: "Callable[[Study], Read] | None",
) -> MeasuringCommand:
    """The measuring function of a run."""
    if not template.names and not template.shell:
        only = (
            f"the command has no {{{OPTION}}}: it is told the option by the variable NOISEWISE_OPTION alone."
        )
        click.echo(f"Warning: {only}", err=True)
    return MeasuringCommand(
        template=template, study=study.name, columns=columns, children=children,
        environment=environment(), timeout=timeout, read=None if read is None else read(study),
    )  # fmt: skip
