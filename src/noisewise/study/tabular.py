"""Measurements from a table, and tables of everything in a study."""

import math
from typing import Any

import numpy as np
import polars as pl

from noisewise.core.checks import check_choice, nearest
from noisewise.study.analysis import Analysis
from noisewise.study.certificate import Certificate
from noisewise.study.claims import may_be_best, standings
from noisewise.study.levels import display_errors
from noisewise.study.show import moment
from noisewise.study.state import State
from noisewise.study.storage import Event
from noisewise.study.tables import read_table
from noisewise.study.telling import ABOUT, ERROR_WAYS

FRAMES = ("measurements", "options", "events")
#: Columns of a table of measurements; intervals and asymmetric errors take two each.
COLUMNS = (
    "option", "plus", "minus", "value", *ERROR_WAYS, "lo", "hi", "se_up", "se_down", *ABOUT, "at", "cost",
    "job",
)  # fmt: skip


def read_rows(source: Any) -> list[dict[str, Any]]:
    """The rows of a table of measurements, as arguments of `tell`."""
    table = read_table("measurements", source)
    for column in table.columns:
        if column not in COLUMNS:
            raise ValueError(
                f"`measurements` has a column {column!r} that means nothing here; rename or drop it. "
                f"Known: {', '.join(COLUMNS)}.{nearest(column, COLUMNS)}"
            )
    return [_row(row) for row in table.to_dicts()]


def _row(row: dict[str, Any]) -> dict[str, Any]:
    given = {name: value for name, value in row.items() if value is not None and value != ""}
    if "lo" in given or "hi" in given:
        given["ci"] = (given.pop("lo", math.nan), given.pop("hi", math.nan))
    if "se_up" in given or "se_down" in given:
        given["se"] = (given.pop("se_down", math.nan), given.pop("se_up", math.nan))
    if isinstance(given.get("values"), str):
        given["values"] = [float(part) for part in given["values"].split(";")]
    return given


def make_frame(
    what: str, state: State, analysis: Analysis, certificate: Certificate, events: list[Event]
) -> pl.DataFrame:
    """A polars frame of one side of the study."""
    check_choice("what", what, FRAMES)
    if what == "measurements":
        return _measurements(state, analysis)
    return _options(state, analysis, certificate) if what == "options" else _events(events)


def _measurements(state: State, analysis: Analysis) -> pl.DataFrame:
    sigma = np.full(len(state.told), np.nan)
    sigma[analysis.columns.number - 1] = analysis.sigmas.estimated
    rows = [
        {
            "id": f"m-{number}",
            "option": body["option"],
            "minus": body.get("minus"),
            "value": body["value"],
            "se": body.get("shown"),
            "sigma": None if math.isnan(sigma[number - 1]) else float(sigma[number - 1]),
            "kind": body["kind"],
            "block": body.get("block"),
            "instrument": body.get("instrument"),
            "key": body.get("key"),
            "job": body.get("job"),
            "by": body.get("by"),
            "cost": body.get("cost"),
            "note": "; ".join([*body.get("notes", ()), *([body["note"]] if "note" in body else [])]) or None,
            "voided": state.voided.get(number),
        }
        for number, body in enumerate(state.told, start=1)
    ]
    texts = ("id", "option", "minus", "kind", "block", "instrument", "key", "job", "by", "note", "voided")
    numbers = ("value", "se", "sigma", "cost")
    names = list(rows[0]) if rows else [*texts, *numbers]
    return pl.DataFrame(rows, schema={name: pl.Float64 if name in numbers else pl.String for name in names})


def _options(state: State, analysis: Analysis, certificate: Certificate) -> pl.DataFrame:
    fit = analysis.estimates
    columns = analysis.columns
    measured = fit.group >= 0 if columns.value.size else np.zeros(analysis.n, dtype=bool)
    errors = display_errors(fit, analysis.sums)
    sides = np.concatenate([columns.plus, columns.minus[columns.minus >= 0]])  # a difference is of two
    looks = np.bincount(sides, minlength=analysis.n)
    estimate = np.where(
        measured & analysis.comparable(certificate.option), analysis.estimated_values(), np.nan
    )
    said = standings(certificate, state.ids, state.excluded)
    frame = pl.DataFrame(
        {
            "option": state.ids,
            "estimate": estimate,
            "se": np.where(measured & np.isfinite(errors) & (errors > 0.0), errors, np.nan),
            "measurements": looks,
            "may_be_best": [may_be_best(standing) for standing in said],
            "recommended": [name == certificate.option for name in state.ids],
            "excluded": [state.excluded.get(row) for row in range(analysis.n)],
        },
        schema_overrides={"excluded": pl.String, "may_be_best": pl.Boolean},
    )
    if state.costs is not None:
        frame = frame.with_columns(pl.Series("cost", state.costs))
    return frame.with_columns(pl.col("estimate", "se").fill_nan(None))


def _events(events: list[Event]) -> pl.DataFrame:
    import json

    return pl.DataFrame(
        {
            "number": [event.number for event in events],
            "at": [moment(event.at) for event in events],
            "kind": [event.kind for event in events],
            "body": [json.dumps(event.body) for event in events],
        },
        schema={"number": pl.Int64, "at": pl.Datetime("us", "UTC"), "kind": pl.String, "body": pl.String},
    )
