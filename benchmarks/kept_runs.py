"""Runs under one version, seed by seed, kept in the user's cache folder by that version's code.

0.1.0 is known by its commit, the present version by a hash of its sources, and what is played by all that
it draws; so nothing is taken for a present result that is none, and 0.1.0 is played once.
"""

import functools
import hashlib
import json
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol, TypeVar

from benchmarks import baseline

_writing = threading.Lock()
Played = TypeVar("Played", bound="Playable")


class Playable(Protocol):
    """Something that a module of `benchmarks` plays for a range of seeds under one version."""

    @property
    def version(self) -> str:
        """`baseline.NEW` or `baseline.OLD`."""

    @property
    def first_seed(self) -> int:
        """Where the seeds begin."""

    @property
    def at_once(self) -> int:
        """Seeds that one process plays; when it ends, their results are kept."""

    @property
    def title(self) -> str:
        """What it is, in words."""

    def work(self) -> tuple[str, ...]:
        """The module, and its arguments before the first seed and the one after the last."""

    def content(self) -> bytes:
        """All that the results depend on beside the version."""


def played(wanted: Iterable[Played], seeds: int, jobs: int = 1) -> dict[Played, list[dict[str, Any]]]:
    """The results of the first seeds of each, in the order of seeds; what is not kept is played."""
    games = list(dict.fromkeys(wanted))
    with ThreadPoolExecutor(jobs) as pool:
        parts = [(game, part) for game in games for part in _parts(game, seeds)]
        for done in [pool.submit(_play, game, part) for game, part in parts]:
            done.result()
    return {game: _of(kept(game), seeds_of(game, seeds)) for game in games}


def _of(runs: dict[int, dict[str, Any]], seeds: Sequence[int]) -> list[dict[str, Any]]:
    return [runs[seed] for seed in seeds]


def seeds_of(game: Playable, seeds: int) -> range:
    """The first so many."""
    return range(game.first_seed, game.first_seed + seeds)


def is_kept(game: Playable, seeds: int) -> bool:
    """Whether all of these seeds were played before."""
    return set(seeds_of(game, seeds)) <= kept(game).keys()


def _parts(game: Playable, seeds: int) -> Iterator[range]:
    """Runs of seeds that are missing, as long as one process plays them."""
    wanted = seeds_of(game, seeds)
    there, first = kept(game), wanted.start
    for seed in (*wanted, wanted.stop):
        if seed == wanted.stop or seed in there or seed - first == game.at_once:
            if seed > first:
                yield range(first, seed)
            first = seed + 1 if seed in there else seed


def _play(game: Playable, seeds: range) -> None:
    """Play some seeds and keep what came out at once, so that nothing is lost if others fail."""
    module, *arguments = game.work()
    home = kept_in(game)
    runs = baseline.run(module, *arguments, seeds.start, seeds.stop, version=game.version)["runs"]
    with _writing, home.open("a") as file:
        file.writelines(f"{json.dumps(run)}\n" for run in runs)


def kept(game: Playable) -> dict[int, dict[str, Any]]:
    """What was played before, by seed."""
    path = kept_in(game)
    lines = path.read_text().splitlines() if path.exists() else []
    return {run["seed"]: run for run in map(json.loads, lines)}


def kept_in(game: Playable) -> Path:
    """The file of it: its name changes with the version's code and with anything that is drawn."""
    digest = hashlib.sha256(game.content()).hexdigest()
    folder = game.work()[0].rpartition(".")[2].partition("_")[0]
    home = baseline.cache_folder() / folder / code_of(game.version)
    home.mkdir(parents=True, exist_ok=True)
    return home / f"{game.title.replace(' ', '-')}-{digest[:12]}.jsonl"


@functools.cache
def code_of(version: str) -> str:
    """The commit of 0.1.0, or a hash of the package as it is now."""
    if version == baseline.OLD:
        return baseline.COMMIT[:12]
    digest = hashlib.sha256()
    for path in sorted((baseline.ROOT / "src").rglob("*.py")):
        digest.update(path.relative_to(baseline.ROOT).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:12]
