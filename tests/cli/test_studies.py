"""Studies on the command line, as people and scripts use them."""

import json
import re
import sys

import polars as pl
import pytest
from typer.testing import CliRunner

import noisewise as nw
from noisewise.cli import app, main
from noisewise.study.stores.database.sql import SqlStorage


def run(*arguments, stdin=None):
    return CliRunner().invoke(app, [str(a) for a in arguments], input=stdin, catch_exceptions=False)


def plain(*arguments, stdin=None):
    result = run(*arguments, "--json", stdin=stdin)
    content = json.loads(result.stdout)
    assert content["schema"].startswith("noisewise.")
    return content


def fail(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["noisewise", *map(str, arguments)])
    with pytest.raises(SystemExit) as left:
        main()
    return left.value.code, capsys.readouterr().err.strip()


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "a.db"
    assert run("init", path, "A", "B", "C", "D", "--eps", 0.5).exit_code == 0
    return path


def test_from_a_list_to_a_certificate(store):
    assert run("certify", store).exit_code == 3
    while run("certify", store).exit_code == 3:
        (job,) = plain("ask", store)["jobs"]
        told = plain(
            "tell", store, job["id"], {"A": -1.0, "B": 0.0, "C": 3.0, "D": 1.0}[job["option"]], "--se", 0.2
        )
        assert told["measurement"]["option"] == job["option"]
    found = plain("certify", store)["certificate"]
    assert (found["option"], found["reached"]) == ("C", True)
    assert run("best", store).stdout.splitlines()[0] == "C"
    assert plain("best", store)["option"] == "C"
    assert run("check", store).exit_code == 0
    status = plain("status", store)
    assert status["certificate"] == found
    assert status["measurements"] == nw.load_study(store).n_measurements
    assert run("status", store).stdout.startswith("C is the best of 4")


def test_a_table_of_options_with_features(tmp_path):
    table = tmp_path / "alloys.csv"
    table.write_text("alloy,Cr,kind,cost\nA-1,0.1,cast,2\nA-2,0.4,rolled,3\nA-3,0.9,cast,2\n")
    arguments = ["--id", "alloy", "-f", "Cr,kind", "--model", "linear", "--span", 5, "--eps", 0.2]
    made = plain("init", tmp_path / "a.db", table, *arguments, "--policy", "widest", "-s", "alloys")
    assert (made["study"], made["options"], made["model"]) == ("alloys", 3, "linear")
    assert made["notes"] == ["kind is a category of 2 levels; 'cast' is the reference level."]
    study = nw.load_study(tmp_path / "a.db")
    assert (study.policy, study.specification.eps, study.specification.span) == ("widest", 0.2, 5.0)
    more = plain("add", tmp_path / "a.db", "-", "--id", "alloy", stdin="alloy,Cr,kind,cost\nA-4,0.5,cast,1\n")
    assert more["added"] == ["A-4"]
    run("init", tmp_path / "a.db", "x", "y", "--eps", 1, "-s", "other")
    assert plain("list", tmp_path / "a.db")["studies"] == ["alloys", "other"]
    listed = run("list", tmp_path / "a.db").stdout.splitlines()
    assert [line.split()[0] for line in listed] == ["study", "alloys", "other"]


@pytest.mark.parametrize(
    ("arguments", "value", "se"),
    [
        (["A", "-0.3", "--se", "0.1"], -0.3, 0.1),
        (["A", "-1e-3", "--var", "0.25"], -0.001, 0.5),
        (["A", "12.34(5)"], 12.34, 0.05),
        (["A", "1", "--sd", "0.4", "--n", "4"], 1.0, 0.2),
        (["A", "1", "--ci", "0.804,1.196"], 1.0, 0.1),
        (["A", "1", "--se", "0.1,0.2"], 1.0, 0.2),
        (["A", "--values", "1;2;3"], 2.0, 1 / 3**0.5),
        (["A", "--successes", "25", "--trials", "100"], 0.25, 0.0433),
        (["--plus", "A", "--minus", "B", "-1.5", "--se", "0.2"], -1.5, 0.2),
        (["A", "5"], 5.0, None),
    ],
)
def test_every_way_to_say_an_error_bar(store, arguments, value, se):
    told = plain("tell", store, *arguments, "--block", "Tue", "--key", "k", "--note", "n", "--by", "eve")
    measurement = told["measurement"]
    assert measurement["id"] == "m-1"
    assert measurement["value"] == pytest.approx(value)
    assert measurement["se"] == (se if se is None else pytest.approx(se, rel=1e-3))
    assert measurement["minus"] == ("B" if "--plus" in arguments else None)
    again = plain("tell", store, *arguments, "--block", "Tue", "--key", "k")
    assert again["measurement"] == measurement  # harmless


def test_a_sheet_is_filled_in_and_imported(store, tmp_path):
    sheet = tmp_path / "today.csv"
    run("ask", store, "-n", 3, "--by", "eve", "--out", sheet, "--lease", 2)
    table = pl.read_csv(sheet)
    assert table.columns == ["job", "option", "why", "expires", "value", "se"]
    filled = table.with_columns(value=pl.Series([1.0, None, 2.0]), se=pl.Series([0.1, None, 0.2]))
    filled.write_csv(sheet)
    told = plain("import", store, sheet)
    assert (told["told"], told["empty"], told["unasked"], told["pending"]) == (2, 1, 0, 1)
    assert [job["by"] for job in plain("status", store)["pending"]] == ["eve"]
    assert "under way" in run("status", store).stdout


CSV = "alloy,HV,err,run,plate,lab\nA,1.0,0.1,1,p1,L\nC,2.0,0.2,2,p1,L\nD,3.0,0.2,3,p2,L\n"
MAP = "option=alloy,value=HV,se=err,block=plate,key={plate}/{run}"


def test_import_maps_columns_matches_suggestions_and_is_idempotent(store):
    asked = plain("ask", store, "-n", 2)["jobs"]
    first = plain("import", store, "-", "--map", MAP, stdin=CSV)
    matched = sum(job["option"] in "ACD" for job in asked)
    assert (first["told"], first["known"], first["unasked"]) == (3, 0, 3 - matched)
    assert first["unused_columns"] == ["lab"]
    again = plain("import", store, "-", "--map", MAP, stdin=CSV)
    assert (again["told"], again["known"]) == (0, 3)
    said = run("import", store, "-", "--map", MAP, stdin=CSV).stdout
    assert said == "3 rows, all known already.\nColumns not used: lab.\n"
    frame = nw.load_study(store).frame("measurements")
    assert frame["key"].to_list() == ["p1/1", "p1/2", "p2/3"]
    assert frame["block"].to_list() == ["p1", "p1", "p2"]


@pytest.mark.parametrize(
    ("arguments", "stdin", "sentence"),
    [
        (["--map", "value"], CSV, "--map must look like value=HV,se=HV_se; got 'value'."),
        (["--map", "valeu=HV"], CSV, "got 'valeu'. Did you mean 'value'?"),
        (["--map", "option=alloy,value=HX"], CSV, "--map must name columns of the table"),
        (["--map", "value=HV,value=err"], CSV, "--map must name 'value' once"),
        (["--map", MAP], CSV.replace("D,3.0,0.2", "D,3.0,0"), "row 3 (D, line 4): se is 0."),
        (["--map", MAP], CSV.replace("D,3.0", "X,3.0"), "row 3 (line 4): 'X' is not in the catalogue"),
        ([], CSV, "has a column 'alloy' that means nothing here"),
    ],
)
def test_a_bad_table_is_refused_whole(store, arguments, stdin, sentence, monkeypatch, capsys, tmp_path):
    (tmp_path / "t.csv").write_text(stdin)
    code, message = fail(monkeypatch, capsys, "import", store, tmp_path / "t.csv", *arguments)
    assert code == 2
    assert sentence in message
    assert nw.load_study(store).n_measurements == 0


def test_the_same_key_with_another_value_is_refused_with_both(store, monkeypatch, capsys):
    run("tell", store, "A", "1.31", "--se", "0.1", "--key", "2026-11-03/B")
    code, message = fail(
        monkeypatch, capsys, "tell", store, "A", "1.38", "--se", "0.1", "--key", "2026-11-03/B"
    )
    assert code == 2
    assert message == (
        "Error: key 2026-11-03/B already told with 1.31; you sent 1.38. Use amend on m-1 if this is a "
        "correction."
    )


def test_second_thoughts(store):
    (first, second, third) = plain("ask", store, "-n", 3)["jobs"]
    run("tell", store, first["id"], 1.0, "--se", 0.1, "--key", "k")
    assert plain("amend", store, "k", "misread", "--value", "-1.5")["measurement"]["value"] == -1.5
    assert plain("void", store, "m-1", "wrong sample")["reason"] == "wrong sample"
    assert plain("fail", store, second["id"], "cracked")["job"] == second["id"]
    assert plain("release", store, third["id"])["jobs"] == [third["id"]]
    assert plain("exclude", store, "D", "sold out")["option"] == "D"
    assert plain("include", store, "D")["option"] == "D"
    assert plain("ask", store, "--dry-run")["dry_run"]
    study = nw.load_study(store)
    assert [event.kind for event in study.events()] == [
        *["ask"] * 3, "tell", "amend", "void", "fail", "release", "exclude", "include",
    ]  # fmt: skip
    assert study.n_measurements == 0


def test_certificates_are_written_and_verified(store, tmp_path):
    for option, value in zip("ABCD", (1, 2, 3, 9), strict=True):
        run("tell", store, option, value, "--se", 0.1)
    kept = tmp_path / "c.json"
    assert run("certify", store, "--out", kept).exit_code == 0
    run("tell", store, "A", 1.05, "--se", 0.1)
    assert run("certify", store, "--verify", kept).exit_code == 0
    assert plain("certify", store, "--verify", "-", stdin=run("certify", store, "--json").stdout)["agrees"]
    kept.write_text(kept.read_text().replace('"option": "D"', '"option": "A"'))
    result = run("certify", store, "--verify", kept)
    assert result.exit_code == 1
    assert "the certificate says option='A'; the log says 'D'" in result.stdout
    kept.write_text(re.sub(r'"n_events": \d+', '"n_events": 99', kept.read_text()))
    assert "after 99 events; the log has 5" in " ".join(
        run("certify", store, "--verify", kept).stdout.split()
    )


def test_a_check_that_fires_has_exit_code_1(store):
    for value in (1, 5, 9, -3):
        run("tell", store, "A", value, "--se", 0.1)
    result = run("check", store)
    assert result.exit_code == 1
    assert "PROBLEM" in result.stdout
    assert plain("check", store)["ok"] is False
    assert run("certify", store).exit_code == 3


def test_another_model_for_the_same_log(tmp_path, monkeypatch, capsys):
    table, store = tmp_path / "alloys.csv", tmp_path / "a.db"
    table.write_text("id,x\n" + "".join(f"A-{k},{k / 10}\n" for k in range(30)))
    run("init", store, table, "--model", "linear", "--span", 20, "--eps", 0.5)
    results = "".join(f"A-{k},{k / 10 + (-1) ** (k // 2)},0.1\n" * 2 for k in range(30))
    run("import", store, "-", stdin=f"option,value,se\n{results}")
    assert run("certify", store).exit_code == 3
    found = plain("check", store)
    assert found["advice"] == {"model": "linear+deviation"}
    assert plain("status", store)["deviation"] is None
    changed = plain("switch", store, "--model", "linear+deviation", "--reason", "features miss something")
    assert (changed["model"], changed["was"], changed["extra_scatter"]) == (
        "linear+deviation",
        "linear",
        None,
    )
    assert changed["deviation"] == pytest.approx(1.0, rel=0.1)
    assert changed["certificate"]["approximate"]
    words = run("switch", store, "--deviation", 1.0, "--extra-scatter", "estimate").stdout
    assert "linear+deviation model (deviation 1, extra scatter estimated)" in " ".join(words.split())
    status = plain("status", store)
    assert (status["model"], status["deviation"]) == ("linear+deviation", 1.0)
    code, problem = fail(monkeypatch, capsys, "switch", store, "--extra-scatter", "lots")
    assert code == 2
    assert problem == "Error: --extra-scatter must be a number above 0 or 'estimate'; got 'lots'."
    made = plain("init", store, "p", "q", "--eps", 1, "--extra-scatter", 0.2, "-s", "other")
    assert made["model"] == "independent"
    assert nw.load_study(store, "other").extra_scatter == 0.2


def test_export_rebuild_rename_backup(store, tmp_path):
    run("tell", store, "A", 1.0, "--se", 0.1)
    log = run("export", store).stdout
    assert [json.loads(line)["schema"] for line in log.splitlines()] == [2, 2, 2]
    assert plain("rebuild", tmp_path / "b.db", "-", "-s", "again", stdin=log)["events"] == 1
    run("export", store, "-o", tmp_path / "log.jsonl")
    assert (tmp_path / "log.jsonl").read_text() == log
    assert plain("rename", store, "study", "tea") == {
        "schema": "noisewise.rename/1",
        "study": "tea",
        "was": "study",
    }
    assert plain("backup", store, tmp_path / "c.db")["studies"] == ["tea"]
    assert plain("migrate", store)["now"] == 2
    for what in ("measurements", "options", "events"):
        rows = plain("export", store, "--what", what)["rows"]
        assert len(rows) == {"measurements": 1, "options": 4, "events": 1}[what]
        assert run("export", store, "--what", what).stdout.count("\n") == len(rows) + 1
        for ending in ("csv", "parquet", "jsonl"):
            out = tmp_path / f"{what}.{ending}"
            assert plain("export", store, "--what", what, "-o", out)["rows"] == len(rows)
            assert out.stat().st_size > 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["ask", "no.db"], "there is no 'no.db'"),
        (["init", "{store}", "A", "--eps", "1"], "there is a study 'study' already"),
        (["init", "new.db", "A"], "--eps (how far below the best is good enough)"),
        (["tell", "{store}", "Ax", "1", "--se", "1"], "'Ax' is not in the catalogue (4 options)."),
        (["tell", "{store}", "A", "1", "--se", "x"], "--se must be numbers"),
        (["tell", "{store}", "A"], "VALUE must be given"),
        (["tell", "{store}", "ask-9", "1"], "WHAT must be a suggestion of this study"),
        (
            ["status", "{store}", "-s", "x"],
            "there is no study 'x' in this store, which has 'study'.",
        ),
        (["void", "{store}", "m-1", "because"], "MEASUREMENT must be one of this study's 0"),
        (["export", "{store}", "--what", "all"], "--what must be one of"),
        (["export", "{store}", "--what", "events", "-o", "x.gif"], "--out must end in one of .csv"),
        (["certify", "{store}", "--verify", "no.json"], "there is no file 'no.json'"),
        (["ask", "{store}", "-o", "x.txt"], "--out must end in .csv"),
        (["backup", "{store}", "{store}"], "exists and stays as it is"),
    ],
)
def test_bad_input_gets_one_sentence_and_exit_code_2(
    arguments, sentence, store, monkeypatch, capsys, tmp_path
):
    monkeypatch.chdir(tmp_path)
    before = nw.load_study(store).events()
    code, message = fail(monkeypatch, capsys, *[a.replace("{store}", str(store)) for a in arguments])
    assert code == 2
    assert message.startswith("Error: ")
    assert sentence in message
    assert "\n" not in message
    assert nw.load_study(store).events() == before
    assert not (tmp_path / "new.db").exists()


def test_words_fit_80_columns_and_have_no_colour(store):
    run("ask", store, "-n", 2)
    for option in "ABCD":
        run("tell", store, option, 1.0, "--se", 0.1)
    for command in ("status", "best", "certify", "check", "list"):
        text = run(command, store).stdout
        assert max(len(line) for line in text.splitlines()) <= 80
        assert "\x1b" not in text


def test_commands_that_look_do_not_write(store):
    before = store.read_bytes()
    for command in ("status", "best", "certify", "check", "export", "list"):
        run(command, store)
    assert store.read_bytes() == before


@pytest.mark.parametrize(("moment", "told"), [("before", 0), ("after", 500)])
def test_ctrl_c_leaves_all_or_nothing(moment, told, tmp_path, monkeypatch):
    """Interrupted before or after the rows are appended."""
    study = nw.create_study(tmp_path / "s.db", options=["A", "B"], eps=0.1)
    rows = "\n".join(f"A,{k},0.1,k{k}" for k in range(500))
    (tmp_path / "t.csv").write_text("option,value,se,key\n" + rows)
    append = SqlStorage.append

    def interrupted(self, *arguments):
        if moment == "after":
            append(self, *arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(SqlStorage, "append", interrupted)
        run("import", tmp_path / "s.db", tmp_path / "t.csv")
    assert study.n_measurements == told
    result = run("import", tmp_path / "s.db", tmp_path / "t.csv")
    assert result.exit_code == 0
    assert study.n_measurements == 500


def test_a_network_disk_is_told_on_standard_error(store, monkeypatch):
    monkeypatch.setattr("noisewise.study.stores.sqlite.sqlite.network_file_system", lambda path: "nfs4")
    result = run("status", store, "--json")
    assert json.loads(result.stdout)["study"] == "study"
    assert result.stderr.startswith("Warning: ")
    assert "network file system (nfs4)" in result.stderr


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.txt"])
@pytest.mark.parametrize("sign", [",", ";", "\t"])
def test_the_text_says_what_stands_between_its_columns(name, sign, store, tmp_path):
    path = tmp_path / name
    path.write_text(f"option{sign}value{sign}se\nA{sign}1.0{sign}0.1\n")
    assert plain("import", store, path)["told"] == 1
    path.write_text(f"id{sign}x\nA{sign}1.0\nB{sign}2.0\n")
    assert plain("init", tmp_path / "new.db", path, "--eps", 1)["options"] == 2


def test_names_of_columns_are_kept_for_options_that_are_added(tmp_path):
    (tmp_path / "first.csv").write_text("alloy,x\nA,1\nB,2\n")
    (tmp_path / "more.csv").write_text("alloy,x\nC,3\n")
    path = tmp_path / "a.db"
    assert run("init", path, tmp_path / "first.csv", "--id", "alloy", "--eps", 1).exit_code == 0
    assert run("add", path, tmp_path / "more.csv").stdout == "Added C: 3 options.\n"


def test_one_of_a_thing_is_called_so(tmp_path):
    path, sheet = tmp_path / "one.db", tmp_path / "t.csv"
    said = run("init", path, "a", "a", "--eps", 1).stdout
    assert "1 option, independent model." in " ".join(said.split())
    assert "a is the only option: add others." in " ".join(said.split())
    run("add", path, "b")
    run("ask", path)
    sheet.write_text("option,value,se\na,1.0,0.1\nb,,\n")
    said = " ".join(run("import", path, sheet).stdout.split())
    assert "1 row still empty" in said
    assert "told 1 result" in said
    assert "never asked for" not in said or "1 suggestion under way" in said
    assert "1 measurement, " in " ".join(run("status", path).stdout.split())


def test_amending_nothing_is_refused(store, monkeypatch, capsys):
    run("tell", store, "A", 1.0, "--se", 0.1)
    code, message = fail(monkeypatch, capsys, "amend", store, "m-1", "why")
    assert code != 0
    assert "say what to correct about m-1" in message


def test_what_is_piped_into_verify_is_never_taken_for_the_name_of_a_file(store):
    assert run("verify", store).exit_code == 0
    for text in ("", str(store), "junk"):
        with pytest.raises(ValueError, match="standard input must be an exported log or a certificate"):
            run("verify", "-", stdin=text)
