"""A table that is understood: one reading, or the question that has to be answered first."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from noisewise.study.tables.columns import CELL, HEADER, Column, Layout, word_list, words_of
from noisewise.study.tables.grid import Grid, read_grids
from noisewise.study.tables.layout import layout_of
from noisewise.study.tables.readings import Candidate, candidates, distinct, scale_of, versus
from noisewise.study.telling.error_bars import power_of_sizes

#: Points by which the best reading must be ahead of all others to be taken without a question.
MARGIN = 1.0
MOST_CHOICES = 3
_ERROR_BARS = ("se", "sd", "var", "lo", "hi")
_NAMES = ("option", "item", "block", "plus", "minus")


class UndecidedError(ValueError):
    """A table that can be read in more than one way: the question, with the flags for each answer."""

    exit_code = 4

    def __init__(self, table: "Table", flags: bool = False) -> None:
        lines = [
            f"  {k}. {one}\n     {one.flags if flags else one.said}"
            for k, one in enumerate(table.readings, 1)
        ]
        super().__init__("\n".join([f"{table.question} Say one of these:", *lines]))
        self.table = table


_QUESTIONS = {
    "metric": "Which of these results counts?",
    "error": "Is the error a standard error, or the standard deviation of single readings?",
    "n": "How many readings is each value the mean of? The table has their standard deviation only.",
    "columns": "Are the columns conditions that all options share, or results of which one counts?",
    "factors": "Are the options the combinations of two columns, or the levels of one of them?",
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

    @property
    def columns(self) -> dict[str, list[Any]]:
        """The cells by role, for every row of the table; None where there is nothing."""
        return {role: cells.to_list() for role, cells in _columns_of(self._candidate, self._n).items()}

    @property
    def layout(self) -> Layout:
        """The columns of the table, for what lies beside the measurements."""
        return self._candidate.table

    @property
    def parts(self) -> Mapping[str, list[Column]]:
        """The columns of each role as they were read."""
        return self._candidate.roles

    @property
    def used(self) -> set[str]:
        """The columns of the file that have a role."""
        return {name for names in self.roles.values() for name in names} | {*self._candidate.table.melted}

    @cached_property
    def whole(self) -> pl.DataFrame:
        """All rows, with a column for each role in the words of `tell`."""
        return pl.DataFrame(_columns_of(self._candidate, self._n))

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The rows that have a result, with a column for each role in the words of `tell`."""
        frame = self.whole
        named = [pl.col(role).is_not_null() for role in ("option", "plus", "minus") if role in frame.columns]
        result = next(role for role in ("value", "successes") if role in frame.columns)
        return frame.filter(*named, pl.col(result).is_not_null())

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows in the words of `tell`."""
        return list(self.iter_rows())

    def iter_rows(self) -> Iterator[dict[str, Any]]:
        """The rows in the words of `tell`, one after the other."""
        for row in self.frame.iter_rows(named=True):
            yield {role: cell for role, cell in row.items() if cell is not None}

    @cached_property
    def options(self) -> list[str]:
        """The names of the options."""
        roles = [role for role in ("option", "plus", "minus") if role in self.frame.columns]
        names = [self.frame[role].unique(maintain_order=True).to_list() for role in roles]
        return list(dict.fromkeys(name for ones in names for name in ones))

    @property
    def stated(self) -> dict[str, list[str]]:
        """The roles that make this reading, as people would state them."""
        melted = self._candidate.table.melted
        return {
            role: [name or "#1" for name in names]
            for role, names in self.roles.items()
            if role not in ("where", "features", "n") and not (role == "value" and names == melted)
        }

    @property
    def said(self) -> str:
        """The arguments that give exactly this reading."""
        roles = {role: names[0] if len(names) == 1 else names for role, names in self.stated.items()}
        where = [f"where={name!r}" for name in self.roles.get("where", ())]
        n = [f"`n={self._n or 'HOW_MANY'}`"] if self.needs_n else []
        return ", ".join([f"roles={roles!r}", *where, *n])

    @property
    def needs_n(self) -> bool:
        """Whether people have to say how many readings each value is the mean of."""
        return "sd" in self.roles and "n" not in self.roles

    @property
    def flags(self) -> str:
        """What to type to get exactly this reading."""
        said = [
            f"--map {shlex.quote(f'{role}={name}')}" for role, names in self.stated.items() for name in names
        ]
        said += [f"--where {shlex.quote(name)}" for name in self.roles.get("where", ())]
        if self.needs_n:
            said.append(f"--n {self._n or 'HOW_MANY'}")
        return " ".join(said)

    def __str__(self) -> str:
        used = [f"{role} = {_listed(names)}" for role, names in self.roles.items()]
        size = f"{len(self.options):,} options"
        per = next((role for role in ("item", "block") if role in self.roles), None)
        many = self.frame[per].n_unique() if per else 0
        size += f" x {many:,} {per}s" if many > 1 else f", {self.frame.height:,} rows"
        return f"{', '.join(used)}; {size}{', paired' if 'item' in self.roles else ''}"

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
        columns: The columns of the table before any were put below each other.
    """

    kind: str
    readings: tuple[Reading, ...]
    question: str = ""
    notes: tuple[str, ...] = ()
    source: Any = None
    flags: str = ""
    columns: tuple[Column, ...] = ()

    @property
    def reading(self) -> str:
        """The reading in one sentence, or the question with its answers."""
        return str(self)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows in the words of `tell`."""
        return self.only.rows

    @property
    def options(self) -> list[str]:
        """The names of the options."""
        return self.only.options

    @property
    def only(self) -> Reading:
        """The reading; `UndecidedError` if there are several."""
        if self.kind != "read":
            raise UndecidedError(self)
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

    def to_dict(self, rows: bool = True) -> dict[str, Any]:
        """Return the kind and the readings for programs."""
        readings = [one.to_dict(rows) for one in self.readings]
        return {"kind": self.kind, "question": self.question, "notes": list(self.notes), "readings": readings}


def read_table(
    source: Any,
    *,
    roles: Mapping[str, str | Iterable[str]] | None = None,
    where: str | None = None,
    n: int | None = None,
    decimal: str | None = None,
    ignore: Iterable[str] = (),
) -> Table:
    """Understand a table of measurements as a whole.

    Args:
        source: A file, a data frame, a mapping such as {option: readings}, or a list of records.
        roles: Columns for some roles, such as {"option": "alloy"}; "header" is the names of the columns.
        where: A column and one of its values, such as "metric=acc": only these rows are read.
        n: The number of readings behind each value, if the table does not say.
        decimal: The decimal sign, "." or ",", if the cells leave it open.
        ignore: Columns that are left out.
    """
    given = {role: [one] if isinstance(one, str) else list(one) for role, one in (roles or {}).items()}
    layout, gone = best_layout(source, decimal), {*ignore}
    base = layout.base or layout
    kept = [c for c in layout.columns if not {c.name, *c.sources} & gone]
    found = _read(replace(layout, columns=kept), given, where, n)
    said = (given or where is not None or n is not None) and found.kind == "read"
    flags = found.readings[0].flags if said else ""
    return replace(found, source=source, flags=flags, columns=tuple(base.columns))


def _read(table: Layout, given: dict[str, list[str]], where: str | None, n: int | None) -> Table:
    """Read a table, or some of its rows."""
    if where is not None:
        return _asked(_rows_where(table, where), given, n, where)
    named = {name for names in given.values() for name in names}
    for c in table.columns:
        several = c.kind == "name" and 1 < c.n_levels < 0.6 * table.height
        if not c.says("which") or not several or c.name in named:
            continue
        found = []  # metrics below each other
        for where in (f"{c.name}={level}" for level in c.levels[:MOST_CHOICES]):
            try:
                found.append(_asked(_rows_where(table, where), given, n, where).readings[0])
            except ValueError:
                continue
        if found:
            return Table("asks", tuple(found), _QUESTIONS["metric"], tuple(table.notes))
    return _asked(table, given, n)


def best_layout(source: Any, decimal: str | None = None, least: int = 2) -> Layout:
    """The columns of the table with the most numbers: of a workbook all sheets are looked at."""
    tables, problem = [], ""
    of_grids = isinstance(source, list | tuple) and bool(source) and isinstance(source[0], Grid)
    for grid in (grids := source if of_grids else read_grids(source)):
        try:
            table = layout_of(grid, decimal, least)
        except ValueError as reason:
            problem = str(reason)
            continue
        alike = [one for one in grids if one is not grid and one.rows.head(1).equals(grid.rows.head(1))]
        if alike and grid.name:
            listed = ", ".join(repr(one.name) for one in alike)
            table.notes.append(f"other sheets hold such a table as well: {listed}")
        table.notes += [f"sheet {grid.name!r}"] if grid.name else []
        tables.append(table)
    if not tables:
        raise ValueError(f"No table was found: {problem}")
    return max(tables, key=lambda one: sum(c.there.size for c in one.columns))


def _rows_where(table: Layout, where: str) -> Layout:
    name, _, level = where.partition("=")
    column = next((c for c in table.columns if c.name == name), None)
    if column is None or level not in column.levels:
        raise ValueError(
            f"`where` must be a column and one of its values, such as `metric=acc`; got {where!r}."
        )
    table = replace(table, columns=[c for c in table.columns if c is not column])
    return table.at(np.flatnonzero((column.cells == level).fill_null(False).to_numpy()))


def _asked(table: Layout, given: dict[str, list[str]], n: int | None, where: str | None = None) -> Table:
    """The reading of a table, or the question that it leaves open."""
    known = {name for c in table.columns for name in (c.name, *c.sources)} | {"header", "#1"}
    for odd in sorted({name for names in given.values() for name in names} - known):
        listed = ", ".join(sorted(known - {HEADER, CELL, "", "#1"})[:12])
        raise ValueError(f"The table has no column {odd!r}; it has {listed}.")
    found = [one for one in (_stated(one, given) for one in candidates(table)) if _fits(one, given)]
    if not found:
        raise ValueError(
            "No reading fits the cells: say which column is the option and which one the result, "
            "as in --map option=NAME --map value=NAME."
        )
    about, choices = _choose(found, table, given.keys())
    if about == "n" and n is not None and len(choices) == 1:
        about = ""
    notes = (*table.notes, *_odd_cells(choices[0]), *_error_bars_beside_sizes(choices[0]))
    question, more = _QUESTIONS.get(about, ""), [_plain(one) for one in choices[MOST_CHOICES:]]
    if about == "metric" and more:
        names = [name for one in more for name in one.get("value", one.get("successes", []))]
        question += f" (Others: {', '.join(dict.fromkeys(names))}.)"
    readings = tuple(_reading(one, n, where) for one in choices[:MOST_CHOICES])
    return Table("asks" if about else "read", readings, question, notes)


def _odd_cells(one: Candidate) -> list[str]:
    """What is said of texts among the numbers of a result, whose rows are left out."""
    odd = one.result.cells.is_not_null().to_numpy() & np.isnan(one.result.values)
    if one.result.kind != "number" or not odd.any():
        return []
    listed = ", ".join(
        repr(cell[:20]) for cell in one.result.cells.filter(pl.Series(odd)).unique().sort()[:3]
    )
    return [f"{int(odd.sum())} rows without a number in {one.result.sources[0]!r} ({listed}) left out"]


def _error_bars_beside_sizes(one: Candidate) -> list[str]:
    """Whether error bars fall with the number of readings as something else than standard errors does."""
    sizes = [c for c in one.table.columns if c.said.keys() & {"n", "size"} and c.numbers is not None]
    bar = one.roles.get("se", [None])[0]
    if bar is None or bar.numbers is None or len(sizes) != 1 or sizes[0].numbers is None:
        return []
    meant = power_of_sizes(bar.numbers, sizes[0].numbers)
    if meant is None:
        return []
    what, role, why = meant
    return [f"{bar.name!r} looks like {what}: {why}. If so, say --map {role}={shlex.quote(bar.name)}"]


def _stated(one: Candidate, given: Mapping[str, list[str]]) -> Candidate:
    """The candidate with the error bars, numbers, items and blocks that people state."""
    mine, names = _plain(one), {name: c for c in one.table.columns for name in (*c.sources, c.name)}
    said = {
        role: [names[name] for name in columns if name in names]
        for role, columns in given.items()
        if role in (*_ERROR_BARS, "n", "item", "block") and mine.get(role) != columns
    }
    if {*given} & {*_ERROR_BARS} and one.ask == "error":
        one = replace(one, ask="n" if "sd" in one.roles and "n" not in one.roles else "")
    if not said or any(c.numbers is None for r, cs in said.items() for c in cs if r not in ("item", "block")):
        return one
    gone = {*_ERROR_BARS} if {*said} & {*_ERROR_BARS} else set()
    gone |= {"item", "block"} if {*said} & {"item", "block"} else set()
    roles = {role: columns for role, columns in one.roles.items() if role not in gone} | said
    if "sd" not in roles:
        roles.pop("n", None)
    ask = one.ask if one.ask not in ("error", "n") else ""
    return replace(one, roles=roles, ask="n" if "sd" in roles and "n" not in roles else ask)


def _fits(one: Candidate, given: Mapping[str, Iterable[str]]) -> bool:
    """Whether the given roles have the given columns."""
    mine = _plain(one)
    settled: dict[str, set[str]] = (
        {"value": set()} if tuple(mine.get("value", ())) == one.table.melted else {}
    )
    wanted = {role: {"" if name == "#1" else name for name in names} for role, names in given.items()}
    return all(names in (set(mine.get(role, ())), settled.get(role)) for role, names in wanted.items())


def _choose(found: list[Candidate], table: Layout, given: Iterable[str]) -> tuple[str, list[Candidate]]:
    """What to ask, if anything, and the readings to choose from."""
    best = found[0]
    same = [one for one in found if not one.table.melted and one.meaning("option") == best.meaning("option")]
    rivals = _rivals(best, same)
    settled = {"option", "value"} <= set(given)
    choices = distinct(
        one for one in found
        # One column as the result may be meant, where columns hold the same kind of number.
        if (one.score > best.score - MARGIN or one in rivals or (best.ask == "columns" and one in same))
        and not (settled and one.result is not best.result)
    )  # fmt: skip
    results = {one.meaning("value", "successes") for one in choices}
    options = {one.meaning("option", "plus", "pair") for one in choices if one.ask != "factors"}
    about = "reading" if len(choices) > 1 else ""
    if len(results) > 1 and len(options) <= 1 and best.ask != "columns":
        about = "metric"
        order = {name: at for at, name in enumerate(name for c in table.columns for name in c.sources)}
        per = {one.meaning("value", "successes"): one for one in reversed(choices)}  # the best for each
        choices = sorted(per.values(), key=lambda one: order.get(one.result.sources[0], 0))
        if len(choices) > MOST_CHOICES:
            choices = [best, *sorted((one for one in choices if one is not best), key=lambda one: -one.score)]
    elif best.ask and (len(choices) > 1 or best.ask in ("error", "n")):
        about = best.ask
        if about == "columns":  # both answers are among the first
            alone = [one for one in choices if not one.table.melted][:1]
            choices = [best, *alone, *(one for one in choices if one is not best and one not in alone)]
    return about, choices


def _rivals(best: Candidate, same: list[Candidate]) -> list[Candidate]:
    """Other results of which people may think, where the best one is only one metric of several."""
    mine, found = best.measure, []
    for one in same if mine is not None and not best.table.melted else []:
        other = one.measure
        if mine is None or other is None or other.value is mine.value:
            continue
        shares = [{c for role in ("item", "block") for c in x.roles.get(role, ())} for x in (one, best)]
        if shares[0] != shares[1]:
            continue
        value = other.value
        if mine.is_bare:
            words = ("quantile", "metric", "value", "rate")
            close = other.score > mine.score - 2.0 and not value.was_set
            scale = scale_of(value)  # ratings of several attributes
            close = close or (scale is not None and scale == scale_of(mine.value) and not value.said)
            both = value.says(*words) and mine.value.says(*words)
            alone = mine.is_general and not value.says("value") and not mine.value.stem
            counted = "successes" in other.roles and not mine.is_general
            rival = (close or both or counted) and not alone
        elif "successes" in mine.roles:
            hits = other.roles.get("successes", [value])[0]
            rival = "successes" in other.roles and (other.score > mine.score - 1.0 or hits.says("successes"))
            rival = rival and hits is not mine.roles["successes"][0]
            rival = rival or (mine.counts_failures and value.says("metric", "quantile", "value"))
        else:
            alike = other.roles.keys() == mine.roles.keys() or mine.value.says("quantile")
            rival = alike and not other.is_bare and value.stem != mine.value.stem and other.ask != "error"
            percent = "%" in value.name or not {"pct", "percent"}.isdisjoint(words_of(value.name))
            bars = [c for role in ("se", "sd") for c in mine.roles.get(role, ())]
            belongs = any(c.stem & mine.value.stem for c in bars)  # to this metric, and to no other
            another = belongs and not value.said and not value.whole and not value.was_set
            named = value.says("metric", "rate", "successes") and not value.says("size")
            own = value.stem <= mine.value.stem or (other.score < 1.5 and not (percent or another))
            named = named or percent or another
            rival = rival or (not mine.is_general and named and not own)
        found += [one] if rival else []
    return found


def _plain(one: Candidate) -> dict[str, list[str]]:
    """Roles with the columns of the file."""
    roles = {role: list(dict.fromkeys(n for c in cs for n in c.sources)) for role, cs in one.roles.items()}
    if "lo" in roles and roles["lo"] == roles["hi"]:  # both ends in one cell
        roles["ci"] = roles.pop("lo")
        roles.pop("hi")
    return {role: ["header" if name == HEADER else name for name in names] for role, names in roles.items()}


def _reading(one: Candidate, n: int | None, where: str | None) -> Reading:
    roles = {role: tuple(names) for role, names in _plain(one).items()}
    if where is not None:
        roles["where"] = (where,)
    used = {name for names in roles.values() for name in names} | {HEADER, *one.table.melted}
    left = dict.fromkeys(c.name for c in one.table.columns if not set(c.sources) & used)
    n = n if "sd" in roles and "n" not in roles else None
    return Reading(one.name, roles, tuple(dict.fromkeys(one.because)), tuple(left), one, n)


def _listed(names: tuple[str, ...]) -> str:
    shown = [name or "the first column" for name in names]
    return " and ".join(shown) if len(shown) < 4 else f"{shown[0]}, {shown[1]}, ... {shown[-1]}"


def _columns_of(one: Candidate, n: int | None) -> dict[str, pl.Series]:
    """The cells of each role, for every row of the table."""
    columns: dict[str, pl.Series] = {}
    for role, parts in one.roles.items():
        if role == "pair":
            both = versus(parts[0].cells.to_list())
            for at, side in enumerate(("plus", "minus")):
                columns[side] = pl.Series([pair and pair[at] for pair in both], dtype=pl.String)
        elif role == "winner":
            columns["value"] = _winners(parts[0], columns, one)
        elif role in _NAMES:
            columns[role] = pl.select(pl.concat_str([c.cells for c in parts], separator=" ")).to_series()
        elif role != "features" and parts[0].numbers is not None:
            columns[role] = pl.Series(parts[0].numbers).fill_nan(None)
    level = level_said([c.name for role in ("lo", "hi") for c in one.roles.get(role, ())])
    more = {"level": level, "n": n}
    height = one.table.height
    return columns | {
        role: pl.Series([x]).new_from_index(0, height) for role, x in more.items() if x is not None
    }


_END = (
    r"(?:ci|ki|conf\w*|int\w*|limit|bound|lo|low|lower|hi|high|upper|lwr|upr|lcl|ucl|lcb|ucb|ll|ul|lb|ub|"
    r"quantile|percentile)"
)
_PER_CENT = r"(\d{1,2}(?:[.,]\d+)?)"
#: How names of columns say the level of an interval, or the quantile that an end is.
_LEVELS = (
    re.compile(rf"{_PER_CENT} ?%[\W_]*{_END}(?![a-z])"),
    re.compile(rf"(?<![a-z]){_END}[\W_]*{_PER_CENT} ?%"),
    re.compile(rf"^{_PER_CENT} ?%$|\({_PER_CENT} ?%\)"),
    re.compile(r"(?<![a-z])(?:ci|ll|ul|[lu]|conf_(?:low|high))_?(68|80|90|95|99)(?!\d)"),
    re.compile(r"(?<!\d)(68|80|90|95|99)_?ci(?![a-z])"),
    re.compile(r"(?<![a-z])q_?(?:0?\.)?(\d{2,3})(?!\d)"),
)


def level_said(names: Sequence[str]) -> float | None:
    """Return the level of an interval that the names of its ends, or of both, say; None if they do not."""
    found = []
    for name in names:
        text = name.casefold() if len(name) <= 100 else ""
        said = next((one[one.lastindex or 1] for level in _LEVELS if (one := level.search(text))), None)
        if said is not None:
            quantile = len(said) > 2 and said.isdigit()  # q025
            found.append(float(said.replace(",", ".")) / (10.0 if quantile else 1.0))
    if len(found) > 1 and found[0] < 50.0 < found[-1]:  # the quantiles themselves
        return round(found[-1] - found[0], 6) / 100.0
    return found[0] / 100.0 if found and found[0] >= 50.0 and found[0] == found[-1] else None


def _winners(winner: Column, columns: Mapping[str, pl.Series], one: Candidate) -> pl.Series:
    """1 where the first of two options won, -1 where the second did, 0 for a tie."""
    if winner.numbers is not None:
        values = {*winner.there.tolist()}
        coded = winner.said and values <= {0.0, 0.5, 1.0, 2.0}
        scale = {1.0: 1.0, 0.0: -1.0, 2.0: -1.0, 0.5: 0.0} if coded or values == {0.0, 0.5, 1.0} else {}
        return pl.Series(winner.numbers).fill_nan(None).replace(scale)
    cells, word = winner.cells, winner.cells.str.to_lowercase().str.replace_all(" ", "_")
    points = pl.when(cells == columns["plus"]).then(1.0).when(cells == columns["minus"]).then(-1.0)
    at_home = bool((word == "h").any())  # a is away, not the first of a and b
    for side, role, sign in (("first", "plus", 1.0), ("second", "minus", -1.0)):
        words = {*word_list(side), one.roles[role][0].name.casefold().replace(" ", "_")}
        words ^= {"a"} if at_home else set()
        points = points.when(word.is_in(words)).then(sign)
    return pl.select(points.when(cells.is_not_null()).then(0.0)).to_series()
