"""Theorem 2: the lemma on tracked designs, the regret of VAGD, and what its bound leaves out."""

import math
from typing import Any

import numpy as np

from noisewise.core.support.randomness import generator
from noisewise.designs import optimal_design
from noisewise.paper.measurements.runs import NamedWorld, Runs, given_precision, named_world, run
from noisewise.theory import vagd_bound
from noisewise.theory.sigmas import precision_without_largest


def tracked_design(world: NamedWorld, runs: Runs) -> dict[str, Any]:
    """VAGD: how much of D·V(π) was gathered, the regret and its bounds, per replication."""
    dim, env = world["problem_options"]["dim"], named_world(world)
    n_actions = env.actions.n_actions
    simulation = run("vagd", {}, env, **runs)
    gathered, bounds, printed, supports = [], [], [], []
    for r in range(runs["replications"]):
        vectors, given = given_precision(simulation, env, r)
        drawn = env.world(runs["horizon"], runs["seed"], r)
        # The rule's own design: on the actions in the order in which the rule saw them, as many may tie.
        design = optimal_design(drawn.actions.vectors, support="core")
        shares = np.empty(n_actions)
        shares[drawn.order] = design.dense()
        root = np.linalg.inv(np.linalg.cholesky((vectors * shares[:, None]).T @ vectors))
        gram = root @ ((vectors * given[:, None]).T @ vectors) @ root.T
        sigma = env.sigmas(runs["horizon"], runs["seed"], r)
        support = int((shares > 0.0).sum())
        rest = float(precision_without_largest(sigma, support - 1))
        gathered.append(float(np.linalg.eigvalsh(gram)[0]) / rest)
        bounds.append(vagd_bound(sigma, dim, n_actions, g_value=design.g_value, support_size=support))
        printed.append(vagd_bound(sigma, dim, n_actions, as_printed=True))
        supports.append(support)
    return {
        "gathered": gathered,
        "support": supports,
        "regret": simulation.simple_regret[:, -1].tolist(),
        "bound": bounds,
        "printed_bound": printed,
    }


def ridge_bias(bias: float, runs: int, seed: int) -> dict[str, Any]:
    """How often the lemma's interval misses a value, without and with the ridge's share R√λ.

    Three orthogonal actions with λ of precision each, theta of norm R on the first: θ̂ = (λθ + √λ·z)/2λ.
    """
    delta, n = 0.05, 3
    ridge, norm_bound = 1.0, bias
    theta = norm_bound * np.eye(n)[0]
    noise = generator(seed, "noise", 0).standard_normal((runs, n))
    estimate = (ridge * theta + math.sqrt(ridge) * noise) / (2.0 * ridge)
    width = math.sqrt(1.0 / (2.0 * ridge))
    radius = math.sqrt(2.0 * math.log(2.0 * n / delta))
    off = np.abs(estimate - theta).max(axis=1) / width
    return {
        "without": int((off > radius).sum()),
        "with": int((off > radius + bias).sum()),
        "runs": runs,
    }


def stopping_by_looking(rounds: list[int], runs: int, seed: int) -> dict[str, Any]:
    """Runs in which intervals of two kinds fail: after these numbers of turns, and in any turn up to then.

    In a turn three orthogonal actions are measured, sigma 1; theta is 0, so that the ridge does no harm.
    """
    delta, n, longest = 0.05, 3, max(rounds)
    fixed = math.sqrt(2.0 * math.log(2.0 * n / delta))
    counts = np.arange(1, longest + 1, dtype=np.float64)
    anytime = np.sqrt(n * np.log1p(counts) + 2.0 * math.log(1.0 / delta) + 1.0)
    found: dict[str, Any] = {
        name: [0] * len(rounds) for name in ("fixed at the end", "fixed ever", "anytime ever")
    }
    for r in range(runs):
        sums = generator(seed, "noise", r).standard_normal((n, longest)).cumsum(axis=1)
        squares = sums**2 / (1.0 + counts)
        # The union's interval is per action, the anytime ball for all at once.
        over = np.sqrt(squares.max(axis=0)) > fixed
        ball = np.sqrt(squares.sum(axis=0)) > anytime
        for place, end in enumerate(rounds):
            found["fixed at the end"][place] += int(over[end - 1])
            found["fixed ever"][place] += int(over[:end].any())
            found["anytime ever"][place] += int(ball[:end].any())
    return found | {"runs": runs}
