"""Several measurements from one decision: what many workers at a time are asked for.

Deciding anew for every worker would take longer than measuring. A wave is decided on one fit, that of the
certificate: every probe is the best when all that is under way and those before it in the wave have come out
as expected. For that the variances of races and probes are carried along:

    WAVE(races k of the leader i, probes a, what is under way)
     1  c_ak <- cov(a, k - i),   c_ab <- cov(a, b),   S_a <- c_aa + noise of a,   v_k <- var(k - i)
     2  For everything under way, and then for each probe that is chosen:
            v'_k <- v_k - c_ak²/S_a;    u_k, h_k fall by h_k·(1 - √(v'_k/v_k))
            c_bk <- c_bk - c_ab·c_ak/S_a;    c_bd <- c_bd - c_ab·c_ad/S_a
     3  chosen is argmax over a of  Σ_k w_k·(fall of h_k) / cost_a,  w_k as in RACE, from u_k as it is then

What is read in a block has an offset that others there tell: then a stands for its value less theirs, and all
probes share the error of that offset (`Company`).

These are the lines 5 to 7 of RACE with radii held fixed, repeated without a new fit. A race that was far
behind may become the strongest within a wave, so that more of them are looked at than for a single probe.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.study.asking.coming import DIFFERENCE, Coming
from noisewise.study.asking.field import Field, field_of
from noisewise.study.asking.first_results import by_price, first_largest, largest
from noisewise.study.asking.race import Proposal
from noisewise.study.asking.reasons import looks_at
from noisewise.study.asking.under_way import UnderWay
from noisewise.study.certificates.bound import Recommended
from noisewise.study.log.measurements import NO_BLOCK, NOBODY
from noisewise.study.models.analysis import Analysis

#: Races that a wave looks at lie this many times as far behind as those that a single probe is chosen for.
WIDER = 4.0
#: Options that a wave is made of, at most: of more, those that tell most about one of the races.
PROBES = 64


def propose_wave(
    analysis: Analysis,
    found: Recommended | None,
    coming: Coming,
    sharpness: float,
    under_way: Sequence[UnderWay],
    count: int,
) -> list[Proposal]:
    """What so many workers may measure at a time; nothing where that takes a decision for each.

    Args:
        analysis: What was measured.
        found: The option that would be recommended.
        coming: What is known of the measurements.
        sharpness: How much less the race of a weaker rival counts.
        under_way: What is being measured.
        count: How many.
    """
    if coming.probe == DIFFERENCE or analysis.once:
        return []
    if any(one.minus != NOBODY or one.block != coming.block for one in under_way):
        return []
    apart = not analysis.model.shares_information and coming.block == NO_BLOCK
    if apart and (rough := _fewest_looks(analysis, coming, under_way, count)):
        return rough
    if found is None or analysis.sigmas.waiting:
        return []
    field = field_of(analysis, found.option, coming)
    while field.is_decided:
        field = field_of(analysis, field.rival, coming)
    rivals = coming.allowed & (np.arange(analysis.n) != field.leader)
    if not rivals.any() or not np.isfinite(field.half[rivals] + field.upper[rivals]).all():
        return []
    if not field.knowledge.joint.separate and field.company is None:
        return []  # it opens a block, where nothing is compared yet
    wave = _Wave(field, coming, sharpness)
    wave.expect(under_way)
    return wave.more(count)


def _fewest_looks(
    analysis: Analysis, coming: Coming, under_way: Sequence[UnderWay], count: int
) -> list[Proposal]:
    """Where options share nothing, and some bound nothing yet: these, those first that were seen least."""
    in_order, looks = by_price(analysis, coming), looks_at(analysis)
    begun = np.zeros_like(looks)
    np.add.at(begun, [one.option for one in under_way], 1)
    fresh = (looks == 0) & (begun > 0)  # what follows is seen when their first results have come in
    in_order, looks = in_order[~fresh[in_order]], looks + begun
    if analysis.columns.value.size and not analysis.sigmas.waiting:
        leader = largest(analysis.certified.means, by_price(analysis, coming))
        unbounded = coming.allowed & ~np.isfinite(analysis.boundary.half_widths(leader))
        unbounded[leader] = unbounded.any()  # it may be what nothing is bounded against
        in_order = in_order[unbounded[in_order]]
    chosen = []
    for _ in range(count if in_order.size else 0):
        option = int(in_order[np.argmin(looks[in_order])])
        looks[option] += 1
        chosen.append(Proposal(option))
    return chosen


class _Wave:
    """The races of a wave, as they will be."""

    def __init__(self, field: Field, coming: Coming, sharpness: float) -> None:
        self._leader, self._sharpness = field.leader, sharpness
        self._races, _ = field.races(sharpness / WIDER)
        joint, races = field.knowledge.joint, self._races
        along = joint.columns(races) - joint.columns(np.array([field.leader]))
        self._race = np.maximum(along[races, np.arange(races.size)] - along[field.leader], 0.0)
        self._half, self._upper = field.half[races].copy(), field.upper[races].copy()
        mixed, level = np.zeros(along.shape[0]), 0.0
        if (company := field.company_of(joint)) is not None:
            mixed = joint.mixed(company.options, company.shares)
            level = float(company.shares @ mixed[company.options]) + company.variance
            along = along - company.shares @ along[company.options]
        options = field.by_name(field.options(races))[:, 0]
        if options.size > PROBES:
            read = joint.variances() + level - 2.0 * mixed + coming.noise**2
            told = (along[options] ** 2 / read[options][:, None]).max(axis=1)
            options = options[np.sort(np.argsort(-told, kind="stable")[:PROBES])]
        self._options, self._along, self._noise = options, along[options], coming.noise[options] ** 2
        self._between = joint.columns(options)[options] + level - mixed[options] - mixed[options][:, None]
        self._prices = field.prices(np.column_stack([options, np.full(options.size, NOBODY)]))

    def expect(self, under_way: Sequence[UnderWay]) -> None:
        """Go on as if all of these had come out as expected; those of other options change little."""
        place = {int(option): at for at, option in enumerate(self._options)}
        several = Counter((place[one.option], one.sigma) for one in under_way if one.option in place)
        for (at, sigma), count in sorted(several.items()):
            self._choose(at, sigma**2 / count)

    def more(self, count: int) -> list[Proposal]:
        """The next probes."""
        found = []
        for _ in range(count):
            falls = self._falls(self._along, self._noise + np.maximum(self._between.diagonal(), 0.0))
            ahead = first_largest(self._upper)
            width, bound = float(self._half[ahead]), max(0.0, float(self._upper[ahead]))
            behind = (self._upper[ahead] - self._upper) / max(width, 1e-300)
            weights = np.exp(-np.minimum(self._sharpness * behind, 700.0))
            best = first_largest(falls @ weights / self._prices)
            helped = int(self._races[first_largest(falls[best] * weights)])
            self._choose(best, float(self._noise[best]), falls[best])
            after = min(bound, max(0.0, float(self._upper.max())))
            option, rival = int(self._options[best]), int(self._races[ahead])
            found.append(Proposal(option, NOBODY, self._leader, rival, width, bound, after, helped))
        return found

    def _falls(self, along: Floats, read: Floats) -> Floats:
        """By how much probes narrow each race, (probes, races)."""
        # In one array: there are few numbers, and a new array for each step takes longer than the step.
        part = np.maximum(np.multiply.outer(read, self._race), 1e-300)
        np.divide(along * along, part, out=part)
        np.minimum(np.maximum(part, 0.0, out=part), 1.0, out=part)
        np.sqrt(np.subtract(1.0, part, out=part), out=part)
        np.multiply(self._half, np.subtract(1.0, part, out=part), out=part)
        return np.asarray(part)

    def _choose(self, at: int, noise: float, falls: Floats | None = None) -> None:
        """Go on as if a probe with this variance of noise had come out as expected.

        Args:
            at: Which.
            noise: The variance.
            falls: By how much it narrows each race, where that is known.
        """
        along, read = self._along[at].copy(), noise + max(float(self._between[at, at]), 0.0)
        if falls is None:
            falls = self._falls(along[None], np.array([read]))[0]
        self._half -= falls
        self._upper -= falls
        self._race = np.maximum(self._race - along * along / read, 0.0)
        with_it = self._between[:, at] / read
        self._along -= np.multiply.outer(with_it, along)
        self._between -= np.multiply.outer(with_it, self._between[at])
