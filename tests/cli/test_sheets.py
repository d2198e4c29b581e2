"""Sheets of suggestions: written for a person, filled in, and imported."""

import polars as pl
import pytest
from tests.support.commands import plain, run

import noisewise as nw


@pytest.fixture
def store(tmp_path):
    """A store with one study, in which three options were measured on Monday."""
    path = tmp_path / "study.db"
    assert run("init", path, "A", "B", "C", "--eps", 0.1).exit_code == 0
    for option, value in (("A", 1.0), ("B", 1.2), ("C", 1.1)):
        assert run("tell", path, option, value, "--se", 0.3, "--block", "Mon").exit_code == 0
    return path


def fill(sheet, **cells):
    """Fill in a sheet as a person would, with values from 1 on unless said otherwise."""
    table = pl.read_csv(sheet, infer_schema=False)
    n = table.height
    filled = {"value": [str(1 + k) for k in range(n)], "se": ["0.1"] * n, **cells}
    table.with_columns(pl.Series(name, column, dtype=pl.String) for name, column in filled.items()).write_csv(
        sheet
    )


def measured(store):
    return nw.load_study(store).frame("measurements")[3:].select("option", "minus", "block").rows()


def test_a_sheet_for_a_named_block_is_imported_into_it(store, tmp_path):
    sheet = tmp_path / "today.csv"
    run("ask", store, "-n", 3, "--block", "Tue", "--out", sheet)
    table = pl.read_csv(sheet)
    assert table.columns == ["job", "option", "block", "why", "expires", "value", "se"]
    assert table["block"].to_list() == ["Tue"] * 3
    fill(sheet, block=["Tue", "Wed", ""])  # changed in one row, and cleared in another
    assert plain("import", store, sheet)["told"] == 3
    assert [block for *_, block in measured(store)] == ["Tue", "Wed", "Tue"]
    assert plain("import", store, sheet)["known"] == 3


def test_a_sheet_for_a_new_block_is_named_by_whoever_fills_it_in(store, tmp_path):
    sheet = tmp_path / "today.csv"
    said = run("ask", store, "-n", 3, "--out", sheet).stdout
    assert ", in a new block  " in said
    assert "in a new block with ask-1" in " ".join(said.split())
    assert pl.read_csv(sheet)["block"].to_list() == [""] * 3
    fill(sheet)
    refused = run("import", store, sheet)
    assert "is meant for a new block, not named yet: say `block`" in str(refused.exception)
    assert measured(store) == []
    fill(sheet, block=["17 Nov", "", ""])
    assert plain("import", store, sheet)["told"] == 3
    assert [block for *_, block in measured(store)] == ["17 Nov"] * 3


def test_a_sheet_of_differences_has_both_options(store, tmp_path):
    sheet = tmp_path / "today.csv"
    jobs = plain("ask", store, "-n", 2, "--probe", "difference", "--block", "Tue", "--out", sheet)["jobs"]
    table = pl.read_csv(sheet)
    assert table.columns == ["job", "plus", "minus", "block", "why", "expires", "value", "se"]
    pairs = [(job["option"], job["minus"]) for job in jobs]
    assert table.select("plus", "minus").rows() == pairs
    (plus, minus), second = pairs
    fill(
        sheet, plus=[minus, second[0]], minus=[plus, second[1]]
    )  # the first was measured the other way round
    assert plain("import", store, sheet)["told"] == 2
    assert measured(store) == [(minus, plus, "Tue"), (*second, "Tue")]
    status = plain("status", store)
    assert status["pending"] == []


@pytest.fixture
def items_store(tmp_path):
    """A study of two options with a pool of twelve items, from a table."""
    pl.DataFrame({"item": [f"q{k}" for k in range(12)]}).write_csv(tmp_path / "questions.csv")
    path = tmp_path / "study.db"
    done = run(
        "init", path, "A", "B", "--eps", 0.1, "--seed", 0, "--measure", f"items:{tmp_path / 'questions.csv'}"
    )
    assert done.exit_code == 0, done.output
    return path


def test_a_sheet_has_a_row_for_every_item_and_comes_back(items_store, tmp_path):
    sheet = tmp_path / "sheet.csv"
    plain("ask", items_store, "-n", 2, "--items", 3, "--out", sheet)
    table = pl.read_csv(sheet, infer_schema=False)
    assert table.columns == ["job", "option", "item", "why", "expires", "value"]
    assert table.height == 6
    filled = ["1", "0", "1", "1", "1", None]
    table.with_columns(pl.Series("value", filled, dtype=pl.String)).write_csv(sheet)
    taken = plain("import", items_store, sheet)
    assert (taken["told"], taken["items"], taken["empty"], taken["unasked"]) == (2, 5, 1, 0)
    table.with_columns(pl.Series("value", ["1", "0", "1", "1", "1", "0"], dtype=pl.String)).write_csv(sheet)
    again = plain("import", items_store, sheet)
    assert (again["told"], again["items"], again["known"], again["empty"]) == (1, 1, 5, 0)
    assert "6 rows, all known already." in run("import", items_store, sheet).stdout


def test_a_sheet_of_new_items_is_filled_in_with_their_names(tmp_path):
    path, sheet = tmp_path / "stream.db", tmp_path / "sheet.csv"
    run("init", path, "A", "B", "--eps", 0.1)
    plain("ask", path, "--items", 2, "--out", sheet)
    table = pl.read_csv(sheet, infer_schema=False)
    table.with_columns(item=pl.Series(["x", "y"]), value=pl.Series(["1", "0"])).write_csv(sheet)
    assert plain("import", path, sheet)["items"] == 2
    assert nw.load_study(path).next_items("B") == ["x", "y"]
