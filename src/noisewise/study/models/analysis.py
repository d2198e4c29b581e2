"""What the measurements say at one moment, computed once: standard errors, sums, fits."""

import functools

import numpy as np

from noisewise.core.choice.selection import Mask
from noisewise.core.model.dense import Floats
from noisewise.study.log.measurements import Columns
from noisewise.study.log.model_choice import CONTRASTS, DEVIATION
from noisewise.study.log.state import State
from noisewise.study.models.blocks import DOUBTED, doubt_about_blocks
from noisewise.study.models.boundary import INDEPENDENT, SCATTER, Boundary, Shares
from noisewise.study.models.contrasts import Contrasts
from noisewise.study.models.fit import Fit
from noisewise.study.models.independent_fit import fit_independent
from noisewise.study.models.levels import display_levels
from noisewise.study.models.linear_boundary import LinearBoundary, MixedBoundary
from noisewise.study.models.linear_fit import fit_linear, fit_mixed
from noisewise.study.models.scatter import Sigmas, settle, widened
from noisewise.study.models.sums import Sums, pool
from noisewise.study.models.variance_components import Likelihood, Sizes, settle_sizes

#: Share of δ of bounds on connected options, once readings without a block may have certified something.
CONNECTED = 1.0 - sum(tuning.share for tuning in INDEPENDENT)


class Analysis:
    """The fits behind estimates, certificate and check; the state must not change meanwhile."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.specification = state.specification
        self.columns = state.measurements.columns()
        self.n = len(state.ids)

    @property
    def shares(self) -> Shares:
        """How the error probability is divided."""
        return Shares(self.specification.delta, self.state.n_first, self.n, self.state.changed)

    @property
    def _limits_delta(self) -> float:
        """Of all upper limits of pooled scatter together, and of all of estimated sizes."""
        return SCATTER * self.shares.delta / (2.0 if self.state.model.estimates else 1.0)

    @functools.cached_property
    def stated(self) -> Sigmas:
        """The standard error of every measurement without extra scatter."""
        return settle(
            self.columns, self._limits_delta, self.specification.noise_floor, self._residual_scatter
        )

    @functools.cached_property
    def sizes(self) -> Sizes:
        """The sizes of deviations and extra scatter, stated or estimated."""
        return settle_sizes(self.state.model, self.likelihood, self._limits_delta)

    @functools.cached_property
    def sigmas(self) -> Sigmas:
        """The standard error of every measurement, and every reason to withhold the certificate."""
        stated, sizes = self.stated, self.sizes
        _, largest = sizes.certified
        return widened(self.columns, stated, sizes.extra_scatter, largest)._replace(
            waiting=[*stated.waiting, *sizes.waiting]
        )

    @functools.cached_property
    def sums(self) -> Sums:
        """Pooled with the estimated standard errors."""
        return self.pooled(self.columns, self.sigmas.estimated)

    @functools.cached_property
    def estimates(self) -> Fit:
        """The fit with the estimated standard errors."""
        return self.fit(self.sums)

    @functools.cached_property
    def certified(self) -> Fit:
        """The fit with the standard errors and the size of deviations that the certificate uses."""
        deviation, _ = self.sizes.certified
        same = self.sigmas.certified is self.sigmas.estimated and deviation == self.sizes.deviation
        if same and (self._any_choice == self._promised_nothing or self.state.model.model != DEVIATION):
            return self.estimates
        return self.fit(self.certified_sums, deviation, any_choice=self._any_choice)

    @functools.cached_property
    def certified_sums(self) -> Sums:
        """Pooled with the standard errors that the certificate uses."""
        if self.sigmas.certified is self.sigmas.estimated:
            return self.sums
        return self.pooled(self.columns, self.sigmas.certified)

    @functools.cached_property
    def block_doubt(self) -> str | None:
        """Why blocks are not trusted to have been filled by looking at contrasts only; None if they are."""
        if self._promised_nothing:
            return None
        return doubt_about_blocks(
            self.columns, self.sigmas.estimated, self.estimates, self.specification.sign
        )

    @property
    def _promised_nothing(self) -> bool:
        return self.specification.blocks != CONTRASTS

    @property
    def _any_choice(self) -> bool:
        """Whether bounds must hold whoever chose what to measure within blocks, and pay for every offset."""
        return self._promised_nothing or self.block_doubt is not None

    @property
    def _certified_delta(self) -> float:
        """The error probability, less what is kept for studies whose promise about blocks is doubted."""
        if self._promised_nothing or not self.certified_sums.without_lone_blocks().has_border:
            return self.shares.delta
        return self.shares.delta * (DOUBTED if self._any_choice else 1.0 - DOUBTED)

    @functools.cached_property
    def boundary(self) -> Boundary | LinearBoundary | Contrasts:
        """The boundary on differences."""
        delta, resolution = self._certified_delta, self.specification.resolution
        if self.state.model.model == DEVIATION:
            n_allowed = int(self.state.allowed().sum())
            return MixedBoundary(self.certified, delta, n_allowed, resolution, any_order=self._any_choice)
        if self.state.features is not None:
            return LinearBoundary(self.certified, delta, resolution, any_order=self._any_choice)
        linked = self.certified_sums
        if not self._promised_nothing:
            linked = linked.without_lone_blocks()
        fit = self.certified
        if not linked.has_border:
            bare = fit if linked is self.certified_sums else fit_independent(self.n, linked)
            return Boundary(bare, self.shares, resolution)
        shares = self.shares._replace(delta=self._connected_share() * delta)
        return Contrasts(fit.components, shares, resolution, any_choice=self._any_choice, slack=fit.slack)

    def _connected_share(self) -> float:
        """Of δ, for connected options.

        Before anything connected them, options that were measured without a block had bounds of their own,
        and may have been certified. With at most one such option there was nothing to certify; and if the
        promise about blocks is kept, its values did not decide what came next.
        """
        sums = self.certified_sums
        without_block = int(np.count_nonzero((sums.minus < 0) & (sums.block == 0)))
        return 1.0 if without_block < 2 and not self._any_choice else CONNECTED

    def estimated_values(self) -> Floats:
        """The options' values as a person would read them: see `shown_values`."""
        return self.shown_values(self.estimates)

    def shown_values(self, fit: Fit) -> Floats:
        """The sign undone, on the level of the average measurement: offsets weighted by their precision.

        Display only. Every group of connected options has a level of its own; a group that was measured by
        differences alone has none, and is shown around 0.
        """
        return np.asarray(self.specification.sign * (fit.means + display_levels(fit, self.sums)))

    def comparable(self, option: str | None) -> Mask:
        """Which options are linked with this one, so that their estimates stand on one level, (n,)."""
        if option is None:
            return np.ones(self.n, dtype=bool)
        group = self.estimates.group
        return np.asarray(group == group[self.state.index[option]])

    def pooled(self, columns: Columns, sigma: Floats) -> Sums:
        """Sums of some measurements, large values being good."""
        return pool(columns, sigma, self.specification.sign)

    def fit(self, sums: Sums, deviation: float | None = None, *, any_choice: bool | None = None) -> Fit:
        """The model of this study, fitted.

        Args:
            sums: The measurements.
            deviation: The size of deviations; default: the estimated one.
            any_choice: Whether bounds on it will have to hold whoever chose what to measure within blocks.
        """
        if self.state.features is None:
            return fit_independent(self.n, sums)
        ridge = (2.0 / (self.state.model.span or np.inf)) ** 2
        if self.state.model.model == DEVIATION:
            size = self.sizes.deviation if deviation is None else deviation
            strict = self._promised_nothing if any_choice is None else any_choice
            return fit_mixed(self.state.features, sums, size, ridge, any_order=strict)
        return fit_linear(self.state.features, sums, ridge)

    def likelihood(self) -> Likelihood:
        """The restricted likelihood of both sizes."""
        return Likelihood(
            self.columns, self.stated.estimated, self.n, self.state.features, self.specification.sign
        )

    def _residual_scatter(self, columns: Columns) -> tuple[float, int]:
        sums = self.pooled(columns, np.ones(columns.value.size))
        # With deviations the options are not where their features say: only repeats tell the scatter.
        alone = self.state.model.model == DEVIATION
        fit = fit_independent(self.n, sums) if alone else self.fit(sums)
        return fit.squares(sums), columns.value.size - fit.rank


def doubt_now(state: State) -> str | None:
    """`Analysis.block_doubt` of the measurements told so far, found once."""
    if state.doubt is None or state.doubt[0] != state.n_events:
        state.doubt = state.n_events, Analysis(state).block_doubt
    return state.doubt[1]
