"""Columns of a table: their types, what their names say, and how they depend on each other."""

import re
import tomllib
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

#: A column that is made of the names of other columns, and the one that is made of their cells.
HEADER, CELL = "*header*", "*cell*"


#: Names such as "requests per second".
_RATE = re.compile(r" per (?:s|sec|second|min|minute|h|hour|day|user|visitor|session|run)$")


@cache
def _lexicon() -> tuple[dict[str, str], dict[str, frozenset[str]]]:
    """The roles by their phrases, and the lists of other words."""
    words = tomllib.loads((Path(__file__).parent / "words.toml").read_text(encoding="utf-8"))
    lists = {name: frozenset(line.split()) for name, line in words.pop("lists").items()}
    return {
        word.replace("_", " "): role for role, line in reversed(words.items()) for word in line.split()
    }, lists


def is_calendar(name: str) -> bool:
    """Whether a name begins with a weekday or a month."""
    return next(iter(words_of(name)), "") in word_list("calendar")


def word_list(name: str) -> frozenset[str]:
    """A list of words that are no roles: "calendar", "units", "totals"."""
    return _lexicon()[1][name]


def words_of(name: str) -> list[str]:
    """The words of a name: without accents and case, camel case and underscores split."""
    name = name[:300]
    plain = unicodedata.normalize("NFKD", re.sub(r"(?<=[a-z][a-z])(?=[A-Z])", " ", name))
    plain = "".join(sign for sign in plain if not unicodedata.combining(sign)).casefold()
    return re.findall(r"\d+(?:\.\d+)?%|[a-z]+%|[^\W_]+|±", re.sub(r"(?<=\d)\s+%", "%", plain))


@cache
def said_by(name: str) -> tuple[dict[str, str], frozenset[str]]:
    """The roles that a name says, by which words, and the words that are left; long phrases come first."""
    phrases = _lexicon()[0]
    if name.strip() in ("+", "-", "−"):
        return {"up" if name.strip() == "+" else "down": name}, frozenset()
    words: list[str | None] = list(words_of(name))
    found: dict[str, str] = {}
    kept: list[str] = []  # what is measured tells columns apart, whatever else it says
    for size in (5, 4, 3, 2, 1):
        for at in range(len(words) - size + 1):
            piece = words[at : at + size]
            phrase = "" if None in piece else " ".join(filter(None, piece))
            role = phrases.get(phrase) or phrases.get(phrase.removesuffix("s") if len(phrase) > 4 else "")
            if (
                len(phrase) == 1
                and role not in ("size", "first", "second")
                and len(words) > 1
                and not (phrase == "±" or set(words) <= {"1", "2", "3", phrase})
            ):
                role = None  # a letter says something only if it is alone
            if role:
                found.setdefault(role, phrase)
                kept += filter(None, piece if role in ("metric", "before", "first", "second") else [])
                words[at : at + size] = [None] * size
    if re.search(
        r" per (?:s|sec|second|min|minute|h|hour|day|user|visitor|session|run)$", " ".join(words_of(name))
    ):
        found.pop("size", None)
        found.setdefault("metric", "per")
    rest = [word for word in words if word is not None]
    stem = [word for word in rest if word not in word_list("units")] or rest
    return found, frozenset([*stem, *kept])


@dataclass(eq=False)
class Column:
    """A column with its type and what its name says. A column of cells of several numbers becomes several."""

    name: str
    cells: pl.Series  # texts, null where nothing is said
    kind: str = "name"  # name, number, day, time
    numbers: Numbers | None = None
    said: dict[str, str] = field(default_factory=dict)  # roles that the name says, and by which words
    stem: frozenset[str] = frozenset()  # the words of the name that say no role
    group: str = ""  # the header above the header
    sources: tuple[str, ...] = ()  # the columns of the file that it comes from
    of: "Column | None" = None  # the value that is in the same cell

    def __post_init__(self) -> None:
        self.sources = self.sources or (self.name,)
        self._pairs: dict[int, tuple[Any, Any]] = {}

    def called(self, name: str) -> "Column":
        """Return the column under another name, with what that name says."""
        said, stem = said_by(name)
        return replace(self, name=name, said=said, stem=stem)

    @cached_property
    def there(self) -> Numbers:
        """The numbers that are not missing."""
        return np.array([]) if self.numbers is None else self.numbers[~np.isnan(self.numbers)]

    @cached_property
    def levels(self) -> list[str]:
        """Different texts, in their order."""
        return self.cells.drop_nulls().unique(maintain_order=True).to_list()

    @cached_property
    def n_levels(self) -> int:
        """The number of different texts."""
        return self.cells.drop_nulls().n_unique()

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """A number for each text; -1 where it is missing."""
        return self.cells.rank("dense").cast(pl.Int64).fill_null(0).to_numpy() - 1

    @cached_property
    def n_filled(self) -> int:
        """The number of cells that are not missing."""
        return len(self.cells) - self.cells.null_count()

    @property
    def unique(self) -> bool:
        """Whether every row has another text."""
        return self.n_levels == len(self.cells)

    @property
    def constant(self) -> bool:
        """Whether there are not two different texts."""
        return self.n_levels <= 1

    @cached_property
    def whole(self) -> bool:
        """Whether all are whole numbers."""
        return self.kind == "number" and self.there.size > 0 and bool((self.there % 1 == 0).all())

    @cached_property
    def is_binary(self) -> bool:
        """Whether all are 0 or 1."""
        return self.kind == "number" and bool(np.isin(self.there, (0.0, 1.0)).all())

    @cached_property
    def numbers_rows(self) -> bool:
        """Whether it is 0, 1, 2, ..., from any start."""
        full = self.whole and len(self.cells) == self.there.size > 2
        return full and bool((np.diff(self.there) == 1.0).all())

    @cached_property
    def was_set(self) -> bool:
        """Whether these are numbers that somebody chose: a few levels that come again and again."""
        few = self.n_levels <= max(2, 0.4 * len(self.cells))
        return few and not self.is_binary and not self.says("metric", "value")

    def says(self, *roles: str) -> bool:
        """Whether the name says one of these roles."""
        return any(role in self.said for role in roles)

    def at(self, rows: NDArray[Any]) -> "Column":
        """Return some of the rows."""
        numbers = None if self.numbers is None else self.numbers[rows]
        return replace(self, cells=self.cells.gather(rows), numbers=numbers)

    def pairs(self, other: "Column") -> tuple[Any, Any]:
        """The different pairs of codes with another column, and how often each occurs."""
        found = self._pairs.get(id(other))
        if found is None:
            both = (self.codes >= 0) & (other.codes >= 0)
            joined = self.codes[both] * (int(other.codes.max(initial=0)) + 1) + other.codes[both]
            found = self._pairs[id(other)] = np.unique(joined, return_counts=True)
        return found

    def split_pairs(self, other: "Column") -> tuple[Any, Any]:
        """The codes of both columns in the different pairs."""
        width = int(other.codes.max(initial=0)) + 1
        joined = self.pairs(other)[0]
        return joined // width, joined % width


@dataclass(eq=False)
class Layout:
    """The columns of a table, and what was left out or assumed."""

    columns: list[Column]
    notes: list[str] = field(default_factory=list)
    melted: tuple[str, ...] = ()  # the columns that are in CELL
    title: str = ""

    @property
    def height(self) -> int:
        """The number of rows."""
        return len(self.columns[0].cells)

    @property
    def everything(self) -> NDArray[np.int64]:
        """The numbers of all rows."""
        return np.arange(self.height)


def taken(columns: Sequence[Column], rows: NDArray[Any]) -> list[Column]:
    """Return some rows of columns; values and the errors in their cells stay together."""
    moved = {id(c): c.at(rows) for c in columns}
    for c in columns:
        if c.of is not None:
            moved[id(c)] = replace(moved[id(c)], of=moved.get(id(c.of)))
    return [moved[id(c)] for c in columns]


def made(columns: Sequence[Column], numbers: Numbers, name: str = "") -> Column:
    """Return a column that is computed from others."""
    sources = tuple(dict.fromkeys(source for c in columns for source in c.sources))
    cells = pl.Series([None if np.isnan(x) else str(x) for x in numbers.tolist()], dtype=pl.String)
    return Column(name or columns[0].name, cells, "number", numbers, sources=sources)


def below(columns: Sequence[Column], name: str | None = None) -> Column:
    """Put columns below each other."""
    numbers = None
    if all(c.numbers is not None for c in columns):
        numbers = np.concatenate([c.numbers for c in columns if c.numbers is not None])
    cells = pl.concat([c.cells for c in columns])
    sources = tuple(dict.fromkeys(source for c in columns for source in c.sources))
    kind = "number" if numbers is not None else "name"
    return replace(
        columns[0],
        name=name or columns[0].name,
        cells=cells,
        numbers=numbers,
        kind=kind,
        group="",
        sources=sources,
    )


def determines(one: Column, other: Column) -> bool:
    """Whether rows that agree in one column agree in the other."""
    return one.unique or one.pairs(other)[0].size == np.unique(one.split_pairs(other)[0]).size


def shared(option: Column, other: Column) -> bool:
    """Whether most levels of a column come with several options, which it makes comparable."""
    levels, often = np.unique(other.split_pairs(option)[0], return_counts=True)
    return levels.size > 1 and bool((often > 1).sum() >= 0.6 * levels.size)


def crossed(one: Column, other: Column) -> bool:
    """Whether all levels of one column come with all levels of the other, equally often."""
    if one.unique or other.unique or one.constant or other.constant:
        return False
    _, often = one.pairs(other)
    return bool(often.size >= 0.9 * one.n_levels * other.n_levels and often.max() - often.min() <= 1)


def once(*columns: Column) -> bool:
    """Whether no combination of cells occurs twice."""
    if any(c.unique for c in columns):
        return True
    frame = pl.DataFrame([c.cells.alias(str(k)) for k, c in enumerate(columns)])
    return frame.n_unique() == frame.height


def between(low: Column, middle: Column, high: Column) -> bool:
    """Whether a column never leaves the interval that two others make."""
    rows = _together(low, middle, high)
    return bool(
        rows.size and (rows[0] <= rows[1]).all() and (rows[1] <= rows[2]).all() and (rows[0] < rows[2]).any()
    )


def is_ratio(rate: Column, hits: Column, tries: Column) -> bool:
    """Whether a column is the ratio of two others, as a share or in per cent, up to rounding."""
    rows = _together(rate, hits, tries)
    rows = rows[:, rows[2] > 0] if rows.size else rows
    if not rows.size or rows.shape[1] < 2 or not (rows[1] > 0).any():
        return False
    share = rows[1] / rows[2]
    return any(bool((abs(rows[0] * f - share) <= 0.006 * f + 0.01 * share).all()) for f in (1.0, 0.01))


def follows(one: Column, other: Column) -> bool:
    """Whether a column is another one in units ten or a thousand times as large, or its reciprocal."""
    rows = _together(one, other)
    if rows.size == 0 or rows.shape[1] < 4 or np.ptp(rows[0]) == 0 or np.ptp(rows[1]) == 0:
        return False
    inverse = [1.0 / rows[1]] if (rows[1] > 0).all() else []
    for form in [rows[1], *inverse]:
        if (form != 0).all():
            ratio = rows[0] / form
            power = float(np.log10(abs(np.median(ratio)))) if np.median(ratio) != 0 else 0.5
            units = abs(power - round(power)) < 1e-3 and (form is not rows[1] or round(power) != 0)
            if units and np.ptp(ratio) <= 2e-3 * abs(np.median(ratio)):
                return True
    return False


def _together(*columns: Column) -> Numbers:
    if any(c.numbers is None for c in columns):
        return np.empty((len(columns), 0))
    rows = np.array([c.numbers for c in columns])
    found: Numbers = rows[:, ~np.isnan(rows).any(axis=0)]
    return found


def alike(columns: Sequence[Column]) -> bool:
    """Whether columns hold the same kind of number: of one range and written alike, or each with an error."""
    if all(c.said.get("value") == "cells" for c in columns):
        return True
    if any(not c.there.size for c in columns):
        return False
    low, high = max(c.there.min() for c in columns), min(c.there.max() for c in columns)
    spans = [float(np.ptp(c.there)) + abs(float(np.median(c.there))) for c in columns]
    near = max(spans) <= 3 * min(spans)
    digits = [_digits(c) for c in columns]
    empty = any(c.constant and len(c.cells) > 5 for c in columns)
    return (
        (low <= high or (near and len(columns[0].cells) < 8)) and max(digits) - min(digits) <= 1 and not empty
    )


def _digits(c: Column) -> int:
    return max(
        (len(re.split("[.,]", cell)[-1]) * bool(re.search("[.,]", cell)) for cell in c.levels[:200]),
        default=0,
    )
