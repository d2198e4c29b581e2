"""How often certificates are wrong where RACE chooses what is measured, looked at after every measurement.

Nobody plays against these studies: they are what people will do who follow `ask`. Rivals lie just more than
eps below the best option. A study counts as wrong at its worst look, and also at the first look that allows
it to stop. ``python -m benchmarks coverage`` plays 2000 studies per line; ``COVERAGE_STUDIES=50`` fewer, and
``COVERAGE_MINUTES=30`` as many as that time allows. ``python -m benchmarks.coverage`` prints tables.

Studies are driven without a store, which takes most of the time of `ask`; `same_as_asking` plays some of them
through `ask`, too, and compares every choice.
"""

import multiprocessing
import os
import platform
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.stats import beta, binom
from threadpoolctl import threadpool_limits

import noisewise as nw
from benchmarks.timing import Row
from noisewise.core.sequences import without_collector
from noisewise.study.asking.pending import DIFFERENCE, OPTION, Coming, Manner, expected_manner, expected_noise
from noisewise.study.asking.race import propose
from noisewise.study.certificates.bound import Recommended, recommend
from noisewise.study.log.events import Event
from noisewise.study.log.measurements import NO_BLOCK, NOBODY
from noisewise.study.log.state import State
from noisewise.study.models.analysis import Analysis

#: A true certificate has more misses than the target with this probability.
FALSE_ALARM = 1e-6
STUDIES = int(os.environ.get("COVERAGE_STUDIES", "2000"))
MINUTES = float(os.environ.get("COVERAGE_MINUTES", "inf"))
CONFIDENCES = (0.5, 0.8, 0.95)
OPTIONS, MEASUREMENTS, EPS, DEVIATION = 5, 30, 0.5, 0.2
#: Studies that are played in turn before the next line has its turn, for when time ends.
TURN = 25


@dataclass(frozen=True)
class Line:
    """A kind of study."""

    name: str
    model: str
    day: int = 0  # measurements in a block; 0: no blocks
    probe: str = OPTION
    at_stopping: bool = False  # the promise is about the moment of stopping alone

    @property
    def about(self) -> str:
        """In words."""
        where = f"in blocks of {self.day}, offsets of 20 ± 20" if self.day else "without blocks"
        return f"{self.name}: {where}" if self.probe == OPTION else f"{self.name}: differences alone"


LINES = (
    Line("independent", "independent"),
    Line("independent, blocks", "independent", day=5),
    Line("independent, differences", "independent", probe=DIFFERENCE),
    Line("linear", "linear"),
    Line("linear, blocks", "linear", day=4),
    Line("linear+deviation", "linear+deviation", at_stopping=True),
)


class World:
    """One study's truth, and what is measured of it."""

    def __init__(self, line: Line, confidence: float, seed: int) -> None:
        self.line = line
        self.rng = rng = np.random.default_rng(
            [zlib.crc32(line.name.encode()), round(1000 * confidence), seed]
        )
        self.names = [f"o{k}" for k in range(OPTIONS)]
        table: dict[str, Any] = {"id": self.names}
        model = line.model
        if line.model == "independent":
            values = -EPS * rng.uniform(1.0, 1.5, OPTIONS)
            values[rng.integers(OPTIONS)] = 0.0
        else:
            features = rng.normal(size=(OPTIONS, 2))
            values = features @ rng.normal(size=2)
            values *= 3.0 * EPS / float(np.ptp(values))
            table |= {"a": features[:, 0], "b": features[:, 1]}
        if line.model == "linear+deviation":
            values = values + DEVIATION * rng.standard_normal(OPTIONS)
            model = f"linear+deviation:{DEVIATION}"
        self.values = values
        self.offsets = rng.normal(20.0, 20.0, MEASUREMENTS)
        self.study = nw.create_study(options=table, model=model, eps=EPS, confidence=confidence)

    def block(self, step: int) -> str:
        """Where the next measurement is made."""
        return f"day {step // self.line.day}" if self.line.day else NO_BLOCK

    def measure(self, step: int, option: int, minus: int) -> dict[str, Any]:
        """What comes out, as `tell` takes it."""
        se = float(10.0 ** self.rng.uniform(-0.7, 0.3))
        value = self.values[option] + se * self.rng.standard_normal()
        if minus != NOBODY:
            value -= self.values[minus]
            return {"plus": self.names[option], "minus": self.names[minus], "value": float(value), "se": se}
        told = {"option": self.names[option], "value": float(value), "se": se}
        if self.line.day:
            told |= {"block": self.block(step), "value": float(value + self.offsets[step // self.line.day])}
        return told


def choose(analysis: Analysis, found: Recommended | None, world: World, step: int) -> tuple[int, int]:
    """What `ask` would ask for."""
    line = world.line
    coming = Coming(
        noise=expected_noise(analysis, None, line.probe),
        allowed=analysis.state.allowed(),
        block=world.block(step),
        probe=line.probe,
        manner=expected_manner(analysis, None) if line.probe == OPTION else Manner(),
    )
    chosen = propose(analysis, found, coming)
    assert chosen is not None
    return chosen.option, chosen.minus


def body_of(told: dict[str, Any]) -> dict[str, Any]:
    """A measurement as the log has it."""
    body = {"option": told.get("option", told.get("plus")), "value": told["value"], "kind": "known"}
    body |= {"sigma": told["se"]}
    return body | {name: told[name] for name in ("minus", "block") if name in told}


class Outcome(NamedTuple):
    """How one study went."""

    stopped: bool
    missed: bool  # what it said when it was allowed to stop was false
    ever_missed: bool  # what it said at any look was false


def play(line: Line, confidence: float, seed: int) -> Outcome:
    """One study to its end; it goes on after stopping is allowed, to look for a miss."""
    world = World(line, confidence, seed)
    state = State(world.study.specification)
    stopped = missed = ever = False
    found: Recommended | None = None
    analysis = Analysis(state)
    for step in range(MEASUREMENTS):
        told = world.measure(step, *choose(analysis, found, world, step))
        state.apply(Event(step + 1, 0.0, "tell", body_of(told)))
        analysis = Analysis(state)
        found = recommend(analysis)
        wrong = is_wrong(found, world.values)
        ever = ever or wrong
        if found is not None and found.bound <= EPS and not stopped:
            stopped, missed = True, wrong
    return Outcome(stopped, missed, ever)


def is_wrong(found: Recommended | None, values: np.ndarray) -> bool:
    """Whether the bound is too small, or the best option is not among those that may be the best."""
    if found is None or not np.isfinite(found.bound):
        return False
    best = int(np.argmax(values))
    return bool(
        values[best] - values[found.option] > found.bound * (1.0 + 1e-9) or not found.candidates[best]
    )


def same_as_asking(line: Line, confidence: float, seed: int) -> int:
    """How many choices of one study differ from those of `ask`, which is told the same."""
    world = World(line, confidence, seed)
    study, differ = world.study, 0
    for step in range(MEASUREMENTS):
        analysis = study.analysis()
        chosen = choose(analysis, recommend(analysis), world, step)
        (job,) = study.ask(
            probe=line.probe, dry_run=True, **({"block": world.block(step)} if line.day else {})
        )
        ends = (
            study.options.index(job.option),
            NOBODY if job.minus is None else study.options.index(job.minus),
        )
        differ += ends != chosen
        study.tell(**world.measure(step, *chosen))
    return differ


class Kind(Protocol):
    """What there are many studies of."""

    @property
    def name(self) -> str:
        """In short."""

    @property
    def about(self) -> str:
        """In words."""

    @property
    def at_stopping(self) -> bool:
        """Whether the promise is about the moment of stopping alone."""


class Count(NamedTuple):
    """What happened in all studies of one line at one confidence."""

    line: Kind
    confidence: float
    outcomes: list[Outcome]

    @property
    def studies(self) -> int:
        """How many."""
        return len(self.outcomes)

    def misses(self) -> tuple[int, int, int]:
        """How many stopped, were wrong then, and were wrong at any look."""
        stopped, missed, ever = (sum(column) for column in zip(*self.outcomes, strict=True))
        return stopped, missed, ever

    @property
    def counted(self) -> int:
        """The misses that the promise is about."""
        _, missed, ever = self.misses()
        return missed if self.line.at_stopping else ever

    @property
    def limit(self) -> float:
        """The upper limit of the rate of these, at 95 % (Clopper and Pearson)."""
        misses, studies = self.counted, self.studies
        return float(beta.ppf(0.95, misses + 1, studies - misses)) if misses < studies else 1.0

    @property
    def most(self) -> int:
        """Misses that a true certificate exceeds almost never."""
        return int(binom.isf(FALSE_ALARM, self.studies, 1.0 - self.confidence))


def count(
    studies: int = STUDIES,
    minutes: float = MINUTES,
    lines: Iterable[Any] = LINES,
    play: Callable[[Any, float, int], Outcome] = play,
    processes: int = 1,
) -> list[Count]:
    """Play all studies, in turns of all lines, until they are done or time is over."""
    counts = [Count(line, confidence, []) for line in lines for confidence in CONFIDENCES]
    end = time.monotonic() + 60.0 * minutes
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        processes, mp_context=context, initializer=threadpool_limits, initargs=(1,)
    ) as pool:
        for first in range(0, studies, TURN):
            seeds = range(first, min(studies, first + TURN))
            turns = [(play, one.line, one.confidence, seeds) for one in counts]
            for one, outcomes in zip(counts, pool.map(_turn, turns), strict=True):
                one.outcomes.extend(outcomes)
            if time.monotonic() > end:
                break
    return counts


def _turn(turn: tuple[Callable[[Any, float, int], Outcome], Any, float, range]) -> list[Outcome]:
    play, line, confidence, seeds = turn
    with without_collector():
        return [play(line, confidence, seed) for seed in seeds]


def compared() -> int:
    """How many choices differ from those of `ask` in some studies of every line; none should."""
    return sum(same_as_asking(line, confidence, 0) for line in LINES for confidence in CONFIDENCES)


def page(counts: list[Count]) -> Iterator[str]:
    """The figures as lines of Markdown."""
    yield f"Seeds from 0, noisewise {nw.__version__}, {platform.machine()}:"
    yield ""
    heads = ("study", "confidence", "studies", "allowed to stop", "wrong then", "wrong at any look")
    judged = ("may be wrong", "true rate, at most", "allowed error used, at most")
    yield f"| {' | '.join(heads + judged)} |"
    yield "|---" * len(heads + judged) + "|"
    for one in counts:
        allowed = 1.0 - one.confidence
        cells = (one.line.about, f"{one.confidence:g}", one.studies, *one.misses())
        limits = (
            f"{allowed * one.studies:.0f}",
            f"{100 * one.limit:.2f} %",
            f"{100 * one.limit / allowed:.1f} %",
        )
        yield f"| {' | '.join(map(str, cells + limits))} |"
    disproved = [f"{one.line.name} ({one.confidence:g})" for one in counts if one.counted > one.most]
    yield ""
    yield (
        f"The promise is disproved in: {'; '.join(disproved) or 'no line'}. That would be more misses than a "
        f"true certificate has with probability {FALSE_ALARM:g} in a line."
    )


def rows() -> list[Row]:
    """Misses against what a true certificate would have."""
    differ = Row("choices that differ from those of ask", compared(), "choices", 0, False, "")
    return [differ, *rows_of(count())]


def rows_of(counts: list[Count]) -> list[Row]:
    """The misses of each line, and how many a true certificate exceeds almost never."""
    found = []
    for one in counts:
        stopped, missed, ever = one.misses()
        rate = f"rate at most {100 * one.limit:.2f} %"
        detail = f"{stopped} might stop, {missed} wrong then, {ever} at any look; {rate}"
        name = f"{one.line.name}, confidence {one.confidence:g}: wrong"
        found.append(Row(name, one.counted, f"of {one.studies}", one.most, False, detail))
    return found


if __name__ == "__main__":
    if compared():
        raise SystemExit("some choices are not those of ask: nothing was written.")
    print("\n".join(page(count())))
