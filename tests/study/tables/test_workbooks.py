"""Sheets of workbooks: numbers stay exact, and what a spreadsheet made of them is never taken silently."""

import datetime

import pytest

import noisewise as nw

openpyxl = pytest.importorskip("openpyxl")

HEADER = ["option", "value", "se"]
AB = [("A", 1.5, 0.4), ("B", 2.5, 0.3)]


def saved(path, *rows, change=lambda sheet: None, **others):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(list(row))
    change(book.active)
    for title, content in others.items():
        sheet = book.create_sheet(title)
        for row in content:
            sheet.append(list(row))
    book.save(path)
    return path


def told(source, *more, **said):
    study = nw.create_study(options=["A", "B", "03", "3", *more], eps=1.0)
    taken = study.tell_many(source, **said)
    return study.frame("measurements").select("option", "value", "se").rows(), taken.understood


def refusal(source, **said):
    with pytest.raises((ValueError, KeyError)) as found:
        told(source, **said)
    return str(found.value.args[0])


def test_a_sheet_is_read_and_its_rows_are_those_of_the_sheet(tmp_path):
    path = saved(tmp_path / "r.xlsx", ["Hardness"], [], HEADER, *AB)
    rows, understood = told(path)
    assert rows == AB
    assert understood.guesses == ["1 line above the header left out"]
    path = saved(tmp_path / "r.xlsx", ["Hardness"], [], HEADER, ["A", 1.5, 0.4], ["B", "x", 0.3])
    assert "row 2 (B, sheet row 5): `value` must be a number" in refusal(path)


def test_one_of_several_sheets_is_named_behind_the_file(tmp_path):
    path = saved(tmp_path / "r.xlsx", HEADER, *AB, Monday=[HEADER, ["A", 7.0, 1.0]], Empty=[])
    assert "has several sheets" in refusal(path)
    assert told(f"{path}#Monday")[0] == [("A", 7.0, 1.0)]
    assert told(f"{path}#monday")[0] == [("A", 7.0, 1.0)]
    assert "has no sheet 'Friday'; its sheets are 'Sheet', 'Monday', 'Empty'" in refusal(f"{path}#Friday")
    assert "is empty" in refusal(f"{path}#Empty")


def test_numbers_stored_as_text_are_numbers(tmp_path):
    path = saved(tmp_path / "r.xlsx", HEADER, ["A", "1,5", 0.4], ["B", 2.5, "0,3"])
    rows, understood = told(path)
    assert rows == AB
    assert understood.guesses == ["decimal commas"]
    path = saved(tmp_path / "r.xlsx", HEADER, ["A", "1,234", 4.0], ["B", 2.5, 3.0])
    assert "say decimal=',' or decimal='.'" in refusal(path)
    assert told(path, decimal=".")[0] == [("A", 1234.0, 4.0), ("B", 2.5, 3.0)]


def test_dates_that_were_numbers_or_names_are_refused_and_days_are_blocks(tmp_path):
    day = datetime.datetime(2026, 2, 1)
    path = saved(tmp_path / "r.xlsx", HEADER, ["A", day, 0.4])
    assert "row 1 (A, sheet row 2): `value` must be a number; got '2026-02-01'" in refusal(path)
    path = saved(tmp_path / "r.xlsx", HEADER, ["A", 1.0, 0.4], [day, 1.0, 0.4])
    assert "row 2 (sheet row 3): column 'option' holds a date" in refusal(path)
    path = saved(tmp_path / "r.xlsx", [*HEADER, "block"], ["A", 1.0, 0.4, day], ["B", 1.0, 0.4, day])
    study = nw.create_study(options=["A", "B"], eps=1.0)
    study.tell_many(path)
    assert study.frame("measurements")["block"].to_list() == ["2026-02-01"] * 2
    path = saved(tmp_path / "r.xlsx", [*HEADER, "block"], ["A", 1.0, 0.4, day], ["B", 1.0, 0.4, "1-2b"])
    assert "column 'block' holds a date" in refusal(path)
    with pytest.raises(ValueError, match="column 'id' holds a date"):
        nw.create_study(options=saved(tmp_path / "o.xlsx", ["id"], ["1-1"], [day]), eps=1.0)


def test_names_are_read_as_they_are_seen(tmp_path):
    def zeros(sheet):
        sheet["A2"].number_format = "00"

    path = saved(tmp_path / "r.xlsx", HEADER, [3, 1.0, 0.4], ["3", 2.0, 0.4], change=zeros)
    assert [row[0] for row in told(path)[0]] == ["03", "3"]
    path = saved(tmp_path / "r.xlsx", HEADER, [3, 1.0, 0.4], ["03", 2.0, 0.4])
    assert [row[0] for row in told(path)[0]] == ["3", "03"]


def test_errors_of_formulas_and_formulas_without_results_are_refused(tmp_path):
    path = saved(tmp_path / "r.xlsx", HEADER, ["A", "#DIV/0!", 0.4])
    assert "the error of a spreadsheet's formula" in refusal(path)
    path = saved(tmp_path / "r.xlsx", HEADER, ["A", 1.0, 0.4], ["B", "=1+1", 0.4])
    assert "cell B3 of sheet 'Sheet' holds a formula without its result, '=1+1'" in refusal(path)


def test_merged_names_are_those_of_all_their_rows_and_merged_numbers_count_once(tmp_path):
    path = saved(tmp_path / "r.xlsx", HEADER, *AB, change=lambda sheet: sheet.merge_cells("A2:A3"))
    assert told(path)[0] == [("A", 1.5, 0.4), ("A", 2.5, 0.3)]
    path = saved(tmp_path / "r.xlsx", HEADER, *AB, change=lambda sheet: sheet.merge_cells("B2:B3"))
    assert "If there is no result, leave its error bar empty as well" in refusal(path)
    title = saved(tmp_path / "t.xlsx", ["T"], HEADER, *AB, change=lambda sheet: sheet.merge_cells("A1:C1"))
    assert told(title)[0] == AB


def test_per_cent_cells_and_hidden_rows_are_told(tmp_path):
    def change(sheet):
        sheet["B2"].number_format = "0.0%"
        sheet.row_dimensions[3].hidden = True

    rows, understood = told(
        saved(tmp_path / "r.xlsx", HEADER, ["A", 0.125, 0.01], ["B", 0.5, 0.1], change=change)
    )
    assert rows[0] == ("A", 0.125, 0.01)
    assert understood.guesses == [
        "hidden rows of the sheet too (1)",
        "per cent cells of 'value' as hundredths",
    ]
    assert understood.percent
    with pytest.raises(ValueError, match=r"for 0\.5 per cent write 0\.005"):
        nw.create_study(results=tmp_path / "r.xlsx", eps=0.5)


def test_a_broken_workbook_is_refused(tmp_path):
    (tmp_path / "r.xlsx").write_bytes(b"PK\x03\x04" + b"\0" * 100)
    assert "'r.xlsx' is not a readable workbook" in refusal(tmp_path / "r.xlsx")
