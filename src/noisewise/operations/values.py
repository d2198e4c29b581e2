"""Types that parameters share, and how their values are typed at a shell.

A type says by itself what JSON has for it. `Typed` adds how people type it: 0.3/0.4 for two standard errors.
"""

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from noisewise.core.refusals import RefusedError
from noisewise.operations.table import Arg, Opt, Param, Typed

DAY = 86400.0


#: What a type is called in a refusal.
CALLED = {int: "a whole number", float: "a number"}


def typed_value(param: Param, text: str | tuple[str, ...]) -> Any:
    """Read what was typed for a parameter, all of it if it can be repeated; a refusal names it."""
    kind = param.type
    try:
        if param.typed is not None:
            return param.typed.read((text,) if param.typed.many and isinstance(text, str) else text)
        if isinstance(text, tuple):
            return list(text)
        if get_origin(kind) is Literal:
            return _chosen(text, get_args(kind))
        return kind(text) if kind in (int, float, Path) else text
    except RefusedError as problem:
        raise problem.about(param.name) from None
    except ValueError:
        if kind not in CALLED or param.typed is not None:
            raise
        raise RefusedError(param.name, f"must be {CALLED[kind]}", got=text) from None


def _chosen(value: str, choices: tuple[str, ...]) -> str:
    from noisewise.core.checks import nearest

    if value in choices:
        return value
    hint = nearest(value, choices).strip()
    listed = ", ".join(map(repr, choices))
    raise RefusedError(None, "must be one of {listed}", got=value, remedy="{hint}", listed=listed, hint=hint)


def amount(text: str) -> float | str:
    """A number if it is one; the study decides what else it can mean, such as 2%."""
    try:
        return float(text)
    except ValueError:
        return text


def numbers(separator: str) -> Callable[[str], list[float]]:
    """Read numbers with something between them."""

    def read(text: str) -> list[float]:
        from noisewise.study.telling.numbers import read_number

        try:
            return [read_number("number", part) for part in text.split(separator)]
        except ValueError:
            problem = "must be numbers with {separator!r} between them and points in them"
            raise RefusedError(None, problem, got=text, separator=separator) from None

    return read


def sides(text: str) -> float | list[float]:
    """One standard error, or two if it is asymmetric: 0.3/0.4. A decimal comma is refused."""
    if "/" in text:
        return numbers("/")(text)
    down, comma, up = text.strip().partition(",")
    if comma and down.lstrip("+-").isdecimal() | (down in ("", "+", "-")) and up[:1].isdecimal():
        remedy = "For an asymmetric error, down and up, write {down}/{up}."
        problem = "must have a decimal point, as in {down}.{up}"
        raise RefusedError(None, problem, got=text, remedy=remedy, down=down, up=up)
    found = numbers(",")(text)
    return found if len(found) > 1 else found[0]


def item_values(text: str) -> dict[str, float]:
    """Values of items, such as q17=1,q18=0."""
    from noisewise.study.telling.numbers import read_number

    found: dict[str, float] = {}
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.rpartition("="))
        if not (name and equals):
            raise RefusedError(None, "must look like q17=1,q18=0", got=part.strip())
        if name in found:
            raise RefusedError(None, "must name each item once; got {name!r} twice", name=name)
        found[name] = read_number("items", value)
    return found


def measure(text: str) -> str | dict[str, Any]:
    """What a measurement is: a word, ratings:1,5, items:100, or items:TABLE with the names of the items."""
    word, colon, rest = text.partition(":")
    if word != "items" or not colon:
        return text
    file, _, bounds = rest.partition(":")
    if file.removeprefix("-").isdecimal():
        return text
    pool = _items_in(file)
    return {"items": [pool, numbers(",")(bounds)] if bounds else pool}


def _items_in(file: str) -> list[str]:
    from noisewise.study.tables.sheet import as_texts, read_whole

    table = read_whole("items", Path(file)).frame
    column = "item" if "item" in table.columns else table.columns[0]
    if column != "item" and len(table.columns) > 1:
        raise RefusedError(None, "must be a table with a column item", got=table.columns)
    return as_texts("items", table[column]).drop_nulls().to_list()


def seconds(days: str) -> float:
    """A time that people type in days, and that programs give in seconds."""
    from noisewise.core.checks import LEASE

    given = amount(days)
    if not (isinstance(given, float) and LEASE.holds(given * DAY)):
        raise RefusedError(None, f"must be above 0 and at most {LEASE.most / DAY:,.0f} days", got=given)
    return given * DAY


def pairs(texts: tuple[str, ...]) -> dict[str, str | list[str]]:
    """Roles and their columns: value=HV,se=HV_se; a role may come again. Columns may have commas."""
    found: dict[str, list[str]] = {}
    for text in texts:
        last = ""
        for part in text.split(","):
            name, equals, value = (piece.strip() for piece in part.partition("="))
            if equals and name.isidentifier() and value:
                found.setdefault(name, []).append(value)
                last = name
            elif last and part.strip() and not equals:
                found[last][-1] += f",{part}"
            elif part.strip():
                raise RefusedError(None, "must look like value=HV,se=HV_se", got=part.strip())
    return {name: columns[0] if len(columns) == 1 else columns for name, columns in found.items()}


def choices(texts: tuple[str, ...]) -> dict[str, str]:
    """What else a reader can be told, each as NAME=VALUE."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise RefusedError(None, "must look like NAME=VALUE", got=text)
        found[name.replace("-", "_")] = value
    return found


def names(texts: Iterable[str]) -> list[str]:
    """Names, repeated or with commas between them."""
    return [part.strip() for text in texts for part in text.split(",") if part.strip()]


def shares(texts: tuple[str, ...]) -> list[list[float | str]] | None:
    """Levels of noise with their shares, 0.3@0.9; levels without a share divide what is left of 1."""
    levels = [_level(text) for text in texts]
    named = sum(share for _, share in levels if share is not None)
    silent = sum(share is None for _, share in levels)
    if silent and not named < 1.0:
        problem = "must leave something of 1 to levels without a share; the shares sum to {named:g}"
        raise RefusedError(None, problem, named=named)
    return [[sigma, (1.0 - named) / silent if share is None else share] for sigma, share in levels] or None


def costs(texts: tuple[str, ...]) -> list[list[float | str]] | None:
    """Levels of noise with their costs, 0.3@5."""
    levels = [(text, *_level(text)) for text in texts]
    for text, _, cost in levels:
        if cost is None:
            raise RefusedError(None, "must look like 0.3@5, a sigma and its cost", got=text)
    return [[sigma, cost] for _, sigma, cost in levels if cost is not None] or None


def _level(text: str) -> tuple[float | str, float | None]:
    sigma, at, second = text.partition("@")
    try:
        # A per cent sign makes it a part of the value, which a study on a log scale understands.
        return sigma if sigma.strip().endswith("%") else float(sigma), float(second) if at else None
    except ValueError:
        raise RefusedError(None, "must look like 0.3 or 0.3@0.1", got=text) from None


def named_with_options(text: str, what: str) -> tuple[str, dict[str, Any]]:
    """Read ``"sphere:n_actions=100:dim=10"`` as a name and its options; values are JSON or plain words."""
    name, *parts = text.split(":")
    options: dict[str, Any] = {}
    for part in parts:
        option, equals, value = part.partition("=")
        if not (equals and option):
            raise RefusedError(what, "must look like name or name:option=value", got=text)
        try:
            options[option.strip().replace("-", "_")] = json.loads(value)
        except ValueError:
            options[option.strip().replace("-", "_")] = value
    return name.strip(), options


def file_or_input(text: str) -> Path | bytes:
    """A file; a dash is standard input."""
    if text != "-":
        return Path(text)
    return sys.stdin.buffer.read() if hasattr(sys.stdin, "buffer") else sys.stdin.read().encode()


def certificate_in(text: str) -> dict[str, Any]:
    """A certificate as JSON from a file."""
    source = file_or_input(text)
    if isinstance(source, Path) and not source.is_file():
        raise RefusedError(None, "must be a certificate as JSON; there is no file {name!r}", name=text)
    try:
        found = json.loads(source if isinstance(source, bytes) else source.read_bytes())
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise RefusedError(None, "must be a certificate as JSON; {name!r} is not", name=text)
    return found


Amount = Annotated[float | str, Typed(amount, "AMOUNT")]
Size = Annotated[float | str, Typed(amount, "SIZE")]
Sigma = Annotated[float | str, Typed(amount, "SIGMA")]
Sides = Annotated[float | str | list[float], Typed(sides)]
Interval = Annotated[list[float], Typed(numbers(","), "LO,HI")]
Readings = Annotated[list[float], Typed(numbers(";"), "A;B;...")]
ItemValues = Annotated[dict[str, float], Typed(item_values, "ITEM=VALUE,...")]
Measure = Annotated[str | dict[str, Any], Typed(measure, "KIND")]
Seconds = Annotated[float, Typed(seconds, "DAYS")]
Names = Annotated[list[str], Typed(names, "NAMES", many=True)]
Pairs = Annotated[dict[str, str | list[str]], Typed(pairs, "NAME=VALUE,...", many=True)]
Choices = Annotated[dict[str, str], Typed(choices, "NAME=VALUE", many=True)]
Shares = Annotated[list[list[float | str]], Typed(shares, "SIGMA[@SHARE]", many=True)]
Costs = Annotated[list[list[float | str]], Typed(costs, "SIGMA@COST", many=True)]
JsonCertificate = Annotated[dict[str, Any], Typed(certificate_in, "FILE", file=True)]

Reason = Annotated[str, Arg("The reason, in a few words; it is kept.")]
OptionName = Annotated[str, Arg("The option's name.")]
DryRun = Annotated[bool, Opt("Only show what would happen; change nothing.")]
