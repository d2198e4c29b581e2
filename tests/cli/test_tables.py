"""Tables on the command line: shown before they are told, in every dialect, and a study from one table."""

import json
import sys

import polars as pl
import pytest
from tests.support.commands import plain, run

import noisewise as nw
from noisewise.cli.app import main

GERMAN = (
    "Legierung;HV [GPa];HV_se [GPa];Cu;Tag\n"
    + "A;1.234,5;0,4;1,5;Mo\nB;1.300,5;0,5;2,5;Di\nA;1.236,5;0,4;1,5;Di\n"
)
MAP = "option=Legierung,value=HV,se=HV_se"


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "s.db"
    assert run("init", path, "A", "B", "C", "--eps", 0.5).exit_code == 0
    return path


@pytest.fixture
def refused(monkeypatch, capsys):
    def check(*arguments):
        monkeypatch.setattr(sys, "argv", ["noisewise", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        assert stopped.value.code == 2
        return capsys.readouterr().err.strip()

    return check


@pytest.fixture
def german(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text(GERMAN, encoding="latin-1")
    return path


def told(path):
    return nw.load_study(path).frame("measurements").select("option", "value", "se").rows()


def test_a_dry_run_shows_what_will_be_understood_and_changes_nothing(store, german):
    before = store.read_bytes()
    shown = " ".join(run("import", store, german, "--map", MAP, "--dry-run").stdout.split())
    assert store.read_bytes() == before
    assert "r.csv: 3 rows; semicolons between columns;" in shown
    assert "decimal commas" in shown
    assert "value (what came out): 'HV [GPa]', in GPa" in shown
    assert "Not used: 'Cu', 'Tag'." in shown
    assert "row 1 (line 2): option A, value 1234.5, se 0.4" in shown
    assert "Dry run: nothing was written. It would be: recorded 3" in shown
    answer = plain("import", store, german, "--map", MAP, "--dry-run")
    assert answer["dry_run"]
    assert answer["told"] == 3
    assert answer["understood"]["units"] == {"value": "GPa", "se": "GPa"}
    assert answer["understood"]["first_rows"][0] == {"option": "A", "value": 1234.5, "se": 0.4}
    assert nw.load_study(store).n_measurements == 0


def test_an_import_tells_its_guesses_in_one_line_and_a_plain_one_none(store, german, tmp_path):
    said = run("import", store, german, "--map", MAP).stdout
    assert said.startswith("Read with semicolons between columns;")
    assert told(store) == [("A", 1234.5, 0.4), ("B", 1300.5, 0.5), ("A", 1236.5, 0.4)]
    (tmp_path / "p.csv").write_text("option,value,se\nC,1.0,0.1\n")
    assert run("import", store, tmp_path / "p.csv").stdout.startswith("Recorded 1")


@pytest.mark.parametrize("sign", [",", ";", "\t"])
def test_standard_input_has_all_dialects_of_text(store, sign):
    rows = [
        ["option", "value", "se"],
        ["A", "1,5" if sign != "," else "1.5", "0,4" if sign != "," else "0.4"],
    ]
    run("import", store, "-", stdin="\n".join(sign.join(row) for row in rows))
    assert told(store) == [("A", 1.5, 0.4)]


def test_what_is_ambiguous_is_refused_in_the_words_of_the_command_line(store, refused, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text('option,value,se\nA,"1,234",2\n')
    assert "say --decimal , or --decimal ." in refused("import", store, table)
    assert plain("import", store, table, "--decimal", ",")["told"] == 1
    assert told(store) == [("A", 1.234, 2.0)]
    assert "--decimal must be one of '.', ','; got ';'" in refused("import", store, table, "--decimal", ";")


@pytest.mark.parametrize("text", ["0,4", "0,4e-1", ",4", "+0,4"])
def test_a_decimal_comma_is_never_two_error_bars(store, refused, text):
    assert "--se must have a decimal point" in refused("tell", store, "A", "1", f"--se={text}")


def test_a_study_is_made_of_one_table(german, tmp_path):
    path = tmp_path / "new.db"
    said = run(
        "init", path, "--from", german, "--map", MAP, "-f", "Cu", "--model", "linear", "--eps", 1
    ).stdout
    assert "2 options, 3 measurements, linear model" in " ".join(said.split())
    study = nw.load_study(path)
    assert study.options == ["A", "B"]
    assert study.specification.catalogue.values.tolist() == [[1.5], [2.5]]
    assert told(path) == [("A", 1234.5, 0.4), ("B", 1300.5, 0.5), ("A", 1236.5, 0.4)]


def test_a_study_from_a_table_is_made_whole_or_not_at_all(refused, tmp_path):
    path, table = tmp_path / "new.db", tmp_path / "t.csv"
    table.write_text("option,value,se,x\nA,1,0.1,1\nB,2,0.1,2\nA,3,0,1\n")
    assert "row 3 (A, line 4): se is 0." in refused(
        "init", path, "--from", table, "--ignore", "x", "--eps", 1
    )
    assert not path.exists()
    table.write_text("option,value,se,x\nA,1,0.1,1\nB,2,0.1,2\nA,3,0.1,1.5\n")
    message = refused("init", path, "--from", table, "-f", "x", "--model", "linear", "--eps", 1)
    assert "row 3 (A, line 4): x is 1.5, and 1 in row 1 (line 2); what describes an option must be" in message
    table.write_text("option,value,se\nA,1,0.1\nB,2,0.1\nTotal,3,0.1\n")
    assert "row 3 (line 4): 'Total' looks like a row that sums" in refused(
        "init", path, "--from", table, "--eps", 1
    )
    table.write_text("option,value,se\nA,1,0.1\nB,2,0.1\n\nNote: by hand,,\n")
    assert "row 3 (line 5): 'Note: by hand' looks like a note" in refused(
        "init", path, "--from", table, "--eps", 1
    )
    table.write_text("option,value,se,x\nA,1,0.1,1\nB,2,0.1,2\n")
    message = refused("init", path, "--from", table, "--ignore", "x", "--model", "linear", "--eps", 1)
    assert "must name the columns of the results that describe options" in message
    assert not path.exists()


def test_a_dry_run_of_a_new_study_makes_nothing(german, tmp_path):
    path = tmp_path / "new.db"
    said = " ".join(run("init", path, "--from", german, "--map", MAP, "--eps", 1, "--dry-run").stdout.split())
    assert "row 1 (line 2): option A, value 1234.5" in said
    assert "(a dry run: nothing was made): the largest of 2 options, 3 measurements" in said
    assert not path.exists()


def test_differences_items_and_ids_of_a_table_make_studies_too(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("plus,minus,value,se\nA,B,1,0.1\nC,B,2,0.1\n")
    assert plain("init", tmp_path / "d.db", "--from", table, "--eps", 1)["options"] == 3
    table.write_text("alloy,value,se\n03,1,0.1\n3,2,0.1\n")
    assert plain("init", tmp_path / "i.db", "--from", table, "--map", "option=alloy", "--eps", 1)["told"] == 2
    assert nw.load_study(tmp_path / "i.db").options == ["03", "3"]
    table.write_text("option,item,value\nA,q1,1\nA,q2,0\nB,q1,1\nB,q2,1\n")
    assert plain("init", tmp_path / "q.db", "--from", table, "--eps", 1)["told"] == 2


def test_names_that_are_nearly_the_same_are_told_and_dates_among_names_refused(refused, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("option,value,se\n03,1,0.1\n3,2,0.1\nCu 1,1,0.1\ncu  1,1,0.1\n")
    said = " ".join(run("init", tmp_path / "n.db", "--from", table, "--eps", 1).stdout.split())
    assert "'03' and '3' as two options; 'Cu 1' and 'cu 1' as two options" in said
    assert len(nw.load_study(tmp_path / "n.db").options) == 4
    table.write_text("option,value,se\nSEPT1,1,0.1\n2-Sep,2,0.1\n")
    message = refused("init", tmp_path / "d.db", "--from", table, "--eps", 1)
    assert "row 2 (line 3): column 'option' holds a date, '2-Sep'" in message


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("notes.txt", b"We met on Monday.\nThen we left.\n", "'{path}' is a text without columns"),
        ("p.png", b"\x89PNG\r\n\x1a\n" + b"\0" * 9, "'p.png' is a picture"),
        ("old.db", b"SQLite format 3\0", "'old.db' is a database"),
        ("mystery", b"SQLite format 3\0", "'mystery' is a database"),
        ("x.xlsx", b"nothing", "'x.xlsx' is not a workbook"),
        ("x.ods", b"PK\x03\x04", "must be a file that ends in one of"),
    ],
)
def test_a_file_that_is_no_table_is_no_option(refused, tmp_path, name, content, sentence):
    path = tmp_path / name
    path.write_bytes(content)
    message = refused("init", tmp_path / "new.db", path, "--eps", 1)
    assert sentence.replace("{path}", str(path)) in message
    assert not (tmp_path / "new.db").exists()


def test_options_tables_have_dialects_too(tmp_path):
    table = tmp_path / "o.csv"
    table.write_text("id;x (mm);Kosten\nA;1,5;1.000,5\nB;2,5;2,5\n")
    made = plain(
        "init", tmp_path / "o.db", table, "-f", "x", "--map", "cost=Kosten", "--eps", 1, "--model", "linear"
    )
    catalogue = nw.load_study(tmp_path / "o.db").specification.catalogue
    assert catalogue.values.tolist() == [[1.5], [2.5]]
    assert catalogue.costs == [1000.5, 2.5]
    assert "decimal commas" in json.dumps(made["notes"])


def test_a_decimal_sign_that_options_leave_open_is_asked_for(refused, tmp_path):
    table, path = tmp_path / "o.csv", tmp_path / "o.db"
    table.write_text('id,x\nA,"1,234"\nB,"2,345"\n')
    given = ("init", path, table, "-f", "x", "--model", "linear", "--eps", 1)
    assert "row 1 (line 2): '1,234' in column 'x' is 1.234" in refused(*given)
    assert "say --decimal , or --decimal ." in refused(*given)
    assert run(*given, "--decimal", ",").exit_code == 0
    table.write_text('id,x\nC,"1,500"\n')
    assert "say --decimal , or --decimal ." in refused("add", path, table)
    assert plain("add", path, table, "--decimal", ",")["added"] == ["C"]
    assert nw.load_study(path).events()[-1].body["values"] == [[1.5]]


def test_results_in_the_place_of_options_are_shown_the_way(refused, tmp_path):
    table = tmp_path / "r.csv"
    table.write_text("option,value,se\nA,1,0.1\n")
    message = refused("init", tmp_path / "n.db", table, "--eps", 1)
    assert "If these are results, say init --from TABLE." in message


def test_init_without_options_or_table_says_what_it_needs(refused, tmp_path):
    assert "init needs OPTIONS, or --from TABLE" in refused("init", tmp_path / "n.db", "--eps", 1)
    assert "--map may name option and cost where there are no results" in refused(
        "init", tmp_path / "n.db", "A", "B", "--map", "value=x", "--eps", 1
    )


def test_in_python_a_study_is_made_of_results_as_well(tmp_path):
    frame = pl.DataFrame(
        {"alloy": ["A", "B", "A"], "HV": [1.0, 2.0, 3.0], "err": [0.1, 0.1, 0.1], "x": [1, 2, 1]}
    )
    study = nw.create_study(
        results=frame, roles={"option": "alloy", "value": "HV", "se": "err"}, features=["x"], eps=1.0
    )
    assert study.options == ["A", "B"]
    assert study.n_measurements == 3
    with pytest.raises(TypeError, match="`options` must be given, or `results`"):
        nw.create_study(eps=1.0)
    mapped = {"option": "alloy", "value": "HV", "se": "err"}
    both = nw.create_study(options=["C", "B", "A"], results=frame, eps=1.0, roles=mapped, ignore=["x"])
    assert both.options == ["C", "B", "A"]


def test_a_study_from_a_table_counts_rows_without_a_result_and_its_event(tmp_path):
    table, store = tmp_path / "t.csv", tmp_path / "s.db"
    table.write_text("option,value,se\nA,1.5,0.1\nB,,\n")
    said = run("init", store, "--from", table, "--eps", "0.2").stdout
    assert said.endswith("independent model.\n1 row without a result.\n")
    assert "Log: 1 event, head" in run("status", store).stdout


def test_an_eps_above_every_share_is_refused(tmp_path, refused):
    (tmp_path / "c.csv").write_text("option,successes,trials\nA,60,1000\nB,48,1000\n")
    begin = ["init", tmp_path / "c.db", "--from", tmp_path / "c.csv"]
    said = refused(*begin, "--eps", 0.5)
    assert "--eps is 0.5, and shares of successes in the table lie between 0.048 and 0.06" in said
    assert said.endswith("For 0.5 per cent write 0.005.")
    assert plain(*begin, "--eps", 0.05)["told"] == 2


@pytest.mark.parametrize(("header", "warned"), [("latency [ms]", True), ("cost", True), ("HV", False)])
def test_a_study_says_whether_the_largest_is_the_best(tmp_path, header, warned):
    (tmp_path / "t.csv").write_text(f"option,{header},se\nA,1.0,0.1\nB,2.0,0.1\n")
    begin = ["--from", tmp_path / "t.csv", "--map", f"option=option,value={header},se=se", "--eps", 0.5]
    said = " ".join(run("init", tmp_path / "a.db", *begin).stdout.split())
    assert "the largest of 2 options, 2 measurements" in said
    assert (f"less of '{header}' sounds better" in said) == warned
    said = " ".join(run("init", tmp_path / "b.db", *begin, "--goal", "min").stdout.split())
    assert "the smallest of 2 options" in said
    assert "sounds better" not in said


#: A spreadsheet as it comes: a title, a date in front, per cent signs, decimal commas, remarks.
PURITY = (
    "Purity of batches;;;;\n\nDate;Supplier ;Purity (%);+/- (1 s.d.);Remarks\n"
    "01.10.2026;Basic;98,51%;0,10%;\n02.10.2026;Donau;98,10%;0,15%;repeat\n"
    "03.10.2026;Basic;98,62%;0,10%;\n04.10.2026;Elbe;95,79%;0,10%;\n"
)


def test_a_spreadsheet_as_it_comes_needs_an_eps_in_its_unit(refused, tmp_path):
    (tmp_path / "p.csv").write_text(PURITY, encoding="utf-8")
    begin = ["init", tmp_path / "p.db", "--from", tmp_path / "p.csv", "--map", "se=+/- (1 s.d.)"]
    assert not (tmp_path / "p.db").exists()
    assert run(*begin, "--eps", 0.005).exit_code == 0
    assert plain("certify", tmp_path / "p.db")["certificate"]["option"] == "Basic"
