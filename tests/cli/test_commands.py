"""The command line as people and scripts use it."""

import json
import re
import shlex
import sys

import polars as pl
import pytest
from click.testing import CliRunner

import noisewise as nw
from noisewise.cli import app, main

SMALL = shlex.split("simulate -p vaee,round_robin --instance soare:dim=3 --horizon 30 --replications 5")


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


def fail(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["noisewise", *map(str, arguments)])
    with pytest.raises(SystemExit) as left:
        main()
    return left.value.code, capsys.readouterr().err.strip()


def test_the_version_is_the_packages():
    assert run("--version").stdout == f"noisewise {nw.__version__}\n"


def test_no_line_of_the_list_of_commands_is_cut_off():
    assert "..." not in run("--help").stdout.partition("Commands:")[2]


def test_policies_lists_every_rule():
    listed = json.loads(run("rules", "--json").stdout)
    assert listed["schema"] == "noisewise.policies/1"
    assert {row["name"] for row in listed["policies"]} == set(nw.rules.POLICIES)
    assert all(row["what"].endswith(".") for row in listed["policies"])
    described = run("rules").stdout
    assert all(f"\n{name}\n" in f"\n{described}" for name in nw.rules.POLICIES)
    assert described.count("guarantee: ") == described.count("cost per round: ") == len(nw.rules.POLICIES)
    assert "sees sigma: before the choice (privileged)" in described
    assert "faithful: our reconstruction" in described


RACE = ["simulate", "-p", "all", "--instance", "soare:dim=3", "--horizon", "4", "--replications", "2"]


def test_all_rules_that_fit_race_and_the_others_are_listed_with_the_reason():
    content = json.loads(run(*RACE, "--json").stdout)
    ran, left_out = {row["policy"] for row in content["runs"]}, content["left_out"]
    assert ran | {row["policy"] for row in left_out} == set(nw.rules.POLICIES)
    reasons = {row["policy"]: row["reason"] for row in left_out}
    assert "which needs it before the choice" in reasons["information_directed"]
    assert "vaee_as_printed" in ran
    for row in content["runs"]:
        smaller = sum(other["simple_regret"] < row["simple_regret"] for other in content["runs"])
        assert row["rank"] == 1 + smaller
    table = run(*RACE, "--schedule", "rare-quiet").stdout
    assert "rank" in table
    assert "lingape ↓" in table
    assert "phased_elimination *" in table
    assert "↓ handicapped, never sees sigma. * our reconstruction." in table
    assert "information_directed: `env` must announce sigma" in " ".join(table.split())
    assert "information_directed ↑*" in run(*RACE, "--announced").stdout


def test_simulate_prints_a_table_and_writes_files(tmp_path):
    result = run(*SMALL, "--out", tmp_path / "runs.parquet", "--chart", tmp_path / "race.svg")
    assert result.exit_code == 0
    assert "round_robin" in result.stdout
    assert (tmp_path / "race.svg").read_text().startswith("<svg")
    runs = nw.simulation.load_simulations(tmp_path / "runs.parquet")
    assert [r.policy for r in runs] == ["vaee", "round_robin"]
    assert len(pl.read_parquet(tmp_path / "runs.parquet")) == 2 * 5 * runs[0].checkpoints.size


@pytest.mark.long("processes")
def test_the_same_seed_gives_the_same_file_wherever_it_runs(tmp_path):
    files = [tmp_path / "one.parquet", tmp_path / "three.parquet"]
    for on, file in zip((1, 3), files, strict=True):
        run(*SMALL, "--replications", 40, "--on", on, "--out", file)
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-p", "vaeee"], "Did you mean 'vaee'?"),
        (["-p", "vaee:delta=2"], "`delta` must lie strictly between 0 and 1; got 2."),
        (["-p", "vaee:delta"], "--policies must look like name or name:option=value; got 'vaee:delta'."),
        (["-p", "vaee:detla=0.1"], "vaee() has no option 'detla'. Did you mean 'delta'?"),
        (["--instance", "spere"], "Did you mean 'sphere'?"),
        (
            ["--instance", "sphere:n=3"],
            "--instance 'sphere' has no option 'n'; it has n_actions, dim, length, reach.",
        ),
        (["--schedule", "flatt"], "Did you mean 'flat'?"),
        (["--noise", "normal"], "--noise must be one of 'gaussian'"),
        (["--noise", "student-t:df=2"], "`df` must be above 2, or the noise has no variance; got 2."),
        (["-p", "robust_vaee:tau0=0"], "`tau0` must be a finite number above 0; got 0."),
        (["--horizon", "0"], "--horizon must be at least 1; got 0."),
        (["--stop", "gap"], "--eps must be given with --stop gap: the bound to reach; got None."),
        (["--out", "no/such/folder.parquet"], "must be in a folder that exists"),
        (["--chart", "race.gif", "--horizon", "3", "--replications", "2"], "--out must end in"),
    ],
)
def test_bad_input_gets_one_sentence_and_exit_code_2(arguments, sentence, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    code, message = fail(monkeypatch, capsys, "simulate", *arguments)
    assert code == 2
    assert message.startswith("Error: ")
    assert sentence in message
    assert "\n" not in message


def test_an_interrupt_keeps_the_finished_rules(monkeypatch, tmp_path):
    real, calls = nw.simulate, []

    def second_is_interrupted(*arguments, **options):
        calls.append(1)
        if len(calls) == 2:
            raise nw.simulation.SimulationInterrupted(None)
        return real(*arguments, **options)

    monkeypatch.setattr(nw, "simulate", second_is_interrupted)
    result = run(*SMALL, "--out", tmp_path / "runs.parquet")
    assert result.exit_code == 130
    assert "1 of 2 rules are complete" in result.stderr
    assert [r.policy for r in nw.simulation.load_simulations(tmp_path / "runs.parquet")] == ["vaee"]


def test_the_demo_certifies_a_language_model(tmp_path):
    result = run("demo", "--out", tmp_path / "demo")
    assert result.exit_code == 0
    text = " ".join(result.stdout.split())
    assert "below the best of 223, with 95 % confidence. Stopping is allowed (eps 3)." in text
    assert re.search(
        r"It took \d+ measurements, which are [\d,]+ comparisons\. Measuring all 223 models", text
    )
    assert (tmp_path / "demo" / "models.html").stat().st_size > 100_000
    content = json.loads(run("demo", "--out", tmp_path / "demo", "--json").stdout)
    assert content["study"] == "models-2"  # the first run is kept
    bounds = [look["bound"] for look in content["course"] if look["bound"] is not None]
    assert content["certificate"]["reached"]
    assert bounds[-1] <= 3.0 < bounds[0]
    assert content["uniform"] > 3 * content["measurements"]
    study = nw.load_study(tmp_path / "demo" / "models.db", "models-2", read_only=True)
    assert study.certificate().sentence == content["certificate"]["sentence"]


@pytest.fixture
def options(tmp_path):
    path = tmp_path / "options.csv"
    path.write_text("name,a,b,note\nsteel,1,0,x\nbrass,0,1,y\ntin,0.1,0.1,z\n")
    return path


def test_design_prints_shares_and_a_certificate(options, tmp_path):
    result = run("design", options, "-f", "a,b", "--id", "name", "--chart", tmp_path / "d.svg")
    assert result.exit_code == 0
    assert "steel" in result.stdout
    assert "50.00%" in result.stdout
    assert "2 of 3 options" in result.stdout
    assert (tmp_path / "d.svg").exists()
    content = json.loads(run("design", options, "-f", "a,b", "--id", "name", "--json").stdout)
    assert content["schema"] == "noisewise.design/1"
    assert [row["id"] for row in content["options"]] == ["steel", "brass"]
    assert content["rank"] == 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-f", "a,c"], "must be columns of the table (name, a, b, note); got 'c'"),
        (["-f", "note"], "--features must be numbers; column 'note' holds String values."),
        (["-f", "a,b", "--max-support", "1"], "--max-support must be at least the rank"),
        (["-f", "a", "--gap", "0"], "--gap must be a finite number"),
    ],
)
def test_a_bad_table_gets_one_sentence(arguments, sentence, options, monkeypatch, capsys):
    code, message = fail(monkeypatch, capsys, "design", options, *arguments)
    assert code == 2
    assert sentence in message
