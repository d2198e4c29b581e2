"""Items on the command line: the pool of a new study, values of some items, sheets with a row for each."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from noisewise.study import Job

Pool = Annotated[
    str | None,
    typer.Option(
        "--items",
        metavar="TABLE|N",
        help="The items that every option is measured on: a table with a column item, or how many.",
    ),
]
Batch = Annotated[
    int | None,
    typer.Option("--items", help="The number of items of a suggestion, where options are measured on items."),
]


def read_pool(text: str | None) -> Any:
    """The pool of a new study: a number, or the names in a table."""
    if text is None:
        return None
    if text.removeprefix("-").isdecimal():
        return int(text)
    from noisewise.study.inputs.tables import as_texts, read_table

    table = read_table("items", Path(text))
    column = "item" if "item" in table.columns else table.columns[0]
    if column != "item" and len(table.columns) > 1:
        listed = ", ".join(map(repr, table.columns))
        raise ValueError(f"`items` must be a table with a column item; {text!r} has {listed}.")
    return as_texts("items", table[column]).drop_nulls().to_list()


def parse_items(text: str) -> dict[str, float]:
    """Values of items, such as "q17=1,q18=0"."""
    from noisewise.study.inputs.numbers import read_number

    told: dict[str, float] = {}
    for part in text.split(","):
        name, equals, value = part.rpartition("=")
        if not (name.strip() and equals):
            raise ValueError(f"`items` must look like q17=1,q18=0; got {part.strip()!r}.")
        if name.strip() in told:
            raise ValueError(f"`items` must name each item once; got {name.strip()!r} twice.")
        told[name.strip()] = read_number("items", value.strip())
    return told


def sheet_of_items(jobs: "list[Job]") -> dict[str, list[str | None]]:
    """The columns of a sheet with a row for every item to measure; new items are named in it."""
    rows = [(job, item) for job in jobs for item in (*job.items, *([None] * job.fresh))]
    return {
        "job": [job.id for job, _ in rows],
        "option": [job.option for job, _ in rows],
        "item": [item or "" for _, item in rows],
        "why": [job.why for job, _ in rows],
        "expires": [job.expires.isoformat() for job, _ in rows],
        "value": [""] * len(rows),
    }
