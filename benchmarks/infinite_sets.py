"""Infinite and huge sets: oracles against brute force, rates of regret, the cost of a round, memory maps."""

import os
import resource
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

import noisewise as nw
from benchmarks.timing import Row, alternating, seconds
from noisewise.core import model as core_model
from noisewise.core.model import covariance, theta

sys.path.append(str(Path(__file__).parents[1] / "tests" / "actions"))

MODELS, POINTS = 200, 1_000_000
HORIZONS = [250, 500, 1000, 2000, 4000, 8000]
MAP_ROWS, MAP_DIM, MAP_ROUNDS = 10_000_000, 50, 40


def oracles() -> list[Row]:
    """200 random models per set: what brute force finds above the answer, and below its upper bound."""
    from test_oracles import SETS, lengths, random_model, tried

    rows = []
    for name, actions in SETS.items():
        rng = np.random.default_rng(0)
        points = tried(actions, rng)
        if not actions.exact or len(points) == 20_000:  # scattered points: 10^6 of them
            points = np.vstack([tried(actions, rng) for _ in range(POINTS // len(points))])
        above, over, least = -np.inf, -np.inf, 1.0
        for _ in range(MODELS):
            model = random_model(actions.dim, rng)
            parameter, spread, radius = theta(model), covariance(model), rng.uniform(0.1, 6.0)
            widths = lengths(points, spread)
            origin = actions.best(parameter).vector
            away = points - origin
            checks = [
                (actions.best(parameter), points @ parameter),
                (actions.widest(model), widths),
                (actions.most_optimistic(model, radius), points @ parameter + radius * widths),
                (
                    actions.largest_contrast(model, radius, origin),
                    away @ parameter + radius * lengths(away, spread),
                ),
            ]
            for answer, values in checks:
                scale = float(np.abs(values).max()) + 1e-300
                above = max(above, (values.max() - answer.value) / scale)
                over = max(over, (values.max() - answer.upper) / scale)
            least = min(least, *(answer.ratio for answer, _ in checks[:3]))
        detail = (
            f"{len(points):,} points; largest excess over an upper bound {over:.1g}, ratio >= {least:.6f}"
        )
        target = 1e-9 if actions.exact else 1e-3  # ascents may end short of the maximum, and say so
        rows.append(Row(f"brute force above the answer, {name}", above, "rel", target, False, detail))
        rows.append(Row(f"brute force above the bound, {name}", over, "rel", 1e-12, False, detail))
    return rows


def slopes() -> list[Row]:
    """Slope of log mean regret against log total precision on Ball(5), 400 replications."""
    instance = nw.instances.ball(5)
    rows = []
    for name, options in (("flat", {"dim": 5}), ("fast-decaying", {}), ("log-uniform", {})):
        env = instance.environment(nw.schedules.named(name, **options))
        policy = nw.vaee(instance.actions)
        sim = nw.simulate(policy, env, horizon=HORIZONS[-1], replications=400, checkpoints=HORIZONS)
        precision, regret = sim.total_precision.mean(axis=0), sim.simple_regret.mean(axis=0)
        slope = float(np.polyfit(np.log(precision), np.log(regret), 1)[0])
        detail = f"slope {slope:.3f}, target -1.1 .. -0.9; covered {sim.covered.mean():.3f}"
        rows.append(
            Row(f"slope of regret on Ball(5), {name}", abs(slope + 1.0), "off -1", 0.1, False, detail)
        )
    return rows


def physical_limit() -> list[Row]:
    """Mean simple regret on Hypercube(6) at T = 1000 against 0.3400·d/√S, 4000 replications."""
    instance = nw.instances.signs(6)
    rows = []
    for name, options in (("flat", {"dim": 6}), ("log-uniform", {})):
        env = instance.environment(nw.schedules.named(name, **options))
        sim = nw.simulate(nw.vaee(instance.actions), env, horizon=1000, replications=4000, checkpoints=[1000])
        limit = 0.3400 * 6 / np.sqrt(sim.total_precision[:, -1])
        regret = sim.simple_regret[:, -1]
        ratio = float(regret.mean() / limit.mean())
        error = float(regret.std() / np.sqrt(regret.size) / limit.mean())
        detail = f"ratio {ratio:.4f} ± {error:.4f}"
        rows.append(Row(f"Hypercube(6) to its limit, {name}", abs(ratio - 1.0), "off 1", 0.1, False, detail))
    return rows


def rounds() -> list[Row]:
    """A live round on Ball(50) in eigendecompositions, and the time of a simulation of Ball(5)."""
    rng = np.random.default_rng(0)
    ball, parameter = nw.Ball(50), rng.standard_normal(50) / 7.0
    policy = nw.vaee(ball)

    def live() -> None:
        for _ in range(20):
            vector = policy.ask()
            policy.tell(vector, float(vector @ parameter), 0.5)

    for _ in range(100):  # away from the axes, where eigendecompositions are as long as they can be
        vector = rng.standard_normal(50)
        policy.tell(vector / np.linalg.norm(vector), 0.1, 0.5)
    matrix = covariance(policy.rule.model.arrays)
    ours, theirs = alternating(live, lambda: [np.linalg.eigh(matrix) for _ in range(20)])
    detail = f"{ours / 20 * 1e6:.0f} µs a round, {theirs / 20 * 1e6:.0f} µs a decomposition"
    instance = nw.instances.ball(5)
    env = instance.environment(nw.schedules.log_uniform)
    template = nw.vaee(instance.actions)
    nw.simulate(template, env, horizon=10, replications=1)
    took = seconds(lambda: nw.simulate(template, env, horizon=1000, replications=200, on=1))
    return [
        Row("live round on Ball(50), vaee", ours / theirs, "eigh", 3.0, False, detail),
        Row("simulate Ball(5), T=1000, 200 replications", took, "s", 30.0, False, "one thread"),
    ]


def enumeration() -> list[Row]:
    """A live round on Hypercube(20): a million corners, tried one by one."""
    policy = nw.vaee(nw.Hypercube(20))
    vector = policy.ask()
    policy.tell(vector, 0.1, 0.5)
    took = statistics.median(seconds(policy.ask) for _ in range(9))
    return [Row("ask on Hypercube(20), 2^20 corners", took * 1e3, "ms", 200.0, False, "plain NumPy")]


def memory_map() -> list[Row]:
    """A memory map of 10^7 x 50 float32: memory beyond its pages, and reads per live round."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vectors.npy"
        _write_map(path)
        vectors = np.load(path, mmap_mode="r")
        watch = _Watch()
        watch.start()
        actions = nw.ActionSet(vectors)
        policy = nw.vaee(actions)
        parameter = np.ones(MAP_DIM) / MAP_DIM
        reads, times = [], []
        sigmas = nw.schedules.log_uniform(MAP_ROUNDS, np.random.default_rng(0))
        for sigma in sigmas:
            start = time.perf_counter()
            with _Counted() as counted:
                action = policy.ask()
                policy.tell(action, float(vectors[action] @ parameter), sigma)
            reads.append(counted.rows / MAP_ROWS)
            times.append(time.perf_counter() - start)
        own = watch.stop()
    detail = (
        f"{np.mean(times):.2f} s a round; rounds with sigma from {sigmas.min():.2g} to {sigmas.max():.2g}"
    )
    return [
        Row("memory beyond the map's pages, 10^7 x 50", own / 2**30, "GB", 2.0, False, "anonymous pages"),
        Row("reads of the map in a live round, most", max(reads), "reads", 2.0, False, detail),
    ]


class _Counted:
    """Counts the rows of the map that the model reads."""

    def __enter__(self) -> "_Counted":
        self.rows = 0
        self._project, self._refresh = core_model.project, core_model.refresh

        self._predict = core_model._predict

        def project(model, direction, rows, out):
            self.rows += rows.stop - rows.start
            self._project(model, direction, rows, out)

        def refresh(model, stale, *, means_too=False):
            self.rows += stale.size
            self._refresh(model, stale, means_too=means_too)

        def predict(model, done):
            before = self.rows
            self._predict(model, done)
            self.rows = before + model.means.size - done.size

        core_model.project, core_model.refresh, core_model._predict = project, refresh, predict
        return self

    def __exit__(self, *_: object) -> None:
        core_model.project, core_model.refresh = self._project, self._refresh
        core_model._predict = self._predict


class _Watch(threading.Thread):
    """The most memory in use that is not pages of a file, looked at a hundred times a second."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._most, self._done = 0.0, threading.Event()

    def run(self) -> None:
        """Look until stopped."""
        while not self._done.wait(0.01):
            self._most = max(self._most, _own_memory())

    def stop(self) -> float:
        """The most seen."""
        self._done.set()
        self.join()
        return self._most


def _write_map(path: Path) -> None:
    rng = np.random.default_rng(0)
    table = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(MAP_ROWS, MAP_DIM))
    for start in range(0, MAP_ROWS, 100_000):
        block = rng.standard_normal((100_000, MAP_DIM), dtype=np.float32)
        table[start : start + 100_000] = block / np.linalg.norm(block, axis=1, keepdims=True)
    table.flush()


def _own_memory() -> float:
    """Bytes of memory that are not pages of a file; the peak of the process where Linux does not tell."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0
    line = next(line for line in status.read_text().splitlines() if line.startswith("RssAnon"))
    return float(line.split()[1]) * 1024.0


def rows() -> list[Row]:
    """All of them, or those named in INFINITE_SETS, such as "slopes,rounds"."""
    parts = {
        "oracles": oracles,
        "slopes": slopes,
        "physical_limit": physical_limit,
        "rounds": rounds,
        "enumeration": enumeration,
        "memory_map": memory_map,
    }
    wanted = os.environ.get("INFINITE_SETS", ",".join(parts)).split(",")
    return [row for name in wanted for row in parts[name]()]
