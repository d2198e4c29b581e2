"""The policies and simulations that samples are made of: every rule on a list, some on infinite sets."""

import math
from typing import Any

import numpy as np

import noisewise as nw

ROUNDS = 20
_drawn = np.random.default_rng(2024)
VECTORS = _drawn.standard_normal((8, 3)).round(6)
VECTORS /= np.linalg.norm(VECTORS, axis=1)[:, None]
THETA = np.array([0.5, 0.2, -0.3])
#: What comes with the measurements, in turn: their sigmas and their noise in units of it.
SIGMAS = [round(0.2 + 0.8 * abs(math.sin(k)), 3) for k in range(2 * ROUNDS)]
NOISE = _drawn.standard_normal(2 * ROUNDS).round(4).tolist()
#: Options without which a rule cannot be made, or would be kept in a large file.
OPTIONS: dict[str, dict[str, Any]] = {
    "vaee_as_printed": {"sigma_min": 0.1},
    "robust_vaee": {"horizon": 60},
    "adaoful": {"horizon": 60},
    "voful": {"horizon": 60, "cubes": 64},
    "voful2": {"horizon": 60, "cubes": 64},
}
WITH_HORIZON = ("weighted_oful_plus", "save", "varcb", "linnats", "linnats_unknown", "peace", "od_linbai")
OPTIONS |= {name: {"horizon": 60} for name in WITH_HORIZON}
#: Rules that are also simulated compiled.
COMPILED = ("vaee", "vage")


def sets() -> dict[str, tuple[str, Any, dict[str, Any]]]:
    """Rules on infinite sets, by the name of the sample: the rule, its set and its options."""
    corners = [[1.0, 0.0], [0.0, 1.0], [-0.7, -0.7], [0.5, -0.9]]
    return {
        "oful-ball": ("oful", nw.Ball(3), {}),
        "vaee-hypercube": ("vaee", nw.Hypercube(3), {}),
        "weighted_oful-box": ("weighted_oful", nw.Box([-1.0, 0.0], [1.0, 0.5]), {}),
        "linear_thompson-ellipsoid": ("linear_thompson", nw.Ellipsoid([[1.0, 0.3], [0.3, 0.5]]), {}),
        "widest-polytope": ("widest", nw.Polytope(corners), {}),
        "robust_vaee-simplex": ("robust_vaee", nw.Simplex(3), {"horizon": 60}),
        "uniform-product": ("uniform", nw.Product(nw.Ball(2), nw.Simplex(2)), {}),
    }


def names() -> list[str]:
    """The samples: the rules of the package on a list, then those on sets."""
    rules = [name for name in sorted(nw.POLICIES) if nw.POLICIES[name].__module__.startswith("noisewise.")]
    return [*rules, *sets()]


def make_policy(name: str) -> Any:
    """The policy of a sample before its first measurement."""
    listed = nw.ActionSet(VECTORS, labels=[f"a{k}" for k in range(len(VECTORS))])
    rule, where, options = sets().get(name, (name, listed, OPTIONS.get(name, {})))
    return nw.make_policy(rule, where, seed=5, **options)


def proceed(policy: Any) -> list[Any]:
    """Let a policy ask and be told for some rounds; what it asked for."""
    pulls = []
    for k in range(policy.n_told, policy.n_told + ROUNDS):
        action = policy.ask(sigma=SIGMAS[k])
        vector = VECTORS[action] if isinstance(action, int) else np.asarray(action)
        truth = float(vector @ np.resize(THETA, vector.size))
        policy.tell(action, truth + SIGMAS[k] * NOISE[k], SIGMAS[k])
        pulls.append(action)
    return pulls


def simulated(policy: Any, *, compiled: bool = False, **stop: Any) -> Any:
    """A short simulation in which sigmas are announced."""
    size = policy.actions.dim
    world = nw.Environment(policy.actions, np.resize(THETA, size), np.linspace(1.0, 0.2, 60), announced=True)
    return nw.simulate(
        policy.fresh(), world, horizon=60, replications=2, seed=7, threads=1, checkpoints=[10, 30, 60],
        compiled=compiled, **stop,
    )  # fmt: skip


def simulations() -> dict[str, list[Any]]:
    """Those that are kept in Parquet files: on a list, one with a stopping rule, and on a set."""
    vaee, uniform, on_ball = map(make_policy, ("vaee", "uniform", "oful-ball"))
    return {"list": [simulated(vaee), simulated(uniform, stop="gap", eps=1.0)], "set": [simulated(on_ball)]}
