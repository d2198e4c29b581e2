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
#: Roles of columns that hold results, errors, and neither of both.
RESULT = ("value", "metric", "quantile", "successes", "rate")
ERRORS = ("se", "sd", "var", "unclear", "moe", "lo", "hi", "up", "down", "rsd")
NEITHER = (
    *("size", "rank", "ident", "ignored", "item", "study", "block", "replicate"),
    *("extreme", "quartile", "key"),
)
#: Levels that are looked at where all would take long.
SOME = 200
#: Units: (min) is minutes, and N in [N/mm²] no number of readings.
_UNIT = re.compile(r"[(\[](?:min|(?!n/n|s[de]|ci|mean)[^)\]/\s]{1,6}/[^)\]\s]{1,6})[)\]]", re.I)
#: Names such as "requests per second".
_RATE = re.compile(r" per (?:s|sec|second|min|minute|h|hour|day|user|visitor|session|run)$")


@cache
def _lexicon() -> tuple[dict[str, str], dict[str, frozenset[str]]]:
    """The roles by their phrases, and the lists of other words."""
    words = tomllib.loads((Path(__file__).parent / "words.toml").read_text(encoding="utf-8"))
    lists = {name: frozenset(line.split()) for name, line in words.pop("lists").items()}
    phrases = ((word, role) for role, line in reversed(words.items()) for word in line.split())
    return {word.replace("_", " "): role for word, role in phrases}, lists


def word_list(name: str) -> frozenset[str]:
    """A list of words that are not roles: "calendar", "units", "totals", and others."""
    return _lexicon()[1][name]


def words_of(name: str) -> list[str]:
    """The words of a name: without accents and case, camel case and underscores split."""
    plain = unicodedata.normalize("NFKD", re.sub(r"(?<=[a-z][a-z])(?=[A-Z])", " ", name[:300]))
    plain = "".join(sign for sign in plain if not unicodedata.combining(sign)).casefold()
    return re.findall(r"\d+(?:\.\d+)?%|[a-z]+%|[^\W_]+|±", re.sub(r"(?<=\d)\s+%", "%", plain))


@cache
def said_by(name: str) -> tuple[dict[str, str], frozenset[str]]:
    """The roles that a name says, by which words, and the words that are left; long phrases come first."""
    signed = re.fullmatch(r"(.*?)[\s_(]*([-+−])\)?", name.strip())
    if signed and (not signed[1] or said_by(signed[1])[0].keys() & {*ERRORS}):
        return {"up" if signed[2] == "+" else "down": name}, frozenset(said_by(signed[1])[1])
    phrases = _lexicon()[0]
    words: list[str] = words_of(_UNIT.sub("", name))
    alone = set(words) - {"1", "2", "3", "±"}
    found: dict[str, str] = {}
    kept: list[str] = []  # what is measured tells columns apart, whatever else it says
    for size in (5, 4, 3, 2, 1):
        for at in range(len(words) - size + 1):
            piece = words[at : at + size]
            phrase = " ".join(piece) if all(piece) else ""
            role = phrases.get(phrase) or phrases.get(phrase.removesuffix("s") if len(phrase) > 4 else "")
            if len(phrase) == 1 and len(alone) > 1 and role not in ("size", "first", "second", "unclear"):
                role = None  # a letter says something only if it is alone
            if role == "unclear" and len(phrase) == 1 and phrase != "±" and len(alone) > 1:
                role = None
            if size == 1 and not role and phrases.get(phrase[:-1]) == "successes" and phrase[-1] in "12":
                role = "successes"  # wins1 and wins2
                found["first" if phrase[-1] == "1" else "second"] = phrase
            if phrase in ("1", "2") and "successes" in found:  # wins_1 and wins_2
                role = "first" if phrase == "1" else "second"
            if role:
                found.setdefault(role, phrase)
                kept += piece if role in ("metric", "before", "first", "second") else []
                words[at : at + size] = [""] * size
    if _RATE.search(" ".join(words_of(name))) or re.search(r"[^\W\d_]/(?:s|sec|min|h|day)\b", name):
        found.pop("size", None)
        found.setdefault("metric", "per")
    if re.search(r"\d(?:th|st|nd|rd)?[\s_]*(?:pct|percentile|perzentil|%ile)", name, re.I):
        found.setdefault("quantile", "percentile")
    if "@" in name:  # pass@1, recall@10
        found.setdefault("metric", "@")
    if found.get("size") == "n" and found.keys() & {"rate", "setting"}:  # nitrogen
        del found["size"]
    if found.get("sd") == "std" and found.keys() & {"se", "unclear"} and "±" not in words_of(name):
        found["se"] = found.pop("sd")  # Std.-Fehler
    if found.keys() & {"se", "sd"}:
        found.pop("unclear", None)
    rest = [word for word in words if word]
    stem = [word for word in rest if word not in word_list("units")] or rest
    return found, frozenset([*stem, *kept])


@dataclass(eq=False)
class Column:
    """A column with its type and what its name says. Cells of several numbers make several columns."""

    name: str
    cells: pl.Series  # texts, null where nothing is said
    kind: str = "name"  # name, number, day, time
    numbers: Numbers | None = None
    said: dict[str, str] = field(default_factory=dict)  # roles that the name says, and by which words
    stem: frozenset[str] = frozenset()  # the words of the name that say no role
    group: str = ""  # the header above the header
    sources: tuple[str, ...] = ()  # the columns of the file that it comes from
    inner: bool = False  # the error in the cells of a value, which has the same sources

    def __post_init__(self) -> None:
        self.sources = self.sources or (self.name,)
        self._pairs: dict[Column, tuple[Any, Any]] = {}

    def called(self, name: str) -> "Column":
        """Return the column under another name, with what that name says."""
        said, stem = said_by(name)
        return replace(self, name=name, said=said, stem=stem)

    def at(self, rows: NDArray[Any]) -> "Column":
        """Return some of the rows."""
        numbers = None if self.numbers is None else self.numbers[rows]
        return replace(self, cells=self.cells.gather(rows), numbers=numbers)

    def says(self, *roles: str) -> bool:
        """Whether the name says one of these roles."""
        return any(role in self.said for role in roles)

    @property
    def values(self) -> Numbers:
        """The numbers of all rows, NaN where one is missing."""
        return np.full(len(self.cells), np.nan) if self.numbers is None else self.numbers

    @cached_property
    def there(self) -> Numbers:
        """The numbers that are not missing."""
        return self.values[~np.isnan(self.values)]

    @cached_property
    def levels(self) -> list[str]:
        """Different texts, in their order."""
        return self.cells.drop_nulls().unique(maintain_order=True).to_list()

    @cached_property
    def some(self) -> list[str]:
        """The first of the different texts."""
        return self.cells.drop_nulls().head(50 * SOME).unique(maintain_order=True).head(SOME).to_list()

    @cached_property
    def n_levels(self) -> int:
        """The number of different texts."""
        return self.cells.drop_nulls().n_unique()

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """A number for each text; -1 where it is missing."""
        return self.cells.cast(pl.Categorical).to_physical().cast(pl.Int64).fill_null(-1).to_numpy()

    @property
    def is_full(self) -> bool:
        """Whether no cell is missing."""
        return self.cells.null_count() == 0

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
        """Whether it is 0, 1, 2, ..., from any start and in any order."""
        full = self.whole and len(self.cells) == self.there.size > 2
        return full and bool((np.diff(np.sort(self.there)) == 1.0).all())

    @cached_property
    def was_set(self) -> bool:
        """Whether these are numbers that were chosen: a few levels that come again and again."""
        few = self.n_levels <= max(2, 0.4 * len(self.cells))
        return few and not self.is_binary and not self.says("metric", "value")

    @cached_property
    def repeats(self) -> bool:
        """Whether all levels occur at least twice and about equally often, as do options with readings."""
        often = np.bincount(self.codes[self.codes >= 0])
        often = often[often > 0]
        return bool(often.size > 1 and often.min() >= 2 and often.max() <= 2 * often.min())

    def pairs(self, other: "Column") -> tuple[Any, Any]:
        """The different pairs of codes with another column, as one number, and how often each occurs."""
        if other not in self._pairs:
            both = (self.codes >= 0) & (other.codes >= 0)
            joined = self.codes[both] * (int(other.codes.max(initial=0)) + 1) + other.codes[both]
            self._pairs[other] = np.unique(joined, return_counts=True)
        return self._pairs[other]

    def partners(self, other: "Column") -> Any:
        """How many levels of another column come with each level of this one."""
        codes = self.pairs(other)[0] // (int(other.codes.max(initial=0)) + 1)
        return np.unique(codes, return_counts=True)[1]

    def determines(self, other: "Column") -> bool:
        """Whether rows that agree in this column agree in another one."""
        return self.unique or bool((self.partners(other) == 1).all())

    def renames(self, other: "Column") -> bool:
        """Whether it says the same as another column in other words."""
        return self.determines(other) and other.determines(self)

    def is_shared(self, option: "Column") -> bool:
        """Whether most levels come with several options, which this column makes comparable."""
        partners = self.partners(option)
        return partners.size > 1 and bool((partners > 1).sum() >= 0.6 * partners.size)

    def crosses(self, other: "Column") -> bool:
        """Whether all levels come with all levels of another column, equally often."""
        if self.unique or other.unique or self.constant or other.constant:
            return False
        if 0.9 * self.n_levels * other.n_levels > len(self.cells):  # more pairs than rows
            return False
        often = self.pairs(other)[1]
        return bool(often.size >= 0.9 * self.n_levels * other.n_levels and np.ptp(often) <= 1)

    @classmethod
    def made(cls, columns: "Sequence[Column]", numbers: Numbers) -> "Column":
        """Return a column that is computed from others."""
        sources = tuple(dict.fromkeys(source for c in columns for source in c.sources))
        cells = pl.Series(numbers).fill_nan(None).cast(pl.String)
        return cls(columns[0].name, cells, "number", numbers, sources=sources)

    @staticmethod
    def stack(columns: "Sequence[Column]", name: str | None = None) -> "Column":
        """Put columns below each other."""
        whole = all(c.numbers is not None for c in columns)
        stacked = Column.made(columns, np.concatenate([c.values for c in columns]))
        changes: dict[str, Any] = {"cells": pl.concat([c.cells for c in columns]), "sources": stacked.sources}
        changes |= {"numbers": stacked.numbers if whole else None, "kind": "number" if whole else "name"}
        return replace(columns[0], **changes, group="", name=name or columns[0].name)

    def is_between(self, low: "Column", high: "Column") -> bool:
        """Whether the numbers never leave the interval that two other columns make."""
        rows = together(low, self, high)
        return bool(rows.size and (np.diff(rows, axis=0) >= 0).all() and (rows[0] < rows[2]).any())

    def is_ratio(self, hits: "Column", tries: "Column") -> bool:
        """Whether it is the ratio of two others, as a share or in per cent, up to rounding."""
        rows = together(self, hits, tries)
        rows = rows[:, rows[2] > 0]
        if rows.shape[1] < 2 or not (rows[1] > 0).any():
            return False
        share = rows[1] / rows[2]
        return any(bool((abs(rows[0] * f - share) <= 0.006 * f + 0.01 * share).all()) for f in (1.0, 0.01))

    def is_product(self, other: "Column", many: "Column") -> bool:
        """Whether it is the product of two others, up to rounding, as a total is of a mean."""
        rows = together(self, other, many)
        product = rows[1] * rows[2]
        return bool(rows.shape[1] > 1 and (abs(rows[0] - product) <= 0.002 * abs(product)).all())

    def follows(self, other: "Column") -> bool:
        """Whether it is another column in units ten or a thousand times as large, or its reciprocal."""
        rows = together(self, other)
        if rows.shape[1] < 4 or (rows == 0).any() or not np.ptp(rows, 1).all():
            return False
        for inverse, ratio in enumerate((rows[0] / rows[1], rows[0] * rows[1])):
            tens = float(np.log10(abs(np.median(ratio))))
            steady = np.ptp(ratio) <= 2e-3 * abs(np.median(ratio)) and abs(tens - round(tens)) < 1e-3
            if steady and (inverse or round(tens) != 0):
                return True
        return False


@dataclass(eq=False)
class Layout:
    """The columns of a table, and what was left out or assumed."""

    columns: list[Column]
    notes: list[str] = field(default_factory=list)
    melted: tuple[str, ...] = ()  # the columns that are in CELL
    title: str = ""
    origin: NDArray[np.int64] | None = None  # the place in the file that each row comes from; None: in order
    abreast: int = 1  # how many rows come from each row of the file
    base: "Layout | None" = None  # as it was before columns were put below each other

    @property
    def height(self) -> int:
        """The number of rows."""
        return len(self.columns[0].cells)

    @property
    def places(self) -> NDArray[np.int64]:
        """The rows of the table, from 0, that rows come from."""
        return np.arange(self.height) if self.origin is None else self.origin // self.abreast

    def at(self, rows: NDArray[Any]) -> "Layout":
        """Return some of the rows."""
        origin = rows if self.origin is None else self.origin[rows]
        return replace(self, columns=[c.at(rows) for c in self.columns], origin=origin)

    def stacked(self, columns: list[Column], n: int, **changes: Any) -> "Layout":
        """Return the layout with other columns, in which each row became n that are below each other."""
        origin = (np.arange(self.height) * n + np.arange(n)[:, None]).ravel()
        return replace(self, columns=columns, origin=origin, abreast=n, base=self, **changes)


def once(*columns: Column) -> bool:
    """Whether no combination of cells occurs twice."""
    if any(c.unique for c in columns):
        return True
    if len(columns) == 2 and all(c.is_full for c in columns):
        return bool(columns[0].pairs(columns[1])[1].max() <= 1)
    rows = columns[0].codes
    for c in columns[1:]:
        rows = np.unique(rows, return_inverse=True)[1] * (int(c.codes.max(initial=0)) + 2) + c.codes
    return bool(np.unique(rows).size == rows.size)


def together(*columns: Column) -> Numbers:
    """The numbers of columns in the rows in which none is missing."""
    rows = np.array([c.values for c in columns])
    found: Numbers = rows[:, ~np.isnan(rows).any(axis=0)]
    return found


def alike(columns: Sequence[Column]) -> bool:
    """Whether columns hold the same kind of number: of one range and written alike, or each with an error."""
    if all(c.said.get("value") == "cells" for c in columns):
        return True
    if any(not c.there.size or (c.constant and len(c.cells) > 5) for c in columns):
        return False
    low, high = max(c.there.min() for c in columns), min(c.there.max() for c in columns)
    spans = [float(np.ptp(c.there)) + abs(float(np.median(c.there))) for c in columns]
    near = max(spans) <= 3 * min(spans)
    # Digits behind the decimal sign.
    digits = [max(len(re.sub(r"^[^.,]*[.,]?", "", cell)) for cell in c.some) for c in columns]
    return bool((low <= high or near) and max(digits) - min(digits) <= 1)
