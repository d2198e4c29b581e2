"""Evaluations on the command line: choices are flags, refusals name them, and nothing counts twice."""

import pytest
from tests.support.commands import plain, run
from tests.support.reader_cases import fixture

LM_EVAL = fixture("lm-eval")
INSPECT = fixture("inspect")
BATTLES = fixture("battles")


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "models.db"
    assert run("init", path, "acme/small", "acme/large", "--eps", 0.1).exit_code == 0
    return path


def said(done):
    assert done.exit_code == 0, done.output
    return " ".join(done.stdout.split())


def refused(*arguments):
    done = run(*arguments)
    assert done.exit_code != 0
    return str(done.exception.args[0])


def test_a_folder_of_samples_is_imported_once(store):
    command = ("import", store, LM_EVAL, "--from", "lm-eval-samples", "--task", "digits", "--metric", "acc")
    assert "it would be: told 2 results with 24 items" in said(run(*command, "--dry-run"))
    assert plain("status", store)["measurements"] == 0
    assert "told 2 results with 24 items" in said(run(*command))
    assert "24 rows, all known already." in said(run(*command))
    why = refused("import", store, LM_EVAL, "--from", "lm-eval", "--task", "digits", "--metric", "acc")
    assert "the same answers would count twice" in why
    assert plain("status", store)["measurements"] == 2


def test_what_must_be_chosen_is_asked_for_by_flag(store):
    assert "choose one with --task: 'arithmetic', " in refused("import", store, LM_EVAL, "--from", "lm-eval")
    why = refused("import", store, LM_EVAL, "--from", "lm-eval", "--task", "digits")
    assert "choose one with --metric: 'acc,none', 'acc_norm,none'." in why
    why = refused("import", store, INSPECT / "epochs.eval", "--from", "inspect")
    assert "choose one with --choose reducer=NAME: 'at_least_2', 'mean'." in why
    why = refused("import", store, INSPECT / "failed.eval", "--from", "inspect")
    assert why.endswith("or say --choose status=any.")
    why = refused("import", store, INSPECT / "errors.eval", "--from", "inspect")
    assert why.endswith(
        "--choose missing=0 tells it so, and --choose how=counts with --choose missing=drop leaves it out."
    )
    why = refused("import", store, BATTLES / "against_baseline.csv", "--from", "battles")
    assert "name it with --choose baseline=NAME; else" in why
    assert plain("status", store)["measurements"] == 0


def test_a_log_in_the_place_of_a_table_is_told_its_reader(store):
    why = refused("import", store, INSPECT / "small.eval")
    assert why.endswith("It looks like a file of inspect: --from inspect reads it.")


def test_a_study_begins_with_a_log_and_choices(tmp_path):
    made = said(run("init", tmp_path / "a.db", "--from", INSPECT / "small.eval", "--eps", 0.1))
    assert "1 option, 1 measurement" in made
    results = f"lm-eval:{LM_EVAL}"
    why = refused("init", tmp_path / "b.db", "--from", results, "--eps", 0.1)
    assert "choose one with --choose task=NAME: 'arithmetic', 'digits'" in why
    assert not (tmp_path / "b.db").exists()
    chosen = ("--choose", "task=digits", "--choose", "metric=acc")
    made = said(run("init", tmp_path / "b.db", "--from", results, "--eps", 0.1, *chosen))
    assert "2 options, 2 measurements" in made
    assert "--choose goes with files of other tools" in refused(
        "init", tmp_path / "c.db", "--from", BATTLES / "pairs.csv", "--eps", 0.1, "--choose", "run=march"
    )
    assert "go with --from" in refused("init", tmp_path / "c.db", "A", "B", "--choose", "run=march")


def test_ten_thousand_ties_certify_nobody(tmp_path):
    ties, store = tmp_path / "ties.csv", tmp_path / "ties.db"
    ties.write_text("model_a,model_b,wins_a,wins_b,ties\nA,B,0,0,10000\n")
    run("init", store, "A", "B", "--eps", 0.01)
    assert "told 1" in said(run("import", store, ties, "--from", "battles"))
    assert run("certify", store).exit_code == 3
    why = refused("tell", store, "--plus", "A", "--minus", "B", "--successes", 5000, "--trials", 10000)
    assert "a share is no difference" in why
