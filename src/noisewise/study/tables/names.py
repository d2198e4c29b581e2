"""Names of columns as people write them: with units in brackets, in any case, with blanks or underscores."""

import re
from collections.abc import Sequence

_UNIT = re.compile(r"[A-Za-zµμΩ°%€$£¥Å‰][A-Za-z0-9µμΩ°%€$£¥Å‰/·*^²³⁻¹. -]{0,15}")
#: Words in brackets that are not units.
_NO_UNIT = (
    "mean", "median", "average", "avg", "sd", "se", "sem", "std", "stdev", "var", "n", "ci", "lo", "hi",
    "low", "high", "lower", "upper", "min", "max", "total", "sum", "count", "new", "old", "all", "raw", "log",
    "estimate", "error", "err", "id", "name",
)  # fmt: skip


def key_of(column: str) -> str:
    """A column's name as names are compared: small letters, without brackets, _ for blanks."""
    return re.sub(r"[\s_.-]+", "_", split_unit(column)[0].casefold().strip(" .-"))


def split_unit(column: str) -> tuple[str, str | None]:
    """The name of a column without the brackets behind it, and the unit if they hold one."""
    found = split_brackets(column)
    if found is None:
        return column, None
    name, within = found[0], found[1].strip()
    is_unit = _UNIT.fullmatch(within) is not None and within.casefold() not in _NO_UNIT
    return name, within if is_unit else None


def split_brackets(column: str) -> tuple[str, str] | None:
    """A column's name before the brackets at its end, and what is in them; None if it does not end so."""
    start = max(column.rfind("("), column.rfind("["))
    name, within = column[: max(start, 0)].rstrip(), column[start + 1 : -1]
    if start < 0 or not name or column[-1] not in ")]" or ")" in within or "]" in within:
        return None
    return name, within


def columns_called(columns: Sequence[str], name: str) -> list[str]:
    """The columns that a person means by a name: the one spelt so, or those that differ in little.

    Case, blanks against underscores, and a unit in brackets do not matter where no column is spelled so.
    """
    if name in columns:
        return [name]
    same_name = [column for column in columns if split_unit(column)[0] == name]
    return same_name or [column for column in columns if key_of(column) == key_of(name)]
