"""From a grid to columns: titles, headers, notes, totals, cells of several numbers, columns side by side."""

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from noisewise.study.tables.columns import (
    ERRORS,
    HEADER,
    RESULT,
    SOME,
    Column,
    Layout,
    Numbers,
    alike,
    said_by,
    word_list,
    words_of,
)  # fmt: skip
from noisewise.study.tables.grid import Grid
from noisewise.study.tables.names import split_unit
from noisewise.study.tables.numbers import (
    DAY,
    LONGEST,
    MISSING,
    SECONDS,
    TIME,
    UNIT,
    clean,
    decimal_sign,
    is_number,
    looks_numeric,
    number,
    split_cell,
    truth_value,
)  # fmt: skip

_NOTE = re.compile(
    r"(?:note|source|legend|remark|comment|quelle|anmerkung|hinweis|nota|fuente)s?\s*:|[*†]", re.I
)
_STATISTICS = {"size", "successes", "value", "sd", "se", "var", "lo", "hi", "rate"}
#: Rows below a table of means: least significant differences, coefficients of variation, tests.
_FOOTER = re.compile(
    r"(?:lsd|hsd|cv|sem|sed|s\.e\.[md]\.?|msd|dms|gd|kgd|anova|sig\.?|significance|(?:p|f|pr|prob)[\s_-]*(?:[<>]|value|wert|test))"
    r"[\s_]*(?:[\s_.<>=≤]*(?:p|f|t|tukey|\d|%|value|test))*", re.I,
)  # fmt: skip
#: Letters that options share if no test tells them apart: a, ab, b.
_COMPACT = re.compile(r"a?b?c?d?e?f?g?h?")
#: Names that machines make.
_KEY = re.compile(r"(?=.*\d)[0-9a-f]{8,}(?:-[0-9a-f-]+)?", re.I)
#: How columns begin that only count rows.
_COUNTERS = ("", "unnamed", "index", "idx", "row", "nr", "x")
#: Units that need no name that expects them.
_PLAIN_UNITS = {*SECONDS, "b", "kb", "mb", "kib", "mib"}
#: Rows that are looked at to find the header.
_SAMPLE = 200
_TOO_SMALL = (
    "it needs a header and two rows of two columns at least; to read less, say which column is the option "
    "and which one the value."
)
Rows = list[list[str]]


def layout_of(grid: Grid, decimal: str | None = None, least: int = 2) -> Layout:
    """Find the header, the columns with their types, and what is around them.

    Args:
        grid: The texts.
        decimal: The decimal sign, if it was stated.
        least: The fewest rows that make a table.
    """
    frame = grid.rows
    if frame.is_empty():
        raise ValueError("it is empty.")
    frame = frame.filter(pl.any_horizontal(pl.all().is_not_null()))
    frame = frame.select([c for c in frame.get_columns() if c.null_count() < c.len()])
    first, last = _extent(frame) if min(frame.shape) > 1 else (0, 0)
    if last - first <= least:
        raise ValueError(_TOO_SMALL)
    outside = [" ".join(filter(None, row)) for row in _texts(frame.head(first)) + _texts(frame.slice(last))]
    head = _texts(frame.slice(first, min(last - first, _SAMPLE)))
    depth, names, groups = _header(head)
    notes = [f"not part of the table: {'; '.join(text[:50] for text in outside)}"] if outside else []
    body = frame.slice(first + depth, last - first - depth)
    if (turned := _turned(names, body)) is not None:
        names, groups, body = [HEADER, *turned.pop(0)], [""] * (1 + body.height), _frame(turned)
        notes.append("rows and columns are exchanged")
    names, groups, body = _spread(names, groups, body)
    body, more = _repaired(body, names)
    texts = (clean(cell) for c in body.head(2000).get_columns() for cell in c.drop_nulls().to_list()[:500])
    counts = any(said_by(name)[0].keys() & {"size", "successes"} for name in names)
    decimal = decimal or decimal_sign(texts, grid.comma, of_counts=counts)
    notes += ["decimal commas"] if decimal == "," else []
    title = " ".join([grid.title, *outside])
    often: Counter[tuple[str, str]] = Counter()
    columns: list[Column] = []
    for name, group, cells in zip(names, groups, body.get_columns(), strict=True):
        often[group, name] += cells.null_count() < cells.len()
        many = often[group, name]
        columns += _typed(name if many < 2 else f"{name} ({many})", cells, group, decimal, title)
    if len(columns) < 2:
        raise ValueError("it needs two columns at least with something in them.")
    for c in columns[:3] if len(columns) > 2 and any(c.kind == "name" for c in columns) else []:
        if c.numbers_rows and ([*words_of(c.name), ""])[0] in _COUNTERS:
            columns.remove(c)
    numbers = [c for c in columns if c.kind == "number" and not c.inner]
    ranges = [c for c in columns if c.said == {"lo": "cells"}]
    for low in ranges:  # ages are no intervals of anything
        high = columns[columns.index(low) + 1]
        if not said_by(low.name)[0].keys() & {"ci", "lo", "hi", "quartile", "extreme"} and not any(
            c.is_between(low, high) for c in numbers
        ):
            at = columns.index(low)
            columns[at : at + 2] = [replace(low, kind="name", numbers=None, said={})]
    called = {split_unit(c.name)[0].casefold(): c for c in numbers}
    for c in numbers:  # lnOR and selnOR
        parts = re.fullmatch(r"(se|sd|var)[\s_.]*(.+)|(.+?)[\s_.]*(se|sd|var)", c.name.casefold())
        value = called.get(parts[2] or parts[3]) if parts and not c.says(*ERRORS) else None
        if parts and value is not None:
            c.said, c.stem = {parts[1] or parts[4]: c.name}, value.stem
    halves = [c for c in numbers if c.says("ci") and not c.says(*ERRORS)]
    for low, high in itertools.permutations(halves, 2):
        if any(c.is_between(low, high) for c in numbers if c not in halves):
            low.said, high.said = {"lo": "ci"}, {"hi": "ci"}
    for c in halves:  # an interval of one number is half of it
        c.said = c.said if c.says("lo", "hi") else {**c.said, "moe": c.said["ci"]}
    for one, other in (("lo", "hi"), ("hi", "lo")):
        ends = [c for c in columns if {*c.said} == {one}]
        if len(ends) > 1 and not any(c.says(other) for c in columns):  # LB is a leaderboard as well
            for c in ends:
                c.said = {}
    largest = any({"max", "maximum"} & {*words_of(c.name)} for c in columns)
    for c in columns:
        words = words_of(c.name)
        if c.said.get("extreme") == "min" and words[-1] == "min" and len(words) > 1 and not largest:
            c.said, c.stem = said_by(" ".join(words[:-1]))  # minutes
        if {*c.said} == {"lo"} or {*c.said} == {"hi"}:  # doses that are called so hold no value between them
            ends = [o for o in numbers if {*o.said} == {"hi" if c.says("lo") else "lo"}]
            around = (o.is_between(*((c, e) if c.says("lo") else (e, c))) for o in numbers for e in ends)
            c.said = c.said if c.name.casefold() not in ("low", "high") or any(around) else {}
        if {*c.said} == {"size"} and c.is_binary:  # N for nitrogen, 0 or 1
            c.said = {}
        plural = c.whole and c.name[-1:] == "s" and not c.unique and c.there.min() > 0
        if plural and {*c.said} <= {"study", "item", "block", *(["replicate"] if c.there.min() > 1 else [])}:
            c.said = {"size": c.name} if c.said else c.said  # how many, not which
        if c.says("key") and not c.unique and c.n_levels <= 0.5 * len(c.cells):  # what repeats is not a key
            c.said = {role: word for role, word in c.said.items() if role != "key"}
        if set(c.said) in ({"first"}, {"second"}) and c.name[-1].isdigit():  # doses that are compared
            c.kind, c.numbers = "name", None
        c.kind = _purpose_of(c) if c.kind == "name" else c.kind
    rows_named = any(
        c.kind == "name" and c.unique and not all(map(_COMPACT.fullmatch, c.some)) for c in columns
    )
    for c in columns if rows_named else []:  # letters of groups that no test tells apart, not options
        letters = c.kind == "name" and "a" in "".join(c.some) and all(map(_COMPACT.fullmatch, c.some))
        if letters and (max(map(len, c.some)) > 1 or any(o.says("se", "sd", "lo") for o in columns)):
            c.kind = "remark"
    author = next((c for c in columns if "author" in c.said.values()), None)
    year = next((c for c in columns if "year" in c.said.values()), None)
    if author is not None and year is not None:  # Smith 2004 and Smith 2007
        cells = pl.select(pl.concat_str([author.cells, year.cells], separator=" ")).to_series()
        columns[columns.index(author)] = replace(author, cells=cells, sources=(author.name, year.name))
    questions = [c for c in columns if re.fullmatch(r"[qQ]\d+(?:[_.]\d+)?", c.name)]
    for c in questions if len(questions) > 3 or any("_" in c.name for c in questions) else []:  # no quartiles
        c.said, c.stem = {}, frozenset(["q"])
    return _stacked(Layout(_grouped(_two_by_two(columns)), notes + more, title=title))


def _texts(frame: pl.DataFrame) -> Rows:
    return [[cell or "" for cell in row] for row in frame.iter_rows()]


def _frame(rows: Sequence[tuple[str | None, ...]]) -> pl.DataFrame:
    columns = enumerate(zip(*rows, strict=True))
    return pl.DataFrame([pl.Series(f"c{k}", cells, dtype=pl.String) for k, cells in columns])


# Where the table is


def _extent(frame: pl.DataFrame) -> tuple[int, int]:
    """The first row of the header, and the end of the body: titles and notes are outside."""
    head = _texts(frame.head(_SAMPLE))
    widths = [max((k + 1 for k, cell in enumerate(row) if cell), default=0) for row in head]
    usual = Counter(widths).most_common(1)[0][0]
    first, last = 0, frame.height
    while usual > 1 and first < len(head) - 2:
        row = head[first]
        if usual == 2 and (any(map(looks_numeric, head[first + 1])) or not all(head[first + 1])):
            break
        different = len({cell for cell in row if cell})
        pair = widths[first] == different == 2 and bool(head[first + 1][0])
        pair = pair and (widths[first + 1] != usual - 1 or looks_numeric(row[1]))
        above = different == 1 and not row[0] and widths[first + 1] >= usual  # a header above a header
        if above or not (different < 2 or (usual > 3 and pair)):
            break
        first += 1
    while last > first + 2:
        row = [cell or "" for cell in frame.row(last - 1)]
        there = [cell for cell in row if cell]
        note = _NOTE.match(row[0]) and len(there) < usual
        short = len(there) == 1 and (len(there[0].split()) > 3 or (row[0] and usual > 2))
        formula = len(there) <= 2 < usual - 1 and not row[-1] and " " in row[0] and "=" in "".join(there)
        if not (note or short or formula):
            break
        last -= 1
    return first, last


def _header(rows: Rows) -> tuple[int, list[str], list[str]]:
    """The number of lines of the header, and for every column its name and the name above that."""
    places, top = range(len(rows[0])), rows[0]
    none = [""] * len(top)

    def is_numeric(k: int) -> bool:
        cells = (row[k] for row in rows[min(3, len(rows) - 2) :])
        looks = [looks_numeric(cell) for cell in cells if cell.casefold() not in MISSING]
        return sum(looks) > 0.6 * len(looks)

    numeric = [k for k in places if is_numeric(k)]
    if numeric and all(is_number(top[k]) for k in numeric) and len(set(top)) == len(top):
        days = [float(number(top[k]) or 0.0) for k in numeric]
        rising = len(days) > 1 and all(b > a and a % 1 == b % 1 == 0 for a, b in itertools.pairwise(days))
        if len(numeric) == len(top) or not rising:
            return 0, [f"column {k + 1}" for k in places], none
    depth = 1
    while numeric and depth < min(4, len(rows) - 1):
        row = rows[depth]
        filled = [row[k] for k in numeric if row[k].casefold() not in MISSING]
        lacks_name = any(row[k] and not any(above[k] for above in rows[:depth]) for k in places)
        partly = len(filled) < len(numeric) and not lacks_name
        partly = partly and any(row[k] for k in places if k not in numeric)
        if any(map(looks_numeric, filled)) or partly or not (filled or lacks_name):
            break
        depth += 1
    above = [next((cell for cell in top[k::-1] if cell), "") for k in places]
    if depth == 1:
        blanks = [k for k in numeric if not top[k] and k > 0]
        if len(blanks) > 1 and all(above[k] for k in blanks):  # readings below one name
            groups = [above[k] if k in numeric and above.count(above[k]) > 1 else "" for k in places]
            return 1, [f"#{above[: k + 1].count(above[k])}" if groups[k] else top[k] for k in places], groups
        return 1, list(top), none
    if all(top) and len(set(top)) == len(top):  # complete by itself: units are below
        return depth, list(top), none
    inner = [next((row[k] for row in rows[1:depth] if row[k]), "") for k in places]
    spread = Counter(above[k] for k in numeric)
    groups = [above[k] if k in numeric and inner[k] and spread[above[k]] > 1 else "" for k in places]

    def name(k: int) -> str:
        if groups[k] or not top[k]:
            return inner[k]
        unit = k not in numeric or not inner[k] or set(words_of(inner[k])) <= word_list("units")
        return top[k] if unit or top[k] == inner[k] else f"{top[k]} {inner[k]}"

    names = [name(k) for k in places]
    if len({*groups} - {""}) == 1:
        return depth, [f"{group} {name}".strip() for group, name in zip(groups, names, strict=True)], none
    return depth, names, groups


def _repaired(body: pl.DataFrame, top: list[str]) -> tuple[pl.DataFrame, list[str]]:
    """Fill names in below the first of them; leave out rows that sum up others, and repeated headers."""
    notes, drop = [], []
    for name in body.columns[:2]:
        c = body[name]
        named = c[0] is not None and not any(map(looks_numeric, c.drop_nulls().head(50)))
        if c.null_count() >= 0.34 * c.len() and named and c.drop_nulls().n_unique() > 1:
            body = body.with_columns(c.forward_fill())
            notes.append("blanks below a name filled with it")
    for at in sorted({0, *range(max(0, body.height - 5), body.height)}) if body.height > 2 else []:
        row = [(cell or "")[: 2 * LONGEST] for cell in body.row(at)]
        labels = [re.sub(r"\s*(?:\(.*\)|:.*)$", "", cell.casefold()).replace(" ", "_") for cell in row]
        texts = [label for label, cell in zip(labels, row, strict=True) if cell and not looks_numeric(cell)]
        totals = [label for label in texts[:2] if label in word_list("totals")]
        if at and _FOOTER.fullmatch(labels[0]) and body.height > 3:
            drop.append(at)
            notes.append(f"the row {row[0]!r} left out, as it is about all others")
            continue
        sure = any(label not in word_list("averages") for label in totals) and (at > 0 or "total" in texts[0])
        if sure or (totals and _sums_up(body, at)):
            drop.append(at)
            notes.append(f"the row {next(filter(None, row))!r} left out, as it sums up the others")
    keep = pl.Series(range(body.height)).is_in(drop).not_()
    repeated = (body[:, 0] == top[0]).fill_null(False)
    keep &= ~repeated if top[0] and len(top) > 1 else True
    return (body if keep.all() else body.filter(keep)), notes


def _sums_up(body: pl.DataFrame, at: int) -> bool:
    """Whether all numbers of a row are sums or means of those in the other rows, up to rounding."""
    found = []
    for c in body.head(5000).get_columns():
        cells = [cell or "" for cell in c.to_list()]
        sign = decimal_sign(cells)
        numbers = [number(cell, sign) for cell in cells]
        rest = [x for k, x in enumerate(numbers) if x is not None and k != at]
        own = numbers[at]
        if own is not None and len(rest) > 1:
            near = 0.6 * 10.0 ** -len(cells[at].partition(sign)[2])
            found.append(min(abs(own - sum(rest)), abs(own - sum(rest) / len(rest))) <= near)
    return bool(found) and all(found)


def _turned(names: list[str], body: pl.DataFrame) -> list[tuple[str, ...]] | None:
    """Rows and columns exchanged, if the first column holds names of statistics such as mean and sd."""
    labels = body[:, 0].head(31).to_list()
    if not 2 <= body.height <= 30 or None in labels or len(set(labels)) < len(labels) or body.width < 3:
        return None
    roles = [said_by(label)[0].keys() for label in labels]
    known = sum(bool(said & (_STATISTICS | {"extreme", "quartile", "quantile"})) for said in roles)
    errors = any(said & {"sd", "se", "var"} for said in roles) and any("value" in said for said in roles)
    above = any(said_by(name)[0].keys() & {"value", "sd", "se", "size"} for name in names[1:])
    if not errors or known < 0.7 * len(labels) or above:
        return None
    return [tuple(labels), *((names[k], *body[:, k].to_list()) for k in range(1, body.width))]


def _spread(
    names: list[str], groups: list[str], body: pl.DataFrame
) -> tuple[list[str], list[str], pl.DataFrame]:
    """Make columns of mean, sd and n where one column says which of them another one holds."""
    for c in body.get_columns():
        levels = (
            c.unique(maintain_order=True).to_list() if body.width > 2 and c.head(30).n_unique() < 9 else []
        )
        said = [said_by(level)[0].keys() for level in levels if level]
        if not 1 < len(said) == len(levels) or not all(one & _STATISTICS for one in said):
            continue
        rest = [column for column in body.columns if column != c.name]
        if any("value" in one for one in said) and body.height % len(levels) == 0:
            wide = body.pivot(c.name, index=rest[:-1], values=rest[-1], aggregate_function=None)
            if wide.height * len(levels) == body.height:
                kept = [j for j, column in enumerate(body.columns) if column in rest[:-1]]
                return [names[j] for j in kept] + levels, [""] * wide.width, wide
    return names, groups, body


# Columns with types


def _typed(name: str, cells: pl.Series, group: str, decimal: str, title: str) -> list[Column]:
    """A column with its kind, its numbers and what its name says; several, if cells hold several numbers."""
    said, stem = said_by(name)
    gone = cells.str.to_lowercase().is_in(list(MISSING)).fill_null(False)
    cells = cells.set(gone, None) if gone.any() else cells
    if cells.null_count() == cells.len():
        return []
    none = cells.str.to_lowercase().eq("none").fill_null(False)
    if none.any() and not none.all():  # Python's None among numbers; a name among names
        others = cells.set(none, None)
        cells = others if all(map(looks_numeric, others.drop_nulls().unique().head(50))) else cells
    plain = Column(name, cells, said=said, stem=stem, group=group)
    quick = cells.cast(pl.Float64, strict=False)
    finite = quick.null_count() == cells.null_count() and quick.is_finite().fill_null(True).all()
    if decimal == "." and finite:
        return [replace(plain, kind="number", numbers=quick.to_numpy())]
    truths = {level: truth_value(level) for level in plain.some}
    if None not in truths.values() and (cells.len() - cells.null_count() > 3 or plain.some[0][0] == "["):
        # Graded answers are results, whatever the prompt above them says.
        says = {"value": "cells"} if plain.some[0].startswith("[") else said
        truths |= {level: truth_value(level) for level in plain.levels} if plain.n_levels > SOME else {}
        return [replace(plain, kind="number", said=says, numbers=_mapped(cells, truths))]
    if len(max(plain.some, key=len)) > LONGEST:  # prose, on which patterns would take long
        return [plain]
    cleaned = {level: clean(level[: LONGEST + 1]) for level in plain.levels}
    sample = [cleaned[level] for level in plain.some]
    for kind, form in (("day", DAY), ("time", TIME)):
        if all(form.fullmatch(text) for text in sample):
            return [replace(plain, kind=kind)]
    numbers = {
        level: number(text, decimal) for level, text in _without_units(plain, cleaned, decimal).items()
    }
    good = sum(x is not None for x in numbers.values())
    enough = 0.6 if plain.says(*RESULT) else 0.8
    if good >= enough * len(numbers) and (good == len(numbers) or good > 2):
        return [replace(plain, kind="number", numbers=_mapped(cells, numbers))]
    shapes = Counter(tuple(split_cell(text, decimal)) for text in sample)
    parts, often = shapes.most_common(1)[0]
    if parts and often >= 0.8 * len(sample):
        split = {level: split_cell(text, decimal) for level, text in cleaned.items()}
        found = {
            part: _mapped(cells, {level: one.get(part) for level, one in split.items()}) for part in parts
        }
        return _parts(plain, found, title)
    return [plain]


def _purpose_of(c: Column) -> str:
    """Whether the cells are names, keys that a machine made, or remarks."""
    made_up = c.n_levels > 2 and all(_KEY.fullmatch(cell) for cell in c.some)
    partly = c.says("ident") and c.cells.null_count() > 0.1 * len(c.cells)
    if made_up or ((c.says("key") or partly) and not c.says("option")):
        return "key"
    if {*words_of(c.name)} & word_list("remarks"):
        return "remark"
    prose = c.unique and sum(len(cell.split()) for cell in c.some) > 7 * len(c.some)
    return "remark" if prose else "name"


def _without_units(c: Column, texts: dict[str, str], decimal: str) -> dict[str, str]:
    """Cells without their unit: all have the same one, or times that are converted to the first one."""
    found = {level: UNIT.fullmatch(text) for level, text in texts.items()}
    units = list(dict.fromkeys(one[2] for one in found.values() if one))
    expected = (
        c.says(*RESULT, *ERRORS, "size", "extreme") or {unit.casefold() for unit in units} <= _PLAIN_UNITS
    )
    measured = all(one or is_number(texts[level]) for level, one in found.items())
    if not units or not measured or not expected or not (len(units) == 1 or set(units) <= SECONDS.keys()):
        return texts
    factors = {unit: SECONDS[unit] / SECONDS[units[0]] if len(units) > 1 else 1.0 for unit in units}
    plain = {level: (one[1], factors[one[2]]) if one else (texts[level], 1.0) for level, one in found.items()}
    converted = {level: (number(text, decimal), text, f) for level, (text, f) in plain.items()}
    return {
        level: text if f == 1.0 or x is None else repr(x * f).replace(".", decimal)
        for level, (x, text, f) in converted.items()
    }


def _mapped(cells: pl.Series, numbers: dict[str, float | None]) -> Numbers:
    values = pl.Series(list(numbers.values()), dtype=pl.Float64)
    return cells.replace_strict(list(numbers), values, default=None).fill_null(np.nan).to_numpy()


def _parts(column: Column, parts: dict[str, Numbers], title: str) -> list[Column]:
    """The columns that cells of several numbers make; header or title say what the second number is."""
    says = [*column.said, *said_by(title)[0].keys() & {"se", "sd"}]
    spread = next((role for role in says if role in ("se", "sd", "moe")), "unclear")
    ends = next((role for role in ("quartile", "extreme") if role in column.said), None)
    found: list[Column] = []
    for part, numbers in parts.items():
        role = spread if part == "spread" else ends if ends and part in ("lo", "hi") else part
        said = {r: w for r, w in column.said.items() if r in ("value", "metric")} if part == "value" else {}
        inner = bool(found) and "value" in parts
        said = said | {role: "cells"}
        found.append(replace(column, kind="number", numbers=numbers, said=said, inner=inner))
    return found


# Columns side by side


def _two_by_two(columns: list[Column]) -> list[Column]:
    """Events of both arms under names that say so: tpos, tneg, cpos, cneg; ai, n1i, ci, n2i."""
    names = {c.name.casefold() for c in columns if c.whole}
    for form in ("ai_n1i", "tpos_tneg", "ai_bi", "a_b", "tp_tn"):
        known = dict(word.split(":") for word in word_list(form))
        if known.keys() <= names and (form != "a_b" or len(names) == 4):
            return [c.called(known.get(c.name.casefold(), c.name)) for c in columns]
    return columns


def _grouped(columns: list[Column]) -> list[Column]:
    """Columns side by side as groups: treat1, n1, treat2, n2; control_n, control_mean, new_n; n.e, n.c."""
    for form, inner, outer in (
        (r"(.*?)[\s_.]*([1-9])i?", 1, 2),
        (r"([^\s_.]+)[\s_.](.+)", 2, 1),
        (r"(.+)[\s_.]([^\s_.]+)", 1, 2),
    ):
        by: dict[str, dict[str, Column]] = {}
        for c in columns:
            if (one := re.fullmatch(form, c.name)) and not c.group and not c.inner and c.name != HEADER:
                by.setdefault(one[outer], {})[one[inner]] = c
        many = Counter(tuple(sorted(group)) for group in by.values())
        same, often = many.most_common(1)[0] if by else ((), 0)
        groups = {affix: group for affix, group in by.items() if tuple(sorted(group)) == same}
        if often < 2 or len(same) < 2:
            continue
        names = [name for name in same if all(group[name].kind == "name" for group in groups.values())]
        says = sum(bool(said_by(name)[0].keys() & _STATISTICS) for name in same)
        words = {role for affix in groups for role in said_by(affix)[0]}
        arms = outer == 2 and inner == 1 and len(names) == 1 and len(same) > 2 and says
        arms = arms and all(affix.isdigit() for affix in groups)
        options = any(c.kind == "name" and c.says("option") for c in columns)
        plain = says >= (2 * len(same) + 2) // 3 and not words & {"metric", "before", *_STATISTICS}
        dated = {re.sub(r"\d+$", "", affix) for affix in groups if affix[-1:].isdigit()}
        weeks = len(dated) == 1 and bool(said_by(min(dated).strip("_ .-"))[0].keys() & {"block"})
        plain = plain and (not options or weeks)
        if form.endswith("i?"):
            plain = plain and any(c.says("study") or c.kind == "name" for c in columns)
        if arms or plain:
            found = {c: (affix, name) for affix, group in groups.items() for name, c in group.items()}
            return [replace(c.called(found[c][1]), group=found[c][0]) if c in found else c for c in columns]
    return columns


def _stacked(table: Layout) -> Layout:
    """Put groups of columns with the same names below each other, with the group as a column."""
    groups = list(dict.fromkeys(c.group for c in table.columns if c.group))
    parts = [[c for c in table.columns if c.group == group] for group in groups]
    if len(groups) < 2:
        return table
    order = {c.name: k for k, c in enumerate(parts[0])}
    parts = [sorted(part, key=lambda c: order.get(c.name, len(order))) for part in parts]
    if len({tuple(c.name for c in part) for part in parts}) > 1 or _are_metrics(groups, parts):
        whole = [(c, f"{c.group} {c.name}".strip()) for c in table.columns]
        return replace(
            table, columns=[replace(c.called(name), group="", sources=(name,)) for c, name in whole]
        )
    if all(c.name.startswith("#") for c in parts[0]):
        parts = [[replace(c, sources=(c.group,)) for c in part] for part in parts]
    rows = np.tile(np.arange(table.height), len(groups))
    head = Column(HEADER, pl.Series(np.repeat(groups, table.height)))
    under = [Column.stack(ones) for ones in zip(*parts, strict=True)]
    named = [c for c in under if c.kind == "name"]  # arms that name their option: their number says nothing
    alone = [c for c in table.columns if not c.group]
    if named:  # every row is a study
        labels = [c for c in alone if c.unique and not c.says("key")]
        label = min(labels, key=lambda c: (not c.says("study"), not c.says("ident")), default=None)
        alone = [c for c in alone if c is not label]
        label = label or Column(HEADER, pl.Series([f"row {k + 1}" for k in range(table.height)]))
        head = replace(label, kind="name", numbers=None, said={"study": "row"}).at(rows)
    notes = [*table.notes, f"columns side by side put below each other: {', '.join(groups)}"]
    table = table.stacked([*(c.at(rows) for c in alone), head, *under], len(groups), notes=notes)
    gaps = [c.cells.is_null().to_numpy() for c in named]
    return table.at(np.flatnonzero(~np.any(gaps, axis=0))) if named else table


def _are_metrics(groups: list[str], parts: list[list[Column]]) -> bool:
    """Whether groups of columns hold different results: their names say so, or their numbers differ."""
    if any(said_by(group)[0].keys() & {"metric"} for group in groups):
        return True
    values = [next((c for c in part if c.says("value")), None) for part in parts]
    return all(c is not None for c in values) and not alike([c for c in values if c is not None])
