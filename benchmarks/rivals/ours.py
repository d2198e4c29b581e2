"""noisewise: a study as the quick start has it; and one that is told its budget."""

from typing import Any

import noisewise as nw
from benchmarks.rivals.player import CONFIDENCE, Clock, Played
from benchmarks.rivals.worlds import COUNTS, ITEMS, Drawn, Result

#: Measurements asked for at once, as many as Ax and BoTorch choose by one fit. All budgets and caps are
#: multiples of it.
BATCH = 5


def begin(drawn: Drawn, **more: Any) -> nw.Study:
    """The question of a world."""
    asked: dict[str, Any] = {"options": drawn.names, "eps": drawn.world.eps, "confidence": CONFIDENCE}
    if drawn.world.features:
        table = {f"x{j}": drawn.x[:, j].tolist() for j in range(drawn.world.features)}
        asked |= {"options": {"id": drawn.names, **table}, "id": "id", "model": "linear"}
        asked["span"] = 2.0  # no two values differ by more: features and weights have length 1
    return nw.create_study(**asked, **more)


class Telling:
    """How results are told in a world: counts as counts, answers by their questions."""

    def __init__(self, drawn: Drawn, study: nw.Study) -> None:
        self._drawn, self._study = drawn, study
        self._place = {name: k for k, name in enumerate(drawn.names)}
        self._asked = dict.fromkeys(drawn.names, 0)

    def option(self, name: str) -> int:
        """Its number."""
        return self._place[name]

    def tell(self, job: Any, result: Result) -> None:
        """One result."""
        kind = self._drawn.world.kind
        if kind == COUNTS:
            self._study.tell(job, successes=sum(result.answers), trials=len(result.answers))
        elif kind == ITEMS:
            first = self._asked[job.option]
            self._asked[job.option] += len(result.answers)
            items = {f"q{first + k}": answer for k, answer in enumerate(result.answers)}
            self._study.tell(job, items=items)
        else:
            self._study.tell(job, result.value, se=result.se)

    def named(self) -> int:
        """The option that the study would take now."""
        certificate = self._study.certificate()
        return self._place[str(certificate.option or certificate.largest_estimate)]


def play(drawn: Drawn) -> Played:
    """Asks as every study does, looks at the certificate after every batch, and stops when it may."""
    world, played = drawn.world, Played(drawn.seed)
    clock, study = Clock(played), begin(drawn)
    telling = Telling(drawn, study)
    while played.decisions < world.budgets[-1] or (played.claimed is None and played.decisions < world.cap):
        _measure(drawn, study, telling, clock)
        played.decisions += BATCH
        with clock:
            certificate = study.certificate()
        if played.claimed is None and certificate.reached:
            played.claimed = played.decisions
            played.claim_loss = drawn.loss(telling.option(str(certificate.option)))
        if played.decisions in world.budgets:
            played.losses.append(drawn.loss(telling.named()))
    return played


def play_with_budget(drawn: Drawn) -> Played:
    """Told how many measurements there will be, it asks for the best choice at their end."""
    played = Played(drawn.seed)
    clock = Clock(played)
    for budget in drawn.world.budgets:
        world = Drawn(drawn.world, drawn.seed)
        study = begin(world, budget=budget)
        telling = Telling(world, study)
        for _ in range(budget // BATCH):
            _measure(world, study, telling, clock)
        played.decisions += budget
        played.losses.append(world.loss(telling.named()))
    return played


def _measure(drawn: Drawn, study: nw.Study, telling: Telling, clock: Clock) -> None:
    """A batch: what is asked for, and its results."""
    with clock:
        jobs = study.ask(BATCH)
    for job in jobs:
        result = drawn.measure(telling.option(job.option))
        with clock:
            telling.tell(job, result)
