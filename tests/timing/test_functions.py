"""Timing functions for real: loops, clocks, garbage, names."""

import gc
import random
import time

import pytest

import noisewise as nw
from noisewise.timing.functions import SHORTEST, Loop


def short():
    """Takes some microseconds."""
    return sum(range(200))


def long():
    """Takes many times as long."""
    return sum(range(20_000))


def test_the_faster_function_is_found():
    found = nw.best_of({"long": long, "short": short}, seed=1)
    assert (found.option, found.certificate.reached) == ("short", True)
    assert "`short` is fastest of 2" in found.sentence
    assert nw.best_of([long, short]).option == "short"


def test_a_loop_is_long_enough_for_the_clock_and_tells_the_time_of_one_call():
    loop = Loop("short", short, time.perf_counter_ns)
    loop.calibrate()
    assert loop.calls > 10
    took = loop.take()
    assert took * loop.calls > 0.2 * SHORTEST
    slow = Loop("slow", lambda: time.sleep(2e-3), time.perf_counter_ns)
    slow.calibrate()
    assert slow.calls == 1


class Interrupted:
    """A machine that others use: it works for some milliseconds at a time, and then one waits for twenty."""

    def __init__(self, seed):
        self.now, self.rng = 0.0, random.Random(seed)

    def work(self, seconds):
        self.now += seconds + (0.02 if self.rng.random() < seconds / 3e-3 else 0.0)

    def clock(self):
        return round(1e9 * self.now)


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


def test_a_function_that_sleeps_takes_no_time_of_the_process():
    def work():
        total = 0
        for k in range(40_000):
            total += k
        return total

    functions = {"sleeps": lambda: time.sleep(5e-3), "works": work}
    assert nw.best_of(functions, clock="process", budget="20s").option == "sleeps"


def test_a_candidate_is_compared_with_a_baseline():
    functions = {"old": long, "new": short}
    assert nw.best_of(functions, baseline="old").versus.verdict == "within"
    assert nw.best_of(functions, baseline="new").versus.verdict == "slower"
    assert nw.best_of(functions, candidate="old").versus.baseline == "new"


def test_what_a_function_raises_is_raised():
    with pytest.raises(ZeroDivisionError):
        nw.best_of({"a": lambda: 1 / 0, "b": short})


@pytest.mark.parametrize(
    ("functions", "given", "kind", "said"),
    [
        ({"a": short}, {}, ValueError, "at least two"),
        ({"a": short, "b": 3}, {}, TypeError, "names to functions"),
        ([short, short], {}, ValueError, "same name"),
        ({"a": short, "b": long}, {"clock": "sun"}, ValueError, "`clock`"),
        ({"a": short, "b": long}, {"baseline": "c"}, KeyError, "`baseline` must be one of"),
        ({"a": short, "b": long}, {"baseline": "a", "candidate": "a"}, ValueError, "must differ"),
        ({"a": short, "b": long, "c": long}, {"baseline": "a"}, ValueError, "are two"),
    ],
)
def test_nonsense_is_refused(functions, given, kind, said):
    with pytest.raises(kind, match=said):
        nw.best_of(functions, **given)
