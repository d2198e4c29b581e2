"""A whole study in one call."""

import asyncio
import itertools
import math
import random
import threading

import pytest

import noisewise as nw
from noisewise.study.running.run import MeasuringError

TRUTH = {"A": 1.0, "B": 3.0, "C": 2.0}


def exactly(name):
    """A measurement that is hardly off."""
    return TRUTH[name], 0.05


def slowly(name):
    """For processes, which can import a function of a module."""
    return TRUTH[name], 0.1


def test_names_and_a_function_of_a_name_are_enough():
    certificate = nw.pick(list(TRUTH), exactly, eps=0.5)
    assert (certificate.option, certificate.reached) == ("B", True)
    assert nw.pick(list(TRUTH), exactly, eps=0.5, goal="min").option == "A"


def test_the_function_is_called_with_names_and_may_return_any_measurement():
    rng, called = random.Random(1), []

    def readings(name):
        called.append(name)
        return {"values": [rng.gauss(TRUTH[name], 0.3) for _ in range(8)]}

    assert nw.pick(list(TRUTH), readings, eps=0.5).option == "B"
    assert set(called) == set(TRUTH)

    async def awaited(name):
        await asyncio.sleep(0)
        return TRUTH[name], 0.1

    assert nw.pick(list(TRUTH), awaited, eps=0.5).option == "B"


def test_options_described_by_features_share_what_is_measured():
    options = {str(width): {"width": width} for width in range(12)}
    measured = []

    def measure(name):
        measured.append(name)
        return 0.5 * int(name), 0.1

    certificate = nw.pick(options, measure, eps=0.5, model="linear")
    assert certificate.option == "11"
    assert len(set(measured)) < len(options)


def test_the_budget_ends_it_with_what_is_known_by_then():
    certificate = nw.pick(["A", "B"], lambda name: (TRUTH[name], 5.0), eps=0.01, budget=6)
    assert (certificate.n_measurements, certificate.reached) == (6, False)
    assert math.isfinite(certificate.bound)


def test_several_workers_measure_at_a_time():
    together = threading.Barrier(3, timeout=120)  # of the first three, none returns before all have begun
    calls = itertools.count()

    def measure(name):
        if next(calls) < 3:
            together.wait()
        return exactly(name)

    assert nw.pick(list(TRUTH), measure, eps=0.5, workers=3).option == "B"


@pytest.mark.long("processes")
def test_processes_may_measure():
    assert nw.pick(list(TRUTH), slowly, eps=0.5, workers=2, on="processes").option == "B"


def test_what_goes_wrong_in_the_function_is_raised():
    with pytest.raises(MeasuringError, match="division by zero") as failure:
        nw.pick(["A", "B"], lambda name: 1 / 0, eps=0.5)
    assert isinstance(failure.value.__cause__, ZeroDivisionError)
    certificate = nw.pick(list(TRUTH), lambda name: {"A": 1, "C": 2}[name], eps=0.5, on_error="exclude",
    errors=nw.Errors(scatter="own", floor=0.01), budget=40)  # fmt: skip
    assert certificate.n_options == 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "'eps'"),
        ({"eps": 0.1, "stor": 1}, "no argument `stor`"),
        ({"eps": 0.1, "store": "x.db"}, "keeps its study in memory"),
        ({"eps": 0.1, "results": []}, "takes no `results`"),
    ],
)
def test_arguments_that_it_does_not_have_are_refused(given, said):
    with pytest.raises(TypeError, match=said):
        nw.pick(["A", "B"], exactly, **given)


def test_what_is_no_list_of_options_or_no_function_is_refused():
    with pytest.raises(TypeError, match="mapping to int"):
        nw.pick({"A": 1, "B": 2}, exactly, eps=0.1)
    with pytest.raises(ValueError, match="the same of every option"):
        nw.pick({"A": {"w": 1}, "B": {"v": 2}}, exactly, eps=0.1, model="linear")
    with pytest.raises(TypeError, match="function of an option's name"):
        nw.pick(["A", "B"], 3, eps=0.1)
