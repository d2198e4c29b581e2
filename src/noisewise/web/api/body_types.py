"""Types that requests are made of: a boolean is no number, and nothing unknown is passed over."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

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


class StrictBody(BaseModel):
    """A body whose types are taken as they are said."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    def said(self) -> dict[str, Any]:
        """What was said, without what was left out."""
        return self.model_dump(exclude_none=True)
