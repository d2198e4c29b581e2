"""The first second: what a person waits for before anything was compiled, and what a plain round takes.

Simulations as in the README and on the command line, each in a process of its own with an empty cache of
machine code (cold) or the one that was left there (warm); plain rounds of four rules; a live round. Each in
turn with version 0.1.0, except all rules cold, which took it 7 minutes (``FIRST_SECOND_FULL=1`` waits for
them).
Processor time is reported beside the wall clock, which a busy machine stretches.
"""

import importlib.util
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np

import noisewise as nw
from benchmarks import baseline
from benchmarks.timing import Row
from benchmarks.worlds import sphere

FULL = bool(os.environ.get("FIRST_SECOND_FULL"))
TURNS = 3
README = """
import noisewise as nw
instance = nw.instances.soare(6)
env = instance.environment(nw.schedules.rare_quiet)
rules = [nw.vaee(instance.actions), nw.rules.weighted_oful(instance.actions, noise="sub-gaussian")]
runs = [nw.simulate(rule, env, horizon=300, replications=100) for rule in rules]
print(nw.compare(runs))
"""
#: 0.1.0 had its rules at the top.
README_ONCE = README.replace("nw.rules.weighted_oful", "nw.weighted_oful")
FOUR = ("-m", "noisewise", "simulate", "--json")
ALL = (*FOUR, "--policies", "all", "--instance", "soare", "--schedule", "rare-quiet")
#: Rules, their options, and microseconds that a plain round may take.
ROUNDS = {
    "vaee": ({}, 5.0),
    "weighted_oful": ({"noise": "sub-gaussian"}, 7.0),
    "linear_thompson": ({}, 7.0),
    "vage": ({}, 12.0),
}
N_ACTIONS, DIM, HORIZON, REPEATS = 100, 10, 1000, 7


def waited(version: str, cache: str, *arguments: str) -> tuple[float, float]:
    """Seconds on the wall and of all processors for a process of its own."""
    python, source = sys.executable, baseline.ROOT / "src"
    if version == baseline.OLD:
        found = baseline.prepared()
        python, source = found.python, found.tree / "src"
    environment = {**os.environ, "PYTHONPATH": str(source), "NOISEWISE_CACHE_DIR": cache}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([python, "-P", *arguments], env=environment, check=True, capture_output=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def starts() -> list[Row]:
    """The README and four rules, cold and warm; all rules cold."""
    took: dict[tuple[str, str], list[tuple[float, float]]] = {}

    def note(what: str, version: str, cache: str, *arguments: str) -> None:
        took.setdefault((what, version), []).append(waited(version, cache, *arguments))

    for _ in range(TURNS):
        for version, readme in ((baseline.NEW, README), (baseline.OLD, README_ONCE)):
            with tempfile.TemporaryDirectory() as cache:
                note("README simulation, cold", version, cache, "-c", readme)
                note("README simulation, warm", version, cache, "-c", readme)
            with tempfile.TemporaryDirectory() as cache:
                note("noisewise simulate, four rules, cold", version, cache, *FOUR)
    for version in (baseline.NEW, baseline.OLD) if FULL else (baseline.NEW,):
        with tempfile.TemporaryDirectory() as cache:
            note("noisewise simulate, all rules, cold", version, cache, *ALL)
    limits = {"cold": 3.0, "warm": 1.5, "four": 5.0, "all": 60.0}
    rows = []
    for (what, version), pairs in took.items():
        if version == baseline.OLD:
            continue
        wall, processor = (statistics.median(column) for column in zip(*pairs, strict=True))
        old = took.get((what, baseline.OLD))
        before = f"; 0.1.0: {statistics.median(wall for wall, _ in old):.1f} s" if old else ""
        (limit,) = [limits[key] for key in ("four", "all", "warm", "cold") if f" {key}" in what][:1]
        rows.append(Row(what, wall, "s", limit, False, f"processors {processor:.1f} s{before}"))
    return rows


def fastest(work: Callable[[], object], rounds: int) -> float:
    """Microseconds of processor time a round."""
    work()
    took = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        took.append(time.process_time() - start)
    return 1e6 * min(took) / rounds


def plain_round(name: str) -> float:
    """A round of a simulation that is not compiled, everything around the rounds included."""
    env = sphere(N_ACTIONS, DIM, HORIZON)
    policy = nw.make_policy(name, env.actions, **ROUNDS[name][0])
    how = {"horizon": HORIZON, "replications": 1, "threads": 1, "checkpoints": [HORIZON]}
    return fastest(lambda: nw.simulate(policy, env, **how), HORIZON)


def live_round() -> float:
    """Ask and tell, of a rule that draws."""
    env = sphere(N_ACTIONS, DIM, HORIZON)
    world = env.world(HORIZON, 0, 0)
    means, sigmas, noise = world.means.tolist(), world.sigma.tolist(), world.noise.tolist()

    def work() -> None:
        policy = nw.make_policy("linear_thompson", env.actions)
        for t in range(HORIZON):
            action = policy.ask()
            policy.tell(action, means[action] + sigmas[t] * noise[t], sigmas[t])

    return fastest(work, HORIZON)


def rival_round() -> float:
    """The same with bayesianbandits: draw from the posterior, take the best, learn."""
    from bayesianbandits import NormalRegressor

    world = sphere(N_ACTIONS, DIM, HORIZON).world(HORIZON, 0, 0)
    vectors, rounds = world.actions.vectors, 300

    def work() -> None:
        model = NormalRegressor(alpha=1.0, beta=1.0, random_state=0)
        model.partial_fit(vectors[:1], world.means[:1])
        for t in range(rounds):
            action = int(np.argmax(model.sample(vectors, size=1)[0]))
            model.partial_fit(vectors[action : action + 1], world.means[action : action + 1] + world.noise[t])

    return fastest(work, rounds)


def rows() -> list[Row]:
    """All of it."""
    found = starts()
    for name, (_, limit) in ROUNDS.items():
        ratio = baseline.ratio("benchmarks.first_second", "plain", name, figure="microseconds")
        about = f"plain round of {name}, {N_ACTIONS} x {DIM}"
        found.append(
            Row(about, statistics.median(ratio.new), "µs", limit, False, f"0.1.0 over this: {ratio}")
        )
    ratio = baseline.ratio("benchmarks.first_second", "live", figure="microseconds")
    live = statistics.median(ratio.new)
    about = f"live tell + ask, linear_thompson, {N_ACTIONS} x {DIM}"
    found.append(Row(about, live, "µs", 15.0, False, f"0.1.0 over this: {ratio}"))
    if importlib.util.find_spec("bayesianbandits") is not None:
        rival = rival_round()
        detail = f"{rival:.0f} µs there"
        found.append(Row(f"{about}: bayesianbandits over this", rival / live, "x", 20.0, True, detail))
    return found


def main() -> None:
    """One piece of work, under either version."""
    what, *names = sys.argv[1:]
    print(json.dumps({"microseconds": plain_round(*names) if what == "plain" else live_round()}))


if __name__ == "__main__":
    main()
