"""Readings of a whole table: long, wide, pairs of options, and features with one result."""

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from noisewise.study.tables.columns import (
    CELL,
    ERRORS,
    HEADER,
    NEITHER,
    RESULT,
    Column,
    Layout,
    alike,
    once,
    said_by,
    together,
    word_list,
    words_of,
)  # fmt: skip
from noisewise.study.tables.measures import (
    Measure,
    Roles,
    measures,
    shares_of_totals,
    without_summaries,
)  # fmt: skip
from noisewise.study.tables.numbers import DAY

#: Columns of names that are compared with each other.
MOST_NAMES = 24
#: Rows of a table whose columns are put below each other.
MOST_MELTED = 1_000_000
_SPREADS = frozenset(["se", "sd", "var", "lo"])
_SHARED = ("item", "block", "study")
_NAMES = {"successes": "counts", "item": "paired items", "value": "readings"}


@dataclass(eq=False)
class Candidate:
    """One way to understand a whole table."""

    name: str
    table: Layout
    roles: Roles
    score: float
    because: list[str] = field(default_factory=list)
    ask: str = ""  # what only people know: "error", "n", "columns", "factors"
    measure: Measure | None = None

    @property
    def result(self) -> Column:
        """The column of the result."""
        return next(self.roles[role][0] for role in ("value", "successes", "winner") if role in self.roles)

    def meaning(self, *roles: str) -> frozenset[Any]:
        """The columns of all roles, or of these."""
        keep = roles or tuple(set(self.roles) - {"n", "features"})
        return frozenset((role, c.sources) for role in keep for c in self.roles.get(role, ()))

    def renames(self, other: "Candidate") -> bool:
        """Whether it is another reading with other names for the same options, items or blocks."""
        if self.table is not other.table or self.roles.keys() != other.roles.keys():
            return False
        pairs = [
            (a, b)
            for role in self.roles
            for a, b in itertools.zip_longest(self.roles[role], other.roles[role])
        ]
        return all(a is b or (a and b and a.kind == b.kind == "name" and a.renames(b)) for a, b in pairs)

    def is_supported(self) -> bool:
        """Whether it is more than names with a whole number each, such as a list of rooms."""
        names = self.roles.get("option", [])
        said = self.result.said or any(c.says("option") or not c.unique for c in names)
        return bool(said or not self.result.whole or self.roles.keys() != {"option", "value"})

    def holds(self) -> bool:
        """Whether there are two options with different results, and no item occurs twice for one of them."""
        result, options = self.result, self.roles.get("option", [])
        if "winner" not in self.roles and (result.constant or result.there.size < 2):
            return False
        if {*result.said} == {"size"} and all(c.unique for c in options):  # a number of readings
            return False
        there = slice(None) if result.numbers is None else ~np.isnan(result.numbers)
        codes = [c.codes[there] for c in options]
        if options and all(np.unique(one[one >= 0]).size < 2 for one in codes):
            return False
        return "item" not in self.roles or once(*options, *self.roles["item"])


def candidates(table: Layout) -> list[Candidate]:
    """All readings of a table that no cell contradicts, the best first."""
    _refuse_summaries(table)
    found = [*_pairs_of_options(table), *_wide(table), *_long(table), *_features_only(table)]
    pairs = _pairs([c for c in table.columns if c.kind == "name"])
    sides = {c.name for roles, score in pairs if score >= 3.0 for columns in roles.values() for c in columns}
    if sides:  # half of a pair, or none of it, is not a reading
        found = [one for one in found if "option" not in one.roles and one.meaning("plus", "pair")]
    found = sorted((one for one in found if one.holds()), key=lambda one: -one.score)
    return found if found and found[0].is_supported() else []


def _refuse_summaries(table: Layout) -> None:
    """Refuse tables that are made of measurements, and do not hold them."""
    names = {c.name for c in table.columns if c.kind == "number"}
    rows = [{*c.levels} for c in table.columns if c.kind == "name" and c.unique]
    if any(len(one & names) >= max(2, len(one) - 1, len(names) - 1) for one in rows):
        raise ValueError(
            "Rows and columns have the same names, as in a matrix of correlations or distances: a table of "
            "the measurements is needed."
        )
    words = {"_".join(words_of(c.name)) for c in table.columns} & word_list("anova")
    if "df" in words and len(words) > 2:
        raise ValueError("This is an analysis of variance: a table of the measurements is needed.")


def distinct(found: Iterable[Candidate]) -> list[Candidate]:
    """Leave out readings that mean what an earlier one means, or name the same things by other names."""
    kept: list[Candidate] = []
    for one in {one.meaning(): one for one in reversed(list(found))}.values().__reversed__():
        kept += [one] if not any(one.renames(other) for other in kept) else []
    return kept


# Columns of names


def _categories(table: Layout) -> list[Column]:
    """Columns of names; whole numbers are names if the header says so, or if they make a design."""
    words = [c for c in table.columns if c.kind in ("name", "day") and not c.constant][:MOST_NAMES]
    repeated = [c for c in words if not c.unique]
    if any(a.crosses(b) and once(a, b) for a, b in itertools.combinations(repeated, 2)):
        words = repeated  # rows of a design need no names

    numbered = Counter(re.sub(r"\d+", "1", c.name) for c in table.columns)

    def is_name(c: Column) -> bool:
        if c.says("size") and not c.says("value", *ERRORS) and c.whole and not c.is_binary:
            # Sizes at which all were measured; numbers of readings belong to what was read.
            makes_rows = any(o.crosses(c) and once(o, c) for o in words)
            return makes_rows and not any(o.determines(c) for o in words)
        if c.says("value", "size", *ERRORS) or not c.whole or c.constant or c.is_binary:
            return False
        if numbered[re.sub(r"\d+", "1", c.name)] > 1:  # run 1, run 2
            return False
        if c.says("metric"):  # hours at which all were measured
            return c.n_levels > 1 and c.is_full and any(o.crosses(c) for o in words)
        named = c.says(*_SHARED, "replicate", "option")
        steps = {*c.there} == {*range(1, c.n_levels + 1)} and 2 < c.n_levels <= 0.5 * c.there.size
        if (
            not c.said
            and steps
            and (np.diff(c.there) >= 0).all()
            and any(once(o, c) and c.is_shared(o) for o in words)
        ):
            return True  # studies that only have numbers
        return named or any(o.crosses(c) and (c.says("ident") or once(o, c)) for o in words)

    found = [c for c in table.columns if c in words or is_name(c)]
    if not found:  # batch sizes, doses: numbers that were set are the only names
        first = table.columns[0]
        counts = first.numbers_rows and first.there.min() in (0.0, 1.0)
        numbers = [c for c in table.columns if c.kind == "number"]
        spoken = first.whole or (all(c.said for c in table.columns[1:]) and not alike(numbers))
        named = first.says("setting", "ident") or (first.unique and spoken and not counts)
        if first.kind == "number" and named and not first.says("value", "metric", "size", *ERRORS):
            found = [first]
    repeats = [c for c in table.columns if c.says("item", "replicate", "block")]
    # Doses and other settings that were repeated in blocks, or that all options share.
    for c in table.columns[:200]:
        if c in found or c.kind != "number" or c.constant or c.says(*NEITHER, *ERRORS):
            continue
        complete = any(o.crosses(c) and (c.was_set or once(c, o)) for o in words)
        if complete or (c.was_set and any(c.crosses(o) and once(c, o) for o in repeats)):
            found.append(c)
    numbers = [c for c in table.columns if c.kind == "number" and not c.constant]
    if len(numbers) == 1 and numbers[0] in found and len(found) > 1:
        found.remove(numbers[0])  # the only numbers are results, even where all options share them
    return found


def _options(names: list[Column]) -> list[tuple[Column, float]]:
    """Columns that may name the options, with points, the best first."""
    found = []
    groups = [c for c in names if c.kind == "name" and c.repeats and not c.says(*_SHARED, "replicate")]
    for c in names:
        if c.kind == "day" or (c.says("replicate") and (c.kind == "number" or c.name == HEADER)):
            continue
        others = [o for o in names if o is not c]
        called = c.says("option") and c.said["option"] != "name"
        weak = c.says(*NEITHER, *ERRORS) and not called
        grouped = not called and any(o is not c for o in groups)
        designed = any(o.crosses(p) for o, p in itertools.combinations(others, 2))
        described = (o for o in others if not o.unique and o.determines(c) and not c.determines(o))
        rules = (
            (3.0, called),
            (0.8, c.says("option")),
            (0.6, c is names[0]),
            (1.0, c.name == ""),
            (-3.0, weak and not (c in groups and c.says("ident"))),
            (-1.0, weak and c in groups and c.says("ident") and any(o.says("option") for o in others)),
            (-1.0, called and c.name != HEADER and c.says(*_SHARED)),
            (1.0, c.says("study") and not any(o.says("option") for o in names)),
            (1.0, any(c.crosses(o) for o in others)),
            (-2.0, c.cells.null_count() > 0.2 * len(c.cells)),
            (-1.5, c.unique and (designed or grouped)),  # names of rows
            (-3.0, any(True for _ in described)),  # an attribute of options or items
            (
                -1.0,
                not (called or c.unique or c.repeats) and any(o.unique and o.kind == "name" for o in others),
            ),
            (0.7, any(o.n_levels >= 3 * c.n_levels and c.crosses(o) for o in others)),  # items are many
            (-2.0, c.kind == "number" and not c.says("option")),
            (-3.0, c.kind == "number" and any(o.kind == "name" and o.renames(c) for o in others)),
        )
        found.append((c, sum(points for points, holds in rules if holds)))
    if any(c.says("option") or (c.kind == "name" and not c.says(*NEITHER)) for c, _ in found):
        found = [one for one in found if not one[0].says("ident") or one[0].says("option")]
    return sorted(found, key=lambda one: -one[1])[:3]


# Long tables


def _long(table: Layout, points: float = 0.0, because: str = "") -> list[Candidate]:
    """Rows that each say something about one option."""
    names, found = _categories(table), []
    results = measures(table, names)
    groups = [c for c in names if c.kind == "name" and not c.unique and c.repeats]
    # Columns that are neither days nor repeats may be conditions, or results of which one counts.
    unclear = [c for c in table.columns if table.melted and c.name == HEADER and not c.said]
    for option, score in _options(names):
        mine = [one for one in without_summaries(results, option) if one.value is not option]
        finest, items = _beside(option, names)
        why = [f"options share {c.name!r}" for c in finest if c.name != HEADER]
        bonus = 1.0 * bool(finest) + 0.5 * any(c.says(*_SHARED) for c in finest)
        # Settings that were varied together.
        numeric = bool(finest) and all(c.kind == "number" and not c.says(*_SHARED) for c in finest)
        bonus -= 3.0 * (option.kind == "number" and numeric)
        for result in mine[:8]:
            scores = set(result.roles) == {"value"} and scale_of(result.value) is not None
            beside: Roles = {"item" if items and scores else "block": finest} if finest else {}
            roles = {"option": [option], **result.roles, **beside}
            # What repeats in all rows of a group says nothing about its single rows.
            repeated = any(g is not option and g.determines(result.value) for g in groups)
            more = bonus - 3.0 * (option.unique and repeated)
            # Rows that sum up readings have one name each, not an attribute that some of them share.
            summed = result.roles.keys() & {*_SPREADS, "successes"} and not (finest or option.repeats)
            more -= 4.0 * bool(
                summed and not option.unique and any(c.kind == "name" and c.unique for c in names)
            )
            ask = result.ask or ("columns" if any(c is not option for c in unclear) else "")
            whys = [*filter(None, [because]), *result.because, *why]
            total = points + score + result.score + more
            one = Candidate(name_of(roles), table, roles, total, whys, ask, result)
            found += [one, *_combined(one, option)]
    return found


def _combined(one: Candidate, option: Column) -> list[Candidate]:
    """The reading with combinations as options, where a column may be a second treatment, not a block."""
    shares = [c for role in ("block", "item") for c in one.roles.get(role, ())]
    plain = [c for c in shares if not c.says(*NEITHER) and c.kind in ("name", "number") and c.name != HEADER]
    # A design in blocks that are named has no others; a block has each option once.
    designed = len(plain) < len(shares) or not once(option, *shares)
    factors = [c for c in plain if option.crosses(c)]
    factors = [c for c in factors if c.says("option", "setting") or (designed and c.n_levels <= 6)]
    if not factors or one.table.melted:
        return []
    left = [c for c in shares if c not in factors]
    roles = {role: columns for role, columns in one.roles.items() if role not in ("block", "item")}
    roles |= {"option": [option, *factors]} | ({"block": left} if left else {})
    one.ask = one.ask or "factors"
    return [replace(one, name=name_of(roles), roles=roles, score=one.score - 0.1, ask="factors")]


def _beside(option: Column, names: list[Column]) -> tuple[list[Column], bool]:
    """Items and blocks, which options share and which must not be left out; whether they may be items."""
    rest = [c for c in names if c is not option and not option.determines(c) and c.is_shared(option)]
    rest = [
        c for c in rest
        if c.says(*_SHARED)
        or (not c.says("replicate") and c.is_full and not c.unique and (option.crosses(c) or once(option, c)))
    ]  # fmt: skip
    rest.sort(key=lambda c: (not c.says(*_SHARED), c.says("ignored")))
    finest = [
        c for at, c in enumerate(rest)
        if not any(o.determines(c) and (not c.determines(o) or k < at) for k, o in enumerate(rest) if k != at)
    ]  # fmt: skip
    many = any(c.n_levels >= 10 for c in finest)
    many = many and not any(c.says("block", "study") or c.kind == "day" for c in finest)
    items = (many or any(c.says("item") for c in finest)) and once(option, *finest)
    return finest, items


def scale_of(c: Column) -> tuple[int, int] | None:
    """The scale that scores of items may be on: from 0 to 1, or ratings in whole numbers."""
    if not c.there.size:
        return None
    low, high = float(c.there.min()), float(c.there.max())
    scales = ((0, 1), *(((1, 5), (1, 7), (1, 9), (0, 10)) if c.whole else ()))
    return next((one for one in scales if one[0] <= low and high <= one[1]), None)


def name_of(roles: Roles) -> str:
    """What the rows of a table with these roles are."""
    studies = "study" in roles or any(c.says("study") for c in roles.get("block", ()))
    if studies and roles.keys() & {*_SPREADS, "successes", "study"}:
        return "differences" if "minus" in roles else "arms of studies"
    spread = roles.keys() & _SPREADS
    kind = "values with error bars" if spread else next((_NAMES[r] for r in _NAMES if r in roles), "readings")
    return kind + (" in blocks" if "block" in roles else "")


# Wide tables


def _wide(table: Layout) -> list[Candidate]:
    """Columns that hold the same kind of result: their names are options; or days, repeats or items."""
    found: list[Candidate] = []
    for cells, stem in _same_kind(table):
        sources = {c.sources for c in cells}
        others = [c for c in table.columns if c not in cells and not (c.inner and c.sources in sources)]
        errors = [c for c in table.columns if c.inner and c.sources in sources]
        spread = any(c.says(*ERRORS) and not c.inner and not c.says("rsd") for c in others)
        if (spread and stem is None) or len(errors) not in (0, len(cells)):
            continue
        if table.height * len(cells) > MOST_MELTED:
            continue
        if not errors and all(c.says("successes") for c in cells) and any(c.says("size") for c in others):
            continue  # without the trials that they are out of
        kind = _kind_of(cells, stem)
        names = [c.name for c in cells]
        counts = all(c.says("successes") for c in cells) and len(errors) == len(cells)
        body = replace(Column.stack(cells, CELL), said={"successes" if counts else "value": "cells"})
        more = [Column.stack(errors, CELL)] if errors else []
        texts = [c for c in others if c.kind == "name"]
        keys = [
            c
            for c in others
            if c.kind not in ("number", "key")
            or c.says("item", "block")
            or (c.whole and c.unique and (c.numbers_rows or not c.says(*RESULT)))
        ]
        keys += [
            c for c in others
            if c not in keys and c.whole and c.n_levels > 2 and any(o.crosses(c) for o in texts)
        ]  # fmt: skip
        people = [c for c in keys if c.kind == "name" and not c.constant]
        if (
            kind == "item"
            and people
            and all(c.said.keys() == {"ident"} and "id" in words_of(c.name) and c.unique for c in people)
        ):
            kind = ""  # answers of people, who rate what the columns are about; or of what is tested
        says = {kind: stem or ""} if kind else {}
        head = Column(HEADER, pl.Series(np.repeat(names, table.height)), said=says)
        timed = any(c.kind != "time" for c in keys)  # a time stamp is a name only if there is no other
        keys = [c for c in keys if not c.says("rank", "key") and not (c.kind == "time" and timed)]
        said = [{"item": c.name} if c.kind in ("time", "remark") else c.said for c in keys]
        rows = np.tile(np.arange(table.height), len(cells))
        keys = [
            replace(c.at(rows), kind="day" if c.kind == "day" else "name", numbers=None, said=one)
            for c, one in zip(keys, said, strict=True)
        ]
        free = [c for c in keys if c.kind == "name"]
        designed = not kind and not errors and any(a.crosses(b) for a, b in itertools.combinations(free, 2))
        melted = table.stacked([*keys, head, body, *more], len(cells), melted=tuple(names))
        # A cell that is not a number stays, so that it is refused and not lost.
        melted = melted.at(np.flatnonzero(body.cells.is_not_null().to_numpy()))
        points = (-5.0 if designed else 1.0) + 0.3 * min(4, len(cells))
        # A column beside a metric on the same scale is one of several metrics.
        points -= 3.0 * (not stem and any(c.says("metric") and alike([*cells, c]) for c in others))
        # A mean beside its readings is not a rival of them.
        points += 2.0 * (stem is not None and any(_is_mean(c, cells) for c in others))
        found += _long(melted, points, f"{len(cells)} columns hold the same kind of number")
    return found


def _is_mean(c: Column, cells: Sequence[Column]) -> bool:
    """Whether a column holds the means of others, up to rounding."""
    rows = together(c, *cells)
    means = rows[1:].mean(axis=0)
    return bool(rows.size and (abs(rows[0] - means) <= 0.006 * abs(means).max()).all())


def _kind_of(cells: Sequence[Column], stem: str | None) -> str:
    """What the names of columns side by side are: options, blocks, items, replicates; empty if unknown."""
    said = said_by(stem or "")[0]
    calendar = (words_of(c.name)[:1] for c in cells)
    if all(DAY.fullmatch(c.name) for c in cells) or all(set(one) & word_list("calendar") for one in calendar):
        return "block"
    if stem is None:
        common = set.intersection(*(set(words_of(c.name)) for c in cells))
        return "option" if any("option" in said_by(word)[0] for word in common) else ""
    numbers = [int(found[-1]) for c in cells if (found := re.findall(r"\d+", c.name))]
    if "block" in said or "item" in said or stem in ("q", "item"):
        return "" if "block" in said and 0 in numbers else "block" if "block" in said else "item"
    counted = {*numbers} <= {*range(len(cells) + 2)}  # 18, 20 and 22 are versions, or doses
    return "option" if "option" in said else "replicate" if counted else ""


def _same_kind(table: Layout) -> list[tuple[list[Column], str | None]]:
    """Columns that hold the same kind of number, with the common part of names that end in numbers."""
    numbers = [c for c in table.columns if c.kind == "number" and c.there.size]
    free = [c for c in numbers if not c.numbers_rows and not c.inner and c.name != HEADER]
    counts = shares_of_totals(numbers)
    free = [c for c in free if c not in counts]
    free = [c for c in free if (not c.constant or c.is_binary) and "@" not in c.name]
    names = _categories(table)
    free = [c for c in free if c not in names]
    never = (*ERRORS, "rank", "size", "quartile", "extreme")
    other = (*RESULT, *never, "ident", "ignored", "before", "study", "option", "setting", "key")
    bare = [c for c in free if not c.says(*other) or c.said.get("value") == "cells"]
    stems: dict[str, list[Column]] = {}
    every = {c.name for c in table.columns}
    for c in free:
        name = f"{c.name} (1)" if f"{c.name} (2)" in every else c.name
        name = re.sub(r"\s*[\[(]\D[^\])]*[\])]$", "", re.sub(r" \((\d+)\)$", r" \1", name))  # no unit
        if re.fullmatch(r"[1-9]\d?", name) and {str(k + 1) for k in range(int(name))} <= every:
            stems.setdefault("", []).append(c)
        numbered = re.fullmatch(r".*[^\d.]\d+|\d+.*[a-z_].*|.*[a-z]\d+[_ .].*", name, re.I)
        known = re.search(r"[a-z]{3}.?\d", c.said.get("metric", ""))  # rouge1, top5
        version = re.search(r"[a-z] ?v?\d+\.\d", name, re.I)  # python3.12
        if numbered and not known and not version and not c.says(*never, "quantile"):
            stem = re.sub(r"[\s_.#-]*\d+[\s_.#-]*", " ", name).strip().casefold()
            stems.setdefault(stem, []).append(c)
    found: list[tuple[list[Column], str | None]] = [
        (columns, stem) for stem, columns in stems.items()
        if len(columns) > 2 or (len(columns) > 1 and (all(c in bare for c in columns) or alike(columns)))
    ]  # fmt: skip
    used = [c for columns, _ in found for c in columns]
    plain = [c for c in bare if not c.says("item", "block", "replicate") and c not in used]
    if len(plain) > 1 and alike(plain) and not any(len(columns) > 2 for columns, _ in found):
        found.append((plain, None))
    family = _family([c for c in free if not c.says(*never, "quantile", "setting")])
    if len(family) > 1 and alike(family) and not any({*family} <= {*columns} for columns, _ in found):
        found = [one for one in found if not {*one[0]} & {*family}] + [(family, None)]

    def is_interval(columns: list[Column]) -> bool:
        return len(columns) == 2 and any(
            c.is_between(columns[0], columns[1]) for c in numbers if c not in columns
        )

    return [one for one in found if not is_interval(one[0])]


def _family(columns: list[Column]) -> list[Column]:
    """The columns whose names share their first or last word, and differ in the rest: Glue A, Glue B."""
    best: list[Column] = []
    never = {"value", "metric", "quantile", "rate", "successes", "size", "before"}
    for end in (0, -1):
        by: dict[str, list[Column]] = {}
        for c in columns:
            if len(words := words_of(c.name)) > 1:
                by.setdefault(words[end], []).append(c)
        for word, ones in by.items():
            rests = [" ".join(w for w in words_of(c.name) if w != word) for c in ones]
            says = {role for rest in rests for role in said_by(rest)[0]}
            nested = not says and all(re.match(r"[^\W_]+[./]", c.name) for c in ones)  # scores.gpt
            lettered = rests == [chr(ord("a") + k) for k in range(len(rests))]  # price_a, price_b
            if nested or lettered or not ({*said_by(word)[0]} | says - {"quantile", "rate"}) & never:
                best = max(best, ones, key=len)
    return best


# Pairs of options

_VERSUS = re.compile(r"\s(?:vs\.?|versus|v\.|minus|gegen|contre|-|–)\s|(?<=\S)[-–](?=\S)", re.I)
_WORD = re.compile(r"\sv(?:s\.?|ersus|\.)\s", re.I)


def versus(cells: Sequence[str | None]) -> list[tuple[str, str] | None]:
    """Cut "A vs B" or "B-A" in two: where the parts are those that other cells have."""
    cuts: dict[str, list[tuple[str, str]]] = {}
    for cell in {cell for cell in cells if cell}:
        found = _VERSUS.finditer(cell[:300])
        cuts[cell] = [(cell[: cut.start()].strip(), cell[cut.end() :].strip()) for cut in found]
    often = Counter(part for ones in cuts.values() for both in ones for part in both)

    def known(both: tuple[str, str]) -> tuple[int, int]:
        first, second = (often[part] for part in both)
        return min(first, second), first + second

    best = {cell: max(ones, key=known) for cell, ones in cuts.items() if ones}
    return [best.get(cell or "") for cell in cells]


def _is_pair(c: Column) -> bool:
    """Whether the cells name two options each."""
    if c.n_levels > 2000 or not all(_VERSUS.search(cell[:300]) for cell in c.levels):
        return False
    both = [pair for pair in versus(c.levels) if pair]
    sides = [{pair[at] for pair in both} for at in (0, 1)]
    if all(name.isdigit() for name in sides[1]) and not all(name.isdigit() for name in sides[0]):
        return False  # mix-1, mix-2
    many = len(sides[0] | sides[1])
    complete = min(map(len, sides)) == 1 or len(both) == many * (many - 1) / 2
    spaced = all(re.search(r"\s\S+\s", cell) for cell in c.levels)
    named = c.says("pair") or c.name == ""
    return all(map(_WORD.search, c.levels)) or (named and complete) or (c.says("pair") and spaced)


def _pairs_of_options(table: Layout) -> list[Candidate]:
    """Rows about two options: a difference, or who won."""
    found = []
    for roles, score in _pairs([c for c in table.columns if c.kind == "name"]):
        sides = [c for columns in roles.values() for c in columns]
        for c in table.columns if len(sides) == 2 else []:
            who = {name.casefold() for side in sides for name in [*side.levels[:1000], side.name]}
            who |= {
                word.replace("_", " ") for kind in ("ties", "first", "second") for word in word_list(kind)
            }
            who |= {word for kind in ("ties", "first", "second") for word in word_list(kind)}
            coded = c.kind == "number" and c.says("winner") and {*c.there} <= {0.0, 0.5, 1.0, -1.0, 2.0}
            named = c.kind == "name" and {cell.casefold() for cell in c.levels[:1000]} <= who
            if c not in sides and not c.constant and (coded or named):
                points, why = 4.0 + score + 2.0 * c.says("winner"), [f"{c.name!r} says who won"]
                found.append(Candidate("battles", table, roles | {"winner": [c]}, points, why))
        counts = [c for c in table.columns if c.whole]
        wins = [
            next((c for c in counts if c.says("successes") and c.says(side)), None)
            for side in ("first", "second")
        ]
        a, b = wins
        if len(sides) == 2 and a is not None and b is not None:
            ties = [c.values for c in counts if {*words_of(c.name)} & word_list("ties")]
            x, y = a.values, b.values
            won = Column.made([a, b], (x - y) / np.maximum(1, x + y + sum(ties, start=np.zeros(len(x)))))
            every = roles | {"winner": [won]}
            found.append(Candidate("battles, counted", table, every, 6.0 + score, ["wins are counted"]))
        others = [c for c in _categories(table) if c not in sides and not c.says("ident", "ignored")]
        others = [c for c in others if c.unique or not any(side.determines(c) for side in sides)]
        study = sorted(others, key=lambda c: not c.says("study"))[:1]
        for one in measures(table, [*sides, *study])[:2]:
            if one.roles.keys() & _SPREADS:
                why, both = [*one.because, "two names in every row"], roles
                if len(sides) == 2 and any(c.says("reversed") for c in table.columns):
                    both = {"plus": roles["minus"], "minus": roles["plus"]}
                    why.append(f"{one.value.name!r} is the second minus the first")
                every = ({"block": study} if study else {}) | both | one.roles
                points = 2.0 + score + one.score
                found.append(Candidate("differences", table, every, points, why, one.ask, one))
    return found


def _side_of(c: Column) -> tuple[bool, str]:
    """How columns of sides are sorted: Treatment 1 before Treatment 2."""
    return c.says("second"), re.sub(r"\D", "", c.name)


def _pairs(texts: list[Column]) -> list[tuple[Roles, float]]:
    """Columns that together name two options, with points."""
    pairs: list[tuple[Roles, float]] = []
    texts = [c for c in texts[:MOST_NAMES] if c.n_levels <= 2000]
    for one, two in itertools.combinations(sorted(texts, key=_side_of), 2):
        both, either = {*one.levels} & {*two.levels}, {*one.levels, *two.levels}
        against = two.says("second") and not two.unique  # not a reference to the literature
        same = len(both) >= 0.3 * len(either) or (against and bool(both))
        same = same and bool((one.cells != two.cells).fill_null(True).all())
        first = one.says("first") or (against and one.says("option"))
        score = 2.0 * same + 1.5 * first + 1.5 * two.says("second")
        if same or (score >= 3.0 and len(one.name) > 1):
            pairs.append(({"plus": [one], "minus": [two]}, score))
    return pairs + [({"pair": [c]}, 4.0) for c in texts if _is_pair(c)]


def _features_only(table: Layout) -> list[Candidate]:
    """Nothing names the options: rows are described by numbers that were set, and one number came out."""
    names = [c for c in table.columns if c.kind in ("name", "day") and not c.constant]
    if not all(c.says("metric") and not c.says("option") for c in names):  # conditions in words
        return []
    table = replace(table, columns=[c for c in table.columns if c.kind == "number"])
    results = [one for one in measures(table, []) if not one.is_bare or one.score > 1.0]
    results = [one for one in results if one.value.n_levels > 0.4 * table.height] or results
    found = []
    for one in results[:3]:
        used = {name for columns in one.roles.values() for c in columns for name in c.sources}
        free = [c for c in table.columns if not {*c.sources} & used and not c.constant]
        free = [c for c in free if not c.says("size", "rank", "ident", "ignored")]
        few = [c for c in free if not c.numbers_rows and c.n_levels <= 0.6 * len(c.cells)]
        free = [c for c in free if c.says("setting") or c in few]
        shares = [c for c in free if c.says("item", "block", "study") and not c.says("setting")]
        free = [c for c in free if c not in shares and not c.says("replicate")]
        if free and one.score >= results[0].score - 1.0:
            roles = {"option": free, **({"features": free} if len(free) > 1 else {})} | one.roles
            roles |= {"block": shares} if shares else {}
            why = [*one.because, "the other columns repeat a few levels"]
            points = one.score + 2.0 + 3.0 * any(a.crosses(b) for a, b in itertools.combinations(free, 2))
            found.append(Candidate("features and one result", table, roles, points, why, one.ask, one))
    return found
