"""A table that is understood: one reading, or the question that has to be answered first."""

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from noisewise.study.tables.columns import CELL, HEADER, Column, Layout, taken
from noisewise.study.tables.grid import read_grids
from noisewise.study.tables.layout import layout_of
from noisewise.study.tables.readings import _FIRST, _SECOND, VERSUS, Candidate, candidates, distinct, scale_of

#: Points by which the best reading must be ahead of all others to be taken without a question.
MARGIN = 1.0
MOST_CHOICES = 3
_NAMES = ("option", "item", "block", "plus", "minus", "instrument")
_QUESTIONS = {
    "metric": "Which of these results counts?",
    "error": "Is the error a standard error, or the standard deviation of single readings?",
    "n": "How many readings is each value the mean of? The table has their standard deviation only.",
    "columns": "Are the columns conditions that all options share, or results of which one counts?",
    "reading": "The table can be read in more than one way. Which one is it?",
}


@dataclass(frozen=True, eq=False)
class Reading:
    """One way to read a table.

    Attributes:
        kind: What the rows are, such as "paired items" or "counts in blocks".
        roles: The columns of each role; "header" stands for the names of the columns.
        because: What in the table speaks for it.
        not_used: Columns that are left out.
    """

    kind: str
    roles: Mapping[str, tuple[str, ...]]
    because: tuple[str, ...]
    not_used: tuple[str, ...]
    _candidate: Candidate
    _n: int | None = None

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The rows in the words of `tell`."""
        return _rows_of(self._candidate, self._n)

    @cached_property
    def options(self) -> list[str]:
        """The names of the options."""
        parts, result = self._candidate.roles.get("option", []), _result(self._candidate)
        if len(parts) == 1 and result.numbers is not None:
            names = parts[0].cells.filter(pl.Series(~np.isnan(result.numbers)))
            return list(names.drop_nulls().unique(maintain_order=True))
        found = _columns_of(self._candidate)
        told = [k for k, x in enumerate(found.get("value", found.get("successes", []))) if x is not None]
        named = [found[role] for role in ("option", "plus", "minus") if role in found]
        return list(dict.fromkeys(str(cells[k]) for k in told for cells in named if cells[k] is not None))

    @cached_property
    def _size(self) -> tuple[int, int]:
        """The numbers of rows and of different items or blocks."""
        roles, result = self._candidate.roles, _result(self._candidate)
        parts = roles.get("item", roles.get("block", []))
        if len(parts) < 2 and result.numbers is not None:
            return int(result.there.size), parts[0].n_levels if parts else 0
        found = _columns_of(self._candidate)
        results = found.get("value", found.get("successes", []))
        shared = found.get("item", found.get("block", []))
        return sum(x is not None for x in results), len(set(shared))

    @property
    def flags(self) -> str:
        """What to type to get exactly this reading."""
        pairs = [
            f"{role}={name or '#1'}"
            for role, names in self.roles.items()
            if role not in ("where", "features", "n")
            for name in _brief(role, names, self._candidate)
        ]
        said = [f"--map {shlex.quote(pair)}" for pair in pairs]
        said += [f"--where {shlex.quote(name)}" for name in self.roles.get("where", ())]
        if "sd" in self.roles and "n" not in self.roles and self._n is None:
            said.append("--n HOW_MANY")
        elif self._n is not None:
            said.append(f"--n {self._n}")
        return " ".join(said)

    def __str__(self) -> str:
        used = [f"{role} = {_listed(names)}" for role, names in self.roles.items()]
        paired = ", paired" if "item" in self.roles else ""
        per = next((role for role in ("item", "block") if role in self.roles), None)
        size = f"{len(self.options):,} options"
        n_rows, n_shared = self._size
        size += f" x {n_shared:,} {per}s" if n_shared > 1 else f", {n_rows:,} rows"
        return f"{', '.join(used)}; {size}{paired}"

    def to_dict(self, rows: bool = True) -> dict[str, Any]:
        """Return the reading for programs."""
        found: dict[str, Any] = {"kind": self.kind, "reading": str(self), "flags": self.flags}
        found |= {"roles": {role: list(names) for role, names in self.roles.items()}, "options": self.options}
        found |= {"because": list(self.because), "not_used": list(self.not_used)}
        return found | ({"rows": self.rows} if rows else {})


@dataclass(frozen=True, eq=False)
class Table:
    """A table of measurements and how it is read.

    Attributes:
        kind: "read" if one reading is clearly the best; "asks" if people have to choose.
        readings: The reading, or the two or three to choose from.
        question: What to ask; empty if the table was read.
        notes: What was left out or assumed.
        source: What was read.
        flags: How people said that it is read; empty if it was found out.
    """

    kind: str
    readings: tuple[Reading, ...]
    question: str = ""
    notes: tuple[str, ...] = ()
    source: Any = None
    flags: str = ""

    @property
    def reading(self) -> str:
        """The reading in one sentence, or the question with its answers."""
        return str(self)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows in the words of `tell`."""
        return self._only.rows

    @property
    def options(self) -> list[str]:
        """The names of the options."""
        return self._only.options

    @property
    def _only(self) -> Reading:
        if self.kind != "read":
            raise ValueError(f"The table needs an answer first. {self}")
        return self.readings[0]

    def __str__(self) -> str:
        if self.kind == "read":
            one = self.readings[0]
            left = f" Not used: {', '.join(one.not_used)}." if one.not_used else ""
            notes = f" ({'; '.join(self.notes)}.)" if self.notes else ""
            return f"{one}.{left}{notes}"
        lines = [f"  {k}. {one}\n     {one.flags}" for k, one in enumerate(self.readings, 1)]
        return "\n".join([self.question, *lines])

    def answer(self, **question: Any) -> Any:
        """Answer the question which option is best, with the bounds of one look; nothing is kept.

        Args:
            question: ``goal=``, ``eps=``, ``confidence=``, ``against=``, ``extra_scatter=``, ``scatter=`` and
                ``noise_floor=``; see `noisewise.study.answer.answer`.
        """
        from noisewise.study.answer import answer

        return answer(self, **question)

    def to_dict(self) -> dict[str, Any]:
        """Return the kind and the readings for programs."""
        readings = [one.to_dict() for one in self.readings]
        return {"kind": self.kind, "question": self.question, "notes": list(self.notes), "readings": readings}


def read_table(
    source: Any,
    *,
    roles: Mapping[str, str | Iterable[str]] | None = None,
    where: str | None = None,
    n: int | None = None,
) -> Table:
    """Understand a table of measurements as a whole.

    Args:
        source: A file, a data frame, a mapping such as {option: readings}, or a list of records.
        roles: Columns for some roles, such as {"option": "alloy"}; "header" is the names of the columns.
        where: A column and one of its values, such as "metric=acc": only these rows are read.
        n: The number of readings behind each value, if the table does not say.
    """
    found = _read(_best_layout(source), roles, where, n)
    said = (roles or where is not None or n is not None) and found.kind == "read"
    return replace(found, source=source, flags=found.readings[0].flags if said else "")


def _read(table: Layout, roles: Any, where: str | None, n: int | None) -> Table:
    """Read a laid out table, or some of its rows."""
    if where is not None:
        return _asked(_rows_where(table, where), roles, n, where)
    given = {
        name for names in (roles or {}).values() for name in ([names] if isinstance(names, str) else names)
    }
    for c in table.columns:
        several = c.kind == "name" and 1 < c.n_levels < 0.6 * table.height
        if c.says("which") and several and c.name not in given:  # metrics below each other
            return _which(table, c, roles, n)
    return _asked(table, roles, n)


def _best_layout(source: Any) -> Layout:
    tables, problem = [], ""
    for grid in read_grids(source):
        try:
            table = layout_of(grid)
        except ValueError as reason:
            problem = str(reason)
            continue
        table.notes += [f"sheet {grid.name!r}"] if grid.name else []
        tables.append(table)
    if not tables:
        raise ValueError(f"No table was found: {problem}")
    return max(tables, key=lambda one: sum(c.n_filled for c in one.columns if c.kind == "number"))


def _rows_where(table: Layout, where: str) -> Layout:
    name, _, level = where.partition("=")
    column = next((c for c in table.columns if c.name == name), None)
    if column is None or level not in column.levels:
        raise ValueError(
            f"`where` must be a column and one of its values, such as metric=acc; got {where!r}."
        )
    rows = np.flatnonzero((column.cells == level).fill_null(False).to_numpy())
    return replace(table, columns=taken([c for c in table.columns if c is not column], rows))


def _which(table: Layout, column: Column, roles: Any, n: int | None) -> Table:
    """One reading for each of several metrics that are below each other."""
    found: list[Reading] = []
    for level in column.levels[:MOST_CHOICES]:
        where = f"{column.name}={level}"
        try:
            found.append(_asked(_rows_where(table, where), roles, n, where).readings[0])
        except ValueError:
            continue
    if not found:
        return _asked(table, roles, n)
    return Table("asks", tuple(found), _QUESTIONS["metric"], tuple(table.notes))


def _asked(table: Layout, roles: Any, n: int | None, where: str | None = None) -> Table:
    found = candidates(table)
    if roles:
        found = _fitting(found, table, roles)
    if not found:
        raise ValueError(
            "No reading fits the cells: say which column is the option and which one the result, "
            "as in --map option=NAME --map value=NAME."
        )
    about, choices = _choose(found, table, set(roles or ()))
    if about == "n" and n is not None and len(choices) == 1:
        about = ""
    kind = "asks" if about else "read"
    return Table(
        kind, tuple(_reading(one, n, where) for one in choices), _QUESTIONS.get(about, ""), tuple(table.notes)
    )


def _fitting(
    found: list[Candidate], table: Layout, roles: Mapping[str, str | Iterable[str]]
) -> list[Candidate]:
    """The readings in which the given roles have the given columns."""
    wanted = {role: {names} if isinstance(names, str) else set(names) for role, names in roles.items()}
    known = {name for c in table.columns for name in (c.name, *c.sources)} | {"header", "#1"}
    for names in wanted.values():
        if odd := sorted(names - known):
            listed = ", ".join(sorted(known - {HEADER, CELL, "", "#1"})[:12])
            raise ValueError(f"The table has no column {odd[0]!r}; it has {listed}.")

    def fits(one: Candidate) -> bool:
        mine = {role: set(names) for role, names in _plain(one).items()}
        brief = {role: set(_brief(role, tuple(names), one)) for role, names in mine.items()}
        return all(
            {"" if w == "#1" else w for w in names} in (mine.get(role), brief.get(role))
            for role, names in wanted.items()
        )

    return [one for one in found if fits(one)]


def _choose(found: list[Candidate], table: Layout, given: set[str]) -> tuple[str, list[Candidate]]:
    """What to ask, if anything, and the readings to choose from."""
    best = found[0]
    same = [one for one in found if not one.table.melted and one.meaning("option") == best.meaning("option")]
    rivals = _rivals(best, same)
    choices = []
    for one in found:
        alone = best.ask == "columns" and one in same  # one column as the result
        close = one.score > best.score - MARGIN
        if (alone or close or one in rivals) and not (
            given >= {"option", "value"} and one.roles["value"] != best.roles["value"]
        ):
            choices.append(one)
    choices = distinct(choices)
    results = {one.meaning("value", "successes") for one in choices}
    options = {one.meaning("option", "plus", "pair") for one in choices}
    about = "reading" if len(choices) > 1 else ""
    if len(results) > 1 and len(options) == 1 and best.ask != "columns":
        about = "metric"
        order = {name: at for at, name in enumerate(name for c in table.columns for name in c.sources)}
        per = {
            one.meaning("value", "successes"): one for one in reversed(choices)
        }  # the best for each metric
        choices = sorted(per.values(), key=lambda one: order.get(_result(one).sources[0], 0))
        choices = (
            [best, *(one for one in choices if one is not best)] if len(choices) > MOST_CHOICES else choices
        )
    elif best.ask:
        about = best.ask
    return about, choices[:MOST_CHOICES]


def _result(one: Candidate) -> Column:
    return one.roles.get("value", one.roles.get("successes", one.roles.get("winner", [None])))[0]  # type: ignore[return-value]


def _rivals(best: Candidate, same: list[Candidate]) -> list[Candidate]:
    """Other results of which people may think, where the best one is only one metric of several."""
    mine = best.measure
    if mine is None or best.table.melted:
        return []
    found = []
    for one in same:
        other = one.measure
        if (
            other is None
            or one is best
            or other.value is mine.value
            or one.meaning("item", "block") != best.meaning("item", "block")
        ):
            continue
        value = other.value
        if mine.is_bare:
            close = other.score > mine.score - 2.0 and not value.was_set
            both = value.says("quantile", "metric", "value") and mine.value.says(
                "quantile", "metric", "value"
            )
            if (close or both) and not (mine.is_general and not value.says("value") and not mine.value.stem):
                found.append(one)
        elif "successes" in mine.roles:
            if "successes" in other.roles and other.score > mine.score - 1.0:
                found.append(one)
        elif (
            not other.is_bare
            and value.stem != mine.value.stem
            and other.ask != "error"
            and (other.roles.keys() == mine.roles.keys() or mine.value.says("quantile"))
        ) or (
            not mine.is_general
            and value.says("metric")
            and not (value.stem <= mine.value.stem or other.score < 1.5)
        ):
            found.append(one)
    return found


def _plain(one: Candidate) -> dict[str, list[str]]:
    """Roles with the columns of the file."""
    roles = {
        role: list(dict.fromkeys(n for c in columns for n in c.sources))
        for role, columns in one.roles.items()
    }
    if "lo" in roles and roles["lo"] == roles["hi"]:  # both ends in one cell
        roles["ci"] = roles.pop("lo")
        roles.pop("hi")
    return {role: ["header" if name == HEADER else name for name in names] for role, names in roles.items()}


def _brief(role: str, names: tuple[str, ...], one: Candidate) -> tuple[str, ...]:
    """Columns as flags name them: those side by side are settled by the other roles."""
    if role == "value" and names == one.table.melted:
        return ()
    return names


def _reading(one: Candidate, n: int | None, where: str | None) -> Reading:
    roles = {role: tuple(names) for role, names in _plain(one).items()}
    if where is not None:
        roles["where"] = (where,)
    used = {name for names in roles.values() for name in names} | {HEADER, *one.table.melted}
    left = [c.name for c in one.table.columns if not set(c.sources) & used]
    n = n if "sd" in roles and "n" not in roles else None
    return Reading(one.name, roles, tuple(dict.fromkeys(one.because)), tuple(dict.fromkeys(left)), one, n)


def _listed(names: tuple[str, ...]) -> str:
    shown = [name or "the first column" for name in names]
    return " and ".join(shown) if len(shown) < 4 else f"{shown[0]}, {shown[1]}, ... {shown[-1]}"


def _columns_of(one: Candidate) -> dict[str, list[Any]]:
    """The cells of each role."""
    columns: dict[str, list[Any]] = {}
    for role, parts in one.roles.items():
        texts = [c.cells.to_list() for c in parts]
        if role == "pair":
            cut = [VERSUS.split(cell, maxsplit=1) if cell else [None, None] for cell in texts[0]]
            split = [(a and a.strip(), b and b.strip()) for a, b in cut]
            columns["plus"], columns["minus"] = [a for a, _ in split], [b for _, b in split]
        elif role == "winner":
            columns["value"] = _winners(parts[0], columns, one)
        elif role in _NAMES:
            columns[role] = (
                texts[0]
                if len(texts) == 1
                else [None if None in row else " ".join(row) for row in zip(*texts, strict=True)]
            )
        elif role != "features" and parts[0].numbers is not None:
            columns[role] = [None if np.isnan(x) else x for x in parts[0].numbers.tolist()]
    return columns


def _rows_of(one: Candidate, n: int | None) -> list[dict[str, Any]]:
    """The rows in the words of `tell`."""
    columns = _columns_of(one)
    level = re.search(r"(\d+(?:[.,]\d+)?) ?%", one.roles["lo"][0].name) if "lo" in one.roles else None
    extra: dict[str, Any] = {"level": float(level[1].replace(",", ".")) / 100.0} if level else {}
    extra |= {"n": n} if n is not None else {}
    roles = list(columns)
    found = []
    for cells in zip(*columns.values(), strict=True):
        row = {role: cell for role, cell in zip(roles, cells, strict=True) if cell is not None}
        named = all(role in row for role in ("option", "plus", "minus") if role in columns)
        if named and ("value" in row or "successes" in row):
            found.append(row | extra)
    return found


def _winners(winner: Column, columns: dict[str, list[Any]], one: Candidate) -> list[Any]:
    """1 where the first of two options won, -1 where the second did, 0 for a tie."""
    if winner.numbers is not None:
        low = min(winner.there, default=0.0)
        coded = (
            winner.whole
            and low >= 0.0
            and winner.there.max() <= 2.0
            and winner.kind == "number"
            and winner.said
        )
        scale = (
            {1.0: 1.0, 0.0: -1.0, 2.0: -1.0, 0.5: 0.0}
            if coded or set(winner.there) == {0.0, 0.5, 1.0}
            else {}
        )
        return [None if np.isnan(x) else scale.get(x, x) for x in winner.numbers.tolist()]
    first, second = (
        _FIRST | {one.roles["plus"][0].name.casefold()},
        _SECOND | {one.roles["minus"][0].name.casefold()},
    )
    found: list[Any] = []
    for cell, plus, minus in zip(winner.cells.to_list(), columns["plus"], columns["minus"], strict=True):
        word = (cell or "").casefold()
        if cell is None:
            found.append(None)
        elif cell == plus or (word in first and cell != minus):
            found.append(1.0)
        else:
            found.append(-1.0 if cell == minus or word in second else 0.0)
    return found


def scale_needed(one: Reading) -> tuple[int, int] | None:
    """The bounds of scores of items, where these are not from 0 to 1."""
    columns = one._candidate.roles
    found = scale_of(columns["value"][0]) if "item" in columns else None
    return None if found == (0, 1) else found
