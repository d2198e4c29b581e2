"""An A/B/n test: all options in turn, and Bonferroni's correction over what is compared."""

from statistics import NormalDist

import numpy as np

from benchmarks.rivals.player import CONFIDENCE, Clock, Played, Tally
from benchmarks.rivals.worlds import COUNTS, ITEMS, READINGS, Drawn, World

#: Rounds before the first look of those who peek; fewer say nothing about a scatter.
FIRST_LOOK = 5


def quantile(comparisons: int) -> float:
    """Of the normal distribution, one-sided, for so many comparisons at once."""
    return NormalDist().inv_cdf(1.0 - (1.0 - CONFIDENCE) / comparisons)


def planned_variance(world: World) -> float:
    """Of one measurement, as it is known before the test: the largest that the world allows."""
    if world.kind == READINGS:
        return world.se[1] ** 2
    largest = min(0.5, world.shares[1]) if world.kind == COUNTS else 0.5
    return largest * (1.0 - largest) / world.batch


def play(drawn: Drawn) -> Played:
    """One look, planned: it ends when every difference is known to within eps, whatever its value.

    All K (K - 1) ordered pairs are corrected for, because which one matters is known only afterwards. Where
    error bars differ, they are added up as they come; they do not depend on values: it is one look.
    """
    world = drawn.world
    played, tally = Played(drawn.seed), Tally(world)
    z, clock, variance = quantile(world.options * (world.options - 1)), Clock(played), planned_variance(world)
    while played.claimed is None:
        option = played.decisions % world.options
        result = drawn.measure(option)
        with clock:
            tally.add(option, result)
        played.decisions += 1
        if played.decisions in world.budgets:
            played.losses.append(drawn.loss(int(np.argmax(tally.means))))
        if option == world.options - 1:
            squares = tally.errors**2 if tally.known else variance / tally.count
            worst = np.sort(squares)[-2:].sum() ** 0.5
            if z * worst <= world.eps or played.decisions >= world.cap:
                played.claimed = played.decisions if z * worst <= world.eps else -1
                played.claim_loss = drawn.loss(int(np.argmax(tally.means)))
    return _finished(played, drawn, tally)


def _finished(played: Played, drawn: Drawn, tally: Tally) -> Played:
    """Goes on to the last budget, and knows that a cap is no claim."""
    for number in range(played.decisions + 1, drawn.world.budgets[-1] + 1):
        option = (number - 1) % drawn.world.options
        tally.add(option, drawn.measure(option))
        if number in drawn.world.budgets:
            played.losses.append(drawn.loss(int(np.argmax(tally.means))))
    if played.claimed == -1:
        played.claimed = played.claim_loss = None
    return played


def play_peeking(drawn: Drawn) -> Played:
    """The same, looked at after every round, and stopped when the leader is clear of all others but for eps.

    It corrects for the other options and not for the looks, as most people do.
    """
    world, played = drawn.world, Played(drawn.seed)
    tally, clock, z = Tally(world), Clock(played), quantile(world.options - 1)
    rounds: list[list[tuple[int, ...]]] = []
    while played.claimed is None and played.decisions + world.options <= world.cap:
        results = [drawn.measure(option) for option in range(world.options)]
        played.decisions += world.options
        with clock:
            for option, result in enumerate(results):
                tally.add(option, result)
            rounds.append([result.answers for result in results])
            leader = int(np.argmax(tally.means))
            if len(rounds) >= FIRST_LOOK and _is_clear(tally, leader, z, world, rounds):
                played.claimed, played.claim_loss = played.decisions, drawn.loss(leader)
    return played


def _is_clear(tally: Tally, leader: int, z: float, world: World, rounds: list[list[tuple[int, ...]]]) -> bool:
    """Whether nobody can be above the leader by more than eps, each difference having its own error bar."""
    others = np.arange(world.options) != leader
    ahead = tally.means[leader] - tally.means[others]
    if world.kind == ITEMS:  # question by question: what all answer alike cancels
        answers = np.concatenate(np.array(rounds), axis=1)  # options by questions
        apart = answers[[leader]] - answers[others]
        errors = apart.std(axis=1, ddof=1) / np.sqrt(answers.shape[1])
    else:
        errors = np.hypot(tally.errors[leader], tally.errors[others])
    return bool(np.all(ahead + world.eps >= z * errors))
