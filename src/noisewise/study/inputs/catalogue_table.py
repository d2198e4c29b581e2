"""Reading a catalogue: a table of options as people hand it in, checked, merged and encoded."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from noisewise.core.blocks import Floats
from noisewise.core.checks import COST, VALUE, nearest
from noisewise.core.text import check_text, check_texts, composed, some_of
from noisewise.study.inputs.catalogue import Feature, OptionCatalogue
from noisewise.study.inputs.dialects.headers import columns_called, key_of
from noisewise.study.inputs.dialects.wording import Wording
from noisewise.study.inputs.number_columns import are_numbers, plain_numbers, read_column
from noisewise.study.inputs.numbers import is_number
from noisewise.study.inputs.read_table import ReadTable
from noisewise.study.inputs.tables import as_texts, is_plain_list, read_whole


def read_catalogue(
    options: Any,
    *,
    id: str | None,
    features: Sequence[str] | None,
    cost: str | None,
    needs_features: bool,
    known: Sequence[Feature] | None = None,
    decimal: str | None = None,
) -> OptionCatalogue:
    """Check the table of options and encode its features.

    Args:
        options: A table, or a plain list of names.
        id: The column with the names; default: the one called "id", or the only one there is.
        features: Feature columns; default: all but names and costs. A model that uses none keeps those that
            are named, so that another model can use them later.
        cost: The column with the costs; default: the one called "cost", if any.
        needs_features: Whether the model that the study begins with uses features.
        known: Features of an earlier catalogue that these options join.
        decimal: The decimal sign of the table, where its cells do not settle it.
    """
    whole = ReadTable(_listed(options)) if is_plain_list(options) else read_whole("options", options)
    with whole.placed():
        return _catalogue(whole, id, features, cost, needs_features, known, decimal)


def _catalogue(
    whole: ReadTable,
    id: str | None,
    features: Sequence[str] | None,
    cost: str | None,
    needs_features: bool,
    known: Sequence[Feature] | None,
    decimal: str | None,
) -> OptionCatalogue:
    table = whole.frame
    id, cost, features = _as_written(table, id, cost, features)
    id = _id_column(table, id, whole.words)
    whole.refuse_dates([id])
    table = table.with_columns(_names(table, id))
    cost = cost if cost is not None else ("cost" if "cost" in table.columns and cost != id else None)
    if cost is not None:
        _check_present(table, "cost", cost)
    chosen = _chosen(table, id, cost, features) if needs_features or features else []
    for column in (id, *([cost] if cost else []), *chosen):
        check_text("name of a column", column)
    whole.refuse_dates([*chosen, *([cost] if cost else [])])
    whole = plain_numbers(replace(whole, frame=table), [*chosen, *([cost] if cost else [])], decimal=decimal)
    table, guessed = whole.frame, "; ".join(whole.guesses)
    notes = [f"The table of options was read with {guessed}."] if guessed else []
    table = _merge(table, id, [*chosen, *([cost] if cost else [])], notes)
    ids = table[id].to_list()
    way_out = 'or use model="independent"' if needs_features else "or leave it out of features"
    encoded = [_encode(table, ids, name, _find(known, name), notes, way_out) for name in chosen]
    columns = [column for _, block in encoded for column in block]
    values = np.column_stack(columns) if columns else np.zeros((len(ids), 0))
    costs = None if cost is None else _costs(table, ids, cost)
    kept = [feature for feature, _ in encoded]
    return OptionCatalogue(ids, kept, values, costs, notes, id, cost or "cost")


def _as_written(
    table: pl.DataFrame, id: str | None, cost: str | None, features: Sequence[str] | None
) -> tuple[str | None, str | None, Sequence[str] | None]:
    """Columns as the table spells them: units in brackets may be left out."""

    def spelt(name: Any) -> Any:
        found = columns_called(table.columns, name) if isinstance(name, str) else []
        return found[0] if len(found) == 1 else name

    listed = None if features is None else features if isinstance(features, str) else [*map(spelt, features)]
    return spelt(id), spelt(cost), listed


def _listed(names: Any) -> pl.DataFrame:
    """Names as somebody listed them; what is no name is refused."""
    for place, item in enumerate(names, start=1):
        if item is None or isinstance(item, list | tuple | dict | set | bytes):
            raise ValueError(f"`options` must be names; number {place} is {item!r}.")
    texts = [composed(str(item).strip()) for item in names]
    check_texts("id", texts)
    return pl.DataFrame({"id": texts}, schema={"id": pl.String})


def _id_column(table: pl.DataFrame, id: str | None, words: Wording) -> str:
    if table.is_empty():
        raise ValueError("`options` must have at least one row; got none.")
    if id is not None:
        _check_present(table, "id", id)
        return id
    if "id" in table.columns:
        return "id"
    if table.width == 1:
        return table.columns[0]
    listed = ", ".join(repr(name) for name in table.columns)
    results = any(key_of(name) in ("value", "se", "values", "successes") for name in table.columns)
    hint = f" If these are results, say {words.results}." if results else ""
    raise ValueError(
        f"`id` must name the column that holds the options' names; the columns are {listed}.{hint}"
    )


def _check_present(table: pl.DataFrame, what: str, column: str) -> None:
    if column not in table.columns:
        listed = ", ".join(repr(name) for name in table.columns)
        hint = nearest(column, table.columns)
        raise ValueError(
            f"`{what}` must name columns of `options`, which has {listed}; got {column!r}.{hint}"
        )


def _names(table: pl.DataFrame, id: str) -> pl.Series:
    names = as_texts("options", table[id])
    empty = names.is_null()
    if empty.any():
        raise ValueError(
            f"every option must have a name in column {id!r}; row {int(empty.arg_max() or 0) + 1} has none."
        )
    check_texts(id, names.to_list())
    return names.alias(id)


def _chosen(table: pl.DataFrame, id: str, cost: str | None, features: Sequence[str] | None) -> list[str]:
    if isinstance(features, str):
        raise TypeError(f"`features` must be a list of column names; got {features!r}.")
    if features is None:
        features = [name for name in table.columns if name not in (id, cost)]
    for name in features:
        _check_present(table, "features", name)
        if name in (id, cost):
            raise ValueError(f"`features` must not contain the column of names or costs; got {name!r}.")
    if not features:
        raise ValueError(
            "`features` must name at least one column for a linear model; got none. "
            'Without features use model="independent".'
        )
    return list(dict.fromkeys(features))


def _merge(table: pl.DataFrame, id: str, used: list[str], notes: list[str]) -> pl.DataFrame:
    """One row per name: equal rows are merged and told, contradictions refused."""
    merged = table.unique([id, *used], keep="first", maintain_order=True)
    twice = merged.filter(pl.col(id).is_duplicated())
    if not twice.is_empty():
        name = twice[id][0]
        rows = twice.filter(pl.col(id) == name)
        column = next(c for c in used if rows[c].n_unique() > 1)
        one, other = rows[column].unique(maintain_order=True).to_list()[:2]
        raise ValueError(
            f"option {name!r} stands in {len(rows)} rows that differ: {column} is {one!r} and {other!r}. "
            "Give the options different names, or drop one."
        )
    if gone := table.height - merged.height:
        doubles = table.filter(pl.col(id).is_duplicated())[id].unique(maintain_order=True).to_list()
        were = "row was" if gone == 1 else "rows were"
        notes.append(f"{gone} duplicate {were} merged: {some_of(doubles)}.")
    return merged


def _find(known: Sequence[Feature] | None, name: str) -> Feature | None:
    if known is None:
        return None
    return next(feature for feature in known if feature.name == name)


def _encode(
    table: pl.DataFrame, ids: list[str], name: str, known: Feature | None, notes: list[str], way_out: str
) -> tuple[Feature, list[Floats]]:
    series = table[name]
    missing = series.is_null() | (series.is_nan() if series.dtype.is_float() else False)
    if missing.any():
        at = int(missing.arg_max() or 0)
        raise ValueError(f"option {ids[at]!r} has no value for {name}. Fill it, drop the option, {way_out}.")
    is_category = bool(known and known.levels)
    if _is_number(series, known is not None) and not is_category:
        numbers = np.array(read_column(series), dtype=float)
        usable = np.isfinite(numbers) & (np.abs(numbers) <= VALUE.most)
        if not usable.all():
            at = int(np.argmin(usable))
            raise ValueError(
                f"option {ids[at]!r} has {numbers[at]:g} for {name}: features must be finite numbers, "
                f"at most {VALUE.most:g}."
            )
        return Feature(name), [numbers]
    series = as_texts("options", series)
    check_texts(name, series.to_list())
    if known is not None and not is_category:
        at = next(row for row, text in enumerate(series) if not is_number(text))
        raise ValueError(
            f"option {ids[at]!r} has {series[at]!r} for {name}, which is a number in this study."
        )
    levels = known.levels if known else tuple(sorted(series.cast(pl.String).unique().to_list()))
    texts = series.cast(pl.String).to_list()
    for option, text in zip(ids, texts, strict=True):
        if text not in levels:
            raise ValueError(
                f"option {option!r} has {text!r} for {name}, which no option of this study had before "
                f"(levels: {some_of(levels)}); its effect cannot be known from them."
            )
    if known is None:
        size = f"{len(levels)} levels{_why_category(series, ids)}"
        notes.append(f"{name} is a category of {size}; {levels[0]!r} is the reference level.")
    return Feature(name, levels), [np.array([float(text == level) for text in texts]) for level in levels[1:]]


def _is_number(series: pl.Series, joins: bool) -> bool:
    """Whether a feature is a number: by its type, or, of texts, if every cell is one.

    Codes such as 007 are not; but options that join a study in which the feature is a number follow it.
    """
    if series.dtype == pl.String:
        numbers = series if not joins else series.str.replace(r"^([+-]?)0+([0-9])", "${1}${2}")
        return are_numbers(numbers)
    return series.dtype.is_numeric() or series.dtype == pl.Boolean


def _why_category(series: pl.Series, ids: list[str]) -> str:
    """Of a column that is nearly numbers: the first cell that is none."""
    odd = next((row for row, text in enumerate(series) if not is_number(text)), None)
    if odd is None or not any(map(is_number, series.head(100))):
        return ""
    return f", because {series[odd]!r} ({ids[odd]}) is not a number"


def _costs(table: pl.DataFrame, ids: list[str], cost: str) -> list[float]:
    series = table[cost]
    if not (series.dtype.is_numeric() or series.dtype == pl.String):
        raise ValueError(f"column {cost!r} must hold costs as numbers; got {series[0]!r}.")
    costs = [math.nan if value is None else float(value) for value in read_column(series)]
    for option, value in zip(ids, costs, strict=True):
        if not (math.isfinite(value) and value > 0.0):
            raise ValueError(f"option {option!r} must have a cost above 0; got {value!r}.")
        if not COST.holds(value):
            raise ValueError(f"option {option!r} must have a cost of at most {COST.most:g}; got {value!r}.")
    return costs
