"""Tables of arms, study by study: one row for each arm, or one for each study with numbered columns.

Every arm becomes a measurement of its option in a block, the study. Means come with se, var, an interval, or
sd and n; the error of a mean is then ``sd/√n``, as meta-analyses take it. Events out of n become log odds
with the variance ``1/events + 1/(n - events)``, so that differences are log odds ratios; where a study has an
arm without events, or with nothing else, ½ is added to all its cells. A study where no arm has events, or all
have nothing else, says nothing about odds ratios, and is left out.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from noisewise.core.checks import COUNT, check_choice, check_count_within
from noisewise.core.text import printable
from noisewise.study.inputs.dialects.interval_texts import at_level, level_among
from noisewise.study.inputs.dialects.wording import PYTHON, Wording
from noisewise.study.inputs.error_bars import read_measured
from noisewise.study.inputs.networks.column_roles import (
    ARMS,
    ROW_IS_STUDY,
    STUDY_OR_ID,
    Names,
    find_roles,
    need,
    plain,
)
from noisewise.study.inputs.networks.network_rows import (
    NetworkRows,
    RowMaker,
    listed,
    names_in,
    numbers_in,
)
from noisewise.study.inputs.numbers import as_count

#: What arms' counts are told as.
LOG_ODDS, SHARES = "log odds", "shares"
COUNTED_AS = (LOG_ODDS, SHARES)
#: What is added to events and to all others of a study with an arm that lacks either.
ADDED = 0.5
_NUMBER = re.compile(r"[1-9][0-9]?$")
_NUMBERS = ("value", "se", "var", "lo", "hi", "sd", "events", "n")


class ArmRow(NamedTuple):
    """An arm as a table tells it."""

    row: int  # in the table, from 1
    study: str
    option: str
    said: dict[str, Any]

    @property
    def where(self) -> str:
        """How messages begin."""
        return f"row {self.row} ({printable(self.study)}: {printable(self.option)}): "


def arm_columns(
    columns: Sequence[str],
    said: Mapping[str, str] | None = None,
    words: Wording = PYTHON,
    studies: Names = STUDY_OR_ID,
) -> tuple[dict[str, str], list[str]]:
    """Which column is what, and those that hold numbers; numbered ones go by their name without the number.

    Args:
        columns: The table's.
        said: Which is what, where names do not say so: study, option, value, se (or var, lo and hi, sd and
            n), or events and n.
        words: How messages call what a person can say.
        studies: What a column that names studies may be called, where rows are arms.
    """
    said = said or {}
    wide = _is_wide(columns, said)
    if not wide:
        found = find_roles(columns, ARMS | {"study": studies}, said, words)
        need(found, "study", "which study an arm belongs to", columns, words)
        need(found, "option", "what was tried in an arm", columns, words)
        _check_results(found, columns, words)
        return found, [found[role] for role in _NUMBERS if role in found]
    # What stands once is of the whole study: its name, or nothing that is told.
    numbered = list(dict.fromkeys(_base(name) for name in columns if _base(name) != name))
    once = [name for name in columns if _base(name) == name]
    of_study = {role: column for role, column in said.items() if role == "study"}
    of_arms = {role: column for role, column in said.items() if role != "study"}
    found = find_roles(numbered, {role: ARMS[role] for role in ARMS if role != "study"}, of_arms, words)
    found |= find_roles(once, {"study": ROW_IS_STUDY}, of_study, words)
    _check_results(found, numbered, words)
    return found, [arm[role] for arm in _arms(columns, found) for role in _NUMBERS if role in arm]


def read_arms(
    table: pl.DataFrame, found: Mapping[str, str], *, counts: str = LOG_ODDS, words: Wording = PYTHON
) -> NetworkRows:
    """The measurements that a table of arms holds.

    Args:
        table: One row for each arm; or for each study, with columns such as treat1, n1, treat2, n2.
        found: Which column is what.
        counts: What events out of n become: ``"log odds"``, or ``"shares"``.
        words: How messages call what a person can say.
    """
    check_choice("counts", counts, COUNTED_AS)
    rows, empty = _rows(table, found, words)
    by_study: dict[str, list[ArmRow]] = {}
    for row in rows:
        by_study.setdefault(row.study, []).append(row)
    notes = [_understood(found, counts)]
    if empty:
        notes.append(f"No result, left out: {listed(empty)}.")
    made = RowMaker()
    told = by_study
    if "events" in found and counts == LOG_ODDS:
        told = _tell_log_odds(by_study, made, notes)
    else:
        for study, arms in by_study.items():
            for arm in arms:
                said = _counts(arm) if "events" in found else _mean(arm)
                made.add_arm(arm.row, study, arm.option, **said)
    if alone := [study for study, arms in told.items() if len(arms) == 1]:
        notes.append(f"One arm alone, which nothing is compared with: {_named(alone)}.")
    several = sum(len({arm.option for arm in arms}) > 2 for arms in told.values())
    wide = found["option"] not in table.columns
    used = {*found.values(), *(name for name in table.columns if wide and _base(name) in found.values())}
    unused = tuple(name for name in table.columns if name not in used)
    return NetworkRows(made.frame(), len(told), several, tuple(notes), unused, tuple(made.rows))


def _rows(table: pl.DataFrame, found: Mapping[str, str], words: Wording) -> tuple[list[ArmRow], list[int]]:
    """All arms, and the numbers of rows without a result."""
    wide = found["option"] not in table.columns
    study: list[str | None] = [f"row {at + 1}" for at in range(table.height)]
    if "study" in found:
        study = names_in(table[found["study"]])
    if wide:
        _check_different(study, words)
    rows: list[ArmRow] = []
    told: set[int] = set()
    for column in _arms(table.columns, found) if wide else [found]:
        option = names_in(table[column["option"]])
        cells = {role: numbers_in(table[column[role]]) for role in _NUMBERS if role in column}
        for at, name in enumerate(option):
            said = {role: numbers[at] for role, numbers in cells.items() if numbers[at] is not None}
            if not said:
                continue
            if name is None or study[at] is None:
                lacking = "option" if name is None else "study"
                raise ValueError(f"row {at + 1}: no {lacking}, though it has a result.")
            rows.append(ArmRow(at + 1, str(study[at]), name, said | level_among(column)))
            told.add(at)
    empty = [at + 1 for at in range(table.height) if at not in told]
    return sorted(rows, key=lambda row: row.row), empty


def _base(name: str) -> str:
    """The name of a numbered column without its number."""
    numbered = _numbered(name)
    return numbered[0] if numbered and numbered[0] else name


def _numbered(name: str) -> tuple[str, str] | None:
    """The base and the number of a numbered column: effect_12 is the twelfth effect."""
    number = _NUMBER.search(name)
    return None if number is None else (name[: number.start()].rstrip("._- \t\u00a0"), number[0])


def _is_wide(columns: Sequence[str], given: Mapping[str, str]) -> bool:
    """Whether arms stand side by side: a column of options for the first arm and one for the second."""
    if given.get("option") in columns:
        return False
    given_stem = {plain(given["option"])} if "option" in given else None
    options = given_stem or {name for group in ARMS["option"] for name in group}
    numbers = {match[1] for name in columns if (match := _numbered(name)) and plain(match[0]) in options}
    return {"1", "2"} <= numbers


def _arms(columns: Sequence[str], found: Mapping[str, str]) -> list[dict[str, str]]:
    """The columns of every arm of a wide table, by role."""
    arms: dict[int, dict[str, str]] = {}
    for name in columns:
        match = _numbered(name)
        role = next((role for role, stem in found.items() if match and stem == match[0]), None)
        if match and role is not None:
            arms.setdefault(int(match[1]), {})[role] = name
    return [arm for _, arm in sorted(arms.items()) if "option" in arm]


def _check_different(study: Sequence[str | None], words: Wording) -> None:
    """Refuse studies that stand in several rows of a table where every row is one."""
    twice = next((name for name in study if name is not None and study.count(name) > 1), None)
    if twice is not None:
        rows = [at + 1 for at, name in enumerate(study) if name == twice]
        raise ValueError(
            f"study {printable(twice)!r} stands in {listed(rows)}, and each row must be a study of its own: "
            f"name a column that tells them apart, {words.map({'study': 'COLUMN'})}."
        )


def _check_results(found: Mapping[str, str], names: Sequence[str], words: Wording) -> None:
    """Refuse tables without results, or with results of two kinds."""
    if "events" in found:
        if "value" in found:
            raise ValueError(
                f"columns {found['value']!r} and {found['events']!r} are both results: leave one of them out "
                "of the table."
            )
        need(found, "n", "out of how many the events are", names, words)
        return
    differences = f" A table of differences is read with {words.layout('network')}."
    need(found, "value", "what came out (a mean, or events)", names, words, differences)
    if "sd" in found and "n" not in found:
        need(found, "n", "how many readings a mean is of, which sd needs", names, words)
    if not {"se", "var", "lo", "sd"} & set(found):
        need({}, "se", "how large the errors are", names, words)


def _mean(arm: ArmRow) -> dict[str, Any]:
    """A mean with its standard error."""
    said = dict(arm.said)
    n = said.pop("n", None)
    if "lo" in said or "hi" in said:
        said["ci"] = (said.pop("lo", math.nan), said.pop("hi", math.nan))
    errors = [name for name in ("se", "var", "sd", "ci") if name in said]
    if not errors:
        raise ValueError(f"{arm.where}no error bar; an arm needs one.")
    kept = ("value", errors[0], *(["level"] if errors[0] == "ci" else []))
    said = {name: cell for name, cell in said.items() if name in kept}
    if errors[0] == "sd":
        if n is None:
            raise ValueError(f"{arm.where}sd needs n, the number of readings.")
        try:
            n = check_count_within("n", as_count(n), COUNT)
        except (TypeError, ValueError) as problem:
            raise type(problem)(f"{arm.where}{problem}") from None
        said["se"] = said.pop("sd") / math.sqrt(n)
    measured = read_measured(said, noise_floor=None, where=arm.where, lease="")
    return {"value": measured.value, "se": measured.sigma}


def _counts(arm: ArmRow) -> dict[str, Any]:
    """Events out of n."""
    if "events" not in arm.said or "n" not in arm.said:
        raise ValueError(f"{arm.where}events and n go together; one of them is missing.")
    said = {"successes": as_count(arm.said["events"]), "trials": as_count(arm.said["n"])}
    read_measured(dict(said), noise_floor=None, where=arm.where, lease="")
    return said


def _tell_log_odds(
    by_study: Mapping[str, list[ArmRow]], made: RowMaker, notes: list[str]
) -> dict[str, list[ArmRow]]:
    """Arms as log odds; the studies that say something about them."""
    told: dict[str, list[ArmRow]] = {}
    mended, silent = [], []
    for study, arms in by_study.items():
        cells = [(said["successes"], said["trials"] - said["successes"]) for said in map(_counts, arms)]
        if any(all(cell[side] == 0 for cell in cells) for side in (0, 1)):
            silent.append(study)
            continue
        added = ADDED if any(0 in cell for cell in cells) else 0.0
        if added:
            mended.append(study)
        told[study] = arms
        for arm, (events, others) in zip(arms, cells, strict=True):
            value = math.log((events + added) / (others + added))
            se = math.sqrt(1.0 / (events + added) + 1.0 / (others + added))
            made.add_arm(arm.row, study, arm.option, value=value, se=se)
    notes.append("Their errors come from the same counts: usual, and rough where events are few.")
    if mended:
        notes.append(
            f"An arm without events, or with nothing else: ½ added to all cells of {_named(mended)}."
        )
    if silent:
        notes.append(
            f"No events in any arm, or nothing else: {_named(silent)} left out; they say nothing about odds "
            "ratios."
        )
    return told


def _named(studies: Sequence[str]) -> str:
    shown = ", ".join(printable(study) for study in studies[:5])
    return shown + (f" and {len(studies) - 5} more" if len(studies) > 5 else "")


def _understood(found: Mapping[str, str], counts: str) -> str:
    names = {role: printable(column) for role, column in found.items()}
    if "events" in names:
        result = f"{names['events']} out of {names['n']} as {counts}"
    else:
        error = next(role for role in ("se", "var", "sd", "lo") if role in names)
        more = (
            f" and {names['n']}"
            if error == "sd"
            else f" to {names['hi']}{at_level(found)}"
            if error == "lo"
            else ""
        )
        result = f"{names['value']}, error {names[error]}{more}"
    study = f"study {names['study']}" if "study" in names else "studies that are called by their row"
    return f"Understood: arms of {study}, option {names['option']}: {result}."
