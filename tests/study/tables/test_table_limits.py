"""Small files cannot take much memory: what is beyond the limits is refused before it is unpacked."""

import io
import struct
import tracemalloc
import zipfile

import polars as pl
import pytest

from noisewise.cli.research import read_options
from noisewise.study.tables import limits as table_limits
from noisewise.study.tables import packed as packed_tables
from noisewise.study.tables.cells import hint_for
from noisewise.study.tables.sheet import read_whole
from noisewise.study.telling.numbers import carries_error, read_number, read_value

pytest.importorskip("openpyxl")

SHEET = "xl/worksheets/sheet1.xml"
SPACE = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
TYPES = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
HEADER = '<row r="1"><c r="A1" t="inlineStr"><is><t>option</t></is></c></row>'


def workbook(path, rows=HEADER, *, after="", shared="", before="", method=zipfile.ZIP_DEFLATED, styles=""):
    """A workbook with these rows, written as its XML."""
    parts = {
        "_rels/.rels": (
            "",
            f'<Relationship Id="r1" Type="{TYPES}/officeDocument" Target="xl/workbook.xml"/>',
        ),
        "xl/workbook.xml": (SPACE, f'<sheets><sheet name="S" xmlns:r="{TYPES}" r:id="r1"/></sheets>'),
        "xl/_rels/workbook.xml.rels": (
            "",
            f'<Relationship Id="r1" Type="{TYPES}/worksheet" Target="worksheets/sheet1.xml"/>'
            f'<Relationship Id="r2" Type="{TYPES}/sharedStrings" Target="sharedStrings.xml"/>'
            f'<Relationship Id="r3" Type="{TYPES}/styles" Target="/xl/styles.xml"/>',
        ),
        "xl/sharedStrings.xml": (SPACE, shared),
        "xl/styles.xml": (SPACE, styles),
        SHEET: (SPACE, f"<sheetData>{rows}</sheetData>{after}"),
    }
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, (space, content) in parts.items():
            archive.writestr(name, f"{before if name == SHEET else ''}<top {space}>{content}</top>")
    return path


def refusal(path):
    with pytest.raises(ValueError, match=r"\.$") as found:
        read_whole("table", path)
    return str(found.value)


def peak(path):
    """The most memory of Python that reading a table takes, in MB."""
    tracemalloc.start()
    try:
        read_whole("table", path)
    except ValueError:
        pass
    finally:
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return most / 2**20


@pytest.fixture(autouse=True)
def loaded(tmp_path):
    """Nothing is imported while memory is measured."""
    read_whole("table", workbook(tmp_path / "first.xlsx"))


def test_cells_far_away_take_no_memory(tmp_path):
    far = HEADER + '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
    assert peak(workbook(tmp_path / "far.xlsx", far)) < 5
    assert "is not a readable workbook" in refusal(tmp_path / "far.xlsx")  # beyond the columns of a table
    far = far.replace("XFD", "ZZ")
    assert peak(workbook(tmp_path / "far.xlsx", far)) < 5
    assert "has a cell in a column without a name" in refusal(tmp_path / "far.xlsx")


@pytest.mark.parametrize(
    "after",
    [
        '<mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells>',
        '<hyperlinks><hyperlink ref="A1:XFD1048576" location="x"/></hyperlinks>',
        '<dimension ref="A1:XFD1048576"/>',
        '<conditionalFormatting sqref="A1:XFD1048576"/>',
    ],
)
def test_ranges_over_a_whole_sheet_take_no_memory(tmp_path, after):
    assert peak(workbook(tmp_path / "r.xlsx", HEADER + "<row><c><v>1</v></c></row>", after=after)) < 5


def test_cells_without_a_value_take_no_memory(tmp_path):
    rows = HEADER + f'<row r="2">{"<c/>" * 5000}</row>' * 4
    assert peak(workbook(tmp_path / "r.xlsx", rows)) < 5
    rows = HEADER + '<row r="2"><c s="0"/><c t="s"/><c t="inlineStr"><is><t> </t></is></c></row>' * 2000
    assert read_whole("table", workbook(tmp_path / "r.xlsx", rows)).frame.height == 0


def test_a_sheet_with_far_more_cells_than_are_filled_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(table_limits, "_FREE_CELLS", 1000)
    names = "".join(f'<c t="inlineStr"><is><t>n{k}</t></is></c>' for k in range(500))
    rows = f"<row>{names}</row>" + "<row><c><v>1</v></c></row>" * 500
    said = refusal(workbook(tmp_path / "r.xlsx", rows))
    assert "501 rows of 500 columns, and only 1,000 cells of them are filled; at most 11,000" in said


def test_one_long_text_in_many_cells_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(table_limits, "_FREE_LETTERS", 1000)
    cells = '<row><c t="s"><v>0</v></c></row>' * 1000
    path = workbook(tmp_path / "r.xlsx", HEADER + cells, shared=f"<si><t>{'x' * 5000}</t></si>")
    assert "its cells have more than" in refusal(path)


def test_a_workbook_that_is_too_large_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    path = workbook(tmp_path / "r.xlsx", HEADER + "<row/>" * 100_000)
    monkeypatch.setattr("noisewise.study.tables.workbook.MOST_UNPACKED", 100_000)
    read = zipfile.ZipFile.read

    def small(self, info, *more):
        assert info.file_size < 100_000
        return read(self, info, *more)

    monkeypatch.setattr(zipfile.ZipFile, "read", small)
    assert "it has more than 0 MB when it is unpacked" in refusal(path)


def test_a_member_that_says_too_little_of_its_size_is_refused(tmp_path):
    path = workbook(tmp_path / "r.xlsx", HEADER + "<row/>" * 200_000)
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        size = archive.getinfo(SHEET).file_size
    for at in range(len(content) - 4):
        if content[at : at + 4] == struct.pack("<I", size):
            content[at : at + 4] = struct.pack("<I", 1000)
    path.write_bytes(content)
    assert peak(path) < 5
    assert "is not a readable workbook" in refusal(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_ways_of_packing_without_a_limit_are_refused(tmp_path, method):
    assert "packed in a way" in refusal(workbook(tmp_path / "r.xlsx", method=method))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            {"before": '<!DOCTYPE top [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>'},
            "declares a document type",
        ),
        ({"after": "<a>" * 100 + "</a>" * 100}, "more than 64 levels"),
        ({"rows": '<row r="1048577"><c><v>1</v></c></row>'}, "beyond row 1,048,576"),
        ({"rows": '<row><c r="ZZZZ1"><v>1</v></c></row>'}, "is not a place"),
        ({"rows": f"<row><c><v>{'9' * 5000}</v></c></row>"}, "is not a readable workbook"),
        ({"rows": '<row><c t="s"><v>7</v></c></row>'}, "is not a readable workbook"),
    ],
)
def test_what_no_workbook_has_is_refused(tmp_path, more, said):
    assert said in refusal(workbook(tmp_path / "r.xlsx", **more))


# Parquet

BOMBS = {
    "a run of nothing": pl.DataFrame({"a": pl.repeat(None, 3_000_000, eager=True)}),
    "a long text in every row": pl.DataFrame({"a": ["x" * 100_000] * 200}),
    "a long category in every row": pl.DataFrame({"a": ["x" * 100_000] * 200}).cast(pl.Categorical),
    "wide arrays": pl.DataFrame({"a": pl.Series([None], dtype=pl.Array(pl.Float64, 1000))}),
    "lists of lists": pl.DataFrame({"a": [[[1.0]]]}),
    "structures": pl.DataFrame({"a": [{"b": 1}]}),
    "many columns": pl.DataFrame({f"c{k}": [1] for k in range(table_limits.MOST_COLUMNS + 1)}),
}
SAID = ("cells in", "characters", "holds", "columns, and a table may have")


def written(frame, path):
    frame.write_parquet(path)
    return path


@pytest.mark.parametrize("what", BOMBS)
def test_packed_tables_that_explode_are_refused(tmp_path, what):
    path = written(BOMBS[what], tmp_path / "t.parquet")
    said = refusal(path)
    assert any(one in said for one in SAID)


def test_a_packed_table_is_refused_before_it_is_read(tmp_path, monkeypatch):
    def read(*_, **__):
        raise AssertionError("it was read")

    zeros = pl.DataFrame({"a": pl.repeat(0.5, 300_000, eager=True), "b": ["x" * 1000] * 300_000})
    path = written(zeros, tmp_path / "t.parquet")
    monkeypatch.setattr(pl, "read_parquet", read)
    monkeypatch.setattr(packed_tables, "MOST_UNPACKED", 2**20)
    assert path.stat().st_size < 2**18
    assert "it has more than 1 MB when it is unpacked" in refusal(path)


@pytest.mark.parametrize("compression", ["zstd", "snappy", "gzip", "lz4", "uncompressed"])
def test_parquet_is_read_and_measured_page_by_page(tmp_path, compression):
    values = [0.1 * k for k in range(1500)]
    frame = pl.DataFrame(
        {"option": ["A", "B", "A"] * 500, "value": values, "v": [[1.0, 2.0], [], None] * 500}
    )
    frame.write_parquet(tmp_path / "t.parquet", compression=compression, row_group_size=400)
    size = packed_tables._parquet_size((tmp_path / "t.parquet").read_bytes())
    assert 4500 <= size.n_values <= 6000
    assert size.n_bytes > 1500 * 8
    assert read_whole("table", tmp_path / "t.parquet").frame.equals(frame)


def test_pages_count_whatever_the_metadata_says(tmp_path):
    frame = pl.DataFrame({"a": pl.repeat(None, 300_000, dtype=pl.Float64, eager=True)})
    frame.write_parquet(tmp_path / "t.parquet", row_group_size=100_000)
    content = (tmp_path / "t.parquet").read_bytes()
    (length,) = struct.unpack("<I", content[-8:-4])
    start = len(content) - 8 - length
    lie = content[start:].replace(packed_number(300_000), packed_number(3), 1)
    lie = lie.replace(packed_number(100_000), packed_number(70_000))
    size = packed_tables._parquet_size(content[:start] + lie)
    assert size.n_values == 300_000


def packed_number(number):
    """A number as Thrift writes it: three bytes here, or padded to them."""
    zigzag, found = number << 1, b""
    for last in (False, False, True):
        found += bytes([(zigzag & 127) | (0 if last else 128)])
        zigzag >>= 7
    return found


def test_damaged_metadata_is_refused_in_a_sentence(tmp_path):
    path = written(pl.DataFrame({"a": [1.0, 2.0]}), tmp_path / "t.parquet")
    content = path.read_bytes()
    for at in range(0, len(content), 7):
        for byte in (0, 127, 255):
            damaged = content[:at] + bytes([byte]) + content[at + 1 :]
            try:
                packed_tables._parquet_size(damaged)
            except (ValueError, *packed_tables.DAMAGED):
                pass
    for cut in range(0, len(content), 50):
        path.write_bytes(content[:cut])
        assert "cannot be read" in refusal(path)


# Texts


def test_a_text_with_too_many_columns_or_a_long_name_is_refused():
    wide = b",".join(b"a%d" % k for k in range(table_limits.MOST_COLUMNS + 1))
    with pytest.raises(ValueError, match="10,001 columns, and a table may have 10,000"):
        read_whole("table", wide + b"\n1\n")
    with pytest.raises(ValueError, match="a name of a column may have 1,000 characters"):
        read_whole("table", b"a" * 2_000 + b",b\n1,2\n")


@pytest.mark.parametrize(
    "content",
    [b"a\n1\n" + b"\n" * 400_000, b"a,b\n" + b"1,2\n" * 100_000, b"a,b,c\n" + b",,\n" * 100_000],
    ids=["empty lines", "short cells", "empty cells"],
)
def test_texts_take_memory_in_proportion_to_their_size(content):
    read_whole("table", b"a,b\n1,2\n")
    tracemalloc.start()
    read_whole("table", content)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 50 * 2**20 + 20 * len(content)


@pytest.mark.parametrize(
    "text",
    ["a" + " " * 10**6 + "b", "±" * 10**6 + " x y", "1 " * 10**6, "(" * 10**6, "<1" + "0" * 10**6 + "\n"],
)
def test_long_texts_are_no_numbers_and_that_is_seen_at_once(text):
    assert not carries_error(text)
    for read in (lambda: read_value(text), lambda: read_number("value", text)):
        with pytest.raises(ValueError, match="must be a number"):
            read()
    hint_for(text)


def test_long_cells_beside_numbers_are_read_in_linear_time(tmp_path):
    cells = [" " * 10**5 + "x", "1" + ";" * 10**5, "_" * 10**5, "9" * 10**5, "1 ± " * 10**4]
    table = pl.DataFrame(
        {"option": ["A", "B", "C", "D", "E"], "value": ["1", "2", "3", "4", "5"], "note": cells}
    )
    found = read_whole("table", _saved(table, tmp_path))
    assert found.frame.height == 5


def _saved(table, folder):
    content = io.BytesIO()
    table.write_csv(content)
    (folder / "t.csv").write_bytes(content.getvalue())
    return folder / "t.csv"


def test_options_of_a_design_are_read_within_the_limits(tmp_path, monkeypatch):
    pl.DataFrame({"id": ["a"] * 1000, "x": [1.0] * 1000}).write_parquet(tmp_path / "t.parquet")
    monkeypatch.setattr(packed_tables, "MOST_UNPACKED", 100)
    with pytest.raises(ValueError, match="when it is unpacked"):
        read_options(tmp_path / "t.parquet", ["x"], "id")
