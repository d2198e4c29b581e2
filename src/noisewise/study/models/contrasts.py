"""Anytime bounds on differences of independent options that blocks or measured differences connect.

No option or block is a reference, so that nothing depends on the order of the options, on a shift of a block,
or on a measurement that says nothing about differences; and a block of two measurements is the same as their
difference.

**Contrasts.** With the offsets of blocks projected out, the precision of the options is
``V = Σ differences + Σ over blocks of (diag W - WWᵀ/ΣW)``, W being the weights in a block. Given everything
measured before, a new value minus its block's mean so far is normal with known variance, whatever the offset
is. So with M the noise in these contrasts, and any positive definite P fixed beforehand,

    ‖M‖² in the norm of (V + P)⁻¹  <=  2·log(1/δ) + log det(I + P⁻¹V)      at all times, with prob. 1 - δ,

*if what is measured next within a block depends on contrasts only*: a person who knows the offsets, and
leaves blocks after a low first reading, selects noise.

A difference of options i and k is off by ``<x, M>`` with ``Vx = e_k - e_i``. Such x are equal up to a shift
of all options, so the one with the smallest ``xᵀ(V + P)x`` counts. Two families of P are used side by side:

- ``c·I``: one ellipsoid for all differences at once;
- ρ on i and k and Λ elsewhere, for the n - 1 differences to the one best option. The determinant is bounded
  by that of the pair times the diagonal elsewhere (Fischer's inequality), which is all of it if Λ is large.
"""

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.study.evidence.half_widths import HalfWidths
from noisewise.study.log.measurements import Codes
from noisewise.study.models.fit import Fit, Sums, totals
from noisewise.study.models.model import Shares
from noisewise.study.models.solver import GROUND, Gaussian, Layout, Observations, Targets


class Tuning(NamedTuple):
    """One choice of P, and its share of δ."""

    on_pair: float  # ρ, times 1/resolution²
    elsewhere: float  # Λ, times 1/resolution²
    share: float


#: Its name in a certificate.
CONTRASTS = "contrasts"
#: ``c`` times resolution², each with its share of δ; the last is for bounds that are far above eps.
ELLIPSOIDS = (
    Tuning(4.0, 4.0, 0.24),
    Tuning(1.0, 1.0, 0.24),
    Tuning(0.25, 0.25, 0.24),
    Tuning(0.02, 0.02, 0.03),
)
#: ρ and Λ times resolution².
PAIRS = (Tuning(2.0, 1e9, 0.15), Tuning(2.0, 1e2, 0.1))
#: Of at most so many options, half-widths are kept: asking needs again what the certificate looked at.
REMEMBERED = 5000
#: Up to so many connected options all covariances are written down.
DENSE = 400
#: A fit that rounding may have moved by more than this, in standard errors, bounds nothing.
UNSETTLED = 1e-6


class Contrasts(HalfWidths):
    """Half-widths of the differences between one option and all others.

    Args:
        fit: Of independent options that blocks or differences connect.
        sums: What was fitted.
        shares: How the error probability is divided.
        resolution: The difference that matters.
    """

    def __init__(self, fit: Fit, sums: Sums, shares: Shares, resolution: float) -> None:
        assert fit.solved is not None
        self._fit, self._solved, self._sums, self._shares = fit, fit.solved, sums, shares
        self._looked: dict[int, Floats] = {}
        unit = resolution**-2.0
        self._flat, self._rho, self._big = (
            unit * np.array([getattr(tuning, name) for tuning in family])[:, None]
            for family, name in ((ELLIPSOIDS, "on_pair"), (PAIRS, "on_pair"), (PAIRS, "elsewhere"))
        )
        # The diagonal of V: a value counts for less, the more of its block's weight it is.
        level = sums.minus < 0
        self._in_block = np.flatnonzero(level)
        block, weight = sums.block[level], sums.weight[level]
        self._of_block = totals(block, weight, len(sums.blocks))
        self._share = weight / self._of_block[block]
        own = totals(sums.plus[level], weight * (1.0 - self._share), fit.means.size)
        for end in (sums.plus, sums.minus):
            own += totals(end[~level], sums.weight[~level], fit.means.size)
        self._own = own

    @property
    def evidence(self) -> tuple[str, ...]:
        """Contrasts alone."""
        return (CONTRASTS,)

    @functools.cached_property
    def _growth(self) -> Floats:
        """``log det(I + V/c)`` of every ellipsoid: the determinant with c as a prior of every option."""
        rows, layout, n = self._solved.rows, self._solved.layout, self._fit.means.size
        some = np.flatnonzero(self._fit.group >= 0)
        none = np.full(some.size, GROUND)
        whole = Layout(
            np.concatenate([rows.plus, some]), np.concatenate([rows.minus, none]),
            np.zeros((rows.plus.size + some.size, 0)), layout.nodes,
        )  # fmt: skip
        nothing, found = np.zeros(rows.plus.size + some.size), []
        for prior in self._flat[:, 0].tolist():
            weight = np.concatenate([rows.weight, np.full(some.size, prior)])
            ends = Observations(whole.plus, whole.minus, whole.dense, nothing, nothing, weight)
            grown = Gaussian(ends, Targets(np.arange(n), np.zeros((n, 0))), layout.nodes, whole).log_det
            found.append(grown - some.size * np.log(prior))
        logs = np.log(self._of_block[self._of_block > 0.0]).sum()
        return np.asarray(np.maximum(np.array(found) - logs, 0.0)[:, None])

    def half_widths(self, option: int) -> Floats:
        """By how much each estimated difference to ``option`` can be off, (n,); infinite if unconnected."""
        if option not in self._looked:
            found = self._found(option)
            if found.size > REMEMBERED:
                return found
            self._looked[option] = found
        return self._looked[option].copy()

    def _found(self, option: int) -> Floats:
        fit, shares = self._fit, self._shares
        half = np.full(fit.means.size, np.inf)
        half[option] = 0.0
        linked = fit.comparable(option)
        linked[option] = False
        others = np.flatnonzero(linked)
        if fit.slack > UNSETTLED or not others.size:
            return half
        certain = -math.log(shares.comparing * shares.delta)
        doubt = shares.doubt(option)[others]
        flat = 2.0 * (certain - _logs(ELLIPSOIDS)) + self._growth
        pairs = 2.0 * (doubt - _logs(PAIRS)) + self._pair_growth(option, others)
        x, middle, scatter = self._vectors(option, others)
        with np.errstate(over="ignore", invalid="ignore"):
            squared = np.concatenate(
                [_lengths(x, middle, scatter, self._flat, self._flat) * flat,
                 _lengths(x, middle, scatter, self._rho, self._big) * pairs]
            )  # fmt: skip
        # What is not a number bounds nothing.
        half[others] = np.sqrt(np.where(squared >= 0.0, squared, np.inf).min(axis=0))
        return half

    def _vectors(self, option: int, others: Codes) -> tuple[Floats, Floats, Floats]:
        """What x weighs at k, on average elsewhere but at the option, and how this scatters, (others,) each.

        x is 0 at the option, and the covariances of "k minus option" with "j minus option" at every other j.
        """
        solved, count = self._solved, max(1, others.size - 1)
        roots = solved.apart(option)[:, others]
        own, here = solved.own[others], float(solved.own[option])
        square = np.einsum("ij,ij->j", roots, roots)
        x = own + here + square
        if others.size <= DENSE:
            beside = roots.T @ roots
            np.fill_diagonal(beside, 0.0)
            middle = beside.sum(axis=0) / count
            apart = beside - middle
            np.fill_diagonal(apart, 0.0)
            scatter = np.einsum("jk,jk->k", apart, apart)
        else:
            mean = roots.mean(axis=1)
            centred = roots - mean[:, None]
            mine = np.einsum("ij,ij->j", centred, roots)
            middle = roots.T @ mean - mine / count
            spread = np.einsum("ij,ij->j", roots, (centred @ centred.T) @ roots)
            scatter = np.maximum(spread - mine**2 * (1.0 + 1.0 / count), 0.0)
        return x, (middle + here) * (others.size > 1), scatter * (others.size > 1)

    def _pair_growth(self, option: int, others: Codes) -> Floats:
        """An upper bound of ``log det(I + P⁻¹V)`` for the pairs with the option, (pairs, others)."""
        sums, own = self._sums, self._own
        level, linked = self._in_block, np.zeros(own.size)
        mine = sums.plus[level] == option
        share = totals(sums.block[level][mine], self._share[mine], len(sums.blocks))
        linked += totals(sums.plus[level], sums.weight[level] * share[sums.block[level]], own.size)
        for end, other in ((sums.plus, sums.minus), (sums.minus, sums.plus)):
            there = np.flatnonzero((sums.minus >= 0) & (end == option))
            linked += totals(other[there], sums.weight[there], own.size)
        mine, theirs, linked = own[option], own[others], linked[others]
        rho, big = self._rho, self._big
        pair = 1.0 + (mine + theirs) / rho + np.maximum(mine * theirs - linked**2, 0.0) / rho**2
        elsewhere = np.log1p(own / big).sum(axis=1, keepdims=True)
        return np.asarray(elsewhere - np.log1p(mine / big) - np.log1p(theirs / big) + np.log(pair))


def _logs(family: Sequence[Tuning]) -> Floats:
    """The logarithms of the shares, (family, 1)."""
    return np.asarray(np.log([[tuning.share] for tuning in family]))


def _lengths(x: Floats, middle: Floats, scatter: Floats, rho: Floats, big: Floats) -> Floats:
    """``min over shifts of xᵀ(V + P)x``: a sum of squares of distances between three groups of options."""
    others = x.size - 1
    total = others * big + 2.0 * rho
    apart = others * (big / total) * rho * (middle**2 + (x - middle) ** 2) + rho / total * rho * x**2
    return np.asarray(x + big * scatter + apart)
