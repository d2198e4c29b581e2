"""Asking for blocks and differences on the command line, and sheets that say them."""

import polars as pl
import pytest
from tests.support.commands import plain, run

import noisewise as nw
from noisewise.cli import main


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


def test_a_block_is_asked_for_and_shown(store):
    jobs = plain("ask", store, "-n", 2, "--block", "2026-11-17")["jobs"]
    assert [job["block"] for job in jobs] == ["2026-11-17"] * 2
    assert {(job["minus"], job["together"]) for job in jobs} == {(None, None)}
    said = run("ask", store, "--block", "Tue").stdout
    assert ", in block Tue  " in said
    assert ", in block 2026-11-17" in run("status", store).stdout
    assert plain("status", store)["pending"][0]["block"] == "2026-11-17"


def test_a_difference_is_asked_for_and_told(store):
    (job,) = plain("ask", store, "--probe", "difference")["jobs"]
    pair = f"{job['option']} - {job['minus']}"
    assert f"{job['id']}  {pair}" in run("status", store).stdout
    assert f": {pair} = 0.3" in run("tell", store, job["id"], 0.3, "--se", 0.1).stdout


def test_a_bad_probe_gets_one_sentence_and_exit_code_2(store, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["noisewise", "ask", str(store), "--probe", "both"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "--probe must be one of 'option', 'difference'; got 'both'" in capsys.readouterr().err


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


def test_a_sheet_without_blocks_has_no_column_for_them(tmp_path):
    store, sheet = tmp_path / "s.db", tmp_path / "today.csv"
    run("init", store, "A", "B", "--eps", 0.1)
    run("ask", store, "-n", 2, "--out", sheet)
    assert pl.read_csv(sheet).columns == ["job", "option", "why", "expires", "value", "se"]


def test_a_budget_is_said_when_a_study_begins_and_shown_by_its_status(tmp_path):
    store = tmp_path / "s.db"
    begun = run("init", store, "A", "B", "--eps", 0.1, "--budget", 2, "--study", "small")
    assert "2 options, independent model, a budget of 2 measurements." in " ".join(begun.stdout.split())
    made = plain("init", store, "A", "B", "--eps", 0.1, "--budget", 200, "--study", "large")
    assert (made["policy"], made["budget"]) == ("vage", 200)
    assert run("tell", store, "A", 1.0, "--se", 0.1, "--study", "small").exit_code == 0
    status = plain("status", store, "--study", "small")
    assert (status["policy"], status["budget"], status["budget_left"]) == ("vage", 2, 1)
    words = " ".join(run("status", store, "--study", "small").stdout.split())
    assert "policy vage, for a budget of 2 measurements (1 left)." in words
    said = " ".join(run("ask", store, "-n", 2, "--study", "small").stdout.split())
    assert said.endswith("; beyond the budget of 2 measurements")
    assert said.count("beyond the budget") == 1
