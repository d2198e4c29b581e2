"""A study that is measured on a cluster: told here, measured again where a worker died."""

import math
import os
import random
import signal
from pathlib import Path

import pytest
from tests.support.clusters import small_cluster

import noisewise as nw

TRUTH = {"A": 1.0, "B": 1.6, "C": 0.4}


@pytest.fixture(scope="module")
def client():
    with small_cluster() as client:
        yield client


@pytest.fixture(autouse=True)
def patient_runs(monkeypatch):
    """A run waits for slow measurements, however long they take, so that results are told in order."""
    monkeypatch.setattr("noisewise.study.running.run.PATIENCE", math.inf)


def measured(job):
    return TRUTH[job.option] + random.Random(job.id).gauss(0.0, 0.3), 0.3


def fail_at_b(job):
    if job.option == "B":
        raise ValueError("B is broken")
    return measured(job)


class DiesOnce:
    """Measure; the first measurement kills its worker, the first time."""

    def __init__(self, mark):
        self.mark = mark

    def __call__(self, job):
        if not Path(self.mark).exists():
            Path(self.mark).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return measured(job)


def new_study():
    return nw.create_study(options=list(TRUTH), eps=0.3)


@pytest.mark.long("clusters")
def test_a_cluster_measures_what_threads_would(client):
    here, there, by_address = new_study(), new_study(), new_study()
    one = here.run(measured, workers=2)
    other = there.run(measured, workers=2, on=client)
    assert other.reached
    assert other.certificate.option == one.certificate.option == "B"
    assert (other.measured, other.certificate.bound) == (one.measured, one.certificate.bound)
    assert by_address.run(measured, workers=2, on=client.scheduler.address).measured == one.measured
    assert client.status == "running"  # it was lent


@pytest.mark.long("clusters")
def test_a_worker_that_dies_while_it_measures_costs_nothing(client, tmp_path):
    here, there = new_study(), new_study()
    one = here.run(measured, workers=2)
    other = there.run(DiesOnce(str(tmp_path / "mark")), workers=2, on=client)
    assert (tmp_path / "mark").exists()
    assert (other.measured, other.failed) == (one.measured, 0)
    assert other.certificate.bound == one.certificate.bound


@pytest.mark.long("clusters")
def test_an_exception_on_a_worker_is_a_failure_with_its_reason(client):
    study = new_study()
    run = study.run(fail_at_b, workers=2, on=client, on_error="exclude")
    assert run.certificate.option == "A"
    assert run.failed >= 1


@pytest.mark.long("clusters")
def test_a_plan_on_a_cluster_simulates_all_futures_and_says_what_it_would_say_here(client):
    study = new_study()
    for option, value in TRUTH.items():
        study.tell(option=option, value=value, se=0.3)
    here, there = study.plan(paths=12), study.plan(paths=12, on=client)
    assert here.forecasts == there.forecasts
    assert there.forecasts[0].paths == 12


def test_what_is_no_place_to_measure_is_refused_in_one_sentence():
    words = r"`on` must be .* a Dask client, or the address or file .* got 'nowhere'"
    with pytest.raises(ValueError, match=words):
        new_study().run(measured, on="nowhere")
