"""Matches: one rule in one cell each, played in parallel and kept in files.

What is finished stays, and is not played again.
"""

import hashlib
import json
import math
import sys
import time
import zipfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise.arena.cells import Cell
from noisewise.core.blocks import Floats
from noisewise.core.checks import check_count
from noisewise.core.distributions import normal_quantile
from noisewise.core.files import PACKAGE, save_arrays, sources_hash, written_whole
from noisewise.core.parallel import spread
from noisewise.core.randomness import check_seed
from noisewise.rules.policy import Policy
from noisewise.rules.registry import make_policy, rule_named
from noisewise.simulation import simulate
from noisewise.simulation.results import Simulation

#: A certificate counts as reached once its bound is at most this times dim/√S: on spheres, theta's length.
CERTIFIED_AT = 8.0
#: The rooms that decide how a match comes out.
ROOMS = ("core", "actions", "designs", "rules", "simulation")
#: The file beside the matches that says which belong together.
INDEX = "arena.json"
#: Recommendations within this of the best are the best.
EQUAL = 1e-12


@dataclass(frozen=True)
class Entry:
    """A rule with its options, under the name that people see."""

    name: str
    rule: str
    options: dict[str, Any]

    def policy(self, actions: Any, horizon: int) -> Policy:
        """The rule on these actions; one that divides a budget is told how many rounds there are."""
        planned = {"horizon": horizon} if rule_named(self.rule).needs_horizon else {}
        return make_policy(self.rule, actions, **planned | self.options)


@dataclass(frozen=True)
class Fixture:
    """Everything that decides how a match comes out."""

    cell: Cell
    entry: Entry
    horizon: int
    replications: int
    seed: int

    def key(self) -> str:
        """A hash of it and of the sources: a finished match with the same key need not be played again."""
        content = asdict(self) | {"sources": _sources_hash(rule_named(self.entry.rule).__module__)}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:24]


def _sources_hash(home: str) -> str:
    """A hash of every source that decides how a rule fares, a file of another package included."""
    own = getattr(sys.modules.get(home), "__file__", None)
    others = [] if own is None or PACKAGE in Path(own).parents else [Path(own)]
    return sources_hash(ROOMS, *others)


@dataclass(frozen=True, eq=False)
class Match:
    """The outcome of every replication; a replication is the same world for every rule."""

    cell: str
    entry: str
    regret: Floats  # (R,): final simple regret times √S, S the schedule's total precision
    found: NDArray[np.bool_]  # (R,): whether the best was recommended
    covered: NDArray[np.bool_]  # (R,): whether the certificate was true at every checkpoint
    certified: NDArray[np.bool_]  # (R,): whether the bound fell to CERTIFIED_AT·dim/√S
    rounds: Floats  # (R,): rounds until then; the horizon if it did not
    precision: Floats  # (R,): share of the precision measured by then
    microseconds: float  # per round, everything included


def play(fixture: Fixture) -> Match:
    """Play a match in this process."""
    cell, entry = fixture.cell, fixture.entry
    env = cell.environment(fixture.horizon)
    policy, clock = entry.policy(env.actions, fixture.horizon), time.process_time  # others may be busy
    start = clock()
    simulation = simulate(
        policy, env, horizon=fixture.horizon, replications=fixture.replications, seed=fixture.seed, on=1
    )
    seconds = clock() - start
    totals = [
        (env.sigmas(fixture.horizon, fixture.seed, r) ** -2.0).sum() for r in range(fixture.replications)
    ]
    rate = np.sqrt(np.array(totals))
    certified, rounds, precision = _to_certificate(simulation, CERTIFIED_AT * env.actions.dim / rate)
    final = simulation.simple_regret[:, -1]
    return Match(
        cell=cell.name,
        entry=entry.name,
        regret=final * rate,
        found=final <= EQUAL,
        covered=simulation.covered,
        certified=certified,
        rounds=rounds,
        precision=precision,
        microseconds=1e6 * seconds / (fixture.replications * fixture.horizon),
    )


def _to_certificate(simulation: Simulation, target: Floats) -> tuple[NDArray[np.bool_], Floats, Floats]:
    """Whether and at which checkpoint the bound reached the target, and the precision spent by then."""
    reached = simulation.bound <= target[:, None]
    certified = np.asarray(reached.any(axis=1))
    where = np.where(certified, reached.argmax(axis=1), simulation.checkpoints.size - 1)
    spent = simulation.total_precision[np.arange(len(where)), where] / simulation.total_precision[:, -1]
    return certified, simulation.checkpoints[where].astype(np.float64), spent


def save_match(match: Match, path: Path) -> None:
    """Write a match, whole or not at all."""
    save_arrays(path, asdict(match))


def read_match(path: Path) -> Match | None:
    """Read a match; None if there is none, or a damaged one, which will be played again."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            parts: dict[str, Any] = {name: file[name] for name in file.files}
        names: dict[str, Any] = {name: str(parts.pop(name)) for name in ("cell", "entry")}
        return Match(**names, microseconds=float(parts.pop("microseconds")), **parts)
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile):
        return None


def half_width(values: Floats, confidence: float = 0.95) -> float:
    """Half of the confidence interval of a mean; infinite for one value."""
    if len(values) < 2:
        return math.inf
    return float(normal_quantile(0.5 + confidence / 2.0) * values.std(ddof=1) / math.sqrt(len(values)))


def run_matches(
    entries: Sequence[str | Entry],
    cells: Sequence[Cell],
    folder: str | PathLike[str],
    *,
    horizon: int,
    replications: int,
    seed: int,
    on: Any,
) -> None:
    """Play what is missing in a folder; see `noisewise.arena.run_arena`."""
    check_count("horizon", horizon)
    check_count("replications", replications)
    check_seed(seed)
    fixtures = [
        Fixture(cell, entry, horizon, replications, seed)
        for entry in _checked_entries(entries, horizon)
        for cell in _checked_cells(cells)
    ]
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    keys = [fixture.key() for fixture in fixtures]
    with written_whole(target / INDEX) as draft:
        index = {"horizon": horizon, "replications": replications, "seed": seed, "matches": keys}
        draft.write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")
    missing = [fixture for fixture in fixtures if read_match(_file(target, fixture)) is None]
    for fixture, match in spread(play, missing, on, label=f"{len(missing)} of {len(fixtures)} matches"):
        # Here, and not where it was played: other machines have other disks.
        save_match(match, _file(target, fixture))


def _file(folder: Path, fixture: Fixture) -> Path:
    return folder / f"{fixture.key()}.npz"


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
