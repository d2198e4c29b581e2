"""How parameters look at a shell: their flags and places, and the values that are typed for them."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import click
from click.shell_completion import CompletionItem

from noisewise.core.refusals import RefusedError, Sentence, Words
from noisewise.operations.table import Api, Arg, Param
from noisewise.operations.values import typed_value
from noisewise.operations.words import NAMES, lifted

#: What a type is called in the help.
SHOWN = {int: "INTEGER", float: "FLOAT", Path: "PATH"}
#: What is typed for parameters that a command has under another name.
ELSEWHERE = {
    "store": "STORE", "name": "--study", "repeat": "--again", "unknown": "--add or --skip",
    "measurements": "the table", "path": "--out", "policy_options": "--policy",
}  # fmt: skip
OF_COMMAND = {
    "tell": {"job": "WHAT", "option": "an option"},
    "release": {"job": "JOB"},
    "init": {
        "table": "--from",
        "metric": "--choose metric=NAME",
        "task": "--choose task=NAME",
        "roles": "--map",
        "id": "--map option",
        "cost": "--map cost",
        "floor": "--errors floor",
        "tails": "--errors tails",
    },
    "run": {"roles": "--map", "id": "--map option", "cost": "--map cost"},
    "plan": {"sigma": "--noise"},
    "rename": {"name": "NEW"},
    "restore": {"log": "BACKUP"},
}
#: Columns of tables: in messages about tables, these words mean columns.
COLUMNS = frozenset((
    "option", "plus", "minus", "value", "se", "var", "sd", "n", "ci", "level", "values", "successes",
    "trials", "block", "instrument", "key", "by", "note", "at", "cost", "job", "item",
))  # fmt: skip
#: Choices that only readers of files have.
OF_READERS = (
    "exit_codes", "names", "version", "how", "missing", "status", "reducer", "baseline", "better", "split",
    "benchmark",
)  # fmt: skip


class ShellWords(Words):
    """The words of a command, whose parameters are flags and places.

    Args:
        params: Its parameters.
        command: Its name.
    """

    typed = True

    def __init__(self, params: Mapping[str, Param], command: str = "") -> None:
        self.params, self.own = params, OF_COMMAND.get(command, {})
        self.columns = {"import": COLUMNS, "init": COLUMNS - {*params, "cost"}}.get(command, frozenset())
        more = (*params, *self.own, *(OF_READERS if self.columns else ()))
        #: Parameters that plain sentences may name.
        self.names = NAMES.union(more)

    def name(self, parameter: str) -> str:
        """Return the flag, or the place in capitals."""
        param = self.params.get(parameter)
        if parameter in self.columns:
            return f"`{parameter}`"
        if parameter in self.own:
            return self.own[parameter]
        if parameter in ELSEWHERE and (param is None or isinstance(param.form, Api)):
            return ELSEWHERE[parameter]
        if param is None:
            return f"--{parameter.replace('_', '-')}"
        if isinstance(param.form, Arg):
            return metavar_of(param).strip("[].")
        return max(flags_of(param), key=len).partition("/")[0]

    def given(self, parameter: str, value: str) -> str:
        """Return what to type: `--model linear`, `--final`, `--ci LO,HI`."""
        param, plain = self.params.get(parameter), value.strip("\"'")
        if parameter == "unknown" and plain:
            return f"--{plain}"
        if param is None and parameter in OF_READERS:
            return f"--choose {parameter}={plain or 'NAME'}"
        if parameter in self.columns:
            return f"{parameter}={value}" if value else f"`{parameter}`"
        if value in ("", "True") or parameter == "repeat":
            return self.name(parameter)
        if param is not None and param.form.flag == plain:
            return self.name(parameter)
        if value[0] == "(" and any(sign.isdigit() for sign in value):
            plain = value[1:-1].replace(", ", ",")
        elif param is not None and value[0] in "[(.{":  # an example, for which the help has a better one
            plain = metavar_of(param)
        quoted = f'"{plain}"' if set(plain) & set(" ;") else plain
        return f"{self.name(parameter)} {quoted}"

    def call(self, operation: str) -> str:
        """Return the command."""
        return f"`noisewise {operation}`"


def flags_of(param: Param) -> list[str]:
    """What is typed before the value."""
    return list(param.form.flags) or [f"--{param.name.rstrip('_').replace('_', '-')}"]


def metavar_of(param: Param) -> str:
    """What the help shows for a value."""
    shown = param.form.metavar or (param.typed.metavar if param.typed else "")
    if shown or isinstance(param.form, Arg):
        return shown or param.name.upper()
    if get_origin(param.type) is Literal:
        return "|".join(get_args(param.type))
    return SHOWN.get(param.type, "TEXT")


def click_param(param: Param, words: ShellWords) -> Iterator[click.Parameter]:
    """What click has to know about a parameter; nothing about those for programs."""
    form, typed = param.form, param.typed
    if isinstance(form, Api):
        return
    help = Sentence(form.help).said(words)
    named = [param.name, *flags_of(param)]
    if param.type is bool or form.flag is not None:
        value: Any = {"flag_value": form.flag} if form.flag is not None else {}
        yield click.Option(named, is_flag=True, default=None, help=help, hidden=form.hidden, **value)
        return
    many = typed.many if typed else get_origin(param.type) is list
    several = many or (typed is not None and typed.words > 1)
    more: dict[str, Any] = {
        "type": click.STRING if several else TypedValue(param), "metavar": metavar_of(param),
        "shell_complete": completed(param),
    }  # fmt: skip
    if several:
        more["callback"] = all_read(param)
    if isinstance(form, Arg):
        shown = more["metavar"]
        more["metavar"] = shown if param.required or "[" in shown else f"[{shown}]"
        yield click.Argument(
            [param.name], nargs=-1 if many else 1, required=param.required, envvar=form.env, **more
        )
        return
    help += "" if param.default in (None, [], ()) else f"  [default: {_shown(param.default)}]"
    words_each = typed.words if typed else 1
    yield click.Option(
        named, multiple=many, nargs=words_each, required=param.required, help=help, hidden=form.hidden, **more
    )


def _shown(default: Any) -> str:
    return ",".join(default) if isinstance(default, list) else str(default)


class TypedValue(click.ParamType):  # type: ignore[type-arg]
    """A value as its type says that it is typed."""

    name = "text"

    def __init__(self, param: Param) -> None:
        self.param = param

    def convert(self, value: Any, param: Any, context: Any) -> Any:
        """Return the value of what was typed; a refusal is about the parameter."""
        if not isinstance(value, str):
            return value
        try:
            return typed_value(self.param, value)
        except ValueError as problem:
            return _kept(context, lifted(problem))


def _kept(context: click.Context | None, problem: RefusedError) -> None:
    """Keep a refusal until everything that was typed has been read: all are reported at once."""
    if context is None:
        raise problem
    context.meta.setdefault("noisewise.problems", []).append(problem)


def all_read(param: Param) -> Callable[..., Any]:
    """A function that reads all values of a parameter that has several."""

    def read(context: Any, option: Any, values: tuple[str, ...] | None) -> Any:
        try:
            return typed_value(param, tuple(values)) if values else None
        except ValueError as problem:
            return _kept(context, lifted(problem))

    return read


def completed(param: Param) -> Callable[..., list[CompletionItem]] | None:
    """What a shell proposes for a value: choices, names of options, files."""
    choices = get_args(param.type) if get_origin(param.type) is Literal else ()
    if choices:
        return lambda context, option, typed: [
            CompletionItem(one) for one in choices if one.startswith(typed)
        ]
    if param.name in ("what", "option", "plus", "minus", "against"):
        return _options
    file = param.type is Path or (param.typed is not None and param.typed.file)
    return (lambda context, option, typed: [CompletionItem(typed, type="file")]) if file else None


def stores(context: Any, option: Any, typed: str) -> list[CompletionItem]:
    """The stores of a folder: files that end in .db."""
    folder = Path(typed or ".")
    folder = folder if typed.endswith("/") or not typed else folder.parent
    found = [
        str(path) + ("/" if path.is_dir() else "")
        for path in sorted(folder.glob("*"))
        if (path.is_dir() or path.suffix == ".db") and not path.name.startswith(".")
    ]
    return [CompletionItem(one) for one in found if one.startswith(typed)]


def _options(context: Any, option: Any, typed: str) -> list[CompletionItem]:
    import noisewise as nw

    try:
        study = nw.load_study(context.params["store"], context.params.get("study"), read_only=True)
        return [CompletionItem(name) for name in study.options if name.startswith(typed)]
    except (ValueError, KeyError, TypeError, OSError):
        return []  # a shell that completes says nothing else
