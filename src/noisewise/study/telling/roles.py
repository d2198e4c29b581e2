"""Which column of a table is what: the roles that a column can have, one entry for each.

This is the only place that lists them. A new entry gets a name for ``roles`` and ``--map``,
a column of that name in tables, cells that are read by its kind, a line in what a dry run shows.
"""

from typing import NamedTuple

#: How cells are read: texts that stay what they are, numbers, whole numbers, several readings in one cell.
NAME, NUMBER, COUNT, READINGS = "name", "number", "count", "readings"
#: What says that a measurement has no error bar.
NO_ERROR = "none"


class ColumnRole(NamedTuple):
    """What a column can be."""

    name: str  # as `tell` calls it
    kind: str
    meaning: str  # for people
    error: bool = False  # it says an error bar by itself
    probe: bool = False  # it says what was measured
    scale: bool = False  # it is in the unit of the values


ROLES = (
    ColumnRole("option", NAME, "the option that was measured", probe=True),
    ColumnRole("plus", NAME, "of a difference: this option ...", probe=True),
    ColumnRole("minus", NAME, "... minus this one", probe=True),
    ColumnRole("value", NUMBER, "what came out", scale=True),
    ColumnRole("se", NUMBER, "its standard error", error=True, scale=True),
    ColumnRole("var", NUMBER, "its variance", error=True),
    ColumnRole("sd", NUMBER, "the standard deviation of single readings", error=True, scale=True),
    ColumnRole("n", COUNT, "the number of readings"),
    ColumnRole("ci", NUMBER, "a confidence interval, both ends in a cell"),
    ColumnRole("level", NUMBER, "the level of the interval"),
    ColumnRole("values", READINGS, "the readings themselves", error=True, scale=True),
    ColumnRole("successes", COUNT, "the number of successes", error=True),
    ColumnRole("trials", COUNT, "the number of trials", error=True),
    ColumnRole("lo", NUMBER, "the lower end of the interval", error=True, scale=True),
    ColumnRole("hi", NUMBER, "the upper end of the interval", error=True, scale=True),
    ColumnRole("se_up", NUMBER, "the error upwards", error=True, scale=True),
    ColumnRole("se_down", NUMBER, "the error downwards", error=True, scale=True),
    ColumnRole("block", NAME, "the day, plate or judge"),
    ColumnRole("arm", NAME, "whether it is an arm of the study that its block names"),
    ColumnRole("instrument", NAME, "the instrument"),
    ColumnRole("key", NAME, "a name of the measurement"),
    ColumnRole("by", NAME, "who measured"),
    ColumnRole("note", NAME, "a note"),
    ColumnRole("at", NUMBER, "when it was measured"),
    ColumnRole("cost", NUMBER, "what it cost"),
    ColumnRole("job", NAME, "the suggestion it answers", probe=True),
    ColumnRole("item", NAME, "the item that the option was measured on"),
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
