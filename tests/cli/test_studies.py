"""Studies on the command line, as people and scripts use them."""

import json
import re

import polars as pl
import pytest
from click.testing import CliRunner

import noisewise as nw
from noisewise.cli import app
from noisewise.study.stores import sqlite


def run(*arguments, stdin=None):
    return CliRunner().invoke(app, [str(a) for a in arguments], input=stdin, catch_exceptions=False)


def plain(*arguments, stdin=None):
    result = run(*arguments, "--json", stdin=stdin)
    content = json.loads(result.stdout)
    assert content["schema"].startswith("noisewise.")
    return content


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
    assert plain("status", store)["named"] == "C"
    assert run("check", store).exit_code == 0
    status = plain("status", store)
    assert status["certificate"] == found
    assert status["measurements"] == nw.load_study(store).n_measurements
    assert run("status", store).stdout.startswith("C is the best of 4")


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


def test_export_rebuild_rename_backup(store, tmp_path):
    run("tell", store, "A", 1.0, "--se", 0.1)
    log = run("export", store).stdout
    assert json.loads(log.splitlines()[0])["schema"] == 3
    assert len(log.splitlines()) == 4
    assert plain("restore", tmp_path / "b.db", "-", "-s", "again", stdin=log)["events"] == 1
    run("export", store, "-o", tmp_path / "log.jsonl")
    assert (tmp_path / "log.jsonl").read_text() == log
    assert plain("rename", store, "study", "tea") == {
        "schema": "noisewise.rename/1",
        "study": "tea",
        "was": "study",
    }
    assert plain("backup", store, tmp_path / "c.db")["studies"] == ["tea"]
    for what in ("measurements", "options", "events"):
        rows = plain("export", store, "--what", what)["rows"]
        assert len(rows) == {"measurements": 1, "options": 4, "events": 1}[what]
        assert run("export", store, "--what", what).stdout.count("\n") == len(rows) + 1
        for ending in ("csv", "parquet", "jsonl"):
            out = tmp_path / f"{what}.{ending}"
            assert plain("export", store, "--what", what, "-o", out)["rows"] == len(rows)
            assert out.stat().st_size > 0


def test_commands_that_look_do_not_write(store):
    before = store.read_bytes()
    for command in ("status", "certify", "check", "export", "list"):
        run(command, store)
    assert store.read_bytes() == before


@pytest.mark.parametrize(("moment", "told"), [("before", 0), ("after", 500)])
def test_ctrl_c_leaves_all_or_nothing(moment, told, tmp_path, monkeypatch):
    """Interrupted before or after the rows are appended."""
    study = nw.create_study(tmp_path / "s.db", options=["A", "B"], eps=0.1)
    rows = "\n".join(f"A,{k},0.1,k{k}" for k in range(500))
    (tmp_path / "t.csv").write_text("option,value,se,key\n" + rows)
    send = sqlite.send_commit

    def interrupted(connection):
        if moment == "after":
            send(connection)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(sqlite, "send_commit", interrupted)
        run("import", tmp_path / "s.db", tmp_path / "t.csv")
    assert study.n_measurements == told
    result = run("import", tmp_path / "s.db", tmp_path / "t.csv")
    assert result.exit_code == 0
    assert study.n_measurements == 500


def test_a_network_disk_is_told_on_standard_error(store, monkeypatch):
    monkeypatch.setattr("noisewise.study.stores.sqlite.network_file_system", lambda path: "nfs4")
    result = run("status", store, "--json")
    assert json.loads(result.stdout)["study"] == "study"
    assert result.stderr.startswith("Warning: ")
    assert "network file system (nfs4)" in result.stderr


def test_what_is_piped_into_verify_is_never_taken_for_the_name_of_a_file(store):
    assert run("verify", store).exit_code == 0
    for text in ("", str(store), "junk"):
        with pytest.raises(ValueError, match="standard input must be an exported log or a certificate"):
            run("verify", "-", stdin=text)
