"""VOFUL (Zhang, Yang, Ji and Du 2021): optimism over a set made of many small tests, blind to sigma.

Each round: measure the action of the largest ``<θ, a>`` over all ``θ`` in the ball that pass every test on
all measurements so far; among equals, the widest. A test has a direction and a clip level, see
`noisewise.policies.rules.table_one.voful.nets`.

The set has no closed form. In the original it runs over nets of about T^(3d) points; here directions and
parameters have nets of the sizes below, in such a way that the set is never too small. Its cost grows like
``cubes·n·directions·log T`` for every new set, and its resolution fades with the dimension: 4 at most. A
set stays in use until the measurements have grown by the share ``refresh``; an older set is as valid, only
larger.

The original could not be read. The shape of the set is restated by Chen, Jain and Luo (ICML 2022), with the
inequality that our constants come from. No test can exclude anything before ``64·q`` measurements, about
1500 for T = 10⁴ in the plane: until then the rule measures the widest of the longest actions.
"""

from typing import Any, NamedTuple

import numpy as np

from noisewise.actions import ActionSet
from noisewise.core.choice.selection import TIE, Mask, first_best, first_largest, widest
from noisewise.core.model.covariances import distance_to
from noisewise.core.model.dense import DenseModel, Floats, fold, new_dense
from noisewise.core.support.checks import check_count, check_not_negative, check_positive
from noisewise.policies.rules.table_one.voful.nets import (
    ActionSums,
    Cubes,
    Tests,
    doubt,
    half_sphere,
    make_tests,
    shrink,
    whole_ball,
)
from noisewise.policies.shared.bounded_noise import BoundedNoiseOptions
from noisewise.policies.shared.least_squares import Setting, make_setting
from noisewise.policies.shell.options import constructor, fixed, option
from noisewise.policies.shell.rule import anytime, below, rule_in

#: With more features the cubes that fit into memory are too large to exclude anything.
MOST_FEATURES = 4
#: Directions by default, by the number of features.
DIRECTIONS = {1: 1, 2: 64, 3: 200, 4: 400}


class Params(NamedTuple):
    """What does not change during a run."""

    setting: Setting
    tests: Tests
    noise_bound: float  # R, in units of the largest possible value
    unit: float  # A·B, the largest possible value
    doubt: float  # q
    scale: float
    refresh: float
    most_cubes: int
    for_good: bool  # what failed a test once stays excluded


class State(NamedTuple):
    """What was measured, the cubes that are left, and what they say of every action."""

    model: DenseModel
    counts: Floats  # (n,)
    averages: Floats  # (n,), in units of the largest possible value, like all but the bounds
    deviations: Floats  # (n,)
    told: Floats  # (2,): measurements, and how many the set was made from
    cubes: Floats  # (most_cubes, dim): centres, in units of norm_bound
    size: Floats  # (2,): how many cubes, and their side
    box: Floats  # (2, dim): around the set
    lower: Floats  # (n,)
    upper: Floats  # (n,)


def make_params(actions: ActionSet, horizon: int | None, options: dict[str, Any]) -> Params:
    """Check the options, lay out the tests."""
    if actions.dim > MOST_FEATURES:
        raise ValueError(
            f"`actions` must have at most {MOST_FEATURES} features for {options['set']!r}, whose set "
            f"is a net that grows exponentially with them; got {actions.dim}. (nw.rules.save has a like "
            "guarantee.)"
        )
    rounds = check_count("horizon", horizon)
    noise_bound = check_positive("noise_bound", options["noise_bound"])
    setting = make_setting(actions, options)
    given = options["directions"]
    size = DIRECTIONS[actions.dim] if given is None else check_count("directions", given)
    directions = half_sphere(actions.dim, size)
    length = actions.max_norm or 1.0
    unit = length * setting.radius.norm_bound
    return Params(
        setting=setting,
        tests=make_tests(actions.vectors.astype(np.float64) / length, directions, rounds),
        noise_bound=noise_bound / unit,
        unit=unit,
        doubt=doubt(setting.radius.delta, rounds, len(directions)),
        scale=check_positive("scale", options["scale"]),
        refresh=check_not_negative("refresh", options["refresh"]),
        most_cubes=check_count("cubes", options["cubes"], least=2**actions.dim),
        for_good=options["set"] == "voful2",
    )


def init(params: Params) -> State:
    """The set is the whole ball."""
    n, dim = params.tests.vectors.shape
    reach = params.unit * np.linalg.norm(params.tests.vectors, axis=1)
    box = params.setting.radius.norm_bound * np.repeat([[-1.0], [1.0]], dim, axis=1)
    cubes, whole = np.zeros((params.most_cubes, dim)), whole_ball(dim)
    return State(
        model=new_dense(params.setting.columns, params.setting.ridge),
        counts=np.zeros(n),
        averages=np.zeros(n),
        deviations=np.zeros(n),
        told=np.zeros(2),
        cubes=cubes,
        size=np.array([1.0, whole.side]),
        box=box,
        lower=-reach,
        upper=reach.copy(),
    )


def choose(params: Params, state: State, allowed: Mask, sigma: float, draws: Floats) -> int:
    """The most optimistic action over the set; among equals, the widest."""
    best = state.upper[first_largest(state.upper, allowed)]
    return widest(state.model, allowed & (state.upper >= best - TIE * abs(best)))


def absorb(params: Params, state: State, action: int, reward: float, sigma: float) -> None:
    """Update the action's count, mean and squared deviations (Welford 1962)."""
    fold(state.model, action, reward, params.noise_bound * params.unit)
    value = reward / params.unit
    state.counts[action] += 1.0
    surprise = value - state.averages[action]
    state.averages[action] += surprise / state.counts[action]
    state.deviations[action] += surprise * (value - state.averages[action])
    state.told[0] += 1.0


def imagine(params: Params, state: State, action: int, sigma: float) -> None:
    """A pending measurement makes the action less wide; the set waits for what comes out."""
    fold(state.model, action, state.model.means[action], params.noise_bound * params.unit)


def wants_plan(params: Params, state: State) -> bool:
    """Whether enough is new, and enough there: |Σ x| ≤ √(t·Σ x²), so t ≤ 64·q tests exclude nothing."""
    told, used = state.told[0], state.told[1]
    if told <= 64.0 * params.scale * params.scale * params.doubt:
        return False
    return bool(told > used and told >= (1.0 + params.refresh) * used)


def plan(params: Params, state: State) -> None:
    """Make the set anew from all measurements: of the whole ball, or for VOFUL2 of what was left of it."""
    if params.for_good:
        before = Cubes(state.cubes[: int(state.size[0])], float(state.size[1]))
    else:
        before = whole_ball(state.cubes.shape[1])
    measured = ActionSums(state.counts, state.averages, state.deviations)
    left = shrink(
        params.tests, measured, before, params.noise_bound, params.doubt, params.scale, params.most_cubes
    )
    n_left, side = len(left.centres), left.side
    state.cubes[:n_left] = left.centres
    state.size[:] = n_left, side
    state.told[1] = state.told[0]
    norm_bound, vectors = params.setting.radius.norm_bound, params.tests.vectors
    inside = np.clip(
        [left.centres.min(axis=0) - side / 2.0, left.centres.max(axis=0) + side / 2.0], -1.0, 1.0
    )
    state.box[:] = norm_bound * inside
    values = vectors @ left.centres.T  # (n, N)
    slack = side / 2.0 * np.abs(vectors).sum(axis=1)
    reach = np.linalg.norm(vectors, axis=1)
    state.upper[:] = params.unit * np.minimum(values.max(axis=1) + slack, reach)
    state.lower[:] = params.unit * np.maximum(values.min(axis=1) - slack, -reach)


def radius(params: Params, state: State) -> float:
    """How far the least-squares estimate is from the set at most: from a corner of the box around it."""
    dim = state.box.shape[1]
    farthest, corner = 0.0, np.empty(dim)
    for number in range(2**dim):
        for j in range(dim):
            corner[j] = state.box[(number >> j) & 1, j]
        farthest = max(farthest, distance_to(state.model, corner))
    return farthest


def candidates(params: Params, state: State) -> Mask:
    """The actions whose largest value over the set reaches the largest of the smallest values."""
    return np.asarray(~(state.upper < state.lower.max()))


def recommend(params: Params, state: State) -> int:
    """The best mean among the candidates."""
    return first_best(state.model.means, state.model.squared_widths, candidates(params, state))


def certificate(params: Params, state: State) -> str:
    """It rests on the noise bound."""
    return anytime(
        params,
        f"if noise stays within ±noise_bound={params.noise_bound * params.unit:g}",
        unproven=below("scale", params.scale),
    )


def most_sigma(params: Params) -> float:
    """Noise within ±R has no larger standard deviation."""
    return params.noise_bound * params.unit


RULE = rule_in(
    __name__,
    name="voful",
    needs_horizon=True,
    sees_sigma="never",
    reconstruction=True,
    reference="Zhang, Yang, Ji and Du, NeurIPS 2021; constants from Chen, Jain and Luo, ICML 2022, Lemma 36",
    year=2021,
    guarantee="anytime certificate; the original: cumulative regret d^4.5·√(Σσ²) + d⁵, up to logarithms",
    cost="cubes·n·directions·log T for a new set, n·dim + dim² between; dim ≤ 4",
)


class VofulOptions(BoundedNoiseOptions):
    """VOFUL: optimism over a set made of many tests, for at most 4 features. It never looks at sigma."""

    horizon: int | None = option(None, "The number of measurements planned.")
    scale: float = option(1.0, "Multiplies the tests' tolerance; 1 is what the inequality asks for.")
    refresh: float = option(
        0.05,
        "The set is made anew when the measurements have grown by this share; 0 means after every one, as "
        "printed.",
    )
    directions: int | None = option(
        None, "Size of the net of directions; default: 1, 64, 200, 400 for 1, 2, 3, 4 features."
    )
    cubes: int = option(
        2048, "Size of the net of parameters; more make a finer set. The bounds hold for any number."
    )
    set: str = fixed("voful")


voful = constructor(RULE, VofulOptions)
