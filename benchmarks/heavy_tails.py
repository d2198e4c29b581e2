"""Heavy tails: what the robust estimates lose to least squares under normal noise, and win elsewhere.

``python -m benchmarks heavy_tails`` takes a quarter of an hour; ``HEAVY_TAILS_SCALE=0.1`` runs a tenth of it,
4 the 4000 replications of docs/rules.md.
"""

import functools
import math
import os

import numpy as np

import noisewise as nw
from benchmarks.timing import Row

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


#: Estimates beside least squares; in a wide ball the loss shows that knowing the ball hides.
ESTIMATES = {
    "exact": {},
    "exact in a wide ball": {"norm_bound": 10.0},
    "exact with the lemma's tau0": {"tau0": "lemma", "sigma_min": 1e-2, "horizon": HORIZON},
    "one pass": {"estimator": "one-pass"},
}


def accuracy() -> list[Row]:
    """Five features, 50 actions, T = 1000, log-uniform sigmas: the error ``‖θ̂ - θ‖_V`` at the end."""
    return [row for name in LAWS for row in accuracy_under(name)]


def accuracy_under(name: str) -> list[Row]:
    """The mean squared error, and by what its 99 % quantile is smaller, beside least squares."""
    instance = nw.instances.sphere(50, 5)
    env = instance.environment(nw.schedules.log_uniform, noise=LAWS[name])

    def errors(policy):
        runs = {"horizon": HORIZON, "replications": _many(1000), "checkpoints": [HORIZON]}
        return nw.simulate(policy, env, **runs).distance[:, -1]

    plain = errors(nw.vaee(instance.actions))
    found = {what: errors(nw.robust_vaee(instance.actions, **more)) for what, more in ESTIMATES.items()}
    squared = {what: float(np.square(one).mean() / np.square(plain).mean()) for what, one in found.items()}
    tails = {what: float(np.quantile(plain, 0.99) / np.quantile(one, 0.99)) for what, one in found.items()}
    detail = ", ".join(f"{what} {squared[what]:.3f} and {tails[what]:.2f}" for what in found)
    if name == "normal":
        first = [
            Row(f"{what}, normal: squared error", squared[what], "x least squares", 1.08, False, detail)
            for what in ("exact", "exact in a wide ball")
        ]
    else:
        first = [
            Row(f"exact, {name}: 99 % quantile of the error", tails["exact"], "x less", 1.8, True, detail)
        ]
    ratio = squared["one pass"] / squared["exact"]
    return [*first, Row(f"one pass, {name}: squared error", ratio, "x exact", 1.5)]


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


def rows() -> list[Row]:
    """Everything."""
    return [*accuracy(), *coverage(), *published_floors()]
