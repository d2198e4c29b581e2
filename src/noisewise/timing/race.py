"""The race: options timed in rounds, in a random order, until the certificate says you may stop.

A round times every option that may still be the best once. What slows the whole machine down for longer than
a round slows all of them, and cancels in their ratios; what happens within a round hits whoever is being
timed, and the order is drawn anew for every round. Times go into a study on the log scale with
`measure="rounds"`, round by round, so that the certificate is the study's own
(`noisewise.study.evidence.rounds`). An option that is certainly slower than another leaves the rounds.
"""

import itertools
import math
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from noisewise.core.checks import COUNT, check_count_within
from noisewise.core.text import counted, printable
from noisewise.study.certificates.certificate import Certificate
from noisewise.study.creation import create_study
from noisewise.study.running.limits import read_budget
from noisewise.study.stores.address import MEMORY, open_store
from noisewise.timing.timings import SLOWER, UNDECIDED, WITHIN, Comparison, Timings, Versus, ratio_of

#: Seconds from one line to the next.
EVERY = 0.1


class ProgressLine:
    """A line on standard error that is written over; nothing where that is not a terminal.

    Args:
        wanted: Whether anything is shown.
    """

    def __init__(self, wanted: bool) -> None:
        self._shown = wanted and sys.stderr.isatty()
        self._last, self._width, self._began = -math.inf, 0, time.monotonic()

    def show(self, certificate: Certificate, rounds: int) -> None:
        """Write who leads, unless a line was written a moment ago."""
        far = "no bound yet"
        if math.isfinite(certificate.bound):
            far = f"at most {certificate.bound_text} slower than the fastest"
        left = counted(len(certificate.candidates), "candidate")
        self._now_and_then(rounds, f"{left}: {certificate.option}, {far}")

    def against(self, versus: tuple[str, str], rounds: int) -> None:
        """Write who is compared with whom, unless a line was written a moment ago."""
        self._now_and_then(rounds, f"{versus[1]} against {versus[0]}")

    def _now_and_then(self, rounds: int, text: str) -> None:
        now = time.monotonic()
        if self._shown and now - self._last >= EVERY:
            self._last = now
            self._write(f"{counted(rounds, 'round')}, {now - self._began:.1f} s, {text}")

    def close(self) -> None:
        """Take the line away."""
        if self._width:
            self._write("")

    def _write(self, line: str) -> None:
        line = printable(line)[: shutil.get_terminal_size().columns - 1]
        sys.stderr.write(f"\r{line.ljust(self._width)}" + ("" if line else "\r"))
        sys.stderr.flush()
        self._width = len(line)


#: Without a budget it ends after this time, in seconds, but not before so many rounds.
PATIENCE, AT_LEAST = 300.0, 12
#: Looking at the certificate may take this part of the time.
LOOKING = 0.2
#: Times are never taken to be shorter than the clock can tell, in seconds.
TICK = 1e-10


class Timed(NamedTuple):
    """Something to be timed."""

    name: str
    take: Callable[[], float]  # times it once, and returns the seconds of one call


class Budget:
    """When a race ends that is not decided.

    Args:
        given: A time such as "2min", a number of timings, or both; None: see `PATIENCE`.
        clock: Seconds.
    """

    def __init__(self, given: Any, clock: Callable[[], float]) -> None:
        if isinstance(given, int | float) and not isinstance(given, bool) and not float(given).is_integer():
            raise ValueError(f'`budget` must be a number of timings, or a time such as "90s"; got {given!r}.')
        self._most = read_budget(given)
        if self._most.keys() - {"measurements", "seconds"}:
            raise ValueError(
                f'`budget` must be a time ("90s", "2min") or a number of timings; got {given!r}.'
            )
        self._given, self._clock, self._began = given is not None, clock, clock()
        self.taken = 0

    @property
    def seconds(self) -> float:
        """Since it began."""
        return self._clock() - self._began

    def spent(self, rounds: int) -> bool:
        """Whether no further round may begin."""
        if not self._given:
            return self.seconds >= PATIENCE and rounds >= AT_LEAST
        timings = self._most.get("measurements", math.inf)
        return self.taken >= timings or self.seconds >= self._most.get("seconds", math.inf)


class Race:
    """One race.

    Args:
        contenders: What is timed; at least two.
        eps: How much slower than the fastest is good enough, such as "2%".
        confidence: Of the certificate.
        budget: See `Budget`.
        warmup: Rounds before the first that counts, at least one; the last of them orders the options.
        seed: Of the order within rounds; None: another one every time.
        store: Where the study is kept.
        name: Of the study; with a number behind it where the store has one of that name.
        versus: Names of baseline and candidate, if these two are compared.
        progress: Whether a terminal shows how it goes.
        asides: What is to be said about how it was timed, given the shortest time of every option.
        clock: Seconds, for the budget.
    """

    def __init__(
        self,
        contenders: Sequence[Timed],
        *,
        eps: Any,
        confidence: float = 0.95,
        budget: Any = None,
        warmup: int = 1,
        seed: int | None = None,
        store: str | Path = MEMORY,
        name: str = "timings",
        versus: tuple[str, str] | None = None,
        progress: bool = True,
        asides: Callable[[dict[str, float]], tuple[str, ...]] = lambda times: (),
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._contenders = {one.name: one for one in contenders}
        if len(contenders) < 2 or len(self._contenders) < len(contenders):
            raise ValueError("there must be at least two options to compare, each with a name of its own.")
        self._warmup = check_count_within("warmup", warmup, COUNT)
        self._budget_given = budget
        Budget(budget, clock)  # refused before anything runs
        kept = open_store(store, create=True)
        self._study = create_study(
            kept, options=list(self._contenders), name=_free(kept.names(), name), eps=eps,
            confidence=confidence, goal="min", scale="log", measure="rounds", unit="s",
            seed=0 if seed is None else seed,
        )  # fmt: skip
        question = self._study.specification
        self._comparison = Comparison(math.exp(question.eps or 0.0), question.delta)
        self._rng = np.random.default_rng(seed)
        self._versus, self._clock, self._asides = versus, clock, asides
        self._progress = ProgressLine(progress)
        self._times: dict[str, list[float]] = {name: [] for name in self._contenders}
        self._told = dict.fromkeys(self._contenders, 0)  # rounds that the study knows
        self._round = 0  # rounds that are complete
        self._active = list(self._contenders)

    def run(self) -> Timings:
        """Time until it is decided, the budget is spent, or Ctrl-C is pressed."""
        budget = Budget(self._budget_given, self._clock)
        interrupted = False
        try:
            for _ in range(self._warmup - 1):
                for name in self._in_turn():
                    self._contenders[name].take()
            self._go_on(budget)
        except KeyboardInterrupt:
            interrupted = True
            if not self._round:
                raise
        finally:
            self._progress.close()
        self._cut()
        self._tell()
        return self._result(budget, interrupted)

    def _go_on(self, budget: Budget) -> None:
        looked = cost = 0.0
        while True:
            budget.taken += self._one_round()
            now = self._clock()
            last = budget.spent(self._round)
            if last or (now - looked) * LOOKING >= cost:
                decided = self._look()
                looked = self._clock()
                cost = looked - now
                if decided or last:
                    return

    def _one_round(self) -> int:
        """Time every option that is left once; returns how many that were."""
        taken = [(name, max(TICK, self._contenders[name].take())) for name in self._in_turn()]
        for name, seconds in taken:  # a round that was interrupted is none
            self._times[name].append(seconds)
        self._round += 1
        return len(taken)

    def _in_turn(self) -> list[str]:
        return [self._active[at] for at in self._rng.permutation(len(self._active)).tolist()]

    def _cut(self) -> None:
        """Leave out what was timed in a round that was interrupted."""
        for times in self._times.values():
            del times[self._round :]

    def _look(self) -> bool:
        """See what the rounds so far say; returns whether it is decided."""
        if self._versus is not None:
            self._progress.against(self._versus, self._round)
            return self._verdict() != UNDECIDED
        self._tell()
        certificate = self._study.certificate()
        self._progress.show(certificate, self._round)
        self._active = [
            name for name in self._active if name in certificate.candidates or name == certificate.option
        ]
        return certificate.reached

    def _tell(self) -> None:
        """Tell the study the rounds that it does not know."""
        for name in self._active:
            told = self._told[name]
            fresh = dict(enumerate(self._times[name][told : self._round], start=told + 1))
            if fresh:
                self._study.tell(option=name, items={f"round {number}": at for number, at in fresh.items()})
                self._told[name] = self._round

    def _verdict(self) -> str:
        baseline, candidate = (self._times[name][: self._round] for name in self._versus or ())
        return self._comparison.verdict(candidate, baseline)

    def _compared(self) -> Versus:
        """Whether the candidate is at most eps slower than the baseline, and by how much."""
        baseline, candidate = self._versus or ("", "")
        question, verdict = self._study.specification, self._verdict()
        most = math.exp(question.eps or 0.0)
        found = ratio_of(self._array(candidate), self._array(baseline), question.delta)
        if verdict == WITHIN:  # limits are found rather too wide, by a hair
            found = found._replace(high=min(found.high, most))
        elif verdict == SLOWER:
            found = found._replace(low=max(found.low, most))
        return Versus(baseline, candidate, found, most, verdict)

    def _array(self, name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        return np.array(self._times[name][: self._round])

    def _result(self, budget: Budget, interrupted: bool) -> Timings:
        times = {name: self._array(name) for name in self._times}
        return Timings(
            certificate=self._study.certificate(),
            study=self._study,
            times=times,
            rounds=self._round - 1,
            seconds=budget.seconds,
            interrupted=interrupted,
            versus=None if self._versus is None else self._compared(),
            asides=self._asides({name: float(runs.min()) for name, runs in times.items()}),
        )


def _free(taken: Sequence[str], name: str) -> str:
    """The name, or with the first number that makes it a new one."""
    names = itertools.chain([name], (f"{name} {number}" for number in itertools.count(2)))
    return next(one for one in names if one not in taken)
