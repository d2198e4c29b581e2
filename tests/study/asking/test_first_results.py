"""What RACE asks for before there is a bound, and that no input makes it stumble."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.effort import effort, long_beyond
from tests.support.racing import MODELS, coming_to, new_study, proposed

import noisewise as nw
from noisewise.study.asking.pending import DIFFERENCE
from noisewise.study.certificates.bound import recommend

KINDS = (
    ("independent", {}),
    ("linear", {}),
    ("linear+deviation:0.3", {}),
    ("linear+deviation", {}),
    ("independent", {"errors": nw.Errors(extra="estimate")}),
)


def study_of(rng, model, n=5, dim=2, **more):
    table = {"id": [f"o{k}" for k in range(n)]}
    if model != "independent":
        table |= {f"x{j}": rng.normal(size=n) for j in range(dim)}
    return nw.create_study(options=table, model=model, **({"eps": 0.05} | more))


def follow(study, steps, tell, **asking):
    """Ask and tell; what is asked for may be measured."""
    asked = []
    for step in range(steps):
        now = {name: said(step) if callable(said) else said for name, said in asking.items()}
        for job in study.ask(**now):
            index, excluded = study._log.state.index, study._log.state.excluded
            ends = {job.option, job.minus} - {None}
            assert not {index[end] for end in ends} & set(excluded)
            assert len(ends) == 2 or job.minus is None
            asked.append(job)
            tell(study, job)
    return asked


def usual(rng, se=1.0):
    def tell(study, job):
        study.tell(job, float(rng.normal()), se=se() if callable(se) else se)

    return tell


@pytest.mark.parametrize("at_once", [1, 3])
def test_every_option_is_measured_once_before_any_is_measured_twice(at_once):
    rng = np.random.default_rng(0)
    study = study_of(rng, "independent", n=9)
    asked = follow(study, 9 // at_once, usual(rng), n=at_once)
    assert sorted(job.option for job in asked) == sorted(study.options)


@settings(max_examples=effort(4, 12))
@given(seed=st.integers(0, 2**32), difference=st.booleans())
def test_groups_that_nothing_links_are_linked_in_the_fewest_measurements(seed, difference):
    """g groups need g - 1 links; in a block with nothing in it yet, the best option comes first."""
    rng = np.random.default_rng(seed)
    study = nw.create_study(options=list("ABCDEFGH"), eps=0.05)
    for option in rng.permutation(list("ABCDEFGH"))[:6]:
        study.tell(option=str(option), value=float(rng.normal()), se=1.0, block=f"b{rng.integers(3)}")
    group = study.analysis().certified.group
    parts = np.unique(group[group >= 0]).size + int((group < 0).sum())
    fresh = not difference and rng.random() < 0.5
    block = "today" if fresh else "b0"
    if not difference and not fresh and "b0" not in study.analysis().certified_sums.blocks:
        fresh, block = True, "today"
    needed, count = parts - 1 + fresh, 0
    while recommend(study.analysis()).unconnected or recommend(study.analysis()).unmeasured:
        asking = {"probe": "difference"} if difference else {"block": block}
        (job,) = study.ask(**asking)
        if fresh and count == 0:
            assert job.option == study.options[recommend(study.analysis()).option]
        study.tell(job, float(rng.normal()), se=1.0)
        count += 1
        assert count <= needed
    assert count == needed


def test_a_new_block_opens_with_the_best_mean_while_options_are_missing():
    study = nw.create_study(options=list("ABCD"), eps=0.05)
    for option, value in (("A", 1.0), ("B", 5.0), ("C", 3.0)):
        study.tell(option=option, value=value, se=1.0, block="Mon")
    opens, follows, third = study.ask(3, block="Tue")
    assert (opens.option, follows.option) == ("B", "D")
    assert third.option in "ABCD"


def test_the_first_of_options_with_features_lies_far_out_and_the_second_on_the_other_side():
    table = {"id": list("ABCDE"), "x": [0.1, 3.0, -0.2, -2.5, 0.0]}
    for model in ("linear", "linear+deviation"):
        study = nw.create_study(options=table, model=model, eps=0.1)
        assert study.ask(dry_run=True)[0].option == "B"
        (pair,) = study.ask(probe="difference")
        assert {pair.option, pair.minus} == {"B", "D"}


@pytest.mark.parametrize(("model", "more"), KINDS)
def test_one_option_two_options_and_options_that_come_later(model, more):
    rng = np.random.default_rng(1)
    if model == "independent":
        alone = study_of(rng, model, n=1, **more)
        assert {job.option for job in follow(alone, 4, usual(rng), n=2)} == {"o0"}
    study = study_of(rng, model, n=2, dim=1, **more)
    follow(study, 6, usual(rng))
    study.exclude("o0", "sold out")
    assert {job.option for job in follow(study, 2, usual(rng), n=2)} == {"o1"}
    with pytest.raises(ValueError, match="two options"):
        study.ask(probe="difference")
    study.add_options({"id": ["z"], "x0": [0.5]} if model != "independent" else ["z"])
    assert "z" in {job.option for job in follow(study, 6, usual(rng))}
    study.exclude("o1", "sold out")
    study.exclude("z", "sold out")
    with pytest.raises(ValueError, match="every option"):
        study.ask()


@pytest.mark.parametrize("asking", [{}, {"block": "b"}, {"probe": "difference"}])
@pytest.mark.parametrize("model", MODELS)
def test_where_only_excluded_options_were_measured_the_others_are_asked_for(model, asking):
    rng = np.random.default_rng(2)
    study = new_study(rng, model)
    for option in study.options[:2]:
        study.tell(option=option, value=1.0, se=1.0, **({"block": "b"} if "block" in asking else {}))
        study.exclude(option, "sold out")
    asked = follow(study, 5, usual(rng), **asking)
    assert {job.option for job in asked} <= set(study.options[2:])


@pytest.mark.parametrize(
    "asking", long_beyond(1, [{}, {"n": 3}, {"block": lambda step: f"day {step // 3}"}], "statistics")
)
@pytest.mark.parametrize("told", long_beyond(2, ["nothing", "counts", "readings", "ties"], "statistics"))
@pytest.mark.parametrize(("model", "more"), KINDS)
def test_error_bars_of_any_kind_or_none_are_asked_on(model, more, told, asking):
    """While no standard errors are known there is nothing to race for; it asks all the same."""
    rng = np.random.default_rng(3)
    study = study_of(rng, model, **more)

    def tell(study, job):
        if told == "readings":
            study.tell(job, values=rng.normal(size=2).tolist())
        elif told == "counts":
            study.tell(job, successes=int(rng.integers(0, 4)), trials=3)
        else:
            study.tell(job, *([1.0] if told == "ties" else [float(rng.normal())]))

    follow(study, 3, tell, **asking)
    for option in study.options:  # repeats, so that scatter is known
        for _ in range(2):
            study.tell(option=option, value=float(rng.normal()), **({} if told == "nothing" else {"se": 0.5}))
    follow(study, 1, tell, **asking)


@pytest.mark.parametrize(
    "asking",
    long_beyond(
        1,
        [
            {"block": lambda step: f"day {step // 4}"},
            {},
            {"probe": lambda step: ("difference", "option")[step % 2]},
        ],
        "statistics",
    ),
)
@pytest.mark.parametrize("model", MODELS)
def test_extreme_noise_is_asked_on(model, asking):
    rng = np.random.default_rng(4)
    for se in (lambda: float(1e12 ** -rng.random()), lambda: float(1e12 ** (rng.random() - 0.5))):
        follow(new_study(rng, model), 14, usual(rng, se), **asking)
    for sigma in (1e-9, 1e9, 1e-50, 1e50):
        follow(new_study(rng, model), 8, usual(rng), sigma=sigma, **asking)

    def far(study, job):
        study.tell(job, (1e9 if job.block == "day 1" else -1e9) + float(rng.normal()), se=1.0)

    follow(new_study(rng, model), 12, far, **asking)


@pytest.mark.parametrize("model", MODELS[1:])
def test_features_that_say_little_are_asked_on(model):
    rng = np.random.default_rng(5)
    names, model = [f"o{k}" for k in range(8)], model if model == "linear" else f"{model}:0.3"
    twice = np.tile(rng.normal(size=4), 2)
    tables = (
        {"id": names, "x": rng.normal(size=8), "constant": np.full(8, 3.0)},
        {"id": names, "x": twice},
        {"id": names, **{f"x{j}": rng.normal(size=8) for j in range(6)}},  # more than the first measurements
    )
    for table in tables:
        for asking in ({}, {"probe": "difference"}, {"block": lambda step: f"day {step // 3}"}):
            study = nw.create_study(options=table, model=model, eps=0.05)
            follow(study, 10, usual(rng), **asking)


@pytest.mark.parametrize("model", MODELS)
def test_a_thousand_options_that_are_all_equal_are_taken_by_name(model):
    rng = np.random.default_rng(6)
    study = new_study(rng, model, n=1000)
    study.tell_many({"option": study.options, "value": [1.0] * 1000, "se": [0.5] * 1000})
    analysis = study.analysis()
    found = proposed(analysis, coming_to(analysis))
    assert found.bound <= 2.0 * found.half_width
    if model == "independent":
        assert study.options[found.leader] == min(study.options)
    pair = proposed(analysis, coming_to(analysis, probe=DIFFERENCE))
    assert pair.option != pair.minus


def test_a_block_that_was_begun_by_asking_for_it_goes_on():
    study = nw.create_study(options=["A", "B", "C"], eps=0.5)
    study.ask(2, block="Mon")
    assert study.ask(dry_run=True)[0].block == "Mon"
    for job in study.pending:
        study.tell(job, 1.0, se=0.3)
    study.ask(2, block="Tue")
    assert study.ask(dry_run=True)[0].block == "Tue"
    for job in study.pending:
        study.release(job)
    assert study.ask(dry_run=True)[0].block == "Mon"
