"""Readings of a whole table: long, wide, pairs of options, and features with one result."""

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from noisewise.study.tables.columns import (
    CELL,
    HEADER,
    Column,
    Layout,
    alike,
    below,
    between,
    crossed,
    determines,
    is_calendar,
    made,
    once,
    said_by,
    shared,
    taken,
    words_of,
)  # fmt: skip
from noisewise.study.tables.layout import ERRORS, RESULT
from noisewise.study.tables.measures import NEITHER, Measure, Roles, measures, without_summaries
from noisewise.study.tables.numbers import DAY

_KEY = re.compile(r"[0-9a-f]{8,}(?:-[0-9a-f-]+)?", re.I)
#: Columns of names that are compared with each other.
MOST_NAMES = 24
#: Rows of a table whose columns are put below each other.
MOST_MELTED = 1_000_000
_SPREADS = frozenset(["se", "sd", "var", "lo"])


@dataclass(eq=False)
class Candidate:
    """One way to understand a whole table."""

    name: str
    table: Layout
    roles: Roles
    score: float
    because: list[str] = field(default_factory=list)
    ask: str = ""  # what only people know: "error", "n", "columns"
    measure: Measure | None = None

    def meaning(self, *roles: str) -> frozenset[Any]:
        """The columns of all roles, or of these."""
        keep = roles or tuple(set(self.roles) - {"n", "features"})
        return frozenset((role, c.sources) for role in keep for c in self.roles.get(role, ()))


def candidates(table: Layout) -> list[Candidate]:
    """All readings of a table that no cell contradicts, the best first."""
    found = [*_pairs_of_options(table), *_wide(table), *_long(table), *_features_only(table)]
    pairs = _pairs([c for c in table.columns if c.kind == "name"])
    sides = {c.name for roles, score in pairs if score >= 3.0 for columns in roles.values() for c in columns}
    if sides:  # half of a pair, or none of it, is no reading
        used = [{c.name for columns in one.roles.values() for c in columns} for one in found]
        found = [
            one for one, names in zip(found, used, strict=True)
            if names & sides and not {c.name for c in one.roles.get("option", ())} & sides
        ]  # fmt: skip
    return sorted((one for one in found if _holds(one)), key=lambda one: -one.score)


def _holds(one: Candidate) -> bool:
    """Whether there are two options with different results, and no item occurs twice for one of them."""
    result = one.roles.get("value", one.roles.get("successes", one.roles.get("winner", [None])))[0]
    if result is None or ("winner" not in one.roles and (result.constant or result.there.size < 2)):
        return False
    if "option" in one.roles:
        there = np.ones(one.table.height, bool) if result.numbers is None else ~np.isnan(result.numbers)
        options = {c.codes[there & (c.codes >= 0)].tobytes() for c in one.roles["option"]}
        if (
            all(np.unique(c.codes[there & (c.codes >= 0)]).size < 2 for c in one.roles["option"])
            or not options
        ):
            return False
    return "item" not in one.roles or once(*one.roles["option"], *one.roles["item"])


# Columns of names


def _categories(table: Layout) -> list[Column]:
    """Columns of names; whole numbers are names if the header says so, or if they make a design."""
    words = [c for c in table.columns if c.kind in ("name", "day") and not c.constant and not c.says("key")]
    words = words[:MOST_NAMES]
    words = [
        c
        for c in words
        if not (
            c.n_levels > 2 and all(_KEY.fullmatch(cell) and re.search(r"\d", cell) for cell in c.levels[:200])
        )
    ]
    words = [c for c in words if not (c.unique and _is_prose(c))]
    if any(
        crossed(a, b) and once(a, b) for a, b in itertools.combinations([c for c in words if not c.unique], 2)
    ):
        words = [c for c in words if not c.unique]  # rows of a design need no names

    def is_name(c: Column) -> bool:
        if c.says("value", "size", *ERRORS) or not c.whole or c.constant or c.is_binary:
            return False
        if c.says("metric"):  # hours at which all were measured
            return c.n_levels > 2 and any(crossed(o, c) and c.n_filled == len(c.cells) for o in words)
        if c.says("item", "study", "block", "replicate", "instrument", "option"):
            return True
        return any(crossed(o, c) and once(o, c) for o in words)

    found = [c for c in table.columns if c in words or is_name(c)]
    if not found:  # batch sizes, doses: numbers that were set are the only names
        first = next(iter(table.columns))
        named = first.says("setting", "ident") or (first.unique and not first.numbers_rows and first.whole)
        if first.kind == "number" and named and not first.says("value", "metric", "size", *ERRORS):
            found = [first]
    repeats = [c for c in table.columns if c.says("item", "replicate", "block")]
    settings = [
        c for c in table.columns[:200] if c.kind == "number" and c.was_set and not c.says(*NEITHER, *ERRORS)
    ]
    # Doses and other settings that were repeated in blocks, or that all options share.
    return found + [
        c for c in settings
        if c not in found and not c.constant
        and (any(crossed(c, o) and once(c, o) for o in repeats) or any(crossed(o, c) for o in words))
        and not c.says("size")
    ]  # fmt: skip


def _is_prose(c: Column) -> bool:
    return sum(len(cell.split()) for cell in c.levels[:100]) > 7 * min(100, c.n_levels)


def _options(names: list[Column], table: Layout) -> list[tuple[Column, float]]:
    """Columns that may name the options, with points, the best first."""
    found = []
    groups = [
        c
        for c in names
        if not c.unique
        and c.kind == "name"
        and _is_repeated(c)
        and not c.says("item", "block", "study", "replicate", "key")
    ]
    for c in names:
        remark = c.says("ident") and not c.says("option") and c.n_filled < 0.9 * len(c.cells)
        if c.kind == "day" or c.says("replicate") or (c.says("key") and not c.says("option")) or remark:
            continue
        called = c.says("option") and c.said["option"] != "name"
        weak = c.says("instrument", *NEITHER, *ERRORS)
        score = 3.0 * called + 0.5 * c.says("option") + 0.6 * (c is names[0]) + 1.0 * (c.name == "")
        score -= (1.0 if c in groups and c.says("ident") else 3.0) * (weak and not called) + 1.0 * (
            weak and called and c.name != HEADER and c.says("item", "block", "study")
        )
        score += 1.0 * (c.says("study") and not any(o.says("option") for o in names))
        others = [o for o in names if o is not c]
        score += 1.0 * any(crossed(c, o) for o in others) - 2.0 * (c.n_filled < 0.8 * len(c.cells))
        # Names of rows are not options where other columns make a design; nor are attributes of items.
        designed = any(crossed(o, p) for o, p in itertools.combinations(others, 2))
        score -= 1.5 * (c.unique and (designed or (not called and any(o is not c for o in groups))))
        score -= 2.0 * any(not o.unique and determines(o, c) and not determines(c, o) for o in others)
        # Few options and many items, not the other way round.
        score += 0.7 * any(o.n_levels >= 3 * c.n_levels and crossed(c, o) for o in others)
        score -= 2.0 * (c.kind == "number" and not c.says("option"))
        found.append((c, score))
    strong = [one for one in found if not one[0].says("ident", "key") or one[0].says("option")]
    return sorted(strong or found, key=lambda one: -one[1])[:3]


def _is_repeated(c: Column) -> bool:
    """Whether all levels occur twice at least, as do options with several readings."""
    often = np.bincount(c.codes[c.codes >= 0])
    often = often[often > 0]
    return bool(often.size > 1 and often.min() >= 2 and often.max() <= 2 * often.min())


# Long tables


def _long(table: Layout, points: float = 0.0, because: str = "") -> list[Candidate]:
    """Rows that each say something about one option."""
    names, found = _categories(table), []
    results = measures(table, names)
    years = [c for c in table.columns if "year" in c.said.values()][:1]
    groups = [c for c in names if c.kind == "name" and not c.unique and _is_repeated(c)]
    for option, score in _options(names, table):
        mine = [one for one in without_summaries(results, option) if one.value is not option]
        for result in mine[:8]:
            beside, more, why = _beside(table, option, names, result)
            whole = [option, *years] if "author" in option.said.values() else [option]
            roles = {"option": whole, **result.roles, **beside}
            if features := _features(table, option, roles, names):
                roles["features"] = features
            arms = any(c.says("study") for c in roles.get("block", ())) and bool(
                set(result.roles) - {"value"}
            )
            # Columns that are neither days nor repeats may be conditions, or results of which one counts.
            unclear = table.melted and any(
                c.name == HEADER and c is not option and not c.said for c in table.columns
            )
            name = "arms of studies" if arms else _name_of(roles)
            # What repeats in all rows of a group says nothing about its single rows.
            more -= 3.0 * (
                option.unique and any(g is not option and determines(g, result.value) for g in groups)
            )
            shares = [c for role in ("block", "item") for c in roles.get(role, ())]
            if (
                option.kind == "number"
                and shares
                and all(c.kind == "number" for c in shares)
                and not option.says("option")
            ):
                more -= 3.0  # settings that were varied together
            total = points + score + result.score + more
            whys = [*filter(None, [because]), *result.because, *why]
            found.append(
                Candidate(
                    name, table, roles, total, whys, result.ask or ("columns" if unclear else ""), result
                )
            )
    return found


def _beside(
    table: Layout, option: Column, names: list[Column], result: Measure
) -> tuple[Roles, float, list[str]]:
    """Items, blocks and instruments: columns that options share, and that must not be left out."""
    rest = [
        c
        for c in names
        if c is not option and not determines(option, c) and shared(option, c) and c.of is None
    ]
    named = [c for c in rest if c.says("item", "block", "study", "instrument") and not c.says("key")]
    unnamed = [c for c in rest if not c.says("replicate") and c.n_filled == len(c.cells) and not c.unique]
    rest = [c for c in rest if c in named or (c in unnamed and (crossed(option, c) or once(option, c)))]
    rest.sort(
        key=lambda c: (not c.says("instrument"), not c.says("item", "block", "study"), c.says("ignored"))
    )
    finest = [
        c
        for at, c in enumerate(rest)
        if not any(
            determines(o, c) and (not determines(c, o) or rest.index(o) < at) for o in rest if o is not c
        )
    ]
    # The number of an option within a block or of a row says nothing more.
    why = [f"options share {c.name!r}" for c in finest if c.name != HEADER]
    devices = [c for c in finest if c.says("instrument")]
    instruments: Roles = {"instrument": devices[:1]} if devices else {}
    finest = [c for c in finest if not c.says("instrument")]
    if not finest:
        return instruments, 1.0 * bool(instruments), why
    points = 1.0 + 0.5 * any(c.says("item", "block", "study") for c in finest)
    years = [c for c in table.columns if "year" in c.said.values()]
    as_items = set(result.roles) == {"value"} and scale_of(result.roles["value"][0]) and once(option, *finest)
    many = max(c.n_levels for c in finest) >= 10 and not any(
        c.says("block", "study") or c.kind == "day" for c in finest
    )
    if as_items and (many or any(c.says("item") for c in finest)):
        return {"item": finest}, points, why
    author = any("author" in c.said.values() for c in finest)
    return instruments | {"block": [*finest, *(years[:1] if author else [])]}, points, why


def scale_of(c: Column) -> tuple[int, int] | None:
    """The scale that scores of items may be on: from 0 to 1, or ratings in whole numbers."""
    if not c.there.size:
        return None
    low, high = float(c.there.min()), float(c.there.max())
    if low >= 0 and high <= 1:
        return 0, 1
    scales = ((1, 5), (1, 7), (1, 9), (0, 10)) if c.whole else ()
    return next((one for one in scales if one[0] <= low and high <= one[1]), None)


def _features(table: Layout, option: Column, roles: Roles, names: list[Column]) -> list[Column]:
    """Numbers that describe options: they were set, are the same in all rows of each, and are no result."""
    used = [*itertools.chain(*roles.values()), *names]
    sources = {name for c in used for name in c.sources}
    free = [
        c for c in table.columns if c.kind == "number" and not set(c.sources) & sources and not c.constant
    ]
    free = [
        c for c in free if not c.says(*NEITHER, *RESULT, *ERRORS, "before") and not c.name.startswith("_")
    ]
    found = [
        c for c in free if determines(option, c) and (c.says("setting") or c.n_levels <= 0.6 * len(c.cells))
    ]
    return found if len(found) > 1 and option.n_levels > 4 else []


def _name_of(roles: Roles) -> str:
    names = {"successes": "counts", "item": "paired items", "value": "readings"}
    kind = (
        "values with error bars"
        if roles.keys() & _SPREADS
        else next(names[role] for role in names if role in roles)
    )
    return (
        kind + (" in blocks" if "block" in roles else "") + (", with features" if "features" in roles else "")
    )


# Wide tables


def _wide(table: Layout) -> list[Candidate]:
    """Columns that hold the same kind of result: their names are options; or days, repeats or items."""
    found: list[Candidate] = []
    for cells, stem in _same_kind(table):
        others = [c for c in table.columns if c not in cells and c.of not in cells]
        if any(c.says(*ERRORS) and c.of is None and not c.says("rsd") for c in others) and stem is None:
            continue
        said = set(said_by(stem or "")[0])
        calendar = all(is_calendar(c.name) or DAY.fullmatch(c.name) for c in cells)
        kind = (
            "block"
            if calendar or "block" in said
            else "item"
            if "item" in said or stem in ("q", "item")
            else "replicate"
            if stem is not None
            else ""
        )
        if table.height * len(cells) > MOST_MELTED:
            continue
        names = [c.name for c in cells]
        common = set.intersection(*(set(words_of(name)) for name in names))
        if stem is None and any("option" in said_by(word)[0] for word in common):
            kind = "option"
        head = Column(
            HEADER,
            pl.Series([name for name in names for _ in range(table.height)]),
            said={kind: stem or ""} if kind else {},
        )
        body = replace(below(cells, CELL), said={"value": "cells"})
        errors = [c for c in table.columns if c.of in cells]
        if errors and len(errors) != len(cells):
            continue
        more = [replace(below(errors, CELL), of=body)] if errors else []
        named = [
            c
            for c in others
            if c.kind in ("name", "day", "time") or c.says("item", "block") or (c.whole and c.unique)
        ]
        texts = [c for c in others if c.kind == "name"]
        named += [
            c
            for c in others
            if c not in named and c.whole and c.n_levels > 2 and any(crossed(o, c) for o in texts)
        ]
        named = [
            c
            for c in named
            if not c.says("rank") and not (c.kind == "time" and any(o.kind != "time" for o in named))
        ]
        keys = [replace(c, kind="day" if c.kind == "day" else "name", numbers=None) for c in named]
        keys = taken(keys, np.tile(table.everything, len(cells)))
        for c in keys:
            if (
                c.unique is False
                and table.columns
                and c.kind == "name"
                and any(o.kind == "time" and o.name == c.name for o in named)
            ):
                c.said = {"item": c.name}
        free = [c for c in keys if c.kind == "name"]
        designed = not kind and not errors and any(crossed(a, b) for a, b in itertools.combinations(free, 2))
        assert body.numbers is not None
        there = np.flatnonzero(~np.isnan(body.numbers))
        melted = Layout(taken([*keys, head, body, *more], there), table.notes, tuple(names), table.title)
        found += _long(
            melted,
            (-3.0 if designed else 1.0) + 0.3 * min(4, len(cells)),
            f"{len(cells)} columns hold the same kind of number",
        )
    return found


def _same_kind(table: Layout) -> list[tuple[list[Column], str | None]]:
    """Columns that hold the same kind of number, with the common part of names that end in numbers."""
    free = [
        c
        for c in table.columns
        if c.kind == "number" and not c.numbers_rows and c.of is None and c.name != HEADER and c.there.size
    ]
    free = [c for c in free if not c.constant or c.is_binary]
    roles = (
        *RESULT,
        *ERRORS,
        "size",
        "rank",
        "extreme",
        "ident",
        "ignored",
        "before",
        "study",
        "option",
        "quartile",
        "setting",
        "key",
    )
    bare = [c for c in free if not c.says(*roles) or (c.said.get("value") == "cells")]
    numbered = [
        c
        for c in free
        if re.fullmatch(r".*[^\d.]\d+|\d+.*[a-z_].*|.*[a-z]\d+[_ .].*", c.name, re.I)
        and not c.says(*ERRORS, "rank", "size", "quartile", "extreme")
    ]
    stems: dict[str, list[Column]] = {}
    for c in numbered:
        stems.setdefault(re.sub(r"[\s_.#-]*\d+[\s_.#-]*", " ", c.name).strip().casefold(), []).append(c)
    found: list[tuple[list[Column], str | None]] = []
    for stem, columns in stems.items():
        if (
            len(columns) > 1
            and "quantile" not in said_by(columns[0].name)[0]
            and (len(columns) > 2 or all(c in bare for c in columns) or alike(columns))
        ):
            found.append((columns, stem))
    plain = [
        c
        for c in bare
        if not c.says("item", "block", "replicate") and not any(c in columns for columns, _ in found)
    ]
    if len(plain) > 1 and alike(plain) and not any(len(columns) > 2 for columns, _ in found):
        found.append((plain, None))
    family = [
        c for c in free if not c.says(*ERRORS, "size", "rank", "extreme", "quartile", "quantile", "setting")
    ]
    family = _family(family)
    if not any(set(family) <= set(columns) for columns, _ in found) and len(family) > 1 and alike(family):
        found = [one for one in found if not set(one[0]) & set(family)] + [(family, None)]
    if not found and not any(c.kind == "name" and not c.constant for c in table.columns):
        asked = [
            c
            for c in free
            if not c.says(*ERRORS, "rank", "size", "extreme", "quartile", "setting", "quantile")
        ]
        if (
            len(asked) > 1 and _differ_in_a_word(asked) and alike(asked)
        ):  # "How do you rate A?", "How do you rate B?"
            found.append((asked, None))
    values = [c for c in table.columns if c.kind == "number" and c.there.size]
    return [
        (columns, stem)
        for columns, stem in found
        if len(columns) > 2 or not any(between(columns[0], c, columns[1]) for c in values if c not in columns)
    ]


def _family(columns: list[Column]) -> list[Column]:
    """The columns whose names share their first or last word, and differ in the rest: Glue A, Glue B."""
    best: list[Column] = []
    for end in (0, -1):
        by: dict[str, list[Column]] = {}
        for c in columns:
            if len(words := words_of(c.name)) > 1:
                by.setdefault(words[end], []).append(c)
        for word, ones in by.items():
            said = set(said_by(word)[0])
            rest = [set(said_by(" ".join(w for w in words_of(c.name) if w != word))[0]) for c in ones]
            if said & {"value", "metric", "quantile", "rate", "successes", "size"} or any(
                one & {"metric", "value", "size", "successes", "before"} for one in rest
            ):
                continue
            best = max(best, ones, key=len)
    return best


def _differ_in_a_word(columns: list[Column]) -> bool:
    names = [words_of(c.name) for c in columns]
    common = set.intersection(*map(set, names))
    return len(common) >= 2 and all(len(set(words) - common) <= max(1, len(common) // 2) for words in names)


# Pairs of options

VERSUS = re.compile(r"\s(?:vs\.?|versus|v\.|minus|gegen|contre|-|–)\s", re.I)
_TIES = frozenset(
    [
        "tie",
        "ties",
        "draw",
        "draws",
        "both",
        "neither",
        "both bad",
        "tie (bothbad)",
        "equal",
        "same",
        "d",
        "1/2-1/2",
        "½-½",
        "0.5-0.5",
    ]
)
_FIRST = frozenset(["a", "left", "first", "1-0", "h", "home", "w", "white", "model a", "a wins", "model_a"])
_SECOND = frozenset(["b", "right", "second", "0-1", "away", "black", "model b", "b wins", "model_b"])


def _pairs_of_options(table: Layout) -> list[Candidate]:
    """Rows about two options: a difference, or who won."""
    found, texts = [], [c for c in table.columns if c.kind == "name"]
    for roles, score in _pairs(texts):
        sides = [c for columns in roles.values() for c in columns]
        who = (
            _TIES | _FIRST | _SECOND | {name.casefold() for c in sides for name in [*c.levels[:1000], c.name]}
        )
        if len(sides) == 2:
            for c in table.columns:
                coded = c.kind == "number" and c.says("winner") and set(c.there) <= {0.0, 0.5, 1.0, -1.0, 2.0}
                if (
                    c in sides
                    or c.constant
                    or not (
                        coded or (c.kind == "name" and {cell.casefold() for cell in c.levels[:1000]} <= who)
                    )
                ):
                    continue
                points = 4.0 + score + 2.0 * c.says("winner")
                found.append(
                    Candidate("battles", table, roles | {"winner": [c]}, points, [f"{c.name!r} says who won"])
                )
            wins = [
                c
                for side in ("first", "second")
                for c in table.columns
                if c.whole and c.says("successes") and c.says(side)
            ]
            if len(wins) == 2:
                ties = [
                    c.numbers
                    for c in table.columns
                    if c.whole and c.numbers is not None and {*words_of(c.name)} & _TIES
                ]
                a, b = (np.asarray(c.numbers) for c in wins)
                won = made(wins, (a - b) / np.maximum(1, a + b + sum(ties, start=np.zeros(len(a)))))
                found.append(
                    Candidate(
                        "battles, counted",
                        table,
                        roles | {"winner": [won]},
                        6.0 + score,
                        ["wins are counted"],
                    )
                )
        others = [c for c in _categories(table) if c not in sides and not c.says("ident", "key")]
        study = sorted(others, key=lambda c: not c.says("study"))[:1]
        for one in measures(table, [*sides, *study])[:2]:
            if one.roles.keys() & _SPREADS:
                every = ({"block": study} if study else {}) | roles | one.roles
                why = [*one.because, "two names in every row"]
                found.append(
                    Candidate("differences", table, every, 2.0 + score + one.score, why, one.ask, one)
                )
    return found


def _pairs(texts: list[Column]) -> list[tuple[Roles, float]]:
    """Columns that together name two options, with points."""
    pairs: list[tuple[Roles, float]] = []
    texts = texts[:MOST_NAMES]
    for one, two in itertools.combinations(sorted(texts, key=lambda c: c.says("second")), 2):
        if max(one.n_levels, two.n_levels) > 2000:
            continue
        both, either = {*one.levels} & {*two.levels}, {*one.levels, *two.levels}
        same = len(both) >= 0.3 * len(either) and bool((one.cells != two.cells).fill_null(True).all())
        score = 2.0 * same + 1.5 * one.says("first") + 1.5 * two.says("second")
        if same or score >= 3.0:
            pairs.append(({"plus": [one], "minus": [two]}, score))
    versus = [
        c for c in texts if c.levels and all(len(cell) < 300 and VERSUS.search(cell) for cell in c.levels)
    ]
    return pairs + [
        ({"pair": [c]}, 4.0)
        for c in versus
        if c.says("pair") or any(re.search(r"\bv(?:s\.?|ersus)\b", x) for x in c.levels)
    ]


def _features_only(table: Layout) -> list[Candidate]:
    """Nothing names the options: rows are described by numbers that were set, and one number came out."""
    if any(
        c.kind in ("name", "day")
        and not c.constant
        and not c.says("key")
        and not (c.says("ident") and c.n_filled < 0.9 * len(c.cells))
        and not (c.says("metric") and not c.says("option"))
        for c in table.columns
    ):
        return []
    table = replace(table, columns=[c for c in table.columns if c.kind == "number"])
    found = []
    results = [one for one in measures(table, []) if one.roles.keys() - {"value"} or one.score > 1.0]
    results = [one for one in results if one.value.n_levels > 0.4 * table.height] or results
    for one in results[:3]:
        if one.score < results[0].score - 1.0:
            break
        used = {name for columns in one.roles.values() for c in columns for name in c.sources}
        free = [
            c
            for c in table.columns
            if not set(c.sources) & used and not c.constant and not c.says("size", "rank", "ident", "ignored")
        ]
        few = [c for c in free if not c.numbers_rows and c.n_levels <= 0.6 * len(c.cells)]
        free = (
            [c for c in free if c.says("setting") or c in few]
            if few
            else [c for c in free if c.says("setting")]
        )
        if free and all(c.says("setting") or c.n_levels <= 0.6 * len(c.cells) for c in free):
            why = [*one.because, "the other columns repeat a few levels"]
            features = {"features": free} if len(free) > 1 else {}
            roles = {"option": free, **features} | one.roles
            found.append(
                Candidate("features and one result", table, roles, 2.0 + one.score, why, one.ask, one)
            )
    return found


def distinct(found: Iterable[Candidate]) -> list[Candidate]:
    """Leave out readings that mean what an earlier one means."""
    return list({one.meaning(): one for one in reversed(list(found))}.values())[::-1]
