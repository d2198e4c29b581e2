"""The records forget nothing: every rule with every option, every command, every route."""

import inspect

from tests.golden import designs, rules, studies, theory
from tests.golden.kinds import read_records as recorded
from tests.support.commands import commands

import noisewise as nw
from noisewise.theory import __all__ as all_of_theory


def test_there_are_at_least_300_studies():
    assert len(recorded(studies.NAME)) >= 300


def test_every_rule_is_played_on_lists_with_each_of_its_options():
    said = {}
    for record in recorded(rules.NAME):
        case = record["case"]
        if case["world"] == "list" and record["answer"] != {"refused": True}:
            said.setdefault(case["rule"], []).append(case["options"])
    assert said.keys() == set(nw.rules.POLICIES)
    for rule, constructor in nw.rules.POLICIES.items():
        options = set(inspect.signature(constructor).parameters) - {"actions"}
        assert options == set().union(*said[rule]), rule
        assert len(said[rule]) >= 10, rule


def test_every_rule_that_runs_on_sets_is_played_on_each_kind_of_set():
    played = {}
    for record in recorded(rules.NAME):
        case = record["case"]
        if case["world"] == "set" and record["answer"] != {"refused": True}:
            played.setdefault(case["rule"], set()).add(case["set"])
    ball = nw.sets.Ball(2)
    for rule in nw.rules.POLICIES:
        needed = {"horizon": 9} if rule in rules.PLANNING else rules.NEEDED.get(rule, {})
        try:
            nw.make_policy(rule, ball, **needed)
        except ValueError:
            assert rule not in played
        else:
            assert played[rule] == set(rules.SETS), rule


def test_every_world_is_simulated():
    cases = [record["case"] for record in recorded(rules.NAME)]
    simulated = [case for case in cases if case["world"] == "simulation"]
    assert {case["instance"] for case in simulated} == set(nw.instances.NAMES)
    assert {case.get("noise", "gaussian") for case in simulated} == set(nw.noise.LAWS)
    assert {case["schedule"] for case in simulated} - {None} == set(nw.schedules.NAMES)
    assert {"compare", "arena"} <= {case["world"] for case in cases}


def test_designs_hold_their_certificates():
    for record in recorded(designs.NAME):
        answer = record["answer"]
        assert answer.get("refused", True) is True, record["name"]
        assert all(answer.get(name, True) for name in ("true", "close enough", "few enough", "positive"))


def test_every_function_of_the_theory_is_called():
    called = {record["case"]["function"] for record in recorded(theory.NAME)}
    functions = {name for name in all_of_theory if callable(getattr(nw.theory, name))}
    assert called - {"constants"} == functions


def test_every_command_with_json_has_an_answer():
    with_json = {
        name
        for name, command in commands().items()
        if any("--json" in parameter.opts for parameter in command.params)
    }
    answered = {
        step["command"].split()[0]
        for record in recorded("commands")
        for step in record["answer"]["steps"]
        if step["json"] is not None
    }
    # 0.2.0 had neither gate nor read-table; `commands.RENAMED` says what became of the others.
    gone = {"migrate", "best", "slot", "policies", "include", "fail", "rebuild"}
    assert with_json - {"read-table", "rules", "gate"} == answered - gone
    assert len(with_json) > 25
