"""Any frame that is written in any dialect reads back the same; what cannot be known is asked for."""

import csv
import io
from decimal import Decimal
from typing import NamedTuple

import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.support.effort import effort

from noisewise.study.tables.sheet import read_whole
from noisewise.study.tables.table import UndecidedError
from noisewise.study.telling.understanding import understand

ONE_FOLDER = [HealthCheck.function_scoped_fixture]
LETTERS = "abcXYZ 0123456789.,;'\"#%()=-é üñßØ"
WIDE = LETTERS + "日本語Ωж𝛼€±"


class Dialect(NamedTuple):
    separator: str
    decimal: str
    thousands: str
    encoding: str
    line: str
    quoting: int
    title: bool
    trailing: bool
    percent: bool
    header: tuple[str, str, str]


@st.composite
def dialects(draw):
    decimal = draw(st.sampled_from([".", ","]))
    thousands = draw(st.sampled_from(["", ",", ".", " ", "\u00a0", "\u202f", "'", "’"]))
    assume(thousands != decimal)
    encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"]))
    assume(encoding != "cp1252" or thousands != "\u202f")
    header = draw(
        st.sampled_from(
            [("option", "value", "se"), ("Option", "VALUE", "SE"), ("option", "value (ms)", "se (ms)"),
             ("option", "value [%]", "se [%]")]
        )
    )  # fmt: skip
    return Dialect(
        draw(st.sampled_from([",", ";", "\t"])), decimal, thousands, encoding,
        draw(st.sampled_from(["\n", "\r\n"])), draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])),
        draw(st.booleans()), draw(st.booleans()), draw(st.booleans()), header,
    )  # fmt: skip


def numbers(**between):
    whole = st.integers(-(10**7), 10**7).map(float)
    plain = st.floats(allow_nan=False, allow_infinity=False, **between).map(lambda x: float(f"{x:.12g}"))
    return st.one_of(plain.filter(lambda x: x == 0.0 or abs(x) > 1e-20), whole).filter(
        lambda x: between.get("min_value", -1e30) <= x <= between.get("max_value", 1e30)
    )


def names(letters):
    text = st.text(letters, min_size=1, max_size=8).map(str.strip)
    # An apostrophe before a sign protects from formulas, and is taken away.
    return text.filter(lambda name: name and not name.startswith("'") and name.casefold() != "none")


def tables(letters):
    row = st.tuples(
        names(letters), numbers(min_value=-1e12, max_value=1e12), numbers(min_value=1e-6, max_value=1e9)
    )
    return st.lists(row, min_size=1, max_size=6)


def written(number, dialect):
    digits = format(Decimal(repr(number)) * (100 if dialect.percent else 1), "f")
    sign, digits = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
    whole, _, fraction = digits.partition(".")
    groups = f"{int(whole):,}".replace(",", dialect.thousands)
    fraction = fraction.rstrip("0")
    return (
        sign + groups + (dialect.decimal + fraction if fraction else "") + (" %" if dialect.percent else "")
    )


def as_text(rows, dialect):
    out = io.StringIO(newline="")
    writer = csv.writer(
        out, delimiter=dialect.separator, lineterminator=dialect.line, quoting=dialect.quoting
    )
    if dialect.title:
        out.write("Results of a day" + dialect.line)
    more = [""] if dialect.trailing else []
    writer.writerow([*dialect.header, *more])
    for name, value, se in rows:
        writer.writerow([name, written(value, dialect), written(se, dialect), *more])
    return out.getvalue().encode(dialect.encoding)


def read_back(content, dialect):
    return understood_or_asked(read_whole("t", content), dialect)


def understood_or_asked(source, dialect):
    """Where nothing settles the decimal sign it is asked for, never guessed."""
    try:
        return understand(source)
    except ValueError as problem:
        if "no other cell of the table settles it" not in str(problem):
            raise
    return understand(source, decimal=dialect.decimal)


def rows_of(understood):
    frame = understood.frame.with_columns(pl.col("value", "se").cast(pl.Float64))
    return frame.select("option", "value", "se").rows()


@settings(max_examples=effort(30, 150), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(dialect=dialects(), data=st.data())
def test_any_frame_in_any_dialect_reads_back_the_same(dialect, data):
    rows = data.draw(tables(LETTERS if dialect.encoding == "cp1252" else WIDE))
    understood = read_back(as_text(rows, dialect), dialect)
    assert rows_of(understood) == rows
    if dialect.separator != ",":
        assert any("between columns" in guess for guess in understood.guesses)
    if dialect.title:
        assert "1 line above the header left out" in understood.guesses
    if "ms" in dialect.header[1] and not dialect.percent:
        assert understood.units == {"value": "ms", "se": "ms"}


@settings(max_examples=effort(5, 25), deadline=None, suppress_health_check=ONE_FOLDER)
@given(rows=tables(WIDE))
def test_files_that_keep_types_read_back_the_same(tmp_path, rows):
    frame = pl.DataFrame(
        rows, schema={"option": pl.String, "value": pl.Float64, "se": pl.Float64}, orient="row"
    )
    path = tmp_path / "t.parquet"
    frame.write_parquet(path)
    assert rows_of(understand(path)) == rows
    assert rows_of(understand(frame.to_pandas())) == rows
    assert rows_of(understand(frame.to_arrow())) == rows
    assert understand(path).guesses == []


@settings(max_examples=effort(5, 25), deadline=None, suppress_health_check=ONE_FOLDER)
@given(rows=tables("abcXYZ 0123456789.,;#%é日"), as_texts=st.booleans(), dialect=dialects())
def test_workbooks_read_back_the_same(tmp_path, rows, as_texts, dialect):
    openpyxl = pytest.importorskip("openpyxl")
    # A workbook keeps 15 digits of a number.
    rows = rows if as_texts else [(name, *(float(f"{x:.15g}") for x in pair)) for name, *pair in rows]
    book = openpyxl.Workbook()
    book.active.append(list(dialect.header))
    for name, value, se in rows:
        cells = [written(number, dialect) if as_texts else number for number in (value, se)]
        book.active.append([name, *cells])
        book.active.cell(book.active.max_row, 1).data_type = "s"
    path = tmp_path / "t.xlsx"
    book.save(path)
    understood = understood_or_asked(path, dialect) if as_texts else understand(path)
    assert rows_of(understood) == rows


PIECES = [
    b",",
    b";",
    b"\t",
    b"\n",
    b"\r",
    b'"',
    b"'",
    b"#",
    b"%",
    b"1,234",
    b"0,5",
    b" ",
    b"\xc3\xa9",
    b"\xe9",
    b"\0",
]


@settings(max_examples=effort(30, 150), deadline=None)
@given(
    dialect=dialects(),
    cuts=st.lists(
        st.tuples(st.floats(0, 1), st.sampled_from(PIECES), st.integers(0, 3)), min_size=1, max_size=5
    ),
)
def test_mutilated_tables_are_read_or_refused_in_one_sentence(dialect, cuts):
    content = as_text([("A", 1234.5, 0.5), ("B x", 2.5, 0.25), ("é", 3.0, 12.0)], dialect)
    for at, piece, gone in cuts:
        place = int(at * len(content))
        content = content[:place] + piece + content[place + gone :]
    try:
        understood = understand(read_whole("t", content))
    except UndecidedError as question:
        said = str(question).partition("\n")[0]  # what there is to choose from is listed below it
    except ValueError as problem:
        said = str(problem)
    else:
        said = understood.sentence
        assert understood.frame.height <= content.count(b"\n") + content.count(b"\r") + 1
    assert "\n" not in said
    assert "Schema" not in said
