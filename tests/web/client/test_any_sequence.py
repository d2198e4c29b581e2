"""Any sequence of operations, made on a study in a file and on one behind a server: the same story."""

import itertools

import pytest

pytest.importorskip("fastapi", reason="the server is an extra")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.effort import effort
from tests.support.servers import in_thread
from tests.support.study_calls import NOW, log_of, outcome

import noisewise as nw
from noisewise.web.app import make_app

NUMBERS = st.integers(1, 40)
NAMES = st.sampled_from(["A", "B", "C", "D", "E", " A", "a", "", "Ä\u0301", "x" * 300, 5, None])
TEXTS = st.one_of(
    st.none(),
    st.sampled_from(["mo", "tu", "k1", "k2", "", " ", "a\nb", "\x1b[31m", "sent-x", "m-1", "run ask-1"]),
    st.text(max_size=5),
    st.integers(-3, 3),
)
VALUES = st.one_of(
    st.floats(-3.0, 3.0),
    st.sampled_from(
        ["1.25(5)", "1,5", "2 ± 0.1", "", "nan", None, True, 1e60, float("inf"), float("nan"), -0.0]
    ),
    st.integers(-5, 5),
)
SIZES = st.one_of(
    st.floats(0.01, 1.0), st.sampled_from([0, -1.0, "0.2", "5%", "x", None, 1e-60, (0.1, 0.2), [0.1]])
)
IDS = st.one_of(NUMBERS.map("m-{}".format), st.sampled_from(["m-0", "k1", "m-x", "", 1, 2, True, None]))
JOBS = st.one_of(NUMBERS.map("ask-{}".format), st.sampled_from(["ask-0", "A", "", None, 7]))
BARS = st.one_of(
    st.just({}),
    st.builds(lambda size: {"se": size}, SIZES),
    st.builds(lambda size, n: {"sd": size, "n": n}, SIZES, st.integers(-1, 5)),
    st.builds(lambda size: {"var": size}, SIZES),
    st.builds(lambda lo, hi: {"ci": (lo, hi)}, VALUES, VALUES),
)
MORE = st.fixed_dictionaries(
    {}, optional={"key": TEXTS, "block": TEXTS, "by": TEXTS, "note": TEXTS, "cost": SIZES}
)
ASKED = {
    "block": TEXTS,
    "by": TEXTS,
    "lease": SIZES,
    "probe": st.sampled_from(["option", "difference", "x", None]),
}
ROWS = st.lists(st.tuples(NAMES, VALUES, SIZES), min_size=1, max_size=4)


def call(name, *arguments, **options):
    """An operation by name; `repr` shows how to repeat it."""
    return name, arguments, options


def telling(option, value, bar, more):
    return call("tell", option=option, value=value, **bar, **more)


def table(rows, how):
    columns = dict(zip(("option", "value", "se"), map(list, zip(*rows, strict=True)), strict=True))
    return call("tell_many", columns, **how)


OPERATIONS = st.one_of(
    st.builds(lambda n, sigma, more: call("ask", n, sigma, **more), st.integers(0, 3), SIZES,
              st.fixed_dictionaries({}, optional=ASKED)),
    st.builds(telling, NAMES, VALUES, BARS, MORE), st.builds(telling, NAMES, VALUES, BARS, MORE),
    st.builds(lambda job, value, bar: call("tell", job, value, **bar), JOBS, VALUES, BARS),
    st.builds(lambda a, b, value: call("tell", plus=a, minus=b, value=value, se=0.2), NAMES, NAMES, VALUES),
    st.builds(lambda rows: call("tell_all", [dict(option=o, value=v, se=s) for o, v, s in rows]), ROWS),
    st.builds(table, ROWS, st.sampled_from([
        {}, {"repeat": True}, {"match": True}, {"unknown": "add"}, {"unknown": "skip"}, {"amend": "typo"},
        {"allow_missing_se": True}, {"dry_run": True},
    ])),
    st.builds(lambda job, why: call("fail", job, why), JOBS, TEXTS),
    st.builds(lambda jobs, why: call("release", jobs, why), st.lists(JOBS, max_size=2), TEXTS),
    st.builds(lambda id, why: call("void", id, why), IDS, TEXTS),
    st.builds(lambda id, value, bar: call("amend", id, "typo", value, **bar), IDS, VALUES, BARS),
    st.builds(lambda option, why: call("exclude", option, why), NAMES, TEXTS),
    st.builds(lambda option: call("include", option), NAMES),
    st.builds(lambda names: call("add_options", names), st.lists(NAMES, max_size=2)),
    st.builds(lambda size: call("switch", extra_scatter=size), SIZES),
    st.builds(lambda name: call("set_policy", name), st.sampled_from(["uniform", "vage", "x", None])),
)  # fmt: skip
LOOKS = ("certificate", "check")


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sequences")
    nw.create_study(folder / "there.db", name="none", options=["A", "B"], eps=1.0)
    with in_thread(make_app(folder / "there.db", clock=lambda: NOW)) as address:
        yield folder / "here.db", folder / "there.db", address, itertools.count()


@settings(max_examples=effort(8, 60), deadline=None, suppress_health_check=list(HealthCheck))
@given(operations=st.lists(OPERATIONS, min_size=1, max_size=12))
def test_any_sequence_tells_the_same_story(places, operations):
    here_store, there_store, address, numbers = places
    name = f"s{next(numbers)}"
    question = {"name": name, "options": ["A", "B", "C"], "eps": 0.1, "clock": lambda: NOW}
    here = nw.create_study(here_store, **question)
    nw.create_study(there_store, **question)
    there = nw.load_study(address, name)
    for verb, arguments, options in operations:

        def act(study, verb=verb, arguments=arguments, options=options):
            found = getattr(study, verb)(*arguments, **options)
            return list(found) if verb == "tell_many" else found

        assert outcome(act, there) == outcome(act, here), (verb, arguments, options)
    for look in LOOKS:
        assert outcome(lambda study, look=look: getattr(study, look)(), there) == outcome(
            lambda study, look=look: getattr(study, look)(), here
        )
    assert log_of(there) == log_of(here)
