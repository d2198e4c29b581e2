"""The independent model: every option on its own; blocks and measured differences connect options."""

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.study.evidence.half_widths import HalfWidths
from noisewise.study.evidence.levels import Stacks
from noisewise.study.evidence.separate import SeparateOptions
from noisewise.study.evidence.tables import PAYS
from noisewise.study.log.model_choice import ModelFacts
from noisewise.study.log.specification import OWN
from noisewise.study.models.contrasts import Contrasts
from noisewise.study.models.fit import Fit, fit_independent
from noisewise.study.models.joint import Joint, Knowledge, separate_joint
from noisewise.study.models.narrowest import bounds_with_items
from noisewise.study.models.once import (
    ConnectedOnce,
    OneLook,
    PairedOnce,
    ReadingsOnce,
    SeparateOnce,
    SharesOnce,
)
from noisewise.study.models.option_evidence import MAIN, OTHER, Gathered, separate_options
from noisewise.study.models.own_readings import begins_mostly_with_own, begins_pooled
from noisewise.study.models.study_model import BoundaryCase, StudyModel
from noisewise.study.models.sums import Sums
from noisewise.study.models.worlds import independent_worlds


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
        gathered = Gathered(
            case.columns.select(rows), case.sigma[rows], fit, question.sign, case.resolution,
            as_told=self.choice.extra_scatter is None, bounds=question.computed_bounds, own=case.own_scatter,
            noise_floor=question.noise_floor, centres=case.centres, imagined=case.imagined,
        )  # fmt: skip
        stacks = None
        if case.own_scatter:
            begun = question.scatter == OWN or begins_mostly_with_own(self.state)
            stacks = Stacks(MAIN, OTHER) if begun else Stacks(OTHER, MAIN)
        before = self.state.quick_tables if case.quickly else self.state.tables
        found = separate_options(
            gathered.kinds(), case.shares, before, stacks,
            pooled=begins_pooled(self.state), quickly=case.quickly,
        )  # fmt: skip
        if case.quickly:
            self.state.quick_tables = found.tables
            if self.n > PAYS:
                # A certificate between many looks is made as that of a study that was just opened. With few
                # options no row is interpolated, and each is the same whenever it is made.
                self.state.tables = None
        else:
            self.state.tables = found.tables
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
