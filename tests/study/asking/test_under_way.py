"""Asking while measurements are under way."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import noisewise as nw
from noisewise.study.asking.pending import Imagination, WhatIf, all_under_way, condensed
from noisewise.study.certificates.bound import recommend


@pytest.mark.parametrize("model", ["independent", "linear", "linear+deviation"])
def test_while_standard_errors_are_waited_for_what_is_under_way_is_no_obstacle(model):
    table = {"id": ["A", "B", "C"]}
    features = {} if model == "independent" else {"x": [0.0, 0.5, 1.0]}
    model = f"{model}:0.3" if model == "linear+deviation" else model
    study = nw.create_study(options=table | features, model=model, eps=0.1)
    for option, value in (("A", 1.0), ("B", 2.0), ("C", 1.5)):
        for repeat in (0.0, 0.1):
            study.tell(option=option, value=value + repeat)  # without error bars
    assert "degrees of freedom" in study.certificate().withheld[0]
    asked = [study.ask()[0] for _ in range(3)]
    assert len(study.pending) == 3
    assert not any("fall" in job.why for job in asked)  # there is no bound yet


def test_first_looks_go_to_different_options_also_where_sizes_are_to_be_estimated():
    table = {"id": list("ABCDEF"), "x": [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]}
    study = nw.create_study(options=table, model="linear+deviation", eps=0.1)
    asked = study.ask(4, dry_run=True)
    assert len({job.option for job in asked}) == 4
    assert not any(": ," in job.why for job in asked)


def test_trials_under_way_are_taken_as_trials_with_the_expected_share():
    """Two options, eight trials each; what is under way is as many, with a success and a failure more."""
    study = nw.create_study(options=["A", "B"], eps=0.05)
    study.tell(option="A", successes=8, trials=8)
    study.tell(option="B", successes=3, trials=8)
    (job,) = study.ask()
    analysis = study.analysis()
    (one,) = all_under_way(analysis, analysis.state.open_jobs(0.0))
    imagined = Imagination(analysis).with_all([one])
    share = {"A": 9.0 / 10.0, "B": 4.0 / 10.0}[job.option]
    (counts,) = imagined.boundary.kinds
    told = {"A": 8.0, "B": 3.0}[job.option]
    at = study.options.index(job.option)
    assert counts.facts[at, :2].tolist() == pytest.approx([told + 8.0 * share, 16.0])
    other = 1 - at
    assert counts.facts[other].tolist() == analysis.boundary.kinds[0].facts[other].tolist()


def test_a_condensed_study_says_what_all_its_measurements_say():
    """Values with error bars, counts and readings: each kind stays what it is."""
    rng = np.random.default_rng(0)
    for goal in ("max", "min"):
        study = nw.create_study(options=list("ABCD"), eps=0.1, goal=goal)
        for name in "ABCD":
            study.tell(option=name, value=float(rng.random()), se=0.2)
            for _ in range(2):
                study.tell(option=name, successes=int(rng.integers(1, 9)), trials=10)
                study.tell(option=name, values=rng.random(8).tolist())
        analysis = study.analysis()
        fewer = WhatIf(analysis.state, condensed(analysis), analysis.sizes)
        assert fewer.columns.value.size == 12
        assert fewer.columns.readings.tolist() == [1.0] * 4 + [16.0] * 4 + [20.0] * 4
        for option in range(4):
            assert_allclose(
                fewer.boundary.half_widths(option), analysis.boundary.half_widths(option), rtol=1e-9
            )


@pytest.mark.parametrize("told", ["values", "value"])
def test_readings_between_bounds_that_are_under_way_are_like_those_so_far(told):
    """They widen no race, and what the study said before it asked is said on."""
    rng = np.random.default_rng(1)
    study = nw.create_study(options=list("ABC"), eps=0.05, measure=nw.Ratings(0.0, 1.0))
    for name, level in zip("ABC", (0.8, 0.75, 0.2), strict=True):
        for _ in range(2 if told == "values" else 12):
            readings = np.clip(level + 0.1 * rng.standard_normal(6), 0.0, 1.0)
            study.tell(option=name, **({"values": readings} if told == "values" else {"value": readings[0]}))
    analysis = study.analysis()
    same = WhatIf(analysis.state, condensed(analysis), analysis.sizes)
    assert_allclose(same.boundary.half_widths(0), analysis.boundary.half_widths(0), rtol=1e-9)
    study.ask(3)
    under_way = all_under_way(analysis, analysis.state.open_jobs(0.0))
    imagined = Imagination(analysis).with_all(under_way)
    leader = recommend(analysis).option
    assert recommend(imagined).bound < recommend(analysis).bound
    assert (imagined.boundary.half_widths(leader) <= 1.02 * analysis.boundary.half_widths(leader)).all()
