"""Tables, and files of other tools, as requests bring them."""

import math
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from noisewise.server.api.body_types import MOST_NAMES, Long, Number, StrictBody, Text, names_up_to
from noisewise.study.intake.roles import ROLE

#: Rows of a table that is sent by columns; the size of the body limits it as well.
MOST_CELLS = 1_000_000


def _role(name: str) -> str:
    if name not in ROLE:
        raise ValueError(f"there is no column {name!r}")
    return name


def _cells(cells: list[Any]) -> list[Any]:
    kinds = {type(cell) for cell in cells if cell is not None}
    numbers = [one for cell in cells if isinstance(cell, list) for one in cell] if kinds == {list} else cells
    if kinds == {list} and not {type(one) for one in numbers} <= {int, float}:
        raise ValueError("readings must be numbers")
    if not (kinds <= {int, float} or kinds in ({str}, {bool}, {list})):
        raise ValueError("all cells of a column must be texts, numbers, true or false, or lists of numbers")
    if not all(math.isfinite(one) for one in numbers if isinstance(one, float)):
        raise ValueError("numbers must be finite; an empty cell is null")
    return cells


#: What a column can be.
ColumnName = Annotated[str, AfterValidator(_role)]
#: A column of a table: texts, numbers, true and false, or lists of readings; a cell that is empty is null.
TableColumn = Annotated[list[Any], Field(max_length=MOST_CELLS, fail_fast=True), AfterValidator(_cells)]


class ReadingBody(StrictBody):
    """How a table is read."""

    map: Annotated[dict[str, str], names_up_to(MOST_NAMES)] | None = Field(
        None, description="Which column is what: {role: column}."
    )
    ignore: Annotated[list[str], Field(max_length=1000, fail_fast=True)] | None = None
    decimal: Literal[".", ","] | None = None
    allow_missing_se: bool = False
    layout: Literal["network", "arms"] | None = None
    counts: Literal["shares"] | None = None


class ToolFile(StrictBody):
    """A file that another tool wrote: its text, or any bytes in base64."""

    name: Text = Field(description="Its name; in a folder, its path there.")
    text: str | None = None
    base64: str | None = None


class ToolFiles(StrictBody):
    """Results as another tool wrote them, and how they are read."""

    reader: Text = Field("auto", description="The tool: hyperfine, lm-eval, ...; auto: by the look of it.")
    files: Annotated[list[ToolFile], Field(min_length=1, max_length=10_000, fail_fast=True)]
    folder: bool = Field(False, description="They are those of a folder; the reader takes its own.")
    choices: Annotated[dict[str, Number | bool | str], names_up_to(MOST_NAMES)] = Field(
        default_factory=dict, description="What the reader can be told: metric, task, unit, ..."
    )


class Importing(ReadingBody):
    """Results, told whole or not at all: a table as text or by columns, or files of another tool."""

    table: Annotated[str, Field(min_length=1)] | ToolFiles | None = Field(
        None, description="CSV, or with tabs or semicolons; or files of another tool."
    )
    columns: Annotated[dict[ColumnName, TableColumn], names_up_to(MOST_NAMES)] | None = Field(
        None, description="In its place: columns by role, in which nothing has to be guessed."
    )
    only: Text | None = Field(None, description="Of files: only these options; * stands for anything.")
    called: Text | None = Field(None, description="Of files: what their only option is called here.")
    block: Text | None = Field(None, description="Of files: the block that all of it was measured in.")
    match: bool = Field(True, description="Rows may answer suggestions, and wait for their results.")
    repeat: Literal["others"] | bool = False
    amend: Long | None = None
    unknown: Literal["refuse", "add", "skip"] = "refuse"
    dry_run: bool = False
