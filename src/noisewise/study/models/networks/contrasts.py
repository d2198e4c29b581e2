"""Anytime bounds on differences of independent options that blocks or measured differences connect.

No option or block is a reference: everything follows from the network of links (`connected_parts.py`), so
that nothing depends on the order of the options, on a shift of a block, or on a measurement that says nothing
about differences; and a block of two measurements is the same as their difference.

**Contrasts.** With the offsets of blocks projected out, the precision of the options is
``V = Σ differences + Σ over blocks of (diag W - WWᵀ/ΣW)``, W being the weights in a block. Given everything
measured before, a new value minus its block's mean so far is normal with known variance, whatever the offset
is. So with M the noise in these contrasts, and any positive definite P fixed beforehand,

    ‖M‖² in the norm of (V + P)⁻¹  <=  2·log(1/δ) + log det(I + P⁻¹V)      at all times, with prob. 1 - δ,

*if what is measured next within a block depends on contrasts only*: a person who knows the offsets, and
leaves blocks after a low first reading, selects noise.

A difference of options i and k is off by ``<x, M>`` with ``Vx = e_k - e_i``. Such x are equal up to a shift
of all nodes, so the one with the smallest ``xᵀ(V + P)x`` counts. Two families of P are used side by side:

- ``c·I``: one ellipsoid for all differences at once;
- ρ on i and k and Λ elsewhere, for the n - 1 differences to the one best option.
"""

import functools
import math
from typing import NamedTuple, Protocol

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.study.evidence.half_widths import HalfWidths
from noisewise.study.models.boundary import Shares, Tuning
from noisewise.study.models.connected_parts import Component
from noisewise.study.models.exact.network import invert_network

#: Its name in a certificate.
CONTRASTS = "contrasts"
#: ``c`` times resolution², each with its share of δ; the last is for bounds that are far above eps.
ELLIPSOIDS = (*(Tuning(scale, scale, 0.24) for scale in (4.0, 1.0, 0.25)), Tuning(0.02, 0.02, 0.03))
#: ρ and Λ times resolution².
PAIRS = (Tuning(2.0, 1e9, 0.15), Tuning(2.0, 1e2, 0.1))
ELSEWHERE = sorted({tuning.elsewhere for tuning in PAIRS})
_WHICH = np.array([ELSEWHERE.index(tuning.elsewhere) for tuning in PAIRS])
_LOG_FLAT = np.log([tuning.share for tuning in ELLIPSOIDS])
_LOG_PAIR = np.log([tuning.share for tuning in PAIRS])
#: Of at most so many options, half-widths are kept: who asks needs again what the certificate looked at.
REMEMBERED = 5000
#: With more nodes than this, blocks take the place of options in the algebra if they are fewer.
DENSE = 400
#: Estimates that refinement still moved by more than this, in their errors, are not certified.
UNSETTLED = 1e-6


class DifferenceVectors(NamedTuple):
    """The vectors x of the differences to one option: what they weigh at the pair and elsewhere."""

    variance: Floats  # (options,): of the difference; x is 0 at the one option and this at the other
    middle: Floats  # (options,): the mean of x over all other nodes
    scatter: Floats  # (options,): its sum of squares around this mean


class PartAlgebra(Protocol):
    """The algebra of one component."""

    nodes: int  # that have a part of P

    def growth(self, prior: float) -> float:
        """``log det(I + V/prior)``."""

    def seen_from(self, option: int) -> DifferenceVectors:
        """Everything about the differences to one of its options."""

    def pair_growth(self, option: int) -> Floats:
        """``log det(I + P⁻¹V)`` with ρ on the option and each other one, Λ elsewhere, (pairs, options)."""


class Contrasts(HalfWidths):
    """Half-widths of the differences between one option and all others."""

    def __init__(
        self,
        components: tuple[Component, ...],
        shares: Shares,
        resolution: float,
        *,
        slack: float = 0.0,
    ) -> None:
        self._shares, self._slack = shares, slack
        self._looked: dict[int, Floats] = {}
        unit = resolution**-2.0
        self._components = components
        self._parts = [make_part(component, unit) for component in components]
        self._flat = unit * np.array([tuning.on_pair for tuning in ELLIPSOIDS])
        self._on_pair = unit * np.array([tuning.on_pair for tuning in PAIRS])
        self._elsewhere = unit * np.array([tuning.elsewhere for tuning in PAIRS])
        self._flat_growth, self._pair_growth = (
            np.array([sum(part.growth(prior) for part in self._parts) for prior in priors])
            for priors in (self._flat, self._elsewhere)
        )

    @property
    def evidence(self) -> tuple[str, ...]:
        """Contrasts alone."""
        return (CONTRASTS,)

    def half_widths(self, option: int) -> Floats:
        """By how much each estimated difference to ``option`` can be off, (n,); infinite if unconnected."""
        if option in self._looked:
            return self._looked[option].copy()
        half = np.full(self._shares.n_now, np.inf)
        for component, part in zip(self._components, self._parts, strict=True):
            at = int(np.searchsorted(component.options, option))
            if at < component.options.size and component.options[at] == option:
                half[component.options] = self._within(component, part, at)
        half[option] = 0.0
        if half.size <= REMEMBERED:
            self._looked[option] = half.copy()
        return half

    def _within(self, component: Component, part: PartAlgebra, at: int) -> Floats:
        if self._slack > UNSETTLED:
            return np.full(component.options.size, np.inf)
        seen = part.seen_from(at)
        certain = math.log(1.0 / (self._shares.comparing * self._shares.delta))
        doubt = self._shares.doubt(int(component.options[at]))[component.options]
        # Other components grow by what is elsewhere in P.
        beside = self._pair_growth - [part.growth(big) for big in self._elsewhere]
        with np.errstate(over="ignore", invalid="ignore"):
            flat = 2.0 * (certain - _LOG_FLAT) + self._flat_growth
            pairs = 2.0 * (doubt - _LOG_PAIR[:, None]) + beside[:, None] + part.pair_growth(at)
            squared = np.concatenate(
                [self._lengths(part, seen, self._flat, self._flat) * flat[:, None],
                 self._lengths(part, seen, self._on_pair, self._elsewhere) * pairs]
            )  # fmt: skip
        # What is not a number bounds nothing.
        return np.asarray(np.sqrt(np.where(squared >= 0.0, squared, np.inf).min(axis=0)))

    def _lengths(self, part: PartAlgebra, seen: DifferenceVectors, rho: Floats, big: Floats) -> Floats:
        """``min over shifts of xᵀ(V + P)x``: a sum of squares of distances between three groups of nodes."""
        rho, big, others = rho[:, None], big[:, None], part.nodes - 2
        x, middle = seen.variance, seen.middle
        total = others * big + 2.0 * rho
        apart = others * (big / total) * rho * (middle**2 + (x - middle) ** 2) + rho / total * rho * x**2
        return np.asarray(x + big * seen.scatter + apart)


def make_part(component: Component, unit: float) -> PartAlgebra:
    """The algebra over the side that is smaller, options or blocks."""
    nodes = component.options.size
    if nodes <= DENSE:
        return DensePart(component, unit)
    bordered = BorderPart(component, unit)
    return bordered if 2 * bordered.border < nodes else DensePart(component, unit)


class DensePart:
    """All matrices over the options; offsets are eliminated first."""

    def __init__(self, component: Component, unit: float) -> None:
        self._options = component.options.size
        is_block = np.arange(component.size) >= self._options
        _, self._links = component.weights(is_block)
        self.nodes = len(self._links)
        np.fill_diagonal(self._links, 0.0)
        self._rho = unit * np.array([tuning.on_pair for tuning in PAIRS])[:, None]
        self._big = unit * np.array([tuning.elsewhere for tuning in PAIRS])[:, None]
        priors = [unit * big for big in ELSEWHERE]
        flat = [unit * tuning.on_pair for tuning in ELLIPSOIDS]
        stack = np.repeat(self._links[None], len(priors) + len(flat), axis=0)
        excess = np.repeat(np.array([*priors, *flat])[:, None], self.nodes, axis=1)
        inverses, logs = invert_network(stack, excess)
        grown = logs - np.log(excess).sum(axis=1)
        self._growth: dict[float, float] = dict(
            zip([*priors, *flat], np.maximum(grown, 0.0).tolist(), strict=True)
        )
        self._inverses = inverses[: len(priors)]
        self._elsewhere_growth = np.array([self._growth[prior] for prior in priors])[_WHICH][:, None]
        self._base = int(np.argmax(self._links.sum(axis=1)))
        self._from_base = self._grounded(self._base)

    def growth(self, prior: float) -> float:
        """``log det(I + V/prior)``."""
        return self._growth[prior]

    def seen_from(self, option: int) -> DifferenceVectors:
        """Everything about the differences to one of its options."""
        columns = self._shifted(option)[:, : self._options]
        at = np.arange(self._options)
        x = columns[at, at].copy()
        others = max(1, self.nodes - 2)
        middle = (columns.sum(axis=0) - x) / others
        apart = columns - middle
        apart[option], apart[at, at] = 0.0, 0.0
        return DifferenceVectors(x, middle * (self.nodes > 2), np.einsum("jk,jk->k", apart, apart))

    def _grounded(self, node: int) -> Floats:
        """The inverse of V with a node set to 0, which has a row and a column of zeros, (nodes, nodes)."""
        others = np.arange(self.nodes) != node
        found = np.zeros((self.nodes, self.nodes))
        inverse, _ = invert_network(self._links[np.ix_(others, others)], self._links[others, node])
        found[np.ix_(others, others)] = inverse
        return found

    def _shifted(self, option: int) -> Floats:
        """The same with ``option`` set to 0: from what is known, unless digits would be lost."""
        known = self._from_base
        own = np.diagonal(known)
        variance = own + own[option] - 2.0 * known[option]
        variance[option] = np.inf
        if (variance < 1e-4 * np.maximum(own, own[option])).any():
            return self._grounded(option)
        shifted = known - known[option] - known[:, [option]] + own[option]
        shifted[option], shifted[:, option] = 0.0, 0.0
        return np.asarray(shifted)

    def pair_growth(self, option: int) -> Floats:
        """``log det(I + P⁻¹V)`` for every pair with the option: a determinant of rank two more."""
        inverses, options = self._inverses, np.arange(self._options)
        own, with_it = inverses[:, options, options], inverses[:, option, : self._options]
        # Rows of the inverse sum to 1/Λ: 1 - Λ·own is Λ times the sum of the others, without a difference.
        row = inverses[:, option].copy()
        row[:, option] = 0.0
        before, after = np.cumsum(row, axis=1) - row, np.cumsum(row[:, ::-1], axis=1)[:, ::-1] - row
        beside = (before + after)[:, : self._options]  # Σ over j of (option, j), j neither of the pair
        rest = inverses[:, : self._options].copy()
        rest[:, options, options] = 0.0
        rest[:, :, option] = 0.0
        opposite = rest.sum(axis=2)
        own, with_it, beside, opposite = (part[_WHICH] for part in (own, with_it, beside, opposite))
        rho, big, here = self._rho, self._big, own[:, [option]]
        determinant = (
            rho * rho * np.maximum(here * own - with_it**2, 0.0)
            + rho * big * with_it * (here + own + 2.0 * with_it)
            + big * beside * (rho * own + big * with_it + big * opposite)
            + big * opposite * (rho * here + big * with_it)
        )
        determinant[:, option] = 1.0
        return np.asarray(self._elsewhere_growth + np.log(determinant) + 2.0 * (np.log(big) - np.log(rho)))


class BorderPart:
    """Very many options in few blocks, or the other way round: the many follow the few by their loads."""

    def __init__(self, component: Component, unit: float) -> None:
        self._component = component
        self._rho = unit * np.array([tuning.on_pair for tuning in PAIRS])[:, None]
        self._big = unit * np.array([tuning.elsewhere for tuning in PAIRS])[:, None]
        self._options = component.options.size
        self._is_block = np.arange(component.size) >= self._options
        alone = ~self._is_block & ~component.compared
        self._gone = alone  # nodes that go have a part of P
        self.border = int((~self._gone).sum())
        self.nodes = self._options
        links = component.links
        weight = np.bincount(links.one, links.weight, component.size)
        self._weight = weight + np.bincount(links.other, links.weight, component.size)

    @functools.cache  # noqa: B019 - lives as long as one analysis
    def growth(self, prior: float) -> float:
        """``log det(I + V/prior)``."""
        component, gone = self._component, self._gone
        stay = np.flatnonzero(~gone)
        couplings = component.couplings(gone, stay)
        total = couplings.sum(axis=1) + prior
        loads = couplings / total[:, None]
        links = component.couplings(~gone, stay) + loads.T @ couplings
        own = np.where(self._is_block[stay], 0.0, prior)
        _, log_det = invert_network(links, own + prior * loads.sum(axis=0))
        logs = float(log_det) + float(np.log(total).sum())
        logs -= float(np.log(self._weight[self._is_block]).sum())  # the offsets, integrated out
        return max(0.0, logs - self.nodes * math.log(prior))

    def seen_from(self, option: int) -> DifferenceVectors:
        """Everything about the differences to one of its options."""
        gone = self._gone & (np.arange(self._component.size) != option)
        stay, weights = self._component.weights(gone)
        others = stay != option
        covariance, _ = invert_network(weights[np.ix_(others, others)], weights[others][:, ~others][:, 0])
        couplings = self._component.couplings(gone, stay)
        total = couplings.sum(axis=1)
        r = int(others.sum())
        nodes = np.flatnonzero((np.arange(self._component.size) != option) & ~self._is_block)
        place = np.full(self._component.size, -1)
        place[stay[others]] = np.arange(r)
        own, loads = np.zeros(self._component.size), np.zeros((self._component.size, r))
        own[gone], loads[gone] = 1.0 / total, (couplings / total[:, None])[:, others]
        kept = place >= 0
        loads[kept, place[kept]] = 1.0
        own, loads = own[nodes], loads[nodes]
        reach = loads @ covariance
        x = own + np.einsum("ij,ij->i", reach, loads)
        centre = loads.mean(axis=0)
        apart = loads - centre
        beside = np.einsum("ij,ij->i", reach, apart)  # of the node itself, without its own part
        count = max(1, self.nodes - 2)
        middle = reach @ centre - beside / count
        scatter = np.einsum("ij,ij->i", reach @ (apart.T @ apart), reach) - beside**2 * (1.0 + 1.0 / count)
        found = DifferenceVectors(*(np.zeros(self._component.size) for _ in range(3)))
        for target, given in zip(found, (x, middle, np.maximum(scatter, 0.0)), strict=True):
            target[nodes] = given
        return DifferenceVectors(*(target[: self._options] for target in found))

    def pair_growth(self, option: int) -> Floats:
        """An upper bound of ``log det(I + P⁻¹V)``: a determinant is at most the product of the diagonal."""
        weight = self._weight[~self._is_block]
        within = np.log1p(weight / self._big)
        gain = np.log1p(weight / self._rho) - within
        return np.asarray(within.sum(axis=1, keepdims=True) + gain[:, [option]] + gain[:, : self._options])
