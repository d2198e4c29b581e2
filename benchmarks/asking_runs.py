"""Studies that were played, kept in the user's cache folder by version and by what their world draws."""

import functools
import hashlib
import json
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.asking_worlds import Drawn, World

from benchmarks import baseline
from benchmarks.asking_play import PLAYED

FIRST_SEED = 1000
#: Seeds that one process plays; when it ends, their results are kept.
AT_ONCE = 10
_writing = threading.Lock()


class Cell(NamedTuple):
    """One world, asked in one way, under one version."""

    world: World
    way: str
    version: str


def played(cells: Iterable[Cell], seeds: int, jobs: int = 1) -> dict[Cell, list[dict[str, Any]]]:
    """The results of seeds 1000 and on for every cell, in the order of seeds; what is not kept is played."""
    cells = list(dict.fromkeys(cells))
    wanted = range(FIRST_SEED, FIRST_SEED + seeds)
    with ThreadPoolExecutor(jobs) as pool:
        parts = [(cell, part) for cell in cells for part in _parts(cell, wanted)]
        for done in [pool.submit(_play, cell, part) for cell, part in parts]:
            done.result()
    found = {cell: kept(cell) for cell in cells}
    return {cell: [found[cell][seed] for seed in wanted] for cell in cells}


def is_kept(cell: Cell, seeds: int) -> bool:
    """Whether all of these seeds were played before."""
    return set(range(FIRST_SEED, FIRST_SEED + seeds)) <= kept(cell).keys()


def _parts(cell: Cell, wanted: range) -> Iterator[range]:
    """Runs of seeds that are missing, at most `AT_ONCE` long."""
    there, first = kept(cell), wanted.start
    for seed in (*wanted, wanted.stop):
        if seed == wanted.stop or seed in there or seed - first == AT_ONCE:
            if seed > first:
                yield range(first, seed)
            first = seed + 1 if seed in there else seed


def _play(cell: Cell, seeds: range) -> None:
    """Play some seeds and keep what came out at once, so that nothing is lost if others fail."""
    runs = baseline.run(
        "benchmarks.asking_play", cell.world.name, cell.way, seeds.start, seeds.stop, version=cell.version
    )["runs"]
    with _writing, kept_in(cell).open("a") as file:
        file.writelines(f"{json.dumps(run)}\n" for run in runs)


def kept(cell: Cell) -> dict[int, dict[str, Any]]:
    """What was played before, by seed."""
    path = kept_in(cell)
    lines = path.read_text().splitlines() if path.exists() else []
    return {run["seed"]: run for run in map(json.loads, lines)}


def kept_in(cell: Cell) -> Path:
    """The file of a cell: its name changes with the version's code and with anything that the world draws."""
    digest = hashlib.sha256(repr((cell.way, PLAYED)).encode() + Drawn(cell.world, FIRST_SEED).content())
    home = baseline.cache_folder() / "asking" / code_of(cell.version)
    home.mkdir(parents=True, exist_ok=True)
    return home / f"{cell.world.name.replace(' ', '-')}-{digest.hexdigest()[:12]}.jsonl"


@functools.cache
def code_of(version: str) -> str:
    """The commit of 0.1.0, or a hash of the package as it is now."""
    if version == baseline.OLD:
        return baseline.COMMIT[:12]
    digest = hashlib.sha256()
    for path in sorted((baseline.ROOT / "src").rglob("*.py")):
        digest.update(path.relative_to(baseline.ROOT).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:12]
