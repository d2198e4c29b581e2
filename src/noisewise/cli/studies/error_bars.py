"""The options that state an error bar, or a part of one: the same for commands that take a measurement."""

import inspect
import re
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer

from noisewise.cli.studies.items import parse_items

Command = TypeVar("Command", bound=Callable[..., None])

#: By the name that `Study.tell` has for each.
OPTIONS: dict[str, Any] = {
    "se": Annotated[
        str | None,
        typer.Option(help="The standard error; if asymmetric, two of them: 0.3/0.4 (down/up)."),
    ],
    "var": Annotated[float | None, typer.Option(help="The square of the standard error.")],
    "sd": Annotated[float | None, typer.Option(help="The standard deviation of single readings; needs --n.")],
    "n": Annotated[int | None, typer.Option("--n", help="The number of readings.")],
    "ci": Annotated[str | None, typer.Option(metavar="LO,HI", help="A confidence interval.")],
    "level": Annotated[float | None, typer.Option(help="The level of the interval; default: 0.95.")],
    "values": Annotated[
        str | None, typer.Option(metavar="A;B;...", help="The readings themselves, instead of a value.")
    ],
    "successes": Annotated[
        int | None, typer.Option(help="The number of successes, instead of a value; needs --trials.")
    ],
    "trials": Annotated[int | None, typer.Option(help="The number of trials.")],
    "items": Annotated[
        str | None,
        typer.Option(metavar="ITEM=VALUE,...", help="The values of items, instead of a value: q17=1,q18=0."),
    ],
    "block": Annotated[
        str | None,
        typer.Option(help="The day, plate or judge; its measurements share an unknown offset."),
    ],
    "instrument": Annotated[str | None, typer.Option(help="The instrument; its readings scatter alike.")],
}


def with_error_bar(command: Command) -> Command:
    """Give a command all of `OPTIONS`, before its own ``note``; it receives them as ``**told``."""
    own = list(inspect.signature(command).parameters.values())
    place = next(k for k, parameter in enumerate(own) if parameter.name == "note")
    more = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation=annotation)
        for name, annotation in OPTIONS.items()
    ]
    named = [parameter for parameter in own[place:] if parameter.kind is not parameter.VAR_KEYWORD]
    # The command line is made from the signature and the annotations.
    command.__signature__ = inspect.Signature([*own[:place], *more, *named])  # type: ignore[attr-defined]
    command.__annotations__ = command.__annotations__ | OPTIONS
    return command


def read_error_bar(told: dict[str, Any]) -> dict[str, Any]:
    """What was given of these options, and of others, as `Study.tell` takes it."""
    given = {name: value for name, value in told.items() if value is not None}
    if "se" in given:
        given["se"] = _sides(given["se"])
    if "ci" in given:
        given["ci"] = tuple(_numbers("ci", given["ci"], ","))
    if "values" in given:
        given["values"] = _numbers("values", given["values"], ";")
    if "items" in given:
        given["items"] = parse_items(given["items"])
    return given


def _sides(text: str) -> float | list[float]:
    """One standard error, or two for an asymmetric one; 0,4 and 0,4e-1 are neither, but decimal commas."""
    if "/" in text:
        return _numbers("se", text, "/")
    if re.fullmatch(r"\s*[+-]?\d*,\d+(?:[eE][+-]?\d+)?\s*", text):
        down, up = text.strip().split(",")
        raise ValueError(
            f"`se` must have a decimal point: {down}.{up}. For an asymmetric error, down and up, write "
            f"{down}/{up}; got {text!r}."
        )
    sides = _numbers("se", text, ",")
    return sides if len(sides) > 1 else sides[0]


def _numbers(name: str, text: str, separator: str) -> list[float]:
    from noisewise.study.inputs.numbers import read_number

    try:
        return [read_number(name, part) for part in text.split(separator)]
    except ValueError:
        raise ValueError(
            f"`{name}` must be numbers with {separator!r} between them and points in them; got {text!r}."
        ) from None
