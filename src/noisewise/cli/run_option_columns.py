"""What ``{col:name}`` stands for: cells of the table of options, or what a study keeps of it.

A study keeps of its table the names, the costs, and the columns that are features, as numbers and levels. A
table that is given on the command line again (``--new``) has all its columns, and its cells as they are.
"""

from collections.abc import Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any

from noisewise.core.checks import nearest
from noisewise.core.text import printable

if TYPE_CHECKING:
    from noisewise.study.study import Study
    from noisewise.study.tables.sheet import ReadTable
    from noisewise.study.telling.catalogue import Feature

#: Whole numbers up to here are written without a point: floats hold them exactly.
WHOLE = 1e15


def option_columns(
    study: "Study", wanted: Sequence[str], table: "ReadTable | None" = None
) -> dict[str, dict[str, str]]:
    """The texts of columns by option, for each column that a command names; refused if there is none.

    Args:
        study: The study.
        wanted: Names of columns.
        table: The table of options, if the command line has one.
    """
    if not wanted:
        return {}
    kept = _kept(study)
    cells = {} if table is None else _cells(study, table, wanted)
    found = {}
    for name in wanted:
        if name not in cells and name not in kept:
            raise ValueError(_unknown(name, kept, table))
        found[name] = cells.get(name) or kept[name]
        for option in asked_for(study):
            if option not in found[name]:
                raise ValueError(
                    f"{{col:{name}}} has no value for option {printable(option)!r}: fill its cell in, or "
                    "exclude the option."
                )
    return found


def asked_for(study: "Study") -> list[str]:
    """Options that may be asked for: those that are not excluded."""
    return list(compress(study.options, study.analysis().state.allowed()))


def _unknown(name: str, kept: dict[str, Any], table: "ReadTable | None") -> str:
    names = [*kept] if table is None else list(dict.fromkeys([*table.frame.columns, *kept]))
    listed = ", ".join(map(repr, names))
    where = "the study keeps of its table" if table is None else "there are"
    advice = (
        " Other columns are kept if they are features (init --features), or come from the table itself: "
        "give it again with --new."
        if table is None
        else ""
    )
    return (
        f"{{col:{printable(name)}}} must name a column of the options; {where} {listed}."
        f"{nearest(name, names)}{advice}"
    )


def _cells(study: "Study", table: "ReadTable", wanted: Sequence[str]) -> dict[str, dict[str, str]]:
    """The cells of a table by column and option."""
    from noisewise.study.tables.names import columns_called
    from noisewise.study.tables.sheet import as_texts

    frame, found = table.frame, {}
    ids = as_texts("options", frame[study.specification.catalogue.id_column]).to_list()
    for name in wanted:
        called = columns_called(frame.columns, name)
        if len(called) != 1:
            continue
        column: dict[str, str] = {}
        for row, (option, cell) in enumerate(zip(ids, frame[called[0]].to_list(), strict=True)):
            if cell is None or (text := text_of(cell)) == "":
                continue
            if column.setdefault(option, text) != text:
                raise ValueError(
                    f"{table.place(row)}: {{col:{name}}} of option {printable(option)!r} is {text!r}, and "
                    f"{column[option]!r} in another row."
                )
        found[name] = column
    return found


def _kept(study: "Study") -> dict[str, dict[str, str]]:
    """What the study itself keeps, by column and option."""
    catalogue = study.specification.catalogue
    options, values = list(catalogue.ids), catalogue.values.tolist()
    for event in study.events():
        if event.kind == "add":
            options += event.body["ids"]
            values += event.body["values"]
    found, at = {catalogue.id_column: dict(zip(options, options, strict=True))}, 0
    for feature in catalogue.features:
        end = at + len(feature.columns)
        texts = [_text_of_feature(feature, row[at:end]) for row in values]
        found[feature.name] = dict(zip(options, texts, strict=True))
        at = end
    if catalogue.costs is not None:
        found[catalogue.cost_column] = {option: text_of(study.cost_of(option)) for option in options}
    return found


def _text_of_feature(feature: "Feature", row: list[float]) -> str:
    """A number, or the level of a category: the reference level has no column."""
    if not feature.levels:
        return text_of(float(row[0]))
    return next((level for level, on in zip(feature.levels[1:], row, strict=True) if on), feature.levels[0])


def text_of(cell: Any) -> str:
    """A cell as an argument: 32 for 32.0, and the shortest text that is the same number."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < WHOLE:
        return str(int(cell))
    return cell.strip() if isinstance(cell, str) else str(cell)
