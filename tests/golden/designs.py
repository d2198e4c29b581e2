"""Optimal and transductive designs: their values and certificates, and what is refused.

The weights themselves are not kept: where they are not unique, any of them will do.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from tests.golden import _worlds as worlds
from tests.golden._worlds import facts

import noisewise as nw

NAME = "designs"

#: How closely values are recorded, and how closely designs are solved for that.
DIGITS, TIGHT = 6, 1e-8

#: Inputs that are refused, in Python's words.
REFUSED: dict[str, tuple[str, str]] = {
    "a row with nan": ("[[1.0, nan], [0.0, 1.0]]", "{}"),
    "a row with infinity": ("[[1.0, inf], [0.0, 1.0]]", "{}"),
    "no rows": ("ones((0, 3))", "{}"),
    "no features": ("ones((3, 0))", "{}"),
    "one row without brackets": ("ones(3)", "{}"),
    "three dimensions": ("ones((2, 3, 4))", "{}"),
    "text": ("[['a', 'b']]", "{}"),
    "complex numbers": ("ones((4, 2)) * 1j", "{}"),
    "zeros": ("zeros((5, 2))", "{}"),
    "gap 0": ("eye(2)", "{'gap': 0.0}"),
    "a negative gap": ("eye(2)", "{'gap': -1e-3}"),
    "gap nan": ("eye(2)", "{'gap': nan}"),
    "a gap in words": ("eye(2)", "{'gap': 'small'}"),
    "an unknown support": ("eye(2)", "{'support': 'sparse'}"),
    "fewer actions than the rank": ("eye(5)", "{'max_support': 4}"),
    "a fraction of an action": ("eye(5)", "{'max_support': 5.5}"),
    "two limits": ("eye(5)", "{'support': 'core', 'max_support': 5}"),
    "a start elsewhere": ("eye(4)", "{'warm_start': ([0, 9], [0.5, 0.5])}"),
    "a start with too few weights": ("eye(4)", "{'warm_start': ([0, 1], [1.0])}"),
    "a start with negative weights": ("eye(4)", "{'warm_start': ([0, 1], [1.0, -1.0])}"),
    "a start twice on a row": ("eye(4)", "{'warm_start': ([0, 0], [0.5, 0.5])}"),
    "a negative seed": ("eye(4)", "{'seed': -1}"),
}
#: The same for transductive designs.
REFUSED_DIRECTIONS: dict[str, tuple[str, str]] = {
    "directions of another size": ("eye(3)[:, :2]", "{}"),
    "no directions": ("ones((0, 3))", "{}"),
    "directions of zeros": ("zeros((2, 3))", "{}"),
    "directions with nan": ("[[nan, 0.0, 1.0]]", "{}"),
    "weights of another size": ("eye(3)", "{'weights': [1.0]}"),
    "negative weights": ("eye(3)", "{'weights': [1.0] * 11 + [-1.0]}"),
    "gap 0": ("eye(3)", "{'gap': 0.0}"),
}
WORDS: dict[str, Any] = {name: getattr(np, name) for name in ("ones", "zeros", "eye", "nan", "inf")}


def cases() -> Iterator[tuple[str, dict[str, Any]]]:
    """All of them."""
    sizes = ((3, 2), (6, 4), (12, 3), (40, 5), (60, 8), (200, 6), (500, 3), (1500, 12), (4000, 6))
    for at, (n, dim) in enumerate(sizes):
        for law in ("lengths", "sphere", "normal", "clustered"):
            yield (
                f"{law}, {n} x {dim}",
                {"what": "optimal", "law": law, "n": n, "dim": dim, "seed": 10 * at + 1},
            )
    special = {"law": "normal", "n": 80, "dim": 5, "seed": 301}
    for law in ("axes", "low rank", "scales", "twice", "few", "float32"):
        yield f"{law} of 80 x 5", {"what": "optimal", **special, "law": law}
    for gap in (1e-1, 1e-3, 1e-6):
        yield f"gap {gap}", {"what": "optimal", **special, "options": {"gap": gap}}
    for more in (
        {"support": "core"},
        {"support": "caratheodory"},
        {"max_support": 5},
        {"max_support": 9},
        {"verify": True},
        {"seed": 7},
        {"warm_start": [[0, 1, 2, 3, 4, 5, 6], [0.1, 0.1, 0.1, 0.1, 0.2, 0.2, 0.2]]},
    ):
        for law in ("normal", "clustered"):
            said = " ".join(f"{name} {value}" for name, value in more.items() if name != "warm_start")
            name = f"{law}, {said or 'a warm start'}"
            yield name, {"what": "optimal", **special, "law": law, "n": 300, "options": more}
    for name, (rows, options) in REFUSED.items():
        yield f"refused: {name}", {"what": "refused", "rows": rows, "options": options}

    for at, (n, dim, k) in enumerate(((4, 2, 1), (12, 3, 4), (40, 4, 12), (100, 6, 30), (300, 8, 5))):
        for kind in ("listed", "pairs"):
            if kind == "pairs" and k < 3:
                continue
            base = {"what": "transductive", "n": n, "dim": dim, "directions": k, "kind": kind}
            yield f"{kind} of {k}, {n} x {dim}", {**base, "seed": 500 + at}
            yield f"{kind} of {k}, {n} x {dim}, weighted", {**base, "seed": 550 + at, "weighted": True}
    loose = {"what": "transductive", "n": 60, "dim": 5, "directions": 9, "kind": "listed", "seed": 600}
    yield "transductive, gap 0.1", loose | {"gap": 0.1}
    for name, (directions, options) in REFUSED_DIRECTIONS.items():
        yield (
            f"transductive, refused: {name}",
            {"what": "refused directions", "directions": directions, "options": options, "seed": 601},
        )

    for at, (n, dim) in enumerate(((5, 2), (15, 4), (40, 6))):
        for rule in ("static_design", "vagd", "rage"):
            yield (
                f"{rule} rounds a design on {n} x {dim}",
                {"what": "rounding", "rule": rule, "n": n, "dim": dim, "seed": 700 + at, "rounds": 60},
            )


def play(case: dict[str, Any]) -> dict[str, Any]:
    """The value of the design and whether its certificate holds."""
    answer: dict[str, Any] = PLAYERS[case["what"]](case)
    return answer


def _rows(case: dict[str, Any]) -> Any:
    law, n, dim, rng = case["law"], case["n"], case["dim"], worlds.numbers(case["seed"])
    rows = rng.standard_normal((n, dim))
    if law == "lengths":
        rows = worlds.vectors(case["seed"], n, dim)
    elif law == "sphere":
        rows /= np.sqrt((rows**2).sum(axis=1, keepdims=True))
    elif law == "clustered":
        rows = rng.standard_normal((4, dim))[rng.integers(0, 4, n)] + 0.1 * rows
    elif law == "axes":
        rows = np.vstack([np.eye(dim), 0.5 * rows / np.sqrt((rows**2).sum(axis=1, keepdims=True))])
    elif law == "low rank":
        rows = rows[:, :3] @ rng.standard_normal((3, dim))
    elif law == "scales":
        rows = rows * 10.0 ** (np.arange(dim) - dim // 2)
    elif law == "twice":
        rows = np.vstack([rows, rows])
    elif law == "few":
        rows = rows[:dim]
    elif law == "float32":
        return np.round(rows, 4).astype(np.float32)
    return rows if law == "low rank" else np.round(rows, 9)


def _play_optimal(case: dict[str, Any]) -> dict[str, Any]:
    rows, options = _rows(case), dict(case.get("options", {"gap": TIGHT}))
    loose = options.get("gap", 1e-3)
    if "warm_start" in options:
        options |= {"gap": TIGHT, "warm_start": tuple(options["warm_start"])}
    design = nw.optimal_design(rows, **options)
    whole = rows.astype(float)
    taken, weights = whole[design.indices], design.weights
    moment = (taken * weights[:, None]).T @ taken
    values = np.einsum("ij,ij->i", whole @ np.linalg.pinv(moment, rcond=1e-10, hermitian=True), whole)
    rank = design.rank
    limits = {"core": max(16, 4 * rank * np.log(max(1.0, np.log(rank))) + 16)}
    limits["caratheodory"] = rank * (rank + 1) // 2
    limit = options.get("max_support", limits.get(options.get("support"), len(rows)))
    allowed = rank if options.get("support") == "core" else rank * loose
    answer = {
        "rank": rank,
        "dim": design.dim,
        "n_actions": design.n_actions,
        "sum": round(float(weights.sum()), DIGITS),
        "positive": bool((weights > 0.0).all()),
        "few enough": len(design.indices) <= limit,
        "close enough": "max_support" in options or design.g_value <= rank + allowed * (1.0 + 1e-6) + 1e-9,
        "true": abs(values.max() / design.g_value - 1.0) < 1e-6,
    }
    if options.get("gap") == TIGHT:
        signs, log_det = np.linalg.slogdet(moment)
        if signs > 0.0 and rank == design.dim:
            answer["log_det"] = round(float(log_det), DIGITS)
    return facts(answer)


def _refuses(design: Callable[..., Any], case: dict[str, Any], argument: str) -> dict[str, Any]:
    given, options = eval(case[argument], WORDS), eval(case["options"], WORDS)
    try:
        design(given, **options)
    except (ValueError, TypeError):
        return {"refused": True}
    return {"refused": False}


def _play_refused(case: dict[str, Any]) -> dict[str, Any]:
    return _refuses(nw.optimal_design, case, "rows")


def _play_transductive(case: dict[str, Any]) -> dict[str, Any]:
    seed, n, dim, k = (case[name] for name in ("seed", "n", "dim", "directions"))
    rows, directions = worlds.vectors(seed, n, dim), worlds.vectors(seed + 1000, k, dim)
    weights = np.round(worlds.numbers(seed, 8).uniform(0.2, 4.0, n), 6) if case.get("weighted") else None
    asked: Any = nw.designs.Pairs(directions) if case["kind"] == "pairs" else directions
    gap = case.get("gap", 1e-7)
    design = nw.transductive_design(rows, asked, weights, gap)
    shares = design.dense() * (1.0 if weights is None else weights)
    inverse = np.linalg.pinv((rows * shares[:, None]).T @ rows, hermitian=True, rcond=1e-14)
    listed = (directions[:, None] - directions).reshape(-1, dim) if case["kind"] == "pairs" else directions
    value = float(np.einsum("ij,jk,ik->i", listed, inverse, listed).max())
    answer = {
        "sum": round(float(design.weights.sum()), DIGITS),
        "close enough": design.gap <= gap * (1.0 + 1e-9),
        "true": abs(value / design.value - 1.0) < 1e-4,
    }
    if gap <= 1e-7:
        answer["value"] = float(f"{design.value:.{DIGITS}g}")
    return facts(answer)


def _play_refused_directions(case: dict[str, Any]) -> dict[str, Any]:
    design = partial(nw.transductive_design, worlds.vectors(case["seed"], 12, 3))
    return _refuses(design, case, "directions")


def _play_rounding(case: dict[str, Any]) -> dict[str, Any]:
    """How often a rule measures each action of a design, which must be its shares rounded."""
    seed, rounds = case["seed"], case["rounds"]
    rows = worlds.vectors(seed, case["n"], case["dim"])
    options = {} if case["rule"] == "rage" else {"design": nw.optimal_design(rows, gap=TIGHT)}
    policy = nw.make_policy(case["rule"], rows, **options)
    counts = np.zeros(len(rows), dtype=int)
    for t in range(rounds):
        row = policy.ask()
        counts[row] += 1
        policy.tell(row, worlds.noise(seed, t), 1.0)
    return facts({"counts": counts})


PLAYERS = {
    "optimal": _play_optimal,
    "refused": _play_refused,
    "transductive": _play_transductive,
    "refused directions": _play_refused_directions,
    "rounding": _play_rounding,
}
