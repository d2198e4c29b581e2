"""What the rules for heavy tails share: three robust estimates, their floors, thresholds and certificates.

The model's V and widths are those of weighted least squares; its estimate is set by the robust one
(`core.model.set_theta`), so that means, candidates, bounds and advice all rest on that.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from noisewise.policies.shared.least_squares import Setting, make_setting
from noisewise.policies.shell.rule import ANYTIME

from noisewise.actions import ActionSet, OracleSet
from noisewise.core.choice.radius import Radius
from noisewise.core.choice.selection import Mask, regret_bound
from noisewise.core.model.dense import TOLD, DenseModel, Floats, fold, set_theta
from noisewise.core.support.checks import check_choice, check_count, check_positive
from noisewise.policies.robust import huber, median_of_means, one_pass

ESTIMATORS = ("huber", "one-pass", "median-of-means")
HUBER, ONE_PASS, MEDIAN = range(3)
#: Measured at d = 5, T = 1000: 6 % more squared error than least squares under normal noise, and a 99 %
#: quantile of the error 2.0 to 2.9 times smaller under heavy tails (docs/rules.md).
TAU0 = 0.4
#: Measurements that a live policy has room for at first, unless a horizon is given.
ROOM = 10_000
#: α of the one-pass estimate as published: its V counts a quarter of every weight.
ALPHA = 4.0
#: m0 and the number in m1 of the lemma's source.
M0, M1 = 1.0, 42.0

BY_HAND = "as good as the radius that was given by hand"
FIXED_DESIGN = (
    "any noise that is independent and has these sigmas, if neither what was measured nor when to stop "
    "depended on the values"
)


class Robust(NamedTuple):
    """Which estimate, and its numbers."""

    estimator: int
    tau0: float
    floor: bool
    horizon: int
    rank: int
    fixed: float  # the radius by hand; NaN if it is the estimator's own
    delta: float  # the lemmas hold with probability 1 - 4·delta, so a quarter of what was asked for
    kappa: float  # NaN: from the smallest sigma so far
    proven_tau0: float  # the smallest tau0 of the lemma; NaN if it cannot be known
    n_blocks: int
    reach: float  # of a block's interval, in its widths


class HasRobust(Protocol):
    """Parameters of a rule with a robust estimate."""

    @property
    def setting(self) -> Setting:
        """What every rule needs to know."""

    @property
    def robust(self) -> Robust:
        """Which estimate."""


class Memory(NamedTuple):
    """What the estimates keep; the parts of the two that are not used are empty."""

    history: huber.History
    curvature: one_pass.Curvature
    blocks: median_of_means.Blocks
    smallest: Floats  # (1,): the smallest scale that entered


class HasMemory(Protocol):
    """The state of a rule with a robust estimate."""

    @property
    def model(self) -> DenseModel:
        """V, the widths, and the estimate."""

    @property
    def memory(self) -> Memory:
        """What the estimate keeps."""


def make_robust(
    actions: ActionSet | OracleSet, horizon: int | None, options: dict[str, Any]
) -> tuple[Setting, Robust]:
    """Check the options of the estimate."""
    estimator = ESTIMATORS.index(check_choice("estimator", options["estimator"], ESTIMATORS))
    by_name = isinstance(options["radius"], str)
    fixed = math.nan if by_name else check_positive("radius", options["radius"])
    if by_name:
        check_choice("radius", options["radius"], ("paper",))
    # The setting's own radius, for least squares, is not used.
    setting = make_setting(actions, options | {"radius": "mixture"})
    limits = setting.radius
    n_rounds = ROOM if horizon is None else check_count("horizon", horizon)
    floor = bool(options["floor"])
    if estimator == MEDIAN and isinstance(actions, OracleSet):
        raise ValueError(
            f"`estimator` must be 'huber' or 'one-pass' on {actions!r}: medians compare every pair of a list "
            "of actions; got 'median-of-means'."
        )
    if floor and estimator == MEDIAN:
        raise ValueError(
            "`floor` must be False with estimator='median-of-means', which keeps every sigma; got True."
        )
    delta, rank = limits.delta / 4.0, max(1, limits.rank)
    doubt = math.log(2.0 * n_rounds**2 / delta)
    kappa = _kappa(limits, rank, n_rounds, doubt, floor=floor, estimator=estimator)
    proven = math.sqrt(2.0 * kappa / doubt)
    if estimator == HUBER:
        proven = max(proven, 2.0 * math.sqrt(rank / doubt))
    n_blocks, reach = 0, math.nan
    if estimator == MEDIAN:
        n = len(setting.columns.T)
        # One-sided: every ordered pair, and both sides of every action.
        wanted = _checked_blocks(options["blocks"])
        n_blocks, reach = median_of_means.plan_blocks(limits.delta / (n * (n + 1)), wanted)
        reach = math.sqrt(reach**2 + limits.ridge / n_blocks * limits.norm_bound**2)
    robust = Robust(
        estimator=estimator,
        tau0=_tau0(options["tau0"], proven),
        floor=floor,
        horizon=n_rounds,
        rank=rank,
        fixed=fixed,
        delta=delta,
        kappa=kappa,
        proven_tau0=proven,
        n_blocks=n_blocks,
        reach=reach,
    )
    return setting, robust


def _checked_blocks(blocks: Any) -> int | None:
    """Return an odd number of blocks, or None for the best."""
    if blocks is None:
        return None
    if check_count("blocks", blocks) % 2 == 0:
        raise ValueError(f"`blocks` must be odd, so that there is a median; got {blocks!r}.")
    return int(blocks)


def _tau0(tau0: Any, proven: float) -> float:
    if tau0 != "lemma":
        if isinstance(tau0, str):
            raise ValueError(f"`tau0` must be a number above 0 or 'lemma'; got {tau0!r}.")
        return check_positive("tau0", tau0)
    if math.isnan(proven):
        raise ValueError(
            "`sigma_min` must be given with tau0='lemma': the smallest sigma that will ever be told; "
            "got None. (estimator='huber' with floor=True does not need it.)"
        )
    return proven


def _kappa(limits: Radius, rank: int, horizon: int, doubt: float, *, floor: bool, estimator: int) -> float:
    """A bound on the information that T measurements can bring, in the lemma ``d·log(1 + TA²/(dλσ_min²))``.

    With the lemma's floor no sigma_min is needed: ``‖a‖²/s² <= c·√(λ_max(V))`` with ``c = √(m1·d)/R``, so
    ``√(λ_max(V_T)) <= √λ + cT/2`` and the information is at most ``2d·log(1 + cT/(2√λ))``.
    """
    bounds = []
    if limits.sigma_min > 0.0:
        spread = horizon * (limits.max_norm / limits.sigma_min) ** 2 / (rank * limits.ridge)
        bounds.append(rank * math.log1p(spread / (ALPHA if estimator == ONE_PASS else 1.0)))
    if floor and estimator == HUBER:
        growth = math.sqrt(rank / (M1 * doubt)) / limits.norm_bound
        bounds.append(2.0 * rank * math.log1p(growth * horizon / (2.0 * math.sqrt(limits.ridge))))
    return min(bounds, default=math.nan)


def new_memory(setting: Setting, robust: Robust) -> Memory:
    """Nothing measured yet; room for what the estimate keeps."""
    dim, n = np.asarray(setting.columns).shape  # options without vectors refuse here
    is_huber, is_median = robust.estimator == HUBER, robust.estimator == MEDIAN
    return Memory(
        history=huber.new_history(n, dim, robust.horizon if is_huber else 0),
        curvature=one_pass.new_curvature(dim if robust.estimator == ONE_PASS else 0, setting.ridge),
        blocks=median_of_means.new_blocks(robust.n_blocks, dim if is_median else 0, setting.ridge),
        smallest=np.full(1, np.inf),
    )


def robust_radius(params: HasRobust, state: HasMemory) -> float:
    """The radius that goes with the estimate and the measurements so far."""
    robust, limits = params.robust, params.setting.radius
    if not math.isnan(robust.fixed):
        return robust.fixed
    if robust.estimator == MEDIAN:
        return median_of_means.covering_radius(state.memory.blocks, state.model, robust.reach)
    told = max(1.0, state.model.tally[TOLD])
    if robust.estimator == ONE_PASS:
        # Wang, Zhang, Zhao and Zhou 2025, for noise with a variance.
        doubt = math.log(2.0 * robust.horizon * robust.horizon / robust.delta)
        bias = math.sqrt(limits.ridge * (2.0 + 4.0 * limits.norm_bound * limits.norm_bound))
        return 107.0 * doubt * robust.tau0 + bias
    # The lemma of Li and Sun 2024, as the paper prints it.
    kappa: float = robust.kappa
    doubt = math.log(2.0 * told * told / robust.delta)
    if math.isnan(kappa):
        spread = robust.horizon * (limits.max_norm / state.memory.smallest[0]) ** 2
        kappa = float(robust.rank * math.log1p(spread / (robust.rank * limits.ridge)))
    stochastic = kappa / robust.tau0 + math.sqrt(kappa * doubt) + robust.tau0 * doubt
    return float(32.0 * stochastic + 5.0 * limits.bias)


def entering(params: HasRobust, state: HasMemory, action: int, sigma: float) -> float:
    """The scale s with which a measurement enters: sigma, or the largest of it and the floors (note 15)."""
    robust, limits = params.robust, params.setting.radius
    if not robust.floor:
        return sigma
    width = math.sqrt(state.model.squared_widths[action])
    if robust.estimator == ONE_PASS:
        reach = math.sqrt(2.0 * robust_radius(params, state) / (robust.tau0 * math.sqrt(ALPHA)))
        return max(sigma, limits.sigma_min, reach * width)
    doubt = math.log(2.0 * robust.horizon * robust.horizon / robust.delta)
    m1 = 1.0 / (M1 * doubt)
    # The last floor keeps <a, θ - θ*>/s below the threshold on the whole ball.
    steep = math.sqrt(limits.norm_bound * limits.max_norm * width / math.sqrt(m1 * robust.rank))
    return max(sigma, limits.sigma_min, width / M0, steep)


def with_room(params: HasRobust, state: Any, count: int) -> Any:
    """The state with room for so many measurements, unless what is proven holds up to the horizon only."""
    history: huber.History = state.memory.history
    capacity = history.rewards.size
    proven = math.isnan(params.robust.fixed) and robust_certificate(params, state) == ANYTIME
    if params.robust.estimator != HUBER or count <= capacity or proven:
        return state
    while capacity < count:
        capacity *= 2
    grown = huber.new_history(history.slot_of.size, history.vectors.shape[1], capacity)
    for name in huber.KEPT:
        old = getattr(history, name)
        getattr(grown, name)[: len(old)] = old
    return state._replace(memory=state.memory._replace(history=grown))


def check_room(params: HasRobust, state: HasMemory, coming: int) -> None:
    """Refuse measurements that the history has no room for."""
    history = state.memory.history
    if params.robust.estimator == HUBER and history.filled[0] + coming > history.rewards.size:
        raise ValueError(
            "`horizon` must be at least the number of measurements told: this policy's history is full; "
            "make it with a larger horizon, or with estimator='one-pass', which keeps none."
        )


def all_or_none(absorb: Callable[[Any, Any, int, float, float], None]) -> Callable[..., None]:
    """Learn many measurements one by one, or none of them if there is no room for all."""

    def absorb_many(params: HasRobust, state: HasMemory, actions: Any, rewards: Any, sigmas: Any) -> None:
        check_room(params, state, len(actions))
        for action, reward, sigma in zip(actions, rewards, sigmas, strict=True):
            absorb(params, state, int(action), float(reward), float(sigma))

    return absorb_many


def learn_robustly(params: HasRobust, state: HasMemory, action: int, reward: float, sigma: float) -> None:
    """Learn one measurement: V grows by it, and the estimate is fitted afresh, moved, or dealt to a block."""
    robust, limits, model, memory = params.robust, params.setting.radius, state.model, state.memory
    check_room(params, state, 1)
    scale = entering(params, state, action, sigma)
    memory.smallest[0] = min(memory.smallest[0], scale)
    published = robust.estimator == ONE_PASS and robust.floor
    counted = math.sqrt(ALPHA) * scale if published else scale
    tau = huber.threshold(robust.tau0, model.squared_widths[action], counted)
    # A measurement as expected makes V grow and leaves the estimate to what follows.
    expected = told = model.means[action]
    if published:
        # A step along the gradient of the clipped loss is the same as folding a clipped measurement.
        told = expected + ALPHA * scale * min(max((reward - expected) / scale, -tau), tau)
    fold(model, action, told, counted)
    if robust.estimator == HUBER:
        huber.remember(memory.history, model, action, reward, scale, tau)
        set_theta(model, huber.fit_huber(memory.history, model, limits.ridge, limits.norm_bound))
    elif robust.estimator == MEDIAN:
        median_of_means.deal(memory.blocks, model, action, reward, scale)
        set_theta(model, median_of_means.centre_of(memory.blocks, model))
    elif published:
        one_pass.stay_in_ball(memory.curvature, model, limits.norm_bound)
    else:
        one_pass.move(memory.curvature, model, action, reward, scale, tau, limits.norm_bound)
        set_theta(model, memory.curvature.theta)


def imagine_robustly(params: HasRobust, state: HasMemory, action: int, sigma: float) -> None:
    """Pretend that ``action`` was measured and came out as expected: only widths change."""
    scale = entering(params, state, action, sigma)
    if params.robust.estimator == ONE_PASS and params.robust.floor:
        scale *= math.sqrt(ALPHA)
    fold(state.model, action, state.model.means[action], scale)


def robust_bound(params: HasRobust, state: HasMemory, candidates: Mask, action: int, radius: float) -> float:
    """How far ``action`` can be below the best; medians look at each contrast directly."""
    robust = params.robust
    if robust.estimator == MEDIAN and math.isnan(robust.fixed):
        return median_of_means.certified_contrast(
            state.memory.blocks, state.model, candidates, action, robust.reach
        )
    return regret_bound(state.model, candidates, action, radius)


def robust_certificate(params: HasRobust, state: HasMemory) -> str:
    """When the bound holds."""
    robust = params.robust
    if not math.isnan(robust.fixed):
        return BY_HAND
    if robust.estimator == MEDIAN:
        return FIXED_DESIGN
    if robust.floor and robust.tau0 >= robust.proven_tau0 * (1.0 - 1e-12):
        return ANYTIME
    needed = "the lemma's" if math.isnan(robust.proven_tau0) else f"at least {robust.proven_tau0:.3g}"
    return f"the published radius, proven only with floor=True and tau0 {needed}"
