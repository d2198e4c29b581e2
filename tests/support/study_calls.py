"""Calls of every method of a study, good and bad ones: to compare two ways to the same study."""

import re
import warnings

import numpy as np
import polars as pl

NOW = 1.8e9
KEYED = {"key": ["r1", "r2"], "block": ["x", "x"]}


def run_of(study, **asked):
    done = study.run(lambda job: (float(len(job.option)), 0.3), progress=False, **asked)
    return done.measured, done.failed, done.ended, done.certificate


def failing(job):
    raise OSError("no power")


def job_of(study):
    return study.pending[0] if study.pending else study.ask()[0]


def table(**columns):
    return {"option": ["A", "B"], "value": [1.2, 3.1], "se": [0.1, 0.1], **columns}


#: Calls by the name of the method, in the order in which they are made.
CALLS = {
    "certificate": [lambda s: s.certificate(), lambda s: str(s.certificate())],
    "check": [lambda s: s.check(), lambda s: str(s.check())],
    "compare": [lambda s: str(s.compare("A", "B")), lambda s: s.compare("B", "A", margin=0.5).to_dict()],
    "plan": [lambda s: s.plan(paths=4), lambda s: s.plan(0.1, paths=4), lambda s: s.plan(-1),
        lambda s: s.plan(nois=1)],
    "league": [
        lambda study: study.league().to_dict(),
        lambda study: str(study.league(study.options[0])),
        lambda study: study.league("nobody"),
    ],
    "worth": [lambda s: s.worth(), lambda s: s.worth(8), lambda s: s.worth(looks=1)],
    "frame": [
        lambda s: s.frame().to_dicts(),
        lambda s: s.frame("measurements").drop("key", strict=False).to_dicts(),
        lambda s: s.frame("items").to_dicts(), lambda s: s.frame("nothing"),
        lambda s: s.frame("events").drop("body").to_dicts(),
    ],
    "plot": [lambda s: s.plot.intervals().to_dict(), lambda s: s.plot.nothing],
    "report": [lambda s: s.report("page.txt"), lambda s: s.report("page.html", most=0)],
    "export": [lambda s: s.export("no folder/at all/log.jsonl")],
    "events": [lambda s: [event[1:3] for event in s.events()], lambda s: len(s.events(3))],
    "head_at": [lambda s: s.head_at(0)],
    "import_from": [lambda s: s.import_from("no file.json"), lambda s: s.import_from([], "hyperfine")],
    "read_from": [lambda s: s.read_from("no file.json"), lambda s: s.read_from("x.json", "nobody")],
    "next_items": [lambda s: s.next_items("A"), lambda s: s.next_items("Q"), lambda s: s.next_items("A", 3)],
    "analysis": [lambda s: sorted(s.analysis().state.ids)],
    "cost_of": [lambda s: s.cost_of("A"), lambda s: s.cost_of("Q")],
    **{
        name: [lambda s, name=name: getattr(s, name)]
        for name in (
            "budget_left", "deviation", "eps", "extra_scatter", "last_change", "looks", "model",
            "n_events", "n_measurements", "name", "notes", "options", "pending", "policy", "value_scale",
        )
    },
    "run": [
        lambda s: run_of(s, workers=2, budget=6, until="spent"), lambda s: run_of(s, until=50.0, budget=4),
        lambda s: run_of(s, until="maybe"), lambda s: run_of(s, workers=0), lambda s: run_of(s, budget="x"),
        lambda s: run_of(s, on_error="sing"), lambda s: run_of(s, until="spent"),
        lambda s: s.run(failing, until="spent", budget=3, on_error="raise", progress=False),
        lambda s: s.run(failing, until="spent", budget=3, progress=False),
        lambda s: run_of(s, until=lambda certificate: certificate.n_measurements > 5, budget=3),
    ],
    "ask": [
        lambda s: s.ask(), lambda s: s.ask(3), lambda s: s.ask(2, "0.3", lease=60.0, by="me"),
        lambda s: s.ask(1, 0.3, block="tue", probe="option"), lambda s: s.ask(1, probe="difference"),
        lambda s: s.ask(dry_run=True), lambda s: s.ask(0), lambda s: s.ask(True), lambda s: s.ask(10**6),
        lambda s: s.ask(1, -1.0), lambda s: s.ask(1, "x"), lambda s: s.ask(lease=-1), lambda s: s.ask(by=""),
        lambda s: s.ask(by=5), lambda s: s.ask(probe="both"), lambda s: s.ask(block="\n"),
        lambda s: s.ask(items=5), lambda s: s.ask(items=0), lambda s: s.ask(1, float("nan")),
        lambda s: s.ask(1, None, lease=float("inf")), lambda s: s.ask(n="2"), lambda s: s.ask(by="x" * 2000),
    ],
    "tell": [
        lambda s: s.tell(job_of(s), 1.25, se=0.05), lambda s: s.tell("ask-1", 1.25, se=0.05),
        lambda s: s.tell("ask-1", 1.5, se=0.05), lambda s: s.tell("ask-2", 2.25, 0.05),
        lambda s: s.tell(option="B", value="3.04(5)", note="by hand", cost=2.0, at=NOW - 5.0),
        lambda s: s.tell(option="C", value=2.0, se=0.05, key="k"),
        lambda s: s.tell(option="C", value=2.0, se=0.05, key="k"),
        lambda s: s.tell(option="C", value=2.5, se=0.05, key="k"),
        lambda s: s.tell(option="A", values=np.array([1.2, 1.3, 1.25])),
        lambda s: s.tell(option="B", value=3, sd=0.2, n=np.int64(4), instrument="i", block="mo"),
        lambda s: s.tell(option="B", value=3.0, ci=(2.5, 3.5), level=0.9),
        lambda s: s.tell(option="B", value=3.0, se=(0.1, 0.2)),
        lambda s: s.tell(option="B", value=3.0, var=1),
        lambda s: s.tell(plus="A", minus="B", value=-2.0, se=0.1), lambda s: s.tell(option="B", value=3.0),
        lambda s: s.tell(option="Z", value=1.0), lambda s: s.tell(option="A"), lambda s: s.tell(),
        lambda s: s.tell(option="A", value=True), lambda s: s.tell(option="A", value=1.0, sigma=2.0),
        lambda s: s.tell("ask-99", 1.0), lambda s: s.tell(option="A", value="1,5"),
        lambda s: s.tell(option="A", value=1.0, se=-1.0), lambda s: s.tell(option="A", value=1.0, se="0"),
        lambda s: s.tell(option="A", value=1.0, se=0.1, var=0.1),
        lambda s: s.tell(option="A", value=None, n=3),
        lambda s: s.tell(option=5, value=1.0), lambda s: s.tell(option=["A"], value=1.0),
        lambda s: s.tell(option="A", value=1.0, at="noon"),
        lambda s: s.tell(option="A", value=1.0, n=2.5, sd=1),
        lambda s: s.tell(option="A", value=float("inf")), lambda s: s.tell(option="A", value=1.0, se=np.nan),
        lambda s: s.tell(option="A", value=1.0, values=[]), lambda s: s.tell(option="A", value=1.0, ci=(1,)),
        lambda s: s.tell(option="A", value=1.0, ci=5), lambda s: s.tell(option="A", value=1.0, key=""),
        lambda s: s.tell(option="A", value=1.0, note="\x00"), lambda s: s.tell(option="A", value=1.0, by=3),
        lambda s: s.tell(option="A", value=1.0, block="x" * 2000), lambda s: s.tell(option="A", value=1e99),
        lambda s: s.tell(option="A", items={"q1": 1.0}), lambda s: s.tell(option="A", value=[1.0]),
        lambda s: s.tell(option="A", successes=5, trials=4),
        lambda s: s.tell(option="A", value=1.0, cost="x"),
        lambda s: s.tell(option="A", value=1.0, se=0.1, arm=True), lambda s: s.tell(7, 1.0),
    ],
    "tell_all": [
        lambda s: s.tell_all([{"option": "B", "value": 3.0, "se": 0.05, "key": "x"},
                              {"option": "A", "value": 1.1, "se": 0.05}]),
        lambda s: s.tell_all([{"option": "B", "value": 3.0, "se": 0.05}]), lambda s: s.tell_all([]),
        lambda s: s.tell_all([{"option": "B", "value": 3.0}, {"option": "Q", "value": 3.0}]),
        lambda s: s.tell_all([{"option": "B", "walue": 3.0}]),
    ],
    "tell_many": [
        lambda s: list(s.tell_many(table())), lambda s: s.tell_many(table()).known,
        lambda s: list(s.tell_many(table(), repeat=True)), lambda s: s.tell_many(table(value=[9.0, 9.0])),
        lambda s: list(s.tell_many(pl.DataFrame(table(**KEYED, value=[3.3, 4.4])))),
        lambda s: s.tell_many(table(**KEYED, value=[3.3, 4.5])),
        lambda s: s.tell_many(table(**KEYED, value=[3.3, 4.5]), amend="typo").amended,
        lambda s: s.tell_many(table(option=["A", "New"], value=[7.0, 8.0])),
        lambda s: list(s.tell_many(table(option=["A", "New"], value=[7.0, 8.0]), unknown="add")),
        lambda s: list(s.tell_many(table(option=["A", "Gone"], value=[7.5, 8.5]), unknown="skip")),
        lambda s: str(s.tell_many(table(value=[7.7, 8.8]), dry_run=True).understood),
        lambda s: s.tell_many(table(value=[1.0, None])), lambda s: s.tell_many(table(weight=[1, 2])),
        lambda s: list(s.tell_many({"option": ["A"], "HV": ["1,5"], "d": ["0,2"]},
                                   roles={"value": "HV", "se": "d"})),
        lambda s: list(s.tell_many({"option": ["A", "A"], "values": ["1;2;3", "4;5;6"]})),
        lambda s: list(s.tell_many({"option": ["A", "B"], "successes": [3, 4], "trials": [10, 10]})),
        lambda s: s.tell_many(table(), repeat="some"), lambda s: s.tell_many(table(), unknown="drop"),
        lambda s: s.tell_many(table(), amend=""), lambda s: s.tell_many("no file.csv"),
        lambda s: s.tell_many(table(), mapp={}), lambda s: s.tell_many(5),
        lambda s: s.tell_many(table(value=["1.0", "x"])), lambda s: s.tell_many({"option": [], "value": []}),
        lambda s: list(s.tell_many(table(value=[1.1, 3.3]), match=True)),
        lambda s: s.tell_many(table(value=[1.1, 3.3]), match=True).unasked,
    ],
    "fail": [
        lambda s: s.fail(job_of(s), "the oven broke"), lambda s: s.fail("ask-1", "late"),
        lambda s: s.fail(job_of(s), ""), lambda s: s.fail(job_of(s), None), lambda s: s.fail("ask-99", "why"),
        lambda s: s.fail([], "why"), lambda s: s.fail(["ask-3", "ask-77"], "why"), lambda s: s.fail(3, "why"),
    ],
    "release": [
        lambda s: s.release(job_of(s)), lambda s: s.release(s.pending[:2], "lunch"),
        lambda s: s.release("ask-1"), lambda s: s.release([]), lambda s: s.release(job_of(s), ""),
    ],
    "void": [
        lambda s: s.void("m-1", "wrong cup"), lambda s: s.void("m-1", "wrong cup"),
        lambda s: s.void(2, "why"),
        lambda s: s.void("k", "by its key"), lambda s: s.void("m-999", "why"), lambda s: s.void("m-3", ""),
        lambda s: s.void(True, "why"), lambda s: s.void(None, "why"), lambda s: s.void("m-3", 5),
    ],
    "amend": [
        lambda s: s.amend("m-3", "typing error", 3.0, se=0.06), lambda s: s.amend("m-4", "slip", option="B"),
        lambda s: s.amend("m-999", "why", 3.0), lambda s: s.amend("m-3", "", 3.0),
        lambda s: s.amend("m-3", "w"),
        lambda s: s.amend("m-3", "why", 3.0, key="k2"), lambda s: s.amend("m-3", "why", 3.0, wrong=1),
        lambda s: s.amend("m-3", "why", "x"), lambda s: s.amend(None, "why", 3.0),
    ],
    "exclude": [
        lambda s: s.exclude("C", "sold out"), lambda s: s.exclude("C", "sold out"),
        lambda s: s.exclude("Q", "w"),
        lambda s: s.exclude("B", ""), lambda s: s.exclude(3, "why"), lambda s: s.exclude("B", None),
    ],
    "include": [lambda s: s.include("C"), lambda s: s.include("C"), lambda s: s.include("Q"),
                lambda s: s.include(None)],
    "add_options": [
        lambda s: s.add_options(["D", "E"]), lambda s: s.add_options(["D"]), lambda s: s.add_options([]),
        lambda s: s.add_options("no file.csv"), lambda s: s.add_options({"name": ["F", "G"]}),
        lambda s: s.add_options([""]), lambda s: s.add_options([3]), lambda s: s.add_options(["H", "H"]),
        lambda s: s.add_options({"x": ["I"], "y": ["J"]}, id="x"),
        lambda s: s.add_options(["K"], decimal=";"),
    ],
    "switch": [
        lambda s: s.switch(extra_scatter=0.1, reason="drift"), lambda s: s.switch(),
        lambda s: s.switch("cubic"),
        lambda s: s.switch("linear"), lambda s: s.switch(extra_scatter=-1.0),
        lambda s: s.switch(final="twice"),
        lambda s: s.switch(extra_scatter="estimate"), lambda s: s.switch(extra_scatter=[1]),
    ],
    "set_policy": [
        lambda s: s.set_policy("uniform"), lambda s: s.set_policy("nobody"),
        lambda s: s.set_policy("vage", x=1),
        lambda s: s.set_policy(), lambda s: s.set_policy(5), lambda s: s.set_policy("vage"),
    ],
    "specification": [lambda s: s.specification.to_plain()],
    "head": [lambda s: len(s.head)],
}  # fmt: skip


NETWORK = {
    "treat1": ["A", "A", "B", "A"], "treat2": ["B", "C", "C", "B"], "effect": [-2.0, -1.0, 1.0, -1.9],
    "se": [0.2, 0.2, 0.2, 0.3], "studlab": ["one", "one", "one", "two"],
}  # fmt: skip
ARMS = {
    "study": ["three", "three", "three"], "treatment": ["A", "B", "C"], "events": [10, 30, 20],
    "n": [50, 50, 50],
}  # fmt: skip
CATALOGUE = {"name": ["A", "B", "C"], "x": [1.0, 2.0, 4.0], "z": ["p", "q", "p"], "price": [1.0, 2.0, 0.5]}
ITEMS = [str(number) for number in range(1, 13)]


def of_items(study, option, count, value):
    return study.tell(option=option, items=dict.fromkeys(study.next_items(option, count), value))


#: Other kinds of studies: the question, and calls.
KINDS = {
    "tables of studies": (
        {"options": ["A", "B", "C"], "eps": 0.1},
        [
            lambda s: list(s.tell_many(NETWORK, layout="network")),
            lambda s: s.tell_many(NETWORK, layout="network").known,
            lambda s: list(s.tell_many(ARMS, layout="arms")),
            lambda s: s.tell_many(ARMS, layout="arms").known,
            lambda s: s.tell_many(ARMS, layout="legs"), lambda s: s.tell_many(ARMS, layout="network"),
            lambda s: s.tell_many({**ARMS, "study": ["one"] * 3}, layout="arms"),
            lambda s: s.tell_many({name: cells[:2] for name, cells in ARMS.items()}, layout="arms"),
            lambda s: list(s.tell_many({**ARMS, "study": ["x"] * 3}, layout="arms", counts="shares")),
            lambda s: list(s.tell_many(
                {**NETWORK, "studlab": list("uuuv")}, layout="network", cov=np.diag([0.04, 0.04, 0.04, 0.09])
            )),
            lambda s: s.certificate(), lambda s: s.check(), lambda s: s.frame("measurements").to_dicts(),
        ],
    ),
    "items": (
        {"options": ["A", "B"], "eps": 0.2, "measure": {"items": [ITEMS, [0, 1]]}, "seed": 0},
        [
            lambda s: s.ask(2, items=3), lambda s: s.next_items("A", 4), lambda s: of_items(s, "A", 3, 1.0),
            lambda s: s.tell(option="B", items={"7": 0.5}), lambda s: s.tell(option="B", items={"99": 0.5}),
            lambda s: s.tell(option="B", items={}), lambda s: s.tell(option="B", items={"7": 2.0}),
            lambda s: s.tell(option="B", items={7: 1}), lambda s: s.tell(option="B", items={"7": "x"}),
            lambda s: of_items(s, "B", 5, 0.0), lambda s: s.certificate(), lambda s: s.plan(),
            lambda s: list(s.tell_many({
                "option": ["A"] * 2, "item": s.next_items("A", 2), "value": [1.0, 0.0]
            })),
            lambda s: s.tell_many({"option": ["A"], "item": ["77"], "value": [1.0]}),
            lambda s: s.frame("items").to_dicts(), lambda s: s.ask(1, items=100), lambda s: s.check(),
        ],
    ),
    "features and costs": (
        {"options": CATALOGUE, "roles": {"option": "name", "cost": "price"}, "features": ["x", "z"],
         "eps": 0.3,         "model": "linear", "budget": 9},
        [
            lambda s: s.ask(2), lambda s: s.cost_of("B"), lambda s: s.cost_of("Q"), lambda s: s.notes,
            lambda s: s.tell(option="A", value=1.0, se=0.1, key="a"),
            lambda s: s.tell(option="B", value=2.0, se=0.1, key="b"),
            lambda s: s.add_options({"name": ["D"], "x": [3.0], "z": ["q"], "price": [1.5]}),
            lambda s: s.add_options({"name": ["E"], "x": ["3,5"], "z": ["q"], "price": ["1,5"]}, decimal=","),
            lambda s: s.add_options(pl.DataFrame({"name": ["G"], "x": [1], "z": ["p"], "price": [2]})),
            lambda s: s.add_options({"name": ["H"], "x": ["?"], "z": ["q"], "price": [1.5]}),
            lambda s: s.add_options({"name": ["H"]}), lambda s: s.add_options(["H"]), lambda s: s.options,
            lambda s: run_of(s, budget={"cost": 5}, until="spent"), lambda s: s.ask(5),
            lambda s: s.certificate(),
            lambda s: s.switch("linear+deviation", deviation=0.3), lambda s: s.switch("independent"),
            lambda s: s.deviation, lambda s: s.budget_left, lambda s: s.plan(paths=3), lambda s: s,
            lambda s: s._repr_html_(),
        ],
    ),
    "ratios in a unit": (
        {"options": ["A", "B"], "eps": "2%", "scale": "log", "unit": "ms", "goal": "min"},
        [
            lambda s: s.ask(1, "3%"), lambda s: s.tell(option="A", value="12.3(4)"), lambda s: s.value_scale,
            lambda s: s.tell(option="A", value=12.0, se="2%"), lambda s: s.tell(option="A", value=-1.0),
            lambda s: list(s.tell_many(
                {"option": ["A", "B"], "value (ms)": [12.0, 14.0], "se (ms)": [0.1, 0.1]}
            )),
            lambda s: s.tell_many({"option": ["A", "B"], "value (s)": [12.0, 14.0], "se (s)": [0.1, 0.1]}),
            lambda s: s.tell_many(NETWORK, layout="network"), lambda s: s.eps, lambda s: s.certificate(),
            lambda s: run_of(s, until="5%", budget=5), lambda s: s.frame().to_dicts(), lambda s: s,
        ],
    ),
}  # fmt: skip


def outcome(act, study):
    """What an act returns, or how it is refused; hashes, in which a client's keys stand, are left out."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            said = repr(act(study))
        except (ValueError, KeyError, TypeError, OSError, AttributeError, RuntimeError) as problem:
            said = f"{getattr(problem, 'error', type(problem).__name__)}{problem.args!r}"
    said += "".join(sorted({f" {one.category.__name__}: {one.message}" for one in warned}))
    said = re.sub(r"[0-9a-f]{64}", "#", said)
    said = re.sub(r"\w+\.(\w+\(\) (takes|got|missing))", r"\1", said)  # of which class
    return re.sub(r"0x[0-9a-f]+", "0x", said)


def without_keys(body):
    if isinstance(body, list):
        return [without_keys(part) for part in body]
    if not isinstance(body, dict):
        return body
    return {name: without_keys(part) for name, part in body.items() if not str(part).startswith("sent-")}


def log_of(study):
    return [(event.kind, without_keys(event.body)) for event in study.events()]
