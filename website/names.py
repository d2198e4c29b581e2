"""What a public name is, in one line, read from the code: signatures, summaries, members of classes."""

import dataclasses
import importlib
import inspect
import re
from collections.abc import Collection
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import noisewise
from noisewise.core.native.verbs import numpy_body

#: Parameters shown of a signature; `help` shows all.
MOST_PARAMETERS = 6
STARS: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


class Line(NamedTuple):
    """One row of a table: how to write it, and what it is."""

    code: str
    text: str


def public_names(module: ModuleType) -> list[str]:
    """The names that a module offers, in the order of its own list or of their definition."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return list(listed)
    return [name for name, value in vars(module).items() if _is_its_own(module, name, value)]


def _is_its_own(module: ModuleType, name: str, value: Any) -> bool:
    documented = inspect.isfunction(value) or (inspect.isclass(value) and bool(value.__doc__))
    return documented and not name.startswith("_") and value.__module__ == module.__name__


def described(written: str, name: str, value: Any, left_out: Collection[str] = ()) -> Line:
    """A name with its signature, and the first paragraph of its docstring.

    Args:
        written: What to write before the name, such as ``nw.``.
        name: The name.
        value: The object.
        left_out: Parameters that are explained elsewhere.
    """
    if inspect.ismodule(value):
        return Line(written + name, summary(value))
    if inspect.isclass(value) and issubclass(value, BaseException):
        return Line(written + name, summary(value))
    if is_record(value) or not callable(value):
        return Line(written + name, summary(value) if callable(value) else _comment_above(name, value))
    return Line(written + name + signature(value, left_out), summary(value))


def is_record(value: Any) -> bool:
    """Whether a class is made by noisewise and only read by people: its constructor is not of interest."""
    made = ("Study", "Policy", "Instance", "OracleSet", "Storage")
    return inspect.isclass(value) and (
        dataclasses.is_dataclass(value) or issubclass(value, tuple | dict) or value.__name__ in made
    )


def summary(value: Any) -> str:
    """The first paragraph of the docstring as one line of Markdown."""
    paragraph = (inspect.getdoc(numpy_body(value)) or "").split("\n\n")[0]
    return _markdown(" ".join(paragraph.split()))


def explanation(value: Any) -> list[str]:
    """The paragraphs of a docstring after the first, up to its arguments and examples."""
    text = (inspect.getdoc(numpy_body(value)) or "").split("\n\n")[1:]
    ends = (n for n, part in enumerate(text) if re.match(r"Args:|Example|Returns:|Raises:|>>>", part))
    return [_markdown(part) for part in text[: next(ends, len(text))]]


def arguments(function: Any) -> dict[str, str]:
    """What the docstring of a function says about each of its arguments."""
    _, _, text = (inspect.getdoc(function) or "").partition("Args:\n")
    block = re.split(r"\n(?=\S)", text)[0]
    entries = re.findall(r"^    (\w+(?:, \w+)*): (.*(?:\n {5,}.*)*)", block, re.MULTILINE)
    return {name: _markdown(" ".join(said.split())) for names, said in entries for name in names.split(", ")}


def _markdown(text: str) -> str:
    """Code between single backquotes, and no bar that would end a cell."""
    return text.replace("``", "`").replace("|", "\\|")


def signature(function: Any, left_out: Collection[str] = ()) -> str:
    """The parameters and their defaults, without types; `…` replaces those that are not shown."""
    parameters = inspect.signature(function).parameters.values()
    shown = []
    keywords_only = False
    for parameter in parameters:
        if parameter.name in ("self", "cls", *left_out):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not keywords_only:
            keywords_only = True
            shown.append("*")
        keywords_only = keywords_only or parameter.kind is parameter.VAR_POSITIONAL
        stars = STARS.get(parameter.kind, "")
        default = "" if parameter.default is parameter.empty else f"={_plain(parameter.default)}"
        shown.append(stars + parameter.name + default)
    most = MOST_PARAMETERS + ("*" in shown)
    more = ["…"] if len(shown) > most or any(parameter.name in left_out for parameter in parameters) else []
    return f"({', '.join([*shown[:most], *more])})"


def _plain(default: Any) -> str:
    """A default as people write it; an object without a readable form is `…`."""
    text = repr(default)
    return "…" if text.startswith("<") else text.replace("'", '"')


def members(kind: type) -> list[Line]:
    """Fields, properties and methods of a class, each with what the code says about it.

    Fields whose names say everything share the last row.
    """
    fields = _fields(kind)
    rows = [Line(f".{name}", _markdown(comment)) for name, comment in fields.items() if comment]
    for name in dir(kind):
        if not (name.startswith("_") or name in fields or _of_the_language(kind, name)):
            rows += _member(name, inspect.getattr_static(kind, name))
    plain = [f".{name}" for name, comment in fields.items() if not comment]
    return [*rows, Line("`, `".join(plain), "what the name says")] if plain else rows


def _member(name: str, value: Any) -> list[Line]:
    if isinstance(value, property | cached_property):
        return [Line(f".{name}", summary(value))]
    function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
    return [Line(f".{name}{signature(function)}", summary(function))] if callable(function) else []


def _of_the_language(kind: type, name: str) -> bool:
    """Whether a member comes with every tuple or exception, and is not worth a line."""
    return any(hasattr(base, name) for base in (tuple, dict, BaseException) if issubclass(kind, base))


def _fields(kind: type) -> dict[str, str]:
    """What an object holds, and the comment behind each: its unit, its shape, its meaning."""
    ours = [base for base in reversed(kind.__mro__) if base.__module__.startswith("noisewise")]
    source = "".join(inspect.getsource(base) for base in ours)
    found = dict(re.findall(r"^    (\w+): [^#\n]*(?:#:? (.*))?$", source, re.MULTILINE))
    names = getattr(kind, "_fields", None) or [field.name for field in _dataclass_fields(kind)]
    if not names:  # not a record: what its `__init__` sets
        found = dict(
            re.findall(r"^        self\.(\w+)(?::[^=\n]*)? = [^#\n]*(?:# (.*))?$", source, re.MULTILINE)
        )
        names = list(found)
    return {name: found.get(name, "") for name in names if not name.startswith("_")}


def _dataclass_fields(kind: type) -> tuple[Any, ...]:
    return dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()


def _comment_above(name: str, value: Any) -> str:
    """What the comment `#:` above an assignment says; constants have no docstring."""
    pattern = re.compile(rf"((?:^#: .*\n)+){name}\b[^\n]*=", re.MULTILINE)
    found = [(module, text) for module, source in _sources() if (text := pattern.search(source))]
    if len(found) > 1:  # other constants of this name
        found = [one for one in found if getattr(importlib.import_module(one[0]), name, None) is value]
    if len(found) != 1:
        raise ValueError(f"`{name}` must have one comment of the form `#:` above it; got {len(found)}.")
    return _markdown(" ".join(found[0][1][1].replace("#:", " ").split()))


@cache
def _sources() -> tuple[tuple[str, str], ...]:
    """Modules of the package and their texts."""
    package = Path(noisewise.__file__).parent
    paths = [path for path in sorted(package.rglob("*.py")) if path.parent.name != "source"]
    names = [".".join(path.relative_to(package.parent).with_suffix("").parts) for path in paths]
    return tuple((name, path.read_text(encoding="utf-8")) for name, path in zip(names, paths, strict=True))
