"""The current tree against 0.2.0: random questions and events, fed to both.

`make compare` runs this with new examples every time (EXAMPLES=, 200 by default); the long suite with the
same ones. 0.2.0 is installed by `tools/oracle.py`; where that is impossible, the tests are skipped and say
why.
"""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.golden.comparison import Difference, compare, plain
from tests.golden.kinds import play, read_records, relative
from tools.oracle import NoOracleError, make_oracle

pytestmark = pytest.mark.long("oracles")

PLAYER = Path(__file__).parent / "oracle_player.py"
FRESH = os.environ.get("NOISEWISE_COMPARE") == "fresh"
EXAMPLES = int(os.environ.get("EXAMPLES", "200"))


class Allowed(NamedTuple):
    """A difference to 0.2.0 that is intended."""

    reason: str
    covers: Callable[[dict, Difference], bool]  # of the case, and one field that differs


#: All differences that are intended.
ALLOWED: list[Allowed] = []


class Oracle:
    """0.2.0 in a process of its own."""

    def __init__(self):
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
        # -P: the current tree is not on its path.
        self._process = subprocess.Popen(
            [make_oracle(), "-P", PLAYER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def play(self, case):
        """The answer of 0.2.0."""
        self._process.stdin.write(json.dumps(case) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"the process of 0.2.0 ended with code {self._process.wait()}"
        return plain(json.loads(line))

    def close(self):
        """End the process."""
        self._process.communicate()


@pytest.fixture(scope="module")
def oracle():
    try:
        found = Oracle()
    except NoOracleError as problem:
        pytest.skip(f"not compared with 0.2.0: {problem}")
    yield found
    found.close()


def assert_equal(case, before, now):
    """Equal, or different in fields that `ALLOWED` covers."""
    left = [
        one
        for one in compare("case", before, now, relative("studies", case)).differences
        if not any(allowed.covers(case, one) for allowed in ALLOWED)
    ]
    said = [f"{one.path}: {one.old!r} -> {one.new!r}" for one in left[:5]]
    assert not left, "\n".join([f"{len(left)} fields differ from 0.2.0:", *said, json.dumps(case)])


def small(low, high, digits=3):
    """Numbers as people write them."""
    return st.floats(low, high).map(lambda value: round(value, digits))


#: The options, and where their values lie.
HEIGHTS = {"A": 0.0, "B": 0.3, "C": -0.2, "D": 0.8, "E": 0.75, "F": -0.6}
NAMES = list(HEIGHTS)
ERROR_BARS = st.sampled_from([0.02, 0.1, 0.1, 0.15, 0.3, 1.0])
#: What measurements a study is made for; each with its part of the question.
STYLES = {
    "bars": {},
    "bars in a log": {"scale": "log"},
    "any tails": {"tails": "heavy"},
    "counts": {},
    "readings": {},
    "own readings": {"scatter": "own"},
    "ratings": {"range": [1.0, 5.0]},
    "plain": {"scatter": "pooled"},
    "items": {"pool": 20},
    "items without a pool": {},
    "rounds": {"tails": "symmetric", "scale": "log"},
    "all sizes": {},
}
WITH_ITEMS = ("items", "items without a pool", "rounds")
OF_ONE_LOOK = ("bars", "bars in a log", "counts", "readings", "plain", "all sizes")


@st.composite
def questions(draw, style):
    """A question for measurements of this style."""
    n = draw(st.integers(1, 6))
    question = {"options": NAMES[:n], "seed": draw(st.integers(0, 99)), **STYLES[style]}
    question |= {
        "goal": draw(st.sampled_from(["max", "min"])),
        "eps": draw(st.sampled_from([0.05, 0.3, 1.0])),
    }
    question["confidence"] = draw(st.sampled_from([0.95, 0.8, 0.99]))
    if draw(st.booleans()):
        question["costs"] = draw(st.lists(small(0.5, 3.0, 1), min_size=n, max_size=n))
    if style in ("bars", "bars in a log", "counts", "readings", "plain", "all sizes") and draw(st.booleans()):
        columns = {name: draw(st.lists(small(-1.0, 1.0, 2), min_size=n, max_size=n)) for name in "xy"}
        question |= {"features": columns, "span": 20.0}
        question["model"] = draw(st.sampled_from(["linear", "linear+deviation", "independent"]))
        if question["model"] == "linear+deviation":
            question["deviation"] = draw(st.sampled_from([0.3, "estimate"]))
    if style not in (*WITH_ITEMS, "own readings") and draw(st.integers(0, 3)) == 0:
        question["extra_scatter"] = draw(st.sampled_from([0.1, "estimate"]))
    if style in OF_ONE_LOOK and draw(st.integers(0, 3)) == 0:
        question["looks"] = "once"
    elif draw(st.integers(0, 4)) == 0:
        question["policy"] = draw(st.sampled_from(["vage", "round_robin", "uniform", "top_two_thompson"]))
    if draw(st.integers(0, 5)) == 0:
        question["noise_floor"] = 0.05
    return question


@st.composite
def measured(draw, style, log, height=0.0):
    """A value with what is said about its error; once in a while they do not go together."""
    bars = st.sampled_from([1e-6, 1e-3, 0.1, 1.0]) if style == "all sizes" else ERROR_BARS
    bar = draw(bars)
    off = draw(small(-20.0, 20.0, 2)) if draw(st.integers(0, 30)) == 17 else draw(small(-1.5, 1.5, 2))
    value = round(height + bar * off, 8)
    value = round(2.718**value, 8) if log else value
    if style == "counts":
        trials = draw(st.integers(1, 60))
        return {"successes": draw(st.integers(0, trials)), "trials": trials}
    if style in ("readings", "own readings"):
        around = draw(st.lists(small(-0.3, 0.3), min_size=2, max_size=5))
        if draw(st.booleans()):
            return {"value": value, "sd": round(0.05 + abs(around[0]), 3), "n": len(around)}
        return {"values": [round(value + one, 3) for one in around]}
    if style == "ratings":
        return {"values": draw(st.lists(small(1.0, 5.0, 1), min_size=1, max_size=5))}
    if style == "plain":
        return {"value": value}
    bar *= value if log else 1.0
    kind = draw(st.sampled_from(["se", "se", "var", "ci"]))
    if kind == "ci":
        return {"value": value, "ci": [value - bar, value + bar]}
    return {"value": value, kind: bar if kind == "se" else bar * bar}


@st.composite
def told(draw, style, question):
    """A measurement of an option, or of a difference, perhaps in a block."""
    log = question.get("scale") == "log"
    probe = {"option": draw(st.sampled_from(question["options"]))}
    if style in ("bars", "all sizes") and len(question["options"]) > 1 and draw(st.integers(0, 4)) == 0:
        plus, minus = draw(st.permutations(question["options"]))[:2]
        probe = {"plus": plus, "minus": minus}
    about = {}
    if style not in ("any tails", "own readings") and draw(st.integers(0, 2)) == 0:
        about["block"] = draw(st.sampled_from(["mon", "tue"]))
    if draw(st.integers(0, 9)) == 0:
        about["key"] = draw(st.sampled_from(["k1", "k2", "k3"]))
    height = HEIGHTS.get(probe.get("option"), 0.0)
    if "plus" in probe:
        height = HEIGHTS[probe["plus"]] - HEIGHTS[probe["minus"]]
    return probe | draw(measured(style, log, height)) | about


@st.composite
def steps(draw, style, question):
    """One step of any kind."""
    number, option = st.integers(1, 12), st.sampled_from(question["options"])
    log = question.get("scale") == "log"
    what = draw(
        st.sampled_from(
            ["tell"] * 8 + ["ask"] * 3 + ["answer"] * 4 + [
                "table", "together", "void", "amend", "exclude", "include", "add", "switch", "policy",
                "release", "fail", "wait", "look",
            ]
        )
    )  # fmt: skip
    if style in WITH_ITEMS and what in ("tell", "answer", "table", "together"):
        low, high = (0.1, 10.0) if style == "rounds" else (0.0, 1.0)
        return {
            "do": "tell_next",
            "option": draw(option),
            "values": draw(st.lists(small(low, high, 2), min_size=1, max_size=8)),
        }
    if what == "tell":
        return {"do": "tell"} | draw(told(style, question))
    if what == "answer":
        return {"do": "tell", "answers": draw(number)} | draw(measured(style, log))
    if what in ("table", "together"):
        return {"do": what, "rows": draw(st.lists(told(style, question), min_size=1, max_size=4))}
    if what == "amend":
        return {"do": what, "measurement": draw(number)} | draw(measured(style, log))
    return {"do": what} | draw(
        {
            "ask": st.sampled_from([{}, {"n": 3}, {"se": 0.2}, {"block": "mon"}, {"probe": "difference"}]),
            "void": st.fixed_dictionaries({"measurement": number}),
            "exclude": st.fixed_dictionaries({"option": option}),
            "include": st.fixed_dictionaries({"option": option}),
            "add": st.sampled_from(
                [{"options": ["N1"]}, {"options": ["N2"], "features": {"x": [0.5], "y": [0.5]}}]
            ),
            "switch": st.sampled_from(
                [{"model": "linear"}, {"model": "linear+deviation", "deviation": 0.2},
                 {"model": "independent"}, {"extra_scatter": "estimate"}, {"extra_scatter": 0.1},
                 {"looks": "once"}]
            ),
            "policy": st.sampled_from([{"name": "race"}, {"name": "vage"}, {"name": "round_robin"}]),
            "release": st.fixed_dictionaries({"jobs": st.lists(number, min_size=1, max_size=2)}),
            "fail": st.fixed_dictionaries({"jobs": st.lists(number, min_size=1, max_size=2)}),
            "wait": st.sampled_from([{"seconds": 60.0}, {"seconds": 1e6}]),
            "look": st.just({}),
        }[what]
    )  # fmt: skip


@st.composite
def cases(draw):
    """A question with its steps; often every option is measured first."""
    style = draw(st.sampled_from(list(STYLES)))
    question = draw(questions(style))
    log = question.get("scale") == "log"
    # Scatter that is pooled takes many readings before anything is said.
    times = 0 if style in WITH_ITEMS else draw(st.sampled_from([3, 1, 0, 6 if "readings" in style else 2]))
    first = [
        {"do": "tell", "option": name} | draw(measured(style, log, HEIGHTS[name]))
        for name in question["options"] * times
    ]
    return {"question": question, "steps": first + draw(st.lists(steps(style, question), max_size=20))}


@settings(
    max_examples=EXAMPLES,
    derandomize=not FRESH,
    database=None,
    suppress_health_check=list(HealthCheck),
    deadline=None,
)
@given(case=cases())
def test_answers_are_those_of_0_2_0(oracle, case):
    before = oracle.play(case)
    if "crashed" in before:
        return  # a bug of 0.2.0, with nothing to compare
    assert_equal(case, before, play("studies", case))


def test_the_records_are_answers_of_0_2_0(oracle):
    for record in read_records("studies")[::5]:
        assert_equal(record["case"], record["answer"], oracle.play(record["case"]))
