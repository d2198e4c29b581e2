"""Sentences in the words of the command line: ``block=`` is ``--block`` there."""

import re
from typing import Any

#: Arguments that sentences name, and that are options of some command.
ARGUMENTS = (
    "block", "instrument", "se", "var", "sd", "n", "ci", "values", "by", "note", "key", "scatter", "model",
    "deviation", "extra_scatter", "span", "noise_floor", "looks", "noise",
)  # fmt: skip
_ANY = "|".join(ARGUMENTS)
#: An argument with its value, which is in quotes, and one without.
_WITH_VALUE = re.compile(rf'(?<![\w`.-])({_ANY})="([^"]*)"')
_NAMED = re.compile(rf"(?<![\w`.-])({_ANY})=(?=[\s.,;:)]|$)")


def in_flags(said: str) -> str:
    """A sentence with arguments as options.

    Args:
        said: What a study says, in the words of Python.
    """
    said = _WITH_VALUE.sub(lambda found: f"{_flag(found[1])} {found[2]}", said)
    return _NAMED.sub(lambda found: _flag(found[1]), said)


def causes_in_flags(causes: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Causes of a misfit as JSON values, their words in those of the command line."""
    return [cause.as_dict() | {"words": in_flags(cause.words)} for cause in causes]


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
