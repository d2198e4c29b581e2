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
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from noisewise.core.checks import COUNT, check_choice, check_count_within, nearest
from noisewise.core.text import printable
from noisewise.study.tables.cells import as_count, read_numbers
from noisewise.study.tables.names import columns_called, split_unit
from noisewise.study.tables.sheet import ReadTable, as_texts
from noisewise.study.tables.table import level_said
from noisewise.study.tables.wording import Wording
from noisewise.study.telling.arms import Contrast, Rounding, arms_of, connected, hub_of, listed_rows
from noisewise.study.telling.error_bars import Measured, read_measured
from noisewise.study.telling.understanding import Understood, units_of

NETWORK, ARMS = LAYOUTS = ("network", "arms")
#: What events out of n are told as, and what is added to all cells of a trial with an empty one.
LOG_ODDS, SHARES = COUNTED_AS = ("log odds", "shares")
ADDED = 0.5
#: Notes on single rows that are passed on.
SAID = 5
#: What columns are usually called, without case, blanks and punctuation; names before a bar win.
_STUDY = "studlab study studyid studyname studylabel trial trialid"
_ERRORS = {
    "se": "sete se stderr stderror standarderror selogor selnor selor seloghr selnhr selogrr selnrr semd "
    "sesmd sediff seeffect seyi sei",
    "var": "var variance vi varte",
    "lo": "lo lower lowerci cilower cilow lcl lowerte",
    "hi": "hi upper upperci ciupper cihigh ucl upperte",
}
_NAMES: dict[str, dict[str, str]] = {
    NETWORK: {
        "study": f"{_STUDY} | id",
        "plus": "plus treat1 treatment1 trt1 t1 arm1 option1 drug1 intervention1 "
        "| treatment treat intervention drug",
        "minus": "minus treat2 treatment2 trt2 t2 arm2 option2 drug2 intervention2 "
        "| comparator control reference versus vs",
        "pair": "comparison contrast comp",
        "value": "te effect effectsize yi md smd diff difference value estimate logor lnor lor loghr lnhr "
        "logrr lnrr meandifference logoddsratio | y d",
        **_ERRORS,
        "shared_se": "sharedse",
        "shared_var": "sharedvar",
    },
    ARMS: {
        "study": f"{_STUDY} | id",
        "option": "option treatment treat trt intervention drug | arm group t",
        "value": "mean value te effect estimate | y m avg",
        **_ERRORS,
        "sd": "sd stddev standarddeviation",
        "events": "events event successes responders resp | r cases",
        "n": "n total samplesize trials size patients number",
    },
}
#: What a map may call a role besides its own name: as tables of measurements do.
ALIASES = {
    NETWORK: {"block": "study", "option": "plus"},
    ARMS: {"block": "study", "successes": "events", "trials": "n", "mean": "value"},
}
ROLES_OF = {layout: tuple(names) for layout, names in _NAMES.items()}
#: And what a table of measurements calls such a role.
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
    dropped = [column for name in gone for column in columns_called(table.frame.columns, name)]
    frame = table.frame.drop(dropped).with_columns(pl.col(pl.String).replace("NA", None))
    said = {ALIASES[layout].get(role, role): column for role, column in said.items()}
    with table.placed():
        roles, arms = _roles(frame.columns, layout, said, words)
        table.refuse_dates([arm[role] for arm in arms for role in ("option", "plus", "minus") if role in arm])
        numeric = [name for arm in arms for role, name in arm.items() if role not in _TEXTS]
        found = read_numbers(
            {name: frame[name] for name in numeric}, decimal=decimal, comma=table.comma, exact=table.exact,
            others=[frame[name] for name in frame.columns if name not in numeric], words=words,
        )  # fmt: skip
        if found.percent and len(found.percent) < len(numeric) and not table.exact:
            bare = next(name for name in numeric if name not in found.percent)
            raise ValueError(
                f"column {found.percent[0]!r} has per cent signs and {bare!r} has none: write both alike, "
                "without them."
            )
        frame = frame.with_columns(found.columns[name].alias(name) for name in numeric)
        wide = len(arms) > 1
        study = roles.get("study", "")
        numbers = "study" not in said and not wide and _plain(study) == "id" and frame.height > 1
        if numbers and frame[study].is_unique().all():
            raise ValueError(
                f"column {study!r} is another one in every row, so it may number rows and not studies: say "
                f"which column names studies, for instance {words.map({'study': study})}."
            )
        stacked = _stacked(frame, roles, arms, words)
        made = _Made()
        if layout == NETWORK:
            notes = _read_differences(stacked, made, words)
        else:
            notes = _read_arms(stacked, made, counts or LOG_ODDS, words)
    used = {name for arm in arms for name in arm.values()} | {*roles.values()}
    unused = [name for name in frame.columns if name not in used]
    sources = {_AS_MEASURED.get(role, role): column for role, column in roles.items()}
    sources = {role: column for role, column in sources.items() if not role.startswith("shared")}
    told = made.frame()
    if "option" in told.columns:
        sources.setdefault("option", sources.get("plus", "option"))
    # What is told below names measurements; people look for the row, or the line of the file.
    first = np.array(made.rows, dtype=np.int64)
    lines, of = (first, "row of the table") if table.lines is None else (table.lines[first - 1], table.of)
    level = level_said([roles[end] for end in ("lo", "hi") if end in roles])
    at_level = "" if level is None else f" at {100.0 * level:g} %"
    what = ", ".join(f"{role} {printable(column)}" for role, column in roles.items())
    counted = f"; events as {counts or LOG_ODDS}" if "events" in roles else ""
    understood = f"Understood: {layout}: {what}{at_level}{counted}."
    return Understood(
        ReadTable(told, table.name, lines, of), told, sources, units_of(sources), unused, found.guesses, True,
        words, decimal, layout, (understood, *notes),
    )  # fmt: skip


def trials_of(frame: pl.DataFrame, layout: str, words: Wording) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The measurements of a table that was found to hold arms or differences of trials, and notes."""
    names = {"block": "study", "successes": "events", "trials": "n"}
    frame = frame.rename({old: new for old, new in names.items() if old in frame.columns})
    if "study" not in frame.columns:
        frame = frame.with_row_index("study", 1).with_columns(pl.col("study").cast(pl.String))
    made = _Made()
    rows = _stacked(frame, {}, [{name: name for name in frame.columns}], words)
    notes = (
        _read_differences(rows, made, words) if layout == NETWORK else _read_arms(rows, made, LOG_ODDS, words)
    )
    return made.frame(), tuple(notes)


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


# Columns


def _plain(name: str) -> str:
    """A name without case, blanks, punctuation, and a unit in brackets."""
    return re.sub(r"[\W_]+", "", split_unit(name)[0].casefold())


def _roles(
    columns: Sequence[str], layout: str, said: Mapping[str, str], words: Wording
) -> tuple[dict[str, str], list[dict[str, str]]]:
    """The column of each role, and of each arm where arms stand side by side in numbered columns."""
    names = _NAMES[layout]
    for role in said:
        if role not in names:
            raise ValueError(
                f"{words.called_map} of such a table knows {', '.join(names)}; got {role!r}."
                f"{nearest(role, list(names))}"
            )
    base = {name: (one[1], int(one[2])) for name in columns if (one := _NUMBERED.fullmatch(name))}
    options = (
        {_plain(said["option"])} if "option" in said else {*names.get("option", "").replace("|", "").split()}
    )
    numbers = {number for stem, number in base.values() if _plain(stem) in options}
    wide = layout == ARMS and {1, 2} <= numbers and said.get("option") not in columns
    if wide:  # what stands once is of the whole study: its name, or nothing that is told
        stems = list(dict.fromkeys(stem for stem, _ in base.values()))
        once = [name for name in columns if name not in base]
        of_arms = {role: column for role, column in said.items() if role != "study"}
        inner = _find(stems, {role: one for role, one in names.items() if role != "study"}, of_arms, words)
        known = {"study": said["study"]} if "study" in said else {}
        outer = _find(once, {"study": f"{_STUDY} | id | author"}, known, words)
        _check_arms(inner, stems, words)
        arms: dict[int, dict[str, str]] = {}
        for name, (stem, number) in base.items():
            stemmed = next((role for role, one in inner.items() if one == stem), None)
            if stemmed is not None:
                arms.setdefault(number, {})[stemmed] = name
        return outer | inner, [arm for _, arm in sorted(arms.items()) if "option" in arm]
    found = _find(columns, names, said, words)
    if layout == NETWORK:
        _check_differences(found, columns, words)
    else:
        _need(found, "study", "which study an arm belongs to", columns, words)
        _need(found, "option", "what was tried in an arm", columns, words)
        _check_arms(found, columns, words)
    return found, [found]


_NUMBERED = re.compile(r"(.*[^\d._\-\s\u00a0])[._\-\s\u00a0]*([1-9][0-9]?)")


def _find(
    columns: Sequence[str], roles: Mapping[str, str], said: Mapping[str, str], words: Wording
) -> dict[str, str]:
    """The column of every role that the table has; what people say wins."""
    found: dict[str, str] = {}
    for role, column in said.items():
        meant = columns_called(columns, column)
        if len(meant) != 1:
            listed = ", ".join(repr(printable(name)) for name in columns)
            raise ValueError(
                f"{words.called_map} must name columns of the table, which has {listed}; got {column!r} for "
                f"{role!r}.{nearest(column, columns)}"
            )
        found[role] = meant[0]
    for role, line in roles.items():
        for names in line.split("|") if role not in found else ():
            here = [one for one in columns if _plain(one) in names.split() and one not in found.values()]
            if len(here) > 1:
                listed = " and ".join(repr(printable(name)) for name in here[:2])
                raise ValueError(
                    f"columns {listed} could both be {role!r}: say which one is, for instance "
                    f"{words.map({role: here[0]})}."
                )
            if here:
                found[role] = here[0]
                break
    return found


def _need(
    found: Mapping[str, str], role: str, what: str, columns: Sequence[str], words: Wording, hint: str = ""
) -> None:
    """Refuse a table without a column that it cannot be read without."""
    if role not in found:
        listed = ", ".join(repr(printable(name)) for name in columns)
        raise ValueError(
            f"no column says {what}: name it, {words.map({role: 'COLUMN'})}. The table has {listed}.{hint}"
        )


def _check_differences(found: dict[str, str], columns: Sequence[str], words: Wording) -> None:
    arms = f" A table of arms is read with {words.layout(ARMS)}."
    if "plus" in found and "minus" in found:
        found.pop("pair", None)
    elif "pair" in found:
        found.pop("plus", None)
        found.pop("minus", None)
    _need(
        found, "plus" if "pair" not in found else "pair", "which treatment comes first", columns, words, arms
    )
    _need(
        found,
        "minus" if "pair" not in found else "pair",
        "which treatment it is compared with",
        columns,
        words,
        arms,
    )
    _need(found, "study", "which study a row belongs to", columns, words)
    _need(found, "value", "how large the differences are", columns, words, arms)
    if _plain(found["value"]) in _RATIOS:
        raise ValueError(
            f"column {printable(found['value'])!r} holds ratios: differences are of their logarithms. Take "
            "logarithms of the ratios and of the ends of their intervals, and give these."
        )


def _check_arms(found: Mapping[str, str], names: Sequence[str], words: Wording) -> None:
    """Refuse tables without results, or with results of two kinds."""
    if "events" in found and "value" in found:
        raise ValueError(
            f"columns {found['value']!r} and {found['events']!r} are both results: leave one of them out "
            "of the table."
        )
    if "events" in found:
        _need(found, "n", "out of how many the events are", names, words)
        return
    differences = f" A table of differences is read with {words.layout(NETWORK)}."
    _need(found, "value", "what came out (a mean, or events)", names, words, differences)
    if "sd" in found:
        _need(found, "n", "how many readings a mean is of, which sd needs", names, words)
    if not {"se", "var", "lo", "sd"} & set(found):
        _need({}, "se", "how large the errors are", names, words)


def _stacked(
    frame: pl.DataFrame, roles: Mapping[str, str], arms: Sequence[Mapping[str, str]], words: Wording
) -> list[_Row]:
    """The rows with what they say by role, those of all arms of a trial together."""
    wide = len(arms) > 1
    named = roles.get("study") or (None if wide else arms[0].get("study"))
    study: list[str | None] = [f"row {at + 1}" for at in range(frame.height)]
    if named is not None:
        study = as_texts("table", frame[named]).to_list()
    if wide and (twice := next((s for s in study if s is not None and study.count(s) > 1), None)) is not None:
        rows = ", ".join(str(at + 1) for at, name in enumerate(study) if name == twice)
        raise ValueError(
            f"study {printable(twice)!r} stands in rows {rows}, and each row must be a study of its own: "
            f"name a column that tells them apart, {words.map({'study': 'COLUMN'})}."
        )
    found = []
    for arm in arms:
        cells = {
            role: (as_texts("table", frame[name]) if role in _TEXTS else frame[name]).to_list()
            for role, name in arm.items()
            if role != "study"
        }
        level = level_said([arm[end] for end in ("lo", "hi") if end in arm])
        for at in range(frame.height):
            said = {role: column[at] for role, column in cells.items() if column[at] is not None}
            if level is not None and "lo" in said:
                said.setdefault("level", level)
            found.append(_Row(at + 1, study[at], said))
    return sorted(found, key=lambda row: row.row)


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
        notes.insert(0, f"{many} with more than two arms, told as arms.")
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
