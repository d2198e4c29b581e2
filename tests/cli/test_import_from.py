"""``import --from`` and ``init --from`` with files of other tools, as a person types them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.commands import plain, run
from tests.support.reader_cases import fixture

import noisewise

HYPERFINE = fixture("hyperfine", "parameters.json")
GO = fixture("go-bench", "count.txt")
LM_EVAL = fixture("lm-eval")
INSPECT = fixture("inspect")
BATTLES = fixture("battles")


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "study.db"
    assert run("init", path, "--from", HYPERFINE, "--goal", "min", "--eps", 1, "--unit", "ms").exit_code == 0
    return path


@pytest.fixture
def others(tmp_path):
    """The same file with other commands, but for one."""
    path = tmp_path / "others.json"
    path.write_text(HYPERFINE.read_text().replace("tac", "cat").replace("sort -r", "sort -u"))
    return path


def said(done):
    assert done.exit_code == 0, done.output
    return " ".join(done.stdout.split())


def refused(*arguments, **more):
    done = run(*arguments, **more)
    assert done.exit_code != 0
    return str(done.exception.args[0])


def test_a_file_of_another_tool_is_imported_once(store, others):
    assert "m-2 was told as tac data.txt" in refused("import", store, others, "--from", "hyperfine", "--add")
    told = said(run("import", store, others, "--from", "hyperfine", "--add", "--again"))
    assert "Read with the reader hyperfine; value in ms. Recorded 3" in told
    assert "3 rows, all known already." in said(run("import", store, others, "--from", "auto"))
    assert plain("status", store)["measurements"] == 6


def test_unknown_options_are_refused_with_the_flags_to_type(store, others):
    why = refused("import", store, others, "--from", "hyperfine")
    assert why.endswith("--add adds them, --skip leaves them out.")
    told = said(run("import", store, others, "--from", "hyperfine", "--skip", "--again"))
    assert (
        "Left out, because they are not in the catalogue: cat data.txt, sort -u data.txt. Recorded 1" in told
    )
    assert "not both" in refused("import", store, others, "--add", "--skip")


def test_a_dry_run_shows_what_would_be_told_and_tells_nothing(store, others):
    shown = said(run("import", store, others, "--from", "hyperfine", "--add", "--again", "--dry-run"))
    assert "row 1 (at results[0]): option sort data.txt, values (8 from 9.72332 to 10.2355)" in shown
    assert "Dry run: nothing was written. It would be: recorded 3 results" in shown
    assert plain("status", store)["measurements"] == 3


def test_choices_of_a_reader_are_flags_or_pairs(store):
    assert "Recorded 3" in said(
        run("import", store, GO, "--from", "go-bench", "--add", "--choose", "processors=keep")
    )
    assert plain("export", store, "--what", "options")["rows"][3]["option"] == "BenchmarkSum/naive-8"
    why = refused("import", store, fixture("hyperfine", "failed.json"), "--from", "hyperfine", "--add")
    assert "--choose exit_codes=any takes it" in why
    assert "it has unit, exit_codes" in refused(
        "import", store, HYPERFINE, "--from", "hyperfine", "--metric", "median"
    )
    assert "--choose must look like NAME=VALUE" in refused(
        "import", store, HYPERFINE, "--from", "hyperfine", "--choose", "red"
    )


def test_what_must_be_chosen_is_asked_for_by_flag(tmp_path):
    store = tmp_path / "models.db"
    run("init", store, "acme/small", "acme/large", "--eps", 0.1)
    assert "choose one with --task: 'arithmetic', " in refused("import", store, LM_EVAL, "--from", "lm-eval")
    why = refused("import", store, LM_EVAL, "--from", "lm-eval", "--task", "digits")
    assert "choose one with --metric: 'acc,none', 'acc_norm,none'." in why
    why = refused("import", store, INSPECT / "epochs.eval", "--from", "inspect")
    assert "choose one with --choose reducer=NAME: 'at_least_2', 'mean'." in why
    why = refused("import", store, INSPECT / "failed.eval", "--from", "inspect")
    assert why.endswith("or say --choose status=any.")
    why = refused("import", store, INSPECT / "errors.eval", "--from", "inspect")
    assert why.endswith(
        "--choose missing=0 records it so, and --choose how=counts with --choose missing=drop leaves it out."
    )
    why = refused("import", store, BATTLES / "against_baseline.csv", "--from", "battles")
    assert "name it with --choose baseline=NAME; else" in why
    assert plain("status", store)["measurements"] == 0


def test_a_study_begins_with_a_log_and_choices(tmp_path):
    made = said(run("init", tmp_path / "a.db", "--from", INSPECT / "small.eval", "--eps", 0.1))
    assert "1 option, 8 answers" in made
    results = f"lm-eval:{LM_EVAL}"
    why = refused("init", tmp_path / "b.db", "--from", results, "--eps", 0.1)
    assert "choose one with --choose task=NAME: 'arithmetic', 'digits'" in why
    assert not (tmp_path / "b.db").exists()
    chosen = ("--choose", "task=digits", "--choose", "metric=acc")
    made = said(run("init", tmp_path / "b.db", "--from", results, "--eps", 0.1, *chosen))
    assert "2 options, 24 trials" in made
    assert "--choose goes with files of other tools" in refused(
        "init", tmp_path / "c.db", "--from", BATTLES / "pairs.csv", "--eps", 0.1, "--choose", "run=march"
    )
    assert "goes with --from" in refused("init", tmp_path / "c.db", "A", "B", "--choose", "run=march")


def test_several_files_and_standard_input_can_be_imported(store, tmp_path):
    folder = fixture("criterion")
    assert plain("import", store, folder, "--from", "criterion", "--add")["told"] == 2
    files = sorted(folder.rglob("new/sample.json"))
    assert plain("import", store, *files, "--from", "criterion")["known"] == 2
    done = run("import", store, "-", "--from", "go-bench", "--add", stdin=GO.read_text())
    assert "Recorded 3" in said(done)


def test_flags_of_tables_and_of_readers_are_not_mixed(store, tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("option,value,se\nsort data.txt,5,1\nx,6,1\n")
    assert refused("import", store, table, "--unit", "s") == "--unit goes with --from READER."
    assert refused("import", store, HYPERFINE, "--from", "auto", "--map", "value=x") == (
        "--map is for tables, without --from."
    )
    assert "one table at a time" in refused("import", store, table, table)
    assert plain("import", store, table, "--add")["told"] == 2


def test_a_study_can_begin_with_a_file_of_another_tool(tmp_path):
    by_look, by_name = tmp_path / "a.db", tmp_path / "b.db"
    made = said(run("init", by_look, "--from", HYPERFINE, "--goal", "min", "--eps", 1, "--unit", "ms"))
    assert "3 options, 24 readings" in made
    assert "1.40" in said(run("status", by_look))
    assert "3 options" in said(run("init", by_name, "--from", f"go-bench:{GO}", "--goal", "min", "--eps", 9))
    named = tmp_path / "c.db"  # its ending would let its look decide
    assert "3 options" in said(
        run("init", named, "--from", f"hyperfine:{HYPERFINE}", "--goal", "min", "--eps", 1)
    )
    assert "holds no records" in refused(
        "init", tmp_path / "c.db", "--from", fixture("asv", "case.json"), "--eps", 1
    )
    assert "what is said about columns is for tables" in refused(
        "init", tmp_path / "d.db", "--from", HYPERFINE, "--eps", 1, "--map", "value=x"
    )


LAPS = """
from noisewise.readers import Reader, Readout, ReadRow

def read(file):
    pairs = [line.split() for line in file.text().splitlines()]
    return Readout([ReadRow("line", {"option": name, "value": float(time)}) for name, time in pairs])

READER = Reader("laps", "lap times", read, lambda file: file.name.endswith(".laps"))
"""


def test_a_package_that_is_installed_brings_its_reader_and_one_that_is_broken_is_said(tmp_path):
    (tmp_path / "laps.py").write_text(LAPS)
    for name, point in (("laps", "laps:READER"), ("broken", "no_such_module:READER")):
        folder = tmp_path / f"{name}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[noisewise.readers]\n{name} = {point}\n")
    (tmp_path / "monday.laps").write_text("quick 12.5\nslow 15.25\n")
    run("init", tmp_path / "s.db", "quick", "--eps", 1)
    home = Path(noisewise.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "noisewise", "import", "s.db", "monday.laps", "--from", "laps", "--add"],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{home}"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "Recorded 2" in done.stdout
    assert done.stderr.startswith(
        "Warning: the reader 'broken' (no_such_module:READER) was left out, because"
    )
    assert done.stderr.count("\n") == 1
