"""Items: what is told, what is refused and with which words, and that nothing is lost on the way."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.effort import effort
from tests.support.item_worlds import study_of, told

import noisewise as nw
from noisewise.study.telling.items import (
    check_pool,
    read_places,
    read_values,
    shuffled,
    write_places,
    write_values,
)

NAMES = [f"q{k}" for k in range(20)]


@pytest.fixture
def study():
    return nw.create_study(options=["A", "B", "C"], eps=0.05, measure=nw.Items(NAMES), seed=0)


@settings(max_examples=effort(12, 60))
@given(st.sets(st.integers(0, 300), min_size=1))
def test_places_are_read_as_they_were_written(places):
    rising = np.array(sorted(places))
    assert read_places(write_places(rising), rising.size).tolist() == rising.tolist()


@settings(max_examples=effort(12, 60))
@given(st.lists(st.one_of(st.sampled_from([0.0, 1.0]), st.floats(-1e6, 1e6)), min_size=1))
def test_values_are_read_as_they_were_written(values):
    numbers = np.array(values)
    assert read_values(write_values(numbers), numbers.size).tolist() == numbers.tolist()


@pytest.mark.parametrize("text", ["", "0-3", "3-1", "1-2,2-4", "1-99999999999", "a", 7, "1-2,", "5,4"])
def test_strange_places_are_refused(text):
    with pytest.raises(ValueError, match="places"):
        read_places(text, 3)


def test_the_order_is_random_and_depends_on_names_and_seed_alone():
    order = shuffled(NAMES, 0)
    assert sorted(order) == sorted(NAMES)
    assert order == shuffled(reversed(NAMES), 0)
    assert order != shuffled(NAMES, 1)
    first = [shuffled(NAMES, seed)[0] for seed in range(2000)]
    share = np.array([first.count(name) for name in NAMES]) / 2000
    assert share.min() > 0.02
    assert share.max() < 0.08


@pytest.mark.parametrize(
    ("given", "kind", "said"),
    [
        (
            {"option": "A", "items": {"q99": 1}},
            KeyError,
            "'q99' is not among the 20 items of this study. Nearest:",
        ),
        ({"option": "A", "items": {}}, TypeError, "`items` must map names of items to values"),
        ({"option": "A", "items": [1, 0]}, TypeError, "`items` must map names of items to values"),
        ({"option": "A", "items": {"FIRST": 2}}, ValueError, r"must have values from 0 to 1 \(`measure`"),
        ({"option": "A", "items": {"FIRST": "1"}}, ValueError, "must have values from 0 to 1"),
        (
            {"option": "A", "items": {"FIRST": None}},
            ValueError,
            "one that could not be measured counts as failed",
        ),
        ({"option": "A", "items": {"FIRST": float("nan")}}, ValueError, "counts as failed; got nan"),
        ({"option": "A", "items": {"FIRST": 1}, "se": 0.1}, ValueError, "leave se= out"),
        ({"option": "A", "items": {"FIRST": 1}, "block": "Mon"}, ValueError, "leave block= out"),
        ({"plus": "A", "minus": "B", "items": {"FIRST": 1}}, ValueError, "leave plus= out"),
        ({"option": "A", "value": 1.0, "items": {"FIRST": 1}}, ValueError, "leave value= out"),
        (
            {"option": "A", "items": {"SECOND": 1}},
            ValueError,
            "A goes on with item 'q.+', at place 1 of the order",
        ),
        ({"option": "A", "items": {0.5: 1}}, TypeError, "named by a text or a whole number; got 0.5"),
    ],
)
def test_what_cannot_be_told_is_refused_in_one_sentence(study, given, kind, said):
    first, second = study.next_items("A", 2)
    names = {"FIRST": first, "SECOND": second}
    items = given["items"]
    if isinstance(items, dict):
        given = given | {"items": {names.get(name, name): value for name, value in items.items()}}
    with pytest.raises(kind, match=said):
        study.tell(**given)
    assert study.n_measurements == 0


def test_an_item_counts_once_for_each_option(study):
    first = study.next_items("A", 2)
    study.tell(option="A", items=dict.fromkeys(first, 1))
    with pytest.raises(
        ValueError, match=f"item '{first[0]}' was told for A before, in m-1: an item counts once"
    ):
        study.tell(option="A", items={first[0]: 1})
    study.tell(option="B", items={first[0]: 1})


def test_the_same_key_or_suggestion_told_twice_counts_once(study):
    first = study.next_items("A", 2)
    one = study.tell(option="A", items=dict.fromkeys(first, 1), key="run 1")
    assert study.tell(option="A", items=dict.fromkeys(first, 1), key="run 1") == one
    with pytest.raises(ValueError, match="key run 1 already told with 1; you sent 0"):
        study.tell(option="A", items=dict.fromkeys(first, 0), key="run 1")
    (job,) = study.ask(items=3)
    answered = study.tell(job, items=dict.fromkeys(job.items, 1))
    assert study.tell(job, items=dict.fromkeys(job.items, 1)).number == answered.number
    assert study.n_measurements == 2


def test_models_with_features_have_no_items():
    table = {"id": ["A", "B", "C"], "x": [0.0, 1.0, 2.0]}
    study = nw.create_study(options=table, roles={"option": "id"}, model="linear", eps=0.1)
    with pytest.raises(ValueError, match="compared option by option, which the linear model does not do"):
        study.tell(option="A", items={"q1": 1})
    apart = nw.create_study(
        options=table, roles={"option": "id"}, features=["x"], model="independent", eps=0.1
    )
    apart.tell(option="A", items={"q1": 1})
    with pytest.raises(ValueError, match="`model` must stay independent: items were told"):
        apart.switch("linear")


def test_a_study_that_began_otherwise_takes_no_items():
    study = nw.create_study(options=["A", "B"], eps=0.05)
    study.tell(option="A", successes=3, trials=4)
    with pytest.raises(ValueError, match="began with other measurements"):
        study.tell(option="A", items={"q1": 1})
    with pytest.raises(ValueError, match="began with other measurements"):
        study.tell_many({"option": ["A"], "item": ["q1"], "value": [1]})


def test_corrections_change_values_and_nothing_else(study):
    first = study.next_items("A", 3)
    study.tell(option="A", items=dict(zip(first, (1, 1, 0), strict=True)))
    assert study.amend("m-1", "wrong key", items={first[2]: 1}).value == 1.0
    assert study.frame("items")["value"].to_list() == [1.0, 1.0, 1.0]
    for wrong in ({"value": 0.5}, {"option": "B"}, {"items": {first[0]: 1}, "se": 0.1}):
        with pytest.raises(ValueError, match="m-1 cannot be corrected by"):
            study.amend("m-1", "why", **wrong)
    stranger = study.next_items("A", 1)[0]
    with pytest.raises(ValueError, match=f"m-1 has no item '{stranger}'"):
        study.amend("m-1", "why", items={stranger: 1})
    with pytest.raises(ValueError, match="nothing would change"):
        study.amend("m-1", "why", items={first[0]: 1})


def test_a_stream_takes_its_order_from_the_first_telling():
    study = nw.create_study(options=["A", "B"], eps=0.05)
    study.tell(option="A", items={"x": 1, "y": 0})
    assert study.next_items("B") == ["x", "y"]
    assert study.next_items("A") == []
    with pytest.raises(ValueError, match="B goes on with item 'x', at place 1"):
        study.tell(option="B", items={"y": 1, "z": 0})
    study.tell(option="B", items={"z": 0, "y": 1, "x": 1})
    assert study.next_items("A") == ["z"]


@pytest.mark.parametrize("items", [[], 0, -3, "q1", {"q": 1}, ["a", "a"], [0.5], 10**9])
def test_strange_pools_are_refused(items):
    with pytest.raises((ValueError, TypeError), match="item"):
        check_pool(items)


def table_of(answers, names, options="ABC"):
    rows = [
        (option, name, value)
        for option, row in zip(options, answers, strict=True)
        for name, value in zip(names, row, strict=True)
    ]
    return pl.DataFrame(rows, schema=["option", "item", "value"], orient="row")


def test_a_table_of_items_is_told_option_by_option_and_once():
    answers = np.random.default_rng(0).integers(0, 2, (3, 20))
    study = nw.create_study(options=["A", "B", "C"], eps=0.05)
    taken = study.tell_many(table_of(answers, NAMES).sample(fraction=1.0, shuffle=True, seed=1))
    assert (len(taken), taken.items, taken.known) == (3, 60, 0)
    again = study.tell_many(table_of(answers, NAMES))
    assert (len(again), again.items, again.known) == (0, 0, 60)
    assert study.frame("items").height == 60
    assert {one.value for one in taken} == set(answers.mean(axis=1).tolist())


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"option": ["D"], "item": ["q0"], "value": [1]}, "row 1: 'D' is not in the catalogue"),
        ({"option": ["A"], "item": ["x"], "value": [1]}, "row 1: 'x' is not among the 20 items"),
        ({"option": ["A"], "item": [None], "value": [1]}, "row 1: `item` must not be empty"),
        (
            {"option": ["A"], "item": ["q0"], "value": [None]},
            "row 1: `items` must have a value for every item",
        ),
        ({"option": ["A"], "item": ["q0"], "value": [1.5]}, "row 1: `items` must have values from 0 to 1"),
        (
            {"option": ["A", "A"], "item": ["q0", "q0"], "value": [1, 0]},
            "row 2: item 'q0' of A is in the table twice",
        ),
        (
            {"option": ["A"], "item": ["q0"], "value": [1], "se": [0.1]},
            "column 'se' that means nothing beside",
        ),
        ({"job": ["ask-9"], "item": ["q0"], "value": [1]}, "row 1: `job` must be a suggestion"),
        ({"option": ["A"], "item": ["q0"], "value": ["yes"]}, "row 1 \\(A\\): `value` must be a number"),
    ],
)
def test_a_bad_row_is_named_and_none_is_told(study, columns, said):
    with pytest.raises((ValueError, KeyError), match=said):
        study.tell_many(columns)
    assert study.n_measurements == 0


def test_rows_that_contradict_what_was_told_or_skip_items_are_refused(study):
    first, second, third = study.next_items("A", 3)
    study.tell(option="A", items={first: 1})
    with pytest.raises(
        ValueError, match=f"row 1: item '{first}' of A was told as 1 \\(m-1\\), and the row says 0\\."
    ):
        study.tell_many({"option": ["A"], "item": [first], "value": [0]})
    with pytest.raises(ValueError, match=rf"row 1 \(A\): A goes on with item '{second}', at place 2"):
        study.tell_many({"option": ["A"], "item": [third], "value": [0]})


def changes(draw_from):
    """Tellings, voids and corrections in any order, on three options."""
    one = st.tuples(st.sampled_from("ABC"), st.lists(st.sampled_from([0, 1, 0.5]), min_size=1, max_size=6))
    return st.lists(st.one_of(one, st.integers(0, 8)), min_size=1, max_size=draw_from)


@settings(max_examples=effort(8, 40), deadline=None)
@given(changes(12), st.sampled_from([None, 40]))
def test_a_log_gives_the_same_answers_again(tmp_path_factory, happened, pool):
    study = study_of([[], [], []], pool=pool)
    for what in happened:
        if isinstance(what, tuple):
            missing = len(study.next_items(what[0], 6)) if pool else 6
            if missing >= len(what[1]):
                next_ones(study, *what)
        elif 0 < what <= study.frame("measurements").height:
            number = f"m-{what}"
            row = study.frame("measurements")[what - 1]
            if row["voided"][0] is None:
                study.void(number, "told by mistake")
    path = tmp_path_factory.mktemp("log") / "study.jsonl"
    study.export(path)
    nw.rebuild_study(path, path.with_suffix(".db"))
    again = nw.load_study(path.with_suffix(".db"))
    assert again.frame("items").equals(study.frame("items"))
    assert again.certificate().to_json() == study.certificate().to_json()
    assert again._log.state.items.fingerprint() == study._log.state.items.fingerprint()
    assert nw.verify_certificate(study.certificate(), again).bound == study.certificate().bound


def next_ones(study, option, values):
    """Tell what comes next, gaps first."""
    known = study.next_items(option, len(values))
    fresh = [f"new{len(study._log.state.items.names) + k}" for k in range(len(values) - len(known))]
    study.tell(option=option, items=dict(zip(known + fresh, values, strict=True)))


@pytest.mark.parametrize("pool", [None, 60])
def test_another_unit_changes_nothing_but_the_unit(pool):
    """Grades from -2 to 8 say what shares from 0 to 1 do."""
    answers = np.random.default_rng(3).choice([0.0, 0.25, 1.0], (3, 60))
    shares = study_of(answers.tolist(), pool=pool)
    grades = nw.create_study(options=list("ABC"), eps=0.5, measure=nw.Items(pool, -2, 8), seed=0)
    for option, row in zip("ABC", answers, strict=True):
        told(grades, option, (10.0 * row - 2.0).tolist())
    one, other = shares.certificate(), grades.certificate()
    assert one.option == other.option
    assert other.bound == pytest.approx(10.0 * one.bound)
    with pytest.raises(ValueError, match="from -2 to 8"):
        grades.tell_many({"option": ["A"], "item": ["q60"], "value": [9]})


def test_a_study_for_one_look_takes_no_items():
    study = nw.create_study(options=["A", "B"], eps=0.5, final=True)
    with pytest.raises(ValueError, match="items do not go with `final=True`"):
        study.tell(option="A", items={"q": 1})
    with pytest.raises(ValueError, match="does not go with `final=True`"):
        nw.create_study(options=["A", "B"], eps=0.5, final=True, measure=nw.Items(5))


def test_items_that_were_changed_in_a_table_are_corrected_together(study):
    first, second, third = study.next_items("A", 3)
    study.tell(option="A", items={first: 1, second: 0})
    table = {"option": ["A"] * 3, "item": [first, second, third], "value": [0, 1, 1]}
    with pytest.raises(ValueError, match=r"row 1: item .*m-1.*; row 2: item .*say why with `amend="):
        study.tell_many(table)
    taken = study.tell_many(table, amend="marked anew")
    assert ([one.id for one in taken.amended], len(taken), taken.items) == (["m-1"], 1, 1)
    assert [event.kind for event in study.events()[-2:]] == ["amend", "tell"]
    assert study.tell_many(table).known == 3
    assert (
        study.certificate().to_json() == nw.load_study(study._log.storage, study.name).certificate().to_json()
    )


def test_the_order_of_a_pool_is_another_one_in_every_study_unless_a_seed_is_stated():
    def order(**stated):
        study = nw.create_study(options=["A", "B"], measure=nw.Items(100), eps=0.1, **stated)
        loaded = nw.load_study(study._log.storage, study.name)
        assert loaded.next_items("A", 100) == study.next_items("A", 100)
        return study.specification.seed, study.next_items("A", 100)

    drawn = [order() for _ in range(4)]
    assert len({seed for seed, _ in drawn}) == 4
    assert len({tuple(names) for _, names in drawn}) == 4
    assert all(0 <= seed < 2**53 for seed, _ in drawn)
    assert order(seed=3) == order(seed=3)
    assert order(seed=0)[1] not in [names for _, names in drawn]


def test_a_study_of_items_takes_no_bare_number():
    study = nw.create_study(options=["A", "B"], eps=0.1, measure=nw.Items(30), seed=0)
    with pytest.raises(ValueError, match="compares options by their answers to the same items"):
        study.tell(option="A", value=1)
    with pytest.raises(ValueError, match="Other measurements need another study"):
        study.tell(option="A", value=1, se=0.1)
    assert study.n_measurements == 0
