"""Widest measures the action known least; VAEE that explores everything measures the same."""

from tests.support import naive
from tests.support.playing import live_choices, random_problem

import noisewise as nw


def test_it_measures_the_widest_of_the_textbook():
    for seed in range(10):
        vectors, _, sigmas, _ = random_problem(seed, horizon=25)
        policy, history = nw.rules.widest(vectors, ridge=0.6), []
        for sigma in sigmas:
            _, squared_widths, _ = naive.posterior(vectors, history, 0.6)
            action = policy.ask()
            assert action == naive.first_largest(squared_widths)
            history.append((action, 0.0, sigma))
            policy.tell(*history[-1])


def test_vaee_that_explores_everything_measures_the_same():
    for seed in range(5):
        problem = random_problem(seed, horizon=40)
        both = [live_choices(make(problem[0]), *problem) for make in (nw.rules.widest, nw.vaee)]
        assert both[0] == both[1]
