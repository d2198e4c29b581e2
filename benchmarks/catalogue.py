"""Catalogues: what a working set saves, and what travels.

``python -m benchmarks catalogue`` runs all parts, ``python -m benchmarks.catalogue vaee huge`` some. The
files, 0.8 and 8 GB, are made in a folder of their own and deleted; without the room for the large one its
part is left out.
"""

import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import noisewise as nw
from benchmarks import baseline
from benchmarks.catalogue_play import NORM_BOUND, coming_rounds
from benchmarks.timing import Row
from noisewise.actions.catalogue import files
from noisewise.policies.registry import rule_named
from noisewise.policies.shell.catalogues.long_list_policy import LongListPolicy, is_faster
from noisewise.policies.shell.policy import Policy

N, DIM, ROUNDS = 4_000_000, 50, 300
#: Rounds of 0.1.0, which takes a second for some: later ones take it longer still.
OLD_ROUNDS = 40
UNIT_N, UNIT_ROUNDS = 1_000_000, 150
LISTS = [
    (kind, n, dim) for kind in ("gaussian", "unit") for n in (100_000, 300_000, 1_000_000) for dim in (10, 50)
]
LIST_ROUNDS = 100
HUGE_N, HUGE_DIM = 100_000_000, 20
#: Of the design.
GAP = 1e-6
#: Bytes that must be free beside the large file.
SPARE = 20e9


def rows() -> list[Row]:
    """All parts."""
    return measured(list(PARTS))


def measured(names: list[str]) -> list[Row]:
    """Some parts, in a folder that is deleted."""
    with tempfile.TemporaryDirectory(prefix="noisewise-catalogue-") as folder:
        return [row for name in names for row in PARTS[name](Path(folder))]


def rule_rows(rule: str, target: float, folder: Path) -> list[Row]:
    """A rule on a list with and without a working set, round by round; and the first rounds of 0.1.0."""
    vectors = spread_vectors(folder)
    old = baseline.run("benchmarks.catalogue_play", rule, folder / "spread.bin", DIM, ROUNDS, OLD_ROUNDS)
    actions = nw.ActionSet(vectors)
    options = nw.make_policy(rule, np.eye(2), norm_bound=NORM_BOUND).options
    plain, working = (kind(rule_named(rule), actions, options) for kind in (Policy, LongListPolicy))
    spent, same, measured = {plain: 0.0, working: 0.0}, 0, []
    for sigma, value in coming_rounds(vectors, ROUNDS):
        asked = []
        for policy in spent:
            start = time.process_time()
            asked.append(policy.ask())
            spent[policy] += time.process_time() - start
        same += asked[0] == asked[1]
        measured.append(asked[0])
        found = value(asked[0])
        for policy in spent:
            start = time.process_time()
            policy.tell(asked[0], found, sigma)
            spent[policy] += time.process_time() - start
    catalogue = working._inner.actions
    start = time.process_time()
    agree = working.recommend() == plain.recommend()
    advice = time.process_time() - start
    once, each = old["seconds"], spent[working] / ROUNDS
    share = catalogue.returned / max(1, catalogue.passes) / vectors.nbytes
    detail = (
        f"{once * 1e3:.0f} ms a round in 0.1.0 (the first {OLD_ROUNDS}, the same actions: "
        f"{old['actions'] == measured[:OLD_ROUNDS]}), {spent[plain] / ROUNDS * 1e3:.0f} now without, "
        f"{each * 1e3:.1f} with; {catalogue.passes} passes in {ROUNDS} rounds; the same advice: {agree}, "
        f"found in {advice:.2f} s"
    )
    return [
        Row(
            f"{rule}, {N} x {DIM}: CPU with a working set, of 0.1.0's", each / once, "", target, detail=detail
        ),
        Row(f"{rule}: rounds with the same action", same / ROUNDS, "", 1.0, at_least=True),
        Row(f"{rule}: rows returned in a pass, of the catalogue", share, "", 0.01),
    ]


def unit_rows(folder: Path) -> list[Row]:
    """Unit vectors, which are all equally wide at first: the hardest lists for a working set."""
    rng = np.random.default_rng(3)
    vectors = rng.standard_normal((UNIT_N, DIM), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    policy = nw.vaee(nw.Catalogue.from_array(vectors))
    before, theta = policy.actions.passes, rng.normal(size=DIM) / 7
    start = time.process_time()
    for _ in range(UNIT_ROUNDS):
        action, sigma = policy.ask(), float(rng.choice([0.1, 1.0]))
        policy.tell(action, float(vectors[action] @ theta + sigma * rng.standard_normal()), sigma)
    cost = (time.process_time() - start) / UNIT_ROUNDS
    passes = policy.actions.passes - before
    share = policy._working.held / UNIT_N
    said = f"{passes} passes in {UNIT_ROUNDS} rounds, at most {share:.1%} at hand, {cost * 1e3:.1f} ms each"
    name = f"vaee on {UNIT_N} unit vectors: passes a round"
    return [Row(name, passes / UNIT_ROUNDS, "", 0.15, detail=said)]


def list_rows(folder: Path) -> list[Row]:
    """Lists on both sides of the size from which on they are played with a working set by themselves."""
    found = []
    for kind, n, dim in LISTS:
        rng = np.random.default_rng(n + dim)
        vectors = rng.standard_normal((n, dim), dtype=np.float32)
        if kind == "unit":
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        actions, options = nw.ActionSet(vectors), nw.make_policy("vaee", np.eye(2)).options
        spent = []
        for way in (Policy, LongListPolicy):
            start = time.process_time()
            policy = way(rule_named("vaee"), actions, options)
            for sigma, value in coming_rounds(vectors, LIST_ROUNDS):
                action = policy.ask()
                policy.tell(action, value(action), sigma)
            spent.append((time.process_time() - start) / LIST_ROUNDS)
        by_itself = is_faster(rule_named("vaee"), actions, options)
        said = f"{spent[0] * 1e3:.2f} ms a round without, {spent[1] * 1e3:.2f} with; by itself: {by_itself}"
        name = f"vaee on {n} {kind} vectors of {dim}: CPU with a working set, of that without"
        found.append(Row(name, spent[1] / spent[0], "", 1.0 if by_itself else np.inf, detail=said))
    return found


def design_rows(folder: Path) -> list[Row]:
    """A design over shards, here and on two workers, against the same design over one array."""
    vectors = spread_vectors(folder)
    start = time.process_time()
    alone = nw.optimal_design(vectors, gap=GAP)
    spent = time.process_time() - start
    begin = f"{spent:.1f} s, {alone.reads:.1f} reads alone"
    found = []
    for name, (spread, cpu) in {
        "in shards": _designed(vectors),
        "in shards on two workers": _designed_on_workers(vectors),
    }.items():
        common = len(np.intersect1d(alone.indices, spread.indices))
        share = common / max(len(alone.indices), len(spread.indices))
        said = f"{begin}; {cpu:.1f} s, {spread.reads:.1f} {name}"
        found += [
            Row(f"design of {N} x {DIM} {name}: CPU", cpu / spent, "", 1.5, detail=said),
            Row("the same: support in common", share, "", 1.0, at_least=True, detail=f"{common} rows"),
        ]
    return found


def _in_shards(vectors: np.ndarray, on: Any) -> nw.Catalogue:
    cut, files.ROWS_PER_SHARD = files.ROWS_PER_SHARD, N // 4
    try:
        return nw.Catalogue.from_array(vectors, on=on)
    finally:
        files.ROWS_PER_SHARD = cut


def _designed(vectors: np.ndarray) -> tuple[nw.Design, float]:
    """A design of shards, and its CPU."""
    catalogue = _in_shards(vectors, None)
    start = time.process_time()
    return nw.optimal_design(catalogue, gap=GAP), time.process_time() - start


def _designed_on_workers(vectors: np.ndarray) -> tuple[nw.Design, float]:
    """The same on workers, with the CPU of workers, scheduler and client."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        catalogue = _in_shards(vectors, client)

        def spent() -> float:
            return time.process_time() + sum(client.run(time.process_time).values())

        start = spent()
        return nw.optimal_design(catalogue, gap=GAP), spent() - start


def huge_rows(folder: Path) -> list[Row]:
    """A design on 10^8 rows in a file of 8 GB: memory beyond the file's own pages."""
    if shutil.disk_usage(folder).free < 4.0 * HUGE_N * HUGE_DIM + SPARE:
        print("catalogue: no room for 10^8 rows on this disk; left out.")
        return []
    path = folder / "huge.bin"
    write_gauss(path, HUGE_N, HUGE_DIM)
    most, done = [0.0], threading.Event()

    def watch() -> None:
        while not done.wait(0.05):
            most[0] = max(most[0], own_memory())

    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.process_time()
    try:
        catalogue = nw.Catalogue.from_memmap(path, dim=HUGE_DIM)
        made = time.process_time() - start
        design = nw.optimal_design(catalogue, gap=1e-2)
    finally:
        done.set()
        watcher.join()
        path.unlink()
    solved = time.process_time() - start - made
    said = f"{design!r}; {made:.0f} s CPU to look at all rows once, {solved:.0f} s to solve"
    return [
        Row(f"design of {HUGE_N:.0e} x {HUGE_DIM}: memory", most[0] / 1e9, "GB", 2.0, detail=said),
        Row("the same: gap", design.gap, "", 1e-2),
    ]


def own_memory() -> float:
    """Bytes of this process that are no pages of files."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("RssAnon"):
            return 1024.0 * float(line.split()[1])
    return 0.0


def spread_vectors(folder: Path) -> np.ndarray:
    """Rows of spread lengths and few strong directions, as embeddings have, in a memory map."""
    path = folder / "spread.bin"
    if not path.exists():
        write_gauss(path, N, DIM)
    return np.memmap(path, np.float32, "r", shape=(N, DIM))


def write_gauss(path: Path, n: int, dim: int) -> None:
    """Gaussian rows, mixed."""
    rng = np.random.default_rng(5)
    mix = (rng.standard_normal((dim, dim)) * (np.arange(1, dim + 1) ** -0.5)[:, None]).astype(np.float32) / 4
    with path.open("wb") as file:
        for start in range(0, n, 250_000):
            (rng.standard_normal((min(250_000, n - start), dim), dtype=np.float32) @ mix).tofile(file)


PARTS: dict[str, Callable[[Path], list[Row]]] = {
    "vaee": lambda folder: rule_rows("vaee", 0.15, folder),
    "vage": lambda folder: rule_rows("vage", 0.35, folder),
    "unit": unit_rows,
    "lists": list_rows,
    "design": design_rows,
    "huge": huge_rows,
}

if __name__ == "__main__":
    for found in measured(sys.argv[1:] or list(PARTS)):
        print(f"{found.name}: {found.figure:.3g} {found.unit} (target {found.target:g}) {found.detail}")
