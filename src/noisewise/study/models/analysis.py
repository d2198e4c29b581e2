"""What the measurements say at one moment, computed once: standard errors, sums, fits.

Models are found by name: a module of this package that has a `MODEL` registers it, so that a new one is a
file.
"""

import copy
import functools
import importlib
import pkgutil
from pathlib import Path
from typing import Any

import numpy as np

from noisewise.core.blocks import Floats, Mask
from noisewise.study.evidence.half_widths import HalfWidths
from noisewise.study.evidence.heavy_tails import recentred, robust_centres
from noisewise.study.log.looks import is_once
from noisewise.study.log.measurements import KINDS, Columns
from noisewise.study.log.model_choice import add_model
from noisewise.study.log.specification import HEAVY, POOLED
from noisewise.study.log.state import State
from noisewise.study.models.fit import Fit, Sums, display_levels, pool
from noisewise.study.models.model import (
    CONNECTED,
    LIMITS,
    LIMITS_OF_SIZES,
    BoundaryCase,
    Shares,
    StudyModel,
)
from noisewise.study.models.one_look import ONE_LOOK_LIMITS, ErrorKinds, OneLook
from noisewise.study.models.scatter import (
    OwnReadings,
    Sigmas,
    begins_pooled,
    has_own_scatter,
    is_linked,
    own_readings,
    own_rows,
    settle,
    shares_nothing,
    widened,
)
from noisewise.study.models.variance_components import Likelihood, Sizes, settle_sizes
from noisewise.study.telling.error_bars import COUNTS


class Analysis:
    """The fits behind estimates, certificate and check; the state must not change meanwhile."""

    #: Whether some of the measurements are imagined.
    imagined = False
    #: Whether bounds hold for every ordered pair of options, and not only for those with the best one.
    of_pairs = False

    def __init__(self, state: State) -> None:
        self.state = state
        self.specification = state.specification
        self.columns = state.measurements.columns()
        self.n = len(state.ids)
        self.model = model_of(state)
        self.recommended: list[Any] = []  # what the certificate found best, kept for those who ask again
        self.expected: dict[tuple[str, Any], Any] = {}  # of coming measurements, kept for them as well

    @property
    def once(self) -> bool:
        """Whether bounds hold for one look only."""
        return is_once(self.state)

    @property
    def shares(self) -> Shares:
        """How the error probability is divided."""
        question, with_items = self.specification.first_model, self.state.begins_with_items
        estimated = bool(question.estimates) or begins_pooled(self.state)
        # After a switch to independent options, bounds on connected ones need a part of δ as well.
        linear = question.uses_features and self.state.model.uses_features
        return Shares(
            self.specification.delta, self.state.n_first, self.n, self.state.changed or self.of_pairs,
            limits=LIMITS_OF_SIZES if estimated else 0.0 if with_items else LIMITS,
            connected=0.0 if linear or with_items else CONNECTED,
        )  # fmt: skip

    @property
    def _limits_delta(self) -> float:
        """Of all upper limits of pooled scatter together, and of all of estimated sizes."""
        if self.once:
            return ONE_LOOK_LIMITS * self.specification.delta / (2.0 if self.state.model.estimates else 1.0)
        return self.shares.limits * self.shares.delta / (2.0 if self.state.model.estimates else 1.0)

    @functools.cached_property
    def own_scatter(self) -> bool:
        """Whether readings without an instrument or block scatter by each option's own amount."""
        if not self.once:
            return has_own_scatter(self.state)
        alone = shares_nothing(self.state.model) and self.specification.scatter != POOLED
        rows = own_rows(self.columns)
        return alone and bool(rows.size and rows.all())

    @functools.cached_property
    def own_readings(self) -> OwnReadings | None:
        """What readings say whose scatter is each option's own; None if there are none."""
        rows = own_rows(self.columns) if self.own_scatter and not is_linked(self.columns) else None
        return None if rows is None or not rows.any() else own_readings(self.columns.select(rows), self.n)

    @functools.cached_property
    def stated(self) -> Sigmas:
        """The standard error of every measurement without extra scatter."""
        found = settle(
            self.columns, self._limits_delta, self.specification.noise_floor, self._residual_scatter,
            resolution=self.specification.resolution, once=self.once,
            own=self.own_scatter and not is_linked(self.columns),
        )  # fmt: skip
        # Where all share one standard deviation, one look knows the law of errors over its estimate.
        return found if self._shared_freedom(found) is None else found._replace(certified=found.estimated)

    @functools.cached_property
    def sizes(self) -> Sizes:
        """The sizes of deviations and extra scatter, stated or estimated."""
        return settle_sizes(self.state.model, self.likelihood, self._limits_delta, once=self.once)

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
        return self._robust(self.fit(self.sums), self.sums)

    @functools.cached_property
    def certified(self) -> Fit:
        """The fit with the standard errors and the size of deviations that the certificate uses."""
        deviation, _ = self.sizes.certified
        same = self.sigmas.certified is self.sigmas.estimated and deviation == self.sizes.deviation
        if same:
            return self.estimates
        return self._robust(self.fit(self.certified_sums, deviation), self.certified_sums)

    @functools.cached_property
    def certified_sums(self) -> Sums:
        """Pooled with the standard errors that the certificate uses."""
        if self.sigmas.certified is self.sigmas.estimated:
            return self.sums
        return self.pooled(self.columns, self.sigmas.certified)

    @functools.cached_property
    def boundary(self) -> HalfWidths:
        """The boundary on differences."""
        if self.once:
            return self.model.one_look(self.one_look)
        case = BoundaryCase(
            fit=self.certified,
            sums=self.certified_sums,
            columns=self.columns,
            sigma=self.sigmas.certified,
            shares=self.shares,
            delta=self.shares.delta,
            resolution=self.specification.resolution,
            n_allowed=int(self.state.allowed().sum()),
            own_scatter=self.own_scatter,
            centres=self._centres,
            deviation=self.sizes.certified[0],
            imagined=self.imagined,
            of_pairs=self.of_pairs,
        )
        return self.model.boundary(case)

    @functools.cached_property
    def every_pair(self) -> "Analysis | None":
        """The same moment with bounds for every ordered pair; None if no part of δ is kept for them."""
        if self.state.changed and not self.model.facts.has_deviation:
            return self
        if self.once:
            return None
        twin = copy.copy(self)
        twin.of_pairs = True
        vars(twin).pop("boundary", None)
        return twin

    @property
    def any_tails(self) -> bool:
        """Whether of errors nothing but their variance is known."""
        return self.specification.noise == HEAVY

    @functools.cached_property
    def _centres(self) -> Floats | None:
        """Estimates from error bars that no measurement carries away, where errors may have any tails."""
        if not self.any_tails or self.sigmas.waiting:
            return None
        plain = self.state.model.extra_scatter is None
        return robust_centres(self.state, self.columns, self.sigmas.certified, as_told=plain)

    def _robust(self, fit: Fit, sums: Sums) -> Fit:
        if self._centres is None:
            return fit
        plain = self.state.model.extra_scatter is None
        sign = self.specification.sign
        return recentred(fit, sums, self.columns, self.sigmas.certified, self._centres, sign, as_told=plain)

    @property
    def one_look(self) -> OneLook:
        """What bounds that hold for one look only are made from."""
        state, errors = self.state, self.errors
        delta = self.specification.delta * (1.0 - ONE_LOOK_LIMITS if errors.limited else 1.0)
        # Once the catalogue changed, the best of those that remain may be any of them.
        return OneLook(
            fit=self.certified,
            sums=self.certified_sums,
            columns=self.columns,
            sign=self.specification.sign,
            delta=delta / self.n if state.changed else delta,
            may_win=np.ones(self.n, dtype=bool) if state.changed else state.allowed(),
            errors=errors,
            readings=self._readings_once,
            scatter=self.specification.scatter,
        )

    @property
    def _readings_once(self) -> OwnReadings | None:
        """What one look says about readings whose scatter is not known to be equal."""
        found, floor = self.own_readings, self.specification.noise_floor
        if found is None or floor is None:
            return found
        return found._replace(squares=np.maximum(found.squares, found.least_squares(floor)))

    @property
    def errors(self) -> ErrorKinds:
        """What one look may rely on."""
        freedom = self._shared_freedom(self.stated) or self.sizes.freedom
        limited = (bool(self.state.model.estimates) and freedom is None) or (
            bool(self.stated.pools) and freedom is None
        )
        return ErrorKinds(freedom, limited, bool((self.columns.kind == KINDS.index(COUNTS)).any()))

    def _shared_freedom(self, found: Sigmas) -> float | None:
        """Degrees of freedom of the one standard deviation of all measurements, at one look; else None."""
        plain = self.state.model.extra_scatter is None and not self.state.model.facts.has_deviation
        shared = len(found.pools) == 1 and bool(np.isnan(self.columns.sigma).all())
        return found.pools[0].freedom if self.once and plain and shared and not found.waiting else None

    @property
    def evidence(self) -> tuple[str, ...]:
        """The kinds of evidence that bounds are computed from; none while there are no standard errors."""
        if self.sigmas.waiting or not self.columns.value.size:
            return ()
        return self.boundary.evidence

    @functools.cached_property
    def standing_out(self) -> Floats | None:
        """How far each option lies from what the model expects of it, in standard errors, (n,).

        None if nothing was measured, or if the model expects nothing of single options.
        """
        if not self.columns.value.size:
            return None
        apart = self.model.standing_out(self.sums, self.estimates, self.sizes.deviation)
        return None if apart is None else np.asarray(self.specification.sign * apart)

    def estimated_values(self) -> Floats:
        """The options' values as a person would read them: see `shown_values`."""
        return self.shown_values(self.estimates)

    def shown_values(self, fit: Fit) -> Floats:
        """`levelled_values` in the user's unit."""
        return np.asarray(self.specification.value_scale.undone(self.levelled_values(fit)))

    def levelled_values(self, fit: Fit) -> Floats:
        """The sign undone, on the level of the average block, on the scale that is computed with.

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

    def fit(self, sums: Sums, deviation: float | None = None) -> Fit:
        """The model of this study, fitted.

        Args:
            sums: The measurements.
            deviation: The size of deviations; default: the estimated one.
        """
        return self.model.fit(sums, self.sizes.deviation if deviation is None else deviation)

    def likelihood(self, columns: Columns | None = None, sigma: Floats | None = None) -> Likelihood:
        """The restricted likelihood of both sizes.

        Args:
            columns: The measurements; default: all.
            sigma: Their standard errors; default: without extra scatter.
        """
        columns = self.columns if columns is None else columns
        return self.model.likelihood(columns, self.stated.estimated if sigma is None else sigma)

    def _residual_scatter(self, columns: Columns) -> tuple[float, int]:
        sums = self.pooled(columns, np.ones(columns.value.size))
        fit = self.model.scatter_fit(sums)
        return fit.squares(sums), columns.value.size - fit.rank


_CLASSES: dict[str, type[StudyModel]] = {}


def register(model: type[StudyModel]) -> None:
    """Make a model known by its name."""
    _CLASSES[model.facts.name] = model
    add_model(model.facts)


def model_of(state: State) -> StudyModel:
    """The present model of a study."""
    return _CLASSES[state.model.facts.name](state)


def _load_all() -> None:
    for found in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if (
            model := getattr(importlib.import_module(f"{__package__}.{found.name}"), "MODEL", None)
        ) is not None:
            register(model)


_load_all()
