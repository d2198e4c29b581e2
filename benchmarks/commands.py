"""`noisewise bench`: is the answer right, and what does it take against hyperfine's ten runs?

Eight commands, of which the fastest two differ by 5 %. *Simulated*: a clock model instead of processes:
lognormal scatter, a drift of the whole machine, a slow-down that all commands of a round share, and single
runs that take much longer. *Real*: commands that sleep, and commands that compute, on this machine as it is.
*Hyperfine*: eight commands that differ by 20 % and more, the total time of both programs, one after the other
(hyperfine 1.15 or later has to be installed).

The claim itself: three options with the same true time, one of which stands for the best, and how often that
one is called certainly slower than another after any of sixty rounds: at most 5 % are allowed.
"""

import math
import shutil
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

from benchmarks.timing import Row
from noisewise.core.blocks import Floats
from noisewise.study.evidence.rounds import (
    FIRST,
    PairRounds,
    Rounds,
    gathered,
    log_evidence,
    shares_by_place,
)
from noisewise.timing.commands import bench
from noisewise.timing.race import Race, Timed

SIMULATED, REAL, COVERAGE = 40, 10, 400
DELTA = 0.05
#: Times of eight commands: the first two differ by 5 %, the others by more.
CLOSE = (1.0, 1.05, 1.13, 1.25, 1.4, 1.7, 2.5, 6.0)
FAR = (1.0, 1.22, 1.5, 1.8, 2.2, 2.7, 3.3, 4.0)


class SimulatedMachine:
    """A clock that commands move, with the noise of a machine that does other things as well.

    Args:
        rng: The noise.
        scatter: Of single runs, on the log scale. drift: Of the machine, from run to run, as a random walk.
        outliers: How often a run takes longer for no reason, and by how much on the log scale.
        skew: Part of the scatter that only ever slows runs down (exponential).
    """

    def __init__(
        self,
        rng: np.random.Generator,
        *,
        scatter: float,
        drift: float,
        outliers: tuple[float, float],
        skew: float = 0.0,
    ) -> None:
        self._rng, self._scatter, self._drift = rng, scatter, drift
        self._outliers, self._skew, self._level = outliers, skew, 0.0
        self.now = 0.0

    def rival(self, name: str, seconds: float) -> Timed:
        """A command that takes so long."""
        return Timed(name, lambda: self.take(seconds))

    def take(self, seconds: float) -> float:
        """One run."""
        rng = self._rng
        self._level = 0.98 * self._level + self._drift * rng.standard_normal()
        log = self._level + self._scatter * rng.standard_normal() + self._skew * rng.exponential()
        often, far = self._outliers
        if rng.random() < often:
            log += abs(far * rng.standard_normal())
        took = seconds * math.exp(log)
        self.now += took
        return took


#: Kinds of machines, none of which the evidence was tuned on.
MACHINES = {
    "a quiet machine": {"scatter": 0.015, "drift": 0.003, "outliers": (0.01, 0.3)},
    "a laptop": {"scatter": 0.03, "drift": 0.01, "outliers": (0.04, 0.5)},
    "a shared runner": {
        "scatter": 0.04,
        "drift": 0.02,
        "outliers": (0.1, 0.8),
        "skew": 0.03,
    },
}


def simulated(kind: str, times: tuple[float, ...], seed: int, eps: str = "2%") -> tuple[bool, int, float]:
    """One simulated race: whether its answer is right, how many runs, their time in that of ten rounds."""
    rng = np.random.default_rng([25, seed])
    machine = SimulatedMachine(rng, **MACHINES[kind])  # type: ignore[arg-type]
    order = rng.permutation(len(times)).tolist()
    race = Race(
        [machine.rival(f"c{at}", 0.1 * times[at]) for at in order], eps=eps, seed=seed,
        budget="3h", progress=False, clock=lambda: machine.now,
    )  # fmt: skip
    found = race.run()
    runs = sum(times.size for times in found.times.values())
    right = found.reached and found.option == "c0"
    return right, runs, found.seconds / (10.0 * 0.1 * sum(times))


def called_slower(kind: str, races: int = COVERAGE, rounds: int = 60, n: int = 3) -> int:
    """How many races ever call the best option certainly slower than another; all are equally fast."""
    wrong = 0
    for seed in range(races):
        rng = np.random.default_rng([26, seed])
        machine = SimulatedMachine(rng, **MACHINES[kind])  # type: ignore[arg-type]
        logs = np.empty((rounds + FIRST, n))
        for row in logs:
            for option in rng.permutation(n):
                row[option] = -math.log(machine.take(1.0))
        levels = -math.log(DELTA) + shares_by_place(logs[0], np.zeros(n, dtype=np.int64), np.arange(n))
        wrong += any(
            first_reached(logs[FIRST:, 0] - logs[FIRST:, other], levels[other]) for other in range(1, n)
        )
    return wrong


def first_reached(apart: Floats, level: float) -> bool:
    """Whether the evidence against "the first is at least as good" reaches a level after any round."""
    pair = PairRounds().extend(apart)
    whole = gathered([pair], np.ones(1))
    nothing = np.zeros(1)
    return any(
        log_evidence(Rounds(*(part[:, :count] for part in whole)), nothing, gross=True)[0] >= level
        for count in range(1, apart.size + 1)
    )


def _busy(amount: float) -> str:
    return f"{sys.executable} -I -S -c 'sum(range({round(2e6 * amount)}))'"


#: Real commands by how much they do, and the clock that times them.
REAL_KINDS: dict[str, tuple[Callable[[float], str], str]] = {
    "sleeping": (lambda amount: f"sleep {0.04 * amount:.5f}", "wall"),
    "computing": (_busy, "wall"),
    "computing, processor's clock": (_busy, "cpu"),
}


def real(kind: str, times: tuple[float, ...], seed: int) -> tuple[bool, float]:
    """One real race: whether its answer is right, and its seconds."""
    command, clock = REAL_KINDS[kind]
    commands = [command(amount) for amount in times]
    order = np.random.default_rng([27, seed]).permutation(len(times)).tolist()
    found = bench(
        [commands[at] for at in order], names=[f"c{at}" for at in order], seed=seed, progress=False,
        shell=False, budget="10min", clock=clock,
    )  # fmt: skip
    return found.reached and found.option == "c0", found.seconds


def against_hyperfine(kind: str, seed: int) -> tuple[float, float, bool]:
    """Seconds of noisewise and of hyperfine for eight commands that differ by 20 % and more."""
    command, clock = REAL_KINDS[kind]
    commands = [command(amount) for amount in FAR]
    began = time.perf_counter()
    found = bench(commands, seed=seed, progress=False, shell=False, budget="10min", clock=clock)
    ours = time.perf_counter() - began
    began = time.perf_counter()
    subprocess.run(["hyperfine", "-N", "--style", "none", *commands], check=True, capture_output=True)
    return ours, time.perf_counter() - began, found.reached and found.option == commands[0]


def of_a_machine(kind: str) -> list[Row]:
    """Simulated races on one kind of machine."""
    close = [simulated(kind, CLOSE, seed) for seed in range(SIMULATED)]
    far = [simulated(kind, FAR, seed) for seed in range(SIMULATED)]
    usual = f"median {np.median([one[1] for one in close]):.0f} runs, most {max(one[1] for one in close)}"
    share = float(np.median([one[2] for one in far]))
    wrong = called_slower(kind)
    return [
        Row(f"right of {SIMULATED}, 5 % apart: {kind}", sum(one[0] for one in close), "races", SIMULATED,
            at_least=True, detail=usual),
        Row(f"time over that of ten rounds, 20 % apart: {kind}", share, "x", 1.0,
            detail=f"right {sum(one[0] for one in far)} of {SIMULATED}"),
        Row(f"the best called slower: {kind}", wrong / COVERAGE, "of races", 0.05,
            detail=f"{wrong} of {COVERAGE} races of 60 rounds"),
    ]  # fmt: skip


def of_this_machine(kind: str) -> list[Row]:
    """Real races."""
    races = [real(kind, CLOSE, seed) for seed in range(REAL)]
    usual = f"median {np.median([one[1] for one in races]):.1f} s, most {max(one[1] for one in races):.1f} s"
    found = [
        Row(f"right of {REAL}, real, 5 % apart: {kind}", sum(one[0] for one in races), "races", REAL,
            at_least=True, detail=usual)
    ]  # fmt: skip
    if shutil.which("hyperfine"):
        ours, theirs, right = against_hyperfine(kind, 1)
        said = f"{ours:.1f} s against {theirs:.1f} s; the answer was {'right' if right else 'wrong'}"
        found.append(Row(f"time over hyperfine's, real, 20 % apart: {kind}", ours / theirs, "x", 1.0,
                         detail=said))  # fmt: skip
    return found


def rows() -> list[Row]:
    """What `python -m benchmarks commands` prints."""
    simulations = [row for kind in MACHINES for row in of_a_machine(kind)]
    return simulations + [row for kind in REAL_KINDS for row in of_this_machine(kind)]
