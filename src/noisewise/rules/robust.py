"""Rules for heavy tails: three robust estimates, their floors, thresholds and certificates.

The model's V and widths are those of weighted least squares; its estimate is set by the robust one
(`core.model.set_theta`), so that means, candidates, bounds and advice all rest on that.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from noisewise.actions import OracleSet
from noisewise.core.any_model import TOLD
from noisewise.core.blocks import Mask
from noisewise.core.checks import check_choice, check_count, check_positive
from noisewise.core.model import DenseModel, fold, set_theta
from noisewise.core.radius import Radius
from noisewise.rules import huber, median_of_means, one_pass
from noisewise.rules.rule import ANYTIME, Rule

#: Measured at d = 5, T = 1000: 6 % more squared error than least squares under normal noise, and a 99 %
#: quantile of the error 2.0 to 2.9 times smaller under heavy tails (docs/rules.md).
TAU0 = 0.4
#: Measurements to plan for unless a horizon is given.
HORIZON = 10_000
#: Room of a history at first; it doubles.
ROOM = 256
#: α of the one-pass estimate as published: its V counts a quarter of every weight.
ALPHA = 4.0
#: m0 and the number in m1 of the lemma's source.
M0, M1 = 1.0, 42.0


@dataclass(frozen=True)
class Numbers:
    """What goes into an estimate and its certificate."""

    limits: Radius
    tau0: float
    floor: bool
    horizon: int
    rank: int
    delta: float  # the lemmas hold with probability 1 - 4·delta, so a quarter of what was asked for
    kappa: float  # NaN: from the smallest sigma so far
    proven_tau0: float  # the smallest tau0 of the lemma; NaN if it cannot be known
    given: float  # the radius by hand; NaN if it is the estimate's own


class Huber:
    """The adaptive pseudo-Huber estimate, from all measurements (Li and Sun 2024)."""

    holds_anytime = True

    def __init__(self, numbers: Numbers, arrays: DenseModel, blocks: Any) -> None:
        self.numbers, self.smallest = numbers, math.inf
        dim, n = np.asarray(arrays.columns).shape
        self.history = huber.new_history(n, dim, ROOM)

    def scale(self, arrays: DenseModel, row: int, sigma: float) -> float:
        """The scale with which a measurement enters: sigma, or the largest of it and the floors (note 15)."""
        numbers, limits = self.numbers, self.numbers.limits
        if not numbers.floor:
            return sigma
        width = math.sqrt(arrays.squared_widths[row])
        doubt = math.log(2.0 * numbers.horizon * numbers.horizon / numbers.delta)
        m1 = 1.0 / (M1 * doubt)
        # The last floor keeps <a, θ - θ*>/s below the threshold on the whole ball.
        steep = math.sqrt(limits.norm_bound * limits.max_norm * width / math.sqrt(m1 * numbers.rank))
        return max(sigma, limits.sigma_min, width / M0, steep)

    def counted(self, scale: float) -> float:
        """The sigma with which V grows."""
        return scale

    def learn(self, arrays: DenseModel, row: int, reward: float, sigma: float) -> None:
        """V grows by a measurement as expected, and the estimate is fitted afresh."""
        scale = self.scale(arrays, row, sigma)
        self.smallest = min(self.smallest, scale)
        tau = huber.threshold(self.numbers.tau0, arrays.squared_widths[row], scale)
        fold(arrays, row, arrays.means.item(row), scale)
        if self.history.filled[0] == self.history.rewards.size:
            self.history = huber.grown(self.history)
        huber.remember(self.history, arrays, row, reward, scale, tau)
        limits = self.numbers.limits
        set_theta(arrays, huber.fit_huber(self.history, arrays, limits.ridge, limits.norm_bound))

    def radius(self, arrays: DenseModel) -> float:
        """The lemma of Li and Sun 2024, as the paper prints it."""
        numbers, limits, told = self.numbers, self.numbers.limits, max(1.0, arrays.tally.item(TOLD))
        kappa, doubt = numbers.kappa, math.log(2.0 * told * told / numbers.delta)
        if math.isnan(kappa):
            spread = numbers.horizon * (limits.max_norm / self.smallest) ** 2
            kappa = numbers.rank * math.log1p(spread / (numbers.rank * limits.ridge))
        stochastic = kappa / numbers.tau0 + math.sqrt(kappa * doubt) + numbers.tau0 * doubt
        return 32.0 * stochastic + 5.0 * limits.bias

    def certificate(self, told: float) -> str:
        """When the bound holds."""
        numbers = self.numbers
        if numbers.floor and numbers.tau0 >= numbers.proven_tau0 * (1.0 - 1e-12):
            if told <= numbers.horizon:
                return ANYTIME
            return f"the published radius, proven for the first {numbers.horizon} measurements, the horizon"
        needed = "the lemma's" if math.isnan(numbers.proven_tau0) else f"at least {numbers.proven_tau0:.3g}"
        return f"the published radius, proven only with floor=True and tau0 {needed}"


class OnePass(Huber):
    """The pseudo-Huber loss without a history (Wang, Zhang, Zhao and Zhou 2025): as published with floors."""

    def __init__(self, numbers: Numbers, arrays: DenseModel, blocks: Any) -> None:
        self.numbers = numbers
        self.curvature = one_pass.new_curvature(np.asarray(arrays.columns).shape[0], numbers.limits.ridge)

    def scale(self, arrays: DenseModel, row: int, sigma: float) -> float:
        """The largest of sigma and the floors, if there are any."""
        numbers = self.numbers
        if not numbers.floor:
            return sigma
        radius = self.radius(arrays) if math.isnan(numbers.given) else numbers.given
        reach = math.sqrt(2.0 * radius / (numbers.tau0 * math.sqrt(ALPHA)))
        return max(sigma, numbers.limits.sigma_min, reach * math.sqrt(arrays.squared_widths[row]))

    def counted(self, scale: float) -> float:
        """As published, V counts a quarter of every weight."""
        return math.sqrt(ALPHA) * scale if self.numbers.floor else scale

    def learn(self, arrays: DenseModel, row: int, reward: float, sigma: float) -> None:
        """Move the estimate."""
        scale, bound = self.scale(arrays, row, sigma), self.numbers.limits.norm_bound
        counted = self.counted(scale)
        tau = huber.threshold(self.numbers.tau0, arrays.squared_widths[row], counted)
        expected = arrays.means.item(row)
        if self.numbers.floor:
            # A step along the gradient of the clipped loss is the same as folding a clipped measurement.
            told = expected + ALPHA * scale * min(max((reward - expected) / scale, -tau), tau)
            fold(arrays, row, told, counted)
            one_pass.stay_in_ball(self.curvature, arrays, bound)
        else:
            fold(arrays, row, expected, counted)
            one_pass.move(self.curvature, arrays, row, reward, scale, tau, bound)
            set_theta(arrays, self.curvature.theta)

    def radius(self, arrays: DenseModel) -> float:
        """Wang, Zhang, Zhao and Zhou 2025, for noise with a variance."""
        numbers, limits = self.numbers, self.numbers.limits
        doubt = math.log(2.0 * numbers.horizon * numbers.horizon / numbers.delta)
        return 107.0 * doubt * numbers.tau0 + math.sqrt(limits.ridge * (2.0 + 4.0 * limits.norm_bound**2))


class MedianOfMeans:
    """Medians of means: no floors and no thresholds, but a certificate for one moment."""

    holds_anytime = False

    def __init__(self, numbers: Numbers, arrays: DenseModel, blocks: tuple[int, float]) -> None:
        n_blocks, self.reach = blocks
        dim = np.asarray(arrays.columns).shape[0]
        self.blocks = median_of_means.new_blocks(n_blocks, dim, numbers.limits.ridge)

    def scale(self, arrays: DenseModel, row: int, sigma: float) -> float:
        """Every sigma as it is."""
        return sigma

    def counted(self, scale: float) -> float:
        """As it is."""
        return scale

    def learn(self, arrays: DenseModel, row: int, reward: float, sigma: float) -> None:
        """Deal the measurement to a block."""
        fold(arrays, row, arrays.means.item(row), sigma)
        median_of_means.deal(self.blocks, arrays, row, reward, sigma)
        set_theta(arrays, median_of_means.centre_of(self.blocks, arrays))

    def radius(self, arrays: DenseModel) -> float:
        """The least that covers both medians of every action."""
        return median_of_means.covering_radius(self.blocks, arrays, self.reach)

    def contrast(self, arrays: DenseModel, candidates: Mask, action: int) -> float:
        """How far an action can be below the best: medians look at each contrast directly."""
        return median_of_means.certified_contrast(self.blocks, arrays, candidates, action, self.reach)

    def certificate(self, told: float) -> str:
        """When the bound holds."""
        return (
            "any noise that is independent and has these sigmas, if neither what was measured nor when to "
            "stop depended on the values"
        )


ESTIMATES: dict[str, Any] = {"huber": Huber, "one-pass": OnePass, "median-of-means": MedianOfMeans}


class Robust(Rule):
    """What rules with a robust estimate share."""

    tau0: float | str = TAU0
    floor: bool = False
    horizon: int | None = None
    radius: str | float = "paper"

    estimator = "huber"
    blocks = None
    is_ball = False

    def limits_for(self, actions):  # the radius of least squares is not used
        return self.make_limits(actions, radius="mixture")

    def prepare(self):
        check_choice("estimator", self.estimator, tuple(ESTIMATES))
        by_name = isinstance(self.radius, str)
        self.given = math.nan if by_name else check_positive("radius", self.radius)
        if by_name:
            check_choice("radius", self.radius, ("paper",))
        self.planned_blocks = self.plan_blocks() if self.estimator == "median-of-means" else None
        limits, rank = self.limits, max(1, self.limits.rank)
        horizon = check_count("horizon", HORIZON if self.horizon is None else self.horizon)
        delta = self.delta / 4.0
        doubt, floor = math.log(2.0 * horizon**2 / delta), bool(self.floor)
        kappa = information_bound(limits, rank, horizon, doubt, floor, self.estimator)
        proven = math.sqrt(2.0 * kappa / doubt)
        if self.estimator == "huber":
            proven = max(proven, 2.0 * math.sqrt(rank / doubt))
        tau0 = proven if self.tau0 == "lemma" else self.tau0
        if isinstance(tau0, str):
            raise ValueError(f"`tau0` must be a number above 0 or 'lemma'; got {tau0!r}.")
        if math.isnan(tau0) and self.tau0 == "lemma":
            raise ValueError(
                "`sigma_min` must be given with tau0='lemma': the smallest sigma that will ever be told; "
                "got None. (estimator='huber' with floor=True does not need it.)"
            )
        self.numbers = Numbers(
            limits=limits,
            tau0=check_positive("tau0", tau0),
            floor=floor,
            horizon=horizon,
            rank=rank,
            delta=delta,
            kappa=kappa,
            proven_tau0=proven,
            given=self.given,
        )

    def plan_blocks(self):  # how many blocks, and how many of its widths the interval of one reaches
        if isinstance(self.actions, OracleSet):
            raise ValueError(
                f"`estimator` must be 'huber' or 'one-pass' on {self.actions!r}: medians compare every pair "
                "of a list of actions; got 'median-of-means'."
            )
        if self.floor:
            raise ValueError(
                "`floor` must be False with estimator='median-of-means', which keeps every sigma; got True."
            )
        if self.blocks is not None and check_count("blocks", self.blocks) % 2 == 0:
            raise ValueError(f"`blocks` must be odd, so that there is a median; got {self.blocks!r}.")
        n = self.actions.n_actions
        # One-sided: every ordered pair, and both sides of every action.
        n_blocks, reach = median_of_means.plan_blocks(self.delta / (n * (n + 1)), self.blocks)
        return n_blocks, math.sqrt(reach**2 + self.limits.ridge / n_blocks * self.norm_bound**2)

    def start(self):
        self.estimate = ESTIMATES[self.estimator](self.numbers, self.model.arrays, self.planned_blocks)

    def learn(self, action, reward, sigma):
        self.estimate.learn(self.model.arrays, self.model.row_of(action), reward, sigma)

    def imagine(self, action, sigma):  # only widths change
        row, arrays, estimate = self.model.row_of(action), self.model.arrays, self.estimate
        fold(arrays, row, arrays.means.item(row), estimate.counted(estimate.scale(arrays, row, sigma)))

    def beta(self):
        return self.estimate.radius(self.model.arrays) if math.isnan(self.given) else self.given

    def bound(self, action, candidates=None):
        if self.estimate.holds_anytime or not math.isnan(self.given):
            return super().bound(action, candidates)
        among = self.candidates() if candidates is None else candidates
        return self.estimate.contrast(self.model.arrays, among, action)

    def certificate(self):
        if not math.isnan(self.given):
            return "as good as the radius that was given by hand"
        return self.estimate.certificate(self.model.n_told)


def information_bound(
    limits: Radius, rank: int, horizon: int, doubt: float, floor: bool, estimator: str
) -> float:
    """κ, a bound on the information that T measurements can bring.

    In the lemma it is ``d·log(1 + TA²/(dλσ_min²))``. With the lemma's floor no sigma_min is needed:
    ``‖a‖²/s² <= c·√(λ_max(V))`` with ``c = √(m1·d)/R``, so ``√(λ_max(V_T)) <= √λ + cT/2`` and the information
    is at most ``2d·log(1 + cT/(2√λ))``.
    """
    bounds = []
    if limits.sigma_min > 0.0:
        spread = horizon * (limits.max_norm / limits.sigma_min) ** 2 / (rank * limits.ridge)
        bounds.append(rank * math.log1p(spread / (ALPHA if estimator == "one-pass" else 1.0)))
    if floor and estimator == "huber":
        growth = math.sqrt(rank / (M1 * doubt)) / limits.norm_bound
        bounds.append(2.0 * rank * math.log1p(growth * horizon / (2.0 * math.sqrt(limits.ridge))))
    return min(bounds, default=math.nan)
