"""Parameters of commands as JSON schema, and what is given for them back again."""

import re
from collections.abc import Mapping
from typing import Any

from noisewise.core.support.checks import nearest

#: By the name of a parameter's type; all others are texts.
TYPES = {"int": "integer", "float": "number", "boolean": "boolean"}
#: Lists of numbers that are typed as one text, by how the help shows them, and what stands between them.
SEPARATORS = {"A;B;...": ";", "LO,HI": ","}
SAID = {"integer": "a whole number", "number": "a number", "boolean": "true or false", "string": "a text"}


def property_name(parameter: Any) -> str:
    """What a parameter is called in a tool: its longest flag without dashes, or the name of its place."""
    flags = [flag for flag in parameter.opts if flag.startswith("--")]
    return max(flags, key=len)[2:].replace("-", "_") if flags else str(parameter.name)


def schema_of(parameter: Any, words: Mapping[str, str], said: str | None = None) -> dict[str, Any]:
    """The JSON schema of a parameter.

    Args:
        parameter: The parameter as the command line knows it.
        words: What flags are called in the tool.
        said: What is said of it in the place of its help.
    """
    kind: dict[str, Any] = {"type": TYPES.get(_type_of(parameter), "string")}
    shown = parameter.metavar or ""
    if shown in SEPARATORS:
        kind = {"type": "array", "items": {"type": "number"}}
    elif _is_list(parameter):
        kind = {"type": "array", "items": kind}
        if parameter.nargs > 1:
            kind |= {"minItems": parameter.nargs, "maxItems": parameter.nargs}
    if said is None:
        form = f" Written as {shown}" if re.search(r"[=@\[]", shown) else ""
        said = in_tool_words(str(getattr(parameter, "help", None) or ""), words) + form
    default = parameter.default
    plain = isinstance(default, str | int | float) and default is not False
    return kind | ({"description": said} if said else {}) | ({"default": default} if plain else {})


def in_tool_words(text: str, words: Mapping[str, str]) -> str:
    """A sentence of the command line, with the tool's parameters in the place of flags."""

    def named(found: re.Match[str]) -> str:
        return f"`{words.get(found[0], found[0][2:].replace('-', '_'))}`"

    text = re.sub(r"`noisewise ([a-z]+)`", r"`\1`", text)
    text = re.sub(r"(?<![\w`-])--[a-z][a-z-]*", named, text)
    for place in (word for word in words if not word.startswith("--")):
        text = re.sub(rf"(?<![\w`-]){re.escape(place)}(?![\w`=.-])", f"`{words[place]}`", text)
    return text


def words_of(parameters: Mapping[str, Any]) -> dict[str, str]:
    """What the flags and places of a command are called in its tool."""
    found = {
        flag: name for name, parameter in parameters.items() for flag in parameter.opts if flag[0] == "-"
    }
    places = {
        re.sub(r"[^A-Z_]", "", parameter.metavar or str(parameter.name).upper()): name
        for name, parameter in parameters.items()
        if parameter.param_type_name == "argument"
    }
    # Short words, such as the N of a number, mean other things in sentences.
    return found | {place: name for place, name in places.items() if len(place) > 2}


def read_arguments(given: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """What a tool is given, by the names that its command has for it; null is as if it were not there."""
    read = {}
    for name, value in given.items():
        if name not in parameters:
            raise ValueError(f"there is no parameter `{name}`.{nearest(name, sorted(parameters))}")
        if value is not None:
            read[str(parameters[name].name)] = _checked(name, parameters[name], value)
    for name, parameter in parameters.items():
        if parameter.required and read.get(str(parameter.name)) in (None, []):
            raise ValueError(f"`{name}` must be given.")
    return read


def _checked(name: str, parameter: Any, value: Any) -> Any:
    kind = TYPES.get(_type_of(parameter), "string")
    between = SEPARATORS.get(parameter.metavar or "")
    if between is not None and isinstance(value, list):
        return between.join(f"{_one(name, 'number', part)!r}" for part in value)
    if not _is_list(parameter):
        return _one(name, kind, value)
    values = value if isinstance(value, list) else [value]
    if parameter.nargs > 1 and len(values) != parameter.nargs:
        raise ValueError(f"`{name}` must be a list of {parameter.nargs}; got {len(values)}.")
    return [_one(name, kind, part) for part in values]


def _one(name: str, kind: str, value: Any) -> Any:
    """A value of the right kind; numbers may come as texts, and texts as numbers."""
    found: Any
    if kind == "boolean":
        found = value if isinstance(value, bool) else None
    elif isinstance(value, bool) or not isinstance(value, int | float | str):
        found = None
    else:
        found = str(value) if kind == "string" else _number(value, whole=kind == "integer")
    if found is None:
        raise ValueError(f"`{name}` must be {SAID[kind]}; got {str(value)[:60]!r}.")
    return found


def _number(value: int | float | str, *, whole: bool) -> int | float | None:
    try:
        if whole:
            return int(value) if isinstance(value, str) or value == int(value) else None
        return float(value)
    except (ValueError, OverflowError):  # no number, or infinite
        return None


def _type_of(parameter: Any) -> str:
    kinds = getattr(parameter.type, "types", None)
    return str((kinds[0] if kinds else parameter.type).name)


def _is_list(parameter: Any) -> bool:
    return bool(getattr(parameter, "multiple", False)) or parameter.nargs != 1
