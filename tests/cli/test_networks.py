"""Tables of studies on the command line: one flag, whole or nothing, once however often."""

from pathlib import Path

import pytest
from tests.support.commands import plain, run

import noisewise as nw

SAMPLES = Path(__file__).parents[1] / "support" / "data"
GLUCOSE, SMOKING = SAMPLES / "glucose.csv", SAMPLES / "smoking.csv"


@pytest.fixture
def store(tmp_path):
    return tmp_path / "studies.db"


def test_a_study_begins_with_a_network_and_knows_it_afterwards(store):
    made = plain(
        "init", store, "--from", GLUCOSE, "--choose", "layout=network", "--goal", "min", "--eps", "0.2"
    )
    assert (made["options"], made["told"]) == (10, 26)
    again = plain("import", store, GLUCOSE, "--network")
    assert (again["told"], again["known"]) == (0, 26)
    assert "1 of them with more than two arms" in run("import", store, GLUCOSE, "--network").output.replace(
        "\n", " "
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((GLUCOSE, "--arms"), "A table of differences is read with --network"),
        ((SMOKING, "--network"), "A table of arms is read with --arms"),
        ((GLUCOSE, "--network", "--arms"), "not for both"),
        ((GLUCOSE, "--network", "--counts", "shares"), "--counts goes with --arms, a row for each arm"),
        ((GLUCOSE, "--network", "--map", "study=nowhere"), "--map must name columns of the table"),
        ((GLUCOSE, "--network", "--map", "item=TE"), "--map knows study, plus, minus, pair, value"),
    ],
)
def test_the_wrong_flag_is_answered_with_the_right_one(store, arguments, sentence):
    plain("init", store, "--from", GLUCOSE, "--choose", "layout=network", "--eps", "0.2")
    done = run("import", store, *arguments)
    assert done.exit_code != 0
    said = " ".join((done.output + str(done.exception)).split())
    assert sentence in said


def test_arms_keep_the_unit_of_their_header(store, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("machine,compiler,time (ms),sd (ms),runs\nx,A,3.5,0.4,20\nx,B,4.5,0.4,20\n")
    given = {"study": "machine", "option": "compiler", "value": "time", "sd": "sd", "n": "runs"}
    mapped = ",".join(f"{role}={column}" for role, column in given.items())
    run(
        "init",
        store,
        "--from",
        table,
        "--choose",
        "layout=arms",
        "--map",
        mapped,
        "--goal",
        "min",
        "--eps",
        "0.2",
    )
    study = nw.load_study(store)
    assert study.specification.unit == "ms"
    table.write_text("machine,compiler,time (ms),sd (s),runs\nx,A,3.5,0.4,20\nx,B,4.5,0.4,20\n")
    with pytest.raises(ValueError, match="the error bar must have the unit of the value"):
        study.tell_many(table, layout="arms", roles=given)
