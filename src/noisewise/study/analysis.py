"""What the measurements say at one moment, computed once: standard errors, sums, fits."""

import functools

import numpy as np

from noisewise.core.model import Floats
from noisewise.study.boundary import SCATTER, Boundary, Shares
from noisewise.study.fit import Fit, fit_independent, fit_linear
from noisewise.study.measurements import Columns
from noisewise.study.scatter import Sigmas, settle
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

    @functools.cached_property
    def sigmas(self) -> Sigmas:
        """The standard error of every measurement."""
        delta = SCATTER * self.shares.delta
        return settle(self.columns, delta, self.specification.noise_floor, self._residual_scatter)

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
        """The fit with the standard errors that the certificate uses."""
        if self.sigmas.certified is self.sigmas.estimated:
            return self.estimates
        return self.fit(self.pooled(self.columns, self.sigmas.certified))

    @functools.cached_property
    def boundary(self) -> Boundary:
        """The anytime boundary on differences."""
        return Boundary(self.certified, self.shares, self.specification.resolution)

    def estimated_values(self) -> Floats:
        """The options' values as a person would read them: the sign undone, on the scale of a block."""
        fit = self.estimates
        return np.asarray(self.specification.sign * (fit.means + fit.level + self.sums.centre))

    def pooled(self, columns: Columns, sigma: Floats) -> Sums:
        """Sums of some measurements, large values being good."""
        return pool(columns, sigma, self.specification.sign)

    def fit(self, sums: Sums) -> Fit:
        """The model of this study, fitted."""
        if self.state.features is None:
            return fit_independent(self.n, sums)
        span = self.specification.span or np.inf
        return fit_linear(self.state.features, sums, (2.0 / span) ** 2)

    def _residual_scatter(self, columns: Columns) -> tuple[float, int]:
        sums = self.pooled(columns, np.ones(columns.value.size))
        fit = self.fit(sums)
        squares = sums.within + float(np.sum(sums.weight * fit.residuals**2))
        return squares, columns.value.size - fit.rank
