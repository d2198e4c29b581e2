"""Items on the command line: pools, asking, telling, sheets, tables."""

import polars as pl
import pytest
from tests.support.commands import plain, run

import noisewise as nw
from noisewise.cli import main


@pytest.fixture
def store(tmp_path):
    """A study of two options with a pool of twelve items, from a table."""
    pl.DataFrame({"item": [f"q{k}" for k in range(12)]}).write_csv(tmp_path / "questions.csv")
    path = tmp_path / "study.db"
    done = run("init", path, "A", "B", "--eps", 0.1, "--items", tmp_path / "questions.csv")
    assert done.exit_code == 0, done.output
    return path


def test_asking_says_which_items_come_next(store):
    (job,) = plain("ask", store, "--items", 4)["jobs"]
    assert job["items"] == nw.load_study(store)._state.items.names[:4]
    assert (job["option"], job["fresh"]) == ("A", 0)
    assert f"ask-1  A, on {job['items'][0]}, {job['items'][1]} … {job['items'][3]} (4 items)" in run(
        "status", store
    ).stdout.replace("\n", " ")


def test_items_are_told_and_corrected(store):
    first, second = nw.load_study(store).next_items("A", 2)
    told = plain("tell", store, "A", "--items", f"{first}=1,{second}=0")["measurement"]
    assert (told["value"], told["kind"]) == (0.5, "items")
    assert plain("amend", store, "m-1", "misread", "--items", f"{second}=1")["measurement"]["value"] == 1.0
    rows = plain("export", store, "--what", "items")["rows"]
    assert [(row["option"], row["item"], row["value"]) for row in rows] == [
        ("A", first, 1.0),
        ("A", second, 1.0),
    ]


def test_a_sheet_has_a_row_for_every_item_and_comes_back(store, tmp_path):
    sheet = tmp_path / "sheet.csv"
    plain("ask", store, "-n", 2, "--items", 3, "--out", sheet)
    table = pl.read_csv(sheet, infer_schema=False)
    assert table.columns == ["job", "option", "item", "why", "expires", "value"]
    assert table.height == 6
    filled = ["1", "0", "1", "1", "1", None]
    table.with_columns(pl.Series("value", filled, dtype=pl.String)).write_csv(sheet)
    taken = plain("import", store, sheet)
    assert (taken["told"], taken["items"], taken["empty"], taken["unasked"]) == (2, 5, 1, 0)
    table.with_columns(pl.Series("value", ["1", "0", "1", "1", "1", "0"], dtype=pl.String)).write_csv(sheet)
    again = plain("import", store, sheet)
    assert (again["told"], again["items"], again["known"], again["empty"]) == (1, 1, 5, 0)
    assert "6 rows, all known already." in run("import", store, sheet).stdout


def test_a_sheet_of_new_items_is_filled_in_with_their_names(tmp_path):
    path, sheet = tmp_path / "stream.db", tmp_path / "sheet.csv"
    run("init", path, "A", "B", "--eps", 0.1)
    plain("ask", path, "--items", 2, "--out", sheet)
    table = pl.read_csv(sheet, infer_schema=False)
    table.with_columns(item=pl.Series(["x", "y"]), value=pl.Series(["1", "0"])).write_csv(sheet)
    assert plain("import", path, sheet)["items"] == 2
    assert nw.load_study(path).next_items("B") == ["x", "y"]


def test_columns_are_mapped(store, tmp_path):
    names = nw.load_study(store).next_items("A", 3)
    pl.DataFrame({"model": ["A"] * 3, "question": names, "grade": [1, 0, 1]}).write_csv(
        tmp_path / "table.csv"
    )
    mapped = "option=model,item=question,value=grade"
    assert plain("import", store, tmp_path / "table.csv", "--map", mapped)["items"] == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("tell", "A", "--items", "q1"), "--items must look like q17=1,q18=0; got 'q1'"),
        (("tell", "A", "--items", "q1=1,q1=0"), "--items must name each item once"),
        (("tell", "A", "--items", "q1=x"), "--items must be a number"),
        (("tell", "A", "--items", "nobody=1"), "'nobody' is not among the 12 items"),
        (("ask", "--items", 0), "--items must be at least 1"),
        (("plan",), "a plan is made for measurements whose error bars are known beforehand"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(store, monkeypatch, capsys, arguments, said):
    command, *rest = arguments
    monkeypatch.setattr("sys.argv", ["noisewise", command, str(store), *map(str, rest)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert said in capsys.readouterr().err.replace("\n", " ")


def test_a_pool_may_be_a_number(tmp_path):
    run("init", tmp_path / "study.db", "A", "B", "--eps", 0.1, "--items", 30)
    assert len(nw.load_study(tmp_path / "study.db").next_items("A", 100)) == 30


def test_a_pool_has_one_item_at_least(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["noisewise", "init", str(tmp_path / "s.db"), "A", "B", "--items", "-3"])
    with pytest.raises(SystemExit):
        main()
    assert "--items must be at least 1; got -3." in capsys.readouterr().err
    assert not (tmp_path / "s.db").exists()


def test_a_study_of_items_takes_no_bare_number(tmp_path):
    study = nw.create_study(options=["A", "B"], eps=0.1, items=30)
    with pytest.raises(ValueError, match="measures options on its items"):
        study.tell(option="A", value=1)
    assert study.n_measurements == 0
    study.tell(option="A", value=1, se=0.1)


def test_a_table_without_a_column_of_items_is_no_pool(tmp_path, monkeypatch, capsys):
    pl.DataFrame({"a": ["x"], "b": ["y"]}).write_csv(tmp_path / "table.csv")
    monkeypatch.setattr(
        "sys.argv",
        ["noisewise", "init", str(tmp_path / "s.db"), "A", "B", "--items", str(tmp_path / "table.csv")],
    )
    with pytest.raises(SystemExit):
        main()
    assert "--items must be a table with a column item" in capsys.readouterr().err
