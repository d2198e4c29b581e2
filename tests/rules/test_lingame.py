"""LinGame, held to its textbook; what is furthest behind is measured."""

import math

import numpy as np
import pytest
from tests.support.soare import SOARE, alternative, estimate, play_along

import noisewise as nw


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("optimistic", [False, True])
def test_lingame_is_the_textbooks(single, optimistic):
    n = len(SOARE)
    learners, wanted = {}, np.ones(n)

    def decide(actions, values):
        t = len(actions)
        if t < n:
            return t
        theta, covariance = estimate(SOARE, actions, values)
        leader = int(np.argmax(SOARE @ theta))
        losses, doubt = learners.setdefault(0 if single else leader, [np.zeros(n), 0.01])
        rate = math.log(n) / doubt
        shares = np.exp(-rate * (losses - losses.min()))
        shares /= shares.sum()
        _, rivals = alternative(SOARE, theta, shares)
        other, _ = min(rivals.values(), key=lambda pair: pair[1])
        gains = np.abs(SOARE @ (theta - other))
        if optimistic:
            widths = np.einsum("ij,jk,ik->i", SOARE, covariance, SOARE)
            gains = np.minimum((gains + np.sqrt(2 * math.log(t) * widths)) ** 2 / 2, math.log(t))
        else:
            gains = gains**2 / 2
        mixed = -math.log(shares @ np.exp(rate * (gains - gains.max()))) / rate - gains.max()
        learners[0 if single else leader] = [losses - gains, doubt - shares @ gains - mixed]
        wanted[:] += shares
        behind = wanted - np.bincount(actions, minlength=n)
        return int(np.flatnonzero(behind >= behind.max() - 1e-9)[0])  # shares may vanish: then many tie

    options = {"learners": "single" if single else "per-answer", "optimistic": optimistic}
    play_along(nw.rules.lingame(SOARE, **options), decide, 60, seed=3)


def test_lingame_is_not_confused_by_an_action_far_ahead():
    """Quiet measurements that nobody asked for put one action 1e12 ahead; the others still differ."""
    rule = nw.rules.lingame(np.eye(4)).rule
    rule.given[:] = 1e12, 5.0, 7.0, 6.0
    rule.wanted[:] = 1.0, 6.0, 8.5, 6.0
    assert rule.choose(np.ones(4, np.bool_), None) == 2


def test_many_actions_need_a_single_learner():
    vectors = np.random.default_rng(0).standard_normal((5001, 2))
    with pytest.raises(ValueError, match="use learners='single'"):
        nw.rules.lingame(vectors)
    assert nw.rules.lingame(vectors, learners="single").ask() == 0
