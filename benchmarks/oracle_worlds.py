"""Studies that both 0.2.0 and this version can play: ``python benchmarks/oracle_worlds.py play c1 20``.

It is run by the Python of either version (see `benchmarks.beside_oracle`) and imports nothing but them and
NumPy. The same seed is the same world and the same noise; what is measured is what `ask` says.
"""

import inspect
import json
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import noisewise as nw

FIRST_SEED = 770_000


class World(NamedTuple):
    """A kind of study."""

    options: int
    eps: float
    se: float = 0.5
    kind: str = "known"
    spread: float = 1.0
    dim: int = 0
    deviation: float = 0.0
    block: int = 0  # measurements in a block
    batch: int = 1  # trials, readings or items of a measurement
    most: int = 1500  # measurements after which a study counts as not decided


WORLDS = {
    "a1": World(20, 0.5, 1.0),
    "a2": World(20, 0.5, 1.0, "varied"),
    "b1": World(10, 0.05, kind="counts", batch=50),
    "c3": World(20, 0.25, dim=2),
    "c1": World(50, 0.25, dim=6),
    "c2": World(200, 0.4, dim=12),
    "d1": World(40, 0.5, dim=5, deviation=0.2),
    "e1": World(8, 0.5, block=5),
    "e2": World(8, 0.5, block=2),
    "f1": World(8, 0.1, kind="items", batch=20),
    "g1": World(8, 0.5, 1.0, "readings", batch=3),
    "g3": World(8, 0.5, 1.0, "single"),
    "g4": World(8, 0.5, 1.0, "pooled", batch=3),
    "h1": World(8, 0.5, 1.0, "heavy"),
    "i1": World(8, 0.1, kind="bounded", batch=5),
    "r1": World(6, 0.02, 0.03, "rounds", spread=0.05, most=600),
}


class Played(NamedTuple):
    """How one study went."""

    n: int
    reached: bool
    wrong: bool
    seconds: float


def made(**question: Any) -> Any:
    """The study that a question of 0.2.0 makes; this version needs no span."""
    if "span" in inspect.signature(nw.create_study).parameters:
        return nw.create_study(**question)
    asked = dict(question)
    asked.pop("span", None)
    low, high = asked.pop("bounds", (None, None))
    if "items" in asked:
        asked["measure"] = nw.Items(asked.pop("items"), low, high)
    elif low is not None:
        asked["measure"] = nw.Ratings(low, high)
    if (noise := asked.pop("noise", None)) == "symmetric":
        asked["measure"] = "rounds"
    elif noise is not None:
        asked["errors"] = nw.Errors(tails=noise)
    if (scatter := asked.pop("scatter", None)) is not None:
        asked["errors"] = nw.Errors(scatter=scatter)
    if (deviation := asked.pop("deviation", None)) is not None:
        asked["model"] = f"{asked['model']}:{deviation}"
    if (id := asked.pop("id", None)) is not None:
        asked["roles"] = {"option": id}
    return nw.create_study(**asked)


def begin(world: World, values: Any, features: Any, names: list[str]) -> Any:
    """The study."""
    more: dict[str, Any] = {"eps": world.eps}
    options: Any = names
    if world.dim:
        options = {"id": names} | {f"x{j}": features[:, j].tolist() for j in range(world.dim)}
        span = float(1.3 * np.ptp(values))
        more |= {"id": "id", "span": span, "model": "linear+deviation" if world.deviation else "linear"}
        more |= {"deviation": world.deviation} if world.deviation else {}
    more |= {"pooled": {"scatter": "pooled"}, "heavy": {"noise": "heavy"}, "bounded": {"bounds": (0, 1)}}.get(
        world.kind, {}
    )
    if world.kind == "items":
        more |= {"items": [f"q{k}" for k in range(500)], "seed": 0}
    if world.kind == "rounds":
        more |= {"noise": "symmetric", "scale": "log", "goal": "min"}
    return made(options=options, **more)


def measured(world: World, value: float, rng: np.random.Generator) -> dict[str, Any]:
    """What a measurement of an option with this value says."""
    if world.kind == "counts":
        return {"successes": int(rng.binomial(world.batch, value)), "trials": world.batch}
    if world.kind == "bounded":
        return {"values": rng.beta(4.0 * value, 4.0 * (1.0 - value), world.batch).tolist()}
    if world.kind in ("readings", "pooled"):
        return {"values": (value + world.se * rng.standard_normal(world.batch)).tolist()}
    if world.kind == "single":
        return {"value": float(value + world.se * rng.standard_normal())}
    se = world.se * (float(np.exp(rng.uniform(-1.2, 1.1))) if world.kind == "varied" else 1.0)
    return {"value": float(value + se * rng.standard_normal()), "se": se}


def play(name: str, seed: int) -> Played:
    """One study to its certificate."""
    world, rng = WORLDS[name], np.random.default_rng([FIRST_SEED, seed])
    k, features = world.options, None
    values = world.spread * rng.standard_normal(k)
    if world.dim:
        features = rng.standard_normal((k, world.dim))
        features /= np.linalg.norm(features, axis=1, keepdims=True)
        theta = rng.standard_normal(world.dim)
        values = features @ theta / np.linalg.norm(theta) + world.deviation * rng.standard_normal(k)
    if world.kind in ("counts", "bounded"):
        values = rng.uniform(0.3, 0.9, k)
    if world.kind == "items":
        hard, able = 2.0 * rng.standard_normal(500), rng.normal(0.8, 0.6, k)
        answers = (rng.random((k, 500)) < 1.0 / (1.0 + np.exp(hard - able[:, None]))).astype(int)
        values = answers.mean(axis=1)
    names = [f"o{j:03d}" for j in range(k)]
    place = {one: at for at, one in enumerate(names)}
    study, offsets = begin(world, values, features, names), 3.0 * rng.standard_normal(2000)
    began, n = time.process_time(), 0
    while n < world.most:
        if world.kind == "rounds":
            for one in names:
                value = float(np.exp(values[place[one]] + offsets[n] + world.se * rng.standard_normal()))
                study.tell(option=one, items={f"r{n}": value})
            n += 1
        elif world.kind == "items":
            (job,) = study.ask(items=world.batch)
            study.tell(job, items={q: int(answers[place[job.option], int(q[1:])]) for q in job.items})
            n += len(job.items)
        else:
            known = world.kind in ("known", "heavy")
            block = {"block": f"d{n // world.block:04d}"} if world.block else {}
            (job,) = study.ask(**({"sigma": world.se} if known else {}), **block)
            offset = offsets[n // world.block] if world.block else 0.0
            study.tell(job, **measured(world, values[place[job.option]] + offset, rng))
            n += 1
        found = study.certificate()
        if found.reached:
            break
    sign = -1.0 if world.kind == "rounds" else 1.0
    lost = 0.0 if found.option is None else float((sign * values).max() - sign * values[place[found.option]])
    return Played(n, bool(found.reached), lost > found.bound, time.process_time() - began)


def least(function: Callable[[], object], count: int) -> float:
    """The least processor time of some calls."""
    found = []
    for _ in range(count):
        began = time.process_time()
        function()
        found.append(time.process_time() - began)
    return min(found)


def times(kind: str, n: int) -> dict[str, float]:
    """Seconds of a first certificate, and of certificate and ask after one more measurement."""
    rng = np.random.default_rng([n, len(kind)])
    values, names = rng.standard_normal(n), [f"o{j:04d}" for j in range(n)]
    more: dict[str, Any] = {"heavy": {"noise": "heavy"}, "bounded": {"bounds": (0, 1)}}.get(kind, {})
    study = made(options=names, eps=0.5, **more)
    option = np.concatenate([np.arange(n), rng.integers(n, size=2 * n)])
    table: dict[str, Any] = {"option": [names[j] for j in option]}
    if kind == "counts":
        shares = 1.0 / (1.0 + np.exp(-values[option]))
        table |= {"successes": rng.binomial(50, shares), "trials": np.full(option.size, 50)}
    elif kind == "bounded":
        table |= {"value": rng.random(option.size)}
    elif kind == "readings":
        table |= {"value": values[option] + rng.standard_normal(option.size)}
    else:
        se = rng.uniform(0.3, 1.0, option.size)
        table |= {"value": values[option] + se * rng.standard_normal(option.size), "se": se}
    if kind == "blocks":
        days = max(2, n // 20)
        block = rng.integers(days, size=option.size)
        table["value"] = table["value"] + block
        table |= {"block": [f"d{b}" for b in block]}
    study.tell_many(table)
    found = {"first": least(study.certificate, 1)}
    told = {key: column[0] for key, column in table.items() if key != "option"}
    asked, certified = [], []
    for turn in range(3):
        study.tell(option=names[turn], **{key: _plain(one) for key, one in told.items()})
        certified.append(least(study.certificate, 1))
        block_of = {"block": "d0"} if kind == "blocks" else {}
        began = time.process_time()
        study.ask(dry_run=True, **block_of)
        asked.append(time.process_time() - began)
    return found | {"certificate": min(certified), "ask": min(asked)}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    what, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if what == "play":
        for seed in range(count):
            print(json.dumps(play(name, seed)), flush=True)
    else:
        print(json.dumps(times(name, count)), flush=True)
