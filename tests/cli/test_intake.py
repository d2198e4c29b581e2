"""What the commands take in: nothing misread in silence, whole or nothing, nothing raw on a terminal."""

import os
import subprocess
import sys

import pytest
from tests.support.commands import plain, run
from tests.support.logs import append

import noisewise as nw
from noisewise.cli.app import main


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "s.db"
    assert run("init", path, "A", "B", "C", "--eps", 0.5).exit_code == 0
    return path


@pytest.fixture
def refused(store, monkeypatch, capsys):
    """Runs a command that must be refused with one sentence and leave the log alone."""

    def check(*arguments):
        before = nw.load_study(store).events()
        monkeypatch.setattr(sys, "argv", ["noisewise", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        message = capsys.readouterr().err.strip()
        assert stopped.value.code == 2
        assert message.startswith("Error: ")
        assert "\n" not in message
        assert nw.load_study(store).events() == before
        return message

    return check


def test_a_command_that_ends_with_a_file_is_an_option(tmp_path):
    run("init", tmp_path / "new.db", "sort words.txt", "sort -u words.txt", "--eps", 1)
    assert nw.load_study(tmp_path / "new.db").options == ["sort words.txt", "sort -u words.txt"]


def test_formulas_are_exported_as_texts_and_read_back(tmp_path):
    path, out = tmp_path / "f.db", tmp_path / "m.csv"
    nw.create_study(path, options=["=cmd()", "@x", "-1"], eps=0.1)
    study = nw.load_study(path)
    for name in study.options:
        study.tell(option=name, value=-1.5, se=0.1, note="+1")
    run("export", path, "--what", "measurements", "--out", out)
    assert out.read_text().splitlines()[1].startswith("m-1,'=cmd(),,-1.5,0.1,")
    assert run("export", path, "--what", "measurements").stdout == out.read_text()
    options = tmp_path / "o.csv"
    run("export", path, "--what", "options", "--out", options)
    again = nw.create_study(options=options, roles={"option": "option"}, eps=0.1)
    assert again.options == study.options


def test_escapes_in_old_names_do_not_reach_the_terminal(tmp_path):
    path = tmp_path / "old.db"
    study = nw.create_study(path, options=["A", "B"], eps=0.1)
    study.tell(option="A", value=1.0, se=0.1, block="x")
    body = {"option": "A", "value": 1.0, "kind": "known", "sigma": 0.1, "shown": 0.1,
            "block": "\x1b]0;owned\x07", "note": "caf"}  # fmt: skip
    storage = study._log.storage
    append(storage, study.name, ("tell", body))
    storage.close()
    for command in ("status", "check", "certify", "worth"):
        said = run(command, path)
        assert said.exit_code in (0, 3, 4), said.exception
        assert "\x1b" not in said.output
        assert "\x07" not in said.output


def test_bytes_of_a_latin_1_terminal_are_refused(store):
    command = [sys.executable, "-m", "noisewise", "tell", str(store), "A", "1", "--se", "1", "--block"]
    raw = [os.fsencode(part) for part in command] + [b"caf\xe9"]
    done = subprocess.run(raw, capture_output=True, env={**os.environ, "PYTHONUTF8": "1"}, check=False)
    assert done.returncode == 2
    assert b"--block must be plain text in one line; 'caf\\\\udce9' has half a character" in done.stderr
    assert nw.load_study(store).n_measurements == 0


def test_a_log_with_a_bad_event_is_refused_and_exported(store):
    study = nw.load_study(store)
    study.tell(option="A", value=1.0, se=0.1)
    body = {"option": "A", "value": 1e300, "kind": "known", "sigma": 1.0, "shown": 1.0}
    append(study._log.storage, study.name, ("tell", body))
    assert "event 2 (tell) cannot be used" in str(run("status", store).exception)
    assert run("export", store).exit_code == 0
    assert run("verify", store).exit_code == 1


def test_a_map_that_leaves_out_blocks_keys_or_differences_is_refused(store, refused, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("alloy,plus,minus,value,se,block,key\nA,,,1.0,0.1,Mon,01\n,A,B,2.0,0.1,,02\n")
    message = refused("import", store, table, "--map", "option=alloy,value=value,se=se")
    assert "columns 'plus', 'minus', 'block', 'key' that --map does not use" in message
    assert ",se=se,plus=plus,minus=minus,block=block,key=key to take what is there" in message
    given = "option=alloy,value=value,se=se,plus=plus,minus=minus,block=block,key=-"
    assert plain("import", store, table, "--map", given)["told"] == 2
    measurements = nw.load_study(store).frame("measurements")
    assert measurements["block"].to_list() == ["Mon", None]
    assert measurements["key"].to_list() == [None, None]


@pytest.mark.parametrize(
    ("header", "row", "suggested"),
    [
        (
            "machine,compiler,time,sd,runs",
            "lab1,{name},{word},0.2,12",
            "option=compiler,value=time,sd=sd,n=runs",
        ),
        (
            "date,variant,visitors,conversions",
            "Mon,{name},200,2{k}",
            "option=variant,successes=conversions,trials=visitors",
        ),
        (
            "Day,Variant,Visitors,Orders",
            "Mon,{name},200,2{k}",
            "option=Variant,successes=Orders,trials=Visitors",
        ),
        ("Model,Correct,Total", "{name},4{k},50", "option=Model,successes=Correct,trials=Total"),
        ("Group,n,Events", "{name},50,{k}", "option=Group,successes=Events,trials=n"),
        (
            "Mittel,Patienten,Ereignisse",
            "{name},50,{k}",
            "option=Mittel,successes=Ereignisse,trials=Patienten",
        ),
        ("alloy,total,score", "{name},50,{k}7", "option=alloy,value=score"),
        ("Drug,Mean,between", "{name},5.{k},4.5-6.5", "option=Drug,value=Mean,ci=between"),
        ("Drug,Mean,age", "{name},5.{k},18-25", "option=Drug,value=Mean"),
        ("Name,Mean,95% CI", "00{k},5.{k},4.5-6.5", "option=Name,value=Mean,ci=95% CI"),
        ("Drug,Mean,95% CI", "{name},5.{k},4.5-6.5", "option=Drug,value=Mean,ci=95% CI"),
        (
            "catalyst,run,yield,lower,upper",
            "{name},{k},5.{k},4,6",
            "option=catalyst,value=yield,lo=lower,hi=upper",
        ),
        (
            "alloy,temperature,HV,HV_se",
            "{name},20,5.{k},0.1",
            "option=alloy,value=HV,se=HV_se",
        ),
        (
            "Probe,HV,Messunsicherheit",
            "{name},5.{k},0.1",
            "option=Probe,value=HV,se=Messunsicherheit",
        ),
    ],
)
def test_columns_are_understood_by_their_names_and_cells(tmp_path, header, row, suggested):
    table = tmp_path / "t.csv"
    words = ["1.5", "timeout", "1.7", "1.6"]
    rows = [row.format(name="ABCD"[k], word=words[k], k=k + 1) for k in range(4)]
    table.write_text("\n".join([header, *rows]) + "\n")
    found = [{role: names[0] for role, names in one.roles.items()} for one in nw.read_table(table).readings]
    assert dict(pair.split("=") for pair in suggested.split(",")) in found
