"""The independent model: every option on its own; blocks and measured differences connect options."""

import math
from typing import Any

import numpy as np

from noisewise.actions import ActionSet
from noisewise.actions.independent import IndependentOptions
from noisewise.core.model.dense import Floats
from noisewise.core.model.independent import Separate
from noisewise.study.evidence.half_widths import HalfWidths
from noisewise.study.evidence.levels import Stacks
from noisewise.study.evidence.separate import SeparateOptions
from noisewise.study.evidence.tables import PAYS
from noisewise.study.log.model_choice import ModelFacts
from noisewise.study.log.specification import OWN
from noisewise.study.models.exact.pooled_model import Border, fill_independent
from noisewise.study.models.fit import Fit
from noisewise.study.models.joint import Knowledge, NetworkJoint, SeparateJoint
from noisewise.study.models.narrowest import bounds_with_items
from noisewise.study.models.networks.border import assemble_border
from noisewise.study.models.networks.contrasts import Contrasts
from noisewise.study.models.networks.independent_fit import fit_independent, root_of
from noisewise.study.models.networks.worlds import network_worlds
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
from noisewise.study.models.rule_view import RuleView
from noisewise.study.models.spreads import possible_spreads
from noisewise.study.models.study_model import BoundaryCase, StudyModel
from noisewise.study.models.sums import Sums, shared_unknowns


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
        return Contrasts(case.fit.components, shares, case.resolution, slack=case.fit.slack)

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
        """Each option on its own, or the network that it is part of."""
        evidence = boundary if isinstance(boundary, SeparateOptions) else None
        for part in fit.components:
            at = int(np.searchsorted(part.options, option))
            if at < part.options.size and part.options[at] == option:
                joint = NetworkJoint(self.n, part, root_of(part, fit.offset_precision))
                return Knowledge(joint, evidence=evidence)
        own = fit.own if evidence is None else evidence.variances()
        return Knowledge(SeparateJoint(own), evidence=evidence)

    def actions(self, view: RuleView) -> ActionSet:
        """Options without vectors, and a border for what connects them."""
        if not (view.whole and view.sums.has_border):
            return IndependentOptions(self.n)
        border = self._border(view, ridge=1.0)
        columns = Separate(self.n, border.touched, border.links.shape[0])
        return IndependentOptions(self.n, columns=columns)

    def fill(self, rule_model: Any, view: RuleView, ridge: float) -> None:
        """Fill the rule's options and their border."""
        if view.whole and view.sums.n_measurements:
            sums, border = view.sums, self._border(view, ridge)
            fill_independent(rule_model, border, float(sums.weight.sum()), sums.n_measurements)

    def _border(self, view: RuleView, ridge: float) -> Border:
        """What options share; where contrasts alone count, offsets of all blocks have no prior."""
        sums, shared = view.sums, shared_unknowns(view.sums)
        flat = view.contrasts_only and sums.has_border
        blocks = np.unique(sums.block[sums.minus < 0]) if flat else shared.blocks
        return assemble_border(self.n, sums, blocks, shared.compared, ridge, flat=flat)

    def draw_worlds(
        self, fit: Fit, sums: Sums, count: int, rng: np.random.Generator, span: float | None
    ) -> Floats:
        """Values that are normal around a common mean with an unknown spread, given their estimates."""
        variances = fit.variances()
        known = (fit.group >= 0) & np.isfinite(variances)
        means, errors = fit.means[known], variances[known]
        scale = 3.0 * float(np.std(means)) if means.size > 1 else math.inf
        spreads = possible_spreads(self.n, span, max(scale, self.specification.resolution))
        if fit.components:
            parts = [(part, root_of(part, fit.offset_precision)) for part in fit.components]
            return network_worlds(fit.means, parts, spreads, count, rng)
        tau = spreads.tau
        weights = 1.0 / (tau[:, None] ** 2 + errors)
        total = weights.sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            centres = np.where(total > 0.0, (weights * means).sum(axis=1) / total, 0.0)
        misfits = (weights * (means - centres[:, None]) ** 2).sum(axis=1)
        evidence = 0.5 * (np.log(weights).sum(axis=1) - misfits)
        if means.size:
            evidence -= 0.5 * np.log(total)
        at = spreads.weighed(evidence).draw(rng, count)
        spread = tau[at][:, None]
        centre = centres[at]
        if means.size:
            centre = centre + rng.standard_normal(count) / np.sqrt(total[at])
        normals = rng.standard_normal((count, known.size))
        worlds = centre[:, None] + spread * normals
        kept = spread**2 / (spread**2 + errors)
        shrunk = centre[:, None] * (1.0 - kept) + kept * means
        worlds[:, known] = shrunk + np.sqrt(kept * errors) * normals[:, known]
        return np.asarray(worlds)


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
