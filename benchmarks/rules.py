"""Time per round of compiled rules against that of VAEE, in the same run."""

import numpy as np

import noisewise as nw
from benchmarks.timing import Row, alternating

#: Rules with a target: at most so many times the time of VAEE.
TARGETS = {"lingape": 4.0, "weighted_lingape": 4.0}
HORIZON, REPLICATIONS = 5000, 10


def compare(name: str, target: float) -> Row:
    """One rule at 100 actions in 10 features, everything around the rounds included on both sides."""
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((100, 10))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    theta = rng.standard_normal(10)
    theta /= np.linalg.norm(theta)
    sigmas = nw.schedules.log_uniform(HORIZON, rng)
    env = nw.Environment(vectors, theta, sigmas, announced=True)

    def rounds(policy):
        options = {"horizon": HORIZON, "replications": REPLICATIONS, "threads": 1, "checkpoints": [HORIZON]}
        return lambda: nw.simulate(policy, env, **options)

    ours, base = alternating(rounds(nw.make_policy(name, env.actions)), rounds(nw.vaee(env.actions)))
    scale = 1e6 / (HORIZON * REPLICATIONS)
    return Row(
        name=f"{name}, 100 x 10: time per round against vaee",
        figure=ours / base,
        unit="x",
        target=target,
        at_least=False,
        detail=f"{ours * scale:.2f} against {base * scale:.2f} µs a round",
    )


def rows() -> list[Row]:
    """All rules with a target."""
    return [compare(name, target) for name, target in TARGETS.items()]
