"""Tables of trials that compare options: rows are differences, or arms. They become measurements together.

A trial of two arms becomes a measured difference; one of three or more becomes its arms in a block
(`arms.py`), because its differences have errors in common. Means of arms come with se, var, an interval, or
sd and n; the error of a mean is then ``sd/√n``, as meta-analyses take it. Events out of n become log odds
with the variance ``1/events + 1/(n - events)``, so that differences are log odds ratios; where a trial has an
arm without events, or with nothing else, ½ is added to all its cells. A trial where no arm has events, or all
have nothing else, says nothing about odds ratios, and is left out.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from noisewise.core.checks import COUNT, check_choice, check_count_within, nearest
from noisewise.core.text import printable
from noisewise.study.tables.cells import as_count
from noisewise.study.tables.columns import ERRORS, HEADER, Column, Layout
from noisewise.study.tables.names import columns_called, key_of
from noisewise.study.tables.sheet import ReadTable, as_texts
from noisewise.study.tables.table import best_layout, level_said
from noisewise.study.tables.wording import Wording
from noisewise.study.telling.arms import Contrast, Rounding, arms_of, connected, hub_of, listed_rows
from noisewise.study.telling.error_bars import Measured, read_measured
from noisewise.study.telling.understanding import Understood, refuse_odd_cells, units_of

NETWORK, ARMS = LAYOUTS = ("network", "arms")
#: What events out of n are recorded as, and what is added to all cells of a trial with an empty one.
LOG_ODDS, SHARES = COUNTED_AS = ("log odds", "shares")
ADDED = 0.5
#: Notes on single rows that are passed on.
SAID = 5
#: The roles of columns, and what a map may call them besides: as tables of measurements do.
_ERRORS = ("se", "var", "lo", "hi")
ROLES_OF = {
    NETWORK: ("study", "plus", "minus", "pair", "value", *_ERRORS, "shared_se", "shared_var"),
    ARMS: ("study", "option", "value", *_ERRORS, "sd", "events", "n"),
}
ALIASES = {
    NETWORK: {"block": "study", "option": "plus"},
    ARMS: {"block": "study", "successes": "events", "trials": "n", "mean": "value"},
}
#: What names of columns say such a role, the clearest first.
_SAID = {
    "plus": ("first", "option"), "minus": ("second",), "events": ("successes",), "n": ("size",),
    "value": ("value", "metric"), "se": ("se", "unclear"),
}  # fmt: skip
#: And what a table of measurements calls it.
_AS_MEASURED = {"study": "block", "pair": "plus", "events": "successes"}
_TEXTS = ("study", "option", "plus", "minus", "pair")
#: Columns that hold ratios: differences are of their logarithms.
_RATIOS = frozenset(("or", "rr", "hr", "oddsratio", "riskratio", "hazardratio", "relativerisk"))
_BETWEEN = re.compile(
    r"(?<!\s)\s+(?:vs\.?|versus|v\.?|minus|-|–|compared\s+(?:to|with))\s+|(?<!\s)\s*:\s*", re.IGNORECASE
)
_COLUMNS: dict[str, Any] = {
    "option": pl.String, "plus": pl.String, "minus": pl.String, "value": pl.Float64, "se": pl.Float64,
    "successes": pl.Int64, "trials": pl.Int64, "block": pl.String, "arm": pl.Boolean, "key": pl.String,
}  # fmt: skip


def understand_trials(
    table: ReadTable,
    layout: str | None,
    said: Mapping[str, str],
    gone: Sequence[str],
    decimal: str | None,
    counts: str | None,
    words: Wording,
) -> Understood:
    """Settle which column is what, and make measurements of the rows.

    Args:
        table: The table.
        layout: ``"network"``, a row for each difference, or ``"arms"``.
        said: Roles to columns, as a person says them.
        gone: Columns that are not used.
        decimal: The decimal sign, if the cells do not settle it.
        counts: What events out of n become.
        words: How messages call what a person can say.
    """
    if counts is not None and layout != ARMS:
        raise ValueError(f"`counts` goes with {words.layout(ARMS)}, a row for each arm.")
    layout = check_choice("layout", layout, LAYOUTS)
    said = {ALIASES[layout].get(role, role): column for role, column in said.items()}
    for role in said:
        if role not in ROLES_OF[layout]:
            raise ValueError(
                f"{words.called_map} of such a table knows {', '.join(ROLES_OF[layout])}; got {role!r}."
                f"{nearest(role, ROLES_OF[layout])}"
            )
    whole = best_layout(table.grids or table.frame, decimal, least=1)
    if layout == NETWORK and whole.base is not None:  # treatments side by side are the two of a difference
        columns = [replace(c.called(c.sources[0]), group="") for c in whole.base.columns]
        whole = replace(whole.base, columns=columns)
    dropped = [name for one in gone for name in columns_called([c.name for c in whole.columns], one)]
    whole = replace(whole, columns=[c for c in whole.columns if c.name not in dropped])
    with table.placed():
        roles = _roles(whole, layout, said, words)
        table.refuse_dates(
            roles[role].name for role in _TEXTS if role in roles and roles[role].name in table.frame.columns
        )
        percent = {role: "%" in "".join(c.some[:3]) for role, c in roles.items() if role not in _TEXTS}
        if len({*percent.values()}) > 1 and not {"events", "n"} & {*roles}:
            raise ValueError("some of the columns have per cent signs and others have none: write all alike.")
        refuse_odd_cells(whole, {role: [c] for role, c in roles.items() if role not in _TEXTS})
        frame = pl.DataFrame({
            role: c.cells if role in _TEXTS else pl.Series(c.values).fill_nan(None)
            for role, c in roles.items()
        })  # fmt: skip
        level = level_said([roles[end].name for end in ("lo", "hi") if end in roles])
        if level is not None:
            frame = frame.with_columns(pl.lit(level).alias("level"))
        made, notes = _measurements(frame, layout, counts or LOG_ODDS, words)
    names = {role: " ".join(filter(None, c.sources)) for role, c in roles.items()}
    used = {name for c in roles.values() for name in c.sources}
    unused = [c.name for c in whole.columns if not used & {*c.sources} and c.name != HEADER]
    sources = {_AS_MEASURED.get(role, role): name for role, name in names.items() if role[:6] != "shared"}
    told = made.frame()
    if "option" in told.columns:
        sources.setdefault("option", sources.get("plus", "option"))
    # Messages name measurements; people look for the row, or the line of the file.
    first = whole.places[np.array(made.rows, dtype=np.int64) - 1] + 1
    lines, of = first, "row of the table"
    if table.lines is not None and len(table.lines) == whole.places.max(initial=0) + 1:
        lines, of = table.lines[first - 1], table.of
    at_level = "" if level is None else f" at {100.0 * level:g} %"
    what = ", ".join(f"{role} {printable(name)}" for role, name in names.items())
    counted = f"; events as {counts or LOG_ODDS}" if "events" in roles else ""
    understood = f"Understood: {layout}: {what}{at_level}{counted}."
    return Understood(
        ReadTable(told, table.name, lines, of), told, sources, units_of(sources), unused, whole.notes, True,
        words, decimal, layout, (understood, *notes),
    )  # fmt: skip


def _roles(whole: Layout, layout: str, said: Mapping[str, str], words: Wording) -> dict[str, Column]:
    """The column of each role: as people say, or as its name says."""
    columns = [c for c in whole.columns if c.kind in ("name", "number", "key", "day")]
    found: dict[str, Column] = {}
    for role, name in said.items():
        known = list(dict.fromkeys(one for c in columns for one in (c.name, *c.sources)))
        meant = columns_called(known, name)
        if len(meant) != 1:
            listed = ", ".join(repr(printable(one)) for one in known)
            raise ValueError(
                f"{words.called_map} must name columns of the table, which has {listed}; got {name!r} for "
                f"{role!r}.{nearest(name, known)}"
            )
        found[role] = next(c for c in columns if meant[0] in (c.name, *c.sources))
    sides = [c for c in columns if c.says("option") and c.name[-1:] in "12"]
    if layout == NETWORK and len(sides) == 2 and not {"plus", "minus"} & {*found}:
        found["plus"], found["minus"] = sorted(sides, key=lambda c: c.name)
    shared = [c for c in columns if key_of(c.name).startswith("shared_")]
    for role in ROLES_OF[layout]:
        for phrase in _SAID.get(role, (role,)) if role not in found else ():
            text, never = role in _TEXTS, ERRORS if role == "value" else ()
            here = [
                c for c in columns
                if (c.says(phrase) or key_of(c.name) == role) and c not in found.values()
                and (c not in shared or key_of(c.name) == role)
                and (text or (c.kind == "number" and not c.says("before", "ignored", *never)))
            ]  # fmt: skip
            here = [c for c in here if key_of(c.name) == role] or here
            if len(here) > 1:
                listed = " and ".join(repr(printable(c.name)) for c in here[:2])
                raise ValueError(
                    f"columns {listed} could both be {role!r}: say which one is, for instance "
                    f"{words.map({role: here[0].name})}."
                )
            if here:
                found[role] = here[0]
                break
    if "study" not in found:
        numbered = [c for c in columns if c.says("ident") and c not in found.values()]
        if numbered and not numbered[0].unique:
            found["study"] = numbered[0]
    if layout == NETWORK:
        _check_differences(found, columns, words)
    else:
        _check_arms(found, columns, words)
    return {role: found[role] for role in ROLES_OF[layout] if role in found}


def _need(
    found: Mapping[str, Column],
    role: str,
    what: str,
    columns: Sequence[Column],
    words: Wording,
    hint: str = "",
) -> None:
    """Refuse a table without a column that it cannot be read without."""
    if role not in found:
        listed = ", ".join(repr(printable(c.name)) for c in columns)
        raise ValueError(
            f"no column says {what}: name it, {words.map({role: 'COLUMN'})}. The table has {listed}.{hint}"
        )


def _check_differences(found: dict[str, Column], columns: Sequence[Column], words: Wording) -> None:
    """Refuse a table without two treatments, a study and a difference."""
    arms = f" A table of arms is read with {words.layout(ARMS)}."
    for role in ("pair",) if "plus" in found and "minus" in found else ("plus", "minus"):
        if "pair" in found:
            found.pop(role, None)
    for role in ("plus", "minus") if "pair" not in found else ():
        _need(found, role, "which two treatments are compared", columns, words, arms)
    _need(found, "study", "which study a row belongs to", columns, words)
    _need(found, "value", "how large the differences are", columns, words, arms)
    if key_of(found["value"].name).replace("_", "") in _RATIOS:
        raise ValueError(
            f"column {printable(found['value'].name)!r} holds ratios: differences are of their logarithms. "
            "Take logarithms of the ratios and of the ends of their intervals, and give these."
        )


def _check_arms(found: dict[str, Column], columns: Sequence[Column], words: Wording) -> None:
    """Refuse a table without studies or treatments, without results, or with results of two kinds."""
    _need(found, "study", "which study an arm belongs to", columns, words)
    differences = f" A table of differences is read with {words.layout(NETWORK)}."
    _need(found, "option", "what was tried in an arm", columns, words, differences)
    if "events" in found and "value" in found:
        raise ValueError(
            f"columns {found['value'].name!r} and {found['events'].name!r} are both results: leave one of "
            "them out of the table."
        )
    if "events" in found:
        _need(found, "n", "out of how many the events are", columns, words)
        return
    free = [c for c in columns if c.kind == "number" and not c.said and c not in found.values()]
    if "value" not in found and len(free) == 1:
        found["value"] = free[0]
    _need(found, "value", "what came out (a mean, or events)", columns, words, differences)
    if "sd" in found:
        _need(found, "n", "how many readings a mean is of, which sd needs", columns, words)
    if not {"se", "var", "lo", "sd"} & {*found}:
        _need({}, "se", "how large the errors are", columns, words)


def trials_of(frame: pl.DataFrame, layout: str, words: Wording) -> tuple[pl.DataFrame, list[str]]:
    """The measurements of a table that was found to hold arms or differences of trials, and notes."""
    names = {"block": "study", "successes": "events", "trials": "n"}
    frame = frame.rename({old: new for old, new in names.items() if old in frame.columns})
    if "study" not in frame.columns:
        frame = frame.with_row_index("study", 1).with_columns(pl.col("study").cast(pl.String))
    made, notes = _measurements(frame, layout, LOG_ODDS, words)
    return made.frame(), notes


def _measurements(frame: pl.DataFrame, layout: str, counts: str, words: Wording) -> "tuple[_Made, list[str]]":
    """The measurements of a table of trials with a column for each role, and notes."""
    made, rows = _Made(), []
    texts = frame.with_columns(as_texts("table", frame[role]) for role in _TEXTS if role in frame.columns)
    for row, cells in enumerate(texts.iter_rows(named=True), start=1):
        said = {role: cell for role, cell in cells.items() if cell is not None and role != "study"}
        rows.append(_Row(row, cells["study"], said))
    if layout == NETWORK:
        return made, _read_differences(rows, made, words)
    return made, _read_arms(rows, made, counts, words)


class _Row(NamedTuple):
    """A row of a table of differences, or an arm, as the table says it."""

    row: int  # in the table, from 1
    study: str | None
    said: dict[str, Any]


class _Made:
    """Measurements as `tell_many` takes them; keys name a trial and its option, or both options."""

    def __init__(self) -> None:
        self._made: list[dict[str, Any]] = []
        self._often: Counter[str] = Counter()
        self.rows: list[int] = []

    def add(self, row: int, key: str, said: dict[str, Any]) -> None:
        """Add a measurement."""
        self._often[key] += 1
        again = f" ({self._often[key]})" if self._often[key] > 1 else ""
        self._made.append({**said, "key": f"{key}{again}"})
        self.rows.append(row)

    def add_arm(self, row: int, study: str, option: str, **said: Any) -> None:
        """Add an arm, with its value and error or its counts."""
        self.add(row, f"{study}: {option}", {"option": option, "block": study, "arm": True, **said})

    def frame(self) -> pl.DataFrame:
        """All of them; columns that are empty throughout are left out."""
        table = pl.DataFrame(self._made, schema=_COLUMNS)
        return table.select([name for name in table.columns if table[name].null_count() < table.height])


def _measured(row: _Row, where: str, what: str) -> Measured:
    """A value with its error: said in several ways, the first of se, var, sd and interval counts."""
    said = dict(row.said)
    if "lo" in said or "hi" in said:
        said["ci"] = (said.get("lo", math.nan), said.get("hi", math.nan))
    error = next((name for name in ("se", "var", "sd", "ci") if name in said), None)
    if error is None:
        raise ValueError(f"{where}no error bar; {what} needs one.")
    kept = ("value", error, *(["level"] if error == "ci" else []))
    given = {name: said[name] for name in kept if name in said}
    if error == "sd":
        if said.get("n") is None:
            raise ValueError(f"{where}sd needs n, the number of readings.")
        try:
            n = check_count_within("n", as_count(said["n"]), COUNT)
        except (TypeError, ValueError) as problem:
            raise type(problem)(f"{where}{problem}") from None
        given["se"] = given.pop("sd") / math.sqrt(n)
    return read_measured(given, noise_floor=None, where=where)


# Arms


def _read_arms(rows: Sequence[_Row], made: _Made, counts: str, words: Wording) -> list[str]:
    """Add a measurement for each arm; notes on what was done about them."""
    check_choice("counts", counts, COUNTED_AS)
    by_study: dict[str, list[tuple[_Row, str, str]]] = {}
    for row in rows:
        option, result = row.said.get("option"), row.said.keys() - {"option", "level"}
        if not result:
            continue
        if option is None or row.study is None:
            lacking = "option" if option is None else "study"
            raise ValueError(f"row {row.row}: no {lacking}, though it has a result.")
        where = f"row {row.row} ({printable(row.study)}: {printable(option)}): "
        by_study.setdefault(row.study, []).append((row, option, where))
    told = {one[0].row for arms in by_study.values() for one in arms}
    notes = _about_empty([row.row for row in rows if row.row not in told])
    odds = counts == LOG_ODDS and any("events" in row.said for row in rows)
    mended, silent, alone = [], [], []
    for study, arms in by_study.items():
        cells = [_counts(*arm) for arm in arms] if any("events" in row.said for row in rows) else []
        if odds and any(all(cell[side] == 0 for cell in cells) for side in (0, 1)):
            silent.append(study)
            continue
        added = ADDED if any(0 in cell for cell in cells) else 0.0
        mended += [study] if odds and added else []
        alone += [study] if len(arms) == 1 else []
        for at, (row, option, where) in enumerate(arms):
            if odds:
                events, others = (cell + added for cell in cells[at])
                value, se = math.log(events / others), math.sqrt(1.0 / events + 1.0 / others)
                made.add_arm(row.row, study, option, value=value, se=se)
            elif cells:
                made.add_arm(row.row, study, option, successes=cells[at][0], trials=sum(cells[at]))
            else:
                found = _measured(row, where, "an arm")
                made.add_arm(row.row, study, option, value=found.value, se=found.sigma)
    if odds:
        notes.append("Their errors come from the same counts: usual, and rough where events are few.")
    if mended:
        notes.append(f"An arm without events, or with nothing else: ½ added to all cells of {_some(mended)}.")
    if silent:
        notes.append(
            f"No events in any arm, or nothing else: {_some(silent)} left out; they say nothing about odds "
            "ratios."
        )
    if alone:
        notes.append(f"One arm alone, which nothing is compared with: {_some(alone)}.")
    return notes


def _counts(row: _Row, option: str, where: str) -> tuple[int, int]:
    """Events, and all others."""
    if "events" not in row.said or "n" not in row.said:
        raise ValueError(f"{where}events and n go together; one of them is missing.")
    said = {"successes": as_count(row.said["events"]), "trials": as_count(row.said["n"])}
    read_measured(dict(said), noise_floor=None, where=where)
    return said["successes"], said["trials"] - said["successes"]


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(printable(name) for name in names[:5])
    return shown + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _about_empty(rows: Sequence[int]) -> list[str]:
    return [f"No result, left out: {_listed(list(dict.fromkeys(rows)))}."] if rows else []


def _listed(numbers: Sequence[int]) -> str:
    more = f" and {len(numbers) - 5} more" if len(numbers) > 5 else ""
    return f"row{'' if len(numbers) == 1 else 's'} {', '.join(map(str, numbers[:5]))}{more}"


# Differences


def _read_differences(rows: Sequence[_Row], made: _Made, words: Wording) -> list[str]:
    """Add a measurement for each trial of two arms, and for each arm of the others; notes on them."""
    by_study: dict[str, list[Contrast]] = {}
    shared: dict[int, float] = {}
    empty, notes = [], []
    for row in rows:
        result = {role: cell for role, cell in row.said.items() if role in ("value", "se", "var", "lo", "hi")}
        one, other = _pair(row)
        if not result:
            empty.append(row.row)
            continue
        if one is None or other is None or row.study is None:
            lacking = "no study" if row.study is None else "no options"
            raise ValueError(f"row {row.row}: {lacking}, though it has a result.")
        if one == other:
            raise ValueError(
                f"row {row.row}: a difference needs two different options; got {printable(one)!r} twice."
            )
        where = f"row {row.row} ({printable(row.study)}: {printable(one)} - {printable(other)}): "
        contrast, said = _contrast(row, one, other, where)
        notes += [f"{where}{note}" for note in said]
        by_study.setdefault(row.study, []).append(contrast)
        for role, power in (("shared_se", 2.0), ("shared_var", 1.0)):
            if (cell := row.said.get(role)) is not None:
                if not cell > 0.0:
                    raise ValueError(f"row {row.row}: {role} must be a number above 0; got {cell!r}.")
                shared.setdefault(row.row, float(cell) ** power)
    every = [row for contrasts in by_study.values() for row in contrasts]
    rounding = Rounding(_unit([row.value for row in every]), _unit([row.se for row in every]))
    several = 0
    copies: list[int] = []
    for name, given in by_study.items():
        groups = connected(_without_copies(name, given, copies))
        for group in groups:
            if len(group) == 1:
                (only,) = group
                difference = {"plus": only.one, "minus": only.other, "value": only.value, "se": only.se}
                made.add(only.row, f"{name}: {only.one} - {only.other}", difference)
                continue
            block = name if len(groups) == 1 else f"{name} ({min(one.one for one in group)})"
            found = arms_of(name, group, _known(name, group, shared), rounding, words)
            for arm in found.arms:
                first = min(one.row for one in group if arm.option in (one.one, one.other))
                made.add_arm(first, block, arm.option, value=arm.value, se=arm.variance**0.5)
            notes += found.notes
            several += 1
    if several:
        many = "1 study" if len(by_study) == 1 else f"{len(by_study)} studies, {several} of them"
        notes.insert(0, f"{many} with more than two arms, recorded as arms.")
    if copies:
        notes.insert(0, f"The same as another row of the study, counted once: {_listed(copies)}.")
    return [*_about_empty(empty), *notes[: SAID + 2]]


def _pair(row: _Row) -> tuple[str | None, str | None]:
    """Both options of a row."""
    pair = row.said.get("pair")
    if pair is None:
        one, other = row.said.get("plus"), row.said.get("minus")
        if (one is None) != (other is None):
            raise ValueError(f"row {row.row}: a difference has two options; one of them is missing.")
        return one, other
    parts = [part.strip() for part in _BETWEEN.split(pair)]
    if len(parts) != 2 or not all(parts):
        raise ValueError(
            f"row {row.row}: {printable(pair)!r} must be a comparison of two options, such as 'A vs B'; give "
            "the two in columns of their own if their names hold such words."
        )
    return parts[0], parts[1]


def _contrast(row: _Row, one: str, other: str, where: str) -> tuple[Contrast, tuple[str, ...]]:
    found = _measured(row, where, "a difference in a network")
    return Contrast(row.row, one, other, found.value, float(found.sigma or 0.0)), found.notes


def _without_copies(study: str, rows: Sequence[Contrast], copies: list[int]) -> list[Contrast]:
    """One row for each two options; the same row again, turned or not, counts once."""
    kept: dict[frozenset[str], Contrast] = {}
    for row in rows:
        before = kept.setdefault(frozenset((row.one, row.other)), row)
        if before is row:
            continue
        value = row.value if row.one == before.one else -row.value
        if (value, row.se) != (before.value, before.se):
            raise ValueError(
                f"rows {before.row} and {row.row} both compare {printable(row.one)} and "
                f"{printable(row.other)} in study {printable(study)!r}, differently: if they are of two "
                "studies, give each a name of its own."
            )
        copies.append(row.row)
    return list(kept.values())


def _known(study: str, rows: Sequence[Contrast], shared: Mapping[int, float]) -> dict[str, float]:
    """The variance of the arm that rows share, as far as it is given."""
    given = {shared[row.row] for row in rows if row.row in shared}
    if not given:
        return {}
    hub = hub_of(rows)
    if hub is None or len(given) > 1:
        why = "they do not all share one arm" if hub is None else "it differs between them"
        raise ValueError(
            f"study {printable(study)!r}: the error of a shared arm is given for its {listed_rows(rows)}, "
            f"but {why}."
        )
    return {hub: given.pop()}


def _unit(numbers: Sequence[float]) -> float:
    """The unit of the last place of numbers as they are written: 0.01 for 1.2 and 0.35."""

    def decimals(value: float) -> int:
        digits, _, exponent = repr(float(value)).partition("e")
        return max(0, len(digits.partition(".")[2].rstrip("0")) - int(exponent or 0))

    return 10.0 ** -max(map(decimals, numbers), default=0)
