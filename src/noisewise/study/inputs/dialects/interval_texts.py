"""Intervals as people write them into one cell: `[11.5, 13.1]`, `11.5 to 13.1`, `11,5 – 13,1`."""

import math
import re
from collections.abc import Mapping

import polars as pl

from noisewise.study.inputs.dialects.number_texts import LONGEST, NO_NUMBER, forms_of

_NUMBER = r"[-+\u2212]?\s?[\d.,'\u00a0\u202f]*\d(?:[eE][-+]?\d+)?\s?%?"
#: What stands between the ends and is no part of either: a comma only with a blank behind it.
_BETWEEN = r"(?:;|,\s|\bto\b|\bbis\b|\bà\b|\.\.\.?|…|[-\u2010-\u2015\u2212])"
_INTERVAL = re.compile(rf"\s*({_NUMBER})\s*{_BETWEEN}\s*({_NUMBER})\s*")
_END = r"(?:ci|ki|conf\w*|int\w*|limit|bound|lo|low|lower|hi|high|upper|lwr|upr|lcl|ucl|lcb|ucb|ll|ul|lb|ub)"
_PER_CENT = r"(\d{1,2}(?:[.,]\d+)?)"
#: How names of columns say the level of an interval, or the quantile that an end is.
_LEVELS = (
    re.compile(rf"{_PER_CENT} ?%[\W_]*{_END}(?![a-z])"),
    re.compile(rf"(?<![a-z]){_END}[\W_]*{_PER_CENT} ?%"),
    re.compile(rf"^{_PER_CENT} ?%$"),
    re.compile(r"(?<![a-z])(?:ci|ll|ul|[lu]|conf_(?:low|high))_?(68|80|90|95|99)(?!\d)"),
    re.compile(r"(?<!\d)(68|80|90|95|99)_?ci(?![a-z])"),
)
_QUANTILE = re.compile(r"(?<![a-z])q_?(?:0?\.)?(\d{2,3})(?!\d)")


def ends_of(cell: str) -> tuple[str, str] | None:
    """The two ends, as texts; None if it is no interval."""
    cell = cell.strip()
    if len(cell) > 2 * LONGEST:
        return None
    if cell[:1] in ("[", "(") and cell[-1:] in ("]", ")"):
        cell = cell[1:-1]
    found = _INTERVAL.fullmatch(cell)
    if found is None:
        return None
    low, high = found[1].strip(), found[2].strip()
    return None if NO_NUMBER in (forms_of(low), forms_of(high)) else (low, high)


def hold_intervals(column: pl.Series) -> bool:
    """Whether all cells are intervals, and one at least is there."""
    cells = column.drop_nulls()
    return column.dtype == pl.String and not cells.is_empty() and all(map(ends_of, cells.to_list()))


def lie_around(column: pl.Series, values: pl.Series) -> bool:
    """Whether every cell is an interval around the value beside it."""
    if not hold_intervals(column):
        return False
    for cell, value in zip(column.to_list(), values.to_list(), strict=True):
        ends = None if cell is None or value is None else ends_of(cell)
        if ends is None:
            continue
        low, middle, high = (_roughly(text) for text in (ends[0], str(value), ends[1]))
        if not low <= middle <= high:
            return False
    return True


def _roughly(text: str) -> float:
    """A number, in one dialect or another; NaN, which lies nowhere, if it is none."""
    plain = text.replace("\u2212", "-").rstrip("% ").replace(" ", "")
    try:
        return float(plain.replace(",", ".") if "." not in plain else plain.replace(",", ""))
    except ValueError:
        return math.nan


def level_of(low: str, high: str) -> float | None:
    """The level that the names of two columns, or of one, say of an interval; None if they do not."""
    short = [name for name in (low, high) if len(name) <= LONGEST]
    said = [number for name in short if (number := _number_in(name.casefold())) is not None]
    if not said:
        return None
    if len(said) == 2 and said[0] < 50.0 < said[1]:  # the quantiles themselves
        return round(said[1] - said[0], 6) / 100.0
    return said[0] / 100.0 if said[0] >= 50.0 and said[0] == said[-1] else None


def level_among(columns: Mapping[str, str]) -> dict[str, float]:
    """The level that the columns with the ends of intervals say by their names, if they do."""
    level = level_of(columns["lo"], columns["hi"]) if {"lo", "hi"} <= set(columns) else None
    return {} if level is None else {"level": level}


def at_level(columns: Mapping[str, str]) -> str:
    """The same in words."""
    level = level_among(columns).get("level")
    return "" if level is None else f" at {100.0 * level:g} %"


def _number_in(name: str) -> float | None:
    if found := _QUANTILE.search(name):
        return 100.0 * float(f"0.{found[1]}")
    for pattern in _LEVELS:
        if found := pattern.search(name):
            return float(found[1].replace(",", "."))
    return None
