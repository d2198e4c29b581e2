"""LinGame, FWS, RAGE, H-RAGE, Peace and OD-LinBAI against textbook versions, and what only they promise."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import linprog

import noisewise as nw
from noisewise.design.transductive import gaussian_width
from noisewise.policies.registry import rule_named
from noisewise.policies.rules.identification.frank_wolfe_sampling import matrix_game
from noisewise.policies.rules.identification.rage import phase_estimate
from noisewise.policies.shared import alternatives

SOARE = nw.instances.soare(4, angle=0.3).actions.vectors
THETA = np.array([1.0, 0.0, 0.0, 0.0])


def rewards(rounds, seed=0):
    """Noise for so many rounds; its sigma is 1 in these tests."""
    return np.random.default_rng(seed).standard_normal(rounds)


def estimate(vectors, actions, values):
    """Ridge regression with an identity, written out."""
    precision = np.eye(vectors.shape[1])
    total = np.zeros(vectors.shape[1])
    for action, value in zip(actions, values, strict=True):
        precision += np.outer(vectors[action], vectors[action])
        total += value * vectors[action]
    return np.linalg.solve(precision, total), np.linalg.inv(precision)


def alternative(vectors, theta, shares):
    """The cheapest cost, the leader, and all rivals' alternatives, by their definition."""
    moment = (vectors * shares[:, None]).T @ vectors
    inverse = np.linalg.inv(moment + 1e-10 * np.trace(moment) / len(moment) * np.eye(len(moment)))
    leader = int(np.argmax(vectors @ theta))
    found = {}
    for k in range(len(vectors)):
        if k != leader:
            away = vectors[leader] - vectors[k]
            other = theta - (away @ theta) / (away @ inverse @ away) * inverse @ away
            found[k] = other, 0.5 * float(shares @ (vectors @ (theta - other)) ** 2)
    return leader, found


def play_along(policy, decide, rounds, seed):
    """Let a policy and a textbook version measure side by side; both must want the same."""
    actions, values, noise = [], [], rewards(rounds, seed)
    for t in range(rounds):
        wanted = decide(actions, values)
        assert policy.ask() == wanted, t
        value = float(SOARE[wanted] @ THETA + noise[t])
        policy.tell(wanted, value, 1.0)
        actions.append(wanted)
        values.append(value)


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
    play_along(nw.lingame(SOARE, **options), decide, 60, seed=3)


def test_frank_wolfe_sampling_is_the_textbooks():
    n = len(SOARE)
    shares = np.full(n, 1.0 / n)
    seen = {"one": 0, "several": 0}

    def decide(actions, values):
        t = len(actions)
        if t < n:
            return t
        theta, _ = estimate(SOARE, actions, values)
        step = np.full(n, 1.0 / n)
        if math.isqrt(t // n) ** 2 != t // n:
            _, rivals = alternative(SOARE, theta, shares)
            closest = min(cost for _, cost in rivals.values())
            near = [pair for pair in rivals.values() if pair[1] < closest + t**-0.9 / n]
            slopes = np.array([0.5 * (SOARE @ (theta - other)) ** 2 - cost for other, cost in near])
            # Maximise v subject to <step, slopes_j> >= v.
            solved = linprog(
                np.append(np.zeros(n), -1.0),
                A_ub=np.column_stack([-slopes, np.ones(len(near))]),
                b_ub=np.zeros(len(near)),
                A_eq=[[1.0] * n + [0.0]],
                b_eq=[1.0],
                bounds=[(0, None)] * n + [(None, None)],
            )
            step = solved.x[:n]
            seen["one" if len(near) == 1 else "several"] += 1
        shares[:] += (step - shares) / t
        return int(np.argmax(shares / np.bincount(actions, minlength=n)))

    play_along(nw.frank_wolfe_sampling(SOARE), decide, 90, seed=1)
    assert min(seen.values()) > 5, "both kinds of steps must occur"


@pytest.mark.parametrize("shape", [(2, 5), (4, 3), (7, 30), (1, 4), (12, 12)])
def test_the_mixture_of_a_game_has_the_value_of_the_linear_programme(shape):
    rng = np.random.default_rng(shape)
    for _ in range(20):
        payoffs = rng.standard_normal(shape) * 10 ** rng.uniform(-4, 4)
        mixture = matrix_game.best_mixture(payoffs)
        assert mixture.min() >= 0
        assert mixture.sum() == pytest.approx(1.0)
        rows, n = shape
        solved = linprog(
            np.append(np.zeros(n), -1.0),
            A_ub=np.column_stack([-payoffs, np.ones(rows)]),
            b_ub=np.zeros(rows),
            A_eq=[[1.0] * n + [0.0]],
            b_eq=[1.0],
            bounds=[(0, None)] * n + [(None, None)],
        )
        assert (payoffs @ mixture).min() == pytest.approx(-solved.fun, abs=1e-9 * np.abs(payoffs).max())


def test_payoffs_that_are_all_equal_have_a_mixture_too():
    assert matrix_game.best_mixture(np.full((3, 4), 2.5)).sum() == 1.0


def test_copies_of_the_leader_are_no_rivals():
    columns = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    costs = alternatives.costs_of_rivals(columns, np.array([1.0, 1.0, 0.5]), np.eye(2), 0)
    assert costs.tolist() == [np.inf, np.inf, 0.25 / 4]
    for make in (nw.lingame, nw.frank_wolfe_sampling, nw.rage, nw.h_rage):
        policy = make([[1.0, 0.0], [1.0, 0.0]])
        for t in range(6):
            policy.tell(policy.ask(), 0.1 * t, 1.0)


@pytest.mark.parametrize("rule", ["lingame", "frank_wolfe_sampling", "rage"])
def test_units_do_not_matter(rule):
    """Rewards and sigmas in other units: the same questions."""
    unit, rng = 1e-3, np.random.default_rng(5)
    one = nw.make_policy(rule, SOARE)
    other = nw.make_policy(rule, SOARE, ridge=unit**-2.0, norm_bound=unit)
    for _ in range(60):
        action = one.ask()
        assert other.ask() == action
        sigma = float(np.exp(rng.uniform(-2, 0)))
        value = float(SOARE[action] @ THETA + sigma * rng.standard_normal())
        one.tell(action, value, sigma)
        other.tell(action, unit * value, unit * sigma)


def test_many_actions_need_a_single_learner():
    vectors = np.random.default_rng(0).standard_normal((5001, 2))
    with pytest.raises(ValueError, match="use learners='single'"):
        nw.lingame(vectors)
    assert nw.lingame(vectors, learners="single").ask() == 0


def run_until(policy, phase, most=100_000, noise=0.0):
    """Measure what a phased policy asks for until a phase begins."""
    rng = np.random.default_rng(0)
    for _ in range(most):
        action = policy.ask()  # plans on a copy
        policy.tell(action, float(SOARE[action] @ THETA + noise * rng.standard_normal()), 1.0)
        if policy._state.phase[0] >= phase:
            return
    raise AssertionError("the phase never began.")


def test_rage_measures_by_the_transductive_design_as_long_as_published():
    policy = nw.rage(SOARE, delta=0.1)
    design = nw.transductive_design(SOARE, nw.Pairs(SOARE), gap=1e-4)
    n = len(SOARE)
    published = 8 * design.value * 1.1 * math.log(2 * n**2 / 0.05)
    wanted = policy._params.first
    assert wanted.sum() == pytest.approx(published, rel=0.02)
    run_until(policy, 2)
    assert policy.n_told == np.ceil(wanted - 1e-9).sum()
    assert policy.is_candidate(0)


def test_rage_keeps_measuring_what_is_out_and_phased_elimination_does_not():
    """e_2, the second unit vector, cannot be the best, but tells the two that can apart."""
    policy = nw.rage(SOARE, scale=0.7)
    run_until(policy, 3)
    assert not policy.is_candidate(1)
    assert policy.is_candidate(0)
    assert policy._state.wanted[1] > 0.5 * policy._state.wanted.sum()


def test_rage_judges_by_the_phase_or_by_everything():
    """What was told before the last phase counts in one of them only."""
    for judge_by, survives in (("phase", True), ("all", False)):
        policy = nw.rage(SOARE, scale=0.3, judge_by=judge_by)
        run_until(policy, 2)
        # More of a bad action than any phase wants, so it stays out of the phase.
        policy.tell_many([1] * 5, [-1.0] * 5, [1e-3] * 5)
        assert policy.is_candidate(4)
        policy._state.survivors[:] = True
        policy._state.given[:] = policy._state.wanted
        policy._state.sums[:] = 0.5 * policy._state.wanted * SOARE.sum(axis=1)  # none far above another
        policy._state.missing[0] = 0.0
        policy.tell(0, 1.0, 1.0)
        assert policy.is_candidate(1) == survives
    with pytest.raises(ValueError, match="`judge_by` must be one of 'phase', 'all'"):
        nw.rage(SOARE, judge_by="al")


def test_rage_ends_with_the_best_alone():
    env = nw.Environment(SOARE, THETA, np.full(4000, 0.2))
    sim = nw.simulate(
        nw.rage(SOARE), env, horizon=4000, replications=3, stop="gap", eps=1e-12, compiled=False, threads=1
    )
    assert sim.fired.all()
    assert (sim.simple_regret[:, -1] == 0).all()
    assert (sim.bound[:, -1] == 0).all()


def test_h_rage_measures_noisy_actions_more_and_knows_all_differences_equally_well():
    sigmas = np.array([1.0, 4.0, 1.0, 1.0, 0.5])
    policy = nw.h_rage(SOARE, action_sigma=sigmas, delta=0.1)
    wanted = policy._params.first
    precision = (SOARE * wanted[:, None]).T @ SOARE
    apart = (SOARE[:, None] - SOARE[None]).reshape(-1, 4)
    worst = max(float(y @ np.linalg.pinv(precision) @ y) for y in apart)
    assert worst == pytest.approx(0.25 / (3 * math.log(8 * 5 / 0.05)), rel=1e-6)
    # Fewer measurements than by a design that takes all actions for equally noisy, scaled to the same worst.
    blind = nw.h_rage(SOARE, delta=0.1)._params.first
    assert (wanted * sigmas**2).sum() < 0.9 * (blind * sigmas**2).sum()
    with pytest.raises(ValueError, match="`action_sigma` must be 5 finite numbers above 0"):
        nw.h_rage(SOARE, action_sigma=[1.0, 2.0])


def test_h_rage_is_told_the_noise_of_a_simulated_world():
    noise = nw.world.action_noise.named("spread-out")
    env = nw.instances.soare(3).environment(np.ones(30), action_sigma=noise)
    sims = [
        nw.simulate(make(env.actions), env, horizon=30, replications=2, compiled=False, threads=1)
        for make in (nw.rage, nw.h_rage)
    ]
    assert not np.array_equal(sims[0].pulled, sims[1].pulled)


def test_least_squares_of_one_phase():
    given, sums = np.array([2.0, 0.0, 3.0, 0.5, 0.0]), np.array([2.2, 0.0, 0.3, 0.1, 0.0])
    setting = nw.rage(SOARE)._params.setting
    theta, root = phase_estimate(setting, given, sums)
    used = SOARE[[0, 2, 3]]
    assert used @ theta == pytest.approx([1.1, 0.1, 0.2])
    assert used @ root @ root.T @ used.T == pytest.approx(np.diag([1 / 2, 1 / 3, 2]))
    # A quiet round of one action leaves the others known as they were.
    theta, root = phase_estimate(setting, given * [1e20, 0, 1, 1, 0], sums * [1e20, 0, 1, 1, 0])
    assert used @ theta == pytest.approx([1.1, 0.1, 0.2])
    assert used[1:] @ root @ root.T @ used[1:].T == pytest.approx(np.diag([1 / 3, 2]))


def test_a_quiet_round_does_not_make_rage_certain_of_the_rest():
    policy, theta = nw.rage(np.eye(2)), np.array([0.1, 0.9])
    for t in range(110):
        action = policy.ask()
        policy.tell(action, float(theta[action]), 1e-8 if t == 0 else 1.0)
    assert policy.is_candidate(1)


@pytest.mark.parametrize("make", [nw.rage, nw.h_rage])
def test_half_of_delta_is_for_the_phases_whatever_the_radius(make):
    for radius in ("mixture", "paper", "self-normalised"):
        options = {"radius": radius, "sigma_min": 0.1}
        policy = make(np.eye(3), delta=0.1, **options)
        assert policy.estimate().radius == nw.vaee(np.eye(3), delta=0.05, **options).estimate().radius
    assert policy.estimate().delta == 0.1
    assert "nothing is proven" in make(np.eye(3), scale=0.5).estimate().certificate


def test_gaps_of_many_sigmas_and_zero_vectors_do_no_harm():
    theta = np.array([0.9, 0.1])
    policy = nw.frank_wolfe_sampling([[1, 0], [0, 1], [0.7, 0.7]])
    for _ in range(60):
        action = policy.ask()
        policy.tell(action, float(policy.actions.vectors[action] @ theta), 1e-8)
    rng = np.random.default_rng(0)
    policy = nw.lingame(rng.standard_normal((10, 3)), learners="single", optimistic=False)
    for t in range(420):
        action = policy.ask()
        policy.tell(action, rng.standard_normal(), 1.0 if t < 400 else 1e-5)
    assert nw.od_linbai(np.zeros((3, 2)), horizon=20).ask() in range(3)
    vectors = np.vstack([np.zeros((3, 4)), -np.eye(4)])
    policy = nw.od_linbai(vectors, horizon=60)
    for _ in range(60):
        action = policy.ask()
        policy.tell(action, float(vectors[action].sum()), 1.0)
    assert policy.recommend() < 3


def test_od_linbai_halves_down_to_one_within_its_budget():
    rng = np.random.default_rng(2)
    vectors = rng.standard_normal((30, 5))
    theta = rng.standard_normal(5)
    policy = nw.od_linbai(vectors, horizon=200)
    kept = []
    for _ in range(200):
        action = policy.ask()
        assert policy._state.survivors[action], "only survivors are measured"
        policy.tell(action, float(vectors[action] @ theta + 0.1 * rng.standard_normal()), 0.1)
        kept.append(int(policy._state.survivors.sum()))
    assert sorted(set(kept), reverse=True) == [30, 3, 2, 1]
    assert policy.recommend() == int(np.argmax(vectors @ theta))


def test_peace_halves_the_width_in_every_epoch():
    rng = np.random.default_rng(3)
    vectors = rng.standard_normal((25, 4))
    theta = rng.standard_normal(4)
    policy = nw.peace(vectors, horizon=300)
    widths, sizes = [], []
    for _ in range(300):
        action = policy.ask()
        policy.tell(action, float(vectors[action] @ theta + 0.3 * rng.standard_normal()), 0.3)
        survivors = policy._state.survivors
        if not sizes or survivors.sum() != sizes[-1]:
            sizes.append(int(survivors.sum()))
            widths.append(gaussian_width.width_design(vectors, vectors[survivors]).width)
    assert len(sizes) >= 3
    assert all(later <= 0.52 * before for before, later in pairwise(widths))
    assert policy.recommend() == int(np.argmax(vectors @ theta))


def test_the_width_design_is_optimal_and_its_slopes_are_derivatives():
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((12, 3))
    normals = rng.standard_normal((60_000, 3))
    shares = rng.dirichlet(np.ones(12))
    width, slopes = gaussian_width._width_and_slopes(vectors, vectors, shares, normals)
    assert shares @ slopes == pytest.approx(1.0)
    for k in range(12):
        moved = [shares + step * np.eye(12)[k] for step in (1e-4, -1e-4)]
        up, down = (gaussian_width._width_and_slopes(vectors, vectors, s, normals)[0] for s in moved)
        assert (up - down) / 2e-4 == pytest.approx(-0.5 * width * slopes[k], rel=0.05, abs=0.02)
    found = gaussian_width.width_design(vectors, vectors)
    at_the_end, slopes = gaussian_width._width_and_slopes(vectors, vectors, found.shares, normals)
    assert slopes.max() < 1.1  # convex: no shares are better by more than half of that
    assert found.width == pytest.approx(at_the_end**2, rel=0.1)


@pytest.mark.parametrize("rule", ["peace", "od_linbai"])
def test_budgets_must_be_known(rule):
    assert rule_named(rule).needs_horizon
    with pytest.raises(ValueError, match="`horizon` must be given"):
        nw.make_policy(rule, SOARE)
    policy = nw.make_policy(rule, SOARE, horizon=3)
    for _ in range(12):  # beyond the budget it goes on
        policy.tell(policy.ask(), 0.3, 1.0)
