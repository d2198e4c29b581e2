"""Certificates and estimates under heavy tails, judged at a false-alarm probability of 1e-6."""

import numpy as np
import pytest
from scipy import stats

import noisewise as nw

pytestmark = pytest.mark.long("statistics")
REPLICATIONS = 400
#: Misses at delta = 0.05 that a true certificate exceeds with probability below 1e-6.
MOST_MISSES = int(stats.binom.isf(1e-6, REPLICATIONS, 0.05))
LAWS = [
    nw.noise.named("student-t", df=2.1),
    nw.noise.named("pareto", symmetric=False),
    nw.noise.named("contaminated", symmetric=False),
]


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_medians_cover_at_a_fixed_moment(law):
    """Also one-sided tails, after 300 rounds, with a bound that says something."""
    instance = nw.instances.hypercube(3)
    env = instance.environment(nw.schedules.log_uniform, noise=law)
    policy = nw.robust_vaee(instance.actions, estimator="median-of-means")
    sim = nw.simulate(policy, env, horizon=300, replications=REPLICATIONS, checkpoints=[300])
    assert (~sim.covered).sum() <= MOST_MISSES
    assert np.median(sim.bound) < 1.0  # not the trivial bound, 2


@pytest.mark.parametrize("law", LAWS[1:], ids=str)
def test_the_lemmas_certificate_covers_at_every_round(law):
    instance = nw.instances.sphere(20, 3)
    env = instance.environment(nw.schedules.log_uniform, noise=law)
    policy = nw.robust_vaee(instance.actions, floor=True, tau0="lemma")
    sim = nw.simulate(policy, env, horizon=60, replications=REPLICATIONS, checkpoints=np.arange(1, 61))
    assert (sim.distance > sim.radius).any(axis=1).sum() <= MOST_MISSES


@pytest.mark.parametrize("estimator", ["huber", "one-pass"])
@pytest.mark.parametrize("law", ["student-t", "contaminated"])
def test_outliers_do_less_harm_than_to_least_squares(estimator, law):
    """The 99 % quantile of the error at d = 4, T = 300: about half of that of least squares."""
    instance = nw.instances.sphere(30, 4)
    env = instance.environment(nw.schedules.log_uniform, noise=law)
    policies = nw.vaee(instance.actions), nw.robust_vaee(instance.actions, estimator=estimator)
    plain, robust = (
        np.quantile(
            nw.simulate(p, env, horizon=300, replications=REPLICATIONS, checkpoints=[300]).distance, 0.99
        )
        for p in policies
    )
    assert robust < plain / 1.4
