"""`check_rule_on_sets`: what a policy promises where actions are vectors and an oracle knows them all."""

import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from noisewise.actions import Ball, Hypercube, OracleSet
from noisewise.core.blocks import Floats
from noisewise.rules import Policy, load_policy
from noisewise.simulation import instances, schedules, simulate
from noisewise.testing.contract import SCRATCH, same, state_of

#: Makes the policy under test on the given set.
MakeSetPolicy = Callable[[OracleSet], Any]
#: How closely two ways to the same vector must agree.
AGREEMENT = 1e-6
#: The slot of the vector that is being learnt, and what is known of it: scratch like the rest.
SLOT = (*SCRATCH, "squared_widths", "means", "floors")


class VectorHistory(NamedTuple):
    """Measurements of vectors of a set."""

    actions: OracleSet
    vectors: list[Floats]
    rewards: list[float]
    sigmas: list[float]


def check_rule_on_sets(make_policy: MakeSetPolicy) -> None:
    """Run every check on the policies that ``make_policy(a set)`` makes.

    Example:
        >>> import noisewise as nw
        >>> check_rule_on_sets(nw.vagd)
        Traceback (most recent call last):
        ...
        ValueError: `actions` must be a list of vectors for 'vagd', which looks at every action; got \
Ball(3, radius=1). (nw.vaee runs on it.)
    """
    for check in SET_CHECKS:
        check(make_policy)


def random_vectors(seed: int, actions: OracleSet, length: int = 20, surprise: float = 1.0) -> VectorHistory:
    """Measurements of random vectors with sigmas from 0.05 to 2 and noise of ``surprise`` sigmas."""
    rng = np.random.default_rng(seed)
    theta = rng.standard_normal(actions.dim)
    theta /= np.linalg.norm(theta)
    vectors = [actions.best(rng.standard_normal(actions.dim)).vector for _ in range(length)]
    sigma = np.exp(rng.uniform(math.log(0.05), math.log(2.0), length))
    noise = surprise * sigma * rng.standard_normal(length)
    rewards = [float(vector @ theta + extra) for vector, extra in zip(vectors, noise, strict=True)]
    return VectorHistory(actions, vectors, rewards, sigma.tolist())


def replay_vectors(make_policy: MakeSetPolicy, history: VectorHistory, order: Any = None) -> Policy:
    """A policy that was told the history, perhaps in another order."""
    policy: Policy = make_policy(history.actions)
    for t in range(len(history.vectors)) if order is None else order:
        policy.tell(history.vectors[t], history.rewards[t], history.sigmas[t])
    return policy


def check_asking_for_a_vector_changes_nothing(make_policy: MakeSetPolicy) -> None:
    """Asking, recommending and estimating leave no trace, with and without pending measurements."""
    for actions in (Ball(3), Hypercube(4)):
        policy = replay_vectors(make_policy, random_vectors(1, actions))
        before = _arrays(policy)
        first = policy.ask()
        policy.ask(pending=[first, (first, 0.2)])
        policy.is_candidate(policy.recommend())
        policy.estimate()
        assert np.array_equal(policy.ask(), first), "asking twice gave two answers."
        _assert_same(_arrays(policy), before, "asking changed")


def check_vectors_are_in_the_set(make_policy: MakeSetPolicy) -> None:
    """What is asked for and recommended is in the set."""
    for actions in (Ball(3), Hypercube(4)):
        policy = replay_vectors(make_policy, random_vectors(2, actions))
        assert actions.contains(policy.ask()), "a vector outside the set was asked for."
        assert actions.contains(policy.recommend()), "a vector outside the set was recommended."


def check_the_recommended_vector_is_a_candidate(make_policy: MakeSetPolicy) -> None:
    """What is recommended may still be the best, and no regret found is above the bound."""
    for seed in range(5):
        history = random_vectors(seed, (Ball(3), Hypercube(4))[seed % 2], surprise=3.0)
        policy: Policy = make_policy(history.actions)
        for vector, reward, sigma in zip(*history[1:], strict=True):
            policy.tell(vector, reward, sigma)
            assert policy.is_candidate(policy.recommend()), "an eliminated vector is recommended."
        estimate = policy.estimate()
        assert 0.0 <= estimate.regret_found <= estimate.regret_bound or math.isnan(estimate.radius)


def check_vectors_replay(make_policy: MakeSetPolicy) -> None:
    """Copying, saving, and telling again lead to the same next vector; copies are independent."""
    history = random_vectors(3, Ball(3))
    whole = replay_vectors(make_policy, history)
    part = replay_vectors(make_policy, history, range(7)).copy()
    twin = part.copy()
    for t in range(7, len(history.vectors)):
        part.tell(history.vectors[t], history.rewards[t], history.sigmas[t])
    assert np.array_equal(part.ask(), whole.ask()), "resuming a copy differs."
    assert twin.n_told == 7, "a copy changed with its original."
    with tempfile.TemporaryDirectory() as folder:
        whole.save(Path(folder) / "policy.npz")
        loaded = load_policy(Path(folder) / "policy.npz")
    for _ in range(3):
        vector = whole.ask()
        assert np.array_equal(loaded.ask(), vector), "a loaded policy asks for something else."
        for policy in (whole, loaded):
            policy.tell(vector, 0.1, 0.3)
    _assert_same(_arrays(loaded), _arrays(whole), "a loaded policy differs in")


def check_vectors_and_sigma(make_policy: MakeSetPolicy) -> None:
    """A rule that sees sigma believes differently when it changes; one that never does, does not."""
    history = random_vectors(4, Ball(3))
    doubled = history._replace(sigmas=[s * (1.0 + t % 3) for t, s in enumerate(history.sigmas)])
    one, two = replay_vectors(make_policy, history), replay_vectors(make_policy, doubled)
    changed = not np.allclose(one.estimate().theta, two.estimate().theta, rtol=1e-9, atol=0.0)
    assert changed == (one.rule.sees_sigma != "never"), "what is seen of sigma is not what is declared."


def check_simulated_vectors(make_policy: MakeSetPolicy) -> None:
    """A simulation is the live policy repeated, and does not depend on the number of replications."""
    instance = instances.random_parameter(Ball(3))
    policy: Policy = make_policy(instance.actions)
    env = instance.environment(schedules.log_uniform)
    few = simulate(policy, env, horizon=8, replications=2, seed=5)
    many = simulate(policy, env, horizon=8, replications=4, seed=5)
    assert np.array_equal(few.pulled, many.pulled[:2]), "replications depend on how many there are."
    assert few.pulled.shape == (2, 8, 3)
    if policy.rule.random:
        return  # live and simulated draws are different streams
    world = env.set_world(8, 5, 0)
    for t in range(8):
        vector = policy.ask()
        assert _near(vector, few.pulled[0, t]), f"round {t} differs between live and simulated."
        policy.tell(vector, float(vector @ world.theta + world.sigma[t] * world.noise[t]), world.sigma[t])
    assert _near(policy.recommend(), few.advised[0, -1])


def check_bad_vectors_change_nothing(make_policy: MakeSetPolicy) -> None:
    """A refused measurement raises ValueError or TypeError and leaves no trace."""
    policy = replay_vectors(make_policy, random_vectors(5, Ball(3)))
    before = _arrays(policy)
    inside = np.array([0.5, 0.0, 0.0])
    bad: list[tuple[Any, Any, Any]] = [
        (2.0 * np.ones(3), 1.0, 1.0),
        (np.ones(2), 1.0, 1.0),
        ([0.1, math.nan, 0.0], 1.0, 1.0),
        (0, 1.0, 1.0),
        ("a", 1.0, 1.0),
        (inside, math.nan, 1.0),
        (inside, 1.0, 0.0),
        (inside, 1.0, -0.3),
    ]
    for measurement in bad:
        try:
            policy.tell(*measurement)
        except (ValueError, TypeError):
            continue
        raise AssertionError(f"tell{measurement} was accepted.")
    _assert_same(_arrays(policy), before, "a refused measurement changed")
    policy.tell(2.0 * np.ones(3), 1.0, 1.0, strict=False)


def _arrays(policy: Any) -> dict[str, Any]:
    return state_of(policy, SLOT)


def _assert_same(now: dict[str, Any], before: dict[str, Any], what: str) -> None:
    for name, array in before.items():
        assert same(now[name], array), f"{what} {name}."


def _near(one: Any, two: Any) -> bool:
    return bool(np.allclose(one, two, rtol=AGREEMENT, atol=AGREEMENT, equal_nan=True))


#: All checks, each a function of ``make_policy``.
SET_CHECKS: tuple[Callable[[MakeSetPolicy], None], ...] = (
    check_asking_for_a_vector_changes_nothing,
    check_vectors_are_in_the_set,
    check_the_recommended_vector_is_a_candidate,
    check_vectors_replay,
    check_vectors_and_sigma,
    check_simulated_vectors,
    check_bad_vectors_change_nothing,
)
