"""Heavy tails: what the robust estimates lose to least squares under normal noise, and win elsewhere.

``python -m benchmarks heavy_tails`` takes a quarter of an hour; ``HEAVY_TAILS_SCALE=0.1`` runs a tenth of it.
"""

import functools
import math
import os

import numpy as np

import noisewise as nw
from benchmarks.timing import Row
from noisewise.rules.robust import TAU0

LAWS = {
    "normal": nw.noise.named("gaussian"),
    "t(2.1)": nw.noise.named("student-t", df=2.1),
    "Pareto(2.2)": nw.noise.named("pareto", alpha=2.2),
    "contaminated": nw.noise.named("contaminated"),
}
SKEWED = {
    "log-normal": nw.noise.named("lognormal"),
    "Pareto, one-sided": nw.noise.named("pareto", alpha=2.2, symmetric=False),
    "contaminated, one-sided": nw.noise.named("contaminated", symmetric=False),
}
HORIZON = 1000
SCALE = float(os.environ.get("HEAVY_TAILS_SCALE", "1"))


def _many(replications: int) -> int:
    return max(20, round(SCALE * replications))


def _worlds():
    instance = nw.instances.sphere(50, 5)
    return instance, lambda law: instance.environment(nw.schedules.log_uniform, noise=law)


def _simulated(policy, law, replications):
    """``‖θ̂ - θ‖_V`` at the end of simulated runs, and what was measured in them."""
    instance, environment = _worlds()
    sim = nw.simulate(
        policy(instance.actions),
        environment(law),
        horizon=HORIZON,
        replications=replications,
        checkpoints=[HORIZON],
    )
    return sim.distance[:, -1], sim.pulled


def _solved(law, pulled, variants):
    """The same of exact estimates (tau0, norm_bound), at the end alone: what is measured ignores them."""
    _, environment = _worlds()
    env = environment(law)
    distances = np.empty((len(variants), len(pulled)))
    for r, actions in enumerate(pulled):
        world = env.world(HORIZON, 0, r)
        rows = world.actions.vectors[actions] / world.sigma[:, None]
        targets = world.means[actions] / world.sigma + world.noise
        moment, taus = path(rows)
        for v, (tau0, bound) in enumerate(variants):
            apart = newton(rows, targets, tau0 * taus, 1.0, bound) - world.theta
            distances[v, r] = math.sqrt(apart @ moment @ apart)
    return distances


def path(rows):
    """V at the end, and the thresholds for tau0 = 1 on the way; rows are divided by their sigmas."""
    moment, inverse, taus = np.eye(rows.shape[1]), np.eye(rows.shape[1]), np.empty(len(rows))
    for t, row in enumerate(rows):
        step = inverse @ row
        squared = row @ step
        taus[t] = math.sqrt((1.0 + squared) / squared)
        moment += np.outer(row, row)
        inverse -= np.outer(step, step / (1.0 + squared))
        if t % 20 == 0:
            inverse = np.linalg.inv(moment)
    return moment, taus


def _squared(distances) -> float:
    return float(np.square(distances).mean())


def _lemma_tau0() -> float:
    instance, _ = _worlds()
    return nw.robust_vaee(instance.actions, tau0="lemma", sigma_min=1e-2, horizon=HORIZON).rule.numbers.tau0


def accuracy() -> list[Row]:
    """Five features, 50 actions, T = 1000, log-uniform sigmas, 4000 replications."""
    return [row for name in LAWS for row in accuracy_under(name)]


def accuracy_under(name: str) -> list[Row]:
    """The same under one law."""
    rows, law, lemma = [], LAWS[name], _lemma_tau0()
    one = functools.partial(nw.robust_vaee, estimator="one-pass")
    squares, pulled = _simulated(nw.vaee, law, _many(4000))
    passed, _ = _simulated(one, law, _many(4000))
    rule, _ = _simulated(functools.partial(nw.robust_vaee, horizon=HORIZON), law, 8)
    # norm_bound=1 helps the estimates that know the ball; a wide one shows the loss alone.
    variants = ((TAU0, 1.0), (TAU0, 10.0), (lemma, 1.0), (0.3, 1.0))
    others = (*_solved(law, pulled, variants), passed)
    tails = [float(np.quantile(squares, 0.99) / np.quantile(other, 0.99)) for other in others]
    errors = [_squared(other) / _squared(squares) for other in others]
    said = ("", "in a wide ball ", f"tau0={lemma:.2f} (lemma) ", "tau0=0.3 ", "one-pass ")
    detail = "squared error of least squares times " + ", ".join(
        f"{what}{error:.3f}" for what, error in zip(said, errors, strict=True)
    )
    detail += "; 99 % quantile less by " + ", ".join(
        f"{what}{tail:.2f}" for what, tail in zip(said, tails, strict=True)
    )
    detail += f"; the rule itself differs by {np.abs(rule - others[0][:8]).max():.0e}"
    if name == "normal":
        figures = (errors[0], "x", 1.08, False)
        rows.append(Row("the same in a wide ball", errors[1], "x", 1.08, False, f"tau0 = {TAU0}"))
        rows.insert(-1, Row(f"exact, {name}: squared error against least squares", *figures, detail))
    else:
        figures = (tails[0], "x less", 1.8, True)
        rows.append(Row(f"exact, {name}: 99 % quantile of the error", *figures, detail))
    ratio = errors[-1] / errors[0]
    rows.append(Row(f"one-pass, {name}: squared error against exact", ratio, "x", 1.5, False, ""))
    return rows


def published_floors() -> list[Row]:
    """What the floors that the proofs need cost, in the Euclidean norm: V is not the same with a floor."""
    instance = nw.instances.sphere(50, 5)
    env = instance.environment(nw.schedules.log_uniform)
    variants = {
        "exact": {},
        "exact, floor and tau0 of the lemma": {"floor": True, "tau0": "lemma"},
        "one-pass": {"estimator": "one-pass"},
        "one-pass as published": {"estimator": "one-pass", "floor": True, "tau0": "lemma", "sigma_min": 1e-2},
    }
    errors = {name: [] for name in variants}
    for r in range(_many(30)):
        world = env.world(HORIZON, 0, r)
        for name, options in variants.items():
            policy = nw.robust_vaee(world.actions, horizon=HORIZON, **options)
            for sigma, noise in zip(world.sigma, world.noise, strict=True):
                action = policy.ask()
                policy.tell(action, world.means[action] + sigma * noise, sigma)
            errors[name].append(np.linalg.norm(policy.estimate().theta - world.theta))
    base = np.median(errors["exact"])
    slow = ("exact, floor and tau0 of the lemma", "one-pass as published")
    detail = "median at T = 1000, normal noise; for information"
    return [
        Row(f"{name}: error", float(np.median(errors[name]) / base), "x exact", math.inf, False, detail)
        for name in slow
    ]


def coverage() -> list[Row]:
    """How often each certificate was wrong at any checkpoint, at delta = 0.05, under every law."""
    rows = []
    instance = nw.instances.sphere(30, 3)
    variants = {
        "lemma": functools.partial(nw.robust_vaee, floor=True, tau0="lemma"),
        "as printed": functools.partial(nw.robust_vaee, sigma_min=1e-2),
        "one-pass as published": functools.partial(
            nw.robust_vaee, estimator="one-pass", floor=True, tau0="lemma", sigma_min=1e-2
        ),
        "one-pass": functools.partial(nw.robust_vaee, estimator="one-pass"),
        "median of means": functools.partial(nw.robust_vaee, estimator="median-of-means"),
        "vaee (proven for normal noise)": nw.vaee,
    }
    horizon, replications = 300, _many(1000)
    for name, policy in variants.items():
        missed = {}
        for law_name, law in (LAWS | SKEWED).items():
            env = instance.environment(nw.schedules.log_uniform, noise=law)
            sim = nw.simulate(policy(instance.actions), env, horizon=horizon, replications=replications)
            wrong = ~sim.covered
            if "median" not in name:  # its radius is for the actions, not for all directions
                wrong |= (sim.distance > sim.radius).any(axis=1)
            missed[law_name] = (int(wrong.sum()), float(np.median(sim.bound[:, -1])))
        worst = max(count for count, _ in missed.values())
        bound = max(bound for _, bound in missed.values())
        target = 0.086 * replications if "vaee" not in name else math.inf
        detail = f"largest median bound {bound:.3g}; misses: " + ", ".join(
            f"{law} {count}" for law, (count, _) in missed.items()
        )
        rows.append(Row(f"{name}: misses of {replications}", worst, "", target, False, detail))
    return rows


def regret() -> list[Row]:
    """Simple regret with outliers against normal noise of the same sigmas."""
    instance = nw.instances.hypercube(5)
    final = {}
    for name, law in (LAWS | SKEWED).items():
        env = instance.environment(nw.schedules.log_uniform, noise=law)
        for rule in (nw.vaee, nw.robust_vaee):
            sim = nw.simulate(
                rule(instance.actions), env, horizon=HORIZON, replications=_many(1000), checkpoints=[HORIZON]
            )
            final[rule.__name__, name] = float(sim.simple_regret[:, -1].mean())
    rows = []
    for name in [*LAWS, *SKEWED][1:]:
        figure = final["robust_vaee", name] / final["robust_vaee", "normal"]
        plain = final["vaee", name] / final["vaee", "normal"]
        detail = (
            f"{final['robust_vaee', name]:.4g}; plain vaee {final['vaee', name]:.4g}, {plain:.2f}x normal"
        )
        rows.append(Row(f"robust_vaee, {name}: simple regret", figure, "x normal", 1.5, False, detail))
    return rows


def rows() -> list[Row]:
    """Everything."""
    return [*accuracy(), *regret(), *coverage(), *published_floors()]


def newton(rows, targets, taus, ridge, bound):
    """Newton's method from 0 with backtracking; the ball's multiplier by Newton's method as well."""
    identity = np.eye(rows.shape[1])
    theta = np.zeros(rows.shape[1])

    def loss(at):
        z = targets - rows @ at
        return 0.5 * ridge * (at @ at) + (taus * z * z / (np.sqrt(taus**2 + z * z) + taus)).sum()

    for _ in range(100):
        z = targets - rows @ theta
        bends = taus / np.sqrt(taus**2 + z * z)
        gradient = ridge * theta - rows.T @ (bends * z)
        hessian = ridge * identity + (rows.T * bends**3) @ rows
        target, shift, goal = hessian @ theta - gradient, 0.0, theta
        for _ in range(100):
            matrix = hessian + shift * identity
            goal = np.linalg.solve(matrix, target)
            norm = math.sqrt(goal @ goal)
            if norm <= bound * (1.0 + 1e-12):
                break
            shift += norm**2 / (goal @ np.linalg.solve(matrix, goal)) * (norm - bound) / bound
        step = goal - theta
        decrement = math.sqrt(step @ hessian @ step)
        if decrement <= 1e-5:
            return goal
        share, value = 1.0, loss(theta)
        for _ in range(40):
            if loss(theta + share * step) <= value - 1e-4 * share * decrement**2:
                break
            share /= 2.0
        theta = theta + share * step
    return theta
