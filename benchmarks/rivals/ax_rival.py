"""Ax with standard errors: its Thompson sampler with empirical Bayes, set to find the best (its top two)."""

import numpy as np
from ax.generators.discrete.eb_thompson import EmpiricalBayesThompsonSampler

from benchmarks.rivals.player import Clock, Played, Tally
from benchmarks.rivals.worlds import Drawn, Floats

#: Measurements that are chosen by one fit.
BATCH = 5
SAMPLES = 2000


def play(drawn: Drawn) -> Played:
    """Every option once, then batches drawn by its weights.

    Named is the option with the largest of its shrunken means.
    """
    world, played = drawn.world, Played(drawn.seed)
    np.random.seed(drawn.seed)  # noqa: NPY002 - the sampler draws from it
    rng = np.random.default_rng(drawn.seed)
    clock, tally = Clock(played), Tally(world)
    coming = list(range(world.options))
    while played.decisions < world.budgets[-1]:
        if not coming:
            with clock:
                coming = rng.choice(world.options, BATCH, p=_weights(tally)).tolist()
        option = coming.pop(0)
        tally.add(option, drawn.measure(option))
        played.decisions += 1
        if played.decisions in world.budgets:
            arms = [[k] for k in range(world.options)]
            played.losses.append(drawn.loss(int(np.argmax(_fitted(tally).predict(arms)[0]))))
    return played


def _fitted(tally: Tally) -> EmpiricalBayesThompsonSampler:
    """On the mean of each option with its variance, shrunken as it does by itself."""
    arms = [[k] for k in range(tally.count.size)]
    model = EmpiricalBayesThompsonSampler(num_samples=SAMPLES, min_weight=0.0, topk=2)
    variances = np.maximum(tally.errors, 1e-6) ** 2
    model.fit([arms], [tally.means.tolist()], [variances.tolist()], [list(range(len(arms)))], ["value"])
    return model


def _weights(tally: Tally) -> Floats:
    """How often each option is among the best two of a draw from the posterior."""
    many = tally.count.size
    _, _, about = _fitted(tally).gen(
        n=many, parameter_values=[list(range(many))], objective_weights=np.ones(1)
    )
    weights: Floats = np.zeros(many)
    for (arm,), weight in about["arms_to_weights"]:
        weights[int(arm)] = weight
    return np.asarray(weights / weights.sum())
