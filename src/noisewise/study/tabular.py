"""Tables of everything in a study."""

import math
from typing import Any

import numpy as np
import polars as pl

from noisewise.core.checks import check_choice
from noisewise.study.analysis import Analysis
from noisewise.study.certificate import Certificate
from noisewise.study.show import moment
from noisewise.study.state import State
from noisewise.study.storage import Event

FRAMES = ("measurements", "options", "events")


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
    unusable = {one.number: str(one) for one in state.ignored.values() if one.mended is None}
    sigma[analysis.columns.number - 1] = analysis.sigmas.estimated
    rows = [
        {
            "id": f"m-{number}",
            "option": body.get("option"),
            "minus": body.get("minus"),
            "value": _number(body.get("value")),
            "se": _number(body.get("shown")),
            "sigma": None if math.isnan(sigma[number - 1]) else float(sigma[number - 1]),
            "kind": body.get("kind"),
            "block": body.get("block"),
            "instrument": body.get("instrument"),
            "key": body.get("key"),
            "job": body.get("job"),
            "by": body.get("by"),
            "cost": _number(body.get("cost")),
            "note": "; ".join([*body.get("notes", ()), *([body["note"]] if "note" in body else [])]) or None,
            "voided": state.voided.get(number) or unusable.get(number),
        }
        for number, body in enumerate(state.told, start=1)
    ]
    texts = ("id", "option", "minus", "kind", "block", "instrument", "key", "job", "by", "note", "voided")
    numbers = ("value", "se", "sigma", "cost")
    names = list(rows[0]) if rows else [*texts, *numbers]
    schema = {name: pl.Float64 if name in numbers else pl.String for name in names}
    return pl.DataFrame(rows, schema=schema, strict=False)


def _number(given: Any) -> float | None:
    """A number of the log, which an event that is ignored need not have."""
    return float(given) if type(given) in (int, float) and abs(given) < 1e308 else None


def _options(state: State, analysis: Analysis, certificate: Certificate) -> pl.DataFrame:
    fit = analysis.estimates
    columns = analysis.columns
    measured = fit.group >= 0 if columns.value.size else np.zeros(analysis.n, dtype=bool)
    errors = np.sqrt(fit.variances())
    looks = np.bincount(columns.plus, minlength=analysis.n)
    estimate = np.where(measured, analysis.estimated_values(), np.nan)
    candidates = set(certificate.candidates)
    frame = pl.DataFrame(
        {
            "option": state.ids,
            "estimate": estimate,
            "se": np.where(measured & np.isfinite(errors), errors, np.nan),
            "measurements": looks,
            "may_be_best": [name in candidates for name in state.ids],
            "recommended": [name == certificate.option for name in state.ids],
            "excluded": [state.excluded.get(row) for row in range(analysis.n)],
        },
        schema_overrides={"excluded": pl.String},
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
