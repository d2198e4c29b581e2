"""Playing all matches over processes; what is finished stays, and is not played again."""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from noisewise.arena.cells import Cell
from noisewise.arena.match import Entry, Fixture, Match, machine_code, play, read_match, save_match
from noisewise.arena.results import INDEX, Arena, load_arena
from noisewise.core.spreading.tasks import Kit
from noisewise.core.spreading.workers import Workforce, mixture, opened
from noisewise.core.support.checks import check_count
from noisewise.core.support.files import written_whole
from noisewise.core.support.randomness import check_seed
from noisewise.policies.registry import rule_named
from noisewise.simulation.engine import is_available
from noisewise.simulation.machine_code import PackedCode, install_code
from noisewise.simulation.sharing.processes import spread

#: Rounds of one rule in all matches together, from which on machine code is worth making for any rule.
MANY_ROUNDS = 2_000_000
#: Called with the number of finished matches, of all matches, and the match that was finished last.
Progress = Callable[[int, int, str], None]


def run_arena(
    entries: Sequence[str | Entry],
    cells: Sequence[Cell],
    folder: str | PathLike[str],
    *,
    horizon: int = 400,
    replications: int = 1000,
    seed: int = 0,
    processes: int | None = None,
    progress: Progress | None = None,
    on: Any = None,
    mixed: bool = False,
) -> Arena:
    """Let rules play in cells, on common random numbers, and keep every match in a folder.

    Interrupted by Ctrl-C, it keeps what is finished; called again with the same folder it goes on.

    Args:
        entries: Names of rules, or `Entry` objects with options.
        cells: Where they play.
        folder: Where the matches are kept; made if it is not there.
        horizon: Rounds of every run.
        replications: Runs of every match.
        seed: Of everything random.
        processes: How many matches are played at the same time; default: one per processor.
        progress: Called after every match.
        on: Who plays, if not this machine: a Dask ``Client``, the address of its scheduler or its scheduler
            file, or an executor of `concurrent.futures`. Matches are kept here as they come back.
        mixed: Whether to go on beside finished matches that were played on another type of processor.
    """
    check_count("horizon", horizon)
    check_count("replications", replications)
    check_seed(seed)
    if on is not None and processes is not None:
        raise ValueError("`processes` must be left out with `on`: the workers are as many as they are.")
    at_once = (os.cpu_count() or 1) if processes is None else check_count("processes", processes)
    fixtures = [
        Fixture(cell, entry, horizon, replications, seed)
        for entry in _checked_entries(entries, horizon)
        for cell in _checked_cells(cells)
    ]
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    keys = [fixture.key() for fixture in fixtures]
    finished = {key: match for key in keys if (match := read_match(target / f"{key}.npz")) is not None}
    missing = {key: fixture for fixture, key in zip(fixtures, keys, strict=True) if key not in finished}
    with opened(on) as workers:
        if missing and not mixed:
            _refuse_mixture(target, list(finished.values()), workers)
        index = {"horizon": horizon, "replications": replications, "seed": seed, "matches": keys}
        with written_whole(target / INDEX) as draft:
            draft.write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")
        done = len(fixtures) - len(missing)
        for one, match in _played(missing, horizon * replications, at_once, workers):
            # Here, and not where it was played: other machines have other disks.
            save_match(match, target / f"{one.key}.npz")
            done += 1
            if progress is not None:
                progress(done, len(fixtures), _name_of(one))
    return load_arena(target)


class _Game(NamedTuple):
    """A match that is to be played."""

    key: str
    fixture: Fixture
    compile: bool | None


def _played(
    missing: dict[str, Fixture], rounds: int, at_once: int, workers: Workforce | None
) -> Iterator[tuple[_Game, Match]]:
    """All missing matches, each when it is played."""
    # One match alone may not be worth making machine code for, and many together be.
    often = Counter(fixture.entry.rule for fixture in missing.values())
    games = []
    for key, fixture in missing.items():
        many = rounds * often[fixture.entry.rule] >= MANY_ROUNDS
        compiles = many and rule_named(fixture.entry.rule).compiled and is_available()
        # On a cluster every worker would make the machine code that it decides for: it is all or none.
        games.append(_Game(key, fixture, True if compiles else None if workers is None else False))
    if workers is None:
        return spread(_play, games, at_once, lambda one: one.fixture.entry.rule)
    return workers.spread(_play, games, kit=Kit(_code_of, _compile, install_code), name_of=_name_of)


def _play(game: _Game) -> Match:
    return play(game.fixture, compile=game.compile)


def _code_of(game: _Game) -> str | None:
    return game.fixture.entry.rule if game.compile else None


def _compile(game: _Game) -> PackedCode:
    return machine_code(game.fixture)


def _name_of(game: _Game) -> str:
    return f"{game.fixture.entry.name} in {game.fixture.cell.name}"


def _refuse_mixture(folder: Path, finished: list[Match], workers: Workforce | None) -> None:
    """Say so if matches that are finished were computed otherwise than the missing ones will be."""
    others = [match.arithmetic for match in finished]
    if (why := mixture(others, workers)) is not None:
        raise ValueError(
            f"{why[0]} of {len(finished)} finished matches in {str(folder)!r} were played on another type of "
            f"processor or with other libraries ({why[1]}), where decisions are the same and last digits are "
            "not: go on there, name another folder, or keep both with `mixed`."
        )


def _checked_entries(entries: Sequence[str | Entry], horizon: int) -> list[Entry]:
    """Entries whose rules and options exist, found out before anything is played."""
    checked = [entry if isinstance(entry, Entry) else Entry(entry, entry, {}) for entry in entries]
    if not checked:
        raise ValueError("`entries` must name at least one rule; got none.")
    for entry in checked:
        entry.policy([[1.0, 0.0], [0.0, 1.0]], horizon)
    names = [entry.name for entry in checked]
    if doubles := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"`entries` must have different names; got {doubles[0]!r} twice.")
    return checked


def _checked_cells(cells: Sequence[Cell]) -> Sequence[Cell]:
    if not cells:
        raise ValueError("`cells` must hold at least one cell; got none.")
    return cells
