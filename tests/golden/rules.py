"""Every rule on lists and on sets, and the random streams of simulations, comparisons and the arena."""

import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
from tests.golden import _worlds as worlds
from tests.golden._worlds import facts

import noisewise as nw
from noisewise.simulation import action_noise, schedules
from noisewise.simulation.arena import Cell, Entry, run_arena

NAME = "rules"

#: What a rule cannot be made without.
NEEDED: dict[str, dict[str, Any]] = {
    "vaee_as_printed": {"sigma_min": 0.01},
    "adaoful": {"sigma_min": 0.01},
    "voful": {"directions": 8, "cubes": 128},
    "voful2": {"directions": 8, "cubes": 128},
}
#: Rules that must be given a horizon.
PLANNING = (
    *("weighted_oful_plus", "save", "voful", "voful2", "varcb"),
    *("linnats", "linnats_unknown", "peace", "od_linbai"),
)
#: Rules that choose after the error bar of the coming measurement is known; vage can do both.
FORESEEING = ("varcb", "information_directed")
#: Rules that work out shares for all actions, and so cannot be told which are allowed.
FIXED = (
    *("vagd", "static_design", "phased_elimination", "rage", "h_rage", "peace", "od_linbai"),
    "precision_tracking",
)
#: Rules whose phases end within the rounds played only if they are made shorter.
SHORTER = {"phased_elimination": 0.1, "rage": 0.1, "h_rage": 0.1}

#: Other values of the options that all rules have.
SHARED: tuple[dict[str, Any], ...] = (
    {"radius": "self-normalised"},
    {"radius": "paper", "sigma_min": 0.01},
    {"radius": "averaged"},
    {"radius": "restarted"},
    {"radius": 2.5},
    {"ridge": 0.3},
    {"ridge": "dim", "norm_bound": 1.5},
    {"delta": 0.2, "norm_bound": 3.0},
    {"seed": 11},
    {"recommendation": "smallest-bound"},
    {"recommendation": "last"},
    {"recommendation": "most-played"},
    {"recommendation": "uniform-played", "seed": 5},
)
#: Other values of the options that one rule has.
OWN: dict[str, tuple[dict[str, Any], ...]] = {
    "vage": ({"share": 0.2}, {"challenge": 0.3}),
    "vaee": ({"explore": "candidates"}, {"explore": "candidates", "radius": 0.5, "recommendation": "last"}),
    "vaee_as_printed": ({"radius": 1.0},),
    "robust_vaee": (
        {"estimator": "one-pass"},
        {"estimator": "one-pass", "tau0": 1.0, "floor": True, "radius": 1.0},
        {"estimator": "median-of-means"},
        {"estimator": "median-of-means", "blocks": 5},
        {"tau0": "lemma", "sigma_min": 0.01, "floor": True},
        {"floor": True, "tau0": 1.0},
        {"explore": "candidates", "radius": 1.0},
        {"horizon": 100},
        {"radius": 1.5},
    ),
    "vagd": ({"design": "optimal"},),
    "static_design": ({"design": "optimal"},),
    "weighted_oful": (
        {"noise": "sub-gaussian"},
        {"noise": "sub-gaussian", "radius": "self-normalised"},
        {"noise": "sub-gaussian", "radius": "paper", "sigma_min": 0.01},
        {"noise": "sub-gaussian", "radius": "averaged"},
        {"noise": "sub-gaussian", "radius": 2.5},
        {"noise_bound": 0.2},
        {"scale": 0.3},
    ),
    "weighted_oful_plus": ({"noise_bound": 0.2}, {"scale": 0.3}, {"horizon": 300}),
    "save": ({"noise_bound": 0.2}, {"scale": 0.1}, {"trust_after": 1.0, "scale": 0.1}, {"horizon": 300}),
    "voful": (
        {"noise_bound": 0.3},
        {"scale": 0.1},
        {"refresh": 0.5, "scale": 0.1},
        {"directions": 16, "cubes": 64, "scale": 0.1},
        {"horizon": 300},
    ),
    "voful2": (
        {"noise_bound": 0.3},
        {"scale": 0.1},
        {"refresh": 0.5, "scale": 0.1},
        {"directions": 16, "cubes": 64, "scale": 0.1},
        {"horizon": 300},
    ),
    "varcb": ({"noise_bound": 0.2}, {"scale": 0.3}, {"horizon": 300}),
    "linear_thompson": ({"scale": 0.0}, {"scale": 2.0}),
    "linnats": ({"noise_bound": 0.2}, {"scale": 0.3}, {"spread": 0.2}, {"horizon": 300}),
    "linnats_unknown": (
        {"noise_bound": 0.2},
        {"scale": 0.1},
        {"spread": 0.2},
        {"trust_after": 1.0},
        {"horizon": 300},
    ),
    "oful": ({"noise_level": 0.3}, {"scale": 0.3}, {"radius": "mixture"}),
    "adaoful": ({"tau0": 1.0}, {"floor": False}, {"horizon": 300}, {"radius": 1.0}),
    "lingape": ({"noise_level": 0.3}, {"scale": 0.3}, {"radius": "logarithmic"}, {"radius": "mixture"}),
    "weighted_lingape": ({"noise_level": 0.3}, {"scale": 0.3}, {"radius": "printed"}),
    "lingame": ({"learners": "single"}, {"optimistic": False}),
    "phased_elimination": ({"scale": 0.3}, {"scale": 0.05}),
    "rage": ({"judge_by": "all"}, {"scale": 0.05}),
    "information_directed": (
        {"information": "optimistic"},
        {"randomised": False},
        {"action_sigma": "drawn"},
        {"scale": 0.3},
    ),
    "h_rage": ({"action_sigma": "drawn"}, {"scale": 0.05}),
    "peace": ({"horizon": 25},),
    "od_linbai": ({"horizon": 25},),
    "precision_tracking": ({"eps": 0.5}, {"noise": "sub-gaussian"}),
    "top_two_thompson": (
        {"probe": "pair"},
        {"probe": "pair", "leader_share": 0.8},
        {"challenger": "transport"},
    ),
    "bayes_gap": ({"eps": 0.2}, {"horizon": 45}),
}
#: Cases of which one world was so near to a tie that the answer depended on the processor: they have another.
ANOTHER_WORLD = {"static_design, 60 actions": 400, "h_rage, all: recommendation=smallest-bound": 700}
#: Actions and features of the main cases.
SIZES = ((3, 2), (8, 3), (20, 5), (60, 8))
ROUNDS = 60
SMALL = {"n": 9, "dim": 3, "rounds": 40}

#: The rules that run on infinite sets.
ON_SETS = (
    *("vaee", "vaee_as_printed", "robust_vaee", "widest", "uniform", "greedy"),
    *("weighted_oful", "linear_thompson", "oful"),
)
SETS: dict[str, dict[str, Any]] = {
    "ball": {"dim": 3, "radius": 1.0},
    "large ball": {"dim": 6, "radius": 2.0},
    "box": {"low": [-0.5, -0.2, 0.1], "high": [0.7, 0.9, 0.45]},
    "ellipsoid": {"matrix": [[1.2, 0.3, 0.1], [0.3, 0.8, -0.2], [0.1, -0.2, 0.5]]},
    "hypercube": {"dim": 4},
    "simplex": {"dim": 4},
    "polytope": {"seed": 77, "n": 12, "dim": 3},
    "inequalities": {"matrix": [[-1, 0.1], [0.2, -1], [1, 0.7], [0.3, 1]], "limits": [0.1, 0.2, 1, 0.8]},
    "product": {},
    "large box": {"seed": 78, "dim": 22},
}


def cases() -> Iterator[tuple[str, dict[str, Any]]]:
    """All of them."""
    for number, rule in enumerate(nw.rules.POLICIES):
        for name, case in _on_lists(rule, 1000 * (number + 1)):
            yield name, case | {"seed": case["seed"] + ANOTHER_WORLD.get(name, 0)}
    for number, rule in enumerate(ON_SETS):
        yield from _on_sets(rule, 100_000 + 1000 * number)
    yield from _simulations()


def play(case: dict[str, Any]) -> dict[str, Any]:
    """What the rule measures and believes."""
    answer: dict[str, Any] = PLAYERS[case["world"]](case)
    return answer


# On lists.


def _on_lists(rule: str, seed: int) -> Iterator[tuple[str, dict[str, Any]]]:
    shorter = {"scale": SHORTER[rule]} if rule in SHORTER else {}
    for n, dim in SIZES:
        size = {"n": n, "dim": min(dim, 4) if rule.startswith("voful") else dim, "rounds": ROUNDS}
        yield f"{rule}, {n} actions", _list_case(rule, shorter, seed + n, **size)
    yield f"{rule}, faithful", _list_case(rule, {}, seed + 300, **SMALL)
    for at, options in enumerate(OWN.get(rule, ())):
        said = ", ".join(f"{name}={value}" for name, value in options.items())
        yield f"{rule}, {said}", _list_case(rule, shorter | options, seed + 400 + at, **SMALL)
    known = _options_of(rule)
    for at, options in enumerate(SHARED):
        if options.keys() <= known:
            said = ", ".join(f"{name}={value}" for name, value in options.items())
            yield f"{rule}, all: {said}", _list_case(rule, shorter | options, seed + 500 + at, **SMALL)
    more: dict[str, dict[str, Any]] = {
        "heavy noise": {"law": "heavy"},
        "signs as noise": {"law": "signs"},
        "two decades of error bars": {"low": 0.01, "high": 3.0},
        "batches": {"batch": 4},
        "told many": {"told": 12},
        "independent": {"vectors": "axes"},
    }
    if rule not in FIXED:
        more["some allowed"] = {"allowed": True}
    if rule == "vage":
        more["announced"] = {"announced": True}
    for at, (said, world) in enumerate(more.items()):
        yield f"{rule}, {said}", _list_case(rule, shorter, seed + 600 + at, **SMALL | world)


def _options_of(rule: str) -> set[str]:
    import inspect

    return set(inspect.signature(nw.rules.POLICIES[rule]).parameters) - {"actions"}


def _list_case(rule: str, options: dict[str, Any], seed: int, **world: Any) -> dict[str, Any]:
    planned = {"horizon": world["rounds"]} if rule in PLANNING else {}
    if rule in FORESEEING:
        world["announced"] = True
    return {
        "world": "list",
        "rule": rule,
        "options": planned | NEEDED.get(rule, {}) | options,
        "seed": seed,
        **world,
    }


def _play_list(case: dict[str, Any]) -> dict[str, Any]:
    seed, rounds = case["seed"], case["rounds"]
    dim = case["dim"]
    rows = np.eye(dim) if case.get("vectors") == "axes" else worlds.vectors(seed, case["n"], dim)
    theta = worlds.parameter(seed, dim)
    sigmas = worlds.sigmas(seed, rounds, case.get("low", 0.05), case.get("high", 1.0))
    law = case.get("law", "gaussian")
    options = dict(case["options"])
    if options.get("design") == "optimal":
        options["design"] = nw.optimal_design(rows, gap=1e-9)
    factors = np.ones(len(rows))
    if options.get("action_sigma") == "drawn":
        options["action_sigma"] = factors = np.round(worlds.numbers(seed, 5).uniform(0.4, 1.6, len(rows)), 6)
    try:
        policy = nw.make_policy(case["rule"], rows, **options)
    except (ValueError, TypeError):
        return {"refused": True}

    def measured(t: int, row: int) -> tuple[int, float, float]:
        sigma = float(sigmas[t] * factors[row])
        return row, worlds.reward(rows[row], theta) + sigma * worlds.noise(seed, t, law), sigma

    pulls: list[int] = []
    beliefs = {}
    if "told" in case:
        chosen = worlds.numbers(seed, 6).integers(0, len(rows), case["told"]).tolist()
        policy.tell_many(*zip(*(measured(t, row) for t, row in enumerate(chosen)), strict=True))
        pulls += chosen
        beliefs["told"] = _belief(policy)
    while len(pulls) < rounds:
        t = len(pulls)
        batch: list[int] = []
        for place in range(min(case.get("batch", 1), rounds - t)):
            asked: dict[str, Any] = {}
            if case.get("announced"):
                asked["sigma"] = float(sigmas[t + place])
            if case.get("allowed"):
                asked["allowed"] = np.flatnonzero(worlds.numbers(seed, 7, t).uniform(size=len(rows)) < 0.6)
                asked["allowed"] = asked["allowed"].tolist() or [t % len(rows)]
            if batch:
                asked["pending"] = [(row, float(sigmas[t + k])) for k, row in enumerate(batch)]
            batch.append(int(policy.ask(**asked)))
        for place, row in enumerate(batch):
            policy.tell(*measured(t + place, row))
        pulls += batch
        if len(pulls) in (rounds // 4, rounds):
            beliefs[str(len(pulls))] = _belief(policy)
    return facts({"pulls": pulls, **beliefs})


def _belief(policy: Any) -> dict[str, Any]:
    estimate = policy.estimate()
    candidates = np.flatnonzero(estimate.candidates)
    return {
        "recommended": int(estimate.recommended),
        "bound": estimate.regret_bound,
        "radius": estimate.radius,
        "candidates": "all" if len(candidates) == len(estimate.candidates) else candidates,
        "theta": estimate.theta,
        "mean": estimate.means[estimate.recommended],
        "widths": estimate.widths[:3],
        "precision": estimate.total_precision,
    }


# On infinite sets.


def _on_sets(rule: str, seed: int) -> Iterator[tuple[str, dict[str, Any]]]:
    for at, name in enumerate(SETS):
        rounds = 8 if name.startswith("large") else 20
        yield f"{rule} on a set, {name}", _set_case(rule, {}, seed + at, name, rounds)
    own = OWN.get(rule, ()) + tuple(one for one in SHARED if one.keys() <= _options_of(rule))
    for at, options in enumerate(own):
        said = ", ".join(f"{name}={value}" for name, value in options.items())
        # The given vectors, the last of which may be recommended, must be in the set.
        name = "large ball" if "explore" in options else ("ball", "ellipsoid", "polytope")[at % 3]
        yield f"{rule} on a set, {said}", _set_case(rule, options, seed + 100 + at, name, 12)


def _set_case(rule: str, options: dict[str, Any], seed: int, name: str, rounds: int) -> dict[str, Any]:
    made = {"world": "set", "rule": rule, "options": NEEDED.get(rule, {}) | options, "seed": seed}
    return made | {"set": name, "shape": SETS[name], "rounds": rounds}


def _set(name: str, shape: dict[str, Any]) -> Any:
    if name == "polytope":
        return nw.sets.Polytope(worlds.vectors(shape["seed"], shape["n"], shape["dim"]))
    if name == "inequalities":
        return nw.sets.Polytope.from_inequalities(shape["matrix"], shape["limits"])
    if name == "product":
        return nw.sets.Product(nw.sets.Box([-0.4, 0.1], [0.5, 0.7]), nw.sets.Simplex(3))
    if name == "large box":
        low = np.round(worlds.numbers(shape["seed"]).uniform(-1.0, 0.0, shape["dim"]), 6)
        high = np.round(worlds.numbers(shape["seed"], 1).uniform(0.1, 1.0, shape["dim"]), 6)
        return nw.sets.Box(low, high)
    kind = {
        "ball": nw.sets.Ball,
        "large ball": nw.sets.Ball,
        "box": nw.sets.Box,
        "ellipsoid": nw.sets.Ellipsoid,
    }
    return (kind | {"hypercube": nw.sets.Hypercube, "simplex": nw.sets.Simplex})[name](**shape)


def _play_set(case: dict[str, Any]) -> dict[str, Any]:
    seed, actions = case["seed"], _set(case["set"], case["shape"])
    dim = actions.dim
    theta = worlds.parameter(seed, dim)
    # The first measurements are of given vectors: before them, many actions of a ball are equally wide.
    given = worlds.vectors(seed, dim + 1, dim)
    rounds = dim + 1 + case["rounds"]
    sigmas = worlds.sigmas(seed, rounds, 0.1, 1.0)
    try:
        policy = nw.make_policy(case["rule"], actions, **case["options"])
    except (ValueError, TypeError):
        return {"refused": True}
    points = []
    for t in range(rounds):
        vector = given[t] if t <= dim else policy.ask()
        if t > dim:
            points.append(vector.tolist())
        sigma = float(sigmas[t])
        value = worlds.reward(vector, theta) + sigma * worlds.noise(seed, t)
        policy.tell(vector, value, sigma, strict=t > dim)
    estimate = policy.estimate()
    return facts(
        {
            "points": points,
            "recommended": estimate.recommended,
            "bound": estimate.regret_bound,
            "found": estimate.regret_found,
            "radius": estimate.radius,
            "mean": estimate.mean,
            "width": estimate.width,
            "theta": estimate.theta,
            "candidate": policy.is_candidate(points[0]),
        }
    )


# Simulations, in the plain engine.

RULES_SIMULATED: dict[str, dict[str, Any]] = {
    "vage": {},
    "vaee": {},
    "vagd": {},
    "linear_thompson": {},
    "rage": {"scale": 0.1},
    "top_two_thompson": {},
    "uniform": {},
    "weighted_oful": {"noise": "sub-gaussian"},
}
WORLDS: tuple[dict[str, Any], ...] = (
    {"instance": "sphere", "options": {"n_actions": 12, "dim": 4}, "schedule": "log-uniform"},
    {"instance": "soare", "options": {"dim": 4}, "schedule": "fast-decaying"},
    {"instance": "hypercube", "options": {"dim": 3, "scale": 0.8}, "schedule": "rare-quiet"},
    {
        "instance": "clustered",
        "options": {"n_actions": 20, "dim": 3},
        "schedule": "moderate-spikes",
        "noise": "laplace",
    },
    {
        "instance": "polytope",
        "options": {"dim": 3},
        "schedule": "front-loaded",
        "noise": "student-t",
        "action_noise": "spread-out",
    },
    {
        "instance": "leaderboard",
        "options": {},
        "schedule": "window",
        "schedule_options": {"start": 5, "length": 10, "inside": 0.1},
        "noise": "pareto",
    },
    {"instance": "tirinzoni-degenne", "options": {"n_actions": 10, "dim": 4}, "schedule": "log-uniform"},
    {"instance": "case-study", "options": {"horizon": 40}, "schedule": None, "noise": "lognormal"},
    {"instance": "signs", "options": {"dim": 4}, "schedule": "flat", "noise": "contaminated"},
    {"instance": "ball", "options": {"dim": 3}, "schedule": "log-uniform", "noise": "uniform"},
    {
        "instance": "he-gu",
        "options": {},
        "schedule": "window",
        "schedule_options": {"start": 10, "length": 15, "inside": 0.01},
        "noise": "rademacher",
    },
)


def _simulations() -> Iterator[tuple[str, dict[str, Any]]]:
    for at, world in enumerate(WORLDS):
        on_set = world["instance"] in ("ball", "signs")
        rules = ("vaee", "linear_thompson") if on_set else tuple(RULES_SIMULATED)
        for turn in range(2):
            rule = rules[(2 * at + turn) % len(rules)]
            if world["instance"] == "he-gu":
                rule = ("vaee", "weighted_oful")[turn]
            sized = {"seed": 40 + at, "horizon": 40, "replications": 3}
            ruled = {"rule": rule, "rule_options": RULES_SIMULATED.get(rule, {})}
            yield f"simulate {rule} in {world['instance']}", {"world": "simulation"} | world | ruled | sized
    sphere = dict(WORLDS[0], options={"n_actions": 6, "dim": 2}, world="simulation", low=0.02, high=0.2)
    for stop, eps in (("glr", None), ("gap", 0.5), ("glr-log-log", None), ("glr-log", None), ("glr", 0.1)):
        yield (
            f"simulate until {stop}{'' if eps is None else f' within {eps}'}",
            sphere
            | {"rule": "vaee", "rule_options": {}, "stop": stop, "eps": eps}
            | {"seed": 60, "horizon": 150, "replications": 4},
        )
    yield (
        "compare",
        {
            "world": "compare",
            "instance": "sphere",
            "options": {"n_actions": 10, "dim": 3},
            "schedule": "log-uniform",
            "rules": ["vage", "vaee", "uniform"],
            "seed": 70,
            "horizon": 50,
            "replications": 12,
        },
    )
    cell = {"instance": "soare", "schedule": "flat", "instance_options": {"dim": 3, "reach": 30.0}}
    other = {"instance": "sphere", "schedule": "log-uniform", "instance_options": {"n_actions": 8, "dim": 3}}
    yield (
        "arena",
        {
            "world": "arena",
            "cells": [cell, other, other | {"announced": True}, cell | {"action_noise": "spread-out"}],
            "rules": ["vage", "vaee"],
            "seed": 3,
            "horizon": 30,
            "replications": 6,
        },
    )


def _environment(case: dict[str, Any]) -> Any:
    instance = nw.instances.named(case["instance"], **case["options"])
    options: dict[str, Any] = {"noise": case.get("noise", "gaussian")}
    if "action_noise" in case:
        options["action_sigma"] = action_noise.named(case["action_noise"])
    schedule: Any = case["schedule"]
    if "schedule_options" in case:
        schedule = schedules.named(schedule, **case["schedule_options"])
    if "low" in case:
        schedule = worlds.sigmas(case["seed"], case["horizon"], case["low"], case["high"])
    return instance.environment(schedule, **options)


def _simulated(case: dict[str, Any], rule: str, options: dict[str, Any], **more: Any) -> Any:
    environment = _environment(case)
    policy = nw.make_policy(rule, environment.actions, **options)
    shared = {name: case[name] for name in ("horizon", "replications", "seed")}
    return nw.simulate(policy, environment, on=1, **shared, **more)


def _play_simulation(case: dict[str, Any]) -> dict[str, Any]:
    stop = {name: case[name] for name in ("stop", "eps") if case.get(name) is not None}
    horizon = case["horizon"]
    done = _simulated(
        case, case["rule"], case["rule_options"], checkpoints=[1, horizon // 2, horizon], **stop
    )
    on_set = done.pulled.ndim == 3
    return facts(
        {
            "pulled": done.pulled[:, ::10] if on_set else done.pulled,
            "advised": done.advised,
            "regret": done.simple_regret,
            "cumulative": done.cumulative_regret,
            "precision": done.total_precision,
            "radius": done.radius,
            "distance": done.distance,
            "bound": done.bound,
            "stopped": done.stopped,
            "fired": done.fired,
        }
    )


def _play_compare(case: dict[str, Any]) -> dict[str, Any]:
    done = [_simulated(case, rule, {}) for rule in case["rules"]]
    return facts({"rows": nw.compare(done).to_dicts()})


def _play_arena(case: dict[str, Any]) -> dict[str, Any]:
    shared = {name: case[name] for name in ("horizon", "replications", "seed")}
    with tempfile.TemporaryDirectory() as folder:
        arena = run_arena(
            [Entry(rule, rule, {}) for rule in case["rules"]],
            [Cell(**cell) for cell in case["cells"]],
            folder,
            on=1,
            **shared,
        )
    return facts(
        {
            "matches": [
                {
                    "cell": at // len(case["rules"]),
                    **{
                        name: getattr(match, name)
                        for name in ("entry", "regret", "found", "covered", "certified", "rounds")
                    },
                    "precision": match.precision,
                }
                for at, match in enumerate(sorted(arena.matches, key=lambda one: (one.cell, one.entry)))
            ]
        }
    )


PLAYERS = {
    "list": _play_list,
    "set": _play_set,
    "simulation": _play_simulation,
    "compare": _play_compare,
    "arena": _play_arena,
}
