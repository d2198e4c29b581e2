"""What the measurements say at one moment, computed once: standard errors, sums, fits."""

import functools

import numpy as np

from noisewise.core.model import Floats
from noisewise.study.boundary import SCATTER, Boundary, Shares
from noisewise.study.fit import Fit, fit_independent
from noisewise.study.measurements import Columns
from noisewise.study.mixed_boundary import LinearBoundary, MixedBoundary
from noisewise.study.mixed_fit import fit_linear, fit_mixed
from noisewise.study.modelling import DEVIATION
from noisewise.study.scatter import Sigmas, settle, widened
from noisewise.study.sizes import Likelihood, Sizes, settle_sizes
from noisewise.study.state import State
from noisewise.study.sums import Sums, pool


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
        if self.sigmas.certified is self.sigmas.estimated and deviation == self.sizes.deviation:
            return self.estimates
        return self.fit(self.pooled(self.columns, self.sigmas.certified), deviation)

    @functools.cached_property
    def boundary(self) -> Boundary | LinearBoundary:
        """The boundary on differences."""
        delta, resolution = self.shares.delta, self.specification.resolution
        if self.state.model.model == DEVIATION:
            n_allowed = int(self.state.allowed().sum())
            return MixedBoundary(self.certified, delta, n_allowed, resolution, any_order=self._any_order)
        if self.state.features is not None:
            return LinearBoundary(self.certified, delta, resolution, any_order=self._any_order)
        return Boundary(self.certified, self.shares, resolution)

    @property
    def _any_order(self) -> bool:
        """Whether bounds must hold whoever chose what to measure within blocks, and pay for every offset."""
        return False

    def estimated_values(self) -> Floats:
        """The options' values as a person would read them: the sign undone, on the scale of a block."""
        fit = self.estimates
        return np.asarray(self.specification.sign * (fit.means + fit.level + self.sums.centre))

    def pooled(self, columns: Columns, sigma: Floats) -> Sums:
        """Sums of some measurements, large values being good."""
        return pool(columns, sigma, self.specification.sign)

    def fit(self, sums: Sums, deviation: float | None = None) -> Fit:
        """The model of this study, fitted; with the estimated size of deviations unless one is given."""
        if self.state.features is None:
            return fit_independent(self.n, sums)
        ridge = (2.0 / (self.state.model.span or np.inf)) ** 2
        if self.state.model.model == DEVIATION:
            size = self.sizes.deviation if deviation is None else deviation
            return fit_mixed(self.state.features, sums, size, ridge, any_order=self._any_order)
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
