"""The columns of a table and what they mean: ``--map "value=HV,se=HV_se,key={plate}:{well}"``."""

import string
from typing import TYPE_CHECKING, Any

from noisewise.core.support.checks import nearest

if TYPE_CHECKING:
    import polars as pl

#: What was measured is read without being mapped, if the table calls it so.
NAMED = ("option", "plus", "minus", "job", "item")
#: In the place of a column: it is not used, on purpose.
LEFT_OUT = "-"
#: Columns that change what a row says: a map that does not use them has to say so.
TELLING = (*NAMED, "block", "instrument", "key")
#: Columns of our own sheets that are for people only.
FOR_PEOPLE = ("why", "expires")


def parse_map(texts: list[str]) -> dict[str, str]:
    """Names of `tell`'s arguments to columns, or to patterns with columns in braces."""
    from noisewise.study.intake.roles import COLUMNS

    found: dict[str, str] = {}
    for pair in ",".join(texts).split(","):
        name, equals, column = (part.strip() for part in pair.partition("="))
        if not (name and equals and column):
            raise ValueError(f"`map` must look like value=HV,se=HV_se; got {pair.strip()!r}.")
        if name not in (*COLUMNS, "item"):
            known = ", ".join((*COLUMNS, "item"))
            raise ValueError(f"`map` knows {known}; got {name!r}.{nearest(name, (*COLUMNS, 'item'))}")
        if name in found:
            raise ValueError(f"`map` must name {name!r} once; got {found[name]!r} and {column!r}.")
        found[name] = column
    return found


def apply_map(frame: "pl.DataFrame", wanted: dict[str, str]) -> tuple["pl.DataFrame", list[str]]:
    """The table with columns as `tell` calls them, and the columns that are not used."""
    import polars as pl

    used: set[str] = set()
    series = []
    left_out = [name for name, column in wanted.items() if column == LEFT_OUT]
    used.update(left_out)
    wanted = {name: column for name, column in wanted.items() if column != LEFT_OUT}
    if not {"option", "plus", "job"} & set(wanted):
        wanted = {**{name: name for name in NAMED if name in frame.columns}, **wanted}
    for name, column in wanted.items():
        columns = [part[1] for part in string.Formatter().parse(column) if part[1] is not None]
        for one in columns or [column]:
            if one not in frame.columns:
                listed = ", ".join(map(repr, frame.columns))
                raise ValueError(
                    f"`map` must name columns of the table, which has {listed}; got {one!r}."
                    f"{nearest(one, frame.columns)}"
                )
        used.update(columns or [column])
        if columns:
            texts = [column.format_map(_Texts(row)) for row in frame.iter_rows(named=True)]
            series.append(pl.Series(name, texts, dtype=pl.String))
        else:
            series.append(frame[column].alias(name))
    _check_unused(frame, wanted, used)
    return pl.DataFrame(series), [name for name in frame.columns if name not in used]


class _Texts(dict[str, Any]):
    """The cells of a row; one that is missing cannot be part of a key."""

    def __getitem__(self, column: str) -> Any:
        value = super().__getitem__(column)
        if value is None:
            raise ValueError(f"column {column!r} has an empty cell, which cannot be part of a key.")
        return value


def without_words(frame: "pl.DataFrame") -> "pl.DataFrame":
    """A sheet that `ask` wrote, without its columns for people."""
    return frame.drop([name for name in FOR_PEOPLE if name in frame.columns])


def _check_unused(frame: "pl.DataFrame", wanted: dict[str, str], used: set[str]) -> None:
    """Refuse to leave out error bars, blocks or keys without a word: rows would say something else."""
    from noisewise.study.intake.roles import ERROR_COLUMNS

    left = [name for name in frame.columns if name in ERROR_COLUMNS and name not in used]
    if left and not any(name in ERROR_COLUMNS for name in wanted):
        raise ValueError(
            f"the table has a column {left[0]!r} that `map` does not use: add {left[0]}={left[0]} to take it "
            f"as the error bar, or {left[0]}=- to leave it out."
        )
    left = [name for name in TELLING if name in frame.columns and name not in used and name not in wanted]
    if left:
        take, leave = (
            ",".join(f"{name}={to}" for name, to in zip(left, whither, strict=True))
            for whither in (left, [LEFT_OUT] * len(left))
        )
        raise ValueError(
            f"the table has {'a column' if len(left) == 1 else 'columns'} {', '.join(map(repr, left))} that "
            f"`map` does not use: add {take} to take what is there, or {leave} to leave it out."
        )
