"""The recorded studies cover every setting that stays, several times."""

from collections import Counter

import pytest
from tests.golden.kinds import read_records

#: The fewest cases that a setting must have.
LEAST = 5


def question_settings(question):
    """What a question is about."""
    found = {f"goal {question.get('goal', 'max')}", f"model {question.get('model', 'independent')}"}
    found |= {f"looks {question.get('looks', 'any time')}", f"scale {question.get('scale', 'linear')}"}
    found |= {f"noise {question.get('tails', 'normal')}"}
    for name in ("scatter", "policy"):
        if name in question:
            found.add(f"{name} {question[name]}")
    for name in ("deviation", "extra_scatter"):
        if name in question:
            found.add(f"{name} {'estimated' if question[name] == 'estimate' else 'given'}")
    found |= {
        name for name in ("costs", "noise_floor", "budget", "span", "confidence", "lease") if name in question
    }
    if "eps" not in question:
        found.add("no eps")
    if "range" in question:
        found.add("bounded readings")
    if "pool" in question:
        found.add("pool of items")
    return found


def measurement_settings(told, question):
    """What a measurement is."""
    ways = {
        "var": "var", "ci": "ci", "sd": "sd and n", "successes": "counts", "values": "readings",
        "items": "items", "item": "table of items",
    }  # fmt: skip
    found = {f"kind {ways[name]}" for name in ways if name in told}
    if "se" in told:
        found.add("kind asymmetric se" if isinstance(told["se"], list) else "kind se")
    if isinstance(told.get("value"), str):
        found.add("kind text")
    elif not found and "value" in told:
        found.add("kind plain")
    if "items" in told:
        if question.get("tails") == "symmetric":
            found.add("rounds")
        elif "pool" not in question:
            found.add("items without a pool")
    if "values" in told and "range" in question:
        found.add("kind ratings")
    if "kind plain" in found and "scatter" in question:
        found.add(f"kind plain, scatter {question['scatter']}")
    found |= {name for name in ("block", "minus", "arm", "instrument", "key") if name in told}
    return found


def step_settings(step, question):
    """What a step does."""
    what = step["do"]
    found = {f"step {what}"}
    if what in ("tell", "amend"):
        found |= measurement_settings(step, question)
    if "answers" in step:
        found.add("answered job")
    if what in ("table", "together"):
        for row in step["rows"]:
            found |= measurement_settings(row, question) if "layout" not in step else set()
    if "layout" in step:
        found.add(f"layout {step['layout']}")
    if what == "switch":
        found |= {f"switch {name}" for name in step if name not in ("do", "span")}
    if what == "ask":
        found |= {f"ask {name}" for name in step if name != "do"}
    return found


def bar_ratio(case):
    """The largest error bar that was told over the smallest."""
    rows = [row for step in case["steps"] for row in [step, *step.get("rows", [])]]
    bars = [row["se"] for row in rows if isinstance(row.get("se"), float) and row["se"] > 0.0]
    return max(bars) / min(bars) if bars else 1.0


def settings_of(record):
    """Everything that a case covers."""
    case, answer = record["case"], record["answer"]
    question = case["question"]
    if answer.get("refused"):
        return {"refused question"}
    found = question_settings(question)
    for step in case["steps"]:
        found |= step_settings(step, question)
    found |= (
        {"once, " + setting for setting in found if setting.startswith(("model", "scale", "block"))}
        if ("looks once" in found)
        else set()
    )
    found |= {"refused step" for said in answer["steps"].values() if said.get("refused")}
    found |= {f"verdict {answer['end']['certificate']['verdict']}"}
    found |= {f"cause {cause['cause']}" for cause in answer["end"]["check"]["causes"]}
    if bar_ratio(case) > 1e5:
        found.add("error bars of all sizes")
    return found


#: What has to be covered.
NAMED = """
goal max, goal min, model independent, model linear, model linear+deviation, deviation given, deviation estimated,
extra_scatter given, extra_scatter estimated, looks any time, looks once, once; model linear, once; model
linear+deviation, once; scale log, once; block, scale log, scale linear, noise normal, noise heavy, noise symmetric,
kind se, kind asymmetric se, kind var, kind ci, kind text, kind sd and n, kind counts, kind readings, kind ratings,
kind plain, kind plain; scatter own, kind plain; scatter pooled, kind items, pool of items, items without a pool,
kind table of items, rounds, scatter own, scatter pooled, bounded readings, block, minus, arm, instrument, key,
layout network, layout arms, costs, noise_floor, budget, no eps, lease, confidence, answered job, ask n, ask se,
ask block, ask probe, ask items, step together, step table, step void, step amend, step exclude, step include,
step add, step switch, step policy, step release, step fail, step wait, step look, switch model, switch looks,
switch extra_scatter, switch deviation, policy vage, policy vaee, policy round_robin, policy top_two_thompson,
refused step, refused question, verdict reached, verdict bounded, verdict undecided, verdict unbounded,
verdict withheld, cause row, cause scatter, cause variances, cause understated, cause overstated,
error bars of all sizes
"""
SETTINGS = [" ".join(name.split()).replace(";", ",") for name in NAMED.split(",")]


@pytest.fixture(scope="module")
def covered():
    return Counter(setting for record in read_records("studies") for setting in settings_of(record))


def test_there_are_at_least_300_studies():
    assert len(read_records("studies")) >= 300


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_setting_has_cases(covered, setting):
    assert covered[setting] >= LEAST
