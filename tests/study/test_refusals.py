"""Every way to be refused in Python: a sentence says what, where and what to do, and nothing is written."""

import math

import numpy as np
import polars as pl
import pytest

import noisewise as nw

#: What Python, NumPy or polars say when nobody has looked before.
FOREIGN = (
    "object is not", "unhashable", "could not convert", "NoneType'", "not supported between",
    "unexpected keyword", "has no attribute", "expected str, bytes", "could not create a new DataFrame",
    "must be str, bytes",
)  # fmt: skip


def make(**arguments):
    return nw.create_study(options=["A", "B", "C"], **{"eps": 0.1, **arguments})


#: Making and opening.
MAKING = {
    "no options": (lambda: nw.create_study(options=None, eps=0.1), "`options` must be given"),
    "a number": (lambda: nw.create_study(options=5, eps=0.1), "`options` must be a file"),
    "an empty list": (lambda: nw.create_study(options=[], eps=0.1), "at least one row"),
    "lists": (lambda: nw.create_study(options=[["A"], ["B"]], eps=0.1), "number 1 is ['A']"),
    "a hole": (lambda: nw.create_study(options=["A", None], eps=0.1), "number 2 is None"),
    "an array": (lambda: nw.create_study(options=np.eye(3), eps=0.1), "got ndarray"),
    "eps as text": (lambda: make(eps="0.1"), "`eps` must be a number; got '0.1'"),
    "eps true": (lambda: make(eps=True), "`eps` must be a number; got True"),
    "eps NaN": (lambda: make(eps=math.nan), "`eps` must be a finite number above 0"),
    "confidence 95": (lambda: make(confidence=95), "strictly between 0 and 1; got 95"),
    "a store that is none": (lambda: nw.create_study(3, options=["A"], eps=1), "`store` must be a path"),
    "no name": (lambda: make(name=""), "`name` must be a few printable characters"),
    "no model": (lambda: make(model="cubic"), "`model` must be one of"),
    "bounds of three": (lambda: make(measure="ratings:0,1,2"), "`measure` must be"),
    "half an item": (lambda: make(measure=nw.Items(2.5)), "must be a whole number"),
    "no such rule": (lambda: make(policy="vaeee"), "unknown rule 'vaeee'"),
    "no such option of a rule": (lambda: make(policy=("vaee", {"foo": 1})), "no option 'foo'"),
    "a lease in words": (lambda: make().ask(lease="week"), "`lease` must be a number"),
    "half of the bounds": (lambda: make(measure=nw.Items(5, 0)), "must have both bounds or none"),
    "another measure": (lambda: make(measure="count"), "Did you mean 'counts'?"),
    "another error": (
        lambda: make(errors="tail=heavy"),
        "has the unknown field 'tail'. Did you mean 'tails'?",
    ),
    "a misspelt argument": (lambda: make(decimals=","), "create_study() has no argument 'decimals'. Did you"),
    "an unknown argument": (lambda: make(epsilon=0.1), "create_study() has no argument 'epsilon'"),
    "no features": (
        lambda: make(model="linear"),
        "`features` must name at least one column for a linear model",
    ),
    "another goal": (lambda: make(goal="maximum"), "`goal` must be one of 'max', 'min'; got 'maximum'"),
    "a rule for vectors": (lambda: make(policy="vagd"), "independent options have none: choose another"),
    "another database": (
        lambda: nw.create_study("mysql://x", options=["A"], eps=1),
        "`store` must be a path",
    ),
    "a missing store": (lambda: nw.load_study("missing.db"), "there is no 'missing.db'"),
    "no store": (lambda: nw.load_study(None), "`store` must be a path"),
    "a missing log": (lambda: nw.rebuild_study("missing", ":memory:"), "there is no file 'missing'"),
    "no log": (lambda: nw.rebuild_study(["a"], ":memory:"), "line 1 of the log is cut short or not JSON"),
}
#: Telling one by one; s has the suggestions ask-1 and ask-2, and a measurement with the key k1.
TELLING = {
    "all suggestions": (
        lambda s: s.tell(s.ask(2, dry_run=True), 1),
        "got 2 in a list. `ask()` returns a list",
    ),
    "nothing": (lambda s: s.tell(), "say what was measured: a job, `option=`, or `plus=` and `minus="),
    "no value": (lambda s: s.tell("ask-1"), "`value` must be given: the number"),
    "an option as a job": (lambda s: s.tell("A", 1, se=0.1), "'A' is an option: say `option='A'`."),
    "two ways": (lambda s: s.tell("ask-1", 1, option="B"), "in one way"),
    "a difference to itself": (lambda s: s.tell(plus="A", minus="A", value=1), "needs two different options"),
    "an empty block": (lambda s: s.tell(option="A", value=1, block=" "), "`block` must not be empty"),
    "a failed measurement": (lambda s: s.tell("ask-1", math.nan), "If the measurement failed, release"),
    "a number as a job": (lambda s: s.tell(3, 1), "`job` must be a suggestion of this study"),
    "a table": (lambda s: s.tell(pl.DataFrame({"option": ["A"]})), "a table: use tell_many()"),
    "words": (lambda s: s.tell(option="A", value="abc"), "`value` must be a number"),
    "a list": (lambda s: s.tell(option="A", value=[1, 2]), "`value` must be a number; got [1, 2]"),
    "an array": (lambda s: s.tell(option="A", value=np.ones(2)), "`value` must be a number"),
    "a truth": (lambda s: s.tell(option="A", value=True), "`value` must be a number; got True"),
    "options in a list": (lambda s: s.tell(option=["A"], value=1), "`option` must be the name of an option"),
    "an unknown option": (
        lambda s: s.tell(option="Z", value=1),
        "'Z' is not in the catalogue (3 options). There",
    ),
    "an error in words": (lambda s: s.tell(option="A", value=1, se="x"), "`se` must be a number"),
    "three errors": (lambda s: s.tell(option="A", value=1, se=[1, 2, 3]), "`se` must be one number, or two"),
    "sigma": (lambda s: s.tell(option="A", value=1, sigma=0.1), "no argument 'sigma'; it has job, value"),
    "std": (lambda s: s.tell(option="A", value=1, std=0.1), "Did you mean 'sd'?"),
    "half a reading": (lambda s: s.tell(option="A", value=1, sd=0.1, n=2.5), "`n` must be a whole number"),
    "an interval as text": (lambda s: s.tell(option="A", value=1, ci="0,2"), "`ci` must be a pair (lo, hi)"),
    "readings as text": (lambda s: s.tell(option="A", values="1,2"), "`values` must be a list of at least"),
    "half a success": (lambda s: s.tell(option="A", successes=1.5, trials=3), "must be a whole number"),
    "items in a list": (
        lambda s: make(measure=nw.Items(5)).tell(option="A", items=[1, 0]),
        "`items` must map names",
    ),
    "a key in a list": (lambda s: s.tell(option="A", value=1, key=["k"]), "`key` must be one text"),
    "a day": (lambda s: s.tell(option="A", value=1, at="yesterday"), "`at` must be a number"),
    "half a difference": (lambda s: s.tell(plus="A", value=1), "`plus=` and `minus=` go together"),
}
#: Tables.
TABLES = {
    "none": (lambda s: s.tell_many(None), "`measurements` must be a file"),
    "tuples": (
        lambda s: s.tell_many([("A", 1, 0.1)]),
        "a list of rows, each a mapping; got a list of tuple.",
    ),
    "a bad row of mappings": (
        lambda s: s.tell_many([{"option": "Z", "value": 1}]),
        "row 1: 'Z' is not in the",
    ),
    "ragged": (lambda s: s.tell_many({"option": ["A", "B"], "value": [1]}), "option has 2, value has 1."),
    "a missing file": (lambda s: s.tell_many("missing.csv"), "there is no 'missing.csv'"),
    "a strange column": (
        lambda s: s.tell_many({"option": ["A"], "val": [1]}),
        "No table was found",
    ),
    "words": (
        lambda s: s.tell_many({"option": ["A", "B"], "value": ["1", "x"]}),
        "row 2 (B): `value` must be",
    ),
    "lists": (
        lambda s: s.tell_many({"option": ["A"], "value": [[1, 2]]}),
        "row 1 (A): `value` must be a number",
    ),
    "repeat": (
        lambda s: s.tell_many({"option": ["A"], "value": [1]}, repeat="yes"),
        "`repeat` must be one of",
    ),
    "an argument": (lambda s: s.tell_many({"option": ["A"]}, foo=1), "tell_many() has no argument 'foo'."),
    "no reason": (lambda s: s.tell_many({"option": ["A"], "value": [1]}, amend=""), "`amend` must say why"),
}
#: Everything else.
OTHERS = {
    "ask for none": (lambda s: s.ask(0), "`n` must be at least 1; got 0"),
    "a negative noise": (lambda s: s.ask(sigma=-1.0), "`sigma` must be a finite number above 0"),
    "correct to NaN": (
        lambda s: s.amend("m-1", "typo", value=math.nan),
        "`value` must be a finite number; got nan",
    ),
    "include": (lambda s: s.include("A"), "A is not excluded"),
    "add twice": (lambda s: s.add_options(["A"]), "option 'A' is in the catalogue already"),
    "ask two": (lambda s: s.ask("two"), "`n` must be a whole number"),
    "ask half": (lambda s: s.ask(1.5), "`n` must be a whole number"),
    "ask on items": (lambda s: s.ask(items=5), "this study began with other measurements"),
    "fail nothing": (lambda s: s.fail(None, "x"), "`job` must be a suggestion of this study"),
    "fail for no reason": (lambda s: s.fail("ask-1", None), "`reason` must say why"),
    "fail one too many": (lambda s: s.fail(["ask-1", "ask-99"], "x"), "got 'ask-99'"),
    "release a number": (lambda s: s.release(5), "`job` must be a suggestion of this study"),
    "release nothing": (lambda s: s.release([]), "`job` must be at least one suggestion; got none."),
    "void nothing": (lambda s: s.void(None, "x"), "`measurement` must be one of this study's 1"),
    "void a list": (lambda s: s.void([1], "x"), "`measurement` must be one of this study's 1"),
    "void m-99": (lambda s: s.void("m-99", "x"), "got 'm-99'"),
    "amend nothing": (lambda s: s.amend(1, "x"), "say what to correct about m-1"),
    "amend something else": (lambda s: s.amend(1, "x", foo=3), "amend() has no argument 'foo'; it has value"),
    "exclude": (lambda s: s.exclude("Z", "x"), "'Z' is not in the catalogue"),
    "exclude nothing": (lambda s: s.exclude(None, "x"), "`option` must be the name of an option"),
    "add nothing": (lambda s: s.add_options(None), "`options` must be a file"),
    "a policy": (lambda s: s.set_policy("nosuch"), "unknown rule 'nosuch'"),
    "switch nothing": (lambda s: s.switch(), "say what to switch"),
    "switch by words": (lambda s: s.switch(extra_scatter="lots"), "`extra_scatter` must be a number above 0"),
    "a frame": (lambda s: s.frame("rows"), "`what` must be one of"),
    "plan in words": (lambda s: s.plan("x"), "`noise` must be pairs"),
    "a menu of one": (lambda s: s.plan(menu=3), "`menu` must be pairs (sigma, cost); got 3."),
    "worth": (lambda s: s.worth("x"), "`looks` must be a whole number"),
    "a report as PDF": (lambda s: s.report("x.pdf"), "`path` must end in .html"),
    "a report nowhere": (lambda s: s.report(None), "`path` must be the name of a file; got None."),
    "an export nowhere": (lambda s: s.export(None), "`path` must be the name of a file; got None."),
    "an export elsewhere": (lambda s: s.export("nodir/x.jsonl"), "`path` must be in a folder that exists"),
    "no certificate": (lambda s: nw.verify_certificate(3, s), "`certificate` must be a certificate as JSON"),
    "items of nobody": (lambda s: s.next_items("Z"), "'Z' is not in the catalogue"),
}
KINDS = {"tell": TELLING, "tell_many": TABLES, "else": OTHERS}
CALLS = {f"{kind}: {name}": call for kind, table in KINDS.items() for name, call in table.items()}


def sentence_of(call):
    with pytest.raises((ValueError, TypeError, KeyError, OSError)) as refusal:
        call()
    problem = refusal.value
    said = str(problem.args[0]) if isinstance(problem, KeyError) else str(problem)
    assert said[-1] in ".?'"
    assert "\n" not in said
    assert not any(words in said for words in FOREIGN)
    return said


@pytest.mark.parametrize(("call", "said"), MAKING.values(), ids=MAKING)
def test_a_study_is_not_made_or_opened_without_a_sentence(call, said):
    assert said in sentence_of(call)


@pytest.mark.parametrize(("call", "said"), CALLS.values(), ids=CALLS)
def test_a_bad_call_is_refused_in_one_sentence_and_writes_nothing(call, said):
    study = make()
    study.ask(2)
    study.tell(option="A", value=1.0, se=0.1, key="k1")
    before = study.events()
    assert said in sentence_of(lambda: call(study))
    assert study.events() == before


def test_rows_may_be_mappings():
    study = make()
    study.tell_many(
        [{"option": "A", "value": 1.0, "se": 0.1}, {"option": "B", "value": 2.0, "se": 0.1, "block": "x"}]
    )
    assert study.frame("measurements")["block"].to_list() == [None, "x"]


def test_a_name_that_is_a_key_and_the_id_of_another_measurement_changes_neither():
    study = nw.create_study(options=["a", "b"], eps=0.1)
    study.tell(option="a", value=1.0, se=0.1, key="m-2")
    study.void("m-2", "the only one that it can mean")
    study.tell(option="a", value=1.5, se=0.1)
    study.tell(option="b", value=2.0, se=0.1, key="m-1")
    with pytest.raises(KeyError, match=r"'m-1' is the key of m-3 and the id of another one: say m-3 .* m-01"):
        study.void("m-1", "which?")
    with pytest.raises(KeyError, match=r"'m-2' is the key of m-1"):  # voided, and still its key
        study.void("m-2", "which?")
    assert [row["voided"] is None for row in study.frame("measurements").to_dicts()] == [False, True, True]
    study.void("m-03", "wrong tube")
    assert study.frame("measurements")["voided"][2] == "wrong tube"
