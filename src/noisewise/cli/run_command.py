"""The command of a run: its placeholders, filled in for one measurement, and what it printed as a result.

A value is put in the place of its placeholder inside one argument, and the argument stays one argument: no
value is ever split or read by a shell. A text for a shell (`--shell`, `sh -c`) therefore has no placeholders;
it finds the values in its environment. Doubled braces are plain ones.
"""

import json
import re
import shlex
import shutil
import signal
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from noisewise.cli.run_children import KEPT_OUT, Children, Ended
from noisewise.core.checks import nearest
from noisewise.core.strict_json import DuplicateNameError, parse_json
from noisewise.core.text import printable
from noisewise.study.running.crews import FIELDS, NoResultError
from noisewise.study.tables.cells import comma_hint
from noisewise.study.telling.numbers import read_value

if TYPE_CHECKING:
    from noisewise.study.log.jobs import Job
    from noisewise.study.study import Study
    from noisewise.study.tables.sheet import ReadTable
    from noisewise.study.telling.catalogue import Feature


OPTION, MINUS, ITEMS, OUT, COLUMN = "option", "minus", "items", "out", "col:"
#: What may stand in braces, besides columns.
PLAIN = (OPTION, MINUS, "job", "study", ITEMS, OUT)
_SHELLS = ("sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh")
#: Programs whose -c is a text for a shell.
_READERS = (*_SHELLS, "su", "runuser", "script", "flock")
_SCRIPT_FLAG = re.compile(r"-[a-zA-Z]*c[a-zA-Z]*|--command")
_BRACES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


class TemplatePiece(NamedTuple):
    """A part of an argument: a text as it is, or the name of a placeholder."""

    text: str
    is_placeholder: bool = False


@dataclass(frozen=True)
class Template:
    """A command before it is filled in; made by `read_template`."""

    arguments: tuple[tuple[TemplatePiece, ...], ...]
    shell: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The placeholders it has, each once."""
        return tuple(
            dict.fromkeys(piece.text for argument in self.arguments for piece in argument if piece[1])
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of options that it names."""
        return tuple(name.removeprefix(COLUMN) for name in self.names if name.startswith(COLUMN))

    @property
    def program(self) -> tuple[TemplatePiece, ...]:
        """What is started: the first argument."""
        return self.arguments[0]

    def fill(self, values: Mapping[str, str]) -> list[str] | str:
        """The arguments of one measurement; for a shell, one text."""
        arguments = [filled(argument, values) for argument in self.arguments]
        return " ".join(arguments) if self.shell else arguments


def filled(argument: Sequence[TemplatePiece], values: Mapping[str, str]) -> str:
    """One argument with values in the places of its placeholders; none of them is read again."""
    return "".join(values[piece.text] if piece.is_placeholder else piece.text for piece in argument)


def read_template(arguments: Sequence[str], *, shell: bool = False) -> Template:
    """Understand a command; a name in braces that is not a placeholder is refused.

    Args:
        arguments: The program and its arguments, as they came from the command line.
        shell: Whether they are a text for a shell; several are put together with blanks.
    """
    if not arguments or not arguments[0].strip():
        raise ValueError(
            "there is no command to measure with: put it behind --, as in noisewise run study.db -- "
            "./measure {option}."
        )
    template = Template(tuple(tuple(_pieces(argument)) for argument in arguments), shell)
    if shell and template.names:
        raise ValueError(_for_a_shell(template.names[0], "--shell"))
    if shell:
        _check_text(str(template.fill({})))
    _check_scripts(template)
    return template


def _check_scripts(template: Template) -> None:
    """Refuse a placeholder in the script of ``sh -c SCRIPT``: the shell would run what a value says."""
    shell, script_follows = "", False
    for argument in template.arguments:
        text = filled([piece for piece in argument if not piece.is_placeholder], {})
        inside = [piece.text for piece in argument if piece.is_placeholder]
        if script_follows and inside:
            raise ValueError(_for_a_shell(inside[0], f"{shell} -c"))
        if script_follows:
            _check_text(text)
        name = text.rpartition("/")[2]
        if name in _READERS:
            shell = name
        elif shell and text.startswith("-"):
            script_follows = script_follows or _SCRIPT_FLAG.fullmatch(text) is not None
        else:
            script_follows = False


def _check_text(script: str) -> None:
    """Refuse a text for a shell that lets one more shell read a value: bash -c "m $X", eval "$1"."""
    lexer = shlex.shlex(script, posix=False, punctuation_chars=True)
    lexer.whitespace_split, reader, reads = True, "", ""
    try:
        words = list(lexer)
    except ValueError:  # an open quotation, of which the shell says more
        words = script.split()
    for word in words:
        name = re.sub(r"[\"'\\]", "", word).rpartition("/")[2]
        if reads and "$" in word and not (word[0] == word[-1] == "'"):
            raise ValueError(
                f"{printable(word)[:60]} must not be read by {reads}, which would run what a name says: put "
                "the text in single quotes, as in bash -c './measure \"$NOISEWISE_OPTION\"'."
            )
        if name == "eval":
            reads = "eval"
        elif name in _READERS:
            reader, reads = name, ""
        elif reader and _SCRIPT_FLAG.fullmatch(name):
            reads = f"{reader} -c"
        elif not set(word) - set(";|&()<>"):
            reader = reads = ""


def _for_a_shell(name: str, where: str) -> str:
    known = f'write "$NOISEWISE_{name.upper()}"' if name in PLAIN else "give it as an argument"
    return (
        f"{{{name}}} must not stand in a text for a shell ({where}), which would run what a name says: "
        f"""{known}, as in sh -c './measure "$1" | tail -n 1' sh {{{name}}}."""
    )


def _pieces(argument: str) -> list[TemplatePiece]:
    found, at = [], 0
    for brace in _BRACES.finditer(argument):
        found.append(TemplatePiece(argument[at : brace.start()]))
        at = brace.end()
        if brace[0] in ("{{", "}}"):
            found.append(TemplatePiece(brace[0][0]))
        elif brace[1] is None:
            raise ValueError(
                f"the argument {_shown(argument)} has a single {brace[0]}: double it, {brace[0] * 2}, if it "
                "is not part of a placeholder."
            )
        else:
            found.append(TemplatePiece(_known(brace[1], argument), True))
    found.append(TemplatePiece(argument[at:]))
    return [piece for piece in found if piece.text]


def _known(name: str, argument: str) -> str:
    """The name of a placeholder, without blanks around it."""
    plain = name.strip()
    if plain in PLAIN:
        return plain
    if plain.startswith(COLUMN) and (column := plain.removeprefix(COLUMN).strip()):
        return COLUMN + column
    listed = ", ".join(f"{{{known}}}" for known in (*PLAIN, "col:NAME"))
    raise ValueError(
        f"{{{printable(name)}}} in the argument {_shown(argument)} is not a placeholder; there are {listed}."
        f"{nearest(plain, PLAIN) if plain else ''} Write {{{{ and }}}} for braces that are meant as they are."
    )


def _shown(argument: str) -> str:
    return repr(printable(argument if len(argument) <= 60 else argument[:60] + "…"))


#: Whole numbers up to here are written without a point: floats hold them exactly.
WHOLE = 1e15


def option_columns(
    study: "Study", wanted: Sequence[str], table: "ReadTable | None" = None
) -> dict[str, dict[str, str]]:
    """The texts of columns by option, for each column that a command names; refused if there is none.

    Args:
        study: The study.
        wanted: Names of columns.
        table: The table of options, if the command line has one.
    """
    if not wanted:
        return {}
    kept = _kept_columns(study)
    cells = {} if table is None else _cells(study, table, wanted)
    found = {}
    for name in wanted:
        if name not in cells and name not in kept:
            raise ValueError(_unknown(name, kept, table))
        found[name] = cells.get(name) or kept[name]
        for option in asked_for(study):
            if option not in found[name]:
                raise ValueError(
                    f"{{col:{name}}} has no value for option {printable(option)!r}: fill its cell in, or "
                    "exclude the option."
                )
    return found


def asked_for(study: "Study") -> list[str]:
    """Options that may be asked for: those that are not excluded."""
    return list(compress(study.options, study.analysis().state.allowed()))


def _unknown(name: str, kept: dict[str, Any], table: "ReadTable | None") -> str:
    names = [*kept] if table is None else list(dict.fromkeys([*table.frame.columns, *kept]))
    listed = ", ".join(map(repr, names))
    where = "the study keeps of its table" if table is None else "there are"
    advice = (
        " Other columns are kept if they are features (init --features), or come from the table itself: "
        "give it again with --new."
        if table is None
        else ""
    )
    return (
        f"{{col:{printable(name)}}} must name a column of the options; {where} {listed}."
        f"{nearest(name, names)}{advice}"
    )


def _cells(study: "Study", table: "ReadTable", wanted: Sequence[str]) -> dict[str, dict[str, str]]:
    """The cells of a table by column and option."""
    from noisewise.study.tables.names import columns_called
    from noisewise.study.tables.sheet import as_texts

    frame, found = table.frame, {}
    ids = as_texts("options", frame[study.specification.catalogue.id_column]).to_list()
    for name in wanted:
        called = columns_called(frame.columns, name)
        if len(called) != 1:
            continue
        column: dict[str, str] = {}
        for row, (option, cell) in enumerate(zip(ids, frame[called[0]].to_list(), strict=True)):
            if cell is None or (text := text_of(cell)) == "":
                continue
            if column.setdefault(option, text) != text:
                raise ValueError(
                    f"{table.place(row)}: {{col:{name}}} of option {printable(option)!r} is {text!r}, and "
                    f"{column[option]!r} in another row."
                )
        found[name] = column
    return found


def _kept_columns(study: "Study") -> dict[str, dict[str, str]]:
    """What the study itself keeps, by column and option."""
    catalogue = study.specification.catalogue
    options, values = list(catalogue.ids), catalogue.values.tolist()
    for event in study.events():
        if event.kind == "add":
            options += event.body["ids"]
            values += event.body["values"]
    found, at = {catalogue.id_column: dict(zip(options, options, strict=True))}, 0
    for feature in catalogue.features:
        end = at + len(feature.columns)
        texts = [_text_of_feature(feature, row[at:end]) for row in values]
        found[feature.name] = dict(zip(options, texts, strict=True))
        at = end
    if catalogue.costs is not None:
        found[catalogue.cost_column] = {option: text_of(study.cost_of(option)) for option in options}
    return found


def _text_of_feature(feature: "Feature", row: list[float]) -> str:
    """A number, or the level of a category: the reference level has no column."""
    if not feature.levels:
        return text_of(float(row[0]))
    return next((level for level, on in zip(feature.levels[1:], row, strict=True) if on), feature.levels[0])


def text_of(cell: Any) -> str:
    """A cell as an argument: 32 for 32.0, and the shortest text that is the same number."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < WHOLE:
        return str(int(cell))
    return cell.strip() if isinstance(cell, str) else str(cell)


#: Fields of tell that are not a command's to say: the run names its measurements itself.
NOT_SAID = ("key", "by", "arm")
SAYABLE = tuple(name for name in FIELDS if name not in NOT_SAID)
#: Fields of which a result has one.
RESULTS = ("value", "values", "successes", "items")
WAYS = 'print a number, 12.3(4), 12.3 ± 0.4, or JSON such as {"value": 12.3, "se": 0.4} at the end'
#: Lines that may begin the JSON at the end, counted from there.
MOST_BEGINNINGS = 1000
#: Characters that all these attempts together may read.
MOST_TRIED = 1 << 26


def read_printed(text: str, items: Collection[str] = (), *, where: str = "its output") -> Any:
    """The result at the end of a text, as a measuring function returns it.

    Args:
        text: What was printed, or written to a file.
        items: The items that were to be measured: JSON that has only these is the values of items.
        where: How messages call the text.
    """
    lines = [line for line in (line.strip() for line in text.removeprefix("\ufeff").splitlines()) if line]
    if not lines:
        raise NoResultError(f"{where} is empty: {WAYS}")
    if lines[-1].endswith("}"):
        return _object(lines, items, where)
    try:
        found = read_value(lines[-1])
    except ValueError:
        raise NoResultError(f"the last line of {where} is {_short(lines[-1])}, {_why(lines[-1])}") from None
    if len(lines) > 1 and _is_number(lines[-2]):
        raise NoResultError(
            f"{where} ends with several numbers, {_short(lines[-2])} and {_short(lines[-1])}: for readings "
            'print JSON, {"values": [...]}; else print the result alone'
        )
    return found.value if found.se is None else (found.value, found.se)


def _object(lines: list[str], items: Collection[str], where: str) -> Any:
    """The JSON object at the end."""
    beginnings = [number for number, line in enumerate(lines) if line.startswith("{")][-MOST_BEGINNINGS:]
    why, tried = "no line begins with {", 0
    for number in reversed(beginnings):
        if tried > MOST_TRIED:
            break
        text = "\n".join(lines[number:])
        tried += len(text)
        try:
            found = parse_json(text)
        except DuplicateNameError as problem:
            why = f"{printable(str(problem)[:100])!r} appears twice in it"
            continue
        except (ValueError, RecursionError) as problem:
            why = str(problem)
            continue
        before = [line for line in lines[:number] if line.endswith("}") and _is_said(line, items)]
        if before:
            raise NoResultError(
                f"{where} has {len(before) + 1} results, {_short(before[0])} and at last "
                f"{_short(lines[number])}: print one"
            )
        return _fields(found, items)
    raise NoResultError(f"{where} ends like JSON and is none ({why}): {WAYS}")


def _fields(found: dict[str, Any], items: Collection[str]) -> dict[str, Any]:
    if found and items and set(found) <= set(items):
        return {"items": found}
    for name in NOT_SAID:
        if name in found:
            raise NoResultError(
                f"it said {name!r}, which the run says itself: leave it out ({', '.join(SAYABLE)})"
            )
    return found  # names are checked where a result is taken


def _is_said(line: str, items: Collection[str]) -> bool:
    """Whether a line of its own is a result as JSON; programs may also log in JSON."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and not set(found).isdisjoint((*RESULTS, *items))


def _is_number(line: str) -> bool:
    try:
        read_value(line)
    except ValueError:
        return False
    return True


def _why(line: str) -> str:
    """What is wrong with a line that is not a number."""
    if line.startswith("[") and line.endswith("]"):
        return 'a list: print {"values": [...]} if these are readings'
    strange = "which is not UTF-8" if "\ufffd" in line else "which is not a number alone"
    hint = comma_hint(line).strip().rstrip(".")
    return f"{strange}: {hint[:1].lower() + hint[1:] or WAYS}"


def _short(line: str) -> str:
    return repr(printable(line if len(line) <= 40 else line[:40] + "…"))


#: Lines of standard error, and characters of them, that a failure is told with: the last ones.
LINES, CHARACTERS = 5, 300
#: What a file of results becomes: the fields of tell for an option.
Read = Callable[[Path, str], dict[str, Any]]
#: Variables that a command finds; those of a run that this one is a command of are not for it.
SAID = tuple(f"NOISEWISE_{name.upper()}" for name in (*PLAIN, "fresh"))
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True)
class MeasuringCommand:
    """Measures a job by a command.

    Args:
        template: The command.
        study: The study's name.
        columns: Texts of options by column: see `option_columns`.
        children: Where its processes and files are kept.
        environment: Of the command, before anything is added.
        timeout: Seconds that it may take.
        read: What reads its file, if that is neither a number nor JSON.
    """

    template: Template
    study: str
    columns: Mapping[str, Mapping[str, str]]
    children: Children
    environment: Mapping[str, str]
    timeout: float | None = None
    read: Read | None = None

    def __call__(self, job: "Job") -> Any:
        """What came out."""
        if job.minus is not None and MINUS not in self.template.names:
            raise NoResultError(f"the difference {job.what} is asked for, and the command has no {{{MINUS}}}")
        own = Path(tempfile.mkdtemp(prefix=f"{job.id}-", dir=self.children.folder))
        try:
            values = self._values(job, own)
            said = {f"NOISEWISE_{name.upper()}": value for name, value in values.items() if ":" not in name}
            said |= {"NOISEWISE_FRESH": str(job.fresh)} if job.fresh else {}
            environment = {name: value for name, value in self.environment.items() if name not in SAID}
            environment |= said
            ended = self.children.run(self.template.fill(values), environment, self.timeout)
            if (why := self._why_failed(ended)) is not None:
                raise NoResultError(why + last_words(ended.err))
            try:
                return self._result(ended, Path(values[OUT]), job)
            except NoResultError as nothing:
                raise NoResultError(f"{nothing}{last_words(ended.err)}") from None
        finally:
            shutil.rmtree(own, ignore_errors=True)

    def _values(self, job: "Job", own: Path) -> dict[str, str]:
        """What placeholders stand for; folder and files for this measurement are made."""
        (own / "out").mkdir()
        values = {OPTION: job.option, "job": job.id, "study": self.study, OUT: str(own / "out" / "result")}
        if job.minus is not None:
            values[MINUS] = job.minus
        if job.items or job.fresh or ITEMS in self.template.names:
            listed = own / "items.txt"
            listed.write_text("".join(f"{item}\n" for item in job.items), encoding="utf-8")
            values[ITEMS] = str(listed)
        for name, texts in self.columns.items():
            if job.option not in texts:  # it was added while the run went on
                raise NoResultError(f"{{{COLUMN}{name}}} has no value for it: begin the run anew")
            values[COLUMN + name] = texts[job.option]
        return values

    def _why_failed(self, ended: Ended) -> str | None:
        if ended.is_late:
            return f"it took longer than the time-out of {self.timeout:g} s, and was ended"
        if ended.code < 0:
            return f"it was ended by {_signal_name(-ended.code)}"
        return f"exit code {ended.code}" if ended.code else None

    def _result(self, ended: Ended, out: Path, job: "Job") -> Any:
        """From the file that it wrote, or from what it printed."""
        written = _written(out)
        if written is None and OUT in self.template.names:
            raise NoResultError(f"it wrote nothing to {{{OUT}}}")
        if self.read is not None:
            return self._read(written or _kept(ended, out), job)
        if written is not None:
            return read_printed(_text_of(written), job.items, where=f"what it wrote to {{{OUT}}}")
        text = ended.out.decode("utf-8", "replace")
        where = f"its output (the last {KEPT_OUT >> 20} MB of it)" if ended.is_cut else "its output"
        return read_printed(text, job.items, where=where)

    def _read(self, file: Path, job: "Job") -> dict[str, Any]:
        assert self.read is not None
        try:
            fields = self.read(file, job.option)
        except (ValueError, KeyError, TypeError, OSError) as problem:
            said = str(problem.args[0] if isinstance(problem, KeyError) and problem.args else problem)
            called = f"{{{OUT}}}" if OUT in self.template.names else "its output"
            raise NoResultError(said.rstrip(".").replace(repr(str(file)), called)) from None
        return {name: part for name, part in fields.items() if name not in ("key", "by", "option")}


def _written(out: Path) -> Path | None:
    """The file or folder at the place that the command was told, or the only one that was made beside it."""
    made = sorted(out.parent.iterdir())
    if not made:
        return None
    if out not in made and len(made) > 1:
        raise NoResultError(
            f"it wrote {len(made)} files where {{{OUT}}} is: {made[0].name}, {made[1].name}: write one"
        )
    found = out if out in made else made[0]
    if not (found.is_file() or found.is_dir()):  # reading a pipe would never end
        raise NoResultError(f"{{{OUT}}} became neither a file nor a folder")
    return found


def _kept(ended: Ended, out: Path) -> Path:
    """What was printed, as a file for a reader."""
    if ended.is_cut:
        raise NoResultError(f"it printed more than {KEPT_OUT >> 20} MB: let it write to {{{OUT}}} instead")
    out.write_bytes(ended.out)
    return out


def _text_of(file: Path) -> str:
    if file.is_dir():
        raise NoResultError(f"{{{OUT}}} became a folder, which only a reader (--reader) can take")
    with file.open("rb") as opened:
        content = opened.read(KEPT_OUT + 1)
    if len(content) > KEPT_OUT:
        raise NoResultError(f"it wrote more than {KEPT_OUT >> 20} MB to {{{OUT}}}, which is not a result")
    return content.decode("utf-8", "replace")


def _signal_name(number: int) -> str:
    try:
        return f"signal {number} ({signal.Signals(number).name})"
    except ValueError:
        return f"signal {number}"


def last_words(err: bytes) -> str:
    """The last lines of standard error, in one line, to be put behind a reason; empty if there are none."""
    text = _COLOURS.sub("", err.decode("utf-8", "replace"))
    lines = [printable(" ".join(line.split())) for line in text.splitlines() if line.strip()][-LINES:]
    said = " | ".join(lines).rstrip(".")  # a sentence goes on behind it
    if not said:
        return ""
    return f"; it said: {said if len(said) <= CHARACTERS else '…' + said[-CHARACTERS:]}"
