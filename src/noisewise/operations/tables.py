"""Tables and files of other tools, however they were handed in: as files, as text, or on standard input."""

import base64
import math
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any

from noisewise.core.refusals import PYTHON, RefusedError, Sentence
from noisewise.operations.table import Opt, Typed
from noisewise.operations.values import Choices, Names, Pairs, file_or_input
from noisewise.operations.words import lifted, table_wording

if TYPE_CHECKING:
    import polars as pl

    from noisewise.study.telling.understanding import Understood

TABLES = "csv, tsv, txt, xlsx (FILE.xlsx#SHEET), parquet; - for a text on standard input"
#: Endings of files that are no tables: the content says which tool wrote it.
OF_TOOLS = (".json", ".jsonl", ".eval")
#: How a file begins that is sent in base64.
DATA_URL = "data:;base64,"
#: How a table is read: the same for `init` and `import`.
Map = Annotated[
    Pairs | None,
    Opt(
        'The column of each role, such as "value=HV,se=HV_se", "item=question,value=score" or '
        '"key={{plate}}:{{well}}".',
        metavar="NAME=COLUMN,...",
    ),
]
Ignore = Annotated[Names | None, Opt("A column that is not used, on purpose; repeatable.", metavar="COLUMN")]
Decimal = Annotated[str | None, Opt("The decimal sign, . or , if the cells do not show it.", metavar="SIGN")]
Where = Annotated[str | None, Opt("Read only the rows with this value.", metavar="COLUMN=VALUE")]
HowMany = Annotated[int | None, Opt("Number of readings behind each value.", "--n")]
AllowMissing = Annotated[bool, Opt("Accept rows with a blank error bar as rows without one.")]
Network = Annotated[
    bool, Opt("A table of studies, a row for each difference: treat1, treat2, TE, seTE, studlab.")
]
Arms = Annotated[
    bool,
    Opt(
        "A table of studies, a row for each arm (study, treatment, mean and se, or sd and n, or events "
        "and n), or numbered columns: treat1, mean1, ..."
    ),
]
Counts = Annotated[
    str | None, Opt("With {arms}, what events out of n become: log odds (default), or shares.")
]
Chosen = Annotated[Choices | None, Opt("For files of another tool: any other setting of their reader.")]


def reading_of(
    map: Any,
    ignore: Any,
    decimal: Any,
    allow_missing_se: bool,
    network: bool,
    arms: bool,
    counts: Any,
    where: Any,
    n: Any,
) -> dict[str, Any]:
    """What was said about the columns of a table."""
    if network and arms:
        raise RefusedError(
            None, "a table has rows for differences ({network}) or for arms ({arms}), not for both"
        )
    layout = "network" if network else "arms" if arms else None
    if map is not None:
        _check_roles(map, layout)
    return {"roles": map, "ignore": ignore or [], "decimal": decimal, "allow_missing_se": allow_missing_se,
            "layout": layout, "counts": counts, "where": where, "n": n}  # fmt: skip


def check_choices(choices: Mapping[str, str] | None) -> None:
    """Refuse settings of a reader that are parameters of their own."""
    for name in ("files", "reader", "only", "called", "block"):
        if name in (choices or {}):
            raise RefusedError("choose", "has no choice {name!r}", name=name)


def _check_roles(roles: Mapping[str, str], layout: str | None) -> None:
    from noisewise.core.checks import nearest

    if layout is None:
        from noisewise.study.telling.roles import ROLE

        known = (*ROLE, "pair", "winner")
    else:
        from noisewise.study.telling.trials import ALIASES, ROLES_OF

        known = (*ROLES_OF[layout], *ALIASES[layout])
    for name in roles:
        if name not in known:
            hint = nearest(name, known).strip()
            listed = ", ".join(known)
            raise RefusedError("map", "knows {listed}", got=name, remedy="{hint}", listed=listed, hint=hint)


def read_source(what: str, source: Any) -> Any:
    """A table as it was written, before its columns are understood."""
    from noisewise.study.tables.sheet import read_whole

    name = "standard input" if isinstance(source, bytes) else "table"
    content = source.encode() if isinstance(source, str) else source
    return replace(read_whole(what, content, name), words=table_wording())


def understood_table(
    source: Any,
    reading: Mapping[str, Any],
    others: Any = (),
    option: str | None = None,
    hint: str = "{reader=READER}",
) -> "Understood":
    """A table whose columns are known; a refusal says if it looks like a file of another tool."""
    from noisewise.study.tables.table import UndecidedError
    from noisewise.study.telling.understanding import understand

    try:
        table = source if isinstance(source, Path) else read_source("table", source)
        wanted = dict(reading)
        if option is not None:
            wanted["roles"] = {**(wanted.get("roles") or {}), "option": option}
        return understand(table, what="table", words=table_wording(), others=others, **wanted)
    except UndecidedError:
        raise
    except ValueError as problem:
        raise _or_of_tool(problem, source, hint) from None


def _or_of_tool(problem: ValueError, source: Any, hint: str) -> ValueError:
    """The refusal of a table, with a hint if it looks like a file of another tool."""
    from noisewise.study.readers.registry import likely

    found = likely(source) if isinstance(source, Path) and source.is_file() else []
    if not found or len(problem.args) != 1:
        return problem
    refusal = lifted(problem)
    how = hint.replace("READER", found[0])
    remedy = Sentence("It looks like a file of {tool}: " + how + " reads it.", tool=found[0])
    refusal.remedy = Sentence(f"{refusal.remedy.open} {remedy.open}".strip())
    refusal.args = (refusal.said(PYTHON),)
    return refusal


def understood_files(source: Any, reader: str, read: Any) -> "Understood":
    """Files of another tool, read by a function that is given them."""
    from noisewise.study.telling.understanding import understand

    with _laid_out(source, reader) as files:
        return understand(read(files), words=table_wording())


@contextmanager
def _laid_out(source: Any, reader: str) -> Iterator[list[Any]]:
    """Files that came as texts, in a folder: some readers also look at what lies beside a file.

    Messages call each as it was called. A file that is not text is a data URL: data:;base64,...
    """
    from noisewise.study.readers.registry import choose, in_folder
    from noisewise.study.readers.result_file import ResultFile

    if not isinstance(source, Mapping):
        listed = source if isinstance(source, list) else [source]
        yield [ResultFile(None, one) if isinstance(one, bytes) else one for one in listed]
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = [ResultFile(_written_file(folder, one, text), None, one) for one, text in source.items()]
        if any("/" in one for one in source):
            chosen = choose(folder, reader)
            paths = in_folder(folder, chosen) if chosen.pattern else ()
            files = [ResultFile(path, None, str(path.relative_to(folder))) for path in paths]
            if not files:
                raise RefusedError("table", "must have files of {reader}; it has none", reader=reader)
        yield files


def _written_file(folder: Path, name: str, text: str) -> Path:
    """A file of a request, below a folder and not out of it."""
    inside = PurePosixPath(name)
    strange = inside.is_absolute() or not inside.parts or ".." in inside.parts or "\\" in name
    if strange or not name.isprintable():
        raise RefusedError("table", "must name files inside a folder, such as run.json", got=name)
    path = folder / inside
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_content(name, text))
    except OSError as problem:  # a name that is a folder in another, or too long
        why = "must name files; {name!r} cannot be one ({why})"
        raise RefusedError("table", why, name=name, why=problem.strerror) from None
    return path


def _content(name: str, text: str) -> bytes:
    if not text.startswith(DATA_URL):
        return text.encode(errors="replace")
    try:
        return base64.b64decode(text.removeprefix(DATA_URL), validate=True)
    except ValueError:
        raise RefusedError("table", "must be base64 where it says so; {name!r} is not", name=name) from None


def files_typed(texts: tuple[str, ...]) -> list[Any]:
    """Files as they are typed, of which one may be standard input."""
    if texts.count("-") > 1:
        raise RefusedError(None, "can be standard input only once")
    return [file_or_input(text) for text in texts]


def columns_of(options: Any) -> Any:
    """Options that JSON gives as rows, by columns; a table as text or as a file is read."""
    if isinstance(options, str):
        return read_source("options", options)
    if isinstance(options, list) and len(options) == 1 and isinstance(options[0], Path):
        return read_source("options", options[0])
    if not isinstance(options, list) or not any(isinstance(row, dict) for row in options):
        return options
    names = dict.fromkeys(name for row in options for name in row)
    return {name: [row.get(name) for row in options] for name in names}


def options_typed(texts: tuple[str, ...]) -> Any:
    """The options of a study as people type them: names, or one table."""
    from noisewise.study.tables.grid import ENDINGS, FOREIGN, split_sheet

    if texts == ("-",):
        return read_source("options", sys.stdin.buffer.read())
    path = split_sheet(texts[0])[0]
    if len(texts) == 1 and (path.suffix.lower() in ENDINGS or path.is_file()):
        return _only_table(texts[0], path)
    for option in texts:
        is_command = " " in option and not Path(option).exists()  # sort -u words.txt
        if option.lower().endswith((*ENDINGS, *FOREIGN)) and not is_command:
            problem = "must be names, or one table that ends in {endings}; {option!r} looks like a file"
            raise RefusedError(
                "options",
                problem,
                remedy="Save it as CSV in UTF-8.",
                endings=", ".join(ENDINGS),
                option=option,
            )
    return list(texts)


def _only_table(option: str, path: Path) -> Any:
    """A file that must be a table; a text of one column is one only if its header says so."""
    from noisewise.study.tables.names import key_of

    if not path.is_file():
        problem = "must be names or a table; {option!r} looks like a file that does not exist"
        raise RefusedError("options", problem, option=option)
    table = read_source("options", Path(option))
    columns = table.frame.columns
    says_so = path.suffix.lower() in (".csv", ".tsv", ".parquet")
    named = key_of(columns[0]) in ("id", "option", "options", "name", "names")
    if len(columns) == 1 and not (says_so or named):
        problem = "must be names or a table; {option!r} is a text without columns: its first line is {line!r}"
        remedy = "A list of names has id in its first line, and one name in each other."
        raise RefusedError("options", problem, remedy=remedy, option=option, line=columns[0][:60])
    return table


Options = Annotated[
    list[str] | list[dict[str, float | str | None]] | dict[str, list[float | str | None]],
    Typed(options_typed, "OPTIONS...", many=True, file=True),
]
#: As JSON, the text of a table, or files of another tool: {name: text}.
Tables = Annotated[str | dict[str, str], Typed(files_typed, "TABLE...", many=True, file=True)]


def understood_columns(columns: Mapping[str, list[Any]], reading: Mapping[str, Any]) -> "Understood":
    """A table that was understood where it came from: its columns are called like their roles."""
    import polars as pl

    from noisewise.study.tables.sheet import ReadTable
    from noisewise.study.tables.wording import PYTHON
    from noisewise.study.telling.understanding import Understood

    if len({len(cells) for cells in columns.values()}) != 1:
        raise RefusedError("columns", "must be at least one, and all of the same length")
    frame = pl.DataFrame([_series(name, cells) for name, cells in columns.items()])
    missing, layout = bool(reading.get("allow_missing_se")), reading.get("layout")
    sources = {name: name for name in columns}
    return Understood(ReadTable(frame), frame, sources, {}, [], [], missing, PYTHON, ".", layout)


def _series(name: str, cells: list[Any]) -> "pl.Series":
    import polars as pl

    from noisewise.study.telling.roles import NAME, ROLE

    if name not in ROLE:
        raise RefusedError("columns", "must be called like their roles; there is no role {name!r}", name=name)
    kinds = {type(cell) for cell in cells if cell is not None}
    numbers = [one for cell in cells for one in cell or ()] if kinds == {list} else cells
    if kinds == {list} and not {type(one) for one in numbers} <= {int, float}:
        raise RefusedError("columns", "must have numbers as readings; {name!r} has others", name=name)
    if not (kinds <= {int, float} or kinds in ({str}, {bool}, {list})):
        problem = "must each have cells of one type: texts, numbers, true or false, or lists of numbers"
        raise RefusedError("columns", problem, got=name)
    if not all(math.isfinite(one) for one in numbers if isinstance(one, float)):
        problem = "must have finite numbers; an empty cell is null; {name!r} has others"
        raise RefusedError("columns", problem, name=name)
    if ROLE[name].kind == NAME and name != "arm" and not kinds <= {str}:
        raise RefusedError("columns", "must have texts where they are names; {name!r} has others", name=name)
    if not kinds:
        return pl.Series(name, cells, dtype=pl.String)
    return pl.Series(name, cells, strict=False) if kinds == {int, float} else pl.Series(name, cells)
