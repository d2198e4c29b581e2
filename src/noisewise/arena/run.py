"""Playing all matches over processes; what is finished stays, and is not played again."""

import json
import os
from collections import Counter
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path

from noisewise.arena.cells import Cell
from noisewise.arena.match import Entry, Fixture, play, read_match, save_match
from noisewise.arena.results import INDEX, Arena, load_arena
from noisewise.core.support.checks import check_count
from noisewise.core.support.files import written_whole
from noisewise.core.support.randomness import check_seed
from noisewise.policies.registry import rule_named
from noisewise.simulation.engine import is_available
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
    """
    check_count("horizon", horizon)
    check_count("replications", replications)
    check_seed(seed)
    at_once = (os.cpu_count() or 1) if processes is None else check_count("processes", processes)
    fixtures = [
        Fixture(cell, entry, horizon, replications, seed)
        for entry in _checked_entries(entries, horizon)
        for cell in _checked_cells(cells)
    ]
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    keys = [fixture.key() for fixture in fixtures]
    index = {"horizon": horizon, "replications": replications, "seed": seed, "matches": keys}
    with written_whole(target / INDEX) as draft:
        draft.write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")
    missing = [
        (fixture, target / f"{key}.npz")
        for fixture, key in zip(fixtures, keys, strict=True)
        if read_match(target / f"{key}.npz") is None
    ]
    done = len(fixtures) - len(missing)
    # One match alone may not be worth making machine code for, and many together be.
    often = Counter(fixture.entry.rule for fixture, _ in missing)
    waiting = [
        (fixture, path, horizon * replications * often[fixture.entry.rule] >= MANY_ROUNDS)
        for fixture, path in missing
    ]
    for (fixture, _, _), _ in spread(_play_and_save, waiting, at_once, lambda match: match[0].entry.rule):
        done += 1
        if progress is not None:
            progress(done, len(fixtures), f"{fixture.entry.name} in {fixture.cell.name}")
    return load_arena(target)


def _play_and_save(match: tuple[Fixture, Path, bool]) -> None:
    fixture, path, many = match
    compiles = many and rule_named(fixture.entry.rule).compiled and is_available()
    save_match(play(fixture, compile=True if compiles else None), path)


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
