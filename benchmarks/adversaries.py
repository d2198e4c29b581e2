"""How often certificates are wrong when somebody who knows the truth wants them to be.

Every study is stopped twice: at the first look that allows it, and at its worst look (a miss at any look
counts). ``python -m benchmarks adversaries`` plays 300 studies per world and confidence on two processes;
``ADVERSARIES_STUDIES=10`` takes about a minute, and ``ADVERSARIES_MINUTES=5`` plays as many as that time
allows. ``python -m benchmarks.adversaries`` prints tables.
"""

import multiprocessing
import os
import platform
import time
import warnings
import zlib
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.stats import beta, binom
from threadpoolctl import threadpool_limits

import noisewise as nw
from benchmarks import adversarial_worlds as worlds
from benchmarks.adversarial_worlds import World
from benchmarks.timing import Row

STUDIES = int(os.environ.get("ADVERSARIES_STUDIES", "300"))
MINUTES = float(os.environ.get("ADVERSARIES_MINUTES", "inf"))
PROCESSES = int(os.environ.get("ADVERSARIES_PROCESSES", "2"))
CONFIDENCES = (0.5, 0.95)
#: A true certificate has more misses than the target with this probability.
FALSE_ALARM = 1e-6

WORLDS: dict[str, World] = {
    "error bars chosen by luck": World(worlds.adaptive, "every error bar is chosen in view of all before"),
    "favourites only": World(worlds.favourites, "only what may still be the best is measured"),
    "blocks of four": World(worlds.blocks, "a new offset after every four measurements"),
    "blocks of two": World(partial(worlds.blocks, size=2), "the same, after every two"),
    "blocks chosen by luck": World(
        partial(worlds.blocks, picks=True),
        "a lucky day goes on, an unlucky one ends; old days are gone back to",
    ),
    "differences": World(worlds.differences, "nothing but differences of two options"),
    "two readings": World(worlds.readings, "two readings each, of a scatter that nobody knows"),
    "one to three trials": World(worlds.counts, "counts, three trials when unlucky, one when lucky"),
    "exclusions and additions": World(
        worlds.catalogue, "options leave at lucky moments; better and worse ones come"
    ),
    "linear": World(worlds.linear, "two features"),
    "linear, blocks": World(
        partial(worlds.linear, with_blocks=True), "the same with a new offset after every six"
    ),
    "linear, two options precise, 1e6": World(
        partial(worlds.linear, ratio=1e6), "two options have error bars a million times smaller than others"
    ),
    "linear, two options precise, 1e6, blocks": World(
        partial(worlds.linear, ratio=1e6, with_blocks=True), "the same with a new offset after every six"
    ),
    "deviations": World(
        partial(worlds.linear, deviation=0.2),
        "features and stated deviations, drawn anew for every study; only favourites are measured",
        at_stopping=True,
    ),
    "deviations, two options precise, 1e6, blocks": World(
        partial(worlds.linear, deviation=0.2, ratio=1e6, with_blocks=True),
        "the same, with two options a million times more precise, and offsets",
        at_stopping=True,
    ),
    **{
        f"precise and rough in blocks, 1e{exponent}": World(
            partial(worlds.precise_and_rough, ratio=10.0**exponent),
            f"each day has one option with an error bar of 1e-{exponent}, and others with 1 to 2",
        )
        for exponent in (8, 9, 10, 12)
    },
    "offsets of 1e6": World(
        partial(worlds.wild, offset=1e6, decades=3.0, pairs=0.0), "error bars from 1e-3 to 1e3 beside them"
    ),
    "blocks and differences, 1e-5 to 1e5": World(
        partial(worlds.wild, offset=10.0, decades=5.0, pairs=0.4), "error bars over ten decades, both mixed"
    ),
    "abandoned blocks": World(
        worlds.abandoned,
        "*an assumption is broken*: offsets are 0, somebody knows it, and leaves a block after a low first "
        "reading, so that what is measured within a block depends on more than differences",
        broken=True,
    ),
}


class Outcome(NamedTuple):
    """How one study went."""

    stopped: bool  # at some look stopping was allowed
    missed: bool  # what it said then was false
    ever_missed: bool  # what it said at any look was false
    withheld: float  # share of looks with no certificate, for a reason
    failed: str  # an error that reached the person


def play(name: str, confidence: float, seed: int) -> Outcome:
    """One study to its end; it goes on after stopping is allowed, to look for a miss."""
    rng = np.random.default_rng([zlib.crc32(name.encode()), round(1000 * confidence), seed])
    game = WORLDS[name].make(rng, confidence)
    stopped = missed = ever = False
    looks = withheld = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            certificate = game.study.certificate()
            for at in range(1, game.steps + 1):
                game.step(certificate)
                if at % game.every:
                    continue
                certificate = game.study.certificate()
                looks, withheld = looks + 1, withheld + bool(certificate.withheld)
                wrong = is_wrong(certificate, game.truth)
                ever = ever or wrong
                if certificate.reached and not stopped:
                    stopped, missed = True, wrong
        except (ArithmeticError, ValueError, np.linalg.LinAlgError) as problem:
            failed = f"{type(problem).__name__}: {problem}"
            return Outcome(stopped, missed, ever, withheld / max(1, looks), failed)
    return Outcome(stopped, missed, ever, withheld / looks, "")


def is_wrong(certificate: nw.Certificate, truth: dict[str, float]) -> bool:
    """Whether the bound is too small, or no best option is among those that may be the best."""
    if certificate.option is None or certificate.withheld or not np.isfinite(certificate.bound):
        return False
    best = max(truth.values())
    too_small = best - truth[certificate.option] > certificate.bound * (1.0 + 1e-9)
    return too_small or not any(truth[name] == best for name in certificate.candidates)


class Count(NamedTuple):
    """What happened in all studies of one world at one confidence."""

    name: str
    confidence: float
    studies: int
    stopped: int
    missed: int
    ever_missed: int
    withheld: float
    failures: tuple[str, ...]

    @property
    def counted(self) -> int:
        """The misses that the promise is about."""
        return self.missed if WORLDS[self.name].at_stopping else self.ever_missed

    @property
    def most(self) -> int:
        """Misses that a true certificate exceeds almost never."""
        return int(binom.isf(FALSE_ALARM, self.studies, 1.0 - self.confidence))


def interval(misses: int, studies: int) -> tuple[float, float]:
    """Clopper and Pearson's interval of 95 % for the miss rate."""
    low = beta.ppf(0.025, misses, studies - misses + 1) if misses else 0.0
    high = beta.ppf(0.975, misses + 1, studies - misses) if misses < studies else 1.0
    return float(low), float(high)


def count(names: Iterable[str] = WORLDS, studies: int = STUDIES, minutes: float = MINUTES) -> list[Count]:
    """Play all studies, spread over processes; all worlds seed by seed, for when time ends."""
    lines = [(name, confidence) for name in names for confidence in CONFIDENCES]
    played: dict[tuple[str, float], list[Outcome]] = {line: [] for line in lines}
    context, end = multiprocessing.get_context("spawn"), time.monotonic() + 60.0 * minutes
    with ProcessPoolExecutor(
        PROCESSES, mp_context=context, initializer=threadpool_limits, initargs=(1,)
    ) as pool:
        for seed in range(studies):
            outcomes = pool.map(play, *zip(*lines, strict=True), [seed] * len(lines), chunksize=2)
            for line, outcome in zip(lines, outcomes, strict=True):
                played[line].append(outcome)
            if time.monotonic() > end:
                break
    return [
        Count(
            name, confidence, len(some), sum(o.stopped for o in some), sum(o.missed for o in some),
            sum(o.ever_missed for o in some), float(np.mean([o.withheld for o in some])),
            tuple(o.failed for o in some if o.failed),
        )
        for (name, confidence), some in played.items()
    ]  # fmt: skip


def page(counts: list[Count]) -> str:
    """The worlds and their figures as Markdown."""
    lines = ["| world | who plays |", "|---|---|"]
    lines += [f"| {name} | {world.about} |" for name, world in WORLDS.items()]
    lines += [
        "",
        f"{counts[0].studies} studies per line, noisewise {nw.__version__}, {platform.machine()}, "
        f"seeds 0 to {counts[0].studies - 1}:",
        "",
        *_in_words(counts),
        "",
        "| world | confidence | allowed to stop | wrong then | wrong at any look | its rate, 95 % interval "
        "| looks without a certificate | ended in an error |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in counts:
        low, high = interval(one.ever_missed, one.studies)
        lines.append(
            f"| {one.name} | {one.confidence:g} | {one.stopped} | {one.missed} | {one.ever_missed} | "
            f"{100 * low:.1f} to {100 * high:.1f} % | {100 * one.withheld:.0f} % | {len(one.failures)} |"
        )
    return "\n".join(lines)


def _in_words(counts: list[Count]) -> list[str]:
    """What the table shows and what it cannot show, as sentences."""
    studies = counts[0].studies
    broken, failed, never = [], [], []
    for one in counts:
        line = f"{one.name} ({one.confidence:g})"
        promised = not WORLDS[one.name].broken
        if promised and interval(one.counted, one.studies)[0] > 1.0 - one.confidence:
            broken.append(line)
        if one.failures:
            failed.append(line)
        if not one.stopped:
            never.append(line)
    said = [
        f"- No miss in {studies} studies leaves room for a rate of {100 * interval(0, studies)[1]:.1f} %."
    ]
    for about, lines in (
        ("The promise is disproved in", broken),
        ("Some studies ended in an error in", failed),
        ("No study was allowed to stop, so that only the looks before were tested, in", never),
    ):
        said.append(f"- {about}: {'; '.join(lines) or 'no line'}.")
    return said


def rows() -> list[Row]:
    """Misses, and studies that ended in an error, against what a true certificate would have."""
    found = []
    for one in count():
        low, high = interval(one.counted, one.studies)
        detail = (
            f"rate {100 * low:.1f} to {100 * high:.1f} %; {one.stopped} might stop, {one.missed} wrong then; "
            f"{100 * one.withheld:.0f} % of looks withheld"
        )
        if one.failures:
            detail += f"; {len(one.failures)} failed: {one.failures[0]}"
        name = f"{one.name}, confidence {one.confidence:g}: wrong or failed"
        bad = float("inf") if one.failures else one.counted
        found.append(Row(name, bad, f"of {one.studies}", one.most, False, detail))
    return found


if __name__ == "__main__":
    print(page(count()))
