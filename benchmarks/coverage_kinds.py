"""How often certificates are wrong, for every kind of evidence: how much of the allowed error is used.

Who knows the truth plays against the certificate, nobody chooses, or everything comes in the worst order;
see `benchmarks.coverage_games`. The studies are looked at after every measurement. Stricter than what a
certificate promises, a study counts as wrong at a look if the best option lies above *any* option by more
than the bounds of that moment allow, recommended or not; only if that has happened, it is played again to see
whether the certificate was wrong when it first allowed to stop. Looks at which estimates hardly mislead are
left out, but for some.

``python -m benchmarks coverage_kinds`` plays 2000 studies of every kind and confidence on two processes;
``COVERAGE_STUDIES`` and ``COVERAGE_MINUTES`` as for `benchmarks.coverage`, ``COVERAGE_PROCESSES=1`` for one.
``python -m benchmarks.coverage_kinds`` prints tables.
"""

import os
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import noisewise as nw
from benchmarks import coverage_games as games
from benchmarks.coverage import STUDIES, Count, Outcome, count, is_wrong, page, rows_of
from benchmarks.coverage_games import STEPS, Floats, Game, Player, Rng
from benchmarks.timing import Row
from noisewise.study.certificates.bound import recommend
from noisewise.study.log.events import Event
from noisewise.study.log.specification import Specification
from noisewise.study.log.state import State
from noisewise.study.models.analysis import Analysis
from noisewise.study.telling.rows import read_told

PROCESSES = int(os.environ.get("COVERAGE_PROCESSES", "2"))
PLAYERS: dict[str, Player] = {
    "knows the truth": games.knows_the_truth,
    "at random": games.at_random,
    "in the worst order": games.in_order,
}
#: Where estimates hardly mislead no bound is computed (`Game.safe`), but for this part, to be sure of it.
INSPECTED = 0.03
#: More than rounding, as a part of the difference.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Line:
    """A kind of study, and who decides what is measured."""

    kind: str
    make: Callable[[Rng], Game]
    player: str
    at_stopping: bool = False  # the promise is about the moment of stopping alone

    @property
    def name(self) -> str:
        """In short."""
        return f"{self.kind}, {self.player}"

    @property
    def about(self) -> str:
        """In words."""
        return f"{self.kind}: {self.player}"


KINDS: dict[str, Callable[[Rng], Game]] = {
    "known error bars": games.known,
    "counts": games.counts,
    "counts of rare successes": partial(games.counts, top=0.06, eps=0.03, first=50),
    "counts and known error bars": games.mixed,
    "readings, one scatter for all": partial(games.readings, scatter="pooled"),
    "readings, every option its own scatter": partial(games.readings, scatter="own"),
    "readings within bounds": games.bounded,
    "the same items for all": games.items,
    "the same items for all, a pool of 300": partial(games.items, pool=300),
    "blocks of four": games.blocks,
    "differences": games.differences,
    "linear": games.linear,
}
LINES = (
    *(Line(kind, make, player) for kind, make in KINDS.items() for player in PLAYERS),
    # Deviations are drawn by chance: whoever knew them would know the future.
    *(
        Line("linear+deviation", partial(games.linear, deviation=0.2), player, at_stopping=True)
        for player in ("at random", "in the worst order")
    ),
)


_SPECIFICATIONS: dict[str, Specification] = {}


def specification_of(question: dict[str, Any], confidence: float) -> Specification:
    """Of a study that is made like this; it takes longer to make one than to look at it some times."""
    key = repr((question, confidence))
    if key not in _SPECIFICATIONS:
        _SPECIFICATIONS[key] = nw.create_study(confidence=confidence, **question).specification
    return _SPECIFICATIONS[key]


class Watched:
    """One study, driven without a store."""

    def __init__(self, game: Game, confidence: float) -> None:
        self.game = game
        self.state = State(specification_of(game.question, confidence))
        self._analysis: Analysis | None = None

    def tell(self, option: int, weight: float) -> None:
        """Measure, and look again."""
        body = read_told(self.state, self.game.tell(option, weight), now=0.0)
        self.state.apply(Event(self.state.n_events + 1, 0.0, "tell", body))
        self._analysis = None

    @property
    def analysis(self) -> Analysis:
        """Of all that was told."""
        if self._analysis is None:
            self._analysis = Analysis(self.state)
        return self._analysis

    def errors(self) -> Floats:
        """Of the estimates."""
        if self.game.safe is not None:
            return np.where(self.game.weights > 0.0, self.game.errors, np.nan)
        fit = self.analysis.estimates
        return np.where(fit.group >= 0, fit.means - self.game.values, np.nan)

    def is_beyond(self) -> bool:
        """Whether the best option lies further above any other than it can according to the bounds."""
        analysis, values, best = self.analysis, self.game.values, self.game.best
        if analysis.sigmas.waiting:
            return False
        fit = analysis.certified
        linked = (fit.group >= 0) & (fit.group == fit.group[best])
        if not linked[best]:
            return False
        most = analysis.boundary.lead_widths(best) - fit.differences(best)
        true = values[best] - values
        return bool(np.any(linked & (true > most + ROUNDING * np.abs(true)) & (true > 0.0)))


def play(line: Line, confidence: float, seed: int, closely: bool = False) -> Outcome:
    """One study to its end.

    Args:
        line: Its kind.
        confidence: Of its certificate.
        seed: Of all chance in it.
        closely: Whether every certificate is made, and not only the last one and what decides about misses.
    """
    salt = [zlib.crc32(line.name.encode()), round(1000 * confidence), seed]
    rng, inspection = np.random.default_rng(salt), np.random.default_rng([*salt, 1])
    watched = Watched(line.make(rng), confidence)
    moves = PLAYERS[line.player](watched.game, rng, watched.errors)
    stopped = missed = ever = last = False
    for step in range(1, STEPS + 1):
        try:
            watched.tell(*next(moves))
        except games.ExhaustedError:
            last = True
        if not line.at_stopping and not ever:
            least = watched.game.safe
            safe = least is not None and watched.game.misleading() < least[confidence]
            ever = not (safe and inspection.random() > INSPECTED) and watched.is_beyond()
            if ever and safe:
                raise AssertionError(f"{line.name}, seed {seed}: a miss where estimates hardly mislead.")
        if not (closely or line.at_stopping or step == STEPS or last) or stopped:
            if last:
                break
            continue
        found = recommend(watched.analysis)
        wrong = is_wrong(found, watched.game.values)
        ever = ever or wrong
        if found is not None and found.bound <= watched.state.specification.resolution:
            stopped, missed = True, wrong
        if last:
            break
    if ever and not (closely or line.at_stopping):
        return play(line, confidence, seed, closely=True)
    return Outcome(stopped, missed, ever)


def counted() -> list[Count]:
    """All studies; those of a kind are divided among the players."""
    return count(-(-STUDIES // len(PLAYERS)), lines=LINES, play=play, processes=PROCESSES)


def rows() -> list[Row]:
    """Misses against what a true certificate would have."""
    return rows_of(counted())


if __name__ == "__main__":
    with threadpool_limits(1):
        print("\n".join(page(counted())))
