"""Options from a table of results: names, and features and costs that are the same in all rows of each."""

import re
from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from noisewise.core.checks import nearest
from noisewise.core.text import printable
from noisewise.study.inputs.dialects.headers import columns_called
from noisewise.study.inputs.number_columns import plain_numbers
from noisewise.study.inputs.read_table import ReadTable
from noisewise.study.inputs.strange_cells import SHORT_DATE
from noisewise.study.inputs.tables import as_texts
from noisewise.study.intake.columns.understanding import Understood
from noisewise.study.log.specification import Specification

#: Names of rows that sum up the others.
_TOTALS = (
    "total", "totals", "grand total", "sum", "mean", "average", "avg", "overall", "all", "median", "subtotal",
    "gesamt", "summe", "mittelwert", "moyenne", "somme", "media", "suma", "std", "stdev", "sd", "min", "max",
)  # fmt: skip
_NOTE = re.compile(r"(?:notes?|sources?|legend|footnotes?|remarks?|comments?|\*+|†)\b\s*:?|\*", re.IGNORECASE)
#: Pairs of names that are told at most.
NAMED = 5
#: Options may be called by several words; sentences have more.
_WORDS_OF_A_NAME = 6


def options_of(understood: Understood, features: Sequence[str] | None, cost: str | None) -> ReadTable:
    """A table of the options that results are about, in the order of their first rows.

    Args:
        understood: The results.
        features: Columns that describe options.
        cost: The column with what measuring an option costs.
    """
    table, frame = understood.table, understood.frame
    with table.placed():
        probes = [name for name in ("option", "plus", "minus") if name in frame.columns]
        if not probes:
            first = next(iter(table.frame.columns), "name")
            raise ValueError(
                "`results` must have a column with the options' names, or plus and minus for differences: "
                f"say which, for instance {understood.words.map({'option': first})}."
            )
        _refuse_totals(frame[probes[0]])
        _refuse_notes(frame, probes[0])
        for probe in probes:
            _refuse_dates(frame[probe])
        described = [_column(table.frame, name, "features") for name in features or ()]
        described += [_column(table.frame, cost, "cost")] if cost is not None else []
        table.refuse_dates(described)
        # What settled the decimal sign of values settles it here.
        plain = plain_numbers(
            replace(table, guesses=[]), described, decimal=understood.decimal, words=understood.words
        )
        if probes == ["option"]:
            name = (
                understood.sources["option"]
                if understood.sources["option"] in table.frame.columns
                else "option"
            )
            names = as_texts("results", frame["option"]).alias(name)
            _check_constant(names, plain.frame.select(described))
            understood.guesses.extend(_nearly_the_same(names))
            rows = pl.DataFrame([names, *plain.frame.select(described)]).filter(names.is_not_null())
            return ReadTable(rows.unique(name, keep="first", maintain_order=True))
        if described:
            raise ValueError(
                "`features` and costs cannot come from a table of differences, whose rows are about two "
                "options: give a table of options as well."
            )
        sides = pl.concat([as_texts("results", frame[side]).alias("option") for side in probes])
        return ReadTable(sides.drop_nulls().unique(maintain_order=True).to_frame())


def check_eps(understood: Understood, specification: Specification) -> None:
    """Refuse an `eps` in per cent for values that are hundredths: every option would be good enough."""
    eps = None if specification.value_scale.log else specification.eps
    if eps is None:
        return
    if understood.percent and "value" in understood.frame.columns:
        values = understood.frame["value"].cast(pl.Float64, strict=False).drop_nulls().to_list()
        if len(set(values)) > 1 and eps >= max(values) - min(values):
            raise ValueError(
                f"`eps` is {eps:g}, and all values of the table lie between {min(values):g} and "
                f"{max(values):g}, because its per cent are read as hundredths: for {eps:g} per cent write "
                f"{eps / 100.0:g}."
            )
    shares = _shares(understood.frame)
    if shares and eps > max(shares) > 0.0:  # an option that never succeeds would be good enough
        raise ValueError(
            f"`eps` is {eps:g}, and shares of successes in the table lie between {min(shares):g} and "
            f"{max(shares):g}: whatever the others do, every option would be good enough. For {eps:g} per "
            f"cent write {eps / 100.0:g}."
        )


def _shares(frame: pl.DataFrame) -> list[float]:
    """Successes out of trials, of rows that tell both."""
    if not {"successes", "trials"} <= set(frame.columns):
        return []
    told = [pl.col(name).cast(pl.Float64, strict=False) for name in ("successes", "trials")]
    rows = frame.select(told).drop_nulls().filter(pl.col("trials") > 0.0)
    return (rows["successes"] / rows["trials"]).to_list()


def _column(frame: pl.DataFrame, name: str, what: str) -> str:
    found = columns_called(frame.columns, name)
    if len(found) == 1:
        return found[0]
    listed = ", ".join(map(repr, frame.columns))
    raise ValueError(
        f"`{what}` must name columns of the results, which have {listed}; got {name!r}."
        f"{nearest(name, frame.columns)}"
    )


def _check_constant(names: pl.Series, described: pl.DataFrame) -> None:
    """Refuse an option whose rows say different things about it."""
    for column in described:
        pairs = pl.DataFrame({"option": names, "cell": column, "row": range(1, names.len() + 1)})
        firsts = pairs.drop_nulls("option").unique(["option", "cell"], keep="first", maintain_order=True)
        twice = firsts.filter(pl.col("option").is_duplicated())
        if twice.is_empty():
            continue
        one, other = twice.filter(pl.col("option") == twice["option"][0]).head(2).iter_rows(named=True)
        said = ["nothing" if pair["cell"] is None else printable(pair["cell"]) for pair in (one, other)]
        raise ValueError(
            f"row {other['row']} ({one['option']}): {column.name} is {said[1]}, and {said[0]} in row "
            f"{one['row']}; what describes an option must be the same in all of its rows."
        )


def _nearly_the_same(names: pl.Series) -> list[str]:
    """What is told about options whose names differ in case, blanks or leading zeros only."""
    first: dict[str, str] = {}
    found: list[str] = []
    for name in names.drop_nulls().unique(maintain_order=True).to_list():
        plain = re.sub(r"(?<![0-9.,])0+(?=[0-9])", "", re.sub(r"\s+", " ", name.casefold()))
        other = first.setdefault(plain, name)
        if other != name and len(found) < NAMED:
            found.append(f"{printable(other)!r} and {printable(name)!r} as two options")
    return found


def _refuse_dates(names: pl.Series) -> None:
    """Refuse a name that looks like a date among names that do not: spreadsheets make 2-Sep of SEPT2."""
    if names.dtype != pl.String:
        return
    dates = names.str.contains(SHORT_DATE).fill_null(False)
    if dates.any() and not (dates | names.is_null()).all():
        row = int(dates.arg_max() or 0)
        raise ValueError(
            f"row {row + 1}: {printable(names[row])!r} looks like a date that a spreadsheet made of another "
            "name: make the column text there, and type the name again; if it is a name, spell it otherwise."
        )


def _refuse_notes(frame: pl.DataFrame, probe: str) -> None:
    """Refuse a row that is a remark below the table: it has a name, a long one, and nothing else."""
    others = [pl.col(name).is_null() for name in frame.columns if name != probe]
    alone = frame.select(pl.all_horizontal(others) if others else pl.lit(False)).to_series()
    for row in (alone & frame[probe].is_not_null()).arg_true():
        text = str(frame[probe][row])
        if _NOTE.match(text) or len(text.split()) > _WORDS_OF_A_NAME:
            raise ValueError(
                f"row {row + 1}: {printable(text[:60])!r} looks like a note below the table, and no option: "
                "delete the row."
            )


def _refuse_totals(names: pl.Series) -> None:
    """Refuse a last row that sums up the others: it is no option."""
    filled = names.cast(pl.String).is_not_null().arg_true()
    if filled.len() < 2:
        return
    row = filled[-1]
    name = str(names[row]).strip()
    if name.casefold().rstrip(":") in _TOTALS and (names.cast(pl.String) == name).sum() == 1:
        raise ValueError(
            f"row {row + 1}: {printable(name)!r} looks like a row that sums up the others, and no option: "
            "delete the row; if it is an option, give it another name."
        )
