"""Ax with standard errors: its Thompson sampler with empirical Bayes, set to find the best (its top two)."""

import numpy as np
from ax.generators.discrete.eb_thompson import EmpiricalBayesThompsonSampler

from benchmarks.rivals.player import Clock, Played, Tally
from benchmarks.rivals.worlds import READINGS, Drawn, Floats

#: Measurements that are chosen by one fit.
BATCH = 5
SAMPLES = 2000


def play(drawn: Drawn) -> Played:
    """Every option once (twice where error bars are not known), then batches drawn by its weights."""
    world, played = drawn.world, Played(drawn.seed)
    np.random.seed(drawn.seed)  # noqa: NPY002 - the sampler draws from it
    rng, known = np.random.default_rng(drawn.seed), world.kind == READINGS
    clock, tally = Clock(played), Tally(world.options, known=known)
    coming = list(range(world.options)) * (1 if known else 2)
    while played.decisions < world.budgets[-1]:
        if not coming:
            with clock:
                coming = rng.choice(world.options, BATCH, p=_weights(tally)).tolist()
        option = coming.pop(0)
        tally.add(option, drawn.measure(option))
        played.decisions += 1
        if played.decisions in world.budgets:
            played.losses.append(drawn.loss(int(np.argmax(tally.means))))
    return played


def _weights(tally: Tally) -> Floats:
    """How often each option is among the best two of a draw from the posterior."""
    arms = [[k] for k in range(tally.count.size)]
    model = EmpiricalBayesThompsonSampler(num_samples=SAMPLES, min_weight=0.0, topk=2)
    variances = np.maximum(tally.errors, 1e-6) ** 2
    model.fit([arms], [tally.means.tolist()], [variances.tolist()], [list(range(len(arms)))], ["value"])
    _, _, about = model.gen(
        n=len(arms), parameter_values=[list(range(len(arms)))], objective_weights=np.ones(1)
    )
    weights: Floats = np.zeros(len(arms))
    for (arm,), weight in about["arms_to_weights"]:
        weights[int(arm)] = weight
    return np.asarray(weights / weights.sum())
