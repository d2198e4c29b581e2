"""A candidate beside a baseline: verdicts, limits, what is refused, and how often verdicts are wrong."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import noisewise as nw
from noisewise.cli.app import app

#: Of 200 gates at 95 %, more than 21 are wrong with a probability below 0.1 %.
GATES, MOST_WRONG = 200, 21


def study_of(values, se=0.1, **question):
    study = nw.create_study(options=list(values), **{"eps": 0.5, **question})
    for option, value in values.items():
        study.tell(option=option, value=value, se=se)
    return study


@pytest.mark.parametrize(
    ("candidate", "margin", "verdict"),
    [(2.0, None, "better"), (0.0, None, "worse"), (1.1, None, "undecided"), (1.0, 0.6, "not worse"),
     (0.0, 2.0, "not worse"), (0.0, 0.5, "worse")],
)  # fmt: skip
def test_verdicts(candidate, margin, verdict):
    found = study_of({"A": 1.0, "B": candidate}).compare("B", "A", margin=margin)
    assert found.verdict == verdict
    assert found.passed == (verdict in ("better", "not worse"))
    assert found.difference == pytest.approx(candidate - 1.0)
    assert found.low < found.difference < found.high


def test_the_goal_decides_what_is_better():
    values = {"A": 1.0, "B": 2.0}
    largest, smallest = study_of(values), study_of(values, goal="min")
    one, other = largest.compare("B", "A"), smallest.compare("B", "A")
    assert (one.verdict, other.verdict) == ("better", "worse")
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))
    assert one.sentence == "B is better than A by 1 (0.51 to 1.49), with 95 % confidence."
    assert other.sentence == "B is worse than A by 1 (0.51 to 1.49), with 95 % confidence."


def test_limits_of_two_options_are_those_of_the_certificate():
    study = study_of({"A": 1.0, "B": 1.2})
    certificate, found = study.certificate(), study.compare("A", "B")
    assert certificate.option == "B"
    assert found.high == pytest.approx(certificate.bound)


def test_ratios_are_given_in_per_cent():
    study = study_of({"A": 100.0, "B": 90.0}, se=1.0, scale="log", goal="min", eps="2%", unit="ms")
    assert study.compare("B", "A").sentence.startswith("B is better than A by 10 % (5.")
    assert study.compare("A", "B", margin="30%").verdict == "not worse"
    with pytest.raises(ValueError, match="`margin` is a part of a value"):
        study.compare("A", "B", margin=30)


def test_more_options_make_the_limits_wider_and_none_of_them_narrower():
    two, three = study_of({"A": 1.0, "B": 2.0}), study_of({"A": 1.0, "B": 2.0, "C": 5.0})
    one, other = two.compare("B", "A"), three.compare("B", "A")
    assert other.difference == pytest.approx(one.difference)
    assert other.low < one.low
    assert other.high > one.high
    assert three.certificate().option == "C"  # the comparison leaves the study as it was


@pytest.mark.parametrize(
    ("pair", "said"),
    [
        (("X", "A"), "`candidate` must be an option of the study; got 'X'"),
        (("A", "X"), "`baseline` must be an option of the study; got 'X'"),
        (("A", "A"), "must be two options; both are 'A'"),
        (("C", "A"), "`candidate` must not be excluded; 'C' is: broken"),
    ],
)
def test_what_cannot_be_compared_is_refused(pair, said):
    study = study_of({"A": 1.0, "B": 2.0, "C": 3.0})
    study.exclude("C", "broken")
    with pytest.raises(ValueError, match=said):
        study.compare(*pair)


def test_before_both_are_measured_nothing_is_decided():
    study = nw.create_study(options=["A", "B"], eps=0.1)
    assert study.compare("B", "A").verdict == "undecided"
    study.tell(option="A", value=1.0, se=0.1)
    found = study.compare("B", "A")
    assert found.sentence == "Undecided: B was not measured yet."
    assert json.loads(json.dumps(found.to_dict()))["low"] is None


def test_a_withheld_certificate_withholds_the_verdict():
    study = study_of({"A": 1.0, "B": 2.0})
    for k in range(8):
        study.tell(option="A", value=1.0 + 3.0 * (k % 2), se=0.01)
    found = study.compare("B", "A")
    assert (found.verdict, found.low, found.high) == ("withheld", None, None)
    assert found.sentence.startswith("Verdict withheld: ")


def test_a_pool_of_items_is_named_and_the_population_beside_it():
    items = [f"i{k}" for k in range(40)]
    study = nw.create_study(options=["A", "B"], measure=nw.Items(items, 0, 1), eps=0.1, seed=1)
    study.tell_many({"option": ["A"] * 40 + ["B"] * 40, "item": items * 2, "value": [0.0] * 40 + [1.0] * 40})
    found = study.compare("B", "A")
    assert found.verdict == "better"
    assert "on these 40 items" in found.sentence
    assert found.wider[0] < found.low


def test_markdown_escapes_names():
    text = study_of({"a|b": 1.0, "c*": 2.0}).compare("c*", "a|b").markdown()
    assert text.startswith("### ✅ c\\* beside a\\|b: better\n")


def run(*arguments):
    return CliRunner().invoke(app, [str(one) for one in arguments])


@pytest.mark.parametrize(("candidate", "code"), [("B", 0), ("C", 1), ("D", 3)])
def test_the_command_ends_with_the_verdict(tmp_path, candidate, code):
    study = nw.create_study(tmp_path / "s.db", options=list("ABCD"), eps=0.5)
    for option, value in zip("ABCD", (1.0, 3.0, -1.0, 1.1), strict=True):
        study.tell(option=option, value=value, se=0.1)
    gate = ("gate", tmp_path / "s.db", "--baseline", "A", "--candidate", candidate)
    assert run(*gate).exit_code == code
    found = json.loads(run(*gate, "--json").stdout)
    assert found["verdict"] == study.compare(candidate, "A").verdict
    assert run(*gate, "--markdown").stdout == study.compare(candidate, "A").markdown()


def test_a_finished_table_can_be_gated(tmp_path):
    table = tmp_path / "r.csv"
    table.write_text("prompt,score\n" + "".join(f"{p},{v}\n" for p in "ab" for v in (1.0, 1.1, 0.9)))
    gate = ("gate", table, "--baseline", "a", "--candidate", "b")
    undecided = run(*gate)
    assert undecided.exit_code == 3
    assert "valid for one look only" in undecided.stdout
    assert run(*gate, "--margin", "2").exit_code == 0
    assert json.loads(run(*gate, "--json").stdout)["verdict"] == "undecided"


def test_a_table_that_leaves_a_question_open_gets_flags_to_type(tmp_path):
    table = tmp_path / "r.csv"
    table.write_text("alloy;HV;error\nA;1,5;0,1\nB;2,5;0,1\nC;3,5;0,2\n")
    done = run("gate", table, "--baseline", "A", "--candidate", "B")
    assert done.exit_code == 4
    assert "--map option=alloy" in done.output
    assert "roles=" not in done.output


@pytest.mark.long("statistics")
@pytest.mark.parametrize("kind", ["error bars", "items", "counts"])
def test_verdicts_at_every_look_are_rarely_wrong(kind):
    """The candidate is as good as the baseline: both "better" and "worse" are wrong."""
    wrong = 0
    for k in range(GATES):
        rng = np.random.default_rng([5, k])
        study = nw.create_study(
            options=["A", "B"], eps=0.1, measure="ratings:0,1" if kind == "items" else None
        )
        for look in range(12):
            values = rng.random(2) < 0.5
            if kind == "items":
                study.tell_many(
                    {"option": ["A", "B"], "item": [f"i{look}"] * 2, "value": values.astype(float)}
                )
            elif kind == "counts":
                for option, successes in zip("AB", rng.binomial(20, 0.5, 2).tolist(), strict=True):
                    study.tell(option=option, successes=successes, trials=20)
            else:
                for option, value in zip("AB", rng.normal(0.0, 0.1, 2), strict=True):
                    study.tell(option=option, value=value, se=0.1)
            if study.compare("B", "A").verdict != "undecided":
                wrong += 1
                break
    assert wrong <= MOST_WRONG
