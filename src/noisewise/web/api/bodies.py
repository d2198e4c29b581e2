"""What requests may say, with strict types: a boolean is no number, and nothing unknown is passed over."""

import math
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag

from noisewise.study.intake.roles import ROLE

#: A finite number; an amount may also be written as people do, "2%" or "12.3(4)".
Number = Annotated[float, Field(allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=10**12)]
Text = Annotated[str, Field(min_length=1, max_length=1000)]
Long = Annotated[str, Field(min_length=1, max_length=10_000)]
Amount = Number | Annotated[str, Field(min_length=1, max_length=100)]
#: Rows of one request.
MOST_ROWS = 10_000
#: Options, items and readings of one request.
MOST_LISTED = 200_000
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
TableColumn = Annotated[list[Any], Field(max_length=MOST_CELLS), AfterValidator(_cells)]


class StrictBody(BaseModel):
    """A body whose types are taken as they are said."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    def said(self) -> dict[str, Any]:
        """What was said, without what was left out."""
        return self.model_dump(exclude_none=True)


class MeasuredBody(StrictBody):
    """A value with at most one error bar, and what else is known about it."""

    value: Amount | None = None
    se: Amount | Annotated[list[Number], Field(min_length=2, max_length=2)] | None = Field(
        None, description="A standard error; two if it is asymmetric."
    )
    var: Number | None = None
    sd: Number | None = Field(None, description="The standard deviation of n readings; needs n.")
    n: Count | None = None
    ci: Annotated[list[Number], Field(min_length=2, max_length=2)] | None = None
    level: Number | None = None
    values: Annotated[list[Number], Field(min_length=1, max_length=MOST_LISTED)] | None = Field(
        None, description="Single readings."
    )
    successes: Annotated[int, Field(ge=0, le=10**12)] | None = None
    trials: Count | None = None
    block: Text | None = None
    arm: bool | None = None
    instrument: Text | None = None
    cost: Number | None = None
    at: Number | None = Field(None, description="When, in seconds since 1970.")
    note: Long | None = None


class TellingBody(MeasuredBody):
    """The result of a measurement, asked for (`job`) or not (`option`, or `plus` and `minus`)."""

    job: Text | None = None
    option: Text | None = None
    plus: Text | None = None
    minus: Text | None = None
    items: Annotated[dict[str, Number], Field(min_length=1, max_length=MOST_LISTED)] | None = None
    key: Text | None = Field(None, description="Telling a key again is harmless.")
    by: Text | None = Field(None, description="Who measured; with tokens, the token's name in its place.")


class Tellings(StrictBody):
    """Several results: all of them are taken, or none."""

    tells: Annotated[list[TellingBody], Field(min_length=1, max_length=MOST_ROWS)]


def _one_or_several(body: Any) -> str:
    return "several" if isinstance(body, Tellings) or (isinstance(body, dict) and "tells" in body) else "one"


#: One result, or several; which, is known before the rest is read, so that a refusal speaks of one of them.
OneOrSeveral = Annotated[
    Annotated[TellingBody, Tag("one")] | Annotated[Tellings, Tag("several")], Discriminator(_one_or_several)
]


class AskBody(StrictBody):
    """What to measure next."""

    n: Annotated[int, Field(ge=1, le=10_000)] = 1
    sigma: Amount | None = None
    block: Text | None = None
    probe: Literal["option", "difference"] | None = None
    dry_run: bool = False
    lease: Annotated[Number, Field(gt=0)] | None = Field(None, description="Seconds.")
    by: Text | None = None
    items: Count | None = None
    at_once: bool = Field(False, description="For a run: one decision serves many workers.")


class Closing(StrictBody):
    """Suggestions that are given back: all of them, or none."""

    jobs: Annotated[list[Text], Field(min_length=1, max_length=MOST_ROWS)]
    reason: Long | None = None


class Failing(StrictBody):
    """Suggestions that could not be measured."""

    jobs: Annotated[list[Text], Field(min_length=1, max_length=MOST_ROWS)]
    reason: Long


class Voiding(StrictBody):
    """A measurement that counts no longer."""

    measurement: Text = Field(description='Such as "m-17".')
    reason: Long


class Amending(MeasuredBody):
    """A measurement as it should have been told."""

    measurement: Text
    reason: Long
    option: Text | None = None
    plus: Text | None = None
    minus: Text | None = None
    items: Annotated[dict[str, Number], Field(min_length=1, max_length=MOST_LISTED)] | None = None


class Mending(StrictBody):
    """An unusable event that stays ignored."""

    event: Count
    reason: Long


class Excluding(StrictBody):
    """An option that is out of the comparison."""

    option: Text
    reason: Long


class Including(StrictBody):
    """An option that is back."""

    option: Text


Cell = Number | str | None
OptionRows = (
    Annotated[list[Text], Field(min_length=1, max_length=MOST_LISTED)]
    | Annotated[list[dict[str, Cell]], Field(min_length=1, max_length=MOST_LISTED)]
)


class Adding(StrictBody):
    """More options: names, or rows, or columns, like those of the first ones."""

    options: OptionRows | Annotated[dict[str, list[Cell]], Field(min_length=1, max_length=10_000)]
    id: Text | None = None
    decimal: Literal[".", ","] | None = None


class Switching(StrictBody):
    """Another model from now on."""

    model: Literal["independent", "linear", "linear+deviation"] | None = None
    deviation: Amount | None = None
    extra_scatter: Amount | None = None
    span: Amount | None = None
    looks: Literal["once"] | None = None
    reason: Long | None = None


class Policing(StrictBody):
    """Another rule that asks."""

    name: Text | None = None
    options: dict[str, Number | bool | str | None] = Field(default_factory=dict)


class Renaming(StrictBody):
    """Another name for a study."""

    name: Text


class ReadingBody(StrictBody):
    """How a table is read."""

    map: dict[str, str] | None = Field(None, description="Which column is what: {role: column}.")
    ignore: Annotated[list[str], Field(max_length=1000)] | None = None
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
    files: Annotated[list[ToolFile], Field(min_length=1, max_length=10_000)]
    folder: bool = Field(False, description="They are those of a folder; the reader takes its own.")
    choices: dict[str, Number | bool | str] = Field(
        default_factory=dict, description="What the reader can be told: metric, task, unit, ..."
    )


class Importing(ReadingBody):
    """Results, told whole or not at all: a table as text or by columns, or files of another tool."""

    table: Annotated[str, Field(min_length=1)] | ToolFiles | None = Field(
        None, description="CSV, or with tabs or semicolons; or files of another tool."
    )
    columns: dict[ColumnName, TableColumn] | None = Field(
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


class NewStudy(StrictBody):
    """A new study: which of these options is the best?"""

    name: Text
    options: OptionRows | None = None
    results: Annotated[str, Field(min_length=1)] | ToolFiles | None = Field(
        None, description="Results to begin with: a table as text, or files of another tool."
    )
    reading: ReadingBody | None = Field(None, description="How `results` are read.")
    id: Text | None = None
    features: Annotated[list[Text], Field(max_length=10_000)] | None = None
    cost: Text | None = None
    model: Literal["independent", "linear", "linear+deviation"] = "independent"
    goal: Literal["max", "min"] = "max"
    eps: Amount | None = None
    confidence: Annotated[Number, Field(gt=0, lt=1)] = 0.95
    span: Amount | None = None
    deviation: Amount | None = None
    extra_scatter: Amount | None = None
    blocks: Literal["contrasts", "any"] = "contrasts"
    budget: Count | None = None
    looks: Literal["any time", "once"] = "any time"
    bounds: Annotated[list[Number], Field(min_length=2, max_length=2)] | None = None
    scatter: Literal["own", "pooled"] | None = None
    noise: Literal["normal", "heavy", "symmetric"] = "normal"
    items: Count | Annotated[list[Text], Field(min_length=1, max_length=MOST_LISTED)] | None = None
    unit: Text | None = None
    scale: Literal["linear", "log"] = "linear"
    policy: Text | None = None
    policy_options: dict[str, Number | bool | str | None] | None = None
    noise_floor: Amount | None = None
    lease: Annotated[Number, Field(gt=0)] | None = None
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    dry_run: bool = Field(False, description="Only say how it is understood; nothing is made.")


class Rebuilding(StrictBody):
    """A study that is rebuilt from an exported log."""

    log: Annotated[str, Field(min_length=1)]
    name: Text | None = None


class Sharing(StrictBody):
    """A link to the report of a study, for whoever has it."""

    name: Text = Field(description="Whom it is for, to know it again when it is revoked.")
