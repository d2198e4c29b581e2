"""One match: one rule in one cell. What is measured, and the file that remembers it."""

import hashlib
import json
import math
import sys
import time
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise.arena.cells import Cell
from noisewise.core.model.dense import Floats
from noisewise.core.support.distributions import normal_quantile
from noisewise.core.support.files import save_arrays
from noisewise.core.support.sources import PACKAGE, sources_hash
from noisewise.policies import Policy, make_policy
from noisewise.policies.registry import rule_named
from noisewise.simulation import simulate
from noisewise.simulation.engine import COMPILED
from noisewise.simulation.machine_code import PackedCode, compiled_code
from noisewise.simulation.results import Simulation
from noisewise.simulation.simulate import make_run

#: A certificate counts as reached once its bound is at most this times dim/√S: on spheres, theta's length.
CERTIFIED_AT = 8.0
#: The rooms that decide how a match comes out.
ROOMS = ("core", "actions", "designs", "world", "policies", "simulation")
#: What a match says in words.
WORDS = ("cell", "entry", "engine", "arithmetic")
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
        policy: Policy = make_policy(self.rule, actions, **planned | self.options)
        return policy


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
        content = asdict(self) | {"sources": _sources_hash(rule_named(self.entry.rule).choose.__module__)}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:24]


def _sources_hash(home: str) -> str:
    """A hash of every source that decides how a rule fares, a file of another package included."""
    own = getattr(sys.modules.get(home), "__file__", None)
    others = [] if own is None or PACKAGE in Path(own).parents else [Path(own)]
    return sources_hash(ROOMS, *others)


@dataclass(frozen=True, eq=False)
class Match:
    """The outcome, replication by replication; the same replication is the same world for every rule."""

    cell: str
    entry: str
    regret: Floats  # (R,): final simple regret times √S, S the schedule's total precision
    found: NDArray[np.bool_]  # (R,): whether the best was recommended
    covered: NDArray[np.bool_]  # (R,): whether the certificate was true at every checkpoint
    certified: NDArray[np.bool_]  # (R,): whether the bound fell to CERTIFIED_AT·dim/√S
    rounds: Floats  # (R,): rounds until then; the horizon if it did not
    precision: Floats  # (R,): share of the precision measured by then
    microseconds: float  # per round, everything included, compiling not
    engine: str = ""  # what ran it: "plain" or "compiled"
    arithmetic: str = ""  # on which processor and with which libraries


def machine_code(fixture: Fixture) -> PackedCode:
    """What its rule compiles to here."""
    env = fixture.cell.environment(fixture.horizon)
    policy = fixture.entry.policy(env.actions, fixture.horizon)
    return compiled_code(make_run(policy, env, fixture.horizon, fixture.seed, None, (None, None)))


def play(fixture: Fixture, compile: bool | None = None) -> Match:
    """Play a match on one thread, in the engine that `simulate` chooses or in this one."""
    cell, entry = fixture.cell, fixture.entry
    env = cell.environment(fixture.horizon)
    policy = entry.policy(env.actions, fixture.horizon)
    shared: dict[str, Any] = {"horizon": fixture.horizon, "seed": fixture.seed, "threads": 1}
    clock = time.process_time  # others may be busy
    start = clock()
    simulation = simulate(policy, env, replications=fixture.replications, compile=compile, **shared)
    seconds, timed = clock() - start, fixture.replications
    if simulation.engine == COMPILED:
        # The clock has seen how machine code was made: some replications are played again.
        start, timed = clock(), max(1, fixture.replications // 20)
        simulate(policy, env, replications=timed, compile=True, **shared)
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
        microseconds=1e6 * seconds / (timed * fixture.horizon),
        engine=simulation.engine,
        arithmetic=simulation.arithmetic,
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
        names: dict[str, Any] = {name: str(parts.pop(name, "")) for name in WORDS}
        return Match(**names, microseconds=float(parts.pop("microseconds")), **parts)
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile):
        return None


def half_width(values: Floats, confidence: float = 0.95) -> float:
    """Half of the confidence interval of a mean; infinite for one value."""
    if len(values) < 2:
        return math.inf
    return float(normal_quantile(0.5 + confidence / 2.0) * values.std(ddof=1) / math.sqrt(len(values)))
