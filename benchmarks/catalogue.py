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

import numpy as np

import noisewise as nw
from benchmarks.timing import Row
from noisewise.actions.catalogue import files
from noisewise.policies.registry import rule_named
from noisewise.policies.shell.catalogues.long_list_policy import LongListPolicy
from noisewise.policies.shell.policy import Policy

N, DIM, ROUNDS = 4_000_000, 50, 300
UNIT_N, UNIT_ROUNDS = 1_000_000, 150
HUGE_N, HUGE_DIM = 100_000_000, 20
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
    """A rule on a list with and without a working set, the rounds of both in turn."""
    vectors = spread_vectors(folder)
    actions = nw.ActionSet(vectors)
    options = nw.make_policy(rule, np.eye(2), norm_bound=2.0).options
    plain, working = (kind(rule_named(rule), actions, options) for kind in (Policy, LongListPolicy))
    rng = np.random.default_rng(11)
    theta, sigmas = rng.normal(size=DIM) / 5, rng.choice([0.01, 0.1], p=[0.1, 0.9], size=ROUNDS)
    spent, same = {plain: 0.0, working: 0.0}, 0
    for sigma in sigmas:
        asked = []
        for policy in spent:
            start = time.process_time()
            asked.append(policy.ask())
            spent[policy] += time.process_time() - start
        same += asked[0] == asked[1]
        value = float(vectors[asked[0]].astype(np.float64) @ theta + sigma * rng.standard_normal())
        for policy in spent:
            start = time.process_time()
            policy.tell(asked[0], value, sigma)
            spent[policy] += time.process_time() - start
    catalogue = working._inner.actions
    start = time.process_time()
    agree = working.recommend() == plain.recommend()
    advice = time.process_time() - start
    ratio = spent[working] / spent[plain]
    share = catalogue.returned / max(1, catalogue.passes) / vectors.nbytes
    detail = (
        f"{spent[plain] / ROUNDS * 1e3:.1f} ms a round without, {spent[working] / ROUNDS * 1e3:.1f} with; "
        f"{catalogue.passes} passes in {ROUNDS} rounds; the same advice: {agree}, found in {advice:.2f} s"
    )
    return [
        Row(f"{rule}, {N} x {DIM}: CPU with a working set", ratio, "", target, detail=detail),
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


def design_rows(folder: Path) -> list[Row]:
    """A design over shards against the same design over one array."""
    vectors = spread_vectors(folder)
    cut, files.ROWS_PER_SHARD = files.ROWS_PER_SHARD, N // 4
    try:
        catalogue = nw.Catalogue.from_array(vectors)
    finally:
        files.ROWS_PER_SHARD = cut
    spent, found = [0.0, 0.0], []
    for place, given in enumerate((vectors, catalogue)):
        start = time.process_time()
        found.append(nw.optimal_design(given, gap=1e-6))
        spent[place] = time.process_time() - start
    alone, spread = found
    common = len(np.intersect1d(alone.indices, spread.indices)) / max(len(alone.indices), len(spread.indices))
    said = f"{spent[0]:.1f} s, {alone.reads:.1f} reads alone; {spent[1]:.1f} s, {spread.reads:.1f} in shards"
    return [
        Row(f"design of {N} x {DIM} in shards: CPU", spent[1] / spent[0], "", 1.5, detail=said),
        Row(
            "the same: support in common", common, "", 1.0, at_least=True, detail=f"{len(alone.indices)} rows"
        ),
    ]


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
    "design": design_rows,
    "huge": huge_rows,
}

if __name__ == "__main__":
    for found in measured(sys.argv[1:] or list(PARTS)):
        print(f"{found.name}: {found.figure:.3g} {found.unit} (target {found.target:g}) {found.detail}")
