"""Many possible futures, some of them on other machines: which are simulated where changes nothing."""

import functools
import math
import pickle
from collections.abc import Callable

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.core.spreading.workers import Workforce
from noisewise.core.support.randomness import generator
from noisewise.study.log.specification import RACE
from noisewise.study.planning.chooser_path import ChooserPath
from noisewise.study.planning.paths import Outcome, Path, Question
from noisewise.study.planning.race_path import RacePath

#: Pieces for every worker, so that all are done at about the same time: futures differ.
PIECES = 4


def path_of(question: Question, world: Floats, rng: np.random.Generator) -> Path:
    """One possible future, with the study's own rule."""
    kind = RacePath if question.state.policy.name == RACE else ChooserPath
    return kind(question, world, rng)


def outcome_of(question: Question, worlds: Floats, seed: int, place: int) -> Outcome:
    """How the future in one of the worlds goes; its noise depends on seed and place alone."""
    return path_of(question, worlds[place], generator(seed, "plan", place + 1)).go()


def outcomes_elsewhere(
    question: Question, worlds: Floats, seed: int, workers: Workforce, watch: Callable[[float], None]
) -> list[Outcome]:
    """How the futures in all worlds go, in the order of the worlds; `watch` is told which share is done."""
    size = max(1, math.ceil(len(worlds) / (PIECES * workers.count)))
    pieces = [range(start, min(start + size, len(worlds))) for start in range(0, len(worlds), size)]
    sent = pickle.dumps((question, worlds, seed))
    done: dict[range, list[Outcome]] = {}
    for piece, outcomes in workers.spread(_outcomes, pieces, shared=sent, name_of=_name_of):
        done[piece] = outcomes
        watch(len(done) / len(pieces))
    return [outcome for piece in pieces for outcome in done[piece]]


@functools.lru_cache(maxsize=2)
def _unpacked(sent: bytes) -> tuple[Question, Floats, int]:
    content: tuple[Question, Floats, int] = pickle.loads(sent)
    return content


def _outcomes(sent: bytes, piece: range) -> list[Outcome]:
    """On a worker."""
    question, worlds, seed = _unpacked(sent)
    return [outcome_of(question, worlds, seed, place) for place in piece]


def _name_of(piece: range) -> str:
    return f"futures {piece.start} to {piece.stop - 1}"
