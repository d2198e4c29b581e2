"""What a model of the options' values provides: one class per model, each in a file.

Everything that differs from model to model is a method or an attribute here. No other module asks for a
model's name: `noisewise.study.models.analysis` finds the class, and `Analysis.model` is an instance of it.

**Shares.** How the error probability is divided among the bounds that may be needed is the same for all
studies of a model, so that the order of telling decides nothing. A part that may never be needed costs
little: δ enters bounds through its logarithm.
"""

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.core.text import number
from noisewise.study.evidence.half_widths import HalfWidths
from noisewise.study.log.measurements import Columns
from noisewise.study.log.model_choice import ESTIMATE, ModelFacts
from noisewise.study.log.state import State
from noisewise.study.models.fit import Fit, Sums
from noisewise.study.models.one_look import OneLook, SeparateOnce
from noisewise.study.models.posterior import Knowledge, separate_joint
from noisewise.study.models.variance_components import Likelihood, Remedy, Sizes, more_scatter

if TYPE_CHECKING:  # sets of actions are loaded when a rule asks
    from noisewise.actions import ActionSet

#: Shares of δ: pairs of options once some were excluded; pairs with added options.
CHANGED, ADDED = 0.015, 0.015
#: Upper limits of scatter; the same where sizes are estimated from the beginning.
LIMITS, LIMITS_OF_SIZES = 0.03, 0.1
#: The cap on evidence that limits need beside them.
CAPPED = 0.01
#: Bounds on connected options, once measurements without a block may have certified something.
CONNECTED = 0.05
#: Comparisons in the linear models.
COMPARING = 0.86


class Shares(NamedTuple):
    """How δ is divided.

    Differences between options that were there from the beginning, as long as none was added or excluded,
    have most of it. Once the catalogue changed, the best of those that remain may be any of them: every
    ordered pair has a share, and pairs with the i-th added option share 6/(π²i²) of what is set aside for
    added ones.
    """

    delta: float
    n_first: int
    n_now: int
    changed: bool
    limits: float = LIMITS  # the part of upper limits
    connected: float = CONNECTED  # the part of connected options, where others may have been certified

    @property
    def comparing(self) -> float:
        """The part of comparisons between options that were there from the beginning."""
        return 1.0 - CHANGED - ADDED - CAPPED - self.limits - self.connected

    @property
    def cap(self) -> float:
        """What the logarithm of no option's evidence exceeds; every added option has half of 6/(π²i²)."""
        added = self.n_now - self.n_first
        return math.log(2.0 * max(self.n_first, math.pi**2 / 6.0 * added**2) / (CAPPED * self.delta))

    def doubt(self, option: int) -> Floats:
        """``log(1/share)`` of every pair with this option, (n_now,)."""
        first, now = self.n_first, self.n_now
        if not self.changed:
            return np.full(now, math.log(max(1, first - 1) / (self.comparing * self.delta)))
        doubts = np.full(now, math.log(max(1, first * (first - 1)) / (CHANGED * self.delta)))
        latest = np.maximum(np.arange(now), option)
        added = latest >= first
        which = latest[added] - first + 1.0
        pairs = 2.0 * latest[added]
        doubts[added] = np.log(which**2 * (math.pi**2 / 6.0) * pairs / (ADDED * self.delta))
        return doubts


class BoundaryCase(NamedTuple):
    """What bounds on differences are made from."""

    fit: Fit
    sums: Sums  # with the certificate's standard errors
    columns: Columns  # the measurements themselves
    sigma: Floats  # (N,): the certificate's standard errors
    shares: Shares  # how the whole error probability is divided
    delta: float  # the error probability
    resolution: float  # the difference that matters
    n_allowed: int  # options that may be recommended
    deviation: float  # the certificate's size of deviations
    own_scatter: bool = False  # whether readings scatter by each option's own amount
    centres: Floats | None = None  # where errors have any tails: the estimates from error bars, large is good
    imagined: bool = False  # whether some measurements are imagined: their errors are reckoned with as normal
    of_pairs: bool = False  # whether bounds hold for every ordered pair


class StudyModel(ABC):
    """The base class: what is not overridden holds for options that share nothing.

    Args:
        state: What the log says; it must not change meanwhile.
    """

    facts: ClassVar[ModelFacts]
    #: Whether measurements of one option say something about the others, a block's offset apart. If not, only
    #: options that may be the best are asked for, and there is no bound before each was measured once.
    shares_information: ClassVar[bool] = False
    #: What the half-widths are, in the words of the certificate.
    radius: ClassVar[str]
    #: The same where they hold for one look only.
    radius_once: ClassVar[str] = (
        "one look: differences to the best within a common multiple of their standard errors"
    )
    #: What may be wrong if the chi-square is too large.
    blame: ClassVar[str] = "the measurements disagree by more than their error bars"
    #: What to do if nothing is wrong with measurements that look like outliers.
    if_nothing_is_wrong: ClassVar[str | None] = None
    #: What to do if nothing else explains a misfit.
    way_out: ClassVar[str | None] = None

    def __init__(self, state: State) -> None:
        self.state, self.choice, self.specification = state, state.model, state.specification
        self.n = len(state.ids)

    @abstractmethod
    def fit(self, sums: Sums, deviation: float) -> Fit:
        """Estimates from pooled measurements.

        Args:
            sums: The measurements.
            deviation: The size of deviations, where the model has them.
        """

    def scatter_fit(self, sums: Sums) -> Fit:
        """The fit whose residuals say how measurements without error bars scatter; no size is known yet."""
        return self.fit(sums, 0.0)

    @abstractmethod
    def boundary(self, case: BoundaryCase) -> HalfWidths:
        """Bounds on differences that hold at every moment."""

    def one_look(self, look: OneLook) -> HalfWidths:
        """Bounds on differences that hold at one look only."""
        return SeparateOnce(look)

    def knowledge(self, fit: Fit, boundary: HalfWidths, option: int) -> Knowledge:
        """How the values of options vary together, as far as differences to ``option`` are concerned.

        Args:
            fit: The estimates.
            boundary: Bounds on them.
            option: One that was measured.
        """
        return Knowledge(separate_joint(fit.own))

    def likelihood(self, columns: Columns, sigma: Floats) -> Likelihood:
        """The restricted likelihood of the sizes of deviations and extra scatter."""
        return Likelihood(columns, sigma, self.n, None, self.specification.sign)

    def assumptions(self, sizes: Sizes) -> list[str]:
        """What a certificate rests on because of this model, one sentence each."""
        return []

    def approximations(self, kinds: set[str]) -> list[str]:
        """Why the confidence is not exact with this model, given the kinds of error bars but known ones."""
        return []

    def actions(self) -> "ActionSet":
        """What a policy chooses from."""
        from noisewise.actions.finite import IndependentOptions

        return IndependentOptions(self.n)

    def remedy(self, likelihood: Likelihood, sizes: Sizes, sums: Sums) -> Remedy | None:
        """What to do about a chi-square that is too large; None if nothing is known beyond the usual."""
        return more_scatter(likelihood) if self.choice.extra_scatter != ESTIMATE else None

    def standing_out(self, sums: Sums, fit: Fit, deviation: float) -> Floats | None:
        """How far each option lies from what the model expects of it, in standard errors, large being good.

        (n,); None if the model expects nothing of single options.
        """
        return None

    def unlike_the_others(self, name: str, apart: float, deviation: float) -> str:
        """A sentence about an option that stands out by more than chance."""
        far = number(abs(apart), 2)
        return (
            f"{name} lies {far} standard errors from what the model expects of it: it is not like the others"
        )

    @abstractmethod
    def draw_worlds(
        self, fit: Fit, sums: Sums, count: int, rng: np.random.Generator, span: float | None
    ) -> Floats:
        """What the options' values may be, given the measurements, (count, n): for plans."""

    def prior_parts(self, deviation: float) -> tuple[float, Floats]:
        """What an option has for itself, as a standard deviation, and its loads on what all share, (n, k).

        In units of half the span, as is the deviation; shared unknowns have variance 1.
        """
        return 1.0, np.zeros((self.n, 0))

    def n_unknowns(self) -> int:
        """How many numbers must be known before every option's value is, offsets of blocks apart."""
        return int(self.state.allowed().sum())
