"""Replications on other machines: pieces go out with what they need, results come back, and are kept here.

Every random number is a function of the seed and the replication, so results do not depend on how
replications are cut into pieces, nor on who does them: on one type of processor all bits are the same.
"""

import contextlib
import functools
import math
import pickle
import warnings
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from noisewise.core.native.verbs import numpy_verbs
from noisewise.core.spreading.arithmetic import arithmetic
from noisewise.core.spreading.tasks import Kit
from noisewise.core.spreading.workers import Workforce
from noisewise.simulation.engine import COMPILED, PER_NUMBER, choose_engine
from noisewise.simulation.machine_code import PackedCode, compiled_code, install_code
from noisewise.simulation.run import CLOCK, Run
from noisewise.simulation.sharing.parcel import packed
from noisewise.simulation.sharing.replications import Replications, parts_of
from noisewise.simulation.sharing.worker import is_numpy_wanted

#: Seconds that a piece should take: then sending it does not matter.
SECONDS = 2.0
#: Seconds of a compiled replication and round beyond what its numbers take.
PER_REPLICATION, PER_ROUND = 1e-4, 5e-7
#: Pieces of one simulation, at most.
MOST_PIECES = 5_000


class SweepOrder(NamedTuple):
    """What all pieces of a simulation need."""

    recipe: tuple[Any, ...]  # of the run
    compiled: bool
    on_numbers: dict[str, Any]  # what NumPy does at overflows and the like
    numpy_verbs: bool  # whether the verbs run as NumPy, although they could in C


class Elsewhere:
    """The workers that share one simulation."""

    def __init__(self, replications: Replications, workers: Workforce) -> None:
        self.replications, self._workers = replications, workers
        self.threads = workers.count

    def workers(self) -> int:
        """All of them share plain rounds, too."""
        return self.threads

    def run(self, compile: bool | None, at_a_time: int | None = None) -> None:
        """All replications; `at_a_time` is how many make a piece, which changes nothing in the results."""
        todo = self.replications
        by_value = packed(todo.run.recipe, imported=True) is None
        if by_value and compile:
            raise ValueError(
                f"`compile` must be False or left out with `on` for {todo.run.policy.name!r} here: machine "
                "code is made of modules that workers can import, and this is from a script or notebook."
            )
        engine = choose_engine(self, False if by_value else compile)
        todo.run_by(engine)
        order = SweepOrder(todo.run.recipe, engine == COMPILED, dict(np.geterr()), is_numpy_wanted())
        pieces = self._pieces(at_a_time or self._at_a_time(engine == COMPILED))
        kit = Kit(_one_for_all, _compiled_here, install_code) if engine == COMPILED else None
        seen: set[str] = set()
        for piece, (parts, how) in self._workers.spread(
            _replicated, pieces, shared=_sent(order), kit=kit, name_of=_name_of
        ):
            todo.keep(piece, parts)
            todo.report()
            seen.add(how)
        todo.computed_by(" | ".join(sorted(seen)))
        if len(seen) > 1:
            warnings.warn(
                f"The workers have {len(seen)} types of processors: decisions are those of any machine, but "
                "last digits depend on which worker did what.",
                stacklevel=4,
            )

    def _pieces(self, at_a_time: int) -> list[range]:
        pieces = []
        while piece := self.replications.take(at_a_time):
            pieces.append(piece)
        return pieces

    def _at_a_time(self, compiled: bool) -> int:
        """Pieces of some seconds; shorter ones where there are too few for everybody."""
        todo, run = self.replications, self.replications.run
        if compiled:
            each = PER_REPLICATION + run.horizon * (PER_ROUND + run.size * PER_NUMBER)
        else:
            each = _seconds_of_one(run)
        wanted = max(math.ceil(SECONDS / each), math.ceil(todo.count / MOST_PIECES))
        return max(1, min(wanted, math.ceil(todo.count / self.threads)))


def _seconds_of_one(run: Run) -> float:
    start = CLOCK()
    pace = run.pace(run.empty(1))
    # A short replication was run whole, with all that is around its rounds.
    return max(1e-6, CLOCK() - start if run.is_timed_whole else pace.seconds * pace.rounds)


def _sent(order: SweepOrder) -> bytes:
    """As bytes for `pickle.loads`; what was typed into a script or notebook goes along as it is."""
    ours = packed(order, imported=True)
    if ours is not None:
        return ours
    try:
        try:
            import cloudpickle
        except ImportError:
            return pickle.dumps(order)
        content: bytes = cloudpickle.dumps(order)
        return content
    except Exception as problem:  # whatever a person's objects do when they are pickled
        raise TypeError(
            f"`policy` and `env` must be things that can be sent to other processes with `on`: {problem}."
        ) from problem


@functools.lru_cache(maxsize=4)
def _unpacked(sent: bytes) -> tuple[SweepOrder, Run]:
    order: SweepOrder = pickle.loads(sent)
    kind, *rest = order.recipe
    return order, kind(*rest)


def _replicated(sent: bytes, piece: range) -> tuple[dict[str, Any], str]:
    """On a worker: the results of some replications, and how they were computed."""
    order, run = _unpacked(sent)
    verbs = numpy_verbs() if order.numpy_verbs else contextlib.nullcontext()
    with np.errstate(**order.on_numbers), verbs:
        parts = parts_of(run, piece, run.loop(order.compiled), order.compiled)
    return parts, arithmetic(order.compiled)


def _compiled_here(sent: bytes, piece: range) -> PackedCode:
    """On one worker for all of its kind."""
    return compiled_code(_unpacked(sent)[1])


def _one_for_all(piece: range) -> Hashable:
    return "loop"


def _name_of(piece: range) -> str:
    return f"replications {piece.start} to {piece.stop - 1}"
