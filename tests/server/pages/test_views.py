"""What pages show, as plain functions of a study."""

import pytest
from tests.support.page_worlds import filled_store

import noisewise as nw
from noisewise.core.text import number
from noisewise.server.pages import overview
from noisewise.server.pages.check import check_page
from noisewise.server.pages.log import LogReader
from noisewise.server.pages.measurements import (
    ERROR_KINDS,
    arguments_of,
    filled_for,
    filled_with,
    kinds_for,
    measured_of,
    measurements_page,
)
from noisewise.server.pages.options import options_page
from noisewise.server.pages.overview import (
    course_so_far,
    overview_of,
    plan_arguments,
    studies_page,
    study_row,
    unreadable_row,
)
from noisewise.server.pages.rendering import gauge_of, headline_of, light_of, page_of, with_query
from noisewise.server.pages.tables import HandedIn, preview, tell_handed
from noisewise.study.report.intervals import view_of


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return filled_store(tmp_path_factory.mktemp("store") / "team.db")


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    monkeypatch.setattr(overview, "SECONDS", 60.0)


@pytest.fixture
def study(store):
    return lambda name: nw.load_study(store, name)


def test_a_light_is_green_for_stopping_orange_for_withheld_and_grey_for_going_on(study):
    lights = {
        name: light_of(study(name).certificate()) for name in ("going", "reached", "withheld", "nothing")
    }
    assert {name: light.kind for name, light in lights.items()} == {
        "going": "going", "reached": "stop", "withheld": "held", "nothing": "going",
    }  # fmt: skip
    assert lights["nothing"].word == "not begun"


def test_a_headline_is_the_sentence_of_the_certificate_word_for_word(study):
    for name in ("going", "reached", "withheld", "nothing", "alone", "days"):
        certificate = study(name).certificate()
        assert headline_of(certificate).sentence == certificate.sentence


def test_a_withheld_certificate_shows_no_bound_and_no_rivals(study):
    certificate = study("withheld").certificate()
    assert gauge_of(certificate) is None
    shown = headline_of(certificate)
    assert (shown.rivals, shown.more_rivals, shown.evidence) == ([], 0, [])


def test_pages_of_a_table_never_leave_it():
    assert page_of(0, None, {}).words == "no rows"
    assert (page_of(101, "99", {}).page, page_of(101, "-1", {}).page, page_of(101, "x", {}).page) == (3, 1, 1)
    last = page_of(101, "3", {"q": "a b"})
    assert (last.first, last.last, last.words) == (100, 101, "101 to 101 of 101")
    assert last.address(2) == "?q=a+b&page=2"
    assert page_of(100_000, "1000", {}).around == [1, 0, 998, 999, 1000, 1001, 1002, 0, 2000]
    assert with_query({"q": "", "sort": ""}) == "?"


def options_of(study, **query):
    certificate = study.certificate()
    return options_page(study.frame("options"), view_of(study.analysis(), certificate), certificate, query)


def test_options_begin_with_the_best_and_are_sorted_and_filtered_over_all_rows(study):
    opened = study("going")
    page = options_of(opened)
    values = [float(row.value) for row in page.rows if row.value]
    assert values == sorted(values, reverse=True)
    assert page.pager.total == 20
    assert [row.option for row in options_of(opened, sort="option").rows][:2] == ["A-00", "A-01"]
    assert [row.option for row in options_of(opened, q="a-1").rows if not row.option.startswith("A-1")] == []
    assert [row.option for row in options_of(opened, standing="excluded").rows] == ["A-03"]
    assert options_of(opened, q="zzz").rows == []
    goal_min = options_of(study("reached"))
    assert [row.option for row in goal_min.rows] == ["A", "B", "C"]
    assert [sort.state for sort in goal_min.sortings if sort.name == "estimate"] == ["ascending"]


def test_a_withheld_study_says_nothing_about_who_may_be_the_best(study):
    page = options_of(study("withheld"))
    assert {row.standing for row in page.rows} == {"not known"}
    assert [name for name, _ in page.standings] == ["excluded", "never"]


def test_measurements_come_newest_first_with_what_became_of_them(study):
    page = measurements_page(study("going"), {})
    assert page.rows[0].id == "m-32"
    rows = {row.id: row for row in page.rows}
    assert rows["m-25"].voided == "wrong sample"
    assert rows["m-9"].amended == 1
    assert len({len(row.value.partition(".")[2]) for row in page.rows}) == 1


def test_measurements_are_found_by_option_person_and_number(study):
    opened = study("going")
    assert {row.option for row in measurements_page(opened, {"q": "A-07"}).rows} == {"A-07"}
    assert measurements_page(opened, {"q": "ann"}).pager.total == 20
    assert [row.id for row in measurements_page(opened, {"q": "m-3"}).rows] == ["m-3"]
    assert measurements_page(opened, {"q": "m-999"}).rows == []
    assert measurements_page(opened, {"fix": "m-7"}).fixing.id == "m-7"
    assert measurements_page(opened, {"fix": "m-7777"}).fixing is None


TOLD = {
    "se": ({"se.value": "1.5", "se.se": "0.1"}, {"value": "1.5", "se": 0.1}),
    "ci": (
        {"ci.value": "1", "ci.ci": "0,2", "ci.level": "0.9"},
        {"value": "1", "ci": [0.0, 2.0], "level": 0.9},
    ),
    "values": ({"values.values": "1; 2;3"}, {"values": [1.0, 2.0, 3.0]}),
    "counts": ({"counts.successes": "3", "counts.trials": "9"}, {"successes": 3, "trials": 9}),
    "sd": ({"sd.value": "1", "sd.sd": "2", "sd.n": "4"}, {"value": "1", "sd": 2.0, "n": 4}),
    "var": ({"var.value": "1", "var.var": "4"}, {"value": "1", "var": 4.0}),
    "none": ({"none.value": "−12.3(4)"}, {"value": "-12.3(4)"}),
}  # fmt: skip


def test_every_kind_of_error_bar_is_told_as_what_it_is():
    assert set(TOLD) == {kind.name for kind in ERROR_KINDS}
    for kind, (fields, expected) in TOLD.items():
        given = measured_of({"kind": kind, **fields})
        assert given == expected
        nw.create_study(options=["A", "B"], eps=0.1).tell(option="A", **given)


@pytest.mark.parametrize("kind", TOLD)
@pytest.mark.parametrize("other", TOLD)
def test_a_number_of_another_kind_is_refused_and_never_dropped(kind, other):
    fields = {name: text for name, text in TOLD[other][0].items() if not name.endswith(".value")}
    if kind != other and fields:
        with pytest.raises(ValueError, match="filled in as well"):
            measured_of({"kind": kind, **TOLD[kind][0], **fields})


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"what": "A"}, "choose which number"),
        ({"kind": "se", "se.value": "1", "what": "A"}, "`se` is empty"),
        ({"kind": "se", "se.value": "1", "se.se": "0,1", "what": "A"}, "decimal point"),
        ({"kind": "counts", "counts.successes": "1.5", "counts.trials": "2", "what": "A"}, "whole number"),
        ({"kind": "none", "none.value": "1"}, "what was measured"),
        ({"kind": "none", "none.value": "1", "what": "Z"}, "neither an option nor a suggestion"),
    ],
)
def test_a_form_that_is_not_clear_is_refused_in_one_sentence(form, said):
    with pytest.raises(ValueError, match=said):
        arguments_of(form, options={"A": 0}, jobs={})


def test_a_form_may_name_a_suggestion_or_a_difference():
    form = {"kind": "none", "none.value": "1", "key": " k "}
    there = {"options": {"A": 0, "B": 1}, "jobs": {"ask-1": None}}
    assert arguments_of({**form, "what": "ask-1"}, **there) == {"value": "1", "key": "k", "job": "ask-1"}
    assert arguments_of({**form, "what": "A", "minus": "B"}, **there)["minus"] == "B"


def pasted(text, chosen=None, opened=None, **form):
    opened = opened or nw.create_study(options=["A", "B"], eps=0.1)
    return opened, preview(opened, HandedIn(text), {**(chosen or {}), **form})


def test_a_column_called_err_is_not_guessed_to_be_an_error_bar():
    _, page = pasted("option\tvalue\terr\nA\t1.0\t0.1\nB\t2.0\t0.1\n")
    assert [column.role for column in page.columns] == ["option", "value", "?"]
    assert not page.ready
    assert page.said == "Say what 'err' is, or leave it out, and look again."
    _, chosen = pasted(
        "option,value,err\nA,1.0,0.1\n", {"role.0": "option", "role.1": "value", "role.2": "se"}
    )
    assert chosen.ready
    _, without = pasted(
        "option,value,err,Cu\nA,1.0,0.1,3\n",
        {"role.0": "option", "role.1": "value", "role.2": "", "role.3": ""},
    )
    assert without.ready
    assert without.remarks[-2:] == ["Left out: 'err', 'Cu'.", "None of these rows has an error bar."]
    with pytest.raises(ValueError, match="Say what 'err' is"):
        tell_handed(
            nw.create_study(options=["A", "B"], eps=0.1),
            HandedIn("option,value,err\nA,1.0,0.1\n"),
            {"role.0": "option", "role.1": "value", "role.2": "?"},
            None,
        )


def test_the_row_that_is_wrong_says_why_and_no_other_is_marked():
    table = "option,value,se\nA,1.0,0.1\nB,2.1,0.1\nA,1.2,-0.1\nB,2.2,0.1\n"
    _, page = pasted(table)
    assert page.problem.endswith("Nothing was recorded.")
    assert [row.place for row in page.rows if row.bad] == [3]
    said = {row.place: row.fate for row in page.rows}
    assert "row 3 (A, line 4): `se`" in said[3]
    assert said[2] == "nothing: another row is wrong"


def log_of(opened, **query):
    storage = opened._log.storage
    reader = LogReader(opened, storage)
    return reader.page(query, ("tell", "void", "amend", "ask"))


def test_the_log_is_filtered_by_kind_text_and_measurement(study):
    opened = study("going")
    assert {row.kind for row in log_of(opened, kind="tell").rows} == {"tell"}
    assert [row.measurement for row in log_of(opened, q="m-9").rows] == ["m-9", "m-9"]
    assert [row.kind for row in log_of(opened, q="m-25", kind="void").rows] == ["void"]
    assert [row.more for row in log_of(opened, q="WRONG sample").rows] == ["reason: wrong sample"]
    assert log_of(opened, q="100%").rows == log_of(opened, q="a_b").rows == []
    assert log_of(opened, q="m-99").rows == []
    assert log_of(opened, kind="<b>").pager.total == opened.n_events


def test_the_log_is_told_in_words_and_numbers_its_measurements(study):
    opened = study("going")
    page = log_of(opened)
    assert page.rows[0].number == opened.n_events
    rows = [*page.rows, *log_of(opened, page="2").rows]
    kinds = {row.kind for row in rows}
    assert {"tell", "ask", "fail", "release", "void", "amend", "exclude"} <= kinds
    told = [row.measurement for row in rows if row.kind == "tell"]
    assert (told[0], told[-1], len(told)) == ("m-32", "m-1", 32)
    assert sum(bool(row.day) for row in page.rows) == 1
    assert any("reason: cracked" in row.more for row in page.rows)


def test_the_check_leads_to_the_row_that_is_wrong(study):
    opened = study("withheld")
    page = check_page(opened.check(), opened.analysis())
    assert not page.ok
    assert page.remedies[0].measurement == "m-7"
    assert page.worst[0].measurement == "m-7"
    assert page.chi.over or page.chi.place > page.chi.high
    well = study("reached")
    assert check_page(well.check(), well.analysis()).ok


def test_the_course_of_the_bound_ends_with_the_bound_of_the_certificate(study):
    opened = study("going")
    known = course_so_far(opened.analysis(), opened.certificate())
    assert known["bound"].to_list()[-1] == opened.certificate().bound
    assert len(known) > 1


def test_readings_and_counts_say_with_which_error_they_enter():
    counted_ones = nw.create_study(options=["A", "B"], eps=0.1)
    for option, successes in (("A", 30), ("B", 20), ("A", 28)):
        counted_ones.tell(option=option, successes=successes, trials=40)
    read = nw.create_study(options=["A", "B"], eps=0.1, errors=nw.Errors(scatter="pooled"))
    for option, readings in (("A", [1.0, 1.2, 1.1]), ("B", [2.0, 2.3, 2.2])):
        read.tell(option=option, values=readings)
    for opened in (counted_ones, read):
        sigma = opened.analysis().sigmas.estimated
        rows = measurements_page(opened, {}).rows
        assert [row.enters for row in rows] == [number(one) for one in sigma[::-1]]
        assert all(row.enters for row in rows)


def test_an_overview_says_why_and_reserves_nothing(study):
    opened = study("going")
    before = opened.n_events
    page = overview_of(opened, opened.certificate())
    assert page.suggested
    assert all(job.why for job in page.suggested)
    assert [job.by for job in page.under_way] == ["eve"]
    assert "good enough: 0.5" in page.course
    assert opened.n_events == before
    done = study("reached")
    assert overview_of(done, done.certificate()).suggested == []


def test_a_withheld_overview_draws_residuals_and_no_bound(study):
    opened = study("withheld")
    page = overview_of(opened, opened.certificate())
    assert (page.course, page.intervals) == ("", "")
    assert "residual" in page.residuals


def test_studies_are_listed_with_the_last_event_first(store):
    rows = [study_row(nw.load_study(store, name), 2e9) for name in store.names()]
    page = studies_page([*rows, unreadable_row("broken", "it is damaged.")], {})
    assert page.rows[-1].name in ("broken", "nothing")
    assert page.total == 8
    assert "withheld" in page.sentence
    assert [row.name for row in studies_page(rows, {"q": "REACH"}).rows] == ["reached"]
    assert studies_page(rows, {"sort": "state"}).rows[0].name == "withheld"


def test_questions_about_the_future_are_read_from_an_address():
    assert plan_arguments({"noise": "0.5, 0.1", "eps": "2%"}) == {
        "noise": [[0.5, 0.5], [0.1, 0.5]],
        "eps": "2%",
    }
    with pytest.raises(ValueError, match="must look like"):
        plan_arguments({"noise": "loud"})


def test_a_study_of_items_is_told_items_and_nothing_else():
    opened = nw.create_study(options=["A", "B"], measure=nw.Items(["q 1", "q=2", "q3"]), eps=0.1, seed=0)
    assert [kind.name for kind in kinds_for(opened)] == ["items"]
    job = opened.ask()[0]
    form = filled_for(opened, job.id)
    assert form["items.items"] == "".join(f"{item} = \n" for item in job.items)
    form["items.items"] = form["items.items"].replace(" = \n", " = 1\n", 2)
    given = arguments_of(form, options=opened.analysis().state.index, jobs=opened.analysis().state.jobs)
    assert given == {"items": dict.fromkeys(job.items[:2], 1.0), "job": job.id}
    assert kinds_for(nw.create_study(options=["A", "B"], eps=0.1))[0].name == "se"


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "has no value"), ("q1 = \n", "has no value"), ("x", "must look like"), ("q = 1\nq = 2", "twice"),
     ("q = x", "must be a number")],
)  # fmt: skip
def test_items_that_are_not_clear_are_refused(text, said):
    with pytest.raises(ValueError, match=said):
        arguments_of({"kind": "items", "items.items": text, "what": "A"}, options={"A": 0}, jobs={})


def test_a_correction_begins_with_what_was_told(study):
    told = study("going").analysis().state.told
    assert filled_with(told[8]) == {"kind": "se", "se.value": "20.1", "se.se": "0.6"}
    assert filled_with({"kind": "none", "value": 1.5}) == {"kind": "none", "none.value": "1.5"}
    assert filled_with({"kind": "counts", "value": 0.5}) == {}
