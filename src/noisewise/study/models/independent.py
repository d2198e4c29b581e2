"""The independent model: every option on its own; blocks and measured differences connect options.

Bounds come from the evidence about each option, from contrasts where something connects options, or from
items that they share.
"""

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
from noisewise.study.log.model_choice import ModelFacts
from noisewise.study.log.specification import OWN, SYMMETRIC
from noisewise.study.log.state import State
from noisewise.study.models.contrasts import Contrasts
from noisewise.study.models.fit import Fit, Sums, fit_independent
from noisewise.study.models.model import BoundaryCase, Shares, StudyModel
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


def paired(state: State, case: BoundaryCase) -> HalfWidths:
    """What items that options share say, in a study that measures nothing else."""
    question, items, some = state.specification, state.items, case.columns.number
    # Only in a look at earlier times there are fewer than all.
    prefixes = None if some.size in (0, items.n_measurements) else items.prefixes(some.tolist())
    kind: type[PairedItems] = PairedItems
    more: dict[str, bool] = {}
    if question.noise == SYMMETRIC:
        kind, more = SymmetricRounds, {"gross": question.value_scale.log, "changed": case.shares.changed}
    return kind(
        items, len(state.ids), question.sign, differences=case.fit.differences, resolution=case.resolution,
        doubt=case.shares.doubt, prefixes=prefixes, **more,
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
        if self.state.items:
            return paired(self.state, case)
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
