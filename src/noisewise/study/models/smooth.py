"""The smooth model: a weighted sum of features, plus a deviation that options with like features share.

Deviations are drawn from a normal law with covariance ``τ²·k(r)``, Matérn with smoothness 5/2

    k(r) = (1 + √5·r + 5r²/3)·exp(-√5·r),   r² = Σ (difference of feature j / length j)²,

on standardised features. Weights and offsets have no prior. τ is stated or estimated like any size of
deviations, and a certificate uses its upper limit; lengths are always estimated.

**The solver.** With ``K = L·Lᵀ + diag(ρ)`` (a Cholesky decomposition that takes the option known least next,
measured ones first, and ends where ρ is small) a deviation is ``τ·(L·u + √ρ·e)`` with independent standard
normal u and e: deviations of the options' own, as in the model with deviations, and more weights, of which
one row each says that they are 0 ± τ.

**Lengths** maximise the restricted likelihood together with τ. Let W² be the precisions of the measured
means and Q = W·A, with A an orthonormal basis of all that is orthogonal to W times weights and offsets. Then
``z = Qᵀy`` is normal with covariance ``S = I + τ²·QᵀKQ``, whatever weights and offsets are, and

    -2·log L = log det S + zᵀS⁻¹z + constant,     with derivatives  tr(τ²·(QS⁻¹Qᵀ - vvᵀ)·dK),  v = QS⁻¹z.

A weak normal prior on the logarithm of each length holds those that the measurements say nothing about.

**Half-widths** are a normal quantile times the standard error of a difference, with a union bound over
options. Weights are not protected one by one, as in the linear models: how much of a trend is weights and how
much is deviation is never known, and does not matter. So the confidence is that of the moment of stopping,
averaged over surfaces that the kernel makes likely.
"""

import math
import weakref
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.core.text import number
from noisewise.study.evidence.half_widths import HalfWidths
from noisewise.study.log.measurements import Codes, Columns
from noisewise.study.log.model_choice import ESTIMATE, ModelFacts
from noisewise.study.log.state import State
from noisewise.study.models.fit import Equations, Fit, Sums, solved_fit
from noisewise.study.models.linear import UNSETTLED, Linear
from noisewise.study.models.linear_deviation import LinearDeviation
from noisewise.study.models.model import COMPARING, BoundaryCase
from noisewise.study.models.posterior import Knowledge
from noisewise.study.models.solver import GROUND, Gaussian, Layout, Observations, Targets
from noisewise.study.models.variance_components import Likelihood, Sizes, estimate_one

#: Options in a study, at most; shared weights of deviations; rows that lengths and sizes are found on.
MOST_OPTIONS, MOST_WEIGHTS, MOST_ROWS = 10_000, 400, 500
#: The part of its variance that is not worth a weight; the least of an option's own, where others have more.
LEFT, LEAST_LEFT = 1e-4, 1e-5
#: Lengths beside the standard deviation of a feature.
SHORTEST, LONGEST = 0.05, 10.0
#: Starts of the search, in units of the middle of the prior, √(number of features).
STARTS = (0.4, 1.5)
#: When it ends.
SETTLED = {"ftol": 1e-7, "maxiter": 60}
#: By how much τ may be larger than the values' range: long lengths make it so.
LARGER = 10.0


class Kernel(NamedTuple):
    """Which options deviate alike."""

    lengths: Floats  # (columns,): in standard deviations of the features
    loads: Floats  # (n, r): L
    left: Floats | None  # (n,): ρ; None where it is too small to matter


def matern(squares: Floats) -> tuple[Floats, Floats]:
    """``k(r)`` and ``k'(r)/r`` for squares of r."""
    far = np.sqrt(5.0 * squares)
    fall = np.exp(-far)
    return (1.0 + far + far**2 / 3.0) * fall, -5.0 / 3.0 * (1.0 + far) * fall


def alike(points: Floats, others: Floats) -> Floats:
    """How much the deviations of two lists of points, in units of lengths, are alike, (n, m)."""
    squares = (points**2).sum(axis=1)[:, None] + (others**2).sum(axis=1) - 2.0 * points @ others.T
    return matern(np.maximum(squares, 0.0))[0]


def decomposed(points: Floats, first: Codes) -> tuple[Floats, Floats | None]:
    """L and ρ of points in units of lengths; those listed as ``first`` are taken before the others."""
    left, loads = np.ones(len(points)), np.zeros((len(points), min(len(points), MOST_WEIGHTS)))
    for at in range(loads.shape[1]):
        pivot = int(first[np.argmax(left[first])]) if first.size else 0
        if not first.size or left[pivot] <= LEFT:
            pivot = int(np.argmax(left))
        if left[pivot] <= LEFT:
            return loads[:, :at], None
        column = alike(points, points[[pivot]])[:, 0] - loads[:, :at] @ loads[pivot, :at]
        loads[:, at] = column / math.sqrt(left[pivot])
        left = np.maximum(left - loads[:, at] ** 2, 0.0)
        left[pivot] = 0.0
    return loads, np.maximum(left, LEAST_LEFT)


class Restricted(NamedTuple):
    """What sums say whatever weights and offsets are: ``z = Qᵀy``, with Q added up by option."""

    options: Codes  # (k,): those that were measured
    turn: Floats  # (k, c): Q
    z: Floats  # (c,)


def restricted(features: Floats, sums: Sums) -> Restricted:
    """Of at most `MOST_ROWS` rows, which no value decides."""
    if sums.plus.size > MOST_ROWS:
        sums = sums.select(np.linspace(0, sums.plus.size - 1, MOST_ROWS).astype(int))
    level, m = sums.minus < 0, sums.plus.size
    offsets = np.zeros((m, len(sums.blocks)))
    offsets[level, sums.block[level]] = 1.0
    options, place = np.unique(np.concatenate([sums.plus, sums.minus[~level]]), return_inverse=True)
    of_options = np.zeros((m, options.size))
    of_options[np.arange(m), place[:m]] = 1.0
    of_options[np.flatnonzero(~level), place[m:]] = -1.0
    heavy = np.sqrt(sums.weight)[:, None]
    u, sizes, _ = np.linalg.svd(heavy * np.column_stack([of_options @ features[options], offsets]))
    rank = int((sizes > 1e-9 * sizes.max(initial=1e-300)).sum())
    q = heavy * u[:, rank:]
    return Restricted(options, of_options.T @ q, q.T @ sums.value)


def found_lengths(points: Floats, given: Restricted, stated: float | None) -> Floats:
    """The lengths of features that the measured options (points, standardised) make most likely.

    Args:
        points: ``(k, columns)``.
        given: What was measured of them.
        stated: The size of deviations, where it is stated.
    """
    from scipy.linalg import cho_factor, cho_solve
    from scipy.optimize import minimize

    columns = points.shape[1]
    middle = 0.5 * math.log(columns)
    power = float((given.turn**2).sum())
    if not given.z.size or power == 0.0 or not given.z.any():
        return np.full(columns, math.exp(middle))
    typical = math.log(math.sqrt(float(given.z @ given.z) / power)) if stated is None else math.log(stated)
    apart = (points[:, None, :] - points) ** 2

    def minus_log(logs: Floats) -> tuple[float, Floats]:
        scaled = apart * np.exp(-2.0 * logs[:-1])
        scale, pulled = math.exp(2.0 * logs[-1]), logs[:-1] - middle
        k, slope = matern(scaled.sum(axis=2))
        factor = cho_factor(np.eye(given.z.size) + scale * (given.turn.T @ k @ given.turn), lower=True)
        v = cho_solve(factor, given.z)
        by_k = scale * (
            given.turn @ cho_solve(factor, given.turn.T) - np.outer(given.turn @ v, given.turn @ v)
        )
        value = 2.0 * float(np.log(np.diagonal(factor[0])).sum()) + float(given.z @ v)
        by_lengths = -np.einsum("ij,ijc->c", by_k * slope, scaled)
        return value + float(pulled @ pulled), np.append(by_lengths + 2.0 * pulled, 2.0 * (by_k * k).sum())

    size = (typical, typical) if stated is not None else (typical - 5.0, typical + 5.0)
    bounds = [(math.log(SHORTEST), math.log(LONGEST))] * columns + [size]
    starts = [np.append(np.full(columns, middle + math.log(start)), typical) for start in STARTS]
    runs = [
        minimize(minus_log, start, jac=True, method="L-BFGS-B", bounds=bounds, options=SETTLED)
        for start in starts
    ]
    return np.asarray(np.exp(min(runs, key=lambda run: float(run.fun)).x[:-1]))


class SmoothEquations(Equations):
    """The equations of a linear model, with or without deviations, and the weights that these share."""

    def __init__(self, features: Floats, sums: Sums, kernel: Kernel) -> None:
        (n, d), (_, shared) = features.shape, kernel.loads.shape
        super().__init__(n, sums, features, deviating=kernel.left is not None)
        loads, none = kernel.loads, np.full(shared, GROUND)
        at = loads[sums.plus] - np.where(sums.minus[:, None] < 0, 0.0, loads[sums.minus])
        own = np.zeros((0, shared))
        if kernel.left is not None:
            at, own, loads = np.zeros_like(at), -loads, np.zeros_like(loads)
        plus, minus, dense = self._ends
        dense = np.block([[dense, np.vstack([at, own])], [np.zeros((shared, d)), np.eye(shared)]])
        self._ends = np.append(plus, none), np.append(minus, none), dense
        self._targets = Targets(
            self._targets.node, np.column_stack([features * 0.0 if own.size else features, loads])
        )
        self._tied = np.append(np.ones(0) if kernel.left is None else 1.0 / kernel.left, np.ones(shared))
        self.ties, known = self._tied.size, self.layout.basis
        basis = np.zeros((d + shared, known.shape[1] + shared))
        basis[:d, : known.shape[1]], basis[d:, known.shape[1] :] = known, np.eye(shared)
        self.layout = Layout(*self._ends, self._nodes, self._anchors, basis)

    def solve(self, sums: Sums, deviation: float = 0.0) -> Gaussian:
        """The solution with these values and weights."""
        fine = np.zeros(sums.plus.size) if sums.fine is None else sums.fine
        value, low = (np.append(part, np.zeros(self.ties)) for part in (sums.value, fine))
        rows = Observations(*self._ends, value, low, np.append(sums.weight, self._tied / deviation**2))
        return Gaussian(rows, self._targets, self._nodes, self.layout)


class SmoothLikelihood(Likelihood):
    """The restricted likelihood of both sizes, given the lengths."""

    def __init__(self, model: "Smooth", columns: Columns, sigma: Floats) -> None:
        super().__init__(columns, sigma, model.n, model.features, model.specification.sign)
        self._model = model
        self._found: tuple[float, float, Floats, Floats] | None = None
        step = self.tried[-1] / self.tried[-2]
        more = math.ceil(math.log(LARGER) / math.log(step))
        self.tried = np.append(self.tried, self.tried[-1] * step ** np.arange(1.0, more + 1.0))

    def __call__(self, deviation: float, extra_scatter: float) -> float:
        """-2·log L: of the linear model, and what deviations change."""
        if self._found is None or self._found[0] != extra_scatter:
            given = restricted(self._model.features, self.sums(extra_scatter))
            points = self._model.points[given.options] / self._model.kernel.lengths
            sizes, turned = np.linalg.eigh(given.turn.T @ alike(points, points) @ given.turn)
            without = super().__call__(0.0, extra_scatter)
            self._found = extra_scatter, without, np.maximum(sizes, 0.0), (turned.T @ given.z) ** 2
        _, without, sizes, squares = self._found
        grown = deviation**2 * sizes
        return without + float(np.log1p(grown).sum() - (squares * grown / (1.0 + grown)).sum())


class KernelBounds(HalfWidths):
    """Half-widths of differences that are normal, given the measurements."""

    evidence = ("features", "smooth deviations")

    def __init__(self, case: BoundaryCase) -> None:
        self._fit = case.fit
        self._quantile = -NormalDist().inv_cdf(COMPARING * case.delta / max(1, case.n_allowed - 1))

    def half_widths(self, option: int) -> Floats:
        """By how much "j minus option" can be larger than estimated, for every j, (n,)."""
        half = self._quantile * np.sqrt(self._fit.variances_apart(option))
        if self._fit.slack > UNSETTLED:
            half[:] = np.inf
        half[option] = 0.0
        return np.asarray(half)


#: The latest kernel of each study, and the number of events that it was found after.
_LATEST: "weakref.WeakKeyDictionary[State, tuple[int, Kernel]]" = weakref.WeakKeyDictionary()


class Smooth(LinearDeviation):
    """One weight per feature, and deviations that options with like features share."""

    facts = ModelFacts("smooth", uses_features=True, has_deviation=True, most_options=MOST_OPTIONS)
    radius = (
        "normal quantile (union bound over options) of differences given the measurements, at the moment of "
        "stopping; lengths of the kernel as estimated"
    )
    blame = "the kernel, the size of the deviations, the error bars or some measurements are wrong"

    @property
    def points(self) -> Floats:
        """The standardised features, (n, columns)."""
        whitening = self.state.whitening
        assert whitening is not None
        return np.asarray((self.features / whitening.stretch) @ whitening.directions.T)

    @property
    def kernel(self) -> Kernel:
        """The kernel that all measurements of the study make likely, imagined ones left out."""
        events, found = _LATEST.get(self.state, (-1, None))
        if found is None or events != self.state.n_events:
            found = self._found_kernel()
            _LATEST[self.state] = self.state.n_events, found
        return found

    def _found_kernel(self) -> Kernel:
        from noisewise.study.models.analysis import Analysis

        analysis = Analysis(self.state)
        given = Likelihood(analysis.columns, analysis.stated.estimated, self.n, None, self.specification.sign)
        extra, size = self.choice.extra_scatter, self.choice.deviation
        if extra == ESTIMATE:
            extra = estimate_one(lambda tried: given(0.0, tried), given.tried) if given.repeats else None
        measured = restricted(self.features, given.sums(float(extra or 0.0)))
        stated = None if size in (None, ESTIMATE) else float(size)
        lengths = found_lengths(self.points[measured.options], measured, stated)
        order = self.state.by_name()  # the order of the list decides nothing
        first = np.flatnonzero(np.isin(order, measured.options))
        loads, left = decomposed(self.points[order] / lengths, first)
        back = np.argsort(order)
        return Kernel(lengths, loads[back], None if left is None else left[back])

    def fit(self, sums: Sums, deviation: float) -> Fit:
        """Deviations are shrunk by what their size and those of their neighbours make likely."""
        if deviation == 0.0:
            return super().fit(sums, 0.0)
        return solved_fit(self.n, sums, SmoothEquations(self.features, sums, self.kernel), deviation)

    def boundary(self, case: BoundaryCase) -> HalfWidths:
        """A quantile of differences, given the measurements."""
        return KernelBounds(case)

    def knowledge(self, fit: Fit, boundary: HalfWidths, option: int) -> Knowledge:
        """Half-widths are in proportion to standard errors."""
        return Linear.knowledge(self, fit, boundary, option)

    def likelihood(self, columns: Columns, sigma: Floats) -> Likelihood:
        """With the weights integrated out, given the lengths."""
        return SmoothLikelihood(self, columns, sigma)

    def assumptions(self, sizes: Sizes) -> list[str]:
        """That deviations are smooth, normal, and of the size that is used."""
        said = [
            one.replace("plus a deviation, drawn", "plus a smooth deviation, drawn")
            for one in super().assumptions(sizes)
        ]
        return [*said, "deviations are alike where features are, by a Matérn kernel of smoothness 5/2"]

    def approximations(self, kinds: set[str]) -> list[str]:
        """That lengths are taken for known ones."""
        return [
            "the lengths of the kernel were estimated from the same measurements",
            *super().approximations(kinds),
        ]

    def standing_out(self, sums: Sums, fit: Fit, deviation: float) -> Floats | None:
        """How far each measured option lies from what all other rows say, in standard errors, (n,)."""
        if fit.solved is None or not deviation:
            return super().standing_out(sums, fit, deviation)
        others, apart = fit.solved.left_out(sums.plus.size), np.zeros(self.n)
        with np.errstate(invalid="ignore"):
            away = np.nan_to_num(others.residual / np.sqrt(others.variance + 1.0 / sums.weight))
        for row in np.argsort(np.abs(away), kind="stable"):  # of several rows the one that is furthest
            if sums.minus[row] < 0:
                apart[sums.plus[row]] = away[row]
        return apart

    def unlike_the_others(self, name: str, apart: float, deviation: float) -> str:
        """A sentence about an option whose neighbours say something else."""
        return (
            f"{name} lies {number(abs(apart), 2)} standard errors from what options with like features "
            "say: it is not like the others. Void its measurements if they are wrong, or switch to "
            '`model="independent"`'
        )

    def prior_parts(self, deviation: float) -> tuple[float, Floats]:
        """What is left to it of deviations; features, a level and the rest of deviations are shared."""
        shared, kernel = super().prior_parts(deviation)[1], self.kernel
        own = 0.0 if kernel.left is None else deviation * math.sqrt(float(kernel.left.mean()))
        return own, np.column_stack([shared, deviation * kernel.loads])


MODEL = Smooth
