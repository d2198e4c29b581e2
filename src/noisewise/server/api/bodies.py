"""What requests may say, with strict types."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from noisewise.server.api.body_types import (
    MOST_COLUMNS,
    MOST_LISTED,
    MOST_NAMES,
    MOST_ROWS,
    Amount,
    Count,
    Long,
    Number,
    StrictBody,
    Text,
    names_up_to,
)
from noisewise.server.api.table_bodies import ReadingBody, ToolFiles


class MeasuredBody(StrictBody):
    """A value with at most one error bar, and what else is known about it."""

    value: Amount | None = None
    se: Amount | Annotated[list[Number], Field(min_length=2, max_length=2, fail_fast=True)] | None = Field(
        None, description="A standard error; two if it is asymmetric."
    )
    var: Number | None = None
    sd: Number | None = Field(None, description="The standard deviation of n readings; needs n.")
    n: Count | None = None
    ci: Annotated[list[Number], Field(min_length=2, max_length=2, fail_fast=True)] | None = None
    level: Number | None = None
    values: Annotated[list[Number], Field(min_length=1, max_length=MOST_LISTED, fail_fast=True)] | None = (
        Field(None, description="Single readings.")
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
    items: Annotated[dict[str, Number], Field(min_length=1), names_up_to(MOST_LISTED)] | None = None
    key: Text | None = Field(None, description="Telling a key again is harmless.")
    by: Text | None = Field(None, description="Who measured; with tokens, the token's name in its place.")


class Tellings(StrictBody):
    """Several results: all of them are taken, or none."""

    tells: Annotated[list[TellingBody], Field(min_length=1, max_length=MOST_ROWS, fail_fast=True)]


def _one_or_several(body: Any) -> str:
    return "several" if isinstance(body, Tellings) or (isinstance(body, dict) and "tells" in body) else "one"


#: One result, or several; which, is known before the rest is read, so that a refusal speaks of one of them.
OneOrSeveral = Annotated[
    Annotated[TellingBody, Tag("one")] | Annotated[Tellings, Tag("several")], Discriminator(_one_or_several)
]


#: Suggestions of one request: others wait for the study while they are computed.
MOST_ASKED = 500


class AskBody(StrictBody):
    """What to measure next."""

    n: Annotated[int, Field(ge=1, le=MOST_ASKED)] = 1
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

    jobs: Annotated[list[Text], Field(min_length=1, max_length=MOST_ROWS, fail_fast=True)]
    reason: Long | None = None


class Failing(StrictBody):
    """Suggestions that could not be measured."""

    jobs: Annotated[list[Text], Field(min_length=1, max_length=MOST_ROWS, fail_fast=True)]
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
    items: Annotated[dict[str, Number], Field(min_length=1), names_up_to(MOST_LISTED)] | None = None


class Excluding(StrictBody):
    """An option that is out of the comparison."""

    option: Text
    reason: Long


class Including(StrictBody):
    """An option that is back."""

    option: Text


Cell = Number | str | None
Settings = Annotated[dict[str, Number | bool | str | None], names_up_to(MOST_NAMES)]
OptionRows = (
    Annotated[list[Text], Field(min_length=1, max_length=MOST_LISTED, fail_fast=True)]
    | Annotated[
        list[Annotated[dict[str, Cell], names_up_to(MOST_COLUMNS)]],
        Field(min_length=1, max_length=MOST_LISTED, fail_fast=True),
    ]
)


class Adding(StrictBody):
    """More options: names, or rows, or columns, like those of the first ones."""

    options: (
        OptionRows
        | Annotated[
            dict[str, Annotated[list[Cell], Field(fail_fast=True)]],
            Field(min_length=1),
            names_up_to(MOST_COLUMNS),
        ]
    )
    id: Text | None = None
    decimal: Literal[".", ","] | None = None


class Switching(StrictBody):
    """Another model from now on."""

    model: Literal["independent", "linear", "linear+deviation"] | None = None
    deviation: Amount | None = None
    extra_scatter: Amount | None = None
    final: bool | None = None
    reason: Long | None = None


class Policing(StrictBody):
    """Another rule that asks."""

    name: Text | None = None
    options: Settings = Field(default_factory=dict)


class Renaming(StrictBody):
    """Another name for a study."""

    name: Text


class NewStudy(StrictBody):
    """A new study: which of these options is the best?"""

    name: Text
    options: OptionRows | None = None
    results: Annotated[str, Field(min_length=1)] | ToolFiles | None = Field(
        None, description="Results to begin with: a table as text, or files of another tool."
    )
    reading: ReadingBody | None = Field(None, description="How `results` are read.")
    roles: Annotated[dict[str, Text], names_up_to(MOST_COLUMNS)] | None = None
    features: Annotated[list[Text], Field(max_length=10_000, fail_fast=True)] | None = None
    model: Text | None = None
    measure: (
        Text
        | Annotated[
            dict[Literal["items", "ratings", "rounds"], Count | list[Any]], Field(min_length=1, max_length=1)
        ]
        | None
    ) = None
    errors: Annotated[dict[str, Amount], names_up_to(MOST_NAMES)] | Text | None = None
    scale: Literal["linear", "log"] = "linear"
    unit: Text | None = None
    goal: Literal["max", "min"] = "max"
    eps: Amount | None = None
    confidence: Annotated[Number, Field(gt=0, lt=1)] = 0.95
    budget: Count | None = None
    policy: Text | None = None
    final: bool = False
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] | None = None
    dry_run: bool = Field(False, description="Only say how it is understood; nothing is made.")


class Rebuilding(StrictBody):
    """A study that is rebuilt from an exported log."""

    log: Annotated[str, Field(min_length=1)]
    name: Text | None = None


class Sharing(StrictBody):
    """A link to the report of a study, for whoever has it."""

    name: Text = Field(description="Whom it is for, to know it again when it is revoked.")
