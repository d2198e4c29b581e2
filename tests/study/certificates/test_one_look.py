"""Studies that are looked at once: words, promises, switching, asking, planning, and their logs."""

import json

import numpy as np
import pytest
from tests.support import one_look
from tests.support.logs import append
from tests.support.one_look import NAMES, once
from tests.support.studies_in_time import study_at

import noisewise as nw
from noisewise.study.log.looks import COST

VALUES = np.array([0.0, -0.3, -1.0, 0.4, 0.1])
ROWS = one_look.known(VALUES, np.random.default_rng(1))


def test_the_certificate_says_that_it_is_valid_for_one_look_only():
    certificate = once(ROWS).certificate()
    assert certificate.once
    assert certificate.looks == "once"
    assert "with 95 % confidence (valid for one look only)" in certificate.sentence
    assert certificate.sentence.endswith("That is not close enough (eps 0.5).")
    assert "Stopping" not in certificate.sentence
    assert any("valid for one look only" in said for said in certificate.assumptions)
    assert json.loads(certificate.to_json())["looks"] == "once"
    usual = once(ROWS, final=False).certificate()
    assert not usual.once
    assert "one look" not in str(usual)


def test_the_bound_follows_from_the_half_widths():
    study = once(ROWS)
    certificate = study.certificate()
    recommended = study.options.index(certificate.option)
    differences = one_look.analysis_of(study).certified.differences(recommended)
    gaps = differences + one_look.widths(study)[:, recommended]
    assert certificate.bound == pytest.approx(max(0.0, gaps.max()))
    may_be_best = [name for name, gap in zip(NAMES, gaps, strict=True) if gap >= 0.0]
    assert list(certificate.candidates) == may_be_best


def test_the_same_measurements_looked_at_otherwise_are_another_certificate():
    at_once, usual = once(ROWS).certificate(), once(ROWS, final=False)
    assert at_once.data != usual.certificate().data
    with pytest.raises(ValueError, match="the certificate says data="):
        nw.verify_certificate(at_once.to_json().replace(at_once.head, usual.head), usual)


def test_switching_to_once_is_an_event_that_says_what_it_costs():
    study = once(ROWS, final=False)
    before = study.certificate()
    study.switch(final=True, reason="the table is finished")
    assert study.looks == "once"
    assert study.policy == "round_robin"
    policy, switch = study.events()[-2:]
    assert (policy.kind, switch.kind) == ("policy", "switch")
    assert switch.body["looks"] == "once"
    assert switch.body["costs"] == COST
    assert switch.body["reason"] == "the table is finished"
    certificate = study.certificate()
    assert certificate.bound < before.bound
    # The model is what it was: nothing is said to have been chosen by looking.
    assert not any("the model was chosen" in said for said in certificate.assumptions)
    assert nw.verify_certificate(before, study).looks == "any time"


def test_there_is_no_way_back():
    study = once(ROWS)
    length = len(study.events())
    with pytest.raises(ValueError, match=r"`final` cannot be taken back.*Make a new study"):
        study.switch(final=False)
    with pytest.raises(ValueError, match="hold for one look only already"):
        study.switch(final=True)
    with pytest.raises(TypeError, match="`final` must be true or false"):
        study.switch(final="twice")
    assert len(study.events()) == length


def untouched(study, job):
    """Nothing happens to the answer."""


def void_and_tell_again(study, job):
    study.void(job.id.replace("ask", "m"), "to begin afresh")
    study.tell(job, 1.0, se=0.5)


def void_and_tell_without_the_job(study, job):
    study.void(job.id.replace("ask", "m"), "to begin afresh")
    study.tell(option=job.option, value=1.0, se=0.5)


def void_and_import(study, job):
    study.void(job.id.replace("ask", "m"), "to begin afresh")
    study.tell_many([{"job": job.id, "value": 1.0, "se": 0.5}])


def amend(study, job):
    study.amend(job.id.replace("ask", "m"), "a typo", value=1.1)


def void(study, job):
    study.void(job.id.replace("ask", "m"), "to begin afresh")


@pytest.mark.parametrize(
    "launder",
    [untouched, void_and_tell_again, void_and_tell_without_the_job, void_and_import, amend, void],
)
@pytest.mark.parametrize("blind", [False, True], ids=["", "then blind"])
def test_a_study_whose_measurements_were_chosen_by_looking_cannot_be_looked_at_once(launder, blind):
    study = nw.create_study(options=NAMES, eps=0.5)
    jobs = [study.ask()[0]]  # before anything is known
    for _ in range(5):
        study.tell(jobs[-1], 1.0, se=0.5)
        jobs += study.ask()
    study.tell(jobs[-1], 1.0, se=0.5)
    for job in jobs:
        launder(study, job)
    if blind:
        study.set_policy("round_robin")
        study.exclude(NAMES[0], "to try")
        study.include(NAMES[0])
        study.add_options(["later"])
    for opened in (study, nw.load_study(study._log.storage)):
        with pytest.raises(ValueError, match="5 suggestions came from a policy that looks"):
            opened.switch(final=True)


@pytest.mark.parametrize("question", [{}, {"model": "linear"}])
def test_a_study_can_be_switched_while_all_options_are_excluded(question):
    study = once(ROWS, final=False, **question)
    for name in NAMES:
        study.exclude(name, "broken")
    study.switch(final=True)
    study.set_policy("uniform")
    assert study.certificate().sentence.startswith("Every option of this study is excluded")
    study.include(NAMES[0])
    assert study.ask()[0].option == NAMES[0]


def test_suggestions_made_before_anything_was_known_were_not_chosen_by_looking():
    study = nw.create_study(options=NAMES, eps=0.5)
    for job in study.ask(len(NAMES)):
        study.tell(job, 1.0, se=0.5)
    study.switch(final=True)
    assert nw.load_study(study._log.storage).looks == "once"


def test_a_log_in_which_they_were_withholds_the_certificate():
    """Nobody can write such a log by the interface: it is put together by hand."""
    storage = nw.MemoryStorage()
    study = nw.create_study(storage, options=["A", "B"], eps=0.5)
    for _ in range(4):
        study.tell(study.ask()[0], 1.0, se=0.5)
    body = {"model": {"model": "independent", "extra_scatter": None}}
    append(storage, study.name, ("switch", body | {"looks": "once", "costs": COST}))
    certificate = nw.load_study(storage).certificate()
    assert "does not hold for what was chosen by looking" in certificate.withheld[0]
    assert certificate.bound == float("inf")


def test_policies_that_look_at_values_are_refused():
    with pytest.raises(ValueError, match="must be round_robin or uniform with `final=True`; got 'race'"):
        once([], policy="race")
    study = once([], policy="uniform")
    with pytest.raises(ValueError, match="got 'vage', which looks at values"):
        study.set_policy("vage")
    study.set_policy("round_robin")
    assert study.policy == "round_robin"


@pytest.mark.parametrize("policy", ["round_robin", "uniform"])
def test_what_is_asked_for_does_not_depend_on_values(policy):
    asked = []
    for slope in (0.0, 100.0):
        study = study_at(lambda: 1.7e9, options=NAMES, eps=0.5, final=True, policy=policy)
        for _ in range(15):
            job = study.ask()[0]
            assert "looking before the end breaks the promise" in job.why
            study.tell(job, slope * NAMES.index(job.option), se=0.1)
        asked.append([(job.option, job.why) for job in study.ask(5)])
        assert not study.certificate().withheld
    assert asked[0] == asked[1]


def test_a_plan_goes_by_error_bars_alone():
    plans = []
    for slope in (0.0, 3.0):
        study = nw.create_study(options=NAMES, eps=0.5, final=True)
        for k, name in enumerate(NAMES):
            study.tell(option=name, value=slope * k, se=0.5)
        plans.append(study.plan())
    assert str(plans[0]) == str(plans[1])
    plan = plans[0]
    assert plan.low == plan.median == plan.high
    assert "Until one look finds a bound of at most 0.5: about" in plan.sentence
    assert "whatever comes out" in plan.sentence
    # It is what it takes: with as many, and no fewer, every difference is known well enough.
    for rounds, enough in ((int(plan.median) // 5, True), (int(plan.median) // 5 - 1, False)):
        full = [{"option": name, "value": 0.0, "se": 0.5} for name in NAMES * (1 + rounds)]
        assert (one_look.widths(once(full)).max() <= 0.5) == enough


def test_bounded_readings_are_refused():
    question = {"measure": nw.Ratings(0.0, 1.0)}
    with pytest.raises(ValueError, match="final=True"):
        nw.create_study(options=NAMES, eps=0.5, final=True, **question)
    usual = nw.create_study(options=NAMES, eps=0.5, **question)
    with pytest.raises(ValueError, match="does not hold for readings within bounds"):
        usual.switch(final=True)
