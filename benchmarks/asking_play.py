"""One study that asks what to measure, until its certificate is good enough; under this version or 0.1.0.

    python -m benchmarks.asking_play "twenty options" "one by one" 1000 1004

plays seeds 1000 to 1003 of one world and prints one line of JSON.
"""

import inspect
import json
import math
import sys
import time
from typing import Any

from threadpoolctl import threadpool_limits

import noisewise as nw
from benchmarks.asking_worlds import WORLDS, Drawn, World

#: How it can be asked: one measurement at a time; five for which all results come in together; all of a day.
ONE_BY_ONE, BATCHES, WHOLE_DAYS = "one by one", "batches of 5", "whole days"
#: One at a time, by the rule of 0.1.0 and as it was asked then: the rest is owed to the certificates.
OLD_RULE = "the rule of 0.1.0"
SIZE = 5
#: Raised when studies are played differently, so that results that were kept are not taken for present ones.
PLAYED = 1


def play(world: World, way: str, seed: int) -> dict[str, Any]:
    """How many measurements it took, what they cost, and whether the study came to its end."""
    drawn, began = Drawn(world, seed), time.perf_counter()
    rule: dict[str, Any] = {"policy": "vage"} if way == OLD_RULE else {}
    study = nw.create_study(**drawn.question(), **rule)
    is_old = not knows_blocks(study)
    cap = (world.cap_of_old or world.cap) if is_old else world.cap
    place = {name: k for k, name in enumerate(drawn.names)}
    number, cost, reached = 0, 0.0, False
    while number < cap and not reached:
        jobs = _ask(study, drawn, way, number)
        for at, job in enumerate(jobs, start=1):
            option, minus = place[job.option], place.get(getattr(job, "minus", None) or "")
            told: dict[str, Any] = {"se": drawn.sigma(number, option)}
            if world.day:
                told["block"] = drawn.block(number)
            study.tell(job, drawn.value(number, option, minus), **told)
            number, cost = number + 1, cost + float(drawn.costs[option])
            # Of a batch all results come in together.
            reached = (way != BATCHES or at == len(jobs)) and is_done(study, world.eps)
            if reached or number >= cap:
                break
    best = study.certificate().option
    lost = float(drawn.truth.max() - drawn.truth[place[best]]) if best is not None else math.inf
    seconds = time.perf_counter() - began
    return {"seed": seed, "n": number, "cost": cost, "reached": reached, "lost": lost, "seconds": seconds}


def _ask(study: nw.Study, drawn: Drawn, way: str, number: int) -> list[Any]:
    world = drawn.world
    given: dict[str, Any] = {}
    if world.announced:
        given["sigma"] = drawn.sigma(number)
    if world.day and way != OLD_RULE and knows_blocks(study):
        given["block"] = drawn.block(number)
    if world.differences:
        given["probe"] = "difference"
    if way == WHOLE_DAYS:
        return study.ask(world.day, **given)
    return study.ask(SIZE if way == BATCHES else 1, **given)


def knows_blocks(study: nw.Study) -> bool:
    """Whether this version can be told in which block the coming measurements will be."""
    return "block" in inspect.signature(study.ask).parameters


def is_done(study: nw.Study, eps: float) -> bool:
    """Whether ``study.certificate().bound <= eps``."""
    return study.certificate().bound <= eps


def main() -> None:
    """Some seeds of one world."""
    name, way, first, last = sys.argv[1:]
    with threadpool_limits(1):
        runs = [play(WORLDS[name], way, seed) for seed in range(int(first), int(last))]
    print(json.dumps({"runs": runs}))


if __name__ == "__main__":
    main()
