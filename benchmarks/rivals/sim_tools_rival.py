"""Ranking and selection by the package sim-tools: KN claims with a confidence, OCBA spends a budget."""

from time import process_time
from typing import Any

import numpy as np
from sim_tools.ovs.fixed_budget import OCBA
from sim_tools.ovs.indifference_zone import KN

from benchmarks.rivals.player import CONFIDENCE, Played
from benchmarks.rivals.worlds import Drawn

#: First replications of each option: ten for KN; five, the least, for OCBA; then those at a time for OCBA.
FIRST_KN, FIRST_OCBA, STEP = 10, 5, 10
#: Added to all values: its running variances take absolute values of means, right if none is negative.
RAISED = 100.0


class Model:
    """A world as sim-tools wants to see one."""

    def __init__(self, drawn: Drawn) -> None:
        self._drawn = drawn
        self._observers: list[Any] = []

    def register_observer(self, observer: Any) -> None:
        """Who is told of every observation."""
        self._observers.append(observer)

    def simulate(self, design: int) -> None:
        """One replication; nobody waits for more than the cap."""
        if self._drawn.number >= self._drawn.world.cap:
            raise TimeoutError
        value = self._drawn.measure(int(design)).value + RAISED
        for observer in self._observers:
            observer.feedback(self, int(design), value)


def play_kn(drawn: Drawn) -> Played:
    """Kim and Nelson's procedure: eps is its indifference zone, and it ends with one option."""
    played, world = Played(drawn.seed), drawn.world
    began = process_time()
    procedure = KN(
        Model(drawn), world.options, delta=world.eps, alpha=1.0 - CONFIDENCE, n_0=FIRST_KN, obj="max"
    )
    try:
        (option,) = procedure.solve()
    except TimeoutError:
        pass
    else:
        played.claimed, played.claim_loss = drawn.number, drawn.loss(int(option))
    played.decisions, played.seconds = drawn.number, process_time() - began
    return played


def play_ocba(drawn: Drawn) -> Played:
    """Optimal computing budget allocation, once for each budget that allows for its first replications."""
    played, world = Played(drawn.seed), drawn.world
    for budget in world.budgets:
        if budget < FIRST_OCBA * world.options:
            played.losses.append(float("nan"))
            continue
        again = Drawn(world, drawn.seed)
        began = process_time()
        step = STEP if (budget - FIRST_OCBA * world.options) % STEP == 0 else 1
        with np.errstate(divide="ignore", invalid="ignore"):
            option = OCBA(
                Model(again), world.options, budget=budget, delta=step, n_0=FIRST_OCBA, obj="max"
            ).solve()
        played.seconds += process_time() - began
        played.decisions += again.number
        played.losses.append(again.loss(int(option)))
    return played
