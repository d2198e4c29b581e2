"""Two studies side by side: their certificates, and the options that both have."""

from collections.abc import Mapping
from typing import NamedTuple

import polars as pl

from noisewise.core.support.words import aligned
from noisewise.web.pages.views.headline import Headline
from noisewise.web.pages.views.measurements import signed
from noisewise.web.pages.views.paging import Pager, page_of


class SharedRow(NamedTuple):
    """An option of both studies."""

    option: str
    one: str
    one_error: str
    other: str
    other_error: str
    apart: str  # how far the two estimates lie from each other, in their common standard error
    odd: bool


class Side(NamedTuple):
    """One of the two."""

    name: str
    headline: Headline
    measurements: int
    options: int
    unit: str | None


class TwoStudies(NamedTuple):
    """What the page shows."""

    sides: list[Side]
    rows: list[SharedRow]
    pager: Pager
    said: str


def compare(sides: list[Side], frames: list[pl.DataFrame], query: Mapping[str, str]) -> TwoStudies:
    """Both studies with their shared options, the best of the first one first."""
    one, other = (frame.select("option", "estimate", "se", "recommended") for frame in frames)
    joined = one.join(other, on="option", how="inner", suffix="_2", maintain_order="left")
    joined = joined.sort("estimate", descending=True, nulls_last=True)
    kept = {name: query.get(name, "") for name in ("a", "b")}
    pager = page_of(len(joined), query.get("page"), kept)
    shown = joined[pager.first : pager.last]
    firsts = aligned(shown["estimate"].to_list(), shown["se"].to_list())
    seconds = aligned(shown["estimate_2"].to_list(), shown["se_2"].to_list())
    rows = []
    for row, first, second in zip(shown.iter_rows(named=True), firsts, seconds, strict=True):
        apart = _apart(row["estimate"], row["se"], row["estimate_2"], row["se_2"])
        rows.append(
            SharedRow(
                row["option"],
                *_shown(first),
                *_shown(second),
                "" if apart is None else signed(apart),
                apart is not None and abs(apart) > 3.0,
            )
        )
    units = {side.unit for side in sides}
    said = f"{len(joined):,} option{' is' if len(joined) == 1 else 's are'} in both."
    if len(units) > 1:
        said += " Their values have different units: compare ranks, not numbers."
    return TwoStudies(sides, rows, pager, said)


def _shown(value: tuple[str, str] | None) -> tuple[str, str]:
    return ("", "") if value is None else (value[0].replace("-", "−"), value[1])


def _apart(one: float | None, se: float | None, other: float | None, se_other: float | None) -> float | None:
    if one is None or other is None or not (se and se_other):
        return None
    return float((other - one) / (se**2 + se_other**2) ** 0.5)
