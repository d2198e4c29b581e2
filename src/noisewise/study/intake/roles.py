"""Which column of a table is what: the roles that a column can have, one entry for each.

This is the only place that lists them. What a new entry gets by being here: a name for ``map`` and ``--map``,
a column of that name in tables, cells that are read by its kind, a line in what a dry run shows.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

#: How cells are read: texts that stay what they are, numbers, whole numbers, several readings in one cell.
NAME, NUMBER, COUNT, READINGS = "name", "number", "count", "readings"


class Role(NamedTuple):
    """What a column can be."""

    name: str  # as `tell` calls it
    kind: str
    meaning: str  # for people
    called: tuple[str, ...] = ()  # how else people call such a column, as `key_of` spells it; for suggestions
    error: bool = False  # it says an error bar by itself
    probe: bool = False  # it says what was measured
    scale: bool = False  # it is in the unit of the values


ROLES = (
    Role("option", NAME, "the option that was measured", ("name", "id", "treatment", "variant"), probe=True),
    Role("plus", NAME, "of a difference: this option ...", probe=True),
    Role("minus", NAME, "... minus this one", probe=True),
    Role("value", NUMBER, "what came out", ("mean", "estimate", "result", "score"), scale=True),
    Role("se", NUMBER, "its standard error", error=True, scale=True),
    Role("var", NUMBER, "its variance", error=True),
    Role("sd", NUMBER, "the standard deviation of single readings", error=True, scale=True),
    Role("n", COUNT, "the number of readings", ("reps", "replicates", "count", "samples", "nobs", "runs")),
    Role("ci", NUMBER, "a confidence interval"),
    Role("level", NUMBER, "the level of the interval"),
    Role("values", READINGS, "the readings themselves", ("readings",), error=True, scale=True),
    Role("successes", COUNT, "the number of successes", ("hits", "conversions", "correct"), error=True),
    Role("trials", COUNT, "the number of trials", ("visitors", "attempts"), error=True),
    Role("lo", NUMBER, "the lower end of the interval", error=True, scale=True),
    Role("hi", NUMBER, "the upper end of the interval", error=True, scale=True),
    Role("se_up", NUMBER, "the error upwards", error=True, scale=True),
    Role("se_down", NUMBER, "the error downwards", error=True, scale=True),
    Role("block", NAME, "the day, plate or judge", ("day", "batch", "plate", "session", "judge", "rater")),
    Role("instrument", NAME, "the instrument", ("device", "machine")),
    Role("key", NAME, "a name of the measurement", ("uid", "uuid")),
    Role("by", NAME, "who measured", ("operator", "person")),
    Role("note", NAME, "a note", ("comment", "notes", "remark", "remarks")),
    Role("at", NUMBER, "when it was measured"),
    Role("cost", NUMBER, "what it cost"),
    Role("job", NAME, "the suggestion it answers", probe=True),
    Role("item", NAME, "the item that the option was measured on", ("question", "seed")),
)
ROLE = {role.name: role for role in ROLES}
#: Columns of a table of measurements; one with items has a reader of its own.
COLUMNS = tuple(role.name for role in ROLES if role.name != "item")
#: What was measured.
PROBES = tuple(role.name for role in ROLES if role.probe)
#: Columns that say an error bar by themselves.
ERROR_COLUMNS = tuple(role.name for role in ROLES if role.error)
RESULTS = ("value", *ERROR_COLUMNS)
#: Columns of our own sheets that are for people only.
FOR_PEOPLE = ("why", "expires")

_BRACKETS = re.compile(r"^(?P<name>.*?\S)\s*[(\[](?P<within>[^()\[\]]*)[)\]]$")
_UNIT = re.compile(r"[A-Za-zµμΩ°%€$£¥Å‰][A-Za-z0-9µμΩ°%€$£¥Å‰/·*^²³⁻¹. -]{0,15}")
#: What people put into brackets that is no unit.
_NO_UNIT = (
    "mean", "median", "average", "avg", "sd", "se", "sem", "std", "stdev", "var", "n", "ci", "lo", "hi", "low",
    "high", "lower", "upper", "min", "max", "total", "sum", "count", "new", "old", "all", "raw", "log",
    "estimate", "error", "err", "id", "name",
)  # fmt: skip


def key_of(column: str) -> str:
    """A column's name as names are compared: small letters, without what stands in brackets, _ for blanks."""
    return re.sub(r"[\s_.-]+", "_", split_unit(column)[0].casefold()).strip("_")


def split_unit(column: str) -> tuple[str, str | None]:
    """The name of a column without what stands in brackets behind it, and the unit if that is one."""
    found = _BRACKETS.match(column)
    if found is None:
        return column, None
    within = found["within"].strip()
    is_unit = _UNIT.fullmatch(within) is not None and within.casefold() not in _NO_UNIT
    return found["name"], within if is_unit else None


def columns_called(columns: Sequence[str], name: str) -> list[str]:
    """The columns that a person means by a name: the one spelt so, or those that differ in little.

    Case, blanks against underscores, and a unit in brackets do not matter where the spelling is nobody's.
    """
    if name in columns:
        return [name]
    same_name = [column for column in columns if split_unit(column)[0] == name]
    return same_name or [column for column in columns if key_of(column) == key_of(name)]


def column_for(columns: Sequence[str], role: str) -> str | None:
    """The only column that is called like a role, or as people call it otherwise; for suggestions."""
    for name in (role, *ROLE[role].called):
        if len(found := columns_called(columns, name)) == 1:
            return found[0]
    return None
