"""What a reader makes of a file: rows with the fields of `tell`, their places, and what to say of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from noisewise.core.checks import nearest

#: What a row may say, as `tell` calls it; an interval is ``lo`` and ``hi``, and ``item`` goes with ``value``.
ROW_FIELDS = (
    "option", "plus", "minus", "value", "se", "var", "sd", "n", "lo", "hi", "level", "values", "successes",
    "trials", "item", "block", "instrument", "key", "by", "at", "cost", "note",
)  # fmt: skip


@dataclass(frozen=True)
class ReadRow:
    """One measurement as a file has it."""

    place: str  # in the file, for messages: results[2], or line 17
    fields: Mapping[str, Any]  # of `tell`: see `ROW_FIELDS`
    file: str = ""  # which file, where there are several; filled in by `read`


@dataclass(frozen=True)
class Readout:
    """Rows that can be told, all of them or none; `Study.tell_many` and `create_study(results=)` take it.

    Args:
        rows: The measurements.
        unit: Of the values, if it is known.
        notes: What a person should know, in sentences: what was left out, and what an error bar rests on.
        reader: The name of the reader, filled in by `read`.
        files: The files that were read, filled in by `read`.
        better: ``"max"`` if the files say that more is better, ``"min"`` if less is; None: they do not say.
        of_items: Whether rows sum up answers to items that could be recorded one by one.
        aside: Why nothing of the file was wanted, if so: a file of another task among many.
    """

    rows: Sequence[ReadRow]
    unit: str | None = None
    notes: Sequence[str] = ()
    reader: str = ""
    files: Sequence[str] = field(default=())
    better: str | None = None
    of_items: bool = False
    aside: str = ""

    @property
    def options(self) -> list[str]:
        """The options that it is about, each once, in the order of the file."""
        named = (row.fields.get(name) for row in self.rows for name in ("option", "plus", "minus"))
        return list(dict.fromkeys(name for name in named if name is not None))

    @property
    def on_items(self) -> bool:
        """Whether its rows are items of options."""
        return any("item" in row.fields for row in self.rows)

    def only(self, option: str) -> dict[str, Any]:
        """The arguments of `tell` for one option: what a command that measured it has written.

        A file about one option is about this one, whatever the file calls it.
        """
        named = self.options
        name = option if option in named else named[0] if len(named) == 1 else None
        rows = [
            dict(row.fields) for row in self.rows if name is not None and row.fields.get("option") == name
        ]
        where = f"{self.files[0]!r}: " if self.files else ""
        if not rows:
            listed = ", ".join(map(repr, named[:5])) + (", …" if len(named) > 5 else "")
            raise ValueError(f"{where}there is no result for {option!r}; it has {listed or 'none'}.")
        if self.on_items:
            return {"items": {row["item"]: row["value"] for row in rows}}
        if len(rows) > 1:
            raise ValueError(
                f"{where}there are {len(rows)} results for {option!r}, and one measurement was asked for."
            )
        fields = {k: part for k, part in rows[0].items() if k not in ("option", "lo", "hi")}
        if "lo" in rows[0]:
            fields["ci"] = (rows[0]["lo"], rows[0]["hi"])
        return fields

    def about(self, patterns: str) -> "Readout":
        """The rows about some options: a name, or several with commas; * stands for anything.

        A name that an option has counts as it is, whatever signs are in it.
        """
        names = self.options
        wanted = [patterns] if patterns in names else [part.strip() for part in patterns.split(",")]
        chosen: set[str] = set()
        for one in wanted:
            found = [one] if one in names else [name for name in names if fnmatchcase(name, one)]
            if not found:
                where = f"{self.files[0]!r}: " if self.files else ""
                shown = ", ".join(map(repr, names[:5])) + (", …" if len(names) > 5 else "")
                raise ValueError(
                    f"{where}no option is called {one!r}; there are {shown}.{nearest(one, names)}"
                )
            chosen.update(found)
        sides = ("option", "plus", "minus")
        kept = [row for row in self.rows if {row.fields.get(side) for side in sides} & chosen]
        return replace(self, rows=kept)

    def called(self, name: str) -> "Readout":
        """The same with its only option called otherwise: the version, say, that a benchmark ran with."""
        names = self.options
        if len(names) != 1:
            where = f"{self.files[0]!r}: " if self.files else ""
            raise ValueError(
                f"{where}only one option can be called {name!r}, and there are {len(names)} "
                f"({', '.join(map(repr, names[:3]))}{', …' if len(names) > 3 else ''}): say which with "
                "`only=`."
            )
        rows = [replace(row, fields={**row.fields, "option": name}) for row in self.rows]
        return replace(self, rows=rows)

    def in_block(self, block: str) -> "Readout":
        """The same, all of it measured in one block: a day, a machine, a run."""
        if self.on_items:
            raise ValueError("`block` must be left out for items: options are compared item by item.")
        return replace(self, rows=[replace(row, fields={**row.fields, "block": block}) for row in self.rows])

    def placed_in(self, file: str) -> "Readout":
        """The same, each row with its file."""
        return replace(self, rows=[replace(row, file=file) for row in self.rows], files=(file,))


def joined(readings: Sequence[Readout], reader: str) -> Readout:
    """The rows of several files as one readout; their units must be the same."""
    units = {one.unit: one.files[0] for one in readings if one.unit is not None}
    if len(units) > 1:
        (first, here), (second, there), *_ = units.items()
        raise ValueError(
            f"{here!r} is in {first} and {there!r} in {second}: say `unit=`, or read them one by one."
        )
    goals = {one.better: one.files[0] for one in readings if one.better is not None}
    if len(goals) > 1:
        raise ValueError(
            f"in {goals['max']!r} more is better and in {goals['min']!r} less: read them one by one."
        )
    everywhere = set.intersection(*(set(one.notes) for one in readings))
    notes: Iterable[str] = (
        note if note in everywhere else f"{one.files[0]}: {note}" for one in readings for note in one.notes
    )
    return Readout(
        rows=[row for one in readings for row in one.rows],
        unit=next(iter(units), None),
        notes=tuple(dict.fromkeys(notes)),
        reader=reader,
        files=tuple(file for one in readings for file in one.files),
        better=next(iter(goals), None),
        of_items=any(one.of_items for one in readings),
    )
