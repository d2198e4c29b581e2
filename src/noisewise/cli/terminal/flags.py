"""Messages in the words of the command line: what Python calls an argument is a flag or a word here.

The library says `` `extra_scatter` must be ...`` or ``give block=``. A command says ``--extra-scatter must be
...`` and ``give --block``, because its own parameters tell which argument is which flag.
"""

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, get_args

from typer.models import ArgumentInfo, OptionInfo

Command = TypeVar("Command", bound=Callable[..., None])
#: What has no parameter of its own, by the name of a command, and else for all.
WORDS: dict[str, dict[str, str]] = {
    "": {
        "repeat": "--again", "measurements": "the table", "path": "--out", "name": "--study",
        "policy_options": "--policy", "store": "STORE", "features": "--features", "lo": "lo", "hi": "hi",
    },
    "tell": {"job": "WHAT", "option": "WHAT"},
    "slot": {"sigma": "SIGMA"},
    "init": {"path": "OPTIONS"},
    "add": {"path": "OPTIONS"},
    "rename": {"name": "NEW"},
}  # fmt: skip
#: Whole phrases of Python, and what to type instead.
PHRASES = (
    (r'repeat="others"|repeat=True', "--again"),
    (r"\(job,\) = study\.ask\(\), or tell each of them", "tell each of them"),
    (r"items=\{[^}]*\}", "--items q17=1,q18=0"),
    (r"`study\.next_items\('([^']*)'\)` says which come next", r"`noisewise ask` says which come next"),
    (r"values=\[\.\.\.\]", '--values "1.2;1.3"'),
    (r"ci=\(lo, hi\)", "--ci LO,HI"),
    (r"tell\(\)", "tell"),
)
#: Arguments that sentences name, and that are options of some command.
ARGUMENTS = (
    "block", "instrument", "se", "var", "sd", "n", "ci", "values", "by", "note", "key", "scatter", "model",
    "deviation", "extra_scatter", "span", "noise_floor", "looks", "noise",
)  # fmt: skip


def in_its_words(command: Command, name: str, columns: tuple[str, ...] = ()) -> Command:
    """The same command, whose refusals speak of its flags.

    Args:
        command: The command.
        name: What it is called.
        columns: Names that are columns of the table that it reads.
    """
    words = WORDS[""] | flags_of(command) | WORDS.get(name, {}) | {column: column for column in columns}

    @functools.wraps(command)
    def speaking(*arguments: Any, **options: Any) -> None:
        try:
            command(*arguments, **options)
        except (ValueError, KeyError, TypeError) as problem:
            said = str(problem.args[0]) if len(problem.args) == 1 else None
            translated = None if said is None else translate(said, words)
            if translated in (None, said):
                raise
            problem.args = (translated,)
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
        shown = None if info is None else info.metavar
        return (shown or name).upper().removesuffix("...")
    named = [flag for flag in info.param_decls or () if flag.startswith("-")]
    return max(named, key=len).split("/")[0] if named else f"--{name.replace('_', '-')}"


def translate(message: str, words: Mapping[str, str]) -> str:
    """A message of the library with flags in the place of arguments."""
    for phrase, typed in PHRASES:
        message = re.sub(phrase, typed, message)
    known = "|".join(sorted(map(re.escape, words), key=len, reverse=True))
    message = re.sub(rf"`({known})`", lambda found: words[found[1]], message)
    # A value goes with it: model="linear", or a bare name= before a space or a full stop.
    quoted = rf"(?<![\w`\"'.-])({known})=([\"'])([^\"']*)\2"
    message = re.sub(quoted, lambda found: f"{words[found[1]]} {_shell(found[3])}", message)
    return re.sub(rf"(?<![\w`\"'{{.-])({known})=(?=[\s,.;:)]|$)", lambda found: words[found[1]], message)


def _shell(text: str) -> str:
    return f'"{text}"' if " " in text or text == "reason" else text


def in_flags(said: str) -> str:
    """What a study says, in the words of Python, with arguments of any command as options."""
    return translate(said, {name: f"--{name.replace('_', '-')}" for name in ARGUMENTS})


def causes_in_flags(causes: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Causes of a misfit as JSON values, their words in those of the command line."""
    return [cause.as_dict() | {"words": in_flags(cause.words)} for cause in causes]
