"""Asking while error bars are waited for: nothing is certified yet, and suggestions are made all the same."""

import numpy as np
import pytest

import noisewise as nw


@pytest.mark.parametrize("told", [{"value": 1.0}, {"values": [1.0, 1.2]}])
@pytest.mark.parametrize("where", [{}, {"block": "Tue"}])
def test_several_are_asked_for_after_a_measurement_without_an_error_bar(told, where):
    study = nw.create_study(options=["A", "B", "C"], eps=0.5)
    study.tell(option="A", **told)
    study.tell(option="B", value=1.0)
    jobs = [*study.ask(2, **where), *study.ask(**where)]
    # The first result of C is waited for; the others go elsewhere.
    assert [job.option for job in jobs].count("C") == 1
    assert nw.load_study(study._storage).ask(dry_run=True)[0].option in "ABC"


def featured(count, rng, **question):
    rows = rng.normal(size=(count, 3))
    names = [f"o{k:02d}" for k in range(count)]
    table = {"id": names, **{f"x{j}": rows[:, j] for j in range(3)}}
    question = {"model": "linear+deviation", "span": 8.0, "eps": 0.8, **question}
    return nw.create_study(options=table, id="id", **question), dict(
        zip(names, rows.sum(axis=1), strict=True)
    )


def follow(study, truth, rng):
    """Ask, and tell what was asked for."""
    (job,) = study.ask(sigma=0.5)
    study.tell(job, truth[job.option] + 0.5 * rng.normal(), se=0.5)
    return job


def test_a_size_that_waits_for_options_gets_options_until_there_is_a_bound():
    rng = np.random.default_rng(5)
    study, truth = featured(26, rng)
    for asked in range(24):
        job = follow(study, truth, rng)
        assert "wanted to estimate how far options deviate from their features" in job.why
        assert len(set(study.frame("measurements")["option"])) == asked + 1
    assert study.certificate().bound < 8.0


def test_a_size_that_waits_for_repeats_gets_repeats():
    rng = np.random.default_rng(6)
    study, truth = featured(26, rng, deviation=0.3, extra_scatter="estimate")
    measured = [follow(study, truth, rng).option for _ in range(21)]
    assert len(measured) - len(set(measured)) >= 20
    assert not study.analysis().sigmas.waiting


def test_where_there_are_too_few_options_for_a_size_asking_goes_on():
    rng = np.random.default_rng(7)
    study, truth = featured(6, rng)
    for _ in range(15):
        follow(study, truth, rng)
    assert study.n_measurements == 15
