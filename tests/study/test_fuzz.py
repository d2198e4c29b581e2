"""Studies handed junk: a call succeeds, or is refused with one sentence and changes nothing."""

import json
import math
import random

import polars as pl
import pytest
from tests.support.effort import effort
from tests.support.studies_in_time import study_at

import noisewise as nw

REFUSED = (ValueError, KeyError, TypeError, FileNotFoundError)
TEXTS = ["A", "B", "C", "7", "007", "ask-1", "m-1", "", " ", "a\nb", "\x1b[2J", "caf\udce9", "é", "x" * 1500,
         "=1+1", "\u202e", "none", "1.0", "nan", "m-" + "9" * 20, "independent", "estimate"]  # fmt: skip
NUMBERS = [0, 1, -1, 2.5, 1e-3, 1e3, 1e49, -1e49, 1e-49, 1e160, -1e300, 5e-324, math.inf, -math.inf, math.nan,
           2**63, 10**30, True, 0.95, 1.0 - 1e-15, 1e12]  # fmt: skip
OTHERS = [None, [], {}, (), [1.0, 2.0], (0.1, 0.2), ["A"], {"A": 1}, object(), b"A", 1j, [[1], [2, 3]], {"A"}]


def strict(text):
    """JSON without NaN and infinities."""

    def refuse(name):
        raise AssertionError(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse)


class Fuzzer:
    """One study and one source of junk."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.study = study_at(self.clock, options=["A", "B", "C", "007"], eps=0.5)
        self.now = 1.7e9

    def clock(self):
        self.now = getattr(self, "now", 1.7e9) + 1.0
        return self.now

    def junk(self):
        return self.random.choice(self.random.choice([TEXTS, NUMBERS, OTHERS]))

    def some(self, good, share=0.8):
        """Something good more often than not."""
        return self.random.choice(good) if self.random.random() < share else self.junk()

    def told(self):
        told = {}
        names = ["se", "var", "sd", "n", "ci", "level", "values", "successes", "trials", "block",
                 "instrument", "key", "by", "cost", "at", "note"]  # fmt: skip
        good = {"se": [0.1, 0.4, (0.1, 0.2)], "n": [3], "sd": [0.3], "values": [[1.0, 2.0]], "trials": [10],
                "successes": [3], "key": ["k1", "k2"], "block": ["x", "y"], "cost": [1.0]}  # fmt: skip
        for name in self.random.sample(names, self.random.choice([0, 1, 1, 2, 3])):
            told[name] = self.some(good.get(name, ["text"]))
        return told

    def table(self):
        n = self.random.choice([0, 1, 2, 5])
        columns = {
            "option": [self.some(["A", "B", "C"], 0.8) for _ in range(n)],
            "value": [self.some([1.0, 2.0, 3.5], 0.9) for _ in range(n)],
        }
        for name in self.random.sample(["se", "block", "key", "job", "note", "n", "values", "nonsense"], 2):
            columns[name] = [self.some([0.1] if name == "se" else ["k"], 0.9) for _ in range(n)]
        return columns

    def calls(self):
        """The calls there are, as names with functions."""
        study, some = self.study, self.some
        options, jobs = ["A", "B", "C", "007"], ["ask-1", "ask-2", "ask-3"]
        numbers = ["m-1", "m-2", "k1", 1]
        return [
            lambda: study.tell(option=some(options), value=some([1.0, "1.2(3)", "4 ± 1"]), **self.told()),
            lambda: study.tell(some(jobs), some([1.0, 2.0]), **self.told()),
            lambda: study.tell(plus=some(options), minus=some(options), value=some([0.5]), **self.told()),
            lambda: study.tell_many(self.table(), match=some([True, False], 1.0), repeat=some([True], 0.5)),
            lambda: study.ask(some([1, 2]), some([None, 0.1]), lease=some([None, 60.0]), by=some(["eve"])),
            lambda: study.ask(dry_run=True, sigma=some([None])),
            lambda: study.ask(some([1, 3]), block=some([None, "x"]), probe=some(["option", "difference"])),
            lambda: study.tell(some(jobs), some([0.5]), minus=some(options), **self.told()),
            lambda: study.fail(some(jobs), some(["cracked"])),
            lambda: study.release(some([*jobs, ["ask-1", "ask-2"]]), some([None, "why"])),
            lambda: study.void(some(numbers), some(["wrong"])),
            lambda: study.amend(some(numbers), some(["typo"]), some([None, 1.5]), **self.told()),
            lambda: study.exclude(some(options), some(["gone"])),
            lambda: study.include(some(options)),
            lambda: study.add_options(some([["D"], ["E", "F"], pl.DataFrame({"id": [9, 10]})])),
            lambda: study.set_policy(some(["widest", "vage", "uniform", "race"])),
            lambda: study.switch(some([None, "independent"]), extra_scatter=some([0.1, "estimate", 0]),
                reason=some([None, "why"])),
            lambda: study.frame(some(["options", "measurements", "events"])),
        ]  # fmt: skip


@pytest.mark.parametrize("seed", range(effort(4, 12)))
def test_every_call_succeeds_or_is_refused_with_one_sentence(seed):
    fuzzer = Fuzzer(seed)
    done = refusals = 0
    for _ in range(40):
        before = fuzzer.study.events()
        call = fuzzer.random.choice(fuzzer.calls())
        try:
            call()
            done += 1
        except REFUSED as problem:
            refusals += 1
            message = str(problem.args[0]) if problem.args else ""
            assert message
            assert "\n" not in message
            assert fuzzer.study.events() == before
    assert min(done, refusals) > 3
    again = nw.load_study(fuzzer.study._log.storage, fuzzer.study.name, clock=fuzzer.clock)
    assert list(again._log.state.told) == list(fuzzer.study._log.state.told)
    assert strict(again.certificate().to_json()) == strict(fuzzer.study.certificate().to_json())
    assert str(again.check())
    assert again.frame("measurements").equals(fuzzer.study.frame("measurements"))


@pytest.mark.parametrize("seed", range(effort(12, 40)))
def test_a_study_of_junk_is_made_or_refused(seed):
    fuzzer = Fuzzer(seed)
    good = {"options": [["A", "B"], {"id": ["A", "B"], "x": [1.0, 2.0]}], "eps": [0.1], "goal": ["min"],
    "confidence": [0.9],
            "errors": ["floor=0.01,extra=0.1"], "measure": ["ratings:0,9", "counts"],
            "seed": [3], "name": ["tea"], "features": [["x"]], "roles": [{"option": "id", "cost": "x"}],
            "policy": ["widest"], "model": ["linear", "independent", "linear+deviation:0.1"]}  # fmt: skip
    for _ in range(12):
        arguments = {name: fuzzer.some(good[name]) for name in fuzzer.random.sample(sorted(good), 4)}
        arguments = {"options": ["A", "B"], "eps": 1.0} | arguments
        try:
            study = nw.create_study(**arguments)
            study.tell(option=study.options[0], value=1.0, se=0.1)
            study.ask()
            strict(study.certificate().to_json())
        except REFUSED as problem:
            said = str(problem.args[0])
            assert said
