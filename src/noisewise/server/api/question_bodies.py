"""What requests may ask about a study, with strict types: plans, worth, reports, slots, certificates."""

from typing import Annotated, Any, Literal

from pydantic import Field

from noisewise.server.api.body_types import MOST_NAMES, Amount, Number, StrictBody, Text, names_up_to


class NoiseLevelBody(StrictBody):
    """A level of noise, with its share of the measurements or its cost."""

    sigma: Amount
    share: Number | None = None
    cost: Number | None = None


class PlanningBody(StrictBody):
    """A forecast, which is computed by a worker."""

    noise: Annotated[list[NoiseLevelBody], Field(min_length=1, max_length=100, fail_fast=True)] | None = None
    menu: Annotated[list[NoiseLevelBody], Field(min_length=1, max_length=100, fail_fast=True)] | None = None
    eps: Amount | None = None
    span: Amount | None = None
    paths: Annotated[int, Field(ge=2, le=1000)] = 19
    most: Annotated[int, Field(ge=1, le=10**9)] = 1_000_000
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    block: Annotated[int, Field(ge=1, le=10_000)] | None = None
    batch: Annotated[int, Field(ge=1, le=10_000)] | None = None


class WorthBody(StrictBody):
    """A ledger of the measurements, summed up or not."""

    by: Literal["block", "instrument", "option"] | None = None
    looks: Annotated[int, Field(ge=8, le=100_000)] | None = None


class Reporting(StrictBody):
    """A report, which is computed by a worker."""

    plan: bool | PlanningBody = Field(False, description="Also say what it would take.")
    most: Annotated[int, Field(ge=1, le=10_000)] = 40


class Slots(StrictBody):
    """Opportunities whose error bar is known."""

    sigma: Annotated[list[Amount], Field(min_length=1, max_length=1000, fail_fast=True)]
    budget: Number | None = None
    block: Text | None = None
    probe: Literal["option", "difference"] | None = None


class Certified(StrictBody):
    """A certificate that is computed afresh from the log."""

    certificate: Annotated[dict[str, Any], names_up_to(MOST_NAMES)]
