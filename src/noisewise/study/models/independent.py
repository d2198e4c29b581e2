"""The independent model: every option on its own; blocks and measured differences connect options.

Bounds come from the evidence about each option, from contrasts where something connects options, and from
items that they share; where several hold, each has its share of the error probability, and the narrowest
counts.
"""

from collections.abc import Callable, Sequence

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.study.evidence.bounded import BoundedReadings
from noisewise.study.evidence.counts import Counts
from noisewise.study.evidence.half_widths import HalfWidths, SeparateOptions
from noisewise.study.evidence.heavy_tails import AnyTails
from noisewise.study.evidence.items import PairedItems
from noisewise.study.evidence.kind import Kind, Recorded, evidence_of
from noisewise.study.evidence.known import KnownErrorBars, LimitedScatter
from noisewise.study.evidence.levels import Stacks, ladder, levels_for, levels_with_limits, of_suprema
from noisewise.study.evidence.limits import Tables
from noisewise.study.evidence.own_scatter import OwnScatter
from noisewise.study.evidence.rounds import SymmetricRounds
from noisewise.study.log.measurements import KINDS
from noisewise.study.log.model_choice import ModelFacts
from noisewise.study.log.specification import OWN, SYMMETRIC
from noisewise.study.log.state import State
from noisewise.study.models.contrasts import Contrasts
from noisewise.study.models.fit import Fit, Sums, fit_independent, pool
from noisewise.study.models.model import PAIRED, BoundaryCase, Shares, StudyModel
from noisewise.study.models.one_look import (
    ConnectedOnce,
    OneLook,
    PairedOnce,
    ReadingsOnce,
    SeparateOnce,
    SharesOnce,
)
from noisewise.study.models.posterior import Joint, Knowledge, independent_worlds, separate_joint
from noisewise.study.models.scatter import begins_mostly_with_own, begins_pooled
from noisewise.study.telling.error_bars import ITEMS

#: All kinds of evidence about single options: a new one is a file, and a place here. See `evidence_of`.
EVIDENCE: list[type[Kind]] = [
    KnownErrorBars, AnyTails, Counts, BoundedReadings, OwnScatter, LimitedScatter,
]  # fmt: skip
#: Weights of the kind that a study of own scatter began with, and of all others.
MAIN, OTHER = 0.95, 0.05
#: Up to so many options more levels are looked at where reaches are not concave.
FEW = 20


def separate_options(
    kinds: list[Kind],
    shares: Shares,
    before: Tables | None,
    stacks: Stacks | None = None,
    *,
    pooled: bool = False,
) -> SeparateOptions:
    """Half-widths from the evidence about each option.

    Args:
        kinds: The evidence.
        shares: How the error probability is divided.
        before: Earlier tables of the same study.
        stacks: The weights of a study whose readings scatter by each option's own amount.
        pooled: Whether the study began with scatter that is pooled, so that limits are what it is about.
    """
    if not shares.changed:
        alpha = shares.comparing * shares.delta
        finer = not all(kind.convex for kind in kinds) and shares.n_first <= FEW
        levels = levels_for(shares.n_first, alpha, shares.cap, stacks, finer=finer)
        if pooled and stacks is None:
            levels = levels_with_limits(shares.n_first, alpha)
        return SeparateOptions(kinds, levels, before=before)

    def doubt(option: int) -> Floats:
        plain = shares.doubt(option)
        return plain if stacks is None else of_suprema(plain, 0.5)

    most = max(float(doubt(option).max()) for option in (0, shares.n_now - 1))
    return SeparateOptions(kinds, ladder(most, shares.cap, stacks), doubt, before)


class Narrowest(HalfWidths):
    """The smallest half-width of all families: each holds with its own share, so all hold at once."""

    def __init__(self, families: Sequence[HalfWidths]) -> None:
        self.families = tuple(families)

    @property
    def evidence(self) -> tuple[str, ...]:
        """That of all families, each once."""
        return tuple(dict.fromkeys(name for family in self.families for name in family.evidence))

    def half_widths(self, option: int) -> Floats:
        """By how much "j minus option" may be larger than estimated, for every j, (n,)."""
        return np.asarray(np.min([family.half_widths(option) for family in self.families], axis=0))

    def lead_widths(self, rival: int) -> Floats:
        """By how much "rival minus i" may be larger than estimated, for every i, (n,)."""
        return np.asarray(np.min([family.lead_widths(rival) for family in self.families], axis=0))


class Moved(HalfWidths):
    """Half-widths around the estimates of one fit, counted from those of another."""

    def __init__(self, family: HalfWidths, own: Fit, shown: Fit) -> None:
        self._family, self._own, self._shown = family, own, shown

    @property
    def evidence(self) -> tuple[str, ...]:
        """That of the family."""
        return self._family.evidence

    def half_widths(self, option: int) -> Floats:
        """By how much "j minus option" may be larger than estimated, for every j, (n,)."""
        return self._family.half_widths(option) + self._between(option)

    def lead_widths(self, rival: int) -> Floats:
        """By how much "rival minus i" may be larger than estimated, for every i, (n,)."""
        return self._family.lead_widths(rival) - self._between(rival)

    def _between(self, option: int) -> Floats:
        """By how much differences to this option are estimated larger by the one than by the other, (n,)."""
        apart = self._own.differences(option) - self._shown.differences(option)
        return np.where(np.isfinite(apart), apart, 0.0)


def bounds_with_items(
    state: State, case: BoundaryCase, n: int, without: Callable[[BoundaryCase], HalfWidths]
) -> HalfWidths:
    """The narrowest of what paired items say and of what everything else says.

    Answers to an item that other options answered before are no fresh measurements of one option: they enter
    the pairs alone, never the evidence about single options, which multiplies.

    Args:
        state: The study.
        case: What bounds are made from.
        n: The number of options.
        without: The bounds from measurements that are not of items.
    """
    if not state.begins_with_items:
        return without(case)
    sign, of_items = state.specification.sign, case.columns.kind == KINDS.index(ITEMS)
    shares = case.shares
    families: list[HalfWidths] = []
    if state.items:
        live, some = state.items.n_measurements, case.columns.number[of_items]
        # Only in a look at earlier times are there fewer.
        prefixes = None if some.size in (0, live) else state.items.prefixes(some.tolist())
        families.append(_pairs(state, case, n, prefixes))
    if not of_items.all() or not families:
        columns, sigma = case.columns.select(~of_items), case.sigma[~of_items]
        sums = pool(columns, sigma, sign)
        fit = fit_independent(n, sums) if sums.n_measurements else case.fit
        rest = 1.0 - PAIRED
        other = case._replace(
            fit=fit, sums=sums, columns=columns, sigma=sigma, delta=rest * case.delta,
            shares=shares._replace(delta=rest * shares.delta),
        )  # fmt: skip
        families.append(Moved(without(other), fit, case.fit))
    return families[0] if len(families) == 1 else Narrowest(families)


def _pairs(state: State, case: BoundaryCase, n: int, prefixes: dict[int, int] | None) -> HalfWidths:
    """What paired items say."""
    question, shares = state.specification, case.shares
    doubt = shares._replace(delta=PAIRED * shares.delta).doubt
    if question.noise == SYMMETRIC:
        return SymmetricRounds(
            state.items, n, question.sign, differences=case.fit.differences, resolution=case.resolution,
            doubt=doubt, prefixes=prefixes, gross=question.value_scale.log, changed=shares.changed,
        )  # fmt: skip
    return PairedItems(
        state.items, n, question.sign, differences=case.fit.differences, resolution=case.resolution,
        doubt=doubt, prefixes=prefixes,
    )  # fmt: skip


class Independent(StudyModel):
    """One unknown per option."""

    facts = ModelFacts("independent")
    radius = (
        "evidence about each option at its own scale: the best option is protected, the recommended one pays "
        "for having been chosen; normal mixtures over contrasts where blocks or differences connect options"
    )

    radius_once = f"{StudyModel.radius_once} (Dunnett); exact binomial limits for shares"

    def fit(self, sums: Sums, deviation: float) -> Fit:
        """The weighted means, or the network of what connects options, solved."""
        return fit_independent(self.n, sums)

    def boundary(self, case: BoundaryCase) -> HalfWidths:
        """From the evidence about each option, from contrasts where something connects them, from items."""
        return bounds_with_items(self.state, case, self.n, self._without_items)

    def _without_items(self, case: BoundaryCase) -> HalfWidths:
        """What measurements that are not of items say."""
        linked = case.sums.without_lone_blocks()
        if not linked.has_border:
            return self._apart(case, linked)
        shares = case.shares._replace(delta=_connected_part(case) * case.delta)
        return Contrasts(case.fit, case.sums, shares, case.resolution)

    def one_look(self, look: OneLook) -> HalfWidths:
        """The comparisons that the kinds of measurements allow."""
        linked = look.sums.without_lone_blocks()
        if linked.has_border:
            return PairedOnce(look) if look.paired else ConnectedOnce(look)
        if look.readings is not None:
            return ReadingsOnce(look)
        if look.counts and self.choice.extra_scatter is None and not look.sums.has_border:
            return SharesOnce(look)
        alone = look.fit if linked is look.sums else fit_independent(self.n, linked)
        return SeparateOnce(look._replace(fit=alone))

    def _apart(self, case: BoundaryCase, linked: Sums) -> HalfWidths:
        """What the measurements without a block say about each option."""
        rows = (case.columns.minus < 0) & (case.columns.block == 0)
        fit = case.fit if linked is case.sums else fit_independent(self.n, linked)
        question = self.specification
        recorded = Recorded(
            case.columns.select(rows), case.sigma[rows], fit, question.sign, case.resolution,
            as_told=self.choice.extra_scatter is None, bounds=question.computed_bounds, own=case.own_scatter,
            noise_floor=question.noise_floor, centres=None if case.imagined else case.centres,
        )  # fmt: skip
        stacks = None
        if case.own_scatter:
            begun = question.scatter == OWN or begins_mostly_with_own(self.state)
            stacks = Stacks(MAIN, OTHER) if begun else Stacks(OTHER, MAIN)
        found = separate_options(
            evidence_of(recorded, EVIDENCE), case.shares, self.state.tables.get(case.of_pairs), stacks,
            pooled=begins_pooled(self.state),
        )  # fmt: skip
        self.state.tables[case.of_pairs] = found.tables
        return found

    def knowledge(self, fit: Fit, boundary: HalfWidths, option: int) -> Knowledge:
        """Each option on its own, or the connected ones that it is one of."""
        evidence = boundary if isinstance(boundary, SeparateOptions) else None
        if fit.connected and fit.group[option] >= 0:
            assert fit.solved is not None
            linked = fit.group == fit.group[option]
            own = np.where(linked, fit.solved.own[: self.n], np.inf)
            return Knowledge(Joint(own, np.where(linked, fit.solved.halves, 0.0).T), evidence=evidence)
        return Knowledge(
            separate_joint(fit.own if evidence is None else evidence.variances()), evidence=evidence
        )

    def draw_worlds(
        self, fit: Fit, sums: Sums, count: int, rng: np.random.Generator, span: float | None
    ) -> Floats:
        """Values that are normal around a common mean with an unknown spread, given their estimates."""
        return independent_worlds(fit, self.specification.resolution, count, rng, span)


def _connected_part(case: BoundaryCase) -> float:
    """Of the part of δ that comparisons have: for those of connected options.

    Before anything connected them, options that were measured without a block had bounds of their own, and
    may have been certified. With at most one such option there was nothing to certify, and its values did not
    decide what came next.
    """
    without_block = int(np.count_nonzero((case.sums.minus < 0) & (case.sums.block == 0)))
    if without_block < 2:
        return 1.0
    return case.shares.connected / case.shares.comparing


MODEL = Independent
