"""Answers to suggestions: their block and the other option of a difference are what was asked, or told."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.effort import effort
from tests.support.logs import append

import noisewise as nw
from noisewise.study.log.export import log_lines
from noisewise.study.stores.protocol import MemoryStorage


def study_of(*names, blocks=("Mon",), **arguments):
    """A study in which every option was measured once in each block."""
    study = nw.create_study(options=list(names), **{"eps": 0.1, **arguments})
    for shift, block in enumerate(blocks):
        for place, name in enumerate(names):
            study.tell(option=name, value=float(place + 10 * shift), se=0.5, block=block)
    return study


def asked(*bodies, blocks=("Mon",)):
    """A study of A, B, C and D whose log goes on with these suggestions, and the suggestions."""
    study = study_of("A", "B", "C", "D", blocks=blocks)
    bodies = [{"id": f"ask-{k}", "why": "so", "expires": 4e9, **body} for k, body in enumerate(bodies, 1)]
    append(study._log.storage, "study", *(("ask", body) for body in bodies))
    study = nw.load_study(study._log.storage)
    return study, study.pending


def refused(study, call, message):
    before = study.events()
    with pytest.raises(ValueError, match=message):
        call()
    assert study.events() == before


def in_blocks(study):
    return study.frame("measurements")["block"].to_list()


# ---- what is asked


def test_a_named_block_is_asked_for_told_and_read_back():
    study = study_of("A", "B", "C")
    jobs = study.ask(3, block="  Tue ")
    assert {job.block for job in jobs} == {"Tue"}
    assert {job.together for job in jobs} == {None}
    assert ", in block Tue, until " in repr(jobs[0])
    assert [study.tell(job, 1.0, se=0.1).block for job in jobs] == ["Tue"] * 3
    assert study.ask(block=17, dry_run=True)[0].block == "17"
    again = nw.load_study(study._log.storage)
    assert again._log.state.jobs == study._log.state.jobs


def test_one_suggestion_goes_on_in_the_block_of_the_last_measurement():
    study = study_of("A", "B", blocks=("Mon", "Tue"))
    (job,) = study.ask()
    assert (job.block, job.minus, job.together) == ("Tue", None, None)
    assert study.tell(job, 1.0, se=0.1).block == "Tue"


def test_several_suggestions_are_one_new_block_without_a_name():
    study = study_of("A", "B", "C")
    study.ask(block="Tue")
    first, second, third = study.ask(3)
    assert {job.together for job in (first, second, third)} == {first.id}
    assert {job.block for job in (first, second, third)} == {None}
    assert f"measure {first.option}, in a new block, until" in repr(first)
    assert f"in a new block with {first.id}, until" in repr(third)


def test_a_difference_is_asked_for_and_told_with_both_options():
    study = study_of("A", "B", "C")
    (job,) = study.ask(probe="difference")
    assert job.minus in {"A", "B", "C"} - {job.option}
    assert f"measure {job.option} - {job.minus}, " in repr(job)
    told = study.tell(job.id, 0.3, se=0.1)
    assert (told.option, told.minus) == (job.option, job.minus)
    assert study.pending == []


def test_where_only_differences_were_measured_differences_are_asked_for():
    study = nw.create_study(options=["A", "B", "C"], eps=0.1)
    study.tell(plus="A", minus="B", value=0.4, se=0.1)
    assert study.ask(dry_run=True)[0].minus is not None
    assert study.ask(probe="option", dry_run=True)[0].minus is None
    study.tell(option="C", value=0.4, se=0.1)
    assert study.ask(dry_run=True)[0].minus is None


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"block": "  "}, "`block` must not be empty; leave it out instead"),
        ({"block": "a\nb"}, "`block` must be plain text in one line"),
        ({"block": "x" * 1001}, "`block` must have at most 1,000 characters"),
        ({"probe": "pair"}, "`probe` must be one of 'option', 'difference'; got 'pair'"),
    ],
)
def test_bad_blocks_and_probes_are_refused(arguments, sentence):
    study = study_of("A", "B")
    refused(study, lambda: study.ask(**arguments), sentence)


# ---- what is told wins


def test_the_first_answer_names_the_new_block_of_those_asked_together():
    study, jobs = asked(*({"option": name, "together": "ask-1"} for name in "ABC"))
    sentence = r"ask-2 is meant for a new block, not named yet: say `block=` \(the day"
    refused(study, lambda: study.tell(jobs[1], 1.0, se=0.1), sentence)
    study.tell(jobs[2], 1.0, se=0.1, block="Tue")
    assert study.tell(jobs[1], 1.1, se=0.1).block == "Tue"
    assert study.tell(jobs[0], 1.2, se=0.1, block="Wed").block == "Wed"
    # Answers that are told again are known, although two names are about.
    assert study.tell(jobs[1], 1.1, se=0.1).id == "m-6"


def test_a_new_block_of_two_names_has_to_be_said():
    study, jobs = asked(*({"option": name, "together": "ask-1"} for name in "ABC"))
    study.tell(jobs[0], 1.0, se=0.1, block="Tue")
    study.tell(jobs[1], 1.0, se=0.1, block="Wed")
    refused(
        study, lambda: study.tell(jobs[2], 1.0, se=0.1), "a new block, recorded in 'Tue' and 'Wed': say `blo"
    )
    study.void("m-6", "wrong sample")
    assert study.tell(jobs[2], 1.0, se=0.1).block == "Tue"


def test_a_difference_may_be_told_the_other_way_round_or_against_another_option():
    study, jobs = asked(*[{"option": "A", "minus": "B"}] * 4)
    said = [
        {"plus": "B", "minus": "A"},
        {"minus": "C"},
        {"plus": "A", "minus": "D"},
        {"option": "A", "minus": "B"},
    ]
    told = [study.tell(job, 1.0, se=0.1, **pair) for job, pair in zip(jobs, said, strict=True)]
    assert [(one.option, one.minus) for one in told] == [("B", "A"), ("A", "C"), ("A", "D"), ("A", "B")]
    assert study.pending == []


@pytest.mark.parametrize(
    ("said", "got"),
    [
        ({"option": "A"}, "A"),
        ({"plus": "A"}, "A"),
        ({"option": "C"}, "C"),
        ({"plus": "C", "minus": "B"}, "C - B"),
        ({"minus": "A"}, "A"),
    ],
)
def test_what_is_no_answer_to_a_difference_is_refused(said, got):
    study, (job,) = asked({"option": "A", "minus": "B"})
    sentence = f"ask-1 asks for the difference A - B; got {got}: name both or none"
    refused(study, lambda: study.tell(job, 1.0, se=0.1, **said), sentence)


# ---- tables


def table(*rows):
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def test_rows_take_the_block_and_the_difference_of_their_suggestions():
    study, _ = asked({"option": "A", "block": "Tue"}, {"option": "B", "minus": "C"}, {"option": "D"})
    rows = [
        {"job": f"ask-{k}", "value": float(k), "se": 0.1, "block": b}
        for k, b in ((1, None), (2, None), (3, "x"))
    ]
    taken = study.tell_many(table(*rows))
    assert [(one.option, one.minus, one.block) for one in taken] == [
        ("A", None, "Tue"), ("B", "C", None), ("D", None, "x"),
    ]  # fmt: skip
    # The same table again is known, whatever its cells leave to the suggestions.
    assert study.tell_many(table(*rows), match=True).known == 3


def test_one_row_names_the_new_block_of_its_table():
    study, _ = asked(*({"option": name, "together": "ask-1"} for name in "ABC"))
    rows = [{"job": f"ask-{k}", "value": 1.0 + k, "se": 0.1} for k in (1, 2, 3)]
    refused(
        study, lambda: study.tell_many(table(*rows)), r"row 1 \(A\): ask-1 is meant for a new block, not na"
    )
    taken = study.tell_many(table(*rows[:2], rows[2] | {"block": "Tue"}))
    assert [one.block for one in taken] == ["Tue"] * 3


def test_a_row_answers_the_suggestion_for_its_block_before_an_older_one():
    study, _ = asked({"option": "A", "block": "Mon"}, {"option": "A", "block": "Tue"}, {"option": "A"})
    row = {"option": "A", "se": 0.1}
    rows = [row | {"block": "Wed", "value": 1.0}, row | {"block": "Tue", "value": 2.0}, row | {"value": 3.0}]
    study.tell_many(table(*rows), match=True)
    frame = study.frame("measurements").tail(3)
    assert frame["job"].to_list() == ["ask-3", "ask-2", "ask-1"]
    assert frame["block"].to_list() == ["Wed", "Tue", "Mon"]
    assert study.pending == []


def test_a_difference_answers_a_suggested_difference_and_no_option():
    study, _ = asked({"option": "A"}, {"option": "B", "minus": "A"}, {"option": "A", "minus": "C"})
    rows = [
        {"plus": "A", "minus": "B", "value": 1.0, "se": 0.1},
        {"plus": "A", "minus": "D", "value": 2.0, "se": 0.1},
    ]
    taken = study.tell_many(table(*rows), match=True)
    assert [(one.option, one.minus) for one in taken] == [("A", "B"), ("A", "D")]
    assert study.frame("measurements")["job"].to_list()[-2:] == ["ask-2", None]
    study.tell_many({"option": ["A"], "value": [1.0], "se": [0.1]}, match=True)
    assert [job.id for job in study.pending] == ["ask-3"]


def test_a_table_that_took_its_blocks_from_suggestions_is_known_when_it_comes_again():
    study, _ = asked({"option": "A", "block": "Tue"}, {"option": "B", "block": "Tue"})
    bare = {"option": ["A", "B"], "value": [1.512, 2.498], "se": [0.1, 0.1]}
    keyed = bare | {"key": ["k1", "k2"]}
    study.tell_many(keyed, match=True)
    assert in_blocks(study)[-2:] == ["Tue", "Tue"]
    assert study.tell_many(keyed, match=True).known == 2
    other, _ = asked({"option": "A", "block": "Tue"}, {"option": "B", "block": "Tue"})
    other.tell_many(bare, match=True)
    assert other.tell_many(bare, match=True).known == 2


# ---- what is kept

NAMES = st.sampled_from("ABCD")
TEXTS = st.none() | st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=20)
BODIES = st.fixed_dictionaries(
    {"option": NAMES, "minus": st.none() | NAMES, "block": TEXTS, "together": st.none() | st.just("ask-1")}
).filter(lambda body: body["option"] != body["minus"])


@settings(max_examples=effort(8, 40), deadline=None)
@given(bodies=st.lists(BODIES, min_size=1, max_size=5), block=TEXTS)
def test_suggestions_survive_export_and_rebuilding(bodies, block):
    said = [{name: part for name, part in body.items() if part is not None} for body in bodies]
    study, jobs = asked(*said)
    assert study.notes == []
    assert [(job.option, job.minus, job.block, job.together) for job in jobs] == [
        tuple(body.get(name) for name in ("option", "minus", "block", "together")) for body in bodies
    ]
    study.ask(2, block=block)
    store = MemoryStorage()
    nw.rebuild_study(log_lines(study._log.storage, study.name), store)
    again = nw.load_study(store)
    assert again.events() == study.events()
    assert again.pending == study.pending
    assert (
        again.ask(2, dry_run=True, lease=1.0)[0].together == study.ask(2, dry_run=True, lease=1.0)[0].together
    )


def test_an_answer_in_another_block_than_asked_for_is_noted():
    study = nw.create_study(options=["a", "b", "c"], eps=0.3)
    first, second, third = study.ask(3, block="2026-11-18")
    assert study.tell(first, 1.0, se=0.1).notes == ()
    moved = study.tell(second, 1.0, se=0.1, block="18.11.2026")
    assert moved.notes == ("ask-2 was meant for block 2026-11-18, and was recorded in 18.11.2026.",)
    (told,) = study.tell_many({"job": [third.id], "value": [1.0], "se": [0.1], "block": ["18.11.2026"]})
    assert told.notes == ("ask-3 was meant for block 2026-11-18, and was recorded in 18.11.2026.",)
