"""Types of requests: a boolean is not a number, and unknown fields are refused.

Every list stops at its first mistake (`fail_fast`), and every object has a limit of names: a body of a few
megabytes could otherwise make millions of errors, each a thousand bytes.
"""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

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
#: Names of one object: of settings, and of the columns of a row.
MOST_NAMES, MOST_COLUMNS = 1000, 10_000


def names_up_to(most: int) -> BeforeValidator:
    """The annotation of an object that has at most so many names, checked before its values are."""
    return BeforeValidator(lambda said: _checked_names(said, most))


def _checked_names(said: Any, most: int) -> Any:
    if isinstance(said, dict) and len(said) > most:
        raise PydanticCustomError("too_many", f"an object has {len(said):,} names where {most:,} are allowed")
    return said


class StrictBody(BaseModel):
    """A body whose types are taken as they are said."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _check_names(cls, said: Any) -> Any:
        return _checked_names(said, MOST_NAMES)

    def said(self) -> dict[str, Any]:
        """What was said, without what was left out."""
        return self.model_dump(exclude_none=True)
