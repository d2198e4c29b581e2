"""Timing functions: loops, clocks, garbage, names."""

import gc
import random
import time

import pytest

import noisewise as nw
from noisewise.timing.functions import CLOCKS, SHORTEST, Loop


class Interrupted:
    """A busy machine: it works for some milliseconds at a time, and then makes one wait for twenty."""

    def __init__(self, seed):
        self.now, self.rng = 0.0, random.Random(seed)

    def work(self, seconds):
        self.now += seconds + (0.02 if self.rng.random() < seconds / 3e-3 else 0.0)

    def clock(self):
        return round(1e9 * self.now)


@pytest.fixture
def functions(monkeypatch):
    """Two functions of a simulated machine, of which `short` takes a third of the time of `long`."""
    machine = Interrupted(0)
    monkeypatch.setitem(CLOCKS, "wall", machine.clock)

    def short():
        machine.work(1e-3)

    def long():
        machine.work(3e-3)

    return short, long


def test_the_faster_function_is_found(functions):
    short, long = functions
    found = nw.best_of({"long": long, "short": short}, seed=1)
    assert (found.option, found.certificate.reached) == ("short", True)
    assert "`short` is fastest of 2" in found.sentence
    assert nw.best_of([long, short], seed=1).option == "short"


def test_the_functions_of_this_machine_are_timed():
    found = nw.best_of({"long": lambda: sum(range(9999)), "short": lambda: None}, budget=3, seed=1)
    assert all(times.size and (times > 0).all() for times in found.times.values())


@pytest.mark.parametrize("seconds", [2e-6, 1.5e-4, 2.7e-4])
def test_readings_of_short_functions_last_equally_long_on_a_busy_machine(seconds):
    for seed in range(50):
        machine = Interrupted(seed)
        loop = Loop("short", lambda machine=machine: machine.work(seconds), machine.clock)
        loop.calibrate()
        assert SHORTEST / 2 < loop.calls * seconds < 1.3 * SHORTEST


def test_a_function_that_takes_long_is_called_once_to_find_that_out():
    machine, seen = Interrupted(0), []
    slow = Loop("slow", lambda: (seen.append(1), machine.work(0.5)), machine.clock)
    slow.calibrate()
    assert (len(seen), slow.calls) == (1, 1)


def test_garbage_is_not_collected_while_a_function_is_timed():
    seen = []
    Loop("seen", lambda: seen.append(gc.isenabled()), time.perf_counter_ns).take()
    assert seen == [False]
    assert gc.isenabled()


def test_a_candidate_is_compared_with_a_baseline(functions):
    short, long = functions
    named = {"old": long, "new": short}
    assert nw.best_of(named, baseline="old", seed=1).versus.verdict == "within"
    assert nw.best_of(named, baseline="new", seed=1).versus.verdict == "slower"
    assert nw.best_of(named, candidate="old", seed=1).versus.baseline == "new"


def test_what_a_function_raises_is_raised():
    with pytest.raises(ZeroDivisionError):
        nw.best_of({"a": lambda: 1 / 0, "b": print})


@pytest.mark.parametrize(
    ("named", "given", "kind", "said"),
    [
        ({"a": print}, {}, ValueError, "at least two"),
        ({"a": print, "b": 3}, {}, TypeError, "names to functions"),
        ([print, print], {}, ValueError, "same name"),
        ({"a": print, "b": len}, {"clock": "sun"}, ValueError, "`clock`"),
        ({"a": print, "b": len}, {"baseline": "c"}, KeyError, "`baseline` must be one of"),
        ({"a": print, "b": len}, {"baseline": "a", "candidate": "a"}, ValueError, "must differ"),
        ({"a": print, "b": len, "c": len}, {"baseline": "a"}, ValueError, "are two"),
    ],
)
def test_nonsense_is_refused(named, given, kind, said):
    with pytest.raises(kind, match=said):
        nw.best_of(named, **given)
