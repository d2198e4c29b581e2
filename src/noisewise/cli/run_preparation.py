"""What is checked before a run starts its first command, and the study that it is for."""

import os
import shutil
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from noisewise.cli.commands import load_study
from noisewise.cli.printing import told_warnings
from noisewise.cli.run_children import Children
from noisewise.cli.run_command import (
    COLUMN,
    ITEMS,
    MINUS,
    OPTION,
    MeasuringCommand,
    Read,
    Template,
    asked_for,
    filled,
    option_columns,
    read_template,
)
from noisewise.cli.threads import environment
from noisewise.core.checks import AMOUNT, check_choice, check_count, check_within
from noisewise.core.refusals import RefusedError
from noisewise.core.text import printable
from noisewise.operations.start import QUESTION, create
from noisewise.operations.table import Param, load_table
from noisewise.operations.values import named_with_options

if TYPE_CHECKING:
    from noisewise.study.certificates.certificate import Certificate
    from noisewise.study.log.jobs import Job
    from noisewise.study.log.specification import Specification
    from noisewise.study.study import Study


CERTIFIED, SPENT = "certified", "spent"


class RunGoal:
    """When a run ends, unless its budget is spent before.

    Args:
        until: ``certified``, ``spent``, or a bound; on a log scale a part of the best value, such as 2%.
    """

    def __init__(self, until: str) -> None:
        self.until: str | float = until  # as `Study.run` takes it
        self._bound: float | None = None

    def check(self, study: "Study", budget: object) -> None:
        """Refuse what this study cannot reach, and read a bound in its unit."""
        if self.until == CERTIFIED and study.specification.eps is None:
            raise ValueError(
                "`until` must be a bound, or spent with a budget: this study has no `eps` that certified "
                "could mean."
            )
        if self.until == SPENT and budget is None and study.specification.budget is None:
            raise ValueError("--until spent needs --budget, --budget-cost or --deadline.")
        if self.until not in (CERTIFIED, SPENT):
            self.until, self._bound = _bound(study, str(self.until))

    def is_reached(self, certificate: "Certificate") -> bool:
        """Whether it is reached; where that is to spend the budget, whether measuring may stop."""
        if self._bound is None:
            return certificate.reached
        return not certificate.withheld and certificate.bound <= self._bound


def _bound(study: "Study", until: str) -> tuple[str | float, float]:
    """A bound as it was typed, and as it is computed with."""
    scale = study.specification.value_scale
    try:
        typed = until if until.strip().endswith("%") else float(until)
        return typed, scale.read_eps(typed, "until")
    except (ValueError, TypeError):
        part = ", or a part of the best value such as 2%" if scale.log else ""
        raise ValueError(
            f"`until` must be certified, spent, or a bound above 0{part}; got {until!r}."
        ) from None


#: What is not a part of the question, or is compared by itself.
APART = ("name", "catalogue", "policy", "version")
#: What parts of the question are called where they are stated.
STATED = {
    "bounds": "measure", "items": "measure", "noise": "errors", "noise_floor": "errors",
    "extra_scatter": "errors", "scatter": "errors", "looks": "final", "deviation": "model",
}  # fmt: skip


def question_params() -> dict[str, Param]:
    """The parameters of `init` that a run takes as well, by name."""
    of_init = load_table()["init"].params
    return {name: _marked(of_init[name]) for name in QUESTION}


def _marked(param: Param) -> Param:
    """The same parameter, whose help says that it is about a new study."""
    form = copy(param.form)
    form.help = f"With --new: {form.help[0].lower()}{form.help[1:]}"
    return param._replace(form=form)


class Begun(NamedTuple):
    """A study that is there now."""

    study: "Study"
    table: Any  # the table of its options, if they came from one
    is_new: bool


def begin_or_go_on(
    store: str,
    name: str,
    options: list[str],
    question: dict[str, Any],
    check: Callable[["Study", Any], Any],
) -> Begun:
    """The study that these flags make, or have made before; refused if it is another one.

    Args:
        store: Where it is kept.
        name: Its name.
        options: Names, or a table of them, as they were typed.
        question: The flags of `question_flags`, as they were typed.
        check: Refuses a study, with its table, before it is made.
    """
    import noisewise as nw
    from noisewise.operations.tables import options_typed
    from noisewise.study.tables.sheet import ReadTable

    with told_warnings():
        listed = options_typed(tuple(options))
    table = listed if isinstance(listed, ReadTable) else None
    asked = {one: param.default for one, param in load_table()["init"].params.items()} | question
    asked = {one: asked[one] for one in (*QUESTION, "budget", "final")}
    asked["roles"] = asked.pop("map") or {}
    sketch = create(":memory:", name, listed, None, asked)
    check(sketch, table)
    wanted = sketch.specification
    from noisewise.study.log.events import first_row

    storage = nw.open_store(store, create=True)
    is_new = name not in storage.names()
    if is_new:
        try:
            storage.create(name, [first_row(wanted.to_plain())])
        except ValueError:
            if name not in storage.names():
                raise
            is_new = False  # another run has just made it
    study = nw.load_study(store, name)
    _refuse_another(study.specification, wanted)
    return Begun(study, table, is_new)


def _refuse_another(found: "Specification", wanted: "Specification") -> None:
    """Refuse a study that was made with something else."""
    which = f"study {printable(found.name)!r} is there already, and"
    advice = "leave --new and its flags out to go on with it, or give another name (--study) or store"
    old, new = found.catalogue, wanted.catalogue
    before, now = set(old.ids), set(new.ids)
    if more := [option for option in new.ids if option not in before]:
        raise ValueError(
            f"{which} was not made with the option {printable(more[0])!r}: {advice}; `noisewise add` adds "
            "options."
        )
    if gone := [option for option in old.ids if option not in now]:
        raise ValueError(
            f"{which} was made with the option {printable(gone[0])!r} as well: {advice}; `noisewise exclude` "
            "takes options out."
        )
    for part in (*(one.name for one in fields(found) if one.name not in APART), "policy"):
        if _value(found, part) != _value(wanted, part):
            made, typed = _said(found, part), _said(wanted, part)
            typed = typed if made != typed else f"{typed} with these options"
            raise ValueError(
                f"{which} was made with `{STATED.get(part, part)}` {made}, and not {typed}: {advice}."
            )
    if old.fingerprint != new.fingerprint or old.features != new.features:
        raise ValueError(f"{which} its table of options had other features or costs: {advice}.")


def _value(question: "Specification", part: str) -> Any:
    """A part of the question; of the policy not the version, which the same line may have made earlier."""
    value = getattr(question, part)
    return (value.name, value.options) if part == "policy" else value


def _said(question: "Specification", part: str) -> str:
    """The same in a few words."""
    value = getattr(question, part)
    if value is None:
        return "none"
    if part == "eps":
        return question.value_scale.stated(value)
    if part == "policy":
        return str(value.name)
    return printable(" ".join(map(str, value)) if isinstance(value, tuple | list) else str(value))[:60]


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
            f"the command has no {{{OPTION}}}: the option reaches it only as the variable NOISEWISE_OPTION."
        )
        click.echo(f"Warning: {only}", err=True)
    return MeasuringCommand(
        template=template, study=study.name, columns=columns, children=children,
        environment=environment(), timeout=timeout, read=None if read is None else read(study),
    )  # fmt: skip
