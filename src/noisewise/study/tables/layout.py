"""From a grid to columns: titles, headers, notes, totals, cells of several numbers, columns side by side."""

import itertools
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl

from noisewise.study.tables.columns import (
    HEADER,
    Column,
    Layout,
    Numbers,
    below,
    made,
    said_by,
    taken,
    word_list,
    words_of,
)
from noisewise.study.tables.grid import Grid
from noisewise.study.tables.numbers import (
    DAY,
    LONGEST,
    MISSING,
    SHAPES,
    SHORTHAND,
    TIME,
    UNIT,
    clean,
    decimal_sign,
    is_number,
    looks_numeric,
    number,
    truth_value,
)  # fmt: skip

_NOTE = re.compile(
    r"(?:note|source|legend|remark|comment|quelle|anmerkung|hinweis|nota|fuente)s?\s*:|[*†]", re.I
)
RESULT = ("value", "metric", "quantile", "successes", "rate")
ERRORS = ("se", "sd", "var", "unclear", "moe", "lo", "hi", "up", "down", "rsd")
_STATISTICS = ("size", "successes", "value", "sd", "se", "var", "lo", "hi", "rate")
#: How columns begin that only count rows.
_COUNTERS = ("", "unnamed", "index", "idx", "row", "nr", "x")
#: Units that need no name that expects them.
_PLAIN_UNITS = ("ms", "s", "ns", "us", "µs", "μs", "b", "kb", "mb", "kib", "mib")
#: Rows of a table that are looked at to find its header.
_SAMPLE = 200
Rows = list[list[str]]


def layout_of(grid: Grid) -> Layout:
    """Find the header, the columns with their types, and what is around them."""
    frame = grid.rows
    if frame.width == 0 or frame.height == 0:
        raise ValueError("it is empty.")
    frame = frame.filter(pl.any_horizontal(pl.all().is_not_null()))
    frame = frame.select([c for c in frame.get_columns() if c.null_count() < c.len()])
    if frame.width < 2 or frame.height < 2:
        raise ValueError("it needs a header and two rows, with two columns at least.")
    head = _texts(frame.head(_SAMPLE))
    first, last = _extent(head, frame)
    if last - first < 3:
        raise ValueError("it needs a header and two rows, with two columns at least.")
    outside = [" ".join(filter(None, row)) for row in head[:first] + _texts(frame.slice(last))]
    head = head[first : min(last, _SAMPLE)]
    depth, names, groups = _header(head)
    body = frame.slice(first + depth, last - first - depth)
    notes = [f"not part of the table: {'; '.join(text[:50] for text in outside)}"] if outside else []
    body, more = _repaired(body, head[0])
    if (turned := _turned(names, body)) is not None:
        names, body = turned
        groups, more = [""] * len(names), [*more, "rows and columns are exchanged"]
    sample = body.head(2000)
    texts = (clean(cell) for c in sample.get_columns() for cell in c.drop_nulls().to_list()[:500])
    decimal = decimal_sign(texts, grid.comma)
    notes += ["decimal commas"] if decimal == "," else []
    title = " ".join([grid.title, *outside])
    often: Counter[tuple[str, str]] = Counter()
    columns: list[Column] = []
    for name, group, cells in zip(names, groups, body.get_columns(), strict=True):
        if cells.null_count() == cells.len():
            continue
        often[group, name] += 1
        many = often[group, name]
        columns += _typed(name if many == 1 else f"{name} ({many})", cells, group, decimal, title)
    if len(columns) < 2:
        raise ValueError("it needs two columns at least with something in them.")
    for c in columns[:3] if len(columns) > 2 and any(c.kind == "name" for c in columns) else []:
        if c.numbers_rows and ([*words_of(c.name), ""])[0] in _COUNTERS:
            columns.remove(c)
    for c in columns:
        # An interval of one number is half of it.
        if c.says("ci") and c.kind == "number" and c.of is None and not c.says(*ERRORS):
            c.said = {**c.said, "moe": c.said["ci"]}
    questions = [c for c in columns if re.fullmatch(r"[qQ]\d+", c.name)]
    for c in questions if len(questions) > 3 else []:  # questions, not quartiles
        c.said, c.stem = {}, frozenset(["q"])
    return _stacked(Layout(_grouped(_two_by_two(columns)), notes + more, title=title))


def _texts(frame: pl.DataFrame) -> Rows:
    return [[cell or "" for cell in row] for row in frame.iter_rows()]


def _extent(head: Rows, frame: pl.DataFrame) -> tuple[int, int]:
    """The first row of the header, and the end of the body: titles and notes are outside."""
    widths = [max((k + 1 for k, cell in enumerate(row) if cell), default=0) for row in head]
    filled = [len({cell for cell in row if cell}) for row in head]
    usual = Counter(widths).most_common(1)[0][0]
    first, last = 0, frame.height
    while first < len(head) - 2 and (
        filled[first] < 2
        or (usual > 3 and widths[first] == 2 and filled[first] == 2 and widths[first + 1] != usual - 1)
        or (usual > 3 and widths[first] == 2 and looks_numeric(head[first][1]))
    ):  # fmt: skip
        if usual == 2 or (
            widths[first] > 1 and filled[first] == 1 and sum(map(bool, head[first])) > 1 and usual < 3
        ):
            break
        above = filled[first] == 1 and not head[first][0] and widths[first + 1] >= usual
        if above:  # a header above a header
            break
        first += 1
    while last > first + 2:
        row = [cell or "" for cell in frame.row(last - 1)]
        there = [cell for cell in row if cell]
        short = len(there) == 1 and (len(there[0].split()) > 3 or (row[0] and usual > 2))
        if not (
            (_NOTE.match(row[0]) and len(there) < usual)
            or short
            or (len(there) <= 2 < usual - 1 and not row[-1] and " " in row[0] and "=" in "".join(there))
        ):
            break
        last -= 1
    return first, last


def _header(rows: Rows) -> tuple[int, list[str], list[str]]:
    """The number of lines of the header, and for every column its name and the name above that."""
    places = range(len(rows[0]))
    looks = [
        [
            looks_numeric(row[k])
            for row in rows[min(3, len(rows) - 2) :]
            if row[k] and row[k].casefold() not in MISSING
        ]
        for k in places
    ]
    numeric = [k for k in places if looks[k] and sum(looks[k]) > 0.6 * len(looks[k])]
    none = [""] * len(rows[0])
    if (
        numeric
        and all(is_number(rows[0][k]) for k in numeric)
        and len(set(rows[0])) == len(rows[0])
        and not _are_labels(rows, numeric)
    ):
        return 0, [f"column {k + 1}" for k in places], none
    depth = 1
    while numeric and depth < min(4, len(rows) - 1):
        filled = [rows[depth][k] for k in numeric if rows[depth][k].casefold() not in MISSING]
        lacks_name = any(
            cell and not any(row[k] for row in rows[:depth]) for k, cell in enumerate(rows[depth])
        )
        partly = (
            len(filled) < len(numeric)
            and not lacks_name
            and any(rows[depth][k] for k in places if k not in numeric)
        )
        if any(map(looks_numeric, filled)) or partly or not (filled or lacks_name):
            break
        depth += 1
    top = rows[0]
    if depth == 1:
        blanks = [k for k in numeric if not top[k] and k > 0]
        if len(blanks) > 1 and all(top[k - 1] or k - 1 in blanks for k in blanks):  # readings below one name
            above = _filled_forward(top)
            many: Counter[str] = Counter()
            spread = Counter(above)
            groups = [above[k] if k in numeric and spread[above[k]] > 1 else "" for k in places]
            names = []
            for k in places:
                many[above[k]] += 1
                names.append(f"#{many[above[k]]}" if groups[k] else top[k])
            return depth, names, groups
        return depth, list(top), none
    if all(top) and len(set(top)) == len(top):  # complete by itself: units are below
        return depth, list(top), none
    above = _filled_forward(top)
    inner = [next((row[k] for row in rows[1:depth] if row[k]), "") for k in places]
    spread = Counter(above[k] for k in numeric)
    groups = [above[k] if k in numeric and inner[k] and spread[above[k]] > 1 else "" for k in places]
    names = [inner[k] if groups[k] else top[k] or inner[k] for k in places]
    for k in places:  # a single column below a name has both
        if not groups[k] and top[k] and inner[k] and top[k] != inner[k]:
            names[k] = (
                top[k]
                if set(words_of(inner[k])) <= {"mpa", "kg", "ms", "s"} or k not in numeric
                else f"{top[k]} {inner[k]}"
            )
    if len({groups[k] for k in numeric} - {""}) == 1:
        return depth, [f"{groups[k]} {names[k]}".strip() for k in places], none
    return depth, names, groups


def _filled_forward(names: list[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        found.append(name or (found[-1] if found else ""))
    return found


def _are_labels(rows: Rows, numeric: list[int]) -> bool:
    """Whether numbers in the first line are names of columns, such as days: increasing and whole."""
    top = [float(number(rows[0][k]) or 0.0) for k in numeric]
    return (
        len(numeric) < len(rows[0])
        and len(top) > 1
        and all(b > a for a, b in itertools.pairwise(top))
        and all(x % 1 == 0 for x in top)
    )


def _repaired(body: pl.DataFrame, top: list[str]) -> tuple[pl.DataFrame, list[str]]:
    """Fill names in below the first of them; leave out rows that sum up others, and repeated headers."""
    notes = []
    for name in body.columns[:2]:
        c = body[name]
        blank = c.null_count()
        if (
            blank >= 0.34 * c.len()
            and c[0] is not None
            and not any(map(looks_numeric, c.drop_nulls().head(50)))
            and c.drop_nulls().n_unique() > 1
        ):
            body = body.with_columns(c.forward_fill())
            notes.append("blanks below a name filled with it")
    drop = []
    for at in dict.fromkeys([0, *range(max(0, body.height - 3), body.height)]):
        row = [(cell or "")[: 2 * LONGEST] for cell in body.row(at)]
        labels = [re.sub(r"\s*\(.*\)$", "", cell.casefold()).rstrip(" :").replace(" ", "_") for cell in row]
        texts = [label for label, cell in zip(labels, row, strict=True) if cell and not looks_numeric(cell)]
        blank = (
            at == 0
            and not row[0]
            and body[body.columns[0]].null_count() == 1
            and body.height > 2
            and _sums_up(body, at)
        )
        if (
            body.height > 2
            and (any(label in word_list("totals") for label in texts[:2]) or blank)
            and (at > 0 or blank or _sums_up(body, at))
        ):
            drop.append(at)
            notes.append(f"the row {next(filter(None, row))!r} left out, as it sums up the others")
    keep = pl.Series(range(body.height)).is_in(drop).not_()
    keep &= ~(body[body.columns[0]] == top[0]).fill_null(False) if top[0] and len(top) > 1 else True
    return body.filter(keep), notes


def _sums_up(body: pl.DataFrame, at: int) -> bool:
    """Whether a row holds the sums of the others in one of its columns."""
    for c in body.head(5000).get_columns():
        numbers = [number(cell or "") for cell in c.to_list()]
        there = [x for x in numbers if x is not None]
        total = numbers[at]
        if len(there) > 2 and total and abs(2 * total - sum(there)) < 1e-6 * abs(sum(there)):
            return True
    return False


def _turned(names: list[str], body: pl.DataFrame) -> tuple[list[str], pl.DataFrame] | None:
    """The table with rows and columns exchanged, if its first column holds names of statistics."""
    labels = body[body.columns[0]].to_list()
    if not 2 <= len(labels) <= 30 or None in labels or len(set(labels)) < len(labels) or body.width < 3:
        return None
    roles = [said_by(label)[0] for label in labels]
    known = sum(
        bool(
            said.keys() & {"value", "sd", "se", "size", "extreme", "quartile", "quantile", "lo", "hi", "var"}
        )
        for said in roles
    )
    errors = any(said.keys() & {"sd", "se", "var"} for said in roles) and any(
        "value" in said for said in roles
    )
    if (
        not errors
        or known < 0.7 * len(labels)
        or any(said_by(name)[0].keys() & {"value", "sd", "se", "size"} for name in names[1:])
    ):
        return None
    rows = list(zip(*body.iter_rows(), strict=True))[1:]
    flat = [[name, *row] for name, row in zip(names[1:], rows, strict=True)]
    columns = [pl.Series(f"c{k}", cells, dtype=pl.String) for k, cells in enumerate(zip(*flat, strict=True))]
    return [HEADER, *labels], pl.DataFrame(columns)


def _typed(name: str, cells: pl.Series, group: str, decimal: str, title: str) -> list[Column]:
    """A column with its kind, its numbers and what its name says; several, if cells hold several numbers."""
    said, stem = said_by(name)
    gone = cells.str.to_lowercase().is_in(list(MISSING))
    cells = cells.set(gone.fill_null(False), None) if gone.any() else cells
    plain = Column(name, cells, said=said, stem=stem, group=group)
    n_there = plain.n_filled
    if n_there == 0:
        return []
    if cells.str.to_lowercase().eq("none").any():  # Python's None among numbers; a name among names
        others = cells.set(cells.str.to_lowercase().eq("none").fill_null(False), None)
        if others.null_count() < cells.len() and all(
            map(looks_numeric, others.drop_nulls().unique().head(50))
        ):
            cells = others
            plain = replace(plain, cells=cells)
    quick = cells.cast(pl.Float64, strict=False)
    if (
        quick.null_count() == cells.null_count()
        and decimal == "."
        and quick.is_finite().fill_null(True).all()
    ):
        return [replace(plain, kind="number", numbers=quick.to_numpy().astype(float))]
    levels = plain.levels
    if (len(levels) <= 40 and n_there > 3 and all(truth_value(level) is not None for level in levels)) or (
        all(level.casefold().startswith(("[pass", "[fail")) for level in levels)
    ):  # fmt: skip
        if levels[0].startswith("["):  # graded answers, whatever the prompt above them says
            plain = replace(plain, said={"value": "cells"})
        return [
            replace(
                plain, kind="number", numbers=_mapped(cells, {level: truth_value(level) for level in levels})
            )
        ]
    if len(max(levels[:500], key=len)) > LONGEST:  # prose, on which patterns would take long
        return [plain]
    cleaned = {level: clean(level[: LONGEST + 1]) for level in levels}
    units = {found[2] for text in levels[:500] if (found := UNIT.fullmatch(cleaned[text]))}
    measured = all(UNIT.fullmatch(text) or is_number(text) for text in cleaned.values())
    if (
        len(units) == 1
        and measured
        and (plain.says(*RESULT, *ERRORS, "size", "extreme") or min(units).casefold() in _PLAIN_UNITS)
    ):
        cleaned = {level: text.removesuffix(min(units)).strip() for level, text in cleaned.items()}
    numbers = {level: number(text, decimal) for level, text in cleaned.items()}
    good = sum(x is not None for x in numbers.values())
    if good >= 0.8 * len(numbers) and (good == len(numbers) or good > 3):
        return [replace(plain, kind="number", numbers=_mapped(cells, numbers))]
    sample = levels[:500]
    for kind, form in (("day", DAY), ("time", TIME)):
        if all(form.fullmatch(text) for text in sample):
            return [replace(plain, kind=kind)]
    if all(SHORTHAND.fullmatch(cleaned[text]) for text in sample):  # 12.34(5) is 12.34 ± 0.05
        shorthand = {level: SHORTHAND.fullmatch(text) for level, text in cleaned.items()}
        value = {level: number(one[1], decimal) if one else None for level, one in shorthand.items()}
        error = {
            level: int(one[3]) / 10.0 ** len(one[2]) if one else None for level, one in shorthand.items()
        }
        both = {"value": _mapped(cells, value), "spread": _mapped(cells, error)}
        return _parts(replace(plain, said=said | {"se": "cells"}), both, title)
    for shape, parts in SHAPES:
        if sum(bool(shape.fullmatch(cleaned[text])) for text in sample) < 0.8 * len(sample) or (
            parts == ("lo", "hi") and not plain.says("ci", "lo", "hi")
        ):
            continue
        matches = {level: shape.fullmatch(text) for level, text in cleaned.items()}
        if sum(one is not None for one in matches.values()) >= 0.8 * len(matches):
            split: dict[str, Numbers] = {}
            for at, part in enumerate(parts, 1):
                there = {level: number(one[at], decimal) if one else None for level, one in matches.items()}
                split[part] = _mapped(cells, there)
            return _parts(plain, split, title)
    return [plain]


def _mapped(cells: pl.Series, numbers: dict[str, float | None]) -> Numbers:
    return np.array(
        [np.nan if cell is None or numbers[cell] is None else numbers[cell] for cell in cells.to_list()]
    )


def _parts(column: Column, parts: dict[str, Numbers], title: str) -> list[Column]:
    """The columns that cells of several numbers make; header or title say what the second number is."""
    of_title = [role for role in ("se", "sd") if role in said_by(title)[0]]
    spread = next((role for role in ("se", "sd", "moe") if role in column.said), [*of_title, "unclear"][0])
    ends = next((role for role in ("quartile", "extreme") if role in column.said), None)
    found: list[Column] = []
    for part, numbers in parts.items():
        role = spread if part == "spread" else ends if ends and part in ("lo", "hi") else part
        said = {r: w for r, w in column.said.items() if r in ("value", "metric")} if part == "value" else {}
        of = found[0] if found and "value" in parts else None
        found.append(
            Column(
                column.name,
                column.cells,
                "number",
                numbers,
                said | {role: "cells"},
                column.stem,
                column.group,
                of=of,
            )
        )
    return found


def _two_by_two(columns: list[Column]) -> list[Column]:
    """Tables of two by two as events and totals of both arms: tpos, tneg, cpos, cneg; ai, bi, ci, di."""
    by = {c.name.casefold(): c for c in columns if c.whole}
    forms: tuple[tuple[str, ...], ...] = (
        ("tpos", "tneg", "cpos", "cneg"),
        ("ai", "bi", "ci", "di"),
        ("a", "b", "c", "d"),
        ("tp", "tn", "cp", "cn"),
    )
    for names in forms:
        if all(name in by for name in names) and (names[0] != "a" or len(by) == 4):
            arms = []
            for group, hits, misses in (("treatment", *names[:2]), ("control", *names[2:])):
                total = made(
                    [by[hits], by[misses]], np.asarray(by[hits].numbers) + np.asarray(by[misses].numbers)
                )
                arms += [
                    replace(by[hits].called("events"), group=group),
                    replace(total.called("n"), group=group),
                ]
            return [c for c in columns if c not in by.values() or c.name.casefold() not in names] + arms
    if all(name in by for name in ("ai", "n1i", "ci", "n2i")):
        new = {"ai": ("events", "1"), "n1i": ("n", "1"), "ci": ("events", "2"), "n2i": ("n", "2")}
        return [
            replace(c.called(new[c.name.casefold()][0]), group=new[c.name.casefold()][1])
            if c.name.casefold() in new
            else c
            for c in columns
        ]
    return columns


def _grouped(columns: list[Column]) -> list[Column]:
    """Columns side by side as groups: treat1, n1, treat2, n2; control_n, control_mean, new_n; n.e, n.c."""
    forms = (r"(.*?)[\s_.]*([1-9])i?", r"([^\s_.]+)[\s_.](.+)", r"(.+)[\s_.]([^\s_.]+)")
    for at, form in enumerate(forms):
        inner, outer = (2, 1) if at == 2 else (1, 2)
        by: dict[str, dict[str, Column]] = {}
        for c in columns:
            if (one := re.fullmatch(form, c.name)) and not c.group and c.of is None and c.name != HEADER:
                by.setdefault(one[outer], {})[one[inner]] = c
        same, often = (
            Counter(tuple(sorted(group)) for group in by.values()).most_common(1)[0] if by else ((), 0)
        )
        groups = {affix: group for affix, group in by.items() if tuple(sorted(group)) == same}
        names = [name for name in same if all(group[name].kind == "name" for group in groups.values())]
        says = [set(said_by(name)[0]) & set(_STATISTICS) for name in same]
        words = {role for affix in groups for role in said_by(affix)[0]}
        arms = at == 0 and len(names) == 1 and len(same) > 2 and any(says)
        named = any(c.kind == "name" and c.says("option") for c in columns)
        plain = (
            sum(map(bool, says)) >= (2 * len(says) + 2) // 3
            and len(says) > 1
            and not words & {"metric", "before", *_STATISTICS}
            and not named
        )
        plain &= at > 0 or any(c.says("study") or c.kind == "name" for c in columns)
        if often > 1 and len(same) > 1 and (arms or plain):
            found = {c: (affix, name) for affix, group in groups.items() for name, c in group.items()}
            return [replace(c.called(found[c][1]), group=found[c][0]) if c in found else c for c in columns]
    return columns


def _stacked(table: Layout) -> Layout:
    """Put groups of columns with the same names below each other, with the group as a column."""
    groups = list(dict.fromkeys(c.group for c in table.columns if c.group))
    parts = [[c for c in table.columns if c.group == group] for group in groups]
    if len(groups) < 2:
        return table
    parts = [
        sorted(
            part,
            key=lambda c: (
                [o.name for o in parts[0]].index(c.name) if c.name in [o.name for o in parts[0]] else 99
            ),
        )
        for part in parts
    ]
    same = len({tuple(c.name for c in part) for part in parts}) == 1
    if not same or all(said_by(g)[0].keys() & {"metric"} for g in groups):
        return replace(
            table,
            columns=[
                replace(
                    c.called(f"{c.group} {c.name}".strip()),
                    group="",
                    sources=(f"{c.group} {c.name}".strip(),),
                )
                for c in table.columns
            ],
        )
    if all(c.name.startswith("#") for c in parts[0]):
        parts = [[replace(c, sources=(c.group,)) for c in part] for part in parts]
    many = np.tile(table.everything, len(groups))
    head = Column(
        HEADER, pl.Series([group for group in groups for _ in range(table.height)], dtype=pl.String)
    )
    under = [below(list(ones)) for ones in zip(*parts, strict=True)]
    for k, c in enumerate(under):  # a value and its error in one cell
        if c.of is not None:
            at = parts[0].index(c.of) if c.of in parts[0] else None
            under[k] = replace(c, of=None if at is None else under[at])
    named = [c for c in under if c.kind == "name"]  # arms that name their option: their number says nothing
    alone = [c for c in table.columns if not c.group]
    if named:  # every row is a study
        labels = [c for c in alone if c.unique and not c.says("key")]
        label = min(labels, key=lambda c: (not c.says("study"), not c.says("ident")), default=None)
        label = label or Column(HEADER, pl.Series([f"row {k + 1}" for k in range(table.height)]))
        alone = [c for c in alone if c is not label]
        head = replace(label, kind="name", numbers=None, said={"study": "row"}).at(many)
    columns = [*taken(alone, many), head, *under]
    keep = np.ones(len(many), bool)
    for c in named:
        keep &= c.cells.is_not_null().to_numpy()
    rows = np.flatnonzero(keep)
    notes = [*table.notes, f"columns side by side put below each other: {', '.join(groups)}"]
    columns = taken(columns, rows) if rows.size < len(many) else columns
    return replace(table, columns=columns, notes=notes)
