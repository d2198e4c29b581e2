"""How often paired bounds are wrong where somebody who knows every answer decides who is told how many items.

The bound on a pair depends on the number of items that both were told, and nothing else. So whoever decides
that can do no worse than pick, of all numbers and all options, the worst: this is what is counted here.
"""

import math

import numpy as np
import pytest
from scipy.stats import binom
from tests.support.effort import effort, long_beyond

from noisewise.study.evidence.items import (
    PLAIN_EDGES,
    SCORE_EDGES,
    Tally,
    add_soft_counts,
    complete,
    cut_of_places,
    cuts,
    lower_limits,
    stakes,
)

STUDIES, OPTIONS, ITEMS, DELTA = effort(45, 150), 3, 80, 0.5
BETS = stakes(0.1)
LEVEL = math.log((OPTIONS - 1) / DELTA)


def worlds(rng, kind):
    """Answers of all options, and their true values; the first option is one of the best."""
    hard = 2.0 * rng.standard_normal(ITEMS)
    if kind == "nearly alike":  # differences are rare, and mostly one way
        answers = np.repeat((rng.random(ITEMS) < 0.7)[None], OPTIONS, axis=0).astype(float)
        flips = rng.random((OPTIONS - 1, ITEMS)) < 0.02
        answers[1:] = np.where(flips, 0.0, answers[1:])
        return answers, np.array([0.7] + [0.7 * 0.98] * (OPTIONS - 1))
    chance = 1.0 / (1.0 + np.exp(-hard))
    if kind == "scores":
        return rng.beta(2.0 * chance + 0.01, 2.0 * (1.0 - chance) + 0.01, (OPTIONS, ITEMS)), np.full(
            OPTIONS, 0.5
        )
    return (rng.random((OPTIONS, ITEMS)) < chance).astype(float), np.full(OPTIONS, 0.5)


def all_lower_limits(values, pool, edges):
    """Lower limits of the mean of a sequence after 1, 2, … items."""
    count = np.arange(1, values.size + 1)
    places = cut_of_places(pool, values.size)
    n_cuts = max(1, cuts(pool).size - 1)
    each = np.zeros((values.size, n_cuts, edges.size))
    for k, counts in enumerate(each):
        add_soft_counts(counts, values[k : k + 1], places[k : k + 1])
    until = np.concatenate([np.zeros((1, *each.shape[1:])), np.cumsum(each, axis=0)])
    weights = until[[complete(pool, int(k)) for k in count]]
    tally = Tally(weights, np.cumsum(values), count.astype(float), edges, pool)
    return lower_limits(tally, np.full(values.size, LEVEL), BETS)


def is_ever_wrong(answers, truth, pool):
    """Whether the best option is ever said to be less far above another than it is."""
    edges = PLAIN_EDGES if np.isin(answers, (0.0, 1.0)).all() else SCORE_EDGES
    for rival in range(1, OPTIONS):
        apart = 0.5 * (1.0 + answers[rival] - answers[0])
        upper = 1.0 - 2.0 * all_lower_limits(apart, pool, edges)
        if (upper < truth[0] - truth[rival] - 1e-9).any():
            return True
    return False


@pytest.mark.parametrize("kind", ["alike but for luck", "nearly alike", "scores"])
@pytest.mark.parametrize("pool", long_beyond(1, [None, ITEMS], "statistics"))
def test_bounds_are_wrong_no_more_often_than_allowed_at_the_worst_moment(kind, pool):
    # Pools take thirty times as long, and scores from them a hundred times.
    studies = STUDIES if pool is None else STUDIES // (15 if kind == "scores" else 5)
    wrong = 0
    for study in range(studies):
        answers, truth = worlds(np.random.default_rng([study, 7]), kind)
        if pool is not None:
            truth = answers.mean(axis=1)
            answers = answers[:, np.random.default_rng([study, 8]).permutation(ITEMS)]
        wrong += is_ever_wrong(answers, truth, pool)
    assert wrong <= binom.ppf(1.0 - 1e-4, studies, DELTA)
    assert wrong > 0 or kind != "alike but for luck"  # or the test could not fail
