"""Compare answers leaf by leaf, and hold the differences against the list of intended changes."""

import math
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

CHANGES = Path(__file__).parent / "changes.toml"
#: Numbers are equal up to this part of themselves, or a thousandth of it of the largest number that the same
#: field has anywhere in the case: an estimate of 1e-17 among estimates around 1 is a zero.
RELATIVE, FLOOR = 1e-9, 1e-3
#: Fields that may get smaller (better) or larger (worse) without anything else being different.
BOUNDS = frozenset({"bound", "half_width", "half_widths"})
EQUAL, SMALLER, LARGER, DIFFERENT = OUTCOMES = ("equal", "smaller", "larger", "different")
#: In the place of a value that one of the two answers does not have.
MISSING = "(missing)"
#: Numbers that JSON does not have.
NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


@dataclass(frozen=True)
class Difference:
    """One field that differs: its path, such as ``end.certificate.bound``, and both values."""

    path: str
    old: Any
    new: Any


@dataclass(frozen=True)
class Compared:
    """One case: its name, what became of its answer, and the fields that differ."""

    name: str
    outcome: str
    differences: tuple[Difference, ...] = ()


@dataclass
class Change:
    """An intended change: the differences that an entry of changes.toml allows."""

    kind: str
    cases: str
    reason: str
    fields: str = "*"
    used: bool = field(default=False, compare=False)

    def allows(self, kind: str, case: str, path: str) -> bool:
        """Whether it names this difference."""
        return kind == self.kind and fnmatchcase(case, self.cases) and fnmatchcase(path, self.fields)

    def __str__(self) -> str:
        return f"kind {self.kind!r}, cases {self.cases!r}, fields {self.fields!r}"


def plain(answer: Any) -> Any:
    """An answer in JSON values; numbers that JSON does not have become text."""
    if isinstance(answer, dict):
        return {str(name): plain(value) for name, value in answer.items()}
    if hasattr(answer, "tolist"):  # NumPy
        return plain(answer.tolist())
    if isinstance(answer, list | tuple):
        return [plain(value) for value in answer]
    if isinstance(answer, float) and not math.isfinite(answer):
        return "nan" if math.isnan(answer) else "inf" if answer > 0.0 else "-inf"
    if answer is None or isinstance(answer, bool | int | float | str):
        return answer
    raise TypeError(f"an answer must consist of JSON values; got {answer!r}.")


def leaves(answer: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """All values of an answer with their paths; an empty list or dict is a value."""
    if isinstance(answer, dict | list) and answer:
        items = answer.items() if isinstance(answer, dict) else enumerate(answer)
        for name, value in items:
            yield from leaves(value, f"{path}.{name}" if path else str(name))
    else:
        yield path, answer


def usual(path: str) -> float:
    """Up to which part of themselves numbers are equal, whatever the field."""
    return RELATIVE


def compare(name: str, old: Any, new: Any, relative: Callable[[str], float] = usual) -> Compared:
    """Compare the recorded answer of a case with the one that is given now.

    Args:
        name: The name of the case.
        old: What was recorded.
        new: What is answered now.
        relative: Up to which part of itself the number in a field is equal, given its path.
    """
    before, after = dict(leaves(old)), dict(leaves(new))
    if before == after and list(before) == list(after):
        return Compared(name, EQUAL)
    largest = _largest(before)
    found = []
    for path in dict.fromkeys([*before, *after]):
        one, other = before.get(path, MISSING), after.get(path, MISSING)
        part = relative(path)
        if not _same(one, other, part, FLOOR * part * largest.get(_field(path), 0.0)):
            found.append(Difference(path, one, other))
    return Compared(name, _outcome(found), tuple(found))


def _outcome(differences: list[Difference]) -> str:
    if not differences:
        return EQUAL
    pairs = [(_number(one.old), _number(one.new)) for one in differences]
    if all(BOUNDS & set(one.path.split(".")) for one in differences):
        if all(old is not None and new is not None and new < old for old, new in pairs):
            return SMALLER
        if all(old is not None and new is not None and new > old for old, new in pairs):
            return LARGER
    return DIFFERENT


def _field(path: str) -> str:
    """The name of the field that a path ends in, without places in lists."""
    return next((part for part in reversed(path.split(".")) if not part.isdecimal()), "")


def _largest(values: dict[str, Any]) -> dict[str, float]:
    """The largest finite absolute value of each field."""
    largest: dict[str, float] = {}
    for path, value in values.items():
        if type(value) in (int, float) and math.isfinite(value):
            name = _field(path)
            largest[name] = max(largest.get(name, 0.0), abs(value))
    return largest


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        return NOT_FINITE.get(value)
    return None if value is None or isinstance(value, bool | dict | list) else float(value)


def _same(old: Any, new: Any, relative: float, floor: float) -> bool:
    if type(old) in (int, float) and type(new) in (int, float):
        return math.isclose(old, new, rel_tol=relative, abs_tol=floor)
    return type(old) is type(new) and bool(old == new)


def read_changes(path: Path = CHANGES) -> list[Change]:
    """The intended changes; each must say why."""
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("change", [])
    changes = [Change(**entry) for entry in entries]
    for change in changes:
        if not change.reason.strip():
            raise ValueError(f"{path.name}: the entry with {change} must give a reason.")
    return changes


def not_allowed(kind: str, found: Compared, changes: list[Change]) -> tuple[Difference, ...]:
    """The differences of a case that no entry names; the entries that name one are marked as used."""
    left = []
    for one in found.differences:
        allowing = [change for change in changes if change.allows(kind, found.name, one.path)]
        for change in allowing:
            change.used = True
        if not allowing:
            left.append(one)
    return tuple(left)
