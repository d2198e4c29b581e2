"""Tables without keys: told again, grown, sorted anew, changed, and like another table by chance."""

import random

import numpy as np
import pytest

import noisewise as nw

ROWS = [("A", 1.0, 0.1), ("B", 2.0, 0.1), ("A", 1.0, 0.1), ("C", 3.0, 0.2), ("A", 1.2, 0.1)]
OTHER = [("A", 1.5, 0.1), ("B", 2.0, 0.1), ("C", 3.5, 0.2), ("D", 4.5, 0.2)]


def study_of(*names):
    return nw.create_study(options=list(names), eps=0.1)


def table(rows, **columns):
    option, value, se = zip(*rows, strict=True)
    return {"option": list(option), "value": list(value), "se": list(se), **columns}


@pytest.fixture
def study():
    made = study_of("A", "B", "C", "D")
    made.tell_many(table(ROWS))
    return made


def after(study, rows, **how):
    """How many were told, known and corrected, and how many measurements count."""
    taken = study.tell_many(rows if isinstance(rows, dict) else table(rows), **how)
    return len(taken), taken.known, len(taken.amended), study.n_measurements


def test_a_table_told_twice_changes_nothing(study):
    length = len(study.events())
    for _ in range(3):
        assert after(study, ROWS) == (0, 5, 0, 5)
    # That it was known is noted once: the certificate rests on it.
    assert [event.kind for event in study.events()[length:]] == ["skip"]
    (said,) = [words for words in study.certificate().assumptions if "came again" in words]
    assert "5 measurements: m-1, m-2" in said
    again = nw.load_study(study._log.storage, study.name)
    assert again.certificate().to_json() == study.certificate().to_json()


def test_repeats_inside_a_table_count_and_more_of_them_are_new(study):
    assert after(study, [*ROWS, ("A", 1.0, 0.1)]) == (1, 5, 0, 6)
    assert after(study, [*ROWS, ("A", 1.0, 0.1)]) == (0, 6, 0, 6)


@pytest.mark.parametrize("seed", range(5))
def test_rows_in_another_order_are_not_guessed_about(study, seed):
    chance = random.Random(seed)
    rows = [*ROWS, ("D", 4.0, 0.3), ("B", 2.2, 0.1)]
    chance.shuffle(rows)
    with pytest.raises(ValueError, match=r"Nothing was recorded"):
        study.tell_many(table(rows))
    assert study.n_measurements == 5
    assert after(study, rows, repeat="others") == (7, 0, 0, 12)


def test_a_table_keeps_growing_at_its_end(study):
    grown = [*ROWS, ("D", 4.0, 0.3)]
    assert after(study, grown) == (1, 5, 0, 6)
    assert after(study, [*grown, ("B", 2.2, 0.1), ("B", 2.2, 0.1)]) == (2, 6, 0, 8)
    assert after(study, [*grown, ("B", 2.2, 0.1), ("B", 2.2, 0.1)]) == (0, 8, 0, 8)
    assert after(study, grown) == (0, 6, 0, 8)
    assert after(study, ROWS) == (0, 5, 0, 8)


def test_rows_that_were_empty_may_be_filled_in_later(study):
    sheet = {"option": ["C", "D", "D"], "value": [7.01, None, 8.02], "se": [0.1, None, 0.1]}
    assert after(study, sheet, match=True) == (2, 0, 0, 7)
    assert after(study, sheet | {"value": [7.01, 7.5, 8.02], "se": [0.1] * 3}, match=True) == (1, 2, 0, 8)


def test_small_tables_are_not_skipped_by_their_values():
    """Half of these tables equal an earlier one; skipping them would drop the usual values."""
    study, chance, refused = study_of("A"), np.random.default_rng(3), []
    for count in range(60):
        rows = table([("A", round(float(chance.normal(0.0, 0.02)), 2), 0.02)])
        if rows["value"][0] in study.frame("measurements")["value"]:
            refused.append(count)
            with pytest.raises(ValueError, match=r"or be equal by chance\. Nothing was recorded"):
                study.tell_many(rows)
        study.tell_many(rows, repeat="others")
        assert study.n_measurements == count + 1
    assert len(refused) > 30


@pytest.mark.parametrize(
    ("question", "rows", "known"),
    [
        ({}, {"option": ["A"], "value": [1.0], "se": [0.1]}, False),
        ({}, {"option": ["A"], "value": [1.0172], "se": [0.1]}, True),
        ({}, {"option": ["A"], "value": [22 / 30], "se": [0.08]}, False),  # a fraction, with many digits
        ({}, {"option": ["A"] * 2, "value": [5 / 7, 3 / 7], "se": [0.17] * 2}, False),
        ({}, {"option": ["A"] * 3, "value": [5 / 7, 220 / 301, 41 / 97], "se": [0.17] * 3}, True),
        ({}, {"option": ["A"] * 5, "value": [1.0, 1.2, 1.1, 0.9, 1.3], "se": [0.1] * 5}, True),
        ({}, {"option": ["A"] * 9, "successes": [1, 0, 1] * 3, "trials": [1] * 9}, False),
        ({}, {"option": ["A"] * 3, "successes": [481, 512, 533], "trials": [9000] * 3}, True),
        ({}, {"option": ["A"], "values": ["3;4;5"]}, False),
        ({}, {"option": ["A"], "values": ["3.117;4.205;5.316"]}, True),
        ({"measure": nw.Ratings(1, 5)}, {"option": ["A"] * 6, "value": [3, 4, 4, 5, 3, 2]}, False),
        ({"scale": "log", "eps": "5%"}, {"option": ["A"], "value": [3], "se": [0.5]}, False),
        ({"scale": "log", "eps": "5%"}, {"option": ["A"], "value": [3.0127], "se": [0.5]}, True),
    ],
)
def test_a_table_is_known_if_it_is_unlikely_to_come_again(question, rows, known):
    study = nw.create_study(options=["A", "B"], **{"eps": 0.1} | question)
    many = len(study.tell_many(rows))
    if known:
        assert study.tell_many(rows).known == many
    else:
        with pytest.raises(ValueError, match="be equal by chance"):
            study.tell_many(rows)
    assert study.n_measurements == many


def test_an_equal_row_of_another_table_is_not_guessed_about(study):
    with pytest.raises(
        ValueError, match=r"1 row .* may have been recorded before.* \(row 3 = m-2\).*\"others\"` if"
    ):
        study.tell_many(table([OTHER[0], OTHER[2], *OTHER[1:2]]))
    with pytest.raises(ValueError, match=r"row 1: m-1 was told as A = 1\.0 .* the row says A = 1\.5"):
        study.tell_many(table(OTHER))
    assert study.n_measurements == 5
    assert after(study, OTHER, repeat="others") == (4, 0, 0, 9)
    assert after(study, OTHER) == (0, 4, 0, 9)
    assert after(study, ROWS) == (0, 5, 0, 9)


def test_said_at_once_all_rows_of_another_table_are_told(study):
    assert after(study, OTHER, repeat="others") == (4, 0, 0, 9)
    assert after(study, OTHER) == (0, 4, 0, 9)
    assert after(study, OTHER, repeat="others") == (4, 0, 0, 13)
    assert after(study, ROWS, repeat=True) == (5, 0, 0, 18)


def test_a_changed_row_is_shown_beside_what_was_told_and_corrected_on_demand(study):
    changed = [*ROWS[:3], ("C", 3.05, 0.2), *ROWS[4:], ("D", 4.0, 0.1)]
    with pytest.raises(
        ValueError, match=r"^row 4: m-4 was told as C = 3\.0 ± 0\.2, and the row says C = 3\.05 ± "
    ):
        study.tell_many(table(changed))
    assert study.n_measurements == 5
    assert after(study, changed, amend="a typing error") == (1, 4, 1, 6)
    events = study.events()
    assert [event.kind for event in events[-2:]] == ["amend", "tell"]
    assert events[-2].body["reason"] == "a typing error"
    assert study.frame("measurements")["value"].to_list() == [1.0, 2.0, 1.0, 3.05, 1.2, 4.0]
    assert after(study, changed) == (0, 6, 0, 6)
    assert after(study, ROWS) == (0, 5, 0, 6)  # what it said before is known as well


def test_rows_that_are_gone_still_count_and_are_named(study):
    with pytest.raises(ValueError, match=r"4 rows .* may have been recorded before"):
        study.tell_many(table(ROWS[:4]))
    taken = study.tell_many(table([*ROWS[:3], ("C", 7.0, 0.1)]), amend="one row too many")
    assert (len(taken), taken.known, taken.missing, study.n_measurements) == (0, 3, ["m-5"], 5)


def test_days_with_the_same_layout_are_not_taken_for_versions_of_one_another():
    study = study_of(*"ABCDEF")
    numbers = np.random.default_rng(0).normal(size=(30, 6))
    for day in numbers:
        assert (
            after(study, [(option, value, 0.1) for option, value in zip("ABCDEF", day, strict=True)])[0] == 6
        )
    assert study.n_measurements == 180


def test_a_voided_row_stays_void_until_it_is_said_otherwise(study):
    study.void("m-4", "wrong sample")
    taken = study.tell_many(table(ROWS))
    assert (len(taken), taken.known, len(taken.voided)) == (0, 4, 1)
    assert "row 4: m-4 was told with this content and voided (wrong sample)" in taken.voided[0]
    assert after(study, ROWS, repeat="others") == (1, 4, 0, 5)


def test_single_results_have_no_keys_of_our_making():
    study = study_of("A", "B")
    for _ in range(3):
        study.tell(option="A", value=1.0, se=0.1)
    assert study.n_measurements == 3
    assert [one.notes for one in study.tell_many(table([("A", 1.0, 0.1)]))] == [
        ("equals m-1, which was told before without a key.",)
    ]
    twice = study_of("A", "B")
    twice.tell(option="A", value=1.0, se=0.1)
    twice.tell(option="B", value=2.0, se=0.1)
    with pytest.raises(ValueError, match=r"all 2 new rows equal measurements that were told before, one by"):
        twice.tell_many(table([("A", 1.0, 0.1), ("B", 2.0, 0.1)]))


def test_a_key_of_ones_own_wins():
    study = study_of("A", "B", "C", "D")
    keyed = table(ROWS, key=[f"run-{k}" for k in range(5)])
    assert after(study, keyed) == (5, 0, 0, 5)
    assert after(study, keyed) == (0, 5, 0, 5)
    assert study.frame("measurements")["key"].to_list() == keyed["key"]
    assert all("row" not in event.body for event in study.events())
    changed = table([*ROWS[:4], ("A", 1.3, 0.1)], key=keyed["key"])
    with pytest.raises(
        ValueError, match=r"^row 5 \(key run-4\): m-5 was told as A = 1\.2 ± 0\.1, and the row says"
    ):
        study.tell_many(changed)
    assert after(study, changed, amend="read again") == (0, 4, 1, 5)
    assert study.frame("measurements")["key"].to_list() == keyed["key"]


def test_times_and_blocks_tell_equal_rows_apart(study):
    with pytest.raises(
        ValueError, match=r"row 1: m-1 was told as A = 1\.0 ± 0\.1, no block, and the row says A"
    ):
        study.tell_many(table(ROWS, block=["Mon"] * 5))
    study.tell_many(table(ROWS, block=["Mon"] * 5), amend="the day was missing")
    days = table(ROWS, block=["Tue"] * 5)
    assert after(study, days)[0] == 5
    assert after(study, days)[:2] == (0, 5)
    hours = table(ROWS, at=[float(k) for k in range(5)], block=["Wed"] * 5)
    assert after(study, hours)[0] == 5
    later = table(ROWS, at=[float(k) for k in range(5, 10)], block=["Wed"] * 5)
    assert after(study, later)[0] == 5


def test_readings_and_counts_are_known_as_well():
    study = study_of("A", "B", "C")
    counts = {"option": ["A", "B", "C", "A"], "successes": [312, 408, 597, 303], "trials": [1000] * 4}
    assert after(study, counts) == (4, 0, 0, 4)
    assert after(study, counts) == (0, 4, 0, 4)
    bounded = nw.create_study(
        options=["A", "B"], eps=0.1, measure=nw.Ratings(0, 1), errors=nw.Errors(scatter="own")
    )
    readings = {"option": ["A", "B", "A"], "values": ["0.112;0.203", "0.311;0.404", "0.501;0.613"]}
    assert after(bounded, readings) == (3, 0, 0, 3)
    assert after(bounded, readings) == (0, 3, 0, 3)


def test_a_reason_is_needed_and_nothing_else_is_repeated(study):
    with pytest.raises(ValueError, match="`amend` must say why"):
        study.tell_many(table(ROWS), amend=" ")
    with pytest.raises(ValueError, match="`repeat` must be"):
        study.tell_many(table(ROWS), repeat="all")


def test_a_table_that_comes_again_with_keys_is_not_counted_twice(study):
    keyed = table(ROWS, key=[f"run-{k}" for k in range(5)])
    with pytest.raises(
        ValueError, match=r"row 1 \(key run-0\): m-1 was told as A = 1\.0 ± 0\.1, no key, and the"
    ):
        study.tell_many(keyed)
    assert after(study, keyed, amend="keys added") == (0, 0, 5, 5)
    assert after(study, keyed) == (0, 5, 0, 5)
    again = nw.load_study(study._log.storage, study.name)
    assert again._log.state.keys == {f"run-{k}": k + 1 for k in range(5)}
    assert after(again, ROWS) == (0, 5, 0, 5)
    assert after(again, table(ROWS, key=[f"other-{k}" for k in range(5)])) == (5, 0, 0, 10)


def test_the_table_that_a_study_began_with_may_be_told_again_with_its_features():
    rows = {
        "option": ["a", "b"] * 2,
        "value": [1.01, 2.02, 3.03, 4.04],
        "se": [0.1] * 4,
        "Cu": [1.0, 2.0] * 2,
    }
    study = nw.create_study(results=rows, features=["Cu"], eps=0.5)
    assert study.tell_many(rows).known == 4
    # A map may still use such a column.
    mapped = {"option": "option", "value": "Cu", "se": "se"}
    study.tell_many({"option": ["a"], "Cu": [5.0], "se": [0.1]}, roles=mapped)
    assert study.n_measurements == 5
    assert study.tell_many({**rows, "Zn": [1.0] * 4}).known == 4
