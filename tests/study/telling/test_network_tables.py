"""Tables of studies: how their columns are found, and what is refused with which sentence."""

import itertools
import math

import numpy as np
import pytest

import noisewise as nw
from noisewise.study.asking.pending import DIFFERENCE, OPTION, expected_noise
from noisewise.study.telling.arms import Contrast, Rounding, arms_of

COLUMNS = ("studlab", "treat1", "treat2", "TE", "seTE")
ONE = ("one", "A", "P", 1.0, 0.5), ("one", "B", "P", 1.5, 0.6), ("one", "B", "A", 0.5, 0.5)


def table(*rows, names=COLUMNS):
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def begun(options=("P", "A", "B", "C"), **question):
    return nw.create_study(options=list(options), **{"eps": 0.1, **question})


def told(rows, layout="network", **reading):
    study = begun()
    study.tell_many(rows, layout=layout, **reading)
    return study


def differences(study):
    frame = study.frame("options")
    known = dict(zip(frame["option"], frame["estimate"], strict=True))
    return {name: value - known["P"] for name, value in known.items() if value is not None}


@pytest.mark.parametrize(
    "names",
    [
        ("study", "t1", "t2", "effect", "se"),
        ("Study", "Treatment 1", "Treatment 2", "Mean difference", "Std. Err."),
        ("trial", "treatment", "comparator", "yi", "sei"),
        ("study_id", "plus", "minus", "value", "se"),
        ("studlab", "treat.1", "treat.2", "lnOR", "selnOR"),
    ],
)
def test_columns_are_known_by_the_names_that_such_tables_have(names):
    expected = differences(told(table(*ONE)))
    assert differences(told(table(*ONE, names=names))) == expected
    with_unit = [name if at != 3 else f"{name} (mmol)" for at, name in enumerate(names)]
    assert differences(told(table(*ONE, names=with_unit))) == expected


@pytest.mark.parametrize("between", [" vs ", " vs. ", " versus ", " - ", ":", " – "])
def test_a_comparison_may_stand_in_one_column(between):
    rows = [(study, f"{one}{between}{other}", te, se) for study, one, other, te, se in ONE]
    names = ("study", "comparison", "effect", "se")
    assert differences(told(table(*rows, names=names))) == differences(told(table(*ONE)))


def test_a_map_names_what_the_names_do_not_say():
    rows = table(*ONE, names=("where", "x", "y", "d1", "s"))
    said = {"study": "where", "plus": "x", "minus": "y", "value": "d1", "se": "s"}
    assert differences(told(rows, roles=said)) == differences(told(table(*ONE)))
    assert differences(told(rows, roles={**said, "block": "where"} | {})) == differences(told(table(*ONE)))


def test_a_table_of_studies_needs_no_layout():
    study = begun()
    study.tell_many(table(*ONE))
    assert differences(study) == pytest.approx(differences(told(table(*ONE))))
    arms = {"study": ["x", "x"], "treatment": ["A", "P"], "mean": [1.0, 2.0], "sd": [1.0, 1.0], "n": [9, 9]}
    study = begun()
    study.tell_many(arms)
    assert differences(study) == pytest.approx(differences(told(arms, layout="arms")))


REFUSED = {
    "two rows against one arm": (
        [("s", "A", "P", 1.0, 0.5), ("s", "B", "P", 1.5, 0.6)],
        r"study 's' has 3 arms, and its rows 1 and 2 have errors in common that are not given: they share P"
        r"\. Add the row A - B, or a column shared_se .*\(layout='arms'\)",
    ),
    "effects that do not add up": (
        [("s", "A", "P", 1.0, 0.5), ("s", "B", "P", 1.5, 0.6), ("s", "B", "A", 0.9, 0.5)],
        r"study 's': its differences do not add up: .* in row \d contradicts rows \d and \d",
    ),
    "errors that no arms have": (
        [("s", "A", "P", 1.0, 0.2), ("s", "B", "P", 1.5, 0.2), ("s", "B", "A", 0.5, 0.6)],
        r"study 's': standard errors 0.2 \(row 1\), 0.2 \(row 2\), 0.6 \(row 3\) leave P a variance of -0.14",
    ),
    "the same pair twice": (
        [("s", "A", "P", 1.0, 0.2), ("s", "P", "A", 1.5, 0.2)],
        r"rows 1 and 2 both compare P and A in study 's', differently",
    ),
    "an option against itself": ([("s", "A", "A", 1.0, 0.2)], r"row 1: a difference needs two different"),
    "no error": ([("s", "A", "P", 1.0, None)], r"row 1 \(s: A - P\): no error bar"),
    "an error of nothing": ([("s", "A", "P", 1.0, 0.0)], r"row 1 \(s: A - P\): se is 0"),
    "one option missing": (
        [("t", "A", "P", 1.0, 0.2), ("s", "A", None, 1.0, 0.2), ("u", "A", "P", 1.0, 0.2)],
        r"row 2: a difference has two options",
    ),
    "no study": (
        [
            ("t", "A", "P", 1.0, 0.2),
            ("s", "A", "P", 1.0, 0.2),
            (None, "A", "P", 1.0, 0.2),
            ("u", "A", "P", 1.0, 0.2),
        ],
        r"row 3: no study, though it has a result",
    ),
    "an unknown option": ([("s", "A", "P", 1.0, 0.2), ("t", "X", "P", 1.0, 0.2)], r"row 2 .*'X' is not in"),
}


@pytest.mark.parametrize(("rows", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_a_study_is_refused_with_its_rows(rows, sentence):
    study = begun()
    with pytest.raises((ValueError, KeyError), match=sentence):
        study.tell_many(table(*rows), layout="network")
    assert study.n_measurements == 0


def test_rounded_numbers_are_taken_and_averaged():
    rows = [("s", "A", "P", 1.23, 0.51), ("s", "B", "P", 1.57, 0.62), ("s", "B", "A", 0.35, 0.53)]
    found = differences(told(table(*rows)))
    assert found["A"] == pytest.approx(1.23, abs=0.01)
    assert 0.34 < found["B"] - found["A"] < 0.35


def test_the_same_row_again_counts_once_and_is_told():
    study = begun()
    rows = [*ONE, ("one", "P", "A", -1.0, 0.5), ("two", "A", "P", None, None)]
    taken = study.tell_many(table(*rows), layout="network")
    assert len(taken) == 3
    assert "counted once: row 4" in taken.understood.sentence
    assert "No result, left out: row 5" in taken.understood.sentence


def test_ratios_are_not_taken_for_differences():
    rows = table(*ONE, names=("study", "t1", "t2", "OR", "se"))
    with pytest.raises(ValueError, match="holds ratios: differences are of their logarithms"):
        told(rows, roles={"value": "OR"})


def test_two_columns_that_could_both_be_the_study_are_refused():
    rows = table(*ONE) | {"trial": ["x", "y", "z"]}
    with pytest.raises(ValueError, match=r"columns 'studlab' and 'trial' could both be 'study'"):
        told(rows)
    assert differences(told(rows, roles={"study": "studlab"})) == differences(told(table(*ONE)))
    assert differences(told(rows, ignore=["trial"])) == differences(told(table(*ONE)))


def test_arms_do_not_depend_on_the_order_of_rows_to_the_last_bit():
    rows = [Contrast(at + 1, *row[1:]) for at, row in enumerate(ONE)]
    first = arms_of("one", rows)
    for order in itertools.permutations(rows):
        turned = [row._replace(one=row.other, other=row.one, value=-row.value) for row in order]
        assert arms_of("one", order) == first
        assert arms_of("one", turned, rounding=Rounding(0.1, 0.1)) == first


ARMS = {"study": ["x", "x", "y", "y", "y"], "treatment": ["P", "A", "P", "A", "B"]}


def test_means_of_arms_come_with_any_error():
    means, sd, n = [1.0, 2.0, 5.0, 6.5, 7.0], [2.0, 3.0, 2.0, 1.0, 4.0], [16, 25, 9, 9, 100]
    se = [s / math.sqrt(k) for s, k in zip(sd, n, strict=True)]
    by_sd = told({**ARMS, "mean": means, "sd": sd, "n": n}, "arms")
    by_se = told({**ARMS, "mean": means, "se": se}, "arms")
    by_var = told({**ARMS, "mean": means, "variance": [s**2 for s in se]}, "arms")
    assert differences(by_sd) == differences(by_se) == pytest.approx(differences(by_var), rel=1e-12)


def test_counts_become_log_odds_or_stay_shares():
    counts = {**ARMS, "events": [3, 5, 0, 4, 6], "n": [20, 20, 30, 30, 30]}
    odds, shares = told(counts, "arms"), told(counts, "arms", counts="shares")
    assert odds.frame("measurements")["value"][0] == pytest.approx(math.log(3 / 17))
    assert odds.frame("measurements")["value"][2] == pytest.approx(math.log(0.5 / 30.5))
    assert shares.frame("measurements")["kind"].to_list() == ["counts"] * 5
    silent = {"study": ["s", "s"], "treatment": ["A", "B"], "events": [0, 0], "n": [20, 20]}
    both = {name: counts[name] + silent[name] for name in counts}
    study = begun()
    assert "s left out" in study.tell_many(both, layout="arms").understood.sentence
    assert study.n_measurements == 5


REFUSED_ARMS = {
    "more events than n": (
        {"events": [30, 5, 0, 4, 6], "n": [20] * 5},
        r"row 1 \(x: P\): `successes=30` cannot",
    ),
    "half an event": ({"events": [1.5, 5, 0, 4, 6], "n": [20] * 5}, r"row 1 \(x: P\): `successes` must be"),
    "sd without n": ({"mean": [1.0] * 5, "sd": [1.0] * 5}, "no column says how many readings a mean is of"),
    "no error": ({"mean": [1.0] * 5}, "no column says how large the errors are"),
    "no result": ({"colour": ["red"] * 5}, "no column says what came out"),
    "both": ({"mean": [1.0] * 5, "events": [1] * 5, "n": [9] * 5}, "are both results"),
    "an empty n": (
        {"mean": [1.0] * 5, "sd": [1.0] * 5, "n": [9, None, 9, 9, 9]},
        r"row 2 \(x: A\): sd needs n",
    ),
}


@pytest.mark.parametrize(("results", "sentence"), REFUSED_ARMS.values(), ids=REFUSED_ARMS)
def test_what_cannot_be_an_arm_is_refused_with_its_row(results, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        told({**ARMS, **results}, "arms")


def test_in_a_wide_table_every_row_is_a_study():
    wide = {
        "author": ["x", "y"], "treat1": ["P", "P"], "y1": [1.0, 5.0], "se1": [0.5, 0.6], "treat2": ["A", "A"],
        "y2": [2.0, 6.5], "se2": [0.6, 0.3], "treat3": [None, "B"], "y3": [None, 7.0], "se3": [None, 0.4],
    }  # fmt: skip
    long = {**ARMS, "y": [1.0, 2.0, 5.0, 6.5, 7.0], "se": [0.5, 0.6, 0.6, 0.3, 0.4]}
    assert differences(told(wide, "arms")) == differences(told(long, "arms"))
    unnamed = {name: cells for name, cells in wide.items() if name != "author"}
    assert differences(told(unnamed, "arms")) == differences(told(long, "arms"))
    assert told(unnamed, "arms").frame("measurements")["block"].unique(maintain_order=True).to_list() == [
        "row 1",
        "row 2",
    ]
    with pytest.raises(ValueError, match=r"A table of differences is read with layout='network'"):
        told(table(*ONE), "arms")


def test_an_arm_needs_a_block_and_is_no_difference():
    study = begun()
    with pytest.raises(ValueError, match="arm=True needs `block="):
        study.tell(option="A", value=1.0, se=0.1, arm=True)
    with pytest.raises(ValueError, match="arm=True needs `block="):
        study.tell(plus="A", minus="B", value=1.0, se=0.1, arm=True, block="s")
    study.tell(option="A", value=1.0, se=0.1, arm=True, block="s", key="a")
    study.tell(option="A", value=1.0, se=0.1, arm=True, block="s", key="a")
    assert study.n_measurements == 1
    with pytest.raises(ValueError, match="already told"):
        study.tell(option="A", value=1.0, se=0.1, block="s", key="a")
    study.amend("a", "misread", 2.0)
    assert study.events()[-1].body["content"]["arm"] is True


def test_a_study_that_got_another_arm_does_not_count_twice():
    study = begun()
    study.tell_many(table(("one", "A", "P", 1.0, 0.5), ("two", "A", "P", 1.2, 0.5)), layout="network")
    with pytest.raises(
        ValueError, match=r"study 'one' was told before with other arms \(m-1, key one: A - P\)"
    ):
        study.tell_many(table(*ONE), layout="network")
    study.void("one: A - P", "it has a third arm")
    study.tell_many(table(*ONE), layout="network")
    assert study._log.state.measurements.n_live == 4
    with pytest.raises(ValueError, match=r"study 'one' was told before with other arms \(m-\d, key one: A\)"):
        study.tell_many(table(ONE[0]), layout="network")


def test_a_corrected_number_of_a_network_is_refused_until_a_reason_is_given():
    study = begun()
    rows = [*ONE, ("two", "A", "P", 1.2, 0.5)]
    study.tell_many(table(*rows), layout="network")
    rows[-1] = ("two", "A", "P", 1.4, 0.5)
    with pytest.raises(ValueError, match=r"two: A - P"):
        study.tell_many(table(*rows), layout="network")
    taken = study.tell_many(table(*rows), layout="network", amend="a misprint")
    assert (len(taken), taken.known, len(taken.amended)) == (0, 3, 1)
    fresh = told(table(*rows))
    assert differences(study) == differences(fresh)


@pytest.mark.parametrize("layout", ["network", "arms"])
def test_a_network_goes_on_with_differences_outside_of_its_studies(layout):
    arms = {
        "study": ["x", "x", "x", "y", "y"],
        "treatment": ["P", "A", "B", "P", "A"],
        "mean": [1, 2, 3, 7, 8],
    }
    rows = {"arms": {**arms, "se": [0.3] * 5}, "network": table(*ONE)}[layout]
    study = nw.create_study(results=rows, layout=layout, eps=0.1)
    (job,) = study.ask(dry_run=True)
    assert (job.minus is None, job.block) == (False, None)
    if layout == "arms":
        analysis = study.analysis()
        assert expected_noise(analysis, None, DIFFERENCE) == pytest.approx(np.full(analysis.n, 0.3 * 2**0.5))
        assert expected_noise(analysis, None, OPTION) == pytest.approx(np.full(analysis.n, 0.3))


def test_an_id_names_studies_unless_it_numbers_rows():
    rows = table(*ONE, names=("id", *COLUMNS[1:]))
    assert differences(told(rows)) == differences(told(table(*ONE)))
    numbered = {**rows, "id": [1, 2, 3]}
    with pytest.raises(ValueError, match=r"no column says which study .* `roles=\{'study': 'COLUMN'\}`"):
        told(numbered)
    assert told(numbered, roles={"study": "id"}).n_measurements == 3
    arms = {"id": ["x", "x"], "treatment": ["A", "B"], "mean": [1.0, 2.0], "se": [1.0, 1.0]}
    assert told(arms, "arms").n_measurements == 2
    with pytest.raises(ValueError, match="no column says which study"):
        told({**arms, "id": ["x", "y"]}, "arms")
