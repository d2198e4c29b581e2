"""Tables of everything in a study."""

from typing import Any

import numpy as np
import polars as pl

from noisewise.core.checks import check_choice
from noisewise.core.text import moment
from noisewise.study.certificates.certificate import Certificate
from noisewise.study.certificates.claims import may_be_best
from noisewise.study.certificates.good_enough import known_good_enough
from noisewise.study.log.events import Event
from noisewise.study.log.state import State
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.fit import difference_errors, display_errors, only_differences
from noisewise.study.telling.error_bars import ITEMS
from noisewise.study.telling.items import read_values

FRAMES = ("measurements", "options", "events", "items")


def make_frame(
    what: str, state: State, analysis: Analysis, certificate: Certificate, events: list[Event]
) -> pl.DataFrame:
    """A polars frame of one side of the study."""
    check_choice("what", what, FRAMES)
    if what == "measurements":
        return _measurements(state, analysis)
    if what == "items":
        return _items(state)
    return _options(state, analysis, certificate) if what == "options" else _events(events)


def _measurements(state: State, analysis: Analysis) -> pl.DataFrame:
    numbers = range(1, len(state.told) + 1)
    sigma = np.full(len(state.told), np.nan)
    sigma[analysis.columns.number - 1] = analysis.sigmas.estimated
    bodies = list(state.told)
    texts = {
        name: [body.get(name) for body in bodies]
        for name in ("option", "minus", "kind", "block", "instrument", "key", "job", "by")
    }
    if analysis.specification.value_scale.log:  # the errors of logarithms, in the unit of the values
        sigma[analysis.columns.number - 1] *= np.exp(analysis.columns.value)
    values, shown, costs = (
        pl.Series([body.get(name) for body in bodies], dtype=pl.Float64)
        for name in ("value", "shown", "cost")
    )
    columns = {
        "id": [f"m-{number}" for number in numbers],
        "option": texts["option"],
        "minus": texts["minus"],
        "value": values,
        "se": shown,
        "sigma": pl.Series(sigma).fill_nan(None),
        "kind": texts["kind"],
        "block": texts["block"],
        **({} if analysis.columns.arm is None else {"arm": ["true" if "arm" in b else None for b in bodies]}),
        "instrument": texts["instrument"],
        "key": texts["key"],
        "job": texts["job"],
        "by": texts["by"],
        "cost": costs,
        **({"items": [body.get("places") for body in bodies]} if state.items else {}),
        "note": [_notes(body) for body in bodies],
        "voided": [state.voided.get(number) for number in numbers],
    }
    given = [name for name, column in columns.items() if isinstance(column, list)]
    return pl.DataFrame(columns, schema_overrides=dict.fromkeys(given, pl.String))


def _notes(body: dict[str, Any]) -> str | None:
    said = [*body.get("notes", ()), *([body["note"]] if "note" in body else [])]
    return "; ".join(map(str, said)) or None


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
    if analysis.specification.value_scale.log:
        errors = errors * np.where(np.isfinite(estimate), estimate, np.nan)
    excluded: list[str | None] = [None] * analysis.n
    for at, reason in state.excluded.items():
        excluded[at] = reason
    leader = certificate.option if certificate.may_show_bounds else None
    frame = pl.DataFrame(
        {
            "option": state.ids,
            "estimate": estimate,
            "se": np.where(measured & np.isfinite(errors) & (errors > 0.0), errors, np.nan),
            "measurements": looks,
            "may_be_best": may_be_best(certificate, state.ids, state.excluded),
            "recommended": np.arange(analysis.n) == (-1 if leader is None else state.index[leader]),
            "excluded": excluded,
        },
        schema_overrides={"excluded": pl.String, "may_be_best": pl.Boolean},
    )
    if analysis.specification.eps is not None:
        good = known_good_enough(analysis, certificate)
        column = pl.Series("good_enough", [good.get(name) for name in state.ids], dtype=pl.Boolean)
        frame = frame.with_columns(column)
    if state.costs is not None:
        frame = frame.with_columns(pl.Series("cost", state.costs))
    if certificate.option is not None and only_differences(analysis.sums):
        frame = _with_differences(frame, analysis, certificate.option)
    return frame.with_columns(pl.col("estimate", "se").fill_nan(None))


def _with_differences(frame: pl.DataFrame, analysis: Analysis, leader: str) -> pl.DataFrame:
    """Where levels are a convention: differences to the recommended option come first, and what is linked.

    Of values on a log scale ratios are known in the place of differences.
    """
    fit, at = analysis.estimates, analysis.state.index[leader]
    linked = (fit.group >= 0) & analysis.comparable(leader)
    apart = analysis.specification.sign * fit.differences(at) + 0.0  # no -0
    name, errors = "difference", difference_errors(fit, at)
    if analysis.specification.value_scale.log:
        name, apart = "ratio", np.exp(apart)
        errors = errors * apart
    added = [
        pl.Series(name, np.where(linked, apart, np.nan)).fill_nan(None),
        pl.Series(f"{name}_se", np.where(linked, errors, np.nan)).fill_nan(None),
        pl.Series("linked", linked),
    ]
    return frame.select("option", *added, pl.exclude("option"))


def _items(state: State) -> pl.DataFrame:
    """Return every item that counts: a row for an option and an item, in the order that all share."""
    parts = []
    for number, body in enumerate(state.told, start=1):
        if body.get("kind") == ITEMS and state.measurements.is_live(number):
            places = state.items.read(body).places
            values = read_values(body["items"], places.size)
            parts.append(
                pl.DataFrame({"place": places + 1, "value": values}).select(
                    pl.lit(body["option"]).alias("option"),
                    "place",
                    "value",
                    pl.lit(f"m-{number}").alias("measurement"),
                )
            )
    names = pl.DataFrame(
        {"place": 1 + np.arange(len(state.items.names)), "item": state.items.names},
        schema={"place": pl.Int64, "item": pl.String},
    )
    empty = pl.DataFrame(
        schema={"option": pl.String, "place": pl.Int64, "value": pl.Float64, "measurement": pl.String}
    )
    told = pl.concat([empty, *parts]).join(names, on="place", how="left", maintain_order="left")
    return told.select("option", "item", "value", "place", "measurement")


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
