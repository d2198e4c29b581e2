"""Battles: ties count half, error bars depend on the number of battles alone, and no answer counts twice."""

import json
import math
from collections import Counter

import pytest
from tests.support.reader_cases import FIXTURES

import noisewise as nw
from noisewise.readers import ResultFile, read

BATTLES = FIXTURES / "battles"


def table(text):
    return ResultFile(None, text.encode(), "battles.csv")


def differences(readout):
    return {
        (row.fields["plus"], row.fields["minus"]): (row.fields["value"], row.fields["se"])
        for row in readout.rows
    }


def test_differences_are_2p_minus_1_with_the_largest_error_that_their_number_allows():
    rows = [line.split(",") for line in (BATTLES / "arena.csv").read_text().splitlines()[1:]]
    won, fought = Counter(), Counter()
    for _, first, second, winner, _ in rows:
        pair = tuple(sorted((first, second)))
        fought[pair] += 1
        won[pair] += (
            {"model_a": 1.0, "model_b": 0.0}.get(winner, 0.5)
            if pair[0] == first
            else ({"model_a": 0.0, "model_b": 1.0}.get(winner, 0.5))
        )
    expected = {pair: (2 * won[pair] / n - 1, 1 / math.sqrt(n)) for pair, n in fought.items()}
    found = differences(read(BATTLES / "arena.csv"))
    assert found.keys() == expected.keys()
    for pair in expected:
        assert found[pair] == pytest.approx(expected[pair])


def test_the_error_does_not_depend_on_who_won():
    text = "model_a,model_b,winner\n" + "a,b,model_a\n" * 9
    assert differences(read(table(text), "battles")) == {("a", "b"): (1.0, 1 / 3)}
    assert differences(read(table(text.replace(",model_a\n", ",tie\n")), "battles")) == {
        ("a", "b"): (0.0, 1 / 3)
    }


def test_ten_thousand_ties_certify_nobody():
    text = "model_a,model_b,wins_a,wins_b,ties\nA,B,0,0,10000\n"
    study = nw.create_study(options=["A", "B"], eps=0.005)
    study.import_from(table(text), "battles")
    certificate = study.certificate()
    assert not certificate.reached
    with pytest.raises(ValueError, match=r"a share is not a difference"):
        study.tell(plus="A", minus="B", successes=5000, trials=10000)


@pytest.mark.parametrize(
    ("winner", "outcome"),
    [
        ("model_a", 1), ("model_b", -1), ("A", 1), ("b", -1), ("gpt", 1), ("claude", -1), ("tie", 0),
        ("Tie", 0), ("tie (bothbad)", 0), ("both_bad", 0), ("bothbad", 0),
    ],
)  # fmt: skip
def test_words_for_the_winner(winner, outcome):
    text = f"model_a,model_b,winner\ngpt,claude,{winner}\n"
    assert differences(read(table(text), "battles")) == {("claude", "gpt"): (-outcome, 1.0)}


def test_a_word_that_is_no_winner_is_refused_with_its_place():
    with pytest.raises(
        ValueError, match=r"'battles\.csv': row 2 \(line 3\)\.winner is 'model_c'; it must be"
    ):
        read(table("model_a,model_b,winner\na,b,tie\na,b,model_c\n"), "battles")
    with pytest.raises(ValueError, match=r"has 'a' against itself"):
        read(table("model_a,model_b,winner\na,a,tie\n"), "battles")


def test_csv_json_and_lines_of_json_say_the_same():
    lines = [json.loads(line) for line in (BATTLES / "arena.jsonl").read_text().splitlines()]
    header = ",".join(lines[0])
    csv = "\n".join([header, *(",".join(one.values()) for one in lines)])
    found = differences(read(BATTLES / "arena.jsonl"))
    assert differences(read(table(csv), "battles")) == found
    assert differences(read(ResultFile(None, json.dumps(lines).encode()), "battles")) == found
    one_hot = [
        {k: one[k] for k in ("question_id", "model_a", "model_b")}
        | {f"winner_{name}": int(one["winner"].startswith(name)) for name in ("model_a", "model_b", "tie")}
        for one in lines
    ]
    assert differences(read(ResultFile(None, json.dumps(one_hot).encode()), "battles")) == found


def test_all_pairs_over_the_same_items_are_refused():
    text = "question_id,model_a,model_b,winner\nq1,a,b,tie\nq1,b,c,model_a\nq1,a,c,model_b\n"
    with pytest.raises(
        ValueError, match=r"All pairs of differences from the same items count the same answers twice"
    ):
        read(table(text), "battles")


def test_judgements_of_the_same_item_and_pair_are_one_battle():
    text = "question_id,model_a,model_b,winner\nq1,a,b,model_a\nq1,b,a,model_a\nq2,a,b,model_a\n"
    assert differences(read(table(text), "battles")) == {("a", "b"): (0.5, pytest.approx(1 / math.sqrt(2)))}


def test_against_a_baseline_the_others_are_compared_item_by_item():
    found = read(BATTLES / "against_baseline.csv", baseline="cy")
    assert sorted(found.options) == ["ada", "bob", "cy"]
    assert len(found.rows) == 36
    assert {row.fields["value"] for row in found.rows if row.fields["option"] == "cy"} == {0.5}
    study = nw.create_study(results=found, eps=0.1)
    assert study.certificate().evidence == ("paired items",)
    with pytest.raises(ValueError, match="the same answers would count twice"):
        study.import_from(BATTLES / "arena.csv")
    with pytest.raises(
        ValueError, match=r"a baseline must be in every one; the models are 'ada', 'bob', 'cy'"
    ):
        read(BATTLES / "arena.csv", baseline="cy")
    with pytest.raises(ValueError, match=r"must say its item"):
        read(table("model_a,model_b,winner\na,b,tie\n"), "battles", baseline="b")


def test_a_run_that_has_grown_is_a_correction_and_not_a_second_run():
    text = "model_a,model_b,wins_a,wins_b,ties\nA,B,40,50,10\n"
    study = nw.create_study(options=["A", "B"], eps=0.1)
    study.import_from(table(text), "battles", run="march")
    with pytest.raises(ValueError, match='say why with `amend="reason"`'):
        study.import_from(table(text.replace("40,50", "90,90")), "battles", run="march")
    study.import_from(table(text.replace("40,50", "90,90")), "battles", run="march", amend="more battles")
    assert study.n_measurements == 1
    study.import_from(table(text), "battles", run="april")
    assert study.n_measurements == 2
