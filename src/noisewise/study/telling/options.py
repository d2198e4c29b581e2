"""Options from tables: a catalogue as people hand it in, or the options that a table of results is about."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from noisewise.core.blocks import Floats
from noisewise.core.checks import COST, VALUE, nearest
from noisewise.core.text import check_text, check_texts, composed, printable, some_of
from noisewise.study.log.specification import Specification
from noisewise.study.tables.cells import looks_numeric, read_numbers
from noisewise.study.tables.names import columns_called, key_of
from noisewise.study.tables.numbers import number
from noisewise.study.tables.sheet import ReadTable, as_texts, is_plain_list, read_whole
from noisewise.study.tables.wording import Wording
from noisewise.study.telling.catalogue import Feature, OptionCatalogue
from noisewise.study.telling.understanding import Understood


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
    table, guesses = plain_numbers(replace(whole, frame=table), [*chosen, *([cost] if cost else [])], decimal)
    guessed = "; ".join([*whole.guesses, *guesses])
    notes = [f"The table of options was read with {guessed}."] if guessed else []
    table = _merge(table, id, [*chosen, *([cost] if cost else [])], notes)
    ids = table[id].to_list()
    way_out = 'or use `model="independent"`' if needs_features else "or leave it out of features"
    encoded = [_encode(table, ids, name, _find(known, name), notes, way_out) for name in chosen]
    columns = [column for _, block in encoded for column in block]
    values = np.column_stack(columns) if columns else np.zeros((len(ids), 0))
    costs = None if cost is None else _costs(table, ids, cost)
    kept = [feature for feature, _ in encoded]
    return OptionCatalogue(ids, kept, values, costs, notes, id, cost or "cost")


def plain_numbers(
    table: ReadTable, columns: Sequence[str], decimal: str | None, words: Wording | None = None
) -> tuple[pl.DataFrame, list[str]]:
    """The table with numbers in the columns of which every cell is one, and what was guessed."""
    frame = table.frame
    numeric = {name: frame[name] for name in columns if looks_numeric(frame[name])}
    found = read_numbers(
        numeric, decimal=decimal, comma=table.comma, exact=table.exact, words=words or table.words,
        others=[frame[name] for name in frame.columns if name not in numeric],
    )  # fmt: skip
    return frame.with_columns(column.alias(name) for name, column in found.columns.items()), found.guesses


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
    """Names as they were listed; anything else is refused."""
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
    texts = [c for c in table.get_columns() if c.dtype == pl.String and not looks_numeric(c)]
    if not results and len(texts) == 1 and texts[0].is_unique().all():
        return texts[0].name
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
            'Without features use `model="independent"`.'
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
            f"option {name!r} is in {len(rows)} rows that differ: {column} is {one!r} and {other!r}. "
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
    if known is not None and not is_category and series.dtype == pl.String:  # codes such as 007 follow it
        odd = [row for row, text in enumerate(series) if number(text) is None]
        if odd:
            raise ValueError(
                f"option {ids[odd[0]]!r} has {series[odd[0]]!r} for {name}, which is a number in this study."
            )
        series = pl.Series(name, [number(text) for text in series])
    if (series.dtype.is_numeric() or series.dtype == pl.Boolean) and not is_category:
        numbers = series.cast(pl.Float64).to_numpy()
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


def _why_category(series: pl.Series, ids: list[str]) -> str:
    """Of a column that is nearly numbers: the first cell that is none."""
    odd = next((row for row, text in enumerate(series) if number(text) is None), None)
    if odd is None or all(number(text) is None for text in series.head(100)):
        return ""
    return f", because {series[odd]!r} ({ids[odd]}) is not a number"


def _costs(table: pl.DataFrame, ids: list[str], cost: str) -> list[float]:
    series = table[cost]
    if series.dtype == pl.String:
        series = read_numbers({cost: series}).columns[cost]  # which refuses what is none
    if not series.dtype.is_numeric():
        raise ValueError(f"column {cost!r} must hold costs as numbers; got {series[0]!r}.")
    costs = [math.nan if value is None else float(value) for value in series.to_list()]
    for option, value in zip(ids, costs, strict=True):
        if not (math.isfinite(value) and value > 0.0):
            raise ValueError(f"option {option!r} must have a cost above 0; got {value!r}.")
        if not COST.holds(value):
            raise ValueError(f"option {option!r} must have a cost of at most {COST.most:g}; got {value!r}.")
    return costs


#: Names of rows that sum up the others.
_TOTALS = (
    "total", "totals", "grand total", "sum", "mean", "average", "avg", "overall", "all", "median", "subtotal",
    "gesamt", "summe", "mittelwert", "moyenne", "somme", "media", "suma", "std", "stdev", "sd", "min", "max",
)  # fmt: skip
_NOTE = re.compile(r"(?:notes?|sources?|legend|footnotes?|remarks?|comments?|\*+|†)\b\s*:?|\*", re.IGNORECASE)
#: The most pairs of names that are listed.
NAMED = 5
#: Options may be called by several words; sentences have more.
_WORDS_OF_A_NAME = 6


def options_of(understood: Understood, features: Sequence[str] | None, cost: str | None) -> ReadTable:
    """A table of the options that results are about, in the order of their first rows.

    Args:
        understood: The results.
        features: Columns that describe options.
        cost: The column with what measuring an option costs.
    """
    table, frame = understood.table, understood.frame
    with table.placed():
        probes = [name for name in ("option", "plus", "minus") if name in frame.columns]
        if not probes:
            first = next(iter(table.frame.columns), "name")
            raise ValueError(
                "`results` must have a column with the options' names, or plus and minus for differences: "
                f"say which, for instance {understood.words.map({'option': first})}."
            )
        _refuse_totals(frame[probes[0]])
        _refuse_notes(frame, probes[0])
        ReadTable(frame).refuse_dates(probes)
        described = [_column(table.frame, name, "features") for name in features or ()]
        described += [_column(table.frame, cost, "cost")] if cost is not None else []
        # What settled the decimal sign of values settles it here.
        plain, _ = plain_numbers(table, described, understood.decimal, understood.words)
        if probes == ["option"]:
            name = (
                understood.sources["option"]
                if understood.sources["option"] in table.frame.columns
                else "option"
            )
            names = as_texts("results", frame["option"]).alias(name)
            _check_constant(names, plain.select(described))
            understood.guesses.extend(_nearly_the_same(names))
            rows = pl.DataFrame([names, *plain.select(described)]).filter(names.is_not_null())
            return ReadTable(rows.unique(name, keep="first", maintain_order=True))
        if described:
            raise ValueError(
                "`features` and costs cannot come from a table of differences, whose rows are about two "
                "options: give a table of options as well."
            )
        sides = pl.concat([as_texts("results", frame[side]).alias("option") for side in probes])
        return ReadTable(sides.drop_nulls().unique(maintain_order=True).to_frame())


def check_eps(understood: Understood, specification: Specification) -> None:
    """Refuse an `eps` in per cent for values that are hundredths: every option would be good enough."""
    eps = None if specification.value_scale.log else specification.eps
    if eps is None:
        return
    if understood.percent and "value" in understood.frame.columns:
        values = understood.frame["value"].cast(pl.Float64, strict=False).drop_nulls().to_list()
        if len(set(values)) > 1 and eps >= max(values) - min(values):
            raise ValueError(
                f"`eps` is {eps:g}, and all values of the table lie between {min(values):g} and "
                f"{max(values):g}, because its per cent are read as hundredths: for {eps:g} per cent write "
                f"{eps / 100.0:g}."
            )
    shares = _shares(understood.frame)
    if shares and eps > max(shares) > 0.0:  # an option that never succeeds would be good enough
        raise ValueError(
            f"`eps` is {eps:g}, and shares of successes in the table lie between {min(shares):g} and "
            f"{max(shares):g}: whatever the others do, every option would be good enough. For {eps:g} per "
            f"cent write {eps / 100.0:g}."
        )


def _shares(frame: pl.DataFrame) -> list[float]:
    """Successes out of trials, of rows that have both."""
    if not {"successes", "trials"} <= set(frame.columns):
        return []
    told = [pl.col(name).cast(pl.Float64, strict=False) for name in ("successes", "trials")]
    rows = frame.select(told).drop_nulls().filter(pl.col("trials") > 0.0)
    return (rows["successes"] / rows["trials"]).to_list()


def _column(frame: pl.DataFrame, name: str, what: str) -> str:
    found = columns_called(frame.columns, name)
    if len(found) == 1:
        return found[0]
    listed = ", ".join(map(repr, frame.columns))
    raise ValueError(
        f"`{what}` must name columns of the results, which have {listed}; got {name!r}."
        f"{nearest(name, frame.columns)}"
    )


def _check_constant(names: pl.Series, described: pl.DataFrame) -> None:
    """Refuse an option whose rows say different things about it."""
    for column in described:
        pairs = pl.DataFrame({"option": names, "cell": column, "row": range(1, names.len() + 1)})
        firsts = pairs.drop_nulls("option").unique(["option", "cell"], keep="first", maintain_order=True)
        twice = firsts.filter(pl.col("option").is_duplicated())
        if twice.is_empty():
            continue
        one, other = twice.filter(pl.col("option") == twice["option"][0]).head(2).iter_rows(named=True)
        cells = [pair["cell"] for pair in (one, other)]
        shown = [
            f"{cell:.12g}" if isinstance(cell, float) else printable(cell)
            for cell in cells
            if cell is not None
        ]
        said = [shown.pop(0) if cell is not None else "nothing" for cell in cells]
        raise ValueError(
            f"row {other['row']} ({one['option']}): {column.name} is {said[1]}, and {said[0]} in row "
            f"{one['row']}; what describes an option must be the same in all of its rows."
        )


def _nearly_the_same(names: pl.Series) -> list[str]:
    """What is said about options whose names differ in case, blanks or leading zeros only."""
    first: dict[str, str] = {}
    found: list[str] = []
    for name in names.drop_nulls().unique(maintain_order=True).to_list():
        plain = re.sub(r"(?<![0-9.,])0+(?=[0-9])", "", re.sub(r"\s+", " ", name.casefold()))
        other = first.setdefault(plain, name)
        if other != name and len(found) < NAMED:
            found.append(f"{printable(other)!r} and {printable(name)!r} as two options")
    return found


def _refuse_notes(frame: pl.DataFrame, probe: str) -> None:
    """Refuse a row that is a remark below the table: it has a name, a long one, and nothing else."""
    others = [pl.col(name).is_null() for name in frame.columns if name != probe]
    alone = frame.select(pl.all_horizontal(others) if others else pl.lit(False)).to_series()
    for row in (alone & frame[probe].is_not_null()).arg_true():
        text = str(frame[probe][row])
        if _NOTE.match(text) or len(text.split()) > _WORDS_OF_A_NAME:
            raise ValueError(
                f"row {row + 1}: {printable(text[:60])!r} looks like a note below the table, and no option: "
                "delete the row."
            )


def _refuse_totals(names: pl.Series) -> None:
    """Refuse a last row that sums up the others."""
    filled = names.cast(pl.String).is_not_null().arg_true()
    if filled.len() < 2:
        return
    row = filled[-1]
    name = str(names[row]).strip()
    if name.casefold().rstrip(":") in _TOTALS and (names.cast(pl.String) == name).sum() == 1:
        raise ValueError(
            f"row {row + 1}: {printable(name)!r} looks like a row that sums up the others, and no option: "
            "delete the row; if it is an option, give it another name."
        )
