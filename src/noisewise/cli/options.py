"""Parameters that commands written by hand share."""

from typing import Annotated

from noisewise.core.refusals import RefusedError
from noisewise.operations.table import Arg, Opt

Store = Annotated[
    str, Arg("The store: a file, postgresql://user@host/database, or https://host of a server.")
]
Name = Annotated[str | None, Opt("The study; default: the only one.", "--study", "-s", metavar="NAME")]
Json = Annotated[bool, Opt("Print JSON instead of words.", "--json")]
Seed = Annotated[int, Opt("Random seed of everything.")]
On = Annotated[
    str | None,
    Opt(
        "Number of processes, or the address or file of a Dask scheduler; default: all processors.",
        metavar="WHERE",
    ),
]


def split_roles(pairs: list[str]) -> dict[str, list[str]]:
    """Columns by role from pairs such as ``option=alloy``; a role may come again for a further column."""
    roles: dict[str, list[str]] = {}
    for pair in pairs:
        role, equals, column = pair.partition("=")
        if not equals or not role:
            raise RefusedError("map_", "must look like role=column", got=pair)
        roles.setdefault(role.strip(), []).append(column)
    return roles
