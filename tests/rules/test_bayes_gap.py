"""BayesGap against its textbook version."""

import math

import numpy as np
import pytest
from tests.support import naive
from tests.support.playing import random_history

import noisewise as nw


@pytest.mark.parametrize("horizon", [None, 60])
@pytest.mark.parametrize("seed", range(5))
def test_bayes_gap_is_the_textbooks(seed, horizon):
    vectors, history = random_history(seed)
    policy = nw.rules.bayes_gap(vectors, eps=0.05, horizon=horizon)
    smallest, safest = math.inf, None
    for t, item in enumerate(history):
        policy.tell(*item)
        means, squared_widths, information = naive.posterior(vectors, history[: t + 1], 1.0)
        widths = np.sqrt(squared_widths)

        def gap(slack, means=means):
            others = [max((means + slack)[j] for j in range(9) if j != k) for k in range(9)]
            return np.array(others) - (means - slack)

        hardness = (np.maximum((gap(3 * widths) + 0.05) / 2, 0.05) ** -2.0).sum()
        weight = np.mean([sigma**-2.0 for _, _, sigma in history[: t + 1]])
        kappa = (1 / (vectors**2).sum(axis=1)).sum()
        rounds = 2 * (t + 1) if horizon is None else horizon
        beta = math.sqrt((max(0, rounds - 9) * weight + kappa) / (4 * hardness))
        worst = gap(beta * widths)
        best = int(worst.argmin())
        rival = max((k for k in range(9) if k != best), key=lambda k: means[k] + beta * widths[k])
        assert policy.ask() == (best if widths[best] >= widths[rival] else rival)
        if worst[best] <= smallest:
            smallest, safest = worst[best], best
        radius = math.sqrt(information + 2 * math.log(20) + 1)
        possible = means + radius * widths >= (means - radius * widths).max()
        expected = safest if possible[safest] else int(np.where(possible, means, -np.inf).argmax())
        assert policy.recommend() == expected
