"""The measurements that a check judges, and what causes are compared by: residuals, likelihoods."""

import functools
from typing import Any, NamedTuple

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.core.support.words import number
from noisewise.study.certificate.causes.leverages import MOST, leverages
from noisewise.study.certificate.causes.plain_network import PlainNetwork
from noisewise.study.certificate.check import checkable, name_of, standard_residuals, tails
from noisewise.study.inputs.error_bars import KNOWN
from noisewise.study.log.measurements import KINDS, Codes, Columns
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.own_readings import is_linked
from noisewise.study.models.sizes.variance_components import usual_errors
from noisewise.study.models.sums import block_places

#: Unknowns of a network from which on causes are compared in plain floats.
LARGE = 150


class Rest(NamedTuple):
    """What is left of the measurements, or what they would be, fitted."""

    columns: Columns
    sigma: Floats
    squares: float
    freedom: int
    residuals: Floats  # (N,): value less fit
    offsets: Floats  # (N,): of its block; 0 for differences
    parts: Codes  # (N,): measurements with the same are connected

    @property
    def reduced(self) -> float:
        """Chi-square per degree of freedom."""
        return self.squares / self.freedom if self.freedom > 0 else float("nan")


class Table:
    """The measurements of an analysis that can be judged.

    Args:
        analysis: What the measurements say.
    """

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self.columns, self.sigma = checkable(analysis)
        kept = np.isin(analysis.columns.number, self.columns.number, assume_unique=True)
        self.bare: Floats = analysis.stated.estimated[kept]  # without extra scatter
        self.known = self.columns.kind == KINDS.index(KNOWN)
        self.features = analysis.state.features

    @property
    def logs(self) -> bool:
        """Whether values are logarithms."""
        return self.analysis.specification.value_scale.log

    @property
    def told_values(self) -> Floats:
        """The values in the user's unit, (N,)."""
        return np.asarray(self.analysis.specification.value_scale.undone(self.columns.value))

    @property
    def count(self) -> int:
        """How many there are."""
        return self.sigma.size

    @functools.cached_property
    def rest(self) -> Rest:
        """All of them, as they are."""
        return self.fitted(self.columns, self.sigma)

    @functools.cached_property
    def leverages(self) -> Floats:
        """How much of its fitted value each decides, (N,)."""
        return self.leverages_of(self.rest)

    @functools.cached_property
    def deviance(self) -> float:
        """-2·log L of the error bars as they are, the options' values integrated out."""
        return self.deviance_of(self.columns, self.bare)

    @functools.cached_property
    def repeated(self) -> bool:
        """Whether anything was measured repeatedly, which alone tells error bars from features."""
        return self.features is None or self.analysis.likelihood(self.columns, self.bare).repeats > 0

    def fitted(self, columns: Columns, sigma: Floats) -> Rest:
        """The model of the study, fitted to these."""
        if self._is_large(columns):
            plain = PlainNetwork(columns).solve(sigma)
            freedom = columns.value.size - plain.rank
            return Rest(columns, sigma, plain.squares, freedom, plain.residuals, plain.offsets, plain.parts)
        analysis = self.analysis
        sums = analysis.pooled(columns, sigma)
        fit = analysis.fit(sums)
        sign = analysis.specification.sign
        residuals = sign * sigma * standard_residuals(analysis, columns, sigma, sums, fit)
        offsets = sign * fit.offsets[block_places(columns, sums.blocks)]
        return Rest(
            columns, sigma, fit.squares(sums), columns.value.size - fit.rank, residuals,
            np.where(columns.minus < 0, offsets, 0.0), fit.group[columns.plus],
        )  # fmt: skip

    def _is_large(self, columns: Columns) -> bool:
        unknowns = self.analysis.n + np.unique(columns.block).size
        return self.features is None and unknowns > LARGE and is_linked(columns)

    def with_errors(self, bare: Floats) -> Rest:
        """All of them with other error bars, to which the extra scatter is added as before."""
        return self.fitted(self.columns, self.columns.widened(bare, self.analysis.sizes.extra_scatter))

    def leverages_of(self, rest: Rest) -> Floats:
        """The same for part of them."""
        if self.features is None and is_linked(rest.columns):
            return np.clip(PlainNetwork(rest.columns).leverages(rest.sigma), 0.0, MOST)
        return leverages(rest.columns, rest.sigma, self.features, self.analysis.sizes.deviation)

    def deviance_of(self, columns: Columns, bare: Floats, extra: float | None = None) -> float:
        """-2·log L of other measurements, error bars or extra scatter, the model as it is."""
        sizes = self.analysis.sizes
        extra = sizes.extra_scatter if extra is None else extra
        if self._is_large(columns):
            sigma = columns.widened(usual_errors(columns, bare, self.analysis.n), extra)
            plain = PlainNetwork(columns).solve(sigma)
            return 2.0 * float(np.log(sigma).sum()) + plain.squares + plain.log_det
        return self.analysis.likelihood(columns, bare)(sizes.deviation, extra)

    def chance(self, rest: Rest) -> float:
        """The probability of a chi-square at least as large, if all is right; 1 if nothing can be said."""
        return tails(self.analysis, rest.reduced, rest.freedom)[0] if rest.freedom > 0 else 1.0

    def label(self, name: str) -> list[str]:
        """What was told under this name with each measurement, or nothing."""
        return [str(one or "") for one in self.told(name)]

    def told(self, name: str) -> list[Any]:
        """The same as it was told, None where nothing was."""
        column = self.analysis.state.told.column(name)
        return [column[number - 1] for number in self.columns.number.tolist()]

    def row(self, at: int, columns: Columns | None = None) -> dict[str, Any]:
        """A measurement for programs, by its place."""
        return row_of(self.analysis, self.columns if columns is None else columns, at)

    def name(self, at: int, columns: Columns | None = None) -> str:
        """A measurement as people know it, by its place."""
        return name_of(self.analysis, self.columns if columns is None else columns, at)


def row_of(analysis: Analysis, columns: Columns, at: int) -> dict[str, Any]:
    """A measurement for programs, by its place."""
    place, ids = int(columns.number[at]), analysis.state.ids
    told = analysis.state.told[place - 1]
    minus = int(columns.minus[at])
    return {
        "measurement": f"m-{place}",
        "key": told.get("key"),
        "row": told.get("row"),
        "option": ids[columns.plus[at]],
        "minus": ids[minus] if minus >= 0 else None,
        "block": told.get("block"),
        "value": float(analysis.specification.value_scale.undone(columns.value[at])),
    }


def fit_in_words(rest: Rest) -> str:
    """What the fit is, for the end of a sentence."""
    return f"the reduced chi-square is {number(rest.reduced)}" if rest.freedom > 0 else "all fits"
