"""What was each measurement worth: its precision, what it taught, and what it did to the bound."""

import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from noisewise.core.model.dense import Floats
from noisewise.core.support.checks import check_choice
from noisewise.core.support.remarks import progress
from noisewise.core.support.words import as_html, counted, number, percent
from noisewise.study.asking.what_if import WhatIf
from noisewise.study.certificates.bound import recommend
from noisewise.study.inputs.value_scale import AS_TOLD, ValueScale
from noisewise.study.log.measurements import Codes
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.scatter import has_own_scatter
from noisewise.study.planning.ledger import information

#: A measurement is a quiet one if its standard error is at most this part of the median.
QUIET = 0.5
#: Rows in words.
SHOWN = 5
GROUPS = ("block", "instrument", "option")


@dataclass(frozen=True, eq=False)
class Worth:
    """The ledger: one row per measurement that counts, in the order of telling."""

    ledger: pl.DataFrame
    information: float  # the growth of the log-determinant, in nats
    precision: float
    equivalent: float  # as many measurements at the average noise would carry the same precision
    looks: int  # after how many measurements the bound was computed
    withheld: tuple[str, ...] = ()  # why there are no bounds, if the certificate is withheld
    scale: ValueScale = AS_TOLD  # how its numbers are shown

    def by(self, what: str) -> pl.DataFrame:
        """The ledger summed by ``"block"``, ``"instrument"`` or ``"option"``."""
        check_choice("what", what, GROUPS)
        return (
            self.ledger.group_by(what, maintain_order=True)
            .agg(
                measurements=pl.len(),
                precision=pl.col("precision").sum(),
                precision_share=pl.col("precision_share").sum(),
                information=pl.col("information").sum(),
                share=pl.col("share").sum(),
            )
            .sort("share", descending=True, maintain_order=True)
        )

    def lines_by(self, what: str) -> list[str]:
        """The same in words."""
        return [
            f"  {row[what] or f'no {what}'}: {counted(row['measurements'], 'measurement')}, "
            f"{percent(row['precision_share'], 1)} of the precision, {percent(row['share'], 1)} of what was "
            "learnt"
            for row in self.by(what).to_dicts()
        ]

    @property
    def sentence(self) -> str:
        """What unequal error bars are worth."""
        count = len(self.ledger)
        if not count:
            return "Nothing was measured yet."
        if count == 1:
            return "There is one measurement so far."
        as_many = f"as much information as {number(self.equivalent)} at the average noise"
        text = f"Your {count:,} measurements carry {as_many}"
        quiet = self.ledger.filter("quiet")
        if quiet.is_empty():
            return f"{text}."
        part = float(quiet["precision_share"].sum())
        those = "the quietest holds" if len(quiet) == 1 else f"the {len(quiet):,} quietest hold"
        return f"{text}; {those} {percent(part, 1)} of all precision."

    def __str__(self) -> str:
        lines = [self.sentence]
        top = self.ledger.sort("share", descending=True, maintain_order=True)[:SHOWN]
        if len(top):
            bounded = not self.withheld and top["bound_after"].is_not_null().any()
            bounds = "; bound before and after" if bounded else ""
            lines.append(f"Worth most (share of what was learnt{bounds}):")
        for row in top.to_dicts():
            what = row["option"] if row["minus"] is None else f"{row['option']} - {row['minus']}"
            error = f"{row['sigma']:.3g}"
            if self.scale.log:
                error = self.scale.error(row["sigma"] / row["value"])
            said = f"  {row['id']} {what} ± {error}: {percent(row['share'], 1)}"
            if not self.withheld and row["bound_after"] is not None:
                said += f", {self._bound(row['bound_before'])} to {self._bound(row['bound_after'])}"
            lines.append(said)
        for what in ("instrument", "block"):
            if self.ledger[what].is_not_null().any():
                lines += [f"By {what}:", *self.lines_by(what)[:SHOWN]]
        if self.withheld:
            lines.append(
                f"No bounds are shown, since the certificate is withheld: {'; '.join(self.withheld)}."
            )
        return "\n".join(lines)

    __repr__ = __str__

    def _bound(self, value: float | None) -> str:
        return "no bound" if value is None else self.scale.short(value)

    def _repr_html_(self) -> str:
        return as_html("Worth", str(self).splitlines())


def find_worth(analysis: Analysis, looks: int, withheld: tuple[str, ...] = ()) -> Worth:
    """The ledger of the measurements that count.

    Args:
        analysis: What is known.
        looks: After how many of them to look at the bound, at most.
        withheld: Why there is no certificate: then there are no bounds either.
    """
    columns, state, scale = analysis.columns, analysis.state, analysis.specification.value_scale
    told_values = scale.undone(columns.value)
    sigma = analysis.sigmas.estimated
    precision = sigma**-2.0
    learnt = information(analysis)
    places = look_places(learnt, looks) if not withheld else np.zeros(0, dtype=np.int64)
    before, after = _bounds(analysis, places)
    told = [state.told[number - 1] for number in columns.number]
    ledger = pl.DataFrame(
        {
            "id": [f"m-{number}" for number in columns.number],
            "option": [body["option"] for body in told],
            "minus": [body.get("minus") for body in told],
            "value": told_values,
            "sigma": sigma * told_values if scale.log else sigma,
            "block": [body.get("block") for body in told],
            "instrument": [body.get("instrument") for body in told],
            "quiet": sigma <= QUIET * np.median(sigma) if sigma.size else np.zeros(0, dtype=bool),
            "precision": precision,
            "precision_share": precision / precision.sum(),
            "information": learnt,
            "share": learnt / learnt.sum(),
            "bound_before": before,
            "bound_after": after,
        },
        schema_overrides={name: pl.String for name in ("id", "option", "minus", "block", "instrument")},
    )
    return Worth(
        ledger=ledger.with_columns(pl.col("bound_before", "bound_after").fill_nan(None)),
        information=float(learnt.sum()),
        precision=float(precision.sum()),
        equivalent=float(np.mean(sigma**2) * precision.sum()) if sigma.size else 0.0,
        looks=places.size,
        withheld=withheld,
        scale=scale,
    )


def look_places(learnt: Floats, most: int) -> Codes:
    """After which measurements to look: all, or those that taught most with their forerunners, and some."""
    count = learnt.size
    if count <= most:
        return np.arange(1, count + 1)
    taught = np.argsort(-learnt, kind="stable")[: most // 4] + 1
    spread = np.linspace(1, count, most - 2 * taught.size).round().astype(np.int64)
    places = np.unique(np.concatenate([taught, taught - 1, spread]))
    return places[places > 0]


class _SoFar(WhatIf):
    """The study when its first measurements had come in: none of them is imagined or put together."""

    @property
    def own_scatter(self) -> bool:
        """As in the study itself."""
        return not self.once and has_own_scatter(self.state)


def bound_after(analysis: Analysis, count: int) -> float:
    """The bound when the first ``count`` measurements had come in, a misfit apart; NaN if there was none."""
    columns = analysis.columns
    some = columns.select(np.arange(columns.value.size) < count)
    first = _SoFar(analysis.state, some, analysis.sizes)
    found = recommend(first)
    return math.nan if found is None or math.isinf(found.bound) else found.bound


def _bounds(analysis: Analysis, places: Codes) -> tuple[Floats, Floats]:
    """The bound before and after every measurement, (N,) each; NaN where it was not computed or is none."""
    bounds = np.full(analysis.columns.value.size + 1, np.nan)
    for done, place in enumerate(places):
        progress("computing bounds", done, places.size)
        bounds[place] = bound_after(analysis, int(place))
    return bounds[:-1], bounds[1:]
