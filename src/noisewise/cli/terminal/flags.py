"""Messages in the words of the command line: what Python calls an argument is a flag or a word here.

The library says `` `extra_scatter` must be ...`` or ``give block=``. A command says ``--extra-scatter must be
...`` and ``give --block``, because its own parameters tell which argument is which flag.
"""

import functools
import inspect
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar, get_args

from typer.models import ArgumentInfo, OptionInfo

Command = TypeVar("Command", bound=Callable[..., None])
#: What has no parameter of its own, by the name of a command, and else for all.
WORDS: dict[str, dict[str, str]] = {
    "": {
        "repeat": "--again", "measurements": "the table", "path": "--out", "name": "--study",
        "policy_options": "--policy", "store": "STORE", "features": "--features",
    },
    "tell": {"job": "WHAT", "option": "an option"},
    "release": {"job": "JOB"},
    "init": {"table": "--from", "metric": "--choose metric=NAME", "task": "--choose task=NAME"},
    "plan": {"sigma": "--noise"},
    "rename": {"name": "NEW"},
    "switch": {"looks": "--final"},
}  # fmt: skip
#: What only readers can be told.
_CHOICES = "exit_codes|names|version|how|missing|status|reducer|baseline|better|split"
#: Whole phrases of Python, and what to type instead.
PHRASES = (
    (r'repeat="others"|repeat=True', "--again"),
    (r'looks="once"', "--final"),
    (r'unknown="(add|skip)"', r"--\1"),
    (r"(?<=column: say )(\w+)=(?=[.;]|$)", r"--choose \1=COLUMN"),
    (r"(?<=say which with )(benchmark)=(?=[.;]|$)", r"--choose \1=NAME"),
    (rf"\b({_CHOICES})=([\"']?)([\w.]+)\2", r"--choose \1=\3"),
    (rf"\b({_CHOICES}|(?<=say )option)=(?=[\s,.;:)]|$)", r"--choose \1=NAME"),
    (r"\(job,\) = study\.ask\(\), or tell each of them", "tell each of them"),
    (r"items=\{[^}]*\}", "--items q17=1,q18=0"),
    (r"`study\.next_items\('([^']*)'\)` says which come next", r"`noisewise ask` says which come next"),
    (r"values=\[\.\.\.\]", '--values "1.2;1.3"'),
    (r"ci=\(lo, hi\)", "--ci LO,HI"),
    (r"\b(tell|ask)\(\)", r"`noisewise \1`"),
)
#: Arguments that sentences name, and that are options of some command.
ARGUMENTS = (
    "block", "instrument", "se", "var", "sd", "n", "ci", "values", "by", "note", "key", "scatter", "model",
    "deviation", "extra_scatter", "span", "noise_floor", "looks", "noise", "scale",
)  # fmt: skip


def in_its_words(command: Command, name: str, columns: Collection[str] = ()) -> Command:
    """The same command, whose refusals speak of its flags.

    Args:
        command: The command.
        name: What it is called.
        columns: Names that are columns of the table that it reads, and no flags.
    """
    words = {argument: _flag(argument) for argument in ARGUMENTS} | WORDS[""]
    words |= flags_of(command) | WORDS.get(name, {}) | {column: f"`{column}`" for column in columns}

    @functools.wraps(command)
    def speaking(*arguments: Any, **options: Any) -> None:
        try:
            command(*arguments, **options)
        except (ValueError, KeyError, TypeError, OSError) as problem:
            told = not hasattr(problem, "exit_code")  # questions hold what to type, word for word
            if told and len(problem.args) == 1 and isinstance(problem.args[0], str):
                problem.args = (translate(problem.args[0], words),)
            raise

    return speaking  # type: ignore[return-value]


def flags_of(command: Callable[..., Any]) -> dict[str, str]:
    """What to type for every parameter of a command: a flag, or the place of a word."""
    return {
        name: _typed(name, parameter.annotation)
        for name, parameter in inspect.signature(command).parameters.items()
        if parameter.kind is not parameter.VAR_KEYWORD
    }


def _typed(name: str, annotation: Any) -> str:
    info = next((part for part in get_args(annotation) if isinstance(part, OptionInfo | ArgumentInfo)), None)
    if not isinstance(info, OptionInfo):
        shown = (None if info is None else info.metavar) or name
        return re.sub(r"[^A-Z_|]", "", shown.upper())
    # In an annotation, the first flag is in the place of a default.
    decided = (info.default, *(info.param_decls or ()))
    named = [flag for flag in decided if isinstance(flag, str) and flag.startswith("-")]
    return max(named, key=len).split("/")[0] if named else _flag(name)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def translate(message: str, words: Mapping[str, str]) -> str:
    """A message of the library with flags in the place of arguments; what is to be typed stays as it is."""
    # Keys are people's own words, whatever they look like.
    parts = re.split(r"(--map (?:'[^']*'|\S+)|value=HV\S*|\(key [^)]*\))", message)
    return "".join(part if k % 2 else _translated(part, words) for k, part in enumerate(parts))


def _translated(message: str, words: Mapping[str, str]) -> str:
    for phrase, typed in PHRASES:
        message = re.sub(phrase, typed, message)
    known = "|".join(sorted(map(re.escape, words), key=len, reverse=True))
    message = re.sub(rf"`({known})`", lambda found: words[found[1]], message)
    # A value goes with a flag, model="linear" or se=-1; none before a space or a full stop: give block=.
    before = r"(?<![\w`\"'{.-])"
    flags = "|".join(sorted((name for name in words if words[name][0] != "`"), key=len, reverse=True))
    quoted = rf"{before}({flags})=([\"'])([^\"']*)\2"
    message = re.sub(quoted, lambda found: f"{words[found[1]]} {_shell(found[3])}", message)
    pair = rf"{before}({flags})=\((-?[\d.e+-]+), (-?[\d.e+-]+)\)"
    message = re.sub(pair, lambda found: f"{words[found[1]]} {found[2]},{found[3]}", message)
    plain = rf"{before}({flags})=(-?[\w.+-]*\w)"
    message = re.sub(plain, lambda found: f"{words[found[1]]} {found[2]}", message)
    return re.sub(rf"{before}({known})=(?=[\s,.;:)]|$)", lambda found: words[found[1]], message)


def _shell(text: str) -> str:
    return f'"{text}"' if " " in text or text == "reason" else text


def in_flags(said: str) -> str:
    """What a study says, in the words of Python, with arguments of any command as options."""
    return translate(said, {name: _flag(name) for name in ARGUMENTS})
