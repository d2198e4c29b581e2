"""Options that many commands have, and reading ``name:option=value``."""

import json
from typing import Annotated, Any

import typer

JsonTable = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]
On = Annotated[
    str | None,
    typer.Option(
        metavar="WHERE",
        help="Number of processes, or the address or file of a Dask scheduler; default: all processors.",
    ),
]


def parse_named(text: str, what: str) -> tuple[str, dict[str, Any]]:
    """``"sphere:n_actions=100:dim=10"`` as a name and its options; values are JSON or plain words."""
    name, *pairs = text.split(":")
    options: dict[str, Any] = {}
    for pair in pairs:
        option, equals, value = pair.partition("=")
        if not equals or not option:
            raise ValueError(f"`{what}` must look like name or name:option=value; got {text!r}.")
        options[option.strip().replace("-", "_")] = _value(value)
    return name.strip(), options


def split_list(texts: list[str]) -> list[str]:
    """A repeatable option that also takes commas."""
    return [part.strip() for text in texts for part in text.split(",") if part.strip()]


def split_roles(pairs: list[str]) -> dict[str, list[str]]:
    """Columns by role from pairs such as ``option=alloy``; a role may come again for a further column."""
    roles: dict[str, list[str]] = {}
    for pair in pairs:
        role, equals, column = pair.partition("=")
        if not equals or not role:
            raise ValueError(f"`--map` must look like role=column; got {pair!r}.")
        roles.setdefault(role.strip(), []).append(column)
    return roles


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
