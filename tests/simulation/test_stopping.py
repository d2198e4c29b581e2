"""Stopping rules: when they stop, what is recorded then, and what they promise."""

import math

import numpy as np
import pytest
from scipy import stats
from tests.support.effort import effort

import noisewise as nw

FALSE_ALARM = 1e-6
OPTIONS = {"ridge": 0.5, "norm_bound": 1.5, "delta": 0.1}
#: The longest vector is not of length 1, and sigmas spread over two decades.
VECTORS = np.array([[2.0, 0.1], [0.3, 1.0], [1.2, -1.0], [0.0, 0.4], [1.7, 0.8]])
ENVIRONMENTS = {
    "given": nw.Environment(VECTORS, [0.9, -0.2], nw.schedules.named("log-uniform", low=0.1, high=10.0)),
    "shuffled": nw.instances.soare(3, angle=0.8).environment(np.full(400, 0.7)),
}


def textbook_says_stop(name, eps, vectors, history, advised):
    """Whether to stop, from the measurements alone: full inverses, every comparison written out."""
    n, dim = vectors.shape
    actions, rewards, sigmas = (np.array(column) for column in zip(*history, strict=True))
    rows, weights = vectors[actions], sigmas**-2.0
    precision = OPTIONS["ridge"] * np.eye(dim) + (rows * weights[:, None]).T @ rows
    covariance = np.linalg.inv(precision)
    means = vectors @ covariance @ (rows * weights[:, None]).T @ rewards
    information = np.linalg.slogdet(precision)[1] - dim * math.log(OPTIONS["ridge"])
    bias = OPTIONS["ridge"] * OPTIONS["norm_bound"] ** 2
    radius = math.sqrt(information + 2.0 * math.log(1.0 / OPTIONS["delta"]) + bias)
    if name == "gap":
        slack = radius * np.sqrt([vector @ covariance @ vector for vector in vectors])
        alive = [k for k in range(n) if means[k] + slack[k] >= (means - slack).max()]
        differences = vectors[alive] - vectors[advised]
        widths = np.sqrt([difference @ covariance @ difference for difference in differences])
        return bool((means[alive] - means[advised] + radius * widths).max() <= eps)
    ratios = []
    for k in range(n):
        if k != advised:
            difference = vectors[advised] - vectors[k]
            lead = max(0.0, (eps or 0.0) + means[advised] - means[k])
            ratios.append(lead**2 / (2.0 * difference @ covariance @ difference))
    total = weights.sum() * max(vector @ vector for vector in vectors)
    thresholds = {
        "glr": radius**2 / 2.0,
        "glr-log-log": math.log((1.0 + math.log(max(1.0, total))) / OPTIONS["delta"]),
        "glr-log": math.log((1.0 + total) / OPTIONS["delta"]),
    }
    return min(ratios) > thresholds[name]


@pytest.mark.parametrize("world", ENVIRONMENTS)
@pytest.mark.parametrize("rule", ["round_robin", "widest"])
@pytest.mark.parametrize(
    ("name", "eps"),
    [
        ("glr", None),
        ("glr", 0.3),
        ("gap", 0.9),
        ("glr-log-log", None),
        ("glr-log-log", 0.2),
        ("glr-log", None),
    ],
)
def test_a_run_stops_in_the_round_in_which_the_textbook_stops(name, eps, rule, world):
    env = ENVIRONMENTS[world]
    policy = nw.make_policy(rule, env.actions, **OPTIONS)
    sim = nw.simulate(policy, env, horizon=400, replications=6, stop=name, eps=eps, seed=3)
    assert sim.fired.sum() >= 4
    assert len(set(sim.stopped.tolist())) > 2
    for r in range(sim.replications):
        truth = env.world(400, 3, r)
        live, history = policy.fresh(truth.actions), []
        for t in range(sim.stopped[r]):
            action = live.ask()
            assert truth.order[action] == sim.pulled[r, t]
            reward = float(truth.means[action] + truth.sigma[t] * truth.noise[t])
            live.tell(action, reward, truth.sigma[t])
            history.append((action, reward, truth.sigma[t]))
            stops = textbook_says_stop(name, eps, truth.actions.vectors, history, live.recommend())
            assert stops == (sim.fired[r] and t + 1 == sim.stopped[r]), (r, t)
        assert truth.order[live.recommend()] == sim.advised[r, -1]


@pytest.fixture(scope="module")
def stopped():
    env = ENVIRONMENTS["given"]
    policy = nw.rules.round_robin(env.actions, **OPTIONS)
    return [nw.simulate(policy, env, horizon=25, replications=20, stop=stop) for stop in ("glr", None)]


def test_after_a_stop_the_later_checkpoints_repeat_and_nothing_is_measured(stopped):
    sim, endless = stopped
    assert 0 < sim.fired.sum() < 20
    for r in range(20):
        rounds = sim.stopped[r]
        assert np.array_equal(sim.pulled[r, :rounds], endless.pulled[r, :rounds])
        assert (sim.pulled[r, rounds:] == -1).all()
        later = sim.checkpoints >= rounds
        for name in ("advised", "simple_regret", "cumulative_regret", "total_precision", "radius", "bound"):
            values = getattr(sim, name)[r]
            assert np.array_equal(values[~later], getattr(endless, name)[r][~later])
            assert (values[later] == values[-1]).all()
        precision = (ENVIRONMENTS["given"].sigmas(25, 0, r)[:rounds] ** -2.0).sum()
        assert sim.total_precision[r, -1] == pytest.approx(precision, rel=1e-12)


RUNS = effort(100, 1000)
#: Errors in that many runs at delta = 0.05 that a true promise exceeds with probability below 1e-6.
MOST_ERRORS = int(stats.binom.isf(FALSE_ALARM, RUNS, 0.05))
SPHERE = nw.instances.sphere(10, 3)


@pytest.mark.parametrize("rule", ["round_robin", "vaee"])
def test_glr_stops_with_the_best_action_as_often_as_it_promises(rule):
    """At delta 0.05; false-alarm probability 1e-6."""
    env = SPHERE.environment(nw.schedules.log_uniform)
    sim = nw.simulate(
        nw.make_policy(rule, SPHERE.actions), env, horizon=300, replications=RUNS, stop="glr", seed=4
    )
    assert sim.fired.mean() > 0.8
    assert (sim.fired & (sim.simple_regret[:, -1] > 0.0)).sum() <= MOST_ERRORS


@pytest.mark.parametrize("rule", ["round_robin", "vaee"])
def test_gap_stops_with_a_regret_of_at_most_eps_as_often_as_it_promises(rule):
    """At delta 0.05; false-alarm probability 1e-6. The recorded bound is the promise."""
    env = SPHERE.environment(nw.schedules.log_uniform)
    sim = nw.simulate(
        nw.make_policy(rule, SPHERE.actions), env, horizon=300, replications=RUNS, stop="gap", eps=0.2, seed=4
    )
    assert sim.fired.mean() > 0.8
    assert (sim.bound[sim.fired, -1] <= 0.2).all()
    assert (sim.bound[~sim.fired, -1] > 0.2).all()
    assert (sim.fired & (sim.simple_regret[:, -1] > 0.2)).sum() <= MOST_ERRORS


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            {"stop": "glr-loglog"},
            "`stop` must be one of 'glr', 'gap', 'glr-log-log', 'glr-log'; got 'glr-loglog'. "
            "Did you mean 'glr-log-log'?",
        ),
        ({"stop": "gap"}, "`eps` must be given with `stop='gap'`: the bound to reach; got None."),
        ({"eps": 0.1}, "`eps` must go with `stop`; got 0.1 without it."),
        ({"stop": "glr", "eps": -0.1}, "`eps` must be a finite number above 0; got -0.1."),
    ],
)
def test_bad_stopping_options_get_one_sentence(call, message):
    env = ENVIRONMENTS["given"]
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the text is compared below
        nw.simulate(nw.rules.widest(env.actions), env, horizon=5, **call)
    assert str(caught.value) == message
