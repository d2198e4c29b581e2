"""Tables and files that are handed in: how they are read, and what each row would do."""

import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from noisewise.core.text import counted, some_of
from noisewise.server.pages.fields import sentence_of
from noisewise.study.study import Study
from noisewise.study.tables.grid import ENDINGS, TEXTS
from noisewise.study.tables.names import key_of
from noisewise.study.tables.sheet import ReadTable, read_whole
from noisewise.study.tables.table import read_table
from noisewise.study.tables.wording import FORM
from noisewise.study.telling.changes import added_options as body_of
from noisewise.study.telling.error_bars import NONE
from noisewise.study.telling.roles import PROBES, RESULTS, ROLE, ROLES
from noisewise.study.telling.understanding import understand

if TYPE_CHECKING:
    from noisewise.study.readers.result_file import ResultFile
    from noisewise.study.tables.sheet import ReadTable

#: The format that is a plain table; the empty one is found out.
TABLE = "table"
#: Choices of readers that have fields of their own, and what they are.
OF_READERS = (
    ("only", "Only these options", "* stands for anything"),
    ("called", "Called", "here, if it is one option"),
    ("block", "Block", "day or machine of all of it"),
    ("metric", "Metric", "if there are several"),
    ("task", "Task", "if there are several"),
    ("choose", "Anything else", "such as split=test"),
)


class HandedIn(NamedTuple):
    """A text or files, and what they are said to be."""

    text: str = ""
    files: Sequence[tuple[str, bytes]] = ()  # names without folders
    format: str = ""  # empty: to be found out


class OneTable(NamedTuple):
    """A table, and how it was made of files of another tool, if it was."""

    table: "ReadTable"
    text: str  # as the field shows it from now on
    remark: str = ""
    allow_missing_se: bool = False


#: Reads files of another tool by the reader of this name.
ReadFiles = Callable[["list[ResultFile]", str], Any]


def handed_in(texts: Mapping[str, str], uploads: Sequence[tuple[str, bytes]]) -> HandedIn:
    """What a form says: new files win over the text."""
    text, format = texts.get("table", ""), texts.get("format", "")
    if uploads:
        files = [(PurePath(name.replace("\\", "/")).name or "file", content) for name, content in uploads]
        return HandedIn("", files, format)
    return HandedIn(text, (), format)


def formats() -> list[tuple[str, str]]:
    """What a file can be said to be: names, and what they mean."""
    from noisewise.study.readers.registry import get, names

    tools = [(name, f"{name}: {get(name).reads}") for name in names()]
    return [("", "found out by its look"), (TABLE, f"a table ({', '.join(ENDINGS)})"), *tools]


def read_handed(handed: HandedIn, read: ReadFiles | None = None) -> OneTable:
    """The table; files of another tool become one, whose columns are called like their roles."""
    from noisewise.study.readers.registry import choose, likely
    from noisewise.study.readers.result_file import ResultFile

    if not handed.files and not handed.text.strip():
        raise ValueError("there is no table: paste one with a line of titles, or choose a file.")
    given = handed.files or [("the text", _bytes_of(handed.text))]
    files = [ResultFile(None, content, name) for name, content in given]
    format = handed.format if read is not None else TABLE
    if not format:
        format = next(iter(likely(files[0])), TABLE)
        ending = PurePath(files[0].name).suffix.lower()
        if format == TABLE and handed.files and ending not in ENDINGS:
            choose(files[:1])  # refuses it in a sentence that lists what is read
    if format != TABLE:
        assert read is not None
        name = choose(files, format).name
        return _as_table(read(files, name), name)
    if len(given) > 1:
        raise ValueError("tables are recorded one at a time: choose one file.")
    return _one_table(handed)


def _as_table(readout: Any, reader: str) -> OneTable:
    """What a reader found, as the text of a table; lists of readings are cells with semicolons."""
    understood = understand(readout)
    lists = [name for name, kind in understood.frame.schema.items() if kind == pl.List]
    joined = [pl.col(name).list.eval(pl.element().cast(pl.String)).list.join("; ") for name in lists]
    text = understood.frame.with_columns(joined).write_csv()
    found = _one_table(HandedIn(text))
    remark = " ".join(part for part in (f"Read as {reader}.", understood.sentence) if part)
    return found._replace(remark=remark, allow_missing_se=understood.allow_missing_se)


def choices_in(texts: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """What is wanted of the rows (only, called, block), and the choices of the reader itself."""
    said = {name: texts.get(f"tool.{name}", "").strip() for name, _, _ in OF_READERS}
    wanted = {name: said[name] for name in ("only", "called", "block") if said[name]}
    choices = {name: said[name] for name in ("metric", "task") if said[name]}
    for part in said["choose"].replace("\n", ",").split(","):
        name, equals, value = (one.strip() for one in part.partition("="))
        if part.strip() and not (name and equals and value):
            raise ValueError(f"`Anything else` must look like name=value; got {part.strip()!r}.")
        if name:
            choices[name.replace("-", "_")] = value
    return wanted, choices


def _one_table(handed: HandedIn) -> OneTable:
    name, content = handed.files[0] if handed.files else ("table.csv", _bytes_of(handed.text))
    ending = PurePath(name).suffix.lower()
    if ending not in ENDINGS:
        raise ValueError(f"a table must be one of {', '.join(ENDINGS)}; got {name!r}.")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table{ending}"
        path.write_bytes(content)
        table = replace(read_whole("table", path), words=FORM)
    shown = handed.text
    if handed.files and ending in TEXTS:
        shown = content.decode("utf-8-sig", "replace")
    elif handed.files:  # a workbook or a frame: its cells as text, every digit of them
        shown = table.frame.write_csv()
    return OneTable(table, shown)


def _bytes_of(text: str) -> bytes:
    return text.replace("\r\n", "\n").encode("utf-8", "replace")


#: Roles that several columns may have together.
SEVERAL = ("option", "value", "successes", "trials", "item", "block")
LAYOUTS = ("network", "arms")
#: The role of a column that looks like an error bar: a person has to say which it is, or leave it out.
OPEN = "?"


class TableColumn(NamedTuple):
    """A column, and what it is taken for."""

    title: str
    example: str
    role: str


def columns_of(frame: pl.DataFrame, chosen: Mapping[str, str] | None) -> list[TableColumn]:
    """Columns with their roles: as chosen, or as the table is understood.

    Args:
        frame: The table.
        chosen: Fields ``role.0``, ``role.1``, ... of the form; None: not chosen yet.
    """
    roles = _understood_roles(frame) if chosen is None else {}
    found_columns = []
    for place, title in enumerate(frame.columns):
        role = roles.get(title, "") if chosen is None else chosen.get(f"role.{place}", "")
        first_cell = next(
            (str(cell) for cell in frame[title].head(20).to_list() if cell not in (None, "")), ""
        )
        example = f"such as {first_cell[:24]}" if first_cell else "empty"
        found_columns.append(TableColumn(title, example, role))
    return found_columns


def _understood_roles(frame: pl.DataFrame) -> dict[str, str]:
    """The roles of columns; `OPEN` where readings of the table differ."""
    called = {title: key_of(title) for title in frame.columns if key_of(title) in ROLE}
    if len(called) == frame.width:
        return called
    try:
        readings = read_table(frame).readings
    except ValueError:
        return called
    ways = [
        {name: role for role, names in one.roles.items() if role in ROLE for name in names}
        for one in readings
    ]
    agreed = {title: {way.get(title, "") for way in ways} for title in frame.columns}
    return {title: one.pop() if len(one) == 1 else OPEN for title, one in agreed.items()}


def still_open(columns: Sequence[TableColumn], texts: Mapping[str, str]) -> str:
    """What has to be said before a table can be read; empty if nothing has."""
    roles = {column.role for column in columns}
    if texts.get("layout") in LAYOUTS:
        return ""
    several = [column.role for column in columns].count("value") > 1  # whose titles name the options
    wanted = [] if roles & set(PROBES) or several else ["the option"]
    wanted += [] if roles & set(RESULTS) else ["the value"]
    said = f"Say which column is {' and which is '.join(wanted)}, and look again." if wanted else ""
    return " ".join(part for part in (said, _unsaid(columns)) if part)


def _unsaid(columns: Sequence[TableColumn]) -> str:
    """The sentence about columns that can be read in more than one way."""
    names = [column.title for column in columns if column.role == OPEN]
    listed = some_of(list(map(repr, names)))
    return (
        f"Say what {listed} {'is' if len(names) == 1 else 'are'}, or leave it out, and look again."
        if names
        else ""
    )


#: What a study raises about a table.
REFUSALS = (ValueError, KeyError, TypeError)
_ROW = re.compile(r"\brow (\d+)")


def wrong_rows(said: str) -> dict[int, str]:
    """Rows that a refusal is about, by their numbers; none if it names no row."""
    return dict.fromkeys((int(number) for number in _ROW.findall(said)), said)


def raised(problem: Exception) -> str:
    """What was raised, without the quotation marks of a `KeyError`."""
    return str(problem.args[0]) if problem.args else str(problem)


#: Rows of the preview.
SHOWN = 50
#: Roles that a person can choose.
ROLES_OFFERED = [(role.name, role.meaning) for role in ROLES]
#: What may become of options that the study does not have.
UNKNOWN = ("refuse", "skip", "add")


class PastedRow(NamedTuple):
    """A row of the preview."""

    place: int
    cells: list[str]
    fate: str
    bad: bool


class Pasted(NamedTuple):
    """What the page shows of a table."""

    text: str = ""
    columns: Sequence[TableColumn] = ()
    roles: Sequence[tuple[str, str]] = ()
    titles: Sequence[str] = ()
    rows: Sequence[PastedRow] = ()
    fated: bool = True  # whether rows say what becomes of each
    said: str = ""
    remarks: Sequence[str] = ()
    problem: str = ""
    ready: bool = False
    ready_words: str = ""


class HowTold(NamedTuple):
    """How rows are told, besides which column is what."""

    amend: str = ""
    unknown: str = "refuse"
    again: bool = False

    def arguments(self) -> dict[str, Any]:
        """Of `Study.tell_many`."""
        return {
            "amend": self.amend or None,
            "unknown": self.unknown,
            "repeat": "others" if self.again else False,
            "match": True,
        }


def how_told(texts: Mapping[str, str]) -> HowTold:
    """What a form says."""
    unknown = texts.get("unknown") or "refuse"
    if unknown not in UNKNOWN:
        raise ValueError(f"unknown options are refused, skipped or added; got {unknown!r}.")
    return HowTold(texts.get("amend", "").strip(), unknown, bool(texts.get("again")))


def reading_of(
    texts: Mapping[str, str], columns: Sequence[TableColumn], also: Sequence[str] = ()
) -> dict[str, Any]:
    """What `Study.tell_many` is told about a table; `ValueError` if two columns are the same.

    Args:
        texts: The form: ``decimal``, ``missing``, ``layout``, ``counts``.
        columns: With what each is.
        also: What columns can be besides roles of measurements.
    """
    how: dict[str, Any] = {}
    if texts.get("decimal") in (".", ","):
        how["decimal"] = texts["decimal"]
    if texts.get("missing"):
        how["allow_missing_se"] = True
    if texts.get("layout") in LAYOUTS:  # such tables have columns of their own, known by their titles
        how["layout"] = texts["layout"]
        return how | ({"counts": "shares"} if texts.get("counts") == "shares" else {})
    roles = [column.role for column in columns if column.role and column.role not in (*also, OPEN)]
    twice = next((role for role in roles if roles.count(role) > 1 and role not in SEVERAL), None)
    if twice is not None:
        raise ValueError(f"two columns are said to be {twice!r}: choose one of them.")
    strange = next((role for role in roles if role not in ROLE), None)
    if strange is not None:
        raise ValueError(f"{strange!r} is nothing that a column can be.")
    said: dict[str, list[str]] = {}
    for column in columns:
        if column.role in ROLE:
            said.setdefault(column.role, []).append(column.title)
    if len(said.get("value", ())) > 1 and not {*said} & {*PROBES}:
        said["option"] = ["header"]
    unused = [column.title for column in columns if not column.role]
    return how | {
        "roles": {role: one[0] if len(one) == 1 else one for role, one in said.items()},
        "ignore": unused,
    }


def reader_of(study: Study, texts: Mapping[str, str]) -> ReadFiles:
    """What reads files of another tool for a study."""

    def read(files: "list[ResultFile]", reader: str) -> Any:
        wanted, choices = choices_in(texts)
        return study.read_from(files, reader, **wanted, **choices)

    return read


def told_as_seen(form: dict[str, str], found: OneTable) -> None:
    """Let a form say of files of another tool that they are a table now."""
    if found.remark:
        form["format"] = TABLE
        form |= {"missing": "1"} if found.allow_missing_se else {}


def tell_handed(study: Study, handed: HandedIn, texts: Mapping[str, str], by: str | None) -> Any:
    """Tell what was handed in, as it was previewed; rows are by that person, if known."""
    found = read_handed(handed)
    columns = columns_of(found.table.frame, texts)
    if waiting := still_open(columns, texts):
        raise ValueError(waiting)
    understood = understand(found.table, what="table", words=FORM, **reading_of(texts, columns))
    if by is not None and "item" not in understood.frame.columns:
        understood = replace(understood, frame=understood.frame.with_columns(pl.lit(by).alias("by")))
    return study.tell_many(understood, **how_told(texts).arguments())


def preview(study: Study, handed: HandedIn, texts: dict[str, str]) -> Pasted:
    """What would be told; nothing is."""
    page, frame = Pasted(handed.text), pl.DataFrame()

    try:
        found = read_handed(handed, reader_of(study, texts))
        told_as_seen(texts, found)
        frame = found.table.frame
        # A table without roles is one that was just handed in.
        chosen = texts if "role.0" in texts and not handed.files else None
        columns = columns_of(frame, chosen)
        page = Pasted(found.text, columns=columns, roles=ROLES_OFFERED, titles=frame.columns)
        page = page._replace(remarks=[found.remark] if found.remark else [])
        reading = reading_of(texts, columns)
        if said := still_open(columns, texts):
            return page._replace(said=said, rows=_rows(frame, {}, {}), fated=False)
        understood = understand(found.table, what="table", words=FORM, **reading)
        taken: Any = study.tell_many(understood, dry_run=True, **how_told(texts).arguments())
    except REFUSALS as problem:
        said = raised(problem)
        bad = wrong_rows(said)
        whole = f"{said[:1].upper()}{said[1:]} Nothing was recorded."
        return page._replace(problem=whole, rows=_rows(frame, {}, bad), fated=bool(bad))
    return _as_taken(page, taken, frame)


def _as_taken(page: Pasted, taken: Any, frame: pl.DataFrame) -> Pasted:
    """What a dry run has found."""
    batch = getattr(taken, "batch", None)  # tables of items have none: their rows go together
    fates = {} if batch is None else batch.told.in_words(batch.parsed)
    new, amended = len(taken), len(taken.amended)
    on_items = f" with {counted(taken.items, 'item')}" if getattr(taken, "items", 0) else ""
    parts = [f"{counted(new, 'measurement')}{on_items} recorded"]
    parts += [f"{counted(amended, 'correction')}"] if amended else []
    parts += [f"{counted(taken.known, 'row')} recorded already"] if taken.known else []
    parts += [f"{counted(taken.empty, 'row')} without a result left for later"] if taken.empty else []
    left = len(frame) - SHOWN
    more = f" The first {SHOWN} of {len(frame):,} rows are shown." if left > 0 else ""
    understood = taken.understood
    remarks = [*page.remarks, *([understood.sentence] if understood.sentence else [])]
    if taken.missing:
        remarks.append(f"No longer in this table, and still counted until voided: {some_of(taken.missing)}.")
    if left_out := [column.title for column in page.columns if not column.role]:
        remarks.append(f"Left out: {some_of(list(map(repr, left_out)))}.")
    if new and all(one.kind == NONE for one in taken):
        remarks.append("None of these rows has an error bar.")
    return page._replace(
        titles=frame.columns,
        rows=_rows(frame, fates, {}),
        fated=batch is not None,
        said=f"What will happen: {', '.join(parts)}.{more}",
        remarks=remarks,
        ready=bool(new or amended),
        ready_words=counted(new + amended, "measurement"),
    )


def _rows(frame: pl.DataFrame, fates: Mapping[int, str], bad: Mapping[int, str]) -> list[PastedRow]:
    found = []
    shown = sorted({*range(min(SHOWN, len(frame))), *(row - 1 for row in bad if 0 < row <= len(frame))})
    for place in shown:
        usual = "nothing: another row is wrong" if bad else "recorded already: nothing changes"
        fate = bad.get(place + 1) or fates.get(place + 1, usual)
        found.append(PastedRow(place + 1, cells_of(frame, place), fate, place + 1 in bad))
    return found


def cells_of(frame: pl.DataFrame, place: int) -> list[str]:
    """The cells of a row as short texts."""
    return ["" if cell is None else _short(cell) for cell in frame.row(place)]


def _short(cell: Any) -> str:
    text = (
        ", ".join(f"{one:g}" if isinstance(one, float) else str(one) for one in cell[:20])
        if isinstance(cell, list)
        else str(cell)
    )
    return text if len(text) <= 80 else f"{text[:79]}…"


#: Names that a preview lists.
MOST_NAMED = 50


class Added(NamedTuple):
    """What the page shows."""

    columns: list[str]  # that a table must have; empty: names are enough
    text: str = ""
    names: tuple[str, ...] = ()  # that would be added: the first of them
    more: int = 0
    problem: str = ""
    ready: bool = False
    ready_words: str = ""


def names_in(text: str) -> list[str]:
    """Names in lines; or in one line, with commas or semicolons between them."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) == 1:
        between = ";" if ";" in lines[0] else ","
        lines = [name.strip() for name in lines[0].split(between) if name.strip()]
    return lines


def added_options(study: Study, handed: HandedIn) -> Added:
    """What would be added; nothing is."""
    page = Added(_described(study), handed.text)
    if not handed.files and not handed.text.strip():
        return page
    try:
        if handed.files:  # its text is sent with the form from now on
            page = page._replace(text=read_handed(handed).text)
        body = body_of(study.analysis().state, _source(study, handed), None)
    except REFUSALS as problem:
        return page._replace(problem=sentence_of(problem))
    names = body["ids"]
    return page._replace(
        names=tuple(names[:MOST_NAMED]),
        more=max(0, len(names) - MOST_NAMED),
        ready=bool(names),
        ready_words=counted(len(names), "option"),
    )


def add_named(study: Study, handed: HandedIn) -> list[str]:
    """Add them."""
    return study.add_options(_source(study, handed))


def _described(study: Study) -> list[str]:
    catalogue = study.specification.catalogue
    described = [feature.name for feature in catalogue.features]
    described += [] if catalogue.costs is None else [catalogue.cost_column]
    return [catalogue.id_column, *described] if described else []


def _source(study: Study, handed: HandedIn) -> Any:
    if not handed.files and not _described(study):
        return names_in(handed.text)
    found = read_handed(handed)
    if _described(study):
        return found.table
    column = study.specification.catalogue.id_column
    frame = found.table.frame
    return [str(cell) for cell in frame[column if column in frame.columns else frame.columns[0]].to_list()]
