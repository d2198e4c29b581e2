"""The rule RACE by the textbook, and random studies that it is tried on.

The twin knows no border, no elimination and no rank-one fall: all unknowns stand in one information matrix,
every probe is tried by adding its row to it, and variances are read from the inverse. Where options share
nothing, every probe is really told.
"""

import itertools
from typing import Any, NamedTuple

import numpy as np

import noisewise as nw
from noisewise.study.asking.pending import DIFFERENCE, OPTION, Coming, WhatIf, expected_manner, expected_noise
from noisewise.study.asking.race import NEGLIGIBLE, propose
from noisewise.study.certificates.bound import Recommended, recommend
from noisewise.study.evidence.half_widths import SeparateOptions
from noisewise.study.log.measurements import KINDS, NO_BLOCK, NOBODY
from noisewise.study.telling.error_bars import KNOWN

MODELS = ("independent", "linear", "linear+deviation")
DAYS = ("mo", "tu", "we")
NEW = "never used"
SIZE = 0.3


def names_of(n):
    """Names whose order is not that of the list."""
    return [f"o{(7 * k + 3) % n if n % 7 else k}" for k in range(n)]


def new_study(rng, model, n=6, dim=2, **more):
    """A study of n options, with features if the model uses them, and with costs if ``cost`` is named."""
    table: dict[str, Any] = {"id": names_of(n)}
    table |= {f"x{j}": rng.normal(size=n) for j in range(dim)}
    if "cost" in more.get("roles", {}):
        table[more["roles"]["cost"]] = rng.uniform(0.5, 3.0, n)
    if model != "independent":
        more = {"features": [f"x{j}" for j in range(dim)]} | more
    else:
        more = {"features": []} | more
    if model == "linear+deviation":
        model = f"{model}:{SIZE}"
    return nw.create_study(options=table, model=model, **{"eps": 0.05, "roles": {"option": "id"}} | more)


def random_row(rng, names, *, blocks=False, differences=False, pairs_only=False):
    """A measurement as `tell` takes it."""
    se = float(10.0 ** rng.uniform(-0.7, 0.3))
    one, other = (str(name) for name in rng.permutation(names)[:2])
    if pairs_only or (differences and rng.random() < 0.3):
        return {"plus": one, "minus": other, "value": float(rng.normal()), "se": se}
    where = {"block": str(rng.choice(DAYS))} if blocks else {}
    return {"option": one, "value": float(rng.normal()), "se": se} | where


def tell_some(study, rng, rows=20, **kind):
    """Tell random measurements, each option linked with the one before it."""
    names = study.options
    told = [random_row(rng, names, **kind) for _ in range(rows)]
    if not kind.get("pairs_only"):
        where = {"block": DAYS[0]} if kind.get("blocks") else {}
        told += [{"option": name, "value": float(rng.normal()), "se": 1.0} | where for name in names]
    else:
        chain = itertools.pairwise(names)
        told += [{"plus": a, "minus": b, "value": float(rng.normal()), "se": 1.0} for a, b in chain]
    for row in told:
        study.tell(**row)
    return told


def coming_to(analysis, *, block=NO_BLOCK, probe=OPTION, sigma=None):
    """What is known of the next measurement."""
    costs = analysis.state.costs
    return Coming(
        noise=expected_noise(analysis, sigma, probe),
        allowed=analysis.state.allowed(),
        block=block,
        probe=probe,
        costs=None if costs is None else np.array(costs),
        manner=expected_manner(analysis, sigma),
    )


def proposed(analysis, coming, sharpness=50.0):
    """What RACE proposes."""
    return propose(analysis, recommend(analysis), coming, sharpness)


class Textbook(NamedTuple):
    """The races as the twin sees them."""

    found: Recommended
    races: np.ndarray  # (races,)
    weights: np.ndarray  # (races,)
    probes: np.ndarray  # (probes, 2)
    falls: np.ndarray  # (probes, races)
    scores: np.ndarray  # (probes,)
    width: float
    rival: int


def bound_after(analysis, coming, option, minus):
    """The bound after a probe that comes out as expected; radii as they are where options share anything."""
    found = recommend(analysis)
    half, apart = analysis.boundary.half_widths(found.option), analysis.certified.differences(found.option)
    rivals = [k for k in np.flatnonzero(analysis.state.allowed()) if k != found.option]
    if shares_nothing(analysis, coming):
        half = told_as_expected(analysis, coming, option).half_widths(found.option)
        return min(found.bound, max(0.0, *(apart[rivals] + half[rivals])))
    system, noise = System(analysis, coming.block), coming.noise[option]
    upper = [apart[k] + system.half_after(half[k], k, found.option, option, minus, noise) for k in rivals]
    return min(found.bound, max(0.0, *upper))


def shares_nothing(analysis, coming):
    """Whether half-widths will follow from the evidence about each option."""
    apart = isinstance(analysis.boundary, SeparateOptions)
    return apart and coming.probe == OPTION and coming.block == NO_BLOCK


def told_as_expected(analysis, coming, option):
    """The half-widths once a value has been told that is the estimate, with its error bar."""
    columns, sums = analysis.columns, analysis.certified_sums
    mean = analysis.certified.means[option] + sums.centre
    row = {
        "number": columns.number.max() + 1, "plus": option, "minus": NOBODY, "block": 0,
        "value": analysis.specification.sign * mean, "kind": KINDS.index(KNOWN),
        "sigma": coming.noise[option], "readings": 1.0, "scatter": 0.0, "pool": 0,
    }  # fmt: skip
    more = columns._replace(
        moment=None, **{name: np.append(getattr(columns, name), new) for name, new in row.items()}
    )
    return WhatIf(analysis.state, more, analysis.sizes).boundary


def textbook(analysis, coming, sharpness=50.0):
    """Every probe tried on every race."""
    found = recommend(analysis)
    ids, leader, allowed = analysis.state.ids, found.option, analysis.state.allowed()
    half = analysis.boundary.half_widths(leader)
    upper = np.where(allowed, analysis.certified.differences(leader) + half, -np.inf)
    upper[leader] = -np.inf
    rival = int(min(np.flatnonzero(upper >= upper.max() - 1e-9 * abs(upper.max())), key=ids.__getitem__))
    weights = np.exp(-np.minimum(sharpness * (upper[rival] - upper) / half[rival], 700.0))
    races = np.array(sorted(np.flatnonzero(weights >= NEGLIGIBLE), key=ids.__getitem__))
    ends = np.flatnonzero(allowed)
    if coming.probe == DIFFERENCE:
        probes = np.array([(a, b) for a in ends for b in ends if a != b])
    else:
        probes = np.array([(a, NOBODY) for a in ends])
    falls = np.zeros((len(probes), races.size))
    if shares_nothing(analysis, coming):
        for at, (a, _) in enumerate(probes):
            # Half-widths are found to 0.2 %: what seems to grow by less stays as it is.
            after = told_as_expected(analysis, coming, a).half_widths(leader)
            falls[at] = np.maximum(0.0, half - after)[races]
    else:
        system = System(analysis, coming.block)
        for at, (a, b) in enumerate(probes):
            for place, k in enumerate(races):
                falls[at, place] = half[k] - system.half_after(half[k], k, leader, a, b, coming.noise[a])
    prices = np.ones(len(probes))
    if coming.costs is not None:
        prices = coming.costs[probes[:, 0]] + np.where(probes[:, 1] >= 0, coming.costs[probes[:, 1]], 0.0)
    scores = falls @ weights[races] / prices
    return Textbook(found, races, weights[races], probes, falls, scores, float(half[rival]), rival)


class System:
    """The information matrix of weights, values or deviations, and offsets; one row per measurement."""

    def __init__(self, analysis, block):
        columns, n = analysis.columns, analysis.n
        self._blocks = list(columns.blocks) + ([] if block in columns.blocks else [block])
        self._block, self._n = block, n
        features = analysis.state.features
        self._features = np.zeros((n, 0)) if features is None else features
        self.dim, self._own = self._features.shape[1], analysis.model.facts.name != "linear"
        self.deviation = analysis.sizes.certified[0] if features is not None and self._own else None
        self._quantile = getattr(analysis.boundary, "quantile", 0.0)
        self._offsets_given = False
        size = self.dim + n * self._own + len(self._blocks)
        rows = np.zeros((columns.value.size, size))
        for at, (plus, minus, place) in enumerate(
            zip(columns.plus, columns.minus, columns.block, strict=True)
        ):
            rows[at] = self.row(plus, minus, self._blocks.index(columns.blocks[place]))
        weight = analysis.sigmas.certified**-2.0
        prior = np.zeros(size)
        prior[: self.dim] = getattr(analysis.model, "ridge", 0.0)
        if self.deviation is not None:
            prior[self.dim : self.dim + n] = self.deviation**-2.0
        self.information = (rows * weight[:, None]).T @ rows + np.diag(prior)

    def row(self, plus, minus=NOBODY, block=None):
        """What a measurement depends on: an option's value, less the other one, or plus an offset."""
        row = np.zeros(self.dim + self._n * self._own + len(self._blocks))
        for option, sign in ((plus, 1.0), (minus, -1.0)):
            if option != NOBODY:
                row[: self.dim] += sign * self._features[option]
                if self._own:
                    row[self.dim + option] += sign
        if minus == NOBODY and block is not None:
            row[self.dim + self._n * self._own + block] = 1.0
        return row

    def variance(self, information, contrast, kept=None):
        """Of a contrast, given the unknowns that are not kept."""
        kept = np.ones(contrast.size, dtype=bool) if kept is None else kept
        matrix, target = information[np.ix_(kept, kept)], contrast[kept]
        inverse = np.linalg.pinv(matrix, rcond=1e-12, hermitian=True)
        assert np.allclose(matrix @ inverse @ target, target, atol=1e-6)  # it is determined
        return float(target @ inverse @ target)

    def half_after(self, half, one, other, plus, minus, noise):
        """The half-width of a difference after one more measurement, radii as they are."""
        contrast = self.row(one) - self.row(other)
        probe = self.row(plus, minus, self._blocks.index(self._block))
        then = self.information + np.outer(probe, probe) / noise**2
        before, after = (self.variance(which, contrast) for which in (self.information, then))
        if self.deviation is None:
            return half * np.sqrt(after / before)
        left = np.arange(contrast.size) >= self.dim
        if self._offsets_given:
            left &= np.arange(contrast.size) < self.dim + self._n
        given, given_after = (self.variance(which, contrast, left) for which in (self.information, then))
        narrowed = (half - self._quantile * np.sqrt(given)) * np.sqrt(
            (after - given_after) / (before - given)
        )
        return narrowed + self._quantile * np.sqrt(given_after)
