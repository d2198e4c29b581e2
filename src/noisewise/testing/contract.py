"""`check_rule`: everything that the shell, the simulator and a study rely on when they run a rule.

Each check raises AssertionError with a sentence if the rule breaks its promise.
"""

import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from noisewise.rules import Policy, load_policy
from noisewise.simulation import Environment, instances, schedules, simulate

#: Makes the policy under test on the given actions.
MakePolicy = Callable[[Any], Policy]
#: How closely two ways to the same state must agree, relative to the largest entry.
AGREEMENT = 1e-6
#: Noise that contradicts the error bars: what an early measurement ruled out, a later one would not.
SURPRISE = 30.0
#: Arrays of a model that may hold anything between two measurements.
SCRATCH = (
    "scratch",
    "halves",
    "batch",
    "half",
    "step",
    "row",
    "room",
    "rows",
    "influence",
    "columns",
    "actions",
)
#: Histories tried to find one where an undeclared property fails.
TRIES = 24
#: The last of them are long: a rule may first measure every action once.
LENGTHS = [30] * (TRIES - 4) + [90] * 4
#: Seeds tried on each of them if the rule makes random choices.
SEEDS = 10


class ToldHistory(NamedTuple):
    """Measurements of some actions."""

    vectors: Any  # (n, dim)
    actions: list[int]
    rewards: list[float]
    sigmas: list[float]


def check_rule(make_policy: MakePolicy) -> None:
    """Run every check on the policies that ``make_policy(actions)`` makes.

    Example:
        >>> import noisewise as nw
        >>> check_rule(nw.rules.round_robin)
    """
    for check in CHECKS:
        check(make_policy)


def random_history(seed: int, length: int = 30, surprise: float = 1.0) -> ToldHistory:
    """Measurements of random actions with sigmas from 0.05 to 2 and noise of ``surprise`` sigmas."""
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((12, 4))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    theta = rng.standard_normal(4)
    theta /= np.linalg.norm(theta)
    actions = rng.integers(0, len(vectors), length)
    sigma = np.exp(rng.uniform(math.log(0.05), math.log(2.0), length))
    rewards = vectors[actions] @ theta + surprise * sigma * rng.standard_normal(length)
    return ToldHistory(vectors, actions.tolist(), rewards.tolist(), sigma.tolist())


def replay(make_policy: MakePolicy, history: ToldHistory, order: Any = None) -> Policy:
    """A policy that was told the history, perhaps in another order."""
    policy = make_policy(history.vectors)
    for t in range(len(history.actions)) if order is None else order:
        policy.tell(history.actions[t], history.rewards[t], history.sigmas[t])
    return policy


def check_asking_changes_nothing(make_policy: MakePolicy) -> None:
    """Asking, recommending and estimating leave no trace, with and without pending measurements."""
    policy = replay(make_policy, random_history(1))
    before = state_of(policy)
    announced = _announced(policy)
    first = policy.ask(announced)
    policy.ask(announced, pending=[0, (1, 0.2)])
    policy.recommend()
    policy.estimate()
    assert policy.ask(announced) == first, "asking twice gave two answers."
    for name, array in state_of(policy).items():
        assert same(array, before[name]), f"asking changed {name}."


def check_answers_are_actions(make_policy: MakePolicy) -> None:
    """The answers are rows of the set, and an allowed one if only some are allowed."""
    policy = replay(make_policy, random_history(2))
    announced = _announced(policy)
    n = policy.actions.n_actions
    assert 0 <= policy.ask(announced) < n
    assert 0 <= policy.recommend() < n
    for subset in ([3], [5, 7], [0, 11]):
        chosen = policy.ask(announced, allowed=subset)
        assert chosen in subset, f"asked for one of {subset}, got {chosen}."


def check_candidates_contain_the_recommendation(make_policy: MakePolicy) -> None:
    """What is recommended may still be the best, and the bound is a number of at least 0."""
    for seed in range(10):
        history = random_history(seed)
        policy = make_policy(history.vectors)
        for t in range(len(history.actions)):
            policy.tell(history.actions[t], history.rewards[t], history.sigmas[t])
            estimate = policy.estimate()
            assert estimate.candidates[estimate.recommended], "an eliminated action is recommended."
            assert estimate.regret_bound >= 0.0 or math.isnan(estimate.radius)


def check_replay_gives_the_same_next_action(make_policy: MakePolicy) -> None:
    """Any split of a history, by copy or by telling again, gives the same next action."""
    for seed in range(5):
        history = random_history(seed)
        whole = replay(make_policy, history)
        announced = _announced(whole)
        for split in (0, 1, 17):
            part = replay(make_policy, history, range(split)).copy()
            for t in range(split, len(history.actions)):
                part.tell(history.actions[t], history.rewards[t], history.sigmas[t])
            assert part.ask(announced) == whole.ask(announced), f"resuming after {split} differs."
            assert part.recommend() == whole.recommend()


def check_saved_equals_original(make_policy: MakePolicy) -> None:
    """A policy that was saved and loaded goes on exactly like the original."""
    policy = replay(make_policy, random_history(3))
    announced = _announced(policy)
    with tempfile.TemporaryDirectory() as folder:
        policy.save(Path(folder) / "policy.npz")
        loaded = load_policy(Path(folder) / "policy.npz")
    for _ in range(5):
        action = policy.ask(announced)
        assert loaded.ask(announced) == action, "a loaded policy asks for something else."
        for twin in (policy, loaded):
            twin.tell(action, 0.1, 0.3)
    restored = state_of(loaded)
    for name, array in state_of(policy).items():
        assert same(array, restored[name]), f"{name} was not restored."


def check_what_is_seen_of_sigma(make_policy: MakePolicy) -> None:
    """A rule that sees sigma answers differently when it changes; one that never does, does not."""
    changed, announced_matters = False, False
    for seed in range(TRIES):
        history = random_history(seed)
        doubled = history._replace(sigmas=[s * (1.0 + (t % 3)) for t, s in enumerate(history.sigmas)])
        one, two = replay(make_policy, history), replay(make_policy, doubled)
        changed |= not np.allclose(one.estimate().means, two.estimate().means, rtol=1e-9, atol=0.0)
        if one.rule.foresees:
            announced_matters |= one.ask(1e-3) != one.ask(1e3)
        if changed and (announced_matters or not one.rule.foresees):
            break  # further histories cannot change the verdict
    rule = make_policy(random_history(0).vectors).rule
    sees = rule.sees_sigma
    assert changed == (sees != "never"), f"declared to see sigma {sees!r}, but that is not what happens."
    assert announced_matters or not rule.foresees, "the announced sigma never changed the choice."


def check_pooling(make_policy: MakePolicy) -> None:
    """``pools``: measurements of one action may be replaced by their weighted mean."""

    def holds(seed: int) -> bool:
        history = random_history(seed, LENGTHS[seed], surprise=SURPRISE)
        return _agree(replay(make_policy, history), replay(make_policy, pooled(history)))

    agrees = all(holds(seed) for seed in range(TRIES))
    declared = make_policy(random_history(0).vectors).rule.pools
    assert agrees or not declared, "`pools` is declared but does not hold."
    assert declared or not agrees, "`pools` holds but is not declared."


def check_simulation_does_not_depend_on_workers(make_policy: MakePolicy) -> None:
    """A seed gives the same run, whatever the number of workers and replications."""
    instance = instances.sphere(20, 3)
    policy = make_policy(instance.actions)
    announced = policy.rule.sees_sigma == "before"
    env: Environment = instance.environment(schedules.log_uniform, announced=announced)
    few = simulate(policy, env, horizon=20, replications=3, seed=5, on=1)
    with ThreadPoolExecutor(3) as pool:
        many = simulate(policy, env, horizon=20, replications=20, seed=5, on=pool)
    assert np.array_equal(few.pulled, many.pulled[:3]), "replications depend on how many there are."


def check_bad_measurements_change_nothing(make_policy: MakePolicy) -> None:
    """A refused measurement raises ValueError or TypeError and leaves no trace."""
    policy = replay(make_policy, random_history(4))
    before = state_of(policy)
    bad: list[tuple[Any, Any, Any]] = [
        (0, math.nan, 1.0),
        (0, math.inf, 1.0),
        (0, 1.0, 0.0),
        (0, 1.0, -0.3),
        (0, 1.0, math.nan),
        (12, 1.0, 1.0),
        (-1, 1.0, 1.0),
        (0.5, 1.0, 1.0),
        (0, "1.0", 1.0),
    ]
    for measurement in bad:
        try:
            policy.tell(*measurement)
        except (ValueError, TypeError):
            continue
        raise AssertionError(f"tell{measurement} was accepted.")
    for name, array in state_of(policy).items():
        assert same(array, before[name]), f"a refused measurement changed {name}."


def pooled(history: ToldHistory) -> ToldHistory:
    """A history with the same information and one measurement per action."""
    sums: dict[int, list[float]] = {}
    for action, reward, sigma in zip(history.actions, history.rewards, history.sigmas, strict=True):
        entry = sums.setdefault(action, [0.0, 0.0])
        entry[0] += sigma**-2.0
        entry[1] += reward * sigma**-2.0
    return ToldHistory(
        history.vectors,
        list(sums),
        [weighted / weight for weight, weighted in sums.values()],
        [weight**-0.5 for weight, _ in sums.values()],
    )


def _announced(policy: Policy) -> float | None:
    """A sigma for rules that are told it before the choice."""
    return 0.3 if policy.rule.foresees else None


def state_of(policy: Policy, left_out: Sequence[str] = SCRATCH) -> dict[str, Any]:
    """Copies of the numbers and arrays that a rule keeps, by their dotted names."""
    rule = policy.rule
    kept = {
        name: value for name, value in vars(rule).items() if name not in (*rule._prepared, "rng", "inner")
    }
    return dict(_flat("", kept | vars(getattr(rule, "inner", rule.model)), left_out))


def _flat(name: str, value: Any, left_out: Sequence[str]) -> Iterator[tuple[str, Any]]:
    if name.rsplit(".", 1)[-1] in left_out:
        return
    if isinstance(value, np.ndarray):
        yield name, value.copy()
    elif isinstance(value, dict | list | tuple) or hasattr(value, "__dict__"):
        pairs: Any = vars(value).items() if hasattr(value, "__dict__") else None
        if isinstance(value, dict):
            pairs = value.items()
        elif hasattr(value, "_asdict"):
            pairs = value._asdict().items()
        elif pairs is None:
            pairs = enumerate(value)
        for part, inside in pairs:
            yield from _flat(f"{name}.{part}", inside, left_out)
    elif isinstance(value, int | float | str | None):
        yield name, value


def same(one: Any, two: Any) -> bool:
    """Whether two numbers or arrays are equal; NaN equals itself."""
    if isinstance(one, np.ndarray) and one.dtype.kind == "f":
        return np.array_equal(one, two, equal_nan=True)
    return np.array_equal(one, two) or one != one


def _agree(one: Policy, two: Policy) -> bool:
    """Whether two policies hold the same beliefs and would do the same."""
    first, second = one.estimate(), two.estimate()
    announced = _announced(one)
    close = all(
        np.abs(left - right).max() <= AGREEMENT * max(1e-12, np.abs(right).max())
        for left, right in ((first.means, second.means), (first.widths, second.widths))
    )
    return bool(
        close
        and np.array_equal(first.candidates, second.candidates)
        and first.recommended == second.recommended
        and all(one.ask(announced) == two.ask(announced) for _ in _each_seed(one, two))
    )


def _each_seed(one: Policy, two: Policy) -> Iterator[int]:
    """Give both policies the same seed, several times over if the rule makes random choices."""
    for seed in range(SEEDS if one.rule.random else 1):
        one.rule.seed = two.rule.seed = seed
        yield seed


#: All checks, each a function of ``make_policy``.
CHECKS: tuple[Callable[[MakePolicy], None], ...] = (
    check_asking_changes_nothing,
    check_answers_are_actions,
    check_candidates_contain_the_recommendation,
    check_replay_gives_the_same_next_action,
    check_saved_equals_original,
    check_what_is_seen_of_sigma,
    check_pooling,
    check_simulation_does_not_depend_on_workers,
    check_bad_measurements_change_nothing,
)
